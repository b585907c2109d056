"""What is read without Spark has the values that were written, and says them so that they are told apart."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from deltalake import convert_to_deltalake

from tidemark import cli
from tidemark.errors import ConfigError
from tidemark.read.commits import read_commits
from tidemark.read.past import rows_as_of
from tidemark.read.rejects import reject_rows
from tidemark.read.tables import Tables
from tidemark.read.values import shown_change, shown_value, value_text
from tidemark.read.versions import Change, Version, changes_of, difference_of, versions_of
from tidemark.report.cli import _key
from tidemark.report.collect import value_intervals

from ..stored import CITIES, COMMITS, ICEBERG, LOG, day, known_shop, logged, stand_in, state, write

UTC = dt.UTC
LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.fixture(params=["delta", "iceberg"])
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    if request.param == "iceberg":
        (tmp_path / ICEBERG).touch()
    stand_in(tmp_path, monkeypatch)
    return tmp_path


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli.cli, list(arguments))
    assert result.exception is None, result.output
    return result.stdout


def test_timestamps__of_every_year(tmp_path: Path) -> None:
    """Spark writes INT96: nanoseconds end in 2262."""
    moments = [LAST, dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(1850, 6, 1, 12, 0, 0, 1, UTC)]
    table = tmp_path / "warehouse/shop.db/cities__log"
    table.mkdir(parents=True)
    rows = pa.table({"at": pa.array(moments, pa.timestamp("us", "UTC"))})
    pq.write_table(rows, table / "1.parquet", use_deprecated_int96_timestamps=True)
    assert pq.ParquetFile(table / "1.parquet").schema.column(0).physical_type == "INT96"
    convert_to_deltalake(str(table))
    tables = Tables(known_shop(tmp_path))
    assert [row["at"] for row in tables.rows(str(table), "select * from t")] == moments
    for moment in moments:
        where = tables.equals(str(table), "at", moment.isoformat(" "))
        assert tables.rows(str(table), f"select * from t where {where}") == [{"at": moment}]


KEY = {
    "double": 1e20,
    "float": 0.1,
    "decimal": Decimal("1.50"),
    "moment": dt.datetime(2026, 1, 1, 10, 0, 0, 500000),
    "zoned": LAST,
    "boolean": True,
    "binary": b"\xff\x00",
    "date": dt.date(1, 1, 1),
    "text": "a,'b",
}
NAMES = tuple(KEY)


@pytest.fixture
def keys(shop: Path) -> Any:
    """Reads the versions of a row by its key, of all types."""
    others = {"double": float("nan"), "text": "NULL"}
    rows = [
        {**logged(1, "a", "I", 1), **KEY},
        {**logged(2, "b", "I", 1), **dict.fromkeys(NAMES), **others},
        {**logged(3, "c", "I", 1), **dict.fromkeys(NAMES), "double": float("nan")},
    ]
    columns = {"decimal": pa.decimal128(10, 2), "float": pa.float32()}
    columns |= {"zoned": pa.timestamp("us", "UTC"), "moment": pa.timestamp("us")}
    table = pa.Table.from_pylist(rows)
    for name, type_ in columns.items():
        values = pa.array([row[name] for row in rows], type_)
        table = table.set_column(table.column_names.index(name), name, values)
    write(shop, "cities__log", table)
    tables, entity = Tables(known_shop(shop)), replace(CITIES, key=NAMES)
    return lambda *key: [one.values["name"] for one in versions_of(tables, entity, key)]


def test_history__of_keys_of_every_type(keys: Any) -> None:
    shown = [value_text(value) for value in KEY.values()]
    shown[1] = "0.10000000149011612"
    assert keys(*shown) == ["a"]
    as_spark_writes = (
        "1.0E20 0.1 1.5 2026-01-01T10:00:00.500 9999-12-31T23:59:59.999999Z TRUE FF00 0001-01-01"
    )
    assert keys(*as_spark_writes.split(), "a,'b") == ["a"]
    for place, other in enumerate(["x", "0.2", "1.501", "2026-01-01", "never", "1", "ff", "", "a"]):
        assert keys(*shown[:place], other, *shown[place + 1 :]) == []


def test_numbers__as_their_type_has_them(shop: Path) -> None:
    """A number of 32 bits is no double, and no decimal has an exponent."""
    nested = {"list": [0.1], "fields": {"x": 16777216.0, "at": "y"}}
    types = {"list": pa.list_(pa.float32()), "zero": pa.decimal128(20, 10), "float": pa.float32()}
    types["fields"] = pa.struct([("x", pa.float32()), ("at", pa.string())])
    row = {**logged(1, "a", "I", 1), "float": 0.1, "zero": Decimal("0E-10"), **nested}
    table = pa.Table.from_pylist([row])
    for name, type_ in types.items():
        table = table.set_column(table.column_names.index(name), name, pa.array([row[name]], type_))
    write(shop, "cities__log", table)
    (version,) = versions_of(Tables(known_shop(shop)), CITIES, ["1"])
    assert {name: value_text(version.values[name]) for name in types} == {
        "list": "[0.1]",
        "zero": "0.0000000000",
        "float": "0.1",
        "fields": '{"x": 16777216.0, "at": "y"}',
    }


def test_history__of_keys_without_a_value(keys: Any) -> None:
    """A row without a value is not mixed with the one whose value is the text NULL."""
    nothing = ["NULL"] * 7
    assert keys("NaN", *nothing, "NULL") == ["c"]
    assert keys("1", *nothing, "NULL") == []


@pytest.mark.parametrize(
    ("key", "text", "values"),
    [
        (("id",), "1,2", ["1,2"]),
        (("id", "line"), "1,2", ["1", "2"]),
        (("id", "line"), '"a,b",2', ["a,b", "2"]),
    ],
)
def test_report__keys_with_commas(
    tmp_path: Path, key: tuple[str, ...], text: str, values: list[str]
) -> None:
    project = known_shop(tmp_path)
    project.entities["cities"] = replace(CITIES, key=key)
    assert _key(project, f"cities:{text}") == ("cities", values)
    with pytest.raises(ConfigError, match="no entity named"):
        _key(project, f"citys:{text}")


def test_diff__a_value_that_is_the_same_is_no_difference(shop: Path) -> None:
    first, last = {"x": float("nan"), "y": "NULL"}, {"x": float("nan"), "y": None}
    rows = [logged(1, "", "I", 1, **first), logged(1, "", "U", 2, _row_hash="other", **last)]
    write(shop, "cities__log", rows)
    found = json.loads(said("diff", "cities", "2026-03-01", "2026-03-02", "--json"))
    assert [one["column"] for one in found["samples"][0]["changes"]] == ["y"]
    # what JSON has no number for is text
    assert found["samples"][0]["values"]["x"] == "NaN"
    assert "y: 'NULL' → NULL" in said("diff", "cities", "2026-03-01", "2026-03-02")


def test_changes__of_columns_that_stand_apart(shop: Path) -> None:
    rows = [logged(1, "a", "I", 1), logged(1, "a", "U", 2, _changed_columns=["phone"])]
    write(shop, "cities__log", [*rows, logged(2, "a", "I", 1)])
    write(shop, "tidemark_commits__log", COMMITS)
    for command in (("history", "cities", "1"), ("changes", "cities", "--date", "2026-03-02")):
        assert "phone: changed; its values are stored apart" in said(*command)
    (_, version) = json.loads(said("history", "cities", "1", "--json"))
    assert version["changes"] == [{"column": "phone", "old": None, "new": None, "is_apart": True}]
    (key,) = json.loads(said("report", "--key", "cities:1", "--json"))["keys"]
    assert key["versions"][1]["changes"] == ["phone: changed; its values are stored apart"]
    assert key["values"] == []


def test_keys__that_are_sensitive(shop: Path) -> None:
    """They are in no log: a row is not taken for another one that agrees in the rest of its key."""
    rows = [{**one, "_row_hash": str(one["name"])} for one in LOG]
    write(shop, "cities__log", rows)
    tables = Tables(known_shop(shop))
    part, whole = replace(CITIES, key=("id", "phone")), replace(CITIES, key=("phone",))
    for entity, log_has in ((part, "id"), (whole, "none")):
        with pytest.raises(ConfigError, match=f"but its log has {log_has}: sensitive columns"):
            versions_of(tables, entity, ["1", "2"])
        assert difference_of(tables, entity, day(1), day(2), 9).deleted == 1
        assert changes_of(tables, entity, [], day(2), 9).samples[0].operation == "U"
        assert rows_as_of(tables, entity, None).total == 2
    assert rows_as_of(tables, whole, None, begins="5").total == 0


def test_history__whose_begin_is_gone(shop: Path) -> None:
    """What `clean` left may begin with an update: what was before is not told as NULL."""
    rows = [logged(1, "b", "U", 2, _changed_columns=["name"]), logged(1, "c", "U", 3)]
    write(shop, "cities__log", rows)
    first, second = json.loads(said("history", "cities", "1", "--json"))
    assert first["changes"] == []
    # nor is it said there what changed (`changed_columns: false`)
    assert [(one["column"], one["old"], one["new"]) for one in second["changes"]] == [
        ("name", "b", "c")
    ]
    text = said("history", "cities", "1")
    assert "    name: b\n" in text and "    name: b → c\n" in text and "NULL" not in text


def test_value_intervals__as_they_are_told() -> None:
    def version(number: int, value: Any) -> Version:
        return Version({}, "U", day(number), number, {}, {"x": value}, (Change("x", None, value),))

    found = value_intervals([version(1, b""), version(2, None), version(3, ""), version(4, True)])
    assert [one.value for one in found] == ["", "NULL", "''", "true"]


def test_told() -> None:
    values = ["NULL", None, " x", "it's", "'x'", "a\x1b[31m\n2026-01-01  delete", b"", 1.0, False]
    assert [shown_value(value) for value in values] == [
        "'NULL'", "NULL", "' x'", "it's", "''x''", "'a?[31m\\n2026-01-01  delete'", "''", "1.0", "false",
    ]  # fmt: skip
    assert shown_value([("k", float("inf"))]) == '{"k": "Infinity"}'
    assert shown_change("a", "b") == ("a", "b")
    old, new = shown_change("x" * 100 + "1" + "y" * 100, "x" * 100)
    assert old.startswith("…xxxxxxxxxxxxxxx1yyy") and len(old) == 60
    assert new == "…xxxxxxxxxxxxxxx"


def reject(commit: int, number: int, resolved_by: int | None = None) -> dict[str, Any]:
    row = {"_reject_reason": "cast_failed: id", "_key_hash": "k", "_raw_payload": f"{commit}"}
    return row | {"_business_date": day(number), "_commit_id": commit, "_resolved_by": resolved_by}


@pytest.mark.parametrize(("more", "wanted"), [({}, "42"), ({"_event_id": "e"}, "432")])
def test_rejects__that_are_open(shop: Path, more: dict[str, Any], wanted: str) -> None:
    """As the test no_open_rejects says: what is rejected again is there once; an event comes once."""
    commits = [
        state(1, "completed", 1, business_date=day(1)),
        state(2, "completed", 2, business_date=day(1), kind="full_refresh"),
        state(3, "completed", 3, business_date=day(2)),
        state(4, "completed", 4, business_date=day(2)),
        state(5, "rolled_back", 5, business_date=day(3), undone_by=7),
        state(6, "inflight", 6, business_date=day(3)),
    ]
    write(shop, "tidemark_commits__log", commits)
    numbers = [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)]
    rejects = [reject(*one) for one in numbers] + [reject(3, 2, resolved_by=4)]
    write(shop, "cities__rejects", rejects)
    write(shop, "cities", [{"id": 1}])
    write(shop, "cities__log", [{**row, **more} for row in LOG])
    tables = Tables(known_shop(shop))
    own = read_commits(tables)
    rows, number = reject_rows(tables, CITIES, own, False, 50)
    assert ("".join(row["_raw_payload"] for row in rows), number) == (wanted, len(wanted))
    assert reject_rows(tables, CITIES, own, True, 50)[1] == 7
    found = json.loads(said("report", "--json"))
    assert found["entities"][0]["open_rejects"] == number
    assert [row["rows"] for row in found["rejects"]] == [number]


@pytest.mark.parametrize(
    ("kind", "named", "first"),
    [
        ("load", None, 1),
        ("full_refresh", None, 3),
        # rows in force are older than what clean keeps to be asked for
        ("clean", 2, 2),
    ],
)
def test_rows_as_known_at_a_commit__that_is_not_kept(
    shop: Path, kind: str, named: int | None, first: int
) -> None:
    commits = [*COMMITS, state(3, "completed", 3, kind=kind, source_commit_id=named)]
    write(shop, "tidemark_commits__log", commits)
    write(shop, "cities__log", LOG)
    tables = Tables(known_shop(shop))
    assert rows_as_of(tables, CITIES, first).total >= 0
    with pytest.raises(ConfigError, match=f"from commit {first} on.* of commit {first - 1}"):
        rows_as_of(tables, CITIES, first - 1)


def test_tables__that_are_not_where_they_should_be(shop: Path) -> None:
    write(shop, "tidemark_commits__log", COMMITS)
    (cities, view) = json.loads(said("status", "--json"))
    assert "has its schema a place of its own?" in cities["problem"]
    assert (cities["rows"], cities["open_rejects"], view["problem"]) == (None, None, None)


def test_tables__of_models_in_capitals(shop: Path) -> None:
    write(shop, "cities__log", LOG)
    project = replace(known_shop(shop), commits_schema="Shop")
    entity = replace(CITIES, schema="Shop", table="Cities")
    assert len(versions_of(Tables(project), entity, ["1"])) == 2
