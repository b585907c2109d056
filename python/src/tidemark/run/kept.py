"""Projects that this process has parsed: each is good until one of its files changes.

For commands that follow each other in one process, such as those of the shell.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tidemark.run.files import fingerprint
from tidemark.run.options import RunOptions

# of other vars or targets, of which a parsed project each is kept
_MOST = 4


@dataclass(frozen=True)
class Parsed:
    """A parsed project.

    Attributes:
        manifest: dbt's.
        reusable: Whether it serves every business date.
        config: dbt's configuration of it.
    """

    manifest: Any
    reusable: bool
    config: Any


class _Kept:
    """What is kept, by fingerprint, the one last used at the end."""

    def __init__(self) -> None:
        self.depth = 0
        self.projects: dict[str, Parsed] = {}


_kept = _Kept()


@contextmanager
def projects_kept() -> Iterator[None]:
    """Keep the projects that are parsed in here, until the outermost of these ends."""
    _kept.depth += 1
    try:
        yield
    finally:
        _kept.depth -= 1
        if not _kept.depth:
            forget_projects()


def forget_projects() -> None:
    """Have every project parsed anew by who asks next."""
    _kept.projects.clear()


def mark_of(options: RunOptions) -> str | None:
    """Return what keep() and kept() know a project by as it is now; none if nothing is kept."""
    return fingerprint(options, seeds=True) if _kept.depth else None


def keep(mark: str | None, parsed: Parsed) -> None:
    """Keep a project.

    Args:
        mark: Of before it was parsed: what changes meanwhile is to be noticed.
        parsed: The project.
    """
    if mark is not None:
        _kept.projects.pop(mark, None)
        _kept.projects[mark] = parsed
        while len(_kept.projects) > _MOST:
            del _kept.projects[next(iter(_kept.projects))]


def kept(mark: str | None) -> Parsed | None:
    """Return a project that was parsed as it is now."""
    found = _kept.projects.pop(mark, None) if mark is not None else None
    if mark is not None and found is not None:
        _kept.projects[mark] = found
    return found
