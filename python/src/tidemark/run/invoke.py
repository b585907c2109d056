"""Calling dbt, many times in one process: parse once, run each date, read what it did."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from tidemark.errors import ConfigError
from tidemark.hashing.recipe import PEPPER_VARIABLE
from tidemark.project import NOT_PARSED
from tidemark.read.near_misses import describe_misses, near_misses
from tidemark.run.dates import extract_path
from tidemark.run.dbt_messages import answers_in, counts_of, operation_error, without_stacks
from tidemark.run.kept import Parsed, keep, kept, mark_of
from tidemark.run.nodes import (
    dated_location,
    fresh_copy,
    is_entity,
    is_python,
    needs_pepper,
    some_models,
    unmatched_reason,
)
from tidemark.run.options import RunOptions, command_line, common_options, selection
from tidemark.run.report import ModelResult

_MESSAGES = {"JinjaLogInfo", "PrintEvent"}
# how the run-operation show_changes marks the line that carries its rows
_CHANGES = "tidemark changes "
# and record_commit() the line with the counts of a commit
_COMMIT = "tidemark commit "
# the methods of dbt-spark's own adapter that have nowhere to run Python
_NO_PYTHON = ("thrift", "session")
# criteria of dbt that fit what an earlier run or another state makes of the project
_OF_STATE = re.compile(r"@?(?:\d*\+)?(?:state|result|source_status):")


@dataclass
class Outcome:
    """What one invocation did.

    Attributes:
        success: dbt's verdict.
        started: False if dbt gave up before it ran a node.
        interrupted: Ctrl-C.
        results: A row per model.
        errors: A message per failure.
        updated: The entities with updates.
        failures: The message of each node that failed or was skipped, by its name.
    """

    success: bool
    started: bool
    interrupted: bool = False
    results: list[ModelResult] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


class Invoker:
    """Runs dbt for one set of options."""

    def __init__(self, options: RunOptions, talk: Console) -> None:
        self._options = options
        self._talk = talk
        self._manifest: Any = None
        self._reusable = False
        self._config: Any = None
        self._said: set[str] = set()
        self._commits: list[str] = []
        self._muted = False
        self._dated: list[tuple[Any, str]] = []
        self._progress: Callable[[str], None] | None = None

    @classmethod
    def quiet(cls, options: RunOptions, refusal: str = NOT_PARSED) -> Invoker:
        """Return one that prints nothing, with the project parsed.

        Raises:
            ConfigError: The project cannot be parsed; the message is the refusal.
        """
        invoker = cls(options, Console(stderr=True, quiet=True))
        if not invoker.parse():
            raise ConfigError(refusal)
        return invoker

    def over(self, manifest: Any, options: RunOptions) -> Invoker:
        """Return one that runs another manifest, made of this one's, without parsing again.

        Args:
            manifest: dbt's.
            options: What is asked of it.
        """
        invoker = Invoker(options, self._talk)
        invoker._muted = not options.verbose
        invoker._take(Parsed(manifest, True, self._config))
        return invoker

    def compiled(self, inline: str) -> str:
        """Return what dbt makes of a text with Jinja.

        Raises:
            ConfigError: It has an error.
        """
        command = ["compile", "--inline", inline, *common_options(self._options, None)]
        raw = self._invoke(command, manifest=fresh_copy(self._manifest))
        # what the options name, such as another profile, is known by now
        self._config = _config_in_use()
        results = list(getattr(raw.result, "results", None) or [])
        if not raw.success or not results:
            reason = str(
                raw.exception or (results and results[0].message) or "dbt compiled nothing"
            )
            raise ConfigError(without_stacks(reason))
        return str(results[0].node.compiled_code)

    @property
    def options(self) -> RunOptions:
        """What was asked for; another choice of models needs no new parsing."""
        return self._options

    @options.setter
    def options(self, options: RunOptions) -> None:
        self._options = options

    @property
    def manifest(self) -> Any:
        """The parsed project."""
        return self._manifest

    @property
    def reusable(self) -> bool:
        """Whether the parsed project is the same for every business date."""
        return self._reusable

    @property
    def config(self) -> Any:
        """dbt's configuration of the parsed project: vars, and the credentials of its target."""
        return self._config

    @property
    def variables(self) -> dict[str, Any]:
        """The vars that models of the project see: those of the command, of the project, of all."""
        known = self._config.vars.to_dict()
        own = known.get(self._config.project_name)
        return {**known, **(own if isinstance(own, dict) else {}), **self._options.vars}

    # --- parsing

    def parse(self) -> bool:
        """Parse the project once, without a date; return False if it cannot be parsed at all.

        dbt parses anew whenever vars change, and the date changes each time. The parsed project
        is reused for every date, but only if no date can change what parsing gives: else each
        date parses by itself. Where projects are kept, what did not change is not parsed again.
        """
        mark = mark_of(self._options)
        known = kept(mark)
        if known is not None:
            return self._take(known)
        raw = self._invoke(["parse", *common_options(self._options, None)])
        if raw.success:
            return self._keep(raw.result, mark)
        _check_interrupted(raw)
        if self._options.dates:
            # Perhaps the project needs the date to be parsed.
            raw = self._invoke(["parse", *common_options(self._options, self._options.dates[0])])
            if raw.success:
                return self._keep(raw.result, mark)
            _check_interrupted(raw)
        from tidemark.run.refused import places_of

        lines = [str(raw.exception or NOT_PARSED)]
        lines += [f"  {one}" for one in places_of(lines[0], self._options.project_dir)]
        self._talk.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
        return False

    def _keep(self, manifest: Any, mark: str | None) -> bool:
        from tidemark.run.varies import parsing_varies

        config = _config_in_use()
        reusable = not parsing_varies(manifest, self._options.project_dir)
        parsed = Parsed(manifest, reusable, config)
        keep(mark, parsed)
        return self._take(parsed)

    def _take(self, parsed: Parsed) -> bool:
        self._manifest, self._reusable = parsed.manifest, parsed.reusable
        self._config = parsed.config
        return True

    # --- the selection, the session

    def selected(self, *resources: str) -> list[Any]:
        """Return the nodes that the options select.

        Args:
            *resources: Their types as dbt names them; models if left out.

        Raises:
            ConfigError: dbt does not understand the selection.
        """
        command = ["ls", *selection(self._options), "--output", "json"]
        for resource in resources or ("model",):
            command += ["--resource-type", resource]
        command += ["--output-keys", "unique_id", *common_options(self._options, None)]
        muted, self._muted = self._muted, True  # dbt prints what it lists
        listed = self._invoke(command, manifest=fresh_copy(self._manifest))
        self._muted = muted
        _check_interrupted(listed)
        if not listed.success:
            raise ConfigError(str(listed.exception or "dbt could not list the selected models"))
        chosen = re.findall(r'"unique_id": "([^"]+)"', "\n".join(listed.result or []))
        return [self._manifest.nodes[one] for one in chosen if one in self._manifest.nodes]

    def why_not_matched(self) -> str | None:
        """Return a sentence if nothing in the project fits --select; None if something does.

        What changed or failed (`state:modified`) may be nothing at all: that is no mistake.
        """
        missing = []
        for word in " ".join(self._options.select).split():
            parts = [one for one in word.split(",") if not _OF_STATE.match(one)]
            bad = next((one for one in parts if not self._matches(one)), None)
            if bad is None:
                return None
            missing.append(bad)
        return unmatched_reason(missing, self._manifest) if missing else None

    def _matches(self, criterion: str) -> bool:
        """Say whether dbt finds anything by one criterion; True too if it cannot tell."""
        command = ["ls", "--select", criterion, *common_options(self._options, None)]
        muted, self._muted = self._muted, True  # dbt prints what it lists
        listed = self._invoke(command, manifest=fresh_copy(self._manifest))
        self._muted = muted
        _check_interrupted(listed)
        return not listed.success or bool(listed.result)

    def session(self) -> Any:
        """Return the Spark session of this process, started if need be.

        Raises:
            TidemarkError: Spark does not start, or another process holds the metastore.
            ConfigError: There can be none: the profile's Spark is elsewhere.
        """
        from tidemark.spark.session import get_session

        credentials: Any = getattr(self._config, "credentials", None)
        if not getattr(credentials, "has_session", False):
            raise ConfigError(
                "this needs Spark in this process: set `type: tidemark` with `method: "
                "session` in the profile"
            )
        return get_session(credentials.server_side_parameters)

    def check_python_models(self) -> None:
        """Refuse Python models before anything runs, where Spark is at the end of a wire.

        Raises:
            ConfigError: One is selected, and the profile has nowhere to run it.
        """
        credentials: Any = getattr(self._config, "credentials", None)
        kind = getattr(credentials, "type", None)
        if kind == "tidemark":
            runs_python = credentials.has_session
        else:
            runs_python = kind != "spark" or credentials.method not in _NO_PYTHON
        if runs_python:
            return
        if not any(is_python(node) for node in self._manifest.nodes.values()):
            return
        names = [node.name for node in self.selected() if is_python(node)]
        if names:
            raise ConfigError(
                "nothing was run: Python models need `type: tidemark` with `method: "
                "session` in the profile. Exclude them with another profile: --exclude "
                f"{' '.join(sorted(names))}"
            )

    def check_pepper(self) -> None:
        """Refuse sensitive columns without a pepper, before Spark is waited for.

        Raises:
            ConfigError: One is selected; of a Spark that is elsewhere nothing is known.
        """
        credentials: Any = getattr(self._config, "credentials", None)
        is_here = getattr(credentials, "has_session", False)
        if not is_here or self._options.test or os.environ.get(PEPPER_VARIABLE):
            return
        if not any(needs_pepper(node) for node in self._manifest.nodes.values()):
            return
        names = sorted(node.name for node in self.selected() if needs_pepper(node))
        if names:
            raise ConfigError(
                f"nothing was run: {', '.join(names)} has sensitive columns, which need the "
                f"environment variable {PEPPER_VARIABLE}. Set it to a secret that stays the "
                "same for the life of the tables, such as export "
                f"{PEPPER_VARIABLE}=$(openssl rand -hex 32)"
            )

    # --- dates that have files

    def split_available(
        self, dates: Iterable[dt.date]
    ) -> tuple[list[dt.date | None], list[dt.date]]:
        """Return the dates for which a selected model has a file, and the others."""
        self._dated = [
            (node, location)
            for node in some_models(self.selected())
            if (location := dated_location(node)) is not None
        ]
        locations = sorted(location for _, location in self._dated)
        if not locations:
            raise ConfigError(
                "--available: no selected model has a location with {business_date} in it, "
                "so there is no file to look for: leave out --available"
            )
        found: list[dt.date | None] = []
        missing: list[dt.date] = []
        for date in dates:
            if any(self.has_extract(location, date) for location in locations):
                found.append(date)
            else:
                missing.append(date)
        return found, missing

    def has_extract(self, location: str, date: dt.date) -> bool:
        """Say whether files of a date are at a location, which has a business date in it."""
        from tidemark.spark.files import list_files

        path = self._absolute(extract_path(location, date))
        return bool(list_files(self.session(), path))

    def near_misses(self, dates: Collection[dt.date]) -> list[str]:
        """Return what lies there of dates that split_available() found no file of."""
        locations = {one: dated_location(node) for one, node in self._manifest.nodes.items()}
        lines = []
        for node, location in self._dated:
            others = [other for one, other in locations.items() if one != node.unique_id]
            found = near_misses(self._options.project_dir, location, others)
            misses = {date: files for date, files in found.items() if date in dates}
            if misses:
                lines.append(f"{node.name}: {describe_misses(misses, location)}")
        return lines

    def _absolute(self, path: str) -> str:
        if re.match(r"[a-zA-Z][\w+.-]+:/", path) or os.path.isabs(path):
            return path
        return str(self._options.project_dir / path)

    # --- running

    def run_date(
        self, date: dt.date | None, *, full_refresh: bool, progress: Callable[[str], None]
    ) -> Outcome:
        """Run one date."""
        self._progress = progress
        self._commits.clear()
        # dbt writes into the nodes of a manifest: each date gets a fresh copy
        manifest = fresh_copy(self._manifest) if self._reusable else None
        raw = self._invoke(
            command_line(self._options, date, full_refresh=full_refresh), manifest=manifest
        )
        self._progress = None
        outcome = Outcome(bool(raw.success), started=raw.result is not None)
        if raw.exception is not None:
            outcome.interrupted = isinstance(raw.exception, KeyboardInterrupt)
            if not outcome.interrupted:
                outcome.errors.append(str(raw.exception) or type(raw.exception).__name__)
        nodes = list(getattr(raw.result, "results", None) or [])
        counts = counts_of(answers_in(self._commits, _COMMIT))
        for node in nodes:
            status = str(getattr(node.status, "value", node.status))
            if status in ("error", "fail", "runtime error"):
                message = str(node.message or "").strip() or f"{node.node.name}: {status}"
                outcome.errors.append(without_stacks(message))
                outcome.failures[node.node.name] = outcome.errors[-1]
            elif status == "skipped":
                outcome.failures[node.node.name] = str(node.message or "skipped")
                if node.message:
                    outcome.errors.append(f"{node.node.name}: {node.message}")
            if node.node.resource_type == "operation" and status == "success":
                continue  # a hook of the project
            counted = counts.get((node.node.schema, node.node.alias), {})
            seconds = float(node.execution_time or 0.0)
            relation = f"{node.node.schema}.{node.node.alias}"
            outcome.results.append(ModelResult(node.node.name, status, seconds, counted, relation))
            if is_entity(node.node) and status == "success" and counted.get("rows_updated"):
                outcome.updated.append(node.node.name)
        return outcome

    def changed_values(
        self, entity: str, date: dt.date, keys: int
    ) -> list[dict[str, str | None]] | None:
        """Ask the run-operation `show_changes` what the updates of a date changed, or None.

        Args:
            entity: A cdc model.
            date: The business date.
            keys: Of how many updated keys, the first by key.
        """
        arguments = {
            "entity": entity,
            "business_date": date.isoformat(),
            "limit": keys,
            "format": "json",
        }
        try:
            answers = self.ask("show_changes", arguments, _CHANGES, date)
        except ConfigError:
            return None
        return [row for answer in answers for row in answer["rows"]]

    def operate(self, operation: str, arguments: dict[str, Any], out: Console) -> list[str]:
        """Call a run-operation of ours; return what it said.

        Args:
            operation: Its macro.
            arguments: Of the macro.
            out: Where it is printed as it comes.

        Raises:
            ConfigError: What the operation said is wrong.
        """
        talk, self._talk = self._talk, out
        try:
            return self._call(operation, arguments, None)
        finally:
            self._talk = talk

    def ask(
        self, operation: str, arguments: dict[str, Any], mark: str, date: dt.date | None = None
    ) -> list[Any]:
        """Call a run-operation of ours and return what it logged as JSON after `mark`.

        Args:
            operation: Its macro.
            arguments: Of the macro.
            mark: What a line with an answer begins with.
            date: The business date of the call, if it needs one.

        Raises:
            ConfigError: What the operation said is wrong.
        """
        muted, self._muted = self._muted, True
        try:
            return answers_in(self._call(operation, arguments, date), mark)
        finally:
            self._muted = muted

    def _call(self, operation: str, arguments: dict[str, Any], date: dt.date | None) -> list[str]:
        # what the run before wrote into dbt's target folder stays there
        command = ["run-operation", f"tidemark.{operation}", "--args", json.dumps(arguments)]
        command.append("--no-write-json")
        heard: list[str] = []
        raw = self._invoke(
            [*command, *common_options(self._options, date)],
            manifest=fresh_copy(self._manifest) if self._reusable else None,
            listener=lambda event: heard.append(event.info.msg or ""),
        )
        if not raw.success:
            _check_interrupted(raw)
            raise ConfigError(operation_error(raw, heard) or f"{operation} failed (see dbt's log)")
        return heard

    # --- dbt

    def _invoke(
        self,
        command: list[str],
        manifest: Any = None,
        listener: Callable[[Any], None] | None = None,
    ) -> Any:
        from dbt.cli.main import dbtRunner

        from tidemark.run.refused import check_may_write

        callbacks = [self._heard, *([listener] if listener is not None else [])]
        with _working_directory_kept():
            raw = dbtRunner(manifest=manifest, callbacks=callbacks).invoke(command)
        check_may_write(raw.exception)
        return raw

    def _heard(self, event: Any) -> None:
        """Say everything if verbose, else warnings and what macros print."""
        from dbt.adapters.tidemark.console import is_changed_vars_message

        name, level, message = event.info.name, event.info.level, event.info.msg
        if message and message.startswith(_COMMIT):
            self._commits.append(message)
        if name == "LogStartLine" and self._progress is not None:
            self._progress(event.data.node_info.node_name)
        if self._muted:
            return
        if self._options.verbose:
            if level != "debug" and message and not is_changed_vars_message(event):
                self._talk.print(message, highlight=False, markup=False, soft_wrap=True)
        elif message and (name in _MESSAGES or (level == "warn" and message not in self._said)):
            self._said.add(message)
            self._talk.print(message, highlight=False, markup=False, soft_wrap=True)


def _check_interrupted(raw: Any) -> None:
    """Raise Ctrl-C anew, which dbt hands on as a result: nothing is to be tried after it."""
    if isinstance(raw.exception, KeyboardInterrupt):
        raise raw.exception


def _config_in_use() -> Any:
    """Return dbt's configuration of its last call."""
    from dbt.adapters.factory import FACTORY

    adapters: list[Any] = list(FACTORY.adapters.values())
    return adapters[0].config if adapters else None


@contextmanager
def _working_directory_kept() -> Iterator[None]:
    before = os.getcwd()
    try:
        yield
    finally:
        os.chdir(before)
