"""The result of a comparison, as models: their JSON Schema documents `diff --json`."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["different", "only_in_a", "only_in_b"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Cell(_Model):
    """A value of a row that differs, or of a row that only one side has."""

    column: str
    a: Any = Field(default=None, description="The value in A; null is NULL, or A has no such row")
    b: Any = Field(default=None, description="The value in B; null is NULL, or B has no such row")
    hidden: bool = Field(default=False, description="The column is sensitive: its values are ***")


class Sample(_Model):
    """A key whose rows differ."""

    kind: Kind
    key: dict[str, Any] = Field(description="The values of the key columns")
    cells: list[Cell] = Field(
        description=(
            "The cells that differ, if both sides have the row; else all cells that are not NULL"
        )
    )


class ColumnDifference(_Model):
    """A column that differs in some rows."""

    column: str
    cells: int = Field(description="The number of rows on both sides in which the column differs")


class DateDifference(_Model):
    """A business date of which rows differ."""

    business_date: dt.date
    only_in_a: int
    only_in_b: int
    different: int


class OtherTypes(_Model):
    """A column whose type is not the same in both: its values are compared as canonical texts."""

    column: str
    a: str
    b: str


class TableDifference(_Model):
    """How two tables compare."""

    a: str = Field(description="The first side, as it was named")
    b: str
    equal: bool = Field(description="Whether all rows are there in both, with the same values")
    key: list[str] = Field(description="The columns that tell which rows belong together")
    rows_in_a: int
    rows_in_b: int
    only_in_a: int = Field(description="Rows whose key B does not have")
    only_in_b: int = Field(description="Rows whose key A does not have")
    different: int = Field(description="Rows of both sides with another value in some column")
    same: int = Field(description="Rows of both sides in which all compared columns are equal")
    columns: list[ColumnDifference] = Field(description="The columns that differ, most first")
    by_date: list[DateDifference] = Field(
        default=[], description="The dates that differ, if _business_date is a part of the key"
    )
    other_types: list[OtherTypes] = Field(description="Columns that are compared as texts")
    not_compared: dict[str, str] = Field(
        description="The reason why a column is not compared, by its name"
    )
    samples: list[Sample]


class Differences(_Model):
    """What differs between two sides: of schemas in several tables, else in one."""

    a: str
    b: str
    equal: bool = Field(description="Whether every table is equal, and both sides have the same")
    tables: list[TableDifference]
    only_in_a: list[str] = Field(description="Entities that only schema A has")
    only_in_b: list[str] = Field(description="Entities that only schema B has")
    failed: dict[str, str] = Field(
        description="The reason why an entity could not be compared, by its name"
    )

    @classmethod
    def of_table(cls, found: TableDifference) -> Differences:
        """Return what differs where each side is one table."""
        return cls(
            a=found.a,
            b=found.b,
            equal=found.equal,
            tables=[found],
            only_in_a=[],
            only_in_b=[],
            failed={},
        )
