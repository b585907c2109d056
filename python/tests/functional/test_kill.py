"""kill -9 at a random moment of a run, then the same command again: as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from .cdc_oracle import Row, replay
from .event_oracle import simulate
from .event_streams import COLUMNS, KEY, deliver, random_streams

KILLS = int(os.environ.get("TIDEMARK_TEST_KILLS", "1"))
SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
MODEL = """
version: 2
models:
  - name: killed
    config:
      materialized: cdc
      unique_key: k
      file_format: delta
      meta: {{tidemark: {{extract: full, tag_unchanged: true, location: "{folder}/{{business_date}}.csv"}}}}
    columns: [{{name: k, data_type: string}}, {{name: a, data_type: string}}]
"""


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
    folder = project.root / "extracts"
    folder.mkdir()
    (project.root / "models").mkdir()
    (project.root / "models/killed.sql").write_text("{{ tidemark.extract() }}")
    (project.root / "models/killed.yml").write_text(MODEL.format(folder=folder))
    extracts: dict[date, dict[str, Row]] = {}
    for number in range(KILLS + 1):
        day = date(2026, 1, number + 1)
        extracts[day] = {f"k{n}": (rng.choice("xyz"),) for n in range(2000) if rng.random() < 0.9}
        (folder / f"{day}.csv").write_text(
            "k,a\n" + "".join(f"{k},{r[0]}\n" for k, r in extracts[day].items())
        )
    for number, day in enumerate(extracts):
        # a first run that dies is told in test_crash.py, at each of its points
        if number or KILLS > 1:
            kill_during(start(project, tmp_path, day), tmp_path / "dbt.log", rng.uniform(2, 25))
        finish(start(project, tmp_path, day))

    wanted = replay(extracts, ("a",), delta=False)
    schema = tmp_path / "warehouse" / "killed.db"
    log = project.session.read.format("delta").load(str(schema / "killed__log"))
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
    current = project.session.read.format("delta").load(str(schema / "killed")).collect()
    assert {r.k: (r._operation, r.a) for r in current} == {
        k: (wanted.tagged[k], row[0]) for k, (_, row, _) in wanted.current.items()
    }


@pytest.mark.slow
def test_kill__going_back(make_project: Any, tmp_path: Path) -> None:
    """Rollback and clean, each killed at random moments and called again."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_going_back")
    folder = project.root / "extracts"
    folder.mkdir()
    (project.root / "models").mkdir()
    (project.root / "models/killed.sql").write_text("{{ tidemark.extract() }}")
    (project.root / "models/killed.yml").write_text(MODEL.format(folder=folder))
    schema = tmp_path / "warehouse" / "killed.db"

    def rows(name: str, *columns: str) -> Counter[tuple[Any, ...]]:
        table = project.session.read.format("delta").load(str(schema / name))
        if name.endswith("__log"):
            table = table.where("_superseded_by is null")
        return Counter(tuple(row) for row in table.select(*columns).collect())

    def state() -> list[Counter[tuple[Any, ...]]]:
        return [
            rows("killed", "k", "a", "_operation"),
            rows("killed__log", "k", "a", "_operation", "_business_date"),
        ]

    days = [date(2026, 1, number) for number in (1, 2, 3)]
    states = []
    for day in days:
        keys = [f"k{n}" for n in range(2000) if rng.random() < 0.9]
        lines = "".join(f"{k},{rng.choice('xyz')}\n" for k in keys)
        (folder / f"{day}.csv").write_text(f"k,a\n{lines}")
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


EVENTS_MODEL = """
version: 2
models:
  - name: killed
    config:
      materialized: cdc
      unique_key: [stream, id]
      file_format: delta
      meta: {{tidemark: {{extract: events, format: canonical, table: shop.killed, location: "{folder}"}}}}
    columns: [{{name: stream, data_type: int}}, {{name: id, data_type: int}}, {{name: label, data_type: string}}, {{name: n, data_type: int}}]
"""


@pytest.mark.slow
def test_kill__events(make_project: Any, tmp_path: Path) -> None:
    """Batches of change events, each run killed once or more: nothing is lost, nothing doubled."""
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    project = make_project("killed_events")
    folder = project.root / "landing"
    folder.mkdir()
    (project.root / "models").mkdir()
    (project.root / "models/killed.sql").write_text("{{ tidemark.extract() }}")
    (project.root / "models/killed.yml").write_text(EVENTS_MODEL.format(folder=folder))
    events = random_streams(rng, 60, 12, truncates=2)
    batches = deliver(rng, events, KILLS + 2, "in_order")
    for number, batch in enumerate(batches):
        lines = [json.dumps({**event, "_database": "shop", "_table": "killed"}) for event in batch]
        (folder / f"{number}.jsonl").write_text("\n".join(lines) + "\n")
        for _ in range(2):
            day = date(2026, 1, number + 1)
            kill_during(start(project, tmp_path, day), tmp_path / "dbt.log", rng.uniform(2, 30))
        finish(start(project, tmp_path, day))

    truth = simulate(events, list(COLUMNS), KEY)
    schema = tmp_path / "warehouse" / "killed.db"
    current = project.session.read.format("delta").load(str(schema / "killed")).collect()
    assert Counter(tuple(row[name] for name in COLUMNS) for row in current) == Counter(
        truth.current.values()
    )
    log = project.session.read.format("delta").load(str(schema / "killed__log"))
    assert (
        log.count() == log.select("_key_hash", "_event_id", "_source_operation").distinct().count()
    )
    staging = project.session.read.format("delta").load(str(schema / "killed__staging"))
    assert staging.count() == staging.select("_event_id").distinct().count() == len(events)
