"""`tidemark diff A B`: what differs between two sides, whose tables are written without Spark."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import jsonschema_rs
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from deltalake import write_deltalake
from markdown_it import MarkdownIt

from tests import iceberg_tables
from tests.pages import blocks_of
from tidemark import cli
from tidemark.diff.columns import Asked
from tidemark.diff.database import Duck
from tidemark.diff.markdown import as_markdown
from tidemark.diff.model import Differences, TableDifference
from tidemark.diff.rows import compare_rows, fields_of
from tidemark.diff.sides import Stored
from tidemark.hashing.text import canonical_text
from tidemark.read import delta, iceberg
from tidemark.read.tables import TableNotReadable

from ..stored import CITIES, LOG, day, known_shop, logged, stand_in, write, write_loads

NAN = float("nan")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    known = stand_in(tmp_path, monkeypatch)
    entities = {**known.entities, "people": replace(CITIES, name="people", table="people", sensitive=("Phone",))}  # fmt: skip
    entities["cities_feed"] = replace(CITIES, name="cities_feed", kind="feed", table="cities_feed", key=())  # fmt: skip
    monkeypatch.setattr("tidemark.read.cli.known_project", lambda *_: replace(known, entities=entities))  # fmt: skip
    write_loads(tmp_path)
    return tmp_path


def call(*arguments: str, code: int) -> Result:
    result = CliRunner().invoke(cli.cli, ["diff", *arguments])
    assert result.exit_code == code, result.output
    return result


def told(*arguments: str, code: int = 2) -> Any:
    found = json.loads(call(*arguments, "--json", code=code).stdout)
    jsonschema_rs.validate(Differences.model_json_schema(), found)
    return found


def put(shop: Path, name: str, rows: list[dict[str, Any]] | pa.Table, schema: str = "shop") -> None:
    """Write a table of the warehouse."""
    table = pa.Table.from_pylist(rows) if isinstance(rows, list) else rows
    write_deltalake(
        str(shop / f"warehouse/{schema}.db" / name),
        table,
        mode="overwrite",
        schema_mode="overwrite",
    )


def side(path: Path, table: pa.Table, key: Sequence[str] = ("id",)) -> Stored:
    """A side that is one Delta table."""
    write_deltalake(str(path), table)
    opened = delta.open_table(str(path))
    return Stored(path.name, opened, tuple(opened.columns()), "t", tuple(key))


def compare(folder: Path, a: pa.Table, b: pa.Table, **asked: Any) -> TableDifference:
    return compare_rows(side(folder / "a", a), side(folder / "b", b), Asked(**asked))


def column(values: Sequence[Any], type_: pa.DataType) -> pa.Table:
    """A table of one column beside its key."""
    ids = pa.array(range(len(values)), pa.int64())
    return pa.table({"id": ids, "v": pa.array(values, type_)})


def test_tables__counts_columns_samples(shop: Path) -> None:
    rows = [{"id": n, "name": f"n{n}", "size": n} for n in range(10)]
    other = [{**row, "size": -1} if row["id"] > 6 else row for row in rows[1:]]
    other[0] = {"id": 1, "name": None, "size": 1}
    put(shop, "one", rows)
    put(shop, "two", [*other, {"id": 77, "name": "new", "size": None}])
    found = told("one", "shop.two", "--key", "ID")
    (table,) = found["tables"]
    assert not found["equal"] and (table["a"], table["b"]) == ("one", "shop.two")
    assert (table["rows_in_a"], table["rows_in_b"]) == (10, 10)
    assert (table["only_in_a"], table["only_in_b"], table["different"], table["same"]) == (
        1,
        1,
        4,
        5,
    )
    assert table["columns"] == [{"column": "size", "cells": 3}, {"column": "name", "cells": 1}]
    assert [(one["kind"], one["key"]) for one in table["samples"]] == [
        ("different", {"id": 1}), ("different", {"id": 7}), ("different", {"id": 8})
    ]  # fmt: skip
    (cell,) = table["samples"][0]["cells"]
    assert cell == {"column": "name", "a": "n1", "b": None, "hidden": False}

    samples = told("one", "two", "--key", "id", "--samples", "9")["tables"][0]["samples"]
    assert [one["kind"] for one in samples[4:]] == ["only_in_a", "only_in_b"]
    assert samples[4]["cells"][0] == {"column": "name", "a": "n0", "b": None, "hidden": False}
    # what is NULL there too is nothing to show
    assert [cell["column"] for cell in samples[5]["cells"]] == ["name"]
    assert told("one", "two", "--key", "id", "--samples", "0")["tables"][0]["samples"] == []

    said = call("one", "two", "--key", "id", code=2).stdout
    assert "only in A 1, only in B 1, different 4, same 5" in said
    assert "cells that differ: size (3), name (1)" in said and "name: n1 → NULL" in said
    assert "no difference in 10 rows" in call("one", "one", "--key", "id", code=0).stdout


def test_key__is_that_of_the_model_or_said(shop: Path) -> None:
    found = told("cities", "cities", code=0)
    assert found["equal"] and found["tables"][0]["key"] == ["id"]
    put(shop, "lines", [{"a": 1, "b": 1, "v": 1}, {"a": 1, "b": 2, "v": 1}, {"a": None, "b": 3, "v": 1}])  # fmt: skip
    said = call("lines", "lines", code=1).output
    assert "no unique_key is known for lines: name the columns" in said
    assert told("lines", "lines", "--key", "b", code=0)["equal"]
    said = call("lines", "lines", "--key", "a,b", code=1).output
    assert "lines: the key (a, b) is NULL in 1 row" in said
    put(shop, "lines", [{"a": 1, "b": 1}, {"a": 1, "b": 2}])
    said = call("lines", "lines", "--key", "a", code=1).output
    assert "the key (a) is not unique: 2 rows have a=1" in said
    said = call("lines", "cities", "--key", "b", code=1).output
    assert "cities has no column 'b', which the key (b) needs" in said


def test_columns__of_one_side_and_of_tidemark(shop: Path) -> None:
    row = {"id": 1, "_commit_id": 1, "_row_hash": "a", "_valid_from": day(1)}
    put(shop, "one", [{**row, "Name": "x", "old": 1}])
    put(shop, "two", [{**row, "name": "x", "new": 1, "_commit_id": 2}])
    (table,) = told("one", "two", "--key", "id", code=0)["tables"]
    assert table["not_compared"]["old"] == "only A has it"
    assert table["not_compared"]["new"] == "only B has it"
    assert table["not_compared"]["_commit_id"] == "added by Tidemark: see --all-columns"
    # the bounds of an interval are what is told, not how it was loaded
    assert "_valid_from" not in table["not_compared"] and "Name" not in table["not_compared"]
    (table,) = told("one", "two", "--key", "id", "--all-columns")["tables"]
    assert table["columns"] == [{"column": "_commit_id", "cells": 1}]
    (table,) = told("one", "two", "--key", "_commit_id")["tables"]
    assert (table["only_in_a"], table["only_in_b"]) == (1, 1)
    put(shop, "two", [{**row, "name": "y", "old": 1}])
    assert told("one", "two", "--key", "id", "--ignore", "NAME", code=0)["equal"]
    said = call("one", "two", "--key", "id", "--ignore", "nmae", code=1).output
    assert "--ignore must name a column of a side, found: 'nmae'. Did you mean 'name'?" in said


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.float64(), [NAN, None, 0.0, 1.5, float("inf")]),
        (pa.float32(), [NAN, None, 0.0, 0.1, float("-inf")]),
        (pa.decimal128(38, 10), [Decimal("1.5"), None, Decimal(0), Decimal("-0.0000000001"), Decimal(10) ** 27]),
        (pa.string(), ["", None, "é", "e\u0301", "a\x00b"]),
        (pa.binary(), [b"", None, b"\x00", b"\xff", b"a"]),
        (pa.bool_(), [True, None, False]),
        (pa.date32(), [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
        (pa.timestamp("us", "UTC"), [dt.datetime(1900, 1, 1, 0, 0, 0, 1), None, dt.datetime(9999, 12, 31)]),
        (pa.timestamp("us"), [dt.datetime(1900, 1, 1), None, dt.datetime(2026, 3, 29, 2, 30)]),
        (pa.list_(pa.list_(pa.int32())), [[[1, 2]], [[1], [2]], [], None, [None], [[]], [[None]]]),
        (pa.struct([("a", pa.int32()), ("b c", pa.string())]),
         [{"a": 1, "b c": None}, {"a": None, "b c": "1"}, None, {"a": None, "b c": ""}]),
        (pa.map_(pa.string(), pa.float64()), [[("a", NAN), ("b", 0.0)], [], None, [("a", None)]]),
    ],
    ids=str,
)  # fmt: skip
def test_values__each_equals_itself_alone(tmp_path: Path, type_: pa.DataType, values: list[Any]) -> None:  # fmt: skip
    """NULL equals NULL and NaN NaN; every other pair of these values differs."""
    assert compare(tmp_path / "same", column(values, type_), column(values, type_)).equal
    turned = [*values[1:], values[0]]
    found = compare(tmp_path, column(values, type_), column(turned, type_), samples=len(values))
    assert (found.different, found.same) == (len(values), 0)
    assert found.columns[0].cells == len(values) and len(found.samples) == len(values)


def test_values__of_zeros_and_maps(tmp_path: Path) -> None:
    """As a row's hash takes them: -0.0 is 0.0, and a map has no order."""
    kinds: list[tuple[Any, Any, pa.DataType]] = [
        (0.0, -0.0, pa.float64()),
        ([0.0], [-0.0], pa.list_(pa.float64())),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], pa.map_(pa.string(), pa.int32())),
        ({"x": -0.0}, {"x": 0.0}, pa.struct([("x", pa.float32())])),
    ]
    for number, (one, other, type_) in enumerate(kinds):
        folder = tmp_path / str(number)
        assert compare(folder, column([one], type_), column([other], type_)).equal, type_


