"""What is Iceberg's own: a session reads Delta or Iceberg, so without --iceberg one story is told in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError

from tidemark.engine.room import Room
from tidemark.errors import TidemarkError
from tidemark.read.project import Entity as KnownEntity
from tidemark.read.project import KnownProject
from tidemark.read.tables import Tables
from tidemark.read.versions import versions_of
from tidemark.sessions.duck import Answer, stage
from tidemark.sessions.formats import open_table
from tidemark.sessions.tables import OpenTable
from tidemark.spark import iceberg

from .enriched_events import PRODUCT, add_events, event_line, land
from .entities import Entity

pytestmark = pytest.mark.turn(3)

only_iceberg = pytest.mark.iceberg(only=True)
PEOPLE = {"id": "int", "name": "string", "city": "string"}


def metadata_of(project: Any, table: str) -> str:
    """The file that describes a table as it is now, by which others find it."""
    (row,) = project.sql(
        f"select file from spark_catalog.{project.schema}.{table}.metadata_log_entries "
        "order by timestamp desc limit 1"
    )
    return str(row.file)


def read_elsewhere(metadata: str) -> list[dict[str, Any]]:
    """The rows that another reader finds, without Spark and without a catalogue."""
    from pyiceberg.table import StaticTable

    rows: list[dict[str, Any]] = StaticTable.from_metadata(metadata).scan().to_arrow().to_pylist()
    return rows


def slices_left(home: Path, schema: str) -> list[Path]:
    """What runs have staged and not taken away: its table is gone then, and nobody would find its files."""
    return sorted((home / f"warehouse/{schema}.db").glob("*__slice_*"))


def test_one_story_in_a_session_of_its_own(project: Any, tmp_path: Path) -> None:
    file = project.root / "dbt_project.yml"
    file.write_text(file.read_text(encoding="utf-8").replace("delta", "iceberg"), encoding="utf-8")
    people = Entity(project, "people", PEOPLE, config={"file_format": None})
    people.extract("2026-01-01", "id,name,city\n1,ann,Oslo\n2,bob,Rome\n")
    people.extract("2026-01-02", "id,name,city\n1,ann,Bonn\n3,cy,Rome\n")
    command = [Path(sys.executable).with_name("tidemark"), "run", "--business-date"]
    command += ["2026-01-01,2026-01-02", "--target", "ci", "--project-dir", project.root]
    home = tmp_path / "home"
    result = subprocess.run(
        command,
        cwd=project.root,
        env={**os.environ, "TIDEMARK_HOME": str(home), "TIDEMARK_SCHEMA": "shop"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    # others find the files without a catalogue
    found = {}
    for table in ("people", "people__log", "tidemark_commits__log"):
        files = sorted((home / "warehouse" / "shop.db").glob(f"{table}-*/metadata/*.metadata.json"))
        found[table] = read_elsewhere(files[-1].as_uri())
    current = sorted((row["id"], row["city"], row["_operation"]) for row in found["people"])
    assert current == [(1, "Bonn", "U"), (3, "Rome", "I")]
    log = sorted((str(row["_business_date"]), row["id"]) for row in found["people__log"])
    assert log == [("2026-01-01", 1), ("2026-01-01", 2), *(("2026-01-02", n) for n in (1, 2, 3))]
    states = [row["state"] for row in found["tidemark_commits__log"]]
    assert sorted(states) == ["completed"] * 2 + ["inflight"] * 2
    assert slices_left(home, "shop") == []


@only_iceberg
def test_two_dates_and_a_correction(project: Any) -> None:
    # no model says its format: the project's variable does
    people = Entity(project, "people", PEOPLE, config={"file_format": None})
    people.load("2026-01-01", "id,name,city\n1,ann,Oslo\n2,bob,Rome\n")
    people.load("2026-01-02", "id,name,city\n1,ann,Bonn\n3,cy,Rome\n")
    assert people.rows("id, city, _operation") == [(1, "Bonn", "U"), (3, "Rome", "I")]
    people.load("2026-01-01", "id,name,city\n1,ann,Bonn\n2,bob,Rome\n")
    assert people.rows("id, city, _operation") == [(1, "Bonn", "I"), (3, "Rome", "I")]
    assert people.commits() == [("load", "completed")] * 3

    # others read the same
    current = read_elsewhere(metadata_of(project, "people"))
    assert sorted((row["id"], row["city"]) for row in current) == [(1, "Bonn"), (3, "Rome")]
    log = read_elsewhere(metadata_of(project, "people__log"))
    history = sorted(
        (str(row["_business_date"]), row["id"], row["_operation"])
        for row in log
        if row["_superseded_by"] is None
    )
    assert history == [
        ("2026-01-01", 1, "I"),
        ("2026-01-01", 2, "I"),
        ("2026-01-02", 2, "D"),
        ("2026-01-02", 3, "I"),
    ]
    assert slices_left(project.home, project.schema) == []

    # without the metastore the log is found that has the name now, however often another one had it
    tables = Tables(
        KnownProject(project.root, f"{project.home}/warehouse", project.schema, "iceberg")
    )
    entity = KnownEntity("people", "cdc", project.schema, "people", ("id",), file_format="iceberg")
    for city in ("Rome", "Oslo"):
        people.extract("2026-01-05", f"id,name,city\n1,ann,{city}\n")
        people.run("2026-01-05", "--full-refresh")
        found = versions_of(tables, entity, ["1"])
        assert [(one.operation, one.values["city"]) for one in found] == [("I", city)]


APPEND = """
{% macro append_slice(commit_id, last_commit_id, business_date, forward) %}
  {% set log_table = api.Relation.create(schema=target.schema, identifier='raced__log') %}
  {% set load = {
      'forward': forward, 'commit_id': commit_id, 'last_commit_id': last_commit_id, 'business_date': business_date,
      'states': target.schema ~ '.tidemark_commits__log', 'relation': target.schema ~ '.raced',
  } %}
  {% set names = ['id', '_key_hash', '_operation', '_business_date'] %}
  {{ log('STATEMENT' ~ tojson(tidemark.iceberg__append_to_log({'log': log_table}, names, 'raced_slice', load)[0]), info=true) }}
  {{ log('STATEMENT' ~ tojson(tidemark.iceberg__fence_log(log_table, commit_id)), info=true) }}
{% endmacro %}
"""


@contextmanager
def planned_before(project: Any, view: str, rows: str, statement: str) -> Iterator[Future[Any]]:
    """Have a statement read rows that call `waiting`; what is done here comes before it commits."""
    began, go_on = project.root / "began", project.root / "go_on"
    for file in (began, go_on):
        file.unlink(missing_ok=True)

    def wait(number: int, began: str = str(began), go_on: str = str(go_on)) -> int:
        import time

        Path(began).touch()
        for _ in range(600):
            if Path(go_on).exists():
                break
            time.sleep(0.1)
        return number

    session = project.session
    session.udf.register("waiting", wait, "int")
    session.sql(f"create or replace temporary view {view} as {rows}")
    with ThreadPoolExecutor(max_workers=1) as pool:
        running = pool.submit(session.sql, statement)
        while not began.exists() and not running.done():
            time.sleep(0.1)
        yield running
        go_on.touch()


@only_iceberg
@pytest.mark.parametrize("forward", [True, False])
def test_commit__fails_after_another_one(project: Any, forward: bool) -> None:
    """One that is planned before another one or a fence, and commits after it."""
    raced = Entity(project, "raced", {"id": "int"})
    raced.load("2026-01-01", "id\n1\n")
    project.write("macros/append_slice.sql", APPEND)
    last = int(raced.commits("commit_id")[-1][0])
    arguments = {
        "commit_id": last + 1,
        "last_commit_id": last,
        "business_date": "2026-01-03",
        "forward": forward,
    }
    output = project.dbt("run-operation", "append_slice", "--args", json.dumps(arguments)).output
    slow, fence = (
        json.loads(line.split("STATEMENT")[1])
        for line in output.splitlines()
        if "STATEMENT" in line
    )
    marks = "cast(null as bigint) as _supersedes"
    others = [
        f"insert into raced__log (id, _commit_id) values (7, {last + 2})",
        f"update raced__log set _superseded_by = {last + 3} where id = 1",
        fence,
    ]
    session = project.session
    rows = (
        "select waiting(3) as id, 'k' as _key_hash, 'I' as _operation, "
        f"date'2026-01-03' as _business_date, {marks}"
    )
    for other in others:
        before = raced.rows("id, _commit_id", "__log")
        with planned_before(project, "raced_slice", rows, slow) as running:
            for statement in [other] if isinstance(other, str) else other:
                project.sql(statement)
        with pytest.raises(Exception, match="conflicting files"):
            running.result()
        assert [row for row in raced.rows("id, _commit_id", "__log") if row[0] == 3] == []
        assert len(before) <= len(raced.rows("id", "__log")) <= len(before) + 1
        session.sql(f"delete from {project.schema}.raced__log where id = 7")
        session.sql(f"update {project.schema}.raced__log set _superseded_by = null where id = 1")
    # and alone it is written
    session.udf.register("waiting", lambda number: number, "int")
    session.sql(slow)
    assert (3, last + 1) in raced.rows("id, _commit_id", "__log")


def _staged(project: Any, table: str, rows: str) -> tuple[OpenTable, Answer]:
    """A table that is begun to be written to, and rows for it in files that no commit names."""
    opened = open_table(project.session, (project.schema, table))
    found = stage(
        (), rows, "counted", "select 0 as n", "from counted", opened.wanted, Room(1, None)
    )
    assert found.declined is None
    return opened, found


@only_iceberg
@pytest.mark.parametrize("is_seen", [True, False])
def test_files__fail_after_another_commit(
    project: Any, monkeypatch: pytest.MonkeyPatch, is_seen: bool
) -> None:
    """Files of the workers go with the snapshot that they were written for, also where the other one comes in the last moment."""
    raced = Entity(project, "raced", {"id": "int"})
    raced.load("2026-01-01", "id\n1\n")
    raced.load("2026-01-02", "id\n1\n2\n")
    assert all(
        "/workers-" in row.file_path
        for row in project.sql(f"select * from spark_catalog.{project.schema}.raced__log.files")
    )
    last = int(raced.commits("commit_id")[-1][0])
    fence = (
        f"insert into raced__log (_superseded_by) values (-{last})",
        "delete from raced__log where _superseded_by < 0",
    )
    others = [
        (
            f"insert into raced__log (id, _commit_id, _business_date) values (7, {last + 2}, date'2026-01-02')",
        ),
        (f"update raced__log set _superseded_by = {last + 3} where id = 7",),
        fence,
    ]
    rows = f"select 9 as id, 'k' as _key_hash, 'I' as _operation, date '2026-01-03' as _business_date, {last + 1} as _commit_id"
    for other in others:
        opened, found = _staged(project, "raced__log", rows)
        staged = opened.staged(found)
        file = Path(staged.files.paths[0])
        assert file.exists()
        for statement in other:
            project.sql(statement)
        with monkeypatch.context() as patch:
            if not is_seen:
                patch.setattr(iceberg, "table_version", lambda *_, now=opened.version: now)
            with pytest.raises(TidemarkError, match="another run has written"):
                staged.commit()
        assert not file.exists()
        assert project.sql("select 1 from raced__log where id = 9") == []
        current, found = _staged(
            project,
            "raced",
            "select 9 as id, 'k' as _key_hash, 'r' as _row_hash, 'I' as _operation",
        )
        project.sql(
            "delete from raced where id = 1"
            if other == fence
            else "insert into raced (id, _key_hash) values (5, 'm')"
        )
        with pytest.raises(TidemarkError):
            current.replace(replace(found, replaced=None))
        assert project.sql("select 1 from raced where id = 9") == []
    # and alone they are there
    opened, found = _staged(project, "raced__log", rows)
    staged = opened.staged(found)
    assert staged.commit() == iceberg.table_version(project.session, project.schema, "raced__log")
    assert project.sql("select id, _commit_id from raced__log where id = 9") == [(9, last + 1)]


DEATHS = {
    "before_log": ("__log", False),
    "after_log": ("__log", True),
    "before_current": ("", False),
    "after_current": ("", True),
}


@only_iceberg
def test_files__died_before_and_after_each_commit(
    project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever commit of a load a run died before or after, the next run comes to what one comes to that lives."""
    days = {
        "2026-01-02": "id,name\n1,a\n2,b\n",
        "2026-01-03": "id,name\n1,x\n3,c\n",
        "2026-01-01": "id,name\n1,z\n9,late\n",
    }
    columns = {"id": "int", "name": "string"}
    lived, *died = (Entity(project, name, columns) for name in ("lived", *DEATHS))
    points = {f"{name}{table}": (name, is_done) for name, (table, is_done) in DEATHS.items()}
    overwrite = iceberg.overwrite

    def dies(jvm: Any, of: Any, *arguments: Any) -> int:
        name, is_done = points.get(str(of.name()).rpartition(".")[2], ("", None))
        if is_done is False:
            raise DbtDatabaseError(f"{name} died here")
        version = overwrite(jvm, of, *arguments)
        if is_done:
            raise DbtDatabaseError(f"{name} died here")
        return version

    for day, text in days.items():
        for entity in (lived, *died):
            entity.extract(day, text)
        lived.run(day)
        names = [entity.name for entity in died]
        with monkeypatch.context() as patch:
            patch.setattr(iceberg, "overwrite", dies)
            result = project.dbt("run", "--select", *names, vars={"business_date": day}, expect_pass=False)  # fmt: skip
        assert all(f"{name} died here" in result.error for name in names)
        project.dbt("run", "--select", *names, vars={"business_date": day})
        for entity, suffix in product(died, ("", "__history")):
            shown = "id, name, _operation, _eff_start_date"
            assert entity.rows(shown, suffix) == lived.rows(shown, suffix), (day, entity.name)
    assert died[0].check().success


