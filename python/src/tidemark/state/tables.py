"""Delta tables read in this process by delta-rs: no Spark, no metastore, some milliseconds each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tidemark.errors import TidemarkError
from tidemark.state.project import Entity, KnownProject

# a file below that size is worth to be put together with others
_SMALL = 16 * 1024 * 1024


LAYOUT = 1
"""The newest layout of tables that this release knows: layout_version() of the macros."""

_HOW_TO_REACH = (
    "Without Spark an object store is reached by what the environment says, such as "
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL, not by the profile"
)


class TableNotReadable(TidemarkError):
    """A table that only Spark reads."""


class Tables:
    """The tables of a project, found by name.

    They are looked for where Spark puts them: below the warehouse's folder, or below the
    `location_root` of their model. A schema that was made at a place of its own is not found.
    """

    def __init__(self, project: KnownProject) -> None:
        self._project = project

    def commits(self) -> str:
        """Return where the table of commits lies."""
        return self._path(self._project.commits_schema, "tidemark_commits__log", None)

    def of(self, entity: Entity, side: str = "") -> str:
        """Return where an entity's table lies, or one beside it such as `__log`."""
        return self._path(entity.schema, entity.table + side, entity.location_root)

    def exists(self, path: str) -> bool:
        """Say whether a Delta table lies there.

        Raises:
            TableNotReadable: The storage cannot be asked.
        """
        if is_local(path):
            return (Path(path) / "_delta_log").is_dir()
        # what delta-rs tried is no help beside the line that is raised
        os.environ.setdefault("RUST_LOG", "off")
        from deltalake import DeltaTable

        try:
            return bool(DeltaTable.is_deltatable(path))
        except Exception as error:
            why = f"{path} cannot be asked for: {_line(error)}. {_HOW_TO_REACH}"
            raise TableNotReadable(why) from error

    def rows(self, path: str, select: str) -> list[dict[str, Any]]:
        """Return the rows of a query.

        Args:
            path: Where the table lies.
            select: The query, in which the table is called `t`. Names in quotation marks keep
                their case.

        Returns:
            A dict per row; timestamps with their time zone, decimals as decimals.

        Raises:
            TableNotReadable: It has something that only Spark reads, or a broken file.
        """
        from deltalake import QueryBuilder

        table = self._open(path)
        try:
            found = QueryBuilder().register("t", table).execute(select).read_all()
        except Exception as error:
            raise TableNotReadable(f"{path} cannot be read: {_line(error)}") from error
        names = found.column_names
        columns = [found.column(name).to_pylist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def columns(self, path: str) -> list[str]:
        """Return the names of a table's columns."""
        return [field.name for field in self._open(path).schema().fields]

    def fields(self, path: str, column: str) -> list[str]:
        """Return the names of the fields of a column that is a struct."""
        found = next(one for one in self._open(path).schema().fields if one.name == column)
        return [field.name for field in found.type.fields]

    def count(self, path: str) -> int | None:
        """Return how many rows a table has, as its files tell; None if they do not."""
        actions = self._open(path).get_add_actions()
        if "num_records" not in actions.schema.names:
            return None
        numbers = actions.column("num_records").to_pylist()
        return None if None in numbers else sum(numbers)

    def size(self, path: str) -> tuple[int, int, int]:
        """Return bytes and files of a table, and of these the small ones where it has several."""
        actions = self._open(path).get_add_actions()
        sizes = actions.column("size_bytes").to_pylist()
        small = sum(size < _SMALL for size in sizes) if len(sizes) > 1 else 0
        return sum(sizes), len(sizes), small

    def _path(self, schema: str, name: str, root: str | None) -> str:
        folder = root or f"{self._project.warehouse.rstrip('/')}/{schema}.db"
        path = f"{folder.rstrip('/')}/{name}"
        if is_local(path):
            if path.startswith("file:"):
                path = "/" + path.removeprefix("file:").lstrip("/")
            return str(self._project.root / path)
        # as Spark writes the scheme, and as delta-rs does
        return path.replace("s3a://", "s3://", 1)

    def _open(self, path: str) -> Any:
        from deltalake import DeltaTable

        try:
            table = DeltaTable(path)
        except Exception as error:
            raise TableNotReadable(f"{path} cannot be read: {_line(error)}") from error
        layout = table.metadata().configuration.get("tidemark.layout", "0")
        if layout.isdecimal() and int(layout) > LAYOUT:
            raise TableNotReadable(
                f"{path} was written by a newer release of Tidemark: its layout is {layout}, and "
                f"this release knows those up to {LAYOUT}. Take a newer release"
            )
        return table


def quoted(name: str) -> str:
    """Return a name as SQL has it.

    Example:
        >>> quoted('a "b" c')
        '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it.

    Example:
        >>> literal("it's")
        "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def is_local(path: str) -> bool:
    """Say whether a path is one of this machine's file system."""
    return "://" not in path or path.startswith("file:")


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
