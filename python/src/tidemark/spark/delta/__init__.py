"""What Delta tables tell without a Spark job, and rows that are judged between write and commit.

SQL writes and commits in one statement, so that what must be judged first would be written to a
table of its own, read again and written again. Delta's transaction parts the two: data files are no
part of a table until a commit names them.
"""

from tidemark.spark.delta.append import append_rows
from tidemark.spark.delta.create import create_table
from tidemark.spark.delta.join import join_now_and_then
from tidemark.spark.delta.log import (
    file_count,
    id_and_version,
    table_property,
    table_version,
    trim_log,
    version_of_same_rows,
)
from tidemark.spark.delta.small import listed_bytes, replace_rows, view_small_table
from tidemark.spark.delta.staged import StagedRows, stage_rows

__all__ = [
    "StagedRows",
    "append_rows",
    "create_table",
    "file_count",
    "id_and_version",
    "join_now_and_then",
    "listed_bytes",
    "replace_rows",
    "stage_rows",
    "table_property",
    "table_version",
    "trim_log",
    "version_of_same_rows",
    "view_small_table",
]
