"""Going back to an earlier commit, and what the feed, history and commits show of it, told day by day."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from .entities import Entity
from .event_entities import EventEntity, ddl, delete, insert, update
from .feed_reading import call, feed_rows, query_all

pytestmark = pytest.mark.iceberg

COLUMNS = {"id": "int", "name": "string", "phone": "string", "note": "string"}
HEADER = "id,name,phone,note\n"
DAYS = {
    "2026-01-01": HEADER + "1,ann,11,x\n2,bob,22,x\n3,cy,33,x\n",
    "2026-01-02": HEADER + "1,ann,11,y\n2,rob,22,y\n4,di,44,y\n",
    "2026-01-03": HEADER + "1,eve,12,z\n4,di,44,z\n5,flo,55,z\n",
}
STATE = {
    "": "id, name, note, _operation, _eff_start_date",
    "__history": "_business_date, id, name, note, _operation, _changed_columns",
}


def state_of(entity: Any) -> dict[str, Any]:
    return {relation: entity.rows(columns, relation) for relation, columns in STATE.items()}


def roll_back(entity: Any, to: Any, **more: Any) -> Any:
    return entity.operate("rollback", to=to, **more)


def feed_of(entity: Any, key: str, *ranges: tuple[Any, Any]) -> list[list[tuple[Any, ...]]]:
    """(operation, key, pre-image, post-image) of each range, without what stays the same."""
    rows = query_all(
        entity.project, [call("change_feed", entity.name, since, until) for since, until in ranges]
    )
    return [
        [
            (row.operation, *row.key, row.change["pre_image"], row.change["post_image"])
            for row in feed_rows(found, [key])
        ]
        for found in rows
    ]


@pytest.mark.slow
def test_sensitive_column_that_is_not_compared(module_project: Any) -> None:
    """Its value is that of the change in force, with late dates, in what a delete writes, and after a rollback."""
    known = Entity(
        module_project, "known", {"id": "int", "name": "string", "phone": "string"},
        ignore=["phone"], sensitive=["phone"], max_delete_fraction=1,
    )  # fmt: skip
    phones = ["select id, name, phone from ({{ tidemark.with_sensitive(ref('known')) }})"]

    def load(day: int, *rows: str) -> list[tuple[Any, ...]]:
        known.load(f"2026-01-0{day}", "id,name,phone\n" + "".join(f"{row}\n" for row in rows))
        return [tuple(row) for row in query_all(module_project, phones)[0]]

    assert load(2, "1,A,p2") == [(1, "A", "p2")]
    assert load(3, "1,B,p3") == [(1, "B", "p3")]
    assert load(4, "1,A,p4") == [(1, "A", "p4")]
    assert load(1, "1,A,p1") == [(1, "A", "p4")]
    assert load(5, "9,Z,p9") == [(9, "Z", "p9")]
    deleted = known.rows("_commit_id", "__history", "_operation = 'D'")[0][0]
    assert ("p4",) in known.rows("phone", "__sensitive", f"_commit_id = {deleted}")
    first = known.commits("commit_id")[0][0]
    roll_back(known, first)
    assert [tuple(row) for row in query_all(module_project, phones)[0]] == [(1, "A", "p2")]


@pytest.mark.slow
def test_back_and_forth(module_project: Any) -> None:
    people = Entity(
        module_project, "people", COLUMNS, sensitive=["phone"], ignore=["note"], tag_unchanged=True,
        max_delete_fraction=1,
    )  # fmt: skip
    states = {}
    for day, text in DAYS.items():
        people.load(day, text)
        states[day] = state_of(people)
    first, second, third = (row[0] for row in people.commits("commit_id"))
    phones = "select id, phone from ({{ tidemark.with_sensitive(ref('people')) }}) order by id"

    # a dry run says what would be and does nothing
    versions = people.versions()
    said = roll_back(people, "2026-01-02", dry_run=True)
    assert f"would go back to commit {second}" in said.output
    assert f"undoes commit {third} (load of 2026-01-03): I 1, U 1, D 1" in said.output
    assert people.versions() == versions

    roll_back(people, "2026-01-02")
    assert state_of(people) == states["2026-01-02"]
    assert people.commits("kind, state, source_commit_id, undone_by is not null") == [
        ("load", "completed", None, False),
        ("load", "completed", None, False),
        ("load", "rolled_back", None, True),
        ("rollback", "completed", second, False),
    ]
    undo = people.commits("commit_id")[-1][0]
    # what was known before is still known, and sensitive values came back with their rows
    as_known, now, with_phones = query_all(
        module_project,
        [
            f"select id, name from ({call('as_of', 'people', '2026-01-03', known_at=third)}) order by id",
            f"select id, name from ({call('as_of', 'people', '2026-01-03')}) order by id",
            phones,
        ],
    )
    assert [tuple(row) for row in as_known] == [(1, "eve"), (4, "di"), (5, "flo")]
    assert [tuple(row) for row in now] == [(1, "ann"), (2, "rob"), (4, "di")]
    assert [tuple(row) for row in with_phones] == [(1, "11"), (2, "22"), (4, "44")]

    # the feed shows the change and its compensation
    ann = {"id": 1, "name": "ann", "note": "x"}
    eve = {"id": 1, "name": "eve", "note": "z"}
    rob = {"id": 2, "name": "rob", "note": "y"}
    flo = {"id": 5, "name": "flo", "note": "z"}
    done, compensated, both = feed_of(
        people, "id", (second, third), (third, undo), ("2026-01-02", None)
    )
    assert sorted(done, key=str) == sorted(
        [("U", 1, ann, eve), ("D", 2, rob, None), ("I", 5, None, flo)], key=str
    )
    assert sorted(compensated, key=str) == sorted(
        [("U", 1, eve, ann), ("I", 2, None, rob), ("D", 5, flo, None)], key=str
    )
    assert len(both) == 6

    # again: nothing to do; the day can be loaded again, as if it had never been
    assert "nothing to roll back" in roll_back(people, "2026-01-02").output
    people.run("2026-01-03")
    assert state_of(people) == states["2026-01-03"]
    # a rollback of the rollback: to before it
    roll_back(people, undo)
    assert state_of(people) == states["2026-01-02"]
    roll_back(people, third)
    assert state_of(people) == states["2026-01-03"]
    assert dict(people.commits("commit_id, state"))[third] == "completed"
    assert [tuple(row) for row in query_all(module_project, [phones])[0]] == [
        (1, "12"),
        (4, "44"),
        (5, "55"),
    ]
    roll_back(people, first)
    assert state_of(people) == states["2026-01-01"]


@pytest.mark.turn(0)
def test_events(module_project: Any) -> None:
    shop = EventEntity(module_project, "shop", {"id": "int", "name": "string"})
    batches = [
        [insert({"id": 1, "name": "a"}), insert({"id": 2, "name": "b"})],
        [update({"id": 1, "name": "aa"}), update({"id": 3, "name": "b"}, {"id": 2, "name": "b"})],
        [update({"id": 1, "name": "aaa"}), update({"id": 1, "name": "A"}), delete({"id": 3, "name": "b"})],
    ]  # fmt: skip
    for batch in batches:
        shop.load(batch)
    commits = [row[0] for row in shop.commits("commit_id")]
    first, second, third = ({"id": 1, "name": name} for name in ("aa", "aaa", "A"))
    (changes,) = feed_of(shop, "id", (commits[1], commits[2]))
    assert changes == [
        ("U", 1, first, second),
        ("U", 1, second, third),
        ("D", 3, {"id": 3, "name": "b"}, None),
    ]
    said = roll_back(shop, commits[0]).output
    assert "the next run reads these files again, unless you move them away first: 2" in said
    assert shop.rows("id, name") == [(1, "a"), (2, "b")]
    # as with a date of an extract and a batch of enriched events, what was undone counts as not read
    last, away = shop.folder / "000003.jsonl", shop.folder.parent / "000003.jsonl"
    last.rename(away)
    shop.run()
    assert shop.rows("id, name") == [(1, "aa"), (3, "b")]
    away.rename(last)
    shop.run()
    assert shop.rows("id, name") == [(1, "A")]
    assert shop.commits("state")[-2:] == [("completed",)] * 2
    # forth to where they had been read first: nothing is new
    roll_back(shop, commits[2])
    shop.run()
    assert shop.rows("id, name") == [(1, "A")]
    assert shop.commits("kind")[-1] == ("rollback",)


def columns_of(entity: EventEntity) -> set[str]:
    """The names of current's business columns."""
    table = entity.project.session.table(f"`{entity.project.schema}`.{entity.name}")
    return {name for name in table.columns if not name.startswith("_")}