@pytest.mark.parametrize(
    ("one", "a", "other", "b"),
    [
        (Decimal("1.50"), pa.decimal128(10, 2), Decimal("1.5"), pa.decimal128(38, 18)),
        (Decimal("0.50"), pa.decimal128(2, 2), Decimal("0.5"), pa.decimal128(3, 1)),
        (Decimal("0"), pa.decimal128(10, 2), 0, pa.int32()),
        (7, pa.int32(), 7, pa.int64()),
        (7, pa.int64(), 7.0, pa.float64()),
        (-0.0, pa.float64(), 0.0, pa.float32()),
        (Decimal("0.10"), pa.decimal128(10, 2), 0.1, pa.float64()),
        (0.1, pa.float32(), Decimal("0.10"), pa.decimal128(10, 2)),
        (1e-7, pa.float64(), Decimal("1E-7"), pa.decimal128(38, 18)),
        (dt.date(2026, 3, 4), pa.date32(), "2026-03-04", pa.string()),
        (True, pa.bool_(), "true", pa.string()),
        (dt.datetime(2026, 3, 4, 5), pa.timestamp("us"), dt.datetime(2026, 3, 4, 5), pa.timestamp("us", "UTC")),
        ([Decimal("1.50")], pa.list_(pa.decimal128(10, 2)), [Decimal("1.5")], pa.list_(pa.decimal128(10, 1))),
    ],
)  # fmt: skip
def test_types__that_differ(tmp_path: Path, one: Any, a: Any, other: Any, b: Any) -> None:
    """Equal values are equal, and it is said that they are compared as texts."""
    found = compare(tmp_path, column([one, None], a), column([other, None], b))
    assert found.equal and [one.column for one in found.other_types] == ["v"]
    different = compare(tmp_path / "x", column([one], a), column([None], b))
    assert different.different == 1


