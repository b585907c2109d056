"""A plan: what a load would do, and what it was worked out from. Its JSON is the one documented."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

# a value of a row as text, or NULL
Values = dict[str, str | None]
State = Literal["open", "applied", "discarded"]
Outcome = Literal["changes", "nothing", "stops"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Options(_Part):
    """What was asked for, which `apply` runs with."""

    business_date: dt.date | None = None
    vars: dict[str, Any] = Field({}, description="dbt's --vars, without the business date.")
    select: list[str] = Field([], description="dbt's --select, as it was given.")
    exclude: list[str] = []
    project_dir: str
    profiles_dir: str | None = None
    target: str | None = None
    threads: int | None = None
    full_refresh: bool = False


class Input(_Part):
    """What an entity's extract was read from: a file, or a table of Delta."""

    kind: Literal["file", "table"]
    path: str
    size: int | None = Field(None, description="In bytes, of a file.")
    modified_at: dt.datetime | None = Field(None, description="Of a file.")
    checksum: str | None = Field(None, description="SHA-256 of a file on a local disk.")
    version: int | None = Field(None, description="Of a table.")


class Tables(_Part):
    """How the tables of an entity stood when the plan was made."""

    last_commit_id: int | None = Field(
        None, description="The last commit of the entity, whatever became of it; none without one."
    )
    log_version: int | None = None
    current_version: int | None = None


class ColumnChange(_Part):
    """How often updates change a column."""

    name: str
    rows: int
    sensitive: bool = False


class Sample(_Part):
    """A row that changes; sensitive values are masked."""

    operation: Literal["I", "U", "D"]
    business_date: dt.date | None = None
    key: str = Field(description="The values of the key columns.")
    old: Values | None = Field(None, description="Of an update only what changes; none of an I.")
    new: Values | None = Field(None, description="Of an update only what changes; none of a D.")


class Reject(_Part):
    """Rows that cannot be used, for one reason."""

    reason: str
    rows: int
    samples: list[str] = Field([], description="Payloads, sensitive values masked.")


class Guard(_Part):
    """What the guard of deletes says of a full extract."""

    verdict: Literal["passes", "stops", "let through"]
    rows_deleted: int
    existing: int
    max_delete_fraction: float


class Files(_Part):
    """What would be written of the tables."""

    current: Literal["nothing", "merge", "whole", "new"] = Field(
        description="By MERGE of what changed, or written again as a whole."
    )
    current_files: int | None = Field(None, description="Files of current.")
    current_files_touched: int | None = Field(
        None, description="Files of current with rows that change: what MERGE writes again."
    )
    log_rows: int = Field(0, description="Rows that the log gets.")
    log_rows_superseded: int = Field(0, description="Rows of the log that are marked.")


class LaterDate(_Part):
    """A date after the planned one which gets other rows."""

    business_date: dt.date
    rows_logged: int
    rows_superseded: int


class Batch(_Part):
    """Which change events would be taken."""

    files: int = 0
    first_file: str | None = None
    last_file: str | None = None
    first_sequence_num: int | None = None
    last_sequence_num: int | None = None
    left: int = Field(
        0, description="DDL events which cut the batch: what comes after the first is not planned."
    )


class Counts(_Part):
    """The figures of a load, as tidemark_commits has them."""

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
    rows_logged: int = 0
    rows_superseded: int = 0


class EntityPlan(_Part):
    """What a load would do to one entity."""

    entity: str
    relation: str
    extract: Literal["full", "delta", "events"]
    business_date: dt.date | None = None
    kind: Literal["first load", "load", "late load", "repeat", "full refresh", "nothing"]
    outcome: Outcome = Field(description="`stops`: the load would stop before it writes anything.")
    stops: str | None = Field(None, description="Why the load would stop.")
    counts: Counts = Counts()
    existing: int = Field(0, description="Rows of current before the load.")
    columns: list[ColumnChange] = []
    samples: list[Sample] = []
    rejects: list[Reject] = []
    on_reject: Literal["fail", "quarantine"]
    guard: Guard | None = Field(None, description="Of full extracts.")
    files: Files
    later_dates: list[LaterDate] = []
    batch: Batch | None = Field(None, description="Of change events.")
    notes: list[str] = Field([], description="What else is to be known, a sentence each.")
    inputs: list[Input] = []
    tables: Tables = Tables()

    @computed_field(description="Changed rows by rows of current before; none of a first load.")
    @property
    def share_of_current(self) -> float | None:
        """How much of current changes."""
        if not self.existing:
            return None
        changed = self.counts.rows_inserted + self.counts.rows_updated + self.counts.rows_deleted
        return round(changed / self.existing, 6)


class NotPlanned(_Part):
    """A selected model of which a plan says nothing, or an entity that could not be planned."""

    model: str
    why: str
    failed: bool = False


class Plan(_Part):
    """What a load would do, and what it was worked out from."""

    id: str
    state: State = "open"
    made_at: dt.datetime
    changed_at: dt.datetime | None = Field(None, description="When it was applied or discarded.")
    command: str = Field(description="What made it.")
    tidemark: str = Field(description="The version that made it.")
    options: Options
    entities: list[EntityPlan] = []
    not_planned: list[NotPlanned] = []

    @computed_field(description="What the load as a whole would do.")
    @property
    def outcome(self) -> Outcome:
        """`stops` if one entity would, `changes` if one would change."""
        found = {one.outcome for one in self.entities}
        return next((one for one in ("stops", "changes") if one in found), "nothing")

    def without_values(self) -> Plan:
        """Return the same without a value of any row."""
        entities = [
            one.model_copy(
                update={
                    "samples": [],
                    "rejects": [
                        reject.model_copy(update={"samples": []}) for reject in one.rejects
                    ],
                }
            )
            for one in self.entities
        ]
        return self.model_copy(update={"entities": entities})
