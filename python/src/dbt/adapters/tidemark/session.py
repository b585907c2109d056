"""The one Spark session of this process: started once, shared by dbt's threads, stopped at exit.

A command that needs it has it started in the background while dbt parses the project.
"""

from __future__ import annotations

import atexit
import datetime as dt
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError
from pyspark.sql import DataFrame, Row, SparkSession

from dbt.adapters.tidemark.defaults import with_defaults
from dbt.adapters.tidemark.launch import Launched, Start, can_start_early, launch, quietly
from dbt.adapters.tidemark.messages import error_details, readable_error
from tidemark.home import tidemark_home

logger = AdapterLogger("Tidemark")


class _Shared:
    """The session of this process and what belongs to it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: SparkSession | None = None
        self.launched: Launched | None = None
        self.settings: dict[str, str] = {}
        self.directory: str | None = None
        # a start in the background that is under way, or that nobody has asked for yet
        self.start: Start | None = None
        self.error: Exception | None = None


_shared = _Shared()


def start_session(settings: Mapping[str, str]) -> None:
    """Start the session in the background; get_session() waits for it, or says why it failed.

    What cannot start at once is left to get_session(), which tells what it waits for. A session
    that nobody asks for is ended by abandon_start().

    Args:
        settings: As for get_session().
    """
    if current_session() is not None or _shared.start is not None:
        return
    quietly()
    # dbt does not clean up an adapter that Ctrl-C kept from being made
    atexit.register(abandon_start)
    _shared.start = start = Start()
    arguments = (dict(settings), start)
    threading.Thread(target=_start, args=arguments, name="tidemark-start", daemon=True).start()


def _start(settings: Mapping[str, str], start: Start) -> None:
    with _shared.lock:
        if start.ended or current_session() is not None:
            return
        try:
            if can_start_early(settings, tidemark_home().create()):
                _open_session(settings, start)
        except Exception as error:
            _shared.error = None if start.ended else error


def abandon_start() -> None:
    """End a start in the background that nobody has asked for, or that was interrupted."""
    start, _shared.start = _shared.start, None
    if start is not None:
        start.end()
        stop_session()
        _shared.error = None


def get_session(settings: Mapping[str, str]) -> SparkSession:
    """Return the session of this process, starting it at the first call.

    Args:
        settings: Spark settings of the profile (`server_side_parameters`). Those that Spark
            fixes at its start count only at the first call.

    Raises:
        TidemarkError: Java is missing, another process holds the metastore, or Spark does not
            start.
    """
    with _shared.lock:
        _shared.start = None
        error, _shared.error = _shared.error, None
        if error is not None:
            raise error
        if _shared.session is not None and _is_running(_shared.session):
            return _shared.session
        return _open_session(settings, Start())


def _open_session(settings: Mapping[str, str], start: Start) -> SparkSession:
    if _shared.launched is not None:
        stop_session()
    quietly()
    existing = SparkSession._instantiatedSession
    if existing is not None and _is_running(existing):
        # Started by whoever called us (a notebook, spark-submit): theirs to stop.
        _shared.session = existing
    else:
        _shared.launched = launch(settings, tidemark_home().create(), start)
        _shared.session = _shared.launched.session
        atexit.register(stop_session)
    _shared.settings = {}
    reset_settings(settings)
    _apply_working_directory()
    return _shared.session


def current_session() -> SparkSession | None:
    """Return the session of this process if one runs."""
    session = _shared.session
    return session if session is not None and _is_running(session) else None


def holds_metastore() -> bool:
    """Say whether this process keeps others from an embedded metastore."""
    return _shared.launched is not None and _shared.launched.lock is not None


def set_working_directory(path: str) -> None:
    """Make relative paths in SQL relative to `path`, whichever folder the JVM was started in."""
    with _shared.lock:
        _shared.directory = path
        _apply_working_directory()


def _apply_working_directory() -> None:
    session = current_session()
    if session is None or _shared.directory is None:
        return
    jvm: Any = session.sparkContext._jvm
    hadoop = jvm.org.apache.hadoop.fs
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    local = hadoop.FileSystem.get(jvm.java.net.URI("file:///"), configuration)
    local.setWorkingDirectory(hadoop.Path(_shared.directory))


def reset_settings(settings: Mapping[str, str]) -> None:
    """Bring the running session's settings back to the profile's and our defaults.

    What `set` statements left must not outlive a run. A session that somebody else started keeps
    its own where the profile is silent. Does nothing while no session runs.
    """
    with _shared.lock:
        session = _shared.session
        if session is None or not _is_running(session):
            return
        current = {str(key): str(value) for key, value in dict(session.conf.getAll).items()}
        if not _shared.settings:
            _shared.settings = current
        given = settings if _shared.launched is None else with_defaults(settings)
        wanted = {
            **_shared.settings,
            **{key: value for key, value in given.items() if session.conf.isModifiable(key)},
        }
        for key in current.keys() - wanted.keys():
            if session.conf.isModifiable(key) or not key.startswith("spark.sql"):
                session.conf.unset(key)
        for key, value in wanted.items():
            if current.get(key) != value and session.conf.isModifiable(key):
                session.conf.set(key, value)


def stop_session() -> None:
    """Stop the session if this process started it; wait for its JVM, release the metastore."""
    with _shared.lock:
        launched, _shared.launched, _shared.session = _shared.launched, None, None
        if launched is not None:
            launched.stop()


def _is_running(session: SparkSession) -> bool:
    return session._sc is not None and session._sc._jsc is not None


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
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


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
        if _is_running(self._session):
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
        if _shared.launched is not None:
            _shared.launched.statements += 1
        try:
            self._frame = self._session.sql(statement)
        except Exception as error:
            raise _database_error(error) from None

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


def _database_error(error: Exception) -> DbtDatabaseError:
    logger.debug(error_details(error))
    return DbtDatabaseError(readable_error(error))
