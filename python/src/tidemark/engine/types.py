"""Values by their Spark type: how DuckDB calls it, which texts both read alike, and what is hashed.

A text that is none of these may be read by Spark too, perhaps to the same value: that is not proven
here, so that such a file goes to Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_YEAR = "(1[6-9]|[2-9][0-9])[0-9]{2}"  # before 1600 calendars differ
DAY = f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_FLOATING = r"-?[0-9]{1,18}(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# 2^53: whole numbers below it are hashed as digits, so that 0.0 and -0.0 agree
_WHOLE = "9007199254740992"


@dataclass(frozen=True)
class Known:
    """A type that both engines know alike.

    Args:
        duck: Its name in DuckDB.
        texts: A pattern of the texts that are read alike; None: all are.
    """

    duck: str
    texts: str | None


_KNOWN = {
    "string": Known("VARCHAR", None),
    "boolean": Known("BOOLEAN", "true|false|TRUE|FALSE|True|False"),
    "tinyint": Known("TINYINT", "-?[0-9]{1,2}"),
    "smallint": Known("SMALLINT", "-?[0-9]{1,4}"),
    "int": Known("INTEGER", "-?[0-9]{1,9}"),
    "bigint": Known("BIGINT", "-?[0-9]{1,18}"),
    "float": Known("FLOAT", _FLOATING),
    "double": Known("DOUBLE", _FLOATING),
    "date": Known("DATE", DAY),
    "timestamp": Known("TIMESTAMP WITH TIME ZONE", rf"{DAY}[ T]{TIME}Z?"),
    "timestamp_ntz": Known("TIMESTAMP", f"{DAY}[ T]{TIME}"),
}


def known_type(name: str) -> Known | None:
    """Return what is known of a Spark type; None of one that only Spark knows.

    Example:
        >>> known_type("decimal(12,2)").duck, known_type("map<string,int>")
        ('DECIMAL(12,2)', None)
    """
    digits = _DECIMAL.fullmatch(name)
    if not digits:
        return _KNOWN.get(name)
    precision, scale = int(digits[1]), int(digits[2])
    if scale > 6 or scale == precision:
        # small ones are hashed with an exponent; of one without whole digits DuckDB shows no 0
        return None
    point = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    return Known(f"DECIMAL({precision},{scale})", f"-?[0-9]{{1,{precision - scale}}}{point}")


def cast_sql(text: str, name: str) -> str:
    """Return the value of an arrived text in a type, NULL where it cannot be read or is blank."""
    if name == "string":
        return text
    kind = kind_of(name)
    if name == "timestamp":
        return f"try_cast(rtrim({_trimmed(text)}, 'Z') as {kind.duck})"
    if name == "boolean":
        return f"try_cast(lower({_trimmed(text)}) as {kind.duck})"
    # blanks around a number or a date are passed over, and nothing else makes none
    return f"try_cast({text} as {kind.duck})"


def unproven_value_sql(value: str, name: str) -> str | None:
    """Return a condition on a value that comes in its type: it is not proven that it is kept alike.

    None: any is.
    """
    if is_floating(name):
        # less than that is subnormal: as text it has another form
        odd = f"{negative_zero_sql(value)} or ({value} <> 0 and abs({value}) < 2.3e-308)"
        return f"not isfinite({value}) or {odd}"
    if name in ("date", "timestamp", "timestamp_ntz"):
        return f"not ({known_years_sql(value, name)})"
    return None


def unproven_sql(text: str, value: str, name: str) -> str:
    """Return a condition: it is not proven that Spark reads the text alike."""
    if name == "string":
        # a carriage return in quotes, NUL, and what Spark's reader is told to take for NULL
        return f"contains({text}, chr(13)) or contains({text}, chr(0)) or contains({text}, chr(1))"
    trimmed = _trimmed(text)
    alike = f"{value} is not null and regexp_full_match({trimmed}, '{kind_of(name).texts}')"
    if is_floating(name):
        alike += f" and isfinite({value}) and not {negative_zero_sql(value)}"
    return (
        f"case when {text} is null or {comes_back_sql(text, value, name)} then false "
        f"else {trimmed} is not null and not ({alike}) end"
    )


def no_value_sql(text: str, name: str) -> str | None:
    """Return a condition on an arrived text: it is no value of a type, whoever reads it.

    Of others that are none that is not told here. None: it never is.
    """
    if name == "string":
        return None
    if name == "boolean":
        none = "lower(trim({})) not in ('t', 'true', 'y', 'yes', '1', 'f', 'false', 'n', 'no', '0')"
        none = none.format(text)
    elif name in ("date", "timestamp", "timestamp_ntz"):
        # behind a T a date may have anything
        none = f"regexp_matches({text}, '^ *[0-9+-]*[A-SU-Za-z/.,;]')"
    elif is_floating(name):
        # names of numbers, suffixes and digits of base 16 are left to others
        none = f"regexp_matches({text}, '[ghj-moq-su-wzGHJ-MOQ-SU-WZ,/:;_#%$]')"
        is_word = f"not regexp_matches({text}, '[0-9nN]')"
        none = f"({none} or {is_word})"
    else:
        letters = "A-Za-z" if not name.startswith("decimal") else "A-DF-Za-df-z"
        none = f"regexp_matches({text}, '[{letters},/:;_#%$]')"
    # other characters may be passed over, as blanks are
    return f"(regexp_full_match({text}, '[ -~]*[!-~][ -~]*') and {none})"


def comes_back_sql(text: str, value: str, name: str) -> str:
    """Return a condition that is cheaper than the pattern: the text is what its value is shown as.

    Where it is true the pattern would match; of whole numbers it takes all that the type has.
    """
    if name == "boolean":
        return f"{text} in ('true', 'false')"
    if name == "timestamp":
        shown = f"make_timestamp(epoch_us({value}))"
    else:
        shown = value
    same = f"cast({shown} as varchar) = {text}"
    if is_floating(name):
        # others are shown with an exponent, or with more digits than are proven
        same += f" and abs({value}) between 0.1 and 1e15"
    elif name in ("date", "timestamp", "timestamp_ntz"):
        same += f" and {known_years_sql(value, name)}"
    return same


def known_years_sql(value: str, name: str) -> str:
    """Return a condition: a date or time is of a year, 1600 to 9999, that all readers know."""
    kind = kind_of(name).duck
    return f"{value} >= cast('1600-01-01' as {kind}) and {value} < cast('10000-01-01' as {kind})"


def is_floating(name: str) -> bool:
    """Say whether a type has a 0.0 and a -0.0."""
    return name in ("float", "double")


def negative_zero_sql(value: str) -> str:
    """Return a condition: the value is -0.0, which DuckDB's dictionaries do not tell from 0.0."""
    return f"({value} = 0 and signbit({value}))"


