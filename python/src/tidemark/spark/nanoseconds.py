"""Timestamps in nanoseconds, which pandas writes into Parquet files and Spark reads as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from tidemark.errors import TidemarkError
from tidemark.spark.files import hadoop_path, java_class

# Spark refuses such columns without it; of no other file it changes anything
_SETTING = "spark.sql.legacy.parquet.nanosAsLong"
_NANOS = re.compile(r"TIMESTAMP\(NANOS,(?P<instant>true|false)\)")


def nanosecond_columns(session: SparkSession, files: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the columns with timestamps in nanoseconds, and have the session read them as numbers.

    Example:
        >>> nanosecond_columns(session, [{"path": "file:/data/orders.parquet"}])
        {'ordered_at': 'timestamp_ntz'}

    Args:
        session: The running session.
        files: Parquet files, as list_files() gives them. If the first one has no such column, the
            others are not asked.

    Returns:
        By name the Spark type that they are: `timestamp`, or of times without a zone
        `timestamp_ntz`.

    Raises:
        TidemarkError: Another file has such a column in another unit: as numbers they would be
            read alike.
    """
    first, *others = [str(file["path"]) for file in files]
    found = _columns_of(session, first)
    if not found:
        return {}
    for path in others:
        if _columns_of(session, path) not in (found, None):
            raise TidemarkError(
                f"{path} has other timestamps than {first}, where {', '.join(sorted(found))} "
                "counts nanoseconds: write all files of a date in the same unit"
            )
    session.conf.set(_SETTING, "true")
    return found


def _columns_of(session: SparkSession, path: str) -> dict[str, str] | None:
    """Return what one file has, by its footer; None of one that is broken, as Spark will say."""
    jvm: Any = session._jvm
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    read = java_class(jvm, "org.apache.parquet.hadoop.ParquetFileReader")
    inputs = java_class(jvm, "org.apache.parquet.hadoop.util.HadoopInputFile")
    try:
        reader = read.open(inputs.fromPath(hadoop_path(jvm, path), configuration))
    except Exception:
        return None
    try:
        fields = reader.getFileMetaData().getSchema().getFields()
        columns = {}
        for field in fields:
            kind = _NANOS.search(str(field.toString()).partition("\n")[0])
            if kind and field.isPrimitive():
                is_instant = kind["instant"] == "true"
                columns[str(field.getName())] = "timestamp" if is_instant else "timestamp_ntz"
        return columns
    finally:
        reader.close()