APPEND_EVENTS = """
{% macro append_events() %}
  {% set table = api.Relation.create(schema=target.schema, identifier='events') %}
  {% set relations = tidemark.atomic_relations({'target': table, 'manifest': none}) %}
  {% set append = tidemark.iceberg__append_events %}
  {% set load = {
      'etl_micros': 1772614800000000, 'commit_id': 7,
      'states': target.schema ~ '.tidemark_commits__log', 'relation': target.schema ~ '.events',
  } %}
  {% set rows = 'select * from arriving' %}
  {% set statements = {
      'events': append(table, tidemark.atomic_columns(), rows)[0],
      'events__entities': append(relations['entities'], tidemark.entity_columns(), rows, 'hierarchy.root_id')[0],
      'events__manifest': tidemark.claim_events_sql(
          {'file_format': 'iceberg', 'manifest_ttl': '180 days'}, relations['manifest'], 'arriving', load
      ),
      'fences': adapter.run_step('enriched.fences_of_enriched', tidemark, 'iceberg', relations, 7),
  } %}
  {{ log('STATEMENTS' ~ tojson(statements), info=true) }}
{% endmacro %}
"""


@only_iceberg
def test_events__fail_after_a_fence(project: Any) -> None:
    """A run that was taken for dead stores nothing when it goes on, claims nothing, and writes no entity."""
    landing = add_events(project)
    land(landing, "one.tsv", [event_line(1, PRODUCT)])
    project.dbt("run")
    project.write("macros/append_events.sql", APPEND_EVENTS)
    output = project.dbt("run-operation", "append_events").output
    statements = json.loads(output.split("STATEMENTS")[1].splitlines()[0])
    fences = statements.pop("fences")
    for table, append in statements.items():
        stored = project.sql(f"select * from {table}")
        names = ", ".join(f"`{name}`" for name in project.columns(table))
        waiting = names.replace("`_commit_id`", "bigint(waiting(5)) as _commit_id")
        rows = f"select {waiting} from {project.schema}.{table}"
        if table == "events__manifest":
            rows = "select concat('e', waiting(5)) as _event_id, 'f' as _fingerprint, cast(null as string) as _reject_reason"
        with planned_before(project, "arriving", rows, append) as running:
            for statement in fences:
                project.sql(statement)
        with pytest.raises(Exception, match="conflicting files"):
            running.result()
        assert project.sql(f"select * from {table}") == stored
        # and alone it is written
        project.session.udf.register("waiting", lambda number: number, "int")
        project.session.sql(append)
        assert len(project.sql(f"select * from {table}")) == len(stored) + 1


