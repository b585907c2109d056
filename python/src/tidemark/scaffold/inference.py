"""Spark types for text, chosen so that a later file hardly ever fails to be read in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from tidemark.rules.quoted import back_ticked

_INTEGER = re.compile(r"0|-?[1-9]\d*")
_FRACTION = re.compile(r"-?(?:0|[1-9]\d*)?\.\d+")
_SCIENTIFIC = re.compile(r"-?(?:0|[1-9]\d*)?\.\d+[eE][+-]?\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})?"
)
_LEADING_ZERO = re.compile(r"-?0\d+(?:\.\d*)?")
_LOCAL_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}")
_COMMA_NUMBER = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")
_GROUPED_NUMBER = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})+\.\d+")
_MAYBE_THOUSANDS = re.compile(r"-?(?:0|[1-9]\d*|[1-9]\d{0,2},\d{3})")
# Identifiers made of digits: today's sample may have no leading zero, tomorrow's will.
_DIGIT_CODES = re.compile(
    r"(?:^|_)(?:zip|zipcode|zip_code|postal|postcode|postal_code|post_code|plz|phone|telephone|mobile|fax|ssn|iban"
    r"|isbn|ean|gtin|barcode)(?:_|$)"
)
_NULL_WORDS = frozenset({"NULL", "null", "Null", r"\N", "NA", "N/A", "n/a", "NaN", "nan", "None"})

_MAX_BIGINT = 2**63 - 1
_MONEY_SCALE = 4
"""More decimals than this in every row are a measurement's precision, not a fixed scale."""


@dataclass(frozen=True)
class Column:
    """A column of a sample.

    Attributes:
        name: Its name in the file.
        data_type: Spark type for the YAML.
        reason: Why this type, where that is worth a word; else "".
        nulls: Number of rows without a value.
        distinct: Number of different values.
    """

    name: str
    data_type: str
    reason: str
    nulls: int
    distinct: int


def infer_column(name: str, values: Sequence[str | None]) -> Column:
    """Choose a type for a column of text; an empty or blank value is NULL.

    Example:
        >>> infer_column("zip", ["00501", "10001"]).data_type
        'string'
        >>> infer_column("amount", ["9.99", "120.00", ""]).data_type
        'decimal(18, 2)'
    """
    distinct = {value.strip() for value in values if value is not None}
    distinct.discard("")
    nulls = sum(1 for value in values if value is None or not value.strip())
    data_type, reason = _infer(name, distinct)
    return Column(name, data_type, reason, nulls, len(set(values)))


