"""What `--empty` makes of a source that is not there yet, or of columns that no YAML tells."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros import load_macros, warehouse_of
from tidemark.errors import DataError
from tidemark.pipeline import events_batch, events_source, extracts_source
from tidemark.rules.event_roles import check_known_columns

NO_SETTINGS = {
    "keys": ["Id"], "ignore": [], "sensitive": [], "partition_by": [], "cluster_by": [],
    "effective_from": None, "columns": [], "target": "shop.people",
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "recorded", "columns"),
    [
        pytest.param({}, None, ["string `Id`"], id="the key alone is known"),
        pytest.param(
            {
                "columns": [
                    {"name": "ID", "data_type": "int"},
                    {"name": "name", "data_type": None},
                ],
                "ignore": ["seen"],
                "effective_from": "Since",
                "partition_by": ["city", "_business_date"],
            },
            None,
            ["int `ID`", "string `name`", "string `seen`", "timestamp `since`", "string `city`"],
            id="settings",
        ),
        pytest.param(
            {"columns": [{"name": "total", "data_type": "double"}]},
            [
                {"name": "id", "type": "int"},
                {"name": "total", "type": "int"},
                {"name": "zip", "type": "bigint"},
                {"name": "fax", "type": "string", "dropped": True},
            ],
            ["double `total`", "int `Id`", "bigint `zip`"],
            id="the last load",
        ),
    ],
)
def test_no_extract(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], recorded: Any, columns: list[str]
) -> None:
    macros = load_macros("expr", "log", "query", "load")
    made: list[str] = []
    macros["run_view"] = lambda *_: "view"
    monkeypatch.setattr(extracts_source, "make_view", lambda _, view, sql: made.append(sql))
    extracts_source.make_empty_extract_view(
        warehouse_of(macros),
        {**NO_SETTINGS, **settings},
        {"columns": recorded} if recorded else None,
    )
    terms = [f"cast(null as {kind}) as {name}" for kind, name in map(str.split, columns)]
    assert made == [f"select {', '.join(terms)} where false"]


ROW = {
    "_kind": "row", "_first_num": 1, "_row_count": 2, "_schema_id": None, "_problem": None,
    "_after_shapes": '[["id", "name"]]', "_before_shapes": "[]",
}  # fmt: skip
OTHER = {**ROW, "_kind": "other"}


@pytest.mark.parametrize(
    ("figures", "columns", "first", "parts"),
    [
        pytest.param([ROW], [], True, ["all"], id="events tell the columns"),
        pytest.param([OTHER], [], True, [], id="nothing tells them"),
        pytest.param(None, [{"name": "id"}], True, ["all"], id="the YAML does"),
        pytest.param(None, [], False, ["all"], id="the tables do"),
    ],
)
def test_no_events_are_loaded(
    monkeypatch: pytest.MonkeyPatch, figures: Any, columns: list[Any], first: bool, parts: list[str]
) -> None:
    """With --empty events are looked at only for columns that nothing else tells."""
    macros = load_macros("expr", "log", "query", "events", "load")
    landing = {"columns": None, "events": "events", "line_num": "1", "in_files": True, "files": [1]}
    for name, stub in {
        "lands_in_files": lambda *_: True,
        "files_to_read": lambda *_: [1],
        "lines_of_workers": lambda *_: None,
        "land_events": lambda *_: landing,
        "reorders_ties": lambda *_: False,
        "stretches_of": lambda batch: ["all"],
    }.items():
        monkeypatch.setattr(events_source, name, stub)
    for name, stub in {
        "tables_of": lambda *_: ["shop.people"],
        "identified_by": lambda *_: [],
        "_make_events_view": lambda *_: None,
    }.items():
        monkeypatch.setattr(events_batch, name, stub)
    # an error where nothing is to be asked
    macros["query_rows"] = lambda _: list(figures)
    opened = {
        "cfg": {
            "entity": "people", "table": "shop.people", "columns": columns, "location": "landing",
            "sequence_by": [], "ddl": {"truncate_table": "fail"},
        },
        "run": {"empty": True},
        "state": {"first": first, "recorded": None if first else {"columns": [], "source": {}}},
    }  # fmt: skip
    source = events_source.source_events(warehouse_of(macros), opened, "body")
    assert source["parts"] == parts
    if figures == [ROW]:
        assert source["batch"]["names"] == ["id", "name"]


def test_lines_that_cannot_be_read_are_told() -> None:
    """Of a first batch without a row nothing tells the columns: the message says what there is."""
    cfg = {"entity": "orders", "table": "shop.orders", "location": "landing", "columns": []}
    found = {"names": [], "ddl": None, "arrived": None, "unreadable": ["no JSON: 3"]}
    with pytest.raises(DataError) as told:
        check_known_columns(cfg, {"columns": ["id"]}, found, None)
    assert (
        "orders: no events of shop.orders have landed at landing yet, and the YAML declares no "
        "columns. Declare the columns, or wait for the first event. There are lines that "
        "cannot be read: no JSON: 3"
    ) in str(told.value)
