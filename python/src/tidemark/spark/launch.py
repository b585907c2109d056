"""Starting Spark: Java checked, one process per embedded metastore, console quiet."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from tidemark.errors import ConfigError, MetastoreBusyError, SparkStartError
from tidemark.home import Home
from tidemark.java import check_java, find_java
from tidemark.spark.class_archive import ClassArchive, find_archive
from tidemark.spark.defaults import (
    CATALOG,
    DRIVER_OPTIONS,
    MASTER,
    PYTHON,
    has_secret,
    is_local,
    with_defaults,
)
from tidemark.spark.gateway import spare_searches, spare_waits
from tidemark.spark.messages import readable_error
from tidemark.spark.packages import check_ivy, ivy_folder, note_resolved, use_resolved
from tidemark.spark.places import fill_metastore, follow_home

LOCK_TIMEOUT_VARIABLE = "TIDEMARK_LOCK_TIMEOUT"
DEFAULT_LOCK_TIMEOUT = 600.0
DERBY_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
WAREHOUSE = "spark.sql.warehouse.dir"
CATALOGUE = "spark.sql.catalogImplementation"
METASTORE_URIS = ("spark.hadoop.hive.metastore.uris", "hive.metastore.uris")
ONE_PROCESS = {
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}
"""How Delta commits where one process has the warehouse: what is for several starts `readlink`
eight times a commit."""
MAX_LOG_BYTES = 10_000_000


def report_line(message: str) -> None:
    """Print one line for the person at the console; data goes to stdout, talk to stderr."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def quietly() -> None:
    """Keep off the console PySpark's warnings and copies of SQL errors, and Py4J's traces."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    warnings.filterwarnings("ignore", module=r"pyspark(\..*)?")
    warnings.filterwarnings("ignore", module=r"py4j(\..*)?")
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    # if a JVM is gone, it tells the root logger, as what goes wrong is raised anyway
    return Path(record.pathname).parent.name != "py4j"


@dataclass
class Launched:
    """A session that this process started, with its JVM and the lock on its metastore."""

    session: SparkSession
    gateway: Any
    lock: BaseFileLock | None
    archive: ClassArchive | None = None
    statements: int = 0

    def stop(self) -> None:
        """Stop Spark, wait for the JVM to end, then let the next process in."""
        try:
            writes = self.archive is not None and self.archive.new is not None
            exit_code = _stop_jvm(self.gateway, self.session, patience=120 if writes else 15)
            if self.archive is not None:
                self.archive.keep(self.statements, exit_code)
        finally:
            if self.lock is not None:
                self.lock.release()


class Start:
    """A start of Spark, which another thread can end at any moment.

    Attributes:
        ended: Whether it was.
        is_awaited: Whether somebody waits for it.
    """

    def __init__(self, *, is_awaited: bool = False) -> None:
        self.ended = False
        self.is_awaited = is_awaited
        # a signal may end it in the thread that starts it
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None

    def popen(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Start the JVM, unless the start was ended before."""
        with self._lock:
            self.check_not_ended()
            self._process = subprocess.Popen(*arguments, **options)
            return self._process

    def check_not_ended(self) -> None:
        """Refuse to go on with it after it was ended.

        Raises:
            SparkStartError: It was.
        """
        if self.ended:
            raise SparkStartError("The start of Spark was interrupted. Run the command again")

    def end(self) -> None:
        """End the JVM, if there is one yet; let there be none if not."""
        with self._lock:
            self.ended = True
            if self._process is not None:
                self._process.terminate()


def can_start_early(settings: Mapping[str, str], home: Home, *, may_report: bool = False) -> bool:
    """Say whether Spark can start without a word, and be ended again within a moment.

    Not where a package must be fetched, which is told unless it may be, or another run be waited
    for; nor with a class archive to write, which the JVM does as it ends.
    """
    conf = spark_settings(settings, home)
    archive = _archive_of(conf)
    return not (
        (missing_packages(conf) and not may_report)
        or (archive is not None and archive.new is not None)
        or (_is_embedded(conf) and metastore_holder(home) is not None)
    )


