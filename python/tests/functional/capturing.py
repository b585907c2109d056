"""Running `tidemark capture` as a process of its own, and replaying what it has landed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.servers import QUICK_JAVA

Row = tuple[str, ...]
# runs statements in the captured database; the rows of the last one as text
Sql = Callable[[str], list[list[str]]]


@dataclass
class Capturing:
    """A dbt project with one source, and its capture."""

    root: Path
    replicator: dict[str, Any]
    source: str = "shop"
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    # landed files do not change
    _read: dict[Path, list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        (self.root / "models").mkdir(parents=True, exist_ok=True)
        (self.root / "dbt_project.yml").write_text("name: tests\nversion: 1.0.0\n")
        self.configure(self.replicator)

    def configure(self, replicator: dict[str, Any]) -> None:
        """Write the source's YAML."""
        meta = {"tidemark": {"replicator": replicator}}
        content = {"sources": [{"name": self.source, "config": {"meta": meta}}]}
        (self.root / "models" / "sources.yml").write_text(yaml.safe_dump(content))

    @property
    def landing(self) -> Path:
        return self.root / "home" / "landing" / self.source

    @property
    def status(self) -> dict[str, Any]:
        return json.loads((self.landing / "_state" / "status.json").read_text())

    # --- the process

    def start(self, *options: str, **environment: str) -> None:
        """Start it and do not wait."""
        with (self.root / "output").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tidemark.cli", "capture", self.source, *options],
                cwd=self.root,
                env={
                    **os.environ,
                    **QUICK_JAVA,
                    "TIDEMARK_HOME": str(self.root / "home"),
                    **self.environment,
                    **environment,
                },
                stdout=output,
                stderr=output,
            )

    def validate(self, code: int) -> dict[str, Any]:
        """What `tidemark replicator validate` finds."""
        done = subprocess.run(
            [sys.executable, "-m", "tidemark.cli", "replicator", "validate", self.source, "--json"],
            cwd=self.root,
            env={
                **os.environ,
                **QUICK_JAVA,
                "TIDEMARK_HOME": str(self.root / "home"),
                **self.environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def wait(self, seconds: float = 120) -> int:
        """Wait until it ends."""
        assert self.process is not None
        return self.process.wait(seconds)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it, properly or not."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def once(self, *options: str, code: int = 0, **environment: str) -> str:
        """Run it until it has caught up; return what it said."""
        before = len(self.output)
        self.start("--once", *options, **environment)
        found = self.wait()
        said = self.output[before:]
        assert found == code, f"exit {found}: {said}\n{self.log[-3000:]}"
        return said

    @property
    def output(self) -> str:
        path = self.root / "output"
        return path.read_text() if path.exists() else ""

    @property
    def log(self) -> str:
        path = self.root / "home" / "logs" / f"capture-{self.source}.log"
        return path.read_text() if path.exists() else ""

    def wait_for(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something holds."""
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, f"{self.output}\n{self.log[-3000:]}"
            assert self.process is None or self.process.poll() is None, (
                f"{self.output}\n{self.log[-3000:]}"
            )
            time.sleep(0.05)

    def wait_for_events(self, count: int, seconds: float = 60) -> None:
        """Wait until so many changes have landed."""
        self.wait_for(lambda: len(self.changes()) >= count, seconds)

    def wait_until_replicating(self) -> None:
        """Wait until the process is past the snapshot."""

        def is_replicating() -> bool:
            assert self.process is not None
            if not (self.landing / "_state" / "status.json").exists():
                return False
            return (self.status["state"], self.status["pid"]) == ("REPLICATING", self.process.pid)

        self.wait_for(is_replicating)

    # --- what has landed

    def lines(self) -> Iterator[dict[str, Any]]:
        """The landed lines, in order."""
        if not self.landing.is_dir():
            return
        for path in sorted(self.landing.glob("ev-*.jsonl.gz")):
            if path not in self._read:
                lines = gzip.decompress(path.read_bytes()).splitlines()
                self._read[path] = [json.loads(line) for line in lines]
                for line in self._read[path]:
                    line["value"].pop("schema", None)
            yield from self._read[path]

    def events(self) -> list[dict[str, Any]]:
        """The payloads of rows, in order."""
        payloads = (line["value"]["payload"] for line in self.lines())
        return [payload for payload in payloads if payload.get("op")]

    def changes(self) -> list[dict[str, Any]]:
        """The payloads of rows that a snapshot has not read."""
        return [event for event in self.events() if event["op"] not in ("r", "snapshot")]

    def ends(self) -> list[tuple[str, bool]]:
        """Tables of which the end of a snapshot was told, and whether that stands where a row of it does."""
        places: dict[str, set[str]] = {}
        found = []
        for event in self.events():
            source = {
                **event["source"],
                "snapshot": None,
                "ts_ms": None,
                "ts_us": None,
                "ts_ns": None,
            }
            known = places.setdefault(source["table"], set())
            place = json.dumps(source, sort_keys=True)
            if event["op"] == "snapshot":
                found.append((source["table"], place in known))
            known.add(place)
        return found

    def assert_whole(self) -> None:
        """File numbers have no gap, lines are numbered, and nothing stands there twice."""
        numbers = [(line["_seq"], line["_ord"]) for line in self.lines()]
        files = [int(path.name[3:13]) for path in sorted(self.landing.glob("ev-*"))]
        assert files == list(range(1, len(files) + 1))
        expected = []
        last = 0
        for number, _ in numbers:
            line = expected[-1][1] + 1 if number == last else 1
            expected.append((number, line))
            last = number
        assert numbers == expected
        twice = [
            name
            for name, count in Counter(line["_id"] for line in self.lines()).items()
            if count > 1
        ]
        assert twice == []

    def replay(self, table: str, columns: list[str], key: list[str] | None = None) -> Counter[Row]:
        """The rows that a table has after all that has landed."""
        rows: Counter[Row] = Counter()
        by_key: dict[Row, Row] = {}
        read_at = None
        for line in self.lines():
            event = line["value"]["payload"]
            if not event.get("op"):
                continue
            source = event["source"]
            is_ours = source["table"] == table
            begins = False
            if event["op"] in ("r", "snapshot"):
                # no row is the first one where the first table is empty
                place = [source.get(name) for name in ("lsn", "file", "pos")]
                begins = is_ours and place != read_at
                read_at = place if is_ours else read_at
                if event["op"] == "r" and not line["_id"].startswith("s:"):
                    begins |= source["snapshot"] == "first"
            if begins:
                # a snapshot that starts again reads everything again, that it is of
                rows.clear()
                by_key.clear()
            if not is_ours or event["op"] == "snapshot":
                continue
            if event["op"] == "t":
                rows.clear()
                by_key.clear()
                continue
            before, after = (_row(event[image], columns) for image in ("before", "after"))
            if key is None:
                if event["op"] in "ud":
                    assert before is not None and rows[before] > 0, event
                    rows[before] -= 1
                if after is not None:
                    rows[after] += 1
            else:
                image = event["after"] or event["before"]
                name = tuple(str(image[column]) for column in key)
                if after is None:
                    by_key.pop(name, None)
                else:
                    by_key[name] = after
        return Counter(by_key.values()) if key is not None else +rows


@contextmanager
def capturing_source(
    root: Path, connector: str, connection: dict[str, Any], **settings: Any
) -> Iterator[Capturing]:
    """The capture of a database on the loopback; a process that still runs is killed."""
    connection = {"host": "127.0.0.1", "password": {"env": "SHOP_PASSWORD"}, **connection}
    capture = Capturing(
        root,
        {"connector": connector, "connection": connection, **settings},
        environment={"SHOP_PASSWORD": "secret"},
    )
    yield capture
    if capture.process is not None:
        capture.stop(signal.SIGKILL)


def _row(image: dict[str, Any] | None, columns: list[str]) -> Row | None:
    return None if image is None else tuple(str(image[column]) for column in columns)


def rows(table: list[list[str]]) -> Counter[Row]:
    """The rows that a server has."""
    return Counter(tuple(row) for row in table)


# columns of every type that can have a default, and their defaults
POSTGRES_DEFAULTS = {
    "boolean": "true",
    "smallint": "7",
    "int": "7",
    "bigint": "7",
    "numeric": "1.5",
    "numeric(12,3)": "1.5",
    "real": "1.5",
    "double precision": "1.5",
    "money": "1.5",
    "text": "'std'",
    "varchar(10)": "'std'",
    "char(5)": "'std'",
    "date": "'2020-01-01'",
    "timestamp": "now()",
    "timestamp(3)": "'2020-01-01 12:00:00'",
    "timestamptz": "now()",
    "time": "'12:00:00'",
    "timetz": "'12:00:00+02'",
    "interval": "'1 day'",
    "bytea": r"'\x00ff'",
    "uuid": "gen_random_uuid()",
    "json": "'{}'",
    "jsonb": """'{"a": 1}'""",
    "xml": "'<a/>'",
    "bit(1)": "b'1'",
    "bit(8)": "b'00000001'",
    "varbit": "b'101'",
    "inet": "'10.0.0.1'",
    "cidr": "'10.0.0.0/8'",
    "macaddr": "'08:00:2b:01:02:03'",
    "int4range": "'[1,5)'",
    "point": "'(1,2)'",
    "int[]": "'{1,2}'",
    "text[]": "'{a}'",
    "mood": "'happy'",
}
MARIADB_DEFAULTS = {
    "boolean": "true",
    "bit(1)": "b'1'",
    "bit(8)": "b'00000001'",
    "tinyint": "7",
    "tinyint unsigned": "200",
    "smallint": "7",
    "mediumint": "7",
    "int": "7",
    "int unsigned": "7",
    "bigint": "7",
    "bigint unsigned": "18446744073709551615",
    "decimal(12,3)": "1.5",
    "float": "1.5",
    "double": "1.5",
    "char(5)": "'std'",
    "varchar(10)": "'std'",
    "text": "'std'",
    "longtext": "'std'",
    "binary(4)": "x'00ff00ff'",
    "varbinary(10)": "x'00ff'",
    "blob": "x'00ff'",
    "date": "'2020-01-01'",
    "datetime": "current_timestamp",
    "datetime(6)": "'2020-01-01 12:00:00'",
    "timestamp null": "current_timestamp",
    "time": "'12:00:00'",
    "time(6)": "'12:00:00.5'",
    "year": "2020",
    "enum('sad','happy')": "'happy'",
    "set('a','b')": "'a,b'",
    "json": "'{}'",
}


@dataclass(frozen=True)
class Defaults:
    """A table `defaults` with a column for each type, which has a default."""

    types: dict[str, str]

    @property
    def columns(self) -> list[str]:
        """All but the key."""
        return [f"c{number}" for number in range(len(self.types))]

    def create(self) -> str:
        """A row of defaults and one of NULLs are in it."""
        columns = [
            f"{name} {kind} default {default}"
            for name, (kind, default) in zip(self.columns, self.types.items(), strict=True)
        ]
        return (
            f"create table defaults (id int primary key, {', '.join(columns)});"
            f"insert into defaults (id) values (1); {self.insert(2)}"
        )

    def insert(self, key: int) -> str:
        """A row of NULLs."""
        return f"insert into defaults values ({key}, {', '.join(['null'] * len(self.types))});"

    def change(self) -> str:
        """One more row of NULLs, and the row of defaults becomes one."""
        nulls = ", ".join(f"{column} = null" for column in self.columns)
        return f"{self.insert(3)} update defaults set {nulls} where id = 1;"

    def assert_landed(self, capturing: Capturing, changed: bool) -> None:
        """NULLs have landed as NULLs."""
        images = [
            (event["op"], event["after"])
            for event in capturing.events()
            if event["source"]["table"] == "defaults"
        ]
        assert [(op, image["id"]) for op, image in images] == [("r", 1), ("r", 2)] + (
            [("c", 3), ("u", 1)] if changed else []
        )
        for _, image in images[1:]:
            assert {name: value for name, value in image.items() if value is not None} == {
                "id": image["id"]
            }
        assert None not in images[0][1].values()
