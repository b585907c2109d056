"""kill -9 at random moments of runs, then the same command again: as if nothing had happened.

TIDEMARK_TEST_KILLS says how many kills a flow gets, TIDEMARK_TEST_SEED makes them anew.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from .cdc_oracle import Row, replay
from .enriched_events import add_events, event_id, event_line
from .event_oracle import simulate
from .event_streams import COLUMNS, KEY, deliver, random_streams

KILLS = int(os.environ.get("TIDEMARK_TEST_KILLS", "1"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
EXTRACT = {"extract": "full", "tag_unchanged": True}


def write_model(project: Any, columns: dict[str, str], key: Any, **settings: Any) -> Path:
    """Write the model `killed`; the folder that its files come from."""
    folder = Path(project.root) / "arrives"
    for each in (folder, project.root / "models"):
        each.mkdir()
    where = folder if settings.get("extract") == "events" else f"{folder}/{{business_date}}.csv"
    model = {
        "name": "killed",
        "config": {
            "materialized": "cdc",
            "unique_key": key,
            "meta": {"tidemark": {"location": str(where), **settings}},
        },
        "columns": [{"name": name, "data_type": kind} for name, kind in columns.items()],
    }
    (project.root / "models/killed.sql").write_text("{{ tidemark.extract() }}")
    (project.root / "models/killed.yml").write_text(json.dumps({"version": 2, "models": [model]}))
    return folder


def random_extract(rng: random.Random, keys: int, share: float) -> dict[str, Row]:
    return {f"k{n}": (rng.choice("xyz"),) for n in range(keys) if rng.random() < share}


def write_extract(folder: Path, day: date, extract: dict[str, Row]) -> None:
    lines = "".join(f"{k},{row[0]}\n" for k, row in extract.items())
    write_whole(folder / f"{day}.csv", f"k,a\n{lines}")


def write_whole(path: Path, text: str) -> None:
    """Put a file where a load finds it, whole."""
    path.with_name(f"_{path.name}").write_text(text)
    path.with_name(f"_{path.name}").rename(path)


def start(project: Any, home: Path, day: date) -> subprocess.Popen[bytes]:
    """`dbt run` for a date, in a process group of its own, with a home of its own."""
    return start_dbt(project, home, "run", "--vars", f"{{business_date: {day}}}")


def operate(project: Any, home: Path, name: str, arguments: dict[str, Any]) -> Any:
    """`dbt run-operation`, likewise."""
    return start_dbt(project, home, "run-operation", name, "--args", json.dumps(arguments))


def start_dbt(project: Any, home: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dbt.cli.main", *arguments, "--target", "ci"]
    environment = {**os.environ, "TIDEMARK_HOME": str(home), "TIDEMARK_SCHEMA": "killed"}
    return subprocess.Popen(
        [
            *command,
            "--project-dir",
            str(project.root),
            "--profiles-dir",
            str(project.root),
            "--log-path",
            str(home),
        ],
        env=environment,
        cwd=project.root,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def finish(process: subprocess.Popen[bytes]) -> str:
    output = process.communicate(timeout=600)[0].decode()
    assert process.returncode == 0, output
    return output


def kill_during(
    process: subprocess.Popen[bytes], log: Path, delay: float, sign: str = "START sql cdc"
) -> None:
    """Kill the run and its JVM `delay` seconds after its model began, or after another sign in dbt's log."""
    begun = log.read_text().count(sign) if log.exists() else 0
    while process.poll() is None and (not log.exists() or log.read_text().count(sign) == begun):
        time.sleep(0.05)
    time.sleep(delay)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_kill(make_project: Any, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed")
    folder = write_model(project, {"k": "string", "a": "string"}, "k", **EXTRACT)
    days = [date(2026, 1, number) for number in (1, 2)]
    extracts = {day: random_extract(rng, 2000, 0.9) for day in days}
    for number, day in enumerate(days):
        write_extract(folder, day, extracts[day])
        # a first run that dies is told in test_crash.py, at each of its points
        if number:
            kill_during(start(project, tmp_path, day), tmp_path / "dbt.log", rng.uniform(2, 25))
        finish(start(project, tmp_path, day))
    assert_extracts(project, tmp_path, extracts, delta=False)


def table(project: Any, home: Path, name: str) -> Any:
    return project.session.read.format("delta").load(str(home / "warehouse/killed.db" / name))


def assert_extracts(
    project: Any, home: Path, extracts: dict[date, dict[str, Row]], *, delta: bool
) -> None:
    """Log, history and current are those of a plain replay of the dates."""
    wanted = replay(extracts, ("a",), delta=delta)
    log = table(project, home, "killed__log")
    history = {
        (r._business_date, r.k): (
            r._operation,
            (r.a,),
            None if r._changed_columns is None else tuple(r._changed_columns),
        )
        for r in log.where("_superseded_by is null").collect()
    }
    assert history == wanted.history
    assert log.count() == len(wanted.history)
    current = table(project, home, "killed").collect()
    assert len(current) == len(wanted.current)
    assert {r.k: (r._operation, r.a) for r in current} == {
        k: (wanted.tagged[k], row[0]) for k, (_, row, _) in wanted.current.items()
    }


@pytest.mark.faults
def test_kill__going_back(make_project: Any, tmp_path: Path) -> None:
    """Rollback and clean, each killed at random moments and called again."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_going_back")
    folder = write_model(project, {"k": "string", "a": "string"}, "k", **EXTRACT)

    def rows(name: str, *columns: str) -> Counter[tuple[Any, ...]]:
        found = table(project, tmp_path, name)
        if name.endswith("__log"):
            found = found.where("_superseded_by is null")
        return Counter(tuple(row) for row in found.select(*columns).collect())

    def state() -> list[Counter[tuple[Any, ...]]]:
        return [
            rows("killed", "k", "a", "_operation"),
            rows("killed__log", "k", "a", "_operation", "_business_date"),
        ]

    days = [date(2026, 1, number) for number in (1, 2, 3)]
    states = []
    for day in days:
        write_extract(folder, day, random_extract(rng, 2000, 0.9))
        finish(start(project, tmp_path, day))
        states.append(state())

    log = tmp_path / "dbt.log"
    for target in (1, 0):
        back = {"entity": "killed", "to": str(days[target])}
        for _ in range(KILLS):
            process = operate(project, tmp_path, "rollback", back)
            kill_during(process, log, rng.uniform(0, 8), "going back to commit")
        finish(operate(project, tmp_path, "rollback", back))
        assert state() == states[target]

    clean = {"entity": "killed", "retention": {"superseded": "0 days"}}
    for _ in range(KILLS):
        process = operate(project, tmp_path, "clean", clean)
        kill_during(process, log, rng.uniform(0, 8), "insert into killed.tidemark_commits__log")
    finish(operate(project, tmp_path, "clean", clean))
    assert state() == states[0]
    for number in (1, 2):
        finish(start(project, tmp_path, days[number]))
        assert state() == states[number]


def start_dates(project: Any, home: Path, days: list[date]) -> subprocess.Popen[bytes]:
    """`tidemark run` for these dates, one load after the other in one process: a kill is in any of them."""
    places = ["--project-dir", project.root, "--profiles-dir", project.root, "--target", "ci"]
    dates = ["--business-date", ",".join(map(str, days))]
    return subprocess.Popen(
        [Path(sys.executable).with_name("tidemark"), "run", *map(str, places), *dates],
        env={
            **os.environ,
            "TIDEMARK_HOME": str(home),
            "TIDEMARK_SCHEMA": "killed",
            "DBT_LOG_PATH": str(home),
        },
        cwd=project.root,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=(home / "stderr").open("ab"),
    )


def kill_again_and_again(
    project: Any, home: Path, days: list[date], land: Callable[[int], None], rng: random.Random
) -> int:
    """Load these dates, killed KILLS times at random moments; what a date needs lands just before it.

    Returns:
        How many kills came while a load ran.
    """
    log, hits = home / "dbt.log", 0
    attempts = 0
    while True:
        done = finished_loads(log)
        land(done)
        process = start_dates(project, home, days[min(done, len(days) - 1) :])
        begun = starts(log)
        while process.poll() is None and starts(log) == begun:
            time.sleep(0.05)
        # the first load of a process takes ten times as long as those after it
        until = time.monotonic() + rng.uniform(0.5, 25)
        last = attempts >= KILLS
        while process.poll() is None and (last or time.monotonic() < until):
            land(finished_loads(log))
            time.sleep(0.05)
        if last:
            assert process.wait() == 0, (home / "stderr").read_text()[-3000:]
            if finished_loads(log) >= len(days):
                return hits
            continue
        attempts += 1
        if process.poll() is None:
            hits += starts(log) > finished_loads(log)
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def starts(log: Path) -> int:
    return len(re.findall(r"START sql \w+ model", log.read_text())) if log.exists() else 0


def finished_loads(log: Path) -> int:
    return len(re.findall(r"OK created sql \w+ model", log.read_text())) if log.exists() else 0


@pytest.mark.faults
@pytest.mark.parametrize(
    ("extract", "engine"),
    [("full", "spark"), ("full", "workers"), ("delta", "spark"), ("delta", "workers")],
)
def test_kill__extracts(make_project: Any, tmp_path: Path, extract: str, engine: str) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project(f"killed_{extract}_{engine}")
    delta = extract == "delta"
    settings = {**EXTRACT, "extract": extract, "engine": engine}
    folder = write_model(project, {"k": "string", "a": "string"}, "k", **settings)
    days = [date(2026, 1, 1) + timedelta(number) for number in range(KILLS + 3)]
    extracts = {day: random_extract(rng, 5000, 0.1 if delta else 0.9) for day in days}
    for day in days:
        write_extract(folder, day, extracts[day])
    hits = kill_again_and_again(project, tmp_path, days, lambda done: None, rng)
    assert_extracts(project, tmp_path, extracts, delta=delta)
    assert not list((tmp_path / "tmp").glob("engine-*"))
    tell(f"{extract} extracts, engine {engine}", hits, len(days))


@pytest.mark.faults
def test_kill__events(make_project: Any, tmp_path: Path) -> None:
    """Batches of change events: nothing is lost, nothing doubled."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_events")
    settings = {"extract": "events", "format": "canonical", "table": "shop.killed"}
    folder = write_model(project, COLUMNS, KEY, **settings)
    events = random_streams(rng, 60, 12, truncates=2)
    batches = deliver(rng, events, KILLS + 3, "in_order")

    def land(done: int) -> None:
        if done < len(batches) and not (folder / f"{done:04}.jsonl").exists():
            lines = [
                json.dumps({**event, "_database": "shop", "_table": "killed"})
                for event in batches[done]
            ]
            write_whole(folder / f"{done:04}.jsonl", "\n".join(lines) + "\n")

    days = [date(2026, 1, 1) + timedelta(number) for number in range(len(batches))]
    hits = kill_again_and_again(project, tmp_path, days, land, rng)
    truth = simulate(events, list(COLUMNS), KEY)
    current = table(project, tmp_path, "killed").collect()
    assert Counter(tuple(row[name] for name in COLUMNS) for row in current) == Counter(
        truth.current.values()
    )
    log = table(project, tmp_path, "killed__log")
    assert (
        log.count() == log.select("_key_hash", "_event_id", "_source_operation").distinct().count()
    )
    staging = table(project, tmp_path, "killed__staging")
    assert staging.count() == staging.select("_event_id").distinct().count() == len(events)
    tell("change events", hits, len(days))


