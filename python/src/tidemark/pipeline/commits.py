"""The commits of an entity in tidemark_commits: read, and written by a run."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any

from tidemark.pipeline.layout import checked_layout
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.commits import judged_marks, judged_state
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Commit, Commits, Opened, Recorded, Run, State

_making = threading.Lock()
_ADDED_AT_ONCE = "FIELD_ALREADY_EXISTS"
_MOST_STATES = 500
"""How many states of an entity's commits are judged here; of more of them Spark does."""
_PROPERTIES = {
    "delta": {"delta.autoOptimize.autoCompact": "true"},
    "iceberg": {"commit.retry.num-retries": "20"},
}


def ensure_commits(warehouse: Warehouse, run: Run) -> Commits:
    """Make table and view of commits where they are missing; a dry run makes none.

    One thread does at a time, as two would meet in an empty folder.

    Args:
        warehouse: Where they are.
        run: The dict of `run_config()`.
    """
    commits: Commits = warehouse.macro("commits_relations", run)
    if run.get("dry_run"):
        checked_layout(warehouse, commits["states"])
        is_there = bool(_present_columns(warehouse, commits["view"]))
        return commits if is_there else {**commits, "are_missing": True}
    if _statements(warehouse, run, commits):
        with _making:
            try:
                _make(warehouse, run, commits)
            except Exception as error:
                # another process has added the columns meanwhile
                if _ADDED_AT_ONCE not in str(error):
                    raise
                _make(warehouse, run, commits)
    return commits


def _make(warehouse: Warehouse, run: Run, commits: Commits) -> None:
    """Make what is missing by now: another thread may have made it."""
    if statements := _statements(warehouse, run, commits):
        warehouse.macro("run_alone", statements, [commits["states"]])


def _present_columns(warehouse: Warehouse, view: Any) -> list[str]:
    """Return the names of the columns of the view of commits; none if it is not there."""
    if warehouse.macro("can", "ask_catalog"):
        return list(warehouse.adapter.column_names(view))
    return [column.name for column in warehouse.adapter.get_columns_in_relation(view)]


def _statements(warehouse: Warehouse, run: Run, commits: Commits) -> list[str]:
    """Return what makes table and view of commits as this release has them; nothing if they are."""
    states, file_format = commits["states"], run["commits_format"]
    present = _present_columns(warehouse, commits["view"])
    layout = checked_layout(warehouse, states)
    migrations = warehouse.macro("migrate_layout_sql", states, layout) if layout is not None else []
    columns = warehouse.macro("commit_columns")
    if not migrations and present == [column["name"] for column in columns]:
        return []
    options = {"properties": _PROPERTIES.get(file_format, {})}
    return [
        f"create schema if not exists {run['commits_schema']}",
        *warehouse.of_format(file_format, "create_table", states, columns, options),
        *_missing_columns(warehouse, states, columns),
        *migrations,
        warehouse.macro("commits_view_sql", commits["view"], states),
    ]


def _missing_columns(warehouse: Warehouse, states: Any, columns: list[Values]) -> list[str]:
    """Return what adds the columns that a table of an earlier version lacks."""
    if not relation_exists(warehouse, states):
        return []
    found = warehouse.macro("describe_query", f"select * from {states}")
    present = {column["name"] for column in found}
    missing = [
        {name: column[name] for name in ("name", "type", "description")}
        for column in columns
        if column["name"] not in present
    ]
    definitions = warehouse.macro("column_definitions_expr", missing) if missing else ""
    return [f"alter table {states} add columns ({definitions})"] if missing else []


def entity_state(warehouse: Warehouse, commits: Commits, relation: str, run: Run) -> State:
    """Return what is known of an entity.

    Where its commits are few they are asked for as they are, which spares Spark three shuffles, and
    judged here; else Spark does: see entity_state_sql().

    Args:
        warehouse: Where the commits are.
        commits: What ensure_commits() returned.
        relation: The entity, as tidemark_commits names it.
        run: The dict of `run_config()`, of which `business_date` is read.
    """
    states = known_states(warehouse, commits, relation)
    if states is not None:
        return judged_state(states, run["business_date"])
    sql = warehouse.macro("entity_state_sql", commits["states"], relation, run["business_date"])
    row = warehouse.rows(sql)[0]
    later = {load["business_date"]: load for load in json.loads(row["later_loads"] or "[]")}
    return {
        "last_id": row["last_id"],
        "last_sequence_num": row["last_sequence_num"],
        "left_refresh": row["left_refresh"],
        "has_erased": row["has_erased"],
        "undone": json.loads(row["undone"] or "[]"),
        "inflight": json.loads(row["inflight"] or "[]"),
        "this_commit_id": row["this_commit_id"],
        "this_extract": row["this_extract"],
        "previous_date": str(row["previous_date"]) if row["previous_date"] else None,
        "previous_extract": row["previous_extract"],
        "last_date": str(row["last_date"]) if row["last_date"] else None,
        "last_date_commit_id": row["last_date_commit_id"],
        "last_extract": row["last_extract"],
        "last_commit_id": row["last_commit_id"] or 0,
        "recorded": json.loads(row["config"]) if row["config"] else None,
        "later_loads": list(later.values()),
    }


