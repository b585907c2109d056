"""Rules that rows are held to: warned of, put aside, or reasons to stop; extracts and change events, by both engines."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests.conftest import Project
from tests.pages import blocks_run_by

from .enriched_events import add_events, event_id, event_line, land, stored_events
from .entities import Entity
from .event_entities import EventEntity, ddl, delete, insert, update
from .test_crash import last_commit, put_back

pytestmark = pytest.mark.iceberg
COLUMNS = {"id": "int", "amount": "decimal(10,2)", "state": "string"}
RULES = [
    {"name": "positive", "check": "amount >= 0.0", "on_fail": "quarantine"},
    {"name": "known", "check": "state in ('new', 'paid')", "on_fail": "warn"},
    {"name": "small", "check": "amount < 100.0", "on_fail": "fail", "at_most": "50 %"},
]
ENGINES = [
    pytest.param("workers", marks=pytest.mark.turn(0, 2)),
    pytest.param("spark", marks=pytest.mark.turn(1, 3)),
]


def broken(entity: Entity) -> list[Any]:
    """What each commit says of the rules, the first one first."""
    found = entity.project.sql(
        f"select rules from tidemark_commits where entity = '{entity.name}' order by commit_id"
    )
    return [json.loads(row[0]) for row in found]


@pytest.mark.parametrize("engine", ENGINES)
def test_extract(project: Project, engine: str) -> None:
    entity = Entity(
        project, f"orders_{engine}", COLUMNS, on_reject="quarantine", rules=RULES, engine=engine
    )
    told = entity.load(
        "2026-03-01", "id,amount,state\n1,5,new\n2,-1,paid\n3,,odd\n4,x,odd\n5,500,\n"
    )
    assert entity.rows("id, amount, state") == [(1, 5, "new"), (3, None, "odd"), (5, 500, None)]
    rejects = {row[0]: row[1] for row in entity.rows("_reject_reason, _raw_payload", "__rejects")}
    assert rejects.keys() == {"rule: positive", "cast_failed: amount"}
    assert json.loads(rejects["rule: positive"])["state"] == "paid"
    assert broken(entity) == [{"positive": 1, "known": 1, "small": 1}]
    said = " ".join(told.output.split())
    assert (
        "known (state in ('new', 'paid')): 1 of 5 rows fails" in said and "1 rule: positive" in said
    )

    # what is rejected stays as it is; what comes right is taken
    entity.load("2026-03-02", "id,amount,state\n1,-5,new\n2,1,paid\n3,,new\n5,1,new\n")
    assert entity.rows("id, amount, state") == [
        (1, 5, "new"),
        (2, 1, "paid"),
        (3, None, "new"),
        (5, 1, "new"),
    ]

    # over its part a rule stops the load, before anything is written
    failed = entity.load(
        "2026-03-03", "id,amount,state\n1,100,new\n2,500,paid\n", expect_pass=False
    )
    said = " ".join(failed.error.split())
    assert (
        "rows fail rules of the YAML; nothing was written - small (amount < 100.0): 2 of 2 rows fail, and at most 50 % may"
        in said
    )
    assert len(broken(entity)) == 2

    # a late date is held to them, too, and the date after it as it was
    entity.load("2026-02-28", "id,amount,state\n1,-3,new\n2,7,paid\n9,9,new\n")
    assert entity.rows("cast(_business_date as string), id, _operation, amount", "__history") == [
        ("2026-02-28", 2, "I", 7), ("2026-02-28", 9, "I", 9),
        ("2026-03-01", 1, "I", 5), ("2026-03-01", 3, "I", None), ("2026-03-01", 5, "I", 500), ("2026-03-01", 9, "D", 9),
        ("2026-03-02", 2, "U", 1), ("2026-03-02", 3, "U", None), ("2026-03-02", 5, "U", 1),
    ]  # fmt: skip
    rejected = entity.rows("cast(_business_date as string), _reject_reason", "__rejects")
    assert ("2026-02-28", "rule: positive") in rejected


@pytest.mark.parametrize("engine", ENGINES)
def test_events(project: Project, engine: str) -> None:
    entity = EventEntity(
        project, f"events_{engine}", COLUMNS, on_reject="quarantine", rules=RULES, engine=engine
    )
    entity.load([
        insert({"id": 1, "amount": 5, "state": "new"}), insert({"id": 2, "amount": -1, "state": "paid"}), insert({"id": 3, "amount": 7, "state": "odd"}),
    ])  # fmt: skip
    assert entity.rows("id, amount") == [(1, 5), (3, 7)]
    entity.load(
        [update({"id": 1, "amount": -2}), update({"id": 3, "state": "new"}), delete({"id": 3})]
    )
    assert entity.rows("id, amount") == [(1, 5)]
    assert (
        sorted(row[0] for row in entity.rows("_reject_reason", "__rejects"))
        == ["rule: positive"] * 2
    )
    assert broken(entity) == [
        {"positive": 1, "known": 1, "small": 0},
        {"positive": 1, "known": 0, "small": 0},
    ]
    failed = entity.load([insert({"id": 8, "amount": 500})], expect_pass=False)
    assert "small (amount < 100.0): 1 of 1 row fails, and at most 50 % may" in " ".join(
        failed.error.split()
    )
    assert entity.rows("id, amount") == [(1, 5)]


@pytest.mark.turn(0, 3)
@pytest.mark.parametrize("on_fail", ["fail", "quarantine"])
def test_events__a_rule_sees_one_row(project: Project, on_fail: str) -> None:
    rule = {"name": "few", "check": "count(*) < 9", "on_fail": on_fail}
    asked: dict[str, Any] = {"on_reject": "quarantine", "rules": [rule]}
    entity = EventEntity(project, f"few_{on_fail}", COLUMNS, **asked)
    failed = entity.load([insert({"id": 1, "amount": 5})], expect_pass=False)
    assert "rules.few: `count(*) < 9` is no SQL expression: it sees one row" in " ".join(
        failed.error.split()
    )
    assert not entity.exists("__log")


@pytest.mark.turn(1, 2)
def test_events__behind_a_statement_that_alters_the_table(project: Project) -> None:
    """A load that a rule stops leaves the table as it was before the statement, and no commit in flight."""
    told = [{"name": name, "type": kind} for name, kind in COLUMNS.items()]
    entity = EventEntity(
        project,
        "altered",
        COLUMNS,
        on_reject="quarantine",
        max_reject_fraction=1,
        rules=[{"name": "small", "check": "amount < 100.0"}],
    )
    entity.load([insert({"id": 1, "amount": 5, "state": "new"}, sequence_num=1)])
    columns = [row[0] for row in project.sql("describe table altered")]
    wider = [*told, {"name": "note", "type": "string"}]
    events = [
        insert({"id": 2, "amount": 6, "state": "new"}, sequence_num=2),
        ddl("ALTER_TABLE", [wider[0], wider[1], {"name": "status", "type": "string", "previous_name": "state"}, wider[3]], sequence_num=3),
        insert({"id": 3, "amount": 500, "status": "new", "note": "x"}, sequence_num=4),
    ]  # fmt: skip
    failed = entity.load(events, expect_pass=False)
    assert "small (amount < 100.0): 1 of 2 rows fails, and none may" in " ".join(
        failed.error.split()
    )
    assert [row[0] for row in project.sql("describe table altered")] == columns
    assert {state for (state,) in entity.commits("state")} <= {"completed", "rolled_back"}
    assert entity.rows("id, amount") == [(1, 5)]


@pytest.mark.turn(1, 3)
def test_constraints_and_columns(project: Project) -> None:
    """A rule of a column, dbt's constraints, values that a column may have, and mistakes."""
    entity = Entity(project, "held", COLUMNS, rules=[{"name": "dated", "check": "id <> 7"}])
    path = project.root / "models" / "held.yml"
    properties = json.loads(path.read_text())
    _, amount, state = properties["models"][0]["columns"]
    state["config"] = {
        "meta": {"tidemark": {"rules": [{"name": "known", "accepted_values": ["new", "it's"]}]}}
    }
    amount["constraints"] = [{"type": "check", "expression": "amount > 0", "name": "more than 0"}]
    path.write_text(json.dumps(properties))
    assert entity.load("2026-03-01", "id,amount,state\n1,5,it's\n2,,\n").success
    failed = entity.load("2026-03-02", "id,amount,state\n7,-5,odd\n", expect_pass=False)
    said = " ".join(failed.error.split())
    for name in (
        "dated (id <> 7)",
        "known (`state` in ('new', 'it\\'s'))",
        "more_than_0 (amount > 0)",
    ):
        assert f"{name}: 1 of 1 row fails, and none may" in said
    assert entity.rows("id") == [(1,), (2,)]
    entity.write(rules=[{"name": "dated", "check": "idd <> 7"}])
    failed = entity.run("2026-03-02", expect_pass=False)
    assert (
        "rules.dated names column `idd`, which the extract does not have; did you mean `id`"
        in " ".join(failed.error.split())
    )
    entity.write(rules=[{"name": "dated", "check": "id"}])
    failed = entity.run("2026-03-02", expect_pass=False)
    assert (
        "rules.dated: `id` is no SQL expression: it is no condition, but has the type INT"
        in " ".join(failed.error.split())
    )
    entity.write(rules=[{"name": "dated", "check": "id <>"}])
    assert "is no SQL expression" in entity.run("2026-03-02", expect_pass=False).error
    # a rule sees one row
    entity.write(rules=[{"name": "first", "check": "row_number() over (order by id) < 2"}])
    failed = entity.run("2026-03-02", expect_pass=False)
    assert "no aggregate and no window function" in " ".join(failed.error.split())
    entity.write(rules=[{"name": "few", "check": "count(*) < 9"}])
    failed = entity.run("2026-03-02", expect_pass=False)
    assert "rules.few: `count(*) < 9` is no SQL expression: it sees one row" in " ".join(
        failed.error.split()
    )


