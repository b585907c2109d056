"""Cursors on the session of this process, in the shape that dbt-spark expects."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError
from pyspark.sql import DataFrame, Row

from tidemark.rules.quoted import literal
from tidemark.spark.delta import create_table
from tidemark.spark.messages import error_details, readable_error
from tidemark.spark.session import count_statement, get_session, is_running
from tidemark.spark.tables_of_load import forget_tables

logger = AdapterLogger("Tidemark")


def _literal(value: Any) -> str:
    """Write a bound value of a seed as a SQL literal."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, dt.datetime):
        value = value.isoformat(sep=" ")
    return literal(str(value))


class SessionConnection(SparkConnectionWrapper):
    """A cursor on the session, in the shape that dbt-spark's connection manager expects."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings)
        self._session = get_session(self._settings)
        self._frame: DataFrame | None = None
        self._rows: list[Row] | None = None

    def cursor(self) -> SessionConnection:
        """Return a cursor of its own for each statement."""
        return SessionConnection(self._settings)

    def cancel(self) -> None:
        """Stop what the session is doing (Ctrl-C)."""
        if is_running(self._session):
            self._session.sparkContext.cancelAllJobs()

    def close(self) -> None:
        """Forget the last result."""
        self._frame = None
        self._rows = None

    def rollback(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: Spark has no transactions across statements."""

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement; a query is only planned until its rows are fetched."""
        statement = sql.strip().removesuffix(";")
        if bindings:
            statement = statement % tuple(_literal(value) for value in bindings)
        self._rows = None
        count_statement()
        forget_tables()
        try:
            self._frame = (
                None if create_table(self._session, statement) else self._session.sql(statement)
            )
        except Exception as error:
            raise _database_error(error, statement) from None

    def fetchall(self) -> list[Row]:
        """Return the rows that are left."""
        rows, self._rows = self._fetched(), []
        return rows

    def fetchmany(self, size: int) -> list[Row]:
        """Return up to `size` rows."""
        if self._rows is None and self._frame is not None:
            try:
                self._rows = self._frame.take(size)
            except Exception as error:
                raise _database_error(error) from None
        rows = self._fetched()
        self._rows = rows[size:]
        return rows[:size]

    def fetchone(self) -> Row | None:
        """Return the next row, or None."""
        rows = self._fetched()
        return rows.pop(0) if rows else None

    def _fetched(self) -> list[Row]:
        if self._rows is None:
            try:
                self._rows = [] if self._frame is None else self._frame.collect()
            except Exception as error:
                raise _database_error(error) from None
        return self._rows

    @property
    def description(
        self,
    ) -> Sequence[tuple[str, Any, int | None, int | None, int | None, int | None, bool]]:
        """Name and type of each column of the last result."""
        if self._frame is None:
            return []
        return [
            (field.name, field.dataType.simpleString(), None, None, None, None, field.nullable)
            for field in self._frame.schema.fields
        ]


def _database_error(error: Exception, statement: str = "") -> DbtDatabaseError:
    logger.debug(error_details(error))
    return DbtDatabaseError(readable_error(error, statement))
