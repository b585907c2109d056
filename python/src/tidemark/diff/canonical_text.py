"""Canonical texts in DuckDB, of nested values too: what sides of different types are compared by.

They are those of the hash recipe, but a decimal never has an exponent, and a timestamp without a
zone reads as one in UTC: as the texts that `reconcile` compares.
"""

from __future__ import annotations

from typing import Any

from tidemark.engine.quoted import literal
from tidemark.engine.types import text_sql
from tidemark.hashing.text import label_of

NESTED = ("list", "array", "struct", "map", "union")
"""Types of DuckDB whose values have values within."""

_TIMES = ("timestamp", "timestamp with time zone", "timestamp_s", "timestamp_ms", "timestamp_ns")


def canonical_text_sql(value: str, type_: Any, depth: int = 0) -> str:
    """Return the canonical text of a value as an expression of DuckDB, NULL for NULL.

    Args:
        value: An expression.
        type_: Its type, as DuckDB's Python client has it.
        depth: How deep it lies in others.
    """
    kind = type_.id
    if kind in ("list", "array"):
        (inner, *_) = (one for name, one in type_.children if name == "child")
        one = f"one_{depth}"
        texts = (
            f"list_transform({value}, lambda {one}: {canonical_text_sql(one, inner, depth + 1)})"
        )
        return _closed(value, "[", _joined(_items(texts, depth)), "]")
    if kind == "map":
        return _closed(value, "<", _joined(f"list_sort({_entries(value, type_, depth)})"), ">")
    if kind == "struct":
        fields = [
            _field(name, f"{value}[{literal(name)}]", one, depth) for name, one in type_.children
        ]
        return _closed(value, "{", f"concat({', '.join(fields)})", "}")
    return _scalar(value, type_)


def _scalar(value: str, type_: Any) -> str:
    kind = type_.id
    if kind in ("float", "double"):
        odd = f"case when isnan({value}) then 'NaN' when {value} > 0 then 'Infinity'"
        return (
            f"case when isfinite({value}) then {text_sql(value, 'double')} "
            f"when {value} is not null then {odd} else '-Infinity' end end"
        )
    if kind == "decimal":
        precision, scale = (int(one) for _, one in type_.children)
        # DuckDB shows no 0 before the point of one without whole digits
        shown = f"regexp_replace(cast({value} as varchar), '^(-?)[.]', '\\10.')"
        plain = shown if precision == scale else f"cast({value} as varchar)"
        return f"rtrim(rtrim({plain}, '0'), '.')" if scale else plain
    if kind in _TIMES:
        shown = f"cast({value} as varchar)"
        return (
            f"case when isfinite({value}) then cast(epoch_us({value}) as varchar) else {shown} end"
        )
    if kind == "blob":
        return f"hex({value})"
    return f"cast({value} as varchar)"


def _items(texts: str, depth: int) -> str:
    """Return texts, each with its length before it, so that joined they stay apart."""
    text = f"text_{depth}"
    item = f"if({text} is null, 'N;', concat(strlen({text}), ':', {text}, ';'))"
    return f"list_transform({texts}, lambda {text}: {item})"


def _entries(value: str, type_: Any, depth: int) -> str:
    kinds = dict(type_.children)
    entry = f"entry_{depth}"
    texts = ", ".join(
        canonical_text_sql(f"{entry}[{literal(name)}]", kinds[name], depth + 1)
        for name in ("key", "value")
    )
    pair = _joined(_items(f"[{texts}]", depth))
    return f"list_transform(map_entries({value}), lambda {entry}: {pair})"


def _field(name: str, value: str, type_: Any, depth: int) -> str:
    """Return the text of a field of a struct: nothing where it has no value."""
    text = f"text_{depth}"
    shown = f"concat({literal(label_of(name))}, strlen({text}), ':', {text})"
    inner = canonical_text_sql(value, type_, depth + 1)
    return f"list_transform([{inner}], lambda {text}: if({text} is null, '', {shown}))[1]"


def _joined(texts: str) -> str:
    return f"array_to_string({texts}, '')"


def _closed(value: str, begin: str, inner: str, end: str) -> str:
    return f"case when {value} is not null then concat('{begin}', {inner}, '{end}') end"
