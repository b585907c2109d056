"""Rows that are found after a step, read from the model's tables or by the macros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.read.log import IN_FORCE
from tidemark.read.project import Entity, KnownProject
from tidemark.read.tables import Tables
from tidemark.read.values import value_text
from tidemark.unit_tests.cases import Case

ASKED = {
    "intervals": "{{{{ tidemark.scd2(ref('{name}')) }}}}",
    "feed": "{{{{ tidemark.change_feed(ref('{name}'), ordered=false) }}}}",
}
"""What only a macro gives, and how it is asked."""
_TABLES = {"current": "", "history": "__log", "log": "__log", "rejects": "__rejects"}


@dataclass(frozen=True)
class Found:
    """Rows that were found.

    Attributes:
        columns: The names of their columns.
        rows: By column.
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


def tables_of(warehouse: Path, schema: str, commits_format: str) -> Tables:
    """Return the tables of a home of tests.

    Args:
        warehouse: Its folder.
        schema: Where `tidemark_commits` lies.
        commits_format: The format of all tables.
    """
    return Tables(KnownProject(warehouse.parent, str(warehouse), schema, commits_format))


def rows_found(tables: Tables, case: Case, what: str) -> Found:
    """Return the rows of a table; none of one that is not there.

    Args:
        tables: Where they are read.
        case: The test.
        what: current, history, log or rejects.

    Raises:
        TableNotReadable: Only Spark reads it.
    """
    node = case.node
    entity = Entity(node.name, str(node.config.materialized), case.alone, str(node.alias))
    path = tables.of(entity, _TABLES[what])
    if not tables.exists(path):
        return Found((), ())
    where = f" where {IN_FORCE}" if what == "history" else ""
    return Found(tuple(tables.columns(path)), tuple(tables.rows(path, f"select * from t{where}")))


def rows_of_query(session: Any, sql: str) -> Found:
    """Return the rows of a query that macros made.

    Args:
        session: Spark's.
        sql: The query.
    """
    frame = session.sql(sql)
    columns = tuple(str(name) for name in frame.columns)
    zoned = {name for name, kind in frame.dtypes if kind == "timestamp"}
    if zoned:
        # in Python they would have the zone of this machine, not of the session
        frame = frame.select(
            *[
                frame[name].cast("timestamp_ntz").alias(name) if name in zoned else frame[name]
                for name in columns
            ]
        )
    return Found(columns, tuple(row.asDict() for row in frame.collect()))


def write_input(
    session: Any,
    relation: str,
    file_format: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Write rows that a test gives to a table that its model reads, in the place of all it has.

    Args:
        session: Spark's.
        relation: The table.
        file_format: Its format, delta or iceberg.
        columns: Their types.
        rows: By column; one that a row lacks is NULL.
    """
    from pyspark.sql.functions import col, from_json
    from pyspark.sql.types import StringType, StructField, StructType

    texts = [tuple(value_text(row.get(name)) for name in columns) for row in rows]
    names = [f"c{number}" for number in range(len(columns))]
    frame = session.createDataFrame(
        texts, StructType([StructField(name, StringType()) for name in names])
    )
    typed = [
        (from_json(col(place), kind) if "<" in kind else col(place).cast(kind)).alias(name)
        for place, (name, kind) in zip(names, columns.items(), strict=True)
    ]
    frame.select(*typed).writeTo(relation).using(file_format).createOrReplace()
