"""Current in files that each hold a range of key hashes, so that a small change touches few.

    part_of() » the files that a load writes anew » write_part() » files in their place

A hash is a text of hexadecimal digits, all of which come alike: equal parts of them have equal
parts of the rows. Files that another writer has laid out otherwise are told by their bounds too,
and all touched in the end: they are ranges once the table is written as a whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidemark.engine.files import Written, copy, copy_ranges
from tidemark.engine.load import Target
from tidemark.engine.quoted import identifier, list_sql, literal

ROWS_OF_ONE_FILE = 1_000_000
"""So many rows are not worth more than a file."""
ROWS_OF_A_RANGE = 250_000
MOST_RANGES = 24
"""Delta keeps no list of more than 50 files, some of them by others, that is read without a job."""
_MOST_KEYS = 1_000
"""If there are more keys, each file has some, as far as there can be files."""


@dataclass(frozen=True)
class Part:
    """The part of current that a load writes anew.

    Args:
        table: The table, with the files that have the part.
        rows: How many rows they have.
        begins: The least hash of each but the first; None: the part is all of current.
    """

    table: Target
    rows: int
    begins: tuple[str, ...] | None = None

    @property
    def replaced(self) -> tuple[str, ...] | None:
        """The paths of the files; None: all that current has."""
        return None if self.begins is None else self.table.files


def part_of(db: Any, current: Target, keys: str | None) -> Part:
    """Return the part of current that has some keys, or gets them.

    Args:
        db: The connection.
        current: Current, with all its files.
        keys: A query of their hashes, `kh`; None: it is all of them.
    """
    ranges = _ranges(db, current) if current.files else []
    rows = sum(one.rows for one in ranges)
    whole = Part(current, rows)
    if keys is None or len(ranges) == 1 or rows <= ROWS_OF_ONE_FILE:
        return whole
    some = f"select distinct kh from ({keys}) limit {_MOST_KEYS + 1}"
    found = [str(key) for (key,) in db.execute(some).fetchall()]
    if len(found) > _MOST_KEYS or len(ranges) > MOST_RANGES:
        return whole
    touched = _touched(ranges, found)
    largest = 2 * max(ROWS_OF_A_RANGE, rows // MOST_RANGES)
    if len(touched) == len(ranges) or any(one.rows > largest for one in touched):
        return whole
    return Part(
        replace(current, files=tuple(one.path for one in touched)),
        sum(one.rows for one in touched),
        tuple(one.least for one in touched[1:]),
    )


def write_part(
    db: Any, query: str, part: Part, names: Sequence[str], added: int
) -> tuple[Written, ...]:
    """Write the rows of a part of current as they are after the load.

    Args:
        db: The connection.
        query: The rows, by the columns' names in files.
        part: What part_of() returned.
        names: The columns of current, in the order of its files.
        added: How many rows come to it.
    """
    key = identifier(part.table.fields["_key_hash"][0])
    if part.begins is not None:
        number = " + ".join(f"({key} >= {literal(least)})::int" for least in part.begins)
    elif part.rows + added <= ROWS_OF_ONE_FILE:
        number = ""
    else:
        count = min(MOST_RANGES, -(-(part.rows + added) // ROWS_OF_A_RANGE))
        number = f"(('0x' || left({key}, 4))::int * {count}) // 65536"
    if not number:
        return copy(db, query, part.table, "", names, {})
    return copy_ranges(db, query, part.table, names, number)


@dataclass(frozen=True)
class _Range:
    least: str
    greatest: str
    path: str
    rows: int


def _ranges(db: Any, current: Target) -> list[_Range]:
    """Return the bounds of files by their footers, those without any as if they had every key."""
    key = literal(current.fields["_key_hash"][0])
    found = db.execute(
        "select file_name, min(stats_min_value), max(stats_max_value), sum(row_group_num_rows), "
        "count(*) = count(stats_min_value) and count(*) = count(stats_max_value) "
        f"from parquet_metadata({list_sql(current.files)}) where path_in_schema = {key} "
        "group by file_name"
    ).fetchall()
    return sorted(
        (
            _Range(least if is_told else "", greatest if is_told else "~", path, int(rows))
            for path, least, greatest, rows, is_told in found
        ),
        key=lambda one: (one.least, one.greatest, one.path),
    )


def _touched(ranges: Sequence[_Range], keys: Sequence[str]) -> list[_Range]:
    """Return the ranges that may have keys, or are next below those that none has."""
    begins = [one.least for one in ranges]
    places = set()
    for key in keys:
        end = bisect_right(begins, key)
        within = [place for place in range(end) if ranges[place].greatest >= key]
        places.update(within or [max(end - 1, 0)])
    return [ranges[place] for place in sorted(places)]
