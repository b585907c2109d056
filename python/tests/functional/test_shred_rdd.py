"""Enriched events by SQL and by RDD: both give the shared vectors, and the RDD steps what the oracle has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions

from tests import event_vectors
from tests.functional.enriched_events import assert_same_events, expected_events
from tests.functional.event_dedup_oracle import Batch, Loads, Steps
from tests.rendering import load_sql_macros
from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.dedup import STEPS, deduplicate_batch
from tidemark.shred import read_events
from tidemark.shred.enriched import COLUMNS, CONTEXTS_SCHEMA, TYPES, to_line, with_duplicate

pytestmark = pytest.mark.turn(2)

CASES = event_vectors.load()
UUID = "1799a90f-f570-4414-b91a-b0db8f39cc2e"


@pytest.fixture(scope="module")
def spark(make_project: Callable[[str], Any]) -> Iterator[SparkSession]:
    session: SparkSession = make_project("shred_rdd").session
    before = session.conf.get("spark.sql.session.timeZone")
    yield session
    session.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def lines(spark: SparkSession) -> DataFrame:
    """The vectors' lines, in their order by `_row`."""
    rows = [
        (
            number,
            bytearray.fromhex(case["hex"]) if "hex" in case else bytearray(case["line"].encode()),
        )
        for number, case in enumerate(CASES)
    ]
    parallel = spark.sparkContext.parallelize(rows, 3)
    frame = spark.createDataFrame(parallel, "_row long, bytes binary")
    return frame.selectExpr("_row", "cast(bytes as string) as value")


def in_table(spark: SparkSession, rows: DataFrame, path: Path, name: str) -> None:
    rows.write.parquet(str(path / name))
    spark.read.parquet(str(path / name)).createOrReplaceTempView(name)


