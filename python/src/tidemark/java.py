"""Is there a Java that Spark can use? Asked before the JVM starts: the answer is one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tidemark.errors import JavaError

MINIMUM_JAVA = 17
_VERSION = re.compile(r'version "(?P<version>[^"]+)"')
_HOW = (
    "install Java (apt install openjdk-17-jre-headless / brew install openjdk@17). If several "
    "are installed, set JAVA_HOME to the right one"
)


def java_major(text: str) -> int | None:
    """Return the major version in the output of `java -version`, or None.

    Example:
        >>> java_major('openjdk version "17.0.15" 2025-04-15')
        17
        >>> java_major('java version "1.8.0_412"')
        8
    """
    match = _VERSION.search(text)
    if match is None:
        return None
    numbers = re.findall(r"\d+", match["version"])
    if not numbers:
        return None
    major = int(numbers[0])
    return int(numbers[1]) if major == 1 and len(numbers) > 1 else major


def find_java() -> str | None:
    """Return the `java` that Spark would take: that of JAVA_HOME, else the first on the PATH."""
    java_home = os.environ.get("JAVA_HOME")
    if java_home:
        return str(Path(java_home) / "bin" / "java")
    return shutil.which("java")


def check_java() -> int:
    """Return Java's major version.

    Raises:
        JavaError: There is no Java, it does not run, or it is older than 17.
    """
    java = find_java()
    java_home = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME={java_home}" if java_home else "JAVA_HOME is not set"
    required = f"Java {MINIMUM_JAVA} or newer is required and"
    if java is None:
        raise JavaError(f"{required} none was found ({where}): {_HOW}")
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
        major = java_major(answer.stderr + answer.stdout)
    except (OSError, subprocess.SubprocessError):
        major = None
    if major is None:
        raise JavaError(f"{required} {java} does not run ({where}): {_HOW}")
    if major < MINIMUM_JAVA:
        raise JavaError(f"{required} {java} is Java {major} ({where}): {_HOW}")
    return major


if __name__ == "__main__":
    try:
        check_java()
    except JavaError as error:
        sys.exit(str(error))
