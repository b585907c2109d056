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

from tidemark.shred.canonical import LEFT_OUT

Name = Annotated[str, StringConstraints(min_length=1)]
Names = Name | list[Name]
DeduplicationStep = Literal[
    "natural_in_batch", "natural_cross_batch", "synthetic_in_batch", "synthetic_cross_batch"
]
FINGERPRINT_IGNORE: list[str] = list(LEFT_OUT)
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
_ROWS_NEED_A_SEQUENCE: dict[str, Any] = {"if": _IS_ROWS, "then": _HAS_A_SEQUENCE}
_ONLY_DELTA: dict[str, Any] = {"properties": {"file_format": {"const": "delta"}}}
_FEED_HAS_ITS_LAYOUT: dict[str, Any] = {
    "properties": {
        "file_format": {"const": "delta"},
        "partition_by": False,
        "liquid_clustered_by": False,
    }
}
_KEY_AND_FORMAT_BY_EXTRACT: dict[str, Any] = {
    "if": _where_settings(_IS_EVENTS),
    "then": {
        "if": _where_settings({"anyOf": [_IS_ROWS, _HAS_SEQUENCE_OF_ITS_OWN]}),
        "then": _NEEDS_A_KEY,
        "properties": {"file_format": {"const": "delta"}},
    },
    "else": _NEEDS_A_KEY,
}


