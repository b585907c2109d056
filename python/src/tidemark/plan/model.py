"""A plan: what a load would do, and what it was worked out from. Its JSON is the one documented."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Values = dict[str, str | None]
"""Values of a row as texts, by column."""
State = Literal["open", "applied", "discarded"]
Outcome = Literal["changes", "nothing", "stops"]
Verdict = Literal["passes", "stops", "let through"]
Kind = Literal["first load", "load", "late load", "correction", "full refresh"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Options(_Part):
    """What was asked for, which `apply` runs with."""

    business_date: dt.date | None = None
    vars: dict[str, Any] = Field(default={}, description="dbt's --vars.")
    select: list[str] = Field(default=[], description="dbt's --select, as it was given.")
    exclude: list[str] = []
    project_dir: str
    profiles_dir: str | None = None
    target: str | None = None
    threads: int | None = None
    full_refresh: bool = False


class Input(_Part):
    """What an entity is loaded from.

    A `location` stands for the list of files that lie there, so that one more is noticed.
    """

    kind: Literal["file", "location", "table"]
    path: str
    files: int | None = Field(default=None, description="How many lie at a location.")
    size: int | None = Field(default=None, description="In bytes, of a file.")
    modified_at: dt.datetime | None = Field(default=None, description="Of a file.")
    checksum: str | None = Field(
        default=None,
        description="SHA-256 of a file on a local disk, or of the list of files of a location.",
    )
    version: int | None = Field(default=None, description="Of a table of Delta.")


class Tables(_Part):
    """How an entity stood when it was planned."""

    last_commit_id: int | None = Field(
        default=None, description="Its last commit, whatever became of it."
    )
    log_version: int | None = Field(default=None, description="Of Delta.")
    current_version: int | None = Field(default=None, description="Of Delta.")


class ColumnChange(_Part):
    """How many updates change a column."""

    name: str
    rows: int


class Sample(_Part):
    """A row that changes; sensitive values are masked."""

    operation: Literal["I", "U", "D"]
    business_date: dt.date
    key: Values = Field(description="Its key columns; none of a table without key.")
    old: Values | None = Field(default=None, description="Of an update only what it changes.")
    new: Values | None = Field(default=None, description="Of an update only what it changes.")


class Reject(_Part):
    """Rows that cannot be used, for one reason."""

    reason: str
    rows: int
    samples: list[str] = Field(default=[], description="As they came, sensitive values masked.")


class Guard(_Part):
    """What the guard of deletes says of a full extract."""

    verdict: Verdict
    rows_deleted: int
    existing: int
    max_delete_fraction: float


class RejectGuard(_Part):
    """What the guard of rejects says of a load whose rejects go to quarantine."""

    verdict: Verdict
    rows_rejected: int = Field(
        description="Of a date that comes again without those that it rejected before."
    )
    rows_read: int
    max_reject_fraction: float


class Files(_Part):
    """What is written of the tables."""

    current: Literal["nothing", "merge", "whole"] = Field(
        description="Written by MERGE of the rows that change, or again as a whole."
    )
    current_files: int | None = Field(default=None, description="That current has, of Delta.")
    current_files_changed: int | None = Field(
        default=None, description="Those of them that have a row which is changed or deleted."
    )


class OtherDate(_Part):
    """Another business date that gets other rows in the log."""

    business_date: dt.date
    rows_logged: int
    rows_superseded: int


class Batch(_Part):
    """Which change events are taken."""

    files: int = 0
    first_file: str | None = None
    last_file: str | None = None
    first_sequence_num: int | None = None
    last_sequence_num: int | None = None
    not_planned: int = Field(
        default=0,
        description="DDL events that change columns: what comes after the first is not planned.",
    )


class Counts(_Part):
    """The figures of a load, named as in tidemark_commits."""

    rows_read: int = 0
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    rows_unchanged: int = 0
    rows_not_supplied: int = 0
    rows_rejected: int = 0
    rows_duplicate: int = 0
    rows_tied: int = 0
    rows_ignored: int = 0
    rows_logged: int = Field(default=0, description="Rows that the log gets.")
    rows_superseded: int = Field(default=0, description="Rows of the log that they replace.")


class EntityPlan(_Part):
    """What a load would do to one entity."""

    entity: str
    relation: str
    extract: Literal["full", "scoped", "delta", "events"]
    business_date: dt.date | None = None
    kind: Kind
    outcome: Outcome = Field(description="stops: the load would stop before it writes anything.")
    stops: str | None = Field(default=None, description="Why it would stop.")
    broken_rules: list[str] = Field(
        default=[], description="Rules that more rows fail than `at_most` says: no option lets it."
    )
    counts: Counts = Counts()
    existing: int = Field(default=0, description="Rows that stood before.")
    share_of_current: float | None = Field(
        default=None, description="Inserts, updates and deletes, by `existing`."
    )
    columns: list[ColumnChange] = Field(
        default=[], description="What updates change, the most first."
    )
    columns_known: bool = Field(
        default=True, description="false: changed_columns is off, so columns are not counted."
    )
    samples: list[Sample] = []
    rejects: list[Reject] = []
    on_reject: Literal["fail", "quarantine"]
    guard: Guard | None = Field(default=None, description="Of full extracts.")
    reject_guard: RejectGuard | None = Field(
        default=None, description="Where rows are rejected, and on_reject is quarantine."
    )
    files: Files
    other_dates: list[OtherDate] = []
    batch: Batch | None = Field(default=None, description="Of change events.")
    notes: list[str] = Field(default=[], description="What else there is to know, a sentence each.")
    inputs: list[Input] = []
    tables: Tables = Tables()
    model_checksum: str = Field(default="", description="Of the model's SQL and configuration.")


class NotPlanned(_Part):
    """A selected model of which a plan says nothing."""

    model: str
    why: str
    failed: bool = Field(default=False, description="It should have been planned.")


class Plan(_Part):
    """What a load would do, and what it was worked out from."""

    id: str
    state: State = "open"
    made_at: dt.datetime
    closed_at: dt.datetime | None = Field(
        default=None, description="When it was applied or discarded."
    )
    refused_at: dt.datetime | None = Field(
        default=None,
        description="When it was not applied, as something was not as it had been.",
    )
    command: str = Field(description="What made it.")
    tidemark: str = Field(description="The version of Tidemark that made it.")
    outcome: Outcome = Field(description="stops: at least one load would stop.")
    options: Options
    entities: list[EntityPlan] = []
    not_planned: list[NotPlanned] = []

    def without_values(self) -> Plan:
        """Return the same without a value of any row."""
        entities = []
        for one in self.entities:
            rejects = [reject.model_copy(update={"samples": []}) for reject in one.rejects]
            entities.append(one.model_copy(update={"samples": [], "rejects": rejects}))
        return self.model_copy(update={"entities": entities})


GUARDS = {"--allow-deletes": "allow_deletes", "--allow-rejects": "allow_rejects"}
"""The options of `apply` by which a guard lets pass what it would stop, and their vars."""


def stopping_guards(one: EntityPlan) -> list[str]:
    """Return the options that let a load through; none where something else stops it too."""
    if one.broken_rules or (one.on_reject == "fail" and one.counts.rows_rejected > 0):
        return []
    guards = zip(GUARDS, (one.guard, one.reject_guard), strict=True)
    return [option for option, guard in guards if guard is not None and guard.verdict == "stops"]


def outcome_of(outcomes: list[Outcome]) -> Outcome:
    """Return what loads do together.

    Example:
        >>> outcome_of(["nothing", "changes"])
        'changes'
    """
    worst: tuple[Outcome, ...] = ("stops", "changes")
    return next((one for one in worst if one in outcomes), "nothing")
