"""The inputs of a load: as they were when it was planned, and whether they are still the same."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tidemark.engine.header import local_path
from tidemark.errors import ConfigError
from tidemark.plan.model import Input
from tidemark.printable import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

File = Mapping[str, Any]
"""path, size and modified of a file, as list_files() gives them."""


def inputs_of(given: Mapping[str, Any]) -> list[Input]:
    """Return the inputs of a load as it has read them.

    Args:
        given: `location` and all files `there`; the names of those that it takes, `landed`, or none
            for all; `read`, what its SELECT reads beside them.

    Raises:
        ConfigError: A file changed while the load was planned.
    """
    there, landed = list(given.get("there") or []), given.get("landed")
    found: list[Input] = []
    if given.get("location"):
        found.append(location_input(str(given["location"]), there))
    if landed is not None:
        wanted = {_one_name(unquote(name)) for name in landed}
        there = [file for file in there if _one_name(str(file["path"])) in wanted]
    files = {_one_name(str(file["path"])): file for file in there}
    tables = []
    for item in given.get("read") or []:
        if "table" in item:
            tables.append(
                Input(kind="table", path=_shown(str(item["table"])), version=item["version"])
            )
        else:
            files.setdefault(_one_name(str(item["path"])), item)
    return [*found, *(_file_input(files[name]) for name in sorted(files)), *tables]


def location_input(location: str, files: Iterable[File]) -> Input:
    """Return a location with the list of its files: another one has another checksum.

    Example:
        >>> location_input("data/*.csv", [{"path": "file:/data/a.csv", "size": 3}]).files
        1
    """
    lines = sorted(f"{_one_name(str(file['path']))}\t{file['size']}" for file in files)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return Input(kind="location", path=location, files=len(lines), checksum=digest)


def moved_inputs(inputs: Iterable[Input], session: SparkSession) -> list[str]:
    """Return what is not as it was planned, a sentence each.

    A file on a local disk is judged by its content, another one by size and time.
    """
    # one that is gone is named alone, and not its location too
    known = list(inputs)
    found = [_moved_file(one, session) for one in known if one.kind == "file"]
    if not any(found):
        found = [_moved(one, session) for one in known if one.kind != "file"]
    return [line for line in found if line]


def _moved(one: Input, session: SparkSession) -> str | None:
    from tidemark.spark.files import list_files
    from tidemark.spark.inputs import table_version_at

    if one.kind == "table":
        version = table_version_at(session, one.path)
        if version == one.version:
            return None
        return f"the table {one.path} has version {version}, and had {one.version}"
    now = location_input(one.path, list_files(session, one.path))
    if now.checksum == one.checksum:
        return None
    count = counted(now.files or 0, "file")
    return f"at {one.path} there are other files: {count} now, {one.files} when it was planned"


def _moved_file(one: Input, session: SparkSession) -> str | None:
    from tidemark.spark.files import list_files

    if one.checksum is not None:
        path = Path(one.path)
        try:
            if path.stat().st_size == one.size and _checksum(path) == one.checksum:
                return None
        except OSError:
            return f"the file {one.path} is gone, or cannot be read"
        return f"the file {one.path} has another content"
    found = list_files(session, re.sub(r"([*?\[\]{}\\])", r"\\\1", one.path))
    if not found:
        return f"the file {one.path} is gone"
    if (found[0]["size"], found[0]["modified"]) == (one.size, one.modified_at):
        return None
    return f"the file {one.path} was written again"


def _file_input(file: File) -> Input:
    path, size, modified = str(file["path"]), int(file["size"]), file["modified"]
    local = local_path(path)
    if local is None:
        return Input(kind="file", path=path, size=size, modified_at=modified)
    try:
        checksum, stat = _checksum(Path(local)), Path(local).stat()
    except OSError as error:
        raise ConfigError(
            f"{local} is gone since it was read: {error.strerror}. Plan again"
        ) from error
    # what was hashed is what was read
    written = dt.datetime.fromtimestamp(stat.st_mtime, dt.UTC)
    if stat.st_size != size or abs((written - modified).total_seconds()) >= 1:
        raise ConfigError(f"{local} changed while it was read. Plan again")
    return Input(kind="file", path=local, size=size, modified_at=modified, checksum=checksum)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _one_name(path: str) -> str:
    """Return a file's path in the one form that lists and tables of files have in common."""
    return re.sub(r"^file:/+", "file:/", path)


def _shown(path: str) -> str:
    return local_path(path) or path
