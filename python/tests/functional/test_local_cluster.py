"""Executors that are processes of their own get our settings, jars and Python; test_cluster.py has the stories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, os, sys
from tidemark.spark.delta import stage_rows
from tidemark.spark.session import get_session, stop_session

session = get_session({
    "spark.master": "local-cluster[1,1,1024]", "spark.pyspark.python": sys.executable, "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
})
session.sql("create table numbers (n bigint) using delta")
staged = stage_rows(session, "default", "numbers", 0, "select id as n from range(100)", {"n": "count(*)"}, "select * from {counted}")
staged.commit()

def place(number):
    import tidemark
    return number, os.readlink(f"/proc/{os.getppid()}/exe") == os.path.realpath(sys.executable)

context = session.sparkContext
print(json.dumps({
    "figures": staged.figures,
    "rows": session.table("numbers").distinct().count(),
    "python": context.parallelize([1], 1).map(place).collect(),
    "executors": context._jsc.sc().getExecutorMemoryStatus().size() - 1,
}))
stop_session()
"""


@pytest.mark.clusters
def test_executors_of_their_own(tmp_path: Path) -> None:
    environment = {**os.environ, "TIDEMARK_HOME": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_PYTHON", None)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {
        "figures": {"n": 100},
        "rows": 100,
        "python": [[1, True]],
        "executors": 1,
    }
