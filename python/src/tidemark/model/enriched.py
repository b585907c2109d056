"""The settings of `materialized: atomic` and `materialized: shred` models."""

from __future__ import annotations

import re
from typing import Any

from tidemark.model.columns import (
    check_column_meta,
    declared_columns,
    misplaced_layout,
    reserved_columns,
)
from tidemark.model.given import (
    Config,
    check_allowed,
    given_settings,
    is_text,
    note_broken,
    raise_problems,
    read_values,
    retention,
)
from tidemark.model.places import check_location, table_of_events
from tidemark.model.settings import AtomicSettings, ShredSettings
from tidemark.model.suggestions import did_you_mean
from tidemark.model.types import check_data_types
from tidemark.shred.canonical import TYPES

_ATOMIC = ("location", "deduplicate", "fingerprint_ignore", "manifest", "engine")
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
    errors: list[str] = []
    settings = given_settings(node["config"], AtomicSettings, errors)
    cfg = table_of_events(node, settings, lake_format, errors)
    cfg |= read_values(AtomicSettings, settings, _ATOMIC, errors)
    usual = AtomicSettings.model_fields["manifest_ttl"].default
    ttl = retention(settings.get("manifest_ttl", usual), "manifest_ttl", errors)
    cfg |= {"family": "enriched", "manifest_ttl": ttl}
    _check_atomic(cfg, errors)
    raise_problems(cfg["entity"], errors)
    return {**cfg, "looks_across": any(step in _ACROSS for step in cfg["deduplicate"])}


def _check_atomic(cfg: Config, errors: list[str]) -> None:
    check_location(cfg["location"], errors)
    check_allowed(AtomicSettings, cfg, ["deduplicate"], errors)
    ignored, manifest = cfg["fingerprint_ignore"], cfg["manifest"]
    errors += [
        f"fingerprint_ignore: `{name}` is no column of an enriched event"
        + did_you_mean(name, TYPES)
        for name in ignored
        if name not in TYPES
    ]
    errors += [
        f"fingerprint_ignore must have `{name}`: a fingerprint tells events apart that share their"
        " id, and is computed where there is none"
        for name in ("event_id", "event_fingerprint")
        if name not in ignored
    ]
    errors += [
        f"partition_by or liquid_clustered_by: `{name}` is no column of atomic events"
        + did_you_mean(name, TYPES)
        for name in cfg["partition_by"] + cfg["cluster_by"]
        if name not in TYPES and name != "_commit_id"
    ]
    check_allowed(AtomicSettings, cfg, ["engine"], errors)
    is_table = isinstance(manifest, str) and _TABLE.fullmatch(manifest)
    note_broken(
        [
            (
                cfg["manifest_ttl"] is None,
                "manifest_ttl must be a length of time such as '180 days'",
            ),
            (
                manifest is not None and not is_table,
                f"manifest must be the name of a table, or schema.table, found: {manifest}",
            ),
        ],
        errors,
    )


def shred_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what a typed table of the entities of one schema is configured with.

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    errors: list[str] = []
    settings = given_settings(node["config"], ShredSettings, errors)
    declared = declared_columns(node)
    check_data_types(declared, errors)
    columns = [
        _shredded_column(column, errors)
        for column in declared
        if column["data_type"]
        and column["name"].lower() not in ("schema", "hierarchy", "_commit_id")
    ]
    check_column_meta(node, "property", errors)
    cfg = table_of_events(node, settings, lake_format, errors)
    cfg |= {"columns": columns, "registry": settings.get("registry")}
    if columns:
        names = [*(column["name"].lower() for column in columns), "schema", "hierarchy"]
        errors += misplaced_layout(cfg, names, "the model does not declare")
    registry = cfg["registry"]
    note_broken(
        [
            (
                "registry" in settings and not is_text(registry),
                f"registry must be a folder of JSON Schemas, found: {registry}",
            ),
            (
                not columns and not registry,
                "columns with a data_type are required, or meta.tidemark.registry: a folder of JSON"
                " Schemas",
            ),
        ],
        errors,
    )
    errors += [
        f"column `{column['name']}` is reserved: give it another name, and set"
        " meta.tidemark.property to the property that fills it"
        for column in columns
        if column["name"].lower() in reserved_columns(lake_format)
    ]
    raise_problems(cfg["entity"], errors)
    return cfg


def _shredded_column(column: Config, errors: list[str]) -> dict[str, Any]:
    """A column and the property that fills it, where that has another name."""
    given, place = column["settings"], f"column {column['name']}: meta.tidemark."
    errors += [
        f"{place}{name} is not a setting{did_you_mean(name, ['property'])}"
        for name in given
        if name != "property"
    ]
    if "property" in given and not is_text(given["property"]):
        errors.append(f"{place}property must be the name of a property, found: {given['property']}")
    return {
        "name": column["name"],
        "type": column["data_type"],
        "not_null": column["not_null"],
        "description": column["description"],
        "property": given.get("property"),
    }
