"""What a person may answer to an approval, in each shape that clients send, turned into one. Pure data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

Json = dict[str, Any]
Kind = Literal["approve", "edit", "reject"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class Answer:
    """One person's decision on one approval.

    Args:
        approval_id: the approval.
        kind: approve, edit or reject.
        by: who decides; empty where the entrance knows it better than the payload.
        digest: of the preview that the person saw; None where the client does not send one.
        args: an edit's new arguments, whole.
        reason: why it is rejected.
    """

    approval_id: str
    kind: Kind
    by: str = ""
    digest: str | None = None
    args: Json | None = None
    reason: str = ""


class BadAnswerError(ValueError):
    """An answer that cannot count, with the reason that the person is told. The approval stays as it was."""


class Shown(Protocol):
    """What was on the person's screen: an approval, or anything with its id and digest."""

    @property
    def approval_id(self) -> str: ...
    @property
    def digest(self) -> str: ...


def approve(approval: Shown, *, by: str) -> Answer:
    """Signs an approval as it was shown."""
    return Answer(approval.approval_id, "approve", by, approval.digest)


def reject(approval: Shown, *, by: str, reason: str = "") -> Answer:
    """Refuses an approval; the model hears the reason and does not try again."""
    return Answer(approval.approval_id, "reject", by, approval.digest, reason=reason)


def edit(approval: Shown, args: Json, *, by: str) -> Answer:
    """Changes the arguments. That makes a fresh preview, which has to be approved in its turn.

    Args:
        approval: what was shown.
        args: the new arguments, whole.
        by: who changes it.
    """
    return Answer(approval.approval_id, "edit", by, approval.digest, args=args)


ANSWER_SCHEMA: Json = {
    "title": "Decision",
    "description": "Your decision per approval id, or LangChain's {\"decisions\": [...]} in the order of the requests.",
    "anyOf": [
        {
            "type": "object",
            "description": "approval id → decision",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "decision": {"enum": list(KINDS)},
                    "digest": {"type": "string"},
                    "args": {"type": "object"},
                    "reason": {"type": "string"},
                },
                "required": ["decision"],
            },
        },
        {
            "type": "object",
            "properties": {"decisions": {"type": "array", "items": {"type": "object"}}},
            "required": ["decisions"],
        },
        {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": 1},
    ],
}  # fmt: skip
"""Shown to clients. Checked after the interrupt by ``read_answer``: a type that refuses earlier loses the thread."""


def read_answer(payload: Any, requests: Sequence[Json]) -> list[Answer]:
    """The decisions in a payload: ours, LangChain's, or Agent Inbox's.

    Args:
        payload: what the client sent.
        requests: the interrupt's action requests, in order.

    Raises:
        BadAnswerError: anything else, with the reason.
    """
    if isinstance(payload, list):
        return _from_inbox(payload, requests)
    if not isinstance(payload, dict) or not payload:
        raise BadAnswerError(f"An answer is an object with a decision per approval id, not {_short(payload)}.")
    if "decisions" in payload:
        return _from_langchain(payload, requests)
    return _from_ours(payload, requests)


def _from_ours(payload: Json, requests: Sequence[Json]) -> list[Answer]:
    known = {request["approval_id"]: request for request in requests}
    answers = []
    for approval_id, said in payload.items():
        if approval_id not in known:
            raise BadAnswerError(f"{_short(approval_id)} is not waiting here; waiting: {', '.join(known)}.")
        if not isinstance(said, dict):
            raise BadAnswerError(f'The decision on {approval_id} must be an object like {{"decision": "approve"}}.')
        extra = set(said) - {"decision", "digest", "args", "reason", "name"}
        if extra:
            raise BadAnswerError(
                f"The decision on {approval_id} has unknown keys: {', '.join(sorted(map(_short, extra)))}."
            )
        kind, args, reason = said.get("decision"), said.get("args"), said.get("reason", "")
        answers.append(_answer(known[approval_id], kind, args, reason, said.get("name"), said.get("digest")))
    return answers


