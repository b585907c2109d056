"""Rows that an entity put to quarantine, as its table has them: sensitive values are masked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.state.commits import Commit
from tidemark.state.project import Entity
from tidemark.state.tables import Tables, check_readable, quoted


def reject_rows(
    tables: Tables,
    entity: Entity,
    own: Sequence[Commit],
    is_all: bool,
    limit: int,
    offset: int = 0,
) -> tuple[list[dict[str, Any]], int]:
    """Return rejected rows, the newest first, and how many there are.

    Args:
        tables: Where they are read.
        entity: The model.
        own: Its commits.
        is_all: Also those that are not open any more.
        limit: How many rows are returned at most.
        offset: How many are left out at the beginning.

    Raises:
        TableNotReadable: Only Spark reads them.
    """
    check_readable(entity)
    path = tables.of(entity, "__rejects")
    if not tables.exists(path):
        return [], 0
    rejects = "select * from t" if is_all else open_rejects_sql(tables, entity, own)
    (row,) = tables.rows(path, f"select count(*) as n from ({rejects})")
    if not limit:
        return [], row["n"]
    names = [name for name in tables.columns(path) if name != "_key_hash"]
    selected = ", ".join(map(quoted, names))
    select = f"select {selected} from ({rejects}) order by _commit_id desc, _reject_reason"
    paged = f"{select} limit {limit}{f' offset {offset}' if offset else ''}"
    return tables.rows(path, paged), row["n"]


def open_rejects_sql(tables: Tables, entity: Entity, own: Sequence[Commit]) -> str:
    """Return a query of the rejects that are open, as the test `no_open_rejects` judges them.

    Not those that a later load has mended, that a load was undone or not completed of, and that lie
    before a full refresh. What a reload of a date rejects again is there once more, and once open.

    Args:
        tables: Where they are read.
        entity: The model, which has a table of rejects.
        own: Its commits.

    Raises:
        TableNotReadable: Only Spark reads them.
    """
    there = tables.columns(tables.of(entity, "__rejects"))
    completed = [commit for commit in own if commit.state == "completed"]
    begun = max((one.commit_id for one in completed if one.kind == "full_refresh"), default=0)
    others = sorted(one.commit_id for one in own if one.state != "completed")
    counts = f"_commit_id >= {begun}"
    if others:
        counts += f" and _commit_id not in ({', '.join(map(str, others))})"
    if "_resolved_by" not in there:
        return f"select * from t where {counts}"
    last = "_commit_id" if _has_events(tables, entity) else "_tidemark_last"
    return (
        "select * from (select *, max(_commit_id) over (partition by _business_date) "
        f"as _tidemark_last from t where {counts}) "
        f"where _resolved_by is null and _commit_id = {last}"
    )


def _has_events(tables: Tables, entity: Entity) -> bool:
    """Say whether an entity is fed with change events, each of which comes once."""
    log = tables.of(entity, "__log")
    return tables.exists(log) and "_event_id" in tables.columns(log)
