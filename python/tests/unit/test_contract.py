"""What of Spark's SQL crosses to DuckDB: each form gives what Spark answers, and anything else declines by name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidemark.engine.load import Target
from tidemark.engine.quoted import end_with_reason
from tidemark.engine.room import Room
from tidemark.sessions.contract import check_query, check_types, crossed, inserted
from tidemark.sessions.declined import Declined
from tidemark.sessions.duck import Files, Stored, Wanted, answer, follow, keep, revise, stage

from ..contract import QUERIES, shown

ANSWERS = json.loads((Path(__file__).parents[1] / "vectors" / "contract.json").read_text())
GOLDEN = Path(__file__).parents[1] / "render" / "golden"
ROOM = Room(1, None, 1 << 28)


@pytest.fixture(scope="module")
def db() -> Iterator[Any]:
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        yield db


@pytest.mark.parametrize("name", QUERIES)
def test_answers_of_spark(db: Any, name: str) -> None:
    """The recorded ones are Spark's: test_sessions.py asks it again."""
    assert shown(db.execute(crossed(QUERIES[name])).fetchall()) == ANSWERS[name]


@pytest.mark.parametrize(
    "name",
    [
        "classified_rows_sql.full", "classified_rows_sql.delta", "classified_rows_sql.first", "classified_rows_sql.labelled",
        "current_rows_sql.few_touched", "current_rows_sql.rebuild", "current_rows_sql.tagged_delta", "current_rows_sql.tagged_full",
        "revised_rows_sql.full", "revised_rows_sql.delta", "revised_rows_sql.in_turns", "revised_rows_sql.scoped", "classified_rows_sql.scoped", "count_changes_sql.scoped",
        "touched_rows_sql.forward",
        "touched_rows_sql.correction", "existing_rows_sql.plain", "staged_changes_sql", "new_rejects_sql",
    ],
)  # fmt: skip
def test_what_a_load_of_an_extract_asks(name: str) -> None:
    """A late date and a correction go by DuckDB from the rows that are staged to current."""
    assert crossed((GOLDEN / f"{name}.sql").read_text())


@pytest.mark.parametrize(
    "name",
    [
        "staged_events_sql.decoded", "existing_events_sql.forward", "existing_events_sql.late", "replayed_keys_sql.forward", "replayed_keys_sql.ignored",
        "replayed_copies_sql.forward", "told_apart_events_sql.keyless", "tied_rows_sql.late", "repeated_rejects_sql.tied",
        "touched_rows_sql.events", "touched_rows_sql.kept_events",
    ],
)  # fmt: skip
def test_what_a_load_of_events_asks(name: str) -> None:
    """Events that the workers read go by DuckDB from there to current, late ones and those of no key too."""
    assert crossed((GOLDEN / f"{name}.sql").read_text())


_KINDS = {
    "n": "INTEGER", "l": "BIGINT", "s": "VARCHAR", "d": "DATE", "f": "DOUBLE", "r": "FLOAT", "m": "DECIMAL(12,2)",
    "t": "TIMESTAMP WITH TIME ZONE", "b": "BOOLEAN",
}  # fmt: skip


@pytest.mark.parametrize(
    "expression",
    [
        "lower(trim(s))", "nullif(s, '')", "coalesce(m, 0)", "f = 1", "f > 0.1", "m > 1.5", "n in (1, 2, null)", "n = l", "-n = 3",
        "case when s in ('a', 'b') then 'x' else s end", "case n when 1 then 'a' when 2 then s end", "if(b, n, null)", "N > 1",
        "transform(array(s), `s` -> (lower(s) = 'a'))[0]", "t > timestamp'2026-01-01 00:00:00'", "d between date'2026-01-01' and d",
    ],
)  # fmt: skip
def test_types__meet_their_like(expression: str) -> None:
    check_types(expression, _KINDS)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("s > 9", "INT and STRING meet in s > 9"),
        ("s in ('a', 9)", "INT and STRING meet in s in ('a', 9)"),
        ("s between 1 and 9", "INT and STRING meet in s between 1 and 9"),
        ("case s when 9 then 'x' end", "INT and STRING meet in case s when 9 then 'x' end"),
        ("if(b, n, s)", "INT and STRING meet in if(b, n, s)"),
        ("case when b then n else s end", "INT and STRING meet in case when b then n else s end"),
        ("coalesce(n, '')", "INT and STRING meet in coalesce(n, '')"),
        ("coalesce(m, 1.555)", "DECIMAL(12, 2) and DOUBLE meet in coalesce(m, 1.555)"),
        ("greatest(n, f)", "DOUBLE and INT meet in greatest(n, f)"),
        ("r = 0.1", "DOUBLE and FLOAT meet in r = 0.1"),
        ("m = f", "DECIMAL(12, 2) and DOUBLE meet in m = f"),
        ("array(n, s)", "INT and STRING meet in array(n, s)"),
        ("nullif(d, '2026-01-01')", "DATE and STRING meet in nullif(d, '2026-01-01')"),
        ("lower(coalesce(n, '')) = 'x'", "INT and STRING meet in lower(coalesce(n, '')) = 'x'"),
        ("op = 'd'", "columns that are not told apart in op = 'd'"),
    ],
)
def test_types__meet_others(expression: str, why: str) -> None:
    """Of two types engines have another one in common: of `r = 0.1` Spark compares doubles, DuckDB floats."""
    with pytest.raises(Declined) as told:
        check_types(expression, _KINDS)
    assert str(told.value) == why