def test_types__a_decimal_beside_a_double_that_differs(tmp_path: Path) -> None:
    a = column([Decimal("0.1"), Decimal("1.5")], pa.decimal128(4, 2))
    found = compare(tmp_path, a, column([0.11, 1.5], pa.float64()))
    assert (found.different, found.same) == (1, 1)


def test_types__keys_match_in_other_types(tmp_path: Path) -> None:
    a = pa.table({"id": pa.array([1, 2], pa.int32()), "v": [1, 2]})
    b = pa.table({"id": pa.array([Decimal("1.0"), Decimal("2.5")]), "v": [1, 2]})
    found = compare(tmp_path, a, b)
    assert (found.only_in_a, found.only_in_b, found.same) == (1, 1, 1)
    assert [(one.column, one.a, one.b) for one in found.other_types] == [("id", "int", "decimal(2,1)")]  # fmt: skip


def test_rows__agree_with_canonical_texts(tmp_path: Path) -> None:
    """Random rows: what the comparison tells is what the texts of the hash recipe tell."""
    chance = random.Random(7)
    kinds: dict[str, tuple[pa.DataType, str, list[Any]]] = {
        "n": (pa.float64(), "double", [None, 0.0, -0.0, NAN, 1e300, 0.1, 5e-324]),
        "s": (pa.string(), "string", [None, "", "a", "NULL", "😀", " "]),
        "d": (pa.decimal128(12, 3), "decimal(12,3)", [None, Decimal("0"), Decimal("1.5"), Decimal("-1.500")]),
        "l": (pa.list_(pa.string()), "array<string>", [None, [], [None], ["a"], ["a", ""], ["a;1:"]]),
    }  # fmt: skip

    def rows() -> list[dict[str, Any]]:
        ids = chance.sample(range(300), 200)
        return [{"id": one, **{name: chance.choice(kind[2]) for name, kind in kinds.items()}} for one in ids]  # fmt: skip

    def table(rows: list[dict[str, Any]]) -> pa.Table:
        types = [("id", pa.int64()), *((name, kind[0]) for name, kind in kinds.items())]
        return pa.Table.from_pylist(rows, schema=pa.schema(types))

    def texts(rows: list[dict[str, Any]]) -> dict[int, list[str | None]]:
        return {
            row["id"]: [canonical_text(row[name], kind[1]) for name, kind in kinds.items()]
            for row in rows
        }

    left, right = rows(), rows()
    a, b = texts(left), texts(right)
    found = compare(tmp_path, table(left), table(right))
    both = a.keys() & b.keys()
    assert found.only_in_a == len(a.keys() - b.keys()) and found.only_in_b == len(
        b.keys() - a.keys()
    )
    assert found.different == sum(a[key] != b[key] for key in both)
    wanted = {name: sum(a[key][n] != b[key][n] for key in both) for n, name in enumerate(kinds)}
    assert {one.column: one.cells for one in found.columns} == wanted
    back = compare_rows(
        *(Stored(n, delta.open_table(str(tmp_path / n)), ("id", *kinds), "t", ("id",)) for n in "ba"),
        Asked(),
    )  # fmt: skip
    assert (back.only_in_a, back.only_in_b, back.different) == (found.only_in_b, found.only_in_a, found.different)  # fmt: skip


