"""Tables whose answers are kept until they change: a page asks the same again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tidemark.read.project import KnownProject
from tidemark.read.tables import TableNotReadable, Tables, is_local, log_folder

# a reading that took a second is not done again for twenty, whatever is written meanwhile: watching
# takes a twentieth of a core at most
_PATIENCE = 20.0
# what takes less is always read anew
_CHEAP_SECONDS = 0.25
# object storage is not asked more often whether something has changed
_REMOTE_SECONDS = 10.0

Stamp = tuple[Any, ...]
_Answer = TypeVar("_Answer")


def stamp_of(path: str) -> Stamp:
    """Return what changes when a table on this machine gets a commit."""
    log = log_folder(Path(path))
    try:
        # a clock may stand still between two commits; names do not
        names = [entry.name for entry in log.iterdir()]
        return (log.stat().st_mtime_ns, len(names), max(names, default=""))
    except OSError:
        return ()


@dataclass
class _Kept:
    stamp: Stamp
    value: Any
    made: float
    cost: float
    is_used: bool = True


class KeptTables(Tables):
    """Tables of a project that read again only what has changed.

    It is for one thread at a time. What readings return is not to be written to.

    Args:
        project: The project.
        clock: Tests have their own.
    """

    def __init__(
        self, project: KnownProject, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        super().__init__(project)
        self._clock = clock
        self._kept: dict[tuple[str, Hashable], _Kept] = {}
        self._version: int | None = None
        self._asked_at: float | None = None
        self.due: float | None = None
        """When what had changed and was not read anew is; None if there is no such thing."""

    def rows(
        self, path: str, select: str, where: str = "true", columns: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query; see Tables."""
        return self._ask(
            path,
            ("rows", select, where),
            lambda: super(KeptTables, self).rows(path, select, where, columns),
        )

    def columns(self, path: str) -> list[str]:
        """Return the names of a table's columns."""
        return self._ask(path, "columns", lambda: super(KeptTables, self).columns(path))

    def fields(self, path: str, column: str) -> list[str]:
        """Return the names of the fields of a column that is a struct."""
        return self._ask(
            path, ("fields", column), lambda: super(KeptTables, self).fields(path, column)
        )

    def count(self, path: str) -> int | None:
        """Return how many rows a table has, as its files tell; None if they do not."""
        return self._ask(path, "count", lambda: super(KeptTables, self).count(path))

    def size(self, path: str, *, by_partition: bool = False) -> tuple[int, int, int]:
        """Return bytes and files of a table, and how many of these `compact` would join."""
        return self._ask(
            path, "size", lambda: super(KeptTables, self).size(path, by_partition=by_partition)
        )

    def stamp(self, path: str) -> Stamp:
        """Return what changes when a table gets a commit.

        For tables in object storage it is the version of `tidemark_commits`, which has each load.
        """
        if is_local(path):
            return stamp_of(path)
        now = self._clock()
        if self._asked_at is None or now - self._asked_at >= _REMOTE_SECONDS:
            self._asked_at = now
            try:
                self._version = self.open(self.commits()).version()
            except TableNotReadable:
                self._version = None
        return (self._version,)

    @property
    def is_due(self) -> bool:
        """Whether something can be read anew that could not be before."""
        return self.due is not None and self._clock() >= self.due

    def forget_unused(self) -> None:
        """Forget what nobody asked for since this was called last."""
        self._kept = {key: one for key, one in self._kept.items() if one.is_used}
        for one in self._kept.values():
            one.is_used = False

    def _ask(self, path: str, question: Hashable, read: Callable[[], _Answer]) -> _Answer:
        # before it is read: what is written meanwhile is read the next time
        stamp = self.stamp(path)
        begun = self._clock()
        kept = self._kept.get((path, question))
        if kept is not None:
            kept.is_used = True
            known: _Answer = kept.value
            if kept.stamp == stamp:
                return known
            until = kept.made + _PATIENCE * kept.cost
            if kept.cost >= _CHEAP_SECONDS and begun < until:
                self.due = until if self.due is None else min(self.due, until)
                return known
        value = read()
        ended = self._clock()
        self._kept[path, question] = _Kept(stamp, value, ended, ended - begun)
        return value
