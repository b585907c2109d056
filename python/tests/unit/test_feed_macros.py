"""What macros of feeds find out without asking a table."""

from __future__ import annotations

import pytest

from tests.macros import load_macros

PULLS = {
    "both": [("a.orders", False), ("b.orders", False)],
    "one": [("a.orders", True), ("a.lines", True)],
    "joined_later": [("a.orders", True), ("b.orders", False)],
    "moved": [("a.orders", True), ("c.orders", True)],
}
"""Feeds, what they have read, and whether a run had no other one of that name."""


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
        # one after the other
        ("c.orders", "moved", ["c.orders", "orders"]),
        # what feeds of one of them are called in a feed on top
        ("a.orders", "next", ["a.orders", "orders"]),
        ("b.orders", "next", ["b.orders"]),
    ],
)
def test_names_in_feed(entity: str, table: str, names: list[str]) -> None:
    pairs = [
        {"relation": relation, "source_relation": source, "was_alone": was_alone}
        for relation, pulls in PULLS.items()
        for source, was_alone in pulls
    ]
    assert list(load_macros("operations")["names_in_feed"](pairs, entity, table)) == names
