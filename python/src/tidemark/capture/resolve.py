"""Resolves Maven coordinates with the Ivy that comes with Spark, in a process of its own.

The jars of Spark must not share a JVM with those of Debezium. Reads
a JSON request on stdin; what Ivy says goes to stderr, the paths of the jars to stdout.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tidemark.capture.jvm import java_message, start_jvm


def resolve(coordinates: list[str], exclusions: list[str], settings_file: str | None) -> list[str]:
    """Return the paths of the jars of these coordinates, in Ivy's cache."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    jpype = start_jvm([jars / "*"], ["-Xmx512m"])
    maven: Any = jpype.JClass("org.apache.spark.util.MavenUtils")
    nothing = jpype.JClass("scala.Option").empty()
    messages = jpype.JClass("java.lang.System").err
    convert = jpype.JClass("scala.jdk.javaapi.CollectionConverters")
    if settings_file is not None:
        settings = maven.loadIvySettings(settings_file, nothing, nothing, messages)
    else:
        settings = maven.buildIvySettings(nothing, nothing, True, messages)
    excluded = convert.asScala(jpype.java.util.Arrays.asList(exclusions)).toSeq()
    paths = maven.resolveMavenCoordinates(
        ",".join(coordinates), settings, nothing, True, excluded, False, messages
    )
    return [str(path) for path in convert.asJava(paths)]


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    try:
        paths = resolve(request["coordinates"], request["exclusions"], request["settings"])
    except Exception as error:  # whatever Java throws, the caller shows it
        sys.exit(f"failed: {java_message(error)}")
    json.dump(paths, sys.stdout)


if __name__ == "__main__":
    main()
