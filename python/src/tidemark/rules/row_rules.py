"""Rules that stop a load, and messages about rows that do not meet them."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.printable import counted
from tidemark.shapes.load import Figures
from tidemark.shapes.settings import RowRule, Settings


def can_stop(cfg: Settings) -> bool:
    """Return whether a load may stop, as more rows fail a rule than may."""
    return any(rule["at_most"] is not None for rule in cfg.get("rules", []))


def broken_rules(cfg: Settings, counts: Mapping[str, int], figures: Figures) -> list[str]:
    """Return a sentence for each rule that more rows fail than may.

    Example:
        >>> rule = {"name": "positive", "check": "n > 0", "on_fail": "fail", "at_most": 0.0}
        >>> broken_rules({"rules": [rule]}, {"positive": 2}, {"rows_read": 10})
        ['positive (n > 0): 2 of 10 rows fail, and none may']

    Args:
        cfg: The settings of the entity.
        counts: How many rows fail, by the name of the rule.
        figures: What the load has counted.
    """
    read = _held(figures)
    return [
        f"{failing_rows(rule, counts, figures)}, and {_allowed(rule['at_most'])} may"
        for rule in cfg.get("rules", [])
        if rule["at_most"] is not None
        and counts.get(rule["name"], 0) > round(rule["at_most"] * read, 6)
    ]


def failing_rows(rule: RowRule, counts: Mapping[str, int], figures: Figures) -> str:
    """Return how many rows fail a rule."""
    read = _held(figures)
    failing = counts.get(rule["name"], 0)
    verb = "fails" if failing == 1 else "fail"
    of = f"{failing:,} of {counted(read, 'row')}"
    shown = rule.get("shown", rule["check"]).strip()
    return f"{rule['name']} ({shown}): {of} {verb}"


def _held(figures: Figures) -> int:
    """Return how many rows were read; of change events without messages of other tables."""
    return (figures.get("rows_read") or 0) - (figures.get("rows_ignored") or 0)


def _allowed(part: float) -> str:
    return f"at most {part * 100:g} %" if part else "none"
