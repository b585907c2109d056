"""What differs between databases: where capture begins, and when it has caught up."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tidemark.capture.config import BINLOG, CaptureConfig, Login
from tidemark.capture.database import Database, DatabaseError, connect
from tidemark.capture.files import LandingError
from tidemark.capture.joining import (
    Newcomers,
    judge_tables,
    leave_out,
    leave_publication,
    owns_publication,
    server_tables,
)
from tidemark.capture.lander import Lander
from tidemark.capture.metrics import streaming_metric
from tidemark.capture.state import CaptureState, Landed, settled_at, settled_before

_RESNAPSHOT = "Use --resnapshot to read the tables again (what has landed stays)"
# a position that no log reaches
_NOT_YET = 2**64
# how long a walsender of a process that was killed may hold the slot
_SLOT_WAIT = 60.0
# what Debezium's file of positions says, as JSON within Java's own format
_OFFSET_PLACE = re.compile(rb'"file":"([^"]+)","pos":(\d+)')
_OFFSET_SERVER = re.compile(rb'"server_id":(\d+)')
_OFFSET_SNAPSHOT = re.compile(rb'"snapshot":(?!false|null)')
_OFFSET_COMPLETED = b'"snapshot_completed":true'
# without a position to wait for: how long nothing comes from a source that has been read
_QUIET = 10.0


@dataclass(frozen=True)
class Start:
    """Where a run of the engine begins.

    Attributes:
        snapshot_mode: Debezium's.
        landed: What has landed and may come again.
        properties: Debezium's properties that depend on what the database has.
        floors: Tables, and from where in the log their changes count.
        warnings: One for each table that the initial snapshot leaves out: what to do about it.
    """

    snapshot_mode: str
    landed: Landed
    properties: Mapping[str, str] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class Source(Protocol):
    """A kind of database."""

    def prepare(self, state: CaptureState) -> Start:
        """Decide where to begin."""

    def newcomers(self, state: CaptureState) -> Newcomers:
        """Look for tables that came after the snapshot and have to join."""

    def forget(self) -> None:
        """Give up the position that the database keeps."""

    def has_caught_up(self, lander: Lander) -> bool:
        """Whether all has come that was in the source when the snapshot had ended."""


def make_source(config: CaptureConfig, login: Login) -> Source:
    """Return what knows the database of a capture."""
    return (
        Postgres(config, login) if config.connector == "postgresql" else WithOffsets(config, login)
    )


class Postgres:
    """PostgreSQL: the replication slot is the position, nothing else is kept.

    Debezium resumes at a position of its own in the middle of transactions, and loses rows. The
    slot sends whole transactions again; those that have landed are recognised.
    """

    def __init__(self, config: CaptureConfig, login: Login) -> None:
        self._config = config
        self._login = login
        self._asked: int | None = None
        self._quiet = Quiet()

    def prepare(self, state: CaptureState) -> Start:
        """Decide between a snapshot and going on, by what has landed and the slot."""
        with connect(self._config, self._login) as database:
            slot = self._slot(database)
            if slot is not None and slot.active:
                slot = self._wait_for_slot(database)
            landed = state.read_landed(settled_before(slot.confirmed if slot is not None else 0))
            if landed.has_snapshot:
                state.mark_snapshot()
            mode = self._mode(database, state, slot)
            properties, warnings = self._publication(database, state)
            return Start(mode, landed, properties, self._floors(state), warnings)

    @staticmethod
    def _floors(state: CaptureState) -> Mapping[str, int]:
        # while the rows of a table are not all read, all of its changes are: they are in the rows
        return {
            table: _NOT_YET if position is None else position
            for table, position in state.later_tables.items()
        }

    def newcomers(self, state: CaptureState) -> Newcomers:
        """Look for selected tables that the publication lacks, or whose rows are not read."""
        with connect(self._config, self._login) as database:
            if database.value("select pg_is_in_recovery()"):
                return Newcomers()
            owned = owns_publication(self._config, database)
            if owned is None:
                return Newcomers()
            unread = {name for name, position in state.later_tables.items() if position is None}
            tables = server_tables(self._config, database)
            return judge_tables(self._config, self._login.user, tables, unread, owned=owned)

    def _mode(self, database: Database, state: CaptureState, slot: Slot | None) -> str:
        name = self._config.slot
        if state.snapshot_done:
            if slot is None:
                raise LandingError(
                    f"the replication slot {name} of source {self._config.source!r} is "
                    f"gone, so changes since then cannot be read. {_RESNAPSHOT}"
                )
            if slot.wal_status == "lost":
                raise LandingError(
                    f"the replication slot {name} of source {self._config.source!r} has "
                    "lost its log (wal_status lost: the server wrote more than "
                    f"max_slot_wal_keep_size keeps). Changes are missing. {_RESNAPSHOT}"
                )
            return "no_data"
        if slot is not None:
            if not state.owns_slot:
                raise LandingError(
                    f"the replication slot {name} exists, but this capture did not make it. "
                    "Name another one in `slot`, or drop it: select "
                    f"pg_drop_replication_slot('{name}')"
                )
            if self._config.snapshot == "no_data":
                # nothing had landed yet; it has kept what was written since
                return "no_data"
            # the snapshot did not end: its rows come again, so do the changes since
            database.query("select pg_drop_replication_slot(?)", name)
        state.own_slot()
        return self._config.snapshot

    def _slot(self, database: Database) -> Slot | None:
        rows = database.query(
            "select active, wal_status, confirmed_flush_lsn - '0/0'::pg_lsn, active_pid "
            "from pg_replication_slots where slot_name = ?",
            self._config.slot,
        )
        return (
            Slot(bool(rows[0][0]), rows[0][1], int(rows[0][2] or 0), rows[0][3]) if rows else None
        )

    def _wait_for_slot(self, database: Database) -> Slot | None:
        until = time.monotonic() + _SLOT_WAIT
        while (slot := self._slot(database)) is not None and slot.active:
            if time.monotonic() > until:
                raise LandingError(
                    f"another process (pid {slot.pid} of the server) uses the replication "
                    f"slot {self._config.slot}: stop that process, or name another `slot`"
                )
            time.sleep(0.2)
        return slot

    def _publication(
        self, database: Database, state: CaptureState
    ) -> tuple[Mapping[str, str], tuple[str, ...]]:
        owned = owns_publication(self._config, database)
        if owned is None or (owned and not state.snapshot_done):
            # Debezium publishes what it captures
            return leave_out(self._config, server_tables(self._config, database))
        if owned and not database.value("select pg_is_in_recovery()"):
            leave_publication(self._config, database, server_tables(self._config, database))
        # one that somebody else has made is used as it is; Debezium would add tables to its own
        # without the rows that they have
        return {"publication.autocreate.mode": "disabled"}, ()

    def forget(self) -> None:
        """Drop the slot."""
        with connect(self._config, self._login) as database:
            if self._slot(database) is not None and self._wait_for_slot(database) is not None:
                database.query("select pg_drop_replication_slot(?)", self._config.slot)

    def has_caught_up(self, lander: Lander) -> bool:
        """Whether a message has come back that was written to the log after the snapshot."""
        if not lander.snapshot_done:
            return False
        if self._asked is None:
            try:
                with connect(self._config, self._login) as database:
                    self._asked = int(
                        database.value(
                            "select pg_logical_emit_message(true, 'tidemark', '') - '0/0'::pg_lsn"
                        )
                    )
            except DatabaseError:
                # a standby, or older than PostgreSQL 14
                self._asked = -1
        if self._asked < 0:
            return self._quiet.lasts(lander)
        return any(int(identity.split(":")[1]) >= self._asked for identity in lander.messages)


@dataclass(frozen=True)
class Slot:
    """A replication slot."""

    active: bool
    wal_status: str | None
    confirmed: int
    pid: int | None


class WithOffsets:
    """The other databases: the engine keeps positions in a file, of which copies are kept."""

    def __init__(self, config: CaptureConfig, login: Login) -> None:
        self._config = config
        self._login = login
        self._target: tuple[int, int] | None = None
        self._reached: float | None = None
        self._quiet = Quiet()

    def prepare(self, state: CaptureState) -> Start:
        """Go on at the newest copy of the positions."""
        position = state.positions.restore()
        if position is None or _in_snapshot(position.offsets):
            # Debezium takes it anew, though it may have landed already: how it ends is to be told
            state.unmark_snapshot()
        if position is None:
            if state.has_events:
                raise LandingError(
                    f"changes of source {self._config.source!r} have landed, but the "
                    f"positions in {state.folder} are gone. Capture does not know where to "
                    f"go on. {_RESNAPSHOT}"
                )
            return Start(self._config.snapshot, Landed(state.last_number(), set(), False))
        self._check_log(position.offsets)
        landed = state.read_landed(settled_at(position.file, position.line))
        if landed.has_snapshot and not _in_snapshot(position.offsets):
            state.mark_snapshot()
        return Start(self._config.snapshot, landed)

    def _check_log(self, offsets: bytes) -> None:
        """Refuse a log that ends before the position: it was begun anew (RESET MASTER).

        Its transaction ids are given again, so that others would be left out for known ones.
        """
        found = _OFFSET_PLACE.search(offsets)
        server = _OFFSET_SERVER.search(offsets)
        if self._config.connector not in BINLOG or found is None or server is None:
            return
        file, at = found[1].decode(), int(found[2])
        with connect(self._config, self._login) as database:
            # after a failover the files of another server count differently
            if int(database.value("select @@server_id")) != int(server[1]):
                return
            end = binlog_position(database)
        if _place(file, at) > end:
            raise LandingError(
                f"the binary log of source {self._config.source!r} ends before {file}, "
                f"position {at}, where capture must go on. The server's log was reset and "
                f"changes are missing. {_RESNAPSHOT}"
            )

    def newcomers(self, state: CaptureState) -> Newcomers:
        """The log has the changes of all tables, from the first on."""
        return Newcomers()

    def forget(self) -> None:
        """Nothing is kept in the database."""

    def has_caught_up(self, lander: Lander) -> bool:
        """Whether the log is read up to where it was when the snapshot had ended."""
        if not lander.snapshot_done:
            return False
        if self._config.connector not in BINLOG:
            return self._quiet.lasts(lander)
        if self._target is None:
            with connect(self._config, self._login) as database:
                self._target = binlog_position(database)
        server = self._config.topic_prefix
        file = streaming_metric(server, "BinlogFilename")
        position = streaming_metric(server, "BinlogPosition")
        if file is None or position is None or _place(file, position) < self._target:
            return False
        # read is not delivered: what the engine holds comes within moments
        if streaming_metric(server, "QueueTotalCapacity") != streaming_metric(
            server, "QueueRemainingCapacity"
        ):
            self._reached = None
            return False
        self._reached = self._reached or time.monotonic()
        return time.monotonic() - self._reached > 1.5


def _in_snapshot(offsets: bytes) -> bool:
    """Whether positions are ones from which Debezium takes the snapshot anew."""
    return _OFFSET_SNAPSHOT.search(offsets) is not None and _OFFSET_COMPLETED not in offsets


def binlog_position(database: Database) -> tuple[int, int]:
    """Return where the binary log ends: the number of its file, and the position there.

    Raises:
        DatabaseError: There is none, or the user may not ask.
    """
    for question in ("show binary log status", "show master status"):
        try:
            rows = database.query(question)
        except DatabaseError as error:
            refused = error
            continue
        if rows:
            return _place(str(rows[0][0]), int(rows[0][1]))
        raise DatabaseError(
            "the server writes no binary log: set log_bin in its configuration, and restart it"
        )
    raise refused


def _place(file: str, position: int) -> tuple[int, int]:
    digits = re.search(r"(\d+)$", file)
    return (int(digits[1]) if digits else 0, position)


class Quiet:
    """Tells how long nothing has come."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        self._since = 0.0

    def lasts(self, lander: Lander) -> bool:
        """Whether nothing has come for some seconds."""
        seen = (lander.number, lander.buffered)
        if seen != self._seen:
            self._seen, self._since = seen, time.monotonic()
        return time.monotonic() - self._since > _QUIET
