"""Where files and tables are, and in which format: what every kind of model has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.model.given import Config, Given, allowed_of, is_text, one_of
from tidemark.model.settings import TidemarkModelConfig
from tidemark.model.suggestions import nearest

_FORMATS = allowed_of(TidemarkModelConfig.model_fields["file_format"].annotation)
_DATE_PARTS = ("business_date", "yyyy", "mm", "dd")


def table_place(given: Given) -> dict[str, Any]:
    """Return where a model's table is and what it is made with, by dbt's own keys."""
    return {
        "relation": f"{given.node['schema']}.{given.node['alias']}",
        "file_format": given.config.get("file_format") or given.lake_format,
        "location_root": given.config.get("location_root"),
        "table_properties": given.config.get("tblproperties") or {},
    }


def kept_description(given: Given) -> str:
    """Return the description that the table gets, if it gets one."""
    docs = given.config.get("persist_docs") or {}
    return str(given.node.get("description", "")) if docs.get("relation") else ""


def place_problems(config: Config) -> Iterator[str]:
    """Yield what is wrong with dbt's own keys of where a table is and how it is made."""
    root, properties = config.get("location_root"), config.get("tblproperties")
    if root is not None and not is_text(root):
        yield f"location_root must be a folder, found: {root}"
    if properties is not None and not isinstance(properties, Mapping):
        yield f"tblproperties must be a mapping of table properties, found: {properties}"
    for name in ("partition_by", "liquid_clustered_by"):
        several = config.get(name)
        names = [str(one) for one in several] if isinstance(several, list | tuple) else []
        if len({one.lower() for one in names}) != len(names):
            yield f"{name} names a column twice: {', '.join(names)}"


def format_problems(cfg: Config, lake_format: str) -> Iterator[str]:
    """Yield what is wrong with a format that there is not, or that the session does not read.

    Of Delta and Iceberg it has one.
    """
    found = cfg["file_format"]
    if found == "parquet":
        yield (
            "file_format: parquet is not supported any more. Set file_format to delta (iceberg "
            "if the whole project has it). A full refresh by the release before this one makes "
            "a new log"
        )
        return
    yield from one_of("file_format", found, _FORMATS)
    if found == "iceberg" and lake_format != "iceberg":
        yield (
            "file_format: iceberg needs the whole project in Iceberg: set vars:"
            " {tidemark__commits_format: iceberg} in dbt_project.yml"
        )
    elif found == "delta" and lake_format == "iceberg":
        yield (
            f"file_format: {found} in a project of Iceberg tables (tidemark__commits_format:"
            " iceberg): leave file_format out"
        )


def cluster_problems(cfg: Config) -> Iterator[str]:
    """Yield what is wrong with columns that cluster a table."""
    if cfg["file_format"] == "iceberg" and cfg["cluster_by"]:
        yield "liquid_clustered_by needs file_format: delta, found: iceberg. Use partition_by"


def layout_problems(cfg: Config) -> Iterator[str]:
    """Yield what is wrong with two layouts of one table."""
    if cfg["partition_by"] and cfg["cluster_by"]:
        yield "partition_by and liquid_clustered_by conflict: choose one"


def location_problems(location: Any, dated: bool = True) -> Iterator[str]:
    """Yield what is wrong with where files are; `{a,b}` is a glob.

    Args:
        location: The setting.
        dated: Whether there are files of a business date, which placeholders stand for.
    """
    if location is not None and not isinstance(location, str):
        yield f"location must be a file, a folder or a glob, found: {location}"
        return
    for name in re.findall("[{]([^{},]*)[}]", location or ""):
        if not dated:
            yield (
                f"location has {{{name}}}, but change events are taken as they land: name the"
                " folder, or a glob"
            )
        elif name not in _DATE_PARTS:
            meant = nearest(name, _DATE_PARTS) or "business_date"
            yield (
                f"location has {{{name}}}; did you mean {{{meant}}}? There are {{business_date}},"
                " {yyyy}, {mm} and {dd}"
            )


def fraction_problems(name: str, value: Any) -> Iterator[str]:
    """Yield what is wrong with what is no part of a whole."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        yield f"{name} must be a number from 0 to 1, found: {shown(value)}"


def shown(value: Any) -> str:
    """Return a value for a message about numbers, where a text is in quotes."""
    return f'"{value}"' if isinstance(value, str) else str(value)
