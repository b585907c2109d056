"""kill -9 at random moments of runs, then the same command again: as if nothing had happened.

TIDEMARK_TEST_KILLS says how many kills a flow gets, TIDEMARK_TEST_SEED makes them anew, TIDEMARK_TEST_ROWS says how many rows
are rehashed.
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
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder

from . import test_rehash_large as rehashing
from .killing import (
    EXTRACT,
    FLOWS,
    Flow,
    Stored,
    assert_extracts,
    random_extract,
    write_extract,
    write_model,
)

KILLS = int(os.environ.get("TIDEMARK_TEST_KILLS", "1"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))


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


def killed_tables(home: Path) -> Stored:
    return Stored(home / "warehouse" / "killed.db")


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


@pytest.mark.faults
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
    assert_extracts(killed_tables(tmp_path), extracts, delta=False)


@pytest.mark.faults
def test_kill__going_back(make_project: Any, tmp_path: Path) -> None:
    """Rollback and clean, each killed at random moments and called again."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_going_back")
    folder = write_model(project, {"k": "string", "a": "string"}, "k", **EXTRACT)

    def state() -> list[Counter[tuple[Any, ...]]]:
        stored = killed_tables(tmp_path)
        logged = "select k, a, _operation, _business_date from t where _superseded_by is null"
        return [
            Counter(stored.rows("killed", "select k, a, _operation from t")),
            Counter(stored.rows("killed__log", logged)),
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


@pytest.mark.faults
def test_kill__rehash(make_project: Any, tmp_path: Path) -> None:
    """A changed hash recipe, killed at random moments and called again until it is through: as if loaded anew."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_rehash")
    columns = [{"name": name, "data_type": kind} for name, kind in rehashing.COLUMNS.items()]
    for day in rehashing.DAYS:
        rehashing.write_extract(project.root / "arrives", day)

    def write(**hashes: str) -> None:
        models = []
        for name, recipe in hashes.items():
            location = f"{project.root}/arrives/{{business_date}}.parquet"
            settings = {**EXTRACT, "format": "parquet", "location": location, "hash": recipe}
            config = {"materialized": "cdc", "unique_key": "k", "meta": {"tidemark": settings}}
            models.append({"name": name, "config": config, "columns": columns})
            project.write(f"models/{name}.sql", "{{ tidemark.extract() }}")
        project.write("models/models.yml", json.dumps({"version": 2, "models": models}))

    write(killed="md5", anew="sha256")
    for day in rehashing.DAYS:
        finish(start(project, tmp_path, date.fromisoformat(day)))
    write(killed="sha256", anew="sha256")

    log, last, ends = tmp_path / "dbt.log", date.fromisoformat(rehashing.DAYS[-1]), Counter[str]()
    rehash = {"entity": "killed"}
    for number in range(KILLS + 1):
        begun = time.monotonic()
        process = operate(project, tmp_path, "rehash", rehash)
        if number < KILLS:
            delay = rng.uniform(0, 5 + rehashing.ROWS / 20_000)
            kill_during(process, log, delay, "killed: rehashing")
            said = process.communicate()[0].decode()
        else:
            said = finish(process)
            print(
                f"rehash of {rehashing.ROWS + rehashing.ROWS // 10} rows, with dbt's start: {time.monotonic() - begun:.0f} s"
            )
            continue
        ends["was through" if process.returncode == 0 else "killed"] += 1
        assert process.returncode in (0, -signal.SIGKILL), said
        # a run takes back what was begun, and refuses the other recipe; or it finishes it
        run = start_dbt(
            project, tmp_path, "run", "--select", "killed", "--vars", f"{{business_date: {last}}}"
        )
        said = run.communicate(timeout=600)[0].decode()
        for word in ("rolled back commit", "finished commit"):
            ends[word] += word in said
        assert run.returncode == 0 or "rehash" in said, said
        if run.returncode == 0:
            # it was through: once more, from the other recipe to this one
            write(killed="md5", anew="sha256")
            finish(operate(project, tmp_path, "rehash", rehash))
            write(killed="sha256", anew="sha256")
    print(dict(ends))

    folder = tmp_path / "warehouse" / "killed.db"
    names = ", ".join([*rehashing.COLUMNS, "_key_hash", "_row_hash", "_operation"])
    for table, more in {"": "_eff_start_date", "__log": "_business_date, _superseded_by"}.items():
        tables = QueryBuilder()
        for name in ("killed", "anew"):
            tables.register(name, DeltaTable(str(folder / f"{name}{table}")))
        for pair in (("killed", "anew"), ("anew", "killed")):
            one, other = (f"select {names}, {more} from {name}" for name in pair)
            assert tables.execute(f"{one} except all {other} limit 1").read_all().num_rows == 0, (
                table
            )
    # and the last date finds nothing new in what is there
    assert "finished" not in finish(start(project, tmp_path, last))


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


def kill_again_and_again(flow: Flow, home: Path, rng: random.Random) -> int:
    """Load all dates, killed KILLS times at random moments; what a date needs lands just before it.

    Returns:
        How many kills came while a load ran.
    """
    log, hits, attempts, last_number = home / "dbt.log", 0, 0, flow.dates - 1
    days = [flow.day(number) for number in range(flow.dates)]
    while True:
        done = finished_loads(log)
        flow.land(min(done, last_number))
        process = start_dates(flow.project, home, days[min(done, last_number) :])
        begun = starts(log)
        while process.poll() is None and starts(log) == begun:
            time.sleep(0.05)
        # the first load of a process takes ten times as long as those after it
        until = time.monotonic() + rng.uniform(0.5, 12)
        last = attempts >= KILLS
        while process.poll() is None and (last or time.monotonic() < until):
            flow.land(min(finished_loads(log), last_number))
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
    ("name", "engine"),
    [
        ("full extracts", "spark"),
        ("full extracts", "workers"),
        ("delta extracts", "spark"),
        ("delta extracts", "workers"),
        ("canonical events", None),
        ("captured events", "workers"),
        ("enriched events", None),
    ],
)
def test_kill__flows(make_project: Any, tmp_path: Path, name: str, engine: str | None) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project(f"killed_{name}_{engine}")
    settings = {} if engine is None else {"engine": engine}
    flow = FLOWS[name](project, rng, KILLS + 3, **settings)
    hits = kill_again_and_again(flow, tmp_path, rng)
    stored = killed_tables(tmp_path)
    flow.check(stored, flow.dates)
    if name == "captured events":
        assert all("workers-" in file for file in stored.files(flow.log))
    assert not list((tmp_path / "tmp").glob("engine-*"))
    tell(f"{name}, engine {engine or 'auto'}", hits, flow.dates)


def tell(flow: str, hits: int, loads: int) -> None:
    """Print what was tried."""
    print(f"{flow}: killed {KILLS} times, {hits} of them in a load, over {loads} loads")
