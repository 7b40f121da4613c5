"""What models get wrong in their messages costs nothing: each call gets one result, and the history stays sound."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from graph import approve, edit, reject
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    OPEN,
    Script,
    adjust,
    answers_to,
    calls,
    cancel,
    config,
    effects,
    heard,
    ledger_rows,
    moves,
    northwind_home,
    order,
    script,
    scripted,
    settings,
)

__all__ = ["northwind_home", "script", "scripted", "settings"]


def assert_sound(given: list[list[BaseMessage]]) -> None:
    """Whatever the model was given, every call is followed by its one result, as providers want it."""
    for messages in given:
        place = 0
        while place < len(messages):
            message = messages[place]
            place += 1
            assert not isinstance(message, ToolMessage)
            for call in message.tool_calls if isinstance(message, AIMessage) else []:
                result = messages[place]
                assert isinstance(result, ToolMessage)
                assert result.tool_call_id == call["id"]
                place += 1


async def approve_all(agent: Agent, run: Run) -> Run:
    """Approves what waits, at once."""
    return await agent.resume(run.thread_id, *(approve(one, by="andrew") for one in run.pending))


@pytest.mark.guarantee("once", "nothing-lost")
async def test_call_ids_that_are_used_again_are_calls_of_their_own(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """In the next message: a new approval, a new effect. In the same message: two calls, two results."""
    twice = AIMessage("", tool_calls=calls(adjust("NW-011", 1)).tool_calls * 2)
    script.replies += [calls(adjust("NW-011", 1)), calls(adjust("NW-011", 1)), twice]
    run = await scripted.start("three times")
    for waiting in (1, 1, 2):
        assert len(run.pending) == waiting
        run = await approve_all(scripted, run)
    assert (run.status, moves(settings)) == ("done", [("NW-011", "adjustment", 1, 0)] * 4)
    assert all(len(results) == 1 for results in answers_to(run).values())
    assert_sound(script.given)


@pytest.mark.guarantee("nothing-lost", "A19")
@pytest.mark.parametrize(
    "args",
    [{"sku": "NW-011", "delta": 2**70, "reason": "x"}, {"sku": "NW-011", "delta": float("nan"), "reason": "x"},
     {"sku": "NW-011", "delta": 1, "reason": "\ud800"}, {"sku": "NW-011"}, {}, {"sku": ["NW-011"], "delta": 1},
     {"sku": "NW-011", "delta": 1, "reason": "x", "force": True}],
    ids=["70 bits", "NaN", "surrogate", "missing", "empty", "wrong type", "unknown argument"],
)  # fmt: skip
async def test_arguments_that_cannot_be_are_told_to_the_model_and_to_nobody_else(
    scripted: Agent, script: Script, settings: Settings, args: dict[str, Any]
) -> None:
    """Nobody is asked; the good call beside it is; and the thread's state can be stored and read again."""
    script.replies.append(calls(("adjust_stock", args), adjust("NW-012", 1)))
    run = await scripted.start("correct them")
    assert [one.args["sku"] for one in run.pending] == ["NW-012"]
    run = await approve_all(scripted, run)
    first, second = heard(script.given[-1], "adjust_stock")
    assert (first["error"]["code"], second["outcome"]) == ("invalid_argument", "executed")
    assert moves(settings) == [("NW-012", "adjustment", 1, 0)]
    assert_sound(script.given)


@pytest.mark.guarantee("A10")
async def test_malformed_and_unknown_calls_stand_beside_good_ones(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """JSON that breaks off, a tool that there is not, one that is not for models: each gets its error."""
    message = calls(("drop_table", {}), ("batch", {"calls": []}), ("get_order", {"order_id": OPEN}), cancel(OPEN))
    message.invalid_tool_calls = [
        {"name": "cancel_order", "args": '{"order_id": ', "id": "bad", "error": None, "type": "invalid_tool_call"}
    ]
    script.replies.append(message)
    run = await scripted.start("all of it")
    assert [one.tool for one in run.pending] == ["cancel_order"]
    run = await approve_all(scripted, run)
    assert (run.outcome, order(settings, OPEN).status) == ("executed", "cancelled")
    results = list(answers_to(run).values())
    assert [len(texts) for texts in results] == [1] * 5
    assert sum("unknown_tool" in texts[0] for texts in results) == 2
    assert sum("not valid JSON" in texts[0] for texts in results) == 1
    assert_sound(script.given)


@pytest.mark.guarantee("A8")
async def test_a_call_that_is_repeated_after_its_rejection_does_not_run(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """A model that tries again gets the same no, or a person is asked anew; without a person nothing runs."""
    script.replies += [calls(cancel(OPEN)), calls(cancel(OPEN))]
    asked = await scripted.start("cancel it")
    run = await scripted.resume(asked.thread_id, reject(asked.pending[0], by="andrew"))
    assert (effects(settings), order(settings, OPEN).status) == ([], "confirmed")
    for again in run.pending:
        await scripted.resume(asked.thread_id, reject(again, by="andrew"))
    assert effects(settings) == []
    assert_sound(script.given)


@pytest.mark.guarantee("shown-whole", "B5")
async def test_a_preview_that_cannot_be_shown_whole_is_not_put_to_anybody(
    scripted: Agent, script: Script, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model hears why and what to do; an edit into such a preview is refused in the same words."""
    script.replies += [calls(adjust("NW-011", 1))]
    asked = await scripted.start("correct it")
    monkeypatch.setattr("graph.render.MAX_SHOWN", 200)
    edited = await scripted.resume(asked.thread_id, edit(asked.pending[0], adjust("NW-011", 2)[1], by="andrew"))
    assert (edited.outcome, edited.pending) == ("invalid", asked.pending)
    assert "at most 200 can be shown whole" in edited.note
    script.replies += [calls(cancel(OPEN))]
    run = await scripted.start("cancel it")
    assert (run.status, len(ledger_rows(settings)), effects(settings)) == ("done", 1, [])
    (told,) = heard(script.given[-1], "cancel_order")
    assert told["error"]["code"] == "not_showable"
    assert told["error"]["hint"]


@pytest.mark.guarantee("shown-whole", "B5")
async def test_disguised_text_is_refused_or_shown_undisguised(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """A note that turns the line around is either no argument at all, or stands there with its number."""
    note = "harmless\u202e sselmrah\u200b"
    lines = [{"sku": "NW-011", "quantity": 1}]
    script.replies.append(calls(("create_order", {"customer": "ALFKI", "lines": lines, "note": note})))
    run = await scripted.start("order it")
    if not run.pending:
        (told,) = heard(script.given[-1], "create_order")
        assert told["error"]["code"] == "invalid_argument"
        return
    (interrupt,) = (await scripted.graph.aget_state(config(run.thread_id))).interrupts
    description = interrupt.value["action_requests"][0]["description"]
    assert "harmless⟨U+202E⟩ sselmrah⟨U+200B⟩" in description
    assert "\u202e" not in description


async def test_words_after_a_finished_write_go_on_in_the_same_thread(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Ten turns with writes and reads in one thread: its history is whole at every step."""
    thread = None
    for number in range(5):
        script.replies += [calls(("get_stock", {"sku": "NW-011"}), adjust("NW-011", 1)), AIMessage(f"turn {number}")]
        asked = await scripted.start(f"turn {number}", thread_id=thread)
        thread = asked.thread_id
        run = await approve_all(scripted, asked)
        assert (run.answer, len(run.receipts)) == (f"turn {number}", 1)
    assert moves(settings) == [("NW-011", "adjustment", 1, 0)] * 5
    assert_sound(script.given)
