"""The argument types that tools are written with: what a client may send, and what the tool's function then gets.

Every type says its own JSON Schema, plain enough for strict function-calling clients: quantities are numbers (the
server also takes decimal strings), an optional argument is left out and never null. Floats end here: a JSON number
becomes a Decimal by its shortest text, so that 1, 1.0 and "1" are one value.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from erp_mcp.domain.orders import Grouping

MAX_QUANTITY: Final = 1_000_000_000
"""Far above any real stock; with it, thousandths times a price in minor units stay within 64 bits."""
MAX_LINES: Final = 500
MAX_LIMIT: Final = 100
MAX_COMPARED: Final = 50

_PLAIN_DECIMAL: Final = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?", re.ASCII)
_EMAIL: Final = re.compile(r"[^\s@<>()\[\],;:\\\"]+@[^\s@<>()\[\],;:\\\"]+\.[^\s@<>()\[\],;:\\\".]{2,}")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def refuse(problem: str) -> PydanticCustomError:
    """The error that a validator raises; the registry adds the field's name and value to it."""
    return PydanticCustomError("argument", "{problem}", {"problem": problem})


def decimal_string(value: Decimal) -> str:
    """A decimal as plain digits without trailing zeros: ``"2.5"``, ``"3"``, ``"-4"``; never an exponent."""
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def to_decimal(value: Any) -> Decimal:
    """A JSON number or a decimal string as an exact Decimal; the one place where a float is read.

    Raises:
        PydanticCustomError: a boolean, NaN, an infinity (1e400 arrives as one), other text, or beyond MAX_QUANTITY.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise refuse("must be a number")
    if isinstance(value, str):
        if not _PLAIN_DECIMAL.fullmatch(value.strip()):
            raise refuse("must be a number, such as 3 or 2.5")
        number = Decimal(value.strip())
    elif isinstance(value, int):
        if abs(value) > MAX_QUANTITY:  # before it becomes text: Python refuses to print very long integers
            raise refuse(f"must be within {MAX_QUANTITY}")
        number = Decimal(value)
    else:
        number = Decimal(repr(value)) if isinstance(value, float) else value
    if not number.is_finite():
        raise refuse("must be a finite number")
    if abs(number) > MAX_QUANTITY:
        raise refuse(f"must be within {MAX_QUANTITY}")
    return number


def _three_places(value: Decimal) -> Decimal:
    if value != value.quantize(Decimal("0.001")):
        raise refuse("must have at most three decimal places")
    return Decimal(decimal_string(value))


def _positive(value: Decimal) -> Decimal:
    if value <= 0:
        raise refuse("must be more than 0")
    return value


def _not_zero(value: Decimal) -> Decimal:
    if value == 0:
        raise refuse("must not be 0")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise refuse("must be text (put it in quotes)")
    if "\0" in value:
        raise refuse("must not contain the NUL character")
    if _SURROGATE.search(value):
        raise refuse("must not contain half of a surrogate pair")
    return value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise refuse("must not be blank")
    return value


def _trimmed(value: str) -> str:
    return value.strip()


def _plausible_email(value: str) -> str:
    if not _EMAIL.fullmatch(value) or ".." in value:
        raise refuse("must be an e-mail address, such as name@example.com")
    return value


def _whole_number(value: Any) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse("must be a whole number")
    return value


def _day(value: Any) -> date:
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise refuse("is not a day of the calendar") from error
    if type(value) is date:
        return value
    raise refuse("must be a day written as YYYY-MM-DD")


Text = Annotated[str, BeforeValidator(_text)]
"""Any text that JSON and both databases can carry; limits are added where it is used."""
NonBlank = Annotated[Text, AfterValidator(_not_blank)]

OrderId = Annotated[
    NonBlank,
    Field(max_length=64, description="order number such as SO20261130-0001, or the number it was imported with"),
]
Sku = Annotated[NonBlank, Field(max_length=100, description="the product's SKU, exactly")]
CustomerRef = Annotated[NonBlank, Field(max_length=200, description="customer id, or the exact name")]
WarehouseCode = Annotated[NonBlank, Field(max_length=64, description="warehouse code; the main one if left out")]
AnyWarehouse = Annotated[NonBlank, Field(max_length=64, description="warehouse code; all of them if left out")]
Query = Annotated[NonBlank, Field(max_length=200, description="words to search for")]
Category = Annotated[NonBlank, Field(max_length=100, description="category name, exactly")]
Skus = Annotated[
    list[Sku], Field(min_length=1, max_length=MAX_COMPARED, description=f"SKUs to compare, 1 to {MAX_COMPARED}")
]
GroupBy = Annotated[Grouping, Field(description="what to add up by")]
Status = Annotated[
    NonBlank, Field(max_length=32, description="one of: pending, confirmed, shipped, completed, cancelled")
]
Reason = Annotated[NonBlank, Field(max_length=500, description="why, in the user's words; kept for the audit")]
Note = Annotated[Text, Field(max_length=2000, description="a note kept with the order")]
Phone = Annotated[NonBlank, Field(max_length=50, description="phone number, kept as given"), AfterValidator(_trimmed)]
Email = Annotated[
    NonBlank,
    Field(max_length=254, description="e-mail address"),
    AfterValidator(_trimmed),
    AfterValidator(_plausible_email),
]
Cursor = Annotated[
    NonBlank, Field(max_length=1000, description="next_cursor of the page before, with the same filters")
]
Limit = Annotated[
    int,
    Field(ge=1, le=MAX_LIMIT, description=f"how many at most, 1 to {MAX_LIMIT}"),
    BeforeValidator(_whole_number),
]
Flag = Annotated[bool, Strict()]
Day = Annotated[
    date,
    BeforeValidator(_day),
    WithJsonSchema(
        {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": "business day, YYYY-MM-DD"}
    ),
]
_Decimal = Annotated[
    Decimal,
    BeforeValidator(to_decimal),
    AfterValidator(_three_places),
    PlainSerializer(decimal_string, return_type=str),
]
Quantity = Annotated[
    _Decimal,
    AfterValidator(_positive),
    WithJsonSchema(
        {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_QUANTITY, "description": "how many, more than 0"}
    ),
]
"""More than 0; how many decimal places a product allows is checked against the product."""
Delta = Annotated[
    _Decimal,
    AfterValidator(_not_zero),
    WithJsonSchema(
        {
            "type": "number",
            "minimum": -MAX_QUANTITY,
            "maximum": MAX_QUANTITY,
            "description": "change of the quantity on hand: 5 adds, -3 takes away; never 0",
        }
    ),
]


class _Argument(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LineIn(_Argument):
    """One line that a caller asks for."""

    sku: Sku
    quantity: Quantity


Lines = Annotated[
    list[LineIn], Field(min_length=1, max_length=MAX_LINES, description="what and how many; one SKU may come twice")
]


class Address(_Argument):
    """A postal address. ``country`` as the customer writes it."""

    line1: Annotated[NonBlank, Field(max_length=200, description="street and number")]
    line2: Annotated[Text, Field(max_length=200)] = ""
    city: Annotated[NonBlank, Field(max_length=100)]
    region: Annotated[Text, Field(max_length=100)] = ""
    postal_code: Annotated[Text, Field(max_length=20)] = ""
    country: Annotated[NonBlank, Field(max_length=100)]