_TABLES = {("shop", "items"): _KINDS, ("shop", "prices"): {"n": "INTEGER", "price": "FLOAT"}}


@pytest.mark.parametrize(
    "query",
    [
        "select * from shop.items",
        "select i.n, upper(s) as s, p.price from shop.items as i left join shop.prices as p on i.n = p.n where f > 1",
        "with few as (select n, s from shop.items where b) select n, coalesce(s, '-') as s from few union all select n, null from shop.prices",
        "select s, count(*) as n, max(d) as d, row_number() over (partition by s order by max(d)) as r from shop.items group by s",
        "select n from shop.items where n in (select n from shop.prices)",
        "select Items.N from SHOP.Items",
    ],
)
def test_types_of_queries__meet_their_like(query: str) -> None:
    check_query(query, lambda schema, name: _TABLES[str(schema).lower(), name.lower()])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select price = 0.1 as x from shop.prices", "DOUBLE and FLOAT meet in the model's SELECT"),
        ("select coalesce(i.n, '07') as x from shop.items as i", "INT and STRING meet in the model's SELECT"),
        ("select n from shop.items union select s from shop.items", "INT and STRING meet in the model's SELECT"),
        ("select i.n from shop.items i join shop.prices p on i.m = p.price", "DECIMAL(12, 2) and FLOAT meet in the model's SELECT"),
        ("select x.s from (select coalesce(s, 1) as s from shop.items) as x", "INT and STRING meet in the model's SELECT"),
        ("select lag(n, 1, 'x') over (order by n) as x from shop.items", "INT and STRING meet in the model's SELECT"),
        ("select n from shop.items where s in (select n from shop.prices)", "INT and STRING meet in the model's SELECT"),
        ("select other from shop.items", "columns that are not told apart in the model's SELECT"),
        ("select n from shop.items, shop.prices", "columns that are not told apart in the model's SELECT"),
        ("insert into shop.items select 1", "a statement that is no query"),
    ],
)  # fmt: skip
def test_types_of_queries__meet_others(query: str, why: str) -> None:
    with pytest.raises(Declined) as told:
        check_query(query, lambda schema, name: _TABLES[str(schema), name])
    assert str(told.value) == why


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select cast('9.5' as int) from t", "a whole number of another text"),
        ("select cast(1.7 as bigint) from t", "a whole number of another text"),
        ("select trim(a from b) from t", "trim() of what the row tells"),
        ("select round(a, -1) from t", "round() by what is no number of digits"),
        ("select substring(a, 0, 2) from t", "substring() by what is no number of characters"),
        ("select left(a, b) from t", "left() by what is no number of characters"),
        ("select replace(a, '') from t", "replace() of what is no literal"),
        ("select a[0] from t", "Bracket"),
        ("select a like 'x\\\\_' from t", "like"),
        ("select format_string('%s', a) from t", "format_string()"),
        ("select sha2(a, 512) from t", "sha2()"),
        ("select array_except(a, b) from t", "array_except()"),
        ("select max(_sequence_by) from t", "an order by _sequence_by"),
        ("select _sequence_by < x.y from t", "an order by _sequence_by"),
        ("select min(if(a = 1, null, b._sequence_by)) from t", "an order by _sequence_by"),
        (
            "select row_number() over (order by coalesce(_sequence_by, x)) from t",
            "an order by _sequence_by",
        ),
        ("select sequence(1, 5, 2) from t", "sequence() with a step"),
        ("select a rlike 'x' from t", "regexp_like()"),
        ("select my_function(a) from t", "my_function()"),
        ("select * from t lateral view explode(a) as b", "Lateral"),
        ("select cast(a as decimal(9,2)) from t", "a cast to decimal(9, 2)"),
        ("select collect_set(a) from t", "collect_set()"),
        ("select a from t tablesample (5 rows)", "TableSample"),
        ("update t set a = 1", "a statement that is no query"),
        ("select '${env:HOME}' as v", "a variable that Spark puts into SQL"),
        ("select from from", "SQL that is not understood"),
    ],
)
def test_anything_else_declines(sql: str, why: str) -> None:
    with pytest.raises(Declined) as declined:
        crossed(sql)
    assert str(declined.value) == why


