"""A full refresh of enriched events that dies, that has nothing to read, or that follows a table which was dropped.

Each point is made exactly: the run stops at a statement, as one that is killed there.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from dbt.adapters.tidemark.cursor import SessionConnection
from tests.conftest import Project
from tests.functional.enriched_events import (
    PRODUCT,
    add_events,
    add_products,
    commits_of,
    event_id,
    event_line,
    land,
)
from tests.functional.interrupted import die_at

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(2)]

TABLES = ("", "__entities", "__landed", "__manifest", "__rejects")


def versions_of(project: Project) -> dict[str, int]:
    """How many commits each table has had."""
    return {table: project.version(f"events{table}") for table in TABLES}


def ids_of(project: Project) -> list[str]:
    """The ids of what is stored."""
    return [row[0] for row in project.sql("select event_id from events order by 1")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    [
        pytest.param(r"rename to \S*\.`?events_\d", id="some_tables_are_renamed"),
        pytest.param(r"create table if not exists \S*\.events \(", id="no_table_is_made"),
        pytest.param(r"merge into \S*events__manifest", id="nothing_is_claimed"),
    ],
)  # fmt: skip
def test_died_in_full_refresh(project: Project, point: str) -> None:
    """The next run goes on with it, and tables of entities are told that they are to be built again."""
    landing = add_events(project)
    add_products(project)
    lines = [event_line(number, PRODUCT) for number in (1, 2)]
    land(landing, "one.tsv", [*lines, "broken"])
    project.dbt("run")
    die_at(project, point, "--full-refresh", "--select", "events")
    result = project.dbt("run", expect_pass=False)
    assert result.statuses["events"] == "success"
    assert "was built again by commit" in result.messages["products"]
    kinds = project.sql(
        "select kind, state from tidemark_commits where entity = 'events' order by commit_id"
    )
    assert kinds == [
        ("load", "completed"),
        ("full_refresh", "rolled_back"),
        ("full_refresh", "completed"),
    ]
    assert ids_of(project) == [event_id(1), event_id(2)]
    assert commits_of(project)[-1] == (3, 2, 1, 0, 0, 0, 0, 0)
    assert project.sql("select count(*) from events__entities") == [(2,)]
    assert project.sql("select count(*) from products") == [(2,)]
    # what was there is kept once, and from now on runs are as ever
    kept = project.sql("show tables like 'events_2*'")
    assert len(kept) == 1
    assert project.sql(f"select count(*) from {kept[0].tableName}") == [(2,)]
    assert project.dbt("run", "--select", "events").messages["events"] == "nothing new"


@pytest.mark.slow
def test_full_refresh__beside_a_load(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another run has loaded since it began stays where it is, and no run goes on with a full refresh that set nothing aside."""
    land(add_events(project), "one.tsv", [event_line(1, PRODUCT)])
    project.dbt("run")
    states = f"`{project.schema}`.tidemark_commits__log"
    columns = project.session.table(states).columns
    chosen = ["commit_id + 1 as commit_id" if name == "commit_id" else name for name in columns]
    pending = [
        f"insert into {states} select {', '.join(chosen)} from {states} where kind = 'load' and state = 'completed'"
    ]
    execute = SessionConnection.execute

    def executed(self: Any, sql: str, bindings: Any = None) -> None:
        if pending and re.search(r"'tidemark.fence' =|\(_commit_id\) values \(-", sql):
            project.query(pending.pop())
        execute(self, sql, bindings)

    monkeypatch.setattr(SessionConnection, "execute", executed)
    error = project.dbt("run", "--full-refresh", expect_pass=False).error
    assert not pending and "another run has written to" in error
    assert project.sql("show tables like 'events_2*'") == []
    assert project.dbt("run").messages["events"] == "nothing new"
    assert ids_of(project) == [event_id(1)]


def test_full_refresh__of_nothing(project: Project) -> None:
    """With --empty, or of a folder that was archived: the tables stay; of a table that was dropped all comes again."""
    landing = add_events(project)
    file = land(landing, "one.tsv", [event_line(1, PRODUCT), event_line(2), "broken"])
    project.dbt("run")
    before = versions_of(project)
    project.dbt("run", "--full-refresh", "--empty")
    assert versions_of(project) == before
    archived = file.rename(project.root / "one.tsv")
    output = project.dbt("run", "--full-refresh").output
    assert "so the tables stay as they are" in output
    assert versions_of(project) == before
    assert project.sql("show tables like 'events_2*'") == []
    archived.rename(file)
    assert project.dbt("run").messages["events"] == "nothing new"

    project.sql("drop table events")
    error = project.dbt("run", expect_pass=False).error
    assert "read all landed files again with --full-refresh" in error
    project.dbt("run", "--full-refresh")
    assert ids_of(project) == [event_id(1), event_id(2)]
    assert commits_of(project)[-1] == (3, 2, 1, 0, 0, 0, 0, 0)
    assert project.sql("select count(*) from events__entities") == [(1,)]
    kinds = project.sql(
        "select kind from tidemark_commits where entity = 'events' order by commit_id"
    )
    assert kinds == [("load",), ("full_refresh",)]
