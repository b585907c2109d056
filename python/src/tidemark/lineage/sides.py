"""The relations beside an entity as nodes of dbt's docs, described, with the columns they inherit.

Works on the artefacts as they are: nothing of the extra `lineage` is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.lineage.entities import CURRENT, EVENT_LOG, LOG
from tidemark.lineage.project import Columns

COLUMNS = {
    "_key_hash": "Hash of the key columns.",
    "_row_hash": "Hash of the compared columns.",
    "_operation": (
        "Kind of the last change: I, U or D; with `tag_unchanged` also N (came unchanged) and "
        "X (not supplied)."
    ),
    "_eff_start_date": "Date from which this state holds.",
    "_business_date": "Business date of the extract, or of the arrival of the event.",
    "_changed_columns": "Names of the columns that a U changed.",
    "_commit_id": "Commit that wrote the row, as in `tidemark_commits`.",
    "_superseded_by": "Commit that replaced the row; NULL while it is in force.",
    "_sequence_num": "Landing order, or the sequence number that the source supplied.",
    "_sequence_by": "Order of the change by `sequence_by`, and what breaks ties.",
    "_event_time": "Commit time of the source.",
    "_batch_id": "Batch that the event landed in: the commit that took it.",
    "_source_operation": "Operation of the source: INSERT, READ, UPDATE, DELETE, TRUNCATE, …",
    "_event_id": "Identity of the event, the same when it is delivered again.",
    "_transaction_id": "Transaction of the source.",
    "_offset": "Position in the source.",
    "_unsupplied": "Columns that the event did not bring: these keep their value from before.",
    "_moved_from": "Hash of the key that the row had before, where the key changed.",
    "_reject_reason": "Reason why the row cannot be used, and the column.",
    "_raw_payload": "The row as it arrived, sensitive values masked.",
    "_resolved_by": "Commit of the later load that mended it; NULL while it is open.",
}
"""What the columns that Tidemark adds mean."""

_REJECTS: Columns = {
    "_reject_reason": "string",
    "_key_hash": "string",
    "_raw_payload": "string",
    "_business_date": "date",
    "_commit_id": "bigint",
    "_resolved_by": "bigint",
}
_DESCRIPTIONS = {
    "log": (
        "Every change ever recorded of `{0}`, also those that a correction has superseded "
        "since. It has the columns of `{0}`, and what is known of each change. "
        "`tidemark.log(ref('{0}'))`"
    ),
    "history": "The changes of `{0}` in force, by business date: a view of `{0}__log`. "
    "`tidemark.history(ref('{0}'))`",
    "rejects": (
        "Rows of `{0}` that could not be used, each with its reason and as it arrived. "
        "Sensitive values are masked. `tidemark.rejects(ref('{0}'))`"
    ),
    "sensitive": (
        "The sensitive columns of `{0}`. It has a row for each row of the log, so that you can "
        "grant or erase it apart. `tidemark.with_sensitive(ref('{0}'))` joins them back."
    ),
    "supplied": "The keys that each load of a delta or a scoped extract supplied to `{0}`, changed "
    "or not.",
    "staging": "Events of `{0}` as they were taken, typed, by batch.",
    "landed": "The files of events that `{0}` has taken.",
    "entities": "Contexts and self-describing events that `{0}` brought, as JSON.",
    "manifest": "The events that `{0}` has seen, for de-duplication across batches.",
}


def sides_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what lies beside a model, by the names that follow `<model>__`.

    Args:
        node: Of dbt's manifest.
    """
    settings = _settings(node)
    kind = (node.get("config") or {}).get("materialized")
    if kind == "atomic":
        return ("rejects", "entities", "manifest")
    if kind != "cdc":
        return ()
    found = ["log", "history", "rejects"]
    if settings.get("sensitive"):
        found.append("sensitive")
    if settings.get("extract") == "delta" or settings.get("scope"):
        found.append("supplied")
    if settings.get("extract") == "events":
        found += ["staging", "landed"]
    return tuple(found)


def add_sides(manifest: dict[str, Any], catalog: dict[str, Any]) -> None:
    """Add the relations beside entities to a manifest, each below its entity.

    The columns that Tidemark adds to an entity are described, too. What has a name of the project's
    own, or is described already, stays as it is.

    Example:
        >>> nodes = {"model.shop.a": {"resource_type": "model", "name": "a", "alias": "a",
        ...     "package_name": "shop", "fqn": ["shop", "a"], "config": {"materialized": "cdc"}}}
        >>> add_sides(manifest := {"nodes": nodes}, {})
        >>> sorted(manifest["nodes"])[1:]
        ['model.shop.a__history', 'model.shop.a__log', 'model.shop.a__rejects']

    Args:
        manifest: dbt's.
        catalog: dbt's, of types; where an entity is in it, what lies beside it is added.
    """
    nodes = manifest["nodes"]
    taken = {str(node.get("name")) for node in nodes.values()}
    for key, node in list(nodes.items()):
        if node.get("resource_type") != "model":
            continue
        types = _types(catalog, key)
        if (node.get("config") or {}).get("materialized") == "cdc":
            _describe(node, types)
        for side in sides_of(node):
            made = _side(key, node, side, types)
            if made["name"] in taken:
                continue
            nodes[made["unique_id"]] = made
            if types:
                catalog["nodes"][made["unique_id"]] = _in_catalog(made)
            manifest.setdefault("parent_map", {})[made["unique_id"]] = [key]
            manifest.setdefault("child_map", {}).setdefault(key, []).append(made["unique_id"])
            manifest["child_map"].setdefault(made["unique_id"], [])


