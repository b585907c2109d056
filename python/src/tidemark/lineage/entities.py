"""The columns and relations that Tidemark's materializations add to what a model's SQL gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from tidemark.lineage.links import ALL, TRANSFORMATION, Column, Link
from tidemark.lineage.project import Columns, Node
from tidemark.shapes.opened import RelationName

# relations beside an entity, `<entity>__<side>`
SIDES = tuple(name for name in get_args(RelationName) if name not in ("current", "log_table"))
CURRENT: Columns = {
    "_key_hash": "string",
    "_row_hash": "string",
    "_operation": "string",
    "_eff_start_date": "date",
}
LOG: Columns = {
    "_business_date": "date",
    "_changed_columns": "array<string>",
    "_commit_id": "bigint",
    "_superseded_by": "bigint",
}
EVENT_LOG: Columns = {
    "_event_time": "timestamp",
    "_batch_id": "bigint",
    "_source_operation": "string",
    "_event_id": "string",
    "_transaction_id": "string",
    "_offset": "string",
    "_unsupplied": "array<string>",
    "_moved_from": "string",
}
_SNAPSHOT: Columns = {
    "dbt_scd_id": "string",
    "dbt_updated_at": "timestamp",
    "dbt_valid_from": "timestamp",
    "dbt_valid_to": "timestamp",
}
_ENTITIES: Columns = {
    "schema": "struct<vendor: string, name: string, format: string, version: string>",
    "data": "string",
    "hierarchy": "struct<root_id: string, root_tstamp: timestamp, ref_root: string, "
    "ref_tree: array<string>, ref_parent: string>",
    "field": "string",
    "position": "int",
    "vendor": "string",
    "name": "string",
    "model": "int",
}
_RESERVED = frozenset(
    {
        *CURRENT,
        *LOG,
        *EVENT_LOG,
        *("_sequence_num", "_sequence_by", "_valid_from", "_valid_to", "_is_current"),
        *("_reject_reason", "_raw_payload", "_unreadable", "_supersedes", "_landing_num"),
        *("_is_snapshot", "_database", "_table", "_schema", "_primary_key", "_prev_table"),
    }
)


def is_reserved(name: str) -> bool:
    """Is a name one of the columns that Tidemark adds?

    Example:
        >>> is_reserved("_Row_Hash"), is_reserved("_my_own")
        (True, False)
    """
    return name.lower() in _RESERVED or name.lower().startswith("_before_")


def added_columns(node: Node) -> Columns:
    """Return the columns of a model that no SQL of the user's makes, with their types."""
    if node.kind == "snapshot":
        return _SNAPSHOT
    if node.materialized == "cdc":
        return CURRENT | _sequence(node)
    if node.materialized in ("atomic", "shred"):
        return {"_commit_id": "bigint"}
    if node.materialized == "feed":
        return {"_commit_date": "date"}
    return {}


def _is_events(node: Node) -> bool:
    return node.settings.get("extract") == "events"


def _sequence(node: Node) -> Columns:
    if not _is_events(node):
        return {}
    given = node.settings.get("sequence_by")
    ordered = [given] if isinstance(given, str) else list(given or [])
    own = ordered if node.settings.get("format") == "rows" or ordered != ["_sequence_num"] else []
    return {"_sequence_num": "bigint"} | ({"_sequence_by": None} if own else {})


def side_columns(node: Node, columns: Sequence[Column]) -> dict[str, tuple[Column, ...]]:
    """Return the relations beside a model that hold its data, and what their columns follow from.

    Args:
        node: The model.
        columns: All of its columns, also the sensitive ones, which are in none of these but one.
    """
    if node.materialized == "atomic":
        return {"entities": _entity_columns(columns)}
    if node.materialized != "cdc":
        return {}
    given = node.settings.get("sensitive") or []
    hidden = {str(name).lower() for name in ([given] if isinstance(given, str) else given)}
    open_ones = [column for column in columns if column.name.lower() not in hidden]
    there = {column.name for column in columns}
    log = (
        *open_ones,
        *(
            Column(name, kind, is_added=True)
            for name, kind in (LOG | (EVENT_LOG if _is_events(node) else {})).items()
            if name not in there
        ),
    )
    sides = {"log": log, "history": log}
    if hidden:
        keys = [column for column in columns if column.name in ("_key_hash", "_row_hash")]
        secret = [column for column in columns if column.name.lower() in hidden]
        own = ("_business_date", "_commit_id")
        dates = [Column(name, LOG[name], is_added=True) for name in own]
        sides["sensitive"] = (*secret, *keys, *dates)
    return sides


def _entity_columns(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Contexts and self-describing events, out of the columns that hold them as JSON."""
    by_name = {column.name: column for column in columns}

    def of(names: Sequence[str]) -> tuple[Link, ...]:
        return tuple(link.via(TRANSFORMATION) for name in names for link in by_name[name].links)

    carriers = ("contexts", "unstruct_event", "derived_contexts")
    parents = {"hierarchy": ("event_id", "collector_tstamp")}
    made = [Column(name, kind, of(parents.get(name, carriers))) for name, kind in _ENTITIES.items()]
    return (*made, replace(by_name["_commit_id"]))


__all__ = ["ALL", "SIDES", "added_columns", "is_reserved", "side_columns"]
