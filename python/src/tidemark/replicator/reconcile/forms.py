"""Canonical forms: how a value reads as text, the same at the source and in the copy.

A form is the name of a text that both sides can make of a value:

| form | text |
|---|---|
| boolean | `true`, `false` |
| integer | digits |
| decimal | digits without trailing zeros after the point; `NAN`, `POSITIVE_INFINITY`, … |
| double | a whole number below 2^53 as digits, others in hexadecimal as C's `%a` has them |
| date | `YYYY-MM-DD` |
| timestamp | microseconds since 1970-01-01, of a wall time as if it were UTC |
| time | `HH:MM:SS`, with six places if there are any |
| bytes | hexadecimal, upper case |
| text | itself |
| array:<form> | `[`, each item as length, `:`, text and `;` (NULL: `N;`), `]` |
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Spark types that can hold a form, by the first word of the type
_HOLDERS: Mapping[str, tuple[str, ...]] = {
    "boolean": ("boolean",),
    "integer": ("tinyint", "smallint", "int", "bigint", "decimal", "string"),
    "decimal": ("decimal", "string", "tinyint", "smallint", "int", "bigint"),
    "double": ("double", "float"),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamp_ntz"),
    "time": ("string",),
    "bytes": ("binary", "string"),
    "text": ("string",),
}
_EPOCH = dt.datetime(1970, 1, 1)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_ITEM = re.compile(r"(\d+):|N;")


@dataclass(frozen=True)
class SourceColumn:
    """A column as the database describes it.

    Attributes:
        name: As the database calls it.
        type: Its type, as the output shows it.
        form: The form of its text; None if there is none that a copy has too.
    """

    name: str
    type: str
    form: str | None


@dataclass(frozen=True)
class Copy:
    """What is known of a copy.

    Attributes:
        relation: The current table.
        types: Spark types of the business columns by name; empty if there is no table yet.
        keys: The columns of `unique_key`; none for a table without key.
        sensitive: Columns whose values the current table does not have.
        ordered: Whether `sequence_by` orders its events.
    """

    relation: str
    types: Mapping[str, str]
    keys: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    ordered: bool = False


@dataclass(frozen=True)
class Column:
    """A column that is compared.

    Attributes:
        name: In the copy.
        source: At the source.
        type: The source's type.
        form: The form of its text.
        stored: The Spark type of the copy's column.
    """

    name: str
    source: str
    type: str
    form: str
    stored: str


@dataclass(frozen=True)
class Pairing:
    """The columns of a table that are compared, and those that are not.

    Attributes:
        columns: What is compared, keys first.
        keys: How many of them are the key; 0 for a table without key.
        left_out: Why a column is not compared, by name.
        only_here: Whether some of these are in the copy, so that a repair does not know them.
    """

    columns: Sequence[Column]
    keys: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    only_here: bool = False

    @property
    def key_columns(self) -> Sequence[Column]:
        """The columns of the key; of a table without key all."""
        return self.columns[: self.keys] if self.keys else self.columns


class Incomparable(ValueError):
    """A table has no columns by which it could be compared."""


def pair_columns(source: Sequence[SourceColumn], copy: Copy) -> Pairing:
    """Return what of a table can be compared.

    Example:
        >>> pair_columns(
        ...     [SourceColumn("id", "integer", "integer"), SourceColumn("at", "interval", None)],
        ...     Copy("shop.t", {"id": "int", "at": "bigint"}, ["id"]),
        ... ).left_out
        {'at': 'interval'}

    Raises:
        Incomparable: A column of the key cannot be compared, or none can.
    """
    stored = {name.lower(): (name, type_) for name, type_ in copy.types.items()}
    sensitive = {name.lower() for name in copy.sensitive}
    columns: dict[str, Column] = {}
    left_out: dict[str, str] = {}
    unknown = False
    for column in source:
        name, type_ = stored.pop(column.name.lower(), (column.name, ""))
        if not type_:
            left_out[name] = "missing in the copy"
        elif name.lower() in sensitive:
            left_out[name] = "sensitive"
        elif column.form is None:
            left_out[name] = column.type
        elif not holds(type_, column.form):
            left_out[name] = f"{column.type}, stored as {type_}"
        else:
            columns[name.lower()] = Column(name, column.name, column.type, column.form, type_)
        unknown |= bool(type_) and name.lower() not in columns
    for name, _ in stored.values():
        left_out[name] = "missing in the source"
    keys = [columns.pop(key.lower(), None) for key in copy.keys]
    missing = [name for name, key in zip(copy.keys, keys, strict=True) if key is None]
    if missing:
        reasons = ", ".join(f"{name} ({left_out.get(name, 'missing')})" for name in missing)
        raise Incomparable(f"the key cannot be compared: {reasons}")
    chosen = [key for key in keys if key is not None]
    if not chosen and not columns:
        raise Incomparable("no column can be compared")
    return Pairing([*chosen, *columns.values()], len(chosen), left_out, unknown)


def holds(stored: str, form: str) -> bool:
    """Whether a Spark type can hold values of a form.

    Example:
        >>> holds("array<decimal(8,2)>", "array:decimal"), holds("int", "text")
        (True, False)
    """
    if form.startswith("array:"):
        return stored.startswith("array<") and holds(stored[6:-1], form.removeprefix("array:"))
    return re.split(r"[ (<]", stored, maxsplit=1)[0] in _HOLDERS[form]


def event_value(form: str, stored: str, text: str | None) -> Any:
    """Return a canonical text as the value of an event, such as any type reads without a schema.

    Example:
        >>> event_value("timestamp", "timestamp", "1500000"), event_value("double", "double", "7")
        ('1970-01-01T00:00:01.500000Z', '7')
        >>> print(event_value("bytes", "binary", "00FF"))
        \\x00FF

    Raises:
        ValueError: The copy's type cannot hold it.
    """
    if text is None:
        return None
    if form.startswith("array:"):
        inner = form.removeprefix("array:")
        return [event_value(inner, stored[6:-1], item) for item in read_items(text)]
    if form == "timestamp":
        moment = _EPOCH + dt.timedelta(microseconds=int(text))
        return moment.isoformat(timespec="microseconds") + "Z"
    if form == "date" and not _DATE.fullmatch(text):
        raise ValueError(f"{stored} cannot hold {text}")
    if form == "decimal" and stored != "string" and not _NUMBER.fullmatch(text):
        raise ValueError(f"{stored} cannot hold {text}")
    if form == "double" and "x" in text:
        return repr(float.fromhex(text))
    if form == "bytes" and stored == "binary":
        return rf"\x{text}"
    return text


def read_items(text: str) -> list[str | None]:
    """Return the texts of the items of an array.

    Example:
        >>> read_items("[1:a;N;0:;]")
        ['a', None, '']
    """
    items: list[str | None] = []
    place = 1
    while text[place] != "]":
        match = _ITEM.match(text, place)
        if match is None:
            raise ValueError(f"this text is not an array: {text!r}")
        if match[1] is None:
            items.append(None)
            place = match.end()
        else:
            end = match.end() + int(match[1])
            items.append(text[match.end() : end])
            place = end + 1
    return items
