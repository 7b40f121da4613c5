"""What the parser hands to a family of intents, and what a family is."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from graph.planner.knowledge import Intent
from graph.planner.phrase import Language, Phrase


@dataclass(frozen=True)
class Request:
    """One segment of the message: from the clause that opened it to the next one that opens another.

    ``lead`` is what was said just before and opened nothing (often the reason); ``commands`` is False where the user
    took it back, made it conditional, or only reports somebody's words: then nothing may be written.
    """

    phrase: Phrase
    lead: Phrase
    commands: bool
    today: date
    language: Language


@dataclass(frozen=True)
class Family:
    """A kind of intent: which clauses open it, and what a segment of it asks for.

    A further tool is one more family, in a file of its own, entered in ``families.py``.
    """

    name: str
    opens: Callable[[Phrase], bool]
    read: Callable[[Request], list[Intent]]
    commands: Callable[[Phrase], bool] | None = None
    """For a family that writes: whether the clause begins as its command. Only such a clause parts from a command
    before it; "cancel 11074, the customer asked to cancel" is one command with its reason."""

    weak: bool = False
    """Opened by little more than a SKU: inside a sentence it belongs to what was said before, unless it asks anew."""

    @property
    def writes(self) -> bool:
        """Whether a segment of this family may lead to a write."""
        return self.commands is not None
