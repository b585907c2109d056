"""Tables read in this process, by their format: no Spark, no metastore, some milliseconds each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tidemark.errors import TidemarkError, first_line
from tidemark.lineage.datasets import schema_folder
from tidemark.read import delta, iceberg
from tidemark.read.folders import folder_of
from tidemark.read.macros import Macros
from tidemark.read.project import Entity, KnownProject

# a file below that size is worth to be put together with others
# what `compact` takes for small, unless it is called with another target: see file_sizes_sql()
_SMALL = 128 * 1024 * 1024 * 3 // 4


LAYOUT = 1
"""The newest layout of tables that this release knows: layout_version() of the macros."""

_HOW_TO_REACH = (
    "Without Spark, the environment says how to reach an object store, not the profile: "
    "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL or the like"
)


_Answer = TypeVar("_Answer")


class TableNotReadable(TidemarkError):
    """A table that only Spark reads."""


class Opened(Protocol):
    """A table as it is at the moment; what its methods raise says why it is not read."""

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""

    def version(self) -> int:
        """Return what changes with a commit."""

    def columns(self) -> list[str]:
        """Return the names of the columns."""

    def fields(self, column: str) -> list[str]:
        """Return the names of the fields of a column that is a struct."""

    def equals(self, column: str, text: str) -> str:
        """Return the condition that a column has the value that a text tells."""

    def count(self) -> int | None:
        """Return how many rows there are, as the files tell; None if they do not."""

    def sizes(self) -> list[tuple[str, int]]:
        """Return the partition of each file, and its bytes."""

    def query(
        self, select: str, where: str = "true", columns: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query, as Tables.rows() does."""

    def show(self, db: Any, name: str, select: str) -> None:
        """Make the rows of a query a view in a connection of DuckDB, which is read once.

        Args:
            db: The connection.
            name: What the view is called.
            select: The query, in which the table is called `t`.
        """


class Tables:
    """The tables of a project, found by name.

    They are looked for where Spark puts them: below the warehouse's folder, in small letters, or
    below the `location_root` of their model. A schema that was made at a place of its own is not
    found.
    """

    def __init__(self, project: KnownProject) -> None:
        self._project = project
        self.macros = Macros(project.macros)

    def commits(self) -> str:
        """Return where the table of commits lies.

        Raises:
            TableNotReadable: As for of().
        """
        return self._path(self._project.commits_schema, "tidemark_commits__log", None)

    def of(self, entity: Entity, side: str = "") -> str:
        """Return where an entity's table lies, or one beside it such as `__log`.

        Raises:
            TableNotReadable: One of several folders that may be the table's is broken.
        """
        return self._path(entity.schema, entity.table + side, entity.location_root)

    def at(self, schema: str, name: str) -> str:
        """Return where a table of the warehouse lies, whether it is an entity's or not.

        Raises:
            TableNotReadable: As for of().
        """
        return self._path(schema, name, None)

    def exists(self, path: str) -> bool:
        """Say whether a table lies there.

        Raises:
            TableNotReadable: The storage cannot be asked.
        """
        if self._is_iceberg:
            return iceberg.is_table(path)
        if is_local(path):
            return (Path(path) / "_delta_log").is_dir()
        try:
            return delta.is_table(path)
        except Exception as error:
            why = f"{path} cannot be reached: {first_line(error)}. {_HOW_TO_REACH}"
            raise TableNotReadable(why) from error

    def rows(
        self, path: str, select: str, where: str = "true", columns: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of a query in DuckDB's SQL.

        Args:
            path: Where the table lies.
            select: The query. The rows of the table that are meant are called `t`.
            where: Which rows are meant.
            columns: The columns that both ask for, of a table that may be large; none: all. Others
                are not fetched from an object store.

        Returns:
            A dict per row; timestamps with their time zone, decimals as decimals.

        Raises:
            TableNotReadable: It has something that only Spark reads, or a broken file.
        """
        return self._read(path, lambda table: table.query(select, where, columns))

    def columns(self, path: str) -> list[str]:
        """Return the names of a table's columns."""
        return self.open(path).columns()

    def fields(self, path: str, column: str) -> list[str]:
        """Return the names of the fields of a column that is a struct."""
        return self.open(path).fields(column)

    def equals(self, path: str, column: str, text: str) -> str:
        """Return the condition that a column has the value that a text tells, in SQL.

        As values are shown or as Spark writes them; NULL is also the value that is not there.
        """
        return self.open(path).equals(column, text)

    def count(self, path: str) -> int | None:
        """Return how many rows a table has, as its files tell; None if they do not."""
        return self._read(path, lambda table: table.count())

    def size(self, path: str, *, by_partition: bool = False) -> tuple[int, int, int]:
        """Return bytes and files of a table, and how many of these `compact` would join.

        Args:
            path: Where the table lies.
            by_partition: It is compacted by partition, as a log is: of one there must be several.
        """
        files = self._read(path, lambda table: table.sizes())
        small = Counter(part if by_partition else "" for part, size in files if size < _SMALL)
        joined = sum(count for count in small.values() if count > 1)
        return sum(size for _, size in files), len(files), joined

    @property
    def _is_iceberg(self) -> bool:
        # a session has one of the formats whose rows change, so a project has
        return self._project.commits_format == "iceberg"

    def _path(self, schema: str, name: str, root: str | None) -> str:
        if root is None:
            # a metastore has names in small letters, whatever the model is called
            schema, name = schema.lower(), name.lower()
        folder = root or schema_folder(self._project.warehouse, schema)
        path = f"{folder.rstrip('/')}/{name}"
        if is_local(path):
            if path.startswith("file:"):
                path = "/" + path.removeprefix("file:").lstrip("/")
            found = self._project.root / path
            own = None
            if self._is_iceberg or root:
                own = self._folder_of(found.parent, name)
            return own or str(found)
        # as Spark writes the scheme, and as delta-rs does
        return path.replace("s3a://", "s3://", 1)

    def _folder_of(self, schema: Path, name: str) -> str | None:
        try:
            return folder_of(schema, name, (iceberg if self._is_iceberg else delta).describe)
        except ValueError as error:
            raise TableNotReadable(str(error)) from error

    def _read(self, path: str, ask: Callable[[Opened], _Answer]) -> _Answer:
        table = self.open(path)
        try:
            return ask(table)
        except Exception as error:
            raise TableNotReadable(f"{path} cannot be read: {first_line(error)}") from error

    def open(self, path: str) -> Opened:
        """Open a table as it is now: what is asked of it does not move on with later commits.

        Raises:
            TableNotReadable: Only Spark reads it, or a newer release.
        """
        table: Opened
        try:
            table = (iceberg if self._is_iceberg else delta).open_table(path)
        except Exception as error:
            raise TableNotReadable(f"{path} cannot be read: {first_line(error)}") from error
        layout = table.properties.get("tidemark.layout", "0")
        if layout.isdecimal() and int(layout) > LAYOUT:
            raise TableNotReadable(
                f"{path} was written by a newer release of Tidemark: its layout is {layout}, and "
                f"this release knows layouts up to {LAYOUT}. Install a newer release"
            )
        return table


def is_local(path: str) -> bool:
    """Say whether a path is one of this machine's file system."""
    return "://" not in path or path.startswith("file:")


def log_folder(table: Path) -> Path:
    """Return where each commit of a Delta or Iceberg table writes something, else its folder."""
    logs = (table / name for name in ("_delta_log", "metadata"))
    return next((log for log in logs if log.is_dir()), table)
