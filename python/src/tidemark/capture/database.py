"""Questions to the database, by the JDBC drivers that the connectors bring."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.jvm import java_message
from tidemark.errors import TidemarkError

_TIMEOUT = 15


class DatabaseError(TidemarkError):
    """The database cannot be reached or refuses a statement."""


def jdbc_url(config: CaptureConfig, login: Login) -> str:
    """Return the JDBC URL of a database."""
    place = f"{login.host}:{login.port}"
    if config.connector == "postgresql":
        return f"jdbc:postgresql://{place}/{login.database}"
    if config.connector == "sqlserver":
        # as Debezium does: encrypted, unless the options say otherwise
        return f"jdbc:sqlserver://{place};databaseName={login.database}"
    if config.connector == "oracle":
        return f"jdbc:oracle:thin:@//{place}/{login.database}"
    return f"jdbc:{config.connector}://{place}/{login.database or ''}"


class Database:
    """An open connection."""

    def __init__(self, connection: Any, name: str) -> None:
        self._connection = connection
        self._name = name

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        Raises:
            DatabaseError: The database refuses it.
        """
        try:
            statement = self._connection.prepareStatement(sql)
            try:
                for place, value in enumerate(values, start=1):
                    statement.setObject(place, value)
                if not statement.execute():
                    return []
                found = statement.getResultSet()
                width = found.getMetaData().getColumnCount()
                rows = []
                while found.next():
                    rows.append(
                        tuple(_python(found.getObject(place)) for place in range(1, width + 1))
                    )
                return rows
            finally:
                statement.close()
        except jpype.JException as error:
            raise DatabaseError(f"{self._name}: {java_message(error)}") from None

    def value(self, sql: str, *values: Any) -> Any:
        """Return the first value of a query, None if it has no row."""
        rows = self.query(sql, *values)
        return rows[0][0] if rows else None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _python(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, jpype.JBoolean | jpype.java.lang.Boolean):
        return bool(value)
    if isinstance(value, jpype.java.lang.Number):
        text = str(value)
        return int(text) if text.lstrip("-").isdigit() else float(text)
    return str(value)


@contextmanager
def connect(config: CaptureConfig, login: Login) -> Iterator[Database]:
    """Open a connection for a moment.

    Raises:
        DatabaseError: The database cannot be reached, or refuses the login.
    """
    where = f"{config.connector} at {login.host}:{login.port}"
    properties = jpype.java.util.Properties()
    for name, value in {
        "user": login.user,
        "password": login.password,
        **_timeouts(config.connector),
        **_driver_options(config),
    }.items():
        properties.setProperty(name, value)
    manager = jpype.java.sql.DriverManager
    manager.setLoginTimeout(_TIMEOUT)
    try:
        connection = manager.getConnection(jdbc_url(config, login), properties)
    except jpype.JException as error:
        raise DatabaseError(
            f"{where} cannot be reached as user {login.user!r}. Check host, port, user and "
            "password. "
            f"The driver reports: {java_message(error)}"
        ) from None
    database = Database(connection, where)
    try:
        yield database
    finally:
        database.close()


def _timeouts(connector: str) -> dict[str, str]:
    seconds, milliseconds = str(_TIMEOUT), str(_TIMEOUT * 1000)
    return {
        "postgresql": {"connectTimeout": seconds, "ApplicationName": "tidemark"},
        "mysql": {"connectTimeout": milliseconds},
        "mariadb": {"connectTimeout": milliseconds},
        "sqlserver": {"loginTimeout": seconds},
        "oracle": {"oracle.net.CONNECT_TIMEOUT": milliseconds},
    }[connector]


def _driver_options(config: CaptureConfig) -> dict[str, str]:
    """Those options of Debezium that it passes to the driver."""
    passed = {}
    for name, value in config.options.items():
        if name.startswith("driver."):
            passed[name.removeprefix("driver.")] = value
        elif config.connector == "postgresql" and name.startswith("database.ssl"):
            # the driver has the same names: sslmode, sslrootcert, sslcert, sslkey, …
            passed[name.removeprefix("database.")] = value
        elif name in ("database.encrypt", "database.trustServerCertificate"):
            passed[name.removeprefix("database.")] = value
    return passed
