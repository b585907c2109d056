"""Landing: envelopes become lines of files; what has landed may be acknowledged.

The order is what makes it safe: a file is written, synced and renamed, then the source is told,
and it is told of whole transactions only. What it sends again is recognised and left out.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from tidemark.capture.config import Flush
from tidemark.capture.events import Event, Identities, read_event
from tidemark.capture.files import LandingError, event_file, write_atomically
from tidemark.capture.snapshots import end_of_snapshot

# the prefix of the messages by which capture asks how far it has come
OWN_MESSAGES = "tidemark"
# a line after the last one of any file
_WHOLE_FILE = 2**32
# zlib's way of saying that it is to write gzip
_GZIP = 31
_WHOLE_TABLE = ("last_in_data_collection", "last")
# tells of each table that a snapshot has read what its envelopes say of it in `source`
Ends = Callable[[], Iterable[Mapping[str, str]]]


@dataclass
class Figures:
    """What has landed: events by table and operation, and bytes."""

    events: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: int = 0
    last_event_at: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the source may forget: everything up to a line of a file, and the record there."""

    number: int
    line: int
    token: Any


class Lander:
    """Buffers envelopes and writes them as landing files.

    Args:
        folder: The landing folder.
        flush: When a file is closed.
        number: The number of the last file that has landed.
        landed: Identities of events that have landed and may come again.
        snapshot_done: Whether the snapshot has landed.
        floors: Tables, and the position in the log below which their changes are in the rows that
            were read of them.
        reads: How identities of rows begin that a snapshot has read.
        ends: Tells the tables that the snapshot has read, of which a line then tells the end. None:
            it reads no rows.
        is_first: Whether nothing has landed before: then rows tell the ends of their tables, and
            lines those of the others only, of which a copy may have rows from another folder.
        clock: Tests have their own.
    """

    def __init__(
        self,
        folder: Path,
        flush: Flush,
        *,
        number: int = 0,
        landed: set[str] | None = None,
        snapshot_done: bool = False,
        floors: Mapping[str, int] | None = None,
        reads: str = "r",
        ends: Ends | None = None,
        is_first: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._flush = flush
        self._clock = clock
        self._landed = landed or set()
        self._floors = floors or {}
        self._reads = reads
        self._ends = ends
        self._is_first = is_first
        # for each table, an envelope of a row that was read
        self._read: dict[str, str] = {}
        self._identities = Identities()
        self._topics: dict[str, str] = {}
        self._since = 0.0
        self._start_file()
        self._last_time: int | None = None
        # the open transaction, what it has brought, and the record before this one
        self._open: str | None = None
        self._has_events = False
        self._has_rows = False
        self._has_ddl = False
        self._previous: Any = None
        self._safe: Mark | None = None
        self._snapshot_seen = snapshot_done
        self._broken: str | None = None
        self.number = number
        self.snapshot_done = snapshot_done
        self.snapshot_tables: dict[str, str] = {}
        self.figures = Figures()
        self.dropped = 0
        self.messages: set[str] = set()

    def _start_file(self) -> None:
        self._lines = 0
        self._size = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        # lines are packed as they come: with their schemas they are ten times as large
        self._packed: list[bytes] = []
        self._packer = zlib.compressobj(1, wbits=_GZIP)

    # --- taking records

    def add(self, topic: str, key: str | None, value: str | None, token: Any) -> None:
        """Take one record of the source.

        Args:
            topic: Its topic.
            key: Its key as JSON.
            value: Its envelope as JSON.
            token: What the source wants back when it may forget all up to this record.
        """
        if self._broken is not None:
            raise LandingError(self._broken)
        event = read_event(topic, value)
        if not self._snapshot_seen and self._is_past_snapshot(event):
            self._end_snapshot()
        if event.kind == "begin":
            # schema changes of the MySQL family have a BEGIN and no END
            self._end_transaction(self._previous)
            self._begin_transaction(event.transaction)
        elif event.kind == "heartbeat":
            if self._open is None or (self._has_ddl and not self._has_rows):
                self._end_transaction(token)
                self._mark(token)
        elif event.kind == "end":
            if self._has_events:
                self._take(topic, key, value, event)
            self._identities.start_transaction()
            self._open = None
            self._mark(token)
        else:
            if event.transaction and self._open is None:
                self._begin_transaction(event.transaction)
            self._take(topic, key, value, event)
            self._follow_snapshot(event, value)
            self._has_rows |= event.kind == "row" and event.op != "t"
            self._has_ddl |= event.kind == "ddl" or event.op == "t"
            if self._open is None:
                self._mark(token)
        self._previous = token

    def _begin_transaction(self, transaction: str) -> None:
        self._identities.start_transaction()
        self._open = transaction
        self._has_events = self._has_rows = self._has_ddl = False

    def _end_transaction(self, token: Any) -> None:
        if self._open is not None:
            self._open = None
            self._mark(token)

    def _mark(self, token: Any) -> None:
        if token is None:
            return
        if self._lines:
            self._safe = Mark(self.number + 1, self._lines, token)
        else:
            self._safe = Mark(self.number, _WHOLE_FILE, token)

    def _follow_snapshot(self, event: Event, value: str | None) -> None:
        if event.op != "r":
            return
        done = event.snapshot in _WHOLE_TABLE
        self.snapshot_tables[event.table] = "done" if done else "reading"
        if self._ends is not None and value is not None and not self._snapshot_seen:
            self._read[event.table] = value
        if event.snapshot == "last":
            if not self._snapshot_seen:
                self._end_snapshot()
            self.snapshot_tables = dict.fromkeys(self.snapshot_tables, "done")

    def _is_past_snapshot(self, event: Event) -> bool:
        if event.kind == "heartbeat":
            return "reading" not in self.snapshot_tables.values()
        is_change = event.kind == "row" and event.op != "r" and not event.snapshot
        return is_change or event.kind in ("begin", "end")

    def _end_snapshot(self) -> None:
        """Note that the snapshot is over, and land the line of each table that says so."""
        self._snapshot_seen = True
        any_read = next(iter(self._read.values()), None)
        for source in self._ends() if self._ends is not None else ():
            table = f"{source.get('schema') or source['db']}.{source['table']}"
            if self._is_first and self.snapshot_tables.get(table) == "done":
                continue
            envelope = end_of_snapshot(source, self._read.get(table, any_read))
            self._write(f"{source['name']}.{table}", None, envelope.decode(), None)
        self._read.clear()

    def _take(self, topic: str, key: str | None, value: str | None, event: Event) -> None:
        identity = self._identities.of(event)
        if event.kind == "message" and event.prefix == OWN_MESSAGES:
            self.messages.add(identity or "")
            return
        floor = self._floors.get(event.table) if self._floors else None
        if floor is not None and event.position is not None and event.position < floor:
            self.dropped += 1
            return
        self._has_events = True
        if identity is not None and identity in self._landed:
            self.dropped += 1
            return
        self._write(topic, key, value, identity)
        if event.kind != "end":
            self._counts[event.table, event.op or event.kind] += 1
        self._last_time = event.time or self._last_time

    def _write(self, topic: str, key: str | None, value: str | None, identity: str | None) -> None:
        if not self._lines:
            self._since = self._clock()
        line = self._lines + 1
        text = self._topics.get(topic)
        if text is None:
            text = self._topics[topic] = orjson.dumps(topic).decode()
        known = orjson.dumps(identity or f"{self._reads}:{self.number + 1}:{line}").decode()
        data = (
            f'{{"topic":{text},"key":{key or "null"},"value":{value or "null"},'
            f'"_seq":{self.number + 1},"_ord":{line},"_id":{known}}}\n'
        ).encode()
        self._packed.append(self._packer.compress(data))
        self._lines = line
        self._size += len(data)

    # --- landing

    @property
    def buffered(self) -> int:
        """How many lines wait."""
        return self._lines

    @property
    def is_snapshot_over(self) -> bool:
        """Whether the snapshot has just ended: it is landed and acknowledged by itself.

        Else a kill could leave changes landed without a position to go on from.
        """
        return self._snapshot_seen and not self.snapshot_done

    def is_due(self) -> bool:
        """Whether a file is to be closed now."""
        if not self._lines:
            return self._safe is not None
        return (
            self._lines >= self._flush.rows
            or self._size >= self._flush.bytes
            or self._clock() - self._since >= self._flush.seconds
        )

    def land(self) -> Mark | None:
        """Write what waits as a file; return what may be acknowledged then, None for nothing.

        Raises:
            LandingError: It cannot be written: then nothing may be acknowledged any more.
        """
        if self._broken is not None:
            # the engine's thread has failed here, and this one is about to stop
            raise LandingError(self._broken)
        if self._lines:
            path = event_file(self._folder, self.number + 1)
            data = b"".join([*self._packed, self._packer.flush()])
            try:
                write_atomically(path, data, failpoints=True)
            except OSError as error:
                self._broken = (
                    f"{path} cannot be written ({error.strerror}). Capture has acknowledged "
                    "nothing from it, so nothing is lost: make room or mend the folder, "
                    "and start again"
                )
                raise LandingError(self._broken) from error
            self.number += 1
            self.figures.events += self._counts
            self.figures.bytes += len(data)
            self.figures.last_event_at = self._last_time
            self._start_file()
        self.snapshot_done = self._snapshot_seen
        mark, self._safe = self._safe, None
        return mark