@pytest.mark.turn(0, 2)
def test_the_page(project: Project) -> None:
    """The example of the page: what is put aside, what stops, what is warned of."""
    (page,) = blocks_run_by("test_row_rules.py::test_the_page")
    (model,) = yaml.safe_load(page.text)["models"]
    meta = model["config"]["meta"]["tidemark"]
    meta["location"] = str(project.root / "extracts" / "orders" / "{business_date}.csv")
    entity = Entity(project, "orders", COLUMNS)
    model["config"]["file_format"] = project.file_format
    (project.root / "models" / "orders.yml").write_text(json.dumps({"models": [model]}))
    head = "id,amount,ordered,shipped,state\n"
    told = entity.load("2026-03-01", head + "1,5,2026-03-01,,new\n2,-1,2026-03-01,2026-03-01,odd\n")
    assert entity.rows("id") == [(1,)] and broken(entity) == [
        {"positive_amount": 1, "ships_after_order": 0, "known_state": 1}
    ]
    failed = entity.load("2026-03-02", head + "1,5,2026-03-02,2026-03-01,odd\n", expect_pass=False)
    assert "ships_after_order (shipped >= ordered): 1 of 1 row fails, and none may" in " ".join(
        failed.error.split()
    )
    told = entity.load("2026-03-02", head + "1,5,2026-03-01,2026-03-02,odd\n")
    assert "known_state (`state` in ('new', 'paid')): 1 of 1 row fails" in " ".join(
        told.output.split()
    )


