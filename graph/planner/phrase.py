"""Text as the planner reads it: folded for matching, original for quoting, cut into clauses.

Folding keeps every character's position, so what a pattern finds in the folded text can be cut out of the original:
a reason or a name reaches the ERP as the user typed it, full-width commas and all.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

Language = Literal["en", "zh"]

_CJK: Final = re.compile("[\u3400-\u9fff]")
_DASHES: Final = dict.fromkeys(map(ord, "‐‑‒–—−﹣"), "-")
_QUOTED: Final = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|(?<!\w)'[^'\n]*'(?!\w)|‘[^’\n]*’(?!\w)|(?m:^\s*>.*$)"
)
_MASK: Final = "\ufffc"
_CLAUSE_END: Final = re.compile(
    r"(?<![0-9])[.](?=\s|$)|(?<=[0-9])[.](?=\s|$)|[;!?。;\n]+|,(?![0-9]{3}(?![0-9]))|、"
    r"|\s+(?=(?:and|then|but|also|plus)\s)|(?=然后|并且|同时|接着|之后再|以及|并把|并将|并给|再把|再将|再给|但是|但)"
)


def tidy(text: str) -> str:
    """Runs of white space as one space, or one line end where they hold one: they mean nothing, and cost time."""
    return re.sub(r"\s{2,}", lambda run: "\n" if "\n" in run.group() else " ", text)


def language_of(text: str) -> Language:
    """The language to answer in: Chinese as soon as the text holds one Chinese character, else English."""
    return "zh" if _CJK.search(text) else "en"


def fold(text: str) -> str:
    """Full-width forms and dashes as plain ones, character by character, so that positions stay the same."""
    narrow = (folded if len(folded := unicodedata.normalize("NFKC", c)) == 1 else c for c in text)
    return "".join(narrow).translate(_DASHES).replace("’", "'")


@dataclass(frozen=True)
class Phrase:
    """A stretch of the user's message: ``raw`` as typed, ``text`` folded, ``spoken`` folded with quotations blanked.

    All three have one length. Verbs are looked for in ``spoken`` only: a quotation is not a command.
    """

    raw: str
    text: str
    spoken: str

    @classmethod
    def of(cls, message: str) -> "Phrase":
        """The whole of a message."""
        text = fold(message)
        spoken = _QUOTED.sub(lambda m: _MASK * len(m.group()), text)
        return cls(message, text, spoken)

    def part(self, start: int, end: int | None = None) -> "Phrase":
        """The stretch from ``start`` to ``end``, both counted in characters."""
        return Phrase(self.raw[start:end], self.text[start:end], self.spoken[start:end])

    def without(self, spans: Iterable[tuple[int, int]]) -> "Phrase":
        """The same stretch with these parts blanked; positions stay."""
        raw, text, spoken = self.raw, self.text, self.spoken
        for start, end in spans:
            raw, text, spoken = (s[:start] + " " * (end - start) + s[end:] for s in (raw, text, spoken))
        return Phrase(raw, text, spoken)

    def asks(self) -> bool:
        """Whether it is put as a question, by its mark or by a Chinese question particle."""
        return re.search(r"\?\s*$|[吗么呢]\s*[?。.!]*\s*$", self.spoken) is not None


@dataclass(frozen=True)
class Clause:
    """One clause with what stands before it: ``joint`` is ``,``, ``.`` or ``and``."""

    phrase: Phrase
    start: int
    end: int
    joint: str


def clauses(message: Phrase) -> list[Clause]:
    """The message cut at punctuation and conjunctions, outside quotations. Joined together they are the message."""
    cuts = sorted({m.end() for m in _CLAUSE_END.finditer(message.spoken)} | {0, len(message.spoken)})
    found: list[Clause] = []
    for start, end in pairwise(cuts):
        before = message.spoken[:start].rstrip(" ")[-1:]
        joint = "," if before in {",", "、"} else "." if not before or before in ".;!?。\n" else "and"
        found.append(Clause(message.part(start, end), start, end, joint))
    return found
