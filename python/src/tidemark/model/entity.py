"""The settings of a `materialized: cdc` model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.model import places
from tidemark.model.events import event_settings
from tidemark.model.given import Config, Given, as_names, is_chosen
from tidemark.model.logged import EXTRACTS, column_setting_problems, logged_settings
from tidemark.model.options import option_problems, spelled_options
from tidemark.model.settings import EventSettings, ExtractSettings
from tidemark.model.suggestions import did_you_mean, nearest


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
    wanted = Given(node, EventSettings, lake_format).settings.get("extract")
    meant = wanted if not wanted or wanted in EXTRACTS else nearest(wanted, EXTRACTS)
    if meant == "events":
        return event_settings(node, lake_format)
    given = Given(node, ExtractSettings, lake_format)
    settings, errors = given.settings, given.errors
    cfg = logged_settings(given)
    options = spelled_options(settings.get("options", {}), settings.get("format", "csv"), errors)
    cfg |= {"family": "extract", "options": options}
    cfg |= given.read("format", "stored_hashes", "tag_unchanged", "max_delete_fraction", "compare")
    cfg |= given.read("effective_from", "engine")
    cfg["scope"] = _scope_columns(settings.get("scope"), errors)
    key = given.config.get("unique_key")
    if key is not False and (key or settings.get("unique_key")) in (None, "", []):
        errors.append("unique_key is missing: name the columns that identify a row")
    given.allow(cfg, "format", "engine")
    errors += _problems(cfg, settings)
    return given.complete(cfg)


def _scope_columns(scope: Any, errors: list[str]) -> list[str]:
    """Return the columns of a scope."""
    if scope is None:
        return []
    if not isinstance(scope, Mapping) or set(scope) != {"columns"} or not scope["columns"]:
        errors.append(f"scope takes the names of columns, {{columns: [region]}}, found: {scope}")
        return []
    return as_names(scope["columns"], "scope.columns", errors)


def _scope_problems(cfg: Config) -> Iterator[str]:
    """What came of a scope is known by what is stored of its columns."""
    keys, ignored = ([one.lower() for one in cfg[name]] for name in ("keys", "ignore"))
    sensitive = [name.lower() for name in cfg["sensitive"]]
    declared = {column["name"].lower(): column for column in cfg["columns"]}
    if cfg["scope"] and cfg["extract"] != "full":
        yield f"scope is for extract: full, found: extract: {cfg['extract']}"
    if cfg["scope"] and cfg["stored_hashes"]:
        yield "scope and stored_hashes conflict: hashes of the model may leave the columns out"
    for name in cfg["scope"]:
        lower, place = name.lower(), f"scope.columns names `{name}`"
        is_key = lower in keys
        if declared and lower not in declared and not is_key:
            hint = did_you_mean(name, [column["name"] for column in cfg["columns"]])
            yield f"{place}, which is not declared under columns{hint}"
        if lower in sensitive:
            yield f"{place}, which is sensitive: its values are stored apart"
        if declared.get(lower, {}).get("settings", {}).get("compare_as"):
            yield f"{place}, which has compare_as: what is stored may be another value"
        elif not is_key and (lower in ignored or not is_chosen(cfg["compare"], name)):
            yield f"{place}, which is not compared: what is stored may be another value"


def _problems(cfg: Config, settings: Config) -> Iterator[str]:
    """Rules that look at more than one setting."""
    starts, options = cfg["effective_from"], cfg["options"]
    yield from column_setting_problems(cfg)
    yield from _scope_problems(cfg)
    yield from places.location_problems(cfg["location"])
    yield from places.fraction_problems("max_delete_fraction", cfg["max_delete_fraction"])
    if "effective_from" in settings and not (isinstance(starts, str) and starts.strip()):
        yield f"effective_from must be the name of a column of dates or timestamps, found: {starts}"
    if str(starts).lower() in {name.lower() for name in cfg["sensitive"]}:
        yield f"effective_from names `{starts}`, which is sensitive: intervals would show it"
    if "compare" in settings and settings.get("ignore"):
        yield "compare and ignore conflict: ignore is the short form of compare: {exclude: […]}"
    if not isinstance(options, Mapping):
        yield f"options must be a mapping of Spark reader options, found: {options}"
    elif not all(isinstance(value, str | int | float) for value in options.values()):
        yield f"options takes texts, numbers, true and false, found: {options}"
    if cfg["stored_hashes"] and cfg["sensitive"]:
        yield (
            "stored_hashes and sensitive conflict: hashes that come with the rows cannot be"
            " peppered"
        )
    for name in cfg["compare"]["exclude"]:
        if name in {key.lower() for key in cfg["keys"]}:
            part = "which is part of unique_key: a key is always compared"
            yield f"compare.exclude names `{name}`, {part}"
    if isinstance(options, Mapping):
        yield from option_problems(options, cfg["format"], cfg["columns"])
    for name in ("format", "options"):
        if cfg["location"] is None and name in settings:
            yield f"{name} says how location is read, but there is no location"