@only_iceberg
def test_version_of_same_rows(project: Any) -> None:
    """What alters a table makes no snapshot, unlike what writes rows."""
    project.sql("create table altered (id int) using iceberg")
    where = (project.session, project.schema, "altered")
    assert iceberg.version_of_same_rows(*where, 0) == 0
    project.sql("insert into altered values (1)")
    assert iceberg.version_of_same_rows(*where, 0) is None
    version = iceberg.table_version(*where)
    assert version
    project.sql("alter table altered add column n int")
    assert iceberg.version_of_same_rows(*where, version) == version


@only_iceberg
def test_house_keeping(project: Any) -> None:
    """Files of a good size, snapshots that nobody needs any more, and what compact left as it was."""
    busy = Entity(
        project, "busy", PEOPLE, superseded_retention="0 days", config={"partition_by": "city"}
    )
    project.write(
        "models/busy_optimized.sql",
        "{{ config(materialized='view') }}\nselect id, name from ({{ tidemark.read_optimized(ref('busy')) }})",
    )
    for day, names in {"01": ["ann"], "02": ["ann", "bob"], "03": ["ann", "bob", "cy"]}.items():
        rows = "".join(f"{number},{name},Rome\n" for number, name in enumerate(names))
        busy.load(f"2026-01-{day}", f"id,name,city\n{rows}")
    busy.load("2026-01-02", "id,name,city\n0,ann,Rome\n1,bert,Rome\n")
    before, log = busy.rows("*"), busy.rows("id, name, _commit_id, _superseded_by", "__log")

    def files(table: str) -> int:
        return len(project.sql(f"select 1 from spark_catalog.{project.schema}.{table}.files"))

    assert "would compact busy" in busy.operate("compact", dry_run="true").output
    number = files("busy__log")
    busy.operate("compact")
    assert files("busy__log") < number
    assert busy.rows("*") == before
    assert busy.rows("id, name, _commit_id, _superseded_by", "__log") == log
    project.dbt("run", "--select", "busy_optimized")
    busy.extract("2026-01-04", "id,name,city\n0,anna,Rome\n1,bob,Rome\n2,cy,Rome\n")
    busy.run("2026-01-04", plan=True)
    assert busy.rows("outcome", "__plan") == [("changes",)] and busy.rows("*") == before
    busy.run("2026-01-04")
    assert busy.rows("id, name", "_optimized") == [(0, "ann"), (1, "bob"), (2, "cy")]
    assert busy.rows("id, name") == [(0, "anna"), (1, "bob"), (2, "cy")]
    output = busy.operate("clean", vacuum="true").output
    assert "removed" in output
    assert busy.rows("1", "__log", "_superseded_by is not null") == []
    assert busy.rows("id, name") == [(0, "anna"), (1, "bob"), (2, "cy")]
    commit = str(busy.commits("commit_id")[0][0])
    assert (
        "load"
        in project.dbt("run-operation", "show_commit", "--args", f"{{commit: {commit}}}").output
    )
    busy.operate("drop_entity")
    assert not busy.exists() and busy.commits() == []
