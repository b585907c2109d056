"""A command that ends before it needs Spark leaves none of it behind, however far its start was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.turn(2)

# dbt's command line, whose parser takes some seconds more, and leaves a file as it begins
SLOW = """
import os, sys, time
from pathlib import Path
from dbt.parser.manifest import ManifestLoader
load, seconds = ManifestLoader.load, float(sys.argv.pop(1))
parsing = Path(os.environ["TIDEMARK_HOME"], "parsing")
ManifestLoader.load = lambda loader: (parsing.touch(), time.sleep(seconds), load(loader))[2]
from dbt.cli.main import cli
cli()
"""


# `tidemark run`, whose Spark starts in a thread of dbt and does not get ready; leaves a file as it waits
WAITING = """
import os
from pathlib import Path
from tidemark import cli
from tidemark.spark import launch, session
waits = Path(os.environ["TIDEMARK_HOME"], "waits")
session.can_start_early = lambda *_, **__: False
launch.follow_home = lambda jvm, *_: (waits.touch(), jvm.java.lang.Thread.sleep(600000))
cli.main()
"""


def start_dbt(project: Any, home: Path, seconds: float) -> subprocess.Popen[str]:
    where = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, str(seconds), "run", "--target", "ci", *where],
        # with an archive of classes to write, nothing is started before it is asked for
        env={**os.environ, "TIDEMARK_HOME": str(home), "TIDEMARK_CLASS_ARCHIVE": "off"},
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def starts(home: Path) -> bool:
    """Whether a start of Spark has taken the lock, which its JVM holds until it has ended."""
    from tidemark.home import Home
    from tidemark.spark.launch import metastore_holder

    return (home / "metastore.pid").exists() and metastore_holder(Home(home)) is not None


# while its JVM starts, while its session does, and when it is there
@pytest.mark.parametrize(
    "seconds",
    [0, *(pytest.param(seconds, marks=pytest.mark.slow) for seconds in (4, 8)), 30],
)
def test_project_that_cannot_be_parsed(make_project: Any, tmp_path: Path, seconds: float) -> None:
    project = make_project("broken")
    project.write("models/broken.sql", "select * from {{ ref('nothing') }}")
    process = start_dbt(project, tmp_path, seconds)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "depends on a node named 'nothing' which was not found" in said
    for word in ("Traceback", "py4j", "Spark", "ERROR"):
        assert word not in said
    assert (tmp_path / "metastore.pid").exists()
    assert not starts(tmp_path)
    assert not list((tmp_path / "metastore").glob("*.lck"))


def test_interrupted(make_project: Any, tmp_path: Path) -> None:
    project = make_project("interrupted")
    process = start_dbt(project, tmp_path, 60)
    # before that it is in the midst of imports, which may swallow the interrupt
    while not (starts(tmp_path) and (tmp_path / "parsing").exists()):
        assert process.poll() is None
        time.sleep(0.05)
    while True:
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=20)
            break
        except subprocess.TimeoutExpired:
            pass  # it came while an object was destroyed, where Python swallows it: once more
    assert process.returncode != 0
    assert "py4j" not in said and "Spark" not in said
    assert not starts(tmp_path)


def test_interrupted__while_spark_starts(make_project: Any, tmp_path: Path) -> None:
    """dbt ends when its threads do, and these wait for Spark."""
    project = make_project("interrupted_start")
    project.write("models/one.sql", "select 1 as id")
    where = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, "run", "--target", "ci", *where],
        env={**os.environ, "TIDEMARK_HOME": str(tmp_path), "TIDEMARK_CLASS_ARCHIVE": "off"},
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while not (tmp_path / "waits").exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "py4j" not in said and "Traceback" not in said
    assert not starts(tmp_path)
