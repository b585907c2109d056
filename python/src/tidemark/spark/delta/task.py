"""A load as a task of Spark's: where it runs, what it has there, and how it fails."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from tidemark.engine.room import Found, Room, attempt, import_engine
from tidemark.engine.task import Outcome
from tidemark.errors import InterruptedLoadError
from tidemark.home import tidemark_home
from tidemark.spark.defaults import is_local
from tidemark.spark.messages import readable_error

# sessions that a worker was started for
_warmed: set[str] = set()
_FOLDERS = "engine-"
# what Spark says of a job that cancelAllJobs() ended, or a person on its own page
_CANCELLED = re.compile(r"SPARK_JOB_CANCELLED|cancelled as part of cancellation of all jobs")
_A_DAY = 24 * 60 * 60


def warm_worker(session: SparkSession) -> None:
    """Have a worker of Spark's start and import the engine, while this process goes on.

    The first task of a session waits a second for that. On a cluster it may be any node's.
    """
    context = session.sparkContext
    if is_on_cluster(session) or context.applicationId in _warmed:
        return
    _warmed.add(context.applicationId)

    def work() -> None:
        # what goes wrong shows in the first task
        with suppress(Exception):
            context.parallelize([0], 1).foreach(import_engine)

    threading.Thread(target=work, name="tidemark-warm-worker", daemon=True).start()


def run_task(
    session: SparkSession,
    task: Callable[[Room], Found],
    declined: Callable[[str], Found] = Outcome,  # type: ignore[assignment]
) -> Found:
    """Run a load as a task of Spark; what fails there is declined, so that Spark SQL tries it.

    Args:
        session: The running session.
        task: The task.
        declined: What makes an outcome of the reason why there is none.

    Raises:
        InterruptedLoadError: The task was cancelled (Ctrl-C), so nothing else is to try it.
    """
    context, scratch = session.sparkContext, None
    if is_on_cluster(session):
        cores, memory = _share_of_node(session)
        room = Room(cores, folder=None, memory=memory)
    else:
        scratch = folder_of_task()
        room = Room(context.defaultParallelism, folder=str(scratch))
    try:
        (outcome,) = context.parallelize([room], 1).map(partial(attempt, task)).collect()
    except Exception as error:
        if _CANCELLED.search(str(error)):
            raise InterruptedLoadError from error
        return declined(f"it failed ({_why(error)})")
    finally:
        for left in scratch.parent.glob(f"{scratch.name}-*") if scratch else ():
            shutil.rmtree(left, ignore_errors=True)  # of an attempt that was killed
    found: Found = outcome
    return found


def _why(error: Exception) -> str:
    """Return what ended a task without a word of its text that may be a value of a row."""
    text = readable_error(error)
    for number in (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES):
        if os.strerror(number) in text:
            return os.strerror(number)
    raised = re.findall(r"(?m)^(?:\w+\.)*(\w+(?:Error|Exception))\b", text)
    return str(raised[-1]) if raised else type(error).__name__


def is_on_cluster(session: SparkSession) -> bool:
    """Say whether Spark's workers may be on other machines than this process."""
    return not is_local(str(session.sparkContext.master))


def _share_of_node(session: SparkSession) -> tuple[int, int]:
    """Return how many cores of a node of the cluster a task has, and how many bytes of memory.

    They are those that Spark gives to Python beside the JVM of an executor.
    """
    conf: Any = session.sparkContext._jsc.sc().conf()
    cores = int(conf.get("spark.task.cpus", "1"))
    for name in ("spark.executor.pyspark.memory", "spark.executor.memoryOverhead"):
        if conf.contains(name):
            return cores, int(conf.getSizeAsMb(name)) << 20
    return cores, max(384, int(conf.getSizeAsMb("spark.executor.memory", "1g")) // 10) << 20


def folder_of_task() -> Path:
    """Return a new folder below TIDEMARK_HOME, and remove those that killed runs have left.

    Machines that share the folder number their processes each for itself: those of another one are
    left for a day.
    """
    parent = tidemark_home().create().temporary
    own = f"{zlib.crc32(socket.gethostname().encode()):08x}"
    for folder in parent.glob(f"{_FOLDERS}*"):
        process, _, more = folder.name.removeprefix(_FOLDERS).partition("-")
        with suppress(OSError):
            if more.startswith(f"{own}-"):
                is_left = Path("/proc").exists() and not Path("/proc", process).exists()
            else:
                is_left = folder.stat().st_mtime < time.time() - _A_DAY
            if is_left:
                shutil.rmtree(folder, ignore_errors=True)
    return parent / f"{_FOLDERS}{os.getpid()}-{own}-{uuid4()}"
