"""The loads that the engine in the workers can do, judged by their configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.engine.events.types import is_known_encoding
from tidemark.engine.types import known_type
from tidemark.model.settings import EventSettings

# options of Spark's reader under which a file is read as without them
_READ_ALIKE = {
    "header": ("true",),
    "quote": ('"',),
    "escape": ('"',),
    "multiline": ("true",),
}
_SEPARATORS = (",", ";", "|", "\t")


def separator_of(options: Mapping[str, Any]) -> str:
    """Return what stands between the fields of a CSV file, by the options of Spark's reader."""
    given = {str(name).lower(): str(value) for name, value in options.items()}
    separator = given.get("sep", given.get("delimiter", ","))
    return "\t" if separator == "\\t" else separator


def why_not(cfg: Mapping[str, Any]) -> str | None:
    """Return why no load of an entity is done in one task; None: some can.

    Example:
        >>> why_not({**cfg, "write_mode": "merge_on_read"})
        'write_mode is merge_on_read'

    Args:
        cfg: What entity_config() returns.
    """
    for name, usual in (("file_format", "delta"), ("write_mode", "copy_on_write")):
        if cfg.get(name) != usual:
            return f"{name} is {str(cfg.get(name)).lower()}"
    for name in ("sensitive", "partition_by", "cluster_by", "rules", "scope"):
        if cfg.get(name):
            return f"it has {_SETTINGS.get(name, name)}"
    return _why_not_events(cfg) if cfg["extract"] == "events" else why_not_read(cfg)


def why_not_read(cfg: Mapping[str, Any]) -> str | None:
    """Return why the engine does not read what an entity gets; None: it reads some of it."""
    if not cfg.get("location"):
        return "it has no location"
    if cfg["extract"] == "events":
        return _why_not_read_events(cfg)
    if cfg.get("stored_hashes"):
        return "stored_hashes is true"
    if cfg["format"] not in ("csv", "json", "parquet"):
        return f"format is {cfg['format']}"
    if cfg["format"] != "csv":
        return next(
            (f"options has {name}: {value}" for name, value in cfg["options"].items()), None
        )
    return _why_not_options(cfg["options"])


def _why_not_read_events(cfg: Mapping[str, Any]) -> str | None:
    if cfg["format"] not in ("debezium", "canonical", "rows"):
        return f"format is {cfg['format']}"
    if not cfg["keys"] and cfg["format"] != "debezium":
        return "it has no unique_key"
    if "/" not in str(cfg["location"]):
        return "its location is no folder with a / in it"
    for name in ("encodings", "previous_names", "stored_hashes"):
        if cfg.get(name):
            return f"it has {name}"
    if not cfg["chosen"]["all"] or cfg["chosen"]["exclude"]:
        return "it has columns"
    if cfg["apply_as_truncates"] not in (_PREDICATES["apply_as_truncates"], "false"):
        return "it has apply_as_truncates"
    return None


def why_not_opened(cfg: Mapping[str, Any]) -> str | None:
    """Return why events are not staged of lines that were opened, which are not as they came.

    Where one may be a reject, or is known by its text, the line is asked for.
    """
    if cfg["sequence_by"] or not cfg["keys"] or cfg["on_tie"] == "reject":
        return "its lines wrap their envelopes"
    return None


def _why_not_events(cfg: Mapping[str, Any]) -> str | None:
    if why := why_not_read(cfg):
        return why
    if cfg["format"] == "rows":
        return "format is rows"
    if not cfg["keys"]:
        return "it has no unique_key"
    if cfg["sequence_by"]:
        return "it has sequence_by"
    if cfg["ignore_null_updates"]["all"] or cfg["ignore_null_updates"]["include"]:
        return "it has ignore_null_updates"
    if not cfg["tracked"]["all"] or cfg["tracked"]["exclude"]:
        return "it has track_history"
    for name, usual in _PREDICATES.items():
        if cfg[name] != usual:
            return f"it has {name}"
    return None


_PREDICATES = {
    name: EventSettings.model_fields[name].default
    for name in ("apply_as_deletes", "apply_as_truncates")
}
_SETTINGS = {"cluster_by": "liquid_clustered_by"}


def _why_not_options(options: Mapping[str, Any]) -> str | None:
    for name, value in options.items():
        lower, text = str(name).lower(), str(value).lower()
        if lower in ("encoding", "charset"):
            if text not in ("utf-8", "utf8"):
                return f"options has {name}: {value}"
        elif lower in ("sep", "delimiter"):
            if separator_of(options) not in _SEPARATORS:
                return f"options has {name}: {value}"
        elif text not in _READ_ALIKE.get(lower, ()):
            return f"options has {name}: {value}"
    return None


def why_not_columns(columns: Sequence[Mapping[str, Any]], time_zone: str) -> str | None:
    """Return why the engine does not take the columns of an extract; None: it does.

    Args:
        columns: Those of column_roles().
        time_zone: The zone of the session, in which Spark reads times without one.
    """
    for column in columns:
        name, kind = column["name"], str(column["type"])
        if known_type(kind) is None:
            return f"column {name} is {kind}"
        if kind == "timestamp" and time_zone != "UTC":
            return f"column {name} is timestamp, and the session's time zone {time_zone}"
        if column["source_name"] is not None and column["source_type"] not in ("string", kind):
            return f"column {name} is {kind}, and comes as {column['source_type']}"
    return None


def why_not_images(columns: Sequence[Mapping[str, Any]], time_zone: str) -> str | None:
    """Return why the engine does not take the columns of change events; None: it does.

    Args:
        columns: Those of event_roles().
        time_zone: The zone of the session.
    """
    for column in columns:
        name, kind = str(column["name"]), str(column["type"])
        if known_type(kind) is None:
            return f"column {name} is {kind}"
        if kind == "timestamp" and time_zone != "UTC":
            return f"column {name} is timestamp, and the session's time zone {time_zone}"
        encodings = sorted(set(column["encodings"].values()))
        if len(encodings) > 1 or not is_known_encoding(encodings[0], kind):
            return f"column {name} is {kind} with encoding {', '.join(encodings)}"
        if not NAME.fullmatch(name):
            return f"column {name} has a name with other than letters, digits and _ in it"
        if column["hash_name"] != name or column["sources"] != [name]:
            return f"column {name} has had another name"
    return None


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Names of columns that stand in a path of JSON, and in the order of bytes, as they are."""
