"""An archive of Spark's classes (class data sharing), which a JVM maps instead of loading each.

The second session of an environment that does some work writes it as its JVM ends, which takes ten
seconds; later ones start with it. The first one does not: it may be the only one, and somebody
looks at it for the first time. The archive is as large as the classes are, some 200 MB, and lies
beside the installed packages, so that it goes when they go. A JVM that an archive does not fit
(other jars, another Java) goes without it.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tidemark.errors import ConfigError

VARIABLE = "TIDEMARK_CLASS_ARCHIVE"
# a session that ran fewer statements has not met the classes that a load needs
ENOUGH_STATEMENTS = 20
_STALE_SECONDS = 3600
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one Spark, one Java and one environment.

    Attributes:
        path: Where it is kept.
        new: Where the JVM that is being started writes it; None if it is there, or not wanted yet.
    """

    path: Path
    new: Path | None

    @property
    def asked_for(self) -> Path:
        """An empty file that a first session leaves: there was some work, the next one writes."""
        return self.path.with_suffix(".wanted")

    @property
    def options(self) -> str:
        """The JVM's options."""
        if self.new is not None:
            return f'"-XX:ArchiveClassesAtExit={self.new}" {_QUIET}'
        if not self.path.exists():
            return ""
        return f'"-XX:SharedArchiveFile={self.path}" {_QUIET}'

    def keep(self, statements: int, exit_code: int | None) -> None:
        """Put what the JVM wrote in its place, or take it away.

        Args:
            statements: How many statements the session ran.
            exit_code: Of the JVM; what one wrote that was killed is no archive.
        """
        try:
            if self.new is None:
                if statements >= ENOUGH_STATEMENTS and not self.path.exists():
                    self.asked_for.touch()
            elif exit_code == 0 and statements >= ENOUGH_STATEMENTS and self.new.exists():
                self.new.replace(self.path)
                self.asked_for.unlink(missing_ok=True)
            else:
                self.new.unlink(missing_ok=True)
        except OSError:
            pass  # it only saves time


def find_archive(java: str | None) -> ClassArchive | None:
    """Return the archive for the JVM that is to be started, or None where there cannot be one.

    Args:
        java: The `java` that Spark will take.

    Raises:
        ConfigError: TIDEMARK_CLASS_ARCHIVE is neither a folder nor `off`.
    """
    folder = kept_folder()
    if folder is None or java is None or os.name != "posix":
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
        known = [home, pyspark.__version__, str(Path(java).resolve()), _modified(java)]
        name = hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]
        path = folder / f"spark-{name}.jsa"
        if path.exists():
            return ClassArchive(path, None)
        for left in folder.glob("spark-*.tmp"):  # of a session that was killed
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                left.unlink(missing_ok=True)
        if not os.access(folder, os.W_OK) or not _can_archive(java):
            return None
    except OSError:
        return None
    archive = ClassArchive(path, None)
    if not archive.asked_for.exists():
        return archive
    return ClassArchive(path, folder / f"spark-{name}-{os.getpid()}.tmp")


def kept_folder() -> Path | None:
    """Return where an environment keeps what its later runs start sooner with; None if nowhere.

    Raises:
        ConfigError: As for find_archive().
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given.lower() == "off":
        return None
    if given:
        if Path(given).exists() and not Path(given).is_dir():
            raise ConfigError(f"{VARIABLE} must be a folder, or off, found: {given!r}")
        return Path(given).expanduser().absolute()
    return Path(sys.prefix) / "share" / "tidemark"


def _modified(java: str) -> str:
    return str(os.stat(java).st_mtime_ns)


def _can_archive(java: str) -> bool:
    """Whether this is a HotSpot that has its own classes in an archive, on which ours builds."""
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    return re.search(r"\bsharing\b", answer.stderr + answer.stdout) is not None
