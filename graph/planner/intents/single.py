"""Intents that need no thought of their own: one call, a sentence, and a look-up with a note under it."""

import re
from dataclasses import dataclass

from graph.planner.knowledge import Known
from graph.planner.phrase import Language
from graph.planner.steps import Call, Say, Step


@dataclass(frozen=True)
class OneCall:
    """One call, whatever it answers. ``note`` is added to its description."""

    call: Call
    note: str = ""

    def next(self, known: Known) -> Step:
        """The call."""
        return self.call


@dataclass(frozen=True)
class Tell:
    """A sentence that needs no call."""

    text: str

    def next(self, known: Known) -> Step:
        """The sentence."""
        return Say(self.text)


def told(language: Language, en: str, zh: str) -> Tell:
    """The sentence in the user's language."""
    return Tell(zh if language == "zh" else en)


def nothing_changed(language: Language, en: str, zh: str) -> str:
    """The note under a look-up where the user spoke of a write without commanding it."""
    if language == "zh":
        return f"我没有做任何更改。需要的话请直接说：「{zh}」"
    return f"I have changed nothing. To do it, say: {en}"


def missed(words: str, language: Language) -> Tell:
    """That a part of the message was not understood: nothing is dropped in silence."""
    return told(
        language,
        f"I did not understand “{words}”, and did nothing for it.",
        f"我没有听懂「{words}」，没有为它做任何操作。",
    )


def leftover(text: str, filler: str) -> str:
    """What is left of a sentence once its ``filler`` words are taken out: usually a name."""
    rest = re.sub(r"[\"“”「」『』《》,;:!?。、()]|\.(?=\s|$)", " ", re.sub(filler, " ", text))
    return " ".join(rest.split()).strip("' ")
