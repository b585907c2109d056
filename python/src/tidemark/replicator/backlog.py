"""Events that have landed and are not applied yet, by table, read from the landing files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from tidemark.capture.config import CaptureConfig
from tidemark.capture.events import Event, read_line
from tidemark.capture.files import event_files, read_lines
from tidemark.capture.properties import selects

# moments that are told apart of the times of a backlog, however many events it has
_MOST_MOMENTS = 4096


class Times:
    """When events were written, in milliseconds since 1970, in memory that events do not fill.

    A few thousand moments are kept exactly; of more, those that are near each other are counted
    as one, the earliest of them, so that an event may seem to be a thousandth of the whole stretch
    older than it is.

    Example:
        >>> times = Times()
        >>> times.add(2000), times.add(5000)
        (None, None)
        >>> times.first, times.ages(now=6000, shares=(0.5, 0.99))
        (2000, [1000, 4000])
    """

    def __init__(self) -> None:
        self._width = 1
        self._counts: Counter[int] = Counter()
        self.first: int | None = None
        """The earliest; None: there is none."""

    def add(self, time: int, count: int = 1) -> None:
        """Count events of one moment."""
        self.first = time if self.first is None else min(self.first, time)
        self._counts[time // self._width] += count
        while len(self._counts) > _MOST_MOMENTS:
            self._width *= 2
            finer, self._counts = self._counts, Counter()
            for moment, events in finer.items():
                self._counts[moment // 2] += events

    def update(self, others: Times) -> None:
        """Count the events of others too."""
        for moment, events in others._counts.items():
            self.add(max(moment * others._width, others.first or 0), events)

    def ages(self, now: float, shares: Iterable[float]) -> list[float]:
        """Return the ages at a moment below which these shares of the events are (nearest rank)."""
        total = sum(self._counts.values())
        if not total or self.first is None:
            return []
        ranks = [max(1, math.ceil(total * share)) for share in shares]
        found, passed = {}, 0
        for moment in sorted(self._counts, reverse=True):
            passed += self._counts[moment]
            for rank in ranks:
                if rank <= passed and rank not in found:
                    found[rank] = max(0, now - max(moment * self._width, self.first))
        return [found[rank] for rank in ranks]


@dataclass
class Backlog:
    """Events of one table in some landing files.

    Attributes:
        events: How many there are of each operation (c u d r t, ddl, snapshot).
        bytes: Their size as landed, before compression.
        times: When the source wrote them.
        key: The columns of the key, in order; None if no event of a row was seen.
    """

    events: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    times: Times = field(default_factory=Times)
    key: list[str] | None = None

    @property
    def count(self) -> int:
        """How many events there are."""
        return sum(self.events.values())

    @property
    def has_rows(self) -> bool:
        """Whether there is anything from which columns and key can be known.

        Those of a schema change are not: it may be of a table that stays empty, or is gone by now.
        """
        return any(self.events[op] for op in ("c", "u", "d", "r"))


def read_backlog(
    config: CaptureConfig,
    landing: Path,
    after: Mapping[str, int],
    start: int = 0,
    end: int | None = None,
) -> dict[str, Backlog]:
    """Return the events by table of the files after the ones that are applied.

    Args:
        config: The source.
        landing: The landing folder.
        after: The number of the last file that is applied, by table.
        start: The same for tables that `after` does not name.
        end: The last file that counts; by default the last that has landed.
    """
    # schema changes land of all tables
    is_selected = cache(partial(selects, config))
    first = min([start, *after.values()])
    tables: dict[str, Backlog] = {}
    for number, path in event_files(landing):
        if number <= first or (end is not None and number > end):
            continue
        for line in read_lines(path):
            key, event = read_line(line)
            if number <= after.get(event.table, start) or not _is_of_table(event, is_selected):
                continue
            table = tables.setdefault(event.table, Backlog())
            table.events[event.op or event.kind] += 1
            table.bytes += len(line)
            if event.time is not None:
                table.times.add(event.time)
            if table.key is None and event.op in ("c", "u", "d", "r"):
                table.key = key_columns(key)
    return tables


def _is_of_table(event: Event, is_selected: Callable[[str], bool]) -> bool:
    """Whether it is of a mirrored table, and not of a whole database, as CREATE DATABASE is."""
    if event.kind not in ("row", "ddl", "snapshot") or "." not in event.table:
        return False
    return event.kind != "ddl" or is_selected(event.table)


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
