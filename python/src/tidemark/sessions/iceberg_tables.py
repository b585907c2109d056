"""Tables of Iceberg as the session reads them and writes to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidemark.engine.files import discard
from tidemark.engine.header import is_read_as_it_stands, local_path
from tidemark.engine.load import Target
from tidemark.errors import TidemarkError
from tidemark.sessions.declined import Declined
from tidemark.sessions.duck import Answer, Files, Stored, Wanted
from tidemark.sessions.tables import BOUNDED, OpenTable, Table, columns_of, duck_type
from tidemark.spark import iceberg
from tidemark.spark.cached import view_rows
from tidemark.spark.delta.small import replaced_by_another
from tidemark.spark.delta.staged import written_by_another
from tidemark.spark.files import java_class

_MARKS = "schema.name-mapping.default"
"""A property of tables whose files have columns by names alone, as other writers had them."""


@dataclass
class IcebergRows:
    """Rows of a table that DuckDB wrote, and no commit names yet."""

    table: str
    figures: dict[str, int]
    rows: int
    files: Files
    _opened: IcebergTable
    _found: Answer
    _gone: list[Any] = field(default_factory=list)

    def commit(self) -> int:
        """Make the rows part of the table, in one commit; return its snapshot.

        Raises:
            TidemarkError: The table got another commit since it was opened.
        """
        return self._opened.overwrite(self._found, self._gone, written_by_another)

    def commit_side_files(self) -> None:
        """Commit what goes beside the rows before they do: nothing."""

    def create_view(self, name: str) -> None:
        """Make a temporary view of the rows."""
        spark, paths = self._opened.spark, [f"file://{path}" for path in self.files.paths]
        view_rows(spark, name, spark.read.schema(self._opened.schema).parquet(*paths))

    def discard(self) -> None:
        """Remove the files."""
        self._opened.discard(self._found)


@dataclass(frozen=True)
class IcebergTable(OpenTable):
    """A table of Iceberg of a snapshot."""

    of: Any
    version: int
    schema: StructType

    @classmethod
    def begin(cls, spark: SparkSession, table: Table, version: int | None) -> IcebergTable:
        """Begin to write to a table, as open_table() does."""
        of = _loaded(spark, table)
        now = iceberg.version_of(of)
        if version is not None and now != version:
            raise written_by_another(".".join(table))
        schema = _schema_of(spark, of)
        return cls(spark, table, _wanted(of, schema), of, now, schema)

    def stored(self) -> Files:
        """Return its rows."""
        return _files_of(self.table, self.of, self.schema)

    def check_whole_files(self) -> None:
        """Decline a table whose rows are marked in files of their own."""
        properties = self.of.properties()
        modes = [properties.get(f"write.{what}.mode") for what in ("merge", "update", "delete")]
        if "merge-on-read" in modes:
            raise Declined("a table with write.merge.mode merge-on-read")

    def append(self, found: Answer) -> None:
        """Commit files that come."""
        if files := self._added(found):
            iceberg.append(self.of, files)

    def staged(self, found: Answer) -> IcebergRows:
        """Return files that a commit is to name."""
        fields = self.wanted.target.fields
        columns = tuple(Stored(name, fields[name][0], kind) for name, kind in self.wanted.columns)
        rows = IcebergRows(
            table=self.name,
            figures=dict(found.figures),
            rows=sum(file.rows for _, file in found.files),
            files=Files(tuple(map(str, self.written(found))), columns),
            _opened=self,
            _found=found,
            _gone=self._removed(found.replaced) if found.replaced else [],
        )
        if iceberg.table_version(self.spark, *self.table) != self.version:
            rows.discard()
            raise written_by_another(self.name)
        return rows

    def replace(self, found: Answer) -> int:
        """Commit files in the place of others."""
        try:
            gone = self._removed(found.replaced)
        except Declined:
            self.discard(found)
            raise
        return self.overwrite(found, gone, replaced_by_another)

    def overwrite(
        self, found: Answer, gone: list[Any], moved: Callable[[str], TidemarkError]
    ) -> int:
        """Commit files that come and go, unless another commit came first, as `moved` says."""
        if iceberg.table_version(self.spark, *self.table) != self.version:
            self.discard(found)
            raise moved(self.name)
        try:
            return iceberg.overwrite(self.jvm, self.of, self.version, self._added(found), gone)
        except Exception as error:
            # what failed otherwise may have done so once the commit was there, which names them
            if not iceberg.is_conflict(error):
                raise
            self.discard(found)
            raise moved(self.name) from error

    def discard(self, found: Answer) -> None:
        """Remove files that were written."""
        discard(self.wanted.target, [file for _, file in found.files])

    def _added(self, found: Answer) -> list[Any]:
        paths, parted = self.written(found), self.wanted.partition
        places = [f"{parted[0]}={value}" if parted else "" for value, _ in found.files]
        return [
            iceberg.added(self.jvm, self.of, f"file:{path}", place)
            for path, place in zip(paths, places, strict=True)
        ]

    def _removed(self, paths: tuple[str, ...] | None) -> list[Any]:
        """Return files that go: those at some paths, or all."""
        there = {local_path(str(file.location())): file for file, _ in iceberg.data_files(self.of)}
        if paths is None:
            return [*there.values()]
        if not there.keys() >= {*paths}:
            raise Declined("files that the table's snapshot calls otherwise")
        return [there[path] for path in paths]


def files_of(spark: SparkSession, table: Table) -> Files:
    """Return a table of Iceberg as it is now."""
    of = _loaded(spark, table)
    return _files_of(table, of, _schema_of(spark, of))


def _loaded(spark: SparkSession, table: Table) -> Any:
    of = iceberg.load(spark, *table)
    if of is None:
        raise Declined(f"{'.'.join(table)} is no table of Iceberg in the session's catalogue")
    return of


def _schema_of(spark: SparkSession, of: Any) -> StructType:
    """Return a table's columns as Spark has them."""
    schemas: Any = java_class(spark._jvm, "org.apache.iceberg.spark.SparkSchemaUtil")
    return StructType.fromJson(json.loads(str(schemas.convert(of.schema()).json())))


