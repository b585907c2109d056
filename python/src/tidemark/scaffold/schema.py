"""The JSON Schema of property YAML files, for editors and checks.

It says nothing of dbt's own keys but those that Tidemark reads. dbt ships a schema of its own,
which is not embedded: it knows no materialization but dbt's, so it refuses `materialized: cdc`.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from pydantic.json_schema import models_json_schema

from tidemark.model.settings import (
    AtomicConfig,
    AtomicSettings,
    CdcConfig,
    EventSettings,
    ExtractSettings,
    FeedConfig,
    FeedSettings,
    Scd2Config,
    Scd2Settings,
    ShredConfig,
    ShredSettings,
)

EVENT_SCHEMA_FILE = "canonical-event.schema.json"
"""The contract of canonical events, written by hand, beside this module."""

_MATERIALIZED_HELP = (
    "cdc: current table, log and history from extracts or change events. scd2: validity "
    "intervals as a table. feed: changes as a table. atomic: enriched events, "
    "de-duplicated. shred: entities of one schema. Or a materialization of dbt: view, "
    "table, incremental, ephemeral."
)


def models_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7, which editors know best) of a file under `models/`.

    Example:
        >>> sorted(models_schema()["properties"])
        ['models']
    """
    _, generated = models_json_schema(
        [
            (model, "validation")
            for model in (
                CdcConfig,
                Scd2Config,
                FeedConfig,
                AtomicConfig,
                ShredConfig,
                ExtractSettings,
                EventSettings,
                Scd2Settings,
                FeedSettings,
                AtomicSettings,
                ShredSettings,
            )
        ],
        ref_template="#/definitions/{model}",
    )
    definitions = {name: _tidy(schema) for name, schema in generated["$defs"].items()}
    definitions["CdcMeta"]["properties"]["tidemark"] = _settings_by_extract()
    definitions["ModelConfig"] = _model_config()
    definitions["Model"] = {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "description": "The name of the model, which is the name of its file.",
            },
            "config": {"$ref": "#/definitions/ModelConfig"},
            "versions": {
                "type": ["array", "null"],
                "items": {
                    "type": "object",
                    "properties": {"config": {"$ref": "#/definitions/ModelConfig"}},
                },
            },
        },
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tidemark models",
        "description": "Settings of Tidemark in dbt's property YAML. Printed by `tidemark schema`.",
        "type": "object",
        "properties": {
            "models": {"type": ["array", "null"], "items": {"$ref": "#/definitions/Model"}}
        },
        "definitions": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """Return the JSON Schema as a file has it."""
    return json.dumps(models_schema(), indent=2, ensure_ascii=False) + "\n"


def event_schema_text() -> str:
    """Return the JSON Schema (draft 2020-12) of one canonical event, as the committed file has it.

    Example:
        >>> "_operation" in json.loads(event_schema_text())["properties"]
        True
    """
    file = resources.files(__package__).joinpath(EVENT_SCHEMA_FILE)
    return file.read_text(encoding="utf-8")


def _settings_by_extract() -> dict[str, Any]:
    """The settings of a cdc model; told apart by `if`, so that an error is about the right ones."""
    return {
        "type": "object",
        "description": "Settings of change data capture.",
        "properties": {"extract": {"enum": ["full", "delta", "events"]}},
        "if": {"properties": {"extract": {"const": "events"}}, "required": ["extract"]},
        "then": {"$ref": "#/definitions/EventSettings"},
        "else": {"$ref": "#/definitions/ExtractSettings"},
    }


def _model_config() -> dict[str, Any]:
    """A model's config by its materialization; one set elsewhere allows the settings of any."""

    def materialized(name: str) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["materialized"],
            "properties": {"materialized": {"const": name}},
        }

    any_settings = {
        "properties": {
            "meta": {
                "type": ["object", "null"],
                "properties": {
                    "tidemark": {
                        "anyOf": [
                            {"$ref": "#/definitions/ExtractSettings"},
                            {"$ref": "#/definitions/EventSettings"},
                            {"$ref": "#/definitions/Scd2Settings"},
                            {"$ref": "#/definitions/FeedSettings"},
                            {"$ref": "#/definitions/AtomicSettings"},
                            {"$ref": "#/definitions/ShredSettings"},
                        ]
                    }
                },
            }
        }
    }
    by_materialization: dict[str, Any] = any_settings
    for name, config in reversed(_CONFIGS.items()):
        by_materialization = {
            "if": materialized(name),
            "then": {"$ref": f"#/definitions/{config}"},
            "else": by_materialization,
        }
    return {
        "type": ["object", "null"],
        "properties": {
            "materialized": {
                "type": "string",
                "description": _MATERIALIZED_HELP,
                "examples": [*_CONFIGS, "view", "table", "incremental", "ephemeral"],
            }
        },
        **by_materialization,
    }


_CONFIGS = {
    "cdc": "CdcConfig",
    "scd2": "Scd2Config",
    "feed": "FeedConfig",
    "atomic": "AtomicConfig",
    "shred": "ShredConfig",
}
"""The config of each materialization of ours."""


def _tidy(schema: Any, names_are_keys: bool = False) -> Any:
    """Drop pydantic's titles: beside the descriptions they are noise in an editor."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _tidy(value, names_are_keys=key == "properties" and not names_are_keys)
        for key, value in schema.items()
        if names_are_keys or key != "title"
    }
