"""Enriched events as lines of tabs and of JSON."""

from __future__ import annotations

import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from tidemark.errors import ConfigError
from tidemark.shred.enriched.columns import ALIASES, ATOMIC_SCHEMA, COLUMNS, ENTITIES, TYPES, Event

_FLATTENED = re.compile(r"(contexts|unstruct_event)_.")
_ISO_TIMESTAMP = re.compile(r"([0-9-]{10})T([0-9:.]+)Z?")


def parse_line(line: str) -> Event:
    r"""The texts of a line of the canonical TSV; an empty field is None.

    Example:
        >>> event = parse_line("shop\tweb" + "\t" * 129)
        >>> event["platform"], event["true_tstamp"]
        ('web', None)

    Raises:
        ValueError: It does not have 131 fields.
    """
    texts = line.split("\t")
    if len(texts) != len(COLUMNS):
        raise ValueError(f"{len(texts)} fields, expected {len(COLUMNS)}")
    return {column: text or None for column, text in zip(COLUMNS, texts, strict=True)}


def to_line(event: Mapping[str, str | None]) -> str:
    r"""An event as a line of the canonical TSV, without line feed; what it does not name is empty.

    Example:
        >>> to_line({"app_id": "shop", "platform": "web"}) == "shop\tweb" + "\t" * 129
        True

    Raises:
        ConfigError: A column is not canonical.
        ValueError: A value holds a tab or a line break.
    """
    if not event.keys() <= TYPES.keys():
        check_columns(event)
    texts = [event.get(column) or "" for column in COLUMNS]
    line = "\t".join(texts)
    if line.count("\t") >= len(COLUMNS) or "\n" in line or "\r" in line:
        found = [c for c, t in zip(COLUMNS, texts, strict=True) if not {*"\t\n\r"}.isdisjoint(t)]
        raise ValueError(f"tab or line break in {', '.join(found)}")
    return line


def read_line(line: str) -> Event:
    """The texts of a line of TSV or JSON; which of the two, the line says.

    Example:
        >>> read_line('{"platform": "web"}')["platform"]
        'web'

    Raises:
        ValueError: It is neither; the message says why.
    """
    if not (line.startswith("{") and "\t" not in line):
        return parse_line(line)
    try:
        return parse_json_line(line)
    except LostEntitiesError:
        raise
    except (ValueError, RecursionError):
        raise ValueError("no JSON object") from None


class LostEntitiesError(ValueError):
    """Entities of an event stand in it without their schemas."""


def parse_json_line(line: str) -> Event:
    """The texts of an event in JSON, as they would be in the canonical TSV.

    The line is self-describing (`{"schema": "iglu:…/atomic/jsonschema/1-0-0", "data": {…}}`) or
    just the columns, as analytics SDKs give them. Contexts and self-describing event are nested
    or texts; timestamps may be ISO 8601; names that are not canonical (`geo_location`) are passed
    over. What an SDK writes of entities under shortened names (`contexts_com_acme_product_1`) does
    not tell their schemas, so it is an error unless the event has them in full as well.

    Texts are those that Spark's VARIANT gives: of arrays and objects JSON without blanks, members
    ordered by name in UTF-16; numbers without exponent are decimals without zeros that end the
    fraction, up to 38 digits, all others doubles as Java 19 and later print them. Spark on an
    older Java may print more digits, of 2e23 1.9999999999999998E23.

    Example:
        >>> parse_json_line('{"event_id": "1", "br_cookies": true, "txn_id": 7}')["br_cookies"]
        '1'

    Raises:
        ValueError: It is not a JSON object, or an object in it has two members of one name.
        LostEntitiesError: It has entities without their schemas.
        RecursionError: It is nested deeper than Python can follow, some hundred levels.
    """
    found = distinct_json(line)
    if isinstance(found, dict) and isinstance(found.get("data"), dict) and "schema" in found:
        found = found["data"]
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    event: Event = dict.fromkeys(COLUMNS)
    for name, value in found.items():
        column = ALIASES.get(name, name)
        # a column under its own name goes before an alias
        if column in TYPES and value is not None and (name == column or found.get(column) is None):
            event[column] = _text_of_json(column, value)
    lost = [name for name, value in found.items() if _is_lost(name, value, event)]
    if lost:
        names = ", ".join(sorted(lost, key=str.encode))
        raise LostEntitiesError(f"entities without their schema in {names}")
    return event


def _is_lost(name: str, value: Any, event: Event) -> bool:
    if not _FLATTENED.match(name) or value in (None, "", "[]", "{}", [], {}):
        return False
    if name.startswith("contexts_"):
        return event["contexts"] is None and event["derived_contexts"] is None
    return event["unstruct_event"] is None


