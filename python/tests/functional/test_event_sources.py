"""Where events come from, what DDL does by policy, sensitive columns, a full refresh and readings by time."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from ..render.test_golden import Events
from ..rendering import load_sql_macros
from .event_entities import Event, EventEntity, ddl, delete, insert, truncate, update
from .interrupted import die_at

pytestmark = pytest.mark.iceberg

COLUMNS = {"id": "int", "name": "string"}


@pytest.fixture(scope="module")
def models(module_project: Any) -> dict[str, EventEntity]:
    """Every model of this module: written at once, the project is parsed once."""
    project = module_project
    landing = project.root / "landing"
    made = [
        EventEntity(project, "by_table", COLUMNS, table=None, location=f"{project.schema}.changes"),
        EventEntity(project, "by_files", COLUMNS, table=None, location=str(landing / "parquet")),
        EventEntity(
            project,
            "by_select",
            COLUMNS,
            table=None,
            body="select * from {{ target.schema }}.changes where _sequence_num <= {{ var('upto', 3) }}",
        ),
        EventEntity(
            project,
            "by_pair",
            {**COLUMNS, "kind": "string"},
            ["kind", "id"],
            table=None,
            body="select *, 'x' as kind from {{ target.schema }}.changes",
        ),
        *(
            EventEntity(
                project,
                name,
                {"id": "int"},
                table="shop.shaped",
                location=str(landing / "shaped"),
                ddl=policies,
            )
            for name, policies in SHAPED.items()
        ),
        EventEntity(
            project, "people", {"id": "int", "phone": "string", "n": "int"}, sensitive=["phone"]
        ),
        EventEntity(project, "empty", COLUMNS),
        EventEntity(
            project,
            "by_text",
            {"id": "int"},
            table=None,
            format="rows",
            sequence_by="`at`",
        ),
        EventEntity(project, "deleted", {**COLUMNS, "at": "int"}, sequence_by="at"),
        EventEntity(project, "nameless", COLUMNS, null_keys="allow"),
        EventEntity(
            project,
            "truncated",
            COLUMNS,
            ddl={"truncate_table": "fail"},
            apply_as_truncates="name = 'all'",
            on_reject="quarantine",
        ),
        EventEntity(project, "unsigned", {}),
        EventEntity(project, "rekeyed", {}),
        EventEntity(
            project,
            "torn",
            {"id": "int"},
            sequence_by="_sequence_num",
            ddl={"drop_column": "apply"},
        ),
        *(
            EventEntity(
                project, name, {"id": "int"}, ddl={"drop_column": "apply"}, changed_columns=is_told
            )
            for name, is_told in (("filled", None), ("filled_silently", False))
        ),
        EventEntity(
            project,
            "kept_values",
            {**COLUMNS, "address": "struct<city: string, zip: int>", "at": "int"},
            table=None,
            format="rows",
            sequence_by="at",
            apply_as_deletes="gone",
            ignore_null_updates=True,
        ),
        *(
            EventEntity(project, f"untold_{engine}", COLUMNS, table=None, engine=engine)
            for engine in ("spark", "workers")
        ),
        EventEntity(project, "envelopes", COLUMNS, format="debezium", table="public.envelopes"),
        EventEntity(
            project,
            "key_images",
            {**COLUMNS, "version": "int"},
            format="debezium",
            table="public.key_images",
            sequence_by="version",
            on_reject="quarantine",
        ),
        EventEntity(
            project,
            "lines",
            COLUMNS,
            body="select value, _landing_num from ({{ tidemark.extract() }})",
            location=str(landing / "lines"),
        ),
        EventEntity(project, "copies", COLUMNS, None, format="debezium", table="public.copies"),
        EventEntity(project, "numbered", COLUMNS, None),
        EventEntity(project, "read_twins", COLUMNS, None),
        EventEntity(
            project,
            "defaulted",
            {"id": "int"},
            format="debezium",
            table="public.envelopes",
            ddl={"truncate_table": "fail"},
        ),
        EventEntity(project, "read_in_parts", COLUMNS),
        EventEntity(project, "read_at_once", COLUMNS),
        *(
            EventEntity(project, name, COLUMNS, key, format="debezium", table="public.read")
            for name, key in (("read_copies", None), ("read_keys", "id"))
        ),
        EventEntity(project, "renamed", COLUMNS, table=None),
        EventEntity(project, "swapped", COLUMNS, ddl={"drop_table": "apply"}),
        EventEntity(project, "unparsable", COLUMNS, apply_as_deletes="name = = 'gone'"),
        EventEntity(
            project,
            "misnamed",
            COLUMNS,
            sequence_by=["changed_att", "_sequence_num"],
            apply_as_deletes="xyz > 1",
            apply_as_truncates="nome(name)",
        ),
    ]
    for name, reading in {
        "by_select_past": "as_of(ref('by_select'), '2026-03-04 23:00:00', by='event_time')",
        "by_select_scd2": "scd2(ref('by_select'), by='event_time')",
        "by_select_days": "scd2(ref('by_select'), by='business_date')",
        "people_plain": "with_sensitive(ref('people'))",
        "people_logged": "with_sensitive(tidemark.log(ref('people')))",
        "people_changes": "with_sensitive(tidemark.history(ref('people')))",
    }.items():
        project.write(f"models/{name}.sql", f"{{{{ tidemark.{reading} }}}}")
    return {entity.name: entity for entity in made}


@pytest.fixture(scope="module")
def typed(models: dict[str, EventEntity], module_project: Any) -> dict[str, EventEntity]:
    """The same canonical events as a table, as Parquet files and as the model's own SELECT."""
    project = module_project
    project.sql(
        """
        create table changes as select * from values
            (1, 'INSERT', null, 1, 'a', timestamp'2026-03-04 08:00:00', null),
            (2, 'INSERT', null, 2, 'b', timestamp'2026-03-04 08:00:00', null),
            (3, 'UPDATE', 1, 3, 'a3', timestamp'2026-03-04 09:00:00', null),
            (4, 'DELETE', 2, null, null, timestamp'2026-03-05 09:00:00', null),
            (5, 'INSERT', null, 2, 'b again', timestamp'2026-03-05 09:00:00', null)
            as t (_sequence_num, _operation, _before_id, id, name, _event_time, _database)
        """
    )
    folder = project.root / "landing" / "parquet"
    project.session.table(f"`{project.schema}`.changes").coalesce(1).write.parquet(str(folder))
    made = {name: models[name] for name in ("by_table", "by_files", "by_select", "by_pair")}
    project.dbt("run", "--select", *made, vars={"business_date": "2026-03-04"})
    # read again, as a copy of a folder is
    for file in folder.glob("*.parquet"):
        os.utime(file, (1_800_000_000, 1_800_000_000))
    project.dbt(
        "run",
        "--select",
        "by_select+",
        "by_table",
        "by_files",
        vars={"business_date": "2026-03-05", "upto": 9},
    )
    return made


