"""The rules that rows are held to, once they are staged and before anything is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.model.problems import raise_problems
from tidemark.pipeline.expressions import (
    meaning_problem,
    of_a_row_alone,
    rule_expressions,
)
from tidemark.pipeline.look_ups import check_look_ups
from tidemark.pipeline.slices import make_view
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.names import names_of
from tidemark.rules.row_rules import failing_rows
from tidemark.shapes.load import Figures
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

OF_EVENTS = (
    "_tidemark_effect = 'upsert' and _source_operation <> 'DELETE' "
    "and (_reject_reason is null or _reject_reason like 'rule: %')"
)


def typed_view(warehouse: Warehouse, cfg: Settings) -> str:
    """Return the view of an extract's typed rows, from which those that rules reject are told."""
    view: str = warehouse.macro("run_view", cfg["target"], "typed" if cfg["rules"] else "staged")
    return view


def hold_to_rules(warehouse: Warehouse, cfg: Settings, roles: Roles) -> dict[str, int]:
    """Make the view `staged` of an extract whose model has rules, and count what fails them.

    Args:
        warehouse: Where the view of typed_view() is.
        cfg: The settings.
        roles: What becomes of each column.

    Returns:
        How many rows fail each rule, by its name.

    Raises:
        ConfigError: A rule is no condition of the columns.
    """
    if not cfg["rules"]:
        return {}
    macro, typed = warehouse.macro, typed_view(warehouse, cfg)
    view = macro("run_view", cfg["target"], "staged")
    sql, counts_sql = (
        macro("ruled_rows_sql", cfg, roles, typed),
        macro("rule_counts_sql", cfg, typed),
    )
    is_tried = False
    compared, more = check_look_ups(warehouse, cfg, roles["columns"])
    if macro("can", "parse_expressions"):
        # all at once; which one it is Spark is asked where it refuses them
        if warehouse.adapter.analysis_error(counts_sql):
            _check_conditions(warehouse, cfg, roles["columns"], typed, "the extract does not have")
        given = [*of_a_row_alone(cfg, rule_expressions(cfg)), *compared]
        kinds = {column["name"]: column["type"] for column in roles["columns"]} | more
        is_tried = warehouse.adapter.try_view(view, sql, given, kinds)
    if not is_tried:
        make_view(warehouse, view, sql)
    return _counts(warehouse, cfg, counts_sql)


def _check_conditions(
    warehouse: Warehouse,
    cfg: Settings,
    columns: Sequence[Mapping[str, Any]],
    typed: str,
    lacks: str,
) -> None:
    """Say of each rule that Spark refuses what is wrong with it.

    Counted, as rule_counts_sql() counts it: so it can be no aggregate and no window either.
    """
    names = names_of(columns)
    errors = [
        meaning_problem(
            warehouse, setting, check, f"select count_if(not ({check})) from {typed}", lacks, names
        )
        for setting, check in rule_expressions(cfg)
    ]
    raise_problems(cfg["entity"], [error for error in errors if error])


def ruled_keys_sql(warehouse: Warehouse, cfg: Settings, events: str) -> str:
    """Return the query of the keys of enriched events, with those that rules reject told as such.

    Args:
        warehouse: Where they are.
        cfg: The settings.
        events: Their view.

    Raises:
        ConfigError: A rule is no condition of the columns of an event.
    """
    macro, sql = warehouse.macro, warehouse.macro("event_keys_sql", cfg, events, bool(cfg["rules"]))
    if not cfg["rules"]:
        return str(sql)
    typed = make_view(warehouse, macro("run_view", cfg["target"], "typed"), sql)
    columns = macro("enriched_columns")
    check_look_ups(warehouse, cfg, columns)
    sql = macro("ruled_event_keys_sql", cfg, typed)
    if macro("can", "parse_expressions") and warehouse.adapter.analysis_error(sql):
        _check_conditions(warehouse, cfg, columns, typed, "an enriched event does not have")
    return str(sql)


def broken_by_keys(warehouse: Warehouse, cfg: Settings, keys: Any) -> dict[str, int]:
    """Return how many enriched events fail each rule, by its name.

    Args:
        warehouse: Where they are.
        cfg: The settings.
        keys: What ruled_keys_sql() selects, as a table.
    """
    if not cfg["rules"]:
        return {}
    return _counts(warehouse, cfg, warehouse.macro("event_rule_counts_sql", cfg, keys))


def broken_by_events(warehouse: Warehouse, cfg: Settings, staged: str) -> dict[str, int]:
    """Return how many change events fail each rule, by its name.

    Args:
        warehouse: Where they are.
        cfg: The settings.
        staged: The events, staged.
    """
    if not cfg["rules"]:
        return {}
    return _counts(warehouse, cfg, rule_counts_of_events_sql(warehouse, cfg, staged))


def rule_counts_of_events_sql(warehouse: Warehouse, cfg: Settings, staged: str) -> str:
    """Return the query of how many change events fail each rule.

    Args:
        warehouse: Where they are.
        cfg: The settings.
        staged: The events, staged.
    """
    return str(warehouse.macro("rule_counts_sql", cfg, staged, OF_EVENTS))


def warn_broken_rules(
    warehouse: Warehouse, cfg: Settings, counts: Mapping[str, int], figures: Figures
) -> None:
    """Warn of rules that rows fail which go on; of others the rejects tell."""
    note_broken(warehouse, cfg, counts)
    failing = [
        failing_rows(rule, counts, figures)
        for rule in cfg.get("rules", [])
        if rule["on_fail"] != "quarantine" and counts.get(rule["name"])
    ]
    if failing:
        warehouse.warn(cfg["entity"], "; ".join(failing))


def note_broken(warehouse: Warehouse, cfg: Settings, counts: Mapping[str, int]) -> None:
    """Note which rules rows of a load fail, for the summary of the run."""
    rules = [
        {"name": rule["name"], "rows": counts[rule["name"]], "on_fail": rule["on_fail"]}
        for rule in cfg.get("rules", [])
        if counts.get(rule["name"])
    ]
    if rules:
        event = json.dumps({"relation": cfg["relation"], "rules": rules})
        warehouse.note(f"tidemark rules {event}")


def _counts(warehouse: Warehouse, cfg: Settings, sql: str) -> dict[str, int]:
    row = warehouse.rows(sql)[0]
    return {
        rule["name"]: int(row[f"rule_{number}"] or 0)
        for number, rule in enumerate(cfg["rules"], start=1)
    }
