"""What stands under `config` of a model, by its materialization."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tidemark.model.settings.constraints import (
    FEED_HAS_ITS_LAYOUT,
    KEY_BY_EXTRACT,
    ONE_LAYOUT,
    Name,
    Names,
)
from tidemark.model.settings.derived import FeedSettings, Scd2Settings
from tidemark.model.settings.enriched import AtomicSettings, ShredSettings
from tidemark.model.settings.events import EventSettings
from tidemark.model.settings.extracts import ExtractSettings


class TidemarkModelConfig(BaseModel):
    """dbt's own keys that mean the same for all of Tidemark's materializations; others are free."""

    model_config = ConfigDict(extra="allow")

    file_format: Literal["delta", "iceberg"] = Field(
        default="delta",
        description=(
            "Format of the model's tables. If the var tidemark__commits_format is iceberg, all "
            "models are iceberg."
        ),
    )
    partition_by: Names = Field(
        default=[],
        description="Columns that partition the current table (its log always is, by date).",
    )
    liquid_clustered_by: Names = Field(
        default=[],
        description="Columns that cluster the current table (Delta); instead of partition_by.",
    )
    clustered_by: Names = Field(
        default=[], description="Columns that bucket the current table; needs dbt's `buckets` too."
    )
    tags: Names = Field(
        default=[], description="dbt tags, for selection: `dbt run --select tag:daily`."
    )
    grants: dict[str, Names] | None = Field(
        default=None, description="dbt grants: privilege → grantees."
    )


class CdcMeta(BaseModel):
    """dbt's `meta` of a cdc model: `tidemark` is ours, all else is free."""

    tidemark: ExtractSettings | EventSettings = Field(
        discriminator="extract", description="Settings of change data capture."
    )


class CdcConfig(TidemarkModelConfig):
    """`config` of a `materialized: cdc` model."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"allOf": [ONE_LAYOUT, KEY_BY_EXTRACT]},
    )

    materialized: Literal["cdc"]
    unique_key: Name | Annotated[list[Name], Field(min_length=1)] | None = Field(
        default=None,
        description=(
            "The column, or the list of columns, that identifies a row. Change events need none: "
            "then equal rows are counted."
        ),
    )
    meta: CdcMeta = Field(description="Tidemark's settings stand under `tidemark`.")


class Scd2Meta(BaseModel):
    """dbt's `meta` of an scd2 model."""

    tidemark: Scd2Settings = Field(
        default_factory=Scd2Settings, description="Settings of validity intervals."
    )


class Scd2Config(TidemarkModelConfig):
    """`config` of a `materialized: scd2` model."""

    materialized: Literal["scd2"]
    meta: Scd2Meta = Field(
        default_factory=Scd2Meta, description="Tidemark's settings stand under `tidemark`."
    )


class FeedMeta(BaseModel):
    """dbt's `meta` of a feed model."""

    tidemark: FeedSettings = Field(
        default_factory=FeedSettings, description="Settings of a kept feed."
    )


class FeedConfig(TidemarkModelConfig):
    """`config` of a `materialized: feed` model."""

    model_config = ConfigDict(extra="allow", json_schema_extra=FEED_HAS_ITS_LAYOUT)

    materialized: Literal["feed"]
    meta: FeedMeta = Field(
        default_factory=FeedMeta, description="Tidemark's settings stand under `tidemark`."
    )


class AtomicMeta(BaseModel):
    """dbt's `meta` of an atomic model."""

    tidemark: AtomicSettings = Field(
        default_factory=AtomicSettings, description="Settings of enriched events."
    )


class AtomicConfig(TidemarkModelConfig):
    """`config` of a `materialized: atomic` model."""

    materialized: Literal["atomic"]
    meta: AtomicMeta = Field(
        default_factory=AtomicMeta, description="Tidemark's settings stand under `tidemark`."
    )


class ShredMeta(BaseModel):
    """dbt's `meta` of a shred model."""

    tidemark: ShredSettings = Field(
        default_factory=ShredSettings, description="Settings of the entities of one schema."
    )


class ShredConfig(TidemarkModelConfig):
    """`config` of a `materialized: shred` model."""

    materialized: Literal["shred"]
    meta: ShredMeta = Field(
        default_factory=ShredMeta, description="Tidemark's settings stand under `tidemark`."
    )
