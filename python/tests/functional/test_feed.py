"""The change feed of one entity and what is kept from it, told day by day."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update
from .feed_reading import call, query_all, render

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(3)]

COLUMNS = {"id": "int", "name": "string", "size": "decimal(12,3)", "at": "timestamp", "it's \"odd\"": "string"}  # fmt: skip
HEADER = 'id,name,size,at,"it\'s ""odd"""\n'
DAYS = {
    "2026-01-01": HEADER + "1,ann,1.500,2026-01-01 10:00:00.123456,\n2,bob,,,x\n3,cy,3,,\n",
    "2026-01-03": HEADER + "1,ann,,2026-01-01 10:00:00.123456,q\n3,cy,3,,\n4,di,4,,\n",
    # late: between the two; 5 is there and gone again, 2 leaves already then
    "2026-01-02": HEADER + "1,ann,2,,\n3,cy,3,,\n5,ed,5,,\n",
    "2026-01-04": HEADER + "1,ann,,2026-01-01 10:00:00.123456,q\n3,cz,3,,\n4,di,4,,\n",
}


@pytest.fixture(scope="module")
def people(module_project: Any) -> Entity:
    project = module_project
    entity = Entity(
        project, "people", COLUMNS, max_delete_fraction=1, feed_images=["change", "pre"]
    )
    project.write("models/people_feed.sql", "{{ config(materialized='feed', meta={'tidemark': {'feed_buckets': 4}}) }}\n"
                  "select * from ({{ tidemark.change_feed(ref('people'), images=['change', 'pre', 'post']) }})")  # fmt: skip
    place = {"materialized": "feed", "location_root": str(project.root / "tables")}
    project.write("models/people_names.sql", f"{{{{ config(**{place}) }}}}\n"
                  "select id, _commit_id, _change from ({{ tidemark.change_feed(ref('people_feed')) }})\n"
                  "where get_json_object(_change, '$.change.name') is not null")  # fmt: skip
    project.write("models/people_now.sql", "{{ config(materialized='view') }}\n"
                  "select * from ({{ tidemark.change_feed(ref('people'), images='post') }})")  # fmt: skip
    project.write("models/people_kept.sql", "{{ config(materialized='view') }}\n"
                  "select * from ({{ tidemark.change_feed(ref('people_feed')) }})")  # fmt: skip
    for day, text in DAYS.items():
        entity.extract(day, text)
        project.dbt("run", "--select", "people", "people_feed", "people_names",
                    *(["people_now", "people_kept"] if day == "2026-01-01" else []), vars={"business_date": day})  # fmt: skip
    return entity


def test_json(people: Entity) -> None:
    """Every digit, explicit NULLs, names that need quotes; the scopes of the YAML and of the query."""
    by_yaml, posts, by_struct = query_all(
        people.project,
        [
            call("change_feed", "people", "2026-01-01", "2026-01-03"),
            call("change_feed", "people", "2026-01-01", "2026-01-03", images=["post"]),
            # its fields: Hive's protocol makes a text of a struct, which is no JSON
            "select id, _change.event_type, string(_change.pre_image) as before, string(_change.post_image.size) as size "
            f"from ({call('change_feed', 'people', to='2026-01-01', images=['pre', 'post'], format='struct')})",
        ],
    )
    at = "2026-01-01T10:00:00.123456Z"
    bob = {"id": 2, "name": "bob", "size": None, "at": None, 'it\'s "odd"': "x"}
    ann = {"id": 1, "name": "ann", "size": 1.5, "at": at, 'it\'s "odd"': None}
    di = {"id": 4, "name": "di", "size": 4.0, "at": None, 'it\'s "odd"': None}
    found = {row["id"]: json.loads(row["_change"]) for row in by_yaml}
    assert found == {
        1: {"event_type": "update", "change": {"size": None, 'it\'s "odd"': "q"}, "pre_image": ann},
        2: {"event_type": "delete", "change": {}, "pre_image": bob},
        4: {
            "event_type": "insert",
            "change": {name: value for name, value in di.items() if name != "id"},
            "pre_image": None,
        },
    }
    assert '"size":1.500' in next(row["_change"] for row in by_yaml if row["id"] == 1)
    after = {row["id"]: json.loads(row["_change"])["post_image"] for row in posts}
    assert after == {1: {**ann, "size": None, 'it\'s "odd"': "q"}, 2: None, 4: di}
    assert {tuple(row) for row in by_struct} == {
        (1, "insert", None, "1.500"),
        (2, "insert", None, None),
        (3, "insert", None, "3.000"),
    }


