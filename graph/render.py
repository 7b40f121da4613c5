"""A preview as people read it. Nothing is cut, and what could hide is made visible."""

import html
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from erp_mcp.contract import Preview

if TYPE_CHECKING:
    from graph.run import Approval

MAX_SHOWN: Final = 200_000
"""Characters of a preview as JSON; what is longer is not approvable, since nobody would read it whole."""

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

_INVISIBLE: Final = frozenset(
    chr(code)
    for codes in (
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),  # joiners, fillers, a blank
        range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0),  # variation selectors
    )
    for code in codes
)  # fmt: skip
"""Letters, marks and symbols to Unicode, but nothing to see: two texts would look the same."""


def visible(text: str) -> str:
    """Text with control, bidirectional, zero-width, blank and unassigned characters spelled out, such as ⟨U+202E⟩."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(char):04X}⟩" if _hides(char) else char for char in text)


def _hides(char: str) -> bool:
    if char in {" ", "\u3000"}:
        return False
    return char in _INVISIBLE or char.isspace() or unicodedata.category(char) in _HIDDEN


def why_not_showable(preview: Preview) -> str | None:
    """Why an approver could not be shown this whole, or None. What cannot be shown cannot be approved."""
    size = len(preview.model_dump_json())
    return f"The preview has {size} characters; at most {MAX_SHOWN} can be shown whole." if size > MAX_SHOWN else None


Section = tuple[str, list[tuple[str, ...]]]


def sections(preview: Preview) -> Iterator[Section]:
    """The parts of a preview in reading order: a heading and rows of visible text."""
    yield (
        "Changes",
        [
            (visible(c.target), visible(c.field), visible(c.before) or "–", "→", visible(c.after) or "–")
            for c in preview.changes
        ],
    )
    yield "Money", [(visible(m.label), visible(m.amount), visible(m.currency)) for m in preview.money]
    yield "Targets", [(t.kind, visible(t.id), visible(t.name), f"version {t.version}") for t in preview.targets]
    yield "Facts", _rows(preview.facts)
    yield "Also good to know", _rows(preview.context)
    yield "Arguments", _rows(preview.arguments)


def _rows(values: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(visible(path), visible(text)) for path, text in _leaves(values, "")]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        if not value:
            yield path, "none"
        elif all(
            isinstance(item, dict) and not any(isinstance(v, dict | list) for v in item.values()) for item in value
        ):
            for number, item in enumerate(value, 1):
                yield f"{path} {number}", ", ".join(f"{name} {text}" for name, text in item.items())
        else:
            for number, item in enumerate(value, 1):
                yield from _leaves(item, f"{path} {number}")
    else:
        yield path, "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def markdown(preview: Preview, difference: Iterable[str] = (), notes: Iterable[str] = ()) -> str:
    """A preview for chat UIs and plain terminals.

    Args:
        preview: what would be done.
        difference: lines that say what moved since the approver last looked.
        notes: what the agent's side adds, such as an identical approval that waits.
    """
    lines = [f"**{_escaped(visible(preview.summary))}**", ""]
    changed = [f"- {_escaped(line)}" for line in difference]
    if changed:
        lines += ["Changed since you looked:", *changed, ""]
    lines += [f"- ⚠ {_escaped(visible(warning))}" for warning in [*notes, *preview.warnings]]
    for heading, rows in sections(preview):
        if rows:
            lines += ["", f"{heading}:", *("- " + _escaped(" ".join(cell for cell in row if cell)) for row in rows)]
    undo = preview.reversibility
    lines += ["", f"Can it be undone? {_escaped(visible(undo.kind + (': ' + undo.how if undo.how else '')))}"]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Markdown that stays text: data must not draw headings, links or pictures on the approver's screen."""
    return "".join("\\" + char if char in "\\`*_{}[]<>#|!~" else char for char in text)


def card_html(approval: "Approval") -> str:
    """An approval as a card for notebooks; every value is escaped."""
    preview = approval.preview
    parts = [
        f"<b>{_html(preview.summary)}</b>",
        f"<div>{_html(approval.tool)} · asked by {_html(approval.requested_by)} · {_html(approval.status)}</div>",
    ]
    if approval.difference:
        moved = "".join(f"<li>{html.escape(line)}</li>" for line in approval.difference)
        parts.append(f"<div style='margin-top:.5em'><i>Changed since you looked</i></div><ul>{moved}</ul>")
    parts += [f"<div>⚠ {_html(warning)}</div>" for warning in [*approval.notes, *preview.warnings]]
    for heading, rows in sections(preview):
        if rows:
            body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            parts.append(f"<div style='margin-top:.5em'><i>{heading}</i></div><table>{body}</table>")
    undo = preview.reversibility
    parts.append(f"<div>Can it be undone? {_html(undo.kind)}{': ' + _html(undo.how) if undo.how else ''}</div>")
    parts.append(f"<code>{_html(approval.approval_id)}</code>")
    return (
        "<div style='border:1px solid #999;border-radius:6px;padding:.8em;max-width:60em'>" + "".join(parts) + "</div>"
    )


def _html(text: str) -> str:
    return html.escape(visible(text))


def difference(before: Preview | None, after: Preview) -> list[str]:
    """What moved between two previews of one call, in lines such as "stock NW-011 on hand before: 10 → 4".

    Args:
        before: what the approver saw; None where nothing was shown before.
        after: what would be done now.
    """
    if before is None:
        return []
    old, new = dict(_bound(before)), dict(_bound(after))
    moved = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return [f"{visible(name)}: {visible(old.get(name, '–'))} → {visible(new.get(name, '–'))}" for name in moved]


def _bound(preview: Preview) -> Iterator[tuple[str, str]]:
    for target in preview.targets:
        yield f"{target.kind} {target.id} version", str(target.version)
    for change in preview.changes:
        yield f"{change.target} {change.field}, before", change.before or "–"
        yield f"{change.target} {change.field}, after", change.after or "–"
    for amount in preview.money:
        yield amount.label, f"{amount.amount} {amount.currency}"
    yield from _leaves(preview.facts, "")
    for path, text in _leaves(preview.arguments, ""):
        yield f"argument {path}", text
    yield "can it be undone", preview.reversibility.kind
