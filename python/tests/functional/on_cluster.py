"""The session of the test process on a cluster: master, workers and executors are processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..standalone import Cluster, standalone

SETTINGS = {
    "spark.pyspark.python": sys.executable,
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@contextmanager
def session_on_cluster(folder: Path, **settings: str) -> Iterator[Cluster]:
    """Start a cluster of two workers, to which the next session of this process belongs; end both.

    Args:
        folder: An empty folder.
        **settings: Of Spark, `_` for `.`, beside those of the target `cluster`.
    """
    from tidemark.spark.session import stop_session

    stop_session()
    given = {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}
    lines = [f"{name} {value}\n" for name, value in given.items()]
    (folder / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    with standalone(folder) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEMARK_MASTER", cluster.master)
        patch.setenv("TIDEMARK_SHUFFLE_PARTITIONS", "2")
        patch.setenv("TIDEMARK_SNAPSHOT_PARTITIONS", "2")
        patch.setenv("SPARK_CONF_DIR", str(folder))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.delenv("PYSPARK_PYTHON", raising=False)
        yield cluster
        stop_session()


def projects_on_cluster(make_project: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that makes projects of the target `cluster`."""

    def make(name: str) -> Any:
        project = make_project(name)
        project.target = "cluster"
        return project

    return make
