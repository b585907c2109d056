"""A cluster of Spark's standalone manager on this machine: a master, workers, and executors of their own.

with standalone(tmp_path) as cluster:
    os.environ["TIDEMARK_MASTER"] = cluster.master    # spark://127.0.0.1:40123
    ...
    os.kill(cluster.executors()[0], signal.SIGKILL)   # the worker starts another one

It is of the Spark that PySpark brings. Master and workers end with the process that started them, whatever it dies of,
and executors with their worker.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

SPARK = Path(pyspark.__file__).parent
# what a daemon does is little: the cheap compiler and collector will do
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
_EXECUTOR = "CoarseGrainedExecutorBackend"
_PDEATHSIG = 1


@dataclass
class Cluster:
    """A running cluster.

    Attributes:
        master: Its address, for spark.master.
        folder: What its processes write: logs, work folders, scratch space.
        workers: The process ids of its workers.
    """

    master: str
    folder: Path
    workers: list[int] = field(default_factory=list)

    def executors(self) -> list[int]:
        """Process ids of the executors that run now."""
        return [
            child for worker in self.workers for child in _children(worker) if _is_executor(child)
        ]

    def python_workers(self) -> list[int]:
        """Process ids of the Python workers of the executors."""
        daemons = [child for executor in self.executors() for child in _children(executor)]
        return [worker for daemon in daemons for worker in _children(daemon)]


@contextmanager
def standalone(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[Cluster]:
    """Start a cluster of workers with one core each, and end it.

    Args:
        folder: An empty folder, in which its processes write.
        workers: How many workers.
        memory: What each of them gives to executors.
    """
    with ExitStack() as stack:
        log = folder / "master.log"
        _daemon(stack, log, "master.Master", "--port", "0")
        cluster = Cluster(_said(log, r"Starting Spark master at (spark://\S+)"), folder)
        logs = []
        for number in range(workers):
            logs.append(folder / f"worker{number}.log")
            given = ["--cores", "1", "--memory", memory, "--port", "0"]
            given += ["--work-dir", str(folder / f"work{number}"), cluster.master]
            cluster.workers.append(_daemon(stack, logs[-1], "worker.Worker", *given))
        for log in logs:
            _said(log, "Successfully (registered) with master")
        yield cluster


def _daemon(stack: ExitStack, log: Path, name: str, *arguments: str) -> int:
    """Start one of Spark's daemons, to be ended with the stack."""
    local = log.with_suffix("")
    local.mkdir(parents=True)
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK),
        "SPARK_SCALA_VERSION": "2.13",  # or a worker looks for the folders of a build
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(local),
    }
    # what is set for the driver must not come to its executors by the way of their parents
    for variable in ("PYSPARK_PYTHON", "PYTHONPATH", "TIDEMARK_HOME", "TIDEMARK_PEPPER"):
        environment.pop(variable, None)
    command = ["java", *OPTIONS, f"-Djava.io.tmpdir={local}", "-cp", f"{SPARK}/jars/*"]
    command += [f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *arguments],
            env=environment,
            cwd=local,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=_end_with_parent,
        )
    stack.callback(_end, process)
    return process.pid


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _said(log: Path, pattern: str, seconds: float = 120) -> str:
    """Wait for a line of a log, and return what the pattern's group has found."""
    until = time.monotonic() + seconds
    while not (found := re.search(pattern, log.read_text(errors="replace"))):
        assert time.monotonic() < until, log.read_text(errors="replace")
        time.sleep(0.1)
    return found[1]


def _children(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    except OSError:  # it has ended meanwhile
        return []


def _is_executor(process: int) -> bool:
    try:
        return _EXECUTOR in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False
