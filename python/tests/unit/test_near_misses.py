"""Files that lie where extracts land and that no location finds."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from tidemark.read.near_misses import describe_misses, near_misses

FOURTH = dt.date(2026, 3, 4)


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("in/a_{yyyy}{mm}{dd}.csv", ["a_2026-03-04.csv", "a_20260304.csv.gz", "a_20260304_2.csv"]),
        ("in/a_{yyyy}{mm}{dd}*.csv", ["a_2026-03-04.csv", "a_20260304.csv.gz"]),
        ("in/a_{yyyy}{mm}{dd}*", ["a_2026-03-04.csv"]),
        ("in/a_{yyyy}{mm}{dd}{,_?}.csv", ["a_2026-03-04.csv", "a_20260304.csv.gz"]),
        ("in/a_{yyyy}{mm}{dd}_[1-3].csv", ["a_2026-03-04.csv", "a_20260304.csv", "a_20260304.csv.gz"]),
        ("in/A_{business_date}.csv", ["a_20260304.csv", "a_20260304.csv.gz", "a_20260304_2.csv"]),
        ("in/**/a_{business_date}.csv", []),
        ("in/none_{business_date}.csv", []),
        ("nowhere/a_{business_date}.csv", []),
        ("s3a://lake/a_{business_date}.csv", []),
        ("in/a.csv", []),
        (None, []),
    ],
)  # fmt: skip
def test_near_misses(tmp_path: Path, location: str | None, found: list[str]) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a_20260304.csv", "a_20260304_2.csv", "a_2026-03-04.csv", "a_20260304.csv.gz",
                 "a_lines_20260304.csv", "a_readme.csv", "_a_20260304.csv"):  # fmt: skip
        (tmp_path / "in" / name).touch()
    left = [name for name in found if not (location or "").startswith("in/A_") or name]
    if location == "in/A_{business_date}.csv":
        left = ["a_2026-03-04.csv", *left]
    misses = near_misses(tmp_path, location)
    assert misses == ({FOURTH: left} if left else {})


def test_near_misses__of_a_closed_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder that this user may not look into does not end a look at all entities."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a_20260304_2.csv").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "in")
    assert near_misses(tmp_path, "in/a_{business_date}.csv") == {}


def test_near_misses__in_folders_of_a_date_and_not_those_of_others(tmp_path: Path) -> None:
    for day in ("20260303", "20260304"):
        folder = tmp_path / day
        folder.mkdir(parents=True)
        for name in ("orders.csv", "orders_2.csv", "orders-old.csv", "customers.csv"):
            (folder / name).touch()
    location, other = (f"{{yyyy}}{{mm}}{{dd}}/orders{end}.csv" for end in ("", "-old"))
    found = near_misses(tmp_path, location, [other, None, "s3a://lake/x"])
    assert found == {dt.date(2026, 3, 3): ["orders_2.csv"], FOURTH: ["orders_2.csv"]}
    assert describe_misses(found, location) == (
        f"orders_2.csv, orders_2.csv lie there, which location {location} does not match"
    )
