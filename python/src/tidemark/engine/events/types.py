"""Values of images: which texts of them are read as Spark SQL reads them.

A text that is none of these may be read by Spark too, or is a reject: that is not told here.
"""

from __future__ import annotations

import re

from tidemark.engine.types import (
    DAY,
    TIME,
    is_floating,
    kind_of,
    known_years_sql,
    negative_zero_sql,
)

_DAYS = "0|-?[1-9][0-9]{0,5}"
_COUNTS = {"millis": "0|-?[1-9][0-9]{0,14}", "micros": "0|-?[1-9][0-9]{0,17}"}
# if nothing tells the unit, these are microseconds
_MICROS = "-?[1-9][0-9]{14,15}"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_TIMES = ("timestamp", "timestamp_ntz")
# what comes as digits of 64 bits, with a sign or without one
_UNSIGNED = "[0-9]{1,20}|-[1-9][0-9]{0,18}"
_PLAIN = ("auto", "text", "number", "boolean", "json")


def is_known_encoding(encoding: str, name: str) -> bool:
    """Say whether the engine reads what a column is written with as a type.

    Example:
        >>> is_known_encoding("micros", "timestamp_ntz"), is_known_encoding("hex", "binary")
        (True, False)
    """
    if encoding == "iso":
        return name in ("string", "date", *_TIMES)
    if encoding == "days":
        return name == "date"
    if encoding == "unsigned":
        return name in _INTEGERS or re.fullmatch(r"decimal\(\d+,0\)", name) is not None
    return encoding in _PLAIN or (encoding in _COUNTS and name in _TIMES)


_PLAIN_AND_ISO = (*_PLAIN, "iso")


def no_value_sql(text: str, name: str, encoding: str = "auto") -> str | None:
    """Return a condition on a text: it is no value of a type, whoever reads it.

    Of others that are none that is not told here. None: it never is.
    """
    if encoding not in _PLAIN_AND_ISO or name == "string":
        return None
    if name == "boolean":
        return f"{text} not in ('true', '1', 'false', '0')"
    if name in ("date", *_TIMES):
        return f"({text} = '' or regexp_matches({text}, '[A-SU-Ya-z]'))"
    if is_floating(name):
        names = "('NaN', 'Infinity', '-Infinity')"
        return f"{text} not in {names} and regexp_matches({text}, '[A-DF-Za-df-z]')"
    others = "A-Za-z" if name in _INTEGERS else "A-DF-Za-df-z"
    return f"({text} = '' or regexp_matches({text}, '[{others}]'))"


def value_sql(text: str, name: str, encoding: str = "auto") -> str:
    """Return the value of a text in a type, NULL where it cannot be read.

    Args:
        text: The column that has the text.
        name: The type.
        encoding: What the column is written with. Where it does not tell, a whole number as a date
            is days, as a timestamp microseconds. Of `unsigned` negative digits are a number that
            is greater by 2^64.
    """
    kind = kind_of(name)
    if name == "string":
        return text
    if name == "boolean":
        yes, no = f"{text} in ('true', '1')", f"{text} in ('false', '0')"
        return f"case when {yes} then true when {no} then false end"
    if encoding == "unsigned":
        signed = f"cast(try_cast({text} as bigint) as hugeint) + 18446744073709551616"
        digits = f"if(starts_with({text}, '-'), {signed}, try_cast({text} as hugeint))"
        return f"try_cast({digits} as {kind.duck})"
    read = f"try_cast({text} as {kind.duck})"
    if name == "date":
        days = f"date '1970-01-01' + cast({text} as integer)"
        return f"case when regexp_full_match({text}, '{_DAYS}') then {days} else {read} end"
    if name in _TIMES:
        unit = "* 1000" if encoding == "millis" else ""
        micros = f"cast(make_timestamp(cast({text} as bigint) {unit}) as {kind.duck})"
        counts = _COUNTS.get(encoding, _MICROS)
        return (
            f"case when regexp_full_match({text}, '{counts}') then {micros} "
            f"else try_cast(rtrim({text}, 'Z') as {kind.duck}) end"
        )
    return read


def unproven_sql(text: str, value: str, name: str, encoding: str = "auto") -> str | None:
    """Return a condition: it is not proven that Spark reads the text to the value; None: it is."""
    if name == "string":
        return None
    if name == "boolean":
        return f"{text} is not null and {value} is null"
    if name in _INTEGERS:
        return f"cast({value} as varchar) is distinct from {text}"
    kind = kind_of(name)
    texts = kind.texts
    if encoding == "unsigned":
        texts = _UNSIGNED
    elif name == "date":
        texts = {"days": _DAYS, "iso": DAY}.get(encoding, f"{DAY}|{_DAYS}")
    elif name in _TIMES:
        iso = f"{DAY}[ T]{TIME}Z?"
        texts = {"iso": iso, **_COUNTS}.get(encoding, f"{iso}|{_MICROS}")
    alike = f"{value} is not null and regexp_full_match({text}, '{texts}')"
    if is_floating(name):
        alike += f" and isfinite({value}) and not {negative_zero_sql(value)}"
    elif name in ("date", *_TIMES):
        alike += f" and {known_years_sql(value, name)}"
    return f"{text} is not null and not ({alike})"
