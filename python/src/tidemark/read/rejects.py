"""Rows that an entity put to quarantine, as its table has them: sensitive values are masked.

The table has the reason, which names the column, and the row as it arrived. What else is told of a
reject is found from these and from the files that are still there.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.engine.quoted import identifier
from tidemark.read.commits import Commit
from tidemark.read.landed_lines import places_of
from tidemark.read.macros import in_duckdb
from tidemark.read.project import Entity
from tidemark.read.tables import Tables
from tidemark.read.values import value_text

_OF_COLUMNS = (
    "cast_failed",
    "null_key",
    "null_value",
    "ambiguous_unit",
    "ambiguous_encoding",
    "unsigned_too_large",
    "null_sequence",
    "key_image_only",
    "tie",
)
"""What a reason of a column begins with, before its name."""
_BEFORE = "_before_"


@dataclass(frozen=True)
class Reject:
    """A rejected row.

    Attributes:
        reason: Why it cannot be used, such as cast_failed.
        column: The column that this is about; of a duplicate key those of the key.
        value: What it had there as it arrived; None where it had nothing or that is not kept.
        business_date: Of which date.
        commit_id: By which load.
        state: open, mended, rejected again, or undone (its load does not count).
        mended_by: The load that mended it: `commit_id`, and `completed_at` where that is known.
        file: Where it stands, as far as the files that are there tell.
        line: Where in that.
        row: The row as it arrived.
    """

    reason: str
    column: str | None
    value: str | None
    business_date: dt.date | None
    commit_id: int
    state: str
    mended_by: dict[str, Any] | None
    file: str | None
    line: int | None
    row: str | None


def described_rejects(
    tables: Tables,
    root: Path,
    entity: Entity,
    own: Sequence[Commit],
    rows: Sequence[Mapping[str, Any]],
) -> list[Reject]:
    """Return what is to be told of rejected rows.

    Args:
        tables: Where what came of them since is read.
        root: The project.
        entity: The model.
        own: Its commits.
        rows: What reject_rows() returned.
    """
    places: dict[int, tuple[str, int | None] | None] = {}
    by_date: dict[str | None, list[int]] = {}
    for number, row in enumerate(rows):
        date = row.get("_business_date")
        is_known = entity.extract != "events" and date is not None
        by_date.setdefault(str(date) if is_known else None, []).append(number)
    for date, numbers in by_date.items():
        payloads = [rows[number]["_raw_payload"] for number in numbers]
        places |= zip(numbers, places_of(root, entity.landed, date, payloads), strict=True)
    commits = {commit.commit_id: commit for commit in own}
    last = _last_loads(tables, entity, own) if rows else {}
    return [
        _described(entity, row, places[number], commits, last) for number, row in enumerate(rows)
    ]


def _described(
    entity: Entity,
    row: Mapping[str, Any],
    place: tuple[str, int | None] | None,
    commits: Mapping[int, Commit],
    last: Mapping[Any, int],
) -> Reject:
    commit_id, date, mended = row["_commit_id"], row.get("_business_date"), row.get("_resolved_by")
    reason, column, value = what_failed(entity, str(row["_reject_reason"]), row["_raw_payload"])
    mended_by = None
    if mended is not None:
        known = commits.get(mended)
        mended_by = {"commit_id": mended, "completed_at": known.completed_at if known else None}
        state = "mended"
    elif commit_id not in commits or commits[commit_id].state != "completed":
        state = "undone"
    else:
        state = "rejected again" if last.get(date, commit_id) > commit_id else "open"
    file, line = place or (None, None)
    return Reject(
        reason, column, value, date, commit_id, state, mended_by, file, line, row["_raw_payload"]
    )


def _last_loads(tables: Tables, entity: Entity, own: Sequence[Commit]) -> dict[Any, int]:
    """Return the last load of each date that counts and has rejects; of events each one counts."""
    if _has_events(tables, entity):
        return {}
    path = tables.of(entity, "__rejects")
    if not tables.exists(path) or "_business_date" not in tables.columns(path):
        return {}
    completed = {commit.commit_id for commit in own if commit.state == "completed"}
    loads = tables.rows(path, "select distinct _business_date, _commit_id from t")
    found: dict[Any, int] = {}
    for load in loads:
        if load["_commit_id"] in completed:
            date = load["_business_date"]
            found[date] = max(found.get(date, 0), load["_commit_id"])
    return found


def what_failed(
    entity: Entity, text: str, payload: str | None
) -> tuple[str, str | None, str | None]:
    """Return the reason of a reject, the column that it is about and what arrived there.

    Example:
        >>> shop = Entity("orders", "cdc", "shop", "orders", key=("id",))
        >>> what_failed(shop, "cast_failed: total", '{"id":"4","total":"ten"}')
        ('cast_failed', 'total', 'ten')

    Args:
        entity: The model.
        text: The reason as the table has it.
        payload: The row as the table has it.
    """
    reason, _, column = text.partition(": ")
    if text == "duplicate_key" and entity.key:
        values = [_arrived(payload, name) for name in entity.key]
        return text, ", ".join(entity.key), ", ".join(one or "NULL" for one in values)
    if reason not in _OF_COLUMNS or not column:
        return text, None, None
    return reason, column, _arrived(payload, column)


def _arrived(payload: str | None, column: str) -> str | None:
    """Return the value of a column in a row of JSON, also where that is an event with images."""
    try:
        found = json.loads(payload or "", parse_float=str)
    except ValueError:
        return None
    is_before = column.startswith(_BEFORE)
    images = ("before",) if is_before else ("after", "before")
    for members in _objects(found, images):
        small = {str(name).lower(): value for name, value in members.items()}
        for name in (column, column.removeprefix(_BEFORE) if is_before else column):
            if small.get(name.lower()) is not None:
                return value_text(small[name.lower()])
    return None


def _objects(found: Any, images: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Return where columns may stand in a line: images of an envelope, what wraps it, the line."""
    if not isinstance(found, dict):
        return
    inner = found.get("payload")
    for envelope in (found, *([inner] if isinstance(inner, dict) else [])):
        for image in images:
            if isinstance(envelope.get(image), dict):
                yield envelope[image]
    yield found


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
    path = tables.of(entity, "__rejects")
    if not tables.exists(path):
        return [], 0
    rejects = "select * from t" if is_all else open_rejects_sql(tables, entity, own)
    there = tables.columns(path)
    (row,) = tables.rows(
        path, f"select count(*) as n from ({rejects})", columns=_counted_columns(there)
    )
    if not limit:
        return [], row["n"]
    names = [name for name in there if name != "_key_hash"]
    selected = ", ".join(map(identifier, names))
    select = f"select {selected} from ({rejects}) order by _commit_id desc, _reject_reason"
    paged = f"{select} limit {limit}{f' offset {offset}' if offset else ''}"
    return tables.rows(path, paged), row["n"]


def open_rejects_on(tables: Tables, entity: Entity, own: Sequence[Commit], date: dt.date) -> int:
    """Return how many open rejects a business date has; arguments are those of reject_rows().

    Raises:
        TableNotReadable: Only Spark reads them.
    """
    path = tables.of(entity, "__rejects")
    if not tables.exists(path):
        return 0
    rejects = open_rejects_sql(tables, entity, own)
    day = f"_business_date = date '{date.isoformat()}'"
    columns = _counted_columns(tables.columns(path))
    (row,) = tables.rows(path, f"select count(*) as n from ({rejects})", day, columns)
    return int(row["n"])


def _counted_columns(there: Sequence[str]) -> list[str]:
    """Return those columns of rejects that say whether one is open."""
    return [name for name in there if name in ("_business_date", "_commit_id", "_resolved_by")]


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
    is_events = _has_events(tables, entity)
    return in_duckdb(tables.macros.open_rejects_sql("t", counts, is_events))


def _has_events(tables: Tables, entity: Entity) -> bool:
    """Say whether an entity is fed with change events, each of which comes once."""
    log = tables.of(entity, "__log")
    return tables.exists(log) and "_event_id" in tables.columns(log)
