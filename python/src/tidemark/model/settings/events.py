"""Settings of entities that are read from change events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tidemark.model.settings.constraints import ROWS_NEED_A_SEQUENCE, Name, Names, Retention
from tidemark.model.settings.extracts import (
    ColumnsExcluded,
    ColumnsIncluded,
    LogSettings,
    Policy,
)


class DdlPolicies(BaseModel):
    """What a DDL event of the source does to the target, by kind."""

    model_config = ConfigDict(extra="forbid")

    add_column: Policy = Field(
        default="apply",
        description=(
            "apply: the column is added. Its default fills the rows that are there, as updates. "
            "In MySQL and MariaDB a NOT NULL column without default has an implicit default. It "
            "fills them too, unless the column is a date. fail: also for a column that comes "
            "without a DDL event, unless it is declared."
        ),
    )
    drop_column: Policy = Field(
        default="ignore",
        description=(
            "apply: the column leaves the current table. The log keeps it. ignore: it stays, "
            "until another column takes its name."
        ),
    )
    rename_column: Policy = Field(
        default="apply",
        description=(
            "apply: the column is renamed wherever it is stored, and keeps its values, unless "
            "the YAML declares the old name."
        ),
    )
    widen_column: Policy = Field(
        default="apply",
        description=(
            "apply: the type becomes the wider one, such as int to bigint. A declared type stays."
        ),
    )
    change_type: Policy = Field(
        default="fail",
        description=(
            "For a type that is not wider. ignore, apply: values are stored in the type that the "
            "column has. A value that does not fit is a reject. A declared data_type comes "
            "first."
        ),
    )
    rename_table: Policy = Field(
        default="apply",
        description=(
            "apply: the entity follows the table to its new name. If another table takes the old "
            "name later, the entity is that table from then on."
        ),
    )
    create_table: Policy = Field(
        default="apply",
        description=(
            "apply: the columns are noted. add_column says what happens to new ones. From "
            "canonical events all columns are made, even if no row has them. From Debezium a "
            "column is made with the first row that has it, because its DDL also names columns "
            "that the capture leaves out."
        ),
    )
    drop_table: Policy = Field(
        default="ignore", description="apply: all rows are deleted. The target's tables stay."
    )
    truncate_table: Policy = Field(default="apply", description="apply: all rows are deleted.")
    create_database: Policy = Field(
        default="ignore", description="It changes nothing. fail: the run stops."
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

    model_config = ConfigDict(extra="forbid", json_schema_extra={"allOf": [ROWS_NEED_A_SEQUENCE]})

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
            "(`tidemark schema --events`). rows: each row is an upsert, in the order of "
            "sequence_by, or a delete by apply_as_deletes."
        ),
    )
    table: Name | None = Field(
        default=None,
        description=(
            "Which table of the stream this entity is, with or without database and schema: "
            "inventory.customers. Left out: the source must have events of one table only."
        ),
    )
    sequence_by: Names = Field(
        default=[],
        description=(
            "Columns or SQL expressions that order the events of a key. Left out: the order of "
            "arrival, or _sequence_num if canonical events have it. format: rows needs it."
        ),
    )
    on_tie: Literal["later", "reject", "content"] = Field(
        default="later",
        description=(
            "Which event wins if several events of a key have an equal sequence_by and an equal "
            "position in the source. later: the one that arrived last. reject: the first one. "
            "Events with other values are rejects. content: the same one in any order of "
            "arrival."
        ),
    )
    apply_as_deletes: Name = Field(
        default="_operation = 'DELETE'",
        description=("SQL condition for events that delete. With format: rows it has no default."),
    )
    apply_as_truncates: Name = Field(
        default="_operation in ('TRUNCATE', 'TRUNCATE_TABLE')",
        description=(
            "SQL condition for further events that delete all rows. TRUNCATE and TRUNCATE_TABLE "
            "always do. With format: rows it has no default."
        ),
    )
    ignore_null_updates: Chosen = Field(
        default=False,
        description=(
            "true, or a choice of columns. A NULL in an update then means: not supplied. The "
            "column keeps its value. So does a field of a struct (_unsupplied has it as "
            "address.city)."
        ),
    )
    columns: Chosen = Field(
        default=True,
        description=(
            "Which columns of the events are stored: true (all), a list, {include: […]} or "
            "{exclude: […]}. The key must be among them. If you leave out a column later, it "
            "stays as it is, and is NULL in new rows, until you name it again. A table without "
            "unique_key keeps its choice."
        ),
    )
    track_history: Chosen = Field(
        default=True,
        description=(
            "Which columns begin a new version in scd2 when they change: true (all that are "
            "compared), a list, {include: […]} or {exclude: […]}. Other columns have their last "
            "value of the version. Versions are compared by their rows, sensitive values too, "
            "whatever changed_columns says."
        ),
    )
    ddl: DdlPolicies = Field(
        default=DdlPolicies(),
        description="What DDL events do, by kind: apply, ignore or fail (the run stops).",
    )
    encodings: dict[Name, Encoding] = Field(
        default={},
        description=(
            "How the source writes a column's values, if no schema comes with the events: "
            "{updated: micros}. Without it, a number for a timestamp may be ambiguous. "
            f"Values and counts: {', '.join(ENCODINGS[:10])}. Times, bytes and numbers: "
            f"{', '.join(ENCODINGS[10:])}, decimal_bytes:<scale>. Lists: array:<encoding>. "
            "unsigned: digits, or bytes of a number that is not negative. Its negative digits "
            "are the 64 bits of a number from 2^63 on."
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
            "How long `clean` keeps events in staging. Without unique_key the last two batches "
            "stay, because events that come again are recognised by them. Left out: always."
        ),
    )
    unavailable_value: Name = Field(
        default="__debezium_unavailable_value",
        description=(
            "What Debezium sends for a value that the database did not log: the connector's "
            "unavailable.value.placeholder. hex:… gives its bytes."
        ),
    )
