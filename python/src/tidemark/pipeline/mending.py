"""A commit that a run left in flight is finished or rolled back: the log decides."""

from __future__ import annotations

import json
from typing import Any

from tidemark.pipeline.altering import columns_go_back, undo_statement
from tidemark.pipeline.applying import apply_load, rebuild_current
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.replacing import has_moved_since, has_new_log, replaces_log
from tidemark.pipeline.tables import (
    drop_new_log,
    free_columns,
    has_commit,
    has_rows,
    make_current,
    make_history_view,
    no_longer_required,
    relation_exists,
)
from tidemark.pipeline.timeline import steps_of_rollback
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.drift import is_retagged
from tidemark.rules.timeline import REWRITING, with_last
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Commit, Found, Inflight, Noted, Opened, Relations, State
from tidemark.shapes.settings import Settings


def mend_commit(warehouse: Warehouse, opened: Found, state: State, left: Inflight) -> None:
    """Finish or roll back a commit that a run left in flight.

    If the log has the commit, current follows; if not, what was written beside it is taken away.
    The run that began it may be alive after all, slow, on another machine: so it is first recorded
    as taken over and shut out of the log, which then is asked again, and of what it may write
    beside it and that others look at. The commit stays that run's.

    Args:
        warehouse: Where the tables are.
        opened: The entity.
        state: What entity_state() returned.
        left: One of its `inflight`.
    """
    commits = opened["commits"]
    row = _last_inflight(warehouse, opened, left)
    commit = _begun(warehouse, opened["cfg"], left, row)
    numbers = _numbers(warehouse, row)
    cfg, relations = opened["cfg"], opened["relations"]
    landed = warehouse.of_family(cfg, "has_landed", opened, commit, numbers)
    # who replaces the log looks whether it was taken over as long as that has not happened
    replaces = replaces_log(commit) and cfg["family"] != "enriched"
    if not landed or replaces:
        shared = warehouse.of_family(cfg, "shared_log", relations, commit)
        details = json.dumps({"taken_over_by": opened["run"]["invocation_id"]})
        commit = {**commit, "details": details}
        record_commit(warehouse, commits, commit, "inflight", numbers)
        if shared and relation_exists(warehouse, shared):
            file_format = (commit["config"] or cfg)["file_format"]
            fences = warehouse.of_family(cfg, "fences", file_format, relations, commit["commit_id"])
            warehouse.run_all(fences)
        landed = warehouse.of_family(cfg, "has_landed", opened, commit, numbers)
        landed = landed and not (replaces and has_moved_since(warehouse, opened, commit))
    if landed:
        warehouse.of_family(cfg, "finish", opened, state, commit)
    else:
        warehouse.of_family(cfg, "discard", {**opened, "state": state}, commit)
    outcome = "completed" if landed else "rolled_back"
    record_commit(warehouse, commits, commit, outcome, numbers if landed else {})
    what = commit.get("business_date", commit["kind"])
    warehouse.report(
        f"{cfg['entity']}: {'finished' if landed else 'rolled back'} commit {commit['commit_id']} "
        f"({what}), which an earlier run had left {'after' if landed else 'before'} writing its log"
    )


def _last_inflight(warehouse: Warehouse, opened: Found, left: Inflight) -> Values:
    relation = warehouse.macro("string_literal", opened["cfg"]["relation"])
    # The timestamps of rows are local times, by some adapters this process's, by others the
    # session's.
    return warehouse.rows(
        "select *, unix_micros(started_at) as started_micros, unix_micros(state_at) as "
        "state_micros, unix_micros(etl_tstamp) as etl_micros "
        f"from {opened['commits']['states']} where relation = {relation} "
        f"and commit_id = {left['commit_id']} and state = 'inflight' "
        "order by state_at desc nulls last limit 1"
    )[0]


def _begun(warehouse: Warehouse, cfg: Settings, left: Inflight, row: Values) -> Commit:
    """Return the commit as the run that left it had recorded it."""
    dated: Noted = {"business_date": left["business_date"]} if "business_date" in left else {}
    return {
        "commit_id": left["commit_id"],
        "kind": left["kind"],
        **dated,
        "relation": cfg["relation"],
        "entity": cfg["entity"],
        "started_at": warehouse.macro("utc_text_of_micros", row["started_micros"]),
        "state_at": warehouse.macro("utc_text_of_micros", row["state_micros"]),
        "config": json.loads(left.get("config") or "null"),
        "invocation_id": row["invocation_id"],
        "is_correction": row["is_correction"],
        "source_commit_id": row["source_commit_id"],
    }


def _numbers(warehouse: Warehouse, row: Values) -> Values:
    numbers = {
        name: value
        for name, value in row.items()
        if name.startswith("rows_")
        or name.endswith(("_before", "_sequence_num"))
        or name in ("batch_id", "last_file", "rules")
    }
    if row["etl_micros"] is not None:
        numbers["etl_tstamp"] = warehouse.macro("utc_text_of_micros", row["etl_micros"])
    return numbers


