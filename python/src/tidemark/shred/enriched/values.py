"""Texts of an enriched event as values of their columns."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from tidemark.shred.enriched.columns import ENTITIES, MONEY, REQUIRED, TYPES
from tidemark.shred.enriched.lines import Members, loads
from tidemark.shred.schema_uri import is_schema_uri

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TIMESTAMP = re.compile(
    # no hour 24, which later versions of Python read
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?"
)
_CENT = decimal.Decimal("0.01")
_WIDE = decimal.Context(prec=100)


def problems(event: Mapping[str, str | None]) -> list[str]:
    """Why an event cannot be used, in the order of the columns; empty if it can.

    What upstream's parsers refuse is refused: an id that is no UUID, a number, timestamp or
    boolean (0 or 1) that is none, self-describing JSON that is none or in another envelope.

    Example:
        >>> problems({"event_id": "x", "collector_tstamp": "2026-03-04 09:30:00.000", "v_etl": "e"})
        ['cast_failed: event_id', 'null_value: v_collector']
    """
    return read_values(event)[1]


def read_values(event: Mapping[str, str | None]) -> tuple[list[Any], list[str]]:
    """An event's values in the order of the columns, None where there is none, and its problems.

    Example:
        >>> read_values({"app_id": "shop", "etl_tstamp": "x"})[1][0]
        'cast_failed: etl_tstamp'

    Returns:
        The values: str, int, float, bool, Decimal of two decimal places, or datetime without zone
        in UTC; event_id is in lower case. The problems, see `problems`.
    """
    values: list[Any] = []
    found = []
    for column, read in _READERS.items():
        text = event.get(column)
        value = None
        if not text:
            if column in REQUIRED:
                found.append(f"null_value: {column}")
        elif read is None:
            value = text
        else:
            value = read(text)
            if value is None:
                found.append(f"cast_failed: {column}")
        values.append(value)
    return values, found


def _event_id(text: str) -> str | None:
    return text.lower() if _UUID.fullmatch(text) else None


def _int(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else 2**31
    return number if -(2**31) <= number < 2**31 else None


def _double(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _boolean(text: str) -> bool | None:
    return {"0": False, "1": True}.get(text)


def _money(text: str) -> decimal.Decimal | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    # Java's decimals end there
    if not isinstance(exponent, int) or abs(exponent) >= 2**31:
        return None
    if not number or number.adjusted() < -3:
        return decimal.Decimal("0.00")
    if number.adjusted() >= 16:
        return None
    rounded = number.quantize(_CENT, decimal.ROUND_HALF_UP, _WIDE)
    return rounded if rounded.adjusted() < 16 else None


def _envelope(column: str) -> Callable[[str], str | None]:
    return lambda text: text if is_envelope(column, text) else None


def _reader(column: str, kind: str) -> Callable[[str], Any] | None:
    if column == "event_id":
        return _event_id
    if column in ENTITIES:
        return _envelope(column)
    by_kind: dict[str, Callable[[str], Any]] = {
        "int": _int,
        "double": _double,
        "boolean": _boolean,
        "timestamp": parse_timestamp,
        MONEY: _money,
    }
    return by_kind.get(kind)


def is_envelope(column: str, text: str) -> bool:
    """Whether a text is the envelope, read as Spark's `from_json` does.

    Of members that have the same name the last one counts whose value is of the type; data is
    parsed to the end, so that it holds no two members of one name.
    """
    try:
        found = loads(text, Members)
        if not isinstance(found, Members):
            return False
        schema: Any = None
        entities: list[Any] | None = None
        for name, value in found:
            if name == "schema":
                schema = value
            elif name == "data" and value is None:
                entities = None
            elif name == "data" and column == "unstruct_event":
                entities = [value] if isinstance(value, Members) else entities
            elif name == "data" and _is_array_of_objects(value):
                entities = value
        return (
            isinstance(schema, str)
            and _ENVELOPES[column].fullmatch(schema) is not None
            and entities is not None
            and all([_is_entity(entity) for entity in entities])
        )
    except (ValueError, RecursionError):
        return False


def _is_array_of_objects(value: Any) -> bool:
    if not isinstance(value, list) or isinstance(value, Members):
        return False
    return all(item is None or isinstance(item, Members) for item in value)


def _is_entity(entity: Members | None) -> bool:
    members = dict(entity or ())
    uri = members.get("schema")
    return (
        isinstance(uri, str)
        and is_schema_uri(uri)
        and "data" in members
        and not any([_repeats_name(value) for name, value in entity or () if name == "data"])
    )


def _repeats_name(value: Any) -> bool:
    if isinstance(value, Members):
        names = {name for name, _ in value}
        return len(names) < len(value) or any([_repeats_name(inner) for _, inner in value])
    return isinstance(value, list) and any([_repeats_name(item) for item in value])


def parse_timestamp(text: str | None) -> datetime | None:
    """A timestamp of the TSV (UTC, without zone), or None if it is none.

    Example:
        >>> parse_timestamp("2026-03-04 09:30:00.5")
        datetime.datetime(2026, 3, 4, 9, 30, 0, 500000)
    """
    if text is None or _TIMESTAMP.fullmatch(text) is None:
        return None
    fraction = text[20:].removesuffix("Z")[:6].ljust(6, "0")
    try:
        # the form is known by now, and strptime takes half the time that reading a line does
        return datetime.fromisoformat(f"{text[:19]}.{fraction}")
    except ValueError:
        return None


_ENVELOPES = {
    column: re.compile(re.escape(uri.removesuffix("*")) + "(0|[1-9][0-9]*)")
    for column, uri in ENTITIES.items()
}
_READERS: Mapping[str, Callable[[str], Any] | None] = MappingProxyType(
    {column: _reader(column, kind) for column, kind in TYPES.items()}
)
"""What makes a column's value of its text, None of a text that is none; None for any text."""