@pytest.mark.turn(3)
def test_a_commit_that_is_finished_keeps_its_counts(project: Project) -> None:
    entity = Entity(project, "finished", COLUMNS, on_reject="quarantine", rules=RULES)
    entity.load("2026-03-01", "id,amount,state\n1,5,new\n2,-1,paid\n")
    entity.load("2026-03-02", "id,amount,state\n1,6,odd\n2,-1,paid\n")
    kept = broken(entity)
    put_back(entity, last_commit(entity), "")
    assert "finished commit" in entity.run("2026-03-02").output
    assert (
        broken(entity)[:2]
        == kept
        == [{"positive": 1, "known": 0, "small": 0}, {"positive": 1, "known": 1, "small": 0}]
    )


@pytest.mark.turn(1, 3)
def test_plan(project: Project) -> None:
    """A plan tells that a rule would stop the load; a date that comes again is held to the rules of today."""
    entity = Entity(project, "planned", COLUMNS)
    entity.load("2026-03-01", "id,amount,state\n1,-5,new\n2,1,new\n")
    entity.write(rules=[{"name": "positive", "check": "amount >= 0.0"}])
    failed = entity.run("2026-03-01", expect_pass=False)
    assert "positive (amount >= 0.0): 1 of 2 rows fails, and none may" in " ".join(
        failed.error.split()
    )
    entity.write(rules=[{"name": "positive", "check": "amount >= 0.0", "at_most": 0.5}])
    entity.run("2026-03-01")
    assert entity.rows("id") == [(1,), (2,)]


