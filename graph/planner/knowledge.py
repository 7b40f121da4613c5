"""What an intent may know while it decides, and what an intent is."""

from dataclasses import dataclass, field
from typing import Protocol

from erp_mcp.errors import ErpError
from graph.planner.phrase import Language
from graph.planner.schema import Toolbox
from graph.planner.steps import Call, Result, Say, Step


@dataclass(frozen=True)
class Known:
    """What is known in this turn: the language, the tools that are bound, and the answers by the key of their call."""

    language: Language
    toolbox: Toolbox
    answers: dict[str, Result] = field(default_factory=dict)

    def result(self, call: Call) -> Result | None:
        """The answer to this call in this turn; None while it was not made.

        A call that the live schema has no place for is answered at once, with the reason.
        """
        try:
            return self.answers.get(self.toolbox.live(call).key)
        except ErpError as error:
            return Result(error.as_json(), error.message)

    def offers(self, tool: str) -> bool:
        """Whether the tool is bound."""
        return tool in self.toolbox.schemas

    def say(self, en: str, zh: str) -> Say:
        """The sentence in the user's language."""
        return Say(zh if self.language == "zh" else en)


class Intent(Protocol):
    """One thing that the user wants.

    ``next`` is asked again after every answer. It gives the call it needs now; once its last call is answered it goes
    on giving that call, which is then described to the user.
    """

    def next(self, known: Known) -> Step:
        """The call needed now, or what to say. Pure: the same knowledge gives the same step."""
        ...
