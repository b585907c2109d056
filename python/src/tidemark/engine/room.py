"""The share of a machine that a task has: cores, memory, a folder, a DuckDB in a warm process."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4
from zipimport import zipimporter

Found = TypeVar("Found")


@dataclass(frozen=True)
class Room:
    """What a task may take of its machine.

    Args:
        threads: How many cores.
        folder: Where it puts what memory does not hold; None: where Spark's worker keeps the like.
            An attempt at the task has a folder of its own, of this name with more behind it,
            removed at its end.
        memory: How many bytes of memory; None: a quarter of what the machine has.
    """

    threads: int
    folder: str | None
    memory: int | None = None


def import_engine(_: object = None) -> None:
    """Import what a task needs, which a new process takes a second for."""
    import duckdb

    duckdb.connect().close()
    for module in ("enriched.task", "events.task"):
        import_module(f"tidemark.engine.{module}")


def attempt(task: Callable[[Room], Found], room: Room) -> Found:
    """Do a task in one of Spark's workers.

    A worker that is used again reads the directories of all archives on its path anew before each
    task, for a tenth of a second: what knows of them is forgotten, until something is imported.
    """
    try:
        return task(room)
    finally:
        for path, finder in list(sys.path_importer_cache.items()):
            if isinstance(finder, zipimporter):
                del sys.path_importer_cache[path]


@contextmanager
def connection(room: Room) -> Iterator[Any]:
    """Open DuckDB for one attempt at a task, and remove what it put on disk at the end."""
    import duckdb

    # Spark repeats a task whose worker died, and may try a slow one twice at a time
    folder = Path(f"{room.folder or _scratch()}-{uuid4().hex}")
    folder.mkdir(parents=True)
    db = duckdb.connect(
        config={
            "threads": room.threads,
            "memory_limit": f"{room.memory or _memory() // 4}B",
            "temp_directory": str(folder),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
        }
    )
    try:
        # global: a cursor of the connection would go by the zone of the machine
        db.execute("set global TimeZone = 'UTC'")
        yield db
    finally:
        db.close()
        shutil.rmtree(folder, ignore_errors=True)


def _scratch() -> str:
    """Return how the names of folders begin where Spark's worker puts what memory does not hold."""
    folders = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
    return str(Path(folders.split(",")[0]) / "engine")


def _memory() -> int:
    """Return the bytes of memory that the machine has, or its container."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([there, *memory_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def memory_limits(groups: Path, root: Path) -> list[int]:
    """Return the limits in bytes that Linux sets to a process by its control groups.

    Args:
        groups: The file that names the groups of the process, as proc(5) has it.
        root: Where the groups lie, of both versions.
    """
    limits = []
    for line in groups.read_text().splitlines() if groups.exists() else []:
        _, controllers, group = line.split(":", 2)
        # the first version has a tree for each controller, the second one for all
        if controllers not in ("", "memory"):
            continue
        tree, name = root / controllers, "memory.limit_in_bytes" if controllers else "memory.max"
        # a container sees its own group as the root, which it may not be called in the file
        for parts in (Path(group), *Path(group).parents):
            with suppress(OSError, ValueError):
                limits.append(int((tree / str(parts).lstrip("/") / name).read_text()))
    return limits