@pytest.mark.faults
def test_kill__captured_events(make_project: Any, tmp_path: Path) -> None:
    """The same of Debezium's, by the engine in the workers."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_captured")
    settings = {"extract": "events", "format": "debezium", "engine": "workers", "table": "orders"}
    folder = write_model(project, {"id": "int", "name": "string"}, "id", **settings)
    rows: dict[int, str] = {}
    batches = [[captured(rng, rows, number * 300 + each) for each in range(300)] for number in range(KILLS + 3)]  # fmt: skip

    def land(done: int) -> None:
        if done < len(batches) and not (folder / f"{done:04}.jsonl").exists():
            again = rng.choices(batches[done], k=20) + rng.choices(batches[max(0, done - 1)], k=20)
            write_whole(folder / f"{done:04}.jsonl", "".join([*batches[done], *again]))

    days = [date(2026, 1, 1) + timedelta(number) for number in range(len(batches))]
    hits = kill_again_and_again(project, tmp_path, days, land, rng)
    current = table(project, tmp_path, "killed")
    assert {row.id: row.name for row in current.collect()} == rows
    assert current.count() == len(rows)
    for name in ("killed__log", "killed__staging"):
        found = table(project, tmp_path, name)
        assert found.count() == found.select("_event_id").distinct().count() == 300 * len(batches)
    files = table(project, tmp_path, "killed__log").inputFiles()
    assert all("workers-" in file for file in files)
    assert not list((tmp_path / "tmp").glob("engine-*"))
    tell("captured change events, engine workers", hits, len(days))


def captured(rng: random.Random, rows: dict[int, str], number: int) -> str:
    """A change of the rows, as Debezium captures it of PostgreSQL."""
    key, before, after = rng.randrange(200), None, None
    operation = "c" if key not in rows else rng.choice("uuud")
    if operation == "d":
        before = {"id": key, "name": rows.pop(key)}
    else:
        rows[key] = f"name {number}"
        after = {"id": key, "name": rows[key]}
    source = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public", "table": "orders",
              "snapshot": "false", "ts_ms": 1772611200000 + number, "txId": number, "lsn": number}  # fmt: skip
    event = {"before": before, "after": after, "source": source, "op": operation, "ts_ms": 1772611201000 + number}  # fmt: skip
    return json.dumps(event) + "\n"


@pytest.mark.faults
def test_kill__enriched(make_project: Any, tmp_path: Path) -> None:
    """Batches of enriched events, of which a third comes again: each is stored once, with its entity."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_enriched")
    folder = add_events(project, "killed")
    batches = KILLS + 3
    product = ("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})

    def land(done: int) -> None:
        if done < batches and not (folder / f"{done:04}.tsv").exists():
            numbers = [done * 200 + each for each in range(200)]
            again = [rng.randrange(numbers[-1]) for _ in range(100)]
            lines = [event_line(number, [product]) for number in numbers + again]
            write_whole(folder / f"{done:04}.tsv", "\n".join(lines) + "\n")

    days = [date(2026, 1, 1) + timedelta(number) for number in range(batches)]
    hits = kill_again_and_again(project, tmp_path, days, land, rng)
    wanted = sorted(event_id(number) for number in range(batches * 200))
    stored = table(project, tmp_path, "killed").select("event_id").collect()
    assert sorted(row.event_id for row in stored) == wanted
    roots = table(project, tmp_path, "killed__entities").selectExpr("hierarchy.root_id").collect()
    assert sorted(row.root_id for row in roots) == wanted
    claims = table(project, tmp_path, "killed__manifest").select("event_id").collect()
    assert sorted(row.event_id for row in claims) == wanted
    tell("enriched events", hits, len(days))


def tell(flow: str, hits: int, loads: int) -> None:
    """Print what was tried."""
    print(f"{flow}: killed {KILLS} times, {hits} of them in a load, over {loads} loads")
