"""Rows that have a value which somebody types: compared by type, not by the text of an engine."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from tidemark.engine.quoted import identifier, literal


@dataclass(frozen=True)
class Dialect:
    """How an engine makes values of texts; `{}` stands for the text, quoted.

    Attributes:
        zoned: The type of timestamps in UTC.
        moment: A timestamp without a zone.
        moment_utc: A timestamp of a text in UTC.
        binary: Bytes of hexadecimal digits.
    """

    zoned: str
    moment: str
    moment_utc: str
    binary: str


def equals_sql(column: str, type_: str, text: str, dialect: Dialect) -> str:
    """Return the condition that a column has the value that a text tells.

    Args:
        column: Its name.
        type_: Its type, as Delta or Iceberg call it.
        text: A value as it is shown, or as Spark writes it; NULL is also the one that is not there.
        dialect: What reads it.
    """
    name = identifier(column)
    condition = _condition(name, type_, text, dialect)
    if text != "NULL":
        return condition
    return f"({name} is null or {condition})"


def _condition(name: str, type_: str, text: str, dialect: Dialect) -> str:
    kind = re.match(r"[a-z_]*", type_)
    read = _READ.get(kind[0] if kind else "")
    if read is None:
        return f"cast({name} as varchar) = {literal(text)}"
    try:
        return read(name, type_, text, dialect)
    except (ValueError, InvalidOperation, OverflowError):
        return "false"


def _boolean(name: str, type_: str, text: str, dialect: Dialect) -> str:
    if text.lower() not in ("true", "false"):
        return "false"
    return f"{name} = {text.lower()}"


def _floating(name: str, type_: str, text: str, dialect: Dialect) -> str:
    number = float(text)
    if math.isnan(number):
        return f"isnan({name})"
    return f"{name} = cast({literal(repr(number))} as {type_})"


def _decimal(name: str, type_: str, text: str, dialect: Dialect) -> str:
    found = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", type_)
    number = Decimal(text)
    if found is None or not number.is_finite():
        return "false"
    precision, scale = map(int, found.groups())
    _, digits, exponent = number.normalize().as_tuple()
    # what does not fit would be rounded to another value
    if not isinstance(exponent, int) or -exponent > scale:
        return "false"
    if number and len(digits) + exponent > precision - scale:
        return "false"
    return f"{name} = cast({literal(f'{number:f}')} as decimal({precision},{scale}))"


def _moment(name: str, type_: str, text: str, dialect: Dialect) -> str:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    form = dialect.moment_utc if type_ == dialect.zoned else dialect.moment
    return f"{name} = {form.format(literal(moment.isoformat(' ')))}"


def _binary(name: str, type_: str, text: str, dialect: Dialect) -> str:
    return f"{name} = {dialect.binary.format(literal(bytes.fromhex(text).hex()))}"


_READ: dict[str, Callable[[str, str, str, Dialect], str]] = {
    "boolean": _boolean,
    "float": _floating,
    "double": _floating,
    "decimal": _decimal,
    "timestamp": _moment,
    "timestamp_ntz": _moment,
    "timestamptz": _moment,
    "binary": _binary,
}
