"""What is done to enriched events beside loading them: manifest, export, rollback, clean, full refresh."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.functional.enriched_events import (
    add_events,
    add_products,
    assert_same_events,
    commits_of,
    event_id,
    event_line,
    land,
    stored_events,
    typed,
)
from tests.functional.interrupted import die_at
from tidemark.shred.enriched import COLUMNS, fingerprint, parse_line, synthetic_id

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(3)]


def operation(project: Project, name: str, expect_pass: bool = True, **arguments: object) -> str:
    result = project.dbt(
        "run-operation", name, "--args", json.dumps(arguments), expect_pass=expect_pass
    )
    return result.output if expect_pass else result.error + result.output


@pytest.mark.slow
def test_populate_manifest(project: Project) -> None:
    landing = add_events(project, deduplicate=["natural_in_batch", "synthetic_in_batch"])
    old = "2025-06-01 00:00:00.000"
    first = [
        event_line(1),
        event_line(2, event_fingerprint=None),
        event_line(3),
        event_line(3, event_fingerprint="other"),
        event_line(4, etl_tstamp=old),
        event_line(5, etl_tstamp=None),
    ]
    land(landing, "one.tsv", first)
    project.dbt("run")
    # the steps across batches are switched on
    add_events(project)
    land(landing, "two.tsv", [*first, event_line(1, event_fingerprint="new"), event_line(6)])
    assert "populate_manifest" in project.dbt("run", expect_pass=False).error
    output = operation(project, "populate_manifest", entity="events", since="2026-01-01")
    assert "claimed 5 events" in output
    claims = project.sql(
        "select event_id, fingerprint, cast(expires_at as string) from events__manifest"
    )
    computed = fingerprint(parse_line(first[1]))
    expires = "2026-08-31 10:00:00"
    assert sorted(map(tuple, claims)) == sorted(
        [
            (event_id(1), "f1", expires),
            (event_id(2), computed, expires),
            (event_id(3), "f3", expires),
            (event_id(3), "other", expires),
            (event_id(5), "f5", "2026-08-31 09:30:00"),
        ]
    )
    assert "claimed 0 events" in operation(
        project, "populate_manifest", entity="events", since="2026-01-01"
    )
    project.dbt("run")
    # 4 is older than what was claimed; 1 has a new content
    assert commits_of(project)[-1] == (8, 3, 0, 0, 5, 0, 1, 5)
    ids = {row["event_id"] for row in stored_events(project)}
    assert synthetic_id(event_id(1), "new") in ids


@pytest.mark.slow
def test_populate_manifest__of_batches_that_are_taken_back(project: Project) -> None:
    """Their events come again and are no copies; those of a batch that stays are claimed all the same."""
    landing = add_events(project, deduplicate=["synthetic_in_batch"])
    land(landing, "one.tsv", [event_line(1), event_line(2)])
    project.dbt("run")
    first = project.sql("select max(commit_id) from tidemark_commits where kind = 'load'")[0][0]
    second = [event_line(3), event_line(3, event_fingerprint="other"), event_line(2)]
    land(landing, "two.tsv", second)
    project.dbt("run")
    assert "claimed 4 events" in operation(project, "populate_manifest", entity="events")
    # so few columns may another tool's table have
    project.sql(
        f"create table other as select '{event_id(9)}' as event_id, 'f9' as event_fingerprint, timestamp'2026-03-04 09:00:00' as collector_tstamp"
    )
    arguments = {"entity": "events", "from": f"{project.schema}.other"}
    assert "claimed 1 events" in operation(project, "populate_manifest", **arguments)
    add_events(project)
    operation(project, "rollback", entity="events", to=first)
    claims = project.sql("select event_id from events__manifest order by 1")
    assert [row[0] for row in claims] == [event_id(1), event_id(2), event_id(9)]
    land(landing, "three.tsv", [event_line(9)])
    project.dbt("run")
    assert commits_of(project)[-1] == (4, 2, 0, 0, 2, 2, 0, 2)
    # what is stored while no step looks across batches has no claims
    add_events(project, deduplicate=["natural_in_batch"])
    land(landing, "four.tsv", [event_line(10)])
    project.dbt("run")
    add_events(project)
    land(landing, "five.tsv", [event_line(10)])
    error = project.dbt("run", expect_pass=False).error
    assert "is not claimed in" in error and "populate_manifest" in error
    operation(project, "populate_manifest", entity="events")
    project.dbt("run")
    assert commits_of(project)[-1] == (1, 0, 0, 0, 1, 0, 0, 1)
    # a full refresh reads the model's own events anew; those of the other tool are claimed as before
    for manifest in (None, "shared"):
        add_events(project, manifest=manifest)
        if manifest:
            operation(project, "populate_manifest", entity="events")
            operation(project, "populate_manifest", **arguments)
        project.dbt("run", "--full-refresh")
        ids = [event_id(number) for number in (1, 2, 3, 10)]
        claims = project.sql(
            f"select distinct event_id from {manifest or 'events__manifest'} order by 1"
        )
        assert [row[0] for row in claims] == [*ids[:-1], event_id(9), ids[-1]]
        assert project.sql("select * from events where event_fingerprint = 'f9'") == []


@pytest.mark.slow
def test_populate_manifest__goes_on_where_it_died(project: Project) -> None:
    landing = add_events(project, deduplicate=["natural_in_batch"])
    days = [f"2026-03-0{day} 10:00:00.000" for day in (1, 2, 3)]
    land(landing, "one.tsv", [event_line(n, etl_tstamp=day) for n, day in enumerate(days)])
    project.dbt("run")
    operation(project, "populate_manifest", entity="events")
    # as it would be, had the call died after its first day
    project.sql("delete from events__manifest where etl_tstamp > timestamp'2026-03-01 10:00:00'")
    project.sql(
        "delete from tidemark_commits__log where kind = 'populate_manifest' and (state = 'completed' or details not like '%\"done_to\": \"2026-03-01\"%')"
    )
    output = operation(project, "populate_manifest", entity="events")
    assert "goes on after 2026-03-01" in output and "claimed 2 events" in output
    assert len(project.sql("select * from events__manifest")) == 3


@pytest.mark.slow
def test_export_and_read_again(project: Project) -> None:
    landing = add_events(project)
    product = "iglu:com.acme/product/jsonschema/1-0-1"
    lines = [
        event_line(
            1,
            contexts=[(product, {"sku": "ä\t1", "price": 1.5}), (product, {"sku": "b"})],
            br_cookies="1",
            tr_total="8000",
            se_value="9.5",
            txn_id="28288",
            page_title="größer",
        ),
        event_line(2, derived_tstamp="2026-03-29 01:30:00.123456"),
        event_line(2, event_fingerprint="g"),
    ]
    land(landing, "one.tsv", lines)
    project.dbt("run")
    out = project.root / "shredded"
    assert "path must be absolute" in operation(
        project, "export", expect_pass=False, entity="events", path="shredded"
    )
    output = operation(project, "export", entity="events", path=str(out))
    assert "3 events and 4 entities" in output
    (run,) = out.iterdir()
    exported = read_lines(run / "atomic-events")
    assert {len(line.split("\t")) for line in exported} == {131}
    assert_same_events([typed(parse_line(line)) for line in exported], stored_events(project))
    folder = run / "shredded-types/vendor=com.acme/name=product/format=jsonschema/version=1-0-1"
    found = sorted(read_lines(folder))
    assert found[0] == (
        '{"schema":{"vendor":"com.acme","name":"product","format":"jsonschema","version":"1-0-1"},'
        '"data":{"price":1.5,"sku":"ä\\t1"},'
        f'"hierarchy":{{"rootId":"{event_id(1)}","rootTstamp":"2026-03-04 09:30:00.000",'
        '"refRoot":"events","refTree":["events","product"],"refParent":"events"}}'
    )
    duplicates = read_lines(
        run
        / "shredded-types/vendor=com.snowplowanalytics.snowplow/name=duplicate/format=jsonschema/version=1-0-0"
    )
    assert {json.loads(line)["data"]["originalEventId"] for line in duplicates} == {event_id(2)}
    # nothing new since; and without the columns that hold JSON
    last = run.name.removeprefix("run=")
    assert "nothing to export" in operation(
        project, "export", entity="events", path=str(out), **{"from": last}
    )
    operation(project, "export", entity="events", path=str(out), json_columns=False)
    assert {len(line.split("\t")) for line in read_lines(run / "atomic-events")} == {128}
    assert len(read_lines(folder)) == 2
    # what was exported can be loaded: the same events, but those that were renamed are as they are
    again = add_events(project, "again", deduplicate=["natural_in_batch"])
    land(again, "exported.tsv", exported)
    project.dbt("run", "--select", "again")
    assert_same_events(stored_events(project, "again"), stored_events(project))
    # a range that ends where another one did, and has no entities: none of the other stays
    land(landing, "two.tsv", [event_line(4)])
    project.dbt("run", "--select", "events")
    operation(project, "export", entity="events", path=str(out))
    operation(project, "export", entity="events", path=str(out), **{"from": last})
    run = max(out.iterdir())
    assert run.name != f"run={last}" and len(read_lines(run / "atomic-events")) == 1
    assert [*(run / "shredded-types").rglob("part-*")] == []


def read_lines(folder: Path) -> list[str]:
    return [
        line
        for path in sorted(folder.glob("part-*"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]


@pytest.mark.slow
def test_full_refresh__of_tables_in_a_folder_of_their_own(project: Project, tmp_path: Path) -> None:
    """What is set aside keeps its folder, what takes its place begins in an empty one; a table of entities is replaced."""
    landing = add_events(project)
    add_products(project)
    settings = project.root / "dbt_project.yml"
    apart = f"models: {{tests: {{+location_root: '{tmp_path}', "
    settings.write_text(settings.read_text().replace("models: {tests: {", apart))
    product = ("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})
    land(landing, "a.tsv", [event_line(number, [product]) for number in (1, 2)])
    project.dbt("run")
    for _ in range(2):
        project.dbt("run", "--full-refresh")
        assert project.sql("select event_id from events order by 1") == [
            (event_id(1),),
            (event_id(2),),
        ]
        assert project.sql("select sku, count(*) from products group by 1") == [("a", 2)]
    assert len([*tmp_path.glob("events*")]) == 3


@pytest.mark.slow
def test_table_of_entities__that_no_completed_run_knows(project: Project) -> None:
    """What made it died, or was an --empty run: it is built from the first commit on, whatever was read into the one before."""
    landing = add_events(project)
    add_products(project)

    def run_after(number: int) -> list[str]:
        product = ("iglu:com.acme/product/jsonschema/1-0-0", {"sku": f"p{number}"})
        land(landing, f"{number}.tsv", [event_line(number, [product])])
        project.dbt("run", "--select", "events")
        output = project.dbt("run", "--select", "products").output
        assert ("no completed run of the table is known" in output) == (number > 2)
        return [row.sku for row in project.sql("select sku from products order by 1")]

    for kind in ("table", "view"):
        project.sql(f"create {kind} products as select 'other' as sku")
        refused = project.dbt("run", "--select", "products", expect_pass=False).error
        assert "products is a relation that Tidemark did not make" in refused
        assert project.sql("select * from products") == [("other",)]
        project.sql(f"drop {kind} products")
    assert run_after(1) == ["p1"]
    project.dbt("run", "--empty", "--full-refresh", "--select", "products")
    assert run_after(2) == ["p1", "p2"]
    # a full refresh that dies leaves the old table until the new one is whole
    refresh = ("--full-refresh", "--select", "products")
    die_at(project, r"(insert|merge) into \S*products__new", *refresh)
    assert [row.sku for row in project.sql("select sku from products order by 1")] == ["p1", "p2"]
    die_at(project, r"drop table if exists \S*products__rejects`?( purge)?\s*$", *refresh)
    assert run_after(3) == ["p1", "p2", "p3"]
    project.sql("drop table products")
    project.dbt("run", "--empty", "--select", "products")
    assert run_after(4) == ["p1", "p2", "p3", "p4"]


@pytest.mark.slow
def test_rollback_clean_and_full_refresh(project: Project) -> None:
    landing = add_events(project, rejects_retention="1 minute")
    add_products(project)
    product = [("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})]
    land(landing, "one.tsv", [event_line(1, product, etl_tstamp="2025-01-01 00:00:00.000")])
    project.dbt("run")
    first = project.sql("select max(commit_id) from tidemark_commits where kind = 'load'")[0][0]
    whole = stored_events(project)
    bad = land(landing, "two.tsv", [event_line(2, product), event_line(3, product), "broken"])
    project.dbt("run")
    assert len(stored_events(project)) == 3 and len(project.sql("select * from products")) == 3

    assert "would take back" in operation(
        project, "rollback", entity="events", to=first, dry_run=True
    )
    assert len(stored_events(project)) == 3
    operation(project, "rollback", entity="events", to=first)
    assert stored_events(project) == whole
    for table in ("entities", "rejects", "landed", "manifest"):
        rows = project.sql(f"select * from events__{table} where _commit_id > {first}")
        assert rows == [], table
    states = project.sql(
        "select state, undone_by is not null from tidemark_commits where entity = 'events' and kind = 'load' order by commit_id"
    )
    assert states == [("completed", False), ("rolled_back", True)]
    # the file is read again, and the table of products follows both ways
    bad.unlink()
    project.dbt("run")
    assert len(project.sql("select * from products")) == 1
    land(landing, "three.tsv", [event_line(3, product)])
    project.dbt("run")
    assert commits_of(project)[-1] == (1, 1, 0, 0, 0, 0, 0, 0)
    # there is no way forth to a batch whose events are gone, whatever came since
    ids = [
        row[0]
        for row in project.sql(
            "select commit_id from tidemark_commits where entity = 'events' order by 1"
        )
    ]
    stored = stored_events(project)
    told = operation(project, "rollback", expect_pass=False, entity="events", to=ids[1])
    assert f"commit {ids[1]}, whose events commit" in told and str(ids[2]) in told
    told = operation(
        project, "rollback", expect_pass=False, entity="events", to=first, together=True
    )
    assert "together rolls back cdc models" in told
    assert stored_events(project) == stored
    assert len(project.sql("select * from products")) == 2

    # the claim of the first event has expired for what came later; one that a late batch would find stays
    project.sql(
        "insert into events__manifest (event_id, fingerprint, expires_at, _commit_id) values ('late', 'f', timestamp'2025-12-01', 1)"
    )
    assert "1 expired claims" in operation(project, "clean", entity="events", dry_run=True)
    operation(project, "clean", entity="events")
    claims = project.sql("select event_id from events__manifest order by event_id")
    assert claims == [(event_id(3),), ("late",)]

    before = stored_events(project)
    project.dbt("run", "--full-refresh", "--select", "events")
    assert_same_events(stored_events(project), [{c: row[c] for c in COLUMNS} for row in before])
    error = project.dbt("run", "--select", "products", expect_pass=False).error
    assert "--full-refresh" in error
    project.dbt("run", "--select", "products", "--full-refresh")
    assert len(project.sql("select * from products")) == 2
    assert project.sql("show tables like 'events__manifest_*'") != []


@pytest.mark.slow
def test_clean__rejects(project: Project) -> None:
    """Rejected lines and entities of commits that are older than their settings say go, no others."""
    landing = add_events(project, rejects_retention="1 day")
    project.write(
        "models/products.sql",
        "{{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*', events='events') }}",
    )
    project.write(
        "models/_products.yml",
        """
        version: 2
        models:
          - name: products
            config: {materialized: shred, meta: {tidemark: {rejects_retention: 1 day}}}
            columns: [{name: sku, data_type: int}]
        """,
    )
    for number, sku in enumerate(("old", "new")):
        product = [("iglu:com.acme/product/jsonschema/1-0-0", {"sku": sku})]
        land(landing, f"{number}.tsv", [event_line(number, product), f"{sku} line"])
        project.dbt("run")
        if sku == "old":
            project.sql(
                "update tidemark_commits__log set completed_at = completed_at - interval 2 days"
            )
    for entity in ("events", "products"):
        output = operation(project, "clean", entity=entity, dry_run=True)
        assert f"would remove 1 rejects of {entity}__rejects" in output
        operation(project, "clean", entity=entity)
        # with nothing to remove: files that no commit names
        said = operation(project, "clean", entity=entity, vacuum=True, dry_run=True)
        assert ": would vacuum" in said and "would remove" not in said
        operation(project, "clean", entity=entity, vacuum=True)
        (left,) = project.sql(f"select _raw_payload from {entity}__rejects")
        assert "new" in left[0]


def test_nothing_has_landed(project: Project) -> None:
    landing = add_events(project)
    # a view of the session that has the model's name is another thing
    project.session.sql("create or replace temporary view events as select 1 as one")
    project.dbt("run", "--empty")
    project.session.catalog.dropTempView("events")
    assert "there is no file at" in project.dbt("run").output
    assert stored_events(project) == [] and commits_of(project) == []
    land(landing, "one.tsv", ["broken"])
    project.dbt("run")
    assert commits_of(project) == [(1, 0, 1, 0, 0, 0, 0, 0)]
    assert project.sql("select _raw_payload from events__rejects") == [("broken",)]
    project.dbt("run")
    assert len(commits_of(project)) == 1


def test_configuration_errors(project: Project) -> None:
    landing = add_events(
        project, deduplicate=["natural_in_batc"], fingerprint_ignore=["event_id", "page_ur"]
    )
    land(landing, "one.tsv", [event_line(1)])
    error = project.dbt("run", expect_pass=False).error
    assert "did you mean `natural_in_batch`?" in error
    assert "did you mean `page_url`?" in error
    assert "must have `event_fingerprint`" in error
    add_events(project, on_reject="fail")
    land(landing, "two.tsv", ["broken", "broken too"])
    error = project.dbt("run", expect_pass=False).error
    assert "2 of 3 lines cannot be used; nothing was written" in error
    assert "unreadable: 1 fields, expected 131: 2 lines" in error
    (landing / "two.tsv").unlink()
    project.dbt("run")
    add_events(project, fingerprint_ignore=["event_id", "event_fingerprint"])
    error = project.dbt("run", expect_pass=False).error
    assert "fingerprint_ignore was" in error and "--full-refresh" in error
