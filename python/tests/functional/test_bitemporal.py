"""Kept intervals of both axes: after each load, correction and rollback the table tells what `as_of` tells at every date and commit."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from ..rendering import load_sql_macros, relation
from ..unit.test_known_intervals import extracts
from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(2)]

COLUMNS = {"id": "string", "name": "string"}
LOG = {
    **COLUMNS,
    **dict.fromkeys(("_key_hash", "_row_hash", "_operation"), "string"),
    **dict.fromkeys(("_business_date", "_eff_start_date"), "date"),
    "_changed_columns": "array<string>",
    **dict.fromkeys(("_commit_id", "_superseded_by"), "bigint"),
}
KEPT = """
{{{{ config(materialized='scd2', meta={{'tidemark': {{'axes': ['business', 'system']}}}}) }}}}
{{{{ tidemark.scd2(ref('{of}')) }}}}
"""


class Known:
    """An entity with kept intervals of both axes."""

    def __init__(self, entity: Any) -> None:
        self.entity, self.project = entity, entity.project
        self.name = f"{entity.name}_known"
        self.keep()

    def keep(self, body: str = KEPT) -> None:
        self.project.write(f"models/{self.name}.sql", body.format(of=self.entity.name))

    def follow(self) -> str:
        """Bring the table after its entity; what the run said."""
        return str(self.project.dbt("run", "--select", self.name).output)

    def check(self) -> None:
        """The table is what the log gives, and that is what was known at some commits and dates."""
        made = self.sql("scd2", axes=["business", "system"])
        columns = (
            "id, name, _commit_id, _valid_from, _valid_to, _known_from, _known_to, _is_current"
        )
        kept, wanted = (
            sorted(map(str, self.project.sql(f"select {columns} from {source}")))
            for source in (self.name, f"({made})")
        )
        assert kept == wanted

    def check_as_of(self, *days: str) -> None:
        for (moment,) in self.entity.commits("commit_id"):
            for day in days:
                found = self.project.sql(
                    f"select id, name from {self.name}"
                    f" where _valid_from <= date'{day}' and ifnull(date'{day}' < _valid_to, true)"
                    f" and _known_from <= {moment} and ifnull({moment} < _known_to, true)"
                )
                asked = self.project.sql(f"select id, name from ({self.sql('as_of', day, moment)})")
                assert sorted(found) == sorted(asked), (day, moment)

    def test(self) -> None:
        """Run the generic tests."""
        tests = [
            {f"tidemark.{name}": {"arguments": {"axes": ["business", "system"]}}}
            for name in ("no_overlapping_intervals", "one_open_interval_per_key")
        ]
        models = [{"name": self.name, "data_tests": tests}]
        self.project.write(f"models/{self.name}.yml", json.dumps({"version": 2, "models": models}))
        result = self.project.dbt("test", "--select", self.name)
        assert [*result.statuses.values()] == ["pass", "pass"]

    def sql(self, macro: str, *arguments: Any, **named: Any) -> str:
        of = relation(self.project.schema, self.entity.name)
        return str(load_sql_macros()[macro](of, *arguments, **named))


def extract(**rows: str) -> str:
    return "id,name\n" + "".join(f"{key},{name}\n" for key, name in rows.items())


def test_extract__corrected_and_rolled_back(module_project: Any) -> None:
    cities = Entity(module_project, "cities", COLUMNS, max_delete_fraction=1)
    known = Known(cities)
    cities.load("2026-01-01", extract(a="A1", b="B1", c="C1"))
    first = cities.commits("commit_id")[-1][0]
    cities.load("2026-01-02", extract(a="A2", c="C1"))
    known.follow()
    # late, corrected, deleted and there again
    cities.load("2026-01-04", extract(a="A1", b="B4"))
    cities.load("2026-01-03", extract(a="A3", b="B1", c="C1"))
    cities.load("2026-01-02", extract(a="A2", b="B2"))
    assert "built again" not in known.follow()
    known.check()
    cities.operate("rollback", to=first)
    cities.load("2026-01-05", extract(a="A5", c="C5"))
    assert "built again" not in known.follow()
    known.check()
    known.check_as_of("2026-01-02")
    assert "nothing new" in known.follow()
    current = module_project.sql(f"select id, name from {known.name} where _is_current")
    assert sorted(map(tuple, current)) == cities.rows("id, name")
    known.test()


def test_built_again(module_project: Any) -> None:
    towns = Entity(module_project, "towns", COLUMNS, max_delete_fraction=1)
    known = Known(towns)
    towns.load("2026-01-01", extract(a="A1", b="B1"))
    towns.load("2026-01-01", extract(a="A2"))
    known.follow()
    # what is known of before goes, and with it what it said
    module_project.sql("delete from towns__log where _superseded_by is not null")
    assert "the log of towns is not the one" in known.follow()
    known.check()
    both, one = "['business', 'system']", "['business']"
    known.keep(KEPT.replace(both, one))
    assert "as its axes changed" in known.follow()
    assert "_known_from" not in module_project.sql(f"select * from {known.name}")[0]
    known.keep(KEPT.replace(both, one).replace("'))", f"'), axes={both})"))
    failed = module_project.dbt("run", "--select", known.name, expect_pass=False)
    assert "Set `axes: [business, system]` under meta.tidemark" in failed.messages[known.name]
    known.keep(KEPT.replace("'))", f"'), axes={one})"))
    failed = module_project.dbt("run", "--select", known.name, expect_pass=False)
    assert "the body lacks `_known_from`" in failed.messages[known.name]
    known.keep()
    assert "as its axes changed" in known.follow()
    known.check()


def test_events(module_project: Any) -> None:
    users = EventEntity(module_project, "users", COLUMNS, on_reject="fail")
    known = Known(users)
    users.load(
        [
            insert({"id": "a", "name": "A1"}, sequence_num=1),
            insert({"id": "b", "name": "B1"}, sequence_num=2),
        ]
    )
    known.follow()
    # late, then a delete
    users.load(
        [
            update({"id": "a", "name": "A9"}, sequence_num=9),
            update({"id": "b", "name": "B8"}, sequence_num=8),
        ]
    )
    users.load([update({"id": "a", "name": "A5"}, sequence_num=5)])
    users.load([delete({"id": "a"}, sequence_num=7)])
    assert "built again" not in known.follow()
    rows = module_project.sql(
        f"select name, _valid_from, _valid_to from {known.name} where id = 'a' and _known_to is null"
    )
    assert sorted(map(tuple, rows)) == [("A1", 1, 5), ("A5", 5, 7), ("A9", 9, None)]
    rows = module_project.sql(
        f"select name, _valid_from, _valid_to from {known.name} where id = 'a' and _known_to is not null"
    )
    assert sorted(map(tuple, rows), key=str) == [
        ("A1", 1, 9),
        ("A1", 1, None),
        ("A5", 5, 9),
        # with a delete before it the event is another change
        ("A9", 9, None),
    ]
    known.test()


@pytest.mark.iceberg(never=True)
def test_effective_from(module_project: Any) -> None:
    """A random history, at each commit: its fold over the rows is no SQL of DuckDB's, which tells the others."""
    session, macros = module_project.session, load_sql_macros()
    log, _ = extracts(1, delta=False)
    values = [
        (row[0], row[1], row[2], row[3], row[4], row[5], str(row[6]), *row[-2:]) for row in log.rows
    ]
    kinds = "id string, name string, updated_at string, _key_hash string, _row_hash string, _operation string"
    session.createDataFrame(
        values, f"{kinds}, _business_date string, _commit_id bigint, _superseded_by bigint"
    ).selectExpr(
        "* except (_business_date)",
        "cast(_business_date as date) as _business_date",
        "cast(_business_date as date) as _eff_start_date",
        "array('name') as _changed_columns",
    ).createOrReplaceTempView("told_log")
    both = macros["interval_options"](unit="timestamp", axes=["business", "system"])
    known = macros["effective_intervals_sql"]("updated_at", "told_log", "true", both)
    session.sql(macros["known_intervals_sql"](known, both)).createOrReplaceTempView("told_known")
    columns = "id, name, _commit_id, _valid_from, _valid_to"
    one = macros["interval_options"](unit="timestamp")
    found, asked = (
        Counter(map(tuple, session.sql(" union all ".join(queries)).collect()))
        for queries in (
            [
                f"select {moment} as moment, {columns} from told_known"
                f" where _known_from <= {moment} and ifnull({moment} < _known_to, true)"
                for moment in log.commits
            ],
            [
                f"select {moment} as moment, {columns} from ("
                + macros["effective_intervals_sql"](
                    "updated_at", "told_log", macros["in_force_expr"](moment), one
                )
                + ")"
                for moment in log.commits
            ],
        )
    )
    assert found == asked and len(found) > 100


