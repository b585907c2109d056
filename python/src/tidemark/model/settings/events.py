"""Settings of entities that are read from change events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tidemark.model.settings.extracts import (
    ColumnsExcluded,
    ColumnsIncluded,
    LogSettings,
    Policy,
)
from tidemark.model.settings.rules import ROWS_NEED_A_SEQUENCE, Name, Names, Retention


class DdlPolicies(BaseModel):
    """What a DDL event of the source does to the target, by kind."""

    model_config = ConfigDict(extra="forbid")

    add_column: Policy = Field(
        default="apply",
        description=(
            "apply: the column is added, and its default fills the rows that are there, as "
            "updates (of MySQL and MariaDB also what NOT NULL without one gives them, unless that "
            "is a date). fail: also for a column that comes without a DDL event, unless declared."
        ),
    )
    drop_column: Policy = Field(
        default="ignore",
        description=(
            "apply: the column leaves the current table; the log keeps it. ignore: it stays, until "
            "another one takes its name."
        ),
    )
    rename_column: Policy = Field(
        default="apply",
        description=(
            "apply: the column is renamed wherever it is stored, unless the YAML declares the old "
            "name; its values stay."
        ),
    )
    widen_column: Policy = Field(
        default="apply",
        description=(
            "apply: the type becomes the wider one, such as int to bigint; a declared type stays."
        ),
    )
    change_type: Policy = Field(
        default="fail",
        description=(
            "A type that is not a wider one. ignore, apply: values go on as the type that is "
            "stored, and one that it cannot hold is a reject. A declared data_type comes first."
        ),
    )
    rename_table: Policy = Field(
        default="apply",
        description=(
            "apply: the entity follows the table to its new name, until another table takes the "
            "old one: the entity is that one then."
        ),
    )
    create_table: Policy = Field(
        default="apply",
        description=(
            "apply: the columns are noted; those that are new are a matter of add_column. Of "
            "canonical events all are made, also those that no row brings; of Debezium's one comes "
            "with the first row that has it, as its DDL names columns that a capture leaves out, "
            "too."
        ),
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
            "arrival, or _sequence_num where canonical events have one. format: rows needs it."
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
            "keeps its value, and NULL in a field of a struct nothing of that field (_unsupplied "
            "has it as address.city)."
        ),
    )
    columns: Chosen = Field(
        default=True,
        description=(
            "Which columns of the events are stored: true (all), a list, {include: […]} or "
            "{exclude: […]}. The key must be among them. A column that is left out later stays "
            "as it is, NULL in rows that are new, until it is named again; a table without "
            "unique_key keeps its choice."
        ),
    )
    track_history: Chosen = Field(
        default=True,
        description=(
            "Which columns begin a new version in scd2 when they change: true (all that are "
            "compared), a list, {include: […]} or {exclude: […]}. Of the others a version has the "
            "last value. The row of a version is compared with that of the one before it, "
            "sensitive values too, whatever changed_columns says."
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
            "{updated: micros}. Without it, a number for a timestamp may be ambiguous. One of "
            f"{', '.join(ENCODINGS)} (digits, or bytes of a number that is not negative; "
            "negative digits are the 64 bits of one from 2^63 on), "
            "decimal_bytes:<scale>, array:<encoding>."
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
