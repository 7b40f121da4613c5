"""Whether a clause is a command. Writes are found by what commands look like, never by the verb alone.

"Don't cancel", "should I cancel", "what if I cancel", "the note says: cancel": none of them begins the way a command
does, so no list of exceptions has to be complete. What is left to check is a question mark, a condition behind the
command, and a change of mind.
"""

import re
from typing import Final

from graph.planner.phrase import Phrase

POLITE: Final = (
    r"(?>(?:(?<![a-z])(?:please|pls|plz|kindly|hi|hello|hey|ok|okay|yes|sure|thanks|thank you|"
    r"good (?:morning|afternoon)|now|then|and|also|plus|next|finally|first|second|secondly|just|immediately|"
    r"quickly|asap|(?:can|could|will|would) you(?: please| kindly| also)*|"
    r"(?:i|we)(?:'d| would) like(?: you)? to|(?:i|we) (?:want|need|have)(?: you)? to|let's|let us|go ahead and|"
    r"you (?:can|may|must|should)(?: now)?|help me(?: to)?|make sure to|be sure to|remember to)(?![a-z])|[\s,:!.;-])*)"
)
"""What may stand before an English command. Atomic: no text makes the search for what follows it slow."""

POLITE_ZH: Final = (
    r"(?>(?:请问一下|请|麻烦你|麻烦您|麻烦|劳驾|你好|您好|你|您|可以|能不能|能否|可否|能|帮我|帮忙|帮|给我|替我|我要|我想要|我想|"
    r"我需要|需要|现在|马上|立即|立刻|尽快|那就|就|先|再|然后|接着|并且|并|同时|也|还要|还有|另外|顺便|直接|把|将|"
    r"(?i:please|pls|can you|could you)|[\s,:!。、;])*)"
)
"""What may stand before a Chinese command. A bare 能…吗 is no command: see ``is_question``."""

READ_EN: Final = (
    r"(?:show(?: me)?|list|display|find|search(?: for)?|look(?: up| for| at)?|get(?: me)?|give me|fetch|check|view|see|"
    r"tell me(?: about)?|pull up|open|print|query|read|what(?:'s| is| are| was| were| does| do)?|which|who|how|where|"
    r"when|is|are|was|were|has|have|do|does|did|any|status|describe|details?)\b"
)
"""How an English question or look-up begins."""

READ_ZH: Final = (
    r"(?:查询|查看|查一下|查下|查查|查|看一下|看看|看|显示|列出|列一下|列|搜索|搜一下|搜|找一下|找|告诉我|有哪些|哪些|哪个|"
    r"多少|什么|是否|有没有|怎么|如何|几个|几|打开)"
)

_RETRACTED: Final = (
    r"(?i)\b(?:never ?mind|scrap that|forget (?:it|that)|on second thoughts?|just kidding|(?:actually|wait|no|stop)\W+"
    r"(?:no|don't|do not|not|leave|stop)|don't do (?:it|that)|do not do (?:it|that)|or (?:maybe )?not)\b"
    r"|算了|还是别|还是不要|还是不用|开玩笑|当我没说|先别|暂时不要|不用了"
)
_CONDITION: Final = (
    r"(?i)^\W*(?:(?:but )?only |and only )*(?:if|unless|when|once|provided|in case|as soon as|as long as|after|before|"
    r"until|assuming|should|or|but|except|excluding|without|partially|partly|tomorrow|later|tonight|next|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:[0-9]+|an?) (?:minute|hour|day|week|month)s?)\b"
    r"|^\W*(?:如果|要是|假如|除非|当|等|万一|只要|或者?|还是|但|除了|除外|以外|明天|后天|下周|下个?月|晚点|稍后|以后再)"
)
_STARTS_CONDITION: Final = (
    r"(?i)^\W*(?:and |but |so )*(?:if|unless|when|once|suppose|supposing|assuming|in case|what if|should|as soon as|"
    r"until|after|before|provided)\b|^\W*(?:如果|要是|假如|假设|倘若|若|除非|万一|等|当|一旦)"
)
_REPORTS: Final = (
    r"(?i)\b(?:says?|said|wrote|writes|reads?|states|told|asks|asked|message|e?-?mail|note|text)\b[^.?!:]*:\s*$"
    r"|(?:说|写道|写着|内容|备注|留言|邮件)[^。?!:]*:\s*$"
)
_REFUSES: Final = (
    r"(?i)^\W*(?:(?:but|and|please|so|no)\W+)*(?:don't|do not|never|not)\b"
    r"|^\W*(?:但是|但|请)*\W*(?:不要(?!了)|别|勿|请勿|不用)"
)
_ASKING_ZH: Final = r"会怎|会如何|会发生|怎么样|怎样|要不要|该不该|应不应该|是否|是不是|为什么|为何|如何|怎么"
_NEGATION_ZH: Final = (
    r"不要|别|勿|不用|不必|无需|无须|不想|不能|不可|不许|禁止|没有|没|未|不|停止|避免|如果|要是|假如|除非|万一|假设"
)


def retracted(message: Phrase) -> bool:
    """Whether the user takes the command back somewhere ("never mind", 算了)."""
    return re.search(_RETRACTED, message.spoken) is not None


def conditional(rest: str) -> bool:
    """Whether what follows a command limits it, puts it off, or makes it depend on what the planner cannot judge."""
    return re.search(_CONDITION, rest) is not None


def refuses(clause: str) -> bool:
    """Whether a clause begins with a refusal (don't, 不要)."""
    return re.search(_REFUSES, clause) is not None


def reports(clause: str) -> bool:
    """Whether a clause announces somebody else's words, which then are no commands."""
    return re.search(_REPORTS, clause) is not None


def sets_condition(before: str) -> bool:
    """Whether a clause makes what follows it in the sentence depend on something."""
    return re.search(_STARTS_CONDITION, before) is not None


def is_question(phrase: Phrase) -> bool:
    """Whether a clause that looks like a command asks rather than tells.

    "Can you cancel …?" and 请帮我取消…好吗 are polite commands; "cancel 11074?" and 能取消吗 are questions.
    """
    if re.search(r"(?i)^[^?]*\b(?:can|could|will|would) you\b", phrase.spoken):
        return False
    if re.search(_ASKING_ZH, phrase.spoken):
        return True
    asks = phrase.asks() or "?" in phrase.spoken
    return asks and re.search(r"请|麻烦|帮我|帮忙|劳驾|[好行]吗", phrase.spoken) is None


def hedged(words: str) -> bool:
    """Whether a condition or a later time stands anywhere in words that should only name something."""
    return (
        re.search(r"(?i)\b(?:if|unless|when|once|until|after|before|tomorrow|later|next)\b|如果|等|明天", words)
        is not None
    )


def negated_zh(before: str) -> bool:
    """Whether a Chinese command is negated or made conditional by what stands before its verb."""
    return re.search(_NEGATION_ZH, before) is not None
