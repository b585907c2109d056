"""Warehouse and landing files in an object store, s3a://, told by `type: tidemark`; a server of S3's protocol stands in for one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark import cli

from ..object_store import BUCKET, ObjectStore, object_store
from . import test_shred
from .entities import Entity
from .event_entities import EventEntity, delete, insert, update
from .on_cluster import SETTINGS as QUICK
from .test_house import do

pytestmark = pytest.mark.clusters

SDK = "2.29.52"
"""The version that hadoop-aws goes with."""
SETTINGS = {
    "spark.jars.packages": ",".join(
        [
            "org.apache.hadoop:hadoop-aws:3.4.2",
            *(f"software.amazon.awssdk:{name}:{SDK}" for name in ("s3", "s3-transfer-manager", "sts")),
        ]
    ),
    # all of AWS: 600 MB, of which S3 is 18
    "spark.jars.excludes": "software.amazon.awssdk:bundle",
    "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.delta.logStore.s3a.impl": "io.delta.storage.S3SingleDriverLogStore",
}  # fmt: skip
COLUMNS = {"id": "int", "name": "string", "phone": "string"}
HEADER = "id,name,phone\n"


@pytest.fixture(scope="module")
def store(
    tidemark_test_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStore]:
    """A store, in which the next session of this process has its warehouse."""
    from tidemark.spark.session import stop_session

    folder = tmp_path_factory.mktemp("store")
    stop_session()
    with object_store(folder) as store, pytest.MonkeyPatch.context() as patch:
        settings = {**QUICK, **SETTINGS, "spark.hadoop.fs.s3a.endpoint": store.endpoint}
        lines = [f"{name} {value}\n" for name, value in settings.items()]
        (folder / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
        patch.setenv("SPARK_CONF_DIR", str(folder))
        patch.setenv("TIDEMARK_MASTER", "local[2]")
        patch.setenv("TIDEMARK_SHUFFLE_PARTITIONS", "2")
        patch.setenv("TIDEMARK_SNAPSHOT_PARTITIONS", "1")
        patch.setenv("TIDEMARK_WAREHOUSE", f"s3a://{BUCKET}/warehouse")
        for name, value in store.environment().items():
            patch.setenv(name, value)
        yield store
        stop_session()


@pytest.fixture
def project(
    request: pytest.FixtureRequest, make_project: Callable[[str], Any], store: ObjectStore
) -> Any:
    project = make_project(request.node.name)
    project.target = "cluster"
    return project


@pytest.fixture
def see(project: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Call a command that reads tables without Spark; its rows."""
    monkeypatch.setenv("TIDEMARK_HOME", str(project.home))
    monkeypatch.setenv("TIDEMARK_SCHEMA", project.schema)
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(project.root / name.lower()))

    def call(*arguments: str) -> Any:
        where = ("--project-dir", str(project.root), "--target", "cluster", "--json")
        result = CliRunner().invoke(cli.cli, [*arguments, *where])
        assert result.exception is None, (result.output, result.exception)
        return json.loads(result.stdout)

    return call


