"""Going back to an earlier commit, and what the feed, history and commits show of it, told day by day."""

from __future__ import annotations

from typing import Any

import pytest

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update
from .feed_reading import call, feed_rows, query_all

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
    roll_back(shop, commits[0])
    assert shop.rows("id, name") == [(1, "a"), (2, "b")]
    # the files were read; the same events in another file are taken again, as they are undone
    shop.run()
    assert shop.rows("id, name") == [(1, "a"), (2, "b")]
    shop.load([*batches[1], *batches[2]])
    assert shop.rows("id, name") == [(1, "A")]


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("'2026-02-30'", "must be a date"),
        ("yesterday", "must be a commit id"),
        ("2026-05-05", "has not loaded business date 2026-05-05; there are"),
        ("260101000000000", "has no completed commit 260101000000000; there are"),
    ],
)
def test_wrong_moment(module_project: Any, to: str, message: str) -> None:
    entity = Entity(module_project, "wrong", {"id": "int"})
    if not entity.exists():
        entity.load("2026-01-01", "id\n1\n")
    assert message in roll_back(entity, to, expect_pass=False).output