def launch(settings: Mapping[str, str], home: Home, start: Start) -> Launched:
    """Start Spark with the profile's settings and, where they are silent, ours.

    Args:
        settings: `server_side_parameters` of the profile.
        home: Where the run writes.
        start: What another thread can end it with.

    Raises:
        TidemarkError: See the message.
    """
    check_java()
    conf = spark_settings(settings, home)
    archive = _archive_of(conf)
    if archive is not None:
        conf[DRIVER_OPTIONS] += f" {archive.options}"
    _set_python(conf)
    lock = _lock_metastore(home) if _is_embedded(conf) else None
    try:
        asked = dict(conf)
        resolved = use_resolved(conf, home.packages)
        if not resolved:
            check_ivy(conf)
            _announce_downloads(conf)
        gateway = _start_jvm(conf, home, lock, start)
        try:
            is_new = _is_own(conf, home) and follow_home(gateway.jvm, home, conf[WAREHOUSE])
            SparkContext._ensure_initialized(gateway=gateway)
            builder = SparkSession.builder
            if conf.get(CATALOGUE) != "in-memory":
                builder = builder.enableHiveSupport()
            for key, value in conf.items():
                builder = builder.config(key, value)
            session = builder.getOrCreate()
            spare_searches(session._jvm)
            spare_waits(session._jvm)
            if is_new:
                _fill_metastore(session, home)
            if not resolved:
                note_resolved(asked, dict(session.sparkContext.getConf().getAll()), home.packages)
        except Exception as error:
            message = readable_error(error)
            _stop_jvm(gateway, None)
            raise SparkStartError(f"Spark did not start: {message}") from error
    except BaseException:
        if lock is not None:
            lock.release()
        raise
    return Launched(session=session, gateway=gateway, lock=lock, archive=archive)


def _fill_metastore(session: SparkSession, home: Home) -> None:
    found = fill_metastore(session, home)
    if found:
        report_line(
            f"tidemark: the embedded metastore of {home.root} was gone: {len(found)} tables of "
            "its warehouse are registered in a new metastore. The next run of each model makes "
            "its views again"
        )


def spark_settings(settings: Mapping[str, str], home: Home) -> dict[str, str]:
    """Return the profile's settings with our defaults and what follows from TIDEMARK_HOME added.

    Example:
        >>> spark_settings({}, Home(Path("/data/tidemark")))["spark.sql.warehouse.dir"]
        '/data/tidemark/warehouse'
    """
    conf = {
        "spark.app.name": "tidemark",
        WAREHOUSE: str(home.warehouse),
        "spark.local.dir": str(home.temporary),
        "spark.hadoop.hive.exec.scratchdir": str(home.temporary / "hive"),
        "spark.hadoop.hive.exec.local.scratchdir": str(home.temporary / "hive"),
        "spark.hadoop.hive.downloaded.resources.dir": str(home.temporary / "hive"),
        # Delta keeps its own schema; Hive's check of a replaced table's columns only fills the log
        "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes": "false",
        "spark.ui.showConsoleProgress": "false",
        **with_defaults(settings),
    }
    if not any(conf.get(key) for key in METASTORE_URIS):
        conf.setdefault(DERBY_URL, f"jdbc:derby:;databaseName={home.metastore};create=true")
    if _is_local(conf) and _is_embedded(conf):
        for key, value in ONE_PROCESS.items():
            conf.setdefault(key, value)
    if "iceberg" in conf.get(CATALOG, ""):
        if _is_embedded(conf):
            # the metastore compares and swaps; its tables of locks are not made
            conf.setdefault("spark.hadoop.iceberg.engine.hive.lock-enabled", "false")
        else:
            # what another process has committed is seen by the next statement
            conf.setdefault(f"{CATALOG}.cache-enabled", "false")
    if conf[MASTER] == "local[*]" and (os.cpu_count() or 1) < 2:
        conf[MASTER] = "local[2]"  # one task may wait for another
    log4j = Path(__file__).with_name("log4j2.properties")
    options = [
        "-XX:-UsePerfData",
        f'"-Dlog4j2.configurationFile={log4j.as_uri()}"',
        f'"-Dderby.stream.error.file={home.derby_log}"',
        f'"-Djava.io.tmpdir={home.temporary}"',
        conf[DRIVER_OPTIONS],
    ]
    conf[DRIVER_OPTIONS] = " ".join(options)
    return conf


