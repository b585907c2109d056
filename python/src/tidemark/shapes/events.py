"""Types of a batch of change events, and of the stretches between its DDL events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from tidemark.shapes.opened import SourceColumn
from tidemark.shapes.settings import MaybeNone

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


HAS_DDL = "it has DDL events"
"""Why the workers do not take a batch whole."""


class Lines(TypedDict):
    """Files of events as the workers open them."""

    landed: ReadOnly[Any]  # the files
    prefiltered: ReadOnly[Any]  # what was opened of them; None: they are read as they are


class Landing(TypedDict, total=False):
    """Where events are."""

    files: ReadOnly[list[dict[str, Any]]]
    in_files: ReadOnly[bool]
    arrived: ReadOnly[str]  # the view of what the body yields
    events: ReadOnly[str]  # the view of events
    line_num: ReadOnly[str]  # an expression: the number of a line within its file
    columns: ReadOnly[list[SourceColumn] | None]  # of a typed source
    decoded: ReadOnly[bool]  # the workers have read them
    told: ReadOnly[list[str] | None]  # by them: see RecordedSource
    lines: ReadOnly[Lines | None]  # of which the workers may read a stretch


class Change(TypedDict, total=False):
    """What a statement does to a column, or to the table."""

    kind: ReadOnly[str]  # as in the setting `ddl`
    name: ReadOnly[str]
    policy: ReadOnly[str]  # apply, ignore or fail
    stops: ReadOnly[list[str] | tuple[str, str]]  # why it cannot be followed, what to do
    old: ReadOnly[str]  # of a rename
    crosses: ReadOnly[bool]  # of a rename: another column takes or gives up one of the names
    column: ReadOnly[SourceColumn]  # that is added
    type: ReadOnly[str]
    was: ReadOnly[str]  # its type so far


class Statement(TypedDict, total=False):
    """A DDL event of the table; or a fill, of rows that are there when a column is added."""

    landing_num: ReadOnly[int | MaybeNone]  # None of rows that are not numbered
    sequence_num: ReadOnly[Any]
    event_time: ReadOnly[Any]
    event_id: ReadOnly[str]
    operation: ReadOnly[str]
    text: ReadOnly[str]
    columns: ReadOnly[list[SourceColumn] | None]  # that the table has from then on
    changes: ReadOnly[list[Change]]
    effect: ReadOnly[Literal["none", "close", "fill"]]  # on rows that are there
    cuts: bool  # rows before and after it need other columns
    fills: list[Statement]
    column: ReadOnly[str]  # that is filled
    default: ReadOnly[str]  # with what
    encoding: ReadOnly[str]
    value: ReadOnly[str]  # the same as SQL


class TableStatement(TypedDict):
    """What a statement says of the table."""

    operation: ReadOnly[str]
    table: ReadOnly[str | MaybeNone]
    previous: NotRequired[ReadOnly[str | MaybeNone]]  # its name so far
    columns: ReadOnly[list[SourceColumn] | MaybeNone]
    ddl: NotRequired[ReadOnly[str]]


class Shapes(TypedDict):
    """What rows tell of columns."""

    names: list[str]  # in images
    schemas: dict[Any, list[SourceColumn]]  # inline, by id
    first_nums: dict[Any, Any]  # where each comes first
    has_schemaless: bool  # some come without


class Followed(TypedDict, total=False):
    """What the table is called."""

    tables: list[str]  # by the setting
    followed: list[str]  # by statements, the last is its newest


class Batch(Shapes, Followed):
    """What has landed tells."""

    named: list[str]  # what events call the table
    ignored: int  # messages of other tables
    is_empty: bool
    statements: list[Statement]  # that were not applied yet, as they landed
    ddl_nums: NotRequired[list[int]]  # the landing numbers of all DDL events, other tables' too
    source_columns: list[SourceColumn] | None  # by the last statement
    refused: list[str]  # names of columns that are not taken: former ones
    renames: dict[str, str]
    by_content: bool  # see RecordedSource
    by_server: bool  # see RecordedSource
    identifying: list[str]  # see RecordedSource
    has_truncates: NotRequired[bool]
    unreadable: NotRequired[list[str]]  # why lines cannot be read, and how many
    line_num: NotRequired[str]  # see Landing
    reorders: NotRequired[bool]  # events of one place get another order
    batch_id: NotRequired[int]  # the commit of the first stretch


class Judged(TypedDict):
    """A batch and a statement, with what becomes of the statement by policy."""

    batch: ReadOnly[Batch]
    statement: ReadOnly[Statement]


Stretch = TypedDict(
    "Stretch",
    {
        "from": int | None,  # the first landing number; None is open
        "to": int | None,  # the one after the last
        "is_first": bool,
        "is_last": bool,
        "tried": NotRequired[int | None],  # the number of an attempt before this one
    },
)
"""A part of a batch, between two statements; the one that begins it is in it."""


class BatchColumns(TypedDict, total=False):
    """What a batch tells of columns, as event_roles() takes it."""

    names: ReadOnly[list[str]]  # in images
    schemas: ReadOnly[Mapping[Any, list[SourceColumn]]]  # inline, by id
    ddl: ReadOnly[list[SourceColumn] | None]  # by the last statement
    arrived: ReadOnly[Mapping[str, SourceColumn] | None]  # of a typed source, by name
    inferred: ReadOnly[Mapping[str, str]]  # types, by the values of the batch
    renames: ReadOnly[Mapping[str, str]]  # by statements in the batch
    refused: ReadOnly[list[str]]  # names that are not taken
    to_come: ReadOnly[list[str]]  # names that statements later in the batch bring
    has_schemaless: ReadOnly[bool]  # some events come without inline schema
    unreadable: ReadOnly[list[str] | None]  # why lines cannot be read, and how many
