"""A Delta table read in this process: delta-rs says which files it has, DuckDB reads them.

In an object store, and where rows are marked as deleted, delta-rs reads the files for DuckDB.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from tidemark.engine.listed import listed_actions, partition_of
from tidemark.engine.quoted import identifier
from tidemark.read import by_duckdb
from tidemark.read.equals import equals_sql
from tidemark.read.folders import Described
from tidemark.sessions.duck import FILE, Files, Stored, files_sql

# Spark writes timestamps as INT96, which are read as nanoseconds unless one says otherwise: 64 bits
# of those end in 2262, and 9999-12-31 would be a day of 1816
_SETTINGS = {"datafusion.execution.parquet.coerce_int96": "us"}
_TYPES = {
    "boolean": "BOOLEAN",
    "byte": "TINYINT",
    "short": "SMALLINT",
    "integer": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
    "string": "VARCHAR",
    "binary": "BLOB",
    # nothing but NULL
    "void": '"NULL"',
}


def describe(folder: Path) -> Described | None:
    """Return what the table in a folder says of itself; None if there is none."""
    log = folder / "_delta_log"
    if not log.is_dir():
        return None
    return Described(open_table(str(folder)).properties, log.stat().st_mtime_ns)


def is_table(path: str) -> bool:
    """Say whether a Delta table lies at a URL; whatever delta-rs raises, if it cannot be asked."""
    # what delta-rs tried is no help beside the line that is raised
    os.environ.setdefault("RUST_LOG", "off")
    from deltalake import DeltaTable

    return bool(DeltaTable.is_deltatable(path))


def open_table(path: str) -> DeltaFiles:
    """Open the table at a path or URL; whatever delta-rs raises, if it cannot be."""
    from deltalake import DeltaTable

    return DeltaFiles(DeltaTable(path))


class DeltaFiles:
    """The rows and files of a version of a Delta table.

    Args:
        table: The table, by delta-rs.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        properties: Mapping[str, str] = self._table.metadata().configuration
        return properties

    def version(self) -> int:
        """Return what changes with a commit."""
        return int(self._table.version())

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return [field.name for field in self._table.schema().fields]

    def fields(self, column: str) -> list[str]:
        """Return the names of the fields of a column that is a struct."""
        found = next(one for one in self._table.schema().fields if one.name == column)
        return [field.name for field in found.type.fields]

    def equals(self, column: str, text: str) -> str:
        """Return the condition that a column has the value that a text tells."""
        found = next(one for one in self._table.schema().fields if one.name == column)
        type_ = str(getattr(found.type, "type", found.type))
        return equals_sql(column, type_, text)

    def count(self) -> int | None:
        """Return how many rows there are, as the files tell; None if they do not."""
        if "deletionVectors" in self._features:
            # the files also count the rows that are only marked as deleted
            return int(self.query("select count(*) as n from t")[0]["n"])
        actions = self._table.get_add_actions()
        if "num_records" not in actions.schema.names:
            return None
        numbers = actions.column("num_records").to_pylist()
        return None if None in numbers else sum(numbers)

    def sizes(self) -> list[tuple[str, int]]:
        """Return the partition of each file, and its bytes."""
        actions = self._table.get_add_actions()
        sizes = actions.column("size_bytes").to_pylist()
        has_partitions = "partition" in actions.schema.names
        of = actions.column("partition").to_pylist() if has_partitions else [""] * len(sizes)
        return [(str(partition), size) for partition, size in zip(of, sizes, strict=True)]

    def show(self, db: Any, name: str, select: str) -> None:
        """Make the rows of a query a view in a connection of DuckDB, which is read once."""
        by_duckdb.show(db, name, self._source, select)

    def query(
        self, select: str, where: str = "true", columns: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query, as Tables.rows() does."""
        return by_duckdb.query(lambda db: self._source(db, where, columns), select, where)

    @property
    def _features(self) -> Sequence[str]:
        return self._table.protocol().reader_features or ()

    def _source(self, db: Any, where: str | None = None, columns: Sequence[str] = ()) -> str:
        """Return the rows of all files as a SELECT of DuckDB's, each column by its type now.

        Args:
            db: The connection.
            where: Which rows are needed, of a query that may read them twice; None: all, read once.
            columns: Which columns are needed; none: all.

        Raises:
            ValueError: Only Spark reads the table.
        """
        try:
            return self._by_files(db)
        except ValueError:
            # delta-rs lists the files of a table with a wider type, and does not read them
            if "typeWidening" in self._features:
                raise
            return self._by_stream(db, where, columns)

    def _by_stream(self, db: Any, where: str | None, columns: Sequence[str]) -> str:
        """Return what delta-rs reads of the rows and columns that are needed."""
        from deltalake import QueryBuilder

        stream = f"read_{uuid4().hex}"
        chosen = ", ".join(map(identifier, columns)) or "*"
        reader = QueryBuilder(_SETTINGS).register("t", self._table)
        db.register(stream, reader.execute(f"select {chosen} from t"))
        if where is None:
            return f"select * from {stream}"
        db.execute(f"create temp table {stream}_rows as select * from {stream} where {where}")
        return f"select * from {stream}_rows"

    def _by_files(self, db: Any) -> str:
        """Return what DuckDB reads.

        Raises:
            ValueError: It does not read the table.
        """
        if "deletionVectors" in self._features:
            raise ValueError(
                "some rows are marked as deleted (merge-on-read) and a column has a wider type, "
                "which only Spark reads together"
            )
        folder = re.sub("^file:/*", "/", self._table.table_uri)
        if "://" in folder:
            raise ValueError("a column has a wider type, which only Spark reads in an object store")
        columns = tuple(
            Stored(field.name, _stored_name(field), _type_of(field.type))
            for field in self._table.schema().fields
        )
        files = listed_actions(self._table, folder)
        if files is None:
            raise ValueError("its files lie at paths that only Spark reads")
        paths = tuple(str(file["path"]) for file in files)
        fields = {column.name: column.field for column in columns}
        parted = self._table.metadata().partition_columns
        values = {
            path: {name: partition_of(file, name, fields[name]) for name in parted}
            for path, file in zip(paths, files, strict=True)
        }
        rows = files_sql(db, Files(paths, columns, values if parted else {}))
        return f"select * exclude ({FILE}) from ({rows})"


def _stored_name(field: Any) -> str:
    """Return what files call a column."""
    return str(field.metadata.get("delta.columnMapping.physicalName", field.name))


def _type_of(type_: Any) -> str:
    """Return a type as DuckDB has it."""
    if hasattr(type_, "fields"):
        if any(_stored_name(field) != field.name for field in type_.fields):
            raise ValueError("it maps names within a struct, which only Spark reads")
        fields = (f"{identifier(field.name)} {_type_of(field.type)}" for field in type_.fields)
        return f"STRUCT({', '.join(fields)})"
    if hasattr(type_, "element_type"):
        return f"{_type_of(type_.element_type)}[]"
    if hasattr(type_, "value_type"):
        return f"MAP({_type_of(type_.key_type)}, {_type_of(type_.value_type)})"
    name = str(type_.type)
    if name.startswith("decimal("):
        return name.upper()
    if name not in _TYPES:
        raise ValueError(f"the table has a column of type {name}, which only Spark reads")
    return _TYPES[name]
