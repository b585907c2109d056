"""The settings of `materialized: atomic` and `materialized: shred` models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tidemark.model import columns as of_columns
from tidemark.model import places
from tidemark.model.given import Config, Given, is_text, retention
from tidemark.model.row_rules import row_rules
from tidemark.model.settings import AtomicSettings, ShredSettings
from tidemark.model.suggestions import did_you_mean
from tidemark.model.types import type_problems
from tidemark.shred.enriched import TYPES

_ACROSS = ("natural_cross_batch", "synthetic_cross_batch")
_TABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?")


def atomic_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what enriched events, de-duplicated and shredded, are configured with.

    Example:
        >>> atomic_settings(node, "delta")["manifest_ttl"]
        '180 days'

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    given = Given(node, AtomicSettings, lake_format)
    cfg = _table_settings(given)
    cfg |= given.read("location", "deduplicate", "fingerprint_ignore", "manifest", "manifest_ttl")
    cfg |= given.read("engine")
    ttl = retention(cfg["manifest_ttl"], "manifest_ttl", given.errors)
    steps = cfg["deduplicate"]
    cfg |= {"family": "enriched", "manifest_ttl": ttl}
    given.errors += places.location_problems(cfg["location"])
    given.allow(cfg, "deduplicate")
    given.errors += _name_problems(cfg)
    given.allow(cfg, "engine")
    columns = of_columns.declared_columns(node)
    ruled = {**cfg, "columns": columns}
    cfg["rules"] = row_rules(node, ruled, given.settings.get("rules"), given.errors)
    given.errors += _ruled_problems(columns)
    if ttl is None:
        given.errors.append("manifest_ttl must be a length of time such as '180 days'")
    manifest = cfg["manifest"]
    if manifest is not None and not (isinstance(manifest, str) and _TABLE.fullmatch(manifest)):
        must = "manifest must be the name of a table, or schema.table"
        given.errors.append(f"{must}, found: {manifest}")
    return given.complete({**cfg, "looks_across": any(step in _ACROSS for step in steps)})


def _table_settings(given: Given) -> dict[str, Any]:
    """What a table of enriched events or of their entities is made with, and where it is."""
    given.errors += places.place_problems(given.config)
    cfg = {
        "entity": given.node["alias"],
        **places.table_place(given),
        "partition_by": given.names("partition_by"),
        "cluster_by": given.names("liquid_clustered_by"),
        **given.read("on_reject", "max_reject_fraction"),
        "retention": {"rejects": given.retention("rejects_retention")},
        "description": places.kept_description(given),
    }
    given.allow(cfg, "on_reject")
    given.errors += places.fraction_problems("max_reject_fraction", cfg["max_reject_fraction"])
    given.errors += places.format_problems(cfg, given.lake_format)
    given.errors += places.cluster_problems(cfg)
    return cfg


def _name_problems(cfg: Config) -> Iterator[str]:
    ignored = cfg["fingerprint_ignore"]
    for name in ignored:
        if name not in TYPES:
            hint = did_you_mean(name, TYPES)
            yield f"fingerprint_ignore: `{name}` is no column of an enriched event{hint}"
    for name in ("event_id", "event_fingerprint"):
        if name not in ignored:
            yield (
                f"fingerprint_ignore must have `{name}`: a fingerprint tells apart events that "
                "share an id. Add the column to the list"
            )
    for name in cfg["partition_by"] + cfg["cluster_by"]:
        if name not in TYPES and name != "_commit_id":
            what = f"`{name}` is no column of atomic events{did_you_mean(name, TYPES)}"
            yield f"partition_by or liquid_clustered_by: {what}"


def _ruled_problems(columns: Iterable[Config]) -> Iterator[str]:
    for column in columns:
        name = column["name"]
        if column["settings"].get("rules") and name not in TYPES:
            what = f"is no column of an enriched event{did_you_mean(name, TYPES)}"
            yield f"column `{name}`: meta.tidemark.rules: it {what}"


def shred_settings(node: Config, lake_format: str, can_validate: bool) -> dict[str, Any]:
    """Return what a typed table of the entities of one schema is configured with.

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.
        can_validate: Whether the adapter has Spark in dbt's own process, where Python validates.

    Raises:
        ConfigError: With every problem that was found.
    """
    given = Given(node, ShredSettings, lake_format)
    declared = of_columns.declared_columns(node)
    given.errors += type_problems(declared)
    columns = [
        _shredded_column(column, given.errors)
        for column in declared
        if column["data_type"]
        and column["name"].lower() not in ("schema", "hierarchy", "_commit_id")
    ]
    given.errors += of_columns.column_meta_problems(node, "property")
    cfg = _table_settings(given)
    cfg |= {"columns": columns, "registry": given.settings.get("registry")}
    given.errors += _shred_problems(cfg, given.settings, lake_format)
    if cfg["registry"] and not can_validate:
        given.errors.append(
            "registry needs `type: tidemark` with `method: session` in the profile, as Python "
            "validates the data. Change the profile, or remove registry and declare the columns"
        )
    return given.complete(cfg)


def _shredded_column(column: Config, errors: list[str]) -> dict[str, Any]:
    """A column and the property that fills it, where that has another name."""
    settings, place = column["settings"], f"column {column['name']}: meta.tidemark."
    for name in settings:
        if name != "property":
            errors.append(f"{place}{name} is not a setting{did_you_mean(name, ['property'])}")
    filled_by = settings.get("property")
    if "property" in settings and not is_text(filled_by):
        errors.append(f"{place}property must be the name of a property, found: {filled_by}")
    same = {name: column[name] for name in ("name", "not_null", "description")}
    return {**same, "type": column["data_type"], "property": filled_by}


def _shred_problems(cfg: Config, settings: Config, lake_format: str) -> Iterator[str]:
    names = [column["name"].lower() for column in cfg["columns"]]
    if names:
        there = [*names, "schema", "hierarchy"]
        yield from of_columns.misplaced_layout(cfg, there, "the model does not declare")
    if "registry" in settings and not is_text(cfg["registry"]):
        yield f"registry must be a folder of JSON Schemas, found: {cfg['registry']}"
    if not names and not cfg["registry"]:
        yield (
            "columns with a data_type are required, or meta.tidemark.registry: a folder of JSON"
            " Schemas"
        )
    for column in cfg["columns"]:
        if column["name"].lower() in of_columns.reserved_columns(lake_format):
            yield (
                f"column `{column['name']}` is reserved. Give the column another name, and set "
                "meta.tidemark.property to the property that fills the column"
            )
