"""Enriched events by the engine in the workers beside Spark SQL: the same tables, whatever comes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.conftest import Project
from tests.enriched_batches import ROOM, STEPS, batch_of_file, shelves_in
from tests.functional.enriched_events import add_events, event_id, event_line, land
from tests.functional.test_shred_random import die_after
from tests.rendering import load_sql_macros
from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.engine.enriched import task
from tidemark.engine.enriched.entities import Reader, Undecided
from tidemark.engine.room import connection
from tidemark.shred.enriched import (
    COLUMNS,
    CONTEXTS_SCHEMA,
    ENTITIES,
    TYPES,
    to_json_line,
)
from tidemark.shred.enriched.columns import MONEY

pytestmark = pytest.mark.turn(0)

TEXTS: dict[str, list[str]] = {
    "int": ["0", "7", "-1", "2147483647", "-2147483648", "2147483648", "007", "-0", "+5", "1.0", "x", " 1", "1e3", "99999999999"],
    "double": ["0", "1.5", "-3.25e10", "0.1", "1e-99", "123456789012345.12345", "-0", "NaN", "1d", ".5", "5.", "1E400", "1.0E7"],
    MONEY: ["0", "1", "-1.5", "9.99", "1.005", "-1.005", "0.995", "1.00499", "9999999999999999.99", "9999999999999999.995",
            "99999999999999999", "+1", ".5", "5.", "1e2", "x", "0.000001", "-0.001", "2.675"],
    "boolean": ["0", "1", "true", "2", " 1"],
    "timestamp": ["2026-03-04 12:30:00", "2026-03-04T12:30:00.5Z", "1600-01-01 00:00:00.000", "9999-12-31 23:59:59.999999",
                  "2026-03-04 12:30:00.123456789", "2026-02-30 00:00:00", "2026-03-04 24:00:00", "2026-03-04", "1582-10-10 00:00:00",
                  "0001-01-01 00:00:00", "2026-03-04 12:30:60", "2026-03-04 12:30:00ZZ", "2026-03-04 12:30:00.1234567Z", "now"],
    "string": ["", " ", "x", '"quoted"', "a\\tb", "\\", "NULL", "Zürich 🙂", "'", "#", "\x7f", "\u2028", "{}", "\x01"],
}  # fmt: skip
DATA = [
    '{"b":1,"a":"x"}', '{}', '{"z":{"d":[1,{"y":null,"x":true}],"c":"é"},"a":[]}', '{"n":12.50}', '{"n":1.0}', '{"n":0}',
    '{"n":-0}', '{"n":0.00001}', '{"n":1e3}', '{"n":123456789012345678901234567890}', '{"n":0.1000000000000000055}',
    '{"s":"\\u00e9\\u001f\\n\\"\\\\/\\/"}', '{"a":1,"a":2}', '{"s":"\\ud83d\\ude42"}', '{"s":"\\ud83d"}', '{ "b" : 1, "a" : 2 }',
    '{"\U0001F642":1,"\uFFFD":2,"é":3}', '{"s":"a:1e5,2.0}"}', '[1,2]', '"text"', 'null', '7', 'true', '{"n":1.5e-7}', '{"n":NaN}',
    '{"a":[1,]}', '{"s":"\\u007f"}', '{"n":3.0E+5,"m":1E400}', '{"n":9007199254740993,"m":18446744073709551616}',
]  # fmt: skip
URIS = [
    "iglu:com.acme/product/jsonschema/1-0-0", "iglu:com.acme/product/jsonschema/1-0-1", "iglu:org.a-b/c_d/jsonschema/12-3-4",
    "iglu:com.acme/product/jsonschema/0-0-1", "com.acme/product/jsonschema/1-0-0", "iglu:com.acme/product/jsonschema/1-0",
    "iglu:com.acme/x/jsonschema/12345678901-0-0",
]  # fmt: skip
WRAPPED = [
    '{{"schema":"{schema}","data":{data}}}', '{{"data":{data},"schema":"{schema}"}}', '{{"schema":"{schema}","data":{data},"x":1}}',
    '{{"schema":"{schema}","data":{data}}} ', '{{"schema":"{schema}","data":{data}}}x', '{{"schema":1,"data":{data}}}',
    '{{"schema":"{schema}"}}', '[{data}]', '{{"schema":"{schema}","schema":"{schema}","data":{data}}}', 'x',
]  # fmt: skip


def some(dice: random.Random, values: list[str]) -> str:
    """One of the values, the first ones more often."""
    return values[min(dice.randrange(len(values)) for _ in range(3))]


def an_entity(dice: random.Random) -> str:
    data, uri = some(dice, DATA), some(dice, URIS)
    wrapped = WRAPPED[0] if dice.random() < 0.8 else dice.choice(WRAPPED[:3])
    return wrapped.format(schema=uri if dice.random() < 0.2 else URIS[0], data=data)


def an_envelope(dice: random.Random, column: str) -> str:
    wrapped = some(dice, WRAPPED) if dice.random() < 0.1 else WRAPPED[0]
    if column == "unstruct_event":
        schema = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0"
        return wrapped.format(schema=schema, data=an_entity(dice))
    entities = ",".join(an_entity(dice) for _ in range(dice.choice((0, 1, 1, 2, 3))))
    schema = CONTEXTS_SCHEMA if dice.random() < 0.95 else URIS[0]
    return wrapped.format(schema=schema, data=f"[{entities}]")


def a_line(dice: random.Random) -> str:
    """A line of few events, with whatever a field may hold."""
    if dice.random() < 0.04:
        return dice.choice(("", "x", "a\tb", "\t" * 131, "no event", "{}x\t", " "))
    fields: dict[str, str | None] = {}
    for column in dice.sample(COLUMNS, 5):
        if column in (
            "event_id",
            "etl_tstamp",
            "collector_tstamp",
            "v_etl",
            "v_collector",
            *ENTITIES,
        ):
            continue
        fields[column] = some(dice, TEXTS[TYPES[column]]) or None
    for column in ENTITIES:
        if dice.random() < 0.4:
            fields[column] = an_envelope(dice, column)
    if dice.random() < 0.06:
        column = dice.choice(("event_id", "collector_tstamp", "v_etl", "v_collector"))
        fields[column] = dice.choice((None, "x", "2026-03-04 12:30:00.5", event_id(3).upper()))
    number = dice.randrange(200)
    fields["event_fingerprint"] = dice.choice(("f1", "f1", "f2", None))
    fields.setdefault("page_title", dice.choice(("one", "two")))
    fields.setdefault("etl_tstamp", dice.choice(("2026-03-04 10:00:00", "2026-03-04 11:00:00.5")))
    contexts = fields.pop("contexts", None)
    texts = event_line(number, **fields).split("\t")
    texts[COLUMNS.index("contexts")] = contexts or ""
    return "\t".join(texts)


def decided_lines(path: Path, lines: list[str]) -> list[str]:
    """Those of the lines for which the engine answers."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    batch, kept, reader = batch_of_file(path), [], Reader(shortest_doubles=False)
    with connection(ROOM) as db:
        assert task._read(db, batch) is None
        db.execute(f"create table keys as {task.keys_sql(batch)}")
        found = db.execute(
            f"select {task.line_sql()}, doubt, carried from texts inner join keys on texts.rowid = place left join ("
            "select place, list((field, encode(text), is_plain)) as carried "
            f"from (select *, unnest(places) as place from ({task.carried_sql()})) group by place) using (place)"
        ).fetchall()
    for line, doubt, carried in found:
        try:
            if doubt or None in [reader.read(*one) for one in carried or ()]:
                task._reason(line)
        except Undecided:
            continue
        kept.append(line)
    return kept


