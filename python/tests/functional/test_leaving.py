"""The plain SQL of the page on leaving gives what the tables and macros of Tidemark give."""

from __future__ import annotations

from typing import Any

import pytest

from ..pages import blocks_of
from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = pytest.mark.turn(1, 3)
DAYS = {
    "2026-02-05": "id,name\n1,ann\n2,bob\n",
    "2026-02-07": "id,name\n1,anna\n3,cy\n",
    "2026-02-06": "id,name\n1,ann\n2,bea\n4,dee\n",
}


def statements(project: Any) -> list[str]:
    """The page's statements of SQL, over a project's schema."""
    blocks = blocks_of("How do I leave Tidemark?")
    return [
        text.replace("shop.", f"{project.schema}.")
        for language, text in blocks
        if language == "sql"
    ]


def found(project: Any, query: str, columns: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, project.sql(f"select {columns} from ({query})")))


def test_extracts(project: Any) -> None:
    entity = Entity(
        project, "airports", {"id": "int", "name": "string"}, max_delete_fraction=1
    )  # fmt: skip
    project.write(
        "models/versions.sql",
        "{{ config(materialized='view') }} {{ tidemark.scd2(ref('airports')) }}",
    )
    for day, text in DAYS.items():
        entity.extract(day, text)
        project.dbt("run", vars={"business_date": day})
    _, current, known, intervals, *_ = statements(project)
    assert found(project, current, "id, name") == [(1, "anna"), (3, "cy")]
    earlier = current.replace(
        "where _superseded_by is null",
        "where _superseded_by is null and _business_date <= date'2026-02-06'",
    )
    assert found(project, earlier, "id, name") == [(1, "ann"), (2, "bea"), (4, "dee")]
    # before the date that came late
    second = entity.commits("commit_id")[1][0]
    then = current.replace(
        "_superseded_by is null", known.strip().replace("260304093000123", str(second))
    )
    assert found(project, then, "id, name") == [(1, "anna"), (3, "cy")]
    bounds = found(project, "select * from versions", "id, name, _valid_from, _valid_to is null")
    assert found(project, intervals, "id, name, valid_from, valid_to is null") == bounds
    ends = "id, coalesce(valid_to, date'9999-12-31')"
    wanted = ends.replace("valid_to", "_valid_to")
    assert found(project, intervals, ends) == found(project, "select * from versions", wanted)

    (snapshot,) = (one for one in statements(project) if "airports_snapshot" in one)
    project.sql(snapshot)
    rows = "id, name, cast(dbt_valid_from as date), dbt_valid_to is null"
    assert found(project, f"select * from {project.schema}.airports_snapshot", rows) == bounds
    assert project.sql(
        "select count(*) = count(distinct dbt_scd_id) as is_one from airports_snapshot"
    )[0].is_one


def test_events(project: Any) -> None:
    entity = EventEntity(project, "customers", {"id": "int", "name": "string"})
    entity.load([insert({"id": 1, "name": "ann"}), insert({"id": 2, "name": "bob"})])
    entity.load([update({"id": 1, "name": "anna"}), delete({"id": 2}), insert({"id": 3})])
    (current,) = (one for one in statements(project) if "customers__log" in one)
    assert (
        found(project, current, "id, name") == entity.rows("id, name") == [(1, "anna"), (3, None)]
    )
