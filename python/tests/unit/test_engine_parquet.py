"""The engine in the workers: extracts that are Parquet files."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemark import hashing
from tidemark.engine.header import footer_of, stamp_of
from tidemark.engine.load import Column
from tidemark.engine.pages import broken_file
from tidemark.engine.parquet import columns_of
from tidemark.engine.task import Targets, compare, keep

from .test_engine import Lake, a_load, read_now, small_ranges

UTC = pa.timestamp("us", tz="UTC")
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), ["", " ", "a\rb", "nul \0", "ü😀", "NULL"]),
    "boolean": (pa.bool_(), [True, False]),
    "tinyint": (pa.int8(), [-128, 127]),
    "smallint": (pa.int16(), [-32768, 7]),
    "int": (pa.int32(), [-(2**31), 0]),
    "bigint": (pa.int64(), [2**63 - 1, -(2**63)]),
    "float": (pa.float32(), [0.0, 1.5, 0.10000000149011612]),
    "double": (pa.float64(), [0.0, 0.1, 1e300, 5e-300, 2.0**53, -1.5]),
    "decimal(12,2)": (pa.decimal128(12, 2), [Decimal("0.00"), Decimal("-1.50"), Decimal("9999999999.99")]),
    "decimal(38,6)": (pa.decimal128(38, 6), [Decimal("0.000001"), Decimal("-100.000000")]),
    "date": (pa.date32(), [dt.date(1600, 1, 1), dt.date(9999, 12, 31)]),
    "timestamp": (UTC, [dt.datetime(1600, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC)]),
}  # fmt: skip


def write(path: Path, columns: dict[str, tuple[pa.DataType, list[Any]]], **options: Any) -> str:
    arrays = {name: pa.array(values, kind) for name, (kind, values) in columns.items()}
    pq.write_table(pa.table(arrays), path, **options)
    return str(path)


def test_types(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.parquet", {name: (kind, [None]) for name, (kind, _) in TYPES.items()}
    )
    assert columns_of([path]) == [{"name": name, "type": name} for name in TYPES]
    old = write(tmp_path / "o.parquet", {"at": (UTC, [None])}, use_deprecated_int96_timestamps=True)
    assert columns_of([old]) == [{"name": "at", "type": "timestamp"}]


@pytest.mark.parametrize(
    "kind",
    [pa.uint32(), pa.timestamp("us"), pa.timestamp("ms", tz="UTC"), pa.timestamp("ns", tz="UTC"), pa.binary(),
     pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.time64("us"), pa.large_binary(), pa.binary(4)],
)  # fmt: skip
def test_types__of_spark_alone(tmp_path: Path, kind: pa.DataType) -> None:
    path = write(tmp_path / "t.parquet", {"id": (pa.int64(), [1]), "x": (kind, [None])})
    assert columns_of([path]) == "column x of a file is of a type that Spark alone knows"


def test_footers(tmp_path: Path) -> None:
    def of(*paths: str, depth: int = 0) -> Any:
        found = footer_of([{"path": f"file:{path}", "depth": depth} for path in paths])
        return found.get("why_not", found)

    ids = (pa.int64(), [1])
    one = write(tmp_path / "1.parquet", {"id": ids, "x": ids})
    assert of(one) == {
        "paths": [one], "stamps": [list(stamp_of(one))], "names": ["id", "x"], "types": ["bigint", "bigint"],
    }  # fmt: skip
    assert of(one, write(tmp_path / "2.parquet", {"id": ids, "x": ids}))["names"] == ["id", "x"]
    for columns, why in {
        ("x", "id"): "its files have different columns",
        ("id",): "its files have different columns",
        ("id", "ID"): "its files have different columns",
    }.items():
        assert of(one, write(tmp_path / "3.parquet", dict.fromkeys(columns, ids))) == why
    assert "one name twice" in of(write(tmp_path / "4.parquet", {"id": ids, "ID": ids}))
    assert "Tidemark's own" in of(write(tmp_path / "5.parquet", {"id": ids, "_tidemark_x": ids}))
    assert of(one, depth=2) == "its files lie in folders of the folder"
    (tmp_path / "6.parquet").write_text("id,x\n")
    assert of(str(tmp_path / "6.parquet")).startswith("the footer of a file is not read by it (")


def said(tmp_path: Path, **words: str) -> Any:
    table = pa.table({"id": pa.array([1], pa.int64())})
    named = {f"org.apache.spark.{name.replace('__', '.')}": text for name, text in words.items()}
    pq.write_table(table.replace_schema_metadata(named), tmp_path / "t.parquet")
    return columns_of([str(tmp_path / "t.parquet")])


def test_what_spark_left_in_a_file(tmp_path: Path) -> None:
    schema = (
        '{"type":"struct","fields":[{"name":"id","type":"%s","nullable":true,"metadata":{%s}}]}'
    )
    right = [{"name": "id", "type": "bigint"}]
    assert (
        said(tmp_path, version="4.1.4", sql__parquet__row__metadata=schema % ("long", "")) == right
    )
    assert said(tmp_path, version="2.4.8") == "a file was written by an old Spark"
    assert (
        said(tmp_path, version="3.5.0", legacyDateTime="") == "a file was written by an old Spark"
    )
    more = "a file has more to say of its columns than their names and types"
    assert (
        said(tmp_path, sql__parquet__row__metadata=schema % ("long", '"__CHAR":"char(3)"')) == more
    )
    assert said(tmp_path, sql__parquet__row__metadata=schema % ("timestamp", "")) == more


@pytest.mark.parametrize("name", TYPES)
def test_values(tmp_path: Path, name: str) -> None:
    """Each value by itself: its hash is that of Tidemark's Python implementation."""
    kind, values = TYPES[name]
    lake = Lake(tmp_path)
    for number, value in enumerate([*values, None]):
        path = write(
            tmp_path / f"{number}.parquet", {"id": (pa.int32(), [1]), "v": (kind, [value])}
        )
        load = read_now(
            a_load(
                format="parquet", files=(path,), fields=("id", "v"), keys=("id",), compared=("v",), ignored=(),
                columns=(Column("id", "int", 0, True, "int"), Column("v", name, 1, False, name)),
            )
        )  # fmt: skip
        from tidemark.engine.room import connection
        from tidemark.engine.task import _stage

        with connection(lake.room()) as db:
            assert _stage(db, load) == (1, 1), value
            (found,) = db.execute("select rh from staged").fetchone()
        text = None if value is None else hashing.canonical_text(value, name)
        assert found == md5_of("v", text), value