def test_late_date_is_one_correction(people: Entity) -> None:
    commits = dict(people.commits("cast(business_date as string), commit_id"))
    late, net = query_all(
        people.project,
        [
            call("change_feed", "people", commits["2026-01-03"], commits["2026-01-02"]),
            call("net_changes", "people", "2026-01-01", commits["2026-01-02"]),
        ],
    )
    # current was as it is: what was there only between the dates is history
    assert late == []
    assert sorted(row["id"] for row in net) == [1, 2, 4]


def test_kept_feed_equals_the_derived_one(people: Entity) -> None:
    project = people.project
    (derived,) = query_all(
        project, [call("change_feed", "people", images=["change", "pre", "post"])]
    )
    columns = [name for name in derived[0].asDict() if name != "_changed_fields"]
    kept = people.rows(", ".join(f"`{name}`" for name in columns), "_feed")
    assert sorted(map(str, kept)) == sorted(
        str(tuple(row[name] for name in columns)) for row in derived
    )
    assert {row[0] for row in people.rows("_bucket", "_feed")} <= set(range(4))
    names = people.rows("id, get_json_object(_change, '$.change.name')", "_names")
    assert names == [(1, "ann"), (2, "bob"), (3, "cy"), (3, "cz"), (4, "di")]
    # a view reads up to the last commit whenever it is asked
    assert len(people.rows("*", "_now")) == len(people.rows("*", "_kept")) == len(derived)
    assert project.sql(
        "select count(*) from tidemark_commits where kind = 'feed' and source_relation like '%.people' "
    )[0][0] == len(DAYS)


def test_feed_that_died_is_not_doubled(people: Entity) -> None:
    project = people.project
    before = people.rows("*", "_feed")
    ours = "kind = 'feed' and relation like '%.people_feed'"
    last = project.sql(f"select max(source_commit_id) from tidemark_commits__log where {ours}")[0][
        0
    ]
    project.sql(f"delete from tidemark_commits__log where {ours} and source_commit_id = {last}")
    project.dbt("run", "--select", "people_feed")
    assert people.rows("*", "_feed") == before
    names = people.rows("*", "_names")
    project.dbt("run", "--select", "people_feed", "people_names", "--full-refresh", "--empty")
    assert (people.rows("*", "_feed"), people.rows("*", "_names")) == (before, names)
    # made anew by a run that died before it had appended; then what has a folder of its own
    for table in ("people_feed", "people_names"):
        project.sql(f"delete from {table}")
        project.sql(
            f"alter table {table} set tblproperties ('tidemark.feed_commit' = '999999999999999')"
        )
    project.dbt("run", "--select", "people_feed", "people_names")
    assert (people.rows("*", "_feed"), people.rows("*", "_names")) == (before, names)
    project.dbt("run", "--select", "people_feed", "people_names", "--full-refresh")
    assert (people.rows("*", "_feed"), people.rows("*", "_names")) == (before, names)


