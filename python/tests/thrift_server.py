"""A Spark Thrift server with Delta on a free port of the loopback, for tests of `method: thrift`."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest
from pyspark.sql import Row

from tests.hash_vectors import PEPPER
from tests.servers import free_port
from tidemark.java import find_java
from tidemark.spark.defaults import CATALOG, DEFAULTS, EXTENSIONS, PACKAGES

_START = 180
"""Seconds that it may take to answer."""


class ThriftServer(NamedTuple):
    """A running server.

    Attributes:
        port: Where on 127.0.0.1 it listens.
        log: What it says.
    """

    port: int
    log: Path

    def sql(self, *statements: str) -> list[Row]:
        """Run statements in a session of their own and return the last one's rows, as PySpark would."""
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
            names, kinds = zip(*(column[:2] for column in cursor.description), strict=True)
            if names == ("Result",):
                return []
            row = Row(*(name.rpartition(".")[2] for name in names))
            return [row(*map(_python_value, values, kinds)) for values in cursor.fetchall()]

    def connect(self, **settings: str) -> Any:
        """Open a session of it."""
        from pyhive import hive

        return hive.connect(
            host="127.0.0.1", port=self.port, username="tests", configuration=settings
        )


@contextmanager
def thrift_server(folder: Path) -> Iterator[ThriftServer]:
    """A server whose warehouse, metastore and log are in a folder."""
    home = Path(pyspark.__file__).parent
    server = ThriftServer(free_port(), folder / "server.log")
    command = [
        str(home / "bin" / "spark-submit"),
        *(f"--conf={key}={value}" for key, value in _settings(folder).items()),
        "--class=org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
        "spark-internal",
        "--hiveconf",
        f"hive.server2.thrift.port={server.port}",
        "--hiveconf",
        "hive.server2.thrift.bind.host=127.0.0.1",
    ]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(folder),
        "JAVA_HOME": str(Path(find_java()).resolve().parents[1]),
        "TIDEMARK_PEPPER": PEPPER,
    }
    (folder / "log4j2.properties").write_text(
        "status = error\nrootLogger.level = warn\nrootLogger.appenderRef.console.ref = console\n"
        "appender.console.type = Console\nappender.console.name = console\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %p %c{1}: %m%n%ex\n",
        encoding="utf-8",
    )
    with server.log.open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait(server, process)
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def _wait(server: ThriftServer, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START
    while True:
        try:
            # PyHive would print that nothing listens yet
            socket.create_connection(("127.0.0.1", server.port), 5).close()
            server.connect().close()
            return
        except OSError as error:
            if time.monotonic() > until or process.poll() is not None:
                pytest.fail(f"no Thrift server ({error}): {server.log.read_text()[-2000:]}")
            time.sleep(0.3)


def _settings(folder: Path) -> dict[str, str]:
    """What the page on Thrift servers asks for, and what keeps a small one quick."""
    ours = {default.key: default.value for default in DEFAULTS}
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        # the sessions of a server do not see what comes by spark.jars.packages
        "spark.driver.extraClassPath": os.pathsep.join(map(str, delta_jars(ours[PACKAGES]))),
        EXTENSIONS: ours[EXTENSIONS],
        CATALOG: ours[CATALOG],
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
        "spark.local.dir": str(folder / "tmp"),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC "
        f"-Dderby.stream.error.file={folder}/derby.log",
    }


def delta_jars(coordinate: str) -> list[Path]:
    """The jars of Delta in the Ivy cache, where a session of Spark has put them."""
    group, name, version = coordinate.split(":")
    cache = Path.home() / ".ivy2.5.2" / "jars"
    jars = [*cache.glob(f"{group}_delta-*-{version}.jar"), *cache.glob("io.unitycatalog_*.jar")]
    if not (cache / f"{group}_{name}-{version}.jar").exists():
        pytest.fail(f"{coordinate} is not in {cache}: any `tidemark run` fetches it")
    return sorted(jars)


def _python_value(value: Any, kind: str) -> Any:
    """PyHive leaves some types as text; some maps of Delta's are no JSON, as quotes in their texts are not escaped."""
    if not isinstance(value, str):
        return value
    if kind == "DATE_TYPE":
        return dt.date.fromisoformat(value)
    if kind not in ("ARRAY_TYPE", "MAP_TYPE", "STRUCT_TYPE"):
        return value
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return Row(**read) if kind == "STRUCT_TYPE" else read
