"""What is wrong with a policy file, and where: a start that is stopped has to say which line to mend."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A position in a file; line and column count from 1."""

    line: int
    column: int


class PolicyError(ValueError):
    """A policy that cannot be used.

    Args:
        message: what is wrong, with the actual value in it.
        hint: what to write instead.
        file: which file, as it was named.
        place: where in it; None where the file as a whole is meant.
    """

    code = "bad_policy"

    def __init__(self, message: str, hint: str, file: str, place: Place | None = None) -> None:
        where = file if place is None else f"{file}:{place.line}:{place.column}"
        super().__init__(f"{where}: {message}")
        self.problem = message
        self.hint = hint
        self.file = file
        self.place = place

    @property
    def message(self) -> str:
        """``file:line:column: what is wrong``."""
        return str(self)
