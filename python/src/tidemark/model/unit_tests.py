"""The unit tests of a model, read from its settings and judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.errors import ConfigError
from tidemark.model.problems import raise_problems, read_named, repeated_names
from tidemark.model.settings.unit_tests import Given, Step, TableRows, UnitTest

TABLES = ("current", "history", "log", "intervals", "feed", "rejects")
"""What a test may expect rows of."""
OF_LOG = ("history", "log", "intervals", "feed")
"""Those that only a model with a log has."""
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
