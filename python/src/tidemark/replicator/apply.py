"""Applying what has landed: models of new tables, dbt's runs, and what they amount to."""

from __future__ import annotations

import dataclasses
import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidemark.capture.config import CaptureConfig
from tidemark.capture.files import event_files
from tidemark.errors import ConfigError, TidemarkError
from tidemark.printable import counted
from tidemark.project import dbt_folders, model_folders
from tidemark.replicator.backlog import Backlog, read_backlog
from tidemark.replicator.models import known_models, model_folder, write_models
from tidemark.replicator.settings import Operation
from tidemark.replicator.state import ReplicatorState, TableState
from tidemark.rules.event_roles import NO_COLUMNS
from tidemark.run.invoke import Invoker, Outcome
from tidemark.run.options import RunOptions

# seconds that an application may take before it tells where it is
_NOTIFY_AFTER = 20.0
# operations of Debezium → columns of tidemark_replication
_OPERATIONS = {
    "c": "inserts",
    "u": "updates",
    "d": "deletes",
    "r": "reads",
    "t": "truncates",
    "ddl": "ddl",
}


class ApplyError(TidemarkError):
    """A table could not be applied, and the others are not to go on without it."""


class Applier:
    """Applies the landed events of one source.

    Args:
        config: The source.
        operation: How it is operated.
        state: What is known of its tables, open.
        options: How dbt is called.
        say: Is told what goes on.
        run: Calls dbt; tests have their own.
    """

    def __init__(
        self,
        config: CaptureConfig,
        operation: Operation,
        state: ReplicatorState,
        options: RunOptions,
        say: Callable[[str], None],
        run: Callable[[list[str]], Outcome] | None = None,
    ) -> None:
        self._config = config
        self._operation = operation
        self._state = state
        self._options = options
        self._say = say
        self._run = run or self._dbt
        self._invoker: Invoker | None = None
        self._seen: list[tuple[str, int]] = []
        self._backlog: dict[str, Backlog] = {}
        self._read = 0
        self._notified_at = 0.0

    @property
    def backlog(self) -> dict[str, Backlog]:
        """What has landed and is not applied, by table, as of the last look."""
        return self._backlog

    def look(self) -> int:
        """Look at what has landed; return the number of the last file."""
        files = event_files(self._state.landing) if self._state.landing.is_dir() else []
        last = files[-1][0] if files else 0
        if last > self._read:
            after = {
                table: max(state.applied_file, self._read)
                for table, state in self._state.tables.items()
            }
            found = read_backlog(self._config, self._state.landing, after, self._read, last)
            for table, more in found.items():
                self._state.tables.setdefault(table, TableState(applied_file=self._read))
                known = self._backlog.setdefault(table, Backlog())
                known.events += more.events
                known.bytes += more.bytes
                known.times.update(more.times)
                known.key = more.key if known.key is None else known.key
            self._read = last
        return last

    def apply(self) -> bool:
        """Apply what has landed of every table that is due; return whether all succeeded.

        Raises:
            ApplyError: A table failed, and `on_failure` is `stop`.
            ConfigError: The project cannot be parsed.
        """
        last = self.look()
        for table, state in self._state.tables.items():
            if table not in self._backlog:
                # nothing of it has landed: all that did has been applied
                state.applied_file = max(state.applied_file, last)
        now = self._state.clock()
        due = {
            table: backlog
            for table, backlog in self._backlog.items()
            if self._state.tables[table].is_due(now)
        }
        models = self._models(due) if due else {}
        if not models:
            return self._is_well
        events = sum(due[table].count for table in models)
        self._say(f"applying {counted(events, 'event')} of {counted(len(models), 'table')} …")
        self._notified_at = time.monotonic()
        outcome = self._run(sorted(name for names in models.values() for name in names))
        if outcome.interrupted:
            raise KeyboardInterrupt
        rows = [self._note(table, models[table], outcome, last) for table in due if table in models]
        self._state.save()
        self._record(rows)
        failed = [row for row in rows if row["error"]]
        for row in failed:
            self._say(f"{row['table_name']}: {row['error']}")
        if failed and self._operation.on_failure == "stop":
            names = ", ".join(row["table_name"] for row in failed)
            raise ApplyError(
                f"{names} could not be applied, and on_failure is stop. Mend the cause, "
                "then start again"
            )
        return self._is_well

    @property
    def _is_well(self) -> bool:
        return not any(table.last_error for table in self._state.tables.values())

    def _models(self, due: dict[str, Backlog]) -> dict[str, list[str]]:
        """Return the models of each table, the first one written where there is none."""
        project = self._options.project_dir
        new = {table: backlog.key or [] for table, backlog in due.items() if backlog.has_rows}
        folder = model_folder(project, self._config)
        known = known_models(folder)
        written = write_models(folder, self._config, self._operation, new, known)
        for table, model in written.items():
            self._say(f"the table {table} is new: wrote {model.path.relative_to(project)}")
            # whatever else tells that the project has changed
            self._seen = []
        known |= written
        for table in due.keys() - known.keys() - new.keys():
            # nothing ever came of which there could be a copy: there is nothing to do
            del self._backlog[table]
        models = {
            table: [model.name for model in known[table].all] for table in due if table in known
        }
        for table, (first, *_) in models.items():
            self._state.tables[table].model = first
        return models

    def _note(self, table: str, models: list[str], outcome: Outcome, last: int) -> dict[str, Any]:
        state, backlog, now = self._state.tables[table], self._backlog[table], self._state.clock()
        results = {one.name: one for one in outcome.results}
        seconds = sum(results[name].seconds or 0 for name in models if name in results)
        error = None
        for name in models:
            succeeded = name in results and results[name].status == "success"
            error = error or outcome.failures.get(name)
            if error is None and not succeeded:
                error = (
                    "\n".join(outcome.errors)
                    or "dbt did not run the model: check whether it is disabled"
                )
        if error is not None and not backlog.has_rows and NO_COLUMNS in error:
            # the table is empty, and there is no copy that could have rows from before
            error = None
        first = state.applied_file
        row = {
            "source": self._config.source,
            "table_name": table,
            "model": models[0],
            "applied_at": _timestamp(now),
            "state": "FAILING" if error else "REPLICATING",
            "first_file": first,
            "last_file": last,
            **{name: backlog.events[operation] for operation, name in _OPERATIONS.items()},
            "bytes": backlog.bytes,
            "seconds": seconds or None,
            "error": error,
        }
        if error is not None:
            state.failed(error, now, self._operation.retry_for)
            row |= dict.fromkeys([*_OPERATIONS.values(), "bytes"], 0)
        else:
            ages = backlog.times.ages(now * 1000, (0.5, 0.95, 0.99))
            state.latency = [age / 1000 for age in ages]
            if seconds:
                state.throughput = backlog.count / seconds
            row |= dict(
                zip(("latency_p50", "latency_p95", "latency_p99"), state.latency, strict=False)
            )
            for operation in _OPERATIONS.keys() & backlog.events.keys():
                state.events[operation] = state.events.get(operation, 0) + backlog.events[operation]
            state.bytes += backlog.bytes
            state.succeeded(last, now)
            del self._backlog[table]
        return {**row, "failures": state.failures}

    # --- dbt

    def _dbt(self, models: list[str]) -> Outcome:
        """Run models, in one process with one Spark session as long as this process lives."""
        options = dataclasses.replace(self._options, select=models)
        seen = _signature(self._options.project_dir)
        if self._invoker is None or seen != self._seen:
            self._invoker = None
            self._invoker = Invoker.quiet(
                options,
                "the dbt project cannot be parsed, so nothing was applied. Run `dbt "
                "parse` to see why",
            )
            self._seen = seen
        self._invoker.options = options
        return self._invoker.run_date(None, full_refresh=False, progress=self._progress)

    def _progress(self, model: str) -> None:
        """Tell where a long application is, and say nothing of a short one."""
        if time.monotonic() - self._notified_at >= _NOTIFY_AFTER:
            self._notified_at = time.monotonic()
            self._say(f"applying {model} …")

    def _record(self, rows: list[dict[str, Any]]) -> None:
        if self._invoker is not None:
            try:
                self._invoker.ask("record_replication", {"rows": rows}, "tidemark recorded ")
            except ConfigError as error:
                # figures only: what was applied is applied
                self._say(f"tidemark_replication could not be written: {error}")


def _timestamp(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def _signature(project: Path) -> list[tuple[str, int]]:
    """What tells that the project has changed since it was parsed."""
    folders = dbt_folders(project)
    if folders is None:
        # one is Jinja: what can be known without dbt
        folders = {"": [*model_folders(project), project / "macros", project / "tests"]}
    files = [
        project / "dbt_project.yml",
        *(file for paths in folders.values() for path in paths for file in path.rglob("*")),
    ]
    return [(str(file), file.stat().st_mtime_ns) for file in sorted(files) if file.is_file()]