@pytest.mark.turn(3)
def test_typed_sources(typed: dict[str, EventEntity]) -> None:
    for entity in typed.values():
        assert entity.rows("id, name, _sequence_num") == [(2, "b again", 5), (3, "a3", 3)]
    # the second run read the whole table again, and the files, and found nothing new
    figures = "rows_read, rows_duplicate, rows_logged"
    assert typed["by_table"].commits(figures) == [(5, 0, 6)]
    assert typed["by_files"].commits(figures) == [(5, 0, 6), (5, 5, 0)]
    assert typed["by_files"].rows("_file_number", "__landed") == [(0,), (1,)]


@pytest.mark.turn(3)
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


SHAPED: dict[str, dict[str, str]] = {
    "followed": {"drop_column": "apply", "drop_table": "apply"},
    "kept": {"add_column": "ignore", "truncate_table": "ignore"},
    "strict": {"add_column": "fail"},
}
"""Entity → its policies."""


@pytest.fixture(scope="module")
def shaped(models: dict[str, EventEntity], module_project: Any) -> dict[str, EventEntity]:
    """One stream with DDL, taken by entities with other policies."""
    project = module_project
    folder = project.root / "landing" / "shaped"
    folder.mkdir(parents=True)
    made = {name: models[name] for name in SHAPED}

    def land(number: int, events: list[dict[str, Any]]) -> None:
        lines = [{**event, "_database": "shop", "_table": "shaped"} for event in events]
        (folder / f"{number}.jsonl").write_text(
            "\n".join(json.dumps(line) for line in lines) + "\n"
        )

    # no row brings it
    code = {"name": "code", "type": "decimal(9,2)"}
    land(
        1,
        [
            ddl("CREATE_TABLE", schema(code)),
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
            ddl("ALTER_TABLE", [*wide, tier, code]),
            insert({"id": 3, "name": "c", "n": 9_000_000_000, "tier": "gold"}),
            ddl("ALTER_TABLE", [wide[0], {"name": "label", "type": "string", "previous_name": "name"}, wide[2], tier, code]),
            update({"id": 3, "label": "c2", "n": 3, "tier": "gold"}),
            ddl("ALTER_TABLE", [wide[0], {"name": "label", "type": "string"}, tier, code]),
            insert({"id": 4, "label": "d", "tier": "new"}),
        ],
    )  # fmt: skip
    failed = project.dbt("run", "--select", *made, expect_pass=False)
    assert {name for name, status in failed.statuses.items() if status == "error"} == {"strict"}
    assert "ddl.add_column is fail" in failed.messages["strict"]
    # a new column takes the former name of another one
    again = [
        wide[0],
        {"name": "label", "type": "string"},
        tier,
        code,
        {"name": "name", "type": "int"},
    ]
    place = {"name": "place", "type": "STRUCT<streetName: STRING>"}
    land(
        3,
        [
            truncate(),
            ddl("ALTER_TABLE", [*again, place]),
            insert({"id": 5, "label": "e", "tier": "std", "name": 5, "place": {"streetName": "High St"}}),
            ddl("DROP_TABLE"),
        ],
    )  # fmt: skip
    project.dbt("run", "--select", "followed")
    # a full refresh takes what has landed since, too
    project.dbt("run", "--full-refresh", "--select", "kept")
    return made


@pytest.mark.turn(0)
def test_ddl__followed(shaped: dict[str, EventEntity]) -> None:
    followed = shaped["followed"]
    columns = followed.project.session.table(f"`{followed.project.schema}`.followed").columns
    assert "n" not in columns
    assert {"label", "tier", "name"} <= {*columns}
    assert followed.rows("id, place.streetName", "__history", "name = 5") == [(5, "High St")] * 2
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


@pytest.mark.turn(0)
def test_ddl__ignored_and_failed(shaped: dict[str, EventEntity]) -> None:
    kept = shaped["kept"]
    types = dict(kept.project.session.table(f"`{kept.project.schema}`.kept").dtypes)
    assert not {"tier", "name"} & {*types}
    assert types["code"] == "decimal(9,2)"
    assert kept.rows("id, label, n") == [
        (1, "a2", 1),
        (2, "b", 2),
        (3, "c2", 3),
        (4, "d", None),
        (5, "e", None),
    ]
    # what came before the statement was applied, and nothing after it
    assert shaped["strict"].rows("id, name, n") == [(1, "a2", 1), (2, "b", 2)]


@pytest.mark.turn(3)
def test_ddl__that_cannot_be_followed(models: dict[str, EventEntity]) -> None:
    """It stops the run before a table is altered, and there is a way on."""
    entity = models["rekeyed"]

    def shape(*names: str, **previous: str) -> dict[str, Any]:
        told = [{"name": n, "type": "int", "previous_name": previous.get(n)} for n in names]
        return ddl("ALTER_TABLE", told)

    entity.land(
        [
            shape("id", "a", "b"),
            insert({"id": 1, "a": 1, "b": 10}),
            shape("nr", "a", "b", nr="id"),
            update({"nr": 1, "a": 2, "b": 10}),
            insert({"nr": 2, "a": 3, "b": 30}),
            shape("nr", "a", "b", a="b", b="a"),
            update({"nr": 2, "a": 31, "b": 3}),
        ]
    )
    stopped = entity.run(expect_pass=False).messages["rekeyed"]
    assert "and unique_key names `id`, which is `nr` now; what came before it was" in stopped
    assert entity.rows("id, a, b") == [(1, 1, 10)]
    entity.write(previous_names={"id": "nr"})
    assert "in which `b` becomes `a`" in entity.run(expect_pass=False).messages["rekeyed"]
    assert entity.rows("id, a, b") == [(1, 2, 10), (2, 3, 30)]
    entity.write(ddl={"rename_column": "ignore"})
    entity.load([update({"nr": 1, "a": 10, "b": 2})])
    assert entity.rows("id, a, b") == [(1, 10, 2), (2, 31, 3)]


