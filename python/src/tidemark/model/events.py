"""The settings of a `materialized: cdc` model with `extract: events`.

They have all that those of extracts have, so that what comes after the log (current, history,
intervals) is shared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.model.expressions import check_expression
from tidemark.model.given import (
    Config,
    allowed_of,
    check_allowed,
    check_one_of,
    given_settings,
    is_chosen,
    note_broken,
    raise_problems,
    read_values,
)
from tidemark.model.logged import check_column_settings, logged_settings
from tidemark.model.places import check_location
from tidemark.model.settings import ENCODINGS, DdlPolicies, EventSettings
from tidemark.model.settings.extracts import Policy
from tidemark.model.suggestions import did_you_mean

_SETTINGS = (
    *("format", "table", "sequence_by", "on_tie", "apply_as_deletes", "apply_as_truncates"),
    *("ignore_null_updates", "encodings", "previous_names", "unavailable_value", "engine"),
)
_PREDICATES = ("apply_as_deletes", "apply_as_truncates")
_ENCODINGS = (*ENCODINGS, "decimal_bytes", "array")


def event_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what an entity that is fed with change events is configured with.

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    errors: list[str] = []
    settings = given_settings(node["config"], EventSettings, errors)
    cfg = logged_settings(node, EventSettings, settings, lake_format, errors)
    cfg |= read_values(EventSettings, settings, _SETTINGS, errors)
    choices = read_values(EventSettings, settings, ["columns", "track_history"], errors)
    cfg |= {
        "chosen": choices["columns"],
        "tracked": choices["track_history"],
        "ddl": _ddl_policies(settings.get("ddl", {}), errors),
        "tag_unchanged": False,
        "stored_hashes": False,
        "family": "events",
        "max_delete_fraction": 1,
    }
    check_allowed(EventSettings, cfg, ["engine"], errors)
    if cfg["format"] == "rows":
        cfg |= {name: "false" for name in _PREDICATES if name not in settings}
    elif cfg["sequence_by"] == ["_sequence_num"]:
        # alone it is what the order is without this setting
        cfg["sequence_by"] = []
    _check(cfg, settings, errors)
    raise_problems(cfg["entity"], errors)
    return cfg


def _ddl_policies(given: Any, errors: list[str]) -> dict[str, str]:
    """What a DDL event does to the target, by kind."""
    policies: dict[str, str] = DdlPolicies().model_dump()
    if not isinstance(given, Mapping):
        errors.append(f"ddl must be a mapping such as {{drop_column: apply}}, found: {given}")
        return policies
    for kind, policy in given.items():
        if kind not in policies:
            hint = did_you_mean(kind, policies)
            errors.append(f"ddl.{kind} is no kind of DDL event{hint}")
        else:
            check_one_of(f"ddl.{kind}", policy, allowed_of(Policy), errors)
            policies[kind] = policy
    return policies


def _check(cfg: dict[str, Any], settings: Config, errors: list[str]) -> None:
    """Rules that look at more than one setting."""
    keys, sequence, is_rows = cfg["keys"], cfg["sequence_by"], cfg["format"] == "rows"
    check_allowed(EventSettings, cfg, ["format", "on_tie"], errors)
    check_location(cfg["location"], errors, dated=False)
    check_column_settings(cfg, errors)
    errors += [
        f"{name} must be a text, found: {cfg[name]}"
        for name in ("table", "unavailable_value")
        if name in settings and not isinstance(cfg[name], str)
    ]
    note_broken(
        [
            (
                cfg["file_format"] == "parquet",
                "extract: events needs file_format: delta or iceberg, found: parquet",
            ),
            (
                is_rows and not sequence,
                "format: rows needs sequence_by: the columns or expressions that order the rows of"
                " a key",
            ),
            (
                is_rows and not keys,
                "format: rows needs unique_key: an upsert has nothing else to find its row by",
            ),
            (
                sequence and not keys,
                "sequence_by needs unique_key: copies of a row cannot be told apart by another"
                " order",
            ),
            (
                cfg["on_tie"] == "reject" and not keys,
                "on_tie: reject needs unique_key: without one every row counts",
            ),
        ],
        errors,
    )
    ignored = {name.lower() for name in cfg["ignore"]}
    tracked = cfg["tracked"]["include"]
    errors += [
        f"columns leaves out `{key}`, which is part of unique_key"
        for key in keys
        if not is_chosen(cfg["chosen"], key)
    ]
    errors += [
        f"track_history names `{name}`, which ignore says is not compared: remove it from one of"
        " them"
        for name in tracked
        if name in ignored
    ]
    errors += [
        f"track_history names `{name}`, which columns leaves out: remove it from one of them"
        for name in tracked
        if not is_chosen(cfg["chosen"], name)
    ]
    for name in ("encodings", "previous_names"):
        if not isinstance(cfg[name], Mapping):
            errors.append(f"{name} must be a mapping of column names, found: {cfg[name]}")
            cfg[name] = {}
    for name, encoding in cfg["encodings"].items():
        if not isinstance(encoding, str) or encoding.split(":")[0] not in _ENCODINGS:
            hint = did_you_mean(encoding, _ENCODINGS)
            errors.append(f"encodings.{name} is no encoding{hint}")
        elif encoding == "decimal_bytes":
            errors.append(f"encodings.{name}: decimal_bytes needs the scale, as in decimal_bytes:2")
    for expression in sequence:
        check_expression("sequence_by", expression, errors)
    for name in _PREDICATES:
        check_expression(name, cfg[name], errors)
    errors += [
        f"ddl.{kind}: apply needs the order of arrival, and there is a sequence_by"
        for kind in ("drop_table", "drop_database")
        if sequence and cfg["ddl"][kind] == "apply"
    ]
