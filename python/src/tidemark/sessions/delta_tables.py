"""Tables of Delta as the session reads them and writes to them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidemark.engine.header import is_read_as_it_stands, local_path
from tidemark.engine.listed import partition_of
from tidemark.sessions.declined import Declined
from tidemark.sessions.duck import Answer, Files, Stored, Wanted
from tidemark.sessions.tables import BOUNDED, OpenTable, Table, columns_of, duck_type
from tidemark.spark.delta.log import (
    added_file,
    begin,
    commit,
    is_conflict,
    is_of_this_table,
    log_of,
    newest,
    view_files,
)
from tidemark.spark.delta.small import (
    file_actions,
    listed_files,
    paths_of,
    replaced_by_another,
)
from tidemark.spark.delta.staged import StagedRows, written_by_another
from tidemark.spark.delta.target import target_of
from tidemark.spark.files import each, java_class
from tidemark.spark.tables_of_load import catalog_table


@dataclass
class DuckRows(StagedRows):
    """Rows of a table that DuckDB wrote, with the view that reads them."""

    files: Files
    paths: tuple[Path, ...]
    added: Any

    def create_view(self, name: str) -> None:
        """Make a temporary view of the files."""
        log, snapshot = self._transaction.deltaLog(), self._transaction.snapshot()
        view_files(self._jvm, log, snapshot, self.added, name)

    def discard(self) -> None:
        """Remove the files."""
        for path in self.paths:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class DeltaTable(OpenTable):
    """A transaction on a table of Delta."""

    snapshot: Any
    transaction: Any

    @classmethod
    def begin(cls, spark: SparkSession, table: Table, version: int | None) -> DeltaTable:
        """Begin to write to a table, as open_table() does."""
        jvm: Any = spark._jvm
        log = _log_of(spark, table)
        snapshot = newest(jvm, log)
        if version is not None and int(snapshot.version()) != version:
            raise written_by_another(".".join(table))
        wanted = _wanted(jvm, log, snapshot)
        return cls(spark, table, wanted, snapshot, begin(spark, log, snapshot, *table))

    def stored(self) -> Files:
        """Return its rows."""
        return files_of(self.spark, self.table, self.snapshot)

    def check_whole_files(self) -> None:
        """Decline a table with deletion vectors."""
        converters = java_class(self.jvm, "scala.jdk.javaapi.CollectionConverters")
        settings = dict(converters.asJava(self.snapshot.metadata().configuration()))
        if settings.get("delta.enableDeletionVectors") == "true":
            raise Declined("a table with deletion vectors")

    def append(self, found: Answer) -> None:
        """Commit files that come."""
        _, added = self._added(found)
        if added:
            commit(self.jvm, self.transaction, added, "Append")

    def staged(self, found: Answer) -> DuckRows:
        """Return files that a commit is to name."""
        jvm, wanted, transaction = self.jvm, self.wanted, self.transaction
        # as if the table had been read: then any commit that comes between is a conflict
        transaction.readWholeTable()
        paths, added = self._added(found)
        actions = list(added)
        if found.replaced:
            actions += self._removed(found.replaced)
        sequence = java_class(jvm, "org.apache.spark.api.python.PythonUtils").toSeq
        columns = tuple(
            Stored(name, wanted.target.fields[name][0], kind) for name, kind in wanted.columns
        )
        values = {
            str(path): {name: value for name in wanted.partition}
            for path, (value, _) in zip(paths, found.files, strict=True)
        }
        files = Files(tuple(map(str, paths)), columns, values if wanted.partition else {})
        rows = DuckRows(
            table=self.name,
            figures=dict(found.figures),
            rows=sum(file.rows for _, file in found.files),
            _jvm=jvm,
            _transaction=transaction,
            _files=sequence(actions),
            files=files,
            paths=tuple(paths),
            added=sequence(added),
        )
        now = int(newest(jvm, transaction.deltaLog()).version())
        if now != int(self.snapshot.version()) or not is_of_this_table(jvm, transaction):
            rows.discard()
            raise written_by_another(rows.table)
        return rows

    def replace(self, found: Answer) -> int:
        """Commit files in the place of others."""
        self.transaction.readWholeTable()
        paths, added = self._added(found)
        try:
            gone = self._removed(found.replaced)
            return commit(self.jvm, self.transaction, [*gone, *added], "Overwrite")
        except Exception as error:
            # what failed otherwise may have done so once the commit was there, which names them
            if not isinstance(error, Declined) and not is_conflict(self.jvm, error):
                raise
            for path in paths:
                path.unlink(missing_ok=True)
            if isinstance(error, Declined):
                raise
            raise replaced_by_another(self.name) from error

    def _added(self, found: Answer) -> tuple[list[Path], list[Any]]:
        """Return files that were written, and what a commit says of them."""
        paths, actions = self.written(found), []
        for value, file in found.files:
            parted = {self.wanted.target.fields[name][0]: value for name in self.wanted.partition}
            actions.append(added_file(self.jvm, file.path, file.size, file.statistics, parted))
        return paths, actions

    def _removed(self, paths: Sequence[str] | None) -> list[Any]:
        """Return what a commit says of files that go: those at some paths, or all."""
        snapshot, log = self.transaction.snapshot(), log_of(self.spark, *self.table)
        files = listed_files(snapshot)
        there = each(files) if files is not None else list(snapshot.allFiles().collectAsList())
        now = int(time.time() * 1000)
        if paths is None:
            return [file.removeWithTimestamp(now, True) for file in there]
        wanted = set(paths)
        gone = [
            file for file in there if local_path(str(file.absolutePath(log).toString())) in wanted
        ]
        if len(gone) != len(wanted):
            raise Declined("files that the table's log calls otherwise")
        return [file.removeWithTimestamp(now, True) for file in gone]


def files_of(spark: SparkSession, table: Table, snapshot: Any = None) -> Files:
    """Return a table of Delta as it is now."""
    jvm: Any = spark._jvm
    log = _log_of(spark, table)
    snapshot = snapshot or newest(jvm, log)
    folder = local_path(str(log.dataPath().toString()))
    if folder is None or not is_read_as_it_stands(folder):
        raise Declined(f"{'.'.join(table)} is not on a local file system")
    schema = _schema_of(snapshot)
    fields = {
        field.name: str(field.metadata.get("delta.columnMapping.physicalName", field.name))
        for field in schema.fields
    }
    columns = tuple(
        Stored(field.name, fields[field.name], duck_type(field.dataType)) for field in schema.fields
    )
    parted = [str(name) for name in each(snapshot.metadata().partitionColumns())]
    files = listed_files(snapshot)
    if files is not None:
        one_by_one = each(files)
        paths = paths_of(log, one_by_one)
        if paths is None:
            raise Declined(f"{'.'.join(table)} lies at a path that is not read as it stands")
        values = []
        for file in one_by_one if parted else []:
            partition = json.loads(str(file.json()))["add"]["partitionValues"]
            values.append({name: partition.get(fields[name]) or None for name in parted})
    else:
        rows = file_actions(folder, int(snapshot.version()))
        if isinstance(rows, str):
            raise Declined(f"{'.'.join(table)} {rows}")
        paths = tuple(str(row["path"]) for row in rows)
        values = [{name: partition_of(row, name, fields[name]) for name in parted} for row in rows]
    partitions = dict(zip(paths, values, strict=True)) if parted else {}
    return Files(paths, columns, partitions)


def _log_of(spark: SparkSession, table: Table) -> Any:
    """Return the log of a table, which is to be one of Delta."""
    found = catalog_table(spark, *table)
    if found is None:
        raise Declined(f"{'.'.join(table)} is no table of the session's catalogue")
    provider = found.provider()
    if not provider.isDefined() or str(provider.get()).lower() != "delta":
        raise Declined(f"{'.'.join(table)} is no table of Delta")
    return log_of(spark, *table)


def _schema_of(snapshot: Any) -> StructType:
    schema = StructType.fromJson(json.loads(str(snapshot.metadata().schemaString())))
    for field in schema.fields:
        if "physicalName" in field.dataType.json():
            raise Declined("a nested column whose fields go by other names in files")
    return schema


def _wanted(jvm: Any, log: Any, snapshot: Any) -> Wanted:
    """Return a table as files are written for it."""
    schema = _schema_of(snapshot)
    names = [field.name for field in schema.fields]
    target = target_of(jvm, log, snapshot, names)
    if isinstance(target, str):
        raise Declined(f"a table {target}")
    parted = tuple(str(name) for name in each(snapshot.metadata().partitionColumns()))
    if len(parted) > 1:
        raise Declined("a table of several partition columns")
    return Wanted(
        target=target,
        columns=columns_of(schema),
        required=tuple(field.name for field in schema.fields if not field.nullable),
        partition=parted,
        bounded=tuple(name for name in BOUNDED if name in names),
    )
