"""The retention that holds for one call: how long an entity keeps its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.model.given import retention as checked_length
from tidemark.model.logged import retention_problems
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean
from tidemark.shapes.settings import Loaded


def retention_lengths(cfg: Loaded, given: Any) -> dict[str, str]:
    """Return the lengths that hold for this call, without those that keep all.

    Example:
        >>> retention_lengths(cfg, {"superseded": "30 days"})
        {'superseded': '30 days'}

    Raises:
        ConfigError: One is none, or the entity keeps nothing of the kind.
    """
    errors: list[str] = []
    lengths = {}
    if not isinstance(given, Mapping):
        errors.append(
            f"retention must be a mapping such as {{superseded: 30 days}}, found: {given}"
        )
        given = {}
    for name in given:
        if name not in cfg["retention"]:
            hint = did_you_mean(name, list(cfg["retention"]))
            errors.append(f"retention.{name} is not kept by this entity{hint}")
    for name, usual in cfg["retention"].items():
        is_given = name in given
        length = checked_length(given[name], f"retention.{name}", errors) if is_given else usual
        if length is not None:
            lengths[name] = length
    errors += retention_problems(cfg, lengths)
    raise_problems(cfg["entity"], errors)
    return lengths
