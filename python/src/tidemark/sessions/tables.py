"""A table as the session reads it and writes to it, whatever its format.

    OpenTable     begun: append() | staged() » commit() | replace()

What is written is seen by nobody before a commit names it, and no commit goes through once another
one has come since the table was opened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, DecimalType, StructType

from tidemark.engine.quoted import identifier
from tidemark.engine.types import known_type
from tidemark.sessions.declined import Declined
from tidemark.sessions.duck import Answer, Columns, Files, Wanted
from tidemark.spark.delta.worker import why_unseen

BOUNDED = ("_key_hash", "_commit_id", "_superseded_by", "_offset")
"""Columns of our tables whose bounds let files be left out."""
Table = tuple[str, str]
"""Schema and name."""


class StagedFiles(Protocol):
    """Rows of a table that no commit names yet, as stage_rows() of Delta has them."""

    table: str
    figures: dict[str, int]
    rows: int

    def commit(self) -> int:
        """Make the rows part of the table; return its version."""

    def commit_side_files(self) -> None:
        """Commit what goes beside the rows before they do: nothing."""

    def create_view(self, name: str) -> None:
        """Make a temporary view of the rows in Spark."""

    def discard(self) -> None:
        """Remove the files."""


@dataclass(frozen=True)
class OpenTable(ABC):
    """A table of a version that is to be written to.

    Args:
        spark: The running session.
        table: Its schema and name.
        wanted: It as files are written for it.
    """

    spark: SparkSession
    table: Table
    wanted: Wanted

    @property
    def jvm(self) -> Any:
        """The session's JVM."""
        return self.spark._jvm

    @property
    def name(self) -> str:
        """The table as messages call it."""
        return ".".join(self.table)

    @abstractmethod
    def stored(self) -> Files:
        """Return its rows."""

    @abstractmethod
    def check_whole_files(self) -> None:
        """Decline a table whose rows are to be marked in place of writing files anew."""

    @abstractmethod
    def append(self, found: Answer) -> None:
        """Commit files that come, whatever else was committed since."""

    @abstractmethod
    def staged(self, found: Answer) -> StagedFiles:
        """Return files that a commit is to name, and those in whose place they are.

        Raises:
            TidemarkError: The table has another version by now.
        """

    @abstractmethod
    def replace(self, found: Answer) -> int:
        """Commit files in the place of others; return the version.

        Raises:
            TidemarkError: Another commit came between.
        """

    def written(self, found: Answer) -> list[Path]:
        """Return the files that the workers wrote, which are to be seen here."""
        if why := why_unseen((self.wanted.target, file) for _, file in found.files):
            raise Declined(why)
        return [Path(self.wanted.target.folder, file.path) for _, file in found.files]


def columns_of(schema: StructType) -> Columns:
    """Return columns with their types in DuckDB.

    Raises:
        Declined: One is of a type that does not cross.
    """
    return tuple((field.name, duck_type(field.dataType)) for field in schema.fields)


def duck_type(kind: DataType) -> str:
    """Return the type of DuckDB for one of Spark."""
    if isinstance(kind, DecimalType):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if isinstance(kind, ArrayType):
        return f"{duck_type(kind.elementType)}[]"
    if isinstance(kind, StructType):
        fields = ", ".join(
            f"{identifier(field.name)} {duck_type(field.dataType)}" for field in kind.fields
        )
        return f"STRUCT({fields})"
    name = kind.simpleString()
    found = known_type(name)
    if found is None and name != "binary":
        raise Declined(f"a column of type {name}")
    return found.duck if found else "BLOB"
