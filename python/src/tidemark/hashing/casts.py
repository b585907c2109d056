"""Texts of a file as values of a type, as Spark casts them."""

from __future__ import annotations

import datetime
import decimal
import json
import re
import zoneinfo
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tidemark.errors import ConfigError
from tidemark.hashing.recipe import Reader
from tidemark.hashing.text import as_float32
from tidemark.hashing.types import INTEGERS, STRINGS, Type

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))
_WIDE = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def values_of(row: Any, names: Sequence[str]) -> list[Any] | None:
    """The values in column order, None if the row has another shape."""
    fields = getattr(row, "__fields__", None)
    if fields is not None and fields != names:
        row = row.asDict()
    if isinstance(row, Mapping):
        return [row.get(name) for name in names] if set(row) <= set(names) else None
    if isinstance(row, tuple | list) and len(row) == len(names):
        return list(row)
    return None


def payload_of(row: Any, names: Sequence[str], sensitive: frozenset[str]) -> str:
    """The row as JSON, sensitive values masked; one of unknown shape may hold them anywhere."""
    if isinstance(row, Mapping) and set(row) <= set(names):
        shown = {n: "***" if n in sensitive and v is not None else v for n, v in row.items()}
    elif sensitive:
        shown = {"_unreadable": "*** (withheld: the entity has sensitive columns)"}
    else:
        shown = {"_unreadable": row}
    return json.dumps(shown, ensure_ascii=False, default=str)


def cast_values(
    arrived: Sequence[Any], readers: Sequence[tuple[str, Reader | None]]
) -> tuple[list[Any], list[str]]:
    """Typed values, and the names of the columns that could not be read (their value is None)."""
    values: list[Any] = []
    failed: list[str] = []
    for value, (name, read) in zip(arrived, readers, strict=True):
        if value is None or read is None:
            values.append(value)
            continue
        try:
            values.append(read(value if isinstance(value, str) else str(value)))
        except (ValueError, ArithmeticError):
            values.append(None)
            failed.append(name)
    return values, failed


def readers_of(
    kinds: Mapping[str, Type], done: frozenset[str], zone: str
) -> list[tuple[str, Reader | None]]:
    """Return by column what reads a text as a value; None for those taken as they are."""
    return [
        (name, None if name in done else _reader(name, kind, zone)) for name, kind in kinds.items()
    ]


def _reader(name: str, kind: Type, zone: str) -> Reader:
    base = kind.base
    if base in STRINGS:
        return str
    read: Reader
    if base == "boolean":
        read = _read_boolean
    elif base in INTEGERS:
        bits = INTEGERS[base]
        read = lambda text: _read_integer(text, bits)  # noqa: E731
    elif base == "decimal":
        read = lambda text: _read_decimal(text, kind)  # noqa: E731
    elif base == "double":
        read = _read_double
    elif base in ("float", "real"):
        read = lambda text: as_float32(_read_double(text))  # noqa: E731
    elif base == "date":
        read = _read_date
    elif base in ("timestamp", "timestamp_ltz"):
        read = lambda text: _read_timestamp(text, zone)  # noqa: E731
    elif base == "timestamp_ntz":
        read = lambda text: _read_timestamp(text, None)  # noqa: E731
    else:
        raise ConfigError(
            f"columns: {name} cannot be read from text as {kind.text}. Give the column another type"
        )
    return lambda text: read(text.strip()) if text.strip() else None


def _read_boolean(text: str) -> bool:
    lower = text.lower()
    if lower not in _TRUE | _FALSE:
        raise ValueError("not a boolean")
    return lower in _TRUE


def _read_integer(text: str, bits: int) -> int:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise ValueError("not a whole number")
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError("out of range")
    return number


def _read_decimal(text: str, kind: Type) -> decimal.Decimal:
    if not text.isascii() or not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    number = decimal.Decimal(text)
    if number and number.adjusted() > kind.precision:
        raise ValueError("out of range")
    rounded = number.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_WIDE)
    if rounded and rounded.adjusted() >= kind.precision - kind.scale:
        raise ValueError("out of range")
    return rounded


def _read_double(text: str) -> float:
    special = text.lower().lstrip("+-") in ("nan", "inf", "infinity")
    if not special and not (text.isascii() and _NUMBER.fullmatch(text)):
        raise ValueError("not a number")
    return float(text)


def _read_date(text: str) -> datetime.date:
    match = _DATE.fullmatch(text)
    if match is None or not text.isascii():
        raise ValueError("not a date")
    return datetime.date(int(match[1]), int(match[2]), int(match[3]))


def _read_timestamp(text: str, zone: str | None) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    if zone is None:
        if moment.tzinfo is not None:
            raise ValueError("a timestamp without zone names one")
        return moment
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=_zone(zone))
    return aware.astimezone(datetime.UTC)


@lru_cache(maxsize=16)
def _zone(name: str) -> datetime.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        offset = datetime.datetime.fromisoformat(f"2000-01-01T00:00:00{name.removeprefix('GMT')}")
        return offset.tzinfo or datetime.UTC
