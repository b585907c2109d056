"""What differs between the rows that a test expects and those that are found."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from tidemark.model.settings.unit_tests import Row
from tidemark.model.suggestions import did_you_mean
from tidemark.read.values import is_map, value_text

_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class RowDifference:
    """A row that is not as it is expected; rows that are alike in most columns are one.

    Attributes:
        expected: The row as it is expected; None: it is not expected.
        found: The row as it is found; None: there is none.
        columns: The columns that differ.
    """

    expected: Row | None
    found: Row | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Difference:
    """What of a table is not as it is expected.

    Attributes:
        what: Which table, as the YAML has it, such as `current`.
        columns: The columns that are compared.
        rows: The rows that differ.
        problem: What keeps them from being compared, as a column that is not there.
    """

    what: str
    columns: tuple[str, ...] = ()
    rows: tuple[RowDifference, ...] = ()
    problem: str | None = None


def difference_of(
    what: str,
    expected: Sequence[Row],
    found: Sequence[Mapping[str, Any]],
    there: Sequence[str],
    key: Sequence[str],
    zone: ZoneInfo,
) -> Difference | None:
    """Compare rows in the columns that are expected, order aside.

    Args:
        what: Which table it is.
        expected: The rows as the YAML has them; a column that one of them lacks is NULL there.
        found: The rows as the table has them.
        there: The columns of the table.
        key: Those that identify a row: rows of one key are shown together.
        zone: The time zone of a time that names none.
    """
    spelt = {name.lower(): name for name in there}
    named = dict.fromkeys(name for row in expected for name in row)
    columns = tuple(named or [name for name in there if not name.startswith("_")])
    unknown = [name for name in columns if name.lower() not in spelt]
    # a table that was not made has no rows
    if unknown and there:
        hint = did_you_mean(unknown[0], there)
        return Difference(what, problem=f"there is no column {unknown[0]}{hint}")
    rows = [
        {name: plain_value(row[spelt[name.lower()]], zone) for name in columns} for row in found
    ]
    wanted = [{name: row.get(name) for name in columns} for row in expected]
    left, missing = list(rows), []
    for row in wanted:
        same = next((one for one in left if not _differing(row, one, zone)), None)
        if same is None:
            missing.append(row)
        else:
            left.remove(same)
    keys = {one.lower() for one in key}
    own = [name for name in columns if name.lower() in keys]
    differing = _paired(missing, left, own if len(own) == len(keys) else [], zone)
    return Difference(what, columns, tuple(differing)) if differing else None


def _paired(
    missing: Sequence[Row], left: Sequence[Row], key: Sequence[str], zone: ZoneInfo
) -> list[RowDifference]:
    """Return rows that are not found and rows that are not expected, those alike together."""
    pairs = sorted(
        (len(_differing(row, one, zone)), number, other)
        for number, row in enumerate(missing)
        for other, one in enumerate(left)
    )
    found: dict[int, int] = {}
    for differing, number, other in pairs:
        row, one = missing[number], left[other]
        is_of_key = bool(key) and not set(key) & set(_differing(row, one, zone))
        if differing * 2 > len(row) and not is_of_key:
            continue
        if number not in found and other not in found.values():
            found[number] = other
    told = []
    for number, row in enumerate(missing):
        if number in found:
            one = left[found[number]]
            told.append(RowDifference(row, one, tuple(_differing(row, one, zone))))
        else:
            told.append(RowDifference(row, None))
    others = set(range(len(left))) - set(found.values())
    return told + [RowDifference(None, left[number]) for number in sorted(others)]


def _differing(expected: Row, found: Row, zone: ZoneInfo) -> list[str]:
    return [name for name in expected if not _is_meant(expected[name], found[name], zone)]


def _is_meant(expected: Any, found: Any, zone: ZoneInfo) -> bool:
    """Say whether a value of YAML or CSV stands for one of a table, whose type says how it reads.

    Example:
        >>> _is_meant("1.50", Decimal("1.5"), ZoneInfo("UTC")), _is_meant("", None, ZoneInfo("UTC"))
        (True, False)
    """
    if expected is None or found is None:
        return expected is None and found is None
    if isinstance(found, Mapping):
        expected = _from_json(expected)
        if not isinstance(expected, Mapping):
            return False
        fields = {str(name): value for name, value in expected.items()}
        known = {str(name): value for name, value in found.items()}
        return fields.keys() == known.keys() and all(
            _is_meant(value, known[name], zone) for name, value in fields.items()
        )
    if isinstance(found, list):
        expected = _from_json(expected)
        return (
            isinstance(expected, list)
            and len(expected) == len(found)
            and all(_is_meant(*pair, zone) for pair in zip(expected, found, strict=True))
        )
    if isinstance(expected, Mapping | list):
        return False
    try:
        return _are_no_numbers(expected, found) or bool(_read(expected, found, zone) == found)
    except (ValueError, InvalidOperation):
        return False


def _read(expected: Any, found: Any, zone: ZoneInfo) -> Any:
    """Return what is expected in the type of what is found."""
    text = str(value_text(expected))
    if isinstance(found, bool):
        return _FLAGS.get(text.lower())
    if isinstance(found, float):
        return float(text)
    if isinstance(found, int | Decimal):
        return Decimal(text)
    if isinstance(found, dt.datetime):
        read = dt.datetime.fromisoformat(text)
        return read.astimezone(zone).replace(tzinfo=None) if read.tzinfo else read
    if isinstance(found, dt.date):
        return dt.date.fromisoformat(text)
    if isinstance(found, bytes):
        return bytes.fromhex(text)
    return text


def _are_no_numbers(expected: Any, found: Any) -> bool:
    # NaN is none of its equals
    return isinstance(found, float) and found != found and str(expected).lower() in ("nan", ".nan")


def _from_json(expected: Any) -> Any:
    """Return a value that CSV has as JSON."""
    if not isinstance(expected, str):
        return expected
    try:
        return json.loads(expected)
    except ValueError:
        return expected


def plain_value(value: Any, zone: ZoneInfo) -> Any:
    """Return a value as tests compare it: times in the zone of the session, maps as dicts."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(zone).replace(tzinfo=None)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, Mapping):
        return {name: plain_value(one, zone) for name, one in value.items()}
    if isinstance(value, list | tuple):
        if is_map(value):
            return {name: plain_value(one, zone) for name, one in value}
        return [plain_value(one, zone) for one in value]
    return value
