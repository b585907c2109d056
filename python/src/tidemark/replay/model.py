"""The result of a replay, as models: their JSON Schema documents `replay --json`."""

from __future__ import annotations

import datetime as dt

from pydantic import BaseModel, ConfigDict, Field

from tidemark.diff.model import Differences, TableDifference


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EntityReplay(_Model):
    """What a replay of one entity shows. Side A is the original, side B the replay."""

    entity: str = Field(description="The model")
    original: str = Field(description="Its table, as schema.table")
    replay: str = Field(description="The table of the clone, as schema.table")
    from_beginning: bool = Field(
        description="Whether the clone has a new log, which holds all dates up to the last one"
    )
    dates: list[dt.date] = Field(description="The business dates that were loaded again")
    equal: bool = Field(description="Whether versions and rows are equal")
    versions: TableDifference = Field(
        description="The versions of these dates: the rows in force of the log, by key and date"
    )
    rows: TableDifference = Field(description="The rows at the end of the last of these dates")


class Replay(_Model):
    """What would have changed."""

    clones: str = Field(description="The schema of the clones")
    equal: bool = Field(description="Whether every entity is equal")
    entities: list[EntityReplay]

    def differences(self) -> Differences:
        """Return the comparisons of all entities as those of one `diff`."""
        return Differences(
            a="original",
            b=f"replay in {self.clones}",
            equal=self.equal,
            tables=[table for one in self.entities for table in (one.versions, one.rows)],
            only_in_a=[],
            only_in_b=[],
            failed={},
        )