LOOK_UPS = [
    {
        "name": "known_place",
        "relationships": {"columns": ["country", "state"], "to": "ref('countries')", "fields": ["code", "state"]},
        "on_fail": "warn",
    },
]  # fmt: skip


def look_up_column(entity: Entity, **rule: Any) -> None:
    """Have the column `country` look up the codes of the model `countries`, as the page does."""
    (page, _) = blocks_run_by("test_row_rules.py::test_look_ups")
    (column,) = yaml.safe_load(page.text)["columns"]
    (found,) = column["config"]["meta"]["tidemark"]["rules"]
    path = entity.project.root / "models" / f"{entity.name}.yml"
    properties = json.loads(path.read_text())
    rules = [{**found, **rule}]
    properties["models"][0]["columns"][1]["config"] = {"meta": {"tidemark": {"rules": rules}}}
    path.write_text(json.dumps(properties))


@pytest.mark.parametrize("engine", ENGINES)
def test_look_ups(project: Project, engine: str) -> None:
    """Values that another table must have: NULL is no failure on either side, a copy there is no second row here."""
    columns = {"id": "int", "country": "string", "state": "string"}
    settings = {"on_reject": "quarantine", "engine": engine, "rules": LOOK_UPS}
    (_, page) = blocks_run_by("test_row_rules.py::test_look_ups")
    extract = Entity(project, "zz_of_extract", columns, body=page.text, **settings)
    events = EventEntity(project, "aa_of_events", columns, body=page.text, **settings, location=str(project.root / "landing" / "aa_of_events"))  # fmt: skip
    codes = "('NO', 'new', 1), ('NO', 'paid', 2), ('NO', 'new', 3), (cast(null as string), null, 4)"
    project.write(
        "models/countries.sql",
        f"{{{{ config(materialized='table', file_format='{project.file_format}') }}}}\n"
        f"select * from values {codes} as t(code, state, country)",
    )
    for entity in (extract, events):
        look_up_column(entity)
    extract.extract("2026-03-01", "id,country,state\n1,NO,new\n2,SE,new\n3,,odd\n4,NO,odd\n")
    events.land([insert({"id": 1, "country": "NO", "state": "new"}), insert({"id": 2, "country": "SE", "state": "new"}), insert({"id": 3, "country": None, "state": "odd"}), insert({"id": 4, "country": "NO", "state": "odd"})])  # fmt: skip
    told = project.dbt("run", vars={"business_date": "2026-03-01"})
    for entity in (extract, events):
        assert entity.rows("id, country") == [(1, "NO"), (3, None), (4, "NO")]
        assert entity.rows("_reject_reason", "__rejects") == [("rule: known_country",)]
        assert broken(entity) == [{"known_place": 2, "known_country": 1}]
    assert "known_place (country, state in ref('countries'): code, state): 2 of 4 rows fail" in " ".join(told.output.split())  # fmt: skip
    assert "by Spark SQL" not in told.output

    if engine == "spark":
        # of a body that has but a comment more
        told = extract.operate("restate", **{"from": "2026-03-01"})
        assert "nothing differs" in told.output
        extract.extract("2026-03-02", "id,country,state\n1,SE,new\n3,NO,paid\n4,NO,paid\n")
        told = extract.run("2026-03-02", plan=True)
        assert "PLAN I 0, U 2, D 0, rejected 1" in told.output, told.output
    entity = extract if engine == "spark" else events
    look_up_column(entity, relationships={"to": "ref('countries')", "field": "cod"})
    lands = extract.extract if entity is extract else events.land
    lands(
        *(
            ("2026-03-02", "id,country,state\n1,NO,new\n")
            if entity is extract
            else ([delete({"id": 1})],)
        )
    )
    failed = project.dbt("run", "--select", entity.name, vars={"business_date": "2026-03-02"}, expect_pass=False)  # fmt: skip
    assert "known_country names column `cod`, which ref('countries') does not have; did you mean `code`?" in " ".join(failed.error.split())  # fmt: skip


