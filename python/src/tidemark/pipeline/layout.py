"""The layout of stored tables, which this release knows or brings up to its own."""

from __future__ import annotations

import re
from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.opened import Found


def checked_layout(warehouse: Warehouse, relation: Any) -> int | None:
    """Return the layout of a table, None where there is no table.

    Raises:
        DataError: A newer release made it: nothing is done to it.
    """
    found, known = _found_layout(warehouse, relation), warehouse.macro("layout_version")
    if found is not None and found > known:
        raise DataError(
            f"{relation} was written by a newer release of Tidemark. Its layout is {found}, and "
            f"this release knows layouts up to {known}. Nothing was written. Install a newer "
            "release of the distribution dbt-tidemark and of the dbt package"
        )
    return found


def _found_layout(warehouse: Warehouse, relation: Any) -> int | None:
    """Return what a table says of its layout; nothing does a view, as a Parquet log is one."""
    if warehouse.macro("can", "ask_catalog"):
        layout: int | None = warehouse.adapter.table_layout(relation)
        return layout
    if not relation_exists(warehouse, relation):
        return None
    value = warehouse.run(f"show tblproperties {relation} ('tidemark.layout')")[0][1]
    if re.fullmatch("[0-9]+", value):
        return int(value)
    return None if warehouse.macro("is_view", relation) else 0


def migrate_entity(warehouse: Warehouse, opened: Found, found: int | None) -> bool:
    """Bring the table of an entity from which all others can be made to this release's layout.

    It is its log, or the table of events. Those beside it have the layout that it has.

    Returns:
        Whether it was altered.
    """
    if found is None or opened["run"].get("dry_run"):
        return False
    statements = warehouse.macro("migrate_layout_sql", laid_out(opened), found)
    warehouse.run_all(statements)
    return len(statements) > 0


def laid_out(opened: Found) -> Any:
    """Return the table that tells the layout of an entity."""
    return opened["relations"].get("log_table") or opened["relations"]["current"]
