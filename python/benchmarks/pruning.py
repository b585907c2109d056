"""Whether a MERGE into current reads less when it is told the keys that it is about.

    python python/benchmarks/pruning.py 2000000 240

makes a table of that many rows in about that many files, clustered by `_key_hash` as `compact` does it, and merges
slices of 1, 10 and 30 keys into it: without their hashes in the condition, with them in an `in`, and with one equality
for each, which is what a load writes. It prints how many files and bytes the MERGE read, as Spark's scan nodes count them
(it scans once to find the files and once more those that it writes), and seconds. Everything is in a temporary folder.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

MERGE = """
merge into current
using slice
    on current._key_hash <=> slice._key_hash{keys}
when matched and slice._operation <> 'D' then update set value = slice.value
when matched and slice._operation = 'D' then delete
when not matched and slice._operation <> 'D' then insert (id, value, _key_hash)
    values (slice.id, slice.value, slice._key_hash)
"""


def start(folder: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": folder,
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.memory": "2g",
        "spark.sql.ui.retainedExecutions": "100000",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read_so_far(session: SparkSession) -> tuple[int, int]:
    """Files and bytes that the scans of this session have read; a scan's numbers count once."""
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[union-attr]
    store: Any = session._jsparkSession.sharedState().statusStore()
    found: dict[tuple[str, int], int] = {}
    executions = store.executionsList()
    for index in range(executions.size()):
        execution = executions.apply(index)
        metrics = execution.metrics()
        values = store.executionMetrics(execution.executionId())
        for number in range(metrics.size()):
            metric = metrics.apply(number)
            value = values.get(metric.accumulatorId())
            if metric.name() in ("number of files read", "size of files read"):
                found[metric.name(), metric.accumulatorId()] = _number(
                    value.get() if value.isDefined() else "0"
                )
    return (
        sum(value for (name, _), value in found.items() if name == "number of files read"),
        sum(value for (name, _), value in found.items() if name == "size of files read"),
    )


def _number(text: str) -> int:
    """A metric as it is shown: `1,200` or `3.5 MiB`."""
    amount, _, unit = text.partition(" ")
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    return int(float(amount.replace(",", "")) * units.get(unit, 1))


def merge(session: SparkSession, keys: str) -> tuple[int, int, float]:
    """Files and bytes read, and seconds; the table is put back."""
    version = session.sql("describe history current limit 1").collect()[0].version
    condition = f"\n    and ({keys})" if keys else ""
    before = read_so_far(session)
    started = time.monotonic()
    session.sql(MERGE.format(keys=condition)).collect()
    seconds = time.monotonic() - started
    after = read_so_far(session)
    session.sql(f"restore table current to version as of {version}")
    return after[0] - before[0], after[1] - before[1], seconds


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        session = start(str(Path(folder) / "warehouse"))
        session.sql("create table current (id bigint, value string, _key_hash string) using delta")
        session.sql(
            f"insert into current select id, uuid(), md5(cast(id as string)) from range({rows})"
        )
        size = session.sql("describe detail current").collect()[0].sizeInBytes // wanted
        for name in ("maxFileSize", "minFileSize"):
            session.conf.set(f"spark.databricks.delta.optimize.{name}", str(size))
        session.sql("optimize current zorder by (_key_hash)")
        files = session.sql("describe detail current").collect()[0].numFiles
        print(f"{rows} rows in {files} files of about {size} bytes")
        print("   keys  list     files      bytes  seconds")
        for count in (1, 10, 30):
            ids = rng.sample(range(rows), count)
            values = ", ".join(f"({key})" for key in ids)
            session.sql(
                "create or replace temporary view slice as select id, 'new' as value, "
                f"md5(cast(id as string)) as _key_hash, 'U' as _operation from values {values} as ids(id)"
            )
            keys = [row[0] for row in session.sql("select _key_hash from slice").collect()]
            listed = ", ".join(f"'{key}'" for key in keys)
            equal = " or ".join(f"current._key_hash = '{key}'" for key in keys)
            for label, condition in (
                ("no", ""),
                ("in", f"current._key_hash in ({listed})"),
                ("=", equal),
            ):
                files, size, seconds = merge(session, condition)
                print(f"{count:7}  {label:4} {files:9} {size:10} {seconds:8.2f}", flush=True)
        session.stop()


if __name__ == "__main__":
    main()
