"""The models of enriched events that the engine can load, judged by their configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_HOURS = {"minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0}


def why_not_enriched(cfg: Mapping[str, Any]) -> str | None:
    """Return why no batch of a model goes by the engine; None: some can.

    Example:
        >>> why_not_enriched({**cfg, "manifest_ttl": "6 months"})
        'manifest_ttl is 6 months, which are not of one length'

    Args:
        cfg: What atomic_config() returns.
    """
    if cfg.get("file_format", "delta") != "delta":
        return f"file_format is {cfg['file_format']}"
    for name, called in _SETTINGS.items():
        if cfg.get(name):
            return f"it has {called}"
    if not cfg.get("location"):
        return "it has no location"
    if micros_of(str(cfg["manifest_ttl"])) is None:
        return f"manifest_ttl is {cfg['manifest_ttl']}, which are not of one length"
    return None


_SETTINGS = {
    "partition_by": "partition_by",
    "cluster_by": "liquid_clustered_by",
    "table_properties": "tblproperties",
    "rules": "rules",
}


def micros_of(length: str) -> int | None:
    """Return a length of time in microseconds; None of months and years.

    Example:
        >>> micros_of("2 hours"), micros_of("1 month")
        (7200000000, None)
    """
    found = re.fullmatch(r"([0-9]+) ([a-z]+?)s?", length)
    if found is None or found[2] not in _HOURS:
        return None
    return round(int(found[1]) * _HOURS[found[2]] * 3_600_000_000)