def infer_json_column(name: str, values: Sequence[Any]) -> Column:
    """Choose a type for a column of JSON values, as the json module reads them."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, str) for value in present):
        texts = {value.strip() for value in present} - {""}
        found = _infer(name, texts)[0]
        # The source wrote quotes, so text of digits is text; dates have no other spelling in JSON.
        data_type = found if found in ("date", "timestamp") else "string"
    else:
        data_type = _json_type(present)
    reason = "values of several kinds" if data_type == "string" and len(_kinds(present)) > 1 else ""
    distinct = {repr(value) for value in present}
    nulls = sum(1 for value in values if value is None or value == "")
    return Column(name, data_type, reason, nulls, len(distinct))


def _infer(name: str, texts: set[str]) -> tuple[str, str]:
    if not texts:
        return "string", "no value in the sample"
    if {text.lower() for text in texts} <= {"true", "false"}:
        return "boolean", ""
    for matches, convert, data_type in (
        (_DATE, date.fromisoformat, "date"),
        (_TIMESTAMP, datetime.fromisoformat, "timestamp"),
    ):
        if _all_are(texts, (matches, _DATE) if data_type == "timestamp" else (matches,), convert):
            return data_type, ""
    if _all_are(texts, (_INTEGER, _FRACTION, _SCIENTIFIC)):
        return _number(name, texts)
    return "string", _why_string(name, texts)


def _number(name: str, texts: set[str]) -> tuple[str, str]:
    if _DIGIT_CODES.search(_snake(name)):
        return "string", "digits, but the name is that of a code: it may have leading zeros"
    if _all_are(texts, (_INTEGER,)):
        digits = max(len(text.lstrip("-")) for text in texts)
        if all(abs(int(text)) <= _MAX_BIGINT for text in texts if len(text) < 21) and digits <= 19:
            return "bigint", ""
        if digits <= 38:
            return "decimal(38, 0)", "too long for a bigint"
        return "string", "too long for a number"
    scales = {len(text.partition(".")[2]) for text in texts}
    [scale] = scales if len(scales) == 1 and not any("e" in text.lower() for text in texts) else {0}
    if 1 <= scale <= _MONEY_SCALE and len(texts) > 1:
        whole = max(len(text.lstrip("-").partition(".")[0]) for text in texts)
        precision = 18 if whole + scale <= 14 else 38
        if whole + scale <= precision:
            return (
                f"decimal({precision}, {scale})",
                f"{scale} decimals in every row; if that is chance, use double",
            )
    return "double", ""


def _why_string(name: str, texts: set[str]) -> str:
    words = {text for text in texts if text in _NULL_WORDS}
    rest = texts - words
    if len(words) == 1 and rest:
        data_type = _infer("", rest)[0]
        if data_type != "string":
            word = next(iter(words))
            return (
                f"{data_type} but for {word!r}: the option nullValue: {word!r} reads that as NULL"
            )
    if _all_are(texts, (_LOCAL_DATE,)):
        return (
            f"dates such as {min(texts)}; to read them, set data_type date and the option "
            f"dateFormat: {_date_formats(texts)}"
        )
    if _all_are(texts, (_COMMA_NUMBER,)) and not _all_are(texts, (_MAYBE_THOUSANDS,)):
        return _comma_numbers(name, texts)
    ungrouped = {text.replace(",", "") for text in texts}
    if any(_GROUPED_NUMBER.fullmatch(text) for text in texts) and _all_are(
        ungrouped, (_INTEGER, _FRACTION)
    ):
        return _grouped_numbers(name, texts)
    if any(_LEADING_ZERO.fullmatch(text) for text in texts) and _all_are(
        texts, (_INTEGER, _FRACTION, _LEADING_ZERO)
    ):
        return "digits with leading zeros"
    return ""


def _date_formats(texts: set[str]) -> str:
    """Return the patterns by which Spark reads dates that all have one separator."""
    marks = {mark for mark in "./-" for text in texts if mark in text}
    if len(marks) > 1:
        return "a pattern, once all dates are written alike"
    [mark] = marks
    parts = [text.split(mark) for text in texts]
    day, month = ("dd", "MM") if all(len(a) == len(b) == 2 for a, b, _ in parts) else ("d", "M")
    day_first, month_first = f"{day}{mark}{month}{mark}yyyy", f"{month}{mark}{day}{mark}yyyy"
    if mark == "." or any(int(first) > 12 for first, _, _ in parts):
        return f"'{day_first}'"
    if any(int(second) > 12 for _, second, _ in parts):
        return f"'{month_first}'"
    return f"'{day_first}' or '{month_first}'"


def _comma_numbers(name: str, texts: set[str]) -> str:
    """Say how numbers with a decimal comma are read."""
    scale = max(len(text.partition(",")[2]) for text in texts)
    whole = max(sum(map(str.isdigit, text.partition(",")[0])) for text in texts)
    column = field_name(name)
    grouped = any("." in text for text in texts)
    bare = f"replace({column}, '.', '')" if grouped else column
    return (
        f"numbers such as {max(texts, key=len)}; to read them, set data_type "
        f"decimal({18 if whole + scale <= 14 else 38}, {scale}), and write in the model's SQL: "
        f"replace({bare}, ',', '.') as {column}"
    )


def _grouped_numbers(name: str, texts: set[str]) -> str:
    """Say how numbers with commas between thousands are read."""
    scale = max(len(text.partition(".")[2]) for text in texts)
    whole = max(sum(map(str.isdigit, text.partition(".")[0])) for text in texts)
    column = field_name(name)
    return (
        f"numbers such as {max(texts, key=len)}; to read them, set data_type "
        f"decimal({18 if whole + scale <= 14 else 38}, {scale}), and write in the model's SQL: "
        f"replace({column}, ',', '') as {column}"
    )


def _all_are(
    texts: Iterable[str], patterns: Sequence[re.Pattern[str]], convert: Any = None
) -> bool:
    for text in texts:
        if not any(pattern.fullmatch(text) for pattern in patterns) or not text.isascii():
            return False
        if convert is not None:
            try:
                (date.fromisoformat if len(text) == 10 else convert)(text)
            except ValueError:
                return False
    return True


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"\W+", "_", spaced).lower()


def _kinds(values: Iterable[Any]) -> set[str]:
    kinds = set()
    for value in values:
        if isinstance(value, bool):
            kinds.add("boolean")
        elif isinstance(value, int | float):
            kinds.add("number")
        elif isinstance(value, dict):
            kinds.add("struct")
        elif isinstance(value, list):
            kinds.add("array")
        else:
            kinds.add("string")
    return kinds


def _json_type(values: Sequence[Any]) -> str:
    """The type of JSON values; text where they are of several kinds or have nothing in them."""
    values = [value for value in values if value is not None]
    kinds = _kinds(values)
    if len(kinds) != 1:
        return "string"
    [kind] = kinds
    if kind == "number":
        if any(isinstance(value, float) for value in values):
            return "double"
        if all(abs(value) <= _MAX_BIGINT for value in values):
            return "bigint"
        return "decimal(38, 0)" if all(abs(value) < 10**38 for value in values) else "string"
    if kind == "array":
        return f"array<{_json_type([item for value in values for item in value])}>"
    if kind == "struct":
        fields: dict[str, list[Any]] = {}
        for value in values:
            for name, item in value.items():
                fields.setdefault(name, []).append(item)
        inner = ", ".join(
            f"{field_name(name)}: {_json_type(items)}" for name, items in fields.items()
        )
        return f"struct<{inner}>" if inner else "string"
    return kind


def field_name(name: str) -> str:
    """A field's name in a struct type."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return name
    return back_ticked(name)