@pytest.mark.turn(1)
def test_ddl__of_a_run_that_died_or_was_refused(models: dict[str, EventEntity]) -> None:
    """What it had altered is taken back, so that the next one finds tables as they are recorded, and comes to the same."""
    entity = models["torn"]

    def shape(number: int, *names: str, **previous: str) -> dict[str, Any]:
        told = [
            {"name": n, "type": "bigint" if n == "b" else "int", "previous_name": previous.get(n)}
            for n in names
        ]
        return ddl("ALTER_TABLE", told, sequence_num=number)

    entity.load(
        [
            shape(1, "id", "a", "n"),
            *(insert({"id": i, "a": i, "n": i}, sequence_num=10 + i) for i in (1, 2, 3)),
            *(update({"id": i, "a": i, "n": 10 * i}, sequence_num=30 + i) for i in (1, 3)),
        ]
    )
    # declared before the statement: what has no values is not put aside
    entity.write(columns={"id": "int", "b": ""})
    events = [
        update({"id": 2, "a": 22, "n": 2}, sequence_num=40),
        shape(41, "id", "b", "n", b="a"),
        update({"id": 2, "b": 9_000_000_000, "n": 20}, sequence_num=50),
        shape(51, "id", "b"),
        update({"id": 1, "b": 7}, sequence_num=60),
        delete({"id": 2}, sequence_num=70),
    ]
    refused = {**events[2], "n": "many"}
    entity.load([*events[:2], refused, *events[3:]], expect_pass=False)
    assert entity.rows("id, a, b, n") == [(1, 1, None, 10), (2, 22, None, 2), (3, 3, None, 30)]
    assert entity.rows("id, a, b", "__history", "id = 2") == [(2, 2, None), (2, 22, None)]
    entity.land(events, "000002.jsonl")
    for statement in (r"alter table \S*torn`? rename column", r"insert into \S*torn__staging"):
        die_at(entity.project, statement, "--select", "torn")
    entity.run()
    current, logged = "id, b", "id, b, n, _operation, _changed_columns"
    assert entity.rows(current) == [(1, 7), (3, 3)]
    table = entity.project.session.table(f"`{entity.project.schema}`.torn__log")
    assert [c for c in table.columns if not c.startswith("_")] == ["id", "b", "n"]
    third = [(3, 3, 3, "I", None), (3, 3, 30, "U", ["n"])]
    assert entity.rows(logged, "__history", "id > 1") == [
        (2, 2, 2, "I", None),
        (2, 22, 2, "U", ["a"]),
        (2, 9_000_000_000, None, "D", None),
        (2, 9_000_000_000, 20, "U", ["b", "n"]),
        *third,
    ]
    entity.check()
    # late events know nothing of the dropped column: what is there has what it had
    entity.load(
        [update({"id": i, "b": 6}, sequence_num=number) for i, number in ((1, 25), (3, 45))]
    )
    assert entity.rows(current) == [(1, 7), (3, 6)]
    assert entity.rows(logged, "__history", "id <> 2") == [
        (1, 1, 1, "I", None),
        (1, 1, 10, "U", ["b", "n"]),
        (1, 6, None, "U", ["b"]),
        (1, 7, None, "U", ["b"]),
        *third,
        (3, 6, None, "U", ["b"]),
    ]
    entity.check()


@pytest.mark.turn(2)
def test_ddl__late_events_behind_a_drop(models: dict[str, EventEntity]) -> None:
    """What rows had in a column with a default stays, whatever it was called, but of a row that was not there then."""
    entities = [models["filled"], models["filled_silently"]]
    project = entities[0].project

    def load(*events: Event) -> None:
        for entity in entities:
            entity.land(events)
        project.dbt("run", "--select", *(entity.name for entity in entities))

    def shape(number: int, *names: str, **previous: str) -> Event:
        told: list[dict[str, Any]] = [
            {"name": n, "type": "int", "previous_name": previous.get(n)} for n in names
        ]
        told[-1]["default"] = 5 if names[-1] == "n" else None
        return ddl("ALTER_TABLE", told, sequence_num=number)

    load(
        shape(1, "id", "a"),
        *(insert({"id": i, "a": i}, sequence_num=10 + i) for i in (1, 2, 3, 4)),
        shape(20, "id", "a", "n"),
        update({"id": 3, "a": 3, "n": 6}, sequence_num=25),
        shape(30, "id", "b", "m", b="a", m="n"),
        shape(40, "id", "b"),
        update({"id": 4, "b": 44}, sequence_num=50),
    )
    load(
        update({"id": 1, "b": 11}, sequence_num=15),
        delete({"id": 2}, sequence_num=16),
        update({"id": 3, "b": 3}, sequence_num=22),
        update({"id": 4, "b": 44}, sequence_num=45),
    )
    for entity, is_told in zip(entities, (True, False), strict=True):
        assert entity.rows("id, b") == [(1, 11), (3, 3), (4, 44)]
        expected = [
            (1, 1, None, "I", None), (1, 11, None, "U", "b"), (1, 11, 5, "U", "n"),
            (2, 2, None, "D", None), (2, 2, None, "I", None),
            (3, 3, None, "I", None), (3, 3, 5, "U", "n"), (3, 3, 6, "U", "n"),
            (4, 4, None, "I", None), (4, 4, 5, "U", "n"), (4, 44, None, "U", "b"),
        ]  # fmt: skip
        found = entity.rows("id, b, m, _operation, array_join(_changed_columns, ' ')", "__history")
        assert found == [row if is_told else (*row[:-1], None) for row in expected]
        entity.check()


@pytest.mark.turn(0, 1, 2, 3)
def test_ddl__truncate_that_fails(models: dict[str, EventEntity]) -> None:
    """It ends the run there, and is not put aside: what comes after it waits for another policy."""
    entity = models["truncated"]
    entity.land([insert({"id": 1, "name": "a"}), truncate(), insert({"id": 2, "name": "b"})])
    message = "`TRUNCATE`, and ddl.truncate_table is fail; what came before it was applied"
    assert message in entity.run(expect_pass=False).messages["truncated"]
    assert entity.rows("id") == [(1,)]
    entity.write(ddl={"truncate_table": "apply"})
    entity.run()
    assert entity.rows("id") == [(2,)]
    # one that was applied stops nothing; what is one by a value does
    entity.write(ddl={"truncate_table": "fail"})
    first = entity.folder / "000001.jsonl"
    first.write_text(first.read_text() + first.read_text().splitlines()[0].replace("1", "3") + "\n")
    entity.load(
        [update({"id": 2, "name": "all"}), insert({"id": 4, "name": "d"})], expect_pass=False
    )
    assert entity.rows("id") == [(2,), (3,)]