@pytest.mark.slow
def test_events__what_they_tell_is_told_again(module_project: Any) -> None:
    """Files are read again in the order in which they were read first, with the columns that the source had then."""
    moved = EventEntity(module_project, "moved", {"id": "int"})

    def shape(*names: str, **previous: str) -> dict[str, Any]:
        told = [
            {"name": name, "type": "int", "previous_name": previous.get(name)} for name in names
        ]
        return ddl("CREATE_TABLE" if "a" in names and "b" in names else "ALTER_TABLE", told)

    moved.land(
        [shape("id", "a", "b"), *(insert({"id": n, "a": n, "b": 10 * n}) for n in (1, 2, 3))],
        "m.jsonl",
    )
    moved.run()
    first = moved.rows("id, a, b")
    # the replacement of a column takes its name
    moved.land(
        [
            update({"id": 1, "a": 4, "b": 40}),
            shape("id", "a"),
            shape("id", "b", b="a"),
            update({"id": 2, "b": 5}),
        ],
        "z.jsonl",
    )
    moved.run()
    moved.land([update({"id": 2, "b": 6})], "c.jsonl")
    moved.run()
    last, logged = [(1, 4), (2, 6), (3, 3)], "id, b, b__dropped, _operation"
    assert (columns_of(moved), moved.rows("id, b")) == ({"id", "b"}, last)
    # what was dropped is in log and history
    history = moved.rows(logged, "__history")
    assert history == [
        (1, 1, 10, "I"), (1, 4, 40, "U"), (2, 2, 20, "I"), (2, 5, None, "U"), (2, 6, None, "U"), (3, 3, 30, "I"),
    ]  # fmt: skip
    commits = [row[0] for row in moved.commits("commit_id")]
    assert "renames column `b` to `a`" in roll_back(moved, commits[0]).output
    assert (columns_of(moved), moved.rows("id, a, b")) == ({"id", "a", "b"}, first)
    moved.run()
    assert (columns_of(moved), moved.rows("id, b")) == ({"id", "b"}, last)
    assert moved.rows(logged, "__history") == history


