"""A Spark cluster: stories by the target `cluster`, whose tables are those of a local run.

Kept intervals and a kept feed are in test_cluster_deaths.py.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ..standalone import Cluster
from . import test_any_order as dates
from .entities import Entity
from .on_cluster import projects_on_cluster, session_on_cluster

# the same tests as on a local Spark: what they expect is what comes of it there
from .test_debezium import (  # noqa: F401
    landed,
    test_counts,
    test_keyless_tables,
    test_mariadb_customers,
    test_postgres_customers,
    test_toast,
    whole,
)
from .test_engine import FIGURES, assert_same, by_workers, load_both, pair
from .test_pages_blocks import test_python_models  # noqa: F401
from .test_shred import test_batches_as_the_oracle_has_them  # noqa: F401
from .test_shred_rdd import (  # noqa: F401
    spark,
    test_deduplicate_batch__same_rows_in_every_run,
)

pytestmark = pytest.mark.clusters


@pytest.fixture(scope="module")
def cluster(
    tidemark_test_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with session_on_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def make_project(make_project: Callable[[str], Any], cluster: Cluster) -> Callable[[str], Any]:
    return projects_on_cluster(make_project)


@pytest.mark.parametrize("kind", ["full", "delta"])
def test_engine_in_the_workers(project: Any, cluster: Cluster, kind: str) -> None:
    """On executors that share the files, for who says so: the same tables as by Spark SQL, which `auto` stays with."""
    columns = {"id": "int", "name": "string", "n": "decimal(12,2)"}
    one, other = pair(project, "engine", columns, "id", extract=kind)
    location = f"{one.folder}/{{business_date}}.csv"
    unasked = Entity(project, "unasked", columns, location=location, engine="auto", extract=kind)
    rng = random.Random(3)
    for day in ("2026-01-01", "2026-01-02"):
        keys = [key for key in range(2000) if rng.random() < 0.9]
        lines = [f"{key},{rng.choice('xyz')},{rng.randrange(3)}.5" for key in keys]
        load_both(one, other, day, "\n".join(["id,name,n", *lines, ""]))
    # by a worker of Python that is an executor's
    assert cluster.python_workers()
    unasked.run(day)
    assert_same(other, one)
    assert other.commits(FIGURES) == one.commits(FIGURES)
    assert by_workers(other) == [True] * 2
    assert {*by_workers(one), *by_workers(unasked)} == {False}


def test_extracts(project: Any, cluster: Cluster) -> None:
    """Full and delta extracts of three dates, of which the last one comes between the others."""
    dates.make_entities(project)
    chosen = {name: dates.ENTITIES[name] for name in ("full_plain", "delta_tagged")}
    rng = random.Random(7)
    known: dict[str, dict[date, Any]] = {name: {} for name in chosen}
    for number in (1, 3, 2):
        day = date(2026, 1, number)
        for name, entity in chosen.items():
            known[name][day] = dates.random_extract(rng, 200, delta=entity["delta"])
            path = project.root / name / f"{day}.csv"
            dates.write_extract(path, known[name][day], f"load {number}")
        project.dbt("run", "--select", *chosen, vars={"business_date": str(day)})
        for name, entity in chosen.items():
            tagged = name.endswith("tagged")
            dates.check(project, name, known[name], delta=entity["delta"], tagged=tagged)
    assert len(cluster.executors()) == 2
    assert project.session.sparkContext.master == os.environ["TIDEMARK_MASTER"]