def test_moments__of_business_time_and_of_commits(shop: Path) -> None:
    rows = [{**row, "_row_hash": row["name"]} for row in LOG]
    write(shop, "cities__log", rows, "overwrite")
    (table,) = told("cities@2026-03-01", "cities@2026-03-02")["tables"]
    assert (table["only_in_a"], table["only_in_b"], table["different"]) == (1, 1, 1)
    assert table["columns"] == [{"column": "name", "cells": 1}]
    assert table["samples"][0]["cells"][0]["b"] == "A2"
    # what was known at commit 2 was corrected since
    (table,) = told("cities@commit:2", "cities@2026-03-02")["tables"]
    assert table["samples"][0]["cells"] == [
        {"column": "name", "a": "A wrong one", "b": "A2", "hidden": False}
    ]
    found = told("cities@2026-03-02", "shop.cities", code=0)["tables"][0]
    assert (found["same"], found["not_compared"]["name"]) == (2, "only A has it")
    said = call("cities@yesterday", "cities", code=1).output
    assert "write a business date or a commit behind @, such as @2026-03-04 or @commit:123" in said
    assert "there is no entity named 'citys'" in call("citys@2026-03-01", "cities", code=1).output
    assert "it knows nothing of commit 0" in call("cities@commit:0", "cities", code=1).output


def test_current__without_rows_that_are_marked_as_deleted(shop: Path) -> None:
    put(shop, "cities", [{"id": 1, "_operation": "I"}, {"id": 3, "_operation": "U"}, {"id": 2, "_operation": "D"}])  # fmt: skip
    assert told("cities", "cities@2026-03-02", code=0)["tables"][0]["rows_in_a"] == 2


def test_clone__is_read_as_its_original(shop: Path) -> None:
    """In another schema too: rows that are marked as deleted are none, and what is sensitive is not shown."""
    rows = [{"id": 1, "_operation": "D"}, {"id": 2, "_operation": "U"}]
    put(shop, "cities", rows)
    put(shop, "cities", rows, "dev")
    assert told("cities", "dev.cities", code=0)["tables"][0]["same"] == 1
    assert told("dev.cities", "dev.cities", code=0)["tables"][0]["key"] == ["id"]
    for schema, phone in (("dev", "555-1"), ("dev2", "555-2")):
        put(shop, "people__sensitive", [{"_key_hash": "a", "phone": phone}], schema)
    sides = [f"{schema}.people__sensitive" for schema in ("dev", "dev2")]
    assert "555" not in call(*sides, "--key", "_key_hash", code=2).output


