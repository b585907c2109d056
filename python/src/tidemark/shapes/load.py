"""Types of a load, step by step: source, staged, derived, committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from tidemark.shapes.events import Batch, Landing, Statement
from tidemark.shapes.opened import (
    Commit,
    DatedLoad,
    Kind,
    LastLoad,
    Recorded,
    Relations,
    SourceColumn,
)
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import MaybeNone, Settings

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


class _OfExtracts(TypedDict, total=False):
    previous_date: ReadOnly[str | None]  # before this one
    this_commit_id: ReadOnly[int | None]  # the load of this date before
    later_loads: ReadOnly[list[DatedLoad]]  # of later dates
    existing: ReadOnly[str | None]  # the view of what stood before the date
    classified: ReadOnly[Any]  # what changed, as a table of the run
    mends_rejects: ReadOnly[bool]  # rejects of earlier loads of the date may be mended


class _OfEvents(TypedDict, total=False):
    batch_id: ReadOnly[int]  # the commit of the first stretch
    is_last: ReadOnly[bool]  # the files are read to the end; also of enriched events
    begun: ReadOnly[Commit | None]  # the commit of its statement, in flight
    statements: ReadOnly[list[Statement]]  # those of the source that are logged with it
    reorders: ReadOnly[bool]  # events of one place get another order
    order_type: ReadOnly[str]  # of what events are ordered by
    staged: ReadOnly[Any]  # the events, as a table of the run
    log: ReadOnly[Any]  # the log as it is now; None of a first load
    now: ReadOnly[Relations]  # with log and current as they are now
    known: ReadOnly[Mapping[str, Any]]  # where events are that are known already
    late: ReadOnly[bool]  # some event belongs before one that was applied
    open_snapshot: ReadOnly[int | None]  # see RecordedSource
    leaves_open: ReadOnly[int | None]  # the same after this load
    closes_snapshot: ReadOnly[bool]  # what it has not read is deleted
    moves: ReadOnly[bool]  # keys change, or have changed
    has_moves: ReadOnly[bool]  # keys change in this stretch
    has_partial_moves: ReadOnly[bool]  # without all columns
    linked: ReadOnly[Any]  # keys that late events can change through those
    fills: ReadOnly[bool]  # a new column has a default
    carried: ReadOnly[list[str]]  # columns that some event does not bring
    table_events: ReadOnly[bool]  # there are events of the table as a whole
    everything: ReadOnly[bool]  # they concern rows that no event does
    last_sequence_num: int | None


class _OfEnriched(TypedDict, total=False):
    states: ReadOnly[Any]  # the table of commits' states; also of what is appended to a log
    relation: ReadOnly[str]  # as that names the entity
    undone: ReadOnly[list[int]]  # commits that were rolled back
    etl_micros: ReadOnly[int | None]  # the last etl time of the batch
    first_etl_micros: ReadOnly[int | None]


class _Applied(TypedDict, total=False):
    """What is known once the log has it."""

    touched: ReadOnly[Any]  # what the log has of it
    written: ReadOnly[Any]  # the files that the workers have written
    version: ReadOnly[int]  # a number for what current is written as
    few_touched: ReadOnly[bool]  # so few that they are sent to every core
    key_list: ReadOnly[list[str] | None]  # their keys as literals


class Load(_OfExtracts, _OfEvents, _OfEnriched, _Applied):
    """What a commit of the log is made with."""

    commit_id: ReadOnly[int | MaybeNone]
    kind: ReadOnly[Kind | MaybeNone]
    business_date: ReadOnly[str | MaybeNone]
    last_commit_id: NotRequired[ReadOnly[int]]  # before it
    last_date: NotRequired[ReadOnly[str | None]]  # after it
    last_date_commit_id: NotRequired[ReadOnly[int | None]]
    last_extract: NotRequired[ReadOnly[str | None]]
    forward: NotRequired[ReadOnly[bool]]  # it only appends, as it is after all others
    rebuild: NotRequired[ReadOnly[bool]]  # current is written anew
    log_version: NotRequired[ReadOnly[int | None]]  # that rows are staged for, if they can be


class Figures(TypedDict, total=False):
    """What is counted of a load; `rows_` are columns of tidemark_commits."""

    rows_read: ReadOnly[int]
    rows_inserted: ReadOnly[int]
    rows_updated: ReadOnly[int]
    rows_deleted: ReadOnly[int]
    rows_unchanged: ReadOnly[int]
    rows_not_supplied: ReadOnly[int]
    rows_rejected: ReadOnly[int]
    rows_duplicate: ReadOnly[int]
    rows_ignored: ReadOnly[int]  # messages of other tables
    rows_tied: ReadOnly[int]
    rows_logged: ReadOnly[int]  # appended to the log
    rows_superseded: ReadOnly[int]  # marked in the log
    rows_natural_in_batch: ReadOnly[int]  # of enriched events by steps of de-duplication
    rows_natural_cross_batch: ReadOnly[int]
    rows_synthetic_in_batch: ReadOnly[int]
    rows_synthetic_cross_batch: ReadOnly[int]
    existing: ReadOnly[int]  # keys that stood before
    in_scope: ReadOnly[int]  # those of them that a scoped extract may delete
    here: ReadOnly[Mapping[str, int]]  # what a date that comes again has done to keys so far
    new_rejects: ReadOnly[int | None]  # of a date that comes again
    reasons: ReadOnly[Sequence[tuple[str, int]]]  # of rejects
    first_sequence_num: ReadOnly[int | None]
    last_sequence_num: ReadOnly[int | None]
    etl_micros: ReadOnly[int | None]
    first_etl_micros: ReadOnly[int | None]
    notes: ReadOnly[list[str]]  # what the line of a run says beside counts


class Rejects(TypedDict, total=False):
    """What is said of rows that cannot be used."""

    units: ReadOnly[Sequence[str]]  # what one of them is called, and several
    of: ReadOnly[str]  # where they are from
    rows: Any  # SQL or a relation with `_reject_reason`
    samples: ReadOnly[str | None]  # a query with `_raw_payload`; none shows what people sent
    failed: str | None  # a query of what failed by column, whatever the reason
    advice: ReadOnly[str]  # how to mend them
    reasons: Sequence[tuple[str, int]]  # counted
    staged: ReadOnly[Any]  # where reasons are asked for; else in the table of rejects


class Source(TypedDict, total=False):
    """What there is to read; of extracts and enriched events in one part."""

    parts: ReadOnly[list[Any]]  # each a commit of its own; of events stretches
    body: ReadOnly[str]  # the compiled SQL of the model
    columns: ReadOnly[list[SourceColumn]]  # that it yields
    files: ReadOnly[list[Any]]  # for the workers: paths, of enriched events as they landed
    # of extracts
    file_names: ReadOnly[list[str]]  # columns that the files have
    origin: ReadOnly[str]  # what messages call it
    fields: ReadOnly[list[str]]  # for the workers: columns in their order
    stamps: ReadOnly[list[Any]]  # of the files
    separator: ReadOnly[str]
    compared: ReadOnly[Mapping[str, tuple[str, str]]]  # expression and type, by column
    # of change events
    landing: ReadOnly[Landing]
    batch: ReadOnly[Batch]
    staged: ReadOnly[Staged]  # what the workers took in one task
    # of enriched events
    location: ReadOnly[str | MaybeNone]
    arrived: ReadOnly[str]  # the view of lines or rows
    is_rows: ReadOnly[bool]  # whether the body yields rows, not lines
    by_workers: ReadOnly[bool]  # they try it first


class Staged(TypedDict):
    """A part of a source, typed, hashed and counted; nothing of it can be seen yet."""

    roles: ReadOnly[Roles]
    figures: ReadOnly[Figures]
    load: NotRequired[ReadOnly[Load]]
    rejects: NotRequired[ReadOnly[Rejects]]
    broken: NotRequired[ReadOnly[Mapping[str, int]]]  # rows that fail each rule, by its name
    uncommitted: NotRequired[ReadOnly[Any]]  # files that no commit names yet
    kept: NotRequired[ReadOnly[Any]]  # rows for the files of tables that are still to be made
    alters: NotRequired[ReadOnly[bool]]  # tables that are there
    again: NotRequired[ReadOnly[bool]]  # it is staged again once they are altered
    is_repeat: NotRequired[ReadOnly[bool]]  # a date that came again as it was
    files: NotRequired[ReadOnly[list[dict[str, Any]]]]  # of events, for the register
    source: NotRequired[ReadOnly[Source]]  # of events, as it is known by now
    cfg: NotRequired[ReadOnly[Settings]]  # of enriched events, with `is_rows`
    events: NotRequired[ReadOnly[str]]  # the view of enriched events
    keys: NotRequired[ReadOnly[Any]]  # what they are told apart by, as a table of the run
    is_prepared: NotRequired[ReadOnly[bool]]  # tables are made


class Logged(TypedDict):
    """The rows of the log that a part brings."""

    rows: ReadOnly[Any]  # a view with all columns
    slice: ReadOnly[Any]  # what the log is written from, a table of the run
    counts: ReadOnly[Figures]
    uncommitted: NotRequired[ReadOnly[Any]]  # the same as files that no commit names yet


class Outcome(TypedDict):
    """What a commit comes to."""

    outcome: ReadOnly[Literal["commit", "repeat", "nothing"]]  # repeat: read again, nothing new
    figures: ReadOnly[Figures]
    log_sql: NotRequired[ReadOnly[Any]]  # statements that write rows of the log


class Derived(Outcome):
    """What is to be written; rows of the log are `uncommitted`, else `slice`, or `log_sql`."""

    load: ReadOnly[Load]
    numbers: NotRequired[ReadOnly[Mapping[str, Any]]]  # for tidemark_commits, beside rows
    uncommitted: NotRequired[ReadOnly[Any]]  # files that no commit names yet
    slice: NotRequired[ReadOnly[Any]]  # a table of the run
    beside: NotRequired[ReadOnly[list[str]]]  # statements that write beside the log
    files: NotRequired[ReadOnly[list[dict[str, Any]]]]  # whose events these are, for the register
    rejects_commit_id: NotRequired[ReadOnly[int]]  # that has the rejects of a repeat


class Steps(LastLoad):
    """What going back to a commit undoes and makes hold again; the last load is the one of then."""

    target: ReadOnly[int]
    undone: ReadOnly[list[Mapping[str, Any]]]  # commits
    redone: ReadOnly[list[Mapping[str, Any]]]
    back: NotRequired[ReadOnly[Recorded]]  # what the entity is held to then
    renames: NotRequired[ReadOnly[list[list[str]]]]  # [old, new] of columns


class Committed(TypedDict):
    """What is known once the log has a load."""

    load: ReadOnly[Load]
    log_version: ReadOnly[int | None]  # of the log by then, where that is known
