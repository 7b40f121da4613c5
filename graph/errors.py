"""The agent's refusals: a code for programs, one line for the person, and what to do next."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graph.run import Approval


class CountersignError(Exception):
    """Something that the caller can mend.

    Args:
        code: what programs branch on, for example ``unknown_thread``.
        message: what is wrong, with the actual value in it.
        hint: what to do.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class PendingError(CountersignError):
    """A message was not taken, because the thread waits for a person.

    Args:
        thread_id: the thread.
        pending: what it waits for.
    """

    def __init__(self, thread_id: str, pending: "list[Approval]") -> None:
        ids = ", ".join(approval.approval_id for approval in pending)
        super().__init__(
            "approval_pending",
            f"Thread {thread_id} waits for a decision on {ids}; your message was not taken.",
            "Decide first, or send it again with supersede=True (--supersede) to withdraw what waits.",
        )
        self.thread_id = thread_id
        self.pending = pending


class PausedError(CountersignError):
    """Approvals are paused: nothing is signed until somebody ends that."""

    def __init__(self) -> None:
        super().__init__(
            "paused", "Approvals are paused; nothing is signed.", "Wait, or end the pause with: countersign resume-all"
        )


class NoAnswerError(CountersignError):
    """The ERP did not answer, so nobody knows whether the write took place. The approval stays approved."""

    def __init__(self, approval_id: str, tool: str, why: str = "no answer came") -> None:
        super().__init__(
            "outcome_unknown",
            f"The ERP could not say whether {tool} was executed for {approval_id}: {why.rstrip('.')}.",
            "Run: countersign recover (it asks again with the same approval; nothing is done twice)",
        )
        self.approval_id = approval_id


class LostAnswerError(Exception):
    """The request went out, and no answer came: what it did is not known.

    Args:
        tool: what was called.
        why: in words for a person, without a full stop.
        late: whether the server is there, but too slow.
    """

    def __init__(self, tool: str, why: str = "no answer came", *, late: bool = False) -> None:
        super().__init__(f"{tool}: {why}")
        self.why = why
        self.late = late
