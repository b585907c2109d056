"""What extracts look like: CSV of every kind, JSON lines, Parquet, hostile names and values, a SELECT of the user's."""

from __future__ import annotations

import datetime as dt
import gzip
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .entities import Entity

NASTY_NAMES = [
    "a b",
    "a.b",
    "a`b",
    "a;b",
    "naïve",
    "🙂",
    'q"q',
    "it's",
    "order",
    "{{ x }}",
    "a-b",
    "(x)",
]


def test_csv__rfc_4180(module_project: Any) -> None:
    texts = Entity(module_project, "texts", {"id": "int", "t": "string"})
    rows = {
        1: "plain",
        2: "comma, inside",
        3: 'quote " inside',
        4: "line\nbreak",
        5: "",
        6: None,
        7: "NULL",
        8: " padded ",
        9: "Ünïcodé 🙂",
        10: "back\\slash",
        11: "'single'",
        12: "tab\there",
        13: "{{ jinja }} ${env:HOME}",
    }
    lines = ["id,t"]
    for key, text in rows.items():
        lines.append(f"{key}," if text is None else '{},"{}"'.format(key, text.replace('"', '""')))
    data = "\n".join(lines) + "\n"
    texts.load("2026-01-01", data)
    assert dict(texts.rows("id, t")) == rows
    # the same with a byte order mark and Windows line ends, but for the break inside quotes: nothing changed
    windows = data.replace("\n", "\r\n").replace("line\r\nbreak", "line\nbreak")
    texts.load("2026-01-02", b"\xef\xbb\xbf" + windows.encode())
    assert texts.commits("rows_unchanged, rows_updated, rows_read")[-1] == (13, 0, 13)


@pytest.mark.turn(0)
def test_csv__no_header_delimiter_glob(module_project: Any) -> None:
    parts = Entity(
        module_project,
        "parts",
        {"id": "int", "t": "string", "n": "decimal(8,2)"},
        options={"header": False, "sep": "|"},
        location=f"{module_project.root}/extracts/parts/{{yyyy}}/{{mm}}/{{dd}}/*.csv.gz",
    )
    folder = parts.folder / "2026" / "01" / "01"
    folder.mkdir(parents=True)
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"1|a,b|1.10\n2||2\n"))
    (folder / "b.csv.gz").write_bytes(gzip.compress(b"3|c|-0.5\n"))
    parts.run("2026-01-01")
    assert [(row[0], row[1], str(row[2])) for row in parts.rows("id, t, n")] == [
        (1, "a,b", "1.10"),
        (2, None, "2.00"),
        (3, "c", "-0.50"),
    ]
    # a row that is too short or too long is not guessed at
    (folder / "c.csv.gz").write_bytes(gzip.compress(b"4|d\n5|e|1|more\n"))
    error = parts.run("2026-01-01", expect_pass=False).error
    assert "unreadable: 2 rows" in error and "5|e|1|more" in error