@pytest.fixture(scope="module")
def spark(make_project: Callable[[str], Any]) -> Iterator[SparkSession]:
    yield make_project("engine_enriched").session


def by_spark(
    spark: SparkSession, folder: Path, lines: Path, claims: list[tuple[str, ...]]
) -> dict[str, list[Any]]:
    """What the statements of the macros give of a batch, as the tables have it."""
    macros = load_sql_macros()
    cfg = {"is_rows": False, "fingerprint_ignore": macros["fingerprint_ignore"](), "deduplicate": list(STEPS),
           "manifest_ttl": "1 day", "location": "landing", "target": "stored"}  # fmt: skip

    def keep(name: str, sql: str) -> str:
        spark.sql(sql).write.parquet(str(folder / name))
        spark.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        return name

    keep("arrived", f"select value, monotonically_increasing_id() as _row from text.`{lines}`")
    keep("events", macros["enriched_events_sql"]("arrived"))
    keys = keep("keys", macros["event_keys_sql"](cfg, "events"))
    figures = spark.sql(macros["batch_figures_sql"](keys)).collect()[0].asDict()
    schema = "event_id string, fingerprint string, etl_tstamp timestamp, expires_at timestamp, _commit_id bigint"
    rows = [f"('{i}', '{f}', timestamp'{e}Z', timestamp'{x}Z', {c})" for i, f, e, x, c in claims]
    spark.sql(
        f"select * from values {', '.join(rows)} as t(event_id, fingerprint, etl_tstamp, expires_at, _commit_id)"
    ).to(spark.createDataFrame([], schema).schema).createOrReplaceTempView("manifest")
    spark.createDataFrame(
        [], "relation string, commit_id bigint, kind string, state string, details string"
    ).createOrReplaceTempView("states")
    spark.createDataFrame([], "_commit_id bigint").createOrReplaceTempView("stored")
    load = {"commit_id": 7, "last_commit_id": 6, "relation": "r", "states": "states", **figures}
    keep("decided", macros["decided_events_sql"](cfg, keys, "manifest", load))
    etl = macros["etl_tstamp_expr"](load)
    queries = {
        "events": macros["atomic_rows_sql"](cfg, "events", "decided", load),
        "entities": macros["entity_rows_sql"](cfg, "events", "decided", load),
        "rejects": f"select _reject_reason, _raw_payload, 7L as _commit_id from ({macros['rejected_lines_sql']('arrived', keys, 'value')})",
        "claims": f"""
            select _event_id as event_id, _fingerprint as fingerprint, {etl} as etl_tstamp, {etl} + interval 1 day as expires_at,
                7L as _commit_id
            from (
                select _event_id, _fingerprint, min(coalesce(_etl_tstamp, {etl})) as least
                from {keys} where _reject_reason is null group by all
            ) left anti join manifest
            on event_id = _event_id and fingerprint = _fingerprint and expires_at >= least""",
    }
    found = {name: rows_of(spark.sql(sql)) for name, sql in queries.items()}
    kinds = spark.sql("select _kind, count(*) from decided group by 1").collect()
    # the stories' tables are not to be hidden by them
    for view in ("arrived", "events", "keys", "decided", "manifest", "states", "stored"):
        spark.catalog.dropTempView(view)
    return {**found, "kinds": dict(map(tuple, kinds)), "figures": figures}


