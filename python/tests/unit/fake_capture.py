"""A capture whose engine is no Debezium: `python -m tests.unit.fake_capture FOLDER KIND`.

The engine sends the same transactions each time, from the last one that was acknowledged on, as
the databases do. Everything else is the real thing, so that a test can kill it anywhere.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidemark.capture import session, sources
from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.joining import Newcomers
from tidemark.capture.lander import Lander
from tidemark.capture.sources import Start, WithOffsets
from tidemark.capture.state import CaptureState, settled_before

TRANSACTIONS = 60
BATCH = 37


class Record:
    """A record of the engine: what it brings, and where the engine goes on after it."""

    def __init__(self, topic: str, value: dict[str, Any] | None, resume: int) -> None:
        self._topic = topic
        self._value = None if value is None else json.dumps(value, separators=(",", ":"))
        self.resume = resume

    def destination(self) -> str:
        return self._topic

    def key(self) -> str | None:
        return None

    def value(self) -> str | None:
        return self._value


def stream(kind: str) -> Iterator[list[Record]]:
    """The transactions of a source, each the records from its BEGIN to its END."""
    # Debezium sends one when the snapshot is over, also when it has read nothing
    yield [Record("__debezium-heartbeat.shop", {"ts_ms": 1}, 1)]
    for number in range(1, TRANSACTIONS + 1):
        position = number * 1000
        name = f"{number}:{position + 999}" if kind == "postgresql" else f"0-7-{number}"
        marker: dict[str, Any] = {"id": name, "event_count": None, "ts_ms": 1}
        records = [Record("shop.transaction", {"status": "BEGIN", **marker}, number)]
        rows = 1 + number * 7 % 40
        for row in range(rows):
            # several rows at one position, and rows that are equal
            source: dict[str, Any] = {
                "version": "3.5.0.Final",
                "connector": kind,
                "ts_ms": number,
                "snapshot": "false",
            }
            if kind == "postgresql":
                source |= {
                    "schema": "public",
                    "table": "t",
                    "txId": number,
                    "lsn": position + row // 8,
                }
            else:
                source |= {
                    "db": "shop",
                    "table": "t",
                    "gtid": name,
                    "file": "bin.000001",
                    "pos": position + row // 8,
                    "row": row % 8,
                }
            value = {
                "before": None,
                "after": {"n": row % 3},
                "source": source,
                "transaction": {"id": name, "total_order": row + 1},
                "op": "c",
                "ts_ms": 1,
            }
            records.append(Record("shop.public.t", value, number))
        if kind == "mariadb" and number % 10 == 0:
            # a schema change: BEGIN without END
            source = {
                "version": "3.5.0.Final",
                "connector": kind,
                "ts_ms": 1,
                "snapshot": "false",
                "db": "shop",
                "table": "t",
                "gtid": name,
                "file": "bin.000001",
                "pos": position,
                "row": 7,
            }
            records[1:] = [
                Record(
                    "shop",
                    {
                        "source": source,
                        "ts_ms": 1,
                        "databaseName": "shop",
                        "ddl": f"alter {number}",
                    },
                    number + 1,
                )
            ]
        else:
            records.append(
                Record(
                    "shop.transaction", {"status": "END", **marker, "event_count": rows}, number + 1
                )
            )
        if number % 9 == 0:
            records.append(Record("__debezium-heartbeat.shop", {"ts_ms": 1}, number + 1))
        yield records


def expected(kind: str) -> list[str]:
    """What is to land, in order, END markers left out."""
    return [
        record.value() or ""
        for transaction in stream(kind)
        for record in transaction
        if record.destination() not in ("shop.transaction", "__debezium-heartbeat.shop")
    ]


class FakeEngine:
    """Stands for tidemark.capture.engine.Engine."""

    def __init__(self, properties: Mapping[str, str], on_batch: Callable[[Any, Any], None]) -> None:
        self._on_batch = on_batch
        self.error: BaseException | None = None
        self.reason: str | None = None
        self.is_running = True
        self._offsets = (
            Path(properties["offset.storage.file.filename"])
            if "offset.storage.file.filename" in properties
            else FOLDER / "slot"
        )

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        resume = int(self._offsets.read_text()) if self._offsets.exists() else 0
        records = [record for transaction in list(stream(KIND))[resume:] for record in transaction]
        try:
            for start in range(0, len(records), BATCH):
                self._on_batch(records[start : start + BATCH], self)
        except BaseException as error:
            self.error = error
        DELIVERED.set()

    def acknowledge(self, record: Record) -> None:
        self._offsets.write_text(str(record.resume))

    def close(self) -> bool:
        self.is_running = False
        return True


class FakePostgres:
    """Stands for tidemark.capture.sources.Postgres: its slot is a file."""

    def prepare(self, state: CaptureState) -> Start:
        slot = FOLDER / "slot"
        # as in PostgreSQL, what is confirmed lies within the last transaction that is
        confirmed = int(slot.read_text()) * 1000 if slot.exists() else 0
        return Start("no_data", state.read_landed(settled_before(confirmed)))

    def newcomers(self, state: CaptureState) -> Newcomers:
        return Newcomers()

    def forget(self) -> None:
        """Nothing."""

    def has_caught_up(self, lander: Lander) -> bool:
        return DELIVERED.is_set()


class FakeMariaDb(WithOffsets):
    """The real one, but for the question to the server."""

    def has_caught_up(self, lander: Lander) -> bool:
        return DELIVERED.is_set()


def main() -> None:
    """Capture until all is delivered."""
    settings = {
        "connector": KIND,
        "connection": {"host": "h", "database": "d", "user": "u", "password": {"env": "P"}},
        "flush": {"rows": 100, "seconds": 60},
        "snapshot": "no_data",
    }
    config = CaptureConfig.from_dict("shop", settings)
    login = Login("h", 1, "u", "p")
    session.Engine = FakeEngine  # type: ignore[misc, assignment]
    session.streaming_metric = sources.streaming_metric = lambda server, name: None
    session.make_source = lambda config, login: (  # type: ignore[assignment]
        FakePostgres() if KIND == "postgresql" else FakeMariaDb(config, login)
    )
    state = CaptureState(FOLDER / "landing")
    state.open()
    options = session.CaptureOptions(once=True)
    session.Session(config, login, state, options, threading.Event(), lambda status: None).run()


FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
KIND = sys.argv[2] if len(sys.argv) > 2 else ""
DELIVERED = threading.Event()

if __name__ == "__main__":
    main()
