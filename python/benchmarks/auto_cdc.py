"""AUTO CDC of Spark Declarative Pipelines over the events of workload (e), in an environment of its own.

    python python/benchmarks/auto_cdc.py FOLDER BATCHES

makes a virtual environment with PySpark 4.3 in the user's cache (once), a pipeline in FOLDER, and runs it with the files of
BATCHES/1 (not timed), then with those of BATCHES/2. The target is `create_auto_cdc_flow(stored_as_scd_type=1)`.

AUTO CDC asks for a table that a connector of DataSource V2 can change row by row. While no released one runs on Spark 4.3,
there is no time but the reason that Spark gives. BENCH_AUTO_CDC may name another connector, as JSON with `format`,
`catalog`, `database` and `conf`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

from harness import Timing

VERSION = "4.3"
CONNECTOR: dict[str, Any] = {
    "format": "delta",
    "catalog": "spark_catalog",
    "database": "default",
    "conf": {
        # the newest that there is: Delta has none for 4.3 yet
        "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
}
SPEC = """
name: bench
storage: file://{folder}/storage
catalog: {catalog}
database: {database}
libraries:
  - glob: {{include: transformations/**}}
configuration:
  spark.sql.shuffle.partitions: "4"
  spark.sql.session.timeZone: "UTC"
"""
FLOW = """
from pyspark import pipelines as dp
from pyspark.sql import SparkSession

ROW = "id bigint, customer string, amount decimal(12,2), state string, updated timestamp"
EVENT = f"op string, source struct<lsn: bigint>, before struct<id: bigint>, after struct<{{ROW}}>"
GONE = "before.id is not null and not before.id <=> after.id"


@dp.temporary_view
def changes():
    # a row that moves to another key is a delete and an insert
    lines = SparkSession.active().readStream.schema(EVENT).json("{folder}/landing")
    parts = f"array_compact(array(if({{GONE}}, named_struct('key', before.id, 'gone', true), null), " \\
        "if(after.id is not null, named_struct('key', after.id, 'gone', false), null)))"
    return lines.selectExpr("source.lsn", "after", f"explode({{parts}}) as part").selectExpr(
        "part.key as id", "after.customer", "after.amount", "after.state", "after.updated", "part.gone", "lsn")


dp.create_streaming_table("orders", format="{format}")
dp.create_auto_cdc_flow(
    target="orders",
    source="changes",
    keys=["id"],
    sequence_by="lsn",
    apply_as_deletes="gone",
    except_column_list=["gone", "lsn"],
    stored_as_scd_type=1,
)
"""


def environment() -> Path:
    """The folder with the programs of PySpark 4.3, which is installed if it is not there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "tidemark-bench" / f"pyspark-{VERSION}"
    if not (folder / "bin" / "spark-pipelines").exists():
        venv.create(folder, with_pip=True)
        pip = (
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        )
        subprocess.run((*pip, f"pyspark[pipelines]=={VERSION}.*"), check=True, stdout=sys.stderr)
    return folder / "bin"


def make_pipeline(folder: Path, connector: dict[str, Any]) -> None:
    """Write the pipeline's files."""
    conf = {
        **connector["conf"],
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.memory": os.environ.get("TIDEMARK_DRIVER_MEMORY", "2g"),
        "spark.ui.enabled": "false",
        # the tables of one run must be there for the next one
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    }
    files = {
        "conf/spark-defaults.conf": "".join(f"{name} {value}\n" for name, value in conf.items()),
        "spark-pipeline.yml": SPEC.format(folder=folder, **connector),
        "transformations/orders.py": FLOW.format(folder=folder, **connector),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "landing").mkdir()


def run(programs: Path, folder: Path) -> tuple[float, str]:
    """Run the pipeline; seconds, and what Spark says if it failed."""
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SPARK_CONF_DIR": str(folder / "conf"),
        "PYSPARK_PYTHON": str(programs / "python"),
    }
    started = time.monotonic()
    done = subprocess.run(
        (str(programs / "spark-pipelines"), "run", "--spec", "spark-pipeline.yml"),
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds = time.monotonic() - started
    if done.returncode == 0:
        return seconds, ""
    found = re.findall(r"\[[A-Z_.]+\][^\n]*", done.stdout)
    return seconds, found[-1] if found else done.stdout.strip().splitlines()[-1]


def second_batch(folder: Path, batches: Path) -> tuple[Timing | None, str]:
    """Load two batches; the seconds of the second one, or none and the reason."""
    connector = {**CONNECTOR, **json.loads(os.environ.get("BENCH_AUTO_CDC", "{}"))}
    try:
        programs = environment()
    except (OSError, subprocess.CalledProcessError) as error:
        return None, f"AUTO CDC was not measured: PySpark {VERSION} cannot be installed ({error})."
    make_pipeline(folder, connector)
    seconds = 0.0
    for batch in (1, 2):
        for path in (batches / str(batch)).iterdir():
            (folder / "landing" / path.name).hardlink_to(path)
        seconds, reason = run(programs, folder)
        if reason:
            return None, f"AUTO CDC of PySpark {VERSION} was not measured, it says: {reason}"
    return Timing(seconds), f"AUTO CDC writes a {connector['format']} table, current only."


if __name__ == "__main__":
    print(second_batch(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
