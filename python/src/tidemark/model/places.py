"""Where files and tables are, and in which format: what every kind of model has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidemark.model.given import (
    Config,
    allowed_of,
    as_names,
    check_allowed,
    check_fraction,
    check_one_of,
    is_text,
    note_broken,
    read_values,
    retention,
)
from tidemark.model.settings import AtomicSettings
from tidemark.model.settings.models import TidemarkModelConfig
from tidemark.model.suggestions import nearest

_FORMATS = allowed_of(TidemarkModelConfig.model_fields["file_format"].annotation)
_LAYOUTS = ("partition_by", "liquid_clustered_by")
_DATE_PARTS = ("business_date", "yyyy", "mm", "dd")
NO_CLUSTERS = "liquid_clustered_by needs file_format: delta, found: iceberg. Use partition_by"
ONE_LAYOUT = "partition_by and liquid_clustered_by conflict: choose one"


def table_place(node: Config, lake_format: str) -> dict[str, Any]:
    """Return where a model's table is and what it is made with, by dbt's own keys.

    Args:
        node: The model.
        lake_format: The format of the project's tables whose rows can change.
    """
    config = node["config"]
    return {
        "relation": f"{node['schema']}.{node['alias']}",
        "file_format": config.get("file_format") or lake_format,
        "location_root": config.get("location_root"),
        "table_properties": config.get("tblproperties") or {},
    }


def table_layout(config: Config, errors: list[str]) -> dict[str, list[str]]:
    """Return the columns by which a table is laid out."""
    return {
        "partition_by": as_names(config.get("partition_by"), "partition_by", errors),
        "cluster_by": as_names(config.get("liquid_clustered_by"), "liquid_clustered_by", errors),
    }


def kept_description(node: Config) -> str:
    """Return the description that the table gets, if it gets one."""
    docs = node["config"].get("persist_docs") or {}
    return str(node.get("description", "")) if docs.get("relation") else ""


def check_place(config: Config, errors: list[str]) -> None:
    """Note what is wrong with dbt's own keys of where a table is and how it is made."""
    root, properties = config.get("location_root"), config.get("tblproperties")
    no_properties = properties is not None and not isinstance(properties, Mapping)
    note_broken(
        [
            (
                root is not None and not is_text(root),
                f"location_root must be a folder, found: {root}",
            ),
            (
                no_properties,
                f"tblproperties must be a mapping of table properties, found: {properties}",
            ),
        ],
        errors,
    )
    for name in _LAYOUTS:
        given = config.get(name)
        if isinstance(given, list | tuple):
            names = [str(one) for one in given]
            if len({one.lower() for one in names}) != len(names):
                errors.append(f"{name} names a column twice: {', '.join(names)}")


def check_format(file_format: Any, lake_format: str, errors: list[str]) -> None:
    """Note a format that there is not, or that the project's session does not read.

    Of Delta and Iceberg it has one.
    """
    check_one_of("file_format", file_format, _FORMATS, errors)
    if file_format == "iceberg" and lake_format != "iceberg":
        errors.append(
            "file_format: iceberg needs the whole project in Iceberg: set vars:"
            " {tidemark__commits_format: iceberg} in dbt_project.yml"
        )
    elif file_format in ("delta", "parquet") and lake_format == "iceberg":
        errors.append(
            f"file_format: {file_format} in a project of Iceberg tables (tidemark__commits_format:"
            " iceberg): leave file_format out"
        )


def check_location(location: Any, errors: list[str], dated: bool = True) -> None:
    """Note what is wrong with where files are; `{a,b}` is a glob.

    Args:
        location: The setting.
        errors: Where problems are noted.
        dated: Whether there are files of a business date, which placeholders stand for.
    """
    if location is not None and not isinstance(location, str):
        errors.append(f"location must be a file, a folder or a glob, found: {location}")
        return
    for name in re.findall("[{]([^{},]*)[}]", location or ""):
        if not dated:
            errors.append(
                f"location has {{{name}}}, but change events are taken as they land: name the"
                " folder, or a glob"
            )
        elif name not in _DATE_PARTS:
            meant = nearest(name, _DATE_PARTS) or "business_date"
            errors.append(
                f"location has {{{name}}}; did you mean {{{meant}}}? There are {{business_date}},"
                " {yyyy}, {mm} and {dd}"
            )


def table_of_events(
    node: Config, settings: Config, lake_format: str, errors: list[str]
) -> dict[str, Any]:
    """Return what a table of enriched events or of their entities is made with, and where it is.

    Args:
        node: The model.
        settings: What stands under its `meta.tidemark`.
        lake_format: The format of the project's tables whose rows can change.
        errors: Where problems are noted.
    """
    config = node["config"]
    check_place(config, errors)
    choices = ("on_reject", "max_reject_fraction")
    cfg = {
        "entity": node["alias"],
        **table_place(node, lake_format),
        **table_layout(config, errors),
        **read_values(AtomicSettings, settings, choices, errors),
        "retention": {
            "rejects": retention(settings.get("rejects_retention"), "rejects_retention", errors)
        },
        "description": kept_description(node),
    }
    check_allowed(AtomicSettings, cfg, ["on_reject"], errors)
    check_fraction("max_reject_fraction", cfg["max_reject_fraction"], errors)
    check_format(cfg["file_format"], lake_format, errors)
    kind, found = config["materialized"], cfg["file_format"]
    note_broken(
        [
            (
                found == "parquet",
                f"materialized: {kind} needs file_format: delta or iceberg, found: parquet",
            ),
            (found == "iceberg" and cfg["cluster_by"], NO_CLUSTERS),
        ],
        errors,
    )
    return cfg