@pytest.mark.slow  # what is forgotten is told by test_event_batches.py too
def test_ddl__what_comes_behind_one_that_fails(models: dict[str, EventEntity]) -> None:
    """It tells nothing of the rows before: neither that they have a new column, nor that it had come by then."""
    entity = models["defaulted"]

    def line(op: str, lsn: int, **row: Any) -> str:
        types = {"id": {"type": "int32"}, "status": {"type": "string", "default": "new"}, "x": {"type": "int32"}}  # fmt: skip
        fields = [{"optional": True, "field": name, **types[name]} for name in row or ["id"]]
        schema = {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}  # fmt: skip
        told = {**json.loads(envelope(op, lsn, 0)), "after": row or None}
        return json.dumps({"schema": schema, "payload": told})

    message = "ddl.truncate_table is fail; what came before it was applied"
    entity.land([line("c", 1, id=1), line("t", 2), line("c", 3, id=2), line("c", 4, id=3, status="paid")])  # fmt: skip
    assert message in entity.run(expect_pass=False).messages[entity.name]
    assert entity.rows("id") == [(1,)]
    entity.write(ddl={"truncate_table": "apply"})
    entity.run()
    assert entity.rows("id, status") == [(2, "new"), (3, "paid")]
    entity.write(ddl={"truncate_table": "fail", "add_column": "fail"})
    row = {"id": 4, "status": "sent"}
    entity.land([line("c", 5, **row), line("t", 6), line("c", 7, **row, x=1)])
    assert message in entity.run(expect_pass=False).messages[entity.name]
    assert entity.rows("id, status") == [(2, "new"), (3, "paid"), (4, "sent")]


@pytest.mark.turn(0)
def test_full_refresh(shaped: dict[str, EventEntity]) -> None:
    kept = shaped["kept"]
    assert kept.rows("id, label", where="id = 5") == [(5, "e")]
    assert "full_refresh" in [kind for kind, _ in kept.commits()]
    assert len(kept.project.sql("show tables like 'kept__log_2*'")) == 1


@pytest.mark.turn(0)
def test_sensitive_events(models: dict[str, EventEntity]) -> None:
    """Their values are in no table but their own; changes of them count, also of those that an update leaves out."""
    entity = models["people"]
    entity.load(
        [insert({"id": 1, "phone": "555-1", "n": 1}), insert({"id": 2, "phone": "555-2", "n": 1})]
    )
    entity.land(
        [update({"id": 1, "phone": "555-9", "n": 1}), update({"id": 1, "n": 2}), delete({"id": 2})]
    )
    entity.project.dbt("run", "--select", "people+")
    for table in ("", "__log", "__staging"):
        rows = entity.project.sql(f"select to_json(struct(*)) from people{table}")
        assert rows
        assert not [row for row in rows if "555-" in row[0]]
    assert entity.rows("phone", "__sensitive") == [
        ("555-1",),
        ("555-2",),
        ("555-2",),
        ("555-9",),
        ("555-9",),
    ]
    assert entity.rows("id, phone, n", "_plain") == [(1, "555-9", 2)]
    # each row of the log has its own, also where one commit wrote several of a key
    logged = [
        (1, "555-1", 1, "I"),
        (1, "555-9", 1, "U"),
        (1, "555-9", 2, "U"),
        (2, "555-2", 1, "D"),
    ]
    logged = sorted([*logged, (2, "555-2", 1, "I")])
    for reading in ("_logged", "_changes"):
        assert entity.rows("id, phone, n, _operation", reading) == logged


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


def envelope(
    op: str,
    lsn: int,
    key: int,
    name: str | None = None,
    table: str = "envelopes",
    snapshot: str = "false",
) -> str:
    """A line of a table of PostgreSQL, by a Debezium that tells no microseconds."""
    source = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public"}
    source |= {"table": table, "txId": lsn, "lsn": lsn, "ts_ms": 1772600000000}
    source |= {"snapshot": snapshot}
    row = {"id": key, "name": name}
    images = {"d": (row, None), "t": (None, None)}.get(op, (None, row))
    told = {"before": images[0], "after": images[1], "source": source, "op": op, "ts_ms": 1}
    return json.dumps(told)


@pytest.mark.turn(0)
def test_sequence__of_a_delete_that_tells_its_key_alone(models: dict[str, EventEntity]) -> None:
    """What PostgreSQL makes up for other columns orders nothing: the delete is a reject. SQL Server tells of columns without a text."""
    entity = models["key_images"]

    def line(op: str, lsn: int, row: dict[str, Any]) -> str:
        told = json.loads(envelope(op, lsn, 0, table=entity.name))
        return json.dumps({**told, "before" if op == "d" else "after": row})

    columns = [{"name": "id", "jdbcType": 4, "typeName": "int", "typeExpression": "int"}]
    altered = {"type": "ALTER", "id": f'"shop"."public"."{entity.name}"', "table": {"columns": columns}}  # fmt: skip
    source = {"connector": "sqlserver", "db": "shop", "snapshot": "false", "change_lsn": "0:0:1"}
    told = {"source": source, "ts_ms": 1, "databaseName": "shop", "ddl": None, "tableChanges": [altered]}  # fmt: skip
    entity.land(
        [
            *(line("c", key, {"id": key, "name": "a", "version": 7}) for key in (1, 2, 3)),
            line("d", 4, {"id": 1, "name": "", "version": 0}),
            line("d", 5, {"id": 2, "name": None, "version": None}),
            line("d", 6, {"id": 3, "name": "", "version": 7}),
            json.dumps(told),
        ]
    )
    entity.run()
    assert entity.rows("id") == [(1,), (2,)]
    assert entity.rows("_reject_reason", "__rejects") == [("key_image_only: version",)] * 2
    assert entity.rows("_source_operation", "__log", "_operation = 'T'") == [("ALTER_TABLE",)]


