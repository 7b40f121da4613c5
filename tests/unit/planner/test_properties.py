"""What holds for any text at all."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.planner.numerals import quantity
from graph.planner.parse import parse
from graph.planner.phrase import Phrase, clauses
from graph.planner.turn import MAX_LENGTH
from tests.unit.planner.conversation import NOW, talk

WRITE_VERB = re.compile(
    r"(?i)cancel|void|call off|annul|revoke|take|remove|deduct|subtract|write|pull|discard|scrap|decrease|reduce|lower|"
    r"dispose|minus|add|put|increase|receive|book|restock|raise|return|plus|set|correct|change|adjust|update|fix|order|"
    r"sell|create|place|make|enter|open|start|submit|new|exchange|send|balance|owe|credit|move|ship|"
    r"取消|撤|作废|退|减|扣|报废|报损|出库|移除|拿|取出|去掉|下调|增加|添加|入库|补|加|上调|放入|调|改|设|修正|更正|盘点|更新|"
    r"下|订|采购|购买|买|创建|新建|新增|录入|建|开|换|余额|欠|信用"
)
VOCABULARY = (
    "cancel order 11074 SO19980506-11074 NW-011 NW 011 stock of take out 5 -5 add to don't not if ? , . \n : ( ) "
    "\" “ ” ' x × ALFKI for from and then please a dozen half 12 1998-05-06 May yesterday set by reason because "
    "取消 订单 库存 减少 增加 不要 如果 给 下单 一打 半打 十二 个 ， 。 ？ 了 吗 把 并 和 上个月 １１０７４ "
    "ＮＷ－０１１ show list orders what is"
)
WORDS = st.sampled_from(VOCABULARY.split(" "))
PIECES = [
    " ", "\n ", "please ", "cancel 11074, ", "a", "a ", "取消订单", "NW-011 ", "for ALFKI ", '"', "'", "1", "在", "A",
    "order 5 x ", "- ", "给a", "十", "a. ", "Aa ", "May ", "SO ", "a 5 ", "the ", "，", "5", "of ",
]  # fmt: skip
STARTS = ["", "cancel ", "order ", "set ", "show ", "take 5 ", "给", "change "]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_an_answer_and_no_write_without_its_verb(text: str) -> None:
    """Whatever is typed, the turn ends with words, and nothing is written unless a word of writing was there."""
    turn = talk(text)
    assert turn.answer
    if not WRITE_VERB.search(Phrase.of(text).text):
        assert turn.writes == []


@settings(max_examples=600, deadline=None)
@given(st.lists(WORDS, max_size=25), st.sampled_from(["", " "]))
def test_any_jumble_of_the_grammar_s_own_words_is_survived(words: list[str], gap: str) -> None:
    """Sentences made of the grammar's own words never break it either."""
    text = gap.join(words)
    turn = talk(text)
    assert turn.answer
    if not WRITE_VERB.search(Phrase.of(text).text):
        assert turn.writes == []


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["don't", "do not", "never", "should I", "what if I", "how do I", "please do not"]),
    st.sampled_from(["cancel order 11074", "take 5 of NW-011 out of stock", "order 5 NW-011 for ALFKI"]),
    st.lists(
        WORDS.filter(lambda w: not re.fullmatch(r"(?i)[.?\n;。？]|cancel|take|add|set|order|取消|减少|增加|下单", w)),
        max_size=6,
    ),
)
def test_a_negated_or_asked_command_is_none(opening: str, command: str, rest: list[str]) -> None:
    """No words behind a negation or a question turn it into a command."""
    assert talk(f"{opening} {command} {' '.join(rest)}").writes == []


@given(st.text(max_size=300))
def test_clauses_lose_nothing(text: str) -> None:
    """The clauses, put together, are the message."""
    whole = Phrase.of(text)
    assert "".join(clause.phrase.raw for clause in clauses(whole)) == text
    assert len(whole.raw) == len(whole.text) == len(whole.spoken)


@given(st.integers(min_value=0, max_value=10**9))
def test_digits_are_read_exactly(number: int) -> None:
    """A number in digits is that number, with thousands marks too."""
    assert quantity(str(number)) == number
    assert quantity(f"{number:,}") == number


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("start", STARTS)
def test_no_text_makes_the_grammar_slow(start: str, piece: str) -> None:
    """The longest message of any repeated piece is read in a few seconds on any machine; longer ones are refused."""
    text = (start + piece * MAX_LENGTH)[:MAX_LENGTH]
    started = time.perf_counter()
    parse(text, NOW.date(), "en")
    assert time.perf_counter() - started < 5
    assert str(MAX_LENGTH) in talk(text + "12").answer
