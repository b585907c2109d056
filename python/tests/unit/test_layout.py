"""The layout of tables: what each table is made with, and that macros and Python know the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests import iceberg_tables
from tests.rendering import load_sql_macros, relation
from tidemark.read.project import KnownProject
from tidemark.read.tables import LAYOUT, TableNotReadable, Tables

MACROS = load_sql_macros()
COLUMNS = [{"name": "a", "type": "int"}]


def test_layout__macros_and_python_know_the_same() -> None:
    assert MACROS["layout_version"]() == LAYOUT


def test_layout__every_table_is_made_with_it() -> None:
    for options in ({}, {"properties": {"x": "y", "tidemark.layout": "99"}}):
        (sql,) = MACROS["delta__create_table"](relation("shop", "t"), COLUMNS, options)
        assert sql.count(f"'tidemark.layout' = '{LAYOUT}'") == 1 and "99" not in sql


def test_layout__a_log_is_made_with_it() -> None:
    relations = {"log": relation("shop", "t__log"), "log_table": relation("shop", "t__log")}
    columns = [{"name": name, "type": "bigint"} for name in ("a", "_key_hash", "_commit_id")]
    statements = MACROS["delta__create_log"]({"hash": "md5"}, relations, columns)
    assert f"'tidemark.layout' = '{LAYOUT}'" in statements[0]


def test_layout__only_an_older_one_is_migrated() -> None:
    migrate = MACROS["migrate_layout_sql"]
    assert migrate(relation("shop", "t"), LAYOUT) == []
    *_, last = migrate(relation("shop", "t"), 0)
    assert last.endswith(f"set tblproperties ('tidemark.layout' = '{LAYOUT}')")


@pytest.mark.parametrize("lake", ["delta", "iceberg"])
def test_layout__a_newer_one_is_not_read(tmp_path: Path, lake: str) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    rows, newer = pa.table({"a": [1]}), {"tidemark.layout": str(LAYOUT + 1)}
    tables = Tables(KnownProject(tmp_path, str(tmp_path), "shop", lake))
    known, later = str(tmp_path / "known"), str(tmp_path / "later")
    if lake == "delta":
        for path in (known, later):
            write_deltalake(path, rows)
        DeltaTable(later).alter.set_table_properties(newer, raise_if_not_exists=False)
    else:
        iceberg_tables.create(Path(known), rows)
        iceberg_tables.create(Path(later), rows, newer)
    assert tables.rows(known, "select a from t") == [{"a": 1}]
    with pytest.raises(TableNotReadable, match="written by a newer release of Tidemark"):
        tables.rows(later, "select a from t")


@pytest.mark.parametrize(
    ("names", "is_mapped"),
    [
        ([("a", "int"), ("b.c", "string"), ("d`e", "decimal(10,2)"), ("naïve", "date")], False),
        ([("s", "struct<a:int,b.c:array<struct<d`e:map<string, int>>>>")], False),
        ([("s", "struct<`a`:int,`b`:timestamp_ntz>"), ("m", "map<string, decimal(10,2)>")], False),
        *(([("a", "int"), (f"b{odd}c", "int")], True) for odd in " ,;{}()\n\t="),
        ([("s", "struct<a:int,b c:int>")], True),
        ([("s", "array<struct<`a=`:int>>")], True),
        ([("m", "map<string, struct<a:struct<`b``;`:int>>>")], True),
    ],
)
def test_names__that_a_table_of_delta_maps(names: list[tuple[str, str]], is_mapped: bool) -> None:
    """Readers that do not map names read any other table; a table of Iceberg goes by numbers."""
    columns = [{"name": name, "type": kind} for name, kind in names]
    (sql,) = MACROS["delta__create_table"](relation("shop", "t"), columns, {})
    assert ("'delta.columnMapping.mode' = 'name'" in sql) == is_mapped
    (sql,) = MACROS["iceberg__create_table"](relation("shop", "t"), columns, {})
    assert "columnMapping" not in sql
