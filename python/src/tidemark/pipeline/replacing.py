"""A new log in the place of the old one: nobody may have written to that meanwhile."""

from __future__ import annotations

from typing import Any

from tidemark.pipeline.commits import entity_state, record_commit
from tidemark.pipeline.committing import raise_finished, raise_moved
from tidemark.pipeline.tables import has_commit, relation_exists
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.commits import REPLACING
from tidemark.rules.timeline import REWRITING
from tidemark.shapes.opened import Commit, Commits, Found, Inflight, Opened


def replaces_log(commit: Commit | Inflight) -> bool:
    """Say whether a commit writes a new log in the place of the old one."""
    return commit["kind"] in REPLACING


def fence_log(warehouse: Warehouse, file_format: str, log_table: Any, commit_id: int) -> None:
    """Shut out of a log whoever has begun to write to it."""
    warehouse.run_all(warehouse.of_format(file_format, "fence_log", log_table, commit_id))


def check_replaced_log(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Stop before a new log takes the place of the old one, if anybody has written to that.

    What was written since this run began would be lost. Nobody can write any more: whoever does is
    in flight in tidemark_commits first, so what came before the fence is seen here, and what comes
    after it finds this commit, see still_inflight_expr().

    Raises:
        DataError: Another run has written, or has taken this one for dead.
    """
    cfg, state = opened["cfg"], opened["state"]
    is_replaced = replaces_log(commit) and cfg["family"] != "enriched"
    if not is_replaced or not state.get("has_log", True):
        return
    check_is_alone(warehouse, opened, commit)
    log = opened["relations"]["log_table"]
    if relation_exists(warehouse, log):
        fence_log(warehouse, cfg["file_format"], log, commit["commit_id"])
        check_is_alone(warehouse, opened, commit)


def check_is_alone(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Take back what a run wrote beside a log, and end it, unless it is the only one that wrote.

    It is asked of a run that replaces a log, or does not write to it. Where another run has taken
    it for dead, the tables beside may be whole and are that one's to finish; where it was rolled
    back, they are in nobody's way.

    Raises:
        DataError: Another run has written, or has taken this one for dead.
    """
    cfg, relations, commits = opened["cfg"], opened["relations"], opened["commits"]
    relation, commit_id = cfg["relation"], int(commit["commit_id"])
    state = entity_state(warehouse, commits, relation, opened["run"])
    own_sql = warehouse.macro("last_state_sql", commits["states"], relation, commit["commit_id"])
    own = warehouse.rows(own_sql)[0]
    is_own = own["state"] == "inflight" and own["details"] is None
    has_moved = (
        any(int(left["commit_id"]) != commit_id for left in state["inflight"])
        or int(state["last_commit_id"] or 0) > int(opened["state"]["last_commit_id"] or 0)
        or (
            commit["kind"] in REWRITING
            and has_concurrent_erase(warehouse, commits, relation, opened["state"]["last_id"])
        )
    )
    has_log = cfg["family"] != "enriched"
    # another full refresh may have begun a new log in the place of this one's
    is_replaced = has_log and replaces_log(commit)
    if is_own and not has_moved:
        log = relations["log_table"] if is_replaced else None
        if not is_replaced or has_new_log(warehouse, log, commit, own["rows_logged"]):
            return
    if is_own and is_replaced and _is_swapped(warehouse, relations["log_table"], commit):
        raise_finished(cfg, commit)
    if is_own:
        warehouse.of_family(cfg, "discard", opened, commit)
        # For enriched events nothing was set aside, so no other run is to begin the full refresh
        # anew: see run_of_enriched().
        undone = commit if has_log else {**commit, "kind": "load"}
        record_commit(warehouse, commits, undone, "rolled_back", {})
    elif own["state"] == "completed":
        raise_finished(cfg, commit)
    raise_moved(cfg, relations["log" if has_log else "current"])


def _is_swapped(warehouse: Warehouse, log_table: Any, commit: Commit) -> bool:
    old = warehouse.macro("old_relation", log_table, commit["commit_id"])
    return relation_exists(warehouse, old)


def has_concurrent_erase(
    warehouse: Warehouse, commits: Commits, relation: str, commit_id: int | None
) -> bool:
    """Say whether a key of an entity is being erased, or has been since a commit.

    A copy of its log that was made meanwhile may have it.
    """
    sql = warehouse.macro("concurrent_erase_sql", commits["states"], relation, commit_id or 0)
    return bool(warehouse.rows(sql)[0]["is_beside"])


def has_new_log(warehouse: Warehouse, log_table: Any, commit: Commit, rows: Any) -> bool:
    """Say whether the new log is there, with all that the commit was to write."""
    new_log = warehouse.macro("new_relation", log_table)
    if not relation_exists(warehouse, new_log):
        return False
    if commit["kind"] in REWRITING:
        return bool(warehouse.macro("row_count", new_log) == int(rows or 0))
    return rows == 0 or has_commit(warehouse, new_log, commit["commit_id"])


def has_moved_since(warehouse: Warehouse, opened: Found, commit: Commit) -> bool:
    """Say whether another run has written to the log that a commit was to replace, since it began.

    What a dead run has made beside it lacks that. This run shuts everybody out of the log first.
    The dead one recorded the last commit of the log that it began with (earlier releases did not),
    so no clocks of two machines are compared.
    """
    log, relation = opened["relations"]["log_table"], opened["cfg"]["relation"]
    commits, run = opened["commits"], opened["run"]
    file_format = commit["config"]["file_format"]
    recorded = entity_state(warehouse, commits, relation, run)["recorded"]
    if not recorded:
        return False
    if not relation_exists(warehouse, log) or _is_swapped(warehouse, log, commit):
        return False
    fence_log(warehouse, file_format, log, commit["commit_id"])
    state = entity_state(warehouse, commits, relation, run)
    for left in state["inflight"]:
        if not replaces_log(left) and has_commit(warehouse, log, left["commit_id"]):
            return True
    source = commit["source_commit_id"]
    return source is None or int(source) != int(state["last_commit_id"] or 0)