@pytest.mark.slow  # what is known of the source then is told by test_timeline_macros.py too
def test_events__snapshot_and_defaults_again(module_project: Any) -> None:
    """A snapshot that was open is, and a default fills the rows that have not had it."""
    project = module_project
    read = EventEntity(project, "read_again", {"id": "int", "name": "string"})
    filled = EventEntity(project, "filled", {}, format="debezium", table="public.filled")
    shaped = EventEntity(project, "shaped_again", {"id": "int"}, ddl={"drop_column": "apply"})

    def row(key: int, number: int, **meta: Any) -> dict[str, Any]:
        return insert({"id": key, "name": "a"}, sequence_num=number, **meta)

    def line(op: str, number: int, key: int, **status: str) -> str:
        fields = [{"field": "id", "type": "int32", "optional": False}]
        if status:
            fields.append({"field": "status", "type": "string", "optional": True, "default": "new"})
        image = {"field": "after", "type": "struct", "optional": True, "fields": fields}
        source = {"connector": "postgresql", "db": "shop", "schema": "public", "table": "filled"}
        source |= {"txId": number, "lsn": number, "ts_ms": 1772600000000, "snapshot": "false"}  # type: ignore[dict-item]
        told = {"before": None, "after": {"id": key, **status}, "source": source, "op": op}
        return json.dumps({"schema": {"type": "struct", "fields": [image]}, "payload": told})

    def shape(*names: str) -> dict[str, Any]:
        return ddl("ALTER_TABLE", [{"name": name, "type": "int"} for name in names])

    snapshot = {"is_snapshot": True, "offset": "s1"}
    batches: list[list[list[Any]]] = [
        [
            [row(1, 1), row(2, 2)],
            [line("c", 1, 1), line("c", 2, 2)],
            [shape("id", "a"), insert({"id": 1, "a": 1}), insert({"id": 2, "a": 2})],
        ],
        [
            [row(1, 10, **snapshot)],
            [line("u", 3, 1), line("c", 4, 3, status="x")],
            [update({"id": 1, "a": 3}), shape("id"), insert({"id": 3})],
        ],
        [
            [row(3, 11)],
            [line("c", 5, 4, status="y")],
            # the column comes back as another one
            [ddl("ALTER_TABLE", [{"name": "id", "type": "int"}, {"name": "a", "type": "string"}]), update({"id": 2, "a": "x"})],
        ],
    ]  # fmt: skip
    entities = [read, filled, shaped]
    names = [entity.name for entity in entities]
    for batch in batches:
        for entity, events in zip(entities, batch, strict=True):
            entity.land(events)
        project.dbt("run", "--select", *names)

    def loaded() -> list[Any]:
        return [
            read.rows("id"),
            filled.rows("id, status"),
            shaped.rows("id, a"),
            shaped.rows("id, a, a__dropped, _operation", "__history"),
        ]

    whole = [
        [(1,), (3,)],
        [(1, "new"), (2, "new"), (3, "x"), (4, "y")],
        [(1, None), (2, "x"), (3, None)],
        [
            (1, None, 1, "I"), (1, None, 3, "U"), (2, None, 2, "I"), (2, "x", None, "U"), (3, None, None, "I"),
        ],
    ]  # fmt: skip
    assert loaded() == whole
    for target in (1, 0):
        for entity in entities:
            roll_back(entity, entity.commits("commit_id")[target][0])
        if target == 0:
            assert read.rows("id") == [(1,), (2,)]
            assert (columns_of(shaped), shaped.rows("id, a")) == ({"id", "a"}, [(1, 1), (2, 2)])
        project.dbt("run", "--select", *names)
        assert loaded() == whole, target


