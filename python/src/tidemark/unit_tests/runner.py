"""Running tests: their steps side by side, in one process, in a home of their own."""

from __future__ import annotations

import datetime as dt
import json
import re
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from tidemark.errors import ConfigError, TidemarkError
from tidemark.home import Home
from tidemark.model.settings.unit_tests import Expected, Row, Step
from tidemark.model.unit_tests import TABLES
from tidemark.printable import counted
from tidemark.run.invoke import Invoker, Outcome
from tidemark.run.report import COUNTS
from tidemark.unit_tests.cases import Case
from tidemark.unit_tests.differences import Difference, difference_of
from tidemark.unit_tests.found import (
    ASKED,
    Found,
    rows_found,
    rows_of_query,
    tables_of,
    write_input,
)
from tidemark.unit_tests.landing import land
from tidemark.unit_tests.project import inputs_of, manifest_of, profile_text, table_of
from tidemark.unit_tests.record import recorded_rows
from tidemark.unit_tests.rows import rows_of, types_of

# the date of events that have none
_NO_DATE = dt.date(2026, 1, 1)
# how many, if there are more tests at a time than these
_MOST_NAMED = 3
# how the queries of one call of dbt are told apart
_MARK = "-- tidemark unit test: "


@dataclass(frozen=True)
class Failure:
    """Why a test fails.

    Attributes:
        step: The number of the step, from 1.
        problem: A sentence; None where tables differ.
        difference: What differs.
    """

    step: int
    problem: str | None = None
    difference: Difference | None = None


