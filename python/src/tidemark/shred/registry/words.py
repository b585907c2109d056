"""What the modules of the registry share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidemark.shred.schema_uri import SchemaUri

SCHEMA_NOT_FOUND = "schema_not_found"
NOT_JSON = "not_json"
RESERVED: tuple[str, ...] = ("schema", "hierarchy")
"""Columns that a table of entities has of its own, besides all that begin with `_`."""
Schema = dict[str, Any]


@dataclass(frozen=True)
class RegistryColumn:
    """A column of a table of entities.

    Attributes:
        name: The property in snake case, see `Registry.columns`.
        property: The property as the JSON has it.
        data_type: Spark SQL's text of the type.
        description: As in the newest version that has one, else empty.
    """

    name: str
    property: str
    data_type: str
    description: str


class RefusedError(Exception):
    """A schema that cannot be used, and why."""


def model_pattern(uri: SchemaUri) -> str:
    """Return the pattern of all versions that share a schema's model."""
    return f"iglu:{uri.vendor}/{uri.name}/{uri.format}/{uri.model}-*-*"