@pytest.mark.turn(2)
def test_together_and_died(module_project: Any) -> None:
    """What one run wrote goes back together; a rollback that died is finished by the next run, or taken away."""
    project = module_project
    one, two = (
        Entity(project, name, {"id": "int", "name": "string"}, max_delete_fraction=1)
        for name in ("one", "two")
    )
    rows = {"2026-01-01": "id,name\n1,a\n2,b\n", "2026-01-02": "id,name\n1,A\n3,c\n"}
    for day, text in rows.items():
        one.extract(day, text)
        two.extract(day, text)
        project.dbt("run", "--select", "one", "two", vars={"business_date": day})
    columns = "id, name, _operation"
    first, second = [(1, "a", "I"), (2, "b", "I")], [(1, "A", "U"), (3, "c", "I")]
    assert one.rows(columns) == two.rows(columns) == second
    # that of one was finished by another run
    died = one.commits("commit_id")[-1][0]
    project.undo("one")
    project.sql(
        f"delete from tidemark_commits__log where commit_id = {died} and entity = 'one' and state = 'completed'"
    )
    assert f"finished commit {died}" in one.run("2026-01-02").output
    # and that of two by nobody yet
    project.sql(
        "delete from tidemark_commits__log where entity = 'two' and state = 'completed' and business_date = '2026-01-02'"
    )
    said = roll_back(one, "2026-01-01", together=True).output
    assert one.rows(columns) == two.rows(columns) == first
    # the named one last: a call that died between them is done again as a whole
    assert said.index("two: is back") < said.index("one: is back")
    # forth again with one of them alone
    commits = [row[0] for row in one.commits("commit_id")]
    roll_back(one, commits[1])
    assert one.rows(columns) == second and two.rows(columns) == first

    # the run died after the log's commit
    undo = one.commits("commit_id")[-1][0]
    project.undo("one")
    project.sql(
        "delete from tidemark_commits__log where entity = 'one' and state_at >= "
        f"(timestamp'{project.sql(f'select min(state_at) as at from tidemark_commits__log where commit_id = {undo}')[0].at}') "
        f"and not (commit_id = {undo} and state = 'inflight')"
    )
    assert one.rows(columns) == first
    result = one.run("2026-01-02")
    assert f"finished commit {undo} (rollback)" in result.output
    assert one.rows(columns) == second
    assert one.commits("kind, state")[-2:] == [("rollback", "completed"), ("repeat", "completed")]
    assert dict(one.commits("commit_id, state"))[commits[1]] == "completed"
    # or before it
    states = project.session.table(f"`{project.schema}`.tidemark_commits__log").columns
    values = {
        "commit_id": "991231235959999",
        "state": "'inflight'",
        "kind": "'rollback'",
        "completed_at": "null",
        "state_at": "current_timestamp()",
    }
    chosen = ", ".join(f"{values.get(name, name)} as {name}" for name in states)
    project.sql(
        f"insert into tidemark_commits__log select {chosen} from tidemark_commits__log where commit_id = {undo} limit 1"
    )
    assert "rolled back commit 991231235959999" in one.run("2026-01-02").output
    assert one.rows(columns) == second