def test_extracts(project: Any, store: ObjectStore, see: Callable[..., Any]) -> None:
    """Full and delta extracts that lie in the store, intervals and feed that are kept of one; back."""
    people, goods = (
        Entity(
            project, name, COLUMNS, extract=kind, sensitive=["phone"], max_delete_fraction=1,
            location=f"s3a://{BUCKET}/landing/{name}/{{business_date}}.csv", **more,
        )
        for name, kind, more in (("people", "full", {}), ("goods", "delta", {"tag_unchanged": True}))
    )  # fmt: skip
    project.write(
        "models/kept_scd2.sql",
        "{{ config(materialized='scd2') }} {{ tidemark.scd2(ref('people')) }}",
    )
    project.write(
        "models/kept_feed.sql",
        "{{ config(materialized='feed') }} select * from ({{ tidemark.change_feed(ref('people')) }})",
    )
    days = {
        "2026-01-01": "1,ann,11\n2,bob,22\n",
        "2026-01-02": "1,anna,11\n3,cy,33\n",
        "2026-01-03": "1,anna,11\n",
    }
    for day, rows in days.items():
        for entity in (people, goods):
            store.put(f"landing/{entity.name}/{day}.csv", HEADER + rows)
        project.dbt("run", vars={"business_date": day})
    assert people.rows("id, name") == [(1, "anna")]
    assert goods.rows("id, name") == [(1, "anna"), (2, "bob"), (3, "cy")]
    history = people.rows("cast(_business_date as string), id, _operation", "__history")
    assert history == [
        ("2026-01-01", 1, "I"),
        ("2026-01-01", 2, "I"),
        ("2026-01-02", 1, "U"),
        ("2026-01-02", 2, "D"),
        ("2026-01-02", 3, "I"),
        ("2026-01-03", 3, "D"),
    ]
    intervals = project.sql("select name, day(_valid_from), day(_valid_to) from kept_scd2")
    assert {tuple(row) for row in intervals} == {
        ("ann", 1, 2),
        ("anna", 2, None),
        ("bob", 1, 2),
        ("cy", 2, 3),
    }
    assert len(project.sql("select * from kept_feed")) == len(history)
    files = store.names(f"warehouse/{project.schema}.db/")
    assert any("/people__log/_delta_log/" in name for name in files)

    # the same date again finds nothing to do, a corrected one is a commit; what is not there is named
    people.run("2026-01-03")
    assert people.commits()[-1] == ("repeat", "completed")
    store.put("landing/people/2026-01-02.csv", f"{HEADER}1,anne,11\n")
    people.run("2026-01-02")
    assert people.rows("id, name") == [(1, "anna")]
    people.check()
    goods.check()
    missing = people.run("2026-01-09", expect_pass=False)
    assert f"There is no file at s3a://{BUCKET}/landing/people/2026-01-09.csv" in missing.error

    # back and forth
    people.operate("rollback", to="2026-01-01")
    assert people.rows("id, name") == [(1, "ann"), (2, "bob")]
    people.run("2026-01-03")
    assert people.rows("id, name") == [(1, "anna")]
    people.check()

    # by readers that know nothing of Spark
    status = {one["entity"]: one for one in see("status")}
    assert [status[name]["rows"] for name in ("people", "goods")] == [1, 3]
    assert [one["values"]["name"] for one in see("history", "goods", "1")] == ["ann", "anna"]

    do(people, "compact")
    do(people, "clean", retention={"superseded": "0 days"}, vacuum=True)
    people.check()
    do(people, "drop_entity")
    assert store.names(f"warehouse/{project.schema}.db/people") == []


def test_change_events(project: Any, store: ObjectStore, see: Callable[..., Any]) -> None:
    """Files of events that lie in the store are read once; back."""
    orders = EventEntity(
        project, "orders", {"id": "int", "total": "int"}, location=f"s3a://{BUCKET}/landing/orders"
    )

    def land(number: int, *events: Any) -> None:
        lines = [{"_database": "shop", "_table": "orders", **event} for event in events]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        store.put(f"landing/orders/{number:06}.jsonl", text)

    land(1, insert({"id": 1, "total": 10}), insert({"id": 2, "total": 20}))
    orders.run()
    (first,) = orders.commits("commit_id")
    land(2, update({"id": 1, "total": 11}), delete({"id": 2}), insert({"id": 3, "total": 30}))
    orders.run()
    orders.run()
    assert orders.rows("id, total") == [(1, 11), (3, 30)]
    assert len(orders.commits()) == 2
    orders.operate("rollback", to=first[0])
    assert orders.rows("id, total") == [(1, 10), (2, 20)]
    orders.check()
    assert [one["entity"] for one in see("status")] == ["orders"]


def test_enriched_events(project: Any, store: ObjectStore, tmp_path: Path) -> None:
    """Events and entities in tables that lie there."""
    test_shred.report_batches(project, tmp_path)
    assert store.names(f"warehouse/{project.schema}.db/events/_delta_log/")


def test_extracts_of_this_machine(project: Any, store: ObjectStore) -> None:
    """What lies here is loaded into tables that lie there, also where the engine in the workers is asked for."""
    one = Entity(project, "one", COLUMNS, engine="workers", max_delete_fraction=1)
    for day, rows in {
        "2026-01-01": "1,ann,11\n2,bob,22\n",
        "2026-01-02": "1,anna,11\n3,cy,33\n",
    }.items():
        result = one.load(day, HEADER + rows)
        assert f"one: by Spark SQL, as {project.schema}.one__log is not " in result.output
    assert one.rows("id, name, _operation") == [(1, "anna", "U"), (3, "cy", "I")]
    one.check()
