"""Rows of a run: its own tables and views, that go with it; also those that a failed run left."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from typing import Any

from tidemark.pipeline.tables import (
    drop_table,
    is_only_process,
    relation_exists,
    tables_of_columns,
)
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Opened, RelationName, State
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def make_slice(warehouse: Warehouse, current: Any, commit_id: int, name: str, sql: str) -> Any:
    """Keep rows of this run as a table, `name` of its own in the run.

    It has the commit's number, because a killed run may have left the folder of its slice behind,
    and ends in whose it is. A table rather than a cached view: it is read many times, and Spark
    would plan the view again each time. drop_slices() takes it away, clear_slices() what is no
    table yet. Where the workers can work it out it is a view of the file that they write.
    """
    view = warehouse.macro("run_view", current, f"slice_{name}")
    can_run = warehouse.macro("can", "run_workers")
    if can_run and warehouse.adapter.keep_view(view, sql) is not None:
        return view
    slice_ = warehouse.macro(
        "side_relation", current, f"slice_{commit_id}_{name}{_whose(warehouse)}"
    )
    warehouse.run(f"create table {slice_} using parquet as\n{sql}")
    return slice_


def drop_slice(warehouse: Warehouse, slice_: Any) -> None:
    """Drop what make_slice() made; a view goes with the run."""
    if not isinstance(slice_, str):
        drop_table(warehouse, slice_)


def kept_rows(
    warehouse: Warehouse, cfg: Settings, roles: Roles, load: Load, name: str, sql: str
) -> Any:
    """Keep rows that are read several times, worked out once, as a slice.

    Where they have sensitive values, which are written nowhere but to their own table, as a cached
    view.
    """
    if not roles["sensitive"]:
        return make_slice(warehouse, cfg["target"], load["commit_id"], name, sql)
    return make_view(warehouse, warehouse.macro("run_view", cfg["target"], name), sql, True)


def counted_rows(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    load: Load,
    name: str,
    sql: str,
    counts: Callable[[Any], str],
) -> tuple[Any, list[Values]]:
    """Keep rows as kept_rows() does, and count them; the workers do both in one task.

    Args:
        warehouse: Where they are.
        cfg: The configuration.
        roles: What becomes of each column.
        load: The load.
        name: What they are.
        sql: The query of the rows.
        counts: Returns the query that counts them, for what they are called in SQL; it has rows.

    Returns:
        What they are called, and the rows of that query.
    """
    view = warehouse.macro("run_view", cfg["target"], f"slice_{name}")
    if warehouse.macro("can", "run_workers"):
        found = warehouse.adapter.keep_view(view, sql, counts(view))
        if found is not None:
            return view, found or warehouse.rows(counts(view))
    kept = kept_rows(warehouse, cfg, roles, load, name, sql)
    return kept, warehouse.rows(counts(kept))


def is_in_files(warehouse: Warehouse, view: Any) -> bool:
    """Say whether the rows of a view lie in files of the run, that the workers have written."""
    if not isinstance(view, str) or not warehouse.macro("can", "run_workers"):
        return False
    return bool(warehouse.adapter.is_in_files(view))


def make_view(
    warehouse: Warehouse, view: str, sql: str, is_kept: bool = False, body: str | None = None
) -> str:
    """Make a temporary view; where it `is_kept`, its rows are from its first reading on.

    A SELECT of the model's own within it is told as `body`.

    The adapter plans what reads it with those rows, where after Spark's own statement each reader
    costs as much as planning all that lies below.
    """
    if warehouse.macro("can", "cache_views"):
        warehouse.adapter.make_view(view, sql, bool(is_kept), body)
        return view
    warehouse.run(f"drop view if exists {view}")
    warehouse.run(f"create or replace temporary view {view} as\n{sql}")
    if is_kept:
        warehouse.run(f"cache lazy table {view}")
    return view


def prefix_of_views(warehouse: Warehouse, current: Any) -> str:
    """Return what the names of the views of a model's run begin with, without quotes."""
    quoted: str = warehouse.macro("run_view", current, "")
    return quoted[1:-1].replace("``", "`")


