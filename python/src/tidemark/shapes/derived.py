"""Types of the state of derived tables: kept feeds, kept intervals, tables of one schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from tidemark.shapes.opened import Commit, Commits, SourceColumn

if TYPE_CHECKING:
    from typing_extensions import ReadOnly

Pull = TypedDict(
    "Pull",
    {
        "source": str,  # schema.table of an entity
        "from": int,  # the commit that is read already
        "to": int,  # the last one that is read
        "late": list[dict[str, Any]],  # commits before `from` that came to their end after it
        "read": dict[str, int] | None,  # of several entities: how far each is read
        "kept_from": Any,  # where the entity has not all of its changes: see kept_from()
        "own": Any,  # the feed as the body was compiled for it: last, exists, anew
    },
)
"""What the body of a feed reads of an entity."""


class FeedRead(TypedDict):
    """What a feed reads, and what becomes of its table."""

    pulls: ReadOnly[list[Pull]]
    columns: ReadOnly[list[SourceColumn]]
    exists: ReadOnly[bool]
    build: ReadOnly[bool]  # it is made anew
    is_news: ReadOnly[bool]  # there is something to append


class Unrecorded(TypedDict):
    """Which rows of a feed are of commits that a run reads."""

    after: ReadOnly[int]  # the greatest commit that comes before them all
    others: ReadOnly[str]  # their condition
    unrecorded: ReadOnly[bool]  # there are some, of a run that died before it recorded them


class FeedState(FeedRead, Unrecorded):
    """What is to be done of a feed."""

    commit_id: ReadOnly[int]


class OpenedFeed(FeedState):
    """The same once its table is as the body needs it."""

    commits: ReadOnly[Commits]
    sql: ReadOnly[str | None]  # what appends, if there is something


class IntervalsState(TypedDict):
    """What is to be done of a table of intervals."""

    log: ReadOnly[Any]  # of the entity
    existing: ReadOnly[Any]  # the table, as dbt's cache knows it
    columns: ReadOnly[list[SourceColumn]]
    watermark: ReadOnly[int]  # the commit of the log that is applied
    rows_read: ReadOnly[int]
    last_commit_id: ReadOnly[int]  # of the log
    commit: ReadOnly[Commit]
    step: NotRequired[ReadOnly[Literal["build", "merge", "nothing"]]]
    message: NotRequired[ReadOnly[str]]  # for the line of the run
    commits: ReadOnly[Commits]
    sql: NotRequired[ReadOnly[str | None]]  # what does the step


class ShredMarks(TypedDict):
    """How far a table of entities has read, and where the commits of its events lie."""

    last_id: ReadOnly[int | None]
    read_to: ReadOnly[int]
    config: ReadOnly[str | None]  # JSON
    source_start: ReadOnly[int]  # the last full refresh of the events
    source_end: ReadOnly[int]  # their last complete commit
    undone: ReadOnly[list[int]]


ShredState = TypedDict(
    "ShredState",
    {
        "source": str,  # schema.table of the events
        "uri": str,  # of the schema
        "columns": list[dict[str, Any]],
        "exists": bool,
        "build": bool,  # the table is made anew
        "last_id": int | None,
        "recorded": Mapping[str, Any],  # by the last run
        "commit_id": int,
        "made_by": Any,  # the commit of the run that made the table
        "started_at": str,
        "from": int,  # the commit that is read already
        "to": int,  # the last one that is read
        "undone": list[int],  # commits that were rolled back
    },
)
"""What is to be done of a table of the entities of one schema."""


class Made(TypedDict):
    """Where the rows of such a table go."""

    table: ReadOnly[Any]
    rejects: ReadOnly[Any]