@pytest.mark.parametrize(
    "sql",
    [
        "select cast(v as string) as v from (select cast('0.1' as double) as v)",
        "select cast(v as bigint) as v from (select 'x' as v)",
        "select v - v as v from (select date'2026-03-04' as v)",
        "select md5(v) as v from (select 1 as v)",
        "select lower(v) as v from (select 'İ' as v)",
        "select lower(v) as v from (select 'ΑΣ' as v)",
        "select upper(v) as v from (select 'ﬁ' as v)",
        "select length(v) as v from (select 12 as v)",
        "select round(v) as v from (select cast('1.5' as double) as v)",
        "select transform(array(cast(v as double)), x -> round(x, 6))[0] as v from (select cast('0.0000015' as double) as v)",
        "select transform(array(cast(v as double)), x -> round(x))[0] as v from (select cast('NaN' as double) as v)",
        "select size(v) as n from (select cast(null as array<string>) as v)",
        "select to_json(named_struct('a', v)) as j from (select 1 as v)",
        "select to_json(named_struct('a', v), map('ignoreNullFields', 'false')) as j from (select 'x\\ty' as v)",
        "select to_json(named_struct('a', v), map('ignoreNullFields', 'false')) as j from (select cast('0.1' as double) as v)",
        "select to_json(named_struct('a', v), map('ignoreNullFields', 'false')) as j from (select array(1) as v)",
        "select to_json(v, map('ignoreNullFields', 'false')) as j from (select named_struct('a', 1) as v)",
        "select v + cast(9223372036854775807 as bigint) as v from (select cast(2 as bigint) as v)",
    ],
)
def test_by_value(sql: str) -> None:
    """A value of another type, or one that only Spark works out, ends the query, and no value is told."""
    found = answer((), crossed(sql), 10, ROOM)
    assert found.declined is not None
    assert found.declined.startswith(end_with_reason("")) or found.declined.endswith("Exception")


def test_a_branch_that_no_row_takes(db: Any) -> None:
    sql = "select if(a > 1, to_json(named_struct('a', a)), 'none') as j from (select 1 as a)"
    assert db.execute(crossed(sql)).fetchall() == [("none",)]


@pytest.mark.parametrize("sql", [" + ".join("ab" * 20), " - ".join("ab" * 20), "- " * 20 + "a"])
def test_whole_numbers_of_many_columns(sql: str) -> None:
    """A form names its operand more than once, and so does the form within it: 20 would be a million."""
    text = crossed(f"select {sql} as n from t")
    assert len(text) < 10_000
    db = duckdb.connect()
    db.execute("create table t as select 3 as a, 1::bigint as b")
    found = db.execute(text).fetchall()
    assert found == db.execute(f"select {sql} from t").fetchall()
    db.execute("create or replace table t as select 3 as a, 1.5 as b")
    if "b" in sql:
        with pytest.raises(duckdb.Error):
            db.execute(text).fetchall()


@pytest.mark.parametrize(
    "sql",
    [
        "upper(" * 30 + "a" + ")" * 30,
        "round(" * 30 + "a" + ", 2)" * 30,
        "(" * 2000 + "a" + ")" * 2000,
        "case when a > 1 then " * 2000 + "1" + " end" * 2000,
        " + ".join(["a"] * 3000),
    ],
)
def test_sql_of_too_many_parts(sql: str) -> None:
    with pytest.raises(Declined, match="SQL of too many parts"):
        crossed(f"select {sql} as x from t")
    # which has each operand once
    with suppress(Declined):
        check_query(f"select {sql} as x from t", lambda _, __: {"a": "INTEGER"})


