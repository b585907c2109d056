"""Shared by operations: the entity as it is, its messages, the commit that records them."""

from __future__ import annotations

from typing import Any, Unpack

from tidemark.errors import DataError
from tidemark.pipeline.applying import apply_load
from tidemark.pipeline.commits import ensure_commits, entity_state, record_commit
from tidemark.pipeline.committing import check_still_ours
from tidemark.pipeline.opening import open_load, settled_state
from tidemark.pipeline.replacing import check_replaced_log
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.load import Load, Outcome
from tidemark.shapes.opened import Commit, Committing, Found, Kind, Noted, Opened, OpenedAtomic, Run
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def is_true(value: Any) -> bool:
    """Return a flag, which may come as text."""
    return str(value).lower() == "true"


def report(warehouse: Warehouse, entity: str, text: str) -> None:
    """Print a line about an entity on the console."""
    warehouse.report(f"{entity}: {text}")


def asked_run(warehouse: Warehouse, dry_run: bool) -> Run:
    """Return what was asked of the run of dbt that calls an operation."""
    run: Run = warehouse.macro("run_config")
    return {**run, "dry_run": dry_run}


def entity_config(warehouse: Warehouse, entity: str) -> Settings:
    """Return the settings of the cdc model of this name."""
    cfg: Settings = warehouse.macro("entity_config", warehouse.macro("entity_node", entity))
    return cfg


def open_entity(warehouse: Warehouse, entity: str, operation: str, dry_run: bool) -> Opened:
    """Open an entity: as a run does, it first finishes or rolls back what a dead one left.

    Raises:
        DataError: Nothing was loaded yet.
    """
    cfg = entity_config(warehouse, entity)
    opened = open_load(warehouse, cfg, asked_run(warehouse, dry_run))
    if not opened["state"]["recorded"]:
        raise DataError(
            f"{entity}: there is nothing to {operation}, as nothing was loaded yet. Run the model "
            "first"
        )
    return opened


def open_atomic(warehouse: Warehouse, node: Values, dry_run: bool = False) -> OpenedAtomic:
    """Open a `materialized: atomic` model, once no commit is in flight."""
    cfg: Settings = warehouse.macro("atomic_config", node)
    run = asked_run(warehouse, dry_run)
    found: Found = {
        "cfg": cfg,
        "run": run,
        "relations": warehouse.macro("atomic_relations", cfg),
        "commits": ensure_commits(warehouse, run),
    }
    state = settled_state(warehouse, found)
    return {**found, "state": state, "events": cfg["relation"]}


def look_at_entity(warehouse: Warehouse, entity: str, operation: str) -> Opened:
    """Open an entity, but leave what is in flight: that may be a load at work.

    Raises:
        DataError: Nothing was loaded yet.
    """
    cfg, run = entity_config(warehouse, entity), warehouse.macro("run_config")
    commits = ensure_commits(warehouse, run)
    state = entity_state(warehouse, commits, cfg["relation"], run)
    relations = warehouse.macro("side_relations", cfg["target"])
    is_there = state["recorded"] and all(
        relation_exists(warehouse, relations[name]) for name in ("log", "current")
    )
    if not is_there:
        raise DataError(
            f"{entity}: there is nothing to {operation}, as nothing was loaded yet. Run the model "
            "first"
        )
    return {"cfg": cfg, "run": run, "relations": relations, "commits": commits, "state": state}


def operation_commit(
    warehouse: Warehouse, opened: Committing, kind: Kind, **more: Unpack[Noted]
) -> Commit:
    """Return an operation's commit. It has no configuration: runs are held to the last load's."""
    return {
        "commit_id": warehouse.macro("next_commit_id", opened["state"]["last_id"]),
        "relation": opened["cfg"]["relation"],
        "entity": opened["cfg"]["entity"],
        "kind": kind,
        "started_at": warehouse.macro("utc_now"),
        "invocation_id": opened["run"]["invocation_id"],
        **more,
    }


def replace_log(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, commit: Commit, rows: int
) -> None:
    """Put the log that an operation has filled beside the old one in its place, and record that.

    Args:
        warehouse: Where it is.
        opened: The entity.
        roles: What becomes of each column.
        load: The load of the operation.
        commit: Its commit, in flight.
        rows: How many rows the new log has.

    Raises:
        DataError: Another run has written to the old one meanwhile.
    """
    check_replaced_log(warehouse, opened, commit)
    derived: Outcome = {"outcome": "commit", "figures": {"rows_logged": rows}}
    check_still_ours(warehouse, opened, derived, commit)
    apply_load(warehouse, opened, roles, load, commit)
    record_commit(warehouse, opened["commits"], commit, "completed", {"rows_logged": rows})


def begin_operation(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Record it in flight, then those that dead calls left rolled back: readers find one always."""
    record_commit(warehouse, opened["commits"], commit, "inflight", {})
    end_begun(warehouse, opened, commit)


def end_begun(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Roll back the commits of an operation that dead calls left in flight, but for this one."""
    for row in left_in_flight(warehouse, opened, commit["kind"]):
        if int(row["commit_id"]) != commit["commit_id"]:
            left: Commit = {
                **commit,
                "commit_id": int(row["commit_id"]),
                "started_at": warehouse.macro("utc_text_of_micros", row["started_micros"]),
                "details": row["details"],
                "source_commit_id": row["source_commit_id"],
                "state_at": warehouse.macro("utc_text_of_micros", row["state_micros"]),
            }
            record_commit(warehouse, opened["commits"], left, "rolled_back", {})


def report_unfinished(warehouse: Warehouse, opened: Opened, kind: str) -> None:
    """Say that a call of an operation which died would be finished."""
    for row in left_in_flight(warehouse, opened, kind):
        what = f"would finish the {kind} that a call left in flight, commit {row['commit_id']}"
        report(warehouse, opened["cfg"]["entity"], what)


def left_in_flight(warehouse: Warehouse, opened: Opened, kind: str) -> list[Values]:
    """Return the commits of a kind that are in flight."""
    states, relation = opened["commits"]["states"], opened["cfg"]["relation"]
    return warehouse.rows(warehouse.macro("inflight_operations_sql", states, relation, kind))
