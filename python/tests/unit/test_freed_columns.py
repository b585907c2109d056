"""What a table was made with and the YAML has no more: a NOT NULL is taken from it, another layout is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros import load_macros, warehouse_of
from tidemark.pipeline.tables import freed_columns
from tidemark.rules.drift import changed_layout, recorded_layout

Macros = dict[str, Any]
NAME = {"name": "Name", "type": "string", "not_null": True}


@pytest.fixture
def macros() -> Macros:
    return load_macros("expr", "log", "query", "load")


def opened(**recorded: Any) -> dict[str, Any]:
    held = {"file_format": "delta", "columns": [NAME], **recorded}
    return {"relations": {"current": "shop.t"}, "state": {"recorded": held}}


def test_freed_columns__are_asked_for_where_something_may_differ(macros: Macros) -> None:
    asked: list[str] = []

    def required_names(relation: str) -> list[str]:
        asked.append(relation)
        return ["Name"]

    macros["required_names"] = required_names
    free = {**NAME, "not_null": False}

    def freed(column: dict[str, Any], **recorded: Any) -> Any:
        asked.clear()
        roles = {"stored": [column]}
        return freed_columns(warehouse_of(macros), opened(**recorded), roles), len(asked)

    assert freed(NAME, marks_not_null=True) == ([], 0)
    assert freed(free, marks_not_null=True) == (["Name"], 1)
    # a column that the load has no more would be NULL in every row that comes
    assert freed({**NAME, "name": "other"}, marks_not_null=True) == (["Name"], 1)
    assert freed(free, marks_not_null=True, columns=[free]) == ([], 0)
    # earlier versions did not record it
    assert freed(NAME) == ([], 1)
    assert freed(free) == (["Name"], 1)


def test_required_names__are_those_that_a_plan_knows_never_to_be_null(macros: Macros) -> None:
    asked: list[str] = []

    def run_query(sql: str) -> list[tuple[str]]:
        asked.append(sql)
        return [
            ("Project [false AS tidemark_1#7, isnull(x) AS tidemark_2#8, false AS tidemark_10#9]",)
        ]

    macros["run_query"] = run_query
    macros["names_in"] = lambda _: [f"c{number}" for number in range(31)]
    macros["required_names"].context["run_query"] = run_query
    assert macros["required_names"]("shop.t") == ["c1", "c10", "c21", "c30"]
    assert len(asked) == 2 and asked[1].startswith("explain select isnull(`c20`) as tidemark_0, ")


def test_is_held__as_long_as_it_has_been_declared(macros: Macros) -> None:
    """Current made of the log again must take every row of that."""
    held = macros["is_held"]
    assert held(None, None)
    assert held({"marks_not_null": True}, NAME)
    assert not held({"marks_not_null": True}, {"name": "name"})
    assert not held({"marks_not_null": True}, None)
    assert not held({"marks_not_null": True}, {**NAME, "gone": True})
    # earlier versions did not record it
    assert held({}, {"name": "name"})


def test_changed_layout() -> None:
    cfg = {"partition_by": ["city"], "cluster_by": [], "table_properties": {"a": 1}}
    recorded = {"layout": recorded_layout(cfg)}
    assert changed_layout(cfg, recorded) == []
    assert changed_layout({**cfg, "partition_by": [], "cluster_by": ["city"]}, recorded) == [
        "partition_by",
        "liquid_clustered_by",
    ]
    assert changed_layout({**cfg, "table_properties": {"a": "2"}}, recorded) == ["tblproperties"]
    # nothing where an earlier version recorded none
    assert changed_layout({**cfg, "partition_by": []}, {}) == []