def rows_of(frame: Any) -> list[str]:
    """Rows as texts, which tell 0.0 from -0.0 and a type from another, in order."""
    frame = frame.select(*sorted(frame.columns))
    return sorted(repr(row) for row in frame.collect())


def by_workers(
    spark: SparkSession, folder: Path, lines: Path, claims: list[tuple[str, ...]]
) -> dict[str, list[Any]]:
    manifest = folder / "manifest.parquet"
    with connection(ROOM) as db:
        rows = ", ".join(
            f"('{i}', '{f}', timestamptz '{e}Z', timestamptz '{x}Z', cast({c} as bigint))"
            for i, f, e, x, c in claims
        )
        db.execute(
            f"copy (from (values {rows}) as t(event_id, fingerprint, etl_tstamp, expires_at, _commit_id)) to '{manifest}' (format parquet)"
        )
    outcome = task.shred(batch_of_file(lines), shelves_in(folder, (str(manifest),)), ROOM)
    assert outcome.declined is None
    found: dict[str, Any] = {"kinds": dict(outcome.kinds), "figures": outcome.figures}
    written = {
        "events": outcome.events,
        "entities": [file for file, _ in outcome.entities],
        "rejects": outcome.rejects,
        "claims": outcome.claims,
    }
    for name, files in written.items():
        frame = spark.read.option("basePath", str(folder / name)).parquet(
            *[str(folder / name / file.path) for file in files]
        )
        assert frame.count() == sum(file.rows for file in files)
        found[name] = rows_of(frame)
    return found


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_random_lines(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Whatever the lines hold: the engine leaves them to Spark, or gives what the statements give."""
    dice = random.Random(seed)
    offered = [a_line(dice) for _ in range(1500)]
    lines = decided_lines(tmp_path / "offered.tsv", offered)
    assert len(lines) > 700
    lines += dice.choices(lines, k=100)  # copies
    path = tmp_path / "lines.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    # the second one ends between the events of a batch
    times = ("2026-03-04 09:00:00", "2026-03-04 10:30:00", "2026-03-05 09:00:00")
    claims = [
        (event_id(number), dice.choice(("f1", "f2")), times[0], dice.choice(times), dice.choice(("1", "7", "null")))
        for number in range(0, 200, 5)
    ]  # fmt: skip
    claims += [
        (event_id(number), "f2", "2026-03-04 11:00:00", times[-1], "null") for number in range(50)
    ]
    wanted = by_spark(spark, tmp_path / "spark", path, claims)
    found = by_workers(spark, tmp_path, path, claims)
    for name, rows in wanted.items():
        if isinstance(rows, list):
            only, missing = (
                sorted(set(found[name]) - set(rows)),
                sorted(set(rows) - set(found[name])),
            )
            assert (only[:3], missing[:3]) == ([], []), name
        assert found[name] == rows, name
    assert set(STEPS) | {"rejected"} == set(found["kinds"])
    assert len(wanted["entities"]) > 300


# -- stories of dbt

FIGURES = """
    kind, state, etl_tstamp, rows_read, rows_inserted, rows_rejected, rows_duplicate, rows_natural_in_batch, rows_natural_cross_batch,
    rows_synthetic_in_batch, rows_synthetic_cross_batch
"""


def engines_of(project: Project, name: str) -> list[bool]:
    """Of each file of atomic events, in the order of their commits, whether the workers wrote it."""
    folder = Path(project.home) / "warehouse" / f"{project.schema}.db" / name
    table = deltalake.DeltaTable(folder)
    added = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    added.sort(key=lambda one: one["modification_time"])
    return ["workers-" in one["path"] for one in added]


def tables_of(project: Project, name: str) -> dict[str, list[str]]:
    """All tables of a model, its commits by their number from 1; as texts, with the types of columns."""
    commits = project.sql(
        f"select commit_id, {FIGURES} from tidemark_commits where entity = '{name}' and kind = 'load' order by 1"
    )
    numbers = {row["commit_id"]: number for number, row in enumerate(commits, 1)}
    found = {"commits": [repr(row[1:]) for row in map(tuple, commits)]}
    for table in ("", "__entities", "__rejects", "__manifest"):
        rows = [row.asDict(recursive=True) for row in project.sql(f"select * from {name}{table}")]
        types = project.session.table(f"`{project.schema}`.{name}{table}").dtypes
        found[table] = [
            repr(types),
            *sorted(repr({**row, "_commit_id": numbers[row["_commit_id"]]}) for row in rows),
        ]
    return found


@pytest.mark.slow
def test_engines_in_turn(project: Project, tmp_path: Path) -> None:
    """What one engine has written the other one goes on with: in the end the tables are those of Spark SQL alone."""
    landing = add_events(project, "by_spark", engine="spark")
    add_events(project, "by_turns", location=landing)
    project.write(
        "models/products.sql",
        "{{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*', events='by_turns') }}",
    )
    project.write(
        "models/_products.yml",
        """
        version: 2
        models:
          - name: products
            config: {materialized: shred}
            columns: [{name: sku, data_type: string}, {name: price, data_type: "decimal(10,2)"}]
        """,
    )
    spec = EventsSpec(
        800, 5, natural_in_batch=5, natural_cross_batch=8, synthetic_in_batch=5, synthetic_cross_batch=5, late=5, bad=6,
        no_fingerprint=20, hot_ids=1, hot_copies=30, seed=3,
    )  # fmt: skip
    engines = ("workers", "spark", "workers", "workers", "spark")
    for path, engine in zip(
        write_events(spec, str(tmp_path / "{batch}.tsv")).files, engines, strict=True
    ):
        land(
            landing,
            f"{path.stem}.tsv{random.Random(path.stem).choice(('', '.gz'))}",
            path.read_text(encoding="utf-8").rstrip("\n").split("\n"),
        )
        if path.stem.endswith("4"):
            # it dies when the manifest has its claims and the entities are there, and the next run takes them back
            names = ("by_spark", "by_turns")
            project.dbt("run", "--select", *names, vars={"tidemark__engine": "workers"})
            die_after(project, "by_turns", 4)
            die_after(project, "by_spark", 4)
        project.dbt("run", vars={"tidemark__engine": engine})
    found, wanted = tables_of(project, "by_turns"), tables_of(project, "by_spark")
    for table, rows in wanted.items():
        assert found[table] == rows, table
    assert engines_of(project, "by_spark") == [False] * len(engines_of(project, "by_spark"))
    assert engines_of(project, "by_turns") == [engine == "workers" for engine in engines]
    products = "select count(*) from {} where name = 'product' and vendor = 'com.acme'"
    assert project.sql("select count(*) from products") == project.sql(
        products.format("by_turns__entities")
    )


@pytest.mark.slow
def test_batches__declined(project: Project) -> None:
    """A batch with what the workers cannot answer for goes by Spark SQL, and the console says why."""
    landing = add_events(project, engine="workers")
    told = {
        "a.tsv": (event_line(1, txn_id="+5"), "a value of a form that is read by Spark alone"),
        "b.tsv": (to_json_line({"event_id": event_id(2), "collector_tstamp": "2026-03-04 09:30:00.000", "v_collector": "c", "v_etl": "e"}), "JSON in place of fields"),
        "c.tsv": (event_line(3) + "\r", "a carriage return"),
        "d.tsv": (event_line(4, [(URIS[0], {"a": 1})]).replace('{"schema"', '{"schema":"x","schema"', 1), "JSON that readers differ in"),
    }  # fmt: skip
    for name, (line, why) in told.items():
        land(landing, name, [line])
        result = project.dbt("run")
        assert "events: by Spark SQL, as a" in result.output and why in result.output
    found = project.sql("select event_id, txn_id from events order by 1")
    assert found == [(event_id(1), 5), *((event_id(number), None) for number in (2, 3, 4))]
    assert project.sql("select data from events__entities") == [('{"a":1}',)]
    assert engines_of(project, "events") == [False] * 4
    land(landing, "e.tsv", [event_line(5), "x"])
    assert "by Spark SQL" not in project.dbt("run").output
    assert engines_of(project, "events") == [False, False, False, False, True]
    folder = Path(project.home) / "warehouse" / f"{project.schema}.db"
    # of the attempts that were declined nothing is left
    assert len([*folder.glob("events/**/workers-*.parquet")]) == 1
    project.sql("alter table events set tblproperties ('delta.appendOnly' = 'true')")
    land(landing, "f.tsv", [event_line(6)])
    assert "has the property delta.appendOnly" in project.dbt("run").output
