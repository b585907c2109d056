"""Settings of enriched events and their entities."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tidemark.model.settings.constraints import (
    FINGERPRINT_IGNORE,
    DeduplicationStep,
    MaxRejectFraction,
    Name,
    Names,
    Retention,
)
from tidemark.model.settings.row_rules import RULES, RowRule
from tidemark.model.settings.unit_tests import UNIT_TESTS, UnitTest


class AtomicSettings(BaseModel):
    """Settings of a `materialized: atomic` model."""

    model_config = ConfigDict(extra="forbid")

    location: Name | None = Field(
        default=None,
        description=(
            "Files of enriched events (canonical TSV or self-describing JSON lines): a folder or "
            "glob, perhaps with {business_date}. Left out: the model's SQL gives the events. It "
            "yields lines (value), or rows with the canonical columns and perhaps _reject_reason "
            "and _raw_payload. All of them are one batch."
        ),
    )
    deduplicate: list[DeduplicationStep] | DeduplicationStep = Field(
        default=[
            "natural_in_batch",
            "natural_cross_batch",
            "synthetic_in_batch",
            "synthetic_cross_batch",
        ],
        description=(
            "Which steps of de-duplication are taken. natural: copies of an event (same id, same "
            "fingerprint) are left out. synthetic: events that share an id get new ones. []: "
            "none. Without natural_cross_batch a file that changes after it was read stops the "
            "run."
        ),
    )
    fingerprint_ignore: Names = Field(
        default=FINGERPRINT_IGNORE,
        description=(
            "Columns in which two deliveries of one event may differ. If an event has no "
            "fingerprint, one is computed without these columns."
        ),
    )
    manifest: Name | None = Field(
        default=None,
        description=(
            "Table of the events that were loaded, if several models share one: name or "
            "schema.name. Left out: <model>__manifest."
        ),
    )
    manifest_ttl: Retention = Field(
        default="180 days",
        description=(
            "How long, in etl time, copies of an event are recognised across batches. Without "
            "location each run has all events again, so they are always recognised."
        ),
    )
    on_reject: Literal["fail", "quarantine"] = Field(
        default="quarantine",
        description=(
            "What happens to lines that cannot be read. quarantine: they go to <model>__rejects, "
            "and the load goes on. fail: the load stops before anything is written."
        ),
    )
    max_reject_fraction: MaxRejectFraction = 0.5
    rejects_retention: Retention | None = Field(
        default=None, description=("How long `clean` keeps rejected lines. Left out: always.")
    )
    engine: Literal["auto", "spark", "workers"] | None = Field(
        default=None,
        description=(
            "The engine that reads the lines. spark: Spark SQL, which can do everything. "
            "workers: DuckDB in Spark's workers, which is faster, if the result is the same. "
            "Otherwise Spark SQL does it, and the console says why. auto: the same, but only the "
            "log says why. Left out: the var tidemark__engine, or auto."
        ),
    )
    rules: list[RowRule] = Field(default=[], description=RULES)
    unit_tests: list[UnitTest] = Field(default=[], description=UNIT_TESTS)


class ShredSettings(BaseModel):
    """Settings of a `materialized: shred` model."""

    model_config = ConfigDict(extra="forbid")

    registry: Name | None = Field(
        default=None,
        description=(
            "Folder of JSON Schemas, vendor/name/format/version. Data is checked against them. "
            "They also give the columns that the YAML does not declare."
        ),
    )
    on_reject: Literal["fail", "quarantine"] = Field(
        default="quarantine",
        description=(
            "What happens to data that does not match. quarantine: it goes to <model>__rejects, "
            "and the load goes on. fail: the load stops before anything is written."
        ),
    )
    max_reject_fraction: MaxRejectFraction = 0.5
    rejects_retention: Retention | None = Field(
        default=None, description=("How long `clean` keeps rejected data. Left out: always.")
    )
