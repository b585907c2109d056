"""What a load changes about the columns of a table that is there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros import load_macros, warehouse_of
from tidemark.errors import DataError
from tidemark.pipeline.extracts import columns_not_yet
from tidemark.rules.event_roles import check_known_columns


@pytest.mark.parametrize(
    ("file_format", "found", "before", "wanted", "changes"),
    [
        pytest.param("delta", "tinyint", "tinyint", "smallint", ["widened"], id="wider"),
        pytest.param("delta", "smallint", "tinyint", "smallint", [], id="a dead run widened it"),
        pytest.param("iceberg", "int", "tinyint", "smallint", [], id="Iceberg has it as int"),
        pytest.param("iceberg", "int", "smallint", "bigint", ["widened"], id="wider than int"),
        pytest.param("delta", None, None, "int", ["added"], id="new"),
        pytest.param("delta", "int", None, "int", [], id="left by a dead run"),
        pytest.param("delta", "int", None, "string", ["added", "left"], id="of another type"),
        pytest.param(
            "iceberg", "struct<a:int>", None, "struct<a:smallint>", [], id="left, as Iceberg has it"
        ),
        pytest.param(
            "delta", "struct<a:int>", None, "struct<a:smallint>", ["added", "left"], id="another one"
        ),
    ],
)  # fmt: skip
def test_changes_to_come(
    file_format: str, found: str | None, before: str | None, wanted: str, changes: list[str]
) -> None:
    column = {
        "name": "n",
        "type": wanted,
        "recorded_type": before,
        "sensitive": False,
        "key": False,
        "description": "",
    }
    roles: dict[str, Any] = {
        "columns": [column],
        "added": [] if before else [column],
        "keyed": True,
        "sensitive": False,
    }
    present = [{"name": "n", "type": found}] if found else []
    cfg = {"file_format": file_format}
    to_come = load_macros("plan", "log")["changes_to_come"](cfg, roles, "log", present)
    assert sorted(name for name, of in to_come.items() if of) == changes


@pytest.mark.parametrize(
    ("found", "declared", "recorded", "is_refused"),
    [
        # the end of a snapshot alone, as of a table that is empty
        ({}, [], None, True),
        ({}, [{"name": "id", "type": "int"}], None, False),
        ({"names": ["id"]}, [], None, False),
        ({"ddl": [{"name": "id", "type": "int"}]}, [], None, False),
        ({}, [], {"columns": []}, False),
    ],
)
def test_tables_of_a_key_alone_are_not_made(
    found: dict[str, Any], declared: list[Any], recorded: Any, is_refused: bool
) -> None:
    """Nothing tells the type of its columns, and it would stay what it is guessed to be."""
    cfg = {"entity": "orders", "table": "public.orders", "location": "x", "columns": declared}
    roles = {"columns": [{"name": "id", "type": "string"}]}
    found = {"names": [], "ddl": None, "arrived": None, **found}
    if not is_refused:
        check_known_columns(cfg, roles, found, recorded)
        return
    with pytest.raises(
        DataError, match=r"orders: no events of public\.orders have landed at x yet"
    ):
        check_known_columns(cfg, roles, found, recorded)


@pytest.mark.parametrize(
    ("date", "in_files", "not_yet"),
    [
        pytest.param("2026-01-02", ["id", "name"], ["email", "note"], id="JSON lacks them"),
        pytest.param("2026-01-02", ["id", "name", "Email"], ["note"], id="the file has one"),
        pytest.param("2026-01-02", [], ["email", "note"], id="a SELECT of tables"),
        pytest.param("2026-01-03", ["id"], [], id="the date on which they came"),
        pytest.param("2026-01-05", ["id"], [], id="a date to come"),
        pytest.param("2025-12-31", [], ["email", "note"], id="before all dates"),
    ],
)
def test_columns_not_yet__that_are_yielded_all_the_same(
    date: str, in_files: list[str], not_yet: list[str]
) -> None:
    """An extract of before a column came is none that lacks it, whether JSON or a SELECT yields it."""
    macros = load_macros("expr", "log", "query", "load")
    columns = [{"name": name, "role": "compared"} for name in ("id", "name", "Email", "note")]
    columns[0]["role"] = "key"
    loads = {
        "2026-01-01": {"columns": columns[:2]},
        "2026-01-02": {"columns": columns, "lacks": ["Email", "note"]},
        "2026-01-03": {"columns": columns},
    }
    macros["configs_until_sql"] = lambda states, relation, until: until
    macros["json_rows"] = lambda until: [had for day, had in loads.items() if day <= until]
    opened = {
        "cfg": {"columns": [], "relation": "shop.people"},
        "run": {"business_date": date},
        "commits": {"states": "states"},
        "state": {
            "recorded": {"columns": columns},
            "last_date": "2026-01-04",
            "previous_date": max((day for day in loads if day < date), default=None),
            "this_commit_id": 7 if date in loads else None,
            "later_loads": [{"business_date": day} for day in loads if day > date],
        },
    }
    source = {"columns": columns, "file_names": in_files}
    warehouse = warehouse_of(macros)
    assert columns_not_yet(warehouse, opened, source) == not_yet
    # what the first date has did not come after it
    loads["2026-01-01"] = {"columns": columns}
    assert columns_not_yet(warehouse, opened, source) == []