@pytest.mark.turn(0, 2)
def test_enriched_events(project: Project) -> None:
    """Rules of an atomic model judge events by their typed columns; a copy counts as a line that was read."""
    rules = [
        {"name": "of_shop", "check": "app_id = 'shop'", "on_fail": "quarantine"},
        {"name": "known", "relationships": {"columns": ["geo_country"], "to": "ref('countries')", "fields": ["code"]}, "on_fail": "quarantine"},
        {"name": "positive", "check": "tr_total > 0", "on_fail": "warn"},
        {"name": "viewed", "check": "event = 'page_view'", "at_most": "50 %"},
    ]  # fmt: skip
    project.write("models/countries.sql", "{{ config(materialized='table') }}\nselect 'NO' as code")
    body = "-- depends_on: {{ ref('countries') }}\n{{ tidemark.extract() }}"
    landing = add_events(project, body=body, rules=json.dumps(rules))
    lines = [
        event_line(1, tr_total="-1.5", geo_country="NO"), event_line(1, tr_total="-1.5", geo_country="NO"), event_line(2, app_id="other"),
        event_line(3, geo_country="SE"), event_line(4, tr_total="2", event="struct"), event_line(5, tr_total="x"),
    ]  # fmt: skip
    land(landing, "1.tsv", lines)
    told = " ".join(project.dbt("run").output.split())
    assert {row["event_id"] for row in stored_events(project)} == {event_id(1), event_id(4)}
    rejects = [row[0] for row in project.sql("select _reject_reason from events__rejects")]
    assert sorted(rejects)[1:] == ["rule: known", "rule: of_shop"] and "tr_total" in min(rejects)
    (counts,) = project.sql("select rules from tidemark_commits where entity = 'events'")
    assert json.loads(counts[0]) == {"of_shop": 1, "known": 1, "positive": 2, "viewed": 1}
    assert "positive (tr_total > 0): 2 of 6 rows fail" in told

    land(landing, "2.tsv", [event_line(6, event="struct")])
    failed = project.dbt("run", "--select", "events", expect_pass=False)
    assert "viewed (event = 'page_view'): 1 of 1 row fails, and at most 50 % may" in " ".join(failed.error.split())  # fmt: skip
    assert len(stored_events(project)) == 2
    path = project.root / "models" / "_events.yml"
    path.write_text(path.read_text().replace("tr_total >", "tr_totl >"))
    failed = project.dbt("run", "--select", "events", expect_pass=False)
    assert "rules.positive names column `tr_totl`, which an enriched event does not have; did you mean `tr_total`" in " ".join(failed.error.split())  # fmt: skip
