"""Change events as canonical events: the worked example, tables without key, DDL, replays and crashes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from .event_entities import EventEntity, ddl, delete, insert, update

pytestmark = pytest.mark.iceberg

EXAMPLE = [
    ddl("CREATE_TABLE", [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]),
    insert({"id": 0, "name": "alice"}),
    update({"id": 1, "name": "alice"}, {"id": 0, "name": "alice"}),
    update({"id": 2, "name": "alice"}, {"id": 1, "name": "alice"}),
    delete({"id": 2, "name": "alice"}),
    insert({"id": 0, "name": "Alice"}),
    insert({"id": 1, "name": "blob"}),
    update({"id": 1, "name": "Bob"}, {"id": 1, "name": "blob"}),
]


@pytest.fixture(scope="module")
def entities(module_project: Any) -> dict[str, EventEntity]:
    """Every model of this module: written at once, the project is parsed once."""
    columns = {"id": "int", "name": "string"}
    made = [EventEntity(module_project, name, columns) for name in ("one_batch", "accounts")]
    return {entity.name: entity for entity in [*made, *rows_models(module_project)]}


def test_worked_example(entities: dict[str, EventEntity]) -> None:
    """One batch: the last event of each key is 5 DELETE 2, 6 INSERT 0 Alice, 8 UPDATE 1 Bob."""
    one = entities["one_batch"]
    one.load(EXAMPLE)
    assert one.rows("id, name, _sequence_num") == [(0, "Alice", 6), (1, "Bob", 8)]
    assert one.rows("_sequence_num, _source_operation, _operation, id, name", "__log") == [
        (1, "CREATE_TABLE", "T", None, None),
        (2, "INSERT", "I", 0, "alice"),
        (3, "MOVE_IN", "I", 1, "alice"),
        (3, "MOVE_OUT", "D", 0, "alice"),
        (4, "MOVE_IN", "I", 2, "alice"),
        (4, "MOVE_OUT", "D", 1, "alice"),
        (5, "DELETE", "D", 2, "alice"),
        (6, "INSERT", "I", 0, "Alice"),
        (7, "INSERT", "I", 1, "blob"),
        (8, "UPDATE", "U", 1, "Bob"),
    ]


@pytest.mark.turn(2)
@pytest.mark.parametrize("engine", ["spark", "auto"])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_swap__cut_in_two_runs(module_project: Any, engine: str, is_numbered: bool) -> None:
    """Two rows change places; without transaction ids, too, the second change of key may land later."""
    name = f"swapped_by_{engine}_{is_numbered}".lower()
    entity = EventEntity(module_project, name, {"id": "int", "name": "string"}, engine=engine)
    events = [
        insert({"id": 1, "name": "one"}),
        insert({"id": 2, "name": "two"}),
        update({"id": 2, "name": "one"}, before={"id": 1}),
        update({"id": 1, "name": "two"}, before={"id": 2}),
        update({"id": 1, "name": "2nd"}),
        delete({"id": 2}),
    ]
    if is_numbered:
        events = [{**event, "_sequence_num": number} for number, event in enumerate(events, 1)]
    entity.load(events[:3])
    assert entity.rows("id, name") == [(2, "one")]
    entity.load(events[3:4])
    assert entity.rows("id, name") == [(1, "two"), (2, "one")]
    entity.load(events[4:5])
    entity.load(events[5:])
    # the row that came to 2 is the one that is there now
    assert entity.rows("id, name") == [(1, "2nd")]
    entity.check()


@pytest.mark.turn(1)
def test_reject_guard(module_project: Any) -> None:
    """Of a run's own events more than may be stop it by both engines, and columns that it brings stay away."""
    columns, own = {"id": "int", "n": "int"}, {"database": "shop", "table": "guarded"}
    other = {**own, "table": "other"}
    settings = {"on_reject": "quarantine", "max_reject_fraction": None, "table": "shop.guarded"}
    both = [
        EventEntity(module_project, f"guarded_by_{engine}", columns, engine=engine, **settings)
        for engine in ("spark", "workers")
    ]

    def run(expect_pass: bool, **vars: Any) -> dict[str, str]:
        names = [one.name for one in both]
        result = module_project.dbt("run", "--select", *names, vars=vars, expect_pass=expect_pass)
        return dict(result.messages)

    for one in both:
        # five of another table are none of those that are judged
        one.land([insert({"id": 1, "n": "x"}, **own), *[insert({"id": 5}, **other)] * 5])
    assert all("1 of 6 events cannot be used" in said for said in run(False).values())
    run(True, allow_rejects=True)
    for one in both:
        assert one.commits("rows_read, rows_rejected, rows_ignored") == [(6, 1, 5)]
        columns_now = [{"name": name, "type": "int"} for name in ("id", "n", "more")]
        one.land([
            ddl("ALTER_TABLE", columns_now, **own),
            insert({"id": 2, "n": "y", "more": 1}, **own),
        ])  # fmt: skip
    assert all("--vars '{allow_rejects: true}'" in said for said in run(False).values())
    for one in both:
        names = [row.col_name for row in module_project.sql(f"describe {one.name}")]
        assert one.rows("id") == [] and "more" not in names
    for one in both:
        one.land([insert({"id": number, "n": "1", "more": 1}, **own) for number in (3, 4)])
    run(True)
    for one in both:
        assert one.rows("id, n, more") == [(3, 1, 1), (4, 1, 1)]
        assert len(one.rows("1", "__rejects")) == 2


