"""The entity as each load and operation gets it. No commit is in flight afterwards."""

from __future__ import annotations

import json
from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.pipeline.commits import ensure_commits, entity_state
from tidemark.pipeline.delta_files import has_files
from tidemark.pipeline.expressions import check_expressions
from tidemark.pipeline.layout import checked_layout, laid_out, migrate_entity
from tidemark.pipeline.look_ups import with_look_ups
from tidemark.pipeline.mending import mend_commit
from tidemark.pipeline.missing import make_missing
from tidemark.pipeline.replacing import fence_log
from tidemark.pipeline.tables import (
    cached_relation,
    drop_table,
    has_rows,
    present_relations,
)
from tidemark.pipeline.warehouse import Warehouse
from tidemark.pipeline.workers import engine_of
from tidemark.shapes.opened import Found, Opened, Run, State
from tidemark.shapes.settings import Settings


def open_load(warehouse: Warehouse, cfg: Settings, run: Run, current: Any = None) -> Opened:
    """Open an entity for a load or an operation: what a dead run left is finished or rolled back.

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        run: The dict of `run_config()`.
        current: The relation of the current table, if it is not that of the settings.

    Raises:
        DataError: Tables and commits do not belong together, or this is a dry run and a commit is
            in flight.
    """
    cfg = with_look_ups(warehouse, cfg)
    check_expressions(warehouse, cfg)
    if warehouse.macro("can", "run_workers") and not run.get("dry_run"):
        if engine_of({"cfg": cfg, "run": run}) != "spark":
            warehouse.adapter.warm_worker()
    if cfg["family"] == "enriched":
        relations = warehouse.macro("atomic_relations", cfg)
    else:
        relations = dict(warehouse.macro("side_relations", current or cfg["target"]))
    commits = ensure_commits(warehouse, run)
    found: Found = {"cfg": cfg, "run": run, "relations": relations, "commits": commits}
    return opened_anew(warehouse, found)


def opened_anew(warehouse: Warehouse, opened: Found, run: Run | None = None) -> Opened:
    """Return the same with the state as it is by now, for another date or after another commit."""
    cfg = opened["cfg"]
    known: Found = {**opened, "run": run or opened["run"]}
    state = settled_state(warehouse, known)
    known = {**known, "run": warehouse.of_family(cfg, "run", known, state)}
    state = warehouse.of_family(cfg, "state", known, state)
    return {
        **known,
        "state": state,
        "cfg": warehouse.macro("config_of_date", cfg, known["run"], state),
    }


def settled_state(warehouse: Warehouse, opened: Found) -> State:
    """Return what tidemark_commits tells of the entity, once no commit is in flight.

    Raises:
        DataError: This is a dry run, and one is.
    """
    cfg, run, commits = opened["cfg"], opened["run"], opened["commits"]
    layout = checked_layout(warehouse, laid_out(opened))
    # Asked before the commits are: what is written to the log from now on is noticed, as its rows
    # are staged for this version.
    log_version = None if layout is None else _log_version(warehouse, opened)
    state = entity_state(warehouse, commits, cfg["relation"], run)
    _check_no_parquet(cfg, state)
    inflight = sorted(state["inflight"], key=lambda left: left["commit_id"])
    is_settled = not inflight and (layout is None or not migrate_entity(warehouse, opened, layout))
    if is_settled:
        return {**state, "log_version": log_version}
    if inflight and run.get("dry_run"):
        raise DataError(
            f"{cfg['entity']}: commit {state['inflight'][0]['commit_id']} is in flight: a run "
            "is at work, or died. Run the model: the run finishes the commit or rolls the "
            "commit back"
        )
    for left in inflight:
        mend_commit(warehouse, opened, state, left)
    if inflight:
        migrate_entity(warehouse, opened, layout)
    state = entity_state(warehouse, commits, cfg["relation"], run)
    return {**state, "log_version": _log_version(warehouse, opened)}


