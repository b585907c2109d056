"""A batch of change events, and the stretches that its DDL events cut it into.

A DDL event holds from its own number on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.rules.event_roles import aliases_of, new_in_schemas
from tidemark.rules.names import lowered, names_of, unique
from tidemark.rules.source_types import connect_columns
from tidemark.shapes.events import Batch, Shapes, Statement, Stretch
from tidemark.shapes.load import Figures
from tidemark.shapes.opened import Recorded, SourceColumn
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

NO_FIGURES: Figures = {
    "rows_read": 0,
    "rows_inserted": 0,
    "rows_updated": 0,
    "rows_deleted": 0,
    "rows_unchanged": 0,
    "rows_not_supplied": 0,
    "rows_rejected": 0,
    "rows_duplicate": 0,
    "rows_ignored": 0,
    "rows_tied": 0,
    "rows_logged": 0,
    "rows_superseded": 0,
}
"""The figures of a load without events."""
ALL_OF_IT: Stretch = {"from": None, "to": None, "is_first": True, "is_last": True}
"""The stretch of a batch that nothing cuts."""


def stretches_of(batch: Batch) -> list[Stretch]:
    """Return a batch cut at its DDL events.

    Example:
        >>> stretches_of({"statements": [{"cuts": True, "landing_num": 7}]})[0]
        {'from': None, 'to': 7, 'is_first': True, 'is_last': False}
    """
    edges = [one["landing_num"] for one in batch["statements"] if one["cuts"]]
    begins, ends = [None, *edges], [*edges, None]
    last = len(edges)
    return [
        {"from": begin, "to": end, "is_first": number == 0, "is_last": number == last}
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]


def is_within(statement: Statement, stretch: Stretch) -> bool:
    """Return whether a DDL event stands in a stretch; the one that begins it does."""
    number, begin, end = statement["landing_num"], stretch["from"], stretch["to"]
    return (not begin or number >= begin) and (not end or number < end)


def batch_at(batch: Batch, stretch: Stretch) -> Batch:
    """Return the batch as it is known within a stretch: what its DDL events have done so far.

    It is a copy of its own. The former name of a column is refused, as rows from before may bring
    it, until the source has a column of that name again.
    """
    columns, refused = batch["source_columns"], list(batch["refused"])
    renames = dict(batch["renames"])
    for statement in batch["statements"]:
        if not is_within(statement, stretch):
            continue
        columns = statement["columns"]
        for change in statement["changes"]:
            if change["kind"] == "rename_column" and change["policy"] == "apply":
                refused.append(change["old"])
            if change["kind"] in ("add_column", "rename_column"):
                renames.pop(change["name"], None)
    there = lowered(names_of(columns or []))
    return {
        **batch,
        "statements": [{**statement} for statement in batch["statements"]],
        "source_columns": columns,
        "names": list(batch["names"]),
        "refused": [name for name in unique(refused) if name.lower() not in there],
        "renames": renames,
    }


def shapes_of(figures: Iterable[Mapping[str, Any]]) -> Shapes:
    """Return what the rows of a batch tell of columns.

    Args:
        figures: Rows of event_figures_sql().

    Returns:
        Names in their images (`names`), inline `schemas` and where each comes first (`first_nums`),
        in that order, and whether some come without one (`has_schemaless`).
    """
    names: dict[str, None] = {}
    schemas: dict[str, Any] = {}
    first_nums: dict[str, Any] = {}
    has_schemaless = False
    rows = [row for row in figures if row["_kind"] == "row"]
    # rows of a SELECT need not be numbered
    for row in sorted(rows, key=lambda row: (row["_first_num"] is None, row["_first_num"] or 0)):
        for kind in ("_after_shapes", "_before_shapes"):
            for shape in json.loads(row[kind] or "[]"):
                names.update(dict.fromkeys(shape))
        if row["_schema_id"]:
            schemas[row["_schema_id"]] = columns_of_schema(row["_schema_text"])
            first_nums[row["_schema_id"]] = row["_first_num"]
        else:
            has_schemaless = True
    return {
        "names": list(names),
        "schemas": schemas,
        "first_nums": first_nums,
        "has_schemaless": has_schemaless,
    }


def columns_of_schema(text: str) -> list[SourceColumn]:
    """Return the columns that an inline schema tells of the after image."""
    fields = json.loads(text).get("fields") or []
    of_row = [field.get("fields") or [] for field in fields if field.get("field") == "after"]
    return connect_columns(of_row[0] if of_row else [])


def take_up_columns(cfg: Settings, batch: Batch, statement: Statement) -> None:
    """Tell the batch what a statement adds, also where no row brings it.

    The statement is told what the rows that are there get (`fills`).
    """
    declared = lowered(names_of(cfg["columns"]))
    for change in statement["changes"]:
        if change["kind"] != "add_column":
            continue
        name, column = change["name"], change["column"]
        if change["policy"] != "ignore" and name not in batch["names"]:
            batch["names"].append(name)
        default = None if column.get("default_is_stand_in") else column.get("default")
        is_taken = change["policy"] == "apply" or name.lower() in declared
        if default is None or cfg["sequence_by"] or not is_taken:
            continue
        fill: Statement = {
            "operation": "ADD_COLUMN",
            "effect": "fill",
            "event_id": _md5(f"{statement['event_id']}|{name}"),
            "sequence_num": statement["sequence_num"],
            "landing_num": statement["landing_num"],
            "event_time": statement["event_time"],
            "column": name,
            "default": default,
            "encoding": column.get("default_encoding", column["encoding"]),
        }
        statement.setdefault("fills", []).append(fill)


def fills_of_schemas(
    cfg: Settings, roles: Roles, batch: Batch, recorded: Recorded | None
) -> list[Statement]:
    """Return fills of the columns that the inline schemas of a batch show to be new."""
    if cfg["sequence_by"]:
        return []
    return [
        {
            "operation": "ADD_COLUMN",
            "effect": "fill",
            "event_id": _md5(f"add_column|{column['name']}|{number}"),
            "sequence_num": number,
            "landing_num": number,
            "column": column["name"],
            "default": column["default"]["text"],
            "encoding": column["default"]["encoding"],
        }
        for column, number in new_in_schemas(roles, batch, recorded)
    ]


def columns_out_of_sight(cfg: Settings, roles: Roles, statements: Sequence[Statement]) -> list[str]:
    """Return what columns rows of a table without key had, by which no event finds them any more.

    They are known by all values, and were stored with other columns than the images of before have
    from now on.
    """
    compared = lowered(names_of([*roles["compared"], *roles["gone"]]))
    aliases = aliases_of(cfg, {"renames": {}})
    names = []
    for statement in statements:
        if statement["operation"] == "CREATE_TABLE":
            continue
        if statement["effect"] == "fill":
            names.append(statement["column"])
        for change in statement.get("changes", []):
            if change["kind"] in ("drop_column", "rename_column"):
                old = change.get("old", change["name"])
                if aliases.get(change["name"].lower()) != old.lower():
                    names.append(old)
    return [name for name in dict.fromkeys(lowered(names)) if name in compared]


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()