def known_states(warehouse: Warehouse, commits: Commits, relation: str) -> list[Values] | None:
    """Return the states of an entity's commits, the last ones first; none where they are many."""
    if commits.get("are_missing"):
        return []
    table, most = commits["states"], _MOST_STATES
    sql = warehouse.macro("entity_states_sql", table, relation, most)
    if commits["are_known"]:
        all_sql = warehouse.macro("all_states_sql", table, 4 * most)
        found = warehouse.adapter.known_rows(table, relation, sql, all_sql, 4 * most)
        states = sorted(found, key=lambda row: row["commit_id"], reverse=True)
    else:
        states = warehouse.rows(sql)
    return states if len(states) < most else None


def derived_marks(
    warehouse: Warehouse, commits: Commits, relation: str, kind: str, source: str
) -> Any:
    """Return what a run of something derived from an entity needs to know of both.

    None where that takes Spark; see judged_marks().
    """
    if not commits["are_known"]:
        return None
    own = known_states(warehouse, commits, relation)
    others = known_states(warehouse, commits, source)
    if own is None or others is None:
        return None
    return judged_marks(own, others, kind)


def new_commit(warehouse: Warehouse, opened: Opened, load: Load, recorded: Recorded) -> Commit:
    """Return a commit of an entity as it is recorded, but for its state and numbers.

    Args:
        warehouse: Where it will be.
        opened: What open_load() returned.
        load: The load that it is made with.
        recorded: What later loads are held to.
    """
    is_refresh = load["kind"] == "full_refresh"
    return {
        "commit_id": load["commit_id"],
        "relation": opened["cfg"]["relation"],
        "entity": opened["cfg"]["entity"],
        "kind": load["kind"],
        "business_date": load["business_date"],
        "started_at": warehouse.macro("utc_now"),
        "invocation_id": opened["run"]["invocation_id"],
        "config": recorded,
        "source_commit_id": opened["state"]["last_commit_id"] if is_refresh else None,
        "is_correction": not load["forward"] or is_refresh,
    }


def record_commit(
    warehouse: Warehouse, commits: Commits, commit: Commit, state: str, figures: Mapping[str, Any]
) -> None:
    """Append a commit's state.

    Args:
        warehouse: Where the commits are.
        commits: What ensure_commits() returned.
        commit: What new_commit() returned; `state_at` keeps when this was.
        state: inflight, completed or rolled_back.
        figures: Its numbers and texts, by column name.
    """
    config = json.dumps(commit["config"]) if commit.get("config") else None
    now = warehouse.macro("utc_now_after", commit.get("state_at"))
    commit["state_at"] = now
    values = {
        **commit,
        **figures,
        "state": state,
        "state_at": now,
        "completed_at": now if state != "inflight" else None,
        "config": config,
        "config_fingerprint": hashlib.md5(config.encode()).hexdigest() if config else None,
    }
    columns = warehouse.macro("commit_columns")
    row = {column["name"]: values.get(column["name"]) for column in columns}
    if commits["are_known"]:
        known = warehouse.macro("known_commit_columns")
        warehouse.adapter.append_known(commits["states"], commit["relation"], row, known)
    else:
        warehouse.run(warehouse.macro("append_rows_sql", commits["states"], columns, [row]))
    # A commit of a run that died is finished here, and is not among the counts of this run.
    if state == "completed" and commit.get("invocation_id") == warehouse.invocation_id:
        counts = {
            name: int(number)
            for name, number in figures.items()
            if name.startswith("rows_") and number is not None
        }
        # for who started this run: `tidemark run` shows the counts
        event = json.dumps({"relation": commit["relation"], "counts": counts})
        warehouse.note(f"tidemark commit {event}")
