"""Files as the session's own file systems see them: local disk, HDFS, object stores."""

from __future__ import annotations

import os
import re
import stat
import time
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from tidemark.engine.header import local_path
from tidemark.rights import check_open

_EMBEDDED = "jdbc:derby:;"
# what is a name to every file system, and no address
_PLAIN_NAME = re.compile(r"[\w .,=+@~()-]+", re.ASCII)
# seconds after which a folder that is no table yet is one that was left
_PATIENCE = 60
# the same of a slice, which is not waited for: its statement may take long, and write seldom
_PATIENCE_OF_SLICES = 24 * 3600


def list_files(session: SparkSession, path: str) -> list[dict[str, Any]]:
    """Return the files of a file, folder or glob, in path order; empty if nothing matches.

    Example:
        >>> list_files(session, "data/airports_*.csv.gz")
        [{'path': 'file:/…/airports_2026-03-04.csv.gz', 'size': 1402, 'depth': 0, 'modified': …}]

    Args:
        session: The running session, whose Hadoop configuration names the file systems.
        path: What to look for. A folder stands for its files at any depth, except names that start
            with `_` or `.` (Spark's own rule for what is data; to it `_day=1` is a partition).

    Returns:
        Each file also has its `depth`: how many folders it lies below what matches the path, 0 if
        it matches itself.

    Raises:
        DataError: This user may not look there.
    """
    try:
        files = _files_at(session, path)
    except PermissionError:
        check_open(path)
        raise
    if not files:
        check_open(path)
    return files


def _files_at(session: SparkSession, path: str) -> list[dict[str, Any]]:
    jvm: Any = session.sparkContext._jvm
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    location = hadoop_path(jvm, path)
    found = location.getFileSystem(configuration).globStatus(location)
    files: list[dict[str, Any]] = []
    left = [(status, 0) for status in found or []]
    while left:
        status, depth = left.pop()
        if not status.isDirectory():
            files.append({**file_of(status), "depth": depth})
            continue
        folder = status.getPath()
        local = local_files(str(folder.toString()), depth + 1)
        if local is not None:
            files += local
            continue
        for child in folder.getFileSystem(configuration).listStatus(folder):
            if _is_data(str(child.getPath().getName())):
                left.append((child, depth + 1))
    return sorted(files, key=lambda file: str(file["path"]))


