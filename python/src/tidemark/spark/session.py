"""The one Spark session of this process: started once, shared by its threads, stopped at exit.

A command that needs it has it started in the background while dbt parses the project.
"""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pyspark.sql import SparkSession

from tidemark.home import tidemark_home
from tidemark.spark.defaults import with_defaults
from tidemark.spark.files import hadoop_path
from tidemark.spark.launch import Launched, Start, can_start_early, launch, quietly


class _Shared:
    """The session of this process and what belongs to it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.session: SparkSession | None = None
        self.launched: Launched | None = None
        self.settings: dict[str, str] = {}
        self.directory: str | None = None
        # a start that is under way, or one in the background that nobody has asked for yet
        self.start: Start | None = None
        self.error: Exception | None = None
        # whether a later command of this process needs what an earlier one has started
        self.expected = False


_shared = _Shared()


@contextmanager
def session_expected() -> Iterator[None]:
    """Have the session started by the first command of dbt in here, for those that follow it.

    Within another one it does nothing: the session is the outer one's.
    """
    if _shared.expected:
        yield
        return
    _shared.expected = True
    try:
        with _interrupted_at_once():
            yield
    finally:
        _shared.expected = False
        abandon_start()


@contextmanager
def _interrupted_at_once() -> Iterator[None]:
    """Have Ctrl-C end a start that is waited for: dbt waits for its threads, which wait for it."""
    usual = signal.default_int_handler
    is_main = threading.current_thread() is threading.main_thread()
    # who has another handler has other ways to end
    if not is_main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        start = _shared.start
        if start is not None and start.is_awaited:
            start.end()
        usual(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        # a session that started in this thread has Spark's own in its place
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, usual)


def is_session_expected() -> bool:
    """Say whether a session that this command of dbt has no use for is needed by a later one."""
    return _shared.expected


def start_session(settings: Mapping[str, str]) -> None:
    """Start the session in the background; get_session() waits for it, or says why it failed.

    What cannot start at once is left to get_session(), which tells what it waits for; where the
    session is expected, only what waits for another run. A session that nobody asks for is ended
    by abandon_start().

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
            home = tidemark_home().create()
            if not can_start_early(settings, home, may_report=_shared.expected):
                return
            session = _open_session(settings, start)
        except Exception as error:
            _shared.error = None if start.ended else error
            return
    # The first thing that anybody asks for takes as long as the rest of the start. A start that is
    # ended leaves the metastore's lock file where it was opened: only where a run is sure to come.
    if _shared.expected:
        with suppress(Exception):
            session.catalog.databaseExists("default")


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
    awaited = _shared.start
    if awaited is not None:
        awaited.is_awaited = True
    with _shared.lock:
        _shared.start = None
        error, _shared.error = _shared.error, None
        if awaited is not None:
            _check_not_ended(awaited)
        if error is not None:
            raise error
        if _shared.session is not None and is_running(_shared.session):
            return _shared.session
        _shared.start = start = Start(is_awaited=True)
        try:
            return _open_session(settings, start)
        except Exception:
            _check_not_ended(start)
            raise
        finally:
            _shared.start = None


def _check_not_ended(start: Start) -> None:
    if start.ended:
        stop_session()  # what came of it has no JVM any more
    start.check_not_ended()


def _open_session(settings: Mapping[str, str], start: Start) -> SparkSession:
    if _shared.launched is not None:
        stop_session()
    quietly()
    existing = SparkSession._instantiatedSession
    if existing is not None and is_running(existing):
        # Started by whoever called us (a notebook, spark-submit): theirs to stop.
        _shared.session = existing
    else:
        _shared.launched = launch(settings, tidemark_home().create(), start)
        _shared.session = _shared.launched.session
        _keep_jars_from_python(_shared.session)
        atexit.register(stop_session)
    _shared.settings = {}
    reset_settings(settings)
    _apply_working_directory()
    return _shared.session


def _keep_jars_from_python(session: SparkSession) -> None:
    """Have workers not look for Python modules in the jars of `spark.jars.packages`.

    Spark puts these on their path, and a worker reads the directory of each anew before every task,
    for a fifth of a second.
    """
    context: Any = session.sparkContext
    includes = getattr(context, "_python_includes", None) or []
    context._python_includes = [name for name in includes if not name.endswith(".jar")]


def count_statement() -> None:
    """Note that the session did some work, by which its start learns what is worth keeping."""
    if _shared.launched is not None:
        _shared.launched.statements += 1


def current_session() -> SparkSession | None:
    """Return the session of this process if one runs."""
    session = _shared.session
    return session if session is not None and is_running(session) else None


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
    configuration = session._jsparkSession.sessionState().newHadoopConf()
    local = hadoop_path(jvm, "file:///").getFileSystem(configuration)
    local.setWorkingDirectory(hadoop_path(jvm, _shared.directory))


def reset_settings(settings: Mapping[str, str]) -> None:
    """Bring the running session's settings back to the profile's and our defaults.

    What `set` statements left must not outlive a run. A session that somebody else started keeps
    its own where the profile is silent. Does nothing while no session runs.
    """
    with _shared.lock:
        session = _shared.session
        if session is None or not is_running(session):
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


def is_running(session: SparkSession) -> bool:
    """Say whether a session has not been stopped."""
    return session._sc is not None and session._sc._jsc is not None
