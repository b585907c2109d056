"""A clone goes on by itself, and takes the place of what it was made of, wherever that is interrupted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update
from .feed_reading import call, query_all
from .interrupted import before

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1, 3)]
DAYS = {
    "2026-03-01": "id,name\n1,ann\n2,bob\n",
    "2026-03-02": "id,name\n1,ann\n2,bea\nx,odd\n",
    "2026-03-03": "id,name\n1,anna\n3,cy\n",
    "2026-02-28": "id,name\n1,an\n4,dee\n",
}
TABLES = ("", "__log", "__rejects")


@contextmanager
def schema_of_clones(project: Any) -> Iterator[str]:
    """Commands of dbt within are those of a target with the schema of the clones."""
    own, dev = project.schema, f"{project.schema}_dev"
    parsed = project.__dict__.setdefault("parsed_by_schema", {})
    _swap(project, parsed, own, dev)
    try:
        yield dev
    finally:
        _swap(project, parsed, dev, own)


def _swap(project: Any, parsed: dict[str, Any], was: str, now: str) -> None:
    """Go to another schema, with the project as it was parsed there."""
    parsed[was] = project._manifest, project._parsed
    project.schema = now
    project._manifest, project._parsed = parsed.get(now, (None, None))


def orders(project: Any, name: str = "orders") -> Entity:
    return Entity(
        project, name, {"id": "int", "name": "string"}, max_delete_fraction=1, on_reject="quarantine"
    )  # fmt: skip


def load(entity: Entity, *days: str) -> None:
    for day in days:
        entity.load(day, DAYS[day])


def clone(entity: Entity, **more: Any) -> Any:
    return entity.operate("clone", to=f"{entity.project.schema}_dev", **more)


def promote(entity: Entity, **more: Any) -> Any:
    return entity.operate("promote", schema=f"{entity.project.schema}_dev", **more)


def told(entity: Entity, schema: str) -> list[Any]:
    """What the tables of an entity hold, but for the numbers of commits."""
    found: list[Any] = []
    for table in TABLES:
        rows = entity.project.sql(f"select * from {schema}.{entity.name}{table}")
        kept = ({k: v for k, v in row.asDict().items() if k not in NUMBERS} for row in rows)
        found.append(sorted(repr(sorted(row.items(), key=str)) for row in kept))
    return found


NUMBERS = ("_commit_id", "_superseded_by", "_resolved_by")


def compiled(project: Any, model: str) -> str:
    """The SQL of a model."""
    result = project.dbt("compile", "--select", model)
    return str(result.raw.result.results[0].node.compiled_code)


def commits(entity: Entity, schema: str) -> list[tuple[str, str | None]]:
    rows = entity.project.sql(
        f"select kind, cast(business_date as string), state from {schema}.tidemark_commits "
        f"where entity = '{entity.name}' order by commit_id"
    )
    assert {row[2] for row in rows} <= {"completed", "rolled_back"}
    return [(row[0], row[1]) for row in rows if row[2] == "completed"]


def test_clone__goes_on_by_itself(project: Any) -> None:
    entity, alone = orders(project), orders(project, "alone")
    own = project.schema
    load(entity, "2026-03-01", "2026-03-02")
    load(alone, "2026-03-01", "2026-03-02")
    clone(entity)
    was = told(entity, own), commits(entity, own)
    with schema_of_clones(project) as dev:
        assert told(entity, dev) == was[0]
        assert commits(entity, dev) == [*was[1], ("clone", None)]
        load(entity, "2026-03-03", "2026-02-28")
    load(alone, "2026-03-03", "2026-02-28")
    assert (told(entity, own), commits(entity, own)) == was
    said = " ".join(clone(entity, expect_pass=False).output.split())
    assert "is a clone already" in said and "--replace" in said
    assert told(entity, dev) == told(alone, own)

    # files that the original removes are the clone's all the same
    load(entity, "2026-03-03")
    entity.operate("compact")
    if project.file_format == "delta":
        # it lists folders with ten thousand tasks otherwise
        settings = {
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        }
        for name, value in settings.items():
            project.sql(f"set {name} = {value}")
        for table in TABLES:
            project.sql(f"vacuum {own}.{entity.name}{table} retain 0 hours")
        for name in settings:
            project.sql(f"reset {name}")
    assert told(entity, dev) == told(alone, own)
    with schema_of_clones(project):
        entity.operate("rollback", to="2026-03-02")
    assert told(entity, own)[0] != told(entity, dev)[0]

    clone(entity, replace=True)
    assert told(entity, dev) == told(entity, own)
    clone(entity, remove=True)
    # what a killed call has left goes, files of somebody else's stay
    left = project.folder_of("orders").parent.parent / f"{dev}.db" / "orders__rejects"
    left.mkdir(parents=True)
    (left / "part.parquet").touch()
    if project.file_format == "delta":  # Iceberg's tables lie in a folder of any name
        assert "has files, but no table of the catalog" in clone(entity, expect_pass=False).output
        assert (left / "part.parquet").exists()
        (left / "_tidemark_clone").touch()
    clone(entity)
    assert (left / "part.parquet").exists() == (project.file_format == "iceberg")
    assert told(entity, dev) == told(entity, own)
    clone(entity, remove=True)
    assert not project.session.catalog.tableExists(f"{dev}.{entity.name}__log")


def test_clone__of_a_log_that_begins_with_a_checkpoint(project: Any) -> None:
    """Nothing but the commit of the first load reads the checkpoint, in a process that knows nothing of it."""
    entity = orders(project)
    load(entity, "2026-03-01", "2026-03-02")
    entity.operate("erase_key", key="{id: 2}", vacuum="true", confirm="true")
    clone(entity)
    with schema_of_clones(project):
        if project.file_format == "delta":
            project.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        load(entity, "2026-03-03")
        assert entity.rows("id, name") == [(1, "anna"), (3, "cy")]


def test_clone__of_intervals_goes_on(project: Any) -> None:
    """Its first run merges what is new, as one of the original does."""
    entity, own = orders(project), project.schema
    project.write(
        "models/orders_intervals.sql",
        """
        {{ config(materialized='scd2') }}
        {{ tidemark.scd2(ref('orders')) }}
        """,
    )
    load(entity, "2026-03-01", "2026-03-02")
    project.dbt("run", "--select", "orders_intervals")
    clone(entity)
    arguments = {"entity": "orders_intervals", "to": f"{own}_dev"}
    project.dbt("run-operation", "clone", "--args", json.dumps(arguments))
    load(entity, "2026-03-03")
    project.dbt("run", "--select", "orders_intervals")
    with schema_of_clones(project) as dev:
        load(entity, "2026-03-03")
        result = project.dbt("run", "--select", "orders_intervals")
        assert "built again" not in result.output
    names = "id, name, _valid_from, _valid_to"
    here, there = (
        project.query(f"select {names} from {schema}.orders_intervals order by id, _valid_from")
        for schema in (own, dev)
    )
    assert here == there and len(here) == 5

    # the original went back after its clone was made: the clone of its intervals knows nothing of that
    clone(entity, replace=True)
    entity.operate("rollback", to="2026-03-02")
    project.dbt("run", "--select", "orders_intervals")
    arguments["replace"] = "true"
    project.dbt("run-operation", "clone", "--args", json.dumps(arguments))
    with schema_of_clones(project) as dev:
        load(entity, "2026-02-28")
        result = project.dbt("run", "--select", "orders_intervals")
        assert "is not the one that it was made from" in result.output
        wanted = compiled(project, "orders_intervals")
    found, wanted = (
        sorted(map(str, project.query(f"select {names} from {rows}")))
        for rows in (f"{dev}.orders_intervals", f"({wanted})")
    )
    assert found == wanted and len(found) > len(here)


def test_promote__as_if_loaded_in_place(project: Any) -> None:
    entity, alone = orders(project), orders(project, "alone")
    own = project.schema
    load(entity, "2026-03-01", "2026-03-02")
    load(alone, "2026-03-01", "2026-03-02")
    assert "is not a clone of" in promote(entity, expect_pass=False).output
    clone(entity)
    assert "nothing to promote" in promote(entity).output
    with schema_of_clones(project):
        load(entity, "2026-03-03")
        entity.operate("rollback", to="2026-03-02")
        load(entity, "2026-03-03", "2026-02-28")
    load(alone, "2026-03-03", "2026-02-28")
    assert "would promote 3 commits" in promote(entity, dry_run=True).output
    promote(entity)
    assert told(entity, own)[0] == told(alone, own)[0]
    assert "was promoted already" in " ".join(promote(entity, expect_pass=False).output.split())

    # it goes on as one that was loaded here, back to what the clone had loaded
    days = {"2026-03-01", "2026-03-02", "2026-03-03", "2026-02-28"}
    assert {day for kind, day in commits(entity, own) if kind == "load"} == days
    entity.run("2026-02-28")
    assert told(entity, own)[0] == told(alone, own)[0]
    entity.operate("rollback", to="2026-03-02")
    alone.operate("rollback", to="2026-03-02")
    assert told(entity, own)[0] == told(alone, own)[0]

    clone(entity, replace=True)
    with schema_of_clones(project):
        load(entity, "2026-03-03")
    load(entity, "2026-03-03")
    was = told(entity, own)
    said = " ".join(promote(entity, expect_pass=False).output.split())
    assert "the original has moved since it was cloned" in said and "(load, 2026-03-03)" in said
    assert told(entity, own) == was


def test_feed__of_what_is_promoted(project: Any) -> None:
    """What a clone loaded before a repeat of the original reaches a kept feed that has seen the repeat."""
    entity = orders(project)
    project.write(
        "models/orders_feed.sql",
        """
        {{ config(materialized='feed') }}
        select * from ({{ tidemark.change_feed(ref('orders')) }})
        """,
    )
    load(entity, "2026-03-01", "2026-03-02")
    clone(entity)
    with schema_of_clones(project):
        load(entity, "2026-03-03")
    entity.run("2026-03-02")
    assert commits(entity, project.schema)[-1][0] == "repeat"
    project.dbt("run", "--select", "orders_feed")
    promote(entity)
    project.dbt("run", "--select", "orders_feed")
    kept = entity.rows("_commit_id, id, _change", "_feed")
    (wanted,) = query_all(project, [call("change_feed", "orders")])
    assert kept == sorted((row._commit_id, row.id, row._change) for row in wanted)
    assert len({row[0] for row in kept}) == 3


def test_clone__of_what_moves_meanwhile(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a clone of what the original is once it is whole: that has not moved since."""
    from dbt.adapters.tidemark import tables
    from tidemark.spark.clones import clone_table

    entity = orders(project)
    load(entity, "2026-03-01")
    states = f"{project.schema}.tidemark_commits__log"
    come = [
        f"insert into {states} by name select * except (commit_id, kind, state_at), "
        "commit_id + 1 as commit_id, 'clean' as kind, state_at + interval 1 second as state_at "
        f"from {states} where state = 'completed'"
    ]

    def beside(*arguments: Any) -> int:
        if come:
            project.query(come.pop())
        return clone_table(*arguments)

    monkeypatch.setattr(tables, "clone_table", beside)
    clone(entity)
    with schema_of_clones(project):
        load(entity, "2026-03-03")
    assert "promoted 1 commit" in promote(entity).output


