"""What has landed and is not applied yet, by table, read from the landing files themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark.capture.events import read_line
from tidemark.capture.files import event_files, read_lines


@dataclass
class Backlog:
    """Events of one table in some landing files.

    Attributes:
        events: How many there are of each operation (c u d r t, ddl).
        bytes: Their size as landed, before compression.
        times: When the source wrote each, in milliseconds since 1970, in order of landing.
        key: The columns of the key, in order; None if no event of a row was seen.
    """

    events: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    times: list[int] = field(default_factory=list)
    key: list[str] | None = None

    @property
    def count(self) -> int:
        """How many events there are."""
        return sum(self.events.values())

    @property
    def has_rows(self) -> bool:
        """Whether there is anything from which columns can be known."""
        return any(self.events[op] for op in ("c", "u", "d", "r", "ddl"))


def read_backlog(
    landing: Path, after: Mapping[str, int], start: int = 0, end: int | None = None
) -> dict[str, Backlog]:
    """Return the events by table of the files after the ones that are applied.

    Args:
        landing: The landing folder.
        after: The number of the last file that is applied, by table.
        start: The same for tables that `after` does not name.
        end: The last file that counts; by default the last that has landed.
    """
    first = min([start, *after.values()])
    tables: dict[str, Backlog] = {}
    for number, path in event_files(landing):
        if number <= first or (end is not None and number > end):
            continue
        for line in read_lines(path):
            _count(tables, line, number, after, start)
    return tables


def _count(
    tables: dict[str, Backlog], line: bytes, number: int, after: Mapping[str, int], start: int
) -> None:
    key, event = read_line(line)
    if event.kind not in ("row", "ddl") or "." not in event.table:
        # also what concerns a whole database, such as CREATE DATABASE
        return
    if number <= after.get(event.table, start):
        return
    table = tables.setdefault(event.table, Backlog())
    table.events[event.op or event.kind] += 1
    table.bytes += len(line)
    if event.time is not None:
        table.times.append(event.time)
    if table.key is None and event.op in ("c", "u", "d", "r"):
        table.key = key_columns(key)


def key_columns(key: Any) -> list[str]:
    """Return the columns of an event's key.

    Example:
        >>> key_columns({"id": 7}), key_columns({"schema": {}, "payload": {"a": 1, "b": 2}})
        (['id'], ['a', 'b'])
        >>> key_columns(None)
        []
    """
    if not isinstance(key, dict):
        return []
    if set(key) == {"schema", "payload"}:
        key = key["payload"]
    return list(key or {})


def percentiles(values: Iterable[float], shares: Iterable[float]) -> list[float]:
    """Return the values below which these shares of them lie (nearest rank).

    Example:
        >>> percentiles([1, 2, 3, 4], [0.5, 0.99])
        [2, 4]
    """
    ordered = sorted(values)
    if not ordered:
        return []
    return [ordered[max(0, math.ceil(len(ordered) * share) - 1)] for share in shares]
