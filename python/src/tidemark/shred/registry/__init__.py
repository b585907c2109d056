"""A local folder of Iglu JSON Schemas: the columns that they give, and what does not match them.

Schemas are self-describing JSON Schemas, read as draft 4, the one that Iglu knows: keywords of
later drafts are passed over. Nothing is ever fetched. Pure Python without Spark.
"""

from tidemark.shred.registry.folder import (
    Registry,
    read_registry,
    registry_columns,
    registry_state,
    schema_problem,
)
from tidemark.shred.registry.words import (
    NOT_JSON,
    RESERVED,
    SCHEMA_NOT_FOUND,
    RegistryColumn,
    Schema,
)

__all__ = [
    "NOT_JSON",
    "RESERVED",
    "SCHEMA_NOT_FOUND",
    "Registry",
    "RegistryColumn",
    "Schema",
    "read_registry",
    "registry_columns",
    "registry_state",
    "schema_problem",
]
