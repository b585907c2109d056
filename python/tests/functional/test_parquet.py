"""A plain Parquet target: slices of the log as partitions, current swapped as a whole."""

from __future__ import annotations

import glob
from typing import Any

import pytest

from .entities import Entity
from .feed_reading import call, query_all
from .test_any_order import SEED, make_entities, run_random_loads

pytestmark = pytest.mark.turn(2)

PEOPLE = {"id": "int", "name": "string", "city": "string"}


def two_days(project: Any, name: str) -> Entity:
    """An entity of Parquet with a row that came, one that changed, one that went, and a reject."""
    people = Entity(
        project, name, PEOPLE, config={"file_format": "parquet"}, on_reject="quarantine"
    )
    people.load("2026-01-01", "id,name,city\n1,ann,Oslo\n2,bob,Rome\n3,cy,Bonn\nx,di,Bonn\n")
    people.load("2026-01-02", "id,name,city\n1,ann,Oslo\n2,bob,Pisa\n4,ed,Rome\n")
    return people


def test_two_days(module_project: Any) -> None:
    people = two_days(module_project, "people")
    assert people.rows("id, city, _operation") == [
        (1, "Oslo", "I"),
        (2, "Pisa", "U"),
        (4, "Rome", "I"),
    ]
    assert people.rows(
        "id, _operation, _changed_columns", "__history", "_business_date = '2026-01-02'"
    ) == [
        (2, "U", ["city"]),
        (3, "D", None),
        (4, "I", None),
    ]
    assert people.rows("_reject_reason", "__rejects") == [("cast_failed: id",)]
    # the metastore has a partition per date and commit, and current lies in a versioned folder
    partitions = module_project.sql("show partitions people__log_slices")
    assert [row.partition.split("/")[0] for row in partitions] == [
        "tidemark_date=2026-01-01",
        "tidemark_date=2026-01-02",
    ]
    location = [
        row.data_type
        for row in module_project.sql("describe formatted people")
        if row.col_name == "Location"
    ]
    assert "people__versions" in location[0] and glob.glob(
        location[0].removeprefix("file:") + "/*.parquet"
    )


@pytest.mark.slow
def test_after_two_days(module_project: Any) -> None:
    """A correction, a repetition, rollbacks, the feed, a new column, a new log, another format."""
    people = two_days(module_project, "later")
    # a correction appends and marks, and changes no file
    before = {
        row._commit_id for row in module_project.sql("select distinct _commit_id from later__log")
    }
    people.load("2026-01-01", "id,name,city\n1,ann,Oslo\n2,bob,Pisa\n3,cy,Bonn\n")
    correction = people.commits("commit_id")[-1][0]
    assert people.rows("_reject_reason, _resolved_by", "__rejects") == [
        ("cast_failed: id", correction)
    ]
    assert people.rows("id, _operation", "__history", "_business_date = '2026-01-02'") == [
        (3, "D"),
        (4, "I"),
    ]
    assert people.rows("id, city, _operation") == [
        (1, "Oslo", "I"),
        (2, "Pisa", "I"),
        (4, "Rome", "I"),
    ]
    log = module_project.sql(
        "select _commit_id, _superseded_by from later__log where _superseded_by is not null"
    )
    assert len(log) == 2 and {row._commit_id for row in log} <= before
    # again: nothing
    commits = len(people.commits())
    rows = people.rows("*", "__log_slices")
    people.run("2026-01-01")
    assert people.rows("*", "__log_slices") == rows and len(people.commits()) == commits + 1
    # back to before the correction, and forth again; the rows of current were the same
    first, second, third = (row[0] for row in people.commits("commit_id")[:3])
    people.operate("rollback", to=second)
    assert people.rows("_resolved_by", "__rejects") == [(None,)]
    assert people.rows("id, city, _operation") == [
        (1, "Oslo", "I"),
        (2, "Pisa", "U"),
        (4, "Rome", "I"),
    ]
    people.operate("rollback", to=third)
    assert people.rows("_resolved_by", "__rejects") == [(correction,)]
    assert people.rows("id, _operation") == [(1, "I"), (2, "I"), (4, "I")]
    feed, later = query_all(
        module_project,
        [call("change_feed", "later", first, second), call("change_feed", "later", second)],
    )
    assert sorted((row.id, row._operation) for row in feed) == [(2, "U"), (3, "D"), (4, "I")]
    assert later == []
    # a new column, and a new log
    people.write(columns={**PEOPLE, "note": "string"})
    people.load("2026-01-03", "id,name,city,note\n1,ann,Oslo,x\n2,bob,Pisa,\n4,ed,Rome,\n")
    assert people.rows(
        "id, note, _changed_columns", "__history", "_business_date = '2026-01-03'"
    ) == [(1, "x", ["note"])]
    people.run("2026-01-03", "--full-refresh")
    assert people.rows("id, _operation", "__history") == [(1, "I"), (2, "I"), (4, "I")]
    # another format, while the tables are those of this one; a full refresh begins a log of it, and back
    kept = [people.commits("commit_id")[-1][0]]
    for before, after in [("parquet", "delta"), ("delta", "parquet")]:
        people.config = {"file_format": after}
        people.write()
        refused = people.run("2026-01-03", expect_pass=False)
        assert f"file_format was {before} and is now {after}" in refused.error
        people.run("2026-01-03", "--full-refresh", plan=True)
        people.run("2026-01-03", "--full-refresh")
        people.load("2026-01-04", "id,name,city,note\n1,ann,Oslo,x\n2,bob,Pisa,\nx,ed,Rome,\n")
        for relation in ("__log", "__history"):
            expected = [(1, "I"), (2, "I"), (4, "D"), (4, "I")]
            assert people.rows("id, _operation", relation) == expected
        assert people.rows("id, _operation") == [(1, "I"), (2, "I")]
        assert people.rows("_reject_reason", "__rejects") == [("cast_failed: id",)]
        kept.append(people.commits("commit_id")[-2][0])
    present = {row.tableName for row in module_project.sql("show tables like 'later__*'")}
    assert not [name for name in present if name.endswith("__new")]
    for number in kept:
        assert people.rows("count(*)", f"__log_{number}")[0][0] >= 3
    people.operate("clean", retention="{superseded: 0 days}")
    left = {row.tableName for row in module_project.sql("show tables like 'later__*'")}
    assert {name for name in left if "__plan" not in name} == {
        f"later__{name}" for name in ("log", "log_slices", "history", "rejects")
    }


@pytest.mark.slow
def test_random_order__parquet(module_project: Any) -> None:
    run_random_loads(make_entities(module_project, "parquet"), SEED + 1, loads=2)