def to_json_line(event: Mapping[str, str | None]) -> str:
    """An event as self-describing JSON, without line feed: columns that are not NULL, typed.

    Example:
        >>> to_json_line({"platform": "web", "txn_id": "7"}).partition('"data":')[2]
        '{"platform":"web","txn_id":7}}'

    Raises:
        ConfigError: A column is not canonical.
        ValueError: A value is not of the column's type.
    """
    check_columns(event)
    members = []
    for column in COLUMNS:
        text = event.get(column)
        if text:
            members.append(f"{json.dumps(column)}:{_json_of_text(column, text)}")
    return f'{{"schema":"{ATOMIC_SCHEMA}","data":{{{",".join(members)}}}}}'


class _RawNumber(str):
    """A JSON number as it was written."""


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in their order, each as often as it is there."""


def loads(text: str, members: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    """Parse JSON, its numbers as they are written."""
    return json.loads(
        text,
        parse_float=_raw_number,
        parse_int=_raw_number,
        parse_constant=_no_constant,
        object_pairs_hook=members,
    )


def distinct_json(text: str) -> Any:
    """Parse JSON, its numbers as they are written, its objects as dicts.

    Raises:
        ValueError: It is none, or an object in it has two members of one name.
    """
    return loads(text, _distinct)


def _raw_number(text: str) -> _RawNumber:
    # Spark's parser refuses longer ones
    if len(text) > 1000 and sum(map(str.isdigit, text)) > 1000:
        raise ValueError("number of more than 1000 digits")
    return _RawNumber(text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = {_encodable(name): value for name, value in pairs}
    if len(members) < len(pairs):
        raise ValueError("two members of one name")
    return members


def _text_of_json(column: str, value: Any) -> str | None:
    if isinstance(value, _RawNumber):
        text = _number_text(value)
    elif isinstance(value, str):
        text = _encodable(value)
    else:
        text = variant_text(value)
    if TYPES[column] == "boolean":
        text = {"true": "1", "false": "0"}.get(text, text)
    elif TYPES[column] == "timestamp":
        iso = _ISO_TIMESTAMP.fullmatch(text)
        text = f"{iso[1]} {iso[2]}" if iso else text
    elif column in ENTITIES and text in ("{}", "[]"):
        # As upstream: a column without entities may be an empty object.
        return None
    return text or None


def variant_text(value: Any) -> str:
    """A JSON value as Spark prints a VARIANT."""
    # lists, not generators: those would double the depth of the stack
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=_utf16)
        members = [f"{_variant_quoted(n)}:{variant_text(v)}" for n, v in ordered]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join([variant_text(item) for item in value]) + "]"
    if isinstance(value, _RawNumber):
        text = _number_text(value)
        return f'"{text}"' if text.endswith("Infinity") else text
    return _variant_quoted(_encodable(value)) if isinstance(value, str) else json.dumps(value)


def _utf16(member: tuple[str, Any]) -> bytes:
    return member[0].encode("utf-16-be")


def _encodable(text: str) -> str:
    """A text whose lone surrogates are question marks, as in Java."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _variant_quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


_ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(32)}
    | {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
)


def _number_text(number: str) -> str:
    """A JSON number as Spark's VARIANT gives it."""
    whole, _, fraction = number.removeprefix("-").partition(".")
    if number.lower().find("e") < 0:
        digits = len((whole + fraction).lstrip("0"))
        if digits <= 38 and len(fraction) <= 38:
            fraction = fraction.rstrip("0")
            text = f"{whole}.{fraction}" if fraction else whole
            return f"-{text}" if number.startswith("-") and text != "0" else text
    return _java_double(float(number))


def _java_double(number: float) -> str:
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if math.isinf(number):
        return f"{sign}Infinity"
    digits, exponent = _digits(repr(abs(number)))
    if len(digits) == 1:
        # Java takes the nearest of two digits then, which shows in the smallest numbers
        digits, exponent = _digits(f"{abs(number):.1e}")
    if -3 <= exponent < 7:
        padded = digits.rjust(len(digits) - min(exponent, 0), "0").ljust(exponent + 2, "0")
        point = max(exponent, 0) + 1
        return f"{sign}{padded[:point]}.{padded[point:]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits of a number, and the exponent of the first one."""
    found = decimal.Decimal(text)
    digits = "".join(map(str, found.as_tuple().digits)).rstrip("0")
    return (digits, found.adjusted()) if digits else ("0", 0)


def _compact(value: Any) -> str:
    """JSON without blanks, members in their order, numbers as they were written."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(k)}:{_compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    if isinstance(value, _RawNumber):
        return str(value)
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_of_text(column: str, text: str) -> str:
    kind = TYPES[column]
    if column in ENTITIES:
        return _compact(json.loads(text, parse_float=_RawNumber, parse_int=_RawNumber))
    if kind == "timestamp":
        return _quoted(text.replace(" ", "T") + "Z")
    if kind == "boolean":
        return {"1": "true", "0": "false"}[text]
    if kind == "string":
        return _quoted(text)
    json.loads(text)  # a number that JSON cannot write as it is must not go through
    return text


def check_columns(columns: Iterable[str]) -> None:
    """Refuse columns that an enriched event has not."""
    for column in columns:
        if column not in TYPES:
            near = get_close_matches(column, COLUMNS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{column} is no column of an enriched event{hint}")
