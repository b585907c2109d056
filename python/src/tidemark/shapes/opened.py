"""Types of an opened entity: its state, its commits, and the options of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, final

from tidemark.shapes.settings import Engine, MaybeNone, Named, Settings, Shredded

if TYPE_CHECKING:
    from typing_extensions import ReadOnly

Kind = Literal[
    "load",
    "full_refresh",
    "rehash",
    "promote",
    "rollback",
    "repeat",
    "feed",
    "scd2",
    "shred",
    "clean",
    "compact",
    "erase_key",
    "populate_manifest",
    "savepoint",
    "clone",
]
"""What a commit is of. Up to `repeat` they are of a log; `repeat`: there was nothing new."""


class Run(TypedDict):
    """What was asked of a run: the dict of `run_config()`."""

    business_date: ReadOnly[str | None]
    full_refresh: ReadOnly[bool]
    empty: ReadOnly[bool]  # --empty: tables are made, nothing is read
    invocation_id: ReadOnly[str]
    commits_schema: ReadOnly[str]
    commits_format: ReadOnly[str]
    allow_deletes: ReadOnly[bool]  # more than max_delete_fraction
    allow_rejects: ReadOnly[bool]  # more than max_reject_fraction
    sample_rows: ReadOnly[int]  # that a message or a plan shows
    merge_keys: ReadOnly[int]  # up to so many stand in a MERGE as literals
    max_line_bytes: ReadOnly[int]
    plan: ReadOnly[Literal["tables", "kept"] | None]  # whether it is planned, and where to
    planned: ReadOnly[Mapping[str, Mapping[str, int]]]  # what its plan counted, by relation
    engine: ReadOnly[Engine]
    dry_run: NotRequired[ReadOnly[bool]]  # nothing is written
    left_to_spark: NotRequired[list[str]]  # entities that the workers did not take


RelationName = Literal[
    "current",
    "log",
    "log_table",
    "history",
    "rejects",
    "sensitive",
    "supplied",
    "staging",
    "landed",
    "entities",
    "manifest",
]
"""What the tables of an entity hold; `log` is what is read, a view at times, of `log_table`."""
Relations = Mapping[RelationName, Any]
"""The tables of an entity: dbt's relations, or names of views in their place."""


class Commits(TypedDict):
    """Where commits are recorded."""

    states: ReadOnly[Any]  # the table of all their states
    view: ReadOnly[Any]  # the last state of each
    are_known: ReadOnly[bool]  # the adapter can tell that nobody else has written there
    are_missing: NotRequired[ReadOnly[bool]]  # a dry run found none, and makes none


class Noted(TypedDict, total=False):
    """What else a commit may record beside whose it is."""

    business_date: ReadOnly[str | None]
    config: Any  # what later loads are held to
    source_relation: ReadOnly[str]  # what was read, of what is derived
    source_commit_id: ReadOnly[int | MaybeNone]  # up to where, or what it goes back to
    is_correction: ReadOnly[bool]  # of dates that were loaded before
    details: str | None  # JSON
    state_at: str  # when its last state was recorded


class Commit(Noted):
    """A commit as it is recorded, but for its state and numbers."""

    commit_id: ReadOnly[int]
    relation: ReadOnly[str]  # whose it is
    entity: ReadOnly[str]
    kind: ReadOnly[Kind]
    started_at: ReadOnly[str]
    invocation_id: ReadOnly[str | None]  # the command of dbt


class RecordedColumn(TypedDict, total=False):
    """What a commit records of a column."""

    name: str
    hash_name: ReadOnly[str]  # what hashes know it as, of events
    type: ReadOnly[str]
    role: ReadOnly[Literal["key", "compared", "ignored"]]
    sensitive: ReadOnly[bool]
    dropped: ReadOnly[bool]  # by a rehash: it is carried
    gone: bool  # from current, by a statement of the source
    not_null: bool  # in every commit of the log
    compare_as: str


class Default(TypedDict, total=False):
    """The default of a column at its source."""

    default: str | None  # as events would have it
    default_is_stand_in: bool  # for an expression


class SourceColumn(Default):
    """A column as its source tells of it: a query, an inline schema or a statement."""

    name: str
    type: str | MaybeNone  # as Spark calls it
    encoding: NotRequired[str]  # how its values are written
    default_encoding: NotRequired[str]  # where that is another
    optional: NotRequired[bool]
    previous_name: NotRequired[str | None]


class RecordedSource(TypedDict, total=False):
    """What a commit records of the source of change events."""

    tables: ReadOnly[list[str]]  # whose events were taken
    named: ReadOnly[list[str]]  # the same as events write them
    followed: ReadOnly[list[str]]  # the names that statements gave it, the last is its newest
    columns: ReadOnly[list[SourceColumn] | None]  # of its last statement
    refused: ReadOnly[list[str]]  # former names
    by_content: ReadOnly[bool]  # whether events are known by all that they have
    by_server: ReadOnly[bool]  # whether those of MySQL are known by GTID or server, too
    identifying: ReadOnly[list[str] | None]  # columns that an event is known by also where NULL
    told: ReadOnly[list[str] | None]  # all columns that have come
    unsigned: ReadOnly[list[str]]  # columns, by their names in hashes
    has_moves: bool  # whether keys have changed
    has_partial_moves: bool  # without all columns
    open_snapshot: int | None  # the commit since which there are rows of one that goes on


class Promoted(TypedDict):
    """Where a promotion has its commits from: kept with it, so that whoever finishes it knows."""

    schema: ReadOnly[str]  # of the table of commits of the clone
    relation: ReadOnly[str]  # the clone, schema.name
    mark: ReadOnly[int]  # the commit that made it
    was: ReadOnly[str]  # what names of its tables begin with
    now: ReadOnly[str]  # and with what here


