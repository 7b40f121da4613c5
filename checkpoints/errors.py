"""What can be wrong with the agent's own database, each with what to do about it."""


class CheckpointError(Exception):
    """A refusal of the checkpoint database or of the ledger in it.

    Args:
        code: what programs branch on, for example ``checkpoints_missing``.
        message: what is wrong, with the actual value in it.
        hint: what the person can do.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