KEY_IMAGES: list[tuple[dict[str, Any], dict[str, Any], str | None, str | None]] = [
    # the defaults of columns, the rest of the image, the place, the reject
    ({"status": "new", "price": 1.0}, {"status": "new", "price": 1.0, "version": 0}, None, "version"),
    ({"version": 1}, {"status": "", "price": {"value": "AA==", "scale": 0}, "version": 1}, None, "version"),
    ({"status": "new"}, {"status": "paid", "price": None, "version": 0}, "0", None),
    ({}, {"status": None, "price": {"scale": 0, "value": "AQ=="}, "version": 0}, "0", None),
    # without a schema nobody knows defaults, but a time is not made up by a source
    ({}, {"status": "new", "at": "1970-01-01T00:00:00.000000Z"}, None, "at"),
    ({}, {"status": "new", "at": "1970-01-02T00:00:00Z"}, "1970-01-02 00:00:00", None),
    ({}, {"status": "new", "at": None}, None, None),
    # what has a place beside it
    ({}, {"status": "new", "at": "1970-01-01T00:00:00Z", "since": "coalesce"}, "2026-03-04 04:53:20", None),
    ({}, {"status": "", "at": None, "since": "coalesce"}, "2026-03-04 04:53:20", None),
]  # fmt: skip


@pytest.mark.parametrize(
    "left_out",
    [
        pytest.param(False, marks=pytest.mark.turn(1)),
        pytest.param(True, marks=pytest.mark.turn(3)),
    ],
)
def test_sequence__of_values_that_are_made_up(module_project: Any, left_out: bool) -> None:
    """They are none, also of a column that the copy leaves out; values of a whole image are as they are."""
    macros, session = load_sql_macros(), module_project.session
    types = {"id": "int", "status": "string", "price": "string", "version": "int", "at": "timestamp"}  # fmt: skip
    for defaults, image, place, why in KEY_IMAGES:
        column = next(name for name in ("version", "at") if name in image)
        by = f"coalesce({column}, _event_time)" if "since" in image else column
        row = {"id": 1, **{name: value for name, value in image.items() if name in types}}
        told = json.loads(envelope("d", 5, 1, table="customers"))
        line: dict[str, Any] = {**told, "before": row}
        if defaults:
            fields = [{"field": n, "type": "string", **({"default": defaults[n]} if n in defaults else {})} for n in row]  # fmt: skip
            schema = {"type": "struct", "fields": [{"field": "op", "type": "string"}, {"field": "before", "fields": fields}]}  # fmt: skip
            line = {"schema": schema, "payload": line}
        entity = Events("of_key", format="debezium", sequence_by=[by], sensitive=[], table="public.customers")  # fmt: skip
        chosen = {"all": True, "include": [], "exclude": [column] if left_out else []}
        cfg = {**entity.cfg, "columns": [], "chosen": chosen}
        found = {
            "names": [*row], "schemas": {}, "ddl": None, "arrived": None, "renames": {}, "refused": [],
            "has_schemaless": True, "inferred": {},
        }  # fmt: skip
        roles = macros["event_roles"](cfg, found, types, None)
        session.sql(
            f"select r'{json.dumps(line)}' as value, cast(1 as bigint) as _landing_num"
        ).createOrReplaceTempView("arrived_deletes")
        session.sql(
            macros["debezium_events_sql"](cfg, ["customers"], "arrived_deletes")
        ).createOrReplaceTempView("events_of_deletes")
        staged = macros["staged_events_sql"](cfg, roles, "events_of_deletes", {}, {})
        [event] = session.sql(
            f"select string(_sequence_by.sequence_1) as place, _reject_reason from ({staged})"
        ).collect()
        expected = why and f"key_image_only: {why}"
        if place is None and why is None:
            expected = f"null_sequence: {by}"
        assert tuple(event) == (place, expected), (image, place)


@pytest.mark.turn(2)
def test_files__that_go_on(models: dict[str, EventEntity]) -> None:
    """What a file that was read before has got is later than all that was read; what it had is known.

    So it is for a model that names the columns that it takes.
    """
    envelopes, lines = models["envelopes"], models["lines"]
    project = envelopes.project
    unavailable = "__debezium_unavailable_value"
    begun = [envelope("c", 1, 1, "a"), envelope("c", 2, 2, "b"), envelope("c", 3, 3, "c")]
    begun_lines = [insert({"id": number, "name": name}) for number, name in enumerate("abc", 1)]

    def logged(entity: EventEntity) -> list[tuple[Any, ...]]:
        """The row of each key by the order of the log."""
        last = "max_by(struct(id, name, _operation), _sequence_num) as last"
        where = "_superseded_by is null and _operation <> 'T' group by _key_hash"
        rows = entity.rows(last, "__log", where)
        return sorted((row.id, row.name) for (row,) in rows if row._operation != "D")

    def run() -> None:
        project.dbt("run", "--select", envelopes.name, lines.name)

    envelopes.land(begun, "a.jsonl")
    envelopes.land([envelope("u", 4, 1, "a2"), envelope("u", 5, 2, "b2")], "b.jsonl")
    lines.land(begun_lines, "a.jsonl")
    lines.land([update({"id": 1, "name": "a2"}), update({"id": 2, "name": "b2"})], "b.jsonl")
    run()
    # one goes on, one begins anew
    envelopes.land([*begun, envelope("d", 6, 1), envelope("u", 7, 2, unavailable)], "a.jsonl")
    lines.land([*begun_lines, truncate(), insert({"id": 3, "name": "c3"})], "a.jsonl")
    lines.land([update({"id": 3, "name": "c4"})], "b.jsonl")
    run()
    assert envelopes.rows("id, name") == logged(envelopes) == [(2, "b2"), (3, "c")]
    assert envelopes.commits("rows_read, rows_duplicate, rows_deleted")[-1] == (5, 3, 1)
    assert lines.rows("id, name") == logged(lines) == [(3, "c4")]
    assert lines.commits("rows_read, rows_duplicate, rows_deleted")[-1] == (6, 3, 3)