def _is_data(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def local_files(folder: str, depth: int = 1) -> list[dict[str, Any]] | None:
    """Return the files of a folder of this machine as list_files() does, at any depth.

    Through the JVM a file takes a thousandth of a second, which in a folder of a hundred thousand
    is a minute of each load.

    Args:
        folder: The folder, as Hadoop writes it.
        depth: That of the files right in it.

    Returns:
        None where it is elsewhere, or has a name that Hadoop and Python may not write alike.
    """
    root = local_path(folder) if folder.startswith("file:/") else None
    if root is None:
        return None
    files: list[dict[str, Any]] = []
    left = [(root, depth)]
    while left:
        path, level = left.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                if not _is_data(entry.name):
                    continue
                if not _PLAIN_NAME.fullmatch(entry.name):
                    return None
                try:
                    found = entry.stat()
                except OSError:
                    continue  # it went, or is a link to nowhere
                if stat.S_ISDIR(found.st_mode):
                    left.append((entry.path, level + 1))
                    continue
                modified = datetime.fromtimestamp(found.st_mtime_ns // 10**6 / 1000, tz=UTC)
                file = {"path": f"file:{entry.path}", "size": found.st_size, "modified": modified}
                files.append({**file, "depth": level})
    return files


def clear_leftovers(session: SparkSession, schema: str, name: str) -> bool:
    """Remove what a killed `create table` left where a managed table is about to be made.

    Such a folder belongs to no table of the catalog, and either its Delta log has no commit, or
    nothing but a Delta log is in it. Anything else is left for Spark to complain about. Where other
    processes share the metastore one of them may be making the table: then it is waited for, until
    nothing has come into the folder for a minute.

    Args:
        session: The running session.
        schema: The schema of the table to be made.
        name: Its name.

    Returns:
        Whether a folder was removed.
    """
    jvm: Any = session.sparkContext._jvm
    state = session._jsparkSession.sessionState()
    table = table_identifier(jvm, schema, name)
    catalog = state.catalog()
    if not catalog.databaseExists(schema):
        return False
    configuration = state.newHadoopConf()
    shared = _is_shared(configuration)
    touched, seen = 0.0, time.monotonic()
    while not catalog.tableExists(table):
        folder = hadoop_path(jvm, catalog.defaultTablePath(table))
        files = folder.getFileSystem(configuration)
        if not files.exists(folder) or not _is_leftover(jvm, files, folder):
            return False
        if (last := _last_touched(jvm, files, folder)) != touched:
            touched, seen = last, time.monotonic()
        # the time that passes here counts too: files may be of a clock that has gone back since
        if (
            not shared
            or time.monotonic() - seen >= _PATIENCE
            or _time_there(jvm, files, folder.getParent()) - touched >= _PATIENCE
        ):
            return bool(files.delete(folder, True))
        time.sleep(1)
    return False


def clear_slices(session: SparkSession, schema: str, prefix: str) -> int:
    """Remove the folders of slices whose run was killed while it wrote them: no table has them.

    Where other processes share the metastore one of them may be writing: there a folder is left
    until nothing has come right into it for a day.

    Args:
        session: The running session.
        schema: The schema of the slices.
        prefix: What their names begin with, before the number of their commit.

    Returns:
        How many were removed.
    """
    jvm: Any = session.sparkContext._jvm
    state = session._jsparkSession.sessionState()
    catalog = state.catalog()
    if not catalog.databaseExists(schema):
        return 0
    configuration = state.newHadoopConf()
    place = hadoop_path(jvm, catalog.defaultTablePath(table_identifier(jvm, schema, prefix)))
    pattern = re.sub(r"([\\{}\[\]*?,^])", r"\\\1", str(place.getName())) + "[0-9]*"
    files = place.getFileSystem(configuration)
    shared = _is_shared(configuration)
    now: float | None = None
    removed = 0
    for status in files.globStatus(hadoop_path(jvm, place.getParent(), pattern)) or []:
        folder = status.getPath()
        if catalog.tableExists(table_identifier(jvm, schema, folder.getName())):
            continue
        if shared:
            now = now or _time_there(jvm, files, place.getParent())
            # an object store does not know since when it has a folder
            touched = int(status.getModificationTime()) / 1000
            if not touched or now - touched < _PATIENCE_OF_SLICES:
                continue
        removed += bool(files.delete(folder, True))
    return removed


def shares_metastore(session: SparkSession) -> bool:
    """Say whether other processes may be making tables: the embedded metastore serves one."""
    return _is_shared(session._jsparkSession.sessionState().newHadoopConf())


def _is_shared(configuration: Any) -> bool:
    url = configuration.get("javax.jdo.option.ConnectionURL") or _EMBEDDED
    return bool(configuration.get("hive.metastore.uris")) or not str(url).startswith(_EMBEDDED)


def _is_leftover(jvm: Any, files: Any, folder: Any) -> bool:
    """Say whether a folder has no data, or a Delta log without a commit."""
    log = hadoop_path(jvm, folder, "_delta_log")
    names = [status.getPath().getName() for status in files.listStatus(folder)]
    has_data = any(entry != "_delta_log" for entry in names)
    commits = files.globStatus(hadoop_path(jvm, log, "*.json")) or []
    uncommitted = files.exists(log) and not [c for c in commits if c.getPath().getName()[0] != "."]
    return not has_data or uncommitted


def _time_there(jvm: Any, files: Any, folder: Any) -> float:
    """Return the time in seconds since 1970 by the clock that files in a folder have theirs from.

    That of this machine may be another one, hours ahead.
    """
    probe = hadoop_path(jvm, folder, f"_tidemark_time_{uuid4().hex}")
    files.create(probe).close()
    try:
        return int(files.getFileStatus(probe).getModificationTime()) / 1000
    finally:
        files.delete(probe, False)


def _last_touched(jvm: Any, files: Any, folder: Any) -> float:
    """Return when something came into a folder or the Delta log in it, in seconds since 1970."""
    found = [files.getFileStatus(folder), *files.listStatus(folder)]
    log = hadoop_path(jvm, folder, "_delta_log")
    if files.exists(log):
        found += files.listStatus(log)
    return max(int(status.getModificationTime()) for status in found) / 1000


def folder_to_come(session: SparkSession, schema: str, name: str, root: str | None) -> str | None:
    """Return where a table that is to be made will lie on this machine; None: it will not.

    Args:
        session: The running session.
        schema: The schema of the table, which is there.
        name: Its name.
        root: The folder of its folder, where that is not the schema's.
    """
    jvm: Any = session.sparkContext._jvm
    state = session._jsparkSession.sessionState()
    folder = (
        f"{root}/{name}"
        if root
        else state.catalog().defaultTablePath(table_identifier(jvm, schema, name))
    )
    return local_folder(session, folder)


def local_folder(session: SparkSession, folder: Any) -> str | None:
    """Return the path of a folder of this machine; None: it is none."""
    jvm: Any = session._jvm
    system = java_class(jvm, "org.apache.hadoop.fs.FileSystem")
    default = system.getDefaultUri(session._jsparkSession.sessionState().newHadoopConf())
    place = hadoop_path(jvm, folder).toUri()
    return str(place.getPath()) if (place.getScheme() or default.getScheme()) == "file" else None


def table_identifier(jvm: Any, schema: str, name: str) -> Any:
    """Return what Spark's catalog calls a table."""
    identifier = java_class(jvm, "org.apache.spark.sql.catalyst.TableIdentifier")
    return identifier(name, java_class(jvm, "scala.Option").apply(schema))


def java_class(jvm: Any, name: str) -> Any:
    """Return a class by its full name.

    For `jvm.scala.Option` Py4J looks for a class `scala` first, in each package that PySpark
    imports, and each time in all jars: milliseconds for each name before a dot.
    """
    return JavaClass(name, jvm._gateway_client)


def java_module(jvm: Any, name: str) -> Any:
    """Return an object of Scala by its full name."""
    return getattr(java_class(jvm, f"{name}$"), "MODULE$")


def each(sequence: Any) -> list[Any]:
    """Return the items of one of Scala's sequences."""
    return [sequence.apply(place) for place in range(sequence.size())]


def hadoop_path(jvm: Any, *parts: Any) -> Any:
    """Return a path as Hadoop has it, of a text or of a folder and a name."""
    return java_class(jvm, "org.apache.hadoop.fs.Path")(*parts)


def file_of(status: Any) -> dict[str, Any]:
    """Return path, size and modification time of what Hadoop calls a file status."""
    return {
        "path": str(status.getPath().toString()),
        "size": int(status.getLen()),
        "modified": datetime.fromtimestamp(status.getModificationTime() / 1000, tz=UTC),
    }