@pytest.mark.slow
def test_two_runs_at_once(people: Entity) -> None:
    """Of two runs of a feed one writes, whenever the other one looked."""
    project = people.project
    body = "select id, _commit_id from ({{ tidemark.change_feed(ref('people')) }})"
    columns = project.session.table(f"`{project.schema}`.tidemark_commits__log").columns
    values = {"relation": f"'{project.schema}.people_twice'", "entity": "'people_twice'"}
    chosen = ", ".join(f"{values.get(name, name)} as {name}" for name in columns)
    log = f"{project.schema}.tidemark_commits__log"
    other = f"insert into {log} select {chosen} from {log} where entity = 'people_feed' order by commit_id limit 1"
    hooked = {"materialized": "feed", "pre_hook": other}
    project.write("models/people_twice.sql", f"{{{{ config(**{hooked}) }}}} {body}")
    failed = project.dbt("run", "--select", "people_twice", expect_pass=False).error
    assert (
        "another run of the model read the same changes meanwhile. This run wrote nothing" in failed
    )
    assert not people.exists("_twice")
    project.sql("delete from tidemark_commits__log where entity = 'people_twice'")

    # past that question both append, at once and then again
    project.write("models/people_twice.sql", f"{{{{ config(materialized='feed') }}}} {body}")
    project.dbt("run", "--select", "people_twice", "--empty")
    cfg = {"model": "people_twice", "buckets": 1, "file_format": project.file_format}
    state = {"columns": [{"name": "id"}, {"name": "_commit_id"}], "others": "(_commit_id > 0)", "after": 0}  # fmt: skip
    rows = f"select id, _commit_id from {project.schema}.people_feed"
    template = f"{{{{ tidemark.append_to_feed({cfg}, ref('people_twice'), {state}, '{rows}') }}}}"
    (statement,) = render(project, [template])

    def append(_: int) -> str:
        try:
            project.query(statement)
        except Exception as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(append, range(2)))
    assert len([answer for answer in answers if not answer]) == 1, answers
    assert "another run of the model" in append(2)
    assert people.rows("id, _commit_id", "_twice") == people.rows("id, _commit_id", "_feed")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (call("change_feed", "people", "2026-01-04", "2026-01-01"), "lies after to"),
        (call("change_feed", "people", images=["old"]), "images must be pre, post or change"),
        (call("change_feed", "people", "2026-02-01"), "has not loaded business date 2026-02-01"),
        (call("change_feed", "people", to="2126-02-01 10:00"), "lies in the future"),
        (call("change_feed", "people", format="xml"), "format must be json or struct"),
    ],
)  # fmt: skip
def test_errors(people: Entity, template: str, message: str) -> None:
    result = people.project.dbt("compile", "--inline", template, expect_pass=False)
    assert message in result.output + str(result.error)


