"""The columns, the commit and the logged DDL of a stretch of change events."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence

from tidemark.errors import DataError
from tidemark.pipeline.checking import check_drift
from tidemark.pipeline.given import declared_types, pepper_of
from tidemark.pipeline.tables import has_rows
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.batches import fills_of_schemas, is_within
from tidemark.rules.drift import choice_drift, config_drift, is_retagged, sentences
from tidemark.rules.event_roles import (
    check_known_columns,
    check_new_columns,
    event_roles,
    names_in_batch,
    names_to_come,
)
from tidemark.rules.names import lowered, names_of, unique
from tidemark.rules.types import struct_fields
from tidemark.shapes.events import Batch, BatchColumns, Landing, Statement, Stretch
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Opened, Recorded, RecordedSource, Run
from tidemark.shapes.roles import Column, Roles

ANEW = "from the events that are still there with --full-refresh (the old one is kept)"
"""How a log begins anew."""
_INFERRED = {
    "bigint": "bigint",
    "double": "double",
    "decimal": "double",
    "float": "double",
    "boolean": "boolean",
}
_SIGNED = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")


def roles_of_stretch(
    warehouse: Warehouse, opened: Opened, landing: Landing, batch: Batch, stretch: Stretch
) -> Roles:
    """Return what becomes of each column, once the tables have followed the DDL event of a stretch.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        landing: Where the events are, and their `columns` if they come typed.
        batch: What they tell, as it is known within the stretch; the names of typed ones are added.
        stretch: The stretch.

    Raises:
        ConfigError: The YAML and the events do not go together.
        DataError: Nothing tells the columns, or what is stored cannot be gone on with.
    """
    cfg, state, macro = opened["cfg"], opened["state"], warehouse.macro
    recorded, columns = None if state["first"] else state["recorded"], landing["columns"]
    meta = [*names_of(macro("event_columns")), "_landing_num", "_file"]
    for name in names_of(columns or []):
        is_ours = name.lower() in meta or name.startswith("_before_")
        if not is_ours and name not in batch["names"]:
            batch["names"].append(name)
    types = declared_types(warehouse, cfg)
    to_come = names_to_come(batch, stretch)
    typed = [*types, *to_come, *(lowered(names_of(recorded["columns"])) if recorded else [])]
    inferred = _inferred_types(warehouse, landing, batch, typed)
    found: BatchColumns = {
        "names": batch["names"],
        "schemas": batch["schemas"],
        "ddl": batch["source_columns"],
        "arrived": None if columns is None else {one["name"].lower(): one for one in columns},
        "renames": batch["renames"],
        "refused": batch["refused"] + to_come,
        "to_come": to_come,
        "has_schemaless": batch["has_schemaless"],
        "inferred": inferred,
        "unreadable": batch.get("unreadable"),
    }
    reserved, recipe = macro("reserved_event_columns"), macro("hash_recipe_version")
    roles = event_roles(cfg, found, types, recorded, reserved, recipe)
    check_new_columns(cfg, roles, recorded)
    pepper = pepper_of(warehouse, cfg, roles)
    roles = {**roles, "recorded": {**roles["recorded"], **pepper}}
    if recorded:
        drift = sentences(config_drift(cfg, roles, recorded)) + choice_drift(roles, recorded)
        check_drift(cfg, drift, ANEW)
    check_known_columns(cfg, roles, found, recorded)
    unsigned = _check_unsigned(warehouse, opened, roles, recorded)
    before = (recorded or {}).get("source") or {}
    source: RecordedSource = {
        "tables": unique([*(before.get("tables") or []), *batch["tables"]]),
        "followed": batch["followed"] if stretch["is_last"] else before.get("followed", []),
        "named": batch["named"],
        "columns": batch["source_columns"],
        "refused": batch["refused"],
        "by_content": batch["by_content"],
        "by_server": batch["by_server"],
        "identifying": batch["identifying"],
        "has_moves": before.get("has_moves", False),
        "has_partial_moves": before.get("has_partial_moves", False),
        "open_snapshot": before.get("open_snapshot"),
        "told": names_in_batch(batch, recorded) if cfg["format"] == "debezium" else None,
        "unsigned": unsigned,
    }
    guessed = [name.lower() for name, kind in inferred.items() if kind == "string"]
    now: Recorded = {**roles["recorded"], "source": source}
    return {**roles, "recorded": now, "guessed_texts": guessed}


def _inferred_types(
    warehouse: Warehouse, landing: Landing, batch: Batch, typed: Sequence[str]
) -> dict[str, str]:
    """Return types of columns that neither YAML nor a schema tells, from the values of a batch."""
    typed_names = {*typed, *lowered(names_of(batch["source_columns"] or []))}
    for columns in batch["schemas"].values():
        typed_names.update(lowered(names_of(columns)))
    is_told = all(name in typed_names for name in lowered(batch["names"]))
    if is_told or landing["columns"] is not None or batch["is_empty"]:
        return {}
    text = warehouse.run(warehouse.macro("inferred_schema_sql", landing["events"]))[0][0]
    inferred = {}
    for name, kind in struct_fields(re.sub("^(OBJECT|STRUCT)<", "", text)[:-1]):
        # A whole number that no bigint holds, such as an unsigned id, would share a double with its
        # neighbours.
        is_whole = re.search(r"^decimal[(][0-9]+, *0[)]$", kind.lower())
        base = kind.split("<")[0].split("(")[0].lower()
        inferred[name] = "decimal(38,0)" if is_whole else _INFERRED.get(base, "string")
    return inferred


def _check_unsigned(
    warehouse: Warehouse, opened: Opened, roles: Roles, recorded: Recorded | None
) -> list[str]:
    """Refuse what is stored with negative numbers and never has any at the source.

    An earlier version took them as they are written. What the log alone has is told.

    Returns:
        The columns of which this is known, by their names in hashes.
    """
    names = list(((recorded or {}).get("source") or {}).get("unsigned", []))
    if opened["run"].get("dry_run"):
        return names
    for column in roles["columns"]:
        is_unsigned = "unsigned" in column["encodings"].values() and not column.get("stays")
        if not is_unsigned or column["hash_name"] in names:
            continue
        kind = column["recorded_type"]
        if recorded and kind is not None and warehouse.macro("_base_type", kind) in _SIGNED:
            _check_no_negatives(warehouse, opened, recorded, column)
        names.append(column["hash_name"])
    return names


def _check_no_negatives(
    warehouse: Warehouse, opened: Opened, recorded: Recorded, column: Column
) -> None:
    cfg, relations, macro = opened["cfg"], opened["relations"], warehouse.macro
    name = column["name"]
    is_negative = f"{macro('quote_identifier', name)} < 0"
    existing = macro("existing_rows_sql", macro("recorded_roles", recorded), relations)
    if has_rows(warehouse, f"(\n{existing}\n)", is_negative):
        raise DataError(
            f"{cfg['entity']}: column `{name}` is unsigned at the source, but the table has "
            "negative numbers; nothing was written. An earlier release stored large numbers so. "
            f"Begin anew {ANEW}, or keep the numbers with encodings: "
            f"{{{name}: number}} under meta.tidemark"
        )
    if column["sensitive"]:
        return
    if has_rows(warehouse, relations["log"], f"{is_negative} and {macro('in_force_expr')}"):
        warehouse.warn(
            cfg["entity"],
            f"column `{name}` is unsigned at the source, but the history has negative numbers "
            "in it. Events write numbers that are too large for a bigint as negative ones. To "
            f"correct the history, begin anew {ANEW}",
        )


def load_of_stretch(
    warehouse: Warehouse, opened: Opened, roles: Roles, batch: Batch, stretch: Stretch
) -> Load:
    """Return what the commit of a stretch is made with.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        roles: What roles_of_stretch() returned.
        batch: What the events tell.
        stretch: The stretch; `tried` is the number of an attempt before this one.
    """
    cfg, run, state = opened["cfg"], opened["run"], opened["state"]
    begun, date, is_first = state.get("begun"), date_of_events(run), state["first"]
    if begun and not run.get("dry_run"):
        commit_id = begun["commit_id"]
    else:
        last_id = stretch.get("tried") or state["last_id"]
        commit_id = warehouse.macro("next_commit_id", last_id)
    is_refresh = run["full_refresh"] and state["recorded"] and stretch["is_first"]
    shows_others = not is_first and (
        is_retagged(cfg, state["recorded"]) or _has_columns_back(warehouse, opened, roles)
    )
    return {
        "commit_id": commit_id,
        "batch_id": commit_id if stretch["is_first"] else batch["batch_id"],
        "kind": "full_refresh" if is_refresh else "load",
        "business_date": date,
        "last_commit_id": 0 if is_first else state["last_commit_id"],
        "last_date": date,
        "last_date_commit_id": commit_id,
        "rebuild": shows_others,
        "reorders": batch["reorders"] and stretch["is_first"],
        "is_last": stretch["is_last"],
        "begun": begun,
        "statements": statements_within(warehouse, opened, roles, batch, stretch),
    }


def date_of_events(run: Run) -> str:
    """Return the business date that events are loaded under: today's (UTC) unless one is given."""
    date: str = run["business_date"] or dt.datetime.now(dt.UTC).strftime("%Y-%m-%d")
    return date