@pytest.mark.slow
def test_copies__are_counted_once(models: dict[str, EventEntity]) -> None:
    """Equal rows are known by their place in a file that is read again, and by an `_id` wherever they come.

    A delete of one that is not there does nothing, or, by numbers, takes the next one away, also of a later run. Those that
    a snapshot reads are counted in whichever runs they come.
    """
    entity, numbered, twins = models["copies"], models["numbered"], models["read_twins"]
    twin = envelope("c", 1, 1, "a", "copies")
    source = {"connector": "tidemark", "name": "shop.repair.1.1", "db": "shop", "schema": "public"}
    after = {"id": 1, "name": "a"}
    value = {"before": None, "after": after, "source": {**source, "table": "copies"}, "op": "c"}
    repair = json.dumps({"topic": "t", "key": None, "value": value, "_id": "repair:1:1"})
    entity.land([twin, twin], "a.jsonl")
    entity.land([repair], "b.jsonl")
    entity.land([repair], "b2.jsonl")
    row = {"id": 1, "name": "a"}
    numbered.land([insert({"id": 2, "name": "b"}, sequence_num=1), delete(row, sequence_num=5)])

    def land_twins(number: int) -> None:
        read = insert({"id": 1, "name": "a"}, sequence_num=number, is_snapshot=True, offset="s1")
        twins.land([read, insert({"id": 2, "name": "b"}, is_snapshot=True)])

    def run() -> None:
        entity.project.dbt("run", "--select", entity.name, numbered.name, twins.name)

    land_twins(1)
    run()
    assert entity.rows("id, name") == [(1, "a")] * 3
    gone = [envelope(op, lsn, 2, "b", "copies") for lsn, op in enumerate("dcddc", 2)]
    entity.land([twin, twin, *gone, twin], "a.jsonl")
    entity.land([repair], "c.jsonl")
    numbered.land([insert(row, sequence_num=number) for number in (6, 7)])
    land_twins(3)
    run()
    assert twins.rows("id, name") == [(1, "a"), (1, "a"), (2, "b"), (2, "b")]
    assert twins.rows("_operation, _superseded_by", "__log") == [("I", None)] * 4
    assert entity.rows("id, name") == [(1, "a")] * 4 + [(2, "b")]
    assert entity.commits("rows_read, rows_duplicate") == [(4, 1), (9, 3)]
    assert numbered.rows("id, name") == [(1, "a"), (2, "b")]
    assert numbered.rows("_sequence_num, _operation", "__log", "id = 1") == [
        (5, "N"),
        (6, "N"),
        (7, "I"),
    ]


@pytest.mark.slow
def test_snapshots__end_with_any_run(models: dict[str, EventEntity]) -> None:
    """What a later snapshot has not read is gone, whichever run brings its end, and a late update does not bring it back."""
    names = ["read_in_parts", "read_copies", "read_keys", "read_at_once"]
    parts, copies, keys, at_once = (models[name] for name in names)

    def row(key: int, number: int, **meta: Any) -> Event:
        return insert({"id": key, "name": "a"}, sequence_num=number, **meta)

    read = {"is_snapshot": True, "offset": "s1"}
    events = [row(1, 1), row(2, 2), row(1, 10, **read), row(4, 11, **read), row(3, 12)]
    late = update({"id": 2, "name": "late"}, sequence_num=3)

    def copy(op: str, lsn: int, key: int, mark: str = "false") -> str:
        return envelope(op, lsn, key, "a", "read", mark)

    parts.land(events[:2])
    at_once.land(events)
    copies.land([copy("r", 1, 1, "first"), copy("r", 1, 1, "true")])
    keys.land([copy("c", 1, 1), copy("c", 2, 2)])
    parts.project.dbt("run", "--select", *names)
    assert at_once.rows("id") == [(1,), (3,), (4,)]
    # the end of one that is split does not take its first part away
    parts.land(events[2:3])
    copies.land([copy("r", 1, 2, "last"), copy("c", 2, 3)])
    keys.land([copy("r", 3, 1, "first")])
    parts.project.dbt("run", "--select", *names[:3])
    assert parts.rows("id") == [(1,), (2,)]
    assert copies.rows("id") == [(1,), (1,), (2,), (3,)]
    parts.land(events[3:])
    copies.land([copy("r", 5, 1, "first")])
    keys.land([copy("r", 3, 3, "last")])
    parts.project.dbt("run", "--select", *names[:3])
    assert parts.rows("id") == at_once.rows("id")
    assert keys.rows("id") == [(1,), (3,)]
    assert copies.rows("id") == [(1,), (1,), (2,), (3,)]
    for entity in (parts, at_once):
        entity.land([late])
    unplaced = [row(1, 20, is_snapshot=True), row(5, 21)]
    parts.land(unplaced)
    copies.land([copy("r", 5, 3, "last")])
    result = parts.project.dbt("run", "--select", parts.name, at_once.name, copies.name)
    assert copies.rows("id") == [(1,), (3,)]
    assert "have no `_offset`" in result.output
    assert at_once.rows("id") == [(1,), (3,), (4,)]
    assert parts.rows("id") == [(1,), (3,), (4,), (5,)]
    changes = "_sequence_num, _source_operation, _operation"
    for entity in (parts, at_once):
        found = entity.rows(changes, "__log", "id = 2 and _superseded_by is null")
        assert found == [
            (11, "SNAPSHOT", "D"),
            (2, "INSERT", "I"),
            (3, "UPDATE", "U"),
        ]


@pytest.mark.turn(1)
def test_empty(models: dict[str, EventEntity]) -> None:
    entity = models["empty"]
    entity.land([insert({"id": 1, "name": "a"}, table="other")])
    entity.run("--empty")
    assert entity.rows("*") == []
    told = (
        "empty: 1 messages have landed, and none is a change of shop.empty (table in meta.tidemark)"
    )
    assert told in entity.run().output
    result = entity.load([insert({"id": 1, "name": "a"}), delete({"id": 1})])
    assert "none of the" not in result.output
    assert entity.rows("_operation", "__history") == [("D",), ("I",)]


def test_no_expression(models: dict[str, EventEntity]) -> None:
    """It is told by its setting, in place of a line of the statement that it stands in."""
    entity = models["unparsable"]
    entity.land([insert({"id": 1, "name": "a"})])
    result = entity.run(expect_pass=False)
    problem = "- apply_as_deletes: `name = = 'gone'` is no SQL expression: "
    (line,) = [one.strip() for one in result.error.splitlines() if "apply_as_deletes" in one]
    assert line.startswith(problem)
    assert "near '='" in line
    assert not entity.exists("__log")


