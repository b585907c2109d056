"""The canonical text of a value."""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tidemark.errors import ConfigError
from tidemark.hashing.recipe import EPOCH, MICROSECOND, Encoder
from tidemark.hashing.types import INTEGERS, STRINGS, Type, parse_type


def canonical_text(value: Any, data_type: str) -> str | None:
    """The canonical text of a value, None for None.

    Example:
        >>> canonical_text(decimal.Decimal("1.50"), "decimal(10,2)")
        '1.5'
        >>> canonical_text(1.1, "double")
        '0x1.199999999999ap0'
        >>> canonical_text([1, None], "array<int>")
        '[1:1;N;]'

    Args:
        value: As PySpark gives it: str, bool, int, Decimal, float, date, datetime, bytes,
            timedelta, list, dict (map), Row, tuple or dict (struct). A datetime without a zone
            counts as local time in a `timestamp`.
        data_type: A Spark type, as `describe query` prints it or with quoted field names.

    Raises:
        ConfigError: The type has no canonical text (variant, time …).
        TypeError: The value is not of the type.
        ValueError: The value does not fit the type.
    """
    return None if value is None else encoder_of(parse_type(data_type))(value)


@lru_cache(maxsize=4096)
def encoder_of(data_type: Type) -> Encoder:
    """Return what makes the canonical text of values of a type."""
    base = data_type.base
    if base in STRINGS:
        return _text_of_string
    if base == "boolean":
        return _text_of_boolean
    if base in INTEGERS:
        return _text_of_integer
    if base == "decimal":
        scale = data_type.scale
        return lambda value: _text_of_decimal(value, scale)
    if base == "double":
        return _text_of_double
    if base in ("float", "real"):
        return lambda value: _text_of_double(as_float32(value))
    if base == "date":
        return _text_of_date
    if base in ("timestamp", "timestamp_ltz"):
        return lambda value: str(_micros(value))
    if base == "timestamp_ntz":
        return _text_of_timestamp_ntz
    if base == "binary":
        return lambda value: bytes(_checked(value, (bytes, bytearray), "binary")).hex().upper()
    if base == "interval":
        return _interval_encoder(data_type)
    if base == "void":
        return str
    if base == "array":
        item = encoder_of(data_type.parts[0])
        return lambda value: "[" + "".join(_item(item, part) for part in value) + "]"
    if base == "map":
        return _map_encoder(data_type)
    if base == "struct":
        return _struct_encoder(data_type)
    raise ConfigError(
        f"cannot hash a value of type {data_type.text}: the type has no canonical text. Cast "
        "the value to another type, or list its column as ignored"
    )


def _checked(value: Any, kind: type | tuple[type, ...], data_type: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"not a {data_type}: a {type(value).__name__}")
    return value


def _text_of_string(value: Any) -> str:
    return str(_checked(value, str, "string"))


def _text_of_boolean(value: Any) -> str:
    return "true" if _checked(value, bool, "boolean") else "false"


def _text_of_integer(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError("not an integer: a bool")
    return str(_checked(value, int, "integer"))


def _text_of_decimal(value: Any, scale: int) -> str:
    """`str(Decimal)` without zeros that end the fraction; no context is used, as contexts round."""
    if isinstance(value, bool):
        raise TypeError("not a decimal: a bool")
    number = decimal.Decimal(_checked(value, (decimal.Decimal, int), "decimal"))
    sign, all_digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{number} is not a decimal number")
    digits = "".join(map(str, all_digits)).lstrip("0")
    if not digits:
        return "0"
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    if -exponent > scale:
        raise ValueError(f"a decimal with {-exponent} decimal places does not fit {scale}")
    minus = "-" if sign else ""
    adjusted = exponent + len(kept) - 1
    if adjusted < -6:
        return f"{minus}{kept[0]}{'.' if kept[1:] else ''}{kept[1:]}E{adjusted}"
    if exponent >= 0:
        return minus + kept + "0" * exponent
    padded = kept.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"


def _text_of_double(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError("not a double: a bool")
    number = float(_checked(value, (float, int), "double"))
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if abs(number) < 2**53 and number.is_integer():
        return str(int(number))
    mantissa, exponent = number.hex().split("p")
    mantissa = mantissa.rstrip("0")
    return f"{mantissa}{'0' if mantissa.endswith('.') else ''}p{int(exponent)}"


def as_float32(value: Any) -> float:
    """Round to 32 bits, as a column of type float has it."""
    number = float(_checked(value, (float, int), "float"))
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _text_of_date(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        raise TypeError("not a date: a datetime")
    return str(_checked(value, datetime.date, "date").isoformat())


def _micros(value: Any) -> int:
    moment: datetime.datetime = _checked(value, datetime.datetime, "timestamp")
    aware = moment if moment.tzinfo is not None else moment.astimezone(datetime.UTC)
    return (aware - EPOCH) // MICROSECOND


def _text_of_timestamp_ntz(value: Any) -> str:
    moment: datetime.datetime = _checked(value, datetime.datetime, "timestamp_ntz")
    text = moment.replace(tzinfo=None).isoformat(sep=" ")
    return text.rstrip("0") if moment.microsecond else text


def _interval_encoder(data_type: Type) -> Encoder:
    units = data_type.text.upper().split()[1:]
    order = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if not units or units[0] not in order or units[-1] not in order:
        raise ConfigError(f"Python has no value for {data_type.text}. Hash the column in SQL")
    first, last = order.index(units[0]), order.index(units[-1])
    suffix = units[0] if first == last else f"{units[0]} TO {units[-1]}"

    def encode(value: Any) -> str:
        micros = _checked(value, datetime.timedelta, "interval") // MICROSECOND
        rest, fraction = divmod(abs(micros), 1_000_000)
        counts = []
        for size in (86_400, 3_600, 60, 1)[first : last + 1]:
            count, rest = divmod(rest, size)
            counts.append(count)
        parts = [
            str(count) if first + index == 0 else f"{count:02d}"
            for index, count in enumerate(counts)
        ]
        text = parts[0] + "".join(
            (" " if first + i == 0 else ":") + p for i, p in enumerate(parts[1:])
        )
        if last == 3 and fraction:
            text += f".{fraction:06d}".rstrip("0")
        return f"INTERVAL '{'-' if micros < 0 else ''}{text}' {suffix}"

    return encode


def byte_length(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def _item(encoder: Encoder, value: Any) -> str:
    if value is None:
        return "N;"
    text = encoder(value)
    return f"{byte_length(text)}:{text};"


def _map_encoder(data_type: Type) -> Encoder:
    key_encoder, value_encoder = (encoder_of(part) for part in data_type.parts)

    def encode(value: Any) -> str:
        entries = [
            _item(key_encoder, key) + _item(value_encoder, item) for key, item in value.items()
        ]
        return "<" + "".join(sorted(entries, key=lambda entry: entry.encode("utf-8"))) + ">"

    return encode


def _struct_encoder(data_type: Type) -> Encoder:
    names = data_type.names
    fields = [
        (label_of(name), encoder_of(part))
        for name, part in zip(names, data_type.parts, strict=True)
    ]

    def encode(value: Any) -> str:
        values = [value.get(name) for name in names] if isinstance(value, Mapping) else value
        texts = []
        for (label, encoder), item in zip(fields, values, strict=True):
            if item is not None:
                text = encoder(item)
                texts.append(f"{label}{byte_length(text)}:{text}")
        return "{" + "".join(texts) + "}"

    return encode


def label_of(name: str) -> str:
    """Return what stands before the text of a column or a field."""
    return f"{byte_length(name)}:{name}"
