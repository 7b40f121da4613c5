"""Conditions of rules: CEL over what is asked, checked when the policy is loaded, and exact about money.

Money is never a float. ``total`` and ``day_total`` are whole units, rounded up, so that ``total > 5000`` is exact:
5000.01 becomes 5001, which is above, and 5000.00 is not. A rounded figure is right with ``>`` and ``<=`` only, so any
other use of it is refused when the policy is loaded; ``total_exact`` and ``day_total_exact`` are ten-thousandths, and
``money("5000.01")`` makes such a figure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from cel_expr_python import cel

from graph.policy.subject import Subject

SCALE: Final = 10_000
"""Exact figures are ten-thousandths: no currency has more than four places."""

_TYPE: Final = cel.Type
_OBJECT: Final = _TYPE.Map(_TYPE.STRING, _TYPE.DYN)
VARIABLES: Final[Mapping[str, Any]] = {
    "tool": _TYPE.STRING,
    "args": _OBJECT,
    "preview": _OBJECT,
    "requested_by": _TYPE.STRING,
    "requester_roles": _TYPE.List(_TYPE.STRING),
    "currency": _TYPE.STRING,
    "reversibility": _TYPE.STRING,
    "total": _TYPE.INT,
    "total_exact": _TYPE.INT,
    "day_total": _TYPE.INT,
    "day_total_exact": _TYPE.INT,
    "day_count": _TYPE.INT,
}
"""What a condition can name."""

ROUNDED: Final = frozenset({"total", "day_total"})
DAILY: Final = frozenset({"day_total", "day_total_exact", "day_count"})
INT64: Final = 2**63

_LEXEME: Final = re.compile(
    r'''(?P<text>[rR]?(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))'''
    r"""|(?P<comment>//[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<sign>[<>=!]=|&&|\|\||[^\s\w])|(?P<number>\d[\w.]*)""",
    re.DOTALL,
)
_OPENS: Final = frozenset({"", "(", "[", "{", "&&", "||", "!", "?", ":", ","})
_CLOSES: Final = frozenset({"", ")", "]", "}", "&&", "||", "?", ":", ","})


class ConditionError(ValueError):
    """A condition that cannot be used.

    Args:
        message: what is wrong.
        line, column: in the condition, counted from 1.
    """

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def _money(text: str) -> int:
    """``money("5000.01")`` of a condition: ten-thousandths. What is no such amount is an error, so the safe side."""
    scaled = Decimal(text) * SCALE
    if scaled != int(scaled):
        raise ValueError(f"{text!r} has more than four places")
    return int(scaled)


_ENV: Final = cel.NewEnv(
    variables=dict(VARIABLES),
    functions=[cel.FunctionDecl("money", [cel.Overload("money_string", _TYPE.INT, [_TYPE.STRING], False, _money)])],
)


@dataclass(frozen=True)
class Condition:
    """A compiled condition.

    Args:
        text: as it was written.
        names: the variables that it uses.
        expression: what CEL made of it.
    """

    text: str
    names: frozenset[str]
    expression: Any

    @classmethod
    def compile(cls, text: str) -> "Condition":
        """Checks a condition and its types.

        Raises:
            ConditionError: with line and column.
        """
        try:
            expression = _ENV.compile(text)
        except RuntimeError as error:
            raise _readable(str(error)) from None
        if expression.return_type() != _TYPE.BOOL:
            raise ConditionError("the condition does not answer yes or no: compare it with something")
        lexemes = [found for found in _LEXEME.finditer(text) if not found["comment"]]
        for place in range(len(lexemes)):
            _check_rounded(text, lexemes, place)
            _check_money(text, lexemes, place)
        return cls(text, frozenset(_own_names(lexemes)), expression)

    @property
    def is_daily(self) -> bool:
        """Whether it looks at what else the requester asked for."""
        return bool(self.names & DAILY)

    def ask(self, subject: Subject, roles: Sequence[str], currency: str) -> bool | str:
        """The condition's answer for one currency of the subject, or why it has none."""
        return self.ask_with(_activation(subject, roles, currency))

    def ask_with(self, values: Mapping[str, Any]) -> bool | str:
        """The condition's answer where only these variables are known, or why it has none."""
        try:
            answer = self.expression.eval(data=dict(values))
        except RuntimeError as error:
            return str(error)
        value = answer.value()
        if answer.type() == _TYPE.BOOL and isinstance(value, bool):  # an error comes back as a truthy text
            return value
        return str(value)


