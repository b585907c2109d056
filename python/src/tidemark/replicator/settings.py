"""How a source is operated: the part of `config.meta.tidemark.replicator` that is not capture's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tidemark.capture.config import RETRY_FOR, CaptureConfig, problems_of
from tidemark.durations import parse_duration
from tidemark.errors import ConfigError
from tidemark.model.settings import DdlPolicies


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ddl: DdlPolicies = Field(default_factory=DdlPolicies)
    on_drop: Literal["keep", "drop"] = "keep"
    on_failure: Literal["isolate", "stop"] = "isolate"
    freshness: float = 300.0
    objective: float = Field(default=99.0, gt=0, le=100)
    every: float = Field(default=10.0, gt=0)
    keep_landed: float = 7 * 86400.0

    @field_validator("freshness", "every", mode="before")
    @classmethod
    def _seconds(cls, value: Any) -> float:
        return parse_duration(value)

    @field_validator("keep_landed", mode="before")
    @classmethod
    def _at_least_an_hour(cls, value: Any) -> float:
        seconds = parse_duration(value)
        if seconds < 3600:
            raise ValueError(f"must be at least 1 hour, found: {value!r}")
        return seconds


@dataclass(frozen=True)
class Operation:
    """How a source is operated.

    Attributes:
        ddl: Policies of DDL events for new models; see `ddl` of an events model.
        on_drop: What becomes of the copy of a table that is dropped.
        on_failure: Whether one failing table leaves the others alone.
        retry_for: For how many seconds a failing table is tried again.
        freshness: How many seconds a copy may be behind.
        objective: For what share of the time it is to be no more behind than that, in percent.
        every: Seconds from one application of what has landed to the next.
        keep_landed: For how many seconds landing files are kept that every table has applied.
    """

    ddl: dict[str, str] = field(default_factory=dict)
    on_drop: str = "keep"
    on_failure: str = "isolate"
    retry_for: float = RETRY_FOR
    freshness: float = 300.0
    objective: float = 99.0
    every: float = 10.0
    keep_landed: float = 7 * 86400.0

    @classmethod
    def of(cls, config: CaptureConfig) -> Operation:
        """Return the settings of a source.

        Example:
            >>> Operation.of(config).freshness
            300.0

        Raises:
            ConfigError: They have errors; the message lists all.
        """
        try:
            parsed = _Settings.model_validate(dict(config.operating))
        except ValidationError as error:
            problems = "\n".join(f"  - {problem}" for problem in problems_of(error))
            raise ConfigError(
                f"correct config.meta.tidemark.replicator of source {config.source!r}:\n{problems}"
            ) from None
        ddl = parsed.ddl.model_dump(exclude_unset=True)
        if parsed.on_drop == "drop":
            ddl = {"drop_table": "apply", "drop_database": "apply", **ddl}
        return cls(ddl, retry_for=config.retry_for, **parsed.model_dump(exclude={"ddl"}))
