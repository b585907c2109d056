"""A table of its own over the same files: links to them, and a copy of what describes them.

Files with rows are never written to after they are whole, so two folders may have them. Whatever
one of the tables removes, the other one keeps.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.errors import DataError, UsageError
from tidemark.read.folders import NAME_PROPERTY
from tidemark.rules.quoted import back_ticked, literal
from tidemark.spark.catalog import table_folder
from tidemark.spark.delta.log import log_of, newest
from tidemark.spark.files import java_class
from tidemark.spark.iceberg import is_iceberg
from tidemark.spark.places import register_delta, register_iceberg
from tidemark.spark.tables_of_load import forget_tables

TableName = tuple[str, str]
"""Schema and name."""

_DESCRIBING = ("_delta_log", "metadata")
_CHECKSUMS = ".*.crc"
_BEGUN = "_tidemark_clone"
"""A file in the folder of a clone that is not whole: one that was killed has left it."""


def clone_table(session: SparkSession, source: TableName, target: TableName) -> int:
    """Make a table that has the rows and versions of another one, and goes on by itself.

    Args:
        session: The running session.
        source: The table.
        target: The one to be made, which is not there.

    Returns:
        How many files were copied, as they could not be linked.

    Raises:
        UsageError: The tables do not lie on a disk of this machine.
        DataError: Where the new one would lie there are files.
    """
    folders = [table_folder(session, *table) for table in (source, target)]
    if None in folders:
        raise UsageError(
            f"{'.'.join(source)} does not lie on a disk of this machine, so its files cannot be "
            "linked. Leave out tables of an object store or of HDFS"
        )
    here, there = (Path(str(folder)) for folder in folders)
    # a table of Iceberg says where it lies: one that was renamed has the folder of its old name
    there = _begin(there, may_have_other_files=is_iceberg(session))
    # what describes the table first: the files that it names are there then
    for name in _DESCRIBING:
        if (here / name).is_dir():
            ignored = shutil.ignore_patterns(_CHECKSUMS)
            shutil.copytree(here / name, there / name, ignore=ignored)
    copied = _link(here, there)
    (there / _BEGUN).unlink()
    if is_iceberg(session):
        register_iceberg(session, *target, there)
    else:
        register_delta(session, target[0], there)
        _become_another(session, target)
    _record_name(session, target)
    return copied


def drop_clone(session: SparkSession, table: TableName) -> None:
    """Drop a table that is there and its folder, which a drop of Iceberg's leaves behind."""
    folder = table_folder(session, *table)
    session.sql(f"drop table {_in_sql(table)}")
    forget_tables()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _begin(folder: Path, *, may_have_other_files: bool) -> Path:
    """Make the folder of a clone; what a killed one left goes, and nothing else.

    Args:
        folder: Where it is to lie.
        may_have_other_files: Whether it may lie in one of another name, if this one has files.

    Raises:
        DataError: It has files of a table that the catalog does not know.
    """
    own = re.compile(rf"{re.escape(folder.name)}(-[0-9a-f]{{32}})?")
    for left in folder.parent.iterdir() if folder.parent.is_dir() else ():
        if own.fullmatch(left.name) and (left / _BEGUN).exists():
            shutil.rmtree(left)
    if folder.is_dir() and any(folder.iterdir()):
        if not may_have_other_files:
            raise DataError(
                f"{folder} has files, but no table of the catalog lies there. Move the files "
                "away, or register the table"
            )
        folder = folder.with_name(f"{folder.name}-{uuid4().hex}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _BEGUN).touch()
    return folder


def _link(here: Path, there: Path) -> int:
    """Link the files of a folder into another one; return how many had to be copied."""
    copied = 0
    for folder, names, files in os.walk(here):
        inner = Path(folder).relative_to(here)
        if not inner.parts:
            names[:] = [name for name in names if name not in _DESCRIBING]
        (there / inner).mkdir(parents=True, exist_ok=True)
        for name in files:
            try:
                os.link(here / inner / name, there / inner / name)
            except FileNotFoundError:
                continue  # removed meanwhile: no version has it that is read
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                    raise
                shutil.copy2(here / inner / name, there / inner / name)
                copied += 1
    return copied


def _become_another(session: SparkSession, table: TableName) -> None:
    """Give a table of Delta an id of its own, by one more version: it is not what it was made of.

    What is remembered of a table goes by its id.
    """
    jvm: Any = session._jvm
    delta = java_class(jvm, "org.apache.spark.sql.delta.DeltaLog")
    log = log_of(session, *table)
    delta.invalidateCache(session._jsparkSession, log.dataPath())
    log = log_of(session, *table)
    snapshot = newest(jvm, log)
    described = json.loads(str(snapshot.metadata().json()))
    described["metaData"]["id"] = str(uuid4())
    info = {"timestamp": int(time.time() * 1000), "operation": "CLONE", "operationParameters": {}}
    version = int(snapshot.version()) + 1
    folder = Path(str(log.logPath().toUri().getPath()))
    lines = f"{json.dumps({'commitInfo': info})}\n{json.dumps(described)}\n"
    (folder / f"{version:020}.json").write_text(lines, encoding="utf-8")
    delta.invalidateCache(session._jsparkSession, log.dataPath())


def _record_name(session: SparkSession, table: TableName) -> None:
    """Have a table that says its name say the new one."""
    rows = session.sql(f"show tblproperties {_in_sql(table)}").collect()
    told = {row[0]: row[1] for row in rows}
    if told.get(NAME_PROPERTY, table[1]) != table[1]:
        properties = f"'{NAME_PROPERTY}' = {literal(table[1])}"
        session.sql(f"alter table {_in_sql(table)} set tblproperties ({properties})")


def _in_sql(table: TableName) -> str:
    return ".".join(map(back_ticked, table))
