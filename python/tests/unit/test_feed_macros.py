"""What macros of feeds find out without asking a table."""

from __future__ import annotations

import pytest

from tests.macros import load_macros

PULLS = {
    "both": [("a.orders", 1), ("b.orders", 1)],
    "one": [("a.orders", 1), ("a.lines", 1)],
    "joined_later": [("a.orders", 1), ("b.orders", 2)],
}
"""Feeds, and since when they have read what."""


@pytest.mark.parametrize(
    ("entity", "table", "names"),
    [
        ("a.orders", "both", ["a.orders"]),
        ("b.orders", "both", ["b.orders"]),
        ("a.orders", "one", ["a.orders", "orders"]),
        ("a.lines", "one", ["a.lines", "lines"]),
        # it had the name for itself at first
        ("a.orders", "joined_later", ["a.orders", "orders"]),
        ("b.orders", "joined_later", ["b.orders"]),
        # what feeds of one of them are called in a feed on top
        ("a.orders", "next", ["a.orders", "orders"]),
        ("b.orders", "next", ["b.orders"]),
    ],
)
def test_names_in_feed(entity: str, table: str, names: list[str]) -> None:
    pairs = [
        {"relation": relation, "source_relation": source, "began_micros": began}
        for relation, pulls in PULLS.items()
        for source, began in pulls
    ]
    assert list(load_macros("operations")["names_in_feed"](pairs, entity, table)) == names
