"""Rules that the rows of an entity are held to."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tidemark.model.settings.constraints import Name

RULES = (
    "Rules that each row must meet when it is staged, before anything is written. Rules of a "
    "column stand under its meta.tidemark.rules. dbt's constraints of type check are rules, too."
)
OnFail = Literal["warn", "quarantine", "fail"]


class LookUp(BaseModel):
    """Values that another table is to have, as dbt's test relationships says it."""

    model_config = ConfigDict(extra="forbid")

    to: Name = Field(
        description=(
            "The other table: ref('countries') or source('shop', 'countries'). The model's file "
            "has a line for it, such as -- depends_on: {{ ref('countries') }}."
        )
    )
    field: Name | None = Field(
        default=None,
        description="For a rule of a column: the column of the other table that has its values.",
    )
    columns: list[Name] = Field(
        default=[],
        description="For a rule of the model: the columns that are looked up together.",
    )
    fields: list[Name] = Field(
        default=[],
        description=("The columns of the other table, in the same order."),
    )


class RowRule(BaseModel):
    """A condition that each row is to meet, and what becomes of one that does not."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^\w+$")] = Field(
        description="Its name: letters, digits and underscores. Rejects and commits have it."
    )
    check: Name | None = Field(
        default=None,
        description=(
            "An SQL condition of the columns, such as amount >= 0. A row fails if it is false. "
            "NULL is no failure, as with CHECK in SQL."
        ),
    )
    accepted_values: list[Any] | None = Field(
        default=None,
        description="In place of check, for a rule of a column: the values that it may have.",
    )
    relationships: LookUp | None = Field(
        default=None,
        description=(
            "In place of check: the values of the row must be in another table. NULL is no "
            "failure, as with a foreign key."
        ),
    )
    on_fail: OnFail = Field(
        default="fail",
        description=(
            "fail: the load stops before anything is written. quarantine: the row is a reject "
            "(needs on_reject: quarantine). warn: the row is loaded, and the run says how many "
            "such rows there are."
        ),
    )
    at_most: str | float | None = Field(
        default=None,
        description=(
            "How many of the rows that are read may fail, such as '1 %' or 0.01. If more fail, "
            "the load stops. Left out: none with fail, all with quarantine and warn."
        ),
    )
