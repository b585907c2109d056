"""The unit tests of a model, read from its settings and judged."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.errors import ConfigError
from tidemark.model.problems import raise_problems, read_named, repeated_names
from tidemark.model.settings.unit_tests import Given, Step, TableRows, UnitTest
from tidemark.model.suggestions import did_you_mean

TABLES = ("current", "history", "log", "intervals", "feed", "rejects")
"""What a test may expect rows of."""
OF_LOG = ("history", "log", "intervals", "feed")
"""Those that only a model with a log has."""
_BARE_BODY = re.compile(r"\{\{-?\s*tidemark\.extract\(\s*\)\s*-?\}\}")
_INPUT = re.compile(
    r"(?P<kind>ref|source)\(\s*(?P<names>['\"][^'\"]+['\"](?:\s*,\s*['\"][^'\"]+['\"])?)\s*\)"
)


def unit_tests_of(node: Mapping[str, Any]) -> list[UnitTest]:
    """Return a model's unit tests.

    Args:
        node: The model, as dbt's graph has it.

    Raises:
        ConfigError: With every problem that was found.
    """
    config = node["config"]
    settings = (config.get("meta") or {}).get("tidemark") or {}
    tests: list[UnitTest] = []
    errors: list[str] = []
    given = settings.get("unit_tests")
    for place, test in read_named(given, UnitTest, "tests", "unit_tests", errors):
        tests.append(test)
        errors += [f"{place}: {problem}" for problem in _rules(test, settings, config)]
        errors += [f"{place}: {problem}" for problem in _unknown_columns(test, settings, node)]
    twice = repeated_names([test.name for test in tests])
    errors += [f"unit_tests: two tests have the name {name}" for name in twice]
    raise_problems(node["alias"], errors)
    return tests


def input_of(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what an input names.

    Example:
        >>> input_of("source('shop', 'orders')")
        ('source', ('shop', 'orders'))

    Raises:
        ConfigError: It is no ref() and no source().
    """
    found = _INPUT.fullmatch(text.strip())
    names = tuple(re.findall(r"['\"]([^'\"]+)['\"]", found["names"])) if found else ()
    if found is None or (found["kind"] == "source" and len(names) != 2):
        raise ConfigError(
            f"{text} is not an input. Write ref('model') or source('source', 'table')"
        )
    return found["kind"], names


def _rules(test: UnitTest, settings: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a test that has the right form."""
    has_dates = config.get("materialized") == "cdc" and settings.get("extract") != "events"
    if has_dates and test.steps[0].business_date is None:
        yield "the first step needs a business_date"
    if "unit_tests" in test.settings:
        yield "settings.unit_tests: a test has no tests"
    for number, step in enumerate(test.steps, start=1):
        for problem in _step_rules(step, settings, config):
            yield f"step {number}: {problem}"


def _step_rules(
    step: Step, settings: Mapping[str, Any], config: Mapping[str, Any]
) -> Iterator[str]:
    if step.given is not None:
        yield from _given_rules(step.given, settings.get("location") is not None)
        if step.given.inputs is None and settings.get("location") is None:
            yield "the model has no location: give the tables that it reads, given: {inputs: […]}"
        for one in step.given.inputs or []:
            yield from _one_of(one, f"given.inputs, {one.input}")
            try:
                input_of(one.input)
            except ConfigError as error:
                yield f"given.inputs: {error}"
    if "business_date" in step.vars:
        yield "vars: business_date stands beside vars, not among them"
    if step.expect is None:
        return
    for name in TABLES:
        table = getattr(step.expect, name)
        if table is not None:
            yield from _one_of(table, f"expect.{name}")
            if name in OF_LOG and config.get("materialized") != "cdc":
                yield f"expect.{name}: only materialized: cdc has a log"
    if step.expect.error is not None and step.expect.counts is not None:
        yield "expect.counts: a load that stops with an error counts nothing"


def _unknown_columns(
    test: UnitTest, settings: Mapping[str, Any], node: Mapping[str, Any]
) -> Iterator[str]:
    """Yield columns that are expected of a table and that it cannot have, whatever is loaded."""
    if node["config"].get("materialized") != "cdc":
        return
    there = _columns_there(test, {**settings, **test.settings}, node)
    for number, step in enumerate(test.steps, start=1):
        for name in TABLES:
            table = getattr(step.expect, name, None)
            known = there.get(name)
            if table is None or known is None:
                continue
            spelt = {one.lower() for one in known}
            for one in _columns_of(table):
                if not one.startswith("_") and one.lower() not in spelt:
                    hint = did_you_mean(one, known) if known else "; it has no business columns"
                    yield f"step {number}: expect.{name}: there is no column {one}{hint}"


def _columns_there(
    test: UnitTest, settings: Mapping[str, Any], node: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return the business columns of those tables of which the YAML says them all."""
    apart = _lower(settings.get("sensitive"))
    there: dict[str, list[str]] = {"rejects": []}
    if keys := [
        one for one in _names(node["config"].get("unique_key")) if one.lower() not in apart
    ]:
        there["feed"] = keys
    is_bare = _BARE_BODY.fullmatch(str(node.get("raw_code") or "").strip()) is not None
    givens = [step.given for step in test.steps if step.given is not None]
    if settings.get("extract") == "events" or not is_bare:
        return there
    if any(given.lines or given.files or given.file for given in givens):
        return there
    given_names = (name for given in givens for name in _columns_of(given))
    names = dict.fromkeys([*(node.get("columns") or {}), *given_names])
    stored = [name for name in names if name.lower() not in apart]
    return {**there, **dict.fromkeys(("current", "history", "log", "intervals"), stored)}


def _columns_of(table: TableRows) -> list[str]:
    """Return the columns of rows that stand in the YAML."""
    head = next(csv.reader((table.csv or "").strip("\n").splitlines()), [])
    named = [name for row in table.rows or [] for name in row]
    return list(dict.fromkeys([*named, *(name.strip() for name in head)]))


def _names(value: Any) -> list[str]:
    given = [value] if isinstance(value, str) else value
    return [str(one) for one in given] if isinstance(given, list | tuple) else []


def _lower(value: Any) -> set[str]:
    return {name.lower() for name in _names(value)}


def _given_rules(given: Given, has_location: bool) -> Iterator[str]:
    """What a rule looks up is given beside what lands."""
    lands = given.model_copy(update={"inputs": None})
    is_beside = has_location and given.inputs is not None and any(_given_places(lands))
    yield from _one_of(lands if is_beside else given, "given")


def _one_of(table: TableRows, place: str) -> Iterator[str]:
    found = _given_places(table)
    if len(found) != 1:
        what = f"found {' and '.join(found)}" if found else "found nothing"
        yield f"{place} has one of {', '.join(_places(table))}; {what}"


def _given_places(table: TableRows) -> list[str]:
    """Return which of the places for rows have some."""
    return [name for name in _places(table) if getattr(table, name) is not None]


def _places(table: TableRows) -> tuple[str, ...]:
    more = ("lines", "files", "inputs") if isinstance(table, Given) else ()
    return ("rows", "csv", "file", *more)