def test_tables_and_inserts() -> None:
    known: list[tuple[str | None, str]] = []

    def known_as(schema: str | None, name: str) -> str:
        known.append((schema, name))
        return name.upper()

    sql = "with t as (select * from shop.items) select * from t join `my view` as v on true"
    assert crossed(sql, known_as) == (
        'WITH t AS (SELECT * FROM "ITEMS" AS "items") SELECT * FROM t JOIN "MY VIEW" AS v ON TRUE'
    )
    assert sorted(known, key=str) == [("shop", "items"), (None, "my view")]
    table, query = inserted("/* by dbt */ insert into shop.items (a, `b c`) select 1, x from v")
    assert (table, crossed(query)) == (
        ("shop", "items"),
        'SELECT * FROM (SELECT 1, x FROM v) AS inserted_rows(a, "b c")',
    )
    for sql in ("insert overwrite shop.items select 1", "insert into items (a) select 1"):
        with pytest.raises(Declined):
            inserted(sql)


def log_table(folder: Path) -> tuple[Wanted, Files]:
    """A log of two rows of one date and one of the next, in a file for each date."""
    columns = (
        ("name", "VARCHAR"), ("_key_hash", "VARCHAR"), ("_commit_id", "BIGINT"),
        ("_superseded_by", "BIGINT"), ("_business_date", "DATE"), ("_operation", "VARCHAR"),
    )  # fmt: skip
    # names in files are others, and the first file was written before there was a name
    fields = {name: (f"col-{name}", None) for name, _ in columns}
    paths = []
    for day, rows in {"2026-01-01": "('a', 1), ('b', 1)", "2026-01-03": "('a', 2)"}.items():
        paths.append(str(folder / f"{day}.parquet"))
        name = "" if day == "2026-01-01" else "'n' as \"col-name\", "
        duckdb.execute(
            f'copy (select {name}k as "col-_key_hash", c::bigint as "col-_commit_id", '
            f"null::bigint as \"col-_superseded_by\" from (values {rows}) as t(k, c)) to '{paths[-1]}'"
        )
    stored = tuple(Stored(name, f"col-{name}", kind) for name, kind in columns)
    parts = {path: {"_business_date": Path(path).stem} for path in paths}
    target = Target(str(folder), fields)
    bounded = ("_key_hash", "_commit_id", "_superseded_by")
    wanted = Wanted(target, columns, ("_key_hash",), ("_business_date",), bounded)
    return wanted, Files(tuple(paths), stored, parts)


def read(folder: Path, found: Any) -> list[tuple[Any, ...]]:
    files = [(value, str(folder / file.path)) for value, file in found.files]
    return sorted(
        (value, *row)
        for value, path in files
        for row in duckdb.execute(
            f'select "col-name", "col-_key_hash", "col-_commit_id", "col-_superseded_by" from \'{path}\''
        ).fetchall()
    )


def test_a_correction_of_a_log(tmp_path: Path) -> None:
    """Rows come, a row is marked, its file is written again with what else it has, and bounds are those of the values."""
    wanted, log = log_table(tmp_path)
    slice_ = (
        "select 'new' as name, 'c' as _key_hash, date '2026-01-02' as _business_date, null::bigint as _supersedes, "
        "'I' as _operation union all select null, 'a', date '2026-01-01', 1, null"
    )
    found = revise(
        (("log", log),), f"({slice_})", "log", ("_key_hash", "_business_date"), 7, wanted, ROOM
    )
    counts = {"rows_logged": 1, "rows_superseded": 1, "rows_inserted": 1}
    none = dict.fromkeys(("rows_updated", "rows_deleted", "rows_unchanged"), 0)
    assert (found.declined, found.figures) == (None, counts | none)
    assert found.replaced == (log.paths[0],)
    assert read(tmp_path, found) == [
        ("2026-01-01", None, "a", 1, 7),
        ("2026-01-01", None, "b", 1, None),
        ("2026-01-02", "new", "c", 7, None),
    ]
    first = dict(found.files)["2026-01-01"].statistics
    assert first == {
        "numRecords": 2,
        "minValues": {"col-_key_hash": "a", "col-_commit_id": 1, "col-_superseded_by": 7},
        "maxValues": {"col-_key_hash": "b", "col-_commit_id": 1, "col-_superseded_by": 7},
        "nullCount": {"col-_key_hash": 0, "col-_commit_id": 0, "col-_superseded_by": 1},
    }


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("'x' as name, null::varchar as _key_hash, 1 as _commit_id", "a NULL in a column that is required"),
        ("1.5 as name, 'k' as _key_hash, 1 as _commit_id", "a value of another type"),
        ("'x' as name, 'k' as _key_hash, 1 as _commit_id, date '1500-01-01' as _business_date", "a date before 1600 or behind 9999"),
    ],
)  # fmt: skip
def test_rows_that_are_not_written(tmp_path: Path, row: str, why: str) -> None:
    wanted, _ = log_table(tmp_path)
    before = sorted(tmp_path.rglob("*.parquet"))
    written = (
        f"select date '2026-01-01' as _business_date, {row}"
        if "_business_date" not in row
        else f"select {row}"
    )
    found = stage(
        (), "select 1 as one", "counted", "select count(*) as n from counted", written, wanted, ROOM
    )
    assert found.declined == end_with_reason(why)
    assert sorted(tmp_path.rglob("*.parquet")) == before


