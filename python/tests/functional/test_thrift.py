"""`method: thrift`, a Spark Thrift server: stories that other files tell of `method: session`, and what is different."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ThriftProject

from . import (
    test_adopt,
    test_cdc,
    test_debezium,
    test_events,
    test_feed,
    test_house,
    test_rollback,
    test_scd2,
    test_shred,
    test_shred_operations,
)
from .entities import Entity
from .test_house import do, extract, known, last_commit

pytestmark = pytest.mark.clusters

# --- the same stories: each flow, and most of the operations

story = test_scd2.story
entities, rows_entities = test_events.entities, test_events.rows_entities
landed, whole = test_debezium.landed, test_debezium.whole
people = test_feed.people

test_full_extracts__first_next_again_late_corrected = test_scd2.test_scd2__intervals
test_kept_intervals__row_by_row = test_scd2.test_scd2__kept_row_by_row
test_kept_intervals__known_at = test_scd2.test_scd2__known_at
test_delta_extracts__tagged = test_cdc.test_delta_and_tags
test_extracts__missing_date_and_file = test_cdc.test_missing_date_and_file
test_extracts__sensitive = test_cdc.test_sensitive
test_extracts__rejects = test_cdc.test_rejects__quarantine
test_events__moves_and_deletes = test_events.test_worked_example
test_events__files_are_read_once = test_events.test_files__are_read_once_wherever_the_clock_is
test_events__replay_and_crash = test_events.test_replay_and_crash
test_events__rows = test_events.test_rows__auto_cdc
test_debezium__customers = test_debezium.test_postgres_customers
test_debezium__what_has_landed_is_read_once = test_debezium.test_what_has_landed_is_read_once
test_feed__json = test_feed.test_json
test_feed__late_date = test_feed.test_late_date_is_one_correction
test_feed__kept = test_feed.test_kept_feed_equals_the_derived_one
test_rollback__of_events = test_rollback.test_events
test_restate = test_rollback.test_restate
test_rehash = test_cdc.test_rehash
test_erase_key = test_house.test_erase_key__nothing_left
test_erase_key__of_events = test_house.test_erase_key__events
test_clean = test_house.test_clean__keeps_savepoints_and_positions
test_compact = test_house.test_compact__between_loads
test_adopt__dbt_snapshots = test_adopt.test_coming_from_dbt_snapshots
test_export = test_shred_operations.test_export_and_read_again
test_populate_manifest = test_shred_operations.test_populate_manifest


@pytest.fixture(scope="module")
def module_project(make_thrift_project: Callable[[str], ThriftProject]) -> ThriftProject:
    return make_thrift_project("thrift")


@pytest.fixture
def project(
    request: pytest.FixtureRequest, make_thrift_project: Callable[[str], ThriftProject]
) -> ThriftProject:
    return make_thrift_project(request.node.name)


def test_atomic_and_shred(project: ThriftProject, tmp_path: Path) -> None:
    test_shred.report_batches(project, tmp_path)


# --- operations that are told of elsewhere by commands of ours, or with a database


COLUMNS = {"id": "int", "name": "string", "phone": "string"}


def test_operations(module_project: ThriftProject) -> None:
    goods = Entity(module_project, "goods", COLUMNS, max_delete_fraction=1)
    goods.load("2026-01-01", extract({1: "ann", 2: "bob"}))
    # what the next date would do, as tables; nothing of the entity is written
    goods.extract("2026-01-02", extract({1: "anna", 3: "cy"}))
    before = goods.versions()
    goods.run("2026-01-02", plan=True)
    assert goods.rows("rows_inserted, rows_updated, rows_deleted", "__plan") == [(1, 1, 1)]
    assert goods.versions() == before
    goods.run("2026-01-02")
    assert goods.rows("id, name") == [(1, "anna"), (3, "cy")]
    assert "name: ann -> anna" in do(goods, "show_changes", business_date="2026-01-02")
    (line,) = [
        line for line in do(goods, "show_commits").splitlines() if str(last_commit(goods)) in line
    ]
    assert "2026-01-02" in line

    # back, and the date again; held by a savepoint while superseded rows go
    goods.operate("rollback", to="2026-01-01")
    assert goods.rows("id, name") == [(1, "ann"), (2, "bob")]
    goods.run("2026-01-02")
    assert goods.rows("id, name") == [(1, "anna"), (3, "cy")]
    second = last_commit(goods)
    do(goods, "savepoint", commit=second, name="before")
    held = known(goods, second)
    goods.load("2026-01-02", extract({1: "anne", 3: "cy"}))
    do(goods, "clean", retention={"superseded": "0 days"})
    assert known(goods, second) == held
    do(goods, "savepoint", name="before", remove=True)
    do(goods, "clean", retention={"superseded": "0 days"}, vacuum=True)
    assert goods.rows("count(*)", "__log", "_superseded_by is not null") == [(0,)]
    goods.check()

    # what `tidemark replicator` asks for and records
    answer = json.loads(do(goods, "reconcile").partition("tidemark reconcile ")[2].splitlines()[0])
    assert [column["name"] for column in answer["columns"]] == list(COLUMNS)
    columns = [{**column, "form": "text"} for column in answer["columns"]]
    scope = {"buckets": 1, "modulus": 1, "residues": None}
    output = do(goods, "reconcile", ask="figures", columns=columns, keys=1, scope=scope)
    ((_, count, _),) = json.loads(output.partition("tidemark reconcile ")[2].splitlines()[0])
    assert count == "2"
    row = json.dumps(
        {"rows": [{"source": "shop", "table_name": "public.goods", "state": "FAILING"}]}
    )
    module_project.dbt("run-operation", "record_replication", "--args", row)
    rows = module_project.sql("select source, table_name, state from tidemark_replication")
    assert [tuple(row) for row in rows] == [("shop", "public.goods", "FAILING")]

    do(goods, "drop_entity")
    assert not goods.exists() and not goods.exists("__log") and goods.commits() == []
    goods.load("2026-01-03", extract({7: "new"}))
    assert goods.rows("id, name") == [(7, "new")]


def test_what_needs_a_session__is_refused_before_anything_is_written(
    module_project: ThriftProject,
) -> None:
    alone = Entity(module_project, "alone", COLUMNS)
    alone.extract("2026-01-01", extract({1: "ann"}))
    result = alone.run("2026-01-01", plan="kept", expect_pass=False)
    assert "`tidemark plan` needs `type: tidemark` with `method: session`" in result.error
    module_project.write("models/steps.yml", """
        models:
          - name: steps
            config: {materialized: shred, meta: {tidemark: {registry: schemas}}}
        """)  # fmt: skip
    module_project.write(
        "models/steps.sql", "{{ tidemark.shred('iglu:a/b/jsonschema/1-*-*', events='alone') }}"
    )
    result = module_project.dbt("run", "--select", "steps", expect_pass=False)
    assert "registry needs `type: tidemark` with `method: session`" in result.error
    module_project.write(
        "models/by_python.py", "def model(dbt, session):\n    return session.sql('select 1')\n"
    )
    result = module_project.dbt("run", "--select", "by_python", expect_pass=False)
    assert (
        "Python models run in dbt's own process, but the profile has method: thrift."
        in result.error
    )
    command = [sys.executable, "-m", "tidemark.cli", "run", "--business-date", "2026-01-01"]
    command += ["--target", "thrift", "--select", "alone", "--select", "by_python"]
    done = subprocess.run(
        [*command, "--project-dir", str(module_project.root)],
        env=environment(module_project), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Python models need `type: tidemark` with `method: session`" in done.stderr
    assert not alone.exists() and not alone.exists("__log")
    for name in ("steps.sql", "steps.yml", "by_python.py"):
        module_project.remove(f"models/{name}")


# --- two processes


def environment(project: ThriftProject) -> dict[str, str]:
    return {
        **os.environ,
        "TIDEMARK_SCHEMA": project.schema,
        "TIDEMARK_HOME": str(project.root / "home"),
    }


def at_once(project: ThriftProject, *dates: str) -> list[str]:
    """A process of dbt for each date, all begun together; what those that failed said."""
    running = []
    for number, date in enumerate(dates):
        folder = project.root / f"process_{number}"
        command = [
            str(Path(sys.executable).with_name("dbt")), "run", "--select", "shared", "--target", "thrift",
            "--project-dir", str(project.root), "--profiles-dir", str(project.root),
            "--vars", json.dumps({"business_date": date}), "--target-path", str(folder),
        ]  # fmt: skip
        place = {**environment(project), "DBT_LOG_PATH": str(folder)}
        running.append(
            subprocess.Popen(command, env=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        )
    said = [one.communicate(timeout=900)[0].decode() for one in running]
    return [text for one, text in zip(running, said, strict=True) if one.returncode != 0]


def test_two_processes_on_one_entity(project: ThriftProject) -> None:
    """Whoever comes second is refused or right; nothing is lost or doubled, and a repeat makes good."""
    shared = Entity(project, "shared", COLUMNS, max_delete_fraction=1)
    days = {
        "2026-01-01": {1: "ann", 2: "bob"},
        "2026-01-02": {1: "anna", 2: "bob"},
        "2026-01-03": {1: "anna", 3: "cy"},
    }
    for day, rows in days.items():
        shared.extract(day, extract(rows))
    # the first run of all, the same date again, two dates
    for dates in (["2026-01-01"] * 2, ["2026-01-02"] * 2, ["2026-01-02", "2026-01-03"]):
        failed = at_once(project, *dates)
        assert len(failed) < len(dates), failed
        for day in dates if failed else ():
            shared.run(day)
        rows = days[dates[-1]]
        assert shared.rows("id, name") == sorted(rows.items())
        shared.check()
    assert shared.rows("cast(_business_date as string), id, name, _operation", "__history") == [
        ("2026-01-01", 1, "ann", "I"),
        ("2026-01-01", 2, "bob", "I"),
        ("2026-01-02", 1, "anna", "U"),
        ("2026-01-03", 2, "bob", "D"),
        ("2026-01-03", 3, "cy", "I"),
    ]
    assert {state for (state,) in shared.commits("state")} <= {"completed", "rolled_back"}
