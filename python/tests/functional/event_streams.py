"""Random streams of canonical events, as a consistent source database would emit them, and ways to deliver them.

A stream is a handful of ids in a table that all streams share; streams never touch each other's rows, so every one of
them is a test case of its own, and a few runs of dbt try hundreds.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from .event_entities import Event, delete, insert, truncate, update

COLUMNS = {"stream": "int", "id": "int", "label": "string", "n": "int"}
KEY = ["stream", "id"]

LABELS = [None, "", "x", "NULL", "žluťoučký 🐎", 'it\'s "q"\\']
NUMBERS = [None, 0, 1, -7]
IDS = range(1, 6)

Row = dict[str, Any]


def random_streams(
    rng: random.Random,
    streams: int,
    events_per_stream: int,
    keyless: bool = False,
    truncates: int = 0,
) -> list[Event]:
    """Events of many streams in true order, with `_sequence_num` strictly rising over the whole table.

    Every event also has an `_offset` of its own, a `_transaction_id` and an `_event_time` that rises with repeats.
    """
    return simulate_sources(rng, streams, events_per_stream, keyless, truncates)[0]


def simulate_sources(
    rng: random.Random, streams: int, events_per_stream: int, keyless: bool, truncates: int
) -> tuple[list[Event], list[tuple[Any, ...]]]:
    """The events, and the rows that the source holds after the last of them."""
    make = _KeylessSource if keyless else _KeyedSource
    sources = [make(rng, number) for number in range(streams)]
    total = streams * events_per_stream
    truncate_at = set(rng.sample(range(total // 10, total * 9 // 10), truncates))
    clock = _Clock(rng)
    budget = [events_per_stream] * streams
    waiting: list[list[Event]] = [[] for _ in sources]
    events: list[Event] = []
    truncate_due = 0

    def emit(event: Event) -> None:
        nonlocal truncate_due
        truncate_due += len(events) in truncate_at
        events.append(clock.stamp(event))

    while busy := [i for i in range(streams) if budget[i] > 0 or waiting[i]]:
        number = rng.choice(busy)
        if not waiting[number]:
            waiting[number] = sources[number].transaction(clock.next_transaction())
            budget[number] -= len(waiting[number])
        emit(waiting[number].pop(0))
        if truncate_due:
            # a truncate waits for open transactions
            for rest in waiting:
                while rest:
                    emit(rest.pop(0))
            for source in sources:
                source.rows.clear()
            for _ in range(truncate_due):
                emit(truncate(transaction_id=clock.next_transaction()))
            truncate_due = 0
    return events, [tuple(row.values()) for source in sources for row in source.all_rows()]


def deliver(
    rng: random.Random,
    events: Sequence[Event],
    batches: int,
    order: Literal["in_order", "shuffled"],
    duplicate: float = 0.15,
) -> list[list[Event]]:
    """Cut events into batches anywhere, in order or not, and repeat some of them later in the same or a later batch."""
    queue = list(events)
    if order == "shuffled":
        rng.shuffle(queue)
    # no batch is less than half of its fair share
    fair = len(queue) / batches
    cuts = [int(fair * (i + rng.uniform(-0.25, 0.25))) for i in range(1, batches)]
    bounds = [0, *cuts, len(queue)]
    delivered = [queue[a:b] for a, b in itertools.pairwise(bounds)]
    for number, batch in enumerate([list(batch) for batch in delivered]):
        for event in batch:
            if rng.random() < duplicate:
                target = delivered[rng.randrange(number, batches)]
                first = target.index(event) + 1 if event in target else 0
                target.insert(rng.randint(first, len(target)), event)
    return delivered


class _Clock:
    """Numbers and times of events, in the order in which they are emitted."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sequence = 1000
        self.transactions = 0
        self.offset = 0
        self.time = datetime(2026, 3, 4, 8, tzinfo=UTC)

    def next_transaction(self) -> str:
        self.transactions += 1
        return f"tx-{self.transactions}"

    def stamp(self, event: Event) -> Event:
        self.sequence += self.rng.choice([1, 1, 1, 10])
        self.offset += 1
        if self.rng.random() < 0.3:
            self.time += timedelta(milliseconds=self.rng.randint(1, 5000))
        return {
            **event,
            "_sequence_num": self.sequence,
            "_offset": self.offset,
            "_event_time": self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }


