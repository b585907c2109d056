"""What holds of the commits of an entity, and which loads are needed, as macros find out from its timeline."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros import load_macros


@pytest.fixture(scope="module")
def macros() -> dict[str, Any]:
    return load_macros("load")


def timeline(*steps: str | int) -> list[dict[str, Any]]:
    """Commits 1, 2, …: a date is a load of it, a number a rollback to that commit."""
    return [
        {
            "commit_id": number,
            "kind": "rollback" if isinstance(step, int) else "load",
            "business_date": None if isinstance(step, int) else step,
            "source_commit_id": step if isinstance(step, int) else None,
        }
        for number, step in enumerate(steps, 1)
    ]


@pytest.mark.parametrize(
    ("steps", "horizon", "needed"),
    [
        pytest.param(("d1", "d2", "d1"), 3, [2, 3], id="a date again"),
        pytest.param(("d1", "d2", "d1"), 2, [1, 2], id="again only later"),
        pytest.param(("d1", "d2", 1), 2, [1, 2], id="undone later, can hold again"),
        pytest.param(("d1", "d2", 1), 3, [1], id="undone by then"),
        pytest.param(("d1", "d1", 1), 2, [1, 2], id="the first holds again later"),
        pytest.param(("d1", "d1", 1), 3, [1], id="the first holds again"),
        pytest.param(("d1", "d2", 1, 2), 4, [1, 2], id="undone and made to hold again"),
        pytest.param(("d1", "d2", "d3", 1, 3), 2, [1, 2], id="back and forth later"),
        pytest.param(("d1", "d2", "d3", 2, "d2"), 3, [1, 2, 3], id="of later loads nothing"),
    ],
)
def test_last_loads(
    macros: dict[str, Any], steps: tuple[str | int, ...], horizon: int, needed: list[int]
) -> None:
    assert list(macros["last_loads"](timeline(*steps), horizon)) == needed