@pytest.mark.slow
def test_two_entities_as_one_unit(module_project: Any) -> None:
    """What is in flight for one of them holds back what came after it of both."""
    project = module_project
    orders = EventEntity(project, "orders", {"id": "int", "total": "int"})
    lines = EventEntity(project, "lines", {"id": "int", "order_id": "int"})
    for events in (
        ([insert({"id": 1, "total": 5})], [insert({"id": 7, "order_id": 1})]),
        ([update({"id": 1, "total": 6})], [delete({"id": 7})]),
    ):
        orders.land(events[0])
        lines.land(events[1])
        project.dbt("run", "--select", "orders", "lines")
    pull = "{{ tidemark.changes_between([ref('orders'), ref('lines')]) }}"
    (rows,) = query_all(project, [pull])
    assert [(row["_entity"], row["_operation"]) for row in rows if row["_entity"] == "lines"] == [
        ("lines", "I"),
        ("lines", "D"),
    ]
    assert sum(row["_entity"] == "orders" for row in rows) == 2
    assert {"orders", "lines"} == {row["_entity"] for row in rows[:2]}
    # a run of one of them that is going on since before the second commits
    begun = project.sql("select min(started_at) from tidemark_commits where entity = 'lines' and commit_id ="
                        " (select max(commit_id) from tidemark_commits where entity = 'lines')")[0][0]  # fmt: skip
    columns = project.session.table(f"`{project.schema}`.tidemark_commits__log").columns
    values = {"state": "'inflight'", "commit_id": "991231235959999", "completed_at": "null",
              "started_at": f"timestamp'{begun}'", "state_at": "current_timestamp()"}  # fmt: skip
    chosen = ", ".join(f"{values.get(name, name)} as {name}" for name in columns)
    project.sql(
        f"insert into tidemark_commits__log select {chosen} from tidemark_commits__log where entity = 'orders' limit 1"
    )
    (rows,) = query_all(project, [pull])
    assert {row["_operation"] for row in rows if row["_entity"] == "lines"} == {"I"}
    project.sql("delete from tidemark_commits__log where commit_id = 991231235959999")

    # a kept feed that leaves one of them out keeps its changes; one that turns to another entity does not give up those of the first
    def keep(both: str, one: str) -> None:
        for name, body in (("moves", both), ("turns", f"{{{{ tidemark.change_feed(ref('{one}')) }}}}")):  # fmt: skip
            project.write(f"models/{name}.sql", f"{{{{ config(materialized='feed') }}}} select * from ({body})")  # fmt: skip

    keep(pull, "orders")
    lines.load([insert({"id": 8, "order_id": 1})])
    project.dbt("run", "--select", "moves", "turns")
    kept = [{*map(str, project.sql(f"select * from {name}"))} for name in ("moves", "turns")]
    keep(pull.replace(", ref('lines')", ""), "lines")
    orders.load([update({"id": 1, "total": 7})])
    result = project.dbt("run", "--select", "moves", "turns", expect_pass=False)
    assert [*result.statuses.values()].count("error") == 1
    assert "its table has changes of" in result.messages["turns"]
    now = [{*map(str, project.sql(f"select * from {name}"))} for name in ("moves", "turns")]
    assert len(now[0] - kept[0]) == 1 and kept[0] < now[0] and now[1] == kept[1]


def _began_earlier(entity: Entity, commit_id: int) -> None:
    """Let the last load of an entity have begun before it did, and so have taken long."""
    project, last = entity.project, entity.commits("commit_id")[-1][0]
    project.sql(f"update {entity.name}__log set _commit_id = {commit_id} where _commit_id = {last}")
    project.sql(f"update tidemark_commits__log set commit_id = {commit_id} where commit_id = {last} and entity = '{entity.name}'")  # fmt: skip