def test_columns_that_are_not_there(models: dict[str, EventEntity]) -> None:
    """Each is told by its setting, with the columns that it may have meant."""
    entity = models["misnamed"]
    entity.land([insert({"id": 1, "name": "a", "changed_at": 1})])
    result = entity.run(expect_pass=False)
    lines = [line.strip() for line in result.error.splitlines()]
    lacks = "which no event brings and the YAML does not declare"
    assert f"- sequence_by names column `changed_att`, {lacks}; did you mean `changed_at`?" in lines
    (line,) = [line for line in lines if "apply_as_deletes" in line]
    assert line.startswith(f"- apply_as_deletes names column `xyz`, {lacks}; there are _database, ")
    assert line.endswith(", changed_at, id, name")
    (line,) = [line for line in lines if "apply_as_truncates" in line]
    assert line.startswith("- apply_as_truncates: `nome(name)` is no SQL expression: ")
    assert "3 problems" in result.error and not entity.exists("__log")


@pytest.mark.turn(2)
def test_order_of_letters(models: dict[str, EventEntity]) -> None:
    """It is none of times and numbers, so that a text is ordered by it only where the YAML says that it is one."""
    entity = models["by_text"]
    lines = [(1, "new", "2026-03-04T10:00:00.5Z"), (1, "old", "2026-03-04T10:00:00Z")]
    entity.land([json.dumps({"id": i, "name": name, "at": at}) for i, name, at in lines])
    result = entity.run(expect_pass=False)
    assert "sequence_by: `at` comes as text" in result.error
    assert not entity.exists("__log")
    entity.write(columns={"id": "int", "at": "timestamp"})
    entity.run()
    assert entity.rows("id, name") == [(1, "new")]


@pytest.mark.turn(1)
def test_deletes__have_a_place_of_their_own(models: dict[str, EventEntity]) -> None:
    """What a delete itself says comes before what it says of the row that it deletes."""
    entity = models["deleted"]
    for number in (1, 2, 3):
        row = {"id": number, "name": "a"}
        entity.land([insert({**row, "at": 1}), update({**row, "at": 60})])
    entity.land(
        [
            {**delete({"id": 1, "at": 50}), "at": 77},
            {**delete({"id": 2, "name": "a"}), "at": 77},
            {**delete({"name": "a"}), "id": 3, "at": 59},
        ]
    )
    entity.run()
    assert entity.rows("id, at") == [(3, 60)]
    assert entity.rows("id, _sequence_by.sequence_1", "__log", "_operation = 'D'") == [
        (1, 77),
        (2, 77),
        (3, 59),
    ]


@pytest.mark.turn(2)
def test_null_keys__change(models: dict[str, EventEntity]) -> None:
    """A NULL in a before image is a key, and what it leaves out is none."""
    entity = models["nameless"]
    entity.land([insert({"id": None, "name": "a"}), insert({"id": 2, "name": "b"})])
    entity.land(
        [
            update({"id": 1, "name": "a"}, before={"id": None}),
            update({"id": 2, "name": "c"}, before={"name": "b"}),
        ]
    )
    entity.run()
    assert entity.rows("id, name") == [(1, "a"), (2, "c")]


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("spark", marks=pytest.mark.turn(0)),
        pytest.param("workers", marks=pytest.mark.turn(3)),
    ],
)
def test_table__left_out(models: dict[str, EventEntity], engine: str) -> None:
    """Then all events are of the first one's table, also where a later batch has those of another one alone."""
    entity = models[f"untold_{engine}"]
    entity.load([insert({"id": 1, "name": "a"})])
    entity.load([insert({"id": 2, "name": "b"})])
    result = entity.load([insert({"id": 1, "name": "x"}, table="other")], expect_pass=False)
    assert f"the events are of several tables (shop.other, shop.{entity.name})" in result.error
    assert f"Those that were loaded are of shop.{entity.name}" in result.error
    entity.land([insert({"id": 3, "name": "c"})])
    entity.write(table=f"shop.{entity.name}")
    entity.run()
    assert entity.rows("id, name") == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.turn(3)
def test_table__renamed(models: dict[str, EventEntity]) -> None:
    """A statement that renames the table makes it known by both names; those of other tables do nothing."""
    entity = models["renamed"]
    entity.load([insert({"id": 1, "name": "a"})])
    other = [*schema(), {"name": "other", "type": "int"}]
    entity.load(
        [
            ddl("ALTER_TABLE", other, table="other"),
            ddl("RENAME_TABLE", table="others", prev_table="other"),
            insert({"id": 2, "name": "b"}),
            ddl("RENAME_TABLE", table="newer", prev_table="renamed"),
            insert({"id": 3, "name": "c"}, table="newer"),
            ddl("DROP_TABLE", table="others"),
        ]
    )
    entity.load([insert({"id": 4, "name": "d"}, table="newer")])
    assert entity.rows("id, name") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert not {"other", "n"} & {
        *entity.project.session.table(f"`{entity.project.schema}`.renamed").columns
    }


@pytest.mark.slow  # who is followed is told by test_ddl_statements.py too
def test_table__swapped(models: dict[str, EventEntity]) -> None:
    """A migration puts a changed copy in the place of the table; what it drops then is no longer ours."""
    entity = models["swapped"]
    columns = [{"name": name, "type": kind} for name, kind in COLUMNS.items()]
    tier = {"name": "tier", "type": "string", "default": "std"}
    entity.load([ddl("CREATE_TABLE", columns), insert({"id": 1, "name": "a"})])
    result = entity.load(
        [
            insert({"id": 1, "name": "a", "tier": "std"}, table="swapped_new"),
            update({"id": 1, "name": "a2"}),
            ddl("RENAME_TABLE", table="swapped_old", prev_table="swapped"),
            ddl("RENAME_TABLE", [*columns, tier], table="swapped", prev_table="swapped_new"),
            insert({"id": 2, "name": "b", "tier": "gold"}),
            ddl("DROP_TABLE", table="swapped_old"),
        ]
    )
    assert "it is shop.swapped from now on" in result.output
    entity.load(
        [
            delete({"id": 1}, table="swapped_old"),
            insert({"id": 3, "name": "c", "tier": "x"}),
            ddl("RENAME_TABLE", table="moved", prev_table="swapped"),
            ddl("RENAME_TABLE", table="moved_old", prev_table="moved"),
            ddl("RENAME_TABLE", table="moved", prev_table="moved_new"),
        ]
    )
    entity.load([delete({"id": 1}, table="swapped"), delete({"id": 2}, table="moved")])
    assert entity.rows("id, name, tier") == [(1, "a2", "std"), (3, "c", "x")]


