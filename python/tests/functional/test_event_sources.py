"""Where events come from, what DDL does by policy, sensitive columns, a full refresh and readings by time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from .event_entities import EventEntity, ddl, delete, insert, truncate, update

COLUMNS = {"id": "int", "name": "string"}


@pytest.fixture(scope="module")
def typed(module_project: Any) -> Iterator[dict[str, EventEntity]]:
    """The same canonical events as a table, as Parquet files and as the model's own SELECT."""
    project = module_project
    project.sql(
        """
        create table changes as select * from values
            (1, 'INSERT', null, 1, 'a', timestamp'2026-03-04 08:00:00', null),
            (2, 'INSERT', null, 2, 'b', timestamp'2026-03-04 08:00:00', null),
            (3, 'UPDATE', 1, 3, 'a3', timestamp'2026-03-04 09:00:00', null),
            (4, 'DELETE', 2, 2, null, timestamp'2026-03-05 09:00:00', null),
            (5, 'INSERT', null, 2, 'b again', timestamp'2026-03-05 09:00:00', null)
            as t (_sequence_num, _operation, _before_id, id, name, _event_time, _database)
        """
    )
    folder = project.root / "landing" / "parquet"
    project.session.table(f"`{project.schema}`.changes").coalesce(1).write.parquet(str(folder))
    made = {
        "by_table": EventEntity(
            project, "by_table", COLUMNS, table=None, location=f"{project.schema}.changes"
        ),
        "by_files": EventEntity(project, "by_files", COLUMNS, table=None, location=str(folder)),
        "by_select": EventEntity(
            project,
            "by_select",
            COLUMNS,
            table=None,
            body="select * from {{ target.schema }}.changes where _sequence_num <= {{ var('upto', 3) }}",
        ),
    }
    project.write(
        "models/by_select_past.sql",
        "{{ tidemark.as_of(ref('by_select'), '2026-03-04 23:00:00', by='event_time') }}",
    )
    project.write(
        "models/by_select_scd2.sql", "{{ tidemark.scd2(ref('by_select'), by='event_time') }}"
    )
    project.write(
        "models/by_select_days.sql", "{{ tidemark.scd2(ref('by_select'), by='business_date') }}"
    )
    project.dbt("run", "--select", *made, vars={"business_date": "2026-03-04"})
    project.dbt(
        "run",
        "--select",
        "by_select+",
        "by_table",
        vars={"business_date": "2026-03-05", "upto": 9},
    )
    yield made


def test_typed_sources(typed: dict[str, EventEntity]) -> None:
    for entity in typed.values():
        assert entity.rows("id, name, _sequence_num") == [(2, "b again", 5), (3, "a3", 3)]
    # the second run read the whole table again and found nothing new
    assert typed["by_table"].commits("rows_read, rows_duplicate, rows_logged") == [(5, 0, 6)]


def test_readings_by_time(typed: dict[str, EventEntity]) -> None:
    entity = typed["by_select"]
    assert entity.rows("id, name", "_past") == [(2, "b"), (3, "a3")]
    by_time = entity.rows(
        "id, name, date_format(_valid_from, 'd H'), date_format(_valid_to, 'd H')", "_scd2"
    )
    assert by_time == [
        (1, "a", "4 8", "4 9"),
        (2, "b", "4 8", "5 9"),
        (2, "b again", "5 9", None),
        (3, "a3", "4 9", None),
    ]
    assert entity.rows("id, name, day(_valid_from), day(_valid_to)", "_days") == [
        (2, "b", 4, 5),
        (2, "b again", 5, None),
        (3, "a3", 4, None),
    ]


SCHEMA = [
    {"name": "id", "type": "int"},
    {"name": "name", "type": "string"},
    {"name": "n", "type": "int"},
]


