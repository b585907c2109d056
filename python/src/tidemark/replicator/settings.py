"""How a source is operated: what capture passes on of `config.meta.tidemark.replicator`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tidemark.capture.config import CaptureConfig
from tidemark.errors import ConfigError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|d|seconds?|minutes?|hours?|days?)?")


def parse_duration(value: Any) -> float:
    """Return a duration in seconds.

    Example:
        >>> parse_duration("10m"), parse_duration(30), parse_duration("5 minutes")
        (600.0, 30.0, 300.0)

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    match = _DURATION.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"must be like 30s, 10 minutes, 2h or 1d, found: {value!r}")
    return float(match[1]) * _UNITS[(match[2] or "s")[0]]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ddl: dict[str, Literal["apply", "ignore", "fail"]] = Field(default_factory=dict)
    on_drop: Literal["keep", "drop"] = "keep"
    on_failure: Literal["isolate", "stop"] = "isolate"
    retry_for: float = 600.0
    freshness: float = 300.0
    objective: float = Field(default=99.0, gt=0, le=100)
    every: float = Field(default=10.0, gt=0)
    keep_landed: float = Field(default=7 * 86400.0, ge=3600)

    @field_validator("retry_for", "freshness", "every", "keep_landed", mode="before")
    @classmethod
    def _seconds(cls, value: Any) -> float:
        return parse_duration(value)


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
    retry_for: float = 600.0
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
            problems = "\n".join(
                f"  - {'.'.join(map(str, item['loc']))}: "
                + item["msg"].removeprefix("Value error, ")
                for item in error.errors()
            )
            raise ConfigError(
                f"source {config.source!r}, config.meta.tidemark.replicator:\n{problems}"
            ) from None
        ddl: dict[str, str] = dict(parsed.ddl)
        if parsed.on_drop == "drop":
            ddl = {"drop_table": "apply", "drop_database": "apply", **ddl}
        return cls(ddl, **parsed.model_dump(exclude={"ddl"}))
