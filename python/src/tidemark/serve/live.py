"""What the page shows, as it is now: the report, runs at work, and answers to questions."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from tidemark.errors import ConfigError
from tidemark.home import Home, tidemark_home
from tidemark.progress import read_progress
from tidemark.read.cli import statuses_of
from tidemark.read.commits import read_commits
from tidemark.read.past import BESIDE, rows_as_of
from tidemark.read.project import Entity, KnownProject, known_project
from tidemark.read.rejects import reject_rows
from tidemark.read.tables import Tables, log_folder
from tidemark.read.versions import versions_of
from tidemark.report.collect import collected, history_of
from tidemark.report.data import Report
from tidemark.run.files import fingerprint
from tidemark.run.options import RunOptions
from tidemark.serve.cells import cell, cells
from tidemark.serve.log import log_tail
from tidemark.serve.plans import open_plans
from tidemark.serve.replicators import Replicators
from tidemark.serve.tables import KeptTables

# the files of a project are not looked at more often
_LOOK_EVERY = 5.0
_PAGE_ROWS = 50
_MOST_VERSIONS = 500


class Live:
    """A project that is watched. Threads may call it.

    Args:
        project: As it was parsed when the page was first asked for.
        options: How it is parsed again when one of its files changes.
        days: How far back loads and changes are shown.
        log: dbt's log.
    """

    def __init__(self, project: KnownProject, options: RunOptions, days: int, log: Path) -> None:
        self._options = options
        self._days = days
        self._log = log
        self._project = project
        self._tables = KeptTables(project)
        self._parsed = self._looked = fingerprint(options)
        self._looked_at = time.monotonic()
        self._problem: str | None = None
        self._replicators = Replicators(project.root)
        self._turn = threading.Lock()
        self._report: tuple[str, Report] | None = None

    @property
    def home(self) -> Home:
        """Where runs write."""
        return tidemark_home()

    # --- the report

    def mark(self) -> str:
        """Return what changes whenever the report may: tables, failures, files, the minute."""
        tables = Tables(self._project)
        parts: list[Any] = [self._fingerprint(), int(time.time() / 60), _mtime(self.home.failures)]
        parts += [self._tables.is_due, self._tables.stamp(tables.commits())]
        for entity in self._project.entities.values():
            for side in ("", "__log", "__rejects"):
                parts.append(_mtime(log_folder(Path(tables.of(entity, side)))))
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    def report(self) -> tuple[str, Report]:
        """Return the report as it is now, with its mark."""
        mark = self.mark()
        with self._turn:
            if self._report is None or self._report[0] != mark:
                self._parse()
                self._tables.due = None
                # the mark comes first: what is written meanwhile is seen the next time
                self._report = (self.mark(), self._collected())
            return self._report

    def keys(self) -> dict[str, list[str]]:
        """Return the key columns of the entities whose rows can be looked up."""
        return {
            name: list(entity.key)
            for name, entity in self._project.entities.items()
            if entity.kind == "cdc" and entity.key
        }

    def _collected(self) -> Report:
        project, tables = self._project, self._tables
        commits = read_commits(tables)
        statuses = statuses_of(project, tables, project.entities.values(), commits)
        now = dt.datetime.now(dt.UTC)
        found = collected(project, tables, statuses, commits, now, self._days)
        tables.forget_unused()
        return found

    def _fingerprint(self) -> str:
        if time.monotonic() - self._looked_at > _LOOK_EVERY:
            self._looked, self._looked_at = fingerprint(self._options), time.monotonic()
        return self._looked

    def _parse(self) -> None:
        """Parse the project again if one of its files has changed; keep it if it has mistakes."""
        if self._parsed == self._looked:
            return
        self._parsed = self._looked
        try:
            self._project = known_project(self._options, Console(quiet=True, stderr=True))
            self._problem = None
        except ConfigError as error:
            self._problem = (
                f"{error}. This page shows the project as it was before its files changed"
            )
        self._tables = KeptTables(self._project)

    # --- what goes on

    def now(self) -> dict[str, Any]:
        """Return what is asked for every few seconds: it reads no table."""
        return {
            "now": dt.datetime.now(dt.UTC),
            "mark": self.mark(),
            "problem": self._problem,
            "runs": [asdict(run) for run in read_progress(self.home)],
            "log": {"path": str(self._log), "lines": [asdict(one) for one in log_tail(self._log)]},
            "plans": open_plans(),
            "replicators": self._replicators.seen(),
        }

    @property
    def replicators(self) -> Replicators:
        """The sources that are mirrored."""
        return self._replicators

    # --- questions

    def versions(self, name: str, key: Sequence[str]) -> dict[str, Any]:
        """Return every version of a row.

        Args:
            name: The entity.
            key: The values of its key columns.

        Raises:
            ConfigError: There is no such entity, or its key has other columns.
            TableNotReadable: Only Spark reads its log.
        """
        entity = self._entity(name)
        found = versions_of(Tables(self._project), entity, key)
        names = list(dict.fromkeys(column for one in found for column in one.values))
        last = found[-_MOST_VERSIONS:]
        return {
            "history": history_of(entity, key, last).model_dump(mode="json"),
            "total": len(found),
            "columns": names,
            "rows": cells([one.values for one in last], names),
        }

    def rows(self, name: str, at: str, begins: str, offset: int) -> dict[str, Any]:
        """Return a page of an entity's rows as it stood.

        Args:
            name: The entity.
            at: A date, `commit` and a number, or nothing for now.
            begins: Only rows of which a key column begins so.
            offset: How many rows are left out at the beginning.

        Raises:
            ConfigError: There is no such entity or moment.
            TableNotReadable: Only Spark reads its log.
        """
        entity = self._entity(name)
        moment = moment_of(at)
        found = rows_as_of(
            Tables(self._project), entity, moment, begins=begins, offset=offset, limit=_PAGE_ROWS
        )
        columns = [*found.columns, *BESIDE]
        return {
            "columns": columns,
            "rows": cells(found.rows, columns),
            "total": found.total,
            "offset": offset,
            "limit": _PAGE_ROWS,
        }

    def rejects(self, name: str, is_all: bool, offset: int) -> dict[str, Any]:
        """Return a page of the rows that an entity put to quarantine.

        Args:
            name: The entity.
            is_all: Also those that are mended or undone.
            offset: How many are left out at the beginning.

        Raises:
            ConfigError: There is no such entity.
            TableNotReadable: Only Spark reads them.
        """
        entity = self._entity(name)
        tables = Tables(self._project)
        own = read_commits(tables, [entity.relation])
        rows, total = reject_rows(tables, entity, own, is_all, _PAGE_ROWS, offset)
        columns = list(rows[0]) if rows else []
        return {
            "columns": columns,
            "rows": cells(rows, columns),
            "total": total,
            "offset": offset,
            "limit": _PAGE_ROWS,
        }

    def _entity(self, name: str) -> Entity:
        try:
            return self._project.entities[name]
        except KeyError:
            raise ConfigError(
                f"there is no entity named {cell(name)!r}. Choose one of the list"
            ) from None


def moment_of(text: str) -> dt.date | int | None:
    """Return what a moment means: a business date, the number of a commit, or None for now.

    Example:
        >>> moment_of("2026-03-04"), moment_of("commit 12"), moment_of("")
        (datetime.date(2026, 3, 4), 12, None)

    Raises:
        ConfigError: It is neither.
    """
    if not text:
        return None
    commit = re.fullmatch(r"commit ([0-9]{1,18})", text)
    if commit:
        return int(commit[1])
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"a moment must be a date such as 2026-03-04, or a commit, found: {text[:40]!r}"
        ) from None


def _mtime(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return 0