@pytest.mark.turn(0)
def test_unsigned_ids(models: dict[str, EventEntity]) -> None:
    """Whole numbers that no bigint holds are told apart, also where nothing declares them."""
    entity = models["unsigned"]
    ids = [12345678901234567890, 12345678901234567891]
    entity.load([insert({"id": one, "share": 0.5, "small": 7}) for one in ids])
    assert entity.rows("cast(id as string), share, small") == [(str(one), 0.5, 7) for one in ids]


@pytest.mark.slow
def test_late_delete__takes_kept_values_away(models: dict[str, EventEntity]) -> None:
    """What an update did not bring was kept from a row that, as it turns out, was deleted before."""
    entity = models["kept_values"]
    whole = {"id": 1, "name": "a", "address": {"city": "Leon", "zip": 1}, "gone": False, "at": 1}
    part = {"id": 1, "name": None, "address": {"city": None, "zip": 9}, "gone": False, "at": 9}
    entity.load([json.dumps(whole), json.dumps(part)])
    assert entity.rows("name, address.city, address.zip") == [("a", "Leon", 9)]
    entity.load([json.dumps({"id": 1, "gone": True, "at": 5})])
    assert entity.rows("name, address.city, address.zip") == [(None, None, 9)]
    # and there again, where what deletes it is overtaken
    entity.load([json.dumps({**whole, "name": "b", "at": 6})])
    assert entity.rows("name, address.city, address.zip") == [("b", "Leon", 9)]


@pytest.mark.turn(3)
def test_rejects_of_a_table__come_once(module_project: Any) -> None:
    """A table brings all its rows each time: those that were rejected are known, as those that were taken are."""
    project = module_project
    project.sql(
        f"create table price_changes (id int, price string, at int) using {project.file_format}"
    )
    priced = EventEntity(
        project,
        "priced",
        {"id": "int", "price": "int"},
        body=f"select * from {project.schema}.price_changes",
        format="rows",
        table=None,
        sequence_by="at",
        on_tie="reject",
        on_reject="quarantine",
    )
    counted = "rows_read, rows_inserted, rows_updated, rows_rejected, rows_duplicate"
    project.sql("insert into price_changes values (1, '5', 1), (1, '6', 1), (2, 'dear', 1)")
    priced.run()
    rejects = priced.rows("_reject_reason", "__rejects")
    assert rejects == [("cast_failed: price",), ("tie: at",)]
    priced.run()
    assert priced.commits(counted) == [(3, 1, 0, 2, 0)]
    assert priced.rows("_reject_reason", "__rejects") == rejects
    project.sql("insert into price_changes values (1, '7', 2), (3, 'dear', 1)")
    priced.run()
    assert priced.commits(counted)[1:] == [(5, 0, 1, 1, 3)]


@pytest.mark.slow
def test_ties(module_project: Any) -> None:
    """At an equal sequence what arrived last wins, by line, file and run, also in a log that was made by content."""
    project = module_project
    columns = {"id": "int", "name": "string", "at": "int"}
    settings = {"format": "rows", "sequence_by": "at", "apply_as_deletes": "name = 'gone'"}
    tied = EventEntity(project, "tied", columns, table=None, on_tie="content", **settings)
    emptied = EventEntity(project, "emptied", columns, sequence_by="at")
    views: list[str] = []

    def row(key: int, name: str, at: int = 5) -> str:
        return json.dumps({"id": key, "name": name, "at": at})

    def run() -> None:
        project.dbt("run", "--select", tied.name, emptied.name, *views)

    first = [row(key, name) for name in ("first", "second") for key in range(1, 21)]
    tied.land([*first, row(21, "x"), row(21, "gone"), row(21, "back")])
    emptied.land([{**insert({"id": 1, "name": "a"}), "at": 5}, {**truncate(), "at": 5}])
    run()
    seconds = {key: "second" for key in range(1, 21)} | {21: "back"}
    assert dict(tied.rows("id, name")) != seconds
    assert tied.commits("rows_tied, rows_duplicate") == [(22, 0)]
    assert emptied.rows("id, name") == []

    # the log is put in order, without anything new having landed
    tied.write(on_tie="later")
    emptied.land([{**insert({"id": 1, "name": "again"}), "at": 5}])
    run()
    assert dict(tied.rows("id, name")) == seconds
    assert emptied.rows("id, name") == [(1, "again")]

    # the sequence is spelt otherwise, and wider; from here on a tie of the other one is a reject
    tied.write(columns={**columns, "at": "bigint"}, sequence_by="AT")
    emptied.write(on_tie="reject", on_reject="quarantine")
    tied.land([row(5, "far", 5_000_000_000)])
    tied.land([row(key, "third") for key in range(1, 5)])
    # known events between new ones: they keep their first place
    again = [row(1, "first"), row(2, "second"), row(21, "gone")]
    tied.land([*again, row(3, "fourth"), row(4, "old", 4)])
    other = [{**insert({"id": 1, "name": name}), "at": 5} for name in ("other", "again")]
    emptied.land([{**insert({"id": 1, "name": "old"}), "at": 3}, *other])
    views = [tied.add_scd2_view(), emptied.add_scd2_view()]
    run()
    wanted = seconds | {1: "third", 2: "third", 3: "fourth", 4: "third", 5: "far"}
    assert dict(tied.rows("id, name")) == wanted
    assert tied.commits("rows_tied, rows_duplicate")[-1] == (5, 3)
    intervals = tied.intervals("id, name")
    assert {key: name for key, name, _, until in intervals if until is None} == wanted
    assert max(since for _, _, since, _ in intervals) == 5_000_000_000
    assert [row for row in intervals if row[0] == 4] == [(4, "old", 4, 5), (4, "third", 5, None)]
    # what the truncate removed stays removed, and what came after it stays
    assert emptied.intervals("name") == [("again", 5, None), ("old", 3, 5)]
    assert emptied.rows("name") == [("again",)]
    rejects = emptied.rows("_reject_reason, get_json_object(_raw_payload, '$.name')", "__rejects")
    assert rejects == [("tie: at", "other")]
    # one that comes again is no second reject
    emptied.land(other[:1])
    run()
    assert emptied.commits("rows_rejected, rows_duplicate")[-1] == (0, 1)
    assert len(emptied.rows("*", "__rejects")) == 1