Retention = Annotated[
    str,
    StringConstraints(pattern=r"^(none|[0-9]{1,6} (minute|hour|day|week|month|year)s?)$"),
    Field(examples=["30 days", "12 hours"]),
]


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
    feed_images: list[Literal["change", "pre", "post"]] | Literal["change", "pre", "post"] = Field(
        default=["change", "pre", "post"],
        description=(
            "What the change feed shows of a change, where the query does not say it: the new"
            " values of the columns that changed, the row before, the row after."
        ),
    )
    feed_retention: Retention | None = Field(
        default=None,
        description=(
            "How long changes can be asked of the change feed, such as '30 days'; `clean` draws "
            "the line. Left out: always."
        ),
    )
    superseded_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` leaves log rows that a correction replaced, and the logs that a full "
            "refresh or a rehash replaced. Left out: always. file_format: delta."
        ),
    )
    history_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` leaves rows of the history that later ones followed. Never the rows "
            "of the current table. Left out: always. file_format: delta, and a unique_key."
        ),
    )
    rejects_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` leaves rejects; those of the last load of a date stay, as a late "
            "date needs them. Left out: always."
        ),
    )
    write_mode: Literal["copy_on_write", "merge_on_read"] = Field(
        default="copy_on_write",
        description=(
            "copy_on_write: a change writes the files again that it touches. merge_on_read: it "
            "marks rows in them (deletion vectors) until `compact` writes them. file_format: delta."
        ),
    )


class ColumnsIncluded(BaseModel):
    """A choice of columns by those that it has."""

    model_config = ConfigDict(extra="forbid")

    include: Names = Field(description="These columns and no others.")


class ColumnsExcluded(BaseModel):
    """A choice of columns by those that it leaves out."""

    model_config = ConfigDict(extra="forbid")

    exclude: Names = Field(description="All columns but these.")


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
    compare: ColumnsIncluded | ColumnsExcluded | None = Field(
        default=None,
        description=(
            "Which columns are compared: {include: […]} or {exclude: […]}, of which ignore is the "
            "short form. The others are carried, and make no versions. A column may be named "
            "before it exists."
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
    effective_from: str | None = Field(
        default=None,
        description=(
            "The column of dates or timestamps that says since when a row holds. Intervals of scd2 "
            "begin there where it moved forward, else, and with a delete, at the business date."
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


Policy = Literal["apply", "ignore", "fail"]


class DdlPolicies(BaseModel):
    """What a DDL event of the source does to the target, by kind."""

    model_config = ConfigDict(extra="forbid")

    add_column: Policy = Field(
        default="apply",
        description=(
            "apply: the column is added, and its default fills the rows that are there, as "
            "updates. fail: also for a column that comes without a DDL event, unless declared."
        ),
    )
    drop_column: Policy = Field(
        default="ignore",
        description=(
            "apply: the column leaves the current table; the log keeps it. ignore: it stays."
        ),
    )
    rename_column: Policy = Field(
        default="apply",
        description="apply: the column is renamed wherever it is stored; its values stay.",
    )
    widen_column: Policy = Field(
        default="apply", description="apply: the type becomes the wider one, such as int to bigint."
    )
    change_type: Policy = Field(
        default="fail",
        description=(
            "A type that is not a wider one. ignore, apply: values go on as the type that is "
            "stored, and one that it cannot hold is a reject. A declared data_type comes first."
        ),
    )
    rename_table: Policy = Field(
        default="apply", description="apply: the entity follows the table to its new name."
    )
    create_table: Policy = Field(
        default="apply",
        description="The columns are noted; those that are new are a matter of add_column.",
    )
    drop_table: Policy = Field(
        default="ignore", description="apply: all rows are deleted. The target's tables stay."
    )
    truncate_table: Policy = Field(default="apply", description="apply: all rows are deleted.")
    create_database: Policy = Field(
        default="ignore", description="Changes nothing; fail stops the run."
    )
    drop_database: Policy = Field(
        default="ignore", description="apply: all rows are deleted. The target's tables stay."
    )


Chosen = bool | Names | ColumnsIncluded | ColumnsExcluded

ENCODINGS = (
    "auto", "text", "number", "boolean", "json", "days", "seconds", "millis", "micros", "nanos",
    "time_millis", "time_micros", "time_nanos", "iso", "base64", "hex", "decimal_struct",
    "unsigned",
)  # fmt: skip
"""Encodings without parameter; decimal_bytes has a scale, array the encoding of its items."""

Encoding = Annotated[
    str,
    StringConstraints(pattern=rf"^(array:)*({'|'.join(ENCODINGS)}|decimal_bytes:-?[0-9]{{1,4}})$"),
    Field(examples=["millis", "micros", "iso", "hex", "decimal_bytes:2", "array:iso"]),
]


class EventSettings(LogSettings):
    """Settings of a `materialized: cdc` model that is fed with change events."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"allOf": [_ROWS_NEED_A_SEQUENCE]})

    extract: Literal["events"] = Field(description="The source sends change events.")
    location: Name | None = Field(
        default=None,
        description=(
            "Folder or glob of event files (with a / or a *), or the name of a table, that "
            "tidemark.extract() reads. Left out: the model's SQL says where events come from."
        ),
    )
    format: Literal["debezium", "canonical", "rows"] = Field(
        default="debezium",
        description=(
            "debezium: JSON envelopes of Debezium. canonical: events in Tidemark's own columns "
            "(`tidemark schema --events`). rows: rows that are upserts in the order of "
            "sequence_by, deletes told by apply_as_deletes."
        ),
    )
    table: Name | None = Field(
        default=None,
        description=(
            "The table of the stream that this entity is, with or without database and schema: "
            "inventory.customers. Left out: the source must have events of one table only."
        ),
    )
    sequence_by: Names = Field(
        default=[],
        description=(
            "Columns or SQL expressions that order the events of a key. Left out: the order of "
            "arrival, or _sequence_num where canonical events have one."
        ),
    )
    on_tie: Literal["later", "reject", "content"] = Field(
        default="later",
        description=(
            "What decides where events of a key have an equal sequence_by and an equal position in "
            "the source. later: the one that arrived last wins. reject: the first one counts, and "
            "those with other values are rejects. content: the same one wins in whatever order "
            "they arrive."
        ),
    )
    apply_as_deletes: Name = Field(
        default="_operation = 'DELETE'",
        description="SQL condition for events that delete. format: rows: none, unless given.",
    )
    apply_as_truncates: Name = Field(
        default="_operation in ('TRUNCATE', 'TRUNCATE_TABLE')",
        description=(
            "SQL condition for events that delete all rows, beside TRUNCATE and TRUNCATE_TABLE, "
            "which always do. format: rows: none, unless given."
        ),
    )
    ignore_null_updates: Chosen = Field(
        default=False,
        description=(
            "true, or a choice of columns: NULL in an update says nothing of the column, which "
            "keeps its value."
        ),
    )
    columns: Chosen = Field(
        default=True,
        description=(
            "Which columns of the events are stored: true (all), a list, {include: […]} or "
            "{exclude: […]}. The key must be among them."
        ),
    )
    track_history: Chosen = Field(
        default=True,
        description=(
            "Which columns begin a new version in scd2 when they change: true (all), a list, "
            "{include: […]} or {exclude: […]}. Of the others a version has the last value."
        ),
    )
    ddl: DdlPolicies = Field(
        default=DdlPolicies(),
        description="What DDL events do, by kind: apply, ignore or fail (the run stops).",
    )
    encodings: dict[Name, Encoding] = Field(
        default={},
        description=(
            "How the source writes a column's values, where no schema comes with the events: "
            "{updated: micros}. Without it, a number for a timestamp may be ambiguous."
        ),
    )
    previous_names: dict[Name, Names] = Field(
        default={},
        description=(
            "Former names of a column, for events from before it was renamed: {email: mail}."
        ),
    )
    staging_retention: Retention | None = Field(
        default=None,
        description=(
            "How long `clean` leaves events in staging. Without unique_key the last two batches "
            "stay, by which events that come again are counted. Left out: always."
        ),
    )
    unavailable_value: Name = Field(
        default="__debezium_unavailable_value",
        description=(
            "What Debezium sends for a value that the database did not log; the connector's "
            "unavailable.value.placeholder. hex:… gives its bytes."
        ),
    )


class Scd2Settings(BaseModel):
    """Settings of a `materialized: scd2` model."""

    model_config = ConfigDict(extra="forbid")

    entity: Name | None = Field(
        default=None, description="The cdc model whose history is kept as validity intervals."
    )
    valid_from: Name | None = Field(
        default=None,
        description="What the body calls the column where an interval begins: _valid_from.",
    )


class FeedSettings(BaseModel):
    """Settings of a `materialized: feed` model."""

    model_config = ConfigDict(extra="forbid")

    feed_buckets: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Over how many buckets of keys the files of a date's commits are spread.",
    )
    feed_retention: Retention | None = Field(
        default=None,
        description=(
            "How long changes are kept in the feed's table, such as 30 days: `clean` removes"
            " older ones."
        ),
    )


class AtomicSettings(BaseModel):
    """Settings of a `materialized: atomic` model."""

    model_config = ConfigDict(extra="forbid")

    location: Name | None = Field(
        default=None,
        description=(
            "Files of enriched events (canonical TSV or self-describing JSON lines): a folder or "
            "glob, perhaps with {business_date}. Left out: the model's SQL yields lines or rows."
        ),
    )
    deduplicate: list[DeduplicationStep] | DeduplicationStep = Field(
        default=[
            "natural_in_batch",
            "natural_cross_batch",
            "synthetic_in_batch",
            "synthetic_cross_batch",
        ],
        description=(
            "Which steps are taken. natural: copies of an event (same id, same fingerprint) are "
            "left out. synthetic: events that share an id get new ones. [] takes none."
        ),
    )
    fingerprint_ignore: Names = Field(
        default=FINGERPRINT_IGNORE,
        description=(
            "Columns that a computed fingerprint leaves out, where an event has none: those in "
            "which two deliveries of one event may differ."
        ),
    )
    manifest: Name | None = Field(
        default=None,
        description=(
            "Table of the events that were taken, name or schema.name, where several models share "
            "one. Left out: <model>__manifest."
        ),
    )
    manifest_ttl: Retention = Field(
        default="180 days",
        description="How long, in etl time, copies of an event are recognised across batches.",
    )
    on_reject: Literal["fail", "quarantine"] = Field(
        default="quarantine",
        description=(
            "What happens to lines that cannot be read. quarantine: write them to <model>__rejects "
            "and go on. fail: stop before anything is written."
        ),
    )
    rejects_retention: Retention | None = Field(
        default=None, description="How long `clean` leaves rejected lines. Left out: always."
    )


class ShredSettings(BaseModel):
    """Settings of a `materialized: shred` model."""

    model_config = ConfigDict(extra="forbid")

    registry: Name | None = Field(
        default=None,
        description=(
            "Folder of JSON Schemas, vendor/name/format/version: data is checked against them, and "
            "they give the columns where the YAML has none."
        ),
    )
    on_reject: Literal["fail", "quarantine"] = Field(
        default="quarantine",
        description=(
            "What happens to data that does not match. quarantine: write it to <model>__rejects "
            "and go on. fail: stop before anything is written."
        ),
    )
    rejects_retention: Retention | None = Field(
        default=None, description="How long `clean` leaves rejected data. Left out: always."
    )


class TidemarkModelConfig(BaseModel):
    """dbt's own keys that mean the same for all of Tidemark's materializations; others are free."""

    model_config = ConfigDict(extra="allow")

    file_format: Literal["delta", "parquet"] = Field(
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

    tidemark: ExtractSettings | EventSettings = Field(
        discriminator="extract", description="Settings of change data capture."
    )


class CdcConfig(TidemarkModelConfig):
    """`config` of a `materialized: cdc` model."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "allOf": [_ONE_LAYOUT, _PARQUET_HAS_NO_LAYOUT, _KEY_AND_FORMAT_BY_EXTRACT]
        },
    )

    materialized: Literal["cdc"]
    unique_key: Name | Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None,
        description=(
            "The column, or the list of columns, that identifies a row. Change events may do "
            "without: then equal rows are counted."
        ),
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


class FeedMeta(BaseModel):
    """dbt's `meta` of a feed model."""

    tidemark: FeedSettings = Field(
        default_factory=FeedSettings, description="Settings of a kept feed."
    )


class FeedConfig(TidemarkModelConfig):
    """`config` of a `materialized: feed` model."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_FEED_HAS_ITS_LAYOUT)

    materialized: Literal["feed"]
    meta: FeedMeta = Field(
        default_factory=FeedMeta, description="Tidemark's settings stand under `tidemark`."
    )


class AtomicMeta(BaseModel):
    """dbt's `meta` of an atomic model."""

    tidemark: AtomicSettings = Field(
        default_factory=AtomicSettings, description="Settings of enriched events."
    )


class AtomicConfig(TidemarkModelConfig):
    """`config` of a `materialized: atomic` model."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_ONLY_DELTA)

    materialized: Literal["atomic"]
    meta: AtomicMeta = Field(
        default_factory=AtomicMeta, description="Tidemark's settings stand under `tidemark`."
    )


class ShredMeta(BaseModel):
    """dbt's `meta` of a shred model."""

    tidemark: ShredSettings = Field(
        default_factory=ShredSettings, description="Settings of the entities of one schema."
    )


class ShredConfig(TidemarkModelConfig):
    """`config` of a `materialized: shred` model."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_ONLY_DELTA)

    materialized: Literal["shred"]
    meta: ShredMeta = Field(
        default_factory=ShredMeta, description="Tidemark's settings stand under `tidemark`."
    )
