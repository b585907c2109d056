"""Making a copy equal: corrective events, landed as those of capture are."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from tidemark.capture.config import BINLOG, CaptureConfig
from tidemark.capture.files import LandingError, event_file, write_atomically
from tidemark.capture.state import CaptureState
from tidemark.replicator.reconcile.compare import KeyDifference, Row, Side
from tidemark.replicator.reconcile.forms import Column, Pairing, event_value

# the connector of a corrective event: its place is that in the landing folder, no position of a log
CONNECTOR = "tidemark"
_ROWS_AT_A_TIME = 500


class Correction(NamedTuple):
    """What is to happen to one row: `c` creates, `u` updates, `d` deletes."""

    op: Literal["c", "u", "d"]
    before: Row | None
    after: Row | None


def corrections(
    source: Sequence[Row], here: Sequence[Row], *, keyed: bool, anew: bool = False
) -> list[Correction]:
    """Return what makes the rows of one key equal.

    Args:
        source: Those of the source.
        here: Those of the copy.
        keyed: Whether a key has one row at most; else all of them are equal and only their number
            differs.
        anew: See `Events`.

    Example:
        >>> [one.op for one in corrections([Row("k", "a", ["1"])], [], keyed=True)]
        ['c']
    """
    if keyed and source and here:
        if source[0].row == here[0].row and len(here) == 1:
            return []
        if anew:
            return [Correction("d", here[0], None), Correction("c", None, source[0])]
        return [Correction("u", None, source[0])]
    if anew:
        return []
    if keyed:
        # copies of a key, which only damage makes, are one row to an event
        source, here = source[:1], here[:1]
    return [
        *(Correction("c", None, row) for row in source[len(here) :]),
        *(Correction("d", row, None) for row in here[len(source) :]),
    ]


class Events:
    """Makes the corrective events of one table.

    Args:
        config: The source.
        database: The name of its database.
        table: `schema.table`.
        pairing: The columns that are compared.
        source: The source.
        here: The copy.
        anew: Delete and insert the rows that differ, and nothing else: an update that equals what
            the copy believes to have changes nothing.
    """

    def __init__(
        self,
        config: CaptureConfig,
        database: str | None,
        table: str,
        pairing: Pairing,
        source: Side,
        here: Side,
        *,
        anew: bool = False,
    ) -> None:
        self._config = config
        self._database = database
        self._table = table
        self._pairing = pairing
        self._source = source
        self._here = here
        self._anew = anew
        self.skipped = 0
        """Rows with values that the copy cannot hold: their events would stop the table."""

    def of(self, found: Sequence[KeyDifference]) -> Iterator[dict[str, Any]]:
        """Yield the events that make these keys equal, from rows read now."""
        for start in range(0, len(found), _ROWS_AT_A_TIME):
            part = found[start : start + _ROWS_AT_A_TIME]
            keys = [one.key for one in part]
            left, right = _by_key(self._source.rows(keys)), _by_key(self._here.rows(keys))
            for one in part:
                yield from self._of_key(left.get(one.key, []), right.get(one.key, []))

    def _of_key(self, left: Sequence[Row], right: Sequence[Row]) -> list[dict[str, Any]]:
        found = corrections(left, right, keyed=self._pairing.keys > 0, anew=self._anew)
        try:
            return [self._event(one) for one in found]
        except (ValueError, OverflowError):
            self.skipped += 1
            return []

    def _event(self, correction: Correction) -> dict[str, Any]:
        columns, keys = self._pairing.columns, self._pairing.columns[: self._pairing.keys]
        before, after = correction.before, correction.after
        return {
            "op": correction.op,
            "key": _image(keys, after or before) if keys else None,
            # for what is deleted the key is enough
            "before": _image(keys or columns, before),
            "after": _image(columns, after),
        }

    def line(self, event: dict[str, Any], number: int, line: int) -> bytes:
        """Return the line of an event in a landing file."""
        schema, _, name = self._table.rpartition(".")
        prefix = self._config.topic_prefix
        now = int(time.time() * 1000)
        is_binlog = self._config.connector in BINLOG
        source: dict[str, Any] = {
            "version": CONNECTOR,
            "connector": CONNECTOR,
            # what it is known by when it comes again
            "name": f"{prefix}.repair.{number}.{line}",
            "ts_ms": now,
            "snapshot": "false",
            "db": schema if is_binlog else self._database,
            **({} if is_binlog else {"schema": schema}),
            "table": name,
        }
        value = {
            "before": event["before"],
            "after": event["after"],
            "source": source,
            "op": event["op"],
            "ts_ms": now,
        }
        content = {
            "topic": f"{prefix}.{self._table}",
            "key": event["key"],
            "value": value,
            "_seq": number,
            "_ord": line,
            "_id": f"repair:{number}:{line}",
        }
        return orjson.dumps(content) + b"\n"


def _image(columns: Sequence[Column], row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        column.source: event_value(column.form, column.stored, text)
        for column, text in zip(columns, row.texts, strict=False)
    }


def _by_key(rows: Iterable[Row]) -> dict[str, list[Row]]:
    keys: dict[str, list[Row]] = {}
    for row in rows:
        keys.setdefault(row.key, []).append(row)
    return keys


def land(
    state: CaptureState,
    config: CaptureConfig,
    events: Events,
    batches: Iterable[list[KeyDifference]],
) -> int:
    """Land the events of differing keys as the next files; return how many there are.

    Raises:
        LandingError: A capture runs, the snapshot has not ended, or a file cannot be written.
    """
    state.open()
    try:
        if not state.snapshot_done:
            raise LandingError(
                f"the snapshot of source {config.source!r} has not ended, so nothing can "
                f"be repaired: run tidemark replicator run-once {config.source!r}"
            )
        number, count = state.last_number(), 0
        lines: list[bytes] = []
        for batch in batches:
            for event in events.of(batch):
                lines.append(events.line(event, number + 1, len(lines) + 1))
                if len(lines) >= config.flush.rows:
                    number += 1
                    count += _write(state, number, lines)
                    lines = []
        if lines:
            count += _write(state, number + 1, lines)
        return count
    finally:
        state.close()


def _write(state: CaptureState, number: int, lines: list[bytes]) -> int:
    path = event_file(state.landing, number)
    try:
        write_atomically(path, gzip.compress(b"".join(lines), compresslevel=1))
    except OSError as error:
        raise LandingError(
            f"{path} cannot be written ({error.strerror}): make room or mend the folder, and "
            "start again"
        ) from error
    return len(lines)
