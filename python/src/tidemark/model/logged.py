"""What every entity that has a log is configured with, wherever its changes come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tidemark.model import columns as of_columns
from tidemark.model import places
from tidemark.model.expressions import expression_problems
from tidemark.model.given import Config, Given, as_names, is_chosen, is_text, one_of
from tidemark.model.row_rules import row_rules
from tidemark.model.suggestions import did_you_mean
from tidemark.model.types import type_problems

EXTRACTS = ("full", "delta", "events")


def logged_settings(given: Given) -> dict[str, Any]:
    """Return the settings of an entity that are the same for extracts and change events."""
    config, settings = given.config, given.settings
    given.errors += places.place_problems(config)
    keys = config.get("unique_key")
    keys = settings.get("unique_key") if keys is None else keys
    kept = ["feed", "superseded", "history", "rejects"]
    kept += ["staging"] if settings.get("extract") == "events" else []
    cfg = {
        "entity": given.node["alias"],
        **places.table_place(given),
        "partition_by": given.names("partition_by"),
        "cluster_by": given.names("liquid_clustered_by"),
        "keys": as_names(keys, "unique_key", given.errors),
        "options": {},
        "extract": settings.get("extract"),
        **given.read("location", "ignore", "sensitive", "hash", "soft_delete", "changed_columns"),
        **given.read("null_keys", "on_reject", "max_reject_fraction", "feed_images", "write_mode"),
        "retention": {name: given.retention(f"{name}_retention") for name in kept},
        "columns": of_columns.declared_columns(given.node),
        "persist_docs": config.get("persist_docs") or {},
        "description": given.node.get("description", ""),
    }
    given.errors += one_of("extract", cfg["extract"], EXTRACTS)
    if cfg["hash"] == "xxhash64x2":
        given.errors.append(
            "hash: xxhash64x2 is not supported any more. Set hash to md5 or sha256. Then "
            "rehash the log by the release before (dbt run-operation rehash --args '{entity: "
            f"{cfg['entity']}}}'), or make a new log (--full-refresh)"
        )
    else:
        given.allow(cfg, "hash")
    given.allow(cfg, "null_keys", "on_reject", "write_mode")
    given.errors += places.format_problems(cfg, given.lake_format)
    if cfg["write_mode"] == "merge_on_read" and cfg["file_format"] != "delta":
        found = cfg["file_format"]
        given.errors.append(f"write_mode: merge_on_read needs file_format: delta, found: {found}")
    given.errors += places.cluster_problems(cfg)
    given.errors += places.fraction_problems("max_reject_fraction", cfg["max_reject_fraction"])
    given.errors += retention_problems(cfg, cfg["retention"])
    given.allow(cfg, "feed_images")
    given.errors += _column_problems(cfg, of_columns.reserved_columns(given.lake_format))
    given.errors += of_columns.column_meta_problems(given.node, "compare_as")
    cfg["rules"] = row_rules(given.node, cfg, settings.get("rules"), given.errors)
    return cfg


def retention_problems(cfg: Config, retentions: Config) -> Iterator[str]:
    """Yield what is wrong with lengths of time that an entity cannot have.

    Args:
        cfg: The entity's settings.
        retentions: How long each kind of what it wrote is kept.
    """
    if retentions.get("history") and not cfg["keys"]:
        yield (
            "history_retention needs unique_key: the rows of a table without key are counted from"
            " its first event"
        )


def _column_problems(cfg: Config, reserved: tuple[str, ...]) -> Iterator[str]:
    yield from type_problems(cfg["columns"])
    yield from _key_problems(cfg)
    keys = [key.lower() for key in cfg["keys"]]
    for name in cfg["ignore"]:
        if name.lower() in keys:
            yield f"ignore names `{name}`, which is part of unique_key: a key is never ignored"
    seen = set()
    for name in (column["name"] for column in cfg["columns"]):
        if refused := of_columns.refused_name(name, reserved):
            yield f"{refused}: rename it in the model"
        if name.lower() in seen:
            yield f"column `{name}` is declared twice (names differ at most in case)"
        seen.add(name.lower())
    sensitive = {name.lower() for name in cfg["sensitive"]}
    for name in cfg["partition_by"] + cfg["cluster_by"]:
        if name.lower() in sensitive:
            yield f"`{name}` is sensitive and cannot lay out the current table"
    if len(set(keys)) != len(keys):
        yield f"unique_key names a column twice: {', '.join(cfg['keys'])}"
    yield from places.layout_problems(cfg)


def _key_problems(cfg: Config) -> Iterator[str]:
    """A key is the name of a column; a declared column may have any name."""
    declared = {column["name"].lower() for column in cfg["columns"]}
    for key in cfg["keys"]:
        parts = ", ".join(part.strip() for part in key.split(","))
        if key.lower() in declared:
            continue
        if "," in key and "(" not in key:
            yield (
                f"unique_key `{key}` is no column: write several as a list, unique_key: [{parts}]"
            )
        elif "||" in key or "::" in key or re.fullmatch(r"\w+[(].*[)]", key):
            yield (
                f"unique_key `{key}` is an expression, and a key is a column: add one in the SELECT"
                f" of the model, such as `select *, {key} as {cfg['entity']}_key from (…)`, and"
                " name it as unique_key; or list the columns that make up the key"
            )


def column_setting_problems(cfg: Config) -> Iterator[str]:
    """Yield what is wrong with settings of single columns."""
    others = {other.lower() for other in cfg["keys"] + cfg["ignore"]}
    for column in cfg["columns"]:
        for name, value in column["settings"].items():
            place, column_name = f"column `{column['name']}`: meta.tidemark.{name}", column["name"]
            if name == "rules":
                continue
            if name != "compare_as":
                yield f"{place} is not a setting{did_you_mean(name, ['compare_as', 'rules'])}"
            elif cfg["extract"] == "events":
                yield f"{place} is for extracts"
            elif not is_text(value):
                yield f"{place} must be an SQL expression of the column, found: {value}"
            elif problems := [*expression_problems(place, value)]:
                yield from problems
            elif cfg["stored_hashes"]:
                yield f"{place} and stored_hashes conflict: the hashes come with the rows"
            elif column_name.lower() in others or not is_chosen(cfg["compare"], column_name):
                yield f"{place} has no effect: the column is not compared"