@pytest.fixture(scope="module")
def by_sql(spark: SparkSession, lines: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The vectors by SQL, as temporary views `events` and `keys`."""
    path, macros = tmp_path_factory.mktemp("by_sql"), load_sql_macros()
    config = {"is_rows": False, "fingerprint_ignore": macros["fingerprint_ignore"]()}
    in_table(spark, lines, path, "lines")
    in_table(spark, spark.sql(macros["enriched_events_sql"]("lines")), path, "events")
    in_table(spark, spark.sql(macros["event_keys_sql"](config, "events")), path, "keys")


def test_sql__vectors(spark: SparkSession, by_sql: None) -> None:
    macros = load_sql_macros()
    renamed = macros["synthetic_id_expr"]("_event_id", "_fingerprint")
    derived = macros["with_duplicate_expr"]("derived_contexts", "_event_id")
    found = spark.sql(
        f"""
        select events.*, _reject_reason, _fingerprint, {renamed} as _renamed, {derived} as _derived
        from events inner join keys on events._row = keys._row
        order by events._row
        """
    ).collect()
    differing = []
    for case, row in zip(CASES, found, strict=True):
        if row["_reject_reason"] != case.get("reject"):
            differing.append((case["name"], row["_reject_reason"], case.get("reject")))
        if row["_reject_reason"] or "reject" in case:
            continue
        wanted = event_vectors.texts_of(case)
        texts = {c: (row[c], wanted[c]) for c in COLUMNS if row[c] != wanted[c]}
        made = (row["_fingerprint"], row["_renamed"], row["_derived"])
        expected = tuple(case[name] for name in ("fingerprint", "renamed", "derived_contexts"))
        if texts or made != expected:
            differing.append((case["name"], texts, made, expected))
    assert differing == []


def test_sql__an_id_that_is_no_uuid(spark: SparkSession) -> None:
    """What means something to JSON, or to Java's regular expressions, is part of the id."""
    macros, odd = load_sql_macros(), r'x$1$\\1"y\u0041'
    literal = macros["string_literal"]
    others = (f'{{"schema":"{CONTEXTS_SCHEMA}","data":[{other}]}}' for other in ("", '{"a": 1}'))
    for derived in (None, *others):
        given = "cast(null as string)" if derived is None else literal(derived)
        made = macros["with_duplicate_expr"]("given", literal(odd))
        (found,) = spark.sql(
            f"""
            select derived_contexts, {macros["original_id_expr"]()} as id
            from (select {made} as derived_contexts, 'new' as event_id from (select {given} as given))
            """
        ).collect()
        assert tuple(found) == (with_duplicate(derived, odd), odd.lower())


@pytest.mark.parametrize("zone", ["America/New_York", pytest.param("UTC", marks=pytest.mark.slow)])
def test_read_events__vectors(
    spark: SparkSession, lines: DataFrame, by_sql: None, zone: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    stamps = [column for column in COLUMNS if TYPES[column] == "timestamp"]
    # Python has no zone in which the first and the last year are complete
    read = read_events(lines.orderBy("_row").coalesce(1)).drop(*stamps).collect()
    by_name = {case["name"]: row for case, row in zip(CASES, read, strict=True)}
    for case in CASES:
        row = by_name[case["name"]]
        assert row["_reject_reason"] == case.get("reject"), case["name"]
        assert row["_raw_payload"] == case.get("line", row["_raw_payload"])
        if "reject" in case:
            assert {row[c] for c in COLUMNS if c not in stamps} == {None}
        else:
            assert row["event_fingerprint"] == case["fingerprint"]

    macros = load_sql_macros()
    values = []
    for column, kind in TYPES.items():
        value = macros["enriched_value_expr"]({"name": column, "type": kind})
        value = {"event_id": "_event_id", "event_fingerprint": "_fingerprint"}.get(column, value)
        values.append(f"{value} as {column}")
    wanted = spark.sql(
        f"""
        select {", ".join(values)}, _reject_reason, _line as _raw_payload
        from events inner join keys on events._row = keys._row
        where _reject_reason is null
        """
    )
    usable = read_events(lines).where("_reject_reason is null")
    assert [f.dataType for f in usable.schema] == [f.dataType for f in wanted.schema]
    assert usable.exceptAll(wanted).collect() == []
    assert usable.count() == wanted.count()


SPEC = EventsSpec(
    250, natural_in_batch=10, synthetic_in_batch=10, late=5, bad=8, no_fingerprint=20,
    hot_ids=1, hot_copies=40, seed=5,
)  # fmt: skip


def moment_of(micros: int | None) -> datetime | None:
    """A timestamp in UTC, as the oracle has it."""
    return None if micros is None else datetime(1970, 1, 1) + timedelta(microseconds=micros)


@pytest.mark.parametrize(
    "steps",
    [STEPS, *(pytest.param(some, marks=pytest.mark.slow) for some in (STEPS[:1], STEPS[1:]))],
)
def test_deduplicate_batch__as_the_oracle_has_it(
    spark: SparkSession, tmp_path: Path, steps: tuple[str, ...]
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    for name in ("batch.tsv", "batch.ndjson.gz"):
        write_events(SPEC, str(tmp_path / name))
    landed = spark.read.text(str(tmp_path)).repartition(3)
    events = read_events(landed).cache()
    texts = [row["value"] for row in landed.collect()]
    taken = {step: step in steps for step in STEPS}
    loads = Loads(Steps(taken[STEPS[0]], taken[STEPS[1]], False, False))
    outcome = loads.load(Batch("1", tuple(texts)))
    assert outcome is not None and len(outcome.rejects) > 5

    found = deduplicate_batch(events, steps)
    assert found.columns == [*COLUMNS, "_reject_reason", "_raw_payload", "_original_id"]
    stamps = [c for c in COLUMNS if TYPES[c] == "timestamp"]
    shown = [
        row.asDict() | {c: moment_of(row[c]) for c in stamps}
        for row in found.select("*", *(functions.unix_micros(c).alias(f"_{c}") for c in stamps))
        .drop(*stamps)
        .withColumnsRenamed({f"_{c}": c for c in stamps})
        .collect()
    ]
    kept = [row for row in shown if row["_reject_reason"] is None]
    assert_same_events(kept, expected_events(outcome.atomic))
    assert sorted(str(r["_original_id"]) for r in kept) == sorted(
        each.original_id if each.renamed else "None" for each in outcome.atomic
    )
    stays = {(texts[each.line], each.event_id) for each in outcome.atomic}
    assert {(row["_raw_payload"], row["event_id"]) for row in kept} == stays
    rejected = [row["_raw_payload"] for row in shown if row["_reject_reason"] is not None]
    assert sorted(rejected) == sorted(texts[line] for line in outcome.rejects)


def test_deduplicate_batch__a_hot_id(spark: SparkSession) -> None:
    base = {**event_vectors.BASE, "page_title": "x" * 500}
    copies = [
        to_line({**base, "etl_tstamp": f"2026-03-04 09:30:00.{n % 997:03}"}) for n in range(20_000)
    ]
    others = [to_line({**base, "event_fingerprint": f"f{n}"}) for n in range(3)]
    rows = spark.sparkContext.parallelize([(line,) for line in copies + others], 2)
    events = read_events(spark.createDataFrame(rows, "value string")).cache()
    found = deduplicate_batch(events).collect()
    assert len(found) == 4
    assert {row["_original_id"] for row in found} == {UUID}
    assert len({row["event_id"] for row in found}) == 4
    (one,) = (row for row in found if row["etl_tstamp"] is not None)
    assert one["_raw_payload"] == copies[0]


def test_deduplicate_batch__same_rows_in_every_run(spark: SparkSession, tmp_path: Path) -> None:
    (path,) = write_events(SPEC, str(tmp_path / "batch.tsv")).files
    runs = []
    for _ in range(2):
        events = read_events(spark.read.text(str(path)).repartition(2))
        carried = events.selectExpr("*", "length(_raw_payload) as `further one`")
        rows = deduplicate_batch(carried).collect()
        assert all(row["further one"] == len(row["_raw_payload"]) for row in rows)
        runs.append([json.dumps(row.asDict(), default=str) for row in rows])
    assert runs[0] == runs[1]
