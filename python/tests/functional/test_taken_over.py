"""A run that another one takes for dead, or that meets one: what it writes counts nowhere, whichever table it comes to.

Each point is made exactly, in one process: what the other run would write by then is put there by hand.
"""

from __future__ import annotations

import json
import re

import pytest

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
from tests.functional.event_entities import EventEntity, insert
from tests.functional.interrupted import before
from tests.functional.test_crash import put_back
from tests.functional.test_shred_random import die_after
from tidemark.errors import TidemarkError
from tidemark.spark.delta import StagedRows, stage_rows

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1)]


def last_batch(project: Project, name: str) -> int:
    """The number of a model's last batch."""
    rows = project.sql(
        f"select max(commit_id) from tidemark_commits where entity = '{name}' and kind = 'load'"
    )
    return int(rows[0][0])


@pytest.mark.slow
def test_files_of_a_run_that_was_taken_for_dead(project: Project) -> None:
    """It may register its files after that, and so does a rollback that is only tried: they are read again."""
    landing = add_events(project)
    shop = EventEntity(project, "shop", {"id": "int", "name": "string"})
    land(landing, "one.tsv", [event_line(1)])
    shop.land([insert({"id": 1, "name": "a"})])
    project.dbt("run")
    files = [
        land(landing, "two.tsv", [event_line(2), event_line(3)]),
        shop.land([insert({"id": 2, "name": "b"})]),
    ]
    project.dbt("run")
    commits = {name: last_batch(project, name) for name in ("events", "shop")}
    for name in commits:
        project.sql(f"create table {name}_kept as select * from {name}__landed")
    die_after(project, "events", 1)
    put_back(shop, commits["shop"], "", "__log")
    dry = json.dumps({"entity": "events", "to": commits["events"] - 1, "dry_run": True})
    refused = project.dbt("run-operation", "rollback", "--args", dry, expect_pass=False).output
    assert f"commit {commits['events']} is in flight" in refused
    assert len(project.sql("select * from events__manifest")) == 3
    # another run takes both over, and reads nothing
    for file in files:
        file.rename(project.root / file.name)
    project.dbt("run")
    for name, commit in commits.items():
        state = (
            f"select state from tidemark_commits where entity = '{name}' and commit_id = {commit}"
        )
        assert project.sql(state) == [("rolled_back",)], name
        project.sql(
            f"insert into {name}__landed select * from {name}_kept where _commit_id = {commit}"
        )
    for file in files:
        (project.root / file.name).rename(file)
    project.dbt("run")
    found = project.sql("select event_id from events order by 1")
    assert found == [(event_id(number),) for number in (1, 2, 3)]
    assert commits_of(project)[-1] == (2, 2, 0, 0, 0, 0, 0, 0)
    assert shop.rows("id, name") == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("engine", ["auto", pytest.param("spark", marks=pytest.mark.slow)])
def test_claims_and_entities_of_a_run_that_was_taken_for_dead(
    project: Project, engine: str
) -> None:
    """Its statements fail when they commit; should one have come through all the same, nobody counts its rows."""
    landing = add_events(project, engine=engine)
    add_products(project)
    land(landing, "one.tsv", [event_line(1, PRODUCT)])
    project.dbt("run")
    file = land(landing, "two.tsv", [event_line(2, PRODUCT), event_line(3), "broken"])
    project.dbt("run", "--select", "events")
    commit = last_batch(project, "events")
    tables = ("manifest", "entities", "rejects")
    for table in tables:
        rows = f"select * from events__{table} where _commit_id = {commit}"
        project.sql(f"create table kept_{table} as {rows}")
    die_after(project, "events", 0)
    slow = [written_to(project, table) for table in tables if project.file_format == "delta"]
    # another run takes it over, and reads nothing
    file.rename(project.root / file.name)
    result = project.dbt("run", "--select", "events")
    assert f"rolled back commit {commit}" in result.output
    for one in slow:
        with pytest.raises(TidemarkError, match="another run has written to"):
            one.commit()
    for table in tables:
        project.sql(f"insert into events__{table} select * from kept_{table}")
    (project.root / file.name).rename(file)
    project.dbt("run")
    found = project.sql("select event_id from events order by 1")
    assert found == [(event_id(number),) for number in (1, 2, 3)]
    assert commits_of(project)[-1] == (3, 2, 1, 0, 0, 0, 0, 0)
    assert project.sql("select count(*) from products") == [(2,)]


def written_to(project: Project, table: str) -> StagedRows:
    """The rows of a table as a statement has written them that commits later."""
    name = f"events__{table}"
    rows = f"select * from {project.schema}.kept_{table}"
    version = project.version(name)
    return stage_rows(
        project.session,
        project.schema,
        name,
        version,
        rows,
        {"n": "count(*)"},
        "select * from {counted}",
    )


@pytest.mark.slow
def test_two_runs_of_a_model(project: Project) -> None:
    """The second one to store the events of a file, or to read their entities, writes nothing."""
    steps = ["natural_in_batch", "synthetic_in_batch"]
    landing = add_events(project, deduplicate=steps, engine="spark")
    add_products(project)
    land(landing, "one.tsv", [event_line(1, PRODUCT)])
    project.dbt("run")
    land(landing, "two.tsv", [event_line(2, PRODUCT), event_line(3)])
    others: list[int] = []

    def store(sql: str) -> None:
        (own,) = map(int, re.findall(r"(\d+) as _commit_id", sql))
        others.append(own + 1)
        project.query(re.sub(r"\d+ as _commit_id", f"{own + 1} as _commit_id", sql))

    with before(r"(insert|merge) into \S*\.`?events`?\s", store):
        error = project.dbt("run", "--select", "events", expect_pass=False).error
    assert "another run has written to" in error
    (other,) = others
    stored = project.sql("select event_id, _commit_id from events order by 1")
    assert [row[0] for row in stored] == [event_id(number) for number in (1, 2, 3)]
    assert [row[1] for row in stored[1:]] == [other, other]
    project.sql(f"delete from events where _commit_id = {other}")
    # the other run of the entities is as far as this one, statement by statement
    with before(r"(insert|merge) into \S*\.`?products`?\s", project.query) as met:
        project.dbt("run")
    assert met
    assert len(project.sql("select * from events")) == 3
    assert project.sql("select count(*) from products") == [(2,)]
    assert project.dbt("run").messages == {"events": "nothing new", "products": "nothing new"}
    # and it is further than this one, which counted what it was to write before that
    land(landing, "three.tsv", [event_line(4, PRODUCT)])
    project.dbt("run", "--select", "events")

    def read_on(_: str) -> None:
        shred = "kind = 'shred' order by commit_id desc limit 1"
        ((last, ended),) = project.sql(
            "select max(commit_id), max(commit_id) filter (where kind = 'load') from tidemark_commits"
        )
        for commit in (ended, ended + 1):
            project.sql(
                f"insert into products select * except (_commit_id), {commit} from products limit 1"
            )
        others = "select * except (commit_id, source_commit_id)"
        project.sql(
            f"insert into tidemark_commits__log by name {others}, {last + 1} as commit_id,"
            f" {ended + 1} as source_commit_id from tidemark_commits__log where {shred}"
        )

    with before(r"select count\(\*\) as rows_read", read_on) as met:
        error = project.dbt("run", "--select", "products", expect_pass=False).error
    assert met and "another run has written to" in error
    assert project.sql("select count(*) from products") == [(4,)]