def md5_of(name: str, text: str | None) -> str:
    import hashlib

    told = f"{len(name)}:{name}{len(text.encode())}:{text}" if text is not None else ""
    return hashlib.md5(told.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("double", float("nan")), ("double", float("inf")), ("double", -0.0), ("double", 5e-324), ("float", float("-inf")),
        ("float", -0.0), ("date", dt.date(1599, 12, 31)), ("timestamp", dt.datetime(1582, 10, 1, tzinfo=dt.UTC)),
    ],
)  # fmt: skip
def test_values__declined(tmp_path: Path, name: str, value: Any) -> None:
    from tidemark.engine.task import keep

    path = write(tmp_path / "t.parquet", {"id": (pa.int32(), [1]), "v": (TYPES[name][0], [value])})
    load = read_now(
        a_load(
            format="parquet", files=(path,), fields=("id", "v"), keys=("id",), compared=("v",), ignored=(),
            columns=(Column("id", "int", 0, True, "int"), Column("v", name, 1, False, name)),
        )
    )  # fmt: skip
    declined = keep(load, str(tmp_path / "kept"), Lake(tmp_path).room()).declined
    assert declined is not None and declined.startswith("column v has a value")


def test_days(tmp_path: Path) -> None:
    """Texts of a column are typed as those of CSV files; names need no care."""
    lake = Lake(tmp_path)
    columns = tuple(
        replace(column, arrives_as="int" if column.name == "id" else "string")
        for column in a_load().columns
    )

    def load(day: str, rows: list[tuple[Any, ...]]) -> Any:
        names = ("id", 'p"art', "na me", "N", "seen")
        kinds = (pa.int32(), *[pa.string()] * 4)
        table = {
            name: (kind, [row[place] for row in rows])
            for place, (name, kind) in enumerate(zip(names, kinds, strict=True))
        }
        path = write(tmp_path / f"{day}.parquet", table)
        return read_now(
            a_load(
                format="parquet", files=(path,), fields=names, columns=columns, business_date=day, commit_id=int(day[-2:])
            )
        )  # fmt: skip

    lake.first(load("2026-01-01", [(1, "a", "x\r", " 1.5 ", None), (2, "a", "", "", "s")]))
    outcome = lake.next(load("2026-01-02", [(1, "a", "x\r", "2.5", None)]))
    assert lake.logged(outcome) == {
        (1, "a"): ("U", "x\r", 2.5, None, ["n"]),
        (2, "a"): ("D", "", None, "s", None),
    }
    refused = lake.next(load("2026-01-03", [(1, "a", "x", "1.5d", None)])).declined
    assert refused is not None and refused.startswith("column n has a value")
    again = load("2026-01-04", [(1, "a", "x", "1", None)])
    write(Path(again.files[0]), {"id": (pa.int32(), [9])})
    assert lake.next(again).declined is not None


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_broken_file(tmp_path: Path, compression: str, version: str) -> None:
    """Any bit of a page that flips is found, of files that have checksums; others are taken as they are."""
    table = pa.table(
        {"id": list(range(5000)), "name": [f"n{number % 90}" for number in range(5000)]}
    )
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as db:
        for has_checksums in (True, False):
            pq.write_table(
                table, path, compression=compression, data_page_version=version, data_page_size=4096,
                write_page_checksum=has_checksums,
            )  # fmt: skip
            assert broken_file(db, [str(path)]) is None
        pq.write_table(
            table, path, compression=compression, data_page_version=version, data_page_size=4096,
            write_page_checksum=True,
        )  # fmt: skip
        whole = path.read_bytes()
        end = pq.ParquetFile(path).metadata.row_group(0).total_byte_size
        dice = random.Random(7)
        for place in [dice.randrange(4, min(end, len(whole) // 2)) for _ in range(40)]:
            flipped = bytearray(whole)
            flipped[place] ^= 1 << dice.randrange(8)
            path.write_bytes(flipped)
            if broken_file(db, [str(path)]) is None:
                # a bit of a page's header that says nothing of its values
                assert pq.read_table(path, page_checksum_verification=True) == table


def test_flipped_bit__is_left_to_spark(tmp_path: Path) -> None:
    """In an extract, and in a file of current."""
    lake = Lake(tmp_path)
    lake.first(
        lake.extract("2026-01-01", [{"id": 1, "part": "p", "name": "a", "n": 1.5, "seen": ""}])
    )
    table = pa.table({"id": pa.array([1, 2], pa.int32()), "name": pa.array(["aaaa", "bbbb"])})
    columns = (Column("id", "int", 0, True, "int"), Column("name", "string", 1, False))
    path = tmp_path / "x.parquet"
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"\4\0\0\0aaaa", b"\4\0\0\0aaab"))
    changes = {
        "format": "parquet",
        "fields": ("id", "name"),
        "columns": columns,
        "keys": ("id",),
        "compared": ("name",),
        "ignored": (),
    }
    load = read_now(a_load(files=(str(path),), **changes))
    for outcome in (
        keep(load, str(tmp_path / "kept"), lake.room()),
        compare(load, Targets(lake.log, lake.current), lake.room()),
    ):
        assert outcome.declined == "a page of a file is not as it was written"
    good = lake.extract("2026-01-02", [{"id": 1, "part": "p", "name": "b", "n": 1.5, "seen": ""}])
    broken = replace(lake.current, files=(str(path),))
    assert (
        compare(good, Targets(lake.log, broken), lake.room()).declined
        == "a page of a file of current is not as it was written"
    )


@pytest.mark.parametrize("column", ["name", "_operation"])
def test_flipped_bit__of_a_range_that_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    """A delta reads, and so checks, the files that have its keys, and of others by what rows are counted."""
    small_ranges(monkeypatch)
    lake = Lake(tmp_path)
    rows = [{"id": id, "part": "p", "name": "a", "n": 1.5, "seen": ""} for id in range(12)]
    lake.first(lake.extract("2026-01-01", rows))
    change = dict(rows[0], name="b")
    load = lake.extract("2026-01-02", [change], extract="delta")
    touched = compare(load, lake.targets(), lake.room()).replaced
    assert touched is not None and len(touched) == 1
    other = next(file for file in lake.current.files if file not in touched)
    pq.write_table(
        pq.read_table(other), other, write_page_checksum=True, compression="none", use_dictionary=False
    )  # fmt: skip
    (value, flipped) = {"name": (b"a", b"c"), "_operation": (b"I", b"D")}[column]
    # texts that are one letter each: of the operations all are I, of the names a
    data = Path(other).read_bytes()
    assert data.count(b"\1\0\0\0" + value) >= 1
    Path(other).write_bytes(data.replace(b"\1\0\0\0" + value, b"\1\0\0\0" + flipped))
    declined = compare(load, lake.targets(), lake.room()).declined
    assert declined == (
        "a page of a file of current is not as it was written" if column == "_operation" else None
    )