# before the old log is shut, before the new one takes its name, and before current follows
POINTS = (
    r"tidemark\.fence",
    r"__log rename to",
    r"view \S*__history",
)


def test_promote__that_dies(project: Any) -> None:
    """The next run finishes it, or takes it back; the clone is there for another call."""
    entity = orders(project)
    own = project.schema
    load(entity, "2026-03-01", "2026-03-02")
    ends = set()
    # the fence of Iceberg's log is no statement of this kind
    for point in POINTS[project.file_format == "iceberg" :]:
        clone(entity, replace=True)
        with schema_of_clones(project) as dev:
            load(entity, "2026-03-03")
        was, then = told(entity, own), told(entity, dev)

        def die(sql: str) -> None:
            raise DbtDatabaseError("died here")

        with before(point, die) as found:
            result = promote(entity, expect_pass=False)
        assert found and "died here" in result.output, point
        entity.run("2026-03-01")  # that is there as it is
        kinds = [kind for kind, _ in commits(entity, own)]
        is_done = kinds[-2:] == ["promote", "repeat"] or "promote" in kinds[-2:]
        ends.add(is_done)
        assert told(entity, own) == (then if is_done else was), point
        if not is_done:
            promote(entity)
            assert told(entity, own) == then, point
        assert not [
            row.tableName
            for row in project.sql("show tables")
            if re.search("__new$|__slice_", row.tableName)
        ]
        entity.operate("rollback", to="2026-03-02")
    assert True in ends


