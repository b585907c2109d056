"""Durations as settings have them: `30s`, `10 minutes`, `2h`, `1d`, or seconds."""

from __future__ import annotations

import re
from typing import Any

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
