"""The settings of a `materialized: cdc` model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.model.events import event_settings
from tidemark.model.given import (
    Config,
    check_allowed,
    check_fraction,
    given_settings,
    is_text,
    note_broken,
    raise_problems,
    read_values,
)
from tidemark.model.logged import EXTRACTS, check_column_settings, logged_settings
from tidemark.model.options import check_options, spelled_options
from tidemark.model.places import check_location
from tidemark.model.settings import EventSettings, ExtractSettings
from tidemark.model.suggestions import nearest

_SETTINGS = (
    *("format", "stored_hashes", "tag_unchanged", "max_delete_fraction", "compare"),
    *("effective_from", "engine"),
)


def entity_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what an entity is configured with, complete and judged.

    Example:
        >>> entity_settings(node, "delta")["keys"]
        ['id']

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    wanted = given_settings(node["config"], EventSettings, []).get("extract")
    meant = wanted if not wanted or wanted in EXTRACTS else nearest(wanted, EXTRACTS)
    if meant == "events":
        return event_settings(node, lake_format)
    errors: list[str] = []
    settings = given_settings(node["config"], ExtractSettings, errors)
    cfg = logged_settings(node, ExtractSettings, settings, lake_format, errors)
    options = spelled_options(settings.get("options", {}), settings.get("format", "csv"), errors)
    cfg |= {"family": "extract", "options": options}
    cfg |= read_values(ExtractSettings, settings, _SETTINGS, errors)
    given = node["config"].get("unique_key")
    if given is not False and (given or settings.get("unique_key")) in (None, "", []):
        errors.append("unique_key is required: name the columns that identify a row")
    check_allowed(ExtractSettings, cfg, ["format", "engine"], errors)
    _check(cfg, settings, errors)
    raise_problems(cfg["entity"], errors)
    return cfg


def _check(cfg: Config, settings: Config, errors: list[str]) -> None:
    """Rules that look at more than one setting."""
    starts, options = cfg["effective_from"], cfg["options"]
    sensitive = {name.lower() for name in cfg["sensitive"]}
    is_mapping = isinstance(options, Mapping)
    values = options.values() if is_mapping else ()
    check_column_settings(cfg, errors)
    check_location(cfg["location"], errors)
    check_fraction("max_delete_fraction", cfg["max_delete_fraction"], errors)
    note_broken(
        [
            (
                "effective_from" in settings and not is_text(starts),
                "effective_from must be the name of a column of dates or timestamps, found:"
                f" {starts}",
            ),
            (
                isinstance(starts, str) and starts.lower() in sensitive,
                f"effective_from names `{starts}`, which is sensitive: intervals would show it",
            ),
            (
                "compare" in settings and settings.get("ignore"),
                "compare and ignore conflict: ignore is the short form of compare: {exclude: […]}",
            ),
            (
                not is_mapping,
                f"options must be a mapping of Spark reader options, found: {options}",
            ),
            (
                not all(isinstance(value, str | int | float) for value in values),
                f"options takes texts, numbers, true and false, found: {options}",
            ),
            (
                cfg["stored_hashes"] and sensitive,
                "stored_hashes and sensitive conflict: hashes that come with the rows cannot be"
                " peppered",
            ),
            (
                cfg["file_format"] == "parquet" and (cfg["partition_by"] or cfg["cluster_by"]),
                "partition_by and liquid_clustered_by need file_format: delta. A Parquet table is"
                " swapped as a whole, which the metastore cannot do atomically for a table with"
                " partitions",
            ),
        ],
        errors,
    )
    keys = {key.lower() for key in cfg["keys"]}
    errors += [
        f"compare.exclude names `{name}`, which is part of unique_key: a key is always compared"
        for name in cfg["compare"]["exclude"]
        if name in keys
    ]
    if is_mapping:
        check_options(options, cfg["format"], cfg["columns"], errors)
    errors += [
        f"{name} says how location is read, but there is no location"
        for name in ("format", "options")
        if cfg["location"] is None and name in settings
    ]