def test_sensitive__is_compared_and_not_shown(shop: Path) -> None:
    put(shop, "people", [{"id": 1, "phone": "555-1"}, {"id": 2, "phone": None}])
    put(shop, "other", [{"id": 1, "phone": "555-2"}, {"id": 2, "phone": "555-3"}])
    found = told("people", "other")
    cells = [one["cells"][0] for one in found["tables"][0]["samples"]]
    assert [(one["a"], one["b"], one["hidden"]) for one in cells] == [
        ("***", "***", True), (None, "***", True)
    ]  # fmt: skip
    for form in ([], ["--json"], ["--markdown"]):
        assert "555" not in call("people", "other", *form, code=2).output
    put(shop, "people", [{"id": 1, "phone": "555-1"}, {"id": 2, "phone": "555-1"}])
    said = call("people", "people", "--key", "phone", code=1).output
    assert "phone=***" in said and "555" not in said
    assert "555" not in call("people", "people", "--key", "phone,phon", code=1).output


def test_key__whose_columns_stand_apart_is_its_hash(shop: Path) -> None:
    put(shop, "people", [{"_key_hash": "a", "name": "x"}, {"_key_hash": "b", "name": "y"}])
    found = told("people", "people", code=0)["tables"][0]
    assert (found["key"], found["same"]) == (["_key_hash"], 2)
    assert found["not_compared"] == {"phone": "sensitive: its values stand apart"}


def test_scd2__is_told_apart_by_the_begin_of_its_intervals(shop: Path) -> None:
    """With the key of the model that the intervals are of; the YAML of kept ones has none."""
    rows = [{"id": 1, "_valid_from": day(n), "_valid_to": day(n + 1)} for n in (1, 2)]
    for schema in ("shop", "dev"):
        put(shop, "cities_scd2", rows, schema)
    (table,) = told("cities_scd2", "dev.cities_scd2", code=0)["tables"]
    assert (table["key"], table["same"]) == (["id", "_valid_from"], 2)
    (table,) = told("shop", "dev", code=2)["tables"]
    assert table["same"] == 2


def test_scd2__of_both_axes_is_compared_as_it_is_known_now(shop: Path) -> None:
    """Commits of two loads of the same rows differ."""
    for schema, commit in (("shop", 1), ("dev", 7)):
        before = {"id": 1, "_valid_from": day(1), "_known_from": commit, "_known_to": commit + 1}
        now = {**before, "_known_from": commit + 1, "_known_to": None}
        put(shop, "cities_scd2", [before, now], schema)
    (table,) = told("cities_scd2", "dev.cities_scd2", code=0)["tables"]
    assert table["same"] == 1


def test_schemas(shop: Path) -> None:
    put(shop, "people", [{"id": 1, "phone": "1"}])
    put(shop, "cities", [{"id": 1}, {"id": 4}], "dev")
    put(shop, "unknown", [{"id": 1}], "dev")
    for schema in ("shop", "dev"):
        put(shop, "cities_feed", [{"id": 1}], schema)
    found = told("shop", "dev")
    assert [(one["a"], one["b"]) for one in found["tables"]] == [("shop.cities", "dev.cities")]
    assert (found["only_in_a"], found["only_in_b"], found["failed"]) == (["people"], [], {})
    said = call("shop", "dev", code=2).stdout
    assert "only in shop: people" in said and "cities" in said
    assert "only in shop: people" in call("shop", "dev", "--markdown", code=2).stdout
    put(shop, "people", [{"id": 1, "phone": "1"}], "dev")
    put(shop, "cities", [{"id": 1}, {"id": 3}], "dev")
    assert told("shop", "dev", code=0)["equal"]
    # one that cannot be compared is told, and the others are compared
    put(shop, "cities", [{"id": 1}, {"id": 1}], "dev")
    found = told("shop", "dev", code=1)
    assert "not unique" in found["failed"]["cities"] and found["tables"][0]["equal"]
    assert "cities was not compared: dev.cities: the key" in call("shop", "dev", code=1).stdout
    assert "shop is a schema and cities is not" in call("shop", "cities", code=1).output
    # as before the first run of a branch
    found = told("none_yet", "shop")
    assert (found["tables"], found["only_in_b"]) == ([], ["cities", "people"])
    (shop / "warehouse/empty.db").mkdir()
    said = call("empty", "none_yet", code=1).output
    assert "there is no entity, table or schema named 'none_yet'" in said
    said = call("empty", "empty", code=1).output
    assert "no entity of the project has a table in empty or empty" in said


