"""What is made of a batch of change events before its rows are read. No JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros import SQL_FOLDERS, MacroWarehouse, load_macros, warehouse_of
from tidemark.errors import ConfigError, DataError
from tidemark.pipeline import (
    events_batch,
    events_derive,
    events_moves,
    events_roles,
    events_source,
    events_workers,
)
from tidemark.rules import batches
from tidemark.rules import event_roles as rules
from tidemark.rules.event_roles import names_to_come

Macros = dict[str, Any]


@pytest.fixture(scope="module")
def loaded() -> Macros:
    return load_macros(*SQL_FOLDERS)


@pytest.fixture
def macros(loaded: Macros) -> Iterator[Macros]:
    """Those of a load, which a test may put others in the place of."""
    as_loaded = dict(loaded)
    yield loaded
    loaded.clear()
    loaded.update(as_loaded)


def inline_schema(*names: str) -> str:
    """The text of a schema of these columns, of which `status` has a default."""
    default = {"status": {"default": "new"}}
    fields = [{"field": name, "type": "string", **default.get(name, {})} for name in names]
    return json.dumps({"fields": [{"field": "after", "fields": fields}]})


def of_workers(macros: Macros, told: list[str], schemas: dict[str, str], **figures: int) -> Any:
    """What events_of_workers() makes of a batch: the names that have come with it, or why Spark has to.

    The table has `id`, and `status` since it was declared; `told` has come before.
    """
    columns = [
        {"name": name, "type": "string", "data_type": "string", "role": "value", "gone": False}
        for name in ("id", "status")
    ]
    recorded = {
        "columns": columns,
        "marks_rejects": True,
        "soft_delete": False,
        "source": {"told": told, "identifying": []},
    }
    plan_columns = [
        {
            **column,
            "recorded_type": "string",
            "key": column["name"] == "id",
            "sources": [column["name"]],
            "default": {"text": "new", "encoding": "text"}
            if schemas and column["name"] == "status"
            else None,
        }
        for column in columns
    ]
    roles = {
        "columns": plan_columns,
        "keys": plan_columns[:1],
        "gone": [],
        "added": [],
        "recorded": {"source": {"told": [], "has_moves": False}},
    }
    cfg = {
        "entity": "orders", "format": "debezium", "columns": columns, "keys": ["id"], "ignore": [],
        "sequence_by": [], "soft_delete": False, "write_mode": "copy_on_write",
    }  # fmt: skip
    opened = {
        "cfg": cfg,
        "run": {"business_date": None, "full_refresh": False},
        "state": {"first": False, "recorded": recorded, "log_version": 1, "last_id": 1, "last_commit_id": 1},
        "relations": {},
    }  # fmt: skip
    figures = {"rows_read": 2, "rows_ignored": 0, "has_moves": 0, "has_whole_rows": 1, **figures}
    staged = SimpleNamespace(figures=figures, of_table="")
    prefiltered = SimpleNamespace(schemas=schemas, has_schemaless=not schemas, files=[])
    workers = {"prefilter_events": lambda *_: prefiltered, "stage_events": lambda *_: staged}
    warehouse = warehouse_of({**macros, "run_query": lambda _: [(False,)]}, **workers)
    stubs = {
        "roles_of_stretch": lambda *_: roles,
        "tables_of": lambda *_: ["orders"],
        "reorders_ties": lambda *_: False,
        "freed_columns": lambda *_: [],
        "of_engine": lambda *_: [],
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, stub in stubs.items():
            patch.setattr(events_workers, name, stub)
        patch.setattr(events_roles, "is_retagged", lambda *_: False)
        lines = events_workers._opened_lines(warehouse, opened, [{}])
        assert not isinstance(lines, str)
        batch = events_workers._batch_to_come(warehouse, opened, lines["prefiltered"])
        assert not isinstance(batch, str)
        found = events_workers._stage_in_workers(warehouse, opened, [{}], lines, batch)
    return found if isinstance(found, str) else found["roles"]["recorded"]["source"]["told"]


def test_events_of_workers__a_column_with_default_that_is_new_at_the_source(macros: Macros) -> None:
    """The rows that stand are to have the default; Spark gives it to them."""
    schema = {"x": inline_schema("id", "status")}
    assert of_workers(macros, ["id"], schema) == "a column with a default is new at the source"
    assert of_workers(macros, ["id", "status"], schema) == ["id", "status"]


def test_events_of_workers__columns_that_came(macros: Macros) -> None:
    """Where no schema tells them, the images do, not the YAML."""
    assert of_workers(macros, [], {}) == ["id", "status"]
    assert of_workers(macros, [], {}, has_whole_rows=0) == ["id"]
    assert of_workers(macros, [], {}, has_whole_rows=0, rows_ignored=2) == []
    assert of_workers(macros, ["a"], {}, has_whole_rows=0) == ["a", "id"]


def test_statements_of__that_come_twice(macros: Macros) -> None:
    """A batch may have a delivery and its repetition; one statement on several tables has one place in the source."""

    def message(place: str, name: str, ddl: str, *columns: str, **table: Any) -> dict[str, Any]:
        told = {"columns": [{"name": column, "typeName": "INT"} for column in columns]}
        change = {
            "type": "ALTER",
            "id": f'"shop"."{name}"',
            "table": told if columns else None,
            **table,
        }
        return {
            "_landing_num": 1, "_sequence_num": 1, "_event_time": None, "_event_id": place, "_operation": None, "_is_snapshot": False,
            "_is_captured": False, "_ddl": ddl, "_ddl_database": "shop", "_table_changes": json.dumps([change]),
        }  # fmt: skip

    add = message("1", "orders", "alter table orders add column b int default 5", "id", "b")
    drop = message("2", "orders", "drop table orders", type="DROP")
    swap = "rename table orders to orders_old, orders_new to orders"
    aside, copy = message("3", "orders_old", swap, "id"), message("3", "orders", swap, "id", "b")
    policies = ("add_column", "drop_column", "drop_table", "rename_table")
    cfg = {
        "entity": "orders", "columns": [], "keys": [], "previous_names": {}, "file_format": "delta",
        "ddl": dict.fromkeys((*policies, "rename_column"), "apply"),
    }  # fmt: skip

    def statements(*messages: dict[str, Any], known: tuple[str, ...] = ()) -> list[str]:
        macros["query_rows"] = lambda _: messages
        macros["run_query"] = lambda _: [(one,) for one in known]
        batch = {"tables": ["shop.orders"], "named": [], "followed": [], "source_columns": [{"name": "id", "type": "int"}], "refused": [], "renames": {}}  # fmt: skip
        opened = {"cfg": cfg, "state": {"first": not known}, "relations": {"log": "log"}}
        warehouse = warehouse_of(macros)
        found = events_batch.statements_of(warehouse, opened, {"events": "events"}, batch)
        return [f"{one['event_id']} {one['operation']}" for one in found]

    assert statements(add, drop, add, drop) == ["1 ALTER_TABLE", "2 TRUNCATE"]
    assert statements(add, drop, add, drop, known=("1",)) == ["2 TRUNCATE"]
    assert statements(aside, copy, aside, copy) == ["3 RENAME_TABLE", "3 ALTER_TABLE"]


def test_with_values__that_are_none(macros: Macros) -> None:
    """A default that the column cannot have is told: a fill with NULL does nothing."""
    told: list[str] = []
    macros["warn"] = lambda _, text: told.append(text)
    macros["run_query"] = lambda sql: [("'x'" in sql,)]
    roles = {"columns": [{"name": "n", "type": "int", "key": False}]}
    fills = [{"column": "n", "default": text, "encoding": "number"} for text in ("1", "x")]
    opened = {"cfg": {"entity": "orders"}, "run": {}}
    found = events_roles.with_values(warehouse_of(macros), opened, roles, fills)
    assert [one["value"] for one in found] == ["try_cast('1' as int)", "try_cast('x' as int)"]
    assert told == ["the default of the new column `n` is not of type int. The existing rows have NULL"]  # fmt: skip


@pytest.mark.parametrize("is_first", [True, False])
def test_forget_what_fails(macros: Macros, is_first: bool) -> None:
    """What comes behind a statement that ends the run tells nothing of the rows before it."""
    asked: list[str] = []
    rows: list[dict[str, Any]] = []

    def query_rows(sql: str) -> list[dict[str, Any]]:
        asked.append(sql)
        return rows

    macros["query_rows"] = query_rows

    def row(*names: str) -> dict[str, Any]:
        return {
            "_kind": "row",
            "_after_shapes": json.dumps([names]),
            "_before_shapes": "[]",
            "_schema_id": "".join(names),
            "_schema_text": inline_schema(*names),
            "_first_num": 7,
        }

    def names(*policies: str) -> list[str]:
        statements = [
            {"landing_num": number, "changes": [{"policy": policy}]}
            for number, policy in enumerate(policies, 10)
        ]
        shapes = batches.shapes_of([row("a"), row("a", "b"), {"_kind": "ddl"}])
        assert shapes["first_nums"] == {"a": 7, "ab": 7}
        batch = {"statements": statements, **shapes}
        opened = {"state": {"first": is_first}}
        warehouse = warehouse_of(macros)
        events_batch.forget_what_fails(warehouse, opened, {"events": "events"}, batch)
        assert "b" in batch["names"] or list(batch["schemas"]) == [*batch["names"]]
        return batch["names"]  # type: ignore[no-any-return]

    assert names("apply", "ignore") == ["a", "b"]
    assert asked == []
    # tables that are to be made go by what there is
    assert names("fail") == (["a", "b"] if is_first else [])
    rows.append(row("a"))
    assert names("apply", "fail", "fail") == ["a"]
    assert "where _landing_num < 11\n" in asked[-1]


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        # the widest that rows of the batch have, whichever came last
        ([{"type": "int32"}, {"type": "int64"}], ("bigint", None)),
        ([{"type": "int64"}, {"type": "int32"}], ("bigint", None)),
        ([{"type": "int64"}, {"type": "string"}], ("string", None)),
        # what rows that are there have is the default which the column came with
        ([{}, {"type": "int32", "default": 5}, {"type": "int32", "default": 6}], ("int", "5")),
        ([{"type": "int32"}, {"type": "int32", "default": 6}], ("int", None)),
    ],
)
def test_shapes_of__several_schemas(
    told: list[dict[str, Any]], expected: tuple[Any, ...], is_reversed: bool
) -> None:
    """They count in the order of their events, in whichever the figures come."""
    rows = []
    for number, field in enumerate(told):
        fields = [{"field": "c", "optional": True, **field}] if field else []
        text = json.dumps({"fields": [{"field": "after", "fields": fields}]})
        rows.append({"_kind": "row", "_after_shapes": None, "_before_shapes": None, "_schema_id": str(number), "_schema_text": text, "_first_num": number})  # fmt: skip
    # events of a SELECT without numbers
    rows.append({"_kind": "row", "_after_shapes": '[["c"]]', "_before_shapes": None, "_schema_id": None, "_first_num": None})  # fmt: skip
    shapes = batches.shapes_of(rows[::-1] if is_reversed else rows)
    assert list(shapes["schemas"]) == [str(number) for number in range(len(told))]
    found = {**shapes, "ddl": None}
    cfg = {"file_format": "delta"}
    fields = rules._fields_of(["c"], found)
    default = rules._default_of(fields)
    kind = rules._field_type(cfg, ["c"], fields, found)
    assert (kind, default and default["text"]) == expected
    # what the DDL says holds in its stretch
    found["ddl"] = [{"name": "c", "type": "smallint"}]
    fields = rules._fields_of(["c"], found)
    assert rules._field_type(cfg, ["c"], fields, found) == "smallint"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ({"effect": "fill", "column": "C"}, "c"),
        ({"changes": [{"kind": "drop_column", "name": "b"}]}, "b"),
        # left out of current, where policies say so
        ({"changes": [{"kind": "drop_column", "name": "d"}]}, "d"),
        ({"changes": [{"kind": "rename_column", "old": "b", "name": "x"}]}, "b"),
        # one that was followed, one that is read under its former name, one that is not compared
        ({"changes": [{"kind": "rename_column", "old": "x", "name": "b"}]}, None),
        ({"changes": [{"kind": "rename_column", "old": "c", "name": "cc"}]}, None),
        ({"changes": [{"kind": "drop_column", "name": "seen"}]}, None),
        ({"operation": "CREATE_TABLE", "changes": [{"kind": "drop_column", "name": "b"}]}, None),
        ({"changes": [{"kind": "add_column", "name": "c"}]}, None),
    ],
)
def test_warn_of_columns_without_key(
    macros: Macros, statement: dict[str, Any], expected: str | None
) -> None:
    """What they were is in the hashes by which rows without key are found."""
    told: list[str] = []
    macros["warn"] = lambda entity, text: told.append(f"{entity}: {text}")
    cfg = {"entity": "shop", "previous_names": {"c": "cc"}, "columns": [], "keys": []}
    roles = {"compared": [{"name": "B"}, {"name": "c"}], "gone": [{"name": "d"}]}
    statement = {"operation": "ALTER_TABLE", "effect": "none", **statement}
    events_derive.warn_of_columns_without_key(warehouse_of(macros), cfg, roles, [statement])
    assert [text.split("The source changed ")[1].split(", and the ")[0] for text in told] == ([expected] if expected else [])  # fmt: skip


def test_names_to_come() -> None:
    """One that a column has until a later statement gives it to another is there."""

    def statement(number: int, kind: str, name: str) -> dict[str, Any]:
        return {"landing_num": number, "cuts": True, "changes": [{"kind": kind, "name": name}]}

    batch = {
        "source_columns": [{"name": "a"}, {"name": "b"}],
        "statements": [
            statement(3, "add_column", "c"),
            statement(5, "rename_column", "b"),
            statement(7, "add_column", "d"),
        ],
    }
    assert names_to_come(batch, {"from": 3, "to": 5}) == ["d"]
    assert names_to_come({**batch, "source_columns": None}, {"to": 5}) == ["b", "d"]
    assert names_to_come(batch, {"from": 7, "to": None}) == []


def test_line_num_expr(macros: Macros) -> None:
    def files(*numbers: tuple[int, int]) -> list[dict[str, int]]:
        names = ("_file_number", "_arrival_number")
        return [dict(zip(names, pair, strict=True)) for pair in numbers]

    line_num = macros["line_num_expr"]
    assert line_num(files((5, 5), (6, 6))) == "_landing_num"
    # the file that arrives as number 6 was the first, that of number 7 was number 2
    found = line_num(files((0, 6), (5, 5), (2, 7)))
    assert "get(array(0, 6, 5), cast(shiftright(_landing_num, 32) - 5 as int))" in found


def test_land_events__without_a_number(macros: Macros, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that names columns without what orders the lines of files is told so."""
    found: list[str] = []
    stubs = {
        "run_view": lambda _, name: name,
        "describe_query": lambda _: [{"name": name, "type": "string"} for name in found],
    }
    macros.update(stubs)
    monkeypatch.setattr(events_source, "make_view", lambda *_: None)

    def landed(format: str, names: list[str], sequence_by: list[str]) -> Any:
        cfg = {"entity": "orders", "target": "t", "location": "landing/", "format": format, "keys": ["id"], "sequence_by": sequence_by}  # fmt: skip
        found[:] = names
        opened = {"cfg": cfg, "run": {"empty": False}}
        return events_source.land_events(warehouse_of(macros), opened, "select 1", [])

    for form, names in (("debezium", ["value"]), ("canonical", ["id", "_operation"])):
        with pytest.raises(ConfigError, match="selects neither `_landing_num`"):
            landed(form, names, [])
        landed(form, [*names, "_landing_num"], [])
        landed(form, [*names, "_sequence_num"], [])
        landed(form, names, ["at"])
    # lines may bring numbers of their own
    landed("canonical", ["value"], [])