@pytest.mark.slow
def test_slow_load_of_one_of_two(module_project: Any) -> None:
    """A load that began before another entity's, and ends after that was pulled, reaches every feed, once."""
    project = module_project
    boats = EventEntity(project, "boats", {"id": "int"})
    crews = EventEntity(project, "crews", {"id": "int"})
    feeds = {
        "sea_both": "select * from ({{ tidemark.changes_between([ref('boats'), ref('crews')]) }})",
        "sea_next": "select * from ({{ tidemark.change_feed(ref('sea_both')) }})",
        "sea_last": "select id, _commit_id from (select *, get_json_object(_change, '$.post_image.id') as id"
        " from ({{ tidemark.change_feed(ref('sea_next')) }}))",
    }
    for name, body in feeds.items():
        project.write(f"models/{name}.sql", "{{ config(materialized='feed') }}\n" + body)

    def run(*names: str) -> None:
        project.dbt("run", "--select", *names)

    def ids(name: str) -> str:
        column = "id" if name == "sea_last" else "get_json_object(_change, '$.post_image.id')"
        return " ".join(sorted(row[0] for row in project.sql(f"select {column} from {name}")))

    # 1: both; 2: crews, while boats are being loaded since before
    boats.land([insert({"id": 1})])
    crews.land([insert({"id": 2})])
    run("boats", "crews", *feeds)
    crews.land([insert({"id": 3})])
    run("crews", *feeds)
    pulled = crews.commits("commit_id")[-1][0]
    # so it was recorded before there were marks by entity
    project.sql("update tidemark_commits__log set details = null where kind = 'feed'")
    boats.land([insert({"id": 4})])
    run("boats")
    _began_earlier(boats, pulled - 1)
    before = project.sql("select max(commit_id) from tidemark_commits where entity = 'sea_both'")[0][0]  # fmt: skip
    run(*feeds)
    assert {name: ids(name) for name in feeds} == dict.fromkeys(feeds, "1 2 3 4")
    page = project.dbt("run-operation", "feed_query", "--args", "{entity: sea_both}").output
    cursor = json.loads(page.partition("tidemark feed ")[2].partition("\n")[0])["to"]
    # whoever goes on after a run of the feed, or after a commit of it that came before
    since = [call("change_feed", "sea_both", start) for start in (before, pulled, pulled - 1)]
    rest = call("change_feed", "sea_both", cursor)
    until = call("change_feed", "sea_both", to=pulled)
    late, after, none, no_more, first = query_all(project, [*since, rest, until])
    assert [row["_entity"] for row in late] == [row["_entity"] for row in after] == ["boats"]
    assert (none, no_more, len(first)) == ([], [], 3)

    # 3: as if that run had died before it recorded what it had read: of what they need nothing is cleaned
    for name in ("sea_next", "sea_last"):
        last = project.sql(f"select max(commit_id) from tidemark_commits where entity = '{name}'")[0][0]  # fmt: skip
        project.sql(f"delete from tidemark_commits__log where entity = '{name}' and commit_id = {last}")  # fmt: skip
    arguments = "{entity: sea_both, retention: {feed: 0 minutes}}"
    project.dbt("run-operation", "clean", "--args", arguments)
    assert ids("sea_both") == "4"
    run("sea_next", "sea_last")
    # and a feed that is built anew below others
    project.dbt("run", "--select", "sea_both", "--full-refresh")
    run(*feeds)
    assert {name: ids(name) for name in feeds} == dict.fromkeys(feeds, "1 2 3 4")