def test_names__that_are_none(shop: Path) -> None:
    said = call("citys", "cities", code=1).output
    assert "there is no entity, table or schema named 'citys'. Did you mean 'cities'?" in said
    assert "there is no table shop.nothing" in call("shop.nothing", "cities", code=1).output
    assert "there is no table cities__feed" in call("cities__feed", "cities", code=1).output
    assert "people was never loaded" in call("people", "cities", code=1).output
    assert "source:schema.table" in call("crm:customers", "cities", code=1).output
    assert "no source 'crm'" in call("crm:public.customers", "cities", code=1).output
    assert (
        "Give one that Tidemark keeps"
        in call("crm:public.customers", "crm:public.x", code=1).output
    )
    # what was typed wrongly is no difference
    assert "Missing argument 'B'" in call("cities", code=1).output
    said = call("cities", "2026-03-01", "2026-03-02", "--key", "id", code=1).output
    assert "cities@2026-03-01 cities@2026-03-02" in said


def test_tables__of_a_project_that_was_never_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch)
    for name in ("a", "b"):
        put(tmp_path, name, [{"id": 1}])
    result = call("shop.a", "shop.b", "--key", "id", code=0)
    assert result.stderr == "" and "no difference in 1 row" in result.stdout


def test_log__is_a_table(shop: Path) -> None:
    found = told("cities__log", "shop.cities__log", "--key", "id,_commit_id,_operation", code=0)
    assert found["tables"][0]["same"] == len(LOG)


def test_iceberg(tmp_path: Path) -> None:
    """The rows of Iceberg tables are read as those of Delta tables are, and both are compared."""
    table = pa.table({"id": [1, 2], "at": [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * 2, "s": [{"a b": 1}, None]})  # fmt: skip
    path = tmp_path / "ice-0"
    iceberg_tables.create(path, table)
    opened = iceberg.open_table(str(path))
    ice = Stored("ice", opened, tuple(opened.columns()), "t", ("id",))
    assert compare_rows(ice, side(tmp_path / "delta", table), Asked()).equal
    other = side(tmp_path / "other", table.set_column(2, "s", pa.array([{"a b": 2}, None])))
    assert compare_rows(ice, other, Asked()).different == 1


def test_tables__are_pinned(tmp_path: Path) -> None:
    """A run that commits meanwhile changes nothing of what is compared."""
    a, b = side(tmp_path / "a", column([1], pa.int32())), side(tmp_path / "b", column([2], pa.int32()))  # fmt: skip
    write_deltalake(str(tmp_path / "a"), column([2], pa.int32()), mode="overwrite")
    assert compare_rows(a, b, Asked()).different == 1


def test_tables__that_cannot_be_read(tmp_path: Path) -> None:
    a, b = side(tmp_path / "a", column([1], pa.int32())), side(tmp_path / "b", column([2], pa.int32()))  # fmt: skip
    for file in (tmp_path / "a").glob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(TableNotReadable, match="a cannot be read"):
        compare_rows(a, b, Asked())


def test_tables__that_only_spark_reads(shop: Path) -> None:
    """What cannot be read is told, and of schemas the other tables are compared; wider types can."""
    for schema in ("shop", "dev"):
        put(shop, "cities", [{"id": 1}], schema)
        put(shop, "people", [{"id": 1}], schema)
    log = shop / "warehouse/dev.db/cities/_delta_log"

    def has(*features: str) -> None:
        named = {"readerFeatures": features, "writerFeatures": features}
        protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}}
        (log / "00000000000000000001.json").write_text(json.dumps(protocol))

    has("typeWidening")
    assert "cannot be read" not in call("cities", "dev.cities", code=0).output
    has("typeWidening", "deletionVectors")
    said = call("cities", "dev.cities", code=1).output
    assert "dev" in said and "cannot be read" in said
    found = told("shop", "dev", code=1)
    assert "cannot be read" in found["failed"]["cities"] and found["tables"][0]["equal"]


def test_tables__that_delta_rs_reads(tmp_path: Path) -> None:
    """Where DuckDB does not read the files: their rows are taken as they come, and none to see the types."""
    rows = column([1, 2], pa.int32())
    a, b = side(tmp_path / "a", rows), side(tmp_path / "b", rows)
    for one in ("a", "b"):
        named = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        protocol = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}}
        (tmp_path / one / "_delta_log/00000000000000000001.json").write_text(json.dumps(protocol))
    a, b = (
        replace(one, table=delta.open_table(str(tmp_path / name)))
        for name, one in (("a", a), ("b", b))
    )
    with duckdb.connect() as db:
        assert [one.name for one in fields_of(db, a)] == list(a.names)
        assert db.sql("from duckdb_tables()").fetchall() == []
    assert compare_rows(a, b, Asked()).equal


