"""Types of a model's settings, as `tidemark.model` has judged them and macros complete them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


Engine = Literal["auto", "spark", "workers"]
MaybeNone = Any
"""None of a first run, or as settings say; `x | MaybeNone` is taken for x where those are known."""


class Choice(TypedDict):
    """A choice of columns, names in lower case; see is_chosen()."""

    all: ReadOnly[bool]  # those that neither list names
    include: ReadOnly[list[str]]
    exclude: ReadOnly[list[str]]


class Declared(TypedDict):
    """A column of the YAML."""

    name: ReadOnly[str]
    data_type: ReadOnly[str | None]  # as it is written there
    not_null: ReadOnly[bool]
    description: ReadOnly[str]
    settings: ReadOnly[Mapping[str, Any]]  # what its own meta.tidemark says


class RowRule(TypedDict):
    """A condition that each row is to meet."""

    name: ReadOnly[str]
    check: ReadOnly[str]  # SQL of the columns
    shown: NotRequired[ReadOnly[str]]  # as messages tell it, where that is another
    looks_up: ReadOnly[Mapping[str, Any] | None]  # what it looks up in another table
    on_fail: ReadOnly[Literal["warn", "quarantine", "fail"]]
    at_most: ReadOnly[float | None]  # of what a load reads; None: all
    setting: ReadOnly[str]  # what messages call it


class Named(TypedDict):
    """Whose commits they are."""

    entity: ReadOnly[str]  # the model, as messages call it
    relation: ReadOnly[str]  # schema.table, as tidemark_commits names it


class Placed(TypedDict):
    """Where the table of a model is, and what it is made with."""

    relation: ReadOnly[str]  # schema.table, as tidemark_commits names it
    file_format: ReadOnly[str]  # delta or iceberg
    location_root: ReadOnly[str | None]  # the folder of tables that have their own
    table_properties: ReadOnly[Mapping[str, Any]]
    description: ReadOnly[str]  # that the table gets


class Loaded(Placed):
    """What every model has that loads rows of others: an entity, or entities in events."""

    entity: ReadOnly[str]  # the model, as messages call it
    target: ReadOnly[Any]  # the relation of its table
    partition_by: ReadOnly[list[str]]
    cluster_by: ReadOnly[list[str]]
    on_reject: ReadOnly[Literal["fail", "quarantine"]]
    max_reject_fraction: ReadOnly[float]  # of what a load reads
    retention: ReadOnly[Mapping[str, str | None]]  # by what is kept; None keeps all


class Shredded(Loaded):
    """A table of the entities of one schema."""

    columns: ReadOnly[list[dict[str, Any]]]  # with the `property` that fills each
    registry: ReadOnly[str | None]  # the folder of JSON Schemas


class _WithLog(TypedDict, total=False):
    """What extracts and change events have."""

    keys: ReadOnly[list[str]]  # unique_key
    columns: ReadOnly[list[Declared]]
    rules: ReadOnly[list[RowRule]]
    ignore: ReadOnly[list[str]]
    sensitive: ReadOnly[list[str]]
    extract: ReadOnly[Literal["full", "scoped", "delta", "events"]]  # of a run, that of its date
    format: ReadOnly[Literal["csv", "json", "parquet", "debezium", "canonical", "rows"]]
    options: ReadOnly[Mapping[str, Any]]  # of Spark's reader
    hash: ReadOnly[Literal["md5", "sha256"]]
    stored_hashes: ReadOnly[bool]
    null_keys: ReadOnly[Literal["reject", "allow"]]
    soft_delete: ReadOnly[bool]
    tag_unchanged: ReadOnly[bool]
    changed_columns: ReadOnly[bool]
    feed_images: ReadOnly[list[str]]
    write_mode: ReadOnly[Literal["copy_on_write", "merge_on_read"]]
    max_delete_fraction: ReadOnly[float]
    persist_docs: ReadOnly[Mapping[str, Any]]


class _OfExtracts(TypedDict, total=False):
    compare: ReadOnly[Choice]
    effective_from: ReadOnly[str | None]  # a column
    scope: ReadOnly[list[str]]  # columns; of a run, also those by which dates were loaded
    asked_extract: ReadOnly[Literal["full", "scoped", "delta"]]  # what the YAML says, of any date
    has_deltas: ReadOnly[bool]  # whether some date was a delta, or scoped


class _OfEvents(TypedDict, total=False):
    table: ReadOnly[str | None]  # at the source
    sequence_by: ReadOnly[list[str]]  # expressions
    on_tie: ReadOnly[Literal["later", "reject", "content"]]
    apply_as_deletes: ReadOnly[str]
    apply_as_truncates: ReadOnly[str]
    ignore_null_updates: ReadOnly[Choice]
    encodings: ReadOnly[Mapping[str, str]]  # by column
    previous_names: ReadOnly[dict[str, str | list[str]]]  # by column
    unavailable_value: ReadOnly[str]
    chosen: ReadOnly[Choice]  # `columns`
    tracked: ReadOnly[Choice]  # `track_history`
    ddl: ReadOnly[Mapping[str, Literal["apply", "ignore", "fail"]]]  # by kind of statement


class _OfEnriched(TypedDict, total=False):
    deduplicate: ReadOnly[list[str]]  # steps
    looks_across: ReadOnly[bool]  # whether some step looks at earlier batches
    fingerprint_ignore: ReadOnly[list[str]]
    manifest: ReadOnly[str | None]  # a table that models share
    manifest_ttl: ReadOnly[str]
    is_rows: ReadOnly[bool]  # whether the body yields rows, not lines


class Settings(Loaded, _WithLog, _OfExtracts, _OfEvents, _OfEnriched):
    """What an entity is configured with: `cfg`. `family` says which of the keys there are."""

    family: ReadOnly[Literal["extract", "events", "enriched"]]
    location: ReadOnly[str | MaybeNone]  # a file, folder or glob; of events also a table
    engine: ReadOnly[Engine | None]
    asked_engine: NotRequired[ReadOnly[Engine | None]]  # of a plan, whose engine is spark


class Kept(Placed):
    """What is made of an entity and kept."""

    model: ReadOnly[str]  # as messages call it


class Intervals(Kept):
    """A kept table of intervals."""

    entity: ReadOnly[Any]  # the relation of whose intervals they are
    valid_from: ReadOnly[str]  # the column that they begin with
    axes: ReadOnly[list[str]]  # what they have bounds of: business, and also system
    partition_by: ReadOnly[list[str]]
    cluster_by: ReadOnly[list[str]]


class Feed(Kept):
    """A kept feed."""

    buckets: ReadOnly[int]
    retention: ReadOnly[str | None]