def _activation(subject: Subject, roles: Sequence[str], currency: str) -> dict[str, Any]:
    """The variables; a figure that is not known, or too large for CEL, is left out: using it is then an error."""
    values: dict[str, Any] = {
        "tool": subject.tool, "args": subject.arguments, "preview": subject.preview,
        "requested_by": subject.requested_by, "requester_roles": list(roles), "currency": currency,
        "reversibility": subject.reversibility, "day_count": subject.day_count,
    }  # fmt: skip
    total, day_total = subject.total(currency), subject.day_total(currency)
    figures = {
        "total": None if total is None else _rounded_up(total),
        "total_exact": None if total is None else _exact(total),
        "day_total": None if day_total is None else _rounded_up(day_total),
        "day_total_exact": None if day_total is None else _exact(day_total),
    }
    return values | {name: value for name, value in figures.items() if value is not None and abs(value) < INT64}


def _rounded_up(amount: Decimal) -> int:
    return int(amount.to_integral_value(ROUND_CEILING))


def _exact(amount: Decimal) -> int | None:
    scaled = amount * SCALE
    return int(scaled) if scaled == scaled.to_integral_value() else None


def _readable(said: str) -> ConditionError:
    found = re.search(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)", said)
    if found is None:
        return ConditionError(said.splitlines()[0])
    message = found[3].removesuffix("[INVALID_ARGUMENT]").replace(" (in container '')", "").strip()
    if "(int, double)" in message or "(double, int)" in message:
        message += '; money is never a float: write total_exact > money("5000.50")'
    return ConditionError(message, int(found[1]), int(found[2]))


def _own_names(lexemes: Sequence[re.Match[str]]) -> list[str]:
    names = [one["name"] for place, one in enumerate(lexemes) if not (place and lexemes[place - 1][0] == ".")]
    return [name for name in names if name in VARIABLES]


def _sign(lexemes: Sequence[re.Match[str]], place: int) -> str:
    return lexemes[place][0] if 0 <= place < len(lexemes) else ""


def _check_rounded(text: str, lexemes: Sequence[re.Match[str]], place: int) -> None:
    name = lexemes[place]["name"]
    before, after = _sign(lexemes, place - 1), _sign(lexemes, place + 1)
    if name not in ROUNDED or before == ".":
        return
    if (before in _OPENS and after in {">", "<="}) or (before in {"<", ">="} and after in _CLOSES):
        return
    raise _at(
        text,
        lexemes[place],
        f"{name} is rounded up to whole units, so it can only be compared with > or <=: "
        f'write {name} > 5000, or {name}_exact >= money("5000.00")',
    )


def _check_money(text: str, lexemes: Sequence[re.Match[str]], place: int) -> None:
    """A literal that is no amount is found now, not when somebody waits for an answer."""
    if lexemes[place]["name"] != "money" or _sign(lexemes, place + 1) != "(" or place + 2 >= len(lexemes):
        return
    literal = lexemes[place + 2]
    if literal["text"] and not re.fullmatch(r"""(["'])-?\d{1,14}(\.\d{1,4})?\1""", literal[0]):
        raise _at(text, literal, f'{literal[0]} is not an amount: write it like money("5000.01")')


def _at(text: str, lexeme: re.Match[str], message: str) -> ConditionError:
    before = text[: lexeme.start()]
    return ConditionError(message, before.count("\n") + 1, lexeme.start() - (before.rfind("\n") + 1) + 1)
