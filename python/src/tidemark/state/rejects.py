"""Rows that an entity put to quarantine, as its table has them: sensitive values are masked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tidemark.state.project import Entity
from tidemark.state.tables import Tables, quoted


def reject_rows(
    tables: Tables,
    entity: Entity,
    undone: Collection[int],
    is_all: bool,
    limit: int,
    offset: int = 0,
) -> tuple[list[dict[str, Any]], int]:
    """Return rejected rows, the newest first, and how many there are.

    Args:
        tables: Where they are read.
        entity: The model.
        undone: Its commits that were undone.
        is_all: Also those that a later load has mended, or that were undone.
        limit: How many rows are returned at most.
        offset: How many are left out at the beginning.

    Raises:
        TableNotReadable: Only Spark reads them.
    """
    path = tables.of(entity, "__rejects")
    if not tables.exists(path):
        return [], 0
    there = tables.columns(path)
    conditions = []
    if not is_all:
        if "_resolved_by" in there:
            conditions.append("_resolved_by is null")
        if undone:
            conditions.append(f"_commit_id not in ({', '.join(map(str, sorted(undone)))})")
    where = f"where {' and '.join(conditions)}" if conditions else ""
    (row,) = tables.rows(path, f"select count(*) as n from t {where}")
    if not limit:
        return [], row["n"]
    names = [name for name in there if name != "_key_hash"]
    selected = ", ".join(map(quoted, names))
    select = f"select {selected} from t {where} order by _commit_id desc, _reject_reason"
    paged = f"{select} limit {limit}{f' offset {offset}' if offset else ''}"
    return tables.rows(path, paged), row["n"]
