"""A load worked out by its own steps, up to but without its commit.

open                    nothing is mended: what a dead run left stops the plan
source, stage, derive   those of load_entity(), by Spark, as there are samples
tell                    counts, columns, samples, rejects, files, dates
keep                    for `tidemark plan`, or as tables

Nothing of the entity is made, altered or written: where a load would alter a table, views take its
place (see opened_to_come()). For change events the first part is planned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidemark.errors import UsageError
from tidemark.operations.entity import asked_run, entity_config
from tidemark.pipeline.applying import is_written_whole
from tidemark.pipeline.extracts_source import source_of_workers
from tidemark.pipeline.landing import lands_in_files
from tidemark.pipeline.look_ups import looked_up_tables
from tidemark.pipeline.opening import open_load
from tidemark.pipeline.slices import forget_run_views, opened_to_come
from tidemark.pipeline.steps import summary
from tidemark.pipeline.tables import drop_table
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.plan.collect import take
from tidemark.printable import counted
from tidemark.rules.drift import new_columns
from tidemark.rules.guard import (
    DELETING,
    deletes_too_much,
    guarded_deletes,
    guarded_rejects,
    rejects_too_many,
)
from tidemark.rules.row_rules import broken_rules
from tidemark.shapes.load import Derived, Figures, Load, Source, Staged
from tidemark.shapes.opened import Opened, Run, State
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def plan_entity(warehouse: Warehouse, cfg: Settings, run: Run, current: Any, body: str) -> str:
    """Plan a load; the line that dbt prints.

    Raises:
        UsageError: A plan cannot be made so.
    """
    macro, entity, target = warehouse.macro, cfg["entity"], cfg["target"]
    if run["empty"]:
        raise UsageError(f"{entity}: a plan needs the rows that --empty leaves out. Remove --empty")
    is_kept = run["plan"] == "kept"
    if is_kept and not macro("can", "keep_plan"):
        raise UsageError(
            f"{entity}: `tidemark plan` needs `type: tidemark` with `method: session` in the "
            "profile. Write both, or make the plan as tables: dbt run --vars 'plan: true'"
        )
    by_spark: Settings = {**cfg, "asked_engine": cfg.get("engine"), "engine": "spark"}
    opened = open_load(warehouse, by_spark, {**run, "dry_run": True}, current)
    opened = {**opened, "state": {**opened["state"], "log_version": None}}
    forget_run_views(warehouse, target)
    at = _files_at_location(warehouse, opened, is_kept)
    source = warehouse.of_family(cfg, "source", opened, body)
    inputs = _inputs(warehouse, opened["cfg"], body, source, at) if is_kept else at
    facts: Values = {}
    queries: dict[str, str] = {}
    if source["parts"]:
        staged = warehouse.of_family(cfg, "stage", opened, source, source["parts"][0])
        to_come = opened_to_come(warehouse, opened, staged["roles"])
        derived = warehouse.of_family(cfg, "derive", to_come, staged, None)
        facts = _planned_facts(warehouse, opened, body, source, staged, derived)
        queries = _queries(warehouse, opened, staged, derived)
    facts = {**no_planned_facts(warehouse, opened), **facts}
    if is_kept:
        take(facts, {name: warehouse.rows(sql) for name, sql in queries.items()}, inputs)
    else:
        _write_plan(warehouse, target, facts, queries)
    forget_run_views(warehouse, target)
    return f"PLAN {summary(facts['counts'])}"


def planned_state(warehouse: Warehouse, entities: list[str], full_refresh: Any) -> None:
    """Say how entities stand, a line of JSON each.

    `tidemark apply` compares it with what a plan was made from. As in a plan nothing is mended, and
    what a dead run left is an error.
    """
    for entity in entities:
        run: Run = {**asked_run(warehouse, True), "full_refresh": full_refresh}
        opened = open_load(warehouse, entity_config(warehouse, entity), run)
        tables = no_planned_facts(warehouse, opened)["tables"]
        warehouse.note("tidemark planned " + json.dumps({**tables, "entity": entity}))


def no_planned_facts(warehouse: Warehouse, opened: Opened) -> Values:
    """Return what there is to say of a load that has nothing to read."""
    cfg, state, relations = opened["cfg"], opened["state"], opened["relations"]
    # the first load has no tables yet
    log, current = (
        warehouse.macro("table_version", cfg["file_format"], table) if state["recorded"] else None
        for table in (relations["log"], relations["current"])
    )
    return {
        "entity": cfg["entity"],
        "relation": cfg["relation"],
        "extract": cfg["extract"],
        "business_date": opened["run"]["business_date"],
        "kind": "first load" if state["first"] else "load",
        "outcome": "nothing",
        "stops": None,
        "broken_rules": [],
        "counts": {},
        "existing": 0,
        "columns_known": True,
        "on_reject": cfg["on_reject"],
        "guard": None,
        "reject_guard": None,
        "files": {"current": "nothing", "current_files": None, "current_files_changed": None},
        "batch": None,
        "sensitive": [],
        "sensitive_keys": [],
        "notes": ["nothing has landed since the last run"],
        "tables": {
            "last_commit_id": state["last_id"],
            "log_version": log,
            "current_version": current,
        },
    }


def _planned_facts(
    warehouse: Warehouse,
    opened: Opened,
    body: str,
    source: Source,
    staged: Staged,
    derived: Derived,
) -> Values:
    """Return what there is to say of a planned load beside its rows."""
    cfg, state, load = opened["cfg"], opened["state"], derived["load"]
    sensitive, figures = staged["roles"]["sensitive"], derived["figures"]
    is_events = cfg["extract"] == "events"
    counted: Mapping[str, Any] = figures
    counts = {name: int(value or 0) for name, value in counted.items() if name.startswith("rows_")}
    has_rows = counts["rows_logged"] > 0 or counts["rows_superseded"] > 0
    existing = figures.get("existing")
    if is_events and not state["first"]:
        current = opened["relations"]["current"]
        sql = f"select count(*) from {current} where _operation <> 'D'"
        existing = warehouse.run(sql)[0][0]
    guard, reject_guard = _on_deletes(opened, figures), _on_rejects(opened, figures)
    stops = _why_it_stops(cfg, staged, guard, reject_guard)
    has_rejects = counts.get("rows_rejected", 0) > 0
    is_new = (
        has_rows
        or state["first"]
        or figures.get("new_rejects")
        or (has_rejects and (is_events or load.get("this_commit_id") is None))
    )
    outcome = "changes" if is_new else "nothing"
    return {
        "business_date": load["business_date"],
        "kind": _kind(state, load),
        "outcome": "stops" if stops else outcome,
        "stops": stops,
        "broken_rules": broken_rules(cfg, staged.get("broken", {}), staged["figures"]),
        "counts": counts,
        "existing": int(existing or 0),
        "columns_known": cfg["changed_columns"] is not False,
        "guard": guard,
        "reject_guard": reject_guard,
        "files": _files(warehouse, opened, body, staged, derived, has_rows),
        "batch": _batch(source, staged, figures) if is_events else None,
        "sensitive": [column["name"] for column in sensitive],
        "sensitive_keys": [column["name"] for column in sensitive if column["key"]],
        "notes": _notes(opened, source, staged, derived, has_rows),
    }


def _kind(state: State, load: Load) -> str:
    if load["kind"] == "full_refresh":
        return "full refresh"
    if state["first"]:
        return "first load"
    if load.get("this_commit_id"):
        return "correction"
    return "load" if load["forward"] else "late load"


def _on_deletes(opened: Opened, figures: Figures) -> Values | None:
    """Return what the guard of deletes would say, None where it does not look."""
    cfg = opened["cfg"]
    if cfg["extract"] not in DELETING:
        return None
    stopped = "let through" if opened["run"]["allow_deletes"] else "stops"
    guarded = guarded_deletes(figures)
    return {
        "verdict": stopped if deletes_too_much(cfg, figures) else "passes",
        "rows_deleted": guarded["deleted"],
        "existing": guarded["existing"],
        "max_delete_fraction": cfg["max_delete_fraction"],
    }


def _on_rejects(opened: Opened, figures: Figures) -> Values | None:
    """Return the same of the guard of rejects, which looks where they go to quarantine."""
    cfg, run = opened["cfg"], opened["run"]
    if cfg["on_reject"] == "fail" or not figures.get("rows_rejected"):
        return None
    stopped = "let through" if run["allow_rejects"] else "stops"
    guarded = guarded_rejects(figures)
    is_stopped = rejects_too_many(cfg, {**run, "allow_rejects": False}, figures)
    return {
        "verdict": stopped if is_stopped else "passes",
        "rows_rejected": guarded["rejected"],
        "rows_read": guarded["read"],
        "max_reject_fraction": cfg["max_reject_fraction"],
    }


def _why_it_stops(
    cfg: Settings, staged: Staged, guard: Values | None, reject_guard: Values | None
) -> str | None:
    figures, reasons = staged["figures"], []
    reasons += broken_rules(cfg, staged.get("broken", {}), figures)
    if figures.get("rows_rejected") and cfg["on_reject"] == "fail":
        units = staged["rejects"]["units"][1]
        of = f"{figures['rows_rejected']} of {figures['rows_read']} {units}"
        reasons.append(f"{of} cannot be used, and on_reject is fail")
    if reject_guard and reject_guard["verdict"] == "stops":
        units = staged["rejects"]["units"][1]
        of = f"{reject_guard['rows_rejected']} of {reject_guard['rows_read']} {units}"
        most = f"max_reject_fraction is {cfg['max_reject_fraction']}"
        reasons.append(f"{of} cannot be used ({most})")
    if guard and guard["verdict"] == "stops":
        reasons.append(
            f"it has {counted(figures['rows_read'], 'row')} and would delete "
            f"{guard['rows_deleted']} of "
            f"{guard['existing']} keys (max_delete_fraction is {cfg['max_delete_fraction']})"
        )
    return "; ".join(reasons) or None


def _files(
    warehouse: Warehouse,
    opened: Opened,
    body: str,
    staged: Staged,
    derived: Derived,
    has_rows: bool,
) -> Values:
    """Return how current would be written, and how much of it.

    The engine in the workers writes all of what it takes.
    """
    macro, cfg, relations = warehouse.macro, opened["cfg"], opened["relations"]
    load, figures, current = derived["load"], derived["figures"], relations["current"]
    if opened["state"]["first"]:
        return {"current": "whole", "current_files": None, "current_files_changed": None}
    written = "nothing"
    if load.get("rebuild") or (
        derived["outcome"] == "commit"
        and is_written_whole(warehouse, cfg, relations, load, figures, not has_rows)
    ):
        written = "whole"
    elif has_rows:
        asked: Opened = {**opened, "cfg": {**cfg, "engine": cfg["asked_engine"]}}
        by_workers = (
            load["forward"]
            and cfg["extract"] != "events"
            and not staged["roles"]["added"]
            and source_of_workers(warehouse, asked, body) is not None
        )
        written = "whole" if by_workers else "merge"
    is_delta = cfg["file_format"] == "delta"
    changed = 0 if is_delta else None
    if has_rows and is_delta and derived.get("slice"):
        has_marks = _has_marks(opened, load)
        sql = macro("planned_files_sql", current, derived["slice"], has_marks)
        changed = warehouse.rows(sql)[0]["file_count"]
    return {
        "current": written,
        "current_files": macro("file_count", "delta", current) if is_delta else None,
        "current_files_changed": changed,
    }


def _batch(source: Source, staged: Staged, figures: Figures) -> Values:
    """Return which change events would be taken."""
    files = [file["_file"] for file in staged.get("files") or []]
    return {
        "files": len(files),
        "first_file": files[0] if files else None,
        "last_file": files[-1] if files else None,
        "first_sequence_num": figures.get("first_sequence_num"),
        "last_sequence_num": figures.get("last_sequence_num"),
        "not_planned": len(source["parts"]) - 1,
    }


def _notes(
    opened: Opened, source: Source, staged: Staged, derived: Derived, has_rows: bool
) -> list[str]:
    """Return what else there is to know, a sentence each."""
    cfg, state, load = opened["cfg"], opened["state"], derived["load"]
    recorded, outcome = None if state["first"] else state["recorded"], derived["outcome"]
    notes = list(new_columns(cfg, staged["roles"], recorded)["short"])
    if len(source["parts"]) > 1:
        notes.append("a DDL event changes the columns: the plan has the changes before the event")
    notes += [
        f"a DDL event is applied: {statement['text'][:120]}"
        for statement in load.get("statements") or []
        if statement.get("text")
    ]
    if outcome == "repeat" and cfg["extract"] == "events":
        notes.append("every event is known already")
    elif outcome == "repeat":
        notes.append("nothing differs from the earlier load")
    elif outcome == "commit" and not has_rows and not state["first"]:
        notes.append("no row changes: only the commit is recorded")
    if load.get("rebuild"):
        notes.append("current is written again, as tag_unchanged or soft_delete changed")
    return notes


def _has_marks(opened: Opened, load: Load) -> bool:
    """Say whether what the log would be written from tells of superseded rows too."""
    return opened["cfg"]["extract"] == "events" or not load["forward"]


def _queries(
    warehouse: Warehouse, opened: Opened, staged: Staged, derived: Derived
) -> dict[str, str]:
    """Return the queries of the rows that a plan shows, by what they give."""
    macro, load, rows, roles = (
        warehouse.macro,
        derived["load"],
        derived.get("slice"),
        staged["roles"],
    )
    figures, most = derived["figures"], opened["run"]["sample_rows"]
    queries = {}
    if figures.get("rows_rejected"):
        rejects = staged["rejects"]
        queries["rejects"] = macro("planned_rejects_sql", rejects["rows"])
        queries["rejected"] = f"{rejects['samples']}\nlimit {most}"
    if rows and (figures["rows_logged"] or figures["rows_superseded"]):
        marks, date = _has_marks(opened, load), load["business_date"]
        before = _rows_before(warehouse, opened, roles, load, rows)
        condition = f"_business_date = date'{date}'{' and _supersedes is null' if marks else ''}"
        queries["columns"] = macro("planned_columns_sql", rows, marks)
        queries["samples"] = macro("planned_samples_sql", roles, rows, condition, before, most)
        queries["dates"] = macro("planned_dates_sql", rows, marks, date)
    return queries


def _rows_before(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, rows: Any
) -> str | None:
    """Return what gives the rows that stood before, by their keys; None where nothing tells."""
    macro, before = warehouse.macro, None
    if opened["cfg"]["extract"] != "events":
        if load.get("existing"):
            names = [*(column["name"] for column in roles["stored"]), "_key_hash"]
            columns = macro("column_list_expr", names)
            before = f"select\n    {columns}\nfrom {load['existing']}"
    elif roles["keyed"] and load["forward"] and not opened["state"]["first"]:
        current = opened_to_come(warehouse, opened, roles)["relations"]["current"]
        before = macro("rows_before_events_sql", roles, current, rows)
    return before


def _files_at_location(warehouse: Warehouse, opened: Opened, is_kept: bool) -> Values:
    """Return where the files of a load are looked for and all that lie there.

    For who wants to know later whether they are the same; asked before they are read.
    """
    cfg, date, location = opened["cfg"], opened["run"]["business_date"], None
    if is_kept and cfg["extract"] == "events":
        location = cfg["location"] if lands_in_files(warehouse, cfg) else None
    elif is_kept and cfg["location"] and date:
        location = warehouse.macro("extract_path", cfg["location"], date)
    there = warehouse.adapter.list_files(location) if location else []
    return {"location": location, "there": there}


def _inputs(warehouse: Warehouse, cfg: Settings, body: str, source: Source, at: Values) -> Values:
    """Return the same with what the load reads of it, and what SELECT and look-ups read."""
    # if the table is not there, staging tells
    there = [sql for sql in looked_up_tables(cfg) if not warehouse.adapter.analysis_error(sql)]
    looked_up = [one for sql in there for one in warehouse.adapter.input_files(sql)]
    landing = source.get("landing") or {}
    if landing.get("in_files") or not source["parts"]:
        landed = [file["_file"] for file in landing.get("files") or []]
        return {**at, "landed": landed, "read": looked_up}
    return {**at, "landed": None, "read": [*warehouse.adapter.input_files(body), *looked_up]}


def _write_plan(warehouse: Warehouse, current: Any, facts: Values, queries: dict[str, str]) -> None:
    """Write the tables of a plan, in place of those of the plan before."""
    macro, tables = warehouse.macro, _plan_relations(warehouse, current)
    drop_plan(warehouse, current)
    macro("clear_leftovers", list(tables.values()))
    rows = {"plan": macro("plan_row_sql", facts)}
    for name, columns in macro("plan_columns").items():
        rows[name] = queries.get(name) or macro("no_rows_sql", columns)
    for name, sql in rows.items():
        warehouse.run(f"create table {tables[name]} using parquet as\n{sql}")


def _plan_relations(warehouse: Warehouse, current: Any) -> Values:
    """Return the tables of a plan, by what they hold: `airports__plan`, `airports__plan_dates`."""
    names = {"plan": "plan", **{name: f"plan_{name}" for name in warehouse.macro("plan_columns")}}
    return {name: warehouse.macro("side_relation", current, side) for name, side in names.items()}


def drop_plan(warehouse: Warehouse, current: Any) -> None:
    """Take away the plan of an entity, which may have values of its rows."""
    for relation in _plan_relations(warehouse, current).values():
        drop_table(warehouse, relation)
