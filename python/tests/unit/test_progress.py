"""The file of a run that is at work: written by one process, read by others, gone when it ends."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.tidemark.progress import progress_listener
from tidemark.home import Home
from tidemark.progress import NodeProgress, ProgressWriter, read_progress

NOW = dt.datetime(2026, 3, 5, 12, tzinfo=dt.UTC)


def node(name: str) -> NodeProgress:
    return NodeProgress(name, "cdc", f"shop.{name}", "running", NOW)


def test_progress__from_beginning_to_end(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert read_progress(home) == []
    writer = ProgressWriter(home, "build", "2026-03-05")
    writer.end("a", "success")
    assert read_progress(home) == []
    writer.begin("a", node("a"))
    assert read_progress(home) == []
    before = dt.datetime.now(dt.UTC)
    writer.open("5a4b", 2)
    (run,) = read_progress(home)
    assert run.nodes == () and run.started_at >= before
    writer.begin("a", node("a"))
    writer.begin("b", node("b"))
    writer.end("a", "success")
    (run,) = read_progress(home)
    assert (run.pid, run.invocation_id, run.command, run.business_date) == (
        os.getpid(),
        "5a4b",
        "build",
        "2026-03-05",
    )
    assert run.total == 2
    first, second = run.nodes
    assert (first.state, second) == ("success", node("b"))
    assert first.ended_at is not None and first.ended_at > NOW
    writer.close()
    assert read_progress(home) == [] and list(home.progress.iterdir()) == []
    # the next date of the same process
    writer.open("6b5c", 1)
    writer.begin("c", node("c"))
    (run,) = read_progress(home)
    assert run.nodes == (node("c"),)
    writer.close()
    writer.close()


def test_progress__of_a_process_that_was_killed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom tests.unit.test_progress import *\n"
        "writer = ProgressWriter(Home(Path(sys.argv[1])), 'run', None)\nwriter.open('x', 1)\n"
        "print(len(read_progress(Home(Path(sys.argv[1])))), flush=True)\nos.kill(os.getpid(), 9)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(root)}, check=False)  # fmt: skip
    assert (done.stdout, done.returncode) == ("1\n", -9), done.stderr
    assert len(list(home.progress.glob("*.json"))) == 1
    assert read_progress(home) == []
    # the next run clears it away
    writer = ProgressWriter(home, "run", None)
    writer.open("y", 1)
    assert [path.name for path in home.progress.glob("*.json")] == [f"{os.getpid()}.json"]
    writer.close()


def test_progress__what_cannot_be_read_or_written(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    writer = ProgressWriter(home, "run", None)
    writer.open("x", 1)
    path = next(home.progress.glob("*.json"))
    for text in ("", "{", "[]", '{"nodes": 3}', '{"nodes": [], "pid": 1, "more": 2}'):
        path.write_text(text)
        assert read_progress(home) == []
    writer.close()
    (tmp_path / "file").write_text("")
    nowhere = ProgressWriter(Home(tmp_path / "file"), "run", None)
    nowhere.open("x", 1)
    nowhere.begin("a", node("a"))
    nowhere.end("a", "success")
    nowhere.close()


def event(name: str, unique_id: str = "model.shop.a", kind: str = "model", **more: Any) -> Any:
    relation = SimpleNamespace(schema="shop", alias="a")
    info = SimpleNamespace(
        unique_id=unique_id,
        node_name="a",
        resource_type=kind,
        materialized="cdc",
        node_relation=relation,
    )
    return SimpleNamespace(
        info=SimpleNamespace(name=name, invocation_id="5a4b"),
        data=SimpleNamespace(node_info=info, **more),
    )


def test_listener__hears_dbt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    hear = progress_listener(
        SimpleNamespace(VARS={"business_date": dt.date(2026, 3, 5)}, WHICH="build")
    )
    hear(event("MainReportVersion"))
    hear(event("ConcurrencyLine", node_count=3))
    hear(event("LogStartLine"))
    hear(event("LogStartLine", "test.shop.t", "test"))
    hear(event("NodeFinished", run_result=SimpleNamespace(status="success")))
    (run,) = read_progress(Home(tmp_path))
    assert (run.command, run.business_date, run.total) == ("build", "2026-03-05", 3)
    assert [(one.kind, one.relation, one.state) for one in run.nodes] == [
        ("cdc", "shop.a", "success"),
        ("test", None, "running"),
    ]
    # an event of another shape goes by
    hear(SimpleNamespace(info=SimpleNamespace(name="LogStartLine"), data=None))
    hear(event("CommandCompleted"))
    assert read_progress(Home(tmp_path)) == []
