"""Durations of settings."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.durations import parse_duration


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30s", 30),
        ("10m", 600),
        ("5 minutes", 300),
        ("2 hours", 7200),
        ("2h", 7200),
        ("1 day", 86400),
        ("1d", 86400),
        ("7", 7),
        (" 1.5 h ", 5400),
        (5, 5),
    ],
)
def test_duration(value: Any, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize("value", ["soon", "10 months", "10minits", "-1s", -1, True, None, ""])
def test_duration__is_none(value: Any) -> None:
    with pytest.raises(ValueError, match="must be like 30s, 10 minutes, 2h or 1d, found: "):
        parse_duration(value)
