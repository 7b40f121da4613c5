"""chat: a conversation in which approvals are decided inline."""

from typing import TYPE_CHECKING

from graph.books import open_ledger
from graph.cli import screen
from graph.cli.arguments import read_object
from graph.cli.failures import REFUSALS, Exit, UsageError, plainly
from graph.cli.looking import whole_view
from graph.cli.options import AsUser, Thread
from graph.decisions import Answer, approve, edit, reject
from graph.errors import PendingError
from graph.run import Approval, Run
from graph.settings import load_settings

if TYPE_CHECKING:
    from graph.cli.door import Door


@plainly
def chat(thread: Thread = None, as_user: AsUser = None) -> int:
    """Talk with the agent; approvals are decided inline. Ctrl-D leaves."""
    from graph.cli.door import open_door

    settings = load_settings()
    with open_door() as door:
        talk = _Talk(door, thread, as_user or settings.user, settings.approver)
        screen.say(f"You are {talk.user}; approvals are decided as {talk.approver}. Ctrl-D leaves.")
        talk.run()
    return Exit.DONE


class _Talk:
    """One conversation at a terminal.

    Args:
        door: the agent.
        thread_id: an existing conversation, or None for a new one.
        user: who asks.
        approver: who decides.
    """

    def __init__(self, door: "Door", thread_id: str | None, user: str, approver: str) -> None:
        self.door, self.thread_id, self.user, self.approver = door, thread_id, user, approver

    def run(self) -> None:
        """Until the input ends."""
        self.door.check_thread(self.thread_id)
        if self.thread_id is not None:
            self._decide_all(self.door.stand(self.thread_id))
        while (text := screen.ask("\n> ")) is not None:
            if text.strip():
                self._turn(text)
        if self.thread_id is not None:
            screen.say(f"Go on with: countersign chat --thread {self.thread_id}")

    def _turn(self, text: str, supersede: bool = False) -> None:
        try:
            run = self.door.ask(text, thread_id=self.thread_id, requested_by=self.user, supersede=supersede)
        except PendingError as error:
            screen.complain(error.message)
            if (screen.ask("Withdraw what waits and send it again? [y/n] ") or "").strip().lower() in {"y", "yes"}:
                self._turn(text, supersede=True)
            return
        except REFUSALS as error:
            screen.complain(error.message, error.hint)
            return
        self.thread_id = run.thread_id
        if run.answer:
            screen.say(run.answer)
        self._decide_all(run)

    def _decide_all(self, run: Run) -> None:
        """Puts what waits to the person, and what their decisions make wait in its turn, until they put it off."""
        put_off: set[str] = set()
        while waiting := [one for one in run.pending if one.approval_id not in put_off]:
            answer = self._asked(waiting[0])
            if answer is None:
                put_off.add(waiting[0].approval_id)
                continue
            try:
                run = self.door.decide(run.thread_id, answer)
            except REFUSALS as error:
                screen.complain(error.message, error.hint)
                return
            screen.say(f"{run.outcome}: {run.note}")
            if run.answer:
                screen.say(run.answer)
        for one in run.pending:
            screen.say(f"It waits: countersign approve {one.approval_id} --by NAME")

    def _asked(self, approval: Approval) -> Answer | None:
        """What the person says to one approval; None for later."""
        self._show(approval)
        while True:
            said = screen.ask(f"\n{self.approver}, approve this? [y]es, [n]o, [e]dit, [l]ater: ")
            choice = "l" if said is None else said.strip().lower()
            if choice in {"y", "yes"}:
                return approve(approval, by=self.approver)
            if choice in {"n", "no"}:
                return reject(approval, by=self.approver, reason=(screen.ask("Why? (may be empty) ") or "").strip())
            if choice in {"e", "edit"}:
                if (changed := self._edited(approval)) is not None:
                    return changed
            elif choice in {"l", "later"}:
                return None

    def _show(self, approval: Approval) -> None:
        settings = load_settings()
        with open_ledger(settings) as ledger:
            row = ledger.get(approval.approval_id)
            if row is not None:
                screen.show("", whole_view(ledger, row, settings.zone))

    def _edited(self, approval: Approval) -> Answer | None:
        text = screen.ask("The new arguments, whole, as JSON: ")
        if text is None or not text.strip():
            return None
        try:
            return edit(approval, read_object(text), by=self.approver)
        except UsageError as error:
            screen.complain(error.message, error.hint)
            return None
