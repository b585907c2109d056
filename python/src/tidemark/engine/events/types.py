"""Values of images: which texts of them are read as Spark SQL reads them.

A text that is none of these may be read by Spark too, or is a reject: that is not told here.
"""

from __future__ import annotations

from tidemark.engine.types import DAY, TIME, is_floating, known_type, negative_zero_sql

_WHOLE = "0|-?[1-9][0-9]{0,5}"
_MICROS = "-?[1-9][0-9]{14,15}"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


def value_sql(text: str, name: str) -> str:
    """Return the value of a text in a type, NULL where it cannot be read.

    A whole number as a date is days, as a timestamp microseconds.
    """
    kind = known_type(name)
    if kind is None:
        raise ValueError(f"{name} is no type that the engine knows")
    if name == "string":
        return text
    if name == "boolean":
        yes, no = f"{text} in ('true', '1')", f"{text} in ('false', '0')"
        return f"case when {yes} then true when {no} then false end"
    read = f"try_cast({text} as {kind.duck})"
    if name == "date":
        days = f"date '1970-01-01' + cast({text} as integer)"
        return f"case when regexp_full_match({text}, '{_WHOLE}') then {days} else {read} end"
    if name == "timestamp":
        micros = f"cast(make_timestamp(cast({text} as bigint)) as {kind.duck})"
        return (
            f"case when regexp_full_match({text}, '{_MICROS}') then {micros} "
            f"else try_cast(rtrim({text}, 'Z') as {kind.duck}) end"
        )
    return read


def unproven_sql(text: str, value: str, name: str) -> str | None:
    """Return a condition: it is not proven that Spark reads the text to the value; None: it is."""
    if name == "string":
        return None
    if name == "boolean":
        return f"{text} is not null and {value} is null"
    if name in _INTEGERS:
        return f"cast({value} as varchar) is distinct from {text}"
    kind = known_type(name)
    if kind is None:
        raise ValueError(f"{name} is no type that the engine knows")
    texts = kind.texts
    if name == "date":
        texts = f"{DAY}|{_WHOLE}"
    elif name == "timestamp":
        texts = f"{DAY}[ T]{TIME}Z?|{_MICROS}"
    alike = f"{value} is not null and regexp_full_match({text}, '{texts}')"
    if is_floating(name):
        alike += f" and isfinite({value}) and not {negative_zero_sql(value)}"
    elif name in ("date", "timestamp"):
        alike += f" and {value} >= cast('1600-01-01' as {kind.duck})"
    return f"{text} is not null and not ({alike})"
