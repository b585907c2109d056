"""The files of a Delta table on this machine, as delta-rs lists them: no Spark is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidemark.engine.header import is_read_as_it_stands


def listed_actions(table: Any, folder: str) -> list[dict[str, Any]] | None:
    """Return what the log of a table says of its files; None: one is not read at its path.

    Args:
        table: The table, by delta-rs.
        folder: Its folder.

    Returns:
        Each file: its `path`, and `min.…`, `max.…` and `partition.…` of columns.
    """
    actions: Any = table.get_add_actions(flatten=True)
    rows = actions.to_struct_array().to_pylist()
    found = [{**row, "path": str(Path(folder, row["path"]))} for row in rows]
    if not all(is_read_as_it_stands(row["path"]) and Path(row["path"]).exists() for row in found):
        return None
    return found


def partition_of(row: Mapping[str, Any], name: str, stored: str) -> str | None:
    """Return the value of a partition column that listed_actions() tells of a file, as a text.

    Args:
        row: The file.
        name: The column.
        stored: What files call it.
    """
    value = row.get(f"partition.{stored}", row.get(f"partition.{name}"))
    return None if value is None else str(value)