def test_kept_rows_and_their_number(tmp_path: Path) -> None:
    sql = "select range as n, 0.5::double as f, sum(range) over () as s from range(1000)"
    found = keep((), sql, str(tmp_path / "run"), ROOM)
    assert found.columns == (("n", "BIGINT"), ("f", "DOUBLE"), ("s", "BIGINT"))
    files = Files(
        (str(found.path),), tuple(Stored(name, name, kind) for name, kind in found.columns)
    )
    sql = "select count(*) as n, sum(n) as s from v"
    assert answer((("v", files),), sql, 10, ROOM).rows == ((1000, 499500),)
    assert answer((("v", files),), "select n from v", 10, ROOM).declined == "more than 10 rows"
    asked = keep(
        (), "select 1 as n", str(tmp_path / "run"), ROOM, "k", ("select n + 1 as m from k", 10)
    )
    assert (asked.names, asked.rows) == (("m",), ((2,),))
    assert duckdb.execute(f"from '{asked.path}'").fetchall() == [(1,)]


def test_a_broken_page_declines(tmp_path: Path) -> None:
    """DuckDB does not compare pages with their checksums, which Spark and others write."""
    path = tmp_path / "table.parquet"
    pq.write_table(
        pa.table({"n": list(range(1000))}), path, write_page_checksum=True,
        compression="none", use_dictionary=False,
    )  # fmt: skip
    files = Files((str(path),), (Stored("n", "n", "BIGINT"),), unproven=(str(path),))
    sql = "select sum(n) as s from v"
    assert answer((("v", files),), sql, 10, ROOM).rows == ((499500,),)
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes(content)
    assert (
        answer((("v", files),), sql, 10, ROOM).declined
        == "a page of a file is not as it was written"
    )


def test_negative_zeros_are_kept(tmp_path: Path) -> None:
    found = keep((), "select -0.0::double as f union all select 0.0", str(tmp_path / "run"), ROOM)
    signs = f"select signbit(f), count(*) from '{found.path}' group by all order by all"
    assert duckdb.execute(signs).fetchall() == [(False, 1), (True, 1)]


def test_part_of_current(tmp_path: Path) -> None:
    """All of a small table is written anew, what nobody touched as it was."""
    columns = (("name", "VARCHAR"), ("_key_hash", "VARCHAR"))
    fields = {name: (name, None) for name, _ in columns}
    path = str(tmp_path / "old.parquet")
    duckdb.execute(
        f"copy (select * from (values ('x', 'a'), ('y', 'b')) as t(name, _key_hash)) to '{path}'"
    )
    stored = Files((path,), tuple(Stored(name, name, kind) for name, kind in columns))
    wanted = Wanted(
        Target(str(tmp_path), fields, (path,)), columns, ("_key_hash",), (), ("_key_hash",)
    )
    rows = "select 'z' as name, 'b' as _key_hash union all select name, _key_hash from stored where _key_hash <> 'b'"
    found = follow((), "select 'b' as _key_hash", stored, "stored", rows, wanted, ROOM)
    assert (found.declined, found.replaced) == (None, None)
    (file,) = [file for _, file in found.files]
    assert duckdb.execute(f"from '{tmp_path / file.path}' order by all").fetchall() == [
        ("x", "a"),
        ("z", "b"),
    ]


@pytest.mark.parametrize("name", ["a;b", "A;b", "{{ x }}", "a.b", 'q"q', "it's", "a`b", "(x)", "--", "select"])  # fmt: skip
def test_types__of_names_that_are_no_sql(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    check_types(f"{quoted} > 1", {"k": "INTEGER", name: "INTEGER"})
    with pytest.raises(Declined, match="INT and STRING meet"):
        check_types(f"{quoted} > 1", {"k": "INTEGER", name: "VARCHAR"})
    check_query(f"select k from t where {quoted} = 1", lambda *_: {"k": "INTEGER", name: "INTEGER"})


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select map('a') as m from t", "SQL that is not understood"),
        ("select max_by(n) as n from t", "a function that lacks an argument"),
    ],
)
def test_odd_sql(query: str, why: str) -> None:
    """What sqlglot ends with an error of Python's is Spark's to judge, too."""
    with pytest.raises(Declined, match=why):
        crossed(query)
