"""The inputs of a query: files, and tables of Delta by their versions."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from tidemark.spark.files import file_of, hadoop_path, java_class

_COMMIT = re.compile(r"(\d{20})\.json")


def input_files(session: SparkSession, sql: str) -> list[dict[str, Any]]:
    """Return the files behind a query; those of a Delta table as the table.

    Example:
        >>> input_files(session, "select * from shop.orders")
        [{'table': 'file:/…/warehouse/shop.db/orders', 'version': 12}]

    Args:
        session: The running session.
        sql: The query. It is planned and not run.

    Returns:
        A dict per file as list_files() gives it, and per table its folder, `table`, and `version`.
        Rows that are in no file, those of JDBC for example, are not told of.
    """
    jvm: Any = session.sparkContext._jvm
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    tables: dict[str, str | None] = {}
    found: dict[str, dict[str, Any]] = {}
    for text in session.sql(sql).inputFiles():
        path = (
            hadoop_path(jvm, java_class(jvm, "java.net.URI")(text))
            if "%" in text
            else hadoop_path(jvm, text)
        )
        files = path.getFileSystem(configuration)
        table = _table_of(files, path.getParent(), tables)
        if table is not None:
            if table not in found:
                found[table] = {"table": table, "version": table_version_at(session, table)}
        elif files.exists(path):
            found[str(path.toString())] = file_of(files.getFileStatus(path))
    return [found[name] for name in sorted(found)]


def table_version_at(session: SparkSession, folder: str) -> int | None:
    """Return the version of the Delta table in a folder, or None if there is none."""
    jvm: Any = session.sparkContext._jvm
    log = hadoop_path(jvm, hadoop_path(jvm, folder), "_delta_log")
    files = log.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    if not files.exists(log):
        return None
    names = (str(status.getPath().getName()) for status in files.listStatus(log))
    return max(
        (int(match[1]) for name in names if (match := _COMMIT.fullmatch(name))), default=None
    )


def _table_of(files: Any, folder: Any, known: dict[str, str | None]) -> str | None:
    """Return the folder at or above this one that is a Delta table; what is found out is kept."""
    name = str(folder.toString())
    if name not in known:
        above = folder.getParent()
        if files.exists(folder.suffix("/_delta_log")):
            known[name] = name
        else:
            known[name] = None if above is None else _table_of(files, above, known)
    return known[name]
