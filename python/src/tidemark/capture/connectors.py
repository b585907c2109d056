"""The jars of Debezium and of the databases' drivers: fetched once, checked at each use."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tidemark.capture.jvm import import_jpype
from tidemark.errors import ConfigError, TidemarkError
from tidemark.java import check_java
from tidemark.spark.conf import spark_defaults

DEBEZIUM_VERSION = "3.5.0.Final"
CACHE_VARIABLE = "TIDEMARK_CONNECTORS"
IVY_SETTINGS_VARIABLE = "TIDEMARK_IVYSETTINGS"
MANIFEST = "manifest.json"

CONNECTORS = {
    "postgresql": "debezium-connector-postgres",
    "mysql": "debezium-connector-mysql",
    "mariadb": "debezium-connector-mariadb",
    "sqlserver": "debezium-connector-sqlserver",
    "oracle": "debezium-connector-oracle",
}
# a parent of ehcache asks for a repository that is not Maven Central; both serve Oracle's
# optional buffers only
EXCLUSIONS = ["org.ehcache:ehcache", "org.infinispan:*"]
COORDINATES = [
    *(
        f"io.debezium:{artifact}:{DEBEZIUM_VERSION}"
        for artifact in ("debezium-embedded", "debezium-storage-file", *CONNECTORS.values())
    ),
    # without a binding of SLF4J the errors of connectors are silent
    "org.slf4j:slf4j-reload4j:1.7.36",
]


class ConnectorsError(TidemarkError):
    """The jars of the connectors are not there, not whole, or cannot be fetched."""


@dataclass(frozen=True)
class Jar:
    """A jar of the manifest."""

    name: str
    sha256: str
    size: int


def connectors_folder() -> Path:
    """Return where the jars lie: TIDEMARK_CONNECTORS, else a cache of the user's."""
    value = os.environ.get(CACHE_VARIABLE)
    if value:
        return Path(value).expanduser().absolute() / DEBEZIUM_VERSION
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "tidemark" / "connectors" / DEBEZIUM_VERSION


def read_manifest(folder: Path) -> list[Jar]:
    """Return the jars that an installation consists of.

    Raises:
        ConnectorsError: There is no installation, or its manifest cannot be read.
    """
    path = folder / MANIFEST
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["jars"]
        return [Jar(entry["name"], entry["sha256"], entry["size"]) for entry in entries]
    except FileNotFoundError:
        raise ConnectorsError(
            f"the connectors of Debezium {DEBEZIUM_VERSION} are not installed in {folder}: "
            "run `tidemark connectors install`"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConnectorsError(
            f"{path} cannot be read ({error}): run `tidemark connectors install --force`"
        ) from error


def connector_jars(folder: Path | None = None) -> list[Path]:
    """Return the paths of the jars, each compared with the manifest.

    Raises:
        ConnectorsError: A jar is missing or not the one that was installed.
    """
    folder = folder or connectors_folder()
    wrong = [jar.name for jar in read_manifest(folder) if not _is_whole(folder / jar.name, jar)]
    if wrong:
        raise ConnectorsError(
            f"{len(wrong)} of the jars in {folder} are missing or damaged ({wrong[0]}): "
            "run `tidemark connectors install --force`"
        )
    return [folder / jar.name for jar in read_manifest(folder)]


def _is_whole(path: Path, jar: Jar) -> bool:
    try:
        return path.stat().st_size == jar.size and _sha256(path) == jar.sha256
    except OSError:
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def install(say: Callable[[str], None], *, force: bool = False) -> list[Path]:
    """Fetch the jars, unless they are there, and return their paths.

    Args:
        say: Is told what is being fetched.
        force: Fetch them anew.

    Raises:
        ConnectorsError: They cannot be fetched.
    """
    folder = connectors_folder()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConnectorsError(
            f"{folder.parent} cannot be made ({error.strerror}): name another folder in the "
            f"environment variable {CACHE_VARIABLE}"
        ) from error
    with FileLock(folder.parent / f".{folder.name}.lock"):
        if not force and (folder / MANIFEST).exists():
            return connector_jars(folder)
        import_jpype()
        check_java()
        jars = _resolve(say)
        say(f"copying {len(jars)} jars")
        _publish(jars, folder)
    return connector_jars(folder)


def _ivy_settings() -> str | None:
    value = os.environ.get(IVY_SETTINGS_VARIABLE)
    if value:
        if not Path(value).is_file():
            raise ConfigError(
                f"the environment variable {IVY_SETTINGS_VARIABLE} names {value}, but there "
                "is no such file: name an Ivy settings file"
            )
        return value
    # what Spark itself would take for its packages
    return spark_defaults().get("spark.jars.ivySettings")


def _resolve(say: Callable[[str], None]) -> list[Path]:
    request = {
        "coordinates": COORDINATES,
        "exclusions": EXCLUSIONS,
        "settings": _ivy_settings(),
    }
    with (
        tempfile.TemporaryFile("w+") as answer,
        subprocess.Popen(
            [sys.executable, "-m", "tidemark.capture.resolve"],
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        if process.stdin is None or process.stderr is None:
            raise AssertionError("the resolver has no pipes")
        json.dump(request, process.stdin)
        process.stdin.close()
        lines: list[str] = []
        for line in process.stderr:
            lines.append(line.strip())
            if lines[-1].startswith(("found ", "downloading ")):
                say(lines[-1].rpartition("/")[2] if " http" in lines[-1] else lines[-1])
        if process.wait() != 0:
            raise ConnectorsError(_explain(lines))
        answer.seek(0)
        return [Path(path) for path in json.load(answer)]


def _explain(lines: list[str]) -> str:
    """Say why Ivy failed: its own words are hundreds of lines."""
    failed = [line.removeprefix("failed: ") for line in lines if line.startswith("failed: ")]
    missing = [line.strip(": ") for line in lines if line.endswith(": not found")]
    hosts = sorted({line.split()[1] for line in lines if line.startswith("Host ")})
    reason = failed[-1] if failed else (lines[-1] if lines else "the resolver printed no reason")
    parts = [f"the connectors of Debezium {DEBEZIUM_VERSION} could not be fetched: {reason}"]
    if missing:
        parts.append(f"not found: {', '.join(missing[:3])}")
    if hosts:
        parts.append(f"not reached: {', '.join(hosts)}")
    parts.append(
        "they come from Maven Central. Behind a mirror, name an Ivy settings file in "
        f"{IVY_SETTINGS_VARIABLE}; or copy {connectors_folder()} from a machine that has it"
    )
    return "; ".join(parts)


def _publish(jars: list[Path], folder: Path) -> None:
    """Copy the jars under the folder's name in one step: a reader sees all of them or none."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        fresh = Path(temporary) / "jars"
        fresh.mkdir()
        entries = []
        for jar in jars:
            copy = fresh / jar.name
            shutil.copyfile(jar, copy)
            entries.append({"name": jar.name, "sha256": _sha256(copy), "size": copy.stat().st_size})
        manifest = {"version": DEBEZIUM_VERSION, "coordinates": COORDINATES, "jars": entries}
        (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
        if folder.exists():
            folder.rename(Path(temporary) / "old")
        fresh.rename(folder)
