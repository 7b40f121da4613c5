"""The user's message as an ordered list of intents.

The message is cut into clauses; each clause either opens a segment of some family or belongs to the one before it (as
its reason, its further order numbers, its further lines).
"""

import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from graph.planner.entities import ORDER_ID
from graph.planner.families import FAMILIES
from graph.planner.intents.order_changes import joined
from graph.planner.intents.single import missed
from graph.planner.knowledge import Intent
from graph.planner.phrase import Clause, Language, Phrase, clauses, tidy
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN, READ_ZH, refuses, reports, retracted, sets_condition

_MORE_IDS: Final = re.compile(
    rf"(?i)\W*(?:and|和|以及|跟|与|及)?\W*(?:the )?(?:orders?|订单)?\s*(?:{ORDER_ID})(?:\W|and|和)*"
)
_READS: Final = re.compile(rf"(?i){POLITE}{READ_EN}|\W*(?:请|再|然后|并且|并|同时|帮我|顺便|另外|还有|也)*\W*{READ_ZH}")

_VERBS: Final = (
    "(?:reduce|increase|decrease|lower|raise|adjust|deduct|write off|add|remove|delete|drop|take|return|send back|"
    "exchange|swap|replace|change|set|update|put)"
)
_ORDERS: Final = re.compile(rf"(?i){POLITE}{_VERBS}\b|\W*(?:请|麻烦|帮我)*\W*[把将]")
_BEGINS: Final = re.compile(
    rf"(?i){POLITE}{_VERBS}\b"
    r"|\W*(?:请|麻烦|帮我)*\W*(?:把|将|给|从|退|订单)"
)
"""Verbs whose order may come some clauses later."""
MAX_JOINED: Final = 8


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
    whole = Phrase.of(tidy(message))
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
        intents += [*_missed(request), *segment.family.read(request)]
    return joined([intent for n, intent in enumerate(intents) if intent not in intents[:n]])


def _missed(request: Request) -> list[Intent]:
    """What was said before a command and looked like one too, but was not understood: nothing is dropped in silence."""
    lead = request.lead.raw.strip(" ,，.。;；\n")
    if not _ORDERS.match(request.lead.spoken):
        return []
    return [missed(lead, request.language)]


def _segments(whole: Phrase) -> list[_Segment]:
    found: list[_Segment] = []
    reported = held = False
    for clause in _joined(whole):
        spoken = clause.phrase.spoken
        held = held and clause.joint != "."  # a refusal or a condition holds to the end of its sentence
        family = _opener(clause, found[-1] if found else None)
        if family is not None:
            said = (clause.start, clause.start) if found else (0, clause.start)
            found.append(_Segment(family, clause.start, clause.end, said, commands=not reported and not held))
        elif found:
            found[-1].end = clause.end
        held = held or sets_condition(spoken) or (family is None and refuses(spoken))
        reported = reported or reports(spoken)
    return found


def _joined(whole: Phrase) -> list[Clause]:
    """The clauses, those of one command put together: "add 3 NW-042 and 2 NW-011 to order 11074" is one."""
    found: list[Clause] = []
    parts = clauses(whole)
    while parts:
        first, *parts = parts
        if _BEGINS.match(first.phrase.spoken) and not _is_command(first.phrase):
            for count, last in enumerate(parts[:MAX_JOINED], start=1):
                together = whole.part(first.start, last.end)
                if last.joint != "." and _is_command(together):
                    first, parts = replace(first, phrase=together, end=last.end), parts[count:]
                    break
                if last.joint == "." or _is_command(last.phrase):
                    break
        found.append(first)
    return found


def _is_command(phrase: Phrase) -> bool:
    return any(family.commands is not None and family.commands(phrase) for family in FAMILIES)


def _opener(clause: Clause, before: _Segment | None) -> Family | None:
    if before is not None and _MORE_IDS.fullmatch(clause.phrase.spoken) and clause.joint != ".":
        return None
    family = next((f for f in FAMILIES if f.opens(clause.phrase)), None)
    if family is None or before is None or clause.joint == "." or not (before.family.writes or family.weak):
        return family
    return family if _stands_alone(family, clause.phrase) else None


def _stands_alone(family: Family, phrase: Phrase) -> bool:
    """Whether a clause that follows a command in the same sentence is a thing of its own, not the command's reason."""
    if refuses(phrase.spoken):
        return True
    if family.commands is not None:
        return family.commands(phrase)
    return _READS.match(phrase.spoken) is not None or phrase.asks()
