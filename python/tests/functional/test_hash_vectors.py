"""The SQL macros give the bytes of the shared vectors, in Spark, with ANSI mode on and off; so do
the RDD functions."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from tests import hash_vectors
from tests.macros import load_macros
from tidemark import hashing
from tidemark.hashing import types

CASES = hash_vectors.load()
ALGORITHMS = hashing.ALGORITHMS


@pytest.fixture(scope="module")
def spark(make_project: Callable[[str], Any]) -> Iterator[SparkSession]:
    session: SparkSession = make_project("hash_vectors").session
    before = session.conf.get("spark.sql.ansi.enabled")
    yield session
    session.conf.set("spark.sql.ansi.enabled", before)


def frame_of(spark: SparkSession, cases: list[dict[str, Any]]) -> Any:
    """One row with a struct per case, `c0`, `c1` …, whose fields are the case's columns."""
    fields, row = [], []
    for index, case in enumerate(cases):
        parsed = [
            StructField(column["name"], spark_type(types.parse_type(column["type"])))
            for column in case["columns"]
        ]
        fields.append(
            StructField(f"c{index}", StructType([*parsed, StructField("_", spark_type_of("int"))]))
        )
        row.append((*hash_vectors.row_of(case).values(), None))
    # An RDD: rows that are part of the plan would be folded, without running the generated code.
    rows = spark.sparkContext.parallelize([tuple(row)], 1)
    return spark.createDataFrame(rows, StructType(fields), verifySchema=False)


def spark_type_of(text: str) -> DataType:
    return DataType.fromDDL("string" if text.startswith(("char", "varchar")) else text)


def spark_type(kind: types.Type) -> DataType:
    if kind.base == "array":
        return ArrayType(spark_type(kind.parts[0]))
    if kind.base == "map":
        return MapType(spark_type(kind.parts[0]), spark_type(kind.parts[1]))
    if kind.base == "struct":
        parts = zip(kind.names, kind.parts, strict=True)
        return StructType([StructField(name, spark_type(part)) for name, part in parts])
    return spark_type_of(kind.text)


@pytest.mark.parametrize(("ansi", "algorithms"), [("false", ALGORITHMS), ("true", ("md5",))])
def test_row_hash_expr__vectors(
    spark: SparkSession, ansi: str, algorithms: tuple[str, ...]
) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    macros = load_macros("expr")
    for start in range(0, len(CASES), 12):
        cases = CASES[start : start + 12]
        frame_of(spark, cases).createOrReplaceTempView("vectors")
        terms = []
        for index, case in enumerate(cases):
            alias, columns = f"c{index}", case["columns"]
            terms.append(f"{macros['row_text_expr'](columns, alias)} as row_text_{index}")
            for algorithm in algorithms:
                expression = macros["row_hash_expr"](columns, algorithm, alias)
                terms.append(f"{expression} as {algorithm}_{index}")
        found = spark.sql(f"select {', '.join(terms)} from vectors").collect()[0].asDict()
        for index, case in enumerate(cases):
            for name in ("row_text", *algorithms):
                assert found[f"{name}_{index}"] == case[name], (case["name"], name)


def test_canonical_text_expr__types_as_describe_prints_them(spark: SparkSession) -> None:
    macros = load_macros("expr")
    source = """
        select
            named_struct(
                'a b', 1, 'c:d', array(2.5d), 'e`f', named_struct('x,y', map('k', 1.50))
            ) as s,
            interval '-26' hour as h,
            interval '3' day as d,
            interval '01:02' minute to second as m,
            null as v,
            'ß' collate unicode_ci as c
    """
    types = {row[0]: row[1] for row in spark.sql(f"describe query {source}").collect()}
    terms = [macros["canonical_text_expr"](f"`{name}`", types[name]) for name in types]
    found = spark.sql(f"select {', '.join(terms)} from ({source})").collect()[0]
    s, h, d, m, v, c = found
    assert s == "{3:a b1:13:c:d12:[7:0x1.4p1;]3:e`f22:{3:x,y12:<1:k;3:1.5;>}}"
    hours = datetime.timedelta(hours=-26)
    assert h == hashing.canonical_text(hours, types["h"]) == "INTERVAL '-26' HOUR"
    assert d == hashing.canonical_text(datetime.timedelta(days=3), types["d"])
    assert m == hashing.canonical_text(datetime.timedelta(seconds=62), types["m"])
    assert (v, c) == (None, "ß")


def test_row_hash_expr__only_if(spark: SparkSession) -> None:
    columns = [{"name": "id", "type": "bigint"}]
    hash_expr = load_macros("expr")["row_hash_expr"]
    expressions = (hash_expr(columns, "md5", only_if="id > 0"), hash_expr(columns, "md5"))
    found = spark.sql(f"select {', '.join(expressions)} from range(2)").collect()
    assert found[0][0] is None
    assert (
        found[1][0] == found[1][1] == hashing.row_hash({"id": 1}, [hashing.Column("id", "bigint")])
    )


