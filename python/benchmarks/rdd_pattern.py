"""The staged pattern as it is written by hand with RDDs: hash each line, join, one Parquet write per stage.

    python rdd_pattern.py LANDING FOLDER KEYS PREVIOUS_DATE DATE

reads LANDING/DATE.csv, compares it with the keys and hashes that PREVIOUS_DATE left in FOLDER (none if that is empty),
and writes staged, classified, history and current rows as Parquet, as each stage needs the one before.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    landing, folder, key_count, previous, date = sys.argv[1:]
    keys = int(key_count)
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", os.environ.get("TIDEMARK_DRIVER_MEMORY", "2g"))
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")

    def hashed(line: str) -> tuple[str, str, str]:
        values = line.split(",")
        key = hashlib.md5("|".join(values[:keys]).encode()).hexdigest()
        return key, hashlib.md5("|".join(values[keys:]).encode()).hexdigest(), line

    def without_header(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        return (line for number, line in lines if number)

    lines = spark.sparkContext.textFile(f"{landing}/{date}.csv").zipWithIndex()
    rows = lines.map(lambda pair: (pair[1], pair[0])).mapPartitions(without_header).map(hashed)
    names = "key_hash string, row_hash string, line string"
    spark.createDataFrame(rows, names).write.parquet(f"{folder}/{date}/staged")

    staged = spark.read.parquet(f"{folder}/{date}/staged").rdd.map(
        lambda row: (row[0], (row[1], row[2]))
    )
    stored = spark.sparkContext.emptyRDD()
    if previous:
        stored = spark.read.parquet(f"{folder}/{previous}/current").rdd.map(
            lambda row: (row[0], (row[1], row[2]))
        )

    def classified(pair: tuple[str, Any]) -> tuple[str, str, str, str]:
        key, (new, old) = pair
        if new is None:
            return key, old[0], old[1], "D"
        operation = "I" if old is None else "N" if old[0] == new[0] else "U"
        return key, new[0], new[1], operation

    joined = staged.fullOuterJoin(stored).map(classified)
    spark.createDataFrame(joined, f"{names}, operation string").write.parquet(
        f"{folder}/{date}/classified"
    )

    result = spark.read.parquet(f"{folder}/{date}/classified")
    result.where("operation <> 'N'").write.parquet(f"{folder}/{date}/history")
    result.where("operation <> 'D'").write.parquet(f"{folder}/{date}/current")
    spark.stop()


if __name__ == "__main__":
    main()