def is_trial(run: Run) -> bool:
    """Say whether a dry run is an attempt before tables are altered, and no plan."""
    return bool(run.get("dry_run") and not run["plan"])


def _has_columns_back(warehouse: Warehouse, opened: Opened, roles: Roles) -> bool:
    """Say whether a column is new by what is recorded and has values in the log.

    Earlier versions recorded none that `columns` left out, and current may have lost them.
    """
    terms = [
        f"{warehouse.macro('quote_identifier', column['name'])} is not null"
        for column in roles["added"]
        if not column["sensitive"]
    ]
    if not terms or opened["run"].get("dry_run"):
        return False
    return has_rows(warehouse, opened["relations"]["log"], " or ".join(terms))


def statements_within(
    warehouse: Warehouse, opened: Opened, roles: Roles, batch: Batch, stretch: Stretch
) -> list[Statement]:
    """Return the statements that are logged with a stretch, with fills of what they added."""
    within: list[Statement] = []
    for statement in batch["statements"]:
        if is_within(statement, stretch):
            within.append(statement)
            within += with_values(warehouse, opened, roles, statement.get("fills", []))
    if batch["source_columns"] is None and not stretch["from"]:
        state = opened["state"]
        recorded = None if state["first"] else state["recorded"]
        fills = fills_of_schemas(opened["cfg"], roles, batch, recorded)
        within += with_values(warehouse, opened, roles, fills)
    return within


def with_values(
    warehouse: Warehouse, opened: Opened, roles: Roles, fills: Iterable[Statement]
) -> list[Statement]:
    """Return fills of columns that are stored, with the value as SQL.

    A default that its column cannot have is told: a fill with NULL does nothing.
    """
    valued: list[Statement] = []
    for fill in fills:
        for column in roles["columns"]:
            name, kind = column["name"], column["type"]
            is_filled = name.lower() == fill["column"].lower() and not column["key"]
            if not is_filled or column.get("stays"):
                continue
            literal = warehouse.macro("string_literal", fill["default"])
            value = warehouse.macro("decode_expr", literal, fill["encoding"], kind)
            if not is_trial(opened["run"]) and warehouse.run(f"select {value} is null")[0][0]:
                warehouse.warn(
                    opened["cfg"]["entity"],
                    f"the default of the new column `{name}` is not of type {kind}. The "
                    "existing rows have NULL",
                )
            valued.append({**fill, "column": name, "value": value})
    return valued