@pytest.mark.slow
def test_log_begun_anew(module_project: Any) -> None:
    """A full refresh: dates mean their loads in the new log, and what is in the old one is refused, never left out."""
    project = module_project
    towns = Entity(project, "towns", {"id": "int", "name": "string"}, max_delete_fraction=1)
    ports = Entity(project, "ports", {"id": "int", "name": "string"}, max_delete_fraction=1)
    feeds = {
        "towns_feed": ("feed", "change_feed(ref('towns'))"),
        "towns_next": ("feed", "change_feed(ref('towns_feed'))"),
        "towns_view": ("view", "changes_between([ref('towns'), ref('ports')])"),
    }
    for name, (kind, body) in feeds.items():
        text = f"{{{{ config(materialized='{kind}') }}}} select * from ({{{{ tidemark.{body} }}}})"
        project.write(f"models/{name}.sql", text)
    for day, names in (("2026-01-01", "ab"), ("2026-01-02", "cb")):
        for entity in (towns, ports):
            entity.extract(day, f"id,name\n1,{names[0]}\n2,{names[1]}\n")
        project.dbt("run", "--select", "towns", "ports", vars={"business_date": day})
        if day == "2026-01-01":
            project.dbt("run", "--select", *feeds)
    # a view is not as far as its entities were when it was made
    assert towns.rows("_entity, _operation", "_view", "_business_date = date'2026-01-02'") == [
        ("ports", "U"),
        ("towns", "U"),
    ]
    # a date that came again with nothing new is where a consumer may go on
    towns.run("2026-01-02")
    pull = "{{ tidemark.changes_between([ref('towns'), ref('ports')], from=%d) }}"
    (rows,) = query_all(project, [pull % towns.commits("commit_id")[-1][0]])
    assert rows == []

    old = towns.commits("commit_id")[1][0]
    towns.run("2026-01-01", "--full-refresh")
    towns.run("2026-01-02")
    (from_date,) = query_all(project, [call("change_feed", "towns", "2026-01-01")])
    assert [(row.id, row._operation) for row in from_date] == [(1, "U")]
    (to_date,) = query_all(project, [call("change_feed", "towns", to="2026-01-01")])
    assert [(row.id, row._operation) for row in to_date] == [(1, "I"), (2, "I")]
    for template, message in (
        (call("change_feed", "towns", to=old), "was started again in commit"),
        (call("as_of", "towns", "2026-01-02", known_at=old), "known_at"),
        (call("scd2", "towns", known_at=5), "has no completed commit 5"),
    ):
        result = project.dbt("compile", "--inline", template, expect_pass=False)
        assert message in result.output + str(result.error)
    again = "Build the feed again with --full-refresh"
    assert again in project.dbt("run", "--select", "towns_feed", expect_pass=False).error
    # a feed on top of one that begins later now than it had read
    project.dbt("run", "--select", "towns_feed", "--full-refresh")
    assert again in project.dbt("run", "--select", "towns_next", expect_pass=False).error
    template = call("change_feed", "towns_feed", old)
    result = project.dbt("compile", "--inline", template, expect_pass=False)
    assert "The first available from is" in result.output + str(result.error)
    (whole,) = query_all(project, [call("change_feed", "towns_feed")])
    assert len(whole) == 3
    project.dbt("run", "--select", "towns_next", "--full-refresh")
    assert len(towns.rows("*", "_next")) == 3

    towns.operate("rollback", to="2026-01-01")
    assert towns.rows("id, name") == [(1, "a"), (2, "b")]
    project.dbt("run", "--select", "towns_feed")
    towns.operate("clean", retention="{feed: 0 minutes}")
    project.dbt("run", "--select", "towns_feed", "--full-refresh")
    assert towns.rows("*", "_feed") == []
    assert again in project.dbt("run", "--select", "towns_next", expect_pass=False).error


@pytest.mark.slow
def test_before_anything_has_landed(module_project: Any) -> None:
    """The first run of a new project: feeds begin empty, and take the first commit with the columns that it brings."""
    project = module_project
    quiet = EventEntity(project, "quiet", {"id": "", "name": "string"})
    other = EventEntity(project, "other", {"id": "int"})
    feed = "{{{{ config(materialized='{}') }}}}\nselect * from ({{{{ tidemark.{} }}}})"
    models = {
        "quiet_feed": ("feed", "change_feed(ref('quiet'), format='struct')"),
        "quiet_net": ("table", "net_changes(ref('quiet'))"),
        "quiet_both": ("feed", "changes_between([ref('quiet'), ref('other')])"),
        "quiet_next": ("feed", "change_feed(ref('quiet_both'))"),
    }
    for name, (kind, body) in models.items():
        project.write(f"models/{name}.sql", feed.format(kind, body))
    names = ["quiet+", "other+"]
    project.dbt("run", "--select", *names)
    assert all(quiet.rows("*", name.removeprefix("quiet")) == [] for name in models)
    quiet.land([insert({"id": 1, "name": "ann"}), update({"id": 1, "name": "eve"})])
    project.dbt("run", "--select", *names)
    assert quiet.rows("id, _operation, _change.post_image.name", "_feed") == [
        (1, "I", "ann"),
        (1, "U", "eve"),
    ]
    assert quiet.rows("id, _operation", "_net") == [(1, "I")]
    both = quiet.rows("_entity, _operation", "_both")
    assert both == quiet.rows("_entity, _operation", "_next") == [("quiet", "I"), ("quiet", "U")]
    other.land([insert({"id": 7})])
    project.dbt("run", "--select", *names)
    assert quiet.rows("_entity, _operation", "_next") == [("other", "I"), *both]