def text_sql(value: str, name: str) -> str:
    """Return the canonical text of a value, NULL for NULL: what the hash recipe is made of."""
    if name == "string":
        return value
    if name == "timestamp":
        return f"cast(epoch_us({value}) as varchar)"
    if is_floating(name):
        return _floating_text(f"cast({value} as double)")
    digits = _DECIMAL.fullmatch(name)
    plain = f"cast({value} as varchar)"
    if digits and int(digits[2]):
        # few end with a zero, and to look for one is cheaper than to trim
        trimmed = f"rtrim(rtrim({plain}, '0'), '.')"
        return f"case when not ends_with({plain}, '0') then {plain} else {trimmed} end"
    return plain


def _floating_text(value: str) -> str:
    """As Java's %a writes it: a digit after the point, no sign of a positive exponent."""
    shown = f"replace(format('{{:a}}', {value}), 'p+', 'p')"
    with_point = f"if(contains({shown}, '.'), {shown}, replace({shown}, 'p', '.0p'))"
    return (
        f"case when abs({value}) < {_WHOLE} and {value} = trunc({value}) "
        f"then cast(try_cast({value} as bigint) as varchar) "
        f"when {value} is not null then {with_point} end"
    )


def _trimmed(text: str) -> str:
    return f"nullif(trim({text}, ' '), '')"


def kind_of(name: str) -> Known:
    """Return what is known of a type that the engine takes."""
    kind = known_type(name)
    if kind is None:
        raise ValueError(f"{name} is no type that the engine knows")
    return kind
