"""An Iceberg table read in this process: pyiceberg says which files it has, DuckDB reads them.

The newest description in the table's folder (`metadata/*.metadata.json`) is the table as it is.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Any

from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.read import by_duckdb
from tidemark.read.equals import equals_sql
from tidemark.read.folders import Described

# what pyiceberg has at hand itself; it would take PyArrow, which is another extra
_BY_FSSPEC = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
_DESCRIPTION = re.compile(r"v?(\d+)[^/]*\.metadata\.json")
_TYPES = {
    "boolean": "BOOLEAN",
    "int": "INTEGER",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "string": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
}


def describe(folder: Path) -> Described | None:
    """Return what the table in a folder says of itself; None if there is none."""
    file = newest_description(folder)
    if file is None:
        return None
    content = file.read_bytes()
    text = gzip.decompress(content) if file.name.endswith(".gz.metadata.json") else content
    described = json.loads(text)
    # a view has a description, too
    if "table-uuid" not in described:
        return None
    return Described(described.get("properties") or {}, described.get("last-updated-ms", 0))


def is_table(path: str) -> bool:
    """Say whether an Iceberg table lies in a folder."""
    return newest_description(Path(path)) is not None


def open_table(path: str) -> IcebergFiles:
    """Open the table that lies in a folder.

    Args:
        path: The folder, on this machine.

    Raises:
        ValueError: There is none, or only Spark reads it.
    """
    if "://" in path:
        raise ValueError("only Spark reads the rows of Iceberg tables in an object store")
    description = newest_description(Path(path))
    if description is None:
        raise ValueError("there is no metadata/*.metadata.json")
    try:
        from pyiceberg.table import StaticTable
    except ModuleNotFoundError as error:
        raise ValueError(
            f"reading Iceberg tables without Spark needs {error.name}: pip install "
            "'dbt-tidemark[iceberg]'"
        ) from error
    return IcebergFiles(StaticTable.from_metadata(str(description), _BY_FSSPEC))


class IcebergFiles:
    """The rows and files of an Iceberg table as its description says, however it goes on meanwhile.

    Args:
        table: The table, by pyiceberg.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        properties: Mapping[str, str] = self._table.properties
        return properties

    def version(self) -> int:
        """Return what changes with a commit."""
        return int(self._table.metadata.last_sequence_number)

    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return [field.name for field in self._table.schema().fields]

    def fields(self, column: str) -> list[str]:
        """Return the names of the fields of a column that is a struct."""
        return [field.name for field in self._table.schema().find_field(column).field_type.fields]

    def equals(self, column: str, text: str) -> str:
        """Return the condition that a column has the value that a text tells."""
        type_ = str(self._table.schema().find_field(column).field_type)
        return equals_sql(column, type_, text, "timestamptz")

    def count(self) -> int:
        """Return how many rows there are, as the files tell."""
        return sum(task.file.record_count for task in self._tasks())

    def sizes(self) -> list[tuple[str, int]]:
        """Return the partition of each file, and its bytes."""
        files = [task.file for task in self._tasks()]
        return [(str(file.partition), file.file_size_in_bytes) for file in files]

    def show(self, db: Any, name: str, select: str) -> None:
        """Make the rows of a query a view in a connection of DuckDB."""
        by_duckdb.show(db, name, self._source, select)

    def query(
        self, select: str, where: str = "true", columns: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query, as Tables.rows() does."""
        return by_duckdb.query(self._source, select, where)

    def _tasks(self) -> list[Any]:
        tasks = list(self._table.scan().plan_files())
        if any(task.delete_files for task in tasks):
            raise ValueError(
                "some rows are marked as deleted (merge-on-read), which only Spark reads"
            )
        return tasks

    def _source(self, _db: Any) -> str:
        """Return the rows of all files as a SELECT.

        Columns are found by their numbers, as they may have been renamed.
        """
        fields = self._table.schema().fields
        types = {field.name: _type_of(field.field_type) for field in fields}
        files = [re.sub(r"^file:/*", "/", task.file.file_path) for task in self._tasks()]
        if not files:
            empty = (
                f"cast(null as {type_}) as {identifier(name)}" for name, type_ in types.items()
            )
            return f"select {', '.join(empty)} where false"
        numbers = ", ".join(
            f"{field.field_id}: {{name: {literal(field.name)}, type: {literal(types[field.name])}, "
            "default_value: null}"
            for field in fields
        )
        columns = (
            f"{_renamed(identifier(field.name), field.field_type)} as {identifier(field.name)}"
            for field in fields
        )
        return (
            f"select {', '.join(columns)} from read_parquet({list_sql(map(escape, files))}, "
            f"hive_partitioning = false, schema = map {{{numbers}}})"
        )


def newest_description(folder: Path) -> Path | None:
    """Return the newest file that describes a table.

    Of two that have a number the later one: the other is most likely of a run that died before it
    committed. Only the metastore knows; the next commit's number is greater than both.
    """
    found = []
    metadata = folder / "metadata"
    for file in metadata.iterdir() if metadata.is_dir() else ():
        named = _DESCRIPTION.fullmatch(file.name)
        if named:
            found.append((int(named[1]), file.stat().st_mtime_ns, file))
    return max(found)[2] if found else None


def _type_of(type_: Any) -> str:
    """Return a type as DuckDB has it; the fields of a struct are called as in files."""
    if type_.is_struct:
        fields = (
            f"{identifier(_in_files(field.name))} {_type_of(field.field_type)}"
            for field in type_.fields
        )
        return f"STRUCT({', '.join(fields)})"
    name = str(type_)
    if name.startswith("list<"):
        return f"{_type_of(type_.element_type)}[]"
    if name.startswith("map<"):
        return f"MAP({_type_of(type_.key_type)}, {_type_of(type_.value_type)})"
    if name.startswith("decimal("):
        return name.upper()
    if name.startswith("fixed["):
        return "BLOB"
    if name not in _TYPES:
        raise ValueError(f"the table has a column of type {name}, which only Spark reads")
    return _TYPES[name]


def _in_files(name: str) -> str:
    """Return the name of a field as it is in Parquet files, where it is one that Avro allows."""
    from pyiceberg.schema import make_compatible_name

    return make_compatible_name(name)


def _renamed(value: str, type_: Any, depth: int = 0) -> str:
    """Return a value whose structs have the names of the table for those of the files."""
    name = str(type_)
    if type_.is_struct:
        kept, fields = True, []
        for field in type_.fields:
            inner = f"{value}[{literal(_in_files(field.name))}]"
            renamed = _renamed(inner, field.field_type, depth)
            kept = kept and inner == renamed and field.name == _in_files(field.name)
            fields.append(f"{literal(field.name)}: {renamed}")
        return value if kept else f"case when {value} is not null then {{{', '.join(fields)}}} end"
    if name.startswith("list<"):
        one = f"one_{depth}"
        inner = _renamed(one, type_.element_type, depth + 1)
        return value if inner == one else f"list_transform({value}, lambda {one}: {inner})"
    return value