class Chain:
    """A chain of moves that leave columns out, and the tables that are made while it is settled step by step.

    Of `ends` steps: the tables of later ones have the same rows as that of the last.
    """

    def __init__(self, macros: Macros, moves: int, ends: float) -> None:
        self.made: list[str] = []
        self.moves, self.ends = moves, ends
        macros["row_count"] = self.row_count
        macros["replayed_keys_sql"] = lambda *_, **__: ""
        macros["run_query"] = self.run_query
        self.warehouse: MacroWarehouse = warehouse_of(macros)

    def make_slice(self, _: Any, current: str, commit_id: int, name: str, sql: str) -> str:
        self.made.append(name)
        return name

    def row_count(self, rows: str) -> int:
        step = rows.removeprefix("linked_")
        return 7 + min(int(step), self.ends) if step.isdigit() else self.moves  # type: ignore[return-value]

    def run_query(self, sql: str) -> list[Any]:
        """Rows of the last table that the one before it has otherwise."""
        return [(1,)] if int(self.made[-1].removeprefix("moved_")) <= self.ends else []

    def settled(self, name: str) -> str:
        cfg = {"target": "orders", "entity": "orders"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(events_moves, "make_slice", self.make_slice)
            if name == "moved_values":
                found = events_moves.moved_values(
                    self.warehouse, cfg, {"columns": []}, {}, {"commit_id": 1}
                )
            else:
                found = events_moves.linked_keys(self.warehouse, cfg, "log", "staged", 1)
        return str(found)


@pytest.mark.parametrize("name", ["moved_values", "linked_keys"])
def test_chains_of_moves_are_settled(macros: Macros, name: str) -> None:
    """However long one is: its last link is found by as many steps, and one more that finds nothing."""
    prefix = name.split("_")[0]
    for length in (0, 1, 250):
        chain = Chain(macros, length, length)
        assert chain.settled(name) == f"{prefix}_{length + 1}"
        assert len(chain.made) == length + 2
    # many moves in short chains
    assert Chain(macros, 1_000_000, 3).settled(name) == f"{prefix}_4"


@pytest.mark.parametrize("name", ["moved_values", "linked_keys"])
def test_chains_of_moves_without_end(macros: Macros, name: str) -> None:
    """What was settled so far would be values of some step, and nobody would know."""
    chain = Chain(macros, 5, float("inf"))
    with pytest.raises(DataError, match="orders: the run cannot tell which values rows had"):
        chain.settled(name)
    assert len(chain.made) == 7