def side_key(key: str, node: Mapping[str, Any], side: str) -> str:
    """Return the id of the node that stands for a relation beside a model."""
    return f"{key.rpartition('.')[0]}.{node['alias']}__{side}"


def _settings(node: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = (node.get("config") or {}).get("meta")
    ours = meta.get("tidemark") if isinstance(meta, Mapping) else None
    return ours if isinstance(ours, Mapping) else {}


def _types(catalog: Mapping[str, Any], key: str) -> dict[str, str]:
    table = (catalog.get("nodes") or {}).get(key) or {}
    columns = (table.get("columns") or {}).values()
    return {column["name"].lower(): column["type"] for column in columns}


def _describe(node: dict[str, Any], types: Mapping[str, str]) -> None:
    """Say what the columns are that Tidemark adds to current."""
    columns = node.setdefault("columns", {})
    there = {name.lower(): name for name in columns}
    names = [*CURRENT, *(name for name in ("_sequence_num", "_sequence_by") if name in types)]
    for name in names:
        column = columns.setdefault(
            there.get(name, name), _column(name, types.get(name, CURRENT.get(name)), "")
        )
        column["description"] = column.get("description") or COLUMNS[name]


def _side(key: str, node: Mapping[str, Any], side: str, types: Mapping[str, str]) -> dict[str, Any]:
    name = f"{node['alias']}__{side}"
    text = _DESCRIPTIONS[side].format(node["name"])
    columns = {column["name"]: column for column in _columns(node, side, types)}
    relation = ".".join(f"`{part}`" for part in (node.get("schema"), name) if part)
    config = {
        **(node.get("config") or {}),
        "materialized": "view" if side == "history" else "table",
    }
    return {
        **node,
        "unique_id": side_key(key, node, side),
        "name": name,
        "alias": name,
        "fqn": [*node["fqn"][:-1], name],
        "description": text,
        "columns": columns,
        "config": {**config, "meta": {}},
        "meta": {},
        "tags": ["beside an entity"],
        "relation_name": relation,
        "depends_on": {"macros": [], "nodes": [key]},
        "refs": [],
        "sources": [],
        "language": "sql",
        "raw_code": (
            f"-- Tidemark keeps this table beside {node['name']}: no SQL of the project makes it"
        ),
        "compiled_code": "",
    }


def _in_catalog(side: Mapping[str, Any]) -> dict[str, Any]:
    """Return where dbt's page looks for types."""
    kind = side["config"]["materialized"]
    place = {"schema": side.get("schema"), "name": side["alias"], "database": None}
    return {
        "metadata": {**place, "type": kind, "comment": None, "owner": None},
        "columns": {
            name: {"name": name, "type": column["data_type"] or "", "index": at, "comment": None}
            for at, (name, column) in enumerate(side["columns"].items(), start=1)
        },
        "stats": {},
        "unique_id": side["unique_id"],
    }


def _columns(
    node: Mapping[str, Any], side: str, types: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    given = _settings(node).get("sensitive") or []
    hidden = {str(name).lower() for name in ([given] if isinstance(given, str) else given)}
    events = _settings(node).get("extract") == "events"
    log = {**CURRENT, **LOG, **(EVENT_LOG if events else {})}
    own = [
        column
        for column in (node.get("columns") or {}).values()
        if column["name"].lower() not in COLUMNS
    ]
    if side in ("log", "history"):
        inherited, added = [one for one in own if one["name"].lower() not in hidden], log
    elif side == "sensitive":
        inherited = [one for one in own if one["name"].lower() in hidden]
        names = ("_key_hash", "_row_hash", "_business_date", "_commit_id")
        added = {name: log[name] for name in names}
    elif side == "supplied":
        inherited = []
        added = {name: log[name] for name in ("_key_hash", "_business_date", "_commit_id")}
    elif side == "rejects" and (node.get("config") or {}).get("materialized") == "cdc":
        inherited, added = [], _REJECTS
    else:
        return
    for column in inherited:
        kind = column.get("data_type") or types.get(column["name"].lower())
        yield _column(column["name"], kind, str(column.get("description") or ""))
    for name, known in added.items():
        yield _column(name, types.get(name, known), COLUMNS[name])


def _column(name: str, kind: str | None, description: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"meta": {}, "tags": [], "constraints": [], "quote": None}
    return {"name": name, "data_type": kind, "description": description, **empty}
