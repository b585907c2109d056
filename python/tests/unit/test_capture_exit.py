"""The process of a capture ends when the capture does, whatever Debezium leaves running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytest.importorskip("jpype")

# stands for a session whose engine does not close: Java has a thread that does not end
CAPTURE = """
import sys
import jpype
from tidemark.capture import cli, session

class Session:
    def __init__(self, *arguments):
        pass

    def run(self):
        self.timer = jpype.java.util.Timer("does not end")
        if sys.argv[1] == "fails":
            raise session.CaptureError("the database said no")
        if sys.argv[1] == "breaks":
            raise RuntimeError("a mistake")

cli.connector_jars = lambda: []
session.Session = Session
cli.capture.main(["shop"])
"""


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("stops", 0, "shop: stopped"),
        ("fails", 1, "Error: the database said no"),
        ("breaks", 1, "RuntimeError: a mistake"),
    ],
)
def test_ends_with_threads_of_java(tmp_path: Path, how: str, code: int, said: str) -> None:
    connection = {"host": "h", "database": "d", "user": "u", "password": {"env": "P"}}
    replicator = {"connector": "postgresql", "connection": connection, "snapshot": "initial"}
    source = {"name": "shop", "config": {"meta": {"tidemark": {"replicator": replicator}}}}
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: tests\nversion: 1.0.0\n")
    (tmp_path / "models" / "sources.yml").write_text(yaml.safe_dump({"sources": [source]}))
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