def _is_local(conf: Mapping[str, str]) -> bool:
    return is_local(conf[MASTER])


def _set_python(conf: Mapping[str, str]) -> None:
    """Say which Python Spark's workers run: the setting alone has no effect but in spark-submit."""
    if conf.get(PYTHON):
        os.environ["PYSPARK_PYTHON"] = conf[PYTHON]
    elif _is_local(conf):
        # or it would be the first python3 of PATH, which need not have what models import
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _archive_of(conf: Mapping[str, str]) -> ClassArchive | None:
    """Return the class archive of a JVM that does all of the work, or None."""
    return find_archive(find_java()) if _is_local(conf) else None


def _is_own(conf: Mapping[str, str], home: Home) -> bool:
    """Whether the embedded metastore is the home's, not one that a profile names."""
    return conf.get(DERBY_URL, "").startswith(f"jdbc:derby:;databaseName={home.metastore};")


def _is_embedded(conf: Mapping[str, str]) -> bool:
    return conf.get(DERBY_URL, "").startswith("jdbc:derby:;")


# --- one process at a time on the embedded metastore


def lock_timeout() -> float:
    """Return how long to wait for another run, in seconds (TIDEMARK_LOCK_TIMEOUT)."""
    text = os.environ.get(LOCK_TIMEOUT_VARIABLE, "").strip()
    if not text:
        return DEFAULT_LOCK_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise ConfigError(
            f"{LOCK_TIMEOUT_VARIABLE} must be a number of seconds, 0 or more, found: {text!r}"
        )
    return seconds


