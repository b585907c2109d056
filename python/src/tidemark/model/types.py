"""Declared types that Spark does not have: refused before Spark sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tidemark.hashing.types import TYPE_WORDS, type_parts
from tidemark.model.suggestions import nearest

_LENGTH = r"[(]\s*\d+\s*[)]"
_DIGITS = r"([(]\s*\d+\s*(,\s*\d+\s*)?[)])?"
_ZONED = r"(?i)([(]\d+[)])?\s*(with.*)?"
_ANY = r"[\s\S]*"
_DECIMALS = ("decimal", "dec", "numeric")
_FORMS = {
    "char": "char(10)",
    "character": "character(10)",
    "varchar": "varchar(10)",
    "decimal": "decimal(18,2)",
    "dec": "dec(18,2)",
    "numeric": "numeric(18,2)",
    "array": "array<string>",
    "map": "map<string, string>",
    "struct": "struct<a: int, b: string>",
}
"""How a type is written that is more than its word."""
_AFTER: Mapping[str, str | None] = {
    **dict.fromkeys(("char", "character", "varchar"), _LENGTH),
    **dict.fromkeys(_DECIMALS, _DIGITS),
    **dict.fromkeys(("array", "map", "struct", "object"), None),
    **dict.fromkeys(("timestamp", "time"), _ZONED),
    **dict.fromkeys(("interval", "geometry", "geography"), _ANY),
    "string": r"(?i)(collate\s.*)?",
}
"""What may follow the word of a type, None: it is none by itself. After others nothing may."""
_ELSEWHERE = {
    **dict.fromkeys(
        ("text", "txt", "str", "varchar2", "nvarchar", "clob", "uuid", "json", "jsonb"), "string"
    ),
    **dict.fromkeys(("bool", "bit"), "boolean"),
    **dict.fromkeys(("datetime", "datetime2", "timestamptz"), "timestamp"),
    **dict.fromkeys(("int4", "int32", "serial"), "int"),
    **dict.fromkeys(("int8", "int64", "bigserial"), "bigint"),
    **dict.fromkeys(("float8", "float64"), "double"),
    **dict.fromkeys(("blob", "bytea", "bytes"), "binary"),
    "number": "decimal(18,2)",
    "money": "decimal(19,4)",
    "int2": "smallint",
    "float4": "float",
    "list": "array<string>",
    "dict": "map<string, string>",
}
"""Types of other systems."""


def type_problems(columns: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with declared types that Spark does not have.

    What letters do not tell is left to Spark.

    Example:
        >>> [*type_problems([{"name": "id", "data_type": "strng"}])]
        ['column `id`: data_type `strng` is no type of Spark; did you mean `string`?']
    """
    for column in columns:
        whole = str(column["data_type"]).strip()
        part = _unknown_type(whole) if column["data_type"] else None
        if part:
            within = "" if part == whole else f" in data_type `{column['data_type']}`"
            what = f"{'data_type ' if part == whole else ''}`{part}`{within}"
            yield f"column `{column['name']}`: {what} is no type of Spark{_meant_type(part)}"


def _unknown_type(text: str) -> str | None:
    """Return the part of a type that is none, the innermost."""
    if "'" in text or '"' in text:
        return None
    nested = re.fullmatch(r"(?i)(array|map|struct)\s*<([\s\S]*)>", text)
    if nested:
        parts = type_parts(nested[2])
        if nested[1].lower() == "struct":
            parts = [_field_type(part) for part in parts]
        return next((unknown for part in parts if (unknown := _unknown_type(part.strip()))), None)
    word, rest = _split(text)
    allowed = _AFTER.get(word, "")
    if word not in TYPE_WORDS or allowed is None or _has_too_many_digits(word, rest):
        return text
    return None if re.fullmatch(allowed, rest.strip()) else text


def _field_type(field: str) -> str:
    named = re.sub(r"^\s*(`([^`]|``)+`|[^:\s]+)(\s*:|\s)\s*", "", field)
    return re.sub(r"(?i)\s+not\s+null", "", named)


def _split(text: str) -> tuple[str, str]:
    """Return the word of a type in lower case, and what follows it."""
    word = re.split(r"[\s(<]", text, maxsplit=1)[0]
    return word.lower(), text[len(word) :]


def _has_too_many_digits(word: str, rest: str) -> bool:
    digits = [int(number) for number in re.findall(r"\d+", rest)] if word in _DECIMALS else []
    return bool(digits) and (digits[0] > 38 or (len(digits) > 1 and digits[1] > digits[0]))


def _meant_type(text: str) -> str:
    """What ends the sentence about a type: of another system, misspelt, or in wrong brackets."""
    word, rest = _split(text)
    known = [one for one in TYPE_WORDS if one not in ("object", "void", "geometry", "geography")]
    if _has_too_many_digits(word, rest):
        return ": up to 38 digits, and no more of them after the point than there are"
    if word in _ELSEWHERE:
        return f"; did you mean `{_ELSEWHERE[word]}`?"
    if text.count("(") > text.count(")"):
        return ": within braces a comma ends a value, so write it in quotes"
    if word in known:
        return f": it is written like `{_FORMS.get(word, word)}`"
    near = nearest(word, known)
    if not near:
        return (
            "; there are string, int, bigint, double, decimal(18,2), boolean, date, timestamp and"
            " others"
        )
    fits = _unknown_type((near + rest).strip()) is None
    return f"; did you mean `{near + rest if fits else _FORMS.get(near, near)}`?"
