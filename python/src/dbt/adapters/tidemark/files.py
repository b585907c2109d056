"""Files as the session's own file systems see them: local disk, HDFS, object stores."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession


def list_files(session: SparkSession, path: str) -> list[dict[str, Any]]:
    """Return the files of a file, folder or glob, in path order; empty if nothing matches.

    Example:
        >>> list_files(session, "data/airports_*.csv.gz")
        [{'path': 'file:/…/data/airports_2026-03-04.csv.gz', 'size': 1402, 'modified': datetime(…)}]

    Args:
        session: The running session, whose Hadoop configuration names the file systems.
        path: What to look for. A folder stands for its files at any depth, except names that start
            with `_` or `.` (Spark's own rule for what is data).
    """
    jvm: Any = session.sparkContext._jvm
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    location = jvm.org.apache.hadoop.fs.Path(path)
    found = location.getFileSystem(configuration).globStatus(location)
    files: list[dict[str, Any]] = []
    folders = list(found or [])
    while folders:
        status = folders.pop()
        if not status.isDirectory():
            files.append(_file(status))
            continue
        folder = status.getPath()
        for child in folder.getFileSystem(configuration).listStatus(folder):
            if not child.getPath().getName().startswith(("_", ".")):
                folders.append(child)
    return sorted(files, key=lambda file: str(file["path"]))


def _file(status: Any) -> dict[str, Any]:
    return {
        "path": str(status.getPath().toString()),
        "size": int(status.getLen()),
        "modified": datetime.fromtimestamp(status.getModificationTime() / 1000, tz=UTC),
    }