@dataclass
class Result:
    """What became of a test.

    Attributes:
        case: The test.
        failures: Why it fails; none: it passes.
        seconds: How long its loads and comparisons took.
        recorded: What each step left, as `expect` has it, where that was asked for.
    """

    case: Case
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    recorded: list[dict[str, Any]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures


@dataclass(frozen=True)
class _Load:
    """What loads have in common that one call of dbt makes."""

    date: dt.date
    vars: str
    full_refresh: bool
    alone: str


class Runner:
    """Runs tests; all that they write lies in a home that is theirs.

    Args:
        invoker: The user's project, parsed.
        home: The home of the tests.
        engine: What loads go by, whatever the models say; None: what they say.
        report: Takes a line about the work.
        records: Whether what is found is kept in the place of what is expected.
    """

    def __init__(
        self,
        invoker: Invoker,
        home: Home,
        engine: str | None,
        report: Callable[[str], None],
        *,
        records: bool = False,
    ) -> None:
        self._user, self._engine, self._report = invoker, engine, report
        self._records = records
        self._root = invoker.options.project_dir
        profiles = home.root / "profiles"
        profiles.mkdir(parents=True, exist_ok=True)
        variables = {**invoker.variables, **invoker.options.vars}
        is_iceberg = variables.get("tidemark__commits_format") == "iceberg"
        self._format = "iceberg" if is_iceberg else "delta"
        profile = profile_text(invoker.config, self._format)
        (profiles / "profiles.yml").write_text(profile, encoding="utf-8")
        self._options = replace(
            invoker.options,
            profiles_dir=profiles,
            select=[],
            exclude=[],
            vars={**invoker.options.vars, "tidemark__schema": "unit_tests"},
        )
        self._session: Any = None
        self._tables = tables_of(home.warehouse, "unit_tests", self._format)

    def run(self, cases: Sequence[Case]) -> Iterator[Result]:
        """Run tests; those whose next loads are alike are loaded by one call of dbt.

        Yields:
            Each test when it has ended.
        """
        self._report("starting Spark")
        own = self._user.over(manifest_of(self._user.manifest, [], None), self._options)
        own.compiled("select 1")
        self._session = own.session()
        results = {case.number: Result(case) for case in cases}
        waiting = list(cases)
        step = 0
        while waiting:
            for load, group in _groups(waiting, step).items():
                self._take(load, group, step, results)
            ended = [
                case
                for case in waiting
                if results[case.number].failures or step + 1 == len(case.test.steps)
            ]
            yield from (results[case.number] for case in ended)
            waiting = [case for case in waiting if case not in ended]
            step += 1

    def _take(
        self, load: _Load, group: Sequence[Case], step: int, results: dict[int, Result]
    ) -> None:
        began = time.monotonic()
        ready = []
        for case in group:
            try:
                land(case, step, load.date.isoformat(), self._root)
                ready.append(case)
            except ConfigError as error:
                results[case.number].failures.append(Failure(step + 1, f"given: {error}"))
        if ready:
            names = ", ".join(case.name for case in ready)
            which = names if len(ready) <= _MOST_NAMED else counted(len(ready), "test")
            self._report(f"step {step + 1}, {load.date}: {which}")
            try:
                manifest = manifest_of(self._user.manifest, ready, self._engine)
                outcome = self._load(load, ready, step, manifest)
            except TidemarkError as error:
                for case in ready:
                    results[case.number].failures.append(Failure(step + 1, str(error)))
            else:
                look = self._record if self._records else self._judge
                look(ready, step, outcome, manifest, results)
        for case in group:
            results[case.number].seconds += (time.monotonic() - began) / len(group)

    def _load(self, load: _Load, ready: Sequence[Case], step: int, manifest: Any) -> Outcome:
        options = replace(
            self._options,
            select=[case.alone for case in ready],
            vars={**self._options.vars, **json.loads(load.vars)},
        )
        invoker = self._user.over(manifest, options)
        for case in ready:
            self._write_inputs(case, step)
        return invoker.run_date(
            load.date, full_refresh=load.full_refresh, progress=lambda name: None
        )

    def _write_inputs(self, case: Case, step: int) -> None:
        from tidemark.spark.messages import readable_error

        given = case.test.steps[step].given
        if given is None or given.inputs is None:
            return
        session = self._session
        session.sql(f"create schema if not exists {case.alone}")
        known = {**self._user.manifest.nodes, **self._user.manifest.sources}
        nodes = inputs_of(self._user.manifest, known, case)
        for one in given.inputs:
            rows, name = rows_of(one, self._root), table_of(one.input)
            types = types_of(nodes[name], rows)
            try:
                write_input(session, f"{case.alone}.{name}", self._format, types, rows)
            except Exception as error:
                raise ConfigError(f"given, {one.input}: {readable_error(error)}") from error

    def _record(
        self,
        ready: Sequence[Case],
        step: int,
        outcome: Outcome,
        manifest: Any,
        results: dict[int, Result],
    ) -> None:
        """Keep what is found after a step.

        A load that Tidemark refused may be what the test is about. One that Spark or dbt cannot do,
        as of a column that is not there, is a mistake, and no expectation.
        """
        counts = {one.name: one.counts for one in outcome.results}
        queries = self._queries(ready, step, manifest)
        for case in ready:
            recorded = results[case.number].recorded
            message = _message_of(case, outcome)
            if message is not None and not _is_refused(case, outcome):
                results[case.number].failures.append(
                    Failure(
                        step + 1,
                        "the load stopped with an error that is no refusal, so nothing is "
                        f"recorded. Correct the test or the model: {message}",
                    )
                )
                continue
            if message is not None:
                # but for where the files of this run lie
                recorded.append(
                    {"error": message.splitlines()[0].split(str(case.folder))[0].strip()}
                )
                continue
            wanted = case.test.steps[step].expect
            names = [what for what in TABLES if wanted is not None and getattr(wanted, what)]
            found = {
                what: recorded_rows(
                    self._found(case, what, queries),
                    getattr(wanted, what, None),
                    self._root,
                    self._zone(),
                )
                for what in names or ["current"]
            }
            counted = {
                name: number for name in COUNTS if (number := counts.get(case.alone, {}).get(name))
            }
            recorded.append({**found, "counts": counted} if counted else found)

    def _judge(
        self,
        ready: Sequence[Case],
        step: int,
        outcome: Outcome,
        manifest: Any,
        results: dict[int, Result],
    ) -> None:
        went, counts = [], {one.name: one for one in outcome.results}
        for case in ready:
            message = _message_of(case, outcome)
            wanted = case.test.steps[step].expect
            problem = _problem_of(message, wanted.error if wanted else None)
            if problem:
                results[case.number].failures.append(Failure(step + 1, problem))
            else:
                went.append(case)
        queries = self._queries(went, step, manifest)
        for case in went:
            wanted = case.test.steps[step].expect or Expected()
            result = results[case.number]
            counted = counts[case.alone].counts if case.alone in counts else {}
            for name, number in (wanted.counts or {}).items():
                if (counted.get(name) or 0) != number:
                    problem = f"{name}: expected {number}, found {counted.get(name) or 0}"
                    result.failures.append(Failure(step + 1, problem))
            try:
                for difference in self._differences(case, wanted, queries):
                    result.failures.append(Failure(step + 1, None, difference))
            except TidemarkError as error:
                result.failures.append(Failure(step + 1, str(error)))

    def _differences(
        self, case: Case, wanted: Expected, queries: dict[tuple[str, str], str]
    ) -> Iterator[Difference]:
        key = case.node.config.unique_key or case.settings.get("unique_key") or []
        keys = [key] if isinstance(key, str) else list(key)
        for what in TABLES:
            table = getattr(wanted, what)
            if table is None:
                continue
            try:
                expected: list[Row] = rows_of(table, self._root)
            except ConfigError as error:
                yield Difference(what, problem=str(error))
                continue
            found = self._found(case, what, queries)
            difference = difference_of(
                what, expected, found.rows, found.columns, keys, self._zone()
            )
            if difference is not None:
                yield difference

    def _found(self, case: Case, what: str, queries: dict[tuple[str, str], str]) -> Found:
        if what in ASKED:
            return rows_of_query(self._session, queries[case.alone, what])
        return rows_found(self._tables, case, what)

    def _queries(
        self, cases: Sequence[Case], step: int, manifest: Any
    ) -> dict[tuple[str, str], str]:
        """Return what macros make of the questions that tests have at a step, by test and table."""
        asked = [
            (case.alone, what)
            for case in cases
            for what in ASKED
            if getattr(case.test.steps[step].expect or Expected(), what) is not None
        ]
        if not asked:
            return {}
        inline = "".join(
            f"{_MARK}{name} {what}\n{ASKED[what].format(name=name)}\n" for name, what in asked
        )
        text = self._user.over(manifest, self._options).compiled(inline)
        queries = {}
        for part in text.split(_MARK)[1:]:
            head, _, sql = part.partition("\n")
            name, what = head.split()
            queries[name, what] = sql.strip()
        return queries

    def _zone(self) -> ZoneInfo:
        zone = str(self._session.conf.get("spark.sql.session.timeZone"))
        with suppress(Exception):
            return ZoneInfo(zone)
        return ZoneInfo("UTC")


def _groups(cases: Sequence[Case], step: int) -> dict[_Load, list[Case]]:
    groups: dict[_Load, list[Case]] = {}
    for case in cases:
        one: Step = case.test.steps[step]
        has_inputs = any(s.given is not None and s.given.inputs for s in case.test.steps)
        load = _Load(
            _date_of(case, step),
            json.dumps(one.vars, sort_keys=True, default=str),
            one.full_refresh,
            case.alone if has_inputs else "",
        )
        groups.setdefault(load, []).append(case)
    return groups


def _date_of(case: Case, step: int) -> dt.date:
    """Return the date of a step: its own, or that of the last one before it that has one."""
    dates = [one.business_date for one in case.test.steps[: step + 1] if one.business_date]
    return dates[-1] if dates else _NO_DATE


def _message_of(case: Case, outcome: Outcome) -> str | None:
    """Return the error that a load stopped with, as a user of the model reads it."""
    message = outcome.failures.get(case.alone)
    if (
        message is None
        and not outcome.success
        and case.alone not in {one.name for one in outcome.results}
    ):
        message = "\n".join(outcome.errors) or "dbt did not load it (see dbt's log)"
    if message is None:
        return None
    head, _, rest = message.replace(case.alone, str(case.node.name)).partition("\n")
    # dbt says which model and file, which is known
    is_head = rest and re.match(r"\w+ Error in model ", head)
    return textwrap.dedent(rest if is_head else f"{head}\n{rest}").strip()


def _is_refused(case: Case, outcome: Outcome) -> bool:
    """Tell whether a load stopped as Tidemark refused its settings or its data."""
    message = outcome.failures.get(case.alone) or "\n".join(outcome.errors)
    return re.match(r"(Data|Configuration|Usage) Error\b", message) is not None


def _problem_of(message: str | None, expected: str | None) -> str | None:
    if expected is None:
        return None if message is None else f"the load stopped: {message}"
    if message is None:
        return f"expected an error with {expected!r}, but the load succeeded"
    flat = " ".join(message.split())
    if " ".join(expected.split()) in flat:
        return None
    return f"expected an error with {expected!r}, found: {message}"
