"""The SQL that sources are asked with, and what of a table can be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemark.replicator.reconcile.dialects import DIALECTS, Scope, form_of
from tidemark.replicator.reconcile.forms import (
    Column,
    Copy,
    Incomparable,
    Pairing,
    SourceColumn,
    event_value,
    holds,
    pair_columns,
    read_items,
)

GOLDEN = Path(__file__).parent / "golden"
# of each connector: a key and one column of every form
TYPES = {
    "postgresql": [
        "integer",
        "boolean",
        "bit(1)",
        "numeric(12,3)",
        "double precision",
        "date",
        "timestamp(3) without time zone",
        "time without time zone",
        "bytea",
        "text",
        "character(5)",
        "numeric[]",
    ],
    "mariadb": [
        "int",
        "bit(1)",
        "decimal",
        "double",
        "date",
        "datetime",
        "time",
        "varbinary",
        "varchar",
    ],
    "sqlserver": [
        "int",
        "bit",
        "decimal",
        "date",
        "datetime2",
        "datetimeoffset",
        "varbinary",
        "nvarchar",
        "uniqueidentifier",
    ],
    "oracle": ["NUMBER", "DATE", "TIMESTAMP WITH TIME ZONE", "RAW", "VARCHAR2"],
}


def pairing(connector: str, keys: int = 1) -> Pairing:
    columns = []
    for number, type_ in enumerate(TYPES[connector]):
        form = form_of(connector, type_)
        assert form is not None, type_
        name = "id" if number == 0 else f"c {number}"
        columns.append(Column(name, name, type_, form, ""))
    return Pairing(columns, keys)


@pytest.mark.parametrize("connector", TYPES)
def test_source_sql__golden(connector: str) -> None:
    dialect, pairs = DIALECTS[connector], pairing(connector)
    text = ";\n\n".join(
        [
            dialect.figures_sql("shop.Orders", pairs, 1024, Scope(64, [7, 9])),
            dialect.digests_sql("shop.Orders", pairing(connector, 0), Scope(64)),
            dialect.rows_sql("shop.Orders", pairs, ["c4ca4238a0b923820dcc509a6f75849b"]),
            "",
        ]
    )
    golden = GOLDEN / f"reconcile.{connector}.sql"
    if not golden.exists():
        golden.write_text(text)
        pytest.fail(f"{golden} was written: review it")
    assert text == golden.read_text()


@pytest.mark.parametrize(
    ("connector", "name", "quoted"),
    [
        ("postgresql", 'public.a"b', '"public"."a""b"'),
        ("mysql", "shop.a`b", "`shop`.`a``b`"),
        ("sqlserver", "dbo.a]b", "[dbo].[a]]b]"),
        ("oracle", "SHOP.a.b", '"SHOP"."a.b"'),
    ],
)
def test_names_are_quoted(connector: str, name: str, quoted: str) -> None:
    assert DIALECTS[connector].table(name) == quoted


@pytest.mark.parametrize(
    ("connector", "type_", "form"),
    [
        ("postgresql", "character varying(20)[]", "array:text"),
        ("postgresql", "timestamp(3) with time zone", "timestamp"),
        ("postgresql", "integer[][]", None),
        ("postgresql", "interval[]", None),
        ("postgresql", "bit(8)", None),
        ("mysql", "json", None),
        ("mariadb", "longtext", "text"),
        ("mysql", "bit(1)", "boolean"),
        ("sqlserver", "float", None),
        ("oracle", "CLOB", None),
    ],
)
def test_form_of(connector: str, type_: str, form: str | None) -> None:
    assert form_of(connector, type_) == form


def test_pair_columns__says_what_is_left_out() -> None:
    source = [
        SourceColumn("ID", "integer", "integer"),
        SourceColumn("name", "text", "text"),
        SourceColumn("phone", "text", "text"),
        SourceColumn("since", "interval", None),
        SourceColumn("size", "text", "text"),
        SourceColumn("new", "text", "text"),
    ]
    types = {"name": "string", "id": "int", "phone": "string", "since": "bigint", "size": "int"}
    found = pair_columns(source, Copy("t", {**types, "gone": "int"}, ["id"], ["PHONE"]))
    assert [(column.name, column.source) for column in found.columns] == [
        ("id", "ID"),
        ("name", "name"),
    ]
    assert (found.keys, found.only_here) == (1, True)
    assert found.left_out == {
        "phone": "sensitive",
        "since": "interval",
        "size": "text, stored as int",
        "new": "missing in the copy",
        "gone": "missing in the source",
    }


def test_pair_columns__key_that_cannot_be_compared() -> None:
    source = [SourceColumn("id", "interval", None), SourceColumn("name", "text", "text")]
    copy = Copy("t", {"id": "bigint", "name": "string"}, ["id"])
    with pytest.raises(Incomparable, match=r"the key cannot be compared: id \(interval\)"):
        pair_columns(source, copy)
    with pytest.raises(Incomparable, match="no column"):
        pair_columns(source[:1], Copy("t", {"id": "bigint"}))


def test_holds() -> None:
    assert holds("decimal(12,3)", "decimal")
    assert holds("array<timestamp>", "array:timestamp")
    assert not holds("string", "date")
    assert not holds("array<int>", "text")
    assert not holds("int", "array:integer")


@pytest.mark.parametrize(
    ("form", "stored", "text", "value"),
    [
        ("text", "string", None, None),
        ("text", "string", "", ""),
        ("timestamp", "timestamp", "-1", "1969-12-31T23:59:59.999999Z"),
        ("timestamp", "timestamp_ntz", "253402300799999999", "9999-12-31T23:59:59.999999Z"),
        ("double", "double", "0x1.999999999999ap-4", "0.1"),
        ("double", "double", "0x0.0000000000001p-1022", "5e-324"),
        ("double", "double", "-Infinity", "-Infinity"),
        ("decimal", "string", "NAN", "NAN"),
        ("decimal", "decimal(12,3)", "-0.5", "-0.5"),
        ("array:text", "array<string>", "[2:;];N;0:;]", [";]", None, ""]),
        ("array:double", "array<double>", "[1:2;]", ["2"]),
        ("array:text", "array<string>", "[]", []),
    ],
)
def test_event_value(form: str, stored: str, text: str | None, value: object) -> None:
    assert event_value(form, stored, text) == value


@pytest.mark.parametrize(
    ("form", "stored", "text"),
    [
        ("timestamp", "timestamp", "infinity"),
        ("timestamp", "timestamp", "253402300800000000"),
        ("date", "date", "0044-03-15 BC"),
        ("decimal", "decimal(12,3)", "NAN"),
        ("array:date", "array<date>", "[8:infinity;]"),
    ],
)
def test_event_value__cannot_be_held(form: str, stored: str, text: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        event_value(form, stored, text)


def test_read_items__no_array() -> None:
    with pytest.raises(ValueError, match="not an array"):
        read_items("[x]")