class _KeyedSource:
    """The rows of one stream, by id, and transactions that change them."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng = rng
        self.number = number
        self.rows: dict[int, Row] = {}

    def all_rows(self) -> list[Row]:
        return list(self.rows.values())

    def transaction(self, name: str) -> list[Event]:
        """Events of a transaction: one step, or two."""
        events = []
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            events += self.rng.choice(self._possible_steps())()
        return [{**event, "_transaction_id": name} for event in events]

    def _possible_steps(self) -> list[Callable[[], list[Event]]]:
        free, used = len(IDS) - len(self.rows), len(self.rows)
        steps: list[Callable[[], list[Event]]] = []
        if free:
            steps += [self._insert_one] * (3 if used < 2 else 1) + [self._insert_and_delete]
        if used:
            steps += [self._update_one] * 3 + [self._delete_one, self._delete_and_reinsert]
        if used and free:
            steps += [self._move_to_free, self._move_and_re_use]
        if used and free > 1:
            steps += [self._chain]
        if used > 1:
            steps += [self._rotate] * 2 + [self._displace_and_delete]
        if used > 1 and free:
            steps += [self._shift]
        return steps

    def _insert_one(self) -> list[Event]:
        return [self._insert(self._free()[0])]

    def _insert_and_delete(self) -> list[Event]:
        new = self._free()[0]
        return [self._insert(new), self._delete(new)]

    def _update_one(self) -> list[Event]:
        return [self._update(self._used()[0])]

    def _delete_one(self) -> list[Event]:
        return [self._delete(self._used()[0])]

    def _delete_and_reinsert(self) -> list[Event]:
        old = self._used()[0]
        same = self.rows[old] if self.rng.random() < 0.5 else None
        return [self._delete(old), self._insert(old, same)]

    def _move_to_free(self) -> list[Event]:
        return self._move([(self._used()[0], self._free()[0])])

    def _move_and_re_use(self) -> list[Event]:
        old, new = self._used()[0], self._free()[0]
        return [*self._move([(old, new)]), self._insert(old)]

    def _chain(self) -> list[Event]:
        """One row over two or three keys, perhaps home again."""
        first, (second, third) = self._used()[0], self._free()[:2]
        stops = self.rng.choice([[second, third], [second, first], [second, third, first]])
        events = []
        for old, new in itertools.pairwise([first, *stops]):
            events += self._move([(old, new)])
        return events

    def _rotate(self) -> list[Event]:
        """Two or three rows change places."""
        ids = self._used()[: self.rng.choice([2, 2, 3])]
        return self._move(list(zip(ids, [*ids[1:], ids[0]], strict=True)))

    def _shift(self) -> list[Event]:
        """Rows move on by one place, first the one that takes a key which is not yet free, or last."""
        ids = [*self._used()[: self.rng.choice([2, 2, 3])], self._free()[0]]
        moves = list(itertools.pairwise(ids))
        return self._move(moves if self.rng.random() < 0.7 else moves[::-1])

    def _displace_and_delete(self) -> list[Event]:
        """A row takes the key of another one, which is deleted after that."""
        old, new = self._used()[:2]
        before = self.rows.pop(new)
        return [*self._move([(old, new)]), self._deleted(before)]

    def _move(self, moves: list[tuple[int, int]]) -> list[Event]:
        """The rows under these keys get new keys, all at once."""
        rows = {old: self.rows.pop(old) for old, _ in moves}
        return [self._moved(rows[old], new) for old, new in moves]

    def _moved(self, before: Row, new: int) -> Event:
        row = {**before, "id": new}
        if self.rng.random() < 0.3:
            row.update(self._values())
        self.rows[new] = row
        return update(self._supplied(before, row), before=self._image(before, among=("id",)))

    def _insert(self, new: int, row: Row | None = None) -> Event:
        self.rows[new] = row or {"stream": self.number, "id": new, **self._values()}
        return insert(self.rows[new])

    def _update(self, old: int) -> Event:
        before = self.rows[old]
        self.rows[old] = {**before, **(self._values() if self.rng.random() < 0.8 else {})}
        image = self._image(before, among=("id",)) if self.rng.random() < 0.6 else None
        return update(self._supplied(before, self.rows[old]), before=image)

    def _delete(self, old: int) -> Event:
        return self._deleted(self.rows.pop(old))

    def _deleted(self, before: Row) -> Event:
        return delete(self._image(before))

    def _supplied(self, before: Row, row: Row) -> Row:
        """The after image, whole or without some of the columns that did not change."""
        if self.rng.random() < 0.5:
            return dict(row)
        left_out = [
            column
            for column in row
            if column not in KEY and row[column] == before[column] and self.rng.random() < 0.8
        ]
        return {column: value for column, value in row.items() if column not in left_out}

    def _image(self, row: Row, among: Sequence[str] = KEY) -> Row:
        """A before image, whole, only its key, or only those of the key that may have changed."""
        named = self.rng.choice([list(row), list(row), KEY, among])
        return {column: value for column, value in row.items() if column in named}

    def _values(self) -> Row:
        return {"label": self.rng.choice(LABELS), "n": self.rng.choice(NUMBERS)}

    def _free(self) -> list[int]:
        return self._shuffled(i for i in IDS if i not in self.rows)

    def _used(self) -> list[int]:
        return self._shuffled(self.rows)

    def _shuffled(self, ids: Iterable[int]) -> list[int]:
        shuffled = list(ids)
        self.rng.shuffle(shuffled)
        return shuffled


class _KeylessSource:
    """The rows of one stream in a table without key: few values, so that copies are common."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng = rng
        self.number = number
        self.rows: list[Row] = []

    def all_rows(self) -> list[Row]:
        return list(self.rows)

    def transaction(self, name: str) -> list[Event]:
        events = [self._step() for _ in range(self.rng.choice([1, 1, 2, 3]))]
        return [{**event, "_transaction_id": name} for event in events]

    def _step(self) -> Event:
        fate = self.rng.random()
        if not self.rows or fate < 0.45:
            self.rows.append(self._row())
            return insert(self.rows[-1])
        before = self.rows.pop(self.rng.randrange(len(self.rows)))
        if fate < 0.7:
            return delete(before)
        self.rows.append(self._row())
        return update(self.rows[-1], before=before)

    def _row(self) -> Row:
        if self.rows and self.rng.random() < 0.4:
            return dict(self.rng.choice(self.rows))
        return {
            "stream": self.number,
            "id": self.rng.choice([1, None]),
            "label": self.rng.choice(LABELS[:3]),
            "n": self.rng.choice([None, 0]),
        }
