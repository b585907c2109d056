"""Python models: the compiled code runs in the session of this process."""

from __future__ import annotations

import importlib
import linecache
import traceback
from collections.abc import Callable
from typing import Any

from dbt.adapters.base.impl import PythonJobHelper
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.tidemark.connections import TidemarkCredentials
from tidemark.errors import TidemarkError
from tidemark.spark.messages import error_details, readable_error
from tidemark.spark.session import get_session

logger = AdapterLogger("Tidemark")

# dbt's own first line after the user's file
_DBT_PART = "# This part is user provided model code"


class SessionPythonJobHelper(PythonJobHelper):
    """`submission_method: session`."""

    def __init__(self, parsed_model: dict[str, Any], credential: TidemarkCredentials) -> None:
        if not credential.has_session:
            raise DbtRuntimeError(
                "Python models run in dbt's own process, but the profile has method: "
                f"{credential.method}. Write `method: session` in the profile"
            )
        self._submitter = SessionSubmitter(
            name=str(parsed_model["alias"]),
            path=str(parsed_model["original_file_path"]),
            settings=credential.server_side_parameters,
        )

    def submit(self, compiled_code: str) -> None:
        """Run a compiled model."""
        self._submitter.submit(compiled_code)


class SessionSubmitter:
    """Runs code in the session; what it raises becomes one dbt error with the user's own lines."""

    def __init__(self, name: str, path: str, settings: dict[str, str]) -> None:
        self._name = name
        self._path = path
        self._settings = settings
        self._own_lines = 0

    def submit(self, compiled_code: str) -> None:
        """Execute the code of a model.

        dbt puts the user's file first, so line numbers are those of the file.

        Raises:
            DbtRuntimeError: The code failed.
        """
        # Not a module of its own: functions of the model must travel to Spark's workers by value.
        module = f"tidemark_model_{self._name}"
        namespace: dict[str, Any] = {"__name__": module, "__file__": self._path}
        try:
            session = get_session(self._settings)
            _activate(session)
            namespace["spark"] = session
            code = compiled_code.strip()
            self._own_lines = code.partition(_DBT_PART)[0].count("\n")
            # for tracebacks (the file itself may have changed since)
            lines = code.splitlines(keepends=True)
            linecache.cache[self._path] = (len(code), None, lines, self._path)
            exec(compile(code, self._path, "exec", dont_inherit=True), namespace)
        except TidemarkError as error:
            raise DbtRuntimeError(str(error)) from error
        except Exception as error:
            logger.debug("".join(traceback.format_exception(error)))
            logger.debug(error_details(error))
            raise DbtRuntimeError(self._explain(error)) from None
        finally:
            linecache.cache.pop(self._path, None)
            namespace.clear()

    def _explain(self, error: Exception) -> str:
        """Return the user's lines of the traceback and the message."""
        if isinstance(error, SyntaxError):
            return "".join(traceback.format_exception_only(error)).rstrip()
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == self._path and (frame.lineno or 0) <= self._own_lines
        ]
        lines = []
        if frames:
            lines = ["Traceback (most recent call last):", *traceback.format_list(frames)]
        is_spark = hasattr(error, "_origin") or hasattr(error, "java_exception")
        text = readable_error(error) if is_spark else str(error)
        lines.append(f"{type(error).__name__}: {text}" if text else type(error).__name__)
        return "\n".join(line.rstrip("\n") for line in lines)


def _activate(session: SparkSession) -> None:
    """Make `SparkSession.getActiveSession()` find the session in dbt's thread too."""
    jvm = session._jvm
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)


def imported(function: str) -> Callable[..., Any]:
    """Return a function of the `tidemark` distribution by its dotted name.

    Raises:
        DbtRuntimeError: It is none of ours, or does not exist.
    """
    module, _, name = function.rpartition(".")
    if module.partition(".")[0] != "tidemark":
        raise DbtRuntimeError(
            f"{function} is not a function of tidemark. Name a function that the module has"
        )
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise DbtRuntimeError(f"{function} cannot be found: {error}") from error
    return found


def write_table(
    session: SparkSession,
    result: Any,
    *,
    table: str,
    file_format: str,
    partition_by: list[str],
    location: str | None,
    options: dict[str, Any],
) -> None:
    """Write what a model returned as a table, replacing what was there.

    Args:
        session: The running session.
        result: A Spark or pandas data frame.
        table: The table's name as SQL would write it.
        file_format: Spark's name of the format.
        partition_by: Columns that partition the table.
        location: Where its files lie, if not in the warehouse.
        options: Options of the writer; table properties of the format are among them.
    """
    frame = _spark_frame(session, result)
    writer = frame.write.format(file_format).mode("overwrite")
    if file_format == "delta":
        writer = writer.option("overwriteSchema", "true")
    for key, value in options.items():
        writer = writer.option(key, value)
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    if location is not None:
        writer = writer.option("path", location)
    writer.saveAsTable(table)


def _spark_frame(session: SparkSession, result: Any) -> DataFrame:
    if isinstance(result, DataFrame):
        return result
    if hasattr(result, "to_spark"):  # pandas on Spark
        frame: DataFrame = result.to_spark()
        return frame
    if type(result).__module__.startswith("pandas."):
        return session.createDataFrame(result)
    raise DbtRuntimeError(
        f"model() returned {type(result).__name__}. Return a Spark or pandas data frame"
    )
