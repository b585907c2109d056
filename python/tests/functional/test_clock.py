"""A clock that goes back by a day, or was a day ahead: order is that of commits, and nothing is lost.

Commits are put a day ahead as they are recorded, which is what a clock leaves that is set right afterwards.
"""

from __future__ import annotations

from typing import Any

import pytest

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(3)]

COLUMNS = {"id": "int", "name": "string"}
DAYS = {
    "2026-01-01": "id,name\n1,ann\n2,bob\n",
    "2026-01-02": "id,name\n1,anna\n3,cy\n",
    "2026-01-03": "id,name\n1,anna\n3,cyd\n",
}


def put_ahead(entity: Entity) -> None:
    """Have the entity's commits recorded by a clock that was a day ahead."""
    times = [f"{name} = {name} + interval 1 day" for name in ("started_at", "completed_at", "state_at")]  # fmt: skip
    entity.project.sql(
        f"update tidemark_commits__log set {', '.join(times)} where entity = '{entity.name}'"
    )


def state_of(entity: Entity) -> Any:
    return entity.rows("id, name"), entity.rows("_business_date, id, name, _operation", "__history")


@pytest.mark.slow
def test_clock_goes_back(module_project: Any) -> None:
    entity = Entity(module_project, "set_back", COLUMNS, max_delete_fraction=1)
    states = {}
    for day, text in DAYS.items():
        entity.load(day, text)
        states[day] = state_of(entity)
    # a run that died by the clock that was ahead is finished by the one that is right
    dead = int(entity.commits("commit_id")[-1][0])
    module_project.undo(entity.name)
    module_project.sql(
        f"delete from tidemark_commits__log where commit_id = {dead} and state = 'completed'"
    )
    put_ahead(entity)
    assert "finished commit" in entity.run("2026-01-03").output
    assert [state for _, state in entity.commits()] == ["completed"] * 4
    # what that clock made is undone, and says so
    entity.operate("rollback", to="2026-01-01")
    assert state_of(entity) == states["2026-01-01"]
    assert entity.commits()[:4] == [
        ("load", "completed"),
        ("load", "rolled_back"),
        ("load", "rolled_back"),
        ("repeat", "rolled_back"),
    ]
    # and holds again
    entity.operate("rollback", to=int(entity.commits("commit_id")[1][0]))
    assert state_of(entity) == states["2026-01-02"]
    entity.run("2026-01-03")
    assert state_of(entity) == states["2026-01-03"]
    # a commit is no older than those before it
    superseded = len(entity.rows("id", "__log", "_superseded_by is not null"))
    assert superseded > 0
    entity.operate("clean", retention="{superseded: 0 days}")
    assert len(entity.rows("id", "__log", "_superseded_by is not null")) == superseded
    ids = [commit for (commit,) in entity.commits("commit_id")]
    assert ids == sorted(set(ids))
    entity.check()


def test_clock_goes_back__events(module_project: Any) -> None:
    """The date of arrival of later events is before that of earlier ones."""
    entity = EventEntity(module_project, "set_back_events", COLUMNS, "id")
    entity.load([insert({"id": 1, "name": "a"}), insert({"id": 2, "name": "b"})], business_date="2026-01-02")  # fmt: skip
    entity.load([update({"id": 1, "name": "aa"}), delete({"id": 2})], business_date="2026-01-01")
    assert entity.rows("id, name") == [(1, "aa")]
    put_ahead(entity)
    entity.load([insert({"id": 3, "name": "c"}), update({"id": 1, "name": "aaa"})], business_date="2026-01-01")  # fmt: skip
    assert entity.rows("id, name") == [(1, "aaa"), (3, "c")]
    entity.check()