def shared_log(warehouse: Warehouse, relations: Relations, commit: Commit) -> Any:
    """Return the table that the run which left a commit may still write to.

    None where it wrote a new one, which nobody reads: it looks whether it was taken over before
    that takes the place of the old one, see check_replaced_log().
    """
    return None if replaces_log(commit) else relations["log_table"]


def log_has_landed(warehouse: Warehouse, opened: Found, commit: Commit, numbers: Values) -> bool:
    """Say whether the log has a commit."""
    log, commit_id, kind = opened["relations"]["log_table"], commit["commit_id"], commit["kind"]
    logged = numbers["rows_logged"]
    if kind in REWRITING:
        old = warehouse.macro("old_relation", log, commit_id)
        return (
            not relation_exists(warehouse, log)
            or relation_exists(warehouse, old)
            or has_new_log(warehouse, log, commit, logged)
        )
    # A rollback without rows of the log is done once it is recorded; what it undoes may be marked.
    if kind == "rollback" and logged == 0 and numbers["rows_superseded"] == 0:
        return True
    if has_commit(warehouse, log, commit_id):
        return True
    new_log = warehouse.macro("new_relation", log)
    return kind == "full_refresh" and (logged == 0 or has_commit(warehouse, new_log, commit_id))


def finish_commit(warehouse: Warehouse, opened: Found, state: State, commit: Commit) -> None:
    """Do what is left to do once the log has a commit."""
    cfg, relations, recorded = opened["cfg"], opened["relations"], commit["config"]
    kind, current = commit["kind"], relations["current"]
    recorded_cfg = warehouse.macro("recorded_cfg", cfg, recorded)
    roles = warehouse.macro("recorded_roles", recorded, cfg)
    is_remade = kind == "rollback" and columns_go_back(
        warehouse, recorded_cfg, relations, state["recorded"], recorded
    )
    is_gone = not relation_exists(warehouse, current)
    shows_others = bool(state["recorded"]) and is_retagged(recorded, state["recorded"])
    load: Load = {
        **_dated_load(state, commit),
        "forward": False,
        "rebuild": is_gone or is_remade or shows_others,
        "mends_rejects": kind == "load"
        and recorded["extract"] != "events"
        and bool(recorded.get("marks_rejects")),
    }
    if not replaces_log(commit):
        if is_gone:
            make_current(warehouse, recorded_cfg, roles, relations)
        make_history_view(warehouse, recorded_cfg, roles, relations)
        # what the log has current must take
        freed = no_longer_required(warehouse, current, roles["stored"])
        free_columns(warehouse, current, freed)
    if kind == "rollback":
        steps = steps_of_rollback(warehouse, opened["commits"], commit)
        load = {**with_last(load, steps), "business_date": steps["last_date"]}
    held: Opened = {**opened, "cfg": recorded_cfg, "state": state}
    apply_load(warehouse, held, roles, load, commit)


def _dated_load(state: State, commit: Commit) -> Load:
    """Return the load of a commit, with the date of which current is once it has that."""
    date, last = commit.get("business_date"), state["last_date"]
    is_last = commit["kind"] == "full_refresh" or not last or (date and date >= last)
    load: Load = {
        "commit_id": commit["commit_id"],
        "kind": commit["kind"],
        "business_date": date or last,
    }
    if not is_last:
        return with_last(load, state)
    return {
        **load,
        "last_date": date,
        "last_date_commit_id": commit["commit_id"],
        "last_extract": commit["config"]["extract"],
    }


def discard_commit(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Take away what a commit wrote beside the log before it failed.

    From current goes what it shows by other settings than the last one: a load that logs nothing
    may have come so far.
    """
    cfg, relations, recorded = opened["cfg"], opened["relations"], opened["state"]["recorded"]
    kind, current = commit["kind"], relations["current"]
    if recorded and recorded["extract"] == "events" and kind == "load":
        undo_statement(warehouse, opened, commit)
    if recorded and kind != "full_refresh":
        shows_others = is_retagged(commit["config"], recorded)
        if shows_others and relation_exists(warehouse, current):
            recorded_cfg = warehouse.macro("recorded_cfg", cfg, recorded)
            roles = warehouse.macro("recorded_roles", recorded, cfg)
            rebuild_current(warehouse, recorded_cfg, roles, opened["state"], relations)
    if replaces_log(commit):
        drop_new_log(warehouse, relations)
    file_format, commit_id = commit["config"]["file_format"], commit["commit_id"]
    for name in ("rejects", "sensitive", "supplied", "staging", "landed"):
        table = relations[name]
        if not relation_exists(warehouse, table):
            continue
        # to look costs a tenth of a DELETE that finds nothing
        if has_rows(warehouse, table, f"_commit_id = {commit_id}"):
            warehouse.run_all(warehouse.of_format(file_format, "discard_commit", table, commit_id))


def log_fences(
    warehouse: Warehouse, file_format: str, relations: Relations, commit_id: int
) -> list[str]:
    """Return what shuts a run out: what lies beside the log counts once the log has its commit."""
    statements: list[str] = warehouse.of_format(
        file_format, "fence_log", relations["log_table"], commit_id
    )
    return statements