@pytest.mark.turn(3)
def test_json_lines(module_project: Any) -> None:
    events = Entity(
        module_project,
        "docs",
        {
            "id": "bigint",
            "at": "timestamp",
            "ok": "boolean",
            "tags": "array<string>",
            "place": "struct<city:string,zip:int>",
            "price": "decimal(10,2)",
        },
        format="json",
        location=f"{module_project.root}/extracts/docs/{{business_date}}.jsonl",
        on_reject="quarantine",
    )
    good = '{"id": 9007199254740993, "at": "2026-01-01T10:00:00Z", "ok": true, "tags": ["a", null], "place": {"city": "Köln", "zip": 1}, "price": 1.50}\n'
    events.extract("2026-01-01", good + '{"id": 2}\n\nnot json\n{"id": "x"}\n', suffix="jsonl")
    events.run("2026-01-01")
    first, second = events.project.sql("select * from docs order by id desc")
    assert first.id == 9007199254740993 and first.ok is True and first.tags == ["a", None]
    assert (
        first.place.city == "Köln"
        and str(first.price) == "1.50"
        and first.at == dt.datetime(2026, 1, 1, 10)
    )
    assert second.id == 2 and second.at is None and second.tags is None
    assert events.rows("_reject_reason", "__rejects") == [("cast_failed: id",), ("unreadable",)]
    # the order of fields and white space is nothing, the order of an array's elements is
    moved = '{"price":1.5,"place":{"zip":1,"city":"Köln"},"tags":["a",null],"ok":true,"at":"2026-01-01T11:00:00+01:00","id":9007199254740993}\n'
    events.extract("2026-01-02", moved + '{"id": 2, "tags": []}\n', suffix="jsonl")
    events.run("2026-01-02")
    assert events.rows("id, _changed_columns", "__history", "_business_date = '2026-01-02'") == [
        (2, ["tags"])
    ]
    # rows of a date from before a column came that is required since are no rejects
    events.not_null = ("email",)
    events.write(columns={**events.columns, "email": "string"})
    events.extract("2026-01-03", good[:-2] + ', "email": "x"}\n', suffix="jsonl")
    events.run("2026-01-03")
    history = events.rows("id, _operation, email", "__history")
    for _ in range(2):
        events.run("2026-01-02")
        assert events.commits("kind")[-1] == ("repeat",)
    assert events.rows("id, _operation, email", "__history") == history


@pytest.mark.turn(2)
def test_parquet__nanoseconds(module_project: Any) -> None:
    """As pandas writes times; microseconds of them are kept, and files of both units are not one extract."""
    visits = Entity(
        module_project,
        "visits",
        {"id": "int", "at": "timestamp", "wall": "timestamp_ntz"},
        format="parquet",
        location="data/visits/{business_date}",
    )
    folder = module_project.root / "data" / "visits"
    counts = [1_772_627_400_123_456_789, -1_000_000_001, None]

    def write(day: str, name: str, unit: str, ids: list[int]) -> None:
        (folder / day).mkdir(parents=True, exist_ok=True)
        per = {"ns": 1, "us": 1000}[unit]
        values = [None if (count := counts[one]) is None else count // per for one in ids]
        times = {"at": pa.timestamp(unit, "UTC"), "wall": pa.timestamp(unit)}
        columns = {name: pa.array(values, type_) for name, type_ in times.items()}
        pq.write_table(pa.table({"id": pa.array(ids, pa.int32()), **columns}), folder / day / name)

    write("2026-01-01", "a.parquet", "ns", [0, 1])
    write("2026-01-01", "b.parquet", "ns", [2])
    visits.run("2026-01-01")
    shown = "id, cast(at as string), cast(wall as string)"
    assert visits.rows(shown) == [
        (0, "2026-03-04 12:30:00.123456", "2026-03-04 12:30:00.123456"),
        (1, "1969-12-31 23:59:58.999999", "1969-12-31 23:59:58.999999"),
        (2, None, None),
    ]
    write("2026-01-02", "a.parquet", "us", [0, 1, 2])
    visits.run("2026-01-02")
    assert visits.commits("rows_unchanged, rows_updated")[-1] == (3, 0)
    write("2026-01-03", "a.parquet", "ns", [0, 1])
    write("2026-01-03", "b.parquet", "us", [2])
    refused = visits.run("2026-01-03", expect_pass=False).error
    assert "b.parquet has other timestamps than" in refused and "in the same unit" in refused


@pytest.mark.turn(1)
def test_parquet__files_of_several_schemas(module_project: Any) -> None:
    """Of files of a date, and of events, each column of each file is read; a file without a byte is none."""
    root = module_project.root / "data"
    at = "{business_date}"
    places = Entity(module_project, "places", {}, format="parquet", location=f"data/places/{at}")
    moves = Entity(
        module_project, "moves", {}, extract="events", format="canonical", location="data/moves"
    )

    def write(path: str, **columns: Any) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), root / path)

    write("places/2026-01-01/a.parquet", id=[1], name=["a"])
    write("places/2026-01-01/b [1].parquet", ID=[2], name=["b"], zip=["0150"])
    write("moves/1.parquet", id=[1], name=["a"], _operation=["INSERT"])
    run = ("run", "--select", "places", "moves")
    module_project.dbt(*run, vars={"business_date": "2026-01-01"})
    assert places.rows("id, name, zip") == [(1, "a", None), (2, "b", "0150")]
    write("moves/2 [a]%41.parquet", id=[1], zip=["0250"], _operation=["UPDATE"])
    write(
        "moves/3.parquet",
        id=[2],
        name=["b"],
        zip=pa.array([None], pa.string()),
        _operation=["INSERT"],
    )
    write("places/2026-01-02/a.parquet", id=[1], name=["a"], zip=["0350"])
    (root / "places/2026-01-02/b.parquet").touch()
    result = module_project.dbt(*run, vars={"business_date": "2026-01-02"}, expect_pass=False)
    assert "b.parquet is empty, so it is not a Parquet file" in result.error
    assert moves.rows("id, name, zip") == [(1, None, "0250"), (2, "b", None)]
    assert places.commits("business_date") == [(dt.date(2026, 1, 1),)]


