"""The user's message as an ordered list of intents.

The message is cut into clauses; each clause either opens a segment of some family or belongs to the one before it (as
its reason, its further order numbers, its further lines).
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from graph.planner.entities import ORDER_ID
from graph.planner.families import FAMILIES
from graph.planner.knowledge import Intent
from graph.planner.phrase import Clause, Language, Phrase, clauses
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN, READ_ZH, retracted, sets_condition

_MORE_IDS: Final = re.compile(
    rf"(?i)\W*(?:and|和|以及|跟|与|及)?\W*(?:the )?(?:orders?|订单)?\s*(?:{ORDER_ID})(?:\W|and|和)*"
)
_REFUSES: Final = re.compile(
    r"(?i)\W*(?:(?:but|and|please|so|no)\W+)*(?:don't|do not|never|not)\b|\W*(?:但是|但|请)*\W*(?:不要|别|勿|请勿|不用)"
)
_READS: Final = re.compile(rf"(?i){POLITE}{READ_EN}|\W*(?:请|再|然后|并且|并|同时|帮我|顺便|另外|还有|也)*\W*{READ_ZH}")
_REPORTS: Final = re.compile(r":[ \t]*\n\s*$")


@dataclass
class _Segment:
    family: Family
    start: int
    end: int
    lead: tuple[int, int]
    commands: bool


def parse(message: str, today: date, language: Language) -> list[Intent]:
    """What the user wants, in the order it was said; empty where nothing was understood.

    Args:
        message: the last human message, the only text that is ever read as a command.
        today: the business day that "yesterday" counts from.
        language: of the notes that intents carry.
    """
    whole = Phrase.of(message)
    serious = not retracted(whole)
    intents: list[Intent] = []
    for segment in _segments(whole):
        request = Request(
            phrase=whole.part(segment.start, segment.end),
            lead=whole.part(*segment.lead),
            commands=serious and segment.commands,
            today=today,
            language=language,
        )
        intents += segment.family.read(request)
    return [intent for n, intent in enumerate(intents) if intent not in intents[:n]]


def _segments(whole: Phrase) -> list[_Segment]:
    found: list[_Segment] = []
    lead, reported, conditioned = 0, False, False
    for clause in clauses(whole):
        family = _opener(clause, found[-1] if found else None)
        if family is None:
            if found:
                found[-1].end = clause.end
        else:
            said = (lead, clause.start) if not found else (clause.start, clause.start)
            commands = not reported and not (conditioned and clause.joint != ".")
            found.append(_Segment(family, clause.start, clause.end, said, commands))
        spoken = clause.phrase.spoken
        conditioned = sets_condition(spoken)
        reported = reported or _REPORTS.search(spoken) is not None
    return found


def _opener(clause: Clause, before: _Segment | None) -> Family | None:
    if before is not None and _MORE_IDS.fullmatch(clause.phrase.spoken) and clause.joint != ".":
        return None
    family = next((f for f in FAMILIES if f.opens(clause.phrase)), None)
    if family is None or before is None or not before.family.writes or clause.joint == ".":
        return family
    return family if _stands_alone(family, clause.phrase) else None


def _stands_alone(family: Family, phrase: Phrase) -> bool:
    """Whether a clause that follows a command in the same sentence is a thing of its own, not the command's reason."""
    if _REFUSES.match(phrase.spoken):
        return True
    if family.commands is not None:
        return family.commands(phrase)
    return _READS.match(phrase.spoken) is not None or phrase.asks()
