"""Spark types, parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Type:
    """A parsed Spark type: `base` in lower case, inner types, and field names of a struct."""

    text: str
    base: str
    parts: tuple[Type, ...] = ()
    names: tuple[str, ...] = ()
    precision: int = 10
    scale: int = 0


INTEGERS = {
    "tinyint": 8,
    "byte": 8,
    "smallint": 16,
    "short": 16,
    "int": 32,
    "integer": 32,
    "bigint": 64,
    "long": 64,
}
STRINGS = ("string", "char", "varchar", "character")
_DECIMALS = ("decimal", "dec", "numeric")
_NESTED = ("array", "map", "struct")
TYPE_WORDS = (
    *("string", "char", "varchar", "character", "boolean", "tinyint", "byte", "smallint", "short"),
    *("int", "integer", "bigint", "long", "decimal", "dec", "numeric", "float", "real", "double"),
    *("date", "timestamp", "timestamp_ltz", "timestamp_ntz", "time", "binary", "interval", "void"),
    *("variant", "object", "geometry", "geography", "array", "map", "struct"),
)
"""The words that types of Spark begin with."""


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """Return a Spark type from its text."""
    stripped = text.strip()
    base = re.split(r"[<( ]", stripped, maxsplit=1)[0].lower()
    if base in _DECIMALS:
        digits = re.findall(r"\d+", stripped)
        precision = int(digits[0]) if digits else 10
        return Type(stripped, "decimal", (), (), precision, int(digits[1]) if digits[1:] else 0)
    if base in _NESTED and "<" in stripped and stripped.endswith(">"):
        inner = stripped[stripped.index("<") + 1 : -1]
        if base == "struct" and not stripped.endswith("more fields>"):
            fields = list(_struct_fields(inner))
            types = tuple(parse_type(field) for _, field in fields)
            return Type(stripped, base, types, tuple(name for name, _ in fields))
        parts = tuple(parse_type(part) for part in type_parts(inner))
        if base != "struct" and len(parts) == (1 if base == "array" else 2):
            return Type(stripped, base, parts)
    return Type(stripped, base if base not in _NESTED else "unknown")


def type_parts(text: str) -> list[str]:
    """Split at the commas that stand neither within inner brackets nor within back-ticks.

    Example:
        >>> type_parts("string,map<int,date>")
        ['string', 'map<int,date>']
    """
    parts, part, depth, quoted = [], "", 0, False
    for character in text:
        if character == "`" and (quoted or not part.strip() or part.startswith("`")):
            quoted = not quoted
        elif not quoted and character in "<(":
            depth += 1
        elif not quoted and character in ">)":
            depth -= 1
        if character == "," and depth == 0 and not quoted:
            parts.append(part)
            part = ""
        else:
            part += character
    if part.strip():
        parts.append(part)
    return parts


def _struct_fields(text: str) -> Iterator[tuple[str, str]]:
    pending = ""
    for part in type_parts(text):
        name, field = _struct_field(pending + part)
        if field:
            yield name, field
        pending = "" if field else pending + part + ","


def _struct_field(part: str) -> tuple[str, str]:
    text = part.strip()
    quoted = re.match(r"`((?:[^`]|``)*)`\s*:?", text)
    if quoted:
        return quoted[1].replace("``", "`"), text[quoted.end() :].strip()
    pieces = text.split(":")
    for index in range(1, len(pieces)):
        if re.split(r"[<(,` ]", pieces[index].strip(), maxsplit=1)[0].lower() in TYPE_WORDS:
            return ":".join(pieces[:index]), ":".join(pieces[index:]).strip()
    return text, ""


def type_of_spark(data_type: Any) -> Type:
    """The type tree of a `pyspark.sql.types.DataType`; field names are taken as they are."""
    if hasattr(data_type, "elementType"):
        return Type("array", "array", (type_of_spark(data_type.elementType),))
    if hasattr(data_type, "keyType"):
        parts = (type_of_spark(data_type.keyType), type_of_spark(data_type.valueType))
        return Type("map", "map", parts)
    if hasattr(data_type, "fields"):
        types = tuple(type_of_spark(field.dataType) for field in data_type.fields)
        return Type("struct", "struct", types, tuple(data_type.names))
    return parse_type(data_type.simpleString())
