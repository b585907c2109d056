"""What macros of feeds find out without asking a table."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from tests.macros import ROOT, SQL_FOLDERS, callable_macros, load_macros, warehouse_of
from tests.rendering import load_sql_macros
from tidemark.operations.erase_key import names_in_feed
from tidemark.pipeline import feeds
from tidemark.sessions.contract import crossed

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
    assert names_in_feed(pairs, entity, table) == names


@pytest.mark.parametrize(
    ("source", "known", "of_entity"),
    [
        pytest.param("shop.orders", ["shop.orders"], None, id="one entity"),
        pytest.param("shop.orders_feed", ["shop.orders_feed"], None, id="a feed of one entity"),
        pytest.param("shop.orders", [], None, id="the first run"),
        pytest.param("shop.orders", ["shop.lines", "shop.orders"], "shop.orders", id="of several before"),
    ],
)  # fmt: skip
def test_unrecorded_rows__of_one_source(
    monkeypatch: pytest.MonkeyPatch, source: str, known: list[str], of_entity: str | None
) -> None:
    """Whatever `_entity` says they are found, unless the feed keeps rows of another source."""
    macros = load_macros(*SQL_FOLDERS, "load")
    monkeypatch.setitem(macros, "run_query", lambda sql: [(one,) for one in known])
    monkeypatch.setitem(macros, "has_rows", lambda *_: True)
    pull: dict[str, Any] = {"source": source, "from": 7, "to": 9, "late": [], "read": None}
    state = {
        "pulls": [pull],
        "columns": [{"name": "_commit_id"}, {"name": "_entity"}],
        "is_news": True,
        "build": False,
    }
    cfg = {"relation": "shop.kept"}
    warehouse = warehouse_of(macros)
    found = feeds.unrecorded_rows(warehouse, cfg, "shop.kept", {"states": "states"}, state)
    assert found["unrecorded"]
    assert ("_entity in (" in found["others"]) == (of_entity is not None)
    assert (of_entity or "") in found["others"]


def test_ends__are_no_repeats() -> None:
    """A reader goes on from there, and commits of a promoted clone may come in front of a repeat."""
    macros, db = load_sql_macros(), duckdb.connect()
    db.execute("""
        create table states as
        select 's.t' as relation, 'completed' as state, date '2026-01-01' as business_date, '{}' as config,
            null::bigint as undone_by, null::bigint as source_commit_id, commit_id, kind, moment as started_at,
            moment as completed_at, moment as state_at
        from (
            select *, make_timestamp(2026, 1, commit_id, 0, 0, 0) as moment
            from (values (1, 'load'), (2, 'rollback'), (3, 'repeat')) as t (commit_id, kind)
        )""")
    sql = crossed(macros["unit_ends_sql"]("states", ["s.t"]))
    assert db.execute(sql).fetchall() == [("s.t", 2)]


@pytest.mark.parametrize(
    ("kind", "materialized", "is_later"),
    [("model", "view", True), ("model", "feed", False), ("sql_operation", "view", False)],
)
def test_is_read_later(kind: str, materialized: str, is_later: bool) -> None:
    """An inline query has dbt's settings of a view."""
    source = (ROOT / "macros/read/feed/feed_range.sql").read_text(encoding="utf-8")
    macros, context = callable_macros({"is_read_later": source})
    context["model"] = {"resource_type": kind, "config": {"materialized": materialized}}
    assert macros["is_read_later"]() is is_later
