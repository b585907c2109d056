"""Credentials and connections: dbt-spark's, and a session of our own for `method: session`."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

import yaml
from dbt.adapters.contracts.connection import AdapterRequiredConfig, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import (
    SparkConnectionManager,
    SparkConnectionMethod,
    SparkCredentials,
)
from dbt.flags import get_flags
from dbt_common.events.event_manager_client import add_callback_to_manager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.tidemark.console import colours_on_terminals_only, hide_changed_vars
from dbt.adapters.tidemark.cursor import SessionConnection
from dbt.adapters.tidemark.errors import MacroError
from dbt.adapters.tidemark.parsing import read_macros_once
from dbt.adapters.tidemark.progress import progress_listener
from tidemark.errors import InterruptedLoadError, TidemarkError
from tidemark.failures import Failure, one_line, remember_failure, remember_success
from tidemark.home import HOME_VARIABLE, tidemark_home, work_for
from tidemark.spark.defaults import shown_settings, with_iceberg
from tidemark.spark.messages import error_details, readable_error
from tidemark.spark.session import (
    abandon_start,
    is_session_expected,
    reset_settings,
    set_working_directory,
    start_session,
)

logger = AdapterLogger("Tidemark")

# materializations whose tables have commits
HAVE_COMMITS = {"atomic", "cdc", "feed", "scd2", "shred"}
# commands of dbt that load them
LOADS = {"build", "retry", "run"}
# commands of dbt that open a connection
RUN_SQL = {
    "build",
    "clone",
    "compile",
    "freshness",
    "generate",
    "retry",
    "run",
    "run-operation",
    "seed",
    "show",
    "snapshot",
    "test",
}


@dataclass
class TidemarkCredentials(SparkCredentials):
    """A profile of our adapter: Spark in this process (session), or a Thrift server (thrift)."""

    method: SparkConnectionMethod = SparkConnectionMethod.SESSION

    def __post_init__(self) -> None:
        # the first thing of ours that each command of dbt makes
        colours_on_terminals_only()
        hide_changed_vars()
        read_macros_once()
        if self.method not in (SparkConnectionMethod.SESSION, SparkConnectionMethod.THRIFT):
            raise DbtRuntimeError(
                f"method: {self.method} is not supported by type: tidemark. Write method: "
                "session (Spark in dbt's own process) or method: thrift (a Thrift server)"
            )
        if self.has_session:
            self.host = self.host or "localhost"
        # An empty value is an environment variable that is not set: as if the line were not there.
        self.server_side_parameters = {
            key: value
            for key, value in self.server_side_parameters.items()
            if value is not None and str(value) != ""
        }
        super().__post_init__()

    @property
    def type(self) -> str:
        """The adapter's name in profiles.yml."""
        return "tidemark"

    @property
    def has_session(self) -> bool:
        """Whether Spark is in this process."""
        return self.method == SparkConnectionMethod.SESSION

    def _connection_keys(self) -> tuple[str, ...]:
        of_server = () if self.has_session else ("host", "port", "user")
        return ("method", *of_server, "schema")

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield what `dbt debug` shows; `target` (with_aliases) has no use for Spark's settings."""
        yield from super().connection_info(with_aliases=with_aliases)
        if not with_aliases:
            yield HOME_VARIABLE, str(tidemark_home().root)
            if self.has_session:
                yield from shown_settings(self.server_side_parameters)


