"""What every entity that has a log is configured with, wherever its changes come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from tidemark.model.columns import (
    check_column_meta,
    declared_columns,
    refused_name,
    reserved_columns,
)
from tidemark.model.expressions import check_expression
from tidemark.model.given import (
    Config,
    as_names,
    check_allowed,
    check_fraction,
    check_one_of,
    is_chosen,
    is_text,
    note_broken,
    read_values,
    retention,
)
from tidemark.model.places import (
    NO_CLUSTERS,
    ONE_LAYOUT,
    check_format,
    check_place,
    table_layout,
    table_place,
)
from tidemark.model.suggestions import did_you_mean
from tidemark.model.types import check_data_types

EXTRACTS = ("full", "delta", "events")
_SETTINGS = (
    *("ignore", "sensitive", "hash", "soft_delete", "changed_columns", "null_keys", "on_reject"),
    *("max_reject_fraction", "feed_images", "write_mode"),
)
_CHOICES = ("hash", "null_keys", "on_reject", "write_mode")
_RETENTIONS = ("feed", "superseded", "history", "rejects")


def logged_settings(
    node: Config, flow: type[BaseModel], settings: Config, lake_format: str, errors: list[str]
) -> dict[str, Any]:
    """Return the settings of an entity that are the same for extracts and change events.

    Args:
        node: The model.
        flow: The class of its settings.
        settings: What stands under its `meta.tidemark`.
        lake_format: The format of the project's tables whose rows can change.
        errors: Where problems are noted.
    """
    config = node["config"]
    check_place(config, errors)
    given = config.get("unique_key")
    keys = settings.get("unique_key") if given is None else given
    cfg = {
        "entity": node["alias"],
        **table_place(node, lake_format),
        **table_layout(config, errors),
        "keys": as_names(keys, "unique_key", errors),
        "options": {},
        "extract": settings.get("extract"),
        "location": settings.get("location"),
        **read_values(flow, settings, _SETTINGS, errors),
        "retention": _retentions(settings, errors),
        "columns": declared_columns(node),
        "persist_docs": config.get("persist_docs") or {},
        "description": node.get("description", ""),
    }
    check_one_of("extract", cfg["extract"], EXTRACTS, errors)
    check_allowed(flow, cfg, _CHOICES, errors)
    found = cfg["file_format"]
    check_format(found, lake_format, errors)
    note_broken(
        [
            (
                cfg["write_mode"] == "merge_on_read" and found != "delta",
                f"write_mode: merge_on_read needs file_format: delta, found: {found}",
            ),
            (found == "iceberg" and cfg["cluster_by"], NO_CLUSTERS),
        ],
        errors,
    )
    check_fraction("max_reject_fraction", cfg["max_reject_fraction"], errors)
    check_retentions(cfg, cfg["retention"], errors)
    check_allowed(flow, cfg, ["feed_images"], errors)
    _check_columns(cfg, lake_format, errors)
    check_column_meta(node, "compare_as", errors)
    return cfg


def _retentions(settings: Config, errors: list[str]) -> dict[str, str | None]:
    """How long each kind of what an entity wrote is kept; only change events have a staging."""
    staging = ("staging",) if settings.get("extract") == "events" else ()
    return {
        name: retention(settings.get(f"{name}_retention"), f"{name}_retention", errors)
        for name in (*_RETENTIONS, *staging)
    }


def check_retentions(cfg: Config, retentions: Config, errors: list[str]) -> None:
    """Note lengths of time that the entity cannot have.

    Args:
        cfg: The entity's settings.
        retentions: How long each kind is kept.
        errors: Where problems are noted.
    """
    needs = [
        (
            cfg["file_format"] == "parquet",
            "history_retention needs file_format: delta or iceberg: the slices of a Parquet log"
            " never change",
        ),
        (
            not cfg["keys"],
            "history_retention needs unique_key: the rows of a table without key are counted from"
            " its first event",
        ),
    ]
    note_broken(needs if retentions.get("history") else [], errors)


def _check_columns(cfg: Config, lake_format: str, errors: list[str]) -> None:
    """Rules about names and types of columns."""
    check_data_types(cfg["columns"], errors)
    errors += _keys_that_are_no_columns(cfg)
    keys = [key.lower() for key in cfg["keys"]]
    sensitive = {name.lower() for name in cfg["sensitive"]}
    errors += [
        f"ignore names `{name}`, which is part of unique_key: a key is never ignored"
        for name in cfg["ignore"]
        if name.lower() in keys
    ]
    seen = set()
    for name in (column["name"] for column in cfg["columns"]):
        refused = refused_name(name, reserved_columns(lake_format))
        if refused:
            errors.append(f"{refused}: rename it in the model")
        if name.lower() in seen:
            errors.append(f"column `{name}` is declared twice (names differ at most in case)")
        seen.add(name.lower())
    errors += [
        f"`{name}` is sensitive and cannot lay out the current table"
        for name in cfg["partition_by"] + cfg["cluster_by"]
        if name.lower() in sensitive
    ]
    twice = f"unique_key names a column twice: {', '.join(cfg['keys'])}"
    note_broken(
        [
            (len(set(keys)) != len(keys), twice),
            (cfg["partition_by"] and cfg["cluster_by"], ONE_LAYOUT),
        ],
        errors,
    )


def _keys_that_are_no_columns(cfg: Config) -> Iterator[str]:
    """A key is the name of a column; a declared column may have any name."""
    declared = {column["name"].lower() for column in cfg["columns"]}
    for key in cfg["keys"]:
        parts = [part.strip() for part in key.split(",")]
        if key.lower() in declared:
            continue
        if len(parts) > 1 and "(" not in key:
            yield (
                f"unique_key `{key}` is no column: write several as a list, unique_key:"
                f" [{', '.join(parts)}]"
            )
        elif "||" in key or "::" in key or re.fullmatch(r"\w+[(].*[)]", key):
            yield (
                f"unique_key `{key}` is an expression, and a key is a column: add one in the SELECT"
                f" of the model, such as `select *, {key} as {cfg['entity']}_key from (…)`, and"
                " name it as unique_key; or list the columns that make up the key"
            )


def check_column_settings(cfg: Config, errors: list[str]) -> None:
    """Note what is wrong with settings of single columns.

    Args:
        cfg: The entity's settings.
        errors: Where problems are noted.
    """
    for column in cfg["columns"]:
        for name, value in column["settings"].items():
            place = f"column `{column['name']}`: meta.tidemark.{name}"
            if name != "compare_as":
                hint = did_you_mean(name, ["compare_as"])
                errors.append(f"{place} is not a setting{hint}")
            elif cfg["extract"] == "events":
                errors.append(f"{place} is for extracts")
            elif not is_text(value):
                errors.append(f"{place} must be an SQL expression of the column, found: {value}")
            elif not check_expression(place, value, errors):
                continue
            elif cfg["stored_hashes"]:
                errors.append(f"{place} and stored_hashes conflict: the hashes come with the rows")
            elif not _is_compared(cfg, column["name"]):
                errors.append(f"{place} has no effect: the column is not compared")


def _is_compared(cfg: Config, name: str) -> bool:
    others = {other.lower() for other in cfg["keys"] + cfg["ignore"]}
    return name.lower() not in others and is_chosen(cfg["compare"], name)
