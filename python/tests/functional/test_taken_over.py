"""A run that another one takes for dead, or that meets one: what it writes counts nowhere, whichever table it comes to.

Each point is made exactly, in one process: what the other run would write by then is put there by hand.
"""

from __future__ import annotations

import json

import pytest

from tests.conftest import Project
from tests.functional.enriched_events import (
    add_events,
    commits_of,
    event_id,
    event_line,
    land,
)
from tests.functional.event_entities import EventEntity, insert
from tests.functional.test_crash import put_back
from tests.functional.test_shred_random import die_after

pytestmark = pytest.mark.iceberg


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
