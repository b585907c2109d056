"""A metastore that several processes share: Hive's own server, which comes with PySpark, on a Derby of its own."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tidemark.java import find_java

_SITE = """\
<configuration>
  <property><name>javax.jdo.option.ConnectionURL</name><value>jdbc:derby:;databaseName={folder}/db;create=true</value></property>
  <property><name>datanucleus.schema.autoCreateAll</name><value>true</value></property>
  <property><name>hive.metastore.schema.verification</name><value>false</value></property>
  <property><name>hive.metastore.warehouse.dir</name><value>{folder}/warehouse</value></property>
  <property><name>hive.async.log.enabled</name><value>false</value></property>
</configuration>
"""
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
"""


@contextmanager
def shared_metastore(folder: Path) -> Iterator[str]:
    """Start a metastore; give its URI, and end it."""
    conf = folder / "conf"
    conf.mkdir(parents=True)
    (conf / "hive-site.xml").write_text(_SITE.format(folder=folder))
    for name in ("log4j2.properties", "hive-log4j2.properties"):
        (conf / name).write_text(_LOGGING)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    jars = Path(pyspark.__file__).parent / "jars"
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command = [find_java(), "-Xmx256m", *quick, "-cp", f"{conf}:{jars}/*"]
    command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    with (folder / "metastore.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "metastore.log").read_text()
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)
