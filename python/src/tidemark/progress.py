"""Runs that are at work: a small file for each process, which it writes and others read.

It has the names of nodes, their states and times; no value of any row. A process holds a lock while
its file counts, so that the file of one that was killed is known to be dead.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tidemark.home import Home


@dataclass(frozen=True)
class NodeProgress:
    """A node of dbt that a run has begun.

    Attributes:
        name: What the project calls it.
        kind: The materialization of a model, else what it is: test, seed, snapshot.
        relation: schema.table; None of a test.
        state: running, or how it ended: success, error, skipped, pass, fail, warn …
        started_at: When it began.
        ended_at: When it ended; None while it runs.
    """

    name: str
    kind: str
    relation: str | None
    state: str
    started_at: dt.datetime
    ended_at: dt.datetime | None = None


@dataclass(frozen=True)
class RunProgress:
    """A run that is at work.

    Attributes:
        pid: Its process.
        invocation_id: dbt's.
        command: dbt's: run, build, test …
        business_date: As it was given.
        started_at: When it began.
        total: Of how many nodes.
        nodes: Those that it has begun, in that order.
    """

    pid: int
    invocation_id: str
    command: str
    business_date: str | None
    started_at: dt.datetime
    total: int
    nodes: tuple[NodeProgress, ...]


class ProgressWriter:
    """Keeps the file of this process. Threads may call it; whatever fails here stays here.

    Example:
        >>> writer = ProgressWriter(tidemark_home(), "run", "2026-03-04")
        >>> writer.open("5a4b…", total=12)
        >>> writer.begin("model.shop.orders", node)
        >>> writer.end("model.shop.orders", "success")
        >>> writer.close()

    Args:
        home: Where the file lies.
        command: dbt's.
        business_date: As it was given.
    """

    def __init__(self, home: Home, command: str, business_date: str | None) -> None:
        self._folder = home.progress
        self._command = command
        self._business_date = business_date
        self._invocation = ""
        self._started_at: dt.datetime | None = None
        self._total = 0
        self._nodes: dict[str, NodeProgress] = {}
        self._turn = threading.Lock()
        # what begins in one thread of dbt may end in another
        self._lock = FileLock(self._folder / f"{os.getpid()}.lock", thread_local=False)

    @property
    def _path(self) -> Path:
        return self._folder / f"{os.getpid()}.json"

    def open(self, invocation_id: str, total: int) -> None:
        """Note that a run has begun.

        Args:
            invocation_id: dbt's.
            total: How many nodes the run has.
        """
        with self._turn, suppress(OSError, Timeout):
            self._invocation, self._total = invocation_id, total
            self._started_at = dt.datetime.now(dt.UTC)
            if not self._lock.is_locked:
                self._folder.mkdir(parents=True, exist_ok=True)
                _remove_dead(self._folder)
                self._lock.acquire(timeout=1)
            self._write()

    def begin(self, key: str, node: NodeProgress) -> None:
        """Note that a node has begun; nothing, if the run was not noted.

        Args:
            key: What it is called by `end`.
            node: The node.
        """
        with self._turn, suppress(OSError):
            if self._lock.is_locked:
                self._nodes[key] = node
                self._write()

    def end(self, key: str, state: str) -> None:
        """Note that a node has ended; nothing, if it never began."""
        with self._turn, suppress(OSError):
            node = self._nodes.get(key)
            if node is not None and self._lock.is_locked:
                ended = {"state": state, "ended_at": dt.datetime.now(dt.UTC)}
                self._nodes[key] = NodeProgress(**{**asdict(node), **ended})
                self._write()

    def close(self) -> None:
        """Note that the run is over."""
        with self._turn, suppress(OSError):
            if self._lock.is_locked:
                self._path.unlink(missing_ok=True)
                Path(self._lock.lock_file).unlink(missing_ok=True)
                self._lock.release()
            self._nodes.clear()

    def _write(self) -> None:
        progress = RunProgress(
            os.getpid(),
            self._invocation,
            self._command,
            self._business_date,
            self._started_at or dt.datetime.now(dt.UTC),
            self._total,
            tuple(self._nodes.values()),
        )
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(asdict(progress), default=dt.datetime.isoformat), "utf-8")
        new.replace(self._path)


def read_progress(home: Home) -> list[RunProgress]:
    """Return the runs that are at work, the first one first."""
    found = []
    for path in _files(home.progress):
        if not _is_dead(path):
            # a file that has just gone, or that a newer Tidemark wrote
            with suppress(OSError, ValueError, TypeError, KeyError):
                found.append(_progress(json.loads(path.read_text(encoding="utf-8"))))
    return sorted(found, key=lambda one: one.started_at)


def _progress(content: dict[str, Any]) -> RunProgress:
    nodes = tuple(NodeProgress(**_times(node)) for node in content["nodes"])
    return RunProgress(**{**_times(content), "nodes": nodes})


def _times(content: dict[str, Any]) -> dict[str, Any]:
    return {
        name: dt.datetime.fromisoformat(value) if name.endswith("_at") and value else value
        for name, value in content.items()
    }


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def _remove_dead(folder: Path) -> None:
    for path in _files(folder):
        if _is_dead(path):
            path.unlink(missing_ok=True)
            path.with_suffix(".lock").unlink(missing_ok=True)


def _is_dead(path: Path) -> bool:
    """Say whether the process of a file is gone: nobody holds its lock."""
    place = path.with_suffix(".lock")
    if not place.exists():
        return True
    lock = FileLock(place)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return False
    lock.release()
    return True
