"""Types of the values of settings, and settings that exclude or need each other (JSON Schema)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from tidemark.shred.enriched import LEFT_OUT

Name = Annotated[str, StringConstraints(min_length=1)]
Names = Name | list[Name]
DeduplicationStep = Literal[
    "natural_in_batch", "natural_cross_batch", "synthetic_in_batch", "synthetic_cross_batch"
]
FINGERPRINT_IGNORE: list[str] = list(LEFT_OUT)
OptionValue = str | bool | int | float
FORBID_WHERE_NO_LOCATION: list[dict[str, Any]] = [
    {"if": {"required": [name]}, "then": {"required": ["location"]}}
    for name in ("format", "options")
]
NO_PEPPER_FOR_STORED_HASHES: dict[str, Any] = {
    "not": {
        "required": ["stored_hashes", "sensitive"],
        "properties": {"stored_hashes": {"const": True}, "sensitive": {"minItems": 1}},
    }
}
ONE_LAYOUT: dict[str, Any] = {"not": {"required": ["partition_by", "liquid_clustered_by"]}}


def _where_settings(rule: dict[str, Any]) -> dict[str, Any]:
    """A schema of a model's config that holds where its settings fit `rule`."""
    tidemark = {"required": ["tidemark"], "properties": {"tidemark": rule}}
    return {"required": ["meta"], "properties": {"meta": tidemark}}


_IS_EVENTS: dict[str, Any] = {
    "required": ["extract"],
    "properties": {"extract": {"const": "events"}},
}
_IS_ROWS: dict[str, Any] = {"required": ["format"], "properties": {"format": {"const": "rows"}}}
_HAS_SEQUENCE_OF_ITS_OWN: dict[str, Any] = {
    "required": ["sequence_by"],
    "properties": {
        "sequence_by": {"not": {"enum": ["_sequence_num", ["_sequence_num"], [], None]}}
    },
}
_NEEDS_A_KEY: dict[str, Any] = {
    "required": ["unique_key"],
    "properties": {"unique_key": {"not": {"type": "null"}}},
}
_HAS_A_SEQUENCE: dict[str, Any] = {
    "required": ["sequence_by"],
    "properties": {"sequence_by": {"not": {"enum": [[], None]}}},
}
ROWS_NEED_A_SEQUENCE: dict[str, Any] = {"if": _IS_ROWS, "then": _HAS_A_SEQUENCE}
FEED_HAS_ITS_LAYOUT: dict[str, Any] = {
    "properties": {"partition_by": False, "liquid_clustered_by": False}
}
KEY_BY_EXTRACT: dict[str, Any] = {
    "if": _where_settings(_IS_EVENTS),
    "then": {
        "if": _where_settings({"anyOf": [_IS_ROWS, _HAS_SEQUENCE_OF_ITS_OWN]}),
        "then": _NEEDS_A_KEY,
    },
    "else": _NEEDS_A_KEY,
}
MaxRejectFraction = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description=(
            "Guard of rejects, with on_reject: quarantine. It is a part of the rows that a load "
            "reads. A load that rejects more stops before anything is written. One reject of one "
            "row is more, too. --vars 'allow_rejects: true' lets it through once. 1: it never "
            "stops."
        ),
    ),
]
Retention = Annotated[
    str,
    StringConstraints(pattern=r"^(none|[0-9]{1,6} (minute|hour|day|week|month|year)s?)$"),
    Field(examples=["30 days", "12 hours"]),
]