def forget_run_views(warehouse: Warehouse, current: Any) -> None:
    """Drop the views, caches and slices of this model's run, also those that a failed run left."""
    macro, ours = warehouse.macro, prefix_of_views(warehouse, current)
    if macro("can", "cache_views"):
        warehouse.adapter.forget_views(ours)
    else:
        # Those of a model whose name begins with this one's are its own; a view's own name has no
        # two underscores.
        for row in warehouse.run(f"show views like {macro('string_literal', f'{ours}*')}"):
            if "__" not in row[1][len(ours) :]:
                warehouse.run(f"drop view if exists {macro('quote_identifier', row[1])}")
    drop_slices(warehouse, current)


def drop_slices(warehouse: Warehouse, current: Any, whose: str = "dead") -> None:
    """Drop the slices of runs, also those that a failed run left.

    Where other processes share the metastore one of them may be reading its own, and a table whose
    files go just then has no rows to Spark: there those of others are left for a day, unless
    `whose` is all.
    """
    macro = warehouse.macro
    slices = macro("side_relation", current, "slice_*")
    begins, schema = slices.identifier[:-1], slices.include(identifier=False)
    are_shared = whose != "all" and not is_only_process(warehouse)
    day_ago = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    dead, old = [], []
    for name in macro("table_names", schema, slices.identifier):
        slice_ = macro("side_relation", current, name[len(current.identifier) + 2 :])
        if not are_shared or name.endswith(_whose(warehouse)):
            dead.append(slice_)
        elif name[len(begins) :][:15] < day_ago.strftime("%y%m%d%H%M%S%f"):
            old.append(slice_)
    for slice_ in [*dead, *_idle_slices(warehouse, current, old)]:
        drop_table(warehouse, slice_)


def _idle_slices(warehouse: Warehouse, current: Any, slices: list[Any]) -> list[Any]:
    """Return, of slices that by their names are old, those whose files are, too.

    Their number and this process may be of clocks that are a day apart, but the times of files are
    of the one that keeps them, and a file that is written now tells what it shows. One without rows
    has nothing to lose.
    """
    if not slices:
        return []
    commit_id = warehouse.macro("next_commit_id", None)
    now = make_slice(warehouse, current, commit_id, "now", "select 1 as one")
    found = warehouse.run(warehouse.macro("idle_slices_sql", slices, now))
    idle = [row[0] for row in found]
    drop_slice(warehouse, now)
    return [slice_ for slice_ in slices if slice_.identifier in idle]


def clear_slices(warehouse: Warehouse, current: Any) -> None:
    """Remove the folders of slices that a killed run had not made tables of yet."""
    if warehouse.macro("can", "remove_files"):
        warehouse.adapter.clear_slices(warehouse.macro("side_relation", current, "slice_"))


def _whose(warehouse: Warehouse) -> str:
    """What the names of this process's slices end in; of this run's where that is not known."""
    if warehouse.macro("can", "remove_files"):
        return f"_{warehouse.adapter.process_name()}"
    return f"_{hashlib.md5(warehouse.invocation_id.encode()).hexdigest()[:8]}"


def opened_to_come(warehouse: Warehouse, opened: Opened, roles: Roles) -> Opened:
    """Return the entity with views in place of tables that a load is going to alter.

    New columns are there, types are wider. So what a load stages can be looked at while the tables
    are as they are, and a plan alters none.
    """
    cfg, relations, macro = opened["cfg"], opened["relations"], warehouse.macro
    views: dict[RelationName, str] = {}
    is_altered = roles["added"] or macro("widened_columns", roles)
    for name in tables_of_columns(cfg, roles, "log") if is_altered else ():
        relation = relations[name]
        if isinstance(relation, str):
            continue
        if name == "sensitive" and not relation_exists(warehouse, relation):
            sql = macro("no_rows_sql", macro("sensitive_columns", roles))
        else:
            present = macro("describe_query", f"select * from {relation}")
            changes = macro("changes_to_come", cfg, roles, name, present)
            sql = macro("table_to_come_sql", relation, changes)
        view = macro("run_view", cfg["target"], f"{name}_to_come")
        views[name] = make_view(warehouse, view, sql)
    state: State = {**opened["state"], "log_version": None}
    return {**opened, "relations": {**relations, **views}, "state": state}
