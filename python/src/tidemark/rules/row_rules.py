"""Which rules stop a load, and what is said of those that rows do not meet."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.shapes.settings import RowRule, Settings


def broken_rules(cfg: Settings, counts: Mapping[str, int], read: int) -> list[str]:
    """Return a sentence for each rule that more rows fail than may.

    Example:
        >>> rule = {"name": "positive", "check": "n > 0", "on_fail": "fail", "at_most": 0.0}
        >>> broken_rules({"rules": [rule]}, {"positive": 2}, 10)
        ['positive (n > 0): 2 of 10 rows fail, and none may']

    Args:
        cfg: The settings of the entity.
        counts: How many rows fail, by the name of the rule.
        read: How many were read.
    """
    return [
        f"{failing_rows(rule, counts, read)}, and {_allowed(rule['at_most'])} may"
        for rule in cfg.get("rules", [])
        if rule["at_most"] is not None
        and counts.get(rule["name"], 0) > round(rule["at_most"] * read, 6)
    ]


def failing_rows(rule: RowRule, counts: Mapping[str, int], read: int) -> str:
    """Return how many rows fail a rule."""
    failing = counts.get(rule["name"], 0)
    verb = "fails" if failing == 1 else "fail"
    of = f"{failing:,} of {read:,} {'row' if read == 1 else 'rows'}"
    return f"{rule['name']} ({rule['check'].strip()}): {of} {verb}"


def _allowed(part: float) -> str:
    return f"at most {part * 100:g} %" if part else "none"
