"""What an approver is shown: everything, with nothing that hides, and nothing that draws on their screen."""

import html
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erp_mcp.contract import Amount, Change, Preview, Reversibility, Target
from graph.render import MAX_SHOWN, card_html, difference, markdown, visible, why_not_showable
from graph.request import build_request
from graph.run import Approval
from tests.unit.test_outcomes import row

DISGUISED = "pay 10\u202e001\u202c\u200b to\x1b[2K \u2066A\u2069\r\nB\u3164\ufe0f\U000e0041\u00ad\u2028end\ud800"


def preview(text: str = "x", **more: Any) -> Preview:
    """A preview with the text wherever an ERP may put one."""
    fields: dict[str, Any] = {
        "tool": "adjust_stock", "summary": text, "arguments": {"note": text, text: [text, {"deep": {text: text}}]},
        "targets": [Target(kind="order", id=text, version=1, name=text)],
        "changes": [Change(target=text, field=text, before=text, after=text)],
        "money": [Amount(label=text, amount="1.00", currency=text)],
        "facts": {"lines": [{"sku": text, "name": text}], text: text}, "context": {text: [text]}, "warnings": [text],
        "reversibility": Reversibility(kind="reversible", how=text), "digest": "d",
    }  # fmt: skip
    return Preview(**fields | more)


def approval(text: str) -> Approval:
    """An approval with the text in every field that people wrote."""
    return Approval(
        "apr_1", "t", "adjust_stock", {"note": text}, "d", preview(text), "pending", text, text, row().created_at,
        row().expires_at, reason=text, notes=(text,),
    )  # fmt: skip


def assert_plain(shown: str) -> None:
    """Only line ends and what can be seen."""
    hidden = {char for char in shown if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert hidden == set()


@pytest.mark.guarantee("shown-whole", "B5")
@given(st.text(st.characters(categories=None)))
def test_no_text_hides_anything(text: str) -> None:
    """Control, format and surrogate characters are spelled out, all others stand as they are, in their order."""
    shown = visible(text)
    assert_plain(shown)
    assert "\n" not in shown
    back = re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda found: chr(int(found[1], 16)), shown)
    assert back == re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda found: chr(int(found[1], 16)), text)


@pytest.mark.parametrize(
    "char", ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u00ad", "\x00", "\x1b", "\x7f", "\r", "\n", "\t",
             "\u00a0", "\u2003", "\u2028", "\ud800", "\ue000", "\u3164", "\u2800", "\ufe0f", "\u034f", "\U000e0101"],
    ids=ascii,
)  # fmt: skip
def test_a_character_that_cannot_be_seen_is_spelled_out(char: str) -> None:
    """By its number, which a person can look up."""
    assert visible(f"a{char}b") == f"a⟨U+{ord(char):04X}⟩b"


@pytest.mark.parametrize("text", ["Queso Cabrales", "Lakkalikööri", "数量 半打", "全角　空白", "naïve – “quoted” €5"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """In every script."""
    assert visible(text) == text


@pytest.mark.guarantee("shown-whole", "B5")
@given(st.text(st.characters(categories=None)) | st.just(DISGUISED))
def test_no_view_of_an_approval_hides_anything(text: str) -> None:
    """The text for chat UIs, the card, and what moved: wherever the ERP or a person put the text."""
    one = approval(text)
    assert_plain(markdown(one.preview, [visible(text)], one.notes))
    card = card_html(one)
    assert_plain(card)
    assert_plain(html.unescape(card))
    for line in difference(one.preview, preview(text + "?")):
        assert_plain(line)


@pytest.mark.guarantee("shown-whole")
def test_everything_of_a_preview_is_shown() -> None:
    """Every value of it, however deep, in both views; nothing is left out and nothing is cut."""
    words: dict[str, Any] = {
        "summary": "S1", "arguments": {"a": {"b": [{"c": "A1"}, {"d": {"e": "A2"}}]}, "list": ["A3", "A4"]},
        "targets": [Target(kind="order", id="T1", version=17, name="T2")],
        "changes": [Change(target="C1", field="C2", before="C3", after="C4")],
        "money": [Amount(label="M1", amount="1234.50", currency="EUR")], "facts": {"lines": [{"sku": "F1", "n": 42}]},
        "context": {"x": "K1", "yes": True}, "warnings": ["W1"],
        "reversibility": Reversibility(kind="compensable", how="R1"),
    }  # fmt: skip
    one = preview("x", **words)
    for view in (markdown(one), card_html(Approval(**vars(approval("x")) | {"preview": one}))):
        for word in ("S1", "A1", "A2", "A3", "A4", "T1", "T2", "version 17", "C1", "C2", "C3", "C4", "M1", "1234.50",
                     "EUR", "F1", "42", "K1", "true", "W1", "compensable", "R1"):  # fmt: skip
            assert word in view


@pytest.mark.guarantee("shown-whole", "B5")
def test_the_odd_line_out_of_two_hundred_is_shown() -> None:
    """The last one too."""
    lines = [{"sku": f"NW-{number:03}", "quantity": "1"} for number in range(199)] + [
        {"sku": "ODD", "quantity": "9999"}
    ]
    assert "9999" in markdown(preview(facts={"lines": lines}))


@pytest.mark.guarantee("shown-whole")
def test_what_is_too_long_to_be_read_cannot_be_approved() -> None:
    """And the reason says how long it is; one character less is shown."""
    empty = len(preview(summary="").model_dump_json())
    assert why_not_showable(preview(summary="s" * (MAX_SHOWN - empty))) is None
    why = why_not_showable(preview(summary="s" * (MAX_SHOWN - empty + 1)))
    assert why is not None
    assert str(MAX_SHOWN + 1) in why


@given(st.text(alphabet="*_[]()#<>|`!~\\{}x\n", min_size=1))
def test_data_draws_nothing_on_the_approvers_screen(text: str) -> None:
    """No heading, link, picture or tag comes out of a note."""
    shown = markdown(preview(text))
    assert shown.startswith("**")
    unescaped = re.sub(r"\\.", "", shown, flags=re.DOTALL).replace("**", "", 2)  # the summary is bold, by us
    assert not set(unescaped) & set("*_[]<>#|`!~")
    assert not re.search(r"<(?!/?(b|div|i|table|tr|td|code)[ >])", card_html(approval(text)))


def test_what_moved_is_said_with_before_and_after() -> None:
    """Only what moved, in words that stand beside the old value and the new."""
    before = preview(changes=[Change(target="NW-011", field="on hand", before="10", after="5")])
    after = preview(changes=[Change(target="NW-011", field="on hand", before="4", after="-1")])
    assert difference(before, after) == ["NW-011 on hand, before: 10 → 4", "NW-011 on hand, after: 5 → -1"]
    assert (difference(before, before), difference(None, after)) == ([], [])


def test_the_request_is_in_the_shape_that_chat_uis_render() -> None:
    """LangChain's keys with ours beside them, for each approval in order."""
    shown = preview("x").model_dump()
    waiting = [row(name, "pending").__class__(**vars(row(name, "pending")) | {"preview": shown}) for name in ("a", "b")]
    request = build_request(waiting, {}, "why")
    assert [one["approval_id"] for one in request["action_requests"]] == ["a", "b"]
    assert set(request["action_requests"][0]) >= {"name", "args", "arguments", "description", "digest", "expires_at"}
    assert (
        request["review_configs"]
        == [{"action_name": "adjust_stock", "allowed_decisions": ["approve", "edit", "reject"]}] * 2
    )
    assert request["note"] == "why"
