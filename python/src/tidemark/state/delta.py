"""A Delta table read in this process by delta-rs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidemark.state.iceberg import FOLDER, NAME_PROPERTY, plain_name


def folder_of(schema: Path, name: str) -> str | None:
    """Return the folder of a table that has a location of its own: the newest that says its name.

    Such a folder keeps its name where the table is renamed (rename_table_sql() of the macros).

    Args:
        schema: The folder in which tables lie.
        name: The table, without its schema.
    """
    pattern = re.compile(FOLDER.format(name=re.escape(name)), re.IGNORECASE)
    there = [
        folder
        for folder in (schema.iterdir() if schema.is_dir() else ())
        if pattern.fullmatch(folder.name) and (folder / "_delta_log").is_dir()
    ]
    if [folder.name for folder in there] == [name]:
        return str(there[0])
    found = []
    for folder in there:
        called = open_table(str(folder)).properties.get(NAME_PROPERTY, plain_name(folder.name))
        if called.lower() == name.lower():
            found.append(((folder / "_delta_log").stat().st_mtime_ns, str(folder)))
    return max(found)[1] if found else None


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

    def count(self) -> int | None:
        """Return how many rows there are, as the files tell; None if they do not."""
        actions = self._table.get_add_actions()
        if "num_records" not in actions.schema.names:
            return None
        numbers = actions.column("num_records").to_pylist()
        return None if None in numbers else sum(numbers)

    def sizes(self) -> list[int]:
        """Return the bytes of each file."""
        sizes: list[int] = self._table.get_add_actions().column("size_bytes").to_pylist()
        return sizes

    def query(self, select: str) -> list[dict[str, Any]]:
        """Return the rows of a query, in which the table is called `t`."""
        from deltalake import QueryBuilder

        found = QueryBuilder().register("t", self._table).execute(select).read_all()
        names = found.column_names
        columns = [found.column(name).to_pylist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
