"""A warm process that loads date after date, and can be frozen within a load: what lies there is what a kill would leave."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .killing import Flow


@dataclass
class Counted:
    """How often a sign was found, up to a place of its file."""

    times: int = 0
    place: int = 0


class Session:
    """Processes that one has started in a session of its own; Python's workers have a group of their own in it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def freeze(self) -> None:
        """Stop every process of the session, with all its threads."""
        while not self._is_frozen():
            # a thread that starts a process waits for it, and is not stopped before that goes on
            self.thaw()
            time.sleep(0.005)

    def _is_frozen(self) -> bool:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            members = list(_session(self.process.pid))
            for member in members:
                _signal(member, signal.SIGSTOP)
            is_stopped = all(_is_stopped(member) for member in members)
            if is_stopped and members == list(_session(self.process.pid)):
                return True
            time.sleep(0.002)
        return False

    def thaw(self) -> None:
        for member in _session(self.process.pid):
            _signal(member, signal.SIGCONT)

    def kill(self) -> None:
        # children first: a stopped group whose last parent dies is continued, and goes on under `nohup`
        for member in reversed(list(_session(self.process.pid))):
            _signal(member, signal.SIGKILL)
        self.process.wait()
        while list(_session(self.process.pid)):
            time.sleep(0.01)


class Loader(Session):
    """`tidemark shell` in a session of its own, with a home of its own, which can be frozen."""

    def __init__(self, project: Any, home: Path) -> None:
        self.home, self.schema = home, home / "warehouse" / f"{project.schema}.db"
        self.said, self.log = home / "stdout", home / "dbt.log"
        home.mkdir()
        places = ["--project-dir", project.root, "--profiles-dir", project.root, "--target", "ci"]
        own = {
            "TIDEMARK_HOME": home,
            "TIDEMARK_SCHEMA": project.schema,
            "TIDEMARK_DRIVER_MEMORY": "1g",
            "DBT_LOG_PATH": home,
            "DBT_TARGET_PATH": home / "target",
            # one file: what is told there is counted
            "DBT_LOG_FILE_MAX_BYTES": "0",
            "COLUMNS": "200",
        }
        process = subprocess.Popen(
            [Path(sys.executable).with_name("tidemark"), "shell", *map(str, places)],
            env={**os.environ, **{name: str(value) for name, value in own.items()}},
            cwd=project.root,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=self.said.open("wb"),
            stderr=(home / "stderr").open("wb"),
        )
        super().__init__(process)
        self.loads = self.models = 0
        self._counted: dict[str, Counted] = {}

    def begin(self, flow: Flow, number: int, engine: str) -> None:
        """Have a date loaded, and wait until its first model has begun."""
        assert self.process.stdin is not None
        told = json.dumps({"tidemark__engine": engine})
        self.process.stdin.write(
            f"run --vars '{told}' --business-date {flow.day(number)}\n".encode()
        )
        self.process.stdin.flush()
        begun, self.loads, self.models = self.models, self.loads + 1, self.models + flow.models
        while self._count(self.log, r"START sql \w+ model") <= begun:
            self._assert_alive()
            time.sleep(0.002)

    def at_work(self) -> bool:
        """Whether a model of the load is not done."""
        return self._count(self.log, r"OK created sql \w+ model") < self.models

    def wait(self) -> None:
        """Wait until the command has ended."""
        while self._count(self.said, r"(?m)^ *killed +success") < self.loads:
            self._assert_alive()
            time.sleep(0.005)

    def _assert_alive(self) -> None:
        assert self.process.poll() is None, (self.home / "stderr").read_text()[-3000:]

    def _count(self, file: Path, sign: str) -> int:
        """How often a sign is in a file that grows; only what is new is read."""
        known = self._counted.setdefault(sign, Counted())
        if file.exists() and file.stat().st_size > known.place:
            with file.open("rb") as opened:
                opened.seek(known.place)
                whole, line, _ = opened.read().rpartition(b"\n")
            known.place += len(whole + line)
            known.times += len(re.findall(sign.encode(), whole))
        return known.times


def _session(leader: int) -> Iterator[int]:
    """The processes of a session that live: Python's workers have a group of their own."""
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda folder: int(folder.name)):
        state, _, _, session = _stat(folder)[:4] or ("", "", "", "")
        if session == str(leader) and state not in "ZX":
            yield int(folder.name)


def _stat(folder: Path) -> list[str]:
    """State, parent, group, session, …"""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_stopped(member: int) -> bool:
    threads = [_stat(folder) for folder in Path(f"/proc/{member}/task").glob("*")]
    return all(stat[0] in "TZX" for stat in threads if stat)


def _signal(member: int, number: signal.Signals) -> None:
    try:
        os.kill(member, number)
    except ProcessLookupError:
        pass
