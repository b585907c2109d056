"""What change events must give, in plain Python: a tiny source database that takes the events in true order."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Values = tuple[Any, ...]
"""Values of a key, or of a whole row in column order."""

Version = tuple[Values, int, int | None, Values]
"""(key, from, to, row): the row was visible under the key from one sequence number up to, not including, another."""


@dataclass
class Truth:
    """What the tables must hold.

    Attributes:
        current: Key → row; without key: row → number of copies.
        versions: Every version of every key; without key, copy number n of a row has the key (*row, n).
    """

    current: dict[Values, Any] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)


def simulate(
    events: Iterable[Mapping[str, Any]], columns: Sequence[str], key: Sequence[str] | None
) -> Truth:
    """Take events in true order into an empty table.

    Args:
        events: Canonical events. One without `_sequence_num` has its position, from 0, as sequence number.
        columns: Business columns, in the order of the rows that come out.
        key: Key columns; None for a table without key, whose events all have whole rows.
    """
    table = _KeylessTable(columns) if key is None else _KeyedTable(columns, key)
    for position, event in enumerate(events):
        table.take(event, event.get("_sequence_num", position))
    return Truth(table.current(), table.timeline.versions())


@dataclass(frozen=True)
class Change:
    """A change of a key's row: `rank` is its place in the sequence, `moment` what intervals are of, `row` None deletes."""

    moment: Any
    rank: int
    row: Values | None


def versions_of(
    changes: Iterable[Change], tracked: Callable[[Values], Any]
) -> list[tuple[Any, ...]]:
    """The versions of one key, each (*row, from, to).

    A change that an earlier moment has overtaken in the sequence does not count, of those at a moment the last does,
    and rows that agree in what is tracked are one version, which shows the last of them.
    """
    kept: dict[Any, Values | None] = {}
    greatest = 0
    for change in sorted(changes, key=lambda change: (change.moment, change.rank)):
        if change.rank >= greatest:
            greatest = change.rank
            kept[change.moment] = change.row
    versions: list[tuple[Values, Any, Any]] = []
    for moment, row in kept.items():
        last, since, until = versions[-1] if versions else ((), None, moment)
        is_open = bool(versions) and until is None
        if is_open and row is not None and tracked(last) == tracked(row):
            versions[-1] = (row, since, None)
            continue
        if is_open:
            versions[-1] = (last, since, moment)
        if row is not None:
            versions.append((row, moment, None))
    return [(*row, since, until) for row, since, until in versions]


class _Timeline:
    """What is visible under each key, and since when."""

    def __init__(self) -> None:
        self.open: dict[Values, tuple[int, Values]] = {}
        self.closed: list[Version] = []

    def show(self, key: Values, row: Values, sequence: int) -> None:
        if key in self.open and self.open[key][1] == row:
            return
        self.hide(key, sequence)
        self.open[key] = (sequence, row)

    def hide(self, key: Values, sequence: int) -> None:
        if key in self.open:
            since, row = self.open.pop(key)
            self.closed.append((key, since, sequence, row))

    def versions(self) -> list[Version]:
        still_open = [(key, since, None, row) for key, (since, row) in self.open.items()]
        return [*self.closed, *still_open]


class _KeyedTable:
    """Rows by key. A row whose key is taken by another one waits, hidden, for its own move or delete."""

    def __init__(self, columns: Sequence[str], key: Sequence[str]) -> None:
        self.columns = columns
        self.key = key
        self.rows: dict[Values, Values] = {}
        # (transaction, key) → rows that lost this key to a newcomer in this transaction
        self.displaced: dict[tuple[Any, Values], deque[Values]] = defaultdict(deque)
        self.timeline = _Timeline()

    def current(self) -> dict[Values, Any]:
        return dict(self.rows)

    def take(self, event: Mapping[str, Any], sequence: int) -> None:
        transaction = event.get("_transaction_id")
        match event["_operation"]:
            case "INSERT":
                self._put(self._key_after(event), self._row(event, None), sequence)
            case "UPDATE":
                old, new = self._key_before(event), self._key_after(event)
                if old == new:
                    self._put(new, self._row(event, self.rows.get(new)), sequence)
                    return
                row = self._row(event, self._leave(old, transaction, sequence))
                if transaction is not None and new in self.rows:
                    self.displaced[transaction, new].append(self.rows[new])
                self._put(new, row, sequence)
            case "DELETE":
                self._leave(self._key_before(event), transaction, sequence)
            case "TRUNCATE" | "TRUNCATE_TABLE":
                for key in list(self.rows):
                    self._remove(key, sequence)
                self.displaced.clear()

    def _key_after(self, event: Mapping[str, Any]) -> Values:
        return tuple(event[column] for column in self.key)

    def _key_before(self, event: Mapping[str, Any]) -> Values:
        return tuple(event.get(f"_before_{column}", event.get(column)) for column in self.key)

    def _row(self, event: Mapping[str, Any], known: Values | None) -> Values:
        """The after image; what an update does not supply comes from the row that is known, if any."""
        before = dict(zip(self.columns, known, strict=True)) if known is not None else {}
        return tuple(event.get(column, before.get(column)) for column in self.columns)

    def _leave(self, key: Values, transaction: Any, sequence: int) -> Values | None:
        """Take the row away from its key: the one that was displaced first, else the visible one."""
        waiting = self.displaced.get((transaction, key))
        return waiting.popleft() if waiting else self._remove(key, sequence)

    def _put(self, key: Values, row: Values, sequence: int) -> None:
        self.rows[key] = row
        self.timeline.show(key, row, sequence)

    def _remove(self, key: Values, sequence: int) -> Values | None:
        self.timeline.hide(key, sequence)
        return self.rows.pop(key, None)


class _KeylessTable:
    """Copies of rows. A count may be below zero: inserts that come later fill it first."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns
        self.counts: Counter[Values] = Counter()
        self.timeline = _Timeline()

    def current(self) -> dict[Values, Any]:
        return +self.counts

    def take(self, event: Mapping[str, Any], sequence: int) -> None:
        after = tuple(event.get(column) for column in self.columns)
        before = tuple(event.get(f"_before_{column}") for column in self.columns)
        match event["_operation"]:
            case "INSERT":
                self._add({after: 1}, sequence)
            case "UPDATE" if before != after:
                self._add({before: -1, after: 1}, sequence)
            case "DELETE":
                self._add({before: -1}, sequence)
            case "TRUNCATE" | "TRUNCATE_TABLE":
                self._add({row: -count for row, count in self.counts.items()}, sequence)

    def _add(self, changes: Mapping[Values, int], sequence: int) -> None:
        for row, change in changes.items():
            was, now = self.counts[row], self.counts[row] + change
            self.counts[row] = now
            for copy in range(max(was, 0) + 1, now + 1):
                self.timeline.show((*row, copy), row, sequence)
            for copy in range(max(now, 0) + 1, was + 1):
                self.timeline.hide((*row, copy), sequence)
