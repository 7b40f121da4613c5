"""What to say where nothing was understood."""

from typing import Final

from graph.planner.phrase import Language

_HELP: Final[dict[Language, str]] = {
    "en": (
        "I did not understand that, and have done nothing. You can say, for example:\n"
        "- What is in order 11074?\n"
        "- How much of NW-011 is in stock?\n"
        "- Cancel order SO19980506-11074, ordered by mistake"
    ),
    "zh": (
        "我没有听懂，也没有做任何操作。您可以这样说，例如：\n"
        "- 查询订单 10248\n"
        "- NW-011 还有多少库存？\n"
        "- 取消订单 SO19980506-11074，重复下单"
    ),
}


def help_text(language: Language) -> str:
    """Three sentences that work, in the user's language."""
    return _HELP[language]


def too_long(language: Language, most: int) -> str:
    """That a message has more characters than the planner reads."""
    if language == "zh":
        return f"消息太长（最多 {most} 个字符），我没有做任何操作。请缩短后再发。"
    return f"That message is too long for me (at most {most} characters), and I have done nothing. Please shorten it."
