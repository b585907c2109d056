"""`tidemark shell` and the selection of `tidemark run --watch`: a warm project, edited between commands."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.macros import ROOT
from tidemark.demo.project import land as land_in
from tidemark.demo.project import landings, make_project
from tidemark.run.again import selection_of
from tidemark.run.invoke import Invoker
from tidemark.run.kept import projects_kept
from tidemark.run.options import RunOptions
from tidemark.scaffold.new_project import Package
from tidemark.shell.cli import serve
from tidemark.spark.session import session_expected

from .entities import Entity

pytestmark = pytest.mark.turn(2)


@pytest.fixture
def options(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> RunOptions:
    project = module_project
    monkeypatch.setenv("TIDEMARK_HOME", str(project.home))
    monkeypatch.setenv("TIDEMARK_SCHEMA", project.schema)
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(project.root / name.lower()))
    return RunOptions(dates=[], project_dir=project.root, profiles_dir=project.root, target="ci")


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands of dbt that were called."""
    commands: list[str] = []
    invoke = Invoker._invoke

    def noted(self: Invoker, command: list[str], *given: Any, **others: Any) -> Any:
        commands.append(command[0])
        return invoke(self, command, *given, **others)

    monkeypatch.setattr(Invoker, "_invoke", noted)
    return commands


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that is not in UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_story__yaml_is_edited_between_two_commands(
    module_project: Any,
    options: RunOptions,
    called: list[str],
    capsys: pytest.CaptureFixture[str],
    new_york: None,
) -> None:
    cities = Entity(module_project, "cities", {"id": "int", "name": "string"})
    streets = Entity(module_project, "streets", {"id": "int"})
    cities.extract("2026-01-01", "id,name\n1,Oslo\n2,Bern\n")
    cities.extract("2026-01-02", "id,name\n1,Oslo\n2,Berne\n")

    def lines() -> Iterator[str]:
        yield "run --select cities --business-date 2026-01-01\n"
        assert called == ["parse", "run"]
        cities.write(tag_unchanged=True)
        yield "run --select cities --business-date 2026-01-02\n"
        # what was saved was parsed, once
        assert called == ["parse", "run"] * 2
        capsys.readouterr()
        yield "sql --json select id, name, _operation from cities order by id;\n"
        assert json.loads(capsys.readouterr().out) == [
            {"id": 1, "name": "Oslo", "_operation": "N"},
            {"id": 2, "name": "Berne", "_operation": "U"},
        ]
        yield "sql --limit 1 select name from cities__history order by _commit_id, id\n"
        said = capsys.readouterr()
        assert "Oslo" in said.out and "Bern" not in said.out and "the first 1 rows" in said.err
        yield "changes cities --json\n"
        (changed,) = json.loads(capsys.readouterr().out)
        assert changed["business_date"] == "2026-01-02"
        assert called == ["parse", "run"] * 2
        # times are those of the session, not of this machine, and reach to the ends of the calendar
        yield (
            "sql --json select timestamp'2026-07-01 00:00:00' as t, array(struct("
            "timestamp'0001-01-01 00:00:00' as t)) as t, timestamp_ntz'2026-07-01 00:00:00' as n\n"
        )
        assert json.loads(capsys.readouterr().out) == [
            {
                "t": "2026-07-01 00:00:00",
                "t_2": [{"t": "0001-01-01 00:00:00"}],
                "n": "2026-07-01T00:00:00",
            }
        ]
        yield "sql select nothing from cities\n"
        raise AssertionError("a pipe goes on after a command that failed")

    given = {
        "project_dir": options.project_dir,
        "profiles_dir": options.profiles_dir,
        "target": "ci",
    }
    with session_expected(), projects_kept():
        assert serve(options, given, Console(quiet=True), lines()) == 2
        assert "`nothing`" in capsys.readouterr().err

        # --watch sees what of that project is about a selection
        asked = replace(options, select=["cities"])
        before = selection_of(asked, Console(quiet=True))
        assert before is not None and list(before.nodes) == ["model.tests.cities"]
        assert before.locations == (f"{cities.folder}/{{business_date}}.csv",)
        streets.write(tag_unchanged=True)
        assert selection_of(asked, Console(quiet=True)) == before
        cities.write(tag_unchanged=False)
        after = selection_of(asked, Console(quiet=True))
        assert after is not None and after.nodes != before.nodes


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, command: list[str], **options: Any) -> None:
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            # Ctrl-C is for whom the terminal controls
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options,
        )  # fmt: skip
        os.close(theirs)
        self.said = ""

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())

    def until(self, pattern: str, seconds: float = 240) -> str:
        """Read until a text that was not there before; the text up to its end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.said)
            if found:
                text, self.said = self.said[: found.end()], self.said[found.end() :]
                return text
            if select.select([self.ours], [], [], 0.2)[0]:
                raw = os.read(self.ours, 65536)
                if b"\x1b[6n" in raw:  # where is the cursor?
                    self.type("\x1b[1;1R")
                text = raw.decode(errors="replace")
                self.said += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text)
        raise AssertionError(f"{pattern} is not in {self.said}")


@pytest.mark.slow
def test_terminal__ctrl_c_ends_a_command_and_ctrl_d_the_shell(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    make_project(root, Package(str(ROOT)))
    (root / "dbt_packages").mkdir()
    (root / "dbt_packages" / "tidemark").symlink_to(ROOT, target_is_directory=True)
    land_in(root, landings()[0])
    foreign = re.compile(r"TIDEMARK_|DBT_|SPARK_")
    env = {name: value for name, value in os.environ.items() if not foreign.match(name)}
    env |= {"TERM": "xterm", "COLUMNS": "160", "TIDEMARK_HOME": str(tmp_path / "home")}
    env["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
    shell = Terminal([sys.executable, "-m", "tidemark.cli", "shell"], cwd=root, env=env)
    try:
        shell.until("Ctrl-D ends")
        shell.type("run --business-date 2026-03-01\r")
        assert "done" in shell.until(r"2026-03-01 +(done|FAILED).*")
        shell.until(r"shop>")
        shell.type("sql select count(*) from range(200000000000) where hash(id) % 7 = 3\r")
        shell.until("asking Spark")
        time.sleep(3)
        shell.type("\x03")
        shell.until("interrupted")
        # what is saved meanwhile is told; the next commands find Spark as it was
        yaml = root / "models" / "_models.yml"
        yaml.write_text(yaml.read_text() + "  # saved\n")
        shell.until(r"models/_models.yml changed: read in", 60)
        shell.type("sql select 40 + count(*) as n from customers\r")
        shell.until(r"540")
        shell.type("\x04")
        assert shell.process.wait(60) == 0
    finally:
        shell.process.send_signal(signal.SIGKILL)
        shell.process.wait()
    assert "+run --business-date" in (tmp_path / "home" / "shell_history").read_text()
