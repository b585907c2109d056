"""The 131 columns of an enriched event, its lines, its fingerprint and the ids of its duplicates.

An enriched event is a dict of texts by column, None for an empty field. What a text means is in
`TYPES`; timestamps are UTC. Pure Python without Spark: what the SQL step and the RDD step must
both give.
"""

from tidemark.shred.enriched.columns import (
    ALIASES,
    ATOMIC_SCHEMA,
    COLUMNS,
    CONTEXTS_SCHEMA,
    DUPLICATE_SCHEMA,
    ENTITIES,
    LEFT_OUT,
    REQUIRED,
    SYNTHETIC_NAMESPACE,
    TYPES,
    Event,
)
from tidemark.shred.enriched.identity import (
    fingerprint,
    line_hash,
    preference,
    synthetic_id,
    with_duplicate,
)
from tidemark.shred.enriched.lines import (
    parse_json_line,
    parse_line,
    read_line,
    to_json_line,
    to_line,
)
from tidemark.shred.enriched.values import parse_timestamp, problems, read_values

__all__ = [
    "ALIASES",
    "ATOMIC_SCHEMA",
    "COLUMNS",
    "CONTEXTS_SCHEMA",
    "DUPLICATE_SCHEMA",
    "ENTITIES",
    "LEFT_OUT",
    "REQUIRED",
    "SYNTHETIC_NAMESPACE",
    "TYPES",
    "Event",
    "fingerprint",
    "line_hash",
    "parse_json_line",
    "parse_line",
    "parse_timestamp",
    "preference",
    "problems",
    "read_line",
    "read_values",
    "synthetic_id",
    "to_json_line",
    "to_line",
    "with_duplicate",
]