def _files_of(table: Table, of: Any, schema: StructType) -> Files:
    name, paths = ".".join(table), []
    if of.properties().get(_MARKS) is not None:
        raise Declined(f"{name} has files of other writers")
    _check_names(name, of)
    for file, is_marked in iceberg.data_files(of):
        path = local_path(str(file.location()))
        if path is None or not is_read_as_it_stands(path):
            raise Declined(f"{name} is not on a local file system")
        if is_marked:
            raise Declined(f"{name} has rows that are marked as deleted")
        if str(file.format()).upper() != "PARQUET":
            raise Declined(f"{name} has files that are no Parquet")
        paths.append(path)
    columns = tuple(Stored(one.name, one.name, duck_type(one.dataType)) for one in schema.fields)
    return Files(tuple(paths), columns)


def _check_names(name: str, of: Any) -> None:
    """Decline a table of which a file may have a column by another name, or another by its."""
    of_number: dict[int, str] = {}
    of_name: dict[str, int] = {}
    for columns in iceberg.names_by_number(of):
        for number, column in columns.items():
            known = of_number.setdefault(number, column), of_name.setdefault(column.lower(), number)
            if known != (column, number):
                raise Declined(f"{name} has a column that had another name")


def _wanted(of: Any, schema: StructType) -> Wanted:
    """Return a table as files are written for it."""
    folder = local_path(str(of.location()))
    if folder is None or not is_read_as_it_stands(folder):
        raise Declined("a table that is not on a local file system")
    properties = of.properties()
    if any(properties.get(f"write.{one}") for one in ("data.path", "object-storage.enabled")):
        raise Declined("a table that keeps its files elsewhere")
    if str(properties.get("write.format.default") or "parquet").lower() != "parquet":
        raise Declined("a table whose files are no Parquet")
    parted = [
        str(of.schema().findColumnName(one.sourceId()))
        for one in of.spec().fields()
        if str(one.transform()) == "identity"
    ]
    if len(parted) != of.spec().fields().size() or len(parted) > 1:
        raise Declined("a table of several partition columns, or of parts of values")
    columns = columns_of(schema)
    fields = {
        str(one.name()): (str(one.name()), iceberg.numbers(one.type(), int(one.fieldId())))
        for one in of.schema().columns()
    }
    return Wanted(
        target=Target(f"{folder}/data", fields),
        columns=columns,
        required=tuple(one.name for one in schema.fields if not one.nullable),
        partition=tuple(parted),
        bounded=tuple(name for name in BOUNDED if name in fields),
        keeps_partition=True,
    )
