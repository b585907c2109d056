"""Two processes that write at once, on a metastore that they share; now and then one is killed at a random moment.

They load one entity of extracts, one of change events, an entity each, and enriched events with one manifest, by both engines;
`tidemark_commits` is one table. Whatever one is refused or dies of, a plain run of it finds nothing lost, nothing doubled and
nothing in flight: asked after every round. Both stay up from round to round, but for kills.
`TIDEMARK_TEST_ROUNDS` says how many rounds, `TIDEMARK_TEST_SEED` repeats the choices.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import duckdb
import pytest
import yaml
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

from tests.clocks import clock_of, set_clock
from tests.macros import ROOT
from tests.metastores import shared_metastore

from .enriched_events import event_id, event_line
from .freezing import Session
from .killing import captured, write_whole

pytestmark = pytest.mark.faults

ROUNDS = int(os.environ.get("TIDEMARK_TEST_ROUNDS", "1"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED") or random.randrange(10**6))
WRITERS = ("left", "right")
SPARE = "spare"
APART = {"left": "-13h", "right": "+25h", SPARE: "+3d"}
KINDS = ("shared", "changes", "rows", "events")
FIRST = date(2026, 1, 1)
JUMPS = [
    ("+0s", None), ("+0s", "+1d"), ("+1d", None), ("+1d", "-1d"), ("-1d", None), ("+40d", None), ("-1d", "+2d"), ("+0s", None),
]  # fmt: skip
"""What the clock is off by when a load begins, and from some moment of it on."""


def model(kind: str, writer: str) -> str:
    """The model of a kind that a writer loads: the same one for both, or one of its own."""
    return kind if kind in ("shared", "changes") else f"{writer}_{kind}"


@dataclass
class Lake:
    """A project, its landing files and the warehouse that all write to."""

    root: Path
    metastore: str
    file_format: str = "delta"

    def write(self) -> None:
        """Write the project."""
        profiles = yaml.safe_load((ROOT / "profiles/profiles.yml").read_text(encoding="utf-8"))
        settings = profiles["tidemark"]["outputs"]["ci"]["server_side_parameters"]
        settings |= {
            "spark.hadoop.hive.metastore.uris": self.metastore,
            "spark.sql.warehouse.dir": str(self.root / "warehouse"),
            "spark.driver.memory": "1g",
        }
        if self.file_format == "iceberg":
            # this metastore compares and swaps (HIVE-26882); tables of locks it has not
            settings["spark.hadoop.iceberg.engine.hive.lock-enabled"] = "false"
        variables = {"tidemark__commits_format": self.file_format}
        output = {"type": "tidemark", "schema": "lake", "server_side_parameters": settings}
        landing = self.root / "landing"
        extracts = {
            "extract": "full",
            "format": "csv",
            "location": f"{landing}/{{business_date}}.csv",
            "max_delete_fraction": 1.0,
        }
        models = [
            *(
                entity(name, "cdc", extracts, unique_key=["k"])
                for name in ("shared", *(model("rows", each) for each in (*WRITERS, SPARE)))
            ),
            *(
                entity(
                    model("events", each),
                    "atomic",
                    {"location": f"{landing}/events", "manifest": "claims"},
                )
                for each in WRITERS
            ),
            {
                **entity(
                    "changes",
                    "cdc",
                    {
                        "extract": "events",
                        "format": "debezium",
                        "table": "orders",
                        "location": f"{landing}/changes",
                    },
                    unique_key=["id"],
                ),
                "columns": [
                    {"name": "id", "data_type": "int"},
                    {"name": "name", "data_type": "string"},
                ],
            },
        ]
        files = {
            "dbt_project.yml": "name: lake\nprofile: lake\nflags: {send_anonymous_usage_stats: false}\n"
            f"vars: {json.dumps(variables)}\n",
            "profiles.yml": json.dumps({"lake": {"target": "dev", "outputs": {"dev": output}}}),
            "models/models.yml": json.dumps({"version": 2, "models": models}),
            **{f"models/{each['name']}.sql": "{{ tidemark.extract() }}" for each in models},
        }
        for name, text in files.items():
            path = self.root / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        packages = self.root / "project" / "dbt_packages"
        packages.mkdir()
        (packages / "tidemark").symlink_to(ROOT, target_is_directory=True)
        for name in ("events", "changes"):
            (landing / name).mkdir(parents=True)

    def rows(self, table: str, query: str) -> list[tuple[Any, ...]]:
        """Rows of a table, which is `t` in the query."""
        folder = self.root / "warehouse" / "lake.db"
        if self.file_format == "iceberg":
            # of descriptions with one number the last one counts: another is of a commit that was killed or refused
            described = folder.glob(f"{table}-*/metadata/*.metadata.json")
            last = max(described, key=lambda each: (each.name[:5], each.stat().st_mtime_ns))
            t = StaticTable.from_metadata(str(last)).scan().to_arrow()
            return duckdb.from_arrow(t).query("t", query).fetchall()
        found = DeltaTable(str(folder / table))
        read = QueryBuilder().register("t", found).execute(query).read_all()
        return list(
            zip(*(read.column(name).to_pylist() for name in read.column_names), strict=True)
        )

    def inflight(self) -> dict[int, str]:
        """Commits whose last state is that they are at work, and their models."""
        found = self.rows(
            "tidemark_commits__log",
            "select commit_id, entity from (select *, row_number() over (partition by relation, commit_id "
            "order by state_at desc, case when state = 'inflight' then 1 else 0 end) as n from t) "
            "where n = 1 and state = 'inflight'",
        )
        return {int(commit): str(entity) for commit, entity in found}


def entity(name: str, materialized: str, settings: dict[str, Any], **config: Any) -> dict[str, Any]:
    """A model in YAML."""
    meta = {"tidemark": settings}
    return {"name": name, "config": {"materialized": materialized, "meta": meta, **config}}


@dataclass
class Command:
    """`tidemark run` for a date."""

    day: date
    models: list[str]
    engine: str

    @property
    def words(self) -> list[str]:
        """As they are typed."""
        chosen = [f"--select={name}" for name in self.models]
        settings = json.dumps({"tidemark__engine": self.engine})
        return ["run", "--business-date", str(self.day), "--vars", settings, *chosen]


class Writer:
    """A process that loads, with a TIDEMARK_HOME of its own; it stays up until it is killed.

    Its clock is off by `clock`, if that is given, until clock_is() says otherwise.
    """

    def __init__(self, lake: Lake, name: str, clock: str | None = None) -> None:
        self.lake, self.name = lake, name
        self.home = lake.root / name
        self.clock = lake.root / f"{name}.clock"
        if clock is not None:
            set_clock(self.clock, clock)
        self.said = lake.root / f"{name}.log"
        self.dbt_log = self.home / "logs" / "dbt.log"
        self.asked = 0
        """How many orders this process got."""
        self.start()

    def start(self) -> None:
        """Start it; answer() tells when it is ready."""
        # a log and a target folder of its own
        own = {name: value for name, value in os.environ.items() if not name.startswith("DBT_")}
        if self.clock.exists():
            own |= clock_of(self.clock)
        with self.said.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "python/tests/warm_writer.py")],
                cwd=self.lake.root / "project",
                env={**own, "TIDEMARK_HOME": str(self.home), "NO_COLOR": "1", "COLUMNS": "200"},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0, start_new_session=True,
            )  # fmt: skip
        self.asked = self.told = self.begun = 0

    def clock_is(self, offset: str) -> None:
        """Set its clock, which goes by that within a second."""
        set_clock(self.clock, offset)
        time.sleep(1.2)

    def order(self, commands: list[Command], wait: float = 0) -> None:
        """Have it do commands, so many seconds from now."""
        self.asked += 1
        self.told = self.said.stat().st_size
        self.begun = self.dbt_log.stat().st_size if self.dbt_log.exists() else 0
        assert self.process.stdin is not None
        words = [command.words for command in commands]
        self.process.stdin.write(json.dumps({"wait": wait, "commands": words}).encode() + b"\n")

    def has_answered(self, seconds: float) -> bool:
        """Wait so long for an answer, or for its end."""
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def answer(self) -> dict[str, Any] | None:
        """Wait for what it answers; none if it was killed."""
        assert self.process.stdout is not None
        assert self.has_answered(1200), f"{self.name} does not answer:\n{self.news()}"
        line = self.process.stdout.readline()
        if not line:
            assert self.process.wait() == -signal.SIGKILL, self.news()
            return None
        found: dict[str, Any] = json.loads(line)
        return found

    def news(self) -> str:
        """What it printed since the last order."""
        return self.said.read_bytes()[self.told :].decode()

    def logged(self, sign: str) -> int:
        """How often dbt logged something since the last order."""
        if not self.dbt_log.exists():
            return 0
        with self.dbt_log.open("rb") as log:
            # dbt begins another file now and then
            log.seek(self.begun if self.dbt_log.stat().st_size >= self.begun else 0)
            return len(re.findall(sign, log.read().decode(errors="replace")))

    def statements(self) -> int:
        """How many statements it ran since the last order."""
        return self.logged("SQL status: OK")

    def kill_after(self, statements: int, seconds: float) -> bool:
        """Kill it and its JVM so long after it ran these, unless it was faster.

        Returns:
            Whether it was killed.
        """
        while not self.has_answered(0.1) and (
            not self.logged("START sql") or self.statements() < statements
        ):
            pass
        if self.has_answered(seconds):
            return False
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return True

    def end(self) -> None:
        # its JVM may be there without it
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Truth:
    """What was landed, and what the tables are to be."""

    lake: Lake
    rng: random.Random
    writers: tuple[str, ...] = WRITERS
    extracts: dict[str, dict[date, dict[str, str]]] = field(default_factory=dict)
    extract: dict[str, str] = field(default_factory=dict)
    """That of the round."""
    orders: dict[int, str] = field(default_factory=dict)
    captured: int = 0
    events: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    """Change events that may come once more."""

    def land(self, turn: int, day: date, kinds: list[str]) -> None:
        """Land what a round loads."""
        landing, rng = self.lake.root / "landing", self.rng
        extract = {f"k{n}": rng.choice("xyz") for n in range(60) if rng.random() < 0.9}
        lines = "".join(f"{key},{value}\n" for key, value in extract.items())
        write_whole(landing / f"{day}.csv", f"k,a\n{lines}")
        self.extract = extract
        self.loads(day, [model(kind, each) for kind in kinds for each in self.writers])
        if "events" in kinds:
            numbers = [turn * 100 + each for each in range(30)]
            product = ("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})
            before = rng.choices(range(turn * 100), k=5) if turn else []
            landed = [event_id(each) for each in numbers + before]
            self.events = sorted({*self.events, *landed})
            lines = "".join(f"{event_line(each, [product])}\n" for each in numbers + before)
            write_whole(landing / f"events/{day}.tsv", lines)
        if "changes" in kinds:
            batch = [captured(rng, self.orders, turn * 1000 + each) for each in range(40)]
            twice = rng.choices(batch, k=5) + rng.choices(self.again or batch, k=5)
            write_whole(landing / f"changes/{day}.jsonl", "".join([*batch, *twice]))
            self.again, self.captured = batch, self.captured + len(batch)

    def loads(self, day: date, models: list[str]) -> None:
        """Take the extract of a round for what models are loaded with: what is left of another round, too."""
        for name in models:
            if name == "shared" or name.endswith("_rows"):
                self.extracts.setdefault(name, {})[day] = self.extract

    def check(self, left: set[str]) -> None:
        """Compare the tables: nothing is lost or doubled, or in flight but for models that are left to the next load."""
        rows = self.lake.rows
        at_work = self.lake.inflight()
        assert {*at_work.values()} <= left
        for table, extracts in self.extracts.items():
            assert dict(rows(table, "select k, a from t")) == list(extracts.values())[-1], table
            log = rows(
                f"{table}__log",
                "select k, a, _operation, cast(_business_date as varchar) from t where _superseded_by is null",
            )
            assert sorted(log) == sorted(history(extracts)), table
        if self.captured:
            assert sorted(rows("changes", "select id, name from t")) == sorted(self.orders.items())
            # what a run that was refused at the log has staged goes with the next load
            refused = ", ".join(str(each) for each in (0, *at_work))
            for table, where in (
                ("changes__log", ""),
                ("changes__staging", f" where _commit_id not in ({refused})"),
            ):
                ((count, distinct),) = rows(
                    table, f"select count(*), count(distinct _event_id) from t{where}"
                )
                assert count == distinct == self.captured, table
        if self.events:
            stored, entities = (
                sorted(
                    row[0]
                    for each in self.writers
                    for row in rows(f"{model('events', each)}{suffix}", f"select {column} from t")
                )
                for suffix, column in (("", "event_id"), ("__entities", "hierarchy['root_id']"))
            )
            assert stored == self.events
            assert entities == self.events
            assert sorted(row[0] for row in rows("claims", "select event_id from t")) == self.events


def history(extracts: dict[date, dict[str, str]]) -> list[tuple[str, str, str, str]]:
    """The history that loading the days in order gives."""
    found = []
    before: dict[str, str] = {}
    for day, rows in extracts.items():
        for key in before.keys() | rows.keys():
            if before.get(key) != rows.get(key):
                operation = "I" if key not in before else "D" if key not in rows else "U"
                found.append((key, rows.get(key, before.get(key, "")), operation, str(day)))
        before = rows
    return found


def refusals(text: str) -> dict[str, str]:
    """Why models failed, which is one line each that tells what to do."""
    assert "Traceback" not in text, text
    assert not re.search(r"\n\s+at [a-z]+\.", text), text
    found = re.findall(r"^\w+ Error in model (\w+) \(.*\)\n((?:  .*\n)+)", text, re.MULTILINE)
    for _, message in found:
        assert message.count("\n") == 1 and re.search(
            "run the model again", message, re.IGNORECASE
        ), text
    return {name: message.strip() for name, message in found}


@pytest.fixture
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lake]:
    file_format = getattr(request, "param", "delta")
    with shared_metastore(tmp_path / "metastore") as metastore:
        made = Lake(tmp_path, metastore, file_format)
        made.write()
        yield made


class Writers:
    """The two at work, by name, and a spare one, which takes the place of one that was killed."""

    def __init__(self, lake: Lake, clocks: dict[str, str]) -> None:
        self._lake, self._clocks = lake, clocks
        self.at_work = {name: Writer(lake, name, clocks.get(name)) for name in WRITERS}
        self.spare: Writer | None = None
        self.warming: set[str] = set()
        self._starting = [*self.at_work.values()]

    def wait(self) -> None:
        """Wait until the two are ready."""
        while self._starting:
            assert self._starting.pop().answer() is not None

    def warm_up(self, day: date) -> None:
        """Start a spare one, which loads an entity of its own meanwhile."""
        if self.spare is None:
            self.spare = Writer(self._lake, SPARE, self._clocks.get(SPARE))
        else:
            self.spare.start()
        self.warming = {model("rows", SPARE)}
        self.spare.order([Command(day, [*self.warming], "spark")])

    def replace(self, name: str) -> None:
        """Put the spare one where one was killed, which becomes the spare one."""
        assert self.spare is not None
        assert self.spare.answer() is not None
        answer = self.spare.answer()
        assert answer is not None and answer["codes"] == [0], self.spare.news()
        self.warming = set()
        self.spare, self.at_work[name] = self.at_work[name], self.spare

    def end(self) -> None:
        """End them all."""
        for writer in (*self.at_work.values(), *filter(None, [self.spare])):
            writer.end()


@pytest.fixture
def writers(lake: Lake, request: pytest.FixtureRequest) -> Iterator[Writers]:
    made = Writers(lake, getattr(request, "param", {}))
    try:
        yield made
    finally:
        made.end()


def orders_of(rng: random.Random, day: date, kinds: list[str], name: str) -> list[Command]:
    """What a writer does in a round: its models in some order, by some engine, in one or two runs."""
    models = [model(kind, name) for kind in rng.sample(kinds, len(kinds))]
    cut = rng.randrange(len(models))
    return [
        Command(day, part, rng.choice(["spark", "workers"]))
        for part in (models[:cut], models[cut:])
        if part
    ]


with_clocks_apart = pytest.mark.parametrize(
    "writers", [pytest.param(APART, id="apart")], indirect=True
)


@pytest.mark.parametrize("lake", ["delta", "iceberg"], indirect=True)
def test_two_writers(lake: Lake, writers: Writers) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    kills = sorted(rng.sample(range(ROUNDS), max(1, ROUNDS * 9 // 40)))
    truth, tally, told = Truth(lake, rng), Counter[str](), Counter[str]()
    seconds, statements = dict.fromkeys(KINDS, 20.0), dict.fromkeys(KINDS, 9.0)
    left = set[str]()
    for turn in range(ROUNDS):
        day = FIRST + timedelta(turn)
        kinds = rng.sample(KINDS, rng.choice([1, 1, 2])) if turn else list(KINDS)
        truth.land(turn, day, kinds)
        writers.wait()
        # which one is first, and by how much
        orders = {name: orders_of(rng, day, kinds, name) for name in rng.sample(WRITERS, 2)}
        wait = 0.2
        expected = sum(seconds[kind] for kind in kinds)
        for name, commands in orders.items():
            writers.at_work[name].order(commands, wait)
            wait += rng.uniform(0, rng.choice([0.3, expected / 2]))
        if not turn and ROUNDS > 1:
            writers.warm_up(day)
        victim = rng.choice(WRITERS) if kills and turn >= kills[0] else None
        if victim:
            ran = sum(statements[kind] for kind in kinds)
            if writers.at_work[victim].kill_after(
                int(rng.uniform(0, ran * 0.8)), rng.uniform(0, expected / (ran + 1))
            ):
                tally["kills"] += 1
                kills.pop(0)
            else:
                victim = None
        done: set[str] = set()
        failed: set[str] = set()
        refused_here: set[str] = set()
        for name, writer in writers.at_work.items():
            answer = writer.answer()
            codes = answer["codes"] if answer else [-9] * len(orders[name])
            said = refusals(writer.news())
            refused_here |= said.keys()
            tally["refused"] += len(said)
            told.update(re.sub(r"\d+", "N", line) for line in said.values())
            for command, code in zip(orders[name], codes, strict=True):
                refused = [each for each in command.models if code < 0 or each in said]
                assert bool(code) == bool(refused), writer.news()
                failed.update(refused)
                done.update({*command.models} - {*refused})
            if answer and writer.asked > 1:
                ran = writer.statements()
                for kind in kinds:
                    statements[kind] += (ran / len(kinds) - statements[kind]) / 3
                    seconds[kind] += (answer["seconds"] / len(kinds) - seconds[kind]) / 3
        begun = lake.inflight()
        new = {*begun.values()} & failed - left - {*refused_here}
        left = (left - done) | failed
        # what one of them loaded is there; what is still in flight is left to the next round that loads it
        again = sorted(left if turn % 10 == 9 or turn == ROUNDS - 1 else failed - done)
        if again:
            plain = writers.at_work[rng.choice([name for name in WRITERS if name != victim])]
            plain.order([Command(day, again, rng.choice(["spark", "workers"]))])
            answer = plain.answer()
            assert answer is not None and answer["codes"] == [0], plain.news()
            tally["plain runs"] += 1
            truth.loads(day, again)
            left -= set(again)
        truth.check(left | writers.warming)
        if victim:
            tally["kills with a commit in flight"] += bool(new)
            if ROUNDS > 1:
                writers.replace(victim)
            if kills:
                writers.warm_up(day)
        tally["rounds"] += 1
        print(
            f"round {turn}, {expected:.1f} s: {orders} {victim=} {begun=} {again=} {left=}, {dict(tally)}",
            flush=True,
        )
    assert not left
    tell(lake, told, tally)


def is_whole(parquet: Path) -> bool:
    """Whether a file is written to its end."""
    return parquet.read_bytes().endswith(b"PAR1") and parquet.stat().st_size > 4


def test_first_runs_at_once(lake: Lake, writers: Writers) -> None:
    """A second first run comes while the first one has rows in the folder of the log that no commit names yet: one is refused."""
    truth = Truth(lake, random.Random(SEED))
    truth.land(0, FIRST, ["shared", "rows"])
    writers.wait()
    left, right = writers.at_work.values()
    for name, engine in (("shared", "spark"), ("left_rows", "workers")):
        log = lake.root / "warehouse/lake.db" / f"{name}__log"
        command = Command(FIRST, [name], engine)
        left.order([command])
        while not any(map(is_whole, log.rglob("*.parquet"))):
            assert not left.has_answered(0.001), left.news()
        session = Session(left.process)
        session.freeze()
        assert not (log / "_delta_log" / f"{1:020}.json").exists()
        right.order([command])
        answers = [right.answer()]
        session.thaw()
        answers.append(left.answer())
        said = [refusals(right.news()), refusals(left.news())]
        for answer, refused in zip(answers, said, strict=True):
            assert answer is not None and bool(answer["codes"][0]) == bool(refused)
        assert not all(said), said
        right.order([command])
        answer = right.answer()
        assert answer is not None and answer["codes"] == [0], right.news()
        extract = truth.extracts[name][FIRST]
        assert dict(lake.rows(name, "select k, a from t")) == extract
        logged = lake.rows(f"{name}__log", "select k, a, _operation from t")
        assert sorted(logged) == sorted((key, value, "I") for key, value in extract.items())
    assert lake.inflight() == {}


@with_clocks_apart
def test_slices_of_a_clock_behind(lake: Lake, writers: Writers) -> None:
    """A run that takes what another one has put aside for old, by a clock that is a day ahead of that one's, leaves it."""
    truth, days = Truth(lake, random.Random(SEED)), [FIRST + timedelta(turn) for turn in range(3)]
    for turn, day in enumerate(days):
        truth.land(turn, day, ["shared"])
    writers.wait()
    left, right = writers.at_work.values()
    left.order([Command(days[0], ["shared"], "spark"), Command(days[2], ["shared"], "spark")])
    assert left.answer() == {"codes": [0, 0], "seconds": ANY}, left.news()
    # one that comes late is put aside
    left.order([Command(days[1], ["shared"], "spark")])
    while not any((lake.root / "warehouse/lake.db").glob("shared__slice_*/*.parquet")):
        assert not left.has_answered(0.001), left.news()
    # and is a table
    ran = left.statements()
    while left.statements() == ran:
        assert not left.has_answered(0.001), left.news()
    session = Session(left.process)
    session.freeze()
    slices = {*(lake.root / "warehouse/lake.db").glob("shared__slice_*")}
    # what it finds is as it was: it writes nothing
    right.order([Command(days[2], ["shared"], "spark")])
    assert right.answer() == {"codes": [0], "seconds": ANY}, right.news()
    assert slices <= {*(lake.root / "warehouse/lake.db").glob("shared__slice_*")}
    session.thaw()
    assert left.answer() == {"codes": [0], "seconds": ANY}, left.news()
    truth.check(set())