@pytest.mark.turn(0)
def test_parquet_extract_and_nested(module_project: Any) -> None:
    path = f"{module_project.root}/extracts/nested"
    nested = Entity(
        module_project,
        "nested",
        {"id": ""},
        format="parquet",
        location=f"{path}/{{business_date}}",
    )
    query = """
        select id, {maps} as m, {arrays} as a, struct(1.5d as x, cast(null as string) as y) as s, double('NaN') as d,
            named_struct('x:decimal(1,1)) as y, (select 1', 1, 'it''s `b', 2) as h
        from range(1, 3)
    """
    # day 2: the entries of a map in another order are the same map, the elements of 2's array are another array
    for day, maps, arrays in [
        ("2026-01-01", "map('b', 2, 'a', 1)", "array(1, 2)"),
        ("2026-01-02", "map('a', 1, 'b', 2)", "if(id = 2, array(2, 1), array(1, 2))"),
    ]:
        rows = module_project.session.sql(query.format(maps=maps, arrays=arrays))
        rows.write.parquet(f"{path}/{day}")
        nested.run(day)
    assert nested.rows("id, _operation, _changed_columns", "__history") == [
        (1, "I", None),
        (2, "I", None),
        (2, "U", ["a"]),
    ]
    # names of fields are data, however they look in the type
    (h,) = {row.h for row in module_project.sql("select h from nested")}
    assert h.asDict() == {"x:decimal(1,1)) as y, (select 1": 1, "it's `b": 2}


@pytest.mark.turn(2)
def test_hostile_names(module_project: Any) -> None:
    names = ["k", *NASTY_NAMES]
    odd = Entity(module_project, "odd", {}, key=["k", "a`b"], on_reject="quarantine")
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    odd.load(
        "2026-01-01",
        header
        + "\n"
        + ",".join(["1", *"abcdefghijkl"])
        + "\n"
        + ",".join(["2", *"abcdefghijkl"])
        + "\n",
    )
    odd.load("2026-01-02", header + "\n" + ",".join(["1", *"Abcdefghijkl"]) + "\n")
    assert [row.col_name for row in module_project.sql("describe odd")][: len(names)] == names
    assert odd.rows(
        "k, _operation, _changed_columns", "__history", "_business_date = '2026-01-02'"
    ) == [
        ("1", "U", ["a b"]),
        ("2", "D", None),
    ]
    # late: the correction handles them as well
    odd.load("2025-12-31", header + "\n" + ",".join(["1", *"Abcdefghijkl"]) + "\n")
    assert (
        odd.rows("k, _operation, _business_date", "__history", "_business_date = '2026-01-01'")[0][
            1
        ]
        == "U"
    )


