"""A capture at work: engine, landing and status, until it is stopped or has caught up."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.database import DatabaseError
from tidemark.capture.engine import Committer, Engine
from tidemark.capture.files import LandingError, failpoint
from tidemark.capture.joining import Joining, Table, are_lockable, join
from tidemark.capture.lander import Lander
from tidemark.capture.metrics import rows_scanned, streaming_metric
from tidemark.capture.properties import debezium_properties, table_snapshot_properties
from tidemark.capture.snapshots import source_of
from tidemark.capture.sources import Source, make_source
from tidemark.capture.state import LATER_READ, CaptureState
from tidemark.errors import TidemarkError

_TICK = 0.1
_STATUS_EVERY = 1.0
_BACK_OFF = (1.0, 60.0)
# how often tables are looked for that came after the snapshot
_NEWCOMERS_EVERY = 10.0
# how long the writers of such a table wait for Debezium to begin to read it
_WRITERS_WAIT = 30.0
# what Debezium says, and what servers do, when the log has been purged
_LOG_IS_GONE = (
    "no longer available on the server",
    "no longer available on the database server",
    "Could not find first log file name in binary log index file",
    "could not find next log",
    "have been purged",
    "purged required binary logs",
    "impossible position",
    "position > file size",
)


class CaptureError(TidemarkError):
    """Debezium stopped; the message is what it said."""


@dataclass(frozen=True)
class CaptureOptions:
    """What was asked for on the command line.

    Attributes:
        once: Stop when all has landed that was in the source at the start.
        resnapshot: Forget the position and begin with a snapshot.
    """

    once: bool = False
    resnapshot: bool = False


class Session:
    """Captures one source.

    Args:
        config: The source.
        login: How to reach it.
        state: Its landing folder, open.
        options: What was asked for.
        stop: Set from outside to stop.
        say: Is told what goes on, once a second.
    """

    def __init__(
        self,
        config: CaptureConfig,
        login: Login,
        state: CaptureState,
        options: CaptureOptions,
        stop: threading.Event,
        say: Callable[[dict[str, Any]], None],
    ) -> None:
        self._config = config
        self._login = login
        self._state = state
        self._options = options
        self._stop = stop
        self._say = say
        self._lock = threading.RLock()
        self._lander: Lander | None = None
        self._committer: Committer | None = None
        self._closing = False
        self._was_connected = False
        # a source that has never been reached is not tried again
        self._worked = False
        self._started_at = _now()
        self._status: dict[str, Any] = {}
        self._status_at = 0.0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._bytes = 0
        self._tables: dict[str, str] = {}
        self._last_event_at: int | None = None
        self._last_error: str | None = None
        self._failing_since: float | None = None
        self._warnings: list[str] = []
        self.is_hung = False
        """Whether Debezium did not stop when it was told to."""

    def run(self) -> None:
        """Capture until stopped.

        Raises:
            TidemarkError: It cannot go on.
        """
        self._read_figures()
        source = make_source(self._config, self._login)
        try:
            if self._options.resnapshot:
                source.forget()
                self._state.forget()
                self._tables = {}
            self._keep_going(source)
        except TidemarkError as error:
            self._last_error = str(error)
            # on a full disk this fails like what came before
            with suppress(LandingError):
                self._write_status("FAILING")
            raise
        self._write_status("STOPPED")

    def _keep_going(self, source: Source) -> None:
        pause = _BACK_OFF[0]
        while True:
            worked_from = time.monotonic()
            try:
                while self._run_engine(source):
                    source = make_source(self._config, self._login)
                return
            except TidemarkError as error:
                now = time.monotonic()
                if self._failing_since is None or now - worked_from > _BACK_OFF[1]:
                    self._failing_since, pause = now, _BACK_OFF[0]
                over = now - self._failing_since >= self._config.retry_for
                may_pass = isinstance(error, CaptureError | DatabaseError) and self._worked
                if not may_pass or self.is_hung or self._options.once or over:
                    raise
                self._last_error = str(error)
                self._write_status("FAILING")
                self._say(self._status)
                if self._stop.wait(pause):
                    return
                pause = min(pause * 2, _BACK_OFF[1])
                source = make_source(self._config, self._login)

    def _run_engine(self, source: Source) -> bool:
        """Capture until stopped, or until tables have come: then it is to be called again."""
        start = source.prepare(self._state)
        self._warnings = list(start.warnings)
        if self._state.snapshot_done:
            newcomers = self._newcomers(source)
            if newcomers and self._read_tables(newcomers, start.landed.number):
                start = source.prepare(self._state)
            if self._stop.is_set():
                return False
        properties = debezium_properties(
            self._config, self._login, self._state.folder, snapshot_mode=start.snapshot_mode
        )
        lander = Lander(
            self._state.landing,
            self._config.flush,
            number=start.landed.number,
            landed=start.landed.identities,
            snapshot_done=self._state.snapshot_done,
            floors=start.floors,
            ends=self._ends if self._config.snapshot != "no_data" else None,
            is_first=not start.landed.number,
        )
        if self._state.snapshot_done:
            lander.snapshot_tables = dict(self._tables)
        again = False
        looked_at = time.monotonic()
        with self._running(properties | dict(start.properties), lander) as engine:
            while not self._stop.wait(_TICK):
                if engine.error is not None or not engine.is_running:
                    raise _failure(engine)
                with self._lock:
                    if lander.is_due():
                        self._land()
                self._publish_status(lander)
                if self._options.once:
                    if source.has_caught_up(lander):
                        break
                elif lander.snapshot_done and time.monotonic() - looked_at > _NEWCOMERS_EVERY:
                    again = self._can_join(source)
                    if again:
                        break
                    looked_at = time.monotonic()
            with self._lock:
                self._closing = True
                self._land()
        if again and self.is_hung:
            raise CaptureError(
                "Debezium did not stop. Start capture again, then it reads the new tables"
            )
        return again

    @contextmanager
    def _running(self, properties: Mapping[str, str], lander: Lander) -> Iterator[Engine]:
        self._lander, self._committer, self._closing = lander, None, False
        self._was_connected = False
        engine = Engine(properties, self._take)
        engine.start()
        try:
            yield engine
        finally:
            self._closing = True
            self.is_hung |= not engine.close()
            self._take_figures(lander)

    # --- tables that came after the snapshot

    def _newcomers(self, source: Source) -> tuple[Table, ...]:
        found = source.newcomers(self._state)
        self._warnings = list(found.warnings)
        return found.tables

    def _can_join(self, source: Source) -> bool:
        tables = self._newcomers(source)
        if not tables:
            return False
        # the capture of the others is not interrupted in vain
        if are_lockable(self._config, self._login, tables):
            return True
        self._warn_of_writers(tables)
        return False

    def _warn_of_writers(self, tables: Sequence[Table]) -> None:
        self._warnings += [
            f"{table.name} is not captured yet, because an open transaction writes to it"
            for table in tables
        ]

    def _read_tables(self, tables: Sequence[Table], number: int) -> bool:
        """Land the rows of tables; whether any were."""
        if self._config.snapshot == "no_data":
            with join(self._config, self._login, tables) as joining:
                joining.release()
            return False
        with join(self._config, self._login, tables) as joining:
            if len(joining.tables) < len(tables):
                self._warn_of_writers([table for table in tables if table not in joining.tables])
            if not joining.tables:
                return False
            names = [table.name for table in joining.tables]
            again = any(name in self._state.later_tables for name in names)
            # before they are published: whatever happens, their rows are read again
            self._state.note_later_tables(dict.fromkeys(names))
            if not self._read_rows(joining, names, number, is_first=not again):
                return False
        failpoint("before_join")
        self._state.note_later_tables(dict.fromkeys(names, joining.position))
        failpoint("after_join")
        return True

    def _ends(self) -> list[dict[str, str]]:
        """Return what envelopes say of each table that the snapshot has read."""
        tables = rows_scanned(self._config.topic_prefix)
        return [source_of(self._config, self._login, name) for name in sorted(tables)]

    def _read_rows(
        self, joining: Joining, names: Sequence[str], number: int, *, is_first: bool
    ) -> bool:
        properties = debezium_properties(
            self._config, self._login, self._state.folder, snapshot_mode="initial_only"
        )
        lander = Lander(
            self._state.landing,
            self._config.flush,
            number=number,
            reads=LATER_READ,
            ends=self._ends,
            is_first=is_first,
        )
        until = time.monotonic() + _WRITERS_WAIT
        with self._running(properties | table_snapshot_properties(names), lander) as engine:
            while not self._stop.wait(_TICK):
                with self._lock:
                    if lander.is_due():
                        self._land()
                    # the first row was read in the same moment as all others
                    if joining.is_held and (lander.snapshot_tables or lander.snapshot_done):
                        joining.release()
                if lander.snapshot_done:
                    break
                if engine.error is not None or not engine.is_running:
                    raise _failure(engine)
                if joining.is_held and time.monotonic() > until:
                    raise CaptureError(
                        f"Debezium has not begun to read {', '.join(names)} within "
                        f"{_WRITERS_WAIT:.0f} s; transactions that write there go on now. Start "
                        "capture again"
                    )
                self._publish_status(lander)
        if self.is_hung:
            raise CaptureError(
                "Debezium did not stop after it had read the new tables. Start capture again"
            )
        if lander.snapshot_done:
            self._tables |= dict.fromkeys(names, "done")
        return lander.snapshot_done

    def _take(self, records: Any, committer: Committer) -> None:
        """Take a batch, in the engine's thread."""
        with self._lock:
            lander = self._lander
            if self._closing or lander is None:
                # neither landed nor acknowledged: it comes again
                return
            self._committer = committer
            self._worked = True
            for record in records:
                lander.add(record.destination(), record.key(), record.value(), record)
                if lander.is_snapshot_over:
                    self._land()
            if lander.is_due():
                self._land()

    def _land(self) -> None:
        lander = self._lander
        if lander is None:
            return
        mark = lander.land()
        if lander.snapshot_done:
            self._state.mark_snapshot()
        if mark is not None and self._committer is not None:
            failpoint("before_mark")
            self._committer.acknowledge(mark.token)
            failpoint("after_mark")
            self._state.positions.copy(mark.number, mark.line)

    # --- figures

    def _read_figures(self) -> None:
        status = self._state.read_status()
        for table, operations in (status.get("events") or {}).items():
            for operation, count in operations.items():
                self._counts[table, operation] = count
        self._bytes = int(status.get("bytes") or 0)
        self._tables = dict(status.get("tables") or {})
        self._last_event_at = status.get("last_event_at")
        # files that landed after the last status of a process that was killed
        events, size = self._state.count_landed(int(status.get("last_file") or 0))
        self._counts += events
        self._bytes += size
        for table, _ in events:
            if table:
                self._tables.setdefault(table, "done")

    def _take_figures(self, lander: Lander) -> None:
        self._counts += lander.figures.events
        self._bytes += lander.figures.bytes
        self._tables |= lander.snapshot_tables
        self._last_event_at = lander.figures.last_event_at or self._last_event_at
        lander.figures.events.clear()
        lander.figures.bytes = 0

    def _publish_status(self, lander: Lander) -> None:
        if time.monotonic() - self._status_at >= _STATUS_EVERY:
            connected = streaming_metric(self._config.topic_prefix, "Connected")
            if self._was_connected and connected == 0:
                raise CaptureError(
                    "the connection to the database was lost. Start capture again when the "
                    "server is back"
                )
            self._was_connected = bool(connected)
            self._worked |= self._was_connected
            with self._lock:
                self._take_figures(lander)
            if lander.snapshot_done:
                self._last_error = None
            self._write_status("REPLICATING" if lander.snapshot_done else "SNAPSHOTTING")
            self._say(self._status)

    def _write_status(self, name: str) -> None:
        self._status_at = time.monotonic()
        lag = None
        if name == "REPLICATING":
            lag = streaming_metric(self._config.topic_prefix, "MilliSecondsBehindSource")
        failing = None
        if name == "FAILING" and self._failing_since is not None:
            failing = round(time.monotonic() - self._failing_since, 1)
        events: dict[str, dict[str, int]] = {}
        for (table, operation), count in sorted(self._counts.items()):
            events.setdefault(table, {})[operation] = count
        self._status = {
            "source": self._config.source,
            "connector": self._config.connector,
            "state": name,
            "pid": os.getpid() if name != "STOPPED" else None,
            "started_at": self._started_at,
            "updated_at": _now(),
            "last_event_at": self._last_event_at,
            "last_error": self._last_error,
            "failing_seconds": failing,
            "warnings": self._warnings,
            "lag_ms": lag if lag is not None and lag >= 0 else None,
            "last_file": self._lander.number if self._lander is not None else 0,
            "bytes": self._bytes,
            "events": events,
            "tables": self._tables,
        }
        if self._lander is None:
            self._status["last_file"] = int(self._state.read_status().get("last_file") or 0)
        self._state.write_status(self._status)


def _failure(engine: Engine) -> BaseException:
    if isinstance(engine.error, TidemarkError):
        return engine.error
    if engine.error is not None:
        return CaptureError(
            f"capture could not take a batch. Correct the cause, then start again: {engine.error}"
        )
    reason = engine.reason or "Debezium gave no reason"
    if any(sign in reason for sign in _LOG_IS_GONE):
        # trying again does not help, and going on elsewhere would leave changes out
        return LandingError(
            "the server no longer has the log from the position where capture must go on: "
            "changes are missing. Use --resnapshot to read the tables again: what has landed "
            "stays. Let the server keep its log for longer. Debezium "
            f"reports: {reason[:300]}"
        )
    return CaptureError(f"Debezium stopped: {reason}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