def test_clock_jumps(lake: Lake) -> None:
    """The clock of a process jumps, between loads and within them."""
    rng = random.Random(SEED)
    truth, left = Truth(lake, rng, ("left",)), Writer(lake, "left", "+0s")
    try:
        assert left.answer() is not None
        for turn, (before, within) in enumerate(JUMPS):
            day = FIRST + timedelta(turn)
            truth.land(turn, day, list(KINDS))
            left.clock_is(before)
            left.order(orders_of(rng, day, list(KINDS), "left"))
            while left.statements() < turn and not left.has_answered(0.05):
                pass
            if within:
                set_clock(left.clock, within)
            answer = left.answer()
            assert answer is not None and not any(answer["codes"]), left.news()
            truth.check(set())
        for table in ("shared__log", "left_rows__log"):
            ids = lake.rows(
                table,
                "select _commit_id, count(distinct _business_date), min(_business_date) as day from t group by 1 order by day",
            )
            assert [count for _, count, _ in ids] == [1] * len(JUMPS)
            assert [each for each, _, _ in ids] == sorted({each for each, _, _ in ids})
    finally:
        left.end()


def tell(lake: Lake, told: Counter[str], tally: Counter[str]) -> None:
    """Print what was refused, by which engine was loaded and how often what came about."""
    for line, count in told.most_common():
        print(count, line)
    ((taken,),) = lake.rows(
        "tidemark_commits__log",
        "select count(distinct concat(entity, cast(commit_id as varchar))) from t where details like '%taken_over_by%'",
    )
    files = Counter(
        "workers" if path.name.startswith("workers-") else "spark"
        for path in (lake.root / "warehouse/lake.db").rglob("*.parquet")
    )
    print(f"commits taken over: {taken}, files by engine: {dict(files)}, {dict(tally)}")