@pytest.mark.turn(2)
def test_null_keys(module_project: Any) -> None:
    pairs = Entity(
        module_project,
        "pairs",
        {"a": "string", "b": "string", "v": "int"},
        key=["a", "b"],
        null_keys="allow",
    )
    text = 'a,b,v\nx,,1\n,x,2\n"",x,3\n,,4\nab,c,5\na,bc,6\n'
    for day in ("2026-01-01", "2026-01-02"):
        pairs.load(day, text)
    assert [row[0] for row in pairs.rows("_operation", "__history")] == ["I"] * 6
    pairs.load("2026-01-03", text.replace(",x,2", ",x,22"))
    assert pairs.rows("a, b, v, _operation", "__history", "_business_date = '2026-01-03'") == [
        (None, "x", 22, "U")
    ]


@pytest.mark.turn(1)
def test_select_over_a_source(module_project: Any) -> None:
    module_project.sql("create table raw_orders (id int, amount string, day date) using delta")
    module_project.write(
        "models/sources.yml",
        'version: 2\nsources:\n  - {name: raw, schema: "{{ target.schema }}", tables: [{name: raw_orders}]}\n',
    )
    orders = Entity(
        module_project,
        "orders",
        {"id": "int", "amount": "double"},
        location=None,
        body="select id, amount from {{ source('raw', 'raw_orders') }} where day = date'{{ var('business_date') }}'",
    )
    module_project.sql(
        "insert into raw_orders values (1, '1.5', date'2026-01-01'), (2, 'two', date'2026-01-02')"
    )
    orders.run("2026-01-01")
    assert orders.rows("id, amount") == [(1, 1.5)]
    # the declared type is a cast of ours, so that a value it cannot hold is noticed
    assert (
        "cast_failed: amount: 1 row"
        in orders.run("2026-01-02", allow_deletes=True, expect_pass=False).error
    )


@pytest.mark.turn(3)
def test_python_path(module_project: Any) -> None:
    sql_way = Entity(
        module_project,
        "sql_way",
        {"id": "int", "t": "string", "n": "double"},
        on_reject="quarantine",
    )
    module_project.write(
        "models/hashed.py",
        """
        from tidemark.hashing import cast_and_hash


        def model(dbt, session):
            dbt.config(materialized="table", file_format="delta")
            return cast_and_hash(
                session.read.csv(dbt.config.get("path"), header=True, escape='"', nullValue="\\x01"),
                columns={"id": "int", "t": "string", "n": "double"},
                keys=["id"],
            )
        """,
    )
    module_project.write(
        "models/hashed.yml",
        f'version: 2\nmodels:\n  - name: hashed\n    config: {{path: "{sql_way.folder}/{{business_date}}.csv"}}\n',
    )
    by_rdd = Entity(
        module_project,
        "by_rdd",
        {"id": "", "t": "", "n": ""},
        location=None,
        stored_hashes=True,
        on_reject="quarantine",
        body="select * from {{ ref('hashed') }}",
    )
    for day, text in [
        ("2026-01-01", 'id,t,n\n1,"a ""b""",1.10\n2,,\n3,é,1e3\nx,bad,1\n'),
        ("2026-01-02", "id,t,n\n1,a,1.1\n3,é,1000\n4,new,0.1\n"),
    ]:
        sql_way.extract(day, text)
        module_project.dbt(
            "run", "--select", "sql_way", "hashed", "by_rdd", vars={"business_date": day}
        )
    columns = "id, t, n, _key_hash, _row_hash, _operation, _business_date, _changed_columns"
    assert by_rdd.rows(columns, "__history") == sql_way.rows(columns, "__history")
    assert by_rdd.rows("_reject_reason", "__rejects") == sql_way.rows("_reject_reason", "__rejects")
