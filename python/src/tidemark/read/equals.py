"""Rows that have a value which somebody types: compared by type, in DuckDB's SQL."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from tidemark.engine.quoted import identifier, literal


def equals_sql(column: str, type_: str, text: str, zoned: str = "timestamp") -> str:
    """Return the condition that a column has the value that a text tells.

    Args:
        column: Its name.
        type_: Its type, as Delta or Iceberg call it.
        text: A value as it is shown, or as Spark writes it; NULL is also the one that is not there.
        zoned: What the table calls the type of timestamps in UTC.
    """
    name = identifier(column)
    condition = _condition(name, type_, text, zoned)
    if text != "NULL":
        return condition
    return f"({name} is null or {condition})"


def _condition(name: str, type_: str, text: str, zoned: str) -> str:
    kind = re.match(r"[a-z_]*", type_)
    read = _READ.get(kind[0] if kind else "")
    if read is None:
        return f"cast({name} as varchar) = {literal(text)}"
    try:
        return read(name, type_, text, zoned)
    except (ValueError, InvalidOperation, OverflowError):
        return "false"


def _boolean(name: str, type_: str, text: str, zoned: str) -> str:
    if text.lower() not in ("true", "false"):
        return "false"
    return f"{name} = {text.lower()}"


def _floating(name: str, type_: str, text: str, zoned: str) -> str:
    number = float(text)
    if math.isnan(number):
        return f"isnan({name})"
    return f"{name} = cast({literal(repr(number))} as {type_})"


def _decimal(name: str, type_: str, text: str, zoned: str) -> str:
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


def _moment(name: str, type_: str, text: str, zoned: str) -> str:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    own = "timestamptz" if type_ == zoned else "timestamp"
    return f"{name} = cast({literal(moment.isoformat(' '))} as {own})"


def _binary(name: str, type_: str, text: str, zoned: str) -> str:
    return f"{name} = unhex({literal(bytes.fromhex(text).hex())})"


_READ: dict[str, Callable[[str, str, str, str], str]] = {
    "boolean": _boolean,
    "float": _floating,
    "double": _floating,
    "decimal": _decimal,
    "timestamp": _moment,
    "timestamp_ntz": _moment,
    "timestamptz": _moment,
    "binary": _binary,
}
