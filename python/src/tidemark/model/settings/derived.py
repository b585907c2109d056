"""Settings of kept intervals and feeds."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tidemark.model.settings.constraints import Name, Retention


class Scd2Settings(BaseModel):
    """Settings of a `materialized: scd2` model."""

    model_config = ConfigDict(extra="forbid")

    entity: Name | None = Field(
        default=None,
        description=(
            "The cdc model whose history is kept as intervals. Needed only if the model refers "
            "to several."
        ),
    )
    valid_from: Name | None = Field(
        default=None,
        description=("The name in the body of the column where an interval begins: _valid_from."),
    )
    axes: list[Literal["business", "system"]] | None = Field(
        default=None,
        min_length=1,
        max_length=2,
        description=(
            "The times that a row has. `[business]` (default): when it holds. `[business, "
            "system]`: also which commits knew it (`_known_from` and `_known_to`). "
            "tidemark.scd2() in the body follows this setting."
        ),
    )


class FeedSettings(BaseModel):
    """Settings of a `materialized: feed` model."""

    model_config = ConfigDict(extra="forbid")

    feed_buckets: int = Field(
        default=1,
        ge=1,
        le=1024,
        description=(
            "The number of parts, by _key_hash, that the changes of a day have on disk. Take more "
            "for feeds that several runs or large commits write."
        ),
    )
    feed_retention: Retention | None = Field(
        default=None,
        description=(
            "How long changes stay in the feed's table, such as 30 days. `clean` removes older "
            "ones."
        ),
    )
