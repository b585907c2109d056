"""Tests and alarms over `tidemark_commits`: what Spark says is what the rules in Python say."""

from __future__ import annotations

import datetime as dt
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ordinary_months import MONTHS, STORMS, ordinary_loads, quiet_days
from tests.usual import COUNTS, Load, unusual_counts
from tests.webhooks import receiver
from tidemark.read.calendar import missing_dates

from ..rendering import load_sql_macros
from .entities import Entity

pytestmark = pytest.mark.turn(3)

LOADS = "relation string, business_date date, commit_id bigint, " + ", ".join(
    f"rows_{what} bigint" for what in COUNTS
)


def rows_of(relation: str, loads: list[Load]) -> list[tuple[Any, ...]]:
    return [(relation, load.date, load.commit_id, *(getattr(load, what) for what in COUNTS)) for load in loads]  # fmt: skip


def test_rules__are_those_of_python(module_project: Any) -> None:
    macros, session = load_sql_macros(), module_project.session
    entities = {f"shop.month{seed}": ordinary_loads(seed) for seed in MONTHS[::16]}
    entities |= {
        f"shop.storm{number}": storm(quiet_days(number))
        for number, storm in enumerate(STORMS.values())
    }
    # with gaps, so that dates are missing; and by the month
    chance = random.Random(5)
    entities |= {
        f"shop.gap{number}": [one for one in ordinary_loads(number) if chance.random() < 0.9]
        for number in range(3)
    }
    entities["shop.monthly"] = [
        Load(dt.date(2020 + number // 12, number % 12 + 1, 1), number, inserted=100 + number % 3)
        for number in range(49)
    ] + [Load(dt.date(2024, 2, 1), 49, inserted=1000)]
    rows = [row for name, loads in entities.items() for row in rows_of(name, loads)]
    session.createDataFrame(rows, LOADS).coalesce(1).createOrReplaceTempView("generated_loads")

    options = macros["count_options"](list(COUNTS), 10, 1.5, [], False)
    found = session.sql(macros["unusual_counts_sql"]("select * from generated_loads", options))
    wanted = {
        (name, one.date, one.commit_id, one.what, one.number, one.usual, one.problem)
        for name, loads in entities.items()
        for one in unusual_counts(loads)
    }
    assert {tuple(row) for row in found.collect()} == wanted
    assert len({name for name, *_ in wanted if "storm" in name}) == len(STORMS)

    for every, since, skipped in ((None, None, []), (["tue", "sat"], dt.date(2026, 5, 1), [])):
        calendar = macros["load_calendar"](every, since, skipped)
        rows = session.sql(
            macros["missing_dates_sql"]("select * from generated_loads", calendar)
        ).collect()
        missing = {
            (name, date)
            for name, loads in entities.items()
            for date in missing_dates((one.date for one in loads), every, since)
        }
        assert missing and {tuple(row) for row in rows} == missing


def test_story(module_project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = Entity(module_project, "orders", {"id": "int", "n": "int"}, on_reject="quarantine")
    with receiver() as there:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("TIDEMARK_WEBHOOK_URL", there.url)
        loaded = orders.load("2026-03-02", "id,n\n1,1\n2,4711x\n")
        missing = orders.run("2026-03-09", expect_pass=False)
        monkeypatch.delenv("TIDEMARK_WEBHOOK_URL")
    # one summary for each run, with no value of a row
    told, failed = there.json()
    assert "4711x" not in json.dumps(told) and "T0KEN" not in loaded.output + missing.output
    (entity,) = told["entities"]
    assert (told["success"], entity["state"], entity["business_date"]) == (True, "loaded", "2026-03-02")  # fmt: skip
    assert (entity["read"], entity["inserted"], entity["rejected"]) == (2, 1, 1)
    assert (failed["success"], failed["entities"][0]["state"]) == (False, "failed")
    assert "2026-03-09" in failed["entities"][0]["message"]
    assert failed["invocation_id"] != told["invocation_id"]

    ((relation, first),) = orders.commits("relation, commit_id")
    loads = [replace(load, commit_id=first + 1 + load.commit_id) for load in quiet_days(3)]
    record(module_project, relation, loads)
    since = loads[0].date
    complete = {"tidemark.dates_are_complete": {"arguments": {"since": str(since)}}}
    declare_sources(module_project, relation)
    check(orders, complete, "tidemark.change_counts_are_usual")
    found = module_project.dbt("source", "freshness", expect_pass=None)
    wanted = {"by_commits": "pass", "orders__log": "error", "orders": "pass", "stale": "warn"}
    assert found.statuses == wanted, found.output

    # a storm, a week after the last load
    late = loads[-1].date + dt.timedelta(days=7)
    last = loads[-1]
    storm = replace(last, date=late, commit_id=last.commit_id + 1, inserted=last.inserted * 30)
    record(module_project, relation, [storm])
    narrow = {"arguments": {"counts": ["updated", "deleted"], "except": [str(storm.date)]}}
    failed = check(
        orders,
        complete,
        "tidemark.change_counts_are_usual",
        {"tidemark.change_counts_are_usual": {"name": "narrow", **narrow}},
        expect_pass=False,
    )
    assert [status for name, status in sorted(failed.statuses.items()) if name != "narrow"] == [
        "fail",
        "fail",
    ]
    assert failed.statuses["narrow"] == "pass"
    # the one count of the storm
    assert failed.error.count("Got 1 result,") == 1


def declare_sources(project: Any, relation: str) -> None:
    """An entity as sources: by its commits, its log and a query."""
    completed = f"relation = '{relation}' and state = 'completed'"
    fresh = {"error_after": {"count": 1, "period": "hour"}}
    old = {"warn_after": {"count": 3650, "period": "day"}, **fresh}
    tables = {
        "by_commits": {
            "identifier": "tidemark_commits",
            "loaded_at_field": "completed_at",
            "freshness": {**fresh, "filter": completed},
        },
        # a load that was just made, of a business date that is long ago
        "orders__log": {"loaded_at_field": "cast(_business_date as timestamp)", "freshness": fresh},
        "orders": {
            "loaded_at_query": f"select max(completed_at) from {project.schema}.tidemark_commits where {completed}",
            "freshness": fresh,
        },
        "stale": {
            "identifier": "orders__log",
            "loaded_at_field": "timestamp'1999-01-01'",
            "freshness": {"warn_after": old["warn_after"]},
        },
    }
    source = {
        "name": "lake",
        "schema": project.schema,
        "tables": [
            {
                "name": name,
                "config": {key: table[key] for key in table if key != "identifier"},
                **({"identifier": table["identifier"]} if "identifier" in table else {}),
            }
            for name, table in tables.items()
        ],
    }
    project.write("models/lake.yml", json.dumps({"sources": [source]}))


def record(project: Any, relation: str, loads: list[Load]) -> None:
    """Commits as loads of these counts would have made them."""
    session = project.session
    session.createDataFrame(rows_of(relation, loads), LOADS).createOrReplaceTempView("recorded")
    counts = ", ".join(f"rows_{what}" for what in COUNTS)
    project.sql(
        "insert into tidemark_commits__log (commit_id, relation, entity, kind, state, business_date, "
        f"started_at, completed_at, state_at, {counts}) select commit_id, relation, 'orders', 'load', "
        f"'completed', business_date, now(), now(), now(), {counts} from recorded"
    )


def check(entity: Entity, *tests: Any, expect_pass: bool = True) -> Any:
    """`dbt test` with these generic tests on an entity."""
    path = Path(entity.project.root) / f"models/{entity.name}.yml"
    properties = json.loads(path.read_text(encoding="utf-8"))
    properties["models"][0]["data_tests"] = list(tests)
    path.write_text(json.dumps(properties), encoding="utf-8")
    return entity.project.dbt("test", "--select", entity.name, expect_pass=expect_pass)
