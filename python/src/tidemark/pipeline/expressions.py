"""SQL of the YAML that Spark cannot parse, or that names no column: the message has its setting."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.settings import Settings

_NOT_OF_ONE_ROW = ("[NESTED_AGGREGATE_FUNCTION]", "window function inside an aggregate")
_NO_CONDITION = re.compile(
    r'"\(NOT .*requires the "BOOLEAN" type, however .* has the type "([^"]+)"'
)


def check_expressions(warehouse: Warehouse, cfg: Settings) -> None:
    """Refuse SQL of the YAML that Spark cannot parse.

    Of the statement that it is put into Spark would tell a line.

    Raises:
        ConfigError: There is some.
    """
    if not warehouse.macro("can", "parse_expressions"):
        return
    given = given_expressions(cfg)
    if not given:
        return
    problems = warehouse.adapter.syntax_errors([expression for _, expression in given])
    errors = [
        _no_expression(setting, expression, problem)
        for (setting, expression), problem in zip(given, problems, strict=True)
        if problem
    ]
    raise_problems(cfg["entity"], errors)


def given_expressions(cfg: Settings) -> list[tuple[str, str]]:
    """Return what of the YAML is SQL: the setting, and its text."""
    given = event_expressions(cfg)
    if cfg.get("extract") != "events":
        given += rule_expressions(cfg)
    for column in cfg.get("columns", []):
        compared_as = column.get("settings", {}).get("compare_as")
        if compared_as:
            given.append((f"column `{column['name']}`: meta.tidemark.compare_as", compared_as))
    return given


def event_expressions(cfg: Settings) -> list[tuple[str, str]]:
    """Return the settings of change events that are expressions of their columns, with the text."""
    given = [("sequence_by", expression) for expression in cfg.get("sequence_by", [])]
    for name in ("apply_as_deletes", "apply_as_truncates"):
        if cfg.get(name):
            given.append((name, cfg[name]))
    return given + rule_expressions(cfg) if cfg.get("extract") == "events" else given


def rule_expressions(cfg: Settings) -> list[tuple[str, str]]:
    """Return the rules that rows are held to, with the text of each condition."""
    return [(rule["setting"], rule["check"]) for rule in cfg.get("rules", [])]


def of_a_row_alone(cfg: Settings, given: list[tuple[str, str]]) -> list[str]:
    """Return the texts of expressions that see nothing but their row, so no look-ups."""
    look_ups = {rule["setting"] for rule in cfg.get("rules", []) if rule.get("looks_up")}
    return [expression for setting, expression in given if setting not in look_ups]


def meaning_problem(
    warehouse: Warehouse,
    setting: str,
    expression: str,
    sql: str,
    lacks: str,
    columns: Sequence[str],
) -> str | None:
    """Return what is wrong with an expression of the YAML that Spark can parse; None if nothing is.

    Args:
        warehouse: Where its columns are.
        setting: What it is called.
        expression: Its text.
        sql: A query of it.
        lacks: What has no column of a name that it has.
        columns: Those that there are.
    """
    refused = warehouse.adapter.analysis_error(sql)
    if not refused:
        return None
    name = refused["column"]
    if name:
        return f"{setting} names column `{name}`, which {lacks}{did_you_mean(name, columns)}"
    return _no_expression(setting, expression, refused["reason"])


def _no_expression(setting: str, expression: str, why: str) -> str:
    # the expression is asked for within an aggregate of ours
    if any(one in why for one in _NOT_OF_ONE_ROW):
        why = "it sees one row, so it can have no aggregate and no window function"
    # a condition is asked for as its opposite
    if found := _NO_CONDITION.search(why):
        why = f"it is no condition, but has the type {found[1]}. Write a comparison"
    return f"{setting}: `{expression.strip()}` is no SQL expression: {why}"