def test_events__cloned_and_promoted(project: Any) -> None:
    entity = EventEntity(project, "people", {"id": "int", "name": "string"})
    entity.load([insert({"id": 1, "name": "ann"}), insert({"id": 2, "name": "bob"})])
    clone(entity)
    with schema_of_clones(project) as dev:
        entity.load([update({"id": 1, "name": "anna"}), delete({"id": 2}), insert({"id": 3})])
        rows = told(entity, dev)
    assert entity.rows("id, name") == [(1, "ann"), (2, "bob")]
    promote(entity)
    assert told(entity, project.schema) == rows
    # what the clone has read is not read again
    entity.run()
    assert told(entity, project.schema) == rows
    entity.load([insert({"id": 4, "name": "dee"})])
    assert entity.rows("id, name") == [(1, "anna"), (3, None), (4, "dee")]
    erased = entity.operate("erase_key", key="{id: 1}")
    assert f"clones of the entity may still have the key: {dev}.people." in " ".join(
        erased.output.split()
    )
    assert len(project.sql(f"select * from {dev}.people where id = 1")) == 1


def test_defer__begins_with_a_clone(project: Any, tmp_path: Any) -> None:
    entity = orders(project)
    load(entity, "2026-03-01", "2026-03-02")
    own = project.schema
    project._manifest.writable_manifest().write(str(tmp_path / "manifest.json"))
    entity.extract("2026-03-03", DAYS["2026-03-03"])
    with schema_of_clones(project) as dev:
        result = entity.run("2026-03-03", "--defer", "--state", str(tmp_path))
        assert "is cloned to" in result.output
        kinds = [("load", "2026-03-01"), ("load", "2026-03-02"), ("clone", None), ("load", "2026-03-03")]  # fmt: skip
        assert commits(entity, dev) == kinds
        entity.run("2026-03-03", "--defer", "--state", str(tmp_path))
    assert [kind for kind, _ in commits(entity, own)] == ["load", "load"]
