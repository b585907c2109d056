"""What a load would do, worked out by the steps of the load itself as far as its commit.

Nothing of the entity is made, altered or written: where a load would alter a table, views take its
place (see opened_to_come()). Of change events the first part is planned.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tidemark.errors import UsageError
from tidemark.pipeline.applying import is_written_whole
from tidemark.pipeline.extracts_source import source_of_workers
from tidemark.pipeline.landing import lands_in_files
from tidemark.pipeline.opening import open_load
from tidemark.pipeline.slices import forget_run_views, opened_to_come
from tidemark.pipeline.steps import summary
from tidemark.pipeline.tables import drop_table
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.drift import new_columns
from tidemark.rules.guard import (
    deletes_too_much,
    guarded_deletes,
    guarded_rejects,
    rejects_too_many,
)
from tidemark.rules.names import names_of

_LONGEST = 120
"""How much of a statement a note tells."""


def plan_entity(warehouse: Warehouse, cfg: Values, run: Values, current: Any, body: str) -> str:
    """Plan a load, for `tidemark plan` or as tables beside the entity.

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        run: The dict of `run_config()`.
        current: The relation of the current table.
        body: The compiled SQL of the model.

    Returns:
        The line that dbt prints.

    Raises:
        UsageError: There are no rows to plan with, or nobody to take the plan.
        DataError: A commit is in flight.
    """
    if run["empty"]:
        raise UsageError(f"{cfg['entity']}: a plan needs the rows that --empty leaves out")
    if run["plan"] == "kept" and not warehouse.macro("can", "keep_plan"):
        raise UsageError(
            f"{cfg['entity']}: `tidemark plan` needs `type: tidemark` with `method: session` in "
            "the profile. By a Thrift server dbt gives a plan as tables: dbt run --vars "
            "'plan: true'"
        )
    # by Spark, as there are samples
    cfg = {**cfg, "asked_engine": cfg["engine"], "engine": "spark"}
    opened = open_load(warehouse, cfg, {**run, "dry_run": True}, current)
    cfg, opened = opened["cfg"], {**opened, "state": {**opened["state"], "log_version": None}}
    forget_run_views(warehouse, cfg["target"])
    # asked before they are read
    there = _files_there(warehouse, opened)
    source = warehouse.of_family(cfg, "source", opened, body)
    inputs = _inputs(warehouse, opened, body, source, there)
    facts, queries = {}, {}
    if source["parts"]:
        staged = warehouse.of_family(cfg, "stage", opened, source, source["parts"][0])
        to_come = opened_to_come(warehouse, opened, staged["plan"])
        derived = warehouse.of_family(cfg, "derive", to_come, staged, None)
        facts = _facts(warehouse, opened, body, source, staged, derived)
        queries = _queries(warehouse, opened, staged, derived)
    facts = {**no_planned_facts(warehouse, opened), **facts}
    _keep(warehouse, opened, facts, queries, inputs)
    forget_run_views(warehouse, cfg["target"])
    return f"PLAN {summary(facts['counts'])}"


def no_planned_facts(warehouse: Warehouse, opened: Values) -> Values:
    """Return what there is to say of a load that has nothing to read.

    No event has landed since the last one.
    """
    cfg, state, macro = opened["cfg"], opened["state"], warehouse.macro
    # Of the first load's tables, and of those that a full refresh makes in another format, there
    # are none.
    recorded = state["recorded"]
    are_to_come = state["first"] and (not recorded or macro("changes_format", cfg, recorded))
    versions = {
        f"{name}_version": None
        if are_to_come
        else macro("table_version", cfg["file_format"], opened["relations"][name])
        for name in ("log", "current")
    }
    return {
        "entity": cfg["entity"],
        "relation": cfg["relation"],
        "extract": cfg["extract"],
        "business_date": opened["run"]["business_date"],
        "kind": "first load" if state["first"] else "load",
        "outcome": "nothing",
        "stops": None,
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
        "tables": {"last_commit_id": state["last_id"], **versions},
    }


def _facts(
    warehouse: Warehouse, opened: Values, body: str, source: Values, staged: Values, derived: Values
) -> Values:
    """Return what there is to say of a load beside its rows: numbers, verdicts, versions."""
    cfg, state = opened["cfg"], opened["state"]
    plan, load, figures = staged["plan"], derived["load"], derived["figures"]
    is_events = cfg["extract"] == "events"
    counts = {name: int(value or 0) for name, value in figures.items() if name.startswith("rows_")}
    has_rows = counts["rows_logged"] > 0 or counts["rows_superseded"] > 0
    existing = figures.get("existing")
    if is_events and not state["first"]:
        current = opened["relations"]["current"]
        sql = f"select count(*) from {current} where _operation <> 'D'"
        existing = warehouse.run(sql)[0][0]
    guard, reject_guard = _verdict_on_deletes(opened, figures), _verdict_on_rejects(opened, figures)
    stops = _why_it_stops(cfg, staged, guard, reject_guard)
    has_rejects = counts["rows_rejected"] > 0
    is_new = has_rows or state["first"] or figures.get("new_rejects")
    is_new = is_new or (has_rejects and (is_events or load.get("this_commit_id") is None))
    outcome = "changes" if is_new else "nothing"
    return {
        "business_date": load["business_date"],
        "kind": _kind_of(load, state["first"]),
        "outcome": "stops" if stops else outcome,
        "stops": stops,
        "counts": counts,
        "existing": int(existing or 0),
        "columns_known": cfg["changed_columns"] is not False,
        "guard": guard,
        "reject_guard": reject_guard,
        "files": _written_files(warehouse, opened, body, staged, derived, has_rows),
        "batch": _batch(source, staged, figures) if is_events else None,
        "sensitive": names_of(plan["sensitive"]),
        "sensitive_keys": names_of(one for one in plan["sensitive"] if one.get("key")),
        "notes": _notes(opened, source, staged, derived, has_rows),
    }


def _kind_of(load: Values, is_first: bool) -> str:
    if load["kind"] == "full_refresh":
        return "full refresh"
    if is_first:
        return "first load"
    if load.get("this_commit_id"):
        return "correction"
    return "load" if load["forward"] else "late load"


def _verdict_on_deletes(opened: Values, figures: Values) -> Values | None:
    """Return what the guard of deletes would say; None where it does not look."""
    cfg = opened["cfg"]
    if cfg["extract"] != "full":
        return None
    stopped = "let through" if opened["run"]["allow_deletes"] else "stops"
    guarded = guarded_deletes(figures)
    return {
        "verdict": stopped if deletes_too_much(cfg, figures) else "passes",
        "rows_deleted": guarded["deleted"],
        "existing": guarded["existing"],
        "max_delete_fraction": cfg["max_delete_fraction"],
    }


def _verdict_on_rejects(opened: Values, figures: Values) -> Values | None:
    """Return the same of the guard of rejects, which looks where they go to quarantine."""
    cfg, run = opened["cfg"], opened["run"]
    if cfg["on_reject"] == "fail" or not figures.get("rows_rejected"):
        return None
    stopped = "let through" if run["allow_rejects"] else "stops"
    guarded = guarded_rejects(figures)
    is_many = rejects_too_many(cfg, {**run, "allow_rejects": False}, figures)
    return {
        "verdict": stopped if is_many else "passes",
        "rows_rejected": guarded["rejected"],
        "rows_read": guarded["read"],
        "max_reject_fraction": cfg["max_reject_fraction"],
    }


def _why_it_stops(
    cfg: Values, staged: Values, guard: Values | None, reject_guard: Values | None
) -> str | None:
    """Return why a load would stop before it writes anything, if it would."""
    figures, reasons = staged["figures"], []
    rejected, read = figures.get("rows_rejected"), figures["rows_read"]
    units = staged["rejects"]["units"][1] if rejected else ""
    if rejected and cfg["on_reject"] == "fail":
        reasons.append(f"{rejected} of {read} {units} cannot be used, and on_reject is fail")
    if reject_guard and reject_guard["verdict"] == "stops":
        of = f"{reject_guard['rows_rejected']} of {reject_guard['rows_read']}"
        most = cfg["max_reject_fraction"]
        reasons.append(f"{of} {units} cannot be used (max_reject_fraction is {most})")
    if guard and guard["verdict"] == "stops":
        of, most = f"{guard['rows_deleted']} of {guard['existing']}", cfg["max_delete_fraction"]
        reasons.append(
            f"it has {read} rows and would delete {of} keys (max_delete_fraction is {most})"
        )
    return "; ".join(reasons) or None


def _written_files(
    warehouse: Warehouse,
    opened: Values,
    body: str,
    staged: Values,
    derived: Values,
    has_rows: bool,
) -> Values:
    """Return how current would be written, and how much of it.

    The engine in the workers writes all of what it takes.
    """
    cfg, relations, macro = opened["cfg"], opened["relations"], warehouse.macro
    load, figures, written = derived["load"], derived["figures"], "nothing"
    if opened["state"]["first"]:
        return {"current": "whole", "current_files": None, "current_files_changed": None}
    commits = derived["outcome"] == "commit"
    if load["rebuild"] or (
        commits and is_written_whole(warehouse, cfg, relations, load, figures, not has_rows)
    ):
        written = "whole"
    elif has_rows:
        asked = {**opened, "cfg": {**cfg, "engine": cfg["asked_engine"]}}
        by_workers = load["forward"] and cfg["extract"] != "events" and not staged["plan"]["added"]
        by_workers = by_workers and source_of_workers(warehouse, asked, body) is not None
        written = "whole" if by_workers else "merge"
    is_delta, slice_ = cfg["file_format"] == "delta", derived.get("slice")
    changed = 0 if is_delta else None
    if has_rows and is_delta and slice_:
        marks = _has_marks(opened, load)
        sql = macro("planned_files_sql", relations["current"], slice_, marks)
        changed = warehouse.rows(sql)[0]["file_count"]
    files = macro("file_count", "delta", relations["current"]) if is_delta else None
    return {"current": written, "current_files": files, "current_files_changed": changed}


def _batch(source: Values, staged: Values, figures: Values) -> Values:
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
    opened: Values, source: Values, staged: Values, derived: Values, has_rows: bool
) -> list[str]:
    """Return what else there is to know, a sentence each."""
    cfg, state, load = opened["cfg"], opened["state"], derived["load"]
    recorded = None if state["first"] else state["recorded"]
    notes = list(new_columns(cfg, staged["plan"], recorded)["short"])
    if len(source["parts"]) > 1:
        notes.append("a DDL event changes the columns: planned is what comes before it")
    for statement in load.get("statements") or []:
        if statement.get("text"):
            notes.append(f"a DDL event is applied: {statement['text'][:_LONGEST]}")
    if derived["outcome"] == "repeat":
        is_events = cfg["extract"] == "events"
        same = "nothing is other than when it was loaded before"
        notes.append("every event is known already" if is_events else same)
    elif derived["outcome"] == "commit" and not has_rows and not state["first"]:
        notes.append("no row changes: only the commit is recorded")
    if load["rebuild"]:
        notes.append("current is written again, as tag_unchanged or soft_delete changed")
    return notes


def _has_marks(opened: Values, load: Values) -> bool:
    """Say whether what the log would be written from tells of rows that are superseded too."""
    return opened["cfg"]["extract"] == "events" or not load["forward"]


def _queries(
    warehouse: Warehouse, opened: Values, staged: Values, derived: Values
) -> dict[str, str]:
    """Return the queries of the rows that a plan shows, by what they give."""
    cfg, run, macro = opened["cfg"], opened["run"], warehouse.macro
    plan, load, slice_ = staged["plan"], derived["load"], derived.get("slice")
    figures, marks, queries = derived["figures"], _has_marks(opened, derived["load"]), {}
    if figures.get("rows_rejected"):
        rejects = staged["rejects"]
        queries["rejects"] = macro("planned_rejects_sql", rejects["rows"])
        queries["rejected"] = f"{rejects['samples']}\nlimit {run['sample_rows']}"
    if not slice_ or not (figures["rows_logged"] or figures["rows_superseded"]):
        return queries
    before = None
    if cfg["extract"] != "events":
        if load["existing"]:
            names = macro("column_list_expr", [*names_of(plan["stored"]), "_key_hash"])
            before = f"select\n    {names}\nfrom {load['existing']}"
    elif plan["keyed"] and load["forward"] and not opened["state"]["first"]:
        current = opened_to_come(warehouse, opened, plan)["relations"]["current"]
        before = macro("rows_before_events_sql", plan, current, slice_)
    date = load["business_date"]
    condition = f"_business_date = date'{date}'{' and _supersedes is null' if marks else ''}"
    sample_rows = run["sample_rows"]
    return {
        **queries,
        "columns": macro("planned_columns_sql", slice_, marks),
        "samples": macro("planned_samples_sql", plan, slice_, condition, before, sample_rows),
        "dates": macro("planned_dates_sql", slice_, marks, date),
    }


def _files_there(warehouse: Warehouse, opened: Values) -> Values:
    """Return where the files of a load are looked for and all that lie there.

    It is for who wants to know later whether they are the same.
    """
    cfg, run, location = opened["cfg"], opened["run"], None
    if warehouse.macro("can", "keep_plan") and run["plan"] == "kept":
        if cfg["extract"] == "events":
            location = cfg["location"] if lands_in_files(warehouse, cfg) else None
        elif cfg["location"] and run["business_date"]:
            location = warehouse.macro("extract_path", cfg["location"], run["business_date"])
    there = warehouse.adapter.list_files(location) if location else []
    return {"location": location, "there": there}


def _inputs(
    warehouse: Warehouse, opened: Values, body: str, source: Values, there: Values
) -> Values:
    """Return the same with what the load reads of it, and what the model's SELECT reads.

    `landed` are files, `read` files and tables of Delta.
    """
    if not warehouse.macro("can", "keep_plan") or opened["run"]["plan"] != "kept":
        return there
    landing = source.get("landing") or {}
    if landing.get("in_files") or not source["parts"]:
        landed = [file["_file"] for file in landing.get("files") or []]
        return {**there, "landed": landed, "read": []}
    return {**there, "landed": None, "read": warehouse.adapter.input_files(body)}


def _keep(
    warehouse: Warehouse, opened: Values, facts: Values, queries: dict[str, str], inputs: Values
) -> None:
    """Hand a plan to `tidemark plan`, which started this run, or keep it as tables.

    These take the place of those of the plan before. Each is of Parquet, whatever the format of the
    entity.
    """
    macro, target = warehouse.macro, opened["cfg"]["target"]
    if opened["run"]["plan"] == "kept":
        rows = {name: warehouse.rows(sql) for name, sql in queries.items()}
        import_module("tidemark.plan.collect").take(facts, rows, inputs)
        return
    tables = _plan_relations(warehouse, target)
    drop_plan(warehouse, target)
    macro("clear_debris", list(tables.values()))
    made = {"plan": macro("plan_row_sql", facts)}
    for name, columns in macro("plan_columns").items():
        made[name] = queries.get(name) or macro("no_rows_sql", columns)
    for name, sql in made.items():
        warehouse.run(f"create table {tables[name]} using parquet as\n{sql}")


def _plan_relations(warehouse: Warehouse, current: Any) -> Values:
    """Return the tables of a plan, by what they hold: `airports__plan_columns`, …"""
    names = {"plan": "plan", **{one: f"plan_{one}" for one in warehouse.macro("plan_columns")}}
    return {name: warehouse.macro("side_relation", current, of) for name, of in names.items()}


def drop_plan(warehouse: Warehouse, current: Any) -> None:
    """Take away the plan of an entity, which may have values of its rows."""
    for relation in _plan_relations(warehouse, current).values():
        drop_table(warehouse, relation)
