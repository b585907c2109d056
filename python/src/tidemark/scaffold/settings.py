"""What may stand in the property YAML of Tidemark's materializations.

The JSON Schema is made from these models, and an editor shows their descriptions, so these are
written for someone who has the YAML open. Rules across several settings stand beside the models as
JSON Schema, the one form in which they are checked here; a run is checked by the package's macros.

Example:
    >>> ExtractSettings(extract="full", location="data/airports_{business_date}.csv.gz").on_reject
    'fail'
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(min_length=1)]
Names = Name | list[Name]
OptionValue = str | bool | int | float

_FORBID_WHERE_NO_LOCATION: list[dict[str, Any]] = [
    {"if": {"required": [name]}, "then": {"required": ["location"]}}
    for name in ("format", "options")
]
_NO_PEPPER_FOR_STORED_HASHES: dict[str, Any] = {
    "not": {
        "required": ["stored_hashes", "sensitive"],
        "properties": {"stored_hashes": {"const": True}, "sensitive": {"minItems": 1}},
    }
}
_ONE_LAYOUT: dict[str, Any] = {"not": {"required": ["partition_by", "liquid_clustered_by"]}}
_PARQUET_HAS_NO_LAYOUT: dict[str, Any] = {
    "if": {"required": ["file_format"], "properties": {"file_format": {"const": "parquet"}}},
    "then": {"properties": {"partition_by": False, "liquid_clustered_by": False}},
}


class LogSettings(BaseModel):
    """Settings of every entity that has a log, wherever its changes come from."""

    model_config = ConfigDict(extra="forbid")

    ignore: Names = Field(
        default=[],
        description=(
            "Columns carried but never compared, such as loaded_at. They take the value of "
            "the last real change."
        ),
    )
    sensitive: Names = Field(
        default=[],
        description=(
            "Columns stored apart, in <entity>__sensitive, so that they can be granted, "
            "masked or erased apart. Their hash is peppered from an environment variable; "
            "rejects, staging and messages mask them."
        ),
    )
    hash: Literal["md5", "sha256", "xxhash64x2"] = Field(
        default="md5",
        description=(
            "Hash of keys and rows. md5 is sound for finding changes, sha256 where policy "
            "asks for it, xxhash64x2 (two seeded 64-bit lanes) is the fastest. A change needs"
            " `rehash` or --full-refresh."
        ),
    )
    soft_delete: bool = Field(
        default=False,
        description=(
            "true: deleted rows stay in the current table with _operation D. false: they leave it."
        ),
    )
    changed_columns: bool = Field(
        default=True,
        description=(
            "Record in the log which columns an update changed (_changed_columns, an array of"
            " names)."
        ),
    )
    null_keys: Literal["reject", "allow"] = Field(
        default="reject",
        description=(
            "reject: a row with NULL in a key column is a reject. allow: NULL is a value of a"
            " composite key."
        ),
    )
    on_reject: Literal["fail", "quarantine"] = Field(
        default="fail",
        description=(
            "What happens to rows that cannot be taken (NULL or duplicate key, failed cast, "
            "broken not_null). fail: stop before anything is written. quarantine: write them "
            "to <entity>__rejects and go on."
        ),
    )


class ExtractSettings(LogSettings):
    """Settings of a `materialized: cdc` model whose SQL yields extracts."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"allOf": [*_FORBID_WHERE_NO_LOCATION, _NO_PEPPER_FOR_STORED_HASHES]},
    )

    extract: Literal["full", "delta"] = Field(
        description=(
            "What an extract holds. full: every row, so a key that is gone is a delete. "
            "delta: only rows that may have changed, so a key that is gone was not supplied."
        ),
    )
    location: Name | None = Field(
        default=None,
        description=(
            "File, folder or glob that tidemark.extract() reads. {business_date} stands for "
            "the date of the run as 2026-03-04; {yyyy}, {mm} and {dd} stand for its parts. "
            "Left out: the model's SQL says where rows come from."
        ),
    )
    format: Literal["csv", "json", "parquet"] = Field(
        default="csv",
        description="Format of the files at location. json is JSON lines: one object per line.",
    )
    options: dict[str, OptionValue] = Field(
        default={},
        description=(
            "Spark reader options for location, such as sep, nullValue, encoding, dateFormat."
            " CSV starts from a header, UTF-8 and RFC 4180 quotes."
        ),
    )
    stored_hashes: bool = Field(
        default=False,
        description=(
            "true: the model supplies _key_hash and _row_hash itself, and they are taken as "
            "they are."
        ),
    )
    tag_unchanged: bool = Field(
        default=False,
        description=(
            "true: every row of the current table carries its operation for the last business"
            " date, so N (unchanged) and X (not supplied) too. false: only changed rows are "
            "written, which is cheaper."
        ),
    )
    max_delete_fraction: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description=(
            "Delete-storm guard: a full extract that would delete more than this part of the "
            "current table stops the run, until --vars 'allow_deletes: true' lets it through "
            "once."
        ),
    )


class Scd2Settings(BaseModel):
    """Settings of a `materialized: scd2` model."""

    model_config = ConfigDict(extra="forbid")

    entity: Name | None = Field(
        default=None, description="The cdc model whose history is kept as validity intervals."
    )


class TidemarkModelConfig(BaseModel):
    """dbt's own keys that mean the same for all of Tidemark's materializations; others are free."""

    model_config = ConfigDict(extra="allow")

    file_format: Literal["delta", "parquet", "iceberg", "hudi"] = Field(
        default="delta", description="Table format of the model and its side relations."
    )
    partition_by: Names = Field(
        default=[],
        description="Columns that partition the current table (its log always is, by date).",
    )
    liquid_clustered_by: Names = Field(
        default=[],
        description="Columns that cluster the current table (Delta); instead of partition_by.",
    )
    clustered_by: Names = Field(
        default=[], description="Columns that bucket the current table; needs dbt's `buckets` too."
    )
    tags: Names = Field(
        default=[], description="dbt tags, for selection: `dbt run --select tag:daily`."
    )
    grants: dict[str, Names] | None = Field(
        default=None, description="dbt grants: privilege → grantees."
    )


class CdcMeta(BaseModel):
    """dbt's `meta` of a cdc model: `tidemark` is ours, all else is free."""

    tidemark: ExtractSettings = Field(description="Settings of change data capture.")


class CdcConfig(TidemarkModelConfig):
    """`config` of a `materialized: cdc` model."""

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"allOf": [_ONE_LAYOUT, _PARQUET_HAS_NO_LAYOUT]}
    )

    materialized: Literal["cdc"]
    unique_key: Name | Annotated[list[Name], Field(min_length=1)] = Field(
        description="The column, or the list of columns, that identifies a row."
    )
    meta: CdcMeta = Field(description="Tidemark's settings stand under `tidemark`.")


class Scd2Meta(BaseModel):
    """dbt's `meta` of an scd2 model."""

    tidemark: Scd2Settings = Field(
        default_factory=Scd2Settings, description="Settings of validity intervals."
    )


class Scd2Config(TidemarkModelConfig):
    """`config` of a `materialized: scd2` model."""

    materialized: Literal["scd2"]
    meta: Scd2Meta = Field(
        default_factory=Scd2Meta, description="Tidemark's settings stand under `tidemark`."
    )