def _check_no_parquet(cfg: Settings, state: State) -> None:
    """Stop where releases before this one wrote plain Parquet, or begun to."""
    begun = [json.loads(left.get("config") or "null") for left in state["inflight"]]
    if any(one and one.get("file_format") == "parquet" for one in (state["recorded"], *begun)):
        raise ConfigError(
            f"{cfg['entity']}: the tables are plain Parquet, which this release does not "
            "support. Run the model by the release before with file_format: delta and "
            "--full-refresh, which keeps the old log. Or drop the tables with `dbt "
            f"run-operation drop_entity --args '{{entity: {cfg['entity']}}}'` and "
            "load the entity again"
        )


def _log_version(warehouse: Warehouse, opened: Found) -> int | None:
    """Return the version of the log, or None where rows cannot be staged into it."""
    cfg = opened["cfg"]
    if cfg["family"] == "enriched" or not has_files(warehouse, cfg):
        return None
    version: int | None = warehouse.adapter.table_version(opened["relations"]["log"])
    return version


def log_state(warehouse: Warehouse, opened: Found, state: State) -> State:
    """Return the state of an entity with a log.

    What lies where its tables belong is checked, what is missing beside the log is made anew.
    """
    cfg, run, relations = opened["cfg"], opened["run"], opened["relations"]
    refreshes = run["full_refresh"]
    present = present_relations(warehouse, relations)
    existing = cached_relation(warehouse, cfg["target"])
    is_view = existing is not None and existing.is_view
    has_log = "log_table" in present
    has_current = "current" in present
    if has_log and not state["recorded"] and _is_left(warehouse, opened, is_view):
        has_log, has_current = False, False
    if not refreshes:
        found = ("view" if is_view else "table") if has_current else None
        _check_whose_tables(opened, state, has_log, found)
    first = not state["recorded"] or refreshes
    version = None if first else state["log_version"]
    state = {**state, "has_log": has_log, "first": first, "log_version": version}
    if not first:
        make_missing(warehouse, {**opened, "state": state}, present)
    return state


def _is_left(warehouse: Warehouse, opened: Found, is_view: bool) -> bool:
    """Say whether a first run has left tables without rows, as it died before its commit.

    They are dropped, as this run is the first then; one that lives is shut out of the log before
    that is dropped. The log goes last, as it tells whose the others are. Who died here may have
    left the row of a fence.

    Raises:
        DataError: Another run has made its first load meanwhile.
    """
    cfg, relations, is_dry = opened["cfg"], opened["relations"], opened["run"].get("dry_run")
    log = relations["log_table"]
    of_commits = "_commit_id is not null" if cfg["file_format"] == "iceberg" else None
    if has_rows(warehouse, log, of_commits):
        return False
    if is_dry:
        return True
    fence_log(warehouse, cfg["file_format"], log, 1)
    if has_rows(warehouse, log, of_commits):
        raise DataError(
            f"{cfg['entity']}: another run made the first load since this run began. This run "
            "wrote nothing. Run the model again"
        )
    for name in ("current", "staging", "landed", "log_table"):
        if name != "current" or not is_view:
            drop_table(warehouse, relations[name])
    return True


def _check_whose_tables(opened: Found, state: State, has_log: bool, current: str | None) -> None:
    """Check that log and commits belong together, and that current belongs to a log.

    Args:
        opened: The entity.
        state: What tidemark_commits tells.
        has_log: Whether there is a log.
        current: What there is in the place of current, if anything: view or table.
    """
    relations, entity = opened["relations"], opened["cfg"]["entity"]
    if state["recorded"] and not has_log:
        raise DataError(
            f"{entity}: the log {relations['log']} is gone, but commits wrote to it. Restore "
            "the table, or start a new log with --full-refresh"
        )
    if has_log and not state["recorded"]:
        raise DataError(
            f"{entity}: there is a log {relations['log']}, but {opened['commits']['view']} has "
            f"no commit of the log. Restore {opened['commits']['view']}, or start a new log "
            "with --full-refresh"
        )
    if current and not has_log:
        raise DataError(
            f"{entity}: {relations['current']} is a {current} that Tidemark did not make. Drop "
            "or rename the relation, or replace the relation with --full-refresh"
        )
