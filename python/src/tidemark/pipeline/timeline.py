"""The commits of an entity in order, and those that a rollback undoes or makes hold again."""

from __future__ import annotations

from tidemark.pipeline.slices import drop_slice, drop_slices, make_slice
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.timeline import steps_to
from tidemark.shapes.load import Steps
from tidemark.shapes.opened import Commit, Commits
from tidemark.shapes.settings import Settings


def timeline(
    warehouse: Warehouse, commits: Commits, relation: str, before: int | None = None
) -> list[Values]:
    """Return the commits of an entity that took effect, in order; at most one row per commit."""
    return warehouse.rows(warehouse.macro("timeline_sql", commits["states"], relation, before))


def steps_of_rollback(warehouse: Warehouse, commits: Commits, commit: Commit) -> Steps:
    """Return what a rollback that is recorded undoes and makes hold again."""
    before = timeline(warehouse, commits, commit["relation"], commit["commit_id"])
    return steps_to(before, commit["source_commit_id"])


def mark_undone(warehouse: Warehouse, cfg: Settings, commits: Commits, commit: Commit) -> Steps:
    """Record that commits are undone by a rollback, or hold again; return these steps.

    Doing it twice changes nothing.
    """
    steps = steps_of_rollback(warehouse, commits, commit)
    undone, redone = (
        [one["commit_id"] for one in moved] for moved in (steps["undone"], steps["redone"])
    )
    record_undone(warehouse, cfg, commits, commit, undone, redone)
    return steps


def record_undone(
    warehouse: Warehouse,
    cfg: Settings,
    commits: Commits,
    commit: Commit,
    undone: list[int],
    redone: list[int],
) -> None:
    """Append these states of commits.

    A statement that reads the table it appends to is refused where another one has just done the
    same: so the rows are read first.
    """
    if not undone and not redone:
        return
    macro, states = warehouse.macro, commits["states"]
    # this process may have been interrupted here before
    drop_slices(warehouse, cfg["target"])
    sql = macro("undone_states_sql", states, commit, undone, redone)
    rows = make_slice(warehouse, cfg["target"], commit["commit_id"], "states", sql)
    columns = macro("commit_columns")
    warehouse.run(macro("insert_sql", states, columns, f"select * from {rows}"))
    drop_slice(warehouse, rows)
