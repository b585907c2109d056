"""Reading commits and the feed from the command line: show_commits, show_commit, tidemark feed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark.cli import cli
from tidemark.feed import reader as reading

from .entities import Entity

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(2)]

COLUMNS = {"id": "int", "name": "string", "price": "decimal(20,18)", "seen": "timestamp"}
DAYS = {
    "2026-01-01": "id,name,price,seen\n1,ann,0.100000000000000001,2026-01-01 09:00:00.123456\n2,bob,,\n",
    "2026-01-02": 'id,name,price,seen\n1,ann,0.2,2026-01-01 09:00:00.123456\n3,"say ""hi""",3,\n',
}


@pytest.fixture(scope="module")
def people(module_project: Any) -> Entity:
    entity = Entity(module_project, "people", COLUMNS, max_delete_fraction=1)
    result = operation(entity, "feed_query", expect_pass=False, entity="people")
    assert "people: there are no changes, as nothing was loaded yet" in result.output
    for day, text in DAYS.items():
        entity.load(day, text)
    return entity


def operation(people: Entity, name: str, /, *, expect_pass: bool = True, **arguments: Any) -> Any:
    return people.project.dbt(
        "run-operation", name, "--args", json.dumps(arguments), expect_pass=expect_pass
    )


def answer(result: Any, mark: str) -> Any:
    (line,) = [text for text in result.output.splitlines() if text.startswith(mark)]
    return json.loads(line.removeprefix(mark))


def read(entity: Entity, *arguments: str) -> Any:
    root = str(entity.project.root)
    return CliRunner().invoke(
        cli,
        ["feed", *arguments, "--project-dir", root, "--profiles-dir", root, "--target", "ci"],
        env={"TIDEMARK_SCHEMA": entity.project.schema},
    )


def test_show_commits(people: Entity) -> None:
    first, second = (row[0] for row in people.commits("commit_id"))
    operation(people, "savepoint", entity="people", commit=first, name="year end")
    result = operation(people, "show_commits", entity="people", limit=3)
    lines = [line.split() for line in result.output.splitlines()]
    # the savepoint's own commit comes first; a column without a value, `superseded`, is left out
    heading = lines.index("commit entity kind business date state completed I U D note".split())
    assert [line[:3] for line in lines[heading + 2 : heading + 4]] == [
        [str(second), "people", "load"],
        [str(first), "people", "load"],
    ]
    assert lines[heading + 2][-3:] == ["1", "1", "1"]
    assert lines[heading + 3][-6:] == ["2", "0", "0", "savepoint", "year", "end"]

    (kept,) = answer(operation(people, "show_savepoints", format="json"), "tidemark savepoints ")[
        "rows"
    ]
    assert [kept[name] for name in ("entity", "commit_id", "name", "kind")] == [
        "people",
        first,
        "year end",
        "load",
    ]

    rows = answer(operation(people, "show_commits", format="json"), "tidemark commits ")["rows"]
    assert [(row["kind"], row["rows_inserted"]) for row in rows if row["entity"] == "people"] == [
        ("savepoint", None),
        ("load", 1),
        ("load", 2),
    ]


@pytest.mark.iceberg(never=True)
def test_show_commit(people: Entity) -> None:
    commit = people.commits("commit_id")[0][0]
    shown = answer(
        operation(people, "show_commit", commit=commit, format="json"), "tidemark commit "
    )
    assert shown["relation"] == f"{people.project.schema}.people"
    assert shown["business_date"] == "2026-01-01" and shown["rows_logged"] == 2
    log, current = shown["tables"]
    for table, name in ((log, "people__log"), (current, "people")):
        assert table["relation"].endswith(f".{name}")
        assert table["version_after"] > table["version_before"]
        assert table["files_added"] >= 1 and table["bytes_added"] > 500
        assert table["files_removed"] == table["bytes_removed"] == 0
    text = operation(people, "show_commit", commit=commit).output
    assert f"commit {commit} of {people.project.schema}.people" in text
    assert "load of 2026-01-01" in text and "file" in text


def test_show__what_is_not_there(people: Entity) -> None:
    result = operation(people, "show_commits", expect_pass=False, entity="peple")
    assert (
        "no cdc, scd2, feed, atomic or shred model named 'peple'; did you mean `people`?"
        in result.output
    )
    result = operation(people, "show_commit", expect_pass=False, commit=5, entity="people")
    assert "there is no commit 5 of people. Name one of the last commits" in result.output
    assert "(2026-01-02)" in result.output


def test_feed__json_lines(people: Entity) -> None:
    result = read(people, "people", "--from", "2026-01-01", "--images", "change,pre")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    # what Spark wrote is not touched: a float would have lost digits
    assert '"price":0.100000000000000001' in result.stdout
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    commit = people.commits("commit_id")[1][0]
    assert {row["_commit_id"] for row in rows} == {commit}
    changes = {row["id"]: (row["_operation"], row["_change"]) for row in rows}
    assert changes[1][0] == "U" and changes[1][1]["change"] == {"price": 0.2}
    assert changes[1][1]["pre_image"]["seen"].startswith("2026-01-01T09:00:00.123456")
    assert changes[2] == (
        "D",
        {
            "event_type": "delete",
            "change": {},
            "pre_image": {"id": 2, "name": "bob", "price": None, "seen": None},
        },
    )
    assert changes[3][1]["change"]["name"] == 'say "hi"'


def test_feed__net_where_limit(people: Entity) -> None:
    result = read(people, "people", "--net", "--where", "id = 1")
    (row,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert row["_operation"] == "I" and "_position" not in row
    assert row["_change"]["post_image"]["price"] == 0.2
    result = read(people, "people", "--limit", "1")
    assert len(result.stdout.splitlines()) == 1
    result = read(people, "people", "--from", "2026-01-05")
    assert result.exit_code == 1 and "has not loaded business date 2026-01-05" in str(
        result.exception
    )


def test_feed__follow(people: Entity, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loads that it waits for are done by this process, so it must keep its session."""
    waits: list[bool] = []
    has_news = reading.FeedReader.has_news

    def load_while_waiting(self: Any, page: Any) -> bool:
        if len(waits) == 2:
            raise KeyboardInterrupt
        waits.append(has_news(self, page))
        if len(waits) == 1:
            people.load("2026-01-03", "id,name,price,seen\n3,cy,3,\n")
        return waits[-1]

    monkeypatch.setattr(reading.FeedReader, "rest", lambda self: None)
    monkeypatch.setattr(reading.FeedReader, "has_news", load_while_waiting)
    result = read(people, "people", "--from", "2026-01-02", "--follow", "--interval", "0.1")
    assert result.exit_code == 0, result.output
    assert waits == [False, True]
    rows = [json.loads(line) for line in result.stdout.splitlines() if line[0] == "{"]
    assert sorted((row["id"], row["_operation"]) for row in rows) == [(1, "D"), (3, "U")]