@pytest.mark.iceberg(never=True)
@pytest.mark.parametrize("axes", [["business"], ["business", "system"]])
def test_merge__reads_the_touched_keys_only(module_project: Any, axes: list[str]) -> None:
    """Each scan of the log, but for the one that finds the keys, is cut down to them before anything is done with it."""
    session, macros = module_project.session, load_sql_macros()
    columns = ", ".join(f"{name} {kind}" for name, kind in LOG.items())
    module_project.sql(f"create table if not exists planned__log ({columns}) using parquet")
    body = macros["scd2"](relation(module_project.schema, "planned"), axes=axes)
    session.sql(f"create or replace temporary view planned_known as {body}")
    state = {
        "log": f"{module_project.schema}.planned__log",
        "watermark": 7,
        "columns": [
            {"name": name, "type": "string"} for name in ("id", "_key_hash", "_valid_from")
        ],
    }
    merge = macros["merge_intervals_sql"]("planned_known", state, body)
    wanted = merge.partition("using (\n")[2].partition(",\n\n    existing_rows")[0]
    plan = session.sql(f"{wanted} select * from wanted")._jdf.queryExecution().optimizedPlan()
    lines = str(plan.toString()).splitlines()
    scans = sum("planned__log" in line for line in lines)
    assert 2 * sum("Join LeftSemi" in line for line in lines) == scans > 0
    assert "LeftSemi" not in lines[0]