@pytest.mark.turn(2)
def test_files__are_read_once_wherever_the_clock_is(
    entities: dict[str, EventEntity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is remembered of a file is no local time."""
    one = entities["one_batch"]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        one.load([insert({"id": 5, "name": "eve"})])
        commits = one.commits()
        one.run()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert one.commits() == commits
    assert (5, "eve") in one.rows("id, name")


def test_replay_and_crash(entities: dict[str, EventEntity]) -> None:
    """The worked example in other batches, with a crash at every point of a commit; each ends as one clean run."""
    entity = entities["accounts"]
    project = entity.project
    day = {"business_date": "2026-03-04"}

    # day 1: three files at once; the second event of the chain is delivered twice
    entity.land(EXAMPLE[:3])
    entity.land(EXAMPLE[3:4], "000002.jsonl")
    entity.run(**day)
    assert entity.rows("id, name", where="true") == [(2, "alice")]

    # day 2: a run dies after its log was written, and one before it
    rest = EXAMPLE[4:]
    entity.load(rest[:2], **day)
    relation = f"{project.schema}.accounts"
    _reopen(project, relation)
    project.sql("delete from accounts")
    entity.run(**day)
    assert entity.rows("id, name") == [(0, "Alice")]

    _begin(project, relation, entity.land(rest[2:]))
    entity.run(**day)
    assert entity.rows("id, name") == [(0, "Alice"), (1, "Bob")]
    assert entity.rows("count(*)", "__staging", "_batch_id = 991231235959999") == [(0,)]
    assert "rolled_back" in [state for _, state in entity.commits()]
    assert entity.rows(
        "_source_operation, _operation, id, name", "__log", "_operation <> 'T'"
    ) == sorted(
        [
            ("INSERT", "I", 0, "alice"),
            ("MOVE_OUT", "D", 0, "alice"),
            ("MOVE_IN", "I", 1, "alice"),
            ("MOVE_OUT", "D", 1, "alice"),
            ("MOVE_IN", "I", 2, "alice"),
            ("DELETE", "D", 2, "alice"),
            ("INSERT", "I", 0, "Alice"),
            ("INSERT", "I", 1, "blob"),
            ("UPDATE", "U", 1, "Bob"),
        ],
        key=lambda row: tuple((v is not None, str(v)) for v in row),
    )


@pytest.mark.slow
def test_required_column_that_events_leave_out(module_project: Any) -> None:
    """Of a key that is not there it is NULL; current takes that, or nothing would get on behind the log's commit."""
    lacking = EventEntity(
        module_project,
        "lacking",
        {"id": "int", "n": "int", "v": "string"},
        engine="spark",
        not_null=("n",),
    )
    lacking.load([insert({"id": 1, "n": 5, "v": "a"})])
    lacking.load([update({"id": 2, "v": "b"}), update({"id": 1, "v": "c"})])
    assert lacking.rows("id, n, v") == [(1, 5, "c"), (2, None, "b")]


@pytest.mark.turn(3)
def test_stopped__tables_stay(module_project: Any) -> None:
    """A batch that says that nothing was written has altered no table either."""
    columns = {"id": "int", "name": "string"}
    halted = EventEntity(module_project, "halted", columns)
    halted.load([*(insert({"id": key, "name": "a"}) for key in (1, 2)), delete({"id": 2})])

    def state() -> Any:
        tables = ("", "__log", "__staging")
        return [module_project.sql(f"describe halted{table}") for table in tables], halted.rows(
            "id"
        )

    before = state()
    halted.write(columns={**columns, "price": "int"}, soft_delete=True)
    halted.land([insert({"id": 3, "name": "c", "price": "12.50"})])
    assert "nothing was written" in halted.run(expect_pass=False).error
    assert state() == before
    halted.write(columns={**columns, "price": "decimal(10,2)"})
    halted.run()
    assert [(key, str(price)) for key, price in halted.rows("id, price")] == [
        (1, "None"),
        (2, "None"),
        (3, "12.50"),
    ]
    assert halted.rows("_operation", where="id = 2") == [("D",)]


def _reopen(project: Any, relation: str) -> None:
    """Make the last commit look as if its run had died after writing the log."""
    columns = project.columns("tidemark_commits__log")
    values = {"state": "'inflight'", "completed_at": "null", "state_at": "current_timestamp()"}
    chosen = ", ".join(f"{values.get(name, name)} as {name}" for name in columns)
    project.sql(
        f"insert into tidemark_commits__log select {chosen} from tidemark_commits__log "
        f"where relation = '{relation}' and state = 'completed' order by commit_id desc limit 1"
    )


def _begin(project: Any, relation: str, file: Any) -> None:
    """Make it look as if a run had died after writing staging and the register of files, before the log."""
    columns = project.columns("tidemark_commits__log")
    values = {
        "state": "'inflight'",
        "completed_at": "null",
        "state_at": "current_timestamp()",
        "commit_id": "991231235959999",
    }
    chosen = ", ".join(f"{values.get(name, name)} as {name}" for name in columns)
    project.sql(
        f"insert into tidemark_commits__log select {chosen} from tidemark_commits__log "
        f"where relation = '{relation}' and state = 'completed' order by commit_id desc limit 1"
    )
    names = project.columns("accounts__staging")
    stamp = {"_commit_id": "991231235959999", "_batch_id": "991231235959999"}
    chosen = ", ".join(f"{stamp.get(name, name)} as {name}" for name in names)
    project.sql(f"insert into accounts__staging select {chosen} from accounts__staging limit 1")
    project.sql(
        f"insert into accounts__landed values ('file://{file}', 77, {file.stat().st_size}, "
        f"timestamp'2026-01-01 00:00:00', true, 991231235959999)"
    )


AUTO_CDC = """
select * {gained} from values
    (124, 'Raul', 'Oaxaca', 'INSERT', 1), (123, 'Isabel', 'Monterrey', 'INSERT', 1), (125, 'Mercedes', 'Tijuana', 'INSERT', 2),
    (126, 'Lily', 'Cancun', 'INSERT', 2), (123, null, null, 'DELETE', 6), (125, 'Mercedes', 'Guadalajara', 'UPDATE', 6),
    (125, 'Mercedes', 'Mexicali', 'UPDATE', 5), (123, 'Isabel', 'Chihuahua', 'UPDATE', 5)
    {more}
    as changes (user_id, name, city, operation, sequence)
"""


ROWS_SETTINGS: dict[str, dict[str, Any]] = {
    "users": {},
    "users_kept": {"soft_delete": True, "ignore_null_updates": ["city", "address"]},
    "users_truncated": {"apply_as_truncates": "operation = 'TRUNCATE'"},
    "users_tracked": {
        "track_history": {"exclude": ["city"]},
        "changed_columns": False,
        "sensitive": ["name"],
    },
}
"""Entity → what it sets besides what AUTO CDC needs."""


def rows_models(project: Any) -> list[EventEntity]:
    """Entities that take rows in the form of AUTO CDC, with its settings, and two of their intervals."""
    made = []
    for name, more in ROWS_SETTINGS.items():
        body = AUTO_CDC.replace("{more}", "{{ var('more', '') }}")
        body = body.replace("{gained}", "{{ var('gained', '') }}")
        if name == "users_kept":
            address = "named_struct('city', city, 'at', named_struct('zip', sequence, 'gone', cast(null as int)))"
            body = f"select *, if(name is null, null, {address}) as address from ({body})"
        entity = EventEntity(project, name, {}, "user_id", body=body)
        entity.settings = {
            "format": "rows",
            "table": None,
            "sequence_by": "sequence",
            "apply_as_deletes": "operation = 'DELETE'",
            "columns": {"exclude": ["operation", "sequence"]},
            **more,
        }
        entity.write({"user_id": "int", "name": "string", "city": "string"})
        made.append(entity)
    for name in ("users", "users_tracked"):
        project.write(f"models/{name}_scd2.sql", f"{{{{ tidemark.scd2(ref('{name}')) }}}}")
    return made


@pytest.fixture(scope="module")
def rows_entities(entities: dict[str, EventEntity], module_project: Any) -> dict[str, EventEntity]:
    """Those entities; a second run has brought late rows."""
    module_project.dbt("run", "--select", *ROWS_SETTINGS)
    late = (
        ", (126, 'Lily', 'Late', 'UPDATE', 1), (127, null, null, 'DELETE', 9), (127, 'Zoe', 'Leon', 'INSERT', 8),"
        " (null, null, null, 'TRUNCATE', 3), (124, 'Raul', null, 'UPDATE', 7)"
    )
    module_project.dbt(
        "run",
        "--select",
        "users_truncated",
        vars={"more": late},
    )
    late = late.replace("(null, null, null, 'TRUNCATE', 3), ", "")
    others = [name for name in ROWS_SETTINGS if name != "users_truncated"]
    # by then the source has got a column, and a value of it
    gained = ", if(sequence = 8, 'vip', null) as badge"
    module_project.dbt(
        "run",
        "--select",
        *others,
        "users_scd2",
        "users_tracked_scd2",
        vars={"more": late, "gained": gained},
    )
    return entities


@pytest.mark.turn(0)
def test_rows__auto_cdc(rows_entities: dict[str, EventEntity]) -> None:
    users = rows_entities["users"]
    assert (
        users.rows("*") and "operation" not in users.project.sql("select * from users")[0].asDict()
    )
    assert users.rows("user_id, name, city") == [
        (124, "Raul", None),
        (125, "Mercedes", "Guadalajara"),
        (126, "Lily", "Cancun"),
    ]
    # what was known is known still, though the source has a column more
    assert users.commits("rows_duplicate, rows_logged")[-1] == (8, 5)
    assert users.rows("_source_operation, badge", "__log", "badge is not null") == [
        ("DELETE", "vip"),
        ("UPSERT", "vip"),
    ]
    # as the documentation of AUTO CDC has it, with the late rows in their place
    assert users.rows("user_id, city, _valid_from, _valid_to", "_scd2") == [
        (123, "Chihuahua", 5, 6),
        (123, "Monterrey", 1, 5),
        (124, None, 7, None),
        (124, "Oaxaca", 1, 7),
        (125, "Guadalajara", 6, None),
        (125, "Mexicali", 5, 6),
        (125, "Tijuana", 2, 5),
        (126, "Cancun", 2, None),
        (126, "Late", 1, 2),
        (127, "Leon", 8, 9),
    ]


@pytest.mark.turn(0)
def test_rows__settings(rows_entities: dict[str, EventEntity]) -> None:
    kept = rows_entities["users_kept"]
    assert kept.rows("user_id, city, _operation", where="_operation = 'D'") == [
        (123, "Chihuahua", "D"),
        (127, "Leon", "D"),
    ]
    assert rows_entities["users_truncated"].rows("user_id, city") == [
        (124, None),
        (125, "Guadalajara"),
    ]
    # the update that brought no city left it
    assert kept.rows("user_id, city", where="user_id = 124") == [(124, "Oaxaca")]
    # nor the one in its address, of which it brought the rest
    assert kept.rows("address.city, address.at.zip", where="user_id = 124") == [("Oaxaca", 7)]
    tracked = rows_entities["users_tracked"]
    assert tracked.rows("user_id, city") == rows_entities["users"].rows("user_id, city")
    # a city alone opens no version, and the open one shows the last
    assert tracked.rows("user_id, city, _valid_from, _valid_to", "_scd2") == [
        (123, "Chihuahua", 1, 6),
        (124, None, 1, None),
        (125, "Guadalajara", 2, None),
        (126, "Cancun", 1, None),
        (127, "Leon", 8, 9),
    ]