class TidemarkConnectionManager(SparkConnectionManager):
    """Opens connections on the session of this process and makes its errors readable.

    To a Thrift server they are dbt-spark's.
    """

    TYPE = "tidemark"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        super().__init__(profile, mp_context)
        self._is_interrupted = False
        credentials: Any = profile.credentials
        flags = getattr(profile, "args", None)
        project = getattr(profile, "project_root", None)
        if project:
            work_for(Path(project))
        add_callback_to_manager(partial(_remember_run, flags))
        add_callback_to_manager(progress_listener(flags))
        _listen_for_webhook(profile)
        if not credentials.has_session:
            return
        if project_variable(profile, "tidemark__commits_format") == "iceberg":
            settings = with_iceberg(credentials.server_side_parameters)
            credentials.server_side_parameters = settings
        set_working_directory(str(project or os.getcwd()))
        reset_settings(credentials.server_side_parameters)
        if is_session_expected() or _will_run_sql(getattr(profile, "args", None)):
            start_session(credentials.server_side_parameters)

    def cancel_open(self) -> list[str]:
        """Stop what runs (Ctrl-C); a load that is between two jobs stops at its next step."""
        self._is_interrupted = True
        names: list[str] = super().cancel_open()
        return names

    def check_not_interrupted(self) -> None:
        """Refuse to go on after Ctrl-C; the next command of this process has another manager.

        Raises:
            InterruptedLoadError: Ctrl-C came.
        """
        if self._is_interrupted:
            raise InterruptedLoadError

    def cleanup_all(self) -> None:
        """Close what dbt leaves open when a command ends; a session that nobody needs goes."""
        super().cleanup_all()
        if not is_session_expected():
            abandon_start()

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Turn whatever Spark raises into one message; the whole of it goes to dbt's log."""
        credentials: Any = self.profile.credentials
        if not credentials.has_session:
            with super().exception_handler(sql):
                yield
            return
        try:
            yield
        except (DbtRuntimeError, KeyboardInterrupt):
            raise
        except TidemarkError as error:
            raise MacroError(error.kind, str(error)) from error
        except Exception as error:
            logger.debug(f"Error while running:\n{sql}")
            logger.debug(error_details(error))
            raise DbtDatabaseError(readable_error(error, sql)) from None

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection; the first one starts Spark, once per process."""
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials: Any = connection.credentials
        if not credentials.has_session:
            return super().open(connection)
        try:
            connection.handle = SessionConnection(credentials.server_side_parameters)
        except TidemarkError as error:
            connection.state = ConnectionState.FAIL
            raise DbtRuntimeError(str(error)) from error
        connection.state = ConnectionState.OPEN
        return connection


def project_variable(profile: Any, name: str) -> Any:
    """Return a variable as macros of the project see it: of the command, else of dbt_project.yml.

    Args:
        profile: What dbt makes an adapter with.
        name: The variable.
    """
    provider = getattr(profile, "vars", None)
    if provider is None:
        given, project, variables = _unparsed_variables()
    else:
        given, variables = getattr(profile, "cli_vars", None) or {}, provider.to_dict()
        project = str(getattr(profile, "project_name", ""))
    for scope in (given, variables.get(project), variables):
        if isinstance(scope, Mapping) and name in scope:
            return scope[name]
    return None


def _unparsed_variables() -> tuple[Mapping[str, Any], str, Mapping[str, Any]]:
    """Return the command's variables, the project's name and its variables.

    `dbt debug` makes an adapter with the profile alone.
    """
    flags = get_flags()
    file = Path(getattr(flags, "PROJECT_DIR", None) or os.getcwd()) / "dbt_project.yml"
    content: Any = None
    with suppress(OSError, ValueError, yaml.YAMLError):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content = content if isinstance(content, Mapping) else {}
    variables, given = content.get("vars"), getattr(flags, "VARS", None)
    return (
        given or {},
        str(content.get("name")),
        variables if isinstance(variables, Mapping) else {},
    )


def _remember_run(flags: Any, event: Any) -> None:
    """Keep how a run of a model of ours ended, for `tidemark status`."""
    if event.info.name != "NodeFinished":
        return
    node, status = event.data.node_info, event.data.run_result.status
    if node.materialized not in HAVE_COMMITS or status not in ("error", "success"):
        return
    # dbt goes down with what a listener raises, and nothing here is worth that
    with suppress(Exception):
        given = getattr(flags, "VARS", None) or {}
        if str(given.get("plan", False)).lower() != "false":
            return  # nothing was to be loaded
        relation = f"{node.node_relation.schema}.{node.node_relation.alias}"
        if status == "success":
            is_load = getattr(flags, "WHICH", None) in LOADS and not getattr(flags, "EMPTY", False)
            if is_load:
                remember_success(tidemark_home(), relation)
            return
        date = given.get("business_date")
        failure = Failure(
            relation=relation,
            entity=node.node_name,
            failed_at=dt.datetime.now(dt.UTC),
            message=one_line(event.data.run_result.message),
            business_date=None if date is None else str(date),
            invocation_id=event.info.invocation_id,
        )
        remember_failure(tidemark_home(), failure)


def _listen_for_webhook(profile: AdapterRequiredConfig) -> None:
    """Have what this command does told to `TIDEMARK_WEBHOOK_URL`, if it is set."""
    flags = getattr(profile, "args", None)
    command = getattr(flags, "WHICH", None)
    if not os.environ.get("TIDEMARK_WEBHOOK_URL"):
        return
    from tidemark.webhook.listen import COMMANDS, Listener
    from tidemark.webhook.send import webhook_of

    if command not in COMMANDS:
        return
    try:
        webhook = webhook_of()
    except TidemarkError as error:
        logger.warning(f"the summary of this run was not sent: {error}")
        return
    if webhook is not None:
        listener = Listener(
            webhook,
            command,
            profile.project_name,
            str(getattr(profile, "target_name", "")),
            (getattr(flags, "VARS", None) or {}).get("business_date"),
            HAVE_COMMITS,
            logger.warning,
        )
        add_callback_to_manager(partial(_notified, listener))


def _notified(listener: Any, event: Any) -> None:
    # dbt goes down with what a listener raises, and nothing here is worth that
    try:
        listener(event)
    except Exception as error:
        logger.debug(f"the webhook was not told: {type(error).__name__}")


def _will_run_sql(flags: Any) -> bool:
    """Say whether dbt's flags are of a command that needs Spark however it goes on."""
    return getattr(flags, "WHICH", None) in RUN_SQL and getattr(flags, "INTROSPECT", True)