def test_string_literal__round_trips(spark: SparkSession) -> None:
    macros = load_macros("expr")
    texts = [
        "it's",
        'a"b',
        "\\n \\' \\",
        "\n\r\t\x00" + "12",
        "${env:HOME} ${x}",
        "%_\\%",
        "😀 é",
        "",
    ]
    literals = ", ".join(
        f"{macros['string_literal'](text)} as c{i}" for i, text in enumerate(texts)
    )
    assert list(spark.sql(f"select {literals}").collect()[0]) == texts


def test_hash_rows__same_bytes_as_sql(spark: SparkSession) -> None:
    macros = load_macros("expr")
    rows = spark.sql("""
        select
            id,
            if(id % 3 = 0, null, id / 8) as ratio,
            cast(id / 7 as decimal(20,10)) as share,
            timestamp_micros(id * 86400000001 * 300) as at,
            array(struct(id as `x y`, 'é' as z), null) as list,
            cast(id as string) as phone,
            current_date() as loaded_at
        from range(-60, 60)
    """)
    described = [{"name": f.name, "type": f.dataType.simpleString()} for f in rows.schema]
    for column in described:
        column["sensitive"] = column["name"] == "phone"
    by_name = {column["name"]: column for column in described}
    compared = [by_name[name] for name in ("ratio", "share", "at", "list", "phone")]
    hashed = hashing.hash_rows(
        rows, ["id"], ignore=["loaded_at"], sensitive=["phone"], algorithm="sha256"
    )
    assert hashed.columns == [*rows.columns, "_key_hash", "_row_hash"]
    hashed.createOrReplaceTempView("hashed")
    key = macros["row_hash_expr"]([by_name["id"]], "sha256")
    row = macros["row_hash_expr"](compared, "sha256")
    differing = spark.sql(
        f"select * from hashed where not (_key_hash <=> {key} and _row_hash <=> {row})"
    ).collect()
    assert differing == []
    assert hashed.count() == 120


def test_cast_and_hash__quarantines_what_it_cannot_read(spark: SparkSession) -> None:
    columns = {
        "icao": "string",
        "runways": "int",
        "opened": "date",
        "checked": "timestamp",
        "phone": "decimal(10,0)",
    }
    lines = [
        ("EDDF", "4", "1936-07-08", "2026-03-04T05:06:07", "69"),
        ("EDDM", "two", "1992-05-17", "", "89"),
        ("EGLL", "", " ", "2026-03-04T05:06:07+01:00", "x"),
        ("EGSS", "1"),
    ]
    rows = spark.sparkContext.parallelize(lines, 2)
    found = hashing.cast_and_hash(
        rows, columns, ["icao"], sensitive=["phone"], algorithm="md5", time_zone="UTC"
    ).collect()
    by_reason = {row["_reject_reason"]: row for row in found}
    assert set(by_reason) == {None, "cast_failed: runways", "cast_failed: phone", "unreadable"}
    good = by_reason[None]
    assert (good["runways"], good["opened"], good["_raw_payload"]) == (
        4,
        datetime.date(1936, 7, 8),
        None,
    )
    assert good["_key_hash"] == hashing.row_hash(
        {"icao": "EDDF"}, [hashing.Column("icao", "string")]
    )
    bad = by_reason["cast_failed: runways"]
    assert (bad["runways"], bad["_row_hash"]) == (None, None)
    assert bad["_key_hash"] == hashing.row_hash(
        {"icao": "EDDM"}, [hashing.Column("icao", "string")]
    )
    assert json.loads(bad["_raw_payload"])["runways"] == "two"
    assert json.loads(by_reason["cast_failed: phone"]["_raw_payload"])["phone"] == "***"
    assert by_reason["unreadable"]["_key_hash"] is None


def test_cast_and_hash__a_frame_of_text_and_typed_columns(spark: SparkSession) -> None:
    rows = spark.sql("select 'EDDF' as icao, '1.50' as ratio, 7 as runways, 'x' as other")
    found = hashing.cast_and_hash(
        rows, {"icao": "string", "ratio": "decimal(10,2)", "runways": "int"}, ["icao"]
    )
    assert found.columns[:3] == ["icao", "ratio", "runways"]
    typed = spark.sql("select 'EDDF' as icao, cast(1.5 as decimal(20,10)) as ratio, 7L as runways")
    assert found.first()["_row_hash"] == hashing.hash_rows(typed, ["icao"]).first()["_row_hash"]
    again = hashing.hash_rows(rows.drop("other"), ["icao"], types={"ratio": "decimal(10,2)"})
    assert again.first() == found.first()