def _from_langchain(payload: Json, requests: Sequence[Json]) -> list[Answer]:
    said = payload["decisions"]
    if set(payload) != {"decisions"} or not isinstance(said, list):
        raise BadAnswerError('"decisions" must be a list, and alone.')
    if len(said) != len(requests):
        raise BadAnswerError(f"{len(said)} decisions for {len(requests)} requests: give one for each, in their order.")
    answers = []
    for request, decision in zip(requests, said, strict=True):
        if not isinstance(decision, dict):
            raise BadAnswerError(f"A decision is an object, not {_short(decision)}.")
        edited = decision.get("edited_action")
        if decision.get("type") == "edit" and not isinstance(edited, dict):
            raise BadAnswerError("An edit needs edited_action with name and args.")
        edited = edited if isinstance(edited, dict) else {}
        kind, args, reason = decision.get("type"), edited.get("args"), decision.get("message", "")
        answers.append(_answer(request, kind, args, reason, edited.get("name"), decision.get("digest")))
    return answers


_INBOX_KINDS = {"accept": "approve", "edit": "edit", "response": "reject", "ignore": "reject"}


def _from_inbox(payload: list[Any], requests: Sequence[Json]) -> list[Answer]:
    """Agent Inbox shows the first request only and answers with a list of one; it turns argument values into text."""
    if len(payload) != 1 or not isinstance(payload[0], dict) or not requests:
        raise BadAnswerError("A list must hold exactly one answer object.")
    said, request = payload[0], requests[0]
    kind, args = said.get("type"), said.get("args")
    if not isinstance(kind, str) or kind not in _INBOX_KINDS:
        raise BadAnswerError(f"{_short(kind)} is not one of {', '.join(_INBOX_KINDS)}.")
    if kind == "response" and not isinstance(args, str):
        raise BadAnswerError("A response needs its text in args.")
    if kind == "edit":
        if not isinstance(args, dict) or not isinstance(args.get("args"), dict):
            raise BadAnswerError("An edit needs args with action and args.")
        values = _typed_again(args["args"], request["args"])
        return [_answer(request, "edit", values, "", args.get("action"), None)]
    reason = (
        args if kind == "response" and isinstance(args, str) else "ignored in the inbox" if kind == "ignore" else ""
    )
    return [_answer(request, _INBOX_KINDS[kind], None, reason, None, None)]


def _typed_again(args: Json, shown: Json) -> Json:
    """Reads back what the inbox turned into text, where the request's own value was not text."""

    def value(name: str, given: Any) -> Any:
        if not isinstance(given, str) or name not in shown or isinstance(shown[name], str):
            return given
        try:
            return json.loads(given)
        except ValueError:
            return given

    return {name: value(name, given) for name, given in args.items()}


def _answer(request: Json, kind: Any, args: Any, reason: Any, name: Any, digest: Any) -> Answer:
    approval_id = request["approval_id"]
    if kind not in KINDS:
        raise BadAnswerError(f"{_short(kind)} is not a decision; on {approval_id} say one of {', '.join(KINDS)}.")
    if digest is not None and not isinstance(digest, str):
        raise BadAnswerError(f"The digest for {approval_id} must be text.")
    if not isinstance(reason, str):
        raise BadAnswerError(f"The reason for {approval_id} must be text.")
    if name is not None and name != request["name"]:
        raise BadAnswerError(f"An edit cannot switch tools: {approval_id} is {request['name']}, not {_short(name)}.")
    if kind == "edit" and not isinstance(args, dict):
        raise BadAnswerError(f"An edit of {approval_id} needs args, an object with all arguments.")
    if kind != "edit" and args is not None:
        raise BadAnswerError(f"Only an edit takes args; you said {kind} to {approval_id}.")
    return Answer(approval_id, kind, "", digest, args if kind == "edit" else None, reason)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