@pytest.mark.slow
def test_died_without_rows(module_project: Any) -> None:
    """A rollback that has nothing to write to the log is finished, wherever it died: what it undoes is marked, or is then."""
    still = Entity(module_project, "still", {"id": "int", "name": "string"})
    for day in ("2026-01-01", "2026-01-02"):
        still.load(day, "id,name\n1,a\n")
    for died in ("state = 'completed'", "state <> 'inflight'"):
        loaded = still.commits("commit_id")[-1][0]
        roll_back(still, "2026-01-01")
        undo = still.commits("commit_id")[-1][0]
        module_project.sql(
            f"delete from tidemark_commits__log where commit_id = {undo} and {died} "
            f"or undone_by = {undo} and {died}"
        )
        assert f"finished commit {undo} (rollback)" in still.run("2026-01-02").output
        states = dict(still.commits("commit_id, state"))
        assert (states[loaded], states[undo]) == ("rolled_back", "completed")
        assert still.commits("kind, state")[-1] == ("load", "completed")


@pytest.mark.slow
def test_restate(module_project: Any) -> None:
    """The extracts were corrected behind the scenes: every date from one on is loaded again."""
    towns = Entity(module_project, "towns", {"id": "int", "name": "string"}, max_delete_fraction=1)
    for day, text in {
        "2026-01-01": "id,name\n1,a\n",
        "2026-01-02": "id,name\n1,b\n2,x\n",
        "2026-01-03": "id,name\n1,b\n2,y\n",
    }.items():
        towns.load(day, text)
    towns.extract("2026-01-02", "id,name\n1,B\n2,x\n")
    towns.extract("2026-01-03", "id,name\n1,b\n2,z\n")
    said = towns.operate("restate", **{"from": "2026-01-02", "dry_run": True}).output
    assert "would load 2 business dates again: 2026-01-02, 2026-01-03" in said
    assert towns.rows("name", "", "id = 2") == [("y",)]
    towns.operate("restate", **{"from": "2026-01-02"})
    assert towns.rows("_business_date, id, name, _operation", "__history", "id = 1") == [
        (date(2026, 1, 1), 1, "a", "I"),
        (date(2026, 1, 2), 1, "B", "U"),
        (date(2026, 1, 3), 1, "b", "U"),
    ]
    assert towns.rows("id, name") == [(1, "b"), (2, "z")]
    assert "nothing differs" in towns.operate("restate", **{"from": "2026-01-03"}).output
    (towns.folder / "2026-01-03.csv").unlink()
    commits = len(towns.commits())
    failed = towns.operate("restate", **{"from": "2026-01-01"}, expect_pass=False)
    assert "these extracts are gone: 2026-01-03. Nothing was restated" in failed.output
    assert len(towns.commits()) == commits

    # of events: what landed since is taken anew
    feed = EventEntity(module_project, "tolls", {"id": "int", "name": "string"})
    feed.load([insert({"id": 1, "name": "a"})], business_date="2026-01-01")
    wrong = feed.land([update({"id": 1, "name": "b"}), insert({"id": 2, "name": "x"})])
    feed.run(business_date="2026-01-02")
    wrong.write_text(wrong.read_text().replace('"x"', '"z"'))
    # a call that died between its rollback and its load: there is something to do yet
    roll_back(feed, feed.commits("commit_id")[-2][0])
    said = feed.operate("restate", **{"from": "2026-01-02", "dry_run": True}).output
    assert ": would read again what landed since then" in said
    feed.operate("restate", **{"from": "2026-01-02"})
    assert feed.rows("id, name") == [(1, "b"), (2, "z")]
    assert feed.rows("id, name, _operation", "__history") == [
        (1, "a", "I"),
        (1, "b", "U"),
        (2, "z", "I"),
    ]
    # a batch that was wrong, taken back and moved away for good, is none that landed since
    bad = feed.land([insert({"id": 9, "name": "bad"})], "bad.jsonl")
    feed.run(business_date="2026-01-03")
    roll_back(feed, feed.commits("commit_id")[-2][0])
    bad.unlink()
    feed.load([insert({"id": 3, "name": "c"})], business_date="2026-01-04")
    feed.operate("restate", **{"from": "2026-01-04"})
    assert feed.rows("id, name") == [(1, "b"), (2, "z"), (3, "c")]


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("'2026-02-30'", "rollback: to must be a date"),
        ("yesterday", "rollback: to must be a commit id"),
        ("2126-05-05 10:00", "rollback: to=2126-05-05 10:00 lies in the future"),
        ("2026-05-05", "has not loaded business date 2026-05-05. Give one of"),
        ("260101000000000", "has no completed commit 260101000000000. Give one of"),
    ],
)
def test_wrong_moment(module_project: Any, to: str, message: str) -> None:
    entity = Entity(module_project, "wrong", {"id": "int"})
    if not entity.exists():
        entity.load("2026-01-01", "id\n1\n")
    assert message in roll_back(entity, to, expect_pass=False).output
