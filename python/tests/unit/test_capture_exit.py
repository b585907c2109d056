"""The process of a capture ends when the capture does, whatever Debezium leaves running."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("jpype")

# stands for a session whose engine does not close: Java has a thread that does not end
CAPTURE = """
import sys
import jpype
from tidemark.capture import cli, session

class Session:
    def __init__(self, config, login, state, options, stop, say):
        self.stop = stop

    def run(self):
        self.timer = jpype.java.util.Timer("does not end")
        if sys.argv[1] == "waits":
            print("waits", flush=True)
            self.stop.wait(60)
        if sys.argv[1] == "fails":
            raise session.CaptureError("the database said no")
        if sys.argv[1] == "breaks":
            raise RuntimeError("a mistake")

cli.connector_jars = lambda: []
session.Session = Session
cli.capture.main(["shop", *sys.argv[2:]])
"""
# operates the source until it is killed
PARENT = """
import sys, time
from pathlib import Path
from tidemark.replicator.service import CaptureProcess

process = CaptureProcess("shop", Path.cwd(), Path("capture.log"))
process._command[1:5] = ["-c", sys.argv[1], "waits"]
process.start()
time.sleep(600)
"""


def make_source(tmp_path: Path) -> None:
    connection = {"host": "h", "database": "d", "user": "u", "password": {"env": "P"}}
    replicator = {"connector": "postgresql", "connection": connection, "snapshot": "initial"}
    source = {"name": "shop", "config": {"meta": {"tidemark": {"replicator": replicator}}}}
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: tests\nversion: 1.0.0\n")
    (tmp_path / "models" / "sources.yml").write_text(yaml.safe_dump({"sources": [source]}))


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("stops", 0, "shop: stopped"),
        ("fails", 1, "Error: the database said no"),
        ("breaks", 1, "RuntimeError: a mistake"),
    ],
)
def test_ends_with_threads_of_java(tmp_path: Path, how: str, code: int, said: str) -> None:
    make_source(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", CAPTURE, how],
        cwd=tmp_path,
        env={**os.environ, "TIDEMARK_HOME": str(tmp_path / "home"), "P": "p"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, said in done.stderr) == (code, True), done.stdout + done.stderr


def test_ends_with_the_process_that_operates_the_source(tmp_path: Path) -> None:
    make_source(tmp_path)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, CAPTURE],
        cwd=tmp_path,
        env={**os.environ, "TIDEMARK_HOME": str(tmp_path / "home"), "P": "p"},
    )
    log = tmp_path / "capture.log"
    until = time.monotonic() + 60
    while not (log.exists() and "waits" in log.read_text()) and time.monotonic() < until:
        assert parent.poll() is None
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    while "shop: stopped" not in log.read_text():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("worked", "error", "failing"),
    [
        # the source is gone for as long as it is tried again
        ([0, 50, 50], "CaptureError", 100),
        # what was failing in between has nothing to do with the end
        ([0, 7200], "LandingError", 0),
        ([0, 7200, 30], "LandingError", 30),
    ],
)
def test_status_tells_for_how_long_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worked: list[int], error: str, failing: int
) -> None:
    from tidemark.capture import session
    from tidemark.capture.config import CaptureConfig, Login
    from tidemark.capture.state import CaptureState

    connection = {"host": "h", "database": "d", "user": "u", "password": {"env": "P"}}
    settings = {"connector": "postgresql", "connection": connection, "retry_for": "100s"}
    config = CaptureConfig.from_dict("shop", settings)
    clock = [1000.0]
    lasted = iter(worked)
    last = len(worked)
    calls = []

    class Ended(threading.Event):
        """Waits take no time."""

        def wait(self, timeout: float | None = None) -> bool:
            return False

    def run_engine(self: Any, source: Any) -> bool:
        calls.append(source)
        clock[0] += next(lasted)
        self._worked = True
        kind = getattr(session, error if len(calls) == last else "CaptureError")
        raise kind("it failed")

    monkeypatch.setattr(session.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(session, "make_source", lambda config, login: object())
    monkeypatch.setattr(session.Session, "_run_engine", run_engine)
    state = CaptureState(tmp_path)
    state.open()
    login = Login("h", 1, "u", "p", "d")
    shop = session.Session(
        config, login, state, session.CaptureOptions(), Ended(), lambda status: None
    )
    with pytest.raises(getattr(session, error)):
        shop.run()
    status = state.read_status()
    state.close()
    assert (status["state"], status["failing_seconds"]) == ("FAILING", failing)
    assert len(calls) == last
