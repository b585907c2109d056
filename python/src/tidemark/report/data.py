"""The content of the report, as models: their JSON Schema documents `report --json`."""

from __future__ import annotations

import datetime as dt

from pydantic import BaseModel, ConfigDict, Field

from tidemark.diff.model import Differences

# keys with more versions are counted together
MOST_VERSIONS = 20


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EntityRow(_Model):
    """An entity as it stands."""

    entity: str
    kind: str = Field(description="Its materialization")
    relation: str = Field(description="schema.table")
    state: str = Field(description="loaded, stale, behind, in flight, failed or empty")
    last_date: dt.date | None = Field(description="The greatest business date in force")
    loaded_at: dt.datetime | None = Field(
        description="When its last run that has a commit was completed, in UTC"
    )
    rows: int | None = Field(description="Rows of its table; null where only Spark can tell")
    inserted: int | None = Field(description="Of its last load, as the next three")
    updated: int | None
    deleted: int | None
    unchanged: int | None
    open_rejects: int | None = Field(description="Rejected rows that no later load has mended")
    size_bytes: int | None = Field(description="Of current and log")
    files: int | None = Field(description="Of current and log")
    small_files: int | None = Field(description="Those that `compact` would join")
    notes: list[str] = Field(description="What there is to do or to know, a sentence each")
    next_command: str | None = Field(description="What to call after a run that failed")
    fresh_minutes: int | None = Field(
        default=None, description="Its objective: how long a run keeps it fresh"
    )
    lag_seconds: float | None = Field(
        default=None, description="How far it is behind its source, if a replicator mirrors it"
    )


class RunRow(_Model):
    """When a run of an entity with an objective was completed.

    Among runs that found nothing new, which have no commit, only the last one.
    """

    entity: str
    completed_at: dt.datetime


class ReplicatorRow(_Model):
    """A source that is replicated."""

    source: str
    freshness_seconds: float = Field(description="Its objective: how far a copy may be behind")
    objective: float = Field(description="For what share of the time, in percent")
    fresh: float | None = Field(
        description="For what share the least fresh of its tables was, in percent"
    )
    tables: int


class LagRow(_Model):
    """How far a replicator was behind at a time."""

    source: str
    at: dt.datetime
    lag_seconds: float = Field(description="Of the copy that was most behind")
    table: str | None
    waiting: int = Field(description="Events that had landed and were not applied")


class LoadRow(_Model):
    """A load that was completed."""

    entity: str
    commit_id: int
    kind: str
    business_date: dt.date | None
    completed_at: dt.datetime
    seconds: float | None
    inserted: int
    updated: int
    deleted: int
    rejected: int


class ColumnRow(_Model):
    """How many updates changed a column."""

    entity: str
    column: str
    changes: int


class RejectRow(_Model):
    """Open rejects of one reason."""

    entity: str
    reason: str
    rows: int


class VersionsRow(_Model):
    """How many keys have so many versions."""

    entity: str
    versions: int = Field(description=f"{MOST_VERSIONS} stands for as many or more")
    keys: int


class LineageEdge(_Model):
    """What reads what; names of sources, seeds and models."""

    reads: str
    read_by: str


class KeyVersion(_Model):
    """A version of a key that was asked for."""

    business_date: dt.date | None
    operation: str = Field(description="I, U or D")
    commit_id: int
    changes: list[str] = Field(description="column: old → new, each")


class ValueInterval(_Model):
    """How long a column of a key had a value."""

    column: str
    value: str
    since: dt.date
    until: dt.date | None = Field(description="The first day without it; null while it is there")


class KeyHistory(_Model):
    """The versions of a key that was asked for."""

    entity: str
    key: str
    versions: list[KeyVersion]
    values: list[ValueInterval] = Field(description="Of the columns that ever changed")


class Report(_Model):
    """The state of a project's entities."""

    project: str
    made_at: dt.datetime
    version: str = Field(description="Of Tidemark")
    days: int = Field(description="Loads and changed columns are those of so many days")
    entities: list[EntityRow]
    loads: list[LoadRow]
    columns: list[ColumnRow]
    rejects: list[RejectRow]
    versions: list[VersionsRow]
    lineage: list[LineageEdge]
    keys: list[KeyHistory]
    runs: list[RunRow] = Field(default_factory=list)
    replicators: list[ReplicatorRow] = Field(default_factory=list)
    lags: list[LagRow] = Field(default_factory=list)
    differences: list[Differences] = Field(
        default_factory=list, description="What differs between the sides that were asked for"
    )
