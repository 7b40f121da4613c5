"""One step of a conversation: what to call next, or what to say, from the messages so far.

Only the last human message is read as a wish. What tools answered is data: it is shown, and numbers in it are used, but
no word of it is ever parsed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from graph.planner.answers import describe, help_text, too_long
from graph.planner.intents.single import OneCall
from graph.planner.knowledge import Intent, Known
from graph.planner.parse import parse
from graph.planner.phrase import language_of
from graph.planner.references import resolve_references
from graph.planner.schema import Toolbox
from graph.planner.steps import GATED, Call, Result, Say, Step

MAX_ROUNDS: Final = 12
"""Rounds of calls within one turn. Every read is made once, so a turn ends by itself long before."""

MAX_LENGTH: Final = 4000
"""Characters of a message: 200 order lines fit, and the worst text of this length takes the grammar half a second."""

MOST_EARLIER: Final = 10
"""Earlier human messages in which "it" may have been named."""


@dataclass(frozen=True)
class Turn:
    """The last human message, what followed it, and the human messages before it."""

    question: str
    replies: tuple[BaseMessage, ...]
    earlier: tuple[str, ...] = ()

    @classmethod
    def of(cls, messages: Sequence[BaseMessage]) -> "Turn":
        """The last turn; an empty question where no human has spoken."""
        last = max((n for n, m in enumerate(messages) if isinstance(m, HumanMessage)), default=None)
        if last is None:
            return cls("", tuple(messages))
        earlier = tuple(m.text for m in messages[:last] if isinstance(m, HumanMessage))
        return cls(messages[last].text, tuple(messages[last + 1 :]), earlier)

    def calls(self) -> list[tuple[Call, Result]]:
        """Every tool call of this turn with its answer, in order; an empty answer where none came."""
        answers = {m.tool_call_id: _result(m.text) for m in self.replies if isinstance(m, ToolMessage)}
        made = [call for m in self.replies if isinstance(m, AIMessage) for call in m.tool_calls]
        return [(Call(c["name"], c["args"]), answers.get(c["id"] or "", Result(None, ""))) for c in made]

    def rounds(self) -> int:
        """How often tools were called in this turn."""
        return sum(1 for m in self.replies if isinstance(m, AIMessage) and m.tool_calls)


def step(messages: Sequence[BaseMessage], toolbox: Toolbox, today: date) -> list[Call] | str:
    """The calls to make now (in the live schema's names), or the final answer's text.

    Reads come first, as many at once as are known; then every gated call in one message, as one approval request
    needs them. Gated calls are made once a turn: after a refusal the same call is never proposed again.
    """
    turn = Turn.of(messages)
    language = language_of(turn.question)
    if len(turn.question) > MAX_LENGTH:
        return too_long(language, MAX_LENGTH)
    intents = parse(resolve_references(turn.question, turn.earlier[-MOST_EARLIER:]), today, language)
    if not intents:
        return help_text(language)
    made = turn.calls()
    known = Known(language, toolbox, {call.key: answer for call, answer in made})
    steps = [intent.next(known) for intent in intents]
    gated = [(call, answer) for call, answer in made if call.tool in GATED]
    if not gated and turn.rounds() < MAX_ROUNDS:
        calls = _open(steps, known, gated=False) or _open(steps, known, gated=True)
        if calls:
            return calls
    return "\n\n".join(_told(intents, steps, known, gated))


def _open(steps: list[Step], known: Known, *, gated: bool) -> list[Call]:
    wanted = [s for s in steps if isinstance(s, Call) and (s.tool in GATED) is gated and known.result(s) is None]
    live = {call.key: call for call in map(known.toolbox.live, wanted)}
    return list(live.values())


def _told(intents: list[Intent], steps: list[Step], known: Known, gated: list[tuple[Call, Result]]) -> list[str]:
    """What came of each intent, each text once. An edited call answers under other arguments: then order decides."""
    texts: list[str] = []
    left = list(gated)
    for intent, wanted in zip(intents, steps, strict=True):
        if isinstance(wanted, Say):
            texts.append(wanted.text)
            continue
        answer = known.result(wanted) or next((a for call, a in left if call.tool == wanted.tool), None)
        left = [(call, a) for call, a in left if a is not answer]
        texts.append(describe(wanted, answer, known.language))
        if isinstance(intent, OneCall) and intent.note:
            texts.append(intent.note)
    return list(dict.fromkeys(filter(None, texts)))


def _result(text: str) -> Result:
    try:
        return Result(json.loads(text), text)
    except (ValueError, RecursionError):
        return Result(None, text)