def test_tables__without_pyarrow(tmp_path: Path) -> None:
    """DuckDB reads what delta-rs hands over by itself: PyArrow is an extra."""
    ids = pa.array(range(3000), pa.int64())
    for name, texts in (
        ("a", ["x"] * 3000),
        ("b", ["x"] * 2000 + ["a longer text than that"] * 1000),
    ):
        write_deltalake(str(tmp_path / name), pa.table({"id": ids, "_key_hash": texts, "v": texts}))
    script = f"""
import sys
sys.modules["pyarrow"] = None
from tidemark.diff.columns import Asked
from tidemark.diff.rows import compare_rows, fields_of
from tidemark.diff.sides import Stored
from tidemark.read.delta import open_table
sides = [Stored(n, open_table({str(tmp_path)!r} + "/" + n), ("id", "v"), "t", ("id",)) for n in "ab"]
print(compare_rows(*sides, Asked()).different)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1000"


def test_markdown__shows_values_as_they_are(tmp_path: Path) -> None:
    """Nothing of a value is a mark, a tag, a link, a column of the table, or mentions anybody."""
    nasty = "<img src=x> | *b* _i_ `c` [l](https://x.example) @team #1 www.x.example\n# h"
    a, b = column([nasty, "x"], pa.string()), column(["y", nasty], pa.string())
    text = as_markdown(Differences.of_table(compare(tmp_path, a, b)))
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    for tag in ("<img", "<em", "<strong", "<code", "<a ", "<h1"):
        assert tag not in html
    assert html.count("<tr>") == 2 + 3 and "@" not in text and "www." not in text
    assert "&lt;img src=x&gt; | *b* _i_ `c`" in html and "<td>2</td>" in html
    text = as_markdown(Differences.of_table(compare(tmp_path / "x", a, a)))
    assert "no difference" in text and "<details>" not in text


def test_markdown__fits_into_a_comment(tmp_path: Path) -> None:
    ids = range(2_000)
    a, b = (column([f"{x}{'é' * 40}{n}" for n in ids], pa.string()) for x in "xy")
    text = as_markdown(Differences.of_table(compare(tmp_path, a, b, samples=2_000)))
    assert len(text) < 65_536 and text.endswith("too long for a comment.")
    assert text.count("<details>") == text.count("</details>")


def test_report__has_a_section(shop: Path) -> None:
    """What somebody has put into a row is text on the page."""
    put(shop, "one", [{"id": 1, "v": "<script>x</script>"}])
    put(shop, "two", [{"id": 1, "v": "y"}])
    keyed = replace(CITIES, name="one", table="one")
    known = replace(known_shop(shop), entities={"one": keyed})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidemark.read.cli.known_project", lambda *_: known)
        page = shop / "page.html"
        done = CliRunner().invoke(cli.cli, ["report", "--diff", "one", "shop.two", "--output", str(page)])  # fmt: skip
        assert done.exit_code == 0, done.output
        text = page.read_text(encoding="utf-8")
        assert "<h3>A: one, B: shop.two</h3>" in text and "<td>v (1)</td>" in text
        assert "<td>&lt;script&gt;x&lt;/script&gt;</td>" in text and "<script>x" not in text
        done = CliRunner().invoke(cli.cli, ["report", "--diff", "one", "two", "--json"])
        (found,) = json.loads(done.stdout)["differences"]
        assert found["tables"][0]["columns"] == [{"column": "v", "cells": 1}]
        done = CliRunner().invoke(cli.cli, ["report", "--output", str(page)])
        assert "What differs" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("type_", "form", "value", "text"),
    [
        ("INTEGER[]", "array:integer", "[1, null, -3]", "[1:1;N;2:-3;]"),
        ("VARCHAR[]", "array:text", "['ü,{;', '']", "[4:ü,{;;0:;]"),
        ("DECIMAL(8,2)[]", "array:decimal", "[1.50, null]", "[3:1.5;N;]"),
        ("DECIMAL(30,10)", "decimal", "0.0000000100", "0.00000001"),
        ("VARCHAR", "decimal", "'1.500'", "1.5"),
        ("VARCHAR", "decimal", "'nan'", "NAN"),
        ("VARCHAR", "bytes", "'00ff'", "00FF"),
        ("BLOB", "bytes", "'\\x00\\xFF'::blob", "00FF"),
        ("TIMESTAMP", "timestamp", "'1969-12-31 23:59:59.999999'", "-1"),
        ("TIMESTAMP WITH TIME ZONE", "timestamp", "'1970-01-01 00:00:01+00'", "1000000"),
        ("DATE", "date", "'0001-01-01'", "0001-01-01"),
        ("DOUBLE", "double", "0.1", "0x1.999999999999ap-4"),
        ("FLOAT", "double", "'-0'", "0"),
        ("BOOLEAN", "boolean", "true", "true"),
    ],
)
def test_database__texts_are_those_of_the_source(
    type_: str, form: str, value: str, text: str
) -> None:
    """What DuckDB makes of a copy is what the databases make: see reconcile/forms.py."""
    dialect = Duck()
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.execute(f"create table t as select cast({value} as {type_}) as v")
        shown = dialect.text('"v"', type_, form)
        assert db.execute(f"select {shown} from t").fetchone() == (text,)
        digest = dialect.digest(dialect.join([dialect.item("'ü'"), dialect.item("null")]))
        number = dialect.number(digest)
        found = db.execute(f"select {digest}, {number}, {dialect.total(number)}").fetchone()
        wanted = hashlib.md5("1:ü;N;".encode()).hexdigest()
        assert found == (wanted, int(wanted[:15], 16), str(int(wanted[:15], 16)))


def test_schema__of_json() -> None:
    schema = json.loads(call("--schema", code=0).stdout)
    assert schema == Differences.model_json_schema() and "TableDifference" in schema["$defs"]


def test_tables__without_rows(shop: Path) -> None:
    """A table without a row is compared too."""
    put(shop, "empty", pa.table({"id": pa.array([], pa.int64())}))
    (table,) = told("cities", "empty")["tables"]
    assert (table["rows_in_b"], table["only_in_a"]) == (0, 2)
    assert told("empty", "empty", "--key", "id", code=0)["equal"]


def test_log_rows__that_differ_in_a_column_added_later(shop: Path) -> None:
    """Of moments all columns of the log are compared, as they are now."""
    write(shop, "cities__log", [logged(1, "Aa", "I", 1), logged(1, "Bb", "U", 2)], "overwrite")
    (table,) = told("cities@2026-03-01", "cities@2026-03-05")["tables"]
    assert [one["column"] for one in table["columns"]] == ["name"]


def test_page(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page shows is what its commands print."""
    known = known_shop(shop)
    entities = {"customers": replace(CITIES, name="customers", table="customers")}
    monkeypatch.setattr("tidemark.read.cli.known_project", lambda *_: replace(known, entities=entities))  # fmt: skip

    def row(key: int, name: str, city: str | None, operation: str, number: int) -> dict[str, Any]:
        own = {"_key_hash": f"k{key}", "_row_hash": f"{name}{city}", "_operation": operation, "_eff_start_date": day(number)}  # fmt: skip
        return {"id": key, "name": name, "city": city, **own}

    first = [row(1, "Ada", "Oslo", "I", 4), row(2, "Lea", None, "I", 4), row(3, "Ivo", "Rome", "I", 4), row(4, "Uma", "Bern", "I", 4)]  # fmt: skip
    last = [row(1, "Ada", "Bergen", "U", 5), row(2, "Léa", "Paris", "U", 5), row(5, "Eva", "Kyiv", "I", 5)]  # fmt: skip
    log = [{**one, "_business_date": one["_eff_start_date"], "_commit_id": 1, "_superseded_by": None} for one in [*first, *last]]  # fmt: skip
    gone = {**log[2], "_operation": "D", "_business_date": day(5)}
    put(shop, "customers__log", [*log, gone])
    for schema in ("shop", "shop_dev", "shop_base"):
        put(shop, "customers", [*last, first[3]], schema)
    ((_, command), (_, output)) = blocks_of("How do I see what differs between two tables?")[:2]
    assert call(*command.split()[2:], code=2).stdout.rstrip() == output.rstrip()
    for line in blocks_of("What can be compared")[0][1].splitlines():
        assert call(*line.split()[2:], code=0).output
    (line,) = [text for _, text in blocks_of("On a pull request") if "--markdown" in text]
    assert "no difference" in call(*line.partition(" > ")[0].split()[2:], code=0).stdout
    ((_, text),) = blocks_of("In the report")
    done = CliRunner().invoke(cli.cli, text.split()[1:])
    assert done.exit_code == 0 and "What differs" in Path(done.stdout.strip()).read_text("utf-8")
