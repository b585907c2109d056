"""Tables in the format of the session: its catalogue is that of Delta or of Iceberg."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidemark.sessions import delta_tables, iceberg_tables
from tidemark.sessions.duck import Files
from tidemark.sessions.tables import OpenTable, Table
from tidemark.spark.iceberg import is_iceberg


def open_table(spark: SparkSession, table: Table, version: int | None = None) -> OpenTable:
    """Begin to write to a table, which is to be of a version, if one is given.

    Raises:
        Declined: It is none that the session writes to.
        TidemarkError: It has another version.
    """
    if is_iceberg(spark):
        return iceberg_tables.IcebergTable.begin(spark, table, version)
    return delta_tables.DeltaTable.begin(spark, table, version)


def files_of(spark: SparkSession, table: Table) -> Files:
    """Return the rows of a table as it is now.

    Raises:
        Declined: It is none that the session reads.
    """
    if is_iceberg(spark):
        return iceberg_tables.files_of(spark, table)
    return delta_tables.files_of(spark, table)
