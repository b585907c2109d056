"""A story that leaves something else behind by Spark SQL than by the workers fails (`tests/both_ways.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ..both_ways import SPARK, WORKERS, BothWays


@pytest.fixture(scope="module")
def table(module_project: Any) -> Iterator[str]:
    module_project.sql(
        "create table told (id int, _commit_id bigint, started_at timestamp) using delta"
    )
    yield "told"


def _leave(project: Any, way: BothWays, which: str, commit: int, rows: int) -> None:
    way.begin_module(which)
    project.sql(f"insert overwrite told select id, {commit}, now() from range({rows})")
    way.after(project, "dbt run", {"told": f"I {rows}, commit {commit}"})


def test_the_same__at_another_moment(module_project: Any, table: str) -> None:
    way = BothWays()
    _leave(module_project, way, WORKERS, 261128180000001, 2)
    _leave(module_project, way, SPARK, 261128180500002, 2)


def test_another_row(module_project: Any, table: str) -> None:
    way = BothWays()
    _leave(module_project, way, WORKERS, 261128180000001, 2)
    with pytest.raises(pytest.fail.Exception) as failed:
        _leave(module_project, way, SPARK, 261128180000001, 3)
    assert "told, 1 rows by Spark alone" in str(failed.value)
    assert '"id":2' in str(failed.value)
    assert "Spark:   I 3, commit <commit 0>" in str(failed.value)


def test_a_table_more(module_project: Any, table: str) -> None:
    way = BothWays()
    _leave(module_project, way, WORKERS, 261128180000001, 2)
    module_project.sql("create table more using delta as select 1 as id")
    with pytest.raises(pytest.fail.Exception) as failed:
        _leave(module_project, way, SPARK, 261128180000001, 2)
    assert "more was written by Spark alone" in str(failed.value)