def _lock_metastore(home: Home) -> BaseFileLock:
    """Take the lock on the embedded metastore, waiting for another run if there is one."""
    timeout = lock_timeout()
    note = home.metastore_lock.with_suffix(".pid")
    lock = FileLock(str(home.metastore_lock), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        holder = _holder(note)
        if timeout:
            report_line(f"tidemark: waiting for another run ({holder}) that uses {home.root} …")
        try:
            lock.acquire(timeout=timeout, poll_interval=0.2)
        except Timeout:
            waited = f" after {timeout:g} s" if timeout else ""
            raise MetastoreBusyError(
                f"Another run ({_holder(note)}) uses {home.root}, and the embedded metastore "
                f"serves one process at a time: gave up{waited}. Run the command again when the "
                f"other run has ended, or wait longer ({LOCK_TIMEOUT_VARIABLE}=seconds). Or use "
                "another TIDEMARK_HOME or a shared metastore."
            ) from None
    note.write_text(f"{os.getpid()}\n", encoding="utf-8")
    return lock


def metastore_holder(home: Home) -> str | None:
    """Return who has the embedded metastore open, or None if nobody has."""
    lock = FileLock(str(home.metastore_lock), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return _holder(home.metastore_lock.with_suffix(".pid"))
    lock.release()
    return None


def _holder(note: Path) -> str:
    try:
        return f"pid {note.read_text(encoding='utf-8').strip()}"
    except OSError:
        return "pid unknown"


# --- the JVM


def _start_jvm(conf: Mapping[str, str], home: Home, lock: BaseFileLock | None, start: Start) -> Any:
    """Start the JVM with its output in the Spark log.

    The JVM inherits the lock's file, so the lock holds until the JVM itself has ended: after a
    kill -9 of this process the next one never meets a metastore that is still open.
    """
    _rotate(home.spark_log)
    spark_conf = SparkConf()
    for key, value in conf.items():
        # whoever lists processes sees these: secrets are set once the JVM is there, but for those
        # that it starts with
        if key.startswith("spark.jars.") or not has_secret(key, value):
            spark_conf.set(key, value)
    inherited = _duplicate(lock)
    try:
        with home.spark_log.open("ab") as log:
            offset = log.tell()
            popen: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT}
            if inherited is not None:
                popen["pass_fds"] = (inherited,)
            java_gateway.Popen = start.popen  # type: ignore[attr-defined, assignment]
            try:
                return java_gateway.launch_gateway(spark_conf, popen)
            except Exception as error:
                raise SparkStartError(_why_no_jvm(home.spark_log, offset)) from error
    finally:
        java_gateway.Popen = subprocess.Popen  # type: ignore[attr-defined]
        if inherited is not None:
            os.close(inherited)


def _duplicate(lock: BaseFileLock | None) -> int | None:
    """Return a copy of the lock's file descriptor; filelock closes its own in a forked child."""
    descriptor = getattr(getattr(lock, "_context", None), "lock_file_fd", None)
    if os.name != "posix" or not isinstance(descriptor, int):
        return None
    return os.dup(descriptor)


def _stop_jvm(gateway: Any, session: SparkSession | None, patience: float = 15) -> int | None:
    """Stop Spark and its JVM, which may take `patience` seconds; return the JVM's exit code."""
    process = getattr(gateway, "proc", None)
    try:
        if session is not None:
            session.stop()
        elif SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
    except Exception as error:  # the JVM may be gone already: there is nothing left to stop
        _ = error
    try:
        gateway.shutdown()
    except Exception as error:
        _ = error
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is None:
        return None
    if process.stdin is not None:
        process.stdin.close()  # the JVM ends when its standard input does
    try:
        return int(process.wait(timeout=patience))
    except subprocess.TimeoutExpired:
        process.kill()
        return int(process.wait())


def _rotate(log: Path) -> None:
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_name(log.name + ".1"))


def _why_no_jvm(log: Path, start: int) -> str:
    """Find the sentence in the log that says why the JVM ended."""
    with log.open("rb") as file:
        file.seek(start)
        lines = file.read().decode("utf-8", errors="replace").splitlines()
    unresolved = [line.strip(" :\t") for line in lines if "not found" in line and "#" in line]
    if any("unresolved dependency" in line for line in lines) and unresolved:
        reason = f"a package could not be fetched ({unresolved[0]}): is Maven Central reachable?"
    else:
        telling = [line for line in lines if "Exception" in line or "Error" in line]
        reasons = telling or [line for line in lines if line.strip()] or ["its JVM ended"]
        reason = reasons[0].strip()
    return f"Spark did not start: {reason} (details in {log})"


# --- jars


def missing_packages(conf: Mapping[str, str]) -> list[str]:
    """Return those of `spark.jars.packages` that are not in the user's Ivy cache yet."""
    jars = ivy_folder(conf) / "jars"
    coordinates = [text.strip() for text in conf.get("spark.jars.packages", "").split(",")]
    missing = []
    for coordinate in filter(None, coordinates):
        parts = coordinate.split(":")
        if len(parts) == 3 and not (jars / f"{parts[0]}_{parts[1]}-{parts[2]}.jar").exists():
            missing.append(coordinate)
    return missing


def _announce_downloads(conf: Mapping[str, str]) -> None:
    missing = missing_packages(conf)
    if missing:
        names = ", ".join(missing)
        report_line(
            f"tidemark: fetching {names} from Maven Central (once; kept in your Ivy cache) …"
        )