class Recorded(TypedDict, total=False):
    """What a commit records, to which later loads are held; earlier releases recorded less."""

    recipe: ReadOnly[int]  # of hashes
    extract: ReadOnly[str]
    hash: ReadOnly[str]
    stored_hashes: ReadOnly[bool]
    keys: ReadOnly[list[str]]
    tag_unchanged: ReadOnly[bool]
    soft_delete: ReadOnly[bool]
    file_format: ReadOnly[str]
    write_mode: ReadOnly[str]
    marks_rejects: ReadOnly[bool]  # whether rejects tell which load mended them
    marks_not_null: ReadOnly[bool]  # whether columns do
    layout: ReadOnly[Mapping[str, Any]]  # by dbt's own keys
    columns: list[RecordedColumn]
    lacks: ReadOnly[list[str]]  # columns that did not come with the extract
    left_out: ReadOnly[list[str]]  # of the files, by the model's SELECT
    has_deltas: ReadOnly[bool]
    promoted: ReadOnly[Promoted]  # of a promotion
    scope: ReadOnly[list[str]]  # columns by which dates are full
    pepper: ReadOnly[str]  # the first digits of a digest of it
    not_yet: ReadOnly[list[str]]  # of a plan alone: columns that came later than its date
    is_past: ReadOnly[bool]  # of a plan alone: the date is not after the last one
    sequence_by: ReadOnly[list[str]]
    sequence_type: ReadOnly[str | None]
    on_tie: ReadOnly[str]
    excluded: ReadOnly[list[str]]  # columns that the setting `columns` leaves out
    excluded_types: ReadOnly[Mapping[str, str]]
    source: ReadOnly[RecordedSource]
    views_are_old: bool  # of a load alone: a statement has changed the columns
    flow: ReadOnly[str]  # atomic: of enriched events
    fingerprint_ignore: ReadOnly[list[str]]
    deduplicate: ReadOnly[list[str]]
    manifest: ReadOnly[str | None]


class DatedLoad(TypedDict):
    """The load of a date."""

    business_date: ReadOnly[str | MaybeNone]
    commit_id: ReadOnly[int | MaybeNone]
    extract: ReadOnly[str | MaybeNone]


class Inflight(TypedDict):
    """A commit that a run left in flight."""

    commit_id: ReadOnly[int]
    kind: ReadOnly[Kind]
    config: ReadOnly[str | None]  # JSON
    business_date: NotRequired[ReadOnly[str]]


class LastLoad(TypedDict):
    """The load of the last date."""

    last_date: ReadOnly[str | None]
    last_date_commit_id: ReadOnly[int | None]
    last_extract: ReadOnly[str | None]


class Numbered(TypedDict):
    """The number that the next one follows."""

    last_id: ReadOnly[int | None]  # of all commits of an entity


class State(Numbered, LastLoad):
    """How an entity stands for a date: what tidemark_commits tells of it, and its tables."""

    last_commit_id: ReadOnly[int]  # completed, of the log
    last_sequence_num: ReadOnly[int | None]
    recorded: ReadOnly[Recorded | MaybeNone]  # by the last one
    left_refresh: ReadOnly[bool]  # the last full refresh died, nothing was loaded since
    has_erased: ReadOnly[bool]
    undone: ReadOnly[list[int]]  # commits that were rolled back
    inflight: ReadOnly[list[Inflight]]
    this_commit_id: ReadOnly[int | None]  # of this date
    this_extract: ReadOnly[str | None]
    previous_date: ReadOnly[str | None]  # before this one
    previous_extract: ReadOnly[str | None]
    later_loads: ReadOnly[list[DatedLoad]]  # of later dates
    log_version: NotRequired[ReadOnly[int | None]]  # None: rows cannot be staged into the log
    first: NotRequired[ReadOnly[bool]]  # nothing was loaded, or all is to be read anew
    has_log: NotRequired[ReadOnly[bool]]
    is_evolved: NotRequired[ReadOnly[bool]]  # the load has altered the tables
    begun: NotRequired[ReadOnly[Commit | None]]  # the commit of a statement, in flight
    exists: NotRequired[ReadOnly[bool]]  # enriched events
    has_manifest: NotRequired[ReadOnly[bool]]
    replaces: NotRequired[ReadOnly[bool]]  # this run sets aside the tables of before


class Asked(TypedDict):
    """An entity, and what is asked of it."""

    cfg: ReadOnly[Settings]
    run: ReadOnly[Run]


class Found(Asked):
    """The same with where its tables and commits are."""

    relations: ReadOnly[Relations]
    commits: ReadOnly[Commits]


class Opened(Found):
    """What open_load() returns, and every step and operation is handed."""

    state: ReadOnly[State]


@final
class OpenedAtomic(Opened):
    """The same of enriched events, for an operation."""

    events: ReadOnly[str]  # whose commits its rows have, as tidemark_commits names it


@final
class OpenedShred(TypedDict):
    """What of it there is of a table of the entities in them."""

    cfg: ReadOnly[Shredded]
    run: ReadOnly[Run]
    commits: ReadOnly[Commits]
    state: ReadOnly[State]
    events: ReadOnly[str]  # whose commits its rows have; empty where it was never loaded


class Committing(TypedDict):
    """What of it the commit of an operation is made of."""

    cfg: ReadOnly[Named]
    run: ReadOnly[Run]
    state: ReadOnly[Numbered]
