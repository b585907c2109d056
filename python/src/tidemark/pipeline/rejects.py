"""Rejects whose date comes again, or whose correction is undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.pipeline.tables import has_rejects_of_loads, has_rows
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.load import Steps
from tidemark.shapes.settings import Settings


def resolve_rejects(
    warehouse: Warehouse, cfg: Settings, rejects: Any, load: Mapping[str, Any]
) -> None:
    """Mark the rejects of earlier loads of a date that a load of it mended."""
    macro, of_load = warehouse.macro, (load["business_date"], load["commit_id"])
    # the first query of a process costs Spark seconds
    if not macro("file_count", cfg["file_format"], rejects):
        return
    if has_rows(warehouse, f"{rejects} as rejects", macro("_open_rejects_expr", *of_load)):
        warehouse.run(macro("resolve_rejects_sql", rejects, *of_load))


def reopen_rejects(warehouse: Warehouse, cfg: Settings, rejects: Any, steps: Steps) -> None:
    """Have rejects open again that undone loads had mended, and mended by loads that hold again."""
    if cfg["extract"] == "events" or not has_rejects_of_loads(warehouse, rejects):
        return
    undone = ", ".join(str(load["commit_id"]) for load in steps["undone"])
    if undone:
        sql = f"update {rejects} set _resolved_by = null where _resolved_by in ({undone})"
        warehouse.run(sql)
    for load in steps["redone"]:
        if load["kind"] == "load" and load["business_date"]:
            resolve_rejects(warehouse, cfg, rejects, load)
