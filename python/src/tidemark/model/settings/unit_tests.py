"""Unit tests of a model: what is given date by date, and what its tables are to have then."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from tidemark.model.settings.constraints import Name

UNIT_TESTS = (
    "Tests of the model that `tidemark test` runs: rows for each date, and the expected tables. "
    "No load reads them."
)
Row = dict[str, Any]
CaseName = Annotated[str, StringConstraints(pattern=r"^\w+$")]
ExpectedCount = Literal[
    "rows_read",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "rows_unchanged",
    "rows_not_supplied",
    "rows_rejected",
    "rows_duplicate",
    "rows_tied",
    "rows_synthetic_in_batch",
    "rows_synthetic_cross_batch",
]


def _as_rows(value: Any) -> Any:
    """A list is a table of these rows."""
    return {"rows": value} if isinstance(value, list) else value


class TableRows(BaseModel):
    """Rows: a list of them, CSV text, or a file of either."""

    model_config = ConfigDict(extra="forbid")

    rows: list[Row] | None = Field(default=None, description="Rows, each column: value.")
    csv: str | None = Field(
        default=None,
        description="Rows as CSV text with a header. An empty cell is NULL.",
    )
    file: Name | None = Field(
        default=None,
        description="A .csv file, or a .json file with a list of rows, from the project's folder.",
    )


class GivenInput(TableRows):
    """The rows of a table that the model's SELECT reads."""

    input: Name = Field(
        description="The table, as the model names it: ref('orders') or source('shop', 'orders')."
    )


class Given(TableRows):
    """What there is to load at a step."""

    lines: str | None = Field(
        default=None,
        description="The file as it is, text for text, in place of rows.",
    )
    files: list[Name] | Name | None = Field(
        default=None,
        description="Files that land, from the project's folder: copied as they are.",
    )
    inputs: list[GivenInput] | None = Field(
        default=None,
        description=(
            "The tables that the model's SELECT reads, if it has no location; also the tables "
            "that its rules look up."
        ),
    )


_Table = Annotated[
    TableRows, BeforeValidator(_as_rows, json_schema_input_type=TableRows | list[Row])
]
_Given = Annotated[Given, BeforeValidator(_as_rows, json_schema_input_type=Given | list[Row])]


class Expected(BaseModel):
    """What is to be found after a step; what is left out is not looked at."""

    model_config = ConfigDict(extra="forbid")

    current: _Table | None = Field(default=None, description="The rows of the current table.")
    history: _Table | None = Field(
        default=None, description="The changes in force, as <entity>__history has them."
    )
    log: _Table | None = Field(
        default=None, description="All rows of the log, superseded ones included."
    )
    intervals: _Table | None = Field(
        default=None, description="The validity intervals, as tidemark.scd2() gives them."
    )
    feed: _Table | None = Field(
        default=None, description="All changes, as tidemark.change_feed() gives them."
    )
    rejects: _Table | None = Field(default=None, description="The rows of <entity>__rejects.")
    counts: dict[ExpectedCount, int] | None = Field(
        default=None,
        description="What the load counted, by column of tidemark_commits, such as rows_inserted.",
    )
    error: Name | None = Field(
        default=None, description="The load stops, and its message has this text."
    )


class Step(BaseModel):
    """A load: a business date, or a batch of events."""

    model_config = ConfigDict(extra="forbid")

    business_date: dt.date | None = Field(
        default=None, description="The business date. Left out: that of the step before."
    )
    given: _Given | None = Field(
        default=None, description="What there is to load; a list is rows. Left out: nothing new."
    )
    vars: dict[str, Any] = Field(default={}, description="Vars of this load, as allow_deletes.")
    full_refresh: bool = Field(default=False, description="The log begins anew.")
    expect: Expected | None = Field(
        default=None, description="What is to be found then. Left out: that it goes through."
    )


class UnitTest(BaseModel):
    """A test of a model: loads in order, and what its tables have after any of them."""

    model_config = ConfigDict(extra="forbid")

    name: CaseName = Field(description="Its name: letters, digits and underscores.")
    description: str | None = Field(default=None, description="What it is about.")
    settings: dict[str, Any] = Field(
        default={}, description="Settings of Tidemark that differ from those of the model."
    )
    steps: list[Step] = Field(min_length=1, description="The loads, in order.")
