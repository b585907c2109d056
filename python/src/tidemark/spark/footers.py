"""What the footers of Parquet files say that Spark's reader passes over.

Of files of several schemas it goes by one, so that a column which that one lacks would be lost
without a word; and timestamps in nanoseconds, which pandas writes, it reads as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from tidemark.errors import TidemarkError
from tidemark.spark.cached import view_rows
from tidemark.spark.files import hadoop_path, java_class

# Spark refuses such columns without it; of no other file it changes anything
_NANOS_AS_NUMBERS = "spark.sql.legacy.parquet.nanosAsLong"
_PARALLEL = "parquet.metadata.read.parallelism"
_NANOS = re.compile(r"TIMESTAMP\(NANOS,(?P<instant>true|false)\)")
_BLOCK = 128 * 1024 * 1024


@dataclass(frozen=True)
class _File:
    path: str
    names: frozenset[str]
    """In lower case."""
    nanoseconds: dict[str, str] = field(default_factory=dict)


def footers_of(session: SparkSession, files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tell how Parquet files are to be read, and have the session read nanoseconds as numbers.

    Example:
        >>> footers_of(session, [{"path": "file:/data/orders.parquet", "size": 1402}])
        {'nanoseconds': {'ordered_at': 'timestamp_ntz'}, 'differ': False}

    Args:
        session: The running session.
        files: Parquet files, as list_files() gives them.

    Returns:
        `nanoseconds`, the columns with such timestamps: by name the Spark type that they are,
        `timestamp`, or of times without a zone `timestamp_ntz`; and whether the columns of the
        files `differ`, so that Spark has to be told to merge them.

    Raises:
        TidemarkError: A column has nanoseconds in one file and another unit in another one: as
            numbers they would be read alike.
    """
    known = _known_files(session, files)
    if known is None:
        # one of them is broken, as Spark will say
        return {"nanoseconds": {}, "differ": len(files) > 1}
    nanoseconds: dict[str, str] = {}
    for file in known:
        for name, kind in file.nanoseconds.items():
            nanoseconds.setdefault(name, kind)
    for name, kind in nanoseconds.items():
        having = [file for file in known if name.lower() in file.names]
        first = next(file for file in having if file.nanoseconds.get(name) == kind)
        for file in having:
            if file.nanoseconds.get(name) != kind:
                raise TidemarkError(
                    f"{file.path} has other timestamps than {first.path}, where {name} counts "
                    "nanoseconds. Write all files of a date in the same unit"
                )
    if nanoseconds:
        session.conf.set(_NANOS_AS_NUMBERS, "true")
    differ = any(file.names != known[0].names for file in known)
    return {"nanoseconds": nanoseconds, "differ": differ}


def view_files(
    session: SparkSession, name: str, files: Sequence[Mapping[str, Any]], location: str
) -> None:
    """Make a temporary view of Parquet files, with all columns that one of them has.

    Beside these it has `_file`, `_block` and `_row`, as event_lines_sql() of the macros has them.

    Args:
        session: The running session.
        name: The view, quoted as in SQL; one of that name is replaced.
        files: The files, with `_file` and `_file_size` as Spark's metadata of files has them.
        location: The folder that they lie in, whose own folders may be columns, or what matches
            them.
    """
    there = [{"path": unquote(str(file["_file"])), "size": file["_file_size"]} for file in files]
    known = _known_files(session, there)
    differ = known is None or any(file.names != known[0].names for file in known)
    reader = session.read.option("mergeSchema", differ)
    root = hadoop_path(session._jvm, location)
    system = root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    if system.exists(root) and system.getFileStatus(root).isDirectory():
        reader = reader.option("basePath", location)
    # Spark takes paths for patterns
    paths = [re.sub(r"([*?\[\]{}\\])", r"\\\1", file["path"]) for file in there]
    rows = reader.parquet(*paths).selectExpr(
        "*",
        "_metadata.file_path as _file",
        "_metadata.file_block_start as _block",
        "monotonically_increasing_id() as _row",
    )
    view_rows(session, name, rows)


def _known_files(session: SparkSession, files: Sequence[Mapping[str, Any]]) -> list[_File] | None:
    """Return what the footers say; None if one cannot be read."""
    jvm: Any = session._jvm
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    configuration.setInt(_PARALLEL, 32)
    reader = java_class(jvm, "org.apache.parquet.hadoop.ParquetFileReader")
    status = java_class(jvm, "org.apache.hadoop.fs.FileStatus")
    asked = java_class(jvm, "java.util.ArrayList")()
    for file in files:
        path = hadoop_path(jvm, str(file["path"]))
        asked.add(status(int(file["size"]), False, 1, _BLOCK, 0, path))
    try:
        footers = list(reader.readAllFootersInParallel(configuration, asked, True))
    except Exception:
        return None
    found: list[_File] = []
    first: Any = None
    for file, footer in zip(files, footers, strict=True):
        schema = footer.getParquetMetadata().getFileMetaData().getSchema()
        if first is not None and schema.equals(first):
            found.append(_File(str(file["path"]), found[0].names, found[0].nanoseconds))
            continue
        found.append(_file_of(str(file["path"]), schema))
        first = schema if first is None else first
    return found


def _file_of(path: str, schema: Any) -> _File:
    names, nanoseconds = set(), {}
    for column in schema.getFields():
        name = str(column.getName())
        names.add(name.lower())
        kind = _NANOS.search(str(column.toString()).partition("\n")[0])
        if kind and column.isPrimitive():
            nanoseconds[name] = "timestamp" if kind["instant"] == "true" else "timestamp_ntz"
    return _File(path, frozenset(names), nanoseconds)
