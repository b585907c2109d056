"""An extract in the workers: read, typed, hashed; compared there, too, where one task does all."""

from __future__ import annotations

from typing import Any

from tidemark.engine.load import VALUE
from tidemark.pipeline.row_rules import typed_view
from tidemark.pipeline.tables import alters_tables, has_rows
from tidemark.pipeline.warehouse import Warehouse
from tidemark.pipeline.workers import leave_to_spark, of_engine
from tidemark.rules.column_roles import had_deltas
from tidemark.sessions.declined import Declined
from tidemark.shapes.load import Figures, Load, Source, Staged
from tidemark.shapes.opened import Opened, State
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def stage_by_workers(
    warehouse: Warehouse, opened: Opened, source: Source, roles: Roles
) -> Staged | bool:
    """Compare the extract of a date with what stood before it in the workers.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        source: What source_extract() returned, with `files`.
        roles: What becomes of each column.

    Returns:
        What stage_extract() returns, where one task did all of it. True: the view `staged` has the
        rows, typed and hashed. False: Spark has to, whatever the reason; nothing is left of it.
    """
    cfg, state, macro = opened["cfg"], opened["state"], warehouse.macro
    planned: Load = macro("load_of_date", cfg, opened["run"], state)
    load: Load = {**planned, "log_version": state["log_version"]}
    try:
        source = {**source, "compared": _compared_by_workers(warehouse, roles)}
    except Declined as error:
        leave_to_spark(warehouse, opened, str(error))
        return False
    view = typed_view(warehouse, cfg)
    why = of_engine("covers.why_not", cfg) or _why_not_at_once(warehouse, opened, roles, load)
    if why is None:
        staged, rows = _stage_at_once(warehouse, opened, source, roles, load)
        if staged is not None:
            return staged
        why = rows if isinstance(rows, str) else None
        if why is None:
            warehouse.adapter.view_staged(rows, view)
    else:
        why = warehouse.adapter.keep_staged(cfg, roles, load, source, view)
    if why is not None:
        leave_to_spark(warehouse, opened, why)
    return why is None


def _compared_by_workers(warehouse: Warehouse, roles: Roles) -> dict[str, tuple[str, str]]:
    """Return what the workers compare in place of columns' values, with its type.

    Raises:
        Declined: There is an expression that only Spark works out.
    """
    compared = {}
    for column in roles["compared"]:
        if not column.get("compare_as"):
            continue
        # the library that reads SQL takes a quarter of a second to import
        from tidemark.sessions.contract import crossed_expression

        name = column["name"]
        kinds = [
            of_engine("types.known_type", one) for one in (column["type"], column["compare_type"])
        ]
        if None in kinds:
            raise Declined(f"column {name} has compare_as")
        of_value, of_compared = (kind.duck for kind in kinds)
        sql = warehouse.macro("compared_value_expr", column, f"`{VALUE}`")
        try:
            expression = crossed_expression(sql, {VALUE: of_value}, of_compared)
        except Declined as error:
            raise Declined(f"column {name} has compare_as with {error}") from error
        compared[name] = (expression, column["compare_type"])
    return compared


def _stage_at_once(
    warehouse: Warehouse, opened: Opened, source: Source, roles: Roles, load: Load
) -> tuple[Staged | None, Any]:
    """Have one task do all of a load.

    Returns:
        What was staged. Without that, as more tasks are needed, the rows, for view_staged(); a
        text: why the workers do not take the load.
    """
    cfg, is_first = opened["cfg"], opened["state"]["first"]
    if _is_last(cfg, load, opened["state"]):
        return _look_again(warehouse, opened, source, roles, load)
    adapter = warehouse.adapter
    stage = adapter.keep_extract if is_first else adapter.stage_extract
    staged = stage(cfg, roles, load, source, opened["relations"])
    if isinstance(staged, str) or getattr(staged, "why", None):
        return None, staged
    figures: Figures = staged.figures
    return {
        "roles": roles,
        "rejects": {},
        "load": {**load, "mends_rejects": False, "existing": None},
        "uncommitted": None if is_first else staged,
        "kept": staged if is_first else None,
        "figures": {**figures, "rows_logged": count_changes(figures), "rows_superseded": 0},
    }, None


def _is_last(cfg: Settings, load: Load, state: State) -> bool:
    """Say whether a full extract is of the last date, which was loaded before."""
    is_again = load["this_commit_id"] is not None and load["business_date"] == state["last_date"]
    return is_again and cfg["extract"] == "full"


def _why_not_at_once(warehouse: Warehouse, opened: Opened, roles: Roles, load: Load) -> str | None:
    """Return why no task does all of a load, as its date and the tables tell."""
    cfg, state = opened["cfg"], opened["state"]
    if load["kind"] != "load" or not (load["forward"] or _is_last(cfg, load, state)):
        return "the date is not after all others"
    if not state["first"]:
        is_lacking = any(column["source_name"] is None for column in roles["compared"])
        if alters_tables(warehouse, opened, roles) or is_lacking:
            return "its columns have changed"
        if cfg["extract"] == "delta" and not had_deltas(state["recorded"]):
            return "it is the first delta"
    if load["rebuild"]:
        return "current is written again, as tag_unchanged or soft_delete changed"
    return None


def _look_again(
    warehouse: Warehouse, opened: Opened, source: Source, roles: Roles, load: Load
) -> tuple[Staged | None, Any]:
    """Compare the extract of the last date again.

    If it is as current has it, which is how that date ended, the log has all that it brings.
    Its figures are those that a load of the date has by what stood before it. Where it has changes
    or rejects, its rows are returned, as of _stage_at_once().
    """
    cfg, rejects = opened["cfg"], opened["relations"]["rejects"]
    found = warehouse.adapter.compare_again(cfg, roles, load, source, opened["relations"])
    figures: Figures = found
    if not isinstance(found, dict):
        return None, found
    condition = of_this_load(warehouse, load)
    has_files = warehouse.macro("file_count", cfg["file_format"], rejects) > 0
    if has_files and has_rows(warehouse, rejects, condition):
        return None, "the last date had rejects"
    inserted, deleted = figures["rows_inserted"], figures["rows_deleted"]
    here = {"inserted": inserted, "deleted": deleted, "deleted_again": deleted, "gone": 0}
    return {
        "roles": roles,
        "load": load,
        "uncommitted": None,
        "kept": None,
        "rejects": {},
        "is_repeat": True,
        "figures": {**figures, "rows_logged": 0, "rows_superseded": 0, "here": here},
    }, None


def of_this_load(warehouse: Warehouse, load: Load) -> str:
    """Return the condition of what the date's last load wrote beside the log."""
    known = {"business_date": load["business_date"], "commit_id": load["this_commit_id"]}
    condition: str = warehouse.macro("_loads_expr", [known])
    return condition


def count_changes(figures: Figures) -> int:
    """Count the keys that a date inserts, updates and deletes."""
    return int(figures["rows_inserted"] + figures["rows_updated"] + figures["rows_deleted"])
