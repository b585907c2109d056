"""Values of rows as text and as JSON, the same whatever has read them."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from tidemark.printable import one_line, shortened

_WIDEST = 60
# so much of what is cut is shown before the first difference
_BEFORE = 15
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def value_text(value: Any) -> str | None:
    """Return a value as text; None stays None.

    Example:
        >>> value_text(9007199254740993), value_text(True), value_text(b"\\x01\\xff")
        ('9007199254740993', 'true', '01ff')
        >>> value_text(Decimal("0E-10"))
        '0.0000000000'
        >>> value_text([("a", 1.5)]), value_text({"b": None})
        ('{"a": 1.5}', '{"b": null}')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, Mapping | list | tuple) or hasattr(value, "asDict"):
        return json.dumps(json_value(value), ensure_ascii=False)
    return str(json_value(value))


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: as text what has no form there, such as NaN.

    Example:
        >>> json_value({"a": float("-inf"), "b": [b"\\x01", None]})
        {'a': '-Infinity', 'b': ['01', None]}
    """
    if hasattr(value, "asDict"):  # a struct of Spark, which is a tuple, too
        return json_value(value.asDict())
    if isinstance(value, Mapping):
        return {str(value_text(name)): json_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        if is_map(value):
            return json_value(dict(value))
        return [json_value(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, dt.date | dt.datetime | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def with_short_floats(values: Iterable[Any], type_: str) -> list[Any]:
    """Return the values of a column with each number of 32 bits as the double of fewest digits.

    Example:
        >>> with_short_floats([0.10000000149011612, None], "FLOAT")
        [0.1, None]

    Args:
        values: As Python has them, where a number has 64 bits.
        type_: What Arrow or DuckDB calls their type, or Spark, in capitals. Of one that has doubles
            too they stay as they are.
    """
    is_short = re.search("Float32|FLOAT", type_) and not re.search("Float64|DOUBLE", type_)
    return [_short(value) for value in values] if is_short else list(values)


def _short(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return _short(value.asDict())
    if isinstance(value, Mapping):
        return {_short(name): _short(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_short, value))
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    from tidemark.hashing.text import as_float32

    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((one for one in candidates if as_float32(one) == value), value)


def are_same(one: Any, other: Any) -> bool:
    """Say whether two values are the same, as a row's hash takes them: NaN is NaN.

    Example:
        >>> are_same(float("nan"), float("nan")), are_same([None, 0.0], [None, -0.0])
        (True, True)
    """
    return bool(one == other) or json_value(one) == json_value(other)


def shown_value(value: Any, widest: int = _WIDEST) -> str:
    r"""Return a value for a line that people read; a text that looks like another is quoted.

    Example:
        >>> [shown_value(one) for one in (None, "NULL", "", "a\nb ", "Bern")]
        ['NULL', "'NULL'", "''", "'a\\nb '", 'Bern']
    """
    return shortened(_whole(value), widest)


def shown_change(old: Any, new: Any, widest: int = _WIDEST) -> tuple[str, str]:
    """Return two values that differ; where that is far in a long text, it is that part.

    Example:
        >>> shown_change("x" * 90 + "1", "x" * 90 + "2")
        ('…xxxxxxxxxxxxxxx1', '…xxxxxxxxxxxxxxx2')
    """
    texts = _whole(old), _whole(new)
    shown = shortened(texts[0], widest), shortened(texts[1], widest)
    if shown[0] != shown[1]:
        return shown
    pairs = zip(*texts, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(map(len, texts)))
    since = max(0, same - _BEFORE)
    return shortened("…" + texts[0][since:], widest), shortened("…" + texts[1][since:], widest)


def is_map(value: list[Any] | tuple[Any, ...]) -> bool:
    """Say whether a list is a map, as Arrow gives one: pairs of a key and its value."""
    # as Arrow gives a map; a list of rows has lists or dicts
    pairs = isinstance(value, list) and all(isinstance(one, tuple) for one in value)
    return bool(value) and pairs and all(len(one) == 2 for one in value)


def _whole(value: Any) -> str:
    text = value_text(value)
    if text is None:
        return "NULL"
    if not isinstance(value, str):
        return one_line(text) or "''"
    # a value may be all that a terminal obeys, and look like lines of ours
    line = "".join(_ESCAPES.get(one, one) for one in text)
    shown = one_line(line)
    is_doubtful = shown != text or text != text.strip() or text in ("", "NULL") or text[0] == "'"
    return f"'{shown}'" if is_doubtful else shown
