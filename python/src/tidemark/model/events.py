"""The settings of a `materialized: cdc` model with `extract: events`.

They have all that those of extracts have, so that what comes after the log (current, history,
intervals) is shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.model import settings as tree
from tidemark.model.expressions import expression_problems
from tidemark.model.given import Config, Given, allowed_of, is_chosen, one_of
from tidemark.model.logged import column_setting_problems, logged_settings
from tidemark.model.places import location_problems
from tidemark.model.suggestions import did_you_mean

_PREDICATES = ("apply_as_deletes", "apply_as_truncates")
_ENCODINGS = (*tree.ENCODINGS, "decimal_bytes", "array")


def event_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what an entity that is fed with change events is configured with.

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    given = Given(node, tree.EventSettings, lake_format)
    settings, errors = given.settings, given.errors
    cfg = logged_settings(given)
    cfg |= given.read("format", "table", "sequence_by", "on_tie", *_PREDICATES)
    cfg |= given.read("ignore_null_updates", "encodings", "previous_names", "unavailable_value")
    choices = given.read("columns", "track_history")
    cfg |= {
        **given.read("engine"),
        "chosen": choices["columns"],
        "tracked": choices["track_history"],
        "ddl": _ddl_policies(settings.get("ddl", {}), errors),
        "tag_unchanged": False,
        "stored_hashes": False,
        "family": "events",
        "max_delete_fraction": 1,
    }
    given.allow(cfg, "engine")
    if cfg["format"] == "rows":
        cfg |= {name: "false" for name in _PREDICATES if name not in settings}
    elif cfg["sequence_by"] == ["_sequence_num"]:
        # alone it is what the order is without this setting
        cfg["sequence_by"] = []
    given.allow(cfg, "format", "on_tie")
    errors += _problems(cfg, settings)
    return given.complete(cfg)


def _ddl_policies(given: Any, errors: list[str]) -> dict[str, str]:
    """What a DDL event does to the target, by kind."""
    policies: dict[str, str] = tree.DdlPolicies().model_dump()
    if not isinstance(given, Mapping):
        errors.append(f"ddl must be a mapping such as {{drop_column: apply}}, found: {given}")
        return policies
    for kind, policy in given.items():
        if kind not in policies:
            errors.append(f"ddl.{kind} is no kind of DDL event{did_you_mean(kind, policies)}")
        else:
            errors += one_of(f"ddl.{kind}", policy, allowed_of(tree.Policy))
            policies[kind] = policy
    return policies


def _problems(cfg: Config, settings: Config) -> Iterator[str]:
    """Rules that look at more than one setting."""
    keys, sequence = cfg["keys"], cfg["sequence_by"]
    yield from location_problems(cfg["location"], dated=False)
    yield from column_setting_problems(cfg)
    for name in ("table", "unavailable_value"):
        if name in settings and not isinstance(cfg[name], str):
            yield f"{name} must be a text, found: {cfg[name]}"
    if cfg["format"] == "rows" and not sequence:
        order = "the columns or expressions that order the rows of a key"
        yield f"format: rows needs sequence_by: {order}"
    if cfg["format"] == "rows" and not keys:
        yield "format: rows needs unique_key: an upsert has nothing else to find its row by"
    if sequence and not keys:
        why = "copies of a row cannot be told apart by another order"
        yield f"sequence_by needs unique_key: {why}"
    if cfg["on_tie"] == "reject" and not keys:
        yield "on_tie: reject needs unique_key: without one every row counts"
    yield from _choice_problems(cfg)
    for name in ("encodings", "previous_names"):
        if not isinstance(cfg[name], Mapping):
            yield f"{name} must be a mapping of column names, found: {cfg[name]}"
    encodings = cfg["encodings"] if isinstance(cfg["encodings"], Mapping) else {}
    for name, encoding in encodings.items():
        if not isinstance(encoding, str) or encoding.split(":")[0] not in _ENCODINGS:
            yield f"encodings.{name} is no encoding{did_you_mean(encoding, _ENCODINGS)}"
        elif encoding == "decimal_bytes":
            yield f"encodings.{name}: decimal_bytes needs the scale, as in decimal_bytes:2"
    for expression in sequence:
        yield from expression_problems("sequence_by", expression)
    for name in _PREDICATES:
        yield from expression_problems(name, cfg[name])
    for kind in ("drop_table", "drop_database"):
        if sequence and cfg["ddl"][kind] == "apply":
            yield f"ddl.{kind}: apply needs the order of arrival, and there is a sequence_by"


def _choice_problems(cfg: Config) -> Iterator[str]:
    for key in cfg["keys"]:
        if not is_chosen(cfg["chosen"], key):
            yield f"columns leaves out `{key}`, which is part of unique_key"
    ignored, mend = {name.lower() for name in cfg["ignore"]}, "remove it from one of them"
    for name in cfg["tracked"]["include"]:
        if name in ignored:
            yield f"track_history names `{name}`, which ignore says is not compared: {mend}"
    for name in cfg["tracked"]["include"]:
        if not is_chosen(cfg["chosen"], name):
            yield f"track_history names `{name}`, which columns leaves out: {mend}"
