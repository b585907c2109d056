"""The golden files run: each is executed once, on empty tables of the shape it was written for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..render.test_golden import (
    ARRIVED,
    CASES,
    DELTA,
    EVENT_KEYS,
    EVENT_LOAD,
    FULL,
    INTERVAL_COLUMNS,
    KEYED,
    KEYLESS,
    MANIFEST,
    PLAIN,
    SCD2,
    SEQUENCED,
    STATES,
)
from ..rendering import load_sql_macros, relation

GOLDEN = Path(__file__).parents[1] / "render" / "golden"
HASHES = ["_key_hash string", "_row_hash string"]
CHANGE = [
    *HASHES,
    "_operation string",
    "_business_date date",
    "_eff_start_date date",
    "_changed_columns array<string>",
]


@pytest.fixture(scope="module")
def session(module_project: Any) -> Iterator[Any]:
    session = module_project.session
    macros = load_sql_macros()
    session.sql("create database if not exists shop")

    def table(relation: Any, columns: Any) -> None:
        for statement in macros["delta__create_table"](relation, columns, {}):
            session.sql(statement)

    for entity in (PLAIN, FULL):
        for statement in macros["delta__create_log"](
            entity.cfg, entity.relations, macros["log_columns"](entity.plan)
        ):
            session.sql(statement)
        table(entity.relations["current"], macros["current_columns"](entity.cfg, entity.plan))
        table(entity.relations["rejects"], macros["rejects_columns"]())
    table(FULL.relations["sensitive"], macros["sensitive_columns"](FULL.plan))
    table(DELTA.relations["supplied"], macros["supplied_columns"]())
    table(STATES, macros["commit_columns"]())
    table(SCD2, INTERVAL_COLUMNS)
    feed_columns = [
        {"name": "_key_hash", "type": "string"},
        {"name": "_commit_id", "type": "bigint"},
    ]
    table(relation("shop", "customers_feed"), macros["feed_columns"]({"buckets": 4}, feed_columns))

    table(relation("shop", "atomic_events"), macros["atomic_columns"]())
    table(relation("shop", "atomic_events__entities"), macros["entity_columns"]())
    table(MANIFEST, macros["manifest_columns"]())
    session.sql(
        f"create table {EVENT_KEYS} (_row bigint, _event_id string, _fingerprint string, "
        "_etl_tstamp timestamp, _collector_tstamp timestamp, _line_hash bigint, "
        "_reject_reason string) using delta"
    )

    def view(name: str, *columns: str) -> None:
        session.createDataFrame([], ", ".join(columns)).createOrReplaceTempView(name)

    business = [f"`{column['name']}` {column['type']}" for column in FULL.plan["columns"]]
    view("arrived", *(f"`{column['name']}` string" for column in ARRIVED))
    view("staged", *business, *HASHES, "_reject_reason string", "_raw_payload string")
    view("existing", *business, *HASHES)
    view("stored", *business, *HASHES, "_operation string", "_eff_start_date date")
    view("classified", "_key_hash string", "_operation string", "_copies bigint", "_exists boolean")
    view("changed", *business, *CHANGE)
    view("logged", *business, *CHANGE, "_commit_id bigint", "_superseded_by bigint")
    view("changes", *business, *CHANGE, "_supersedes bigint")
    view("intervals", *(f"`{column['name']}` {column['type']}" for column in INTERVAL_COLUMNS))

    labelled = (GOLDEN / "classified_rows_sql.labelled.sql").read_text(encoding="utf-8")
    session.sql(f"create or replace temporary view labelled as {labelled}")

    for events in (KEYED, SEQUENCED, KEYLESS):
        columns = macros["log_columns"](events.plan)
        for statement in macros["delta__create_log"](events.cfg, events.relations, columns):
            session.sql(statement)
        table(events.relations["current"], macros["current_columns"](events.cfg, events.plan))
        table(events.relations["staging"], macros["staging_columns"](events.cfg, events.plan))
        table(events.relations["landed"], macros["landed_columns"]())
    session.sql(
        f"create or replace temporary view customers__slice as select * from {KEYED.relations['log']}"
    )
    session.sql(
        "create or replace temporary view arrived_lines as "
        "select cast(null as string) as value, cast(null as bigint) as _landing_num where false"
    )
    debezium = (GOLDEN / "debezium_events_sql.table.sql").read_text(encoding="utf-8")
    session.sql(f"create or replace temporary view events as {debezium}")
    for entity, name in (
        (KEYED, "staged_events"),
        (KEYED, "staged_keys"),
        (KEYLESS, "staged_copies"),
    ):
        staged = macros["staged_events_sql"](entity.cfg, entity.plan, "events", {}, {})
        session.sql(f"create or replace temporary view {name} as {staged}")
    before, _ = staged.split("\ntold_apart as (")
    judged = f"{before.rstrip().removesuffix(',')} select * from narrowed"
    session.sql(f"create or replace temporary view judged_events as {judged}")
    for entity, name in ((KEYED, "existing_events"), (KEYLESS, "existing_copies")):
        existing = macros["no_existing_events_sql"](entity.cfg, entity.plan, EVENT_LOAD)
        session.sql(f"create or replace temporary view {name} as {existing}")
    table_events = macros["table_events_sql"](
        KEYED.cfg, KEYED.plan, KEYED.relations, "staged_events", EVENT_LOAD
    )
    session.sql(f"create or replace temporary view table_events as {table_events}")
    yield session
    session.sql("drop database shop cascade")


@pytest.mark.parametrize("name", CASES)
def test_golden_sql__runs(session: Any, tmp_path: Path, name: str) -> None:
    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8").replace("/lake/", f"{tmp_path}/")
    (tmp_path / "shop").mkdir()
    for statement in text.split(";\n\n"):
        session.sql(statement).collect()
