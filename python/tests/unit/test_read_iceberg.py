"""Iceberg tables read without Spark: which folder is a table, which files it has, what its columns are called."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import DecimalType, LongType

from tests import iceberg_tables
from tidemark.read import iceberg
from tidemark.read.folders import NAME_PROPERTY, folder_of
from tidemark.read.project import KnownProject
from tidemark.read.tables import TableNotReadable, Tables

ROW = {
    "id": 1,
    "a b": "x",
    "s": {"x y": 5, "é": {"1": "q"}},
    "l": [{"p q": 1}],
    "d": dt.date(2026, 1, 1),
    "t": dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
    "n": Decimal("1.50"),
    "b": b"\0",
    "tags": ["a", None],
}


def folder(root: Path, name: str, number: int = 1) -> Path:
    """Where Spark puts a table."""
    return root / f"{name}-{number:032x}"


def rows(*given: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(given))


def ids(path: str | Path) -> list[int]:
    return [row["id"] for row in iceberg.open_table(str(path)).query("select id from t order by 1")]


def test_rows__by_the_names_of_the_table(tmp_path: Path) -> None:
    """Files have other names where a name is none of Avro's; columns are found by number, as names change."""
    path = folder(tmp_path, "odd [1]*")
    other = {**dict.fromkeys(ROW), "id": 2}
    table = iceberg_tables.create(path, rows(ROW, other))
    opened = iceberg.open_table(str(path))
    (found, empty) = opened.query("select * from t order by id")
    assert found == ROW and {**empty, "l": None} == other
    assert opened.fields("s") == ["x y", "é"]
    (found,) = opened.query("select s['x y'] as five, cast(n as varchar) as n from t where id = 1")
    assert found == {"five": 5, "n": "1.50"}

    with table.update_schema() as change:
        change.rename_column("a b", "c d")
    with table.update_schema() as change:
        change.add_column("a b", LongType())
        change.update_column("n", DecimalType(12, 2))
    opened = iceberg.open_table(str(path))
    assert opened.columns() == [*(n if n != "a b" else "c d" for n in ROW), "a b"]
    (found,) = opened.query('select "c d", "a b", n from t where id = 1')
    assert found == {"c d": "x", "a b": None, "n": Decimal("1.50")}


def test_rows__of_no_file(tmp_path: Path) -> None:
    path = folder(tmp_path, "t")
    table = iceberg_tables.create(path, rows(ROW).slice(0, 0))
    assert iceberg.open_table(str(path)).query("select * from t") == []
    table.append(rows(ROW))
    assert (ids(path), iceberg.open_table(str(path)).count()) == ([1], 1)
    table.delete()
    opened = iceberg.open_table(str(path))
    assert (ids(path), opened.count(), opened.sizes()) == ([], 0, [])


def test_folder__of_a_name(tmp_path: Path) -> None:
    """A full refresh gives the new log the name, and the old one another; what was dropped leaves an empty folder."""
    assert folder_of(tmp_path / "nowhere", "people", iceberg.describe) is None
    first, second = folder(tmp_path, "people__log"), folder(tmp_path, "people__log__new", 2)
    iceberg_tables.create(folder(tmp_path, "people"), rows({"id": 9}))
    old = iceberg_tables.create(first, rows({"id": 1}))
    new = iceberg_tables.create(second, rows({"id": 2}))
    assert folder_of(tmp_path, "people__log", iceberg.describe) == str(first)
    for table, name in ((old, "people__log_7"), (new, "people__log")):
        with table.transaction() as change:
            change.set_properties({NAME_PROPERTY: name})
    assert folder_of(tmp_path, "people__log", iceberg.describe) == str(second)
    old.append(rows({"id": 3}))
    assert folder_of(tmp_path, "PEOPLE__LOG", iceberg.describe) == str(second)
    shutil.rmtree(second / "metadata")
    assert folder_of(tmp_path, "people", iceberg.describe) == str(folder(tmp_path, "people"))


def test_folder__the_newest_table(tmp_path: Path) -> None:
    """One that died while it was dropped stands beside the one that came after it."""
    for number in (2, 1):
        iceberg_tables.create(folder(tmp_path, "people", number), rows({"id": number}))
    assert ids(folder_of(tmp_path, "people", iceberg.describe) or "") == [1]


def test_description__of_a_commit_that_did_not_go_through(tmp_path: Path) -> None:
    path = folder(tmp_path, "t")
    table = iceberg_tables.create(path, rows({"id": 1}))
    died = iceberg_tables.table_of(max(path.glob("metadata/*.metadata.json")))
    died.append(rows({"id": 7}))
    table.append(rows({"id": 2}))
    assert ids(path) == [1, 2]


@pytest.mark.parametrize(
    ("why", "says"),
    [
        ("store", "only Spark reads the rows of Iceberg tables in an object store"),
        ("nothing", "there is no metadata/*.metadata.json"),
        ("extra", "pip install 'dbt-tidemark[iceberg]'"),
        ("marks", "rows are marked as deleted (merge-on-read), which only Spark reads"),
        ("file", "No files found"),
    ],
)
def test_what_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str, says: str
) -> None:
    path = folder(tmp_path / "shop.db", "t")
    iceberg_tables.create(path, rows({"id": 1}))
    tables = Tables(KnownProject(tmp_path, str(tmp_path), "shop", "iceberg"))
    asked = str(path)
    if why == "store":
        asked = "s3://lake/shop.db/t"
        assert not tables.exists(asked)
    elif why == "nothing":
        asked = str(tmp_path / "t")
    elif why == "extra":
        monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    elif why == "marks":
        scan = iceberg.open_table(asked)._table.scan().plan_files
        tasks = list(scan())
        tasks[0].delete_files.add(tasks[0].file)
        monkeypatch.setattr("pyiceberg.table.DataScan.plan_files", lambda _: tasks)
    else:
        next(path.glob("data/*.parquet")).unlink()
    with pytest.raises(TableNotReadable) as raised:
        tables.rows(asked, "select id from t")
    said = str(raised.value)
    assert said.startswith(f"{asked} cannot be read: ") and says in said and "\n" not in said