def schema(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [*SCHEMA, *changes]


@pytest.fixture(scope="module")
def shaped(module_project: Any) -> Iterator[dict[str, EventEntity]]:
    """One stream with DDL, taken by entities with other policies."""
    project = module_project
    folder = project.root / "landing" / "shaped"
    folder.mkdir(parents=True)
    made = {}
    for name, policies in {
        "followed": {"drop_column": "apply", "drop_table": "apply"},
        "kept": {"add_column": "ignore", "truncate_table": "ignore"},
        "strict": {"add_column": "fail"},
        "refreshed": {},
    }.items():
        made[name] = EventEntity(
            project, name, {"id": "int"}, table="shop.shaped", location=str(folder), ddl=policies
        )

    def land(number: int, events: list[dict[str, Any]]) -> None:
        lines = [{**event, "_database": "shop", "_table": "shaped"} for event in events]
        (folder / f"{number}.jsonl").write_text(
            "\n".join(json.dumps(line) for line in lines) + "\n"
        )

    land(
        1,
        [
            ddl("CREATE_TABLE", schema()),
            insert({"id": 1, "name": "a", "n": 1}),
            insert({"id": 2, "name": "b", "n": 2}),
        ],
    )
    project.dbt("run", "--select", *made)
    wide = [
        {"name": "id", "type": "int"},
        {"name": "name", "type": "string"},
        {"name": "n", "type": "bigint"},
    ]
    tier = {"name": "tier", "type": "string", "default": "std"}
    land(
        2,
        [
            update({"id": 1, "name": "a2", "n": 1}),
            ddl("ALTER_TABLE", [*wide, tier]),
            insert({"id": 3, "name": "c", "n": 9_000_000_000, "tier": "gold"}),
            ddl("ALTER_TABLE", [wide[0], {"name": "label", "type": "string", "previous_name": "name"}, wide[2], tier]),
            update({"id": 3, "label": "c2", "n": 3, "tier": "gold"}),
            ddl("ALTER_TABLE", [wide[0], {"name": "label", "type": "string"}, tier]),
            insert({"id": 4, "label": "d", "tier": "new"}),
        ],
    )  # fmt: skip
    failed = project.dbt("run", "--select", *made, expect_pass=False)
    assert {name for name, status in failed.statuses.items() if status == "error"} == {"strict"}
    assert "ddl.add_column is fail" in failed.messages["strict"]
    land(3, [truncate(), insert({"id": 5, "label": "e", "tier": "std"}), ddl("DROP_TABLE")])
    project.dbt("run", "--select", "followed", "kept")
    project.dbt("run", "--full-refresh", "--select", "refreshed")
    yield made


def test_ddl__followed(shaped: dict[str, EventEntity]) -> None:
    followed = shaped["followed"]
    columns = followed.project.session.table(f"`{followed.project.schema}`.followed").columns
    assert "n" not in columns
    assert {"label", "tier"} <= {*columns}
    assert "name" not in columns
    # the drop of the table closed what was there; history has every column that ever was
    assert followed.rows("id") == []
    assert followed.rows("id, label, n, tier, _operation", "__history") == sorted(
        [
            (1, "a", 1, None, "I"),
            (2, "b", 2, None, "I"),
            (1, "a2", 1, None, "U"),
            (1, "a2", 1, "std", "U"),
            (2, "b", 2, "std", "U"),
            (3, "c", 9_000_000_000, "gold", "I"),
            (3, "c2", 3, "gold", "U"),
            (4, "d", None, "new", "I"),
            (1, "a2", None, "std", "D"),
            (2, "b", None, "std", "D"),
            (3, "c2", None, "gold", "D"),
            (4, "d", None, "new", "D"),
            (5, "e", None, "std", "I"),
            (5, "e", None, "std", "D"),
        ],
        key=lambda row: tuple((v is not None, str(v)) for v in row),
    )


def test_ddl__ignored_and_failed(shaped: dict[str, EventEntity]) -> None:
    kept = shaped["kept"]
    assert "tier" not in kept.project.session.table(f"`{kept.project.schema}`.kept").columns
    assert kept.rows("id, label, n") == [
        (1, "a2", 1),
        (2, "b", 2),
        (3, "c2", 3),
        (4, "d", None),
        (5, "e", None),
    ]
    # what came before the statement was applied, and nothing after it
    assert shaped["strict"].rows("id, name, n") == [(1, "a2", 1), (2, "b", 2)]


def test_full_refresh(shaped: dict[str, EventEntity]) -> None:
    refreshed = shaped["refreshed"]
    assert refreshed.rows("id, label, tier") == [(5, "e", "std")]
    kinds = [kind for kind, _ in refreshed.commits()]
    assert "full_refresh" in kinds
    assert len(refreshed.project.sql("show tables like 'refreshed__log_2*'")) == 1


def test_sensitive_events(project: Any) -> None:
    """Their values are in no table but their own; changes of them count, also of those that an update leaves out."""
    entity = EventEntity(
        project, "people", {"id": "int", "phone": "string", "n": "int"}, sensitive=["phone"]
    )
    entity.load(
        [insert({"id": 1, "phone": "555-1", "n": 1}), insert({"id": 2, "phone": "555-2", "n": 1})]
    )
    entity.load(
        [update({"id": 1, "phone": "555-9", "n": 1}), update({"id": 1, "n": 2}), delete({"id": 2})]
    )
    for table in ("", "__log", "__staging"):
        rows = project.sql(f"select to_json(struct(*)) from people{table}")
        assert rows
        assert not [row for row in rows if "555" in row[0]]
    assert entity.rows("phone", "__sensitive") == [
        ("555-1",),
        ("555-2",),
        ("555-2",),
        ("555-9",),
        ("555-9",),
    ]
    project.write("models/people_plain.sql", "{{ tidemark.with_sensitive(ref('people')) }}")
    project.dbt("run", "--select", "people_plain")
    assert entity.rows("id, phone, n", "_plain") == [(1, "555-9", 2)]


def captured(order: int, ordinal: int, op: str = "c") -> str:
    """A line as capture lands it: equal rows at one log position, told apart by `_id` alone."""
    source = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public"}
    source |= {"table": "twins", "txId": 7, "lsn": 90, "ts_ms": 1772600000000}
    envelope = {
        "before": {"a": 1, "b": "x"} if op == "d" else None,
        "after": None if op == "d" else {"a": 1, "b": "x"},
        "source": source,
        "op": op,
        "ts_ms": 1772600000001,
        "transaction": {"id": "7:90", "total_order": order},
    }
    identity = f"7:90:{op}:{ordinal}"
    return json.dumps({"topic": "t", "key": None, "value": envelope, "_id": identity})


@pytest.mark.slow
def test_captured_twins(module_project: Any) -> None:
    """Equal rows of a table without key count by their `_id`, also where a delivery was cut and counts anew."""
    columns = {"a": "int", "b": "string"}
    twins = EventEntity(
        module_project, "twins", columns, None, format="debezium", table="public.twins"
    )
    twins.load([captured(1, 0), captured(2, 1)])
    assert len(twins.rows("a")) == 2
    # the transaction goes on after a restart: its order begins anew, what had landed was left out
    twins.load([captured(1, 2), captured(2, 3)])
    assert len(twins.rows("a")) == 4
    # a file that comes again under another name changes nothing
    twins.load([captured(1, 2), captured(2, 3)])
    assert len(twins.rows("a")) == 4
    twins.load([captured(3, 0, "d")])
    assert len(twins.rows("a")) == 3


def test_empty(project: Any) -> None:
    entity = EventEntity(project, "empty", COLUMNS)
    entity.land([insert({"id": 1, "name": "a"}), delete({"id": 1})])
    entity.run("--empty")
    assert entity.rows("*") == []
    entity.run()
    assert entity.rows("_operation", "__history") == [("D",), ("I",)]
