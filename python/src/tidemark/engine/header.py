"""The beginning of CSV and JSON files and the footers of Parquet files: columns, separators."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from tidemark.engine.parquet import columns_of

# a name that any reader takes as it stands
_NAME = re.compile(
    r"[^\s\"'\\,;|\x00-\x1f\ufeff](?:[^\"\\,;|\x00-\x1f\ufeff]*[^\s\"\\,;|\x00-\x1f\ufeff])?"
)
_LONGEST = 1 << 20
# how many JSON lines are asked for the names of their members
_LINES = 1000
# names that Tidemark's SQL gives to what stands beside the columns of an extract
_OWN = re.compile(r"_(unreadable|malformed|tidemark_.*)", re.IGNORECASE)
OTHER_PATH = re.compile(r"[*?\[\]{}]|\.(bz2|zst|snappy|lz4|deflate|xz|lzo|_COPYING_)$|/[_.][^/]*$")
"""What DuckDB takes for a pattern, what Spark unpacks by its codecs, and what it passes over."""


def header_of(files: Sequence[Mapping[str, Any]], separator: str) -> dict[str, Any]:
    """Return the columns that CSV files have by their first lines.

    Example:
        >>> header_of([{"path": "file:/data/airports.csv", "size": 1402}], ",")
        {'paths': ['/data/airports.csv'], 'stamps': [[1402, 17…]], 'names': ['icao', 'name']}

    Args:
        files: The files, as list_files() gives them.
        separator: What stands between their fields.

    Returns:
        `paths` as the workers open them, their `stamps` (see stamp_of()), `names` and `types`; or
        `why_not`: why the engine does not take them.
    """
    paths = paths_of(files)
    if isinstance(paths, str):
        return {"why_not": paths}
    stamps, lines = [], set()
    for path in paths:
        stamps.append(list(stamp_of(path)))
        line = _first_line(path)
        if line is None:
            return {"why_not": "the first line of a file cannot be read"}
        lines.add(line)
    if len(lines) > 1:
        return {"why_not": "its files have different headers"}
    try:
        (names,) = csv.reader([lines.pop()], delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return {"why_not": "its header cannot be read"}
    if len(names) < 2 or len({name.lower() for name in names}) < len(names):
        return {"why_not": "its header has one name, or one twice"}
    if not all(_NAME.fullmatch(name) for name in names):
        return {"why_not": "its header has names with quotes in them, blanks at an end, or none"}
    if any(_OWN.fullmatch(name) for name in names):
        return {"why_not": "its header has a name that is Tidemark's own"}
    return {"paths": paths, "stamps": stamps, "names": names, "types": ["string"] * len(names)}


def utf8_mark(text: str, encoding: str) -> str:
    """Return the byte order mark of UTF-8 as a text begins with it that was read by an encoding.

    Example:
        >>> utf8_mark("ï»¿id", "windows-1252"), utf8_mark("id", "windows-1252")
        ('ï»¿', '')

    Args:
        text: What was read.
        encoding: By which encoding; one that Python does not know has no mark.
    """
    try:
        mark = codecs.BOM_UTF8.decode(encoding)
    except (LookupError, UnicodeError):
        return ""
    return mark if text.startswith(mark) else ""


def footer_of(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns that Parquet files have by their footers.

    Args:
        files: The files, as list_files() gives them.

    Returns:
        As header_of().
    """
    paths = paths_of(files)
    if isinstance(paths, str):
        return {"why_not": paths}
    stamps = [list(stamp_of(path)) for path in paths]
    columns = columns_of(paths)
    if isinstance(columns, str):
        return {"why_not": columns}
    names, types = [[column[part] for column in columns] for part in ("name", "type")]
    if any(_OWN.fullmatch(name) for name in names):
        return {"why_not": "its files have a column with a name that is Tidemark's own"}
    return {"paths": paths, "stamps": stamps, "names": names, "types": types}


def members_of(files: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    """Return the columns that JSON lines are read for, and the names in the first of them.

    Args:
        files: The files, as list_files() gives them.
        columns: The names that the YAML has, which are those in the files.

    Returns:
        As header_of(); `found` are the names of members in the first thousand lines.
    """
    paths = paths_of(files)
    if isinstance(paths, str):
        return {"why_not": paths}
    stamps = [list(stamp_of(path)) for path in paths]
    found: set[str] = set()
    lines = 0
    for path in paths:
        try:
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
                for line in islice(file, _LINES - lines):
                    lines += 1
                    if line.strip():
                        found.update(json.loads(line))
        except (OSError, EOFError, ValueError, TypeError, RecursionError):
            return {"why_not": "one of its first lines cannot be read"}
    if any(_OWN.fullmatch(name) for name in found):
        return {"why_not": "its files have a member with a name that is Tidemark's own"}
    names = list(columns)
    return {
        "paths": paths,
        "stamps": stamps,
        "names": names,
        "types": ["string"] * len(names),
        "found": sorted(found),
    }


def paths_of(files: Sequence[Mapping[str, Any]]) -> list[str] | str:
    """Return the paths of files as the workers open them; a text: why they do not."""
    paths = [local_path(str(file["path"])) for file in files]
    if not paths or None in paths:
        return "its files are not on a local file system"
    if any(OTHER_PATH.search(str(path)) for path in paths):
        return (
            "a file's name has one of *?[]{} or begins with _ or ., or it is compressed by other "
            "than gzip"
        )
    if any(file.get("depth", 0) > 1 for file in files):
        # those named as region=eu are columns to Spark, and it passes over the others
        return "its files lie in folders of the folder"
    return [str(path) for path in paths]


def local_path(path: str) -> str | None:
    """Return a file's path on this machine, None of one on another file system.

    Example:
        >>> local_path("file:/data/a b.csv"), local_path("s3a://lake/a.csv")
        ('/data/a b.csv', None)
    """
    if path.startswith("file:/"):
        return "/" + path.removeprefix("file:").lstrip("/")
    return path if path.startswith("/") else None


def is_read_as_it_stands(path: str) -> bool:
    """Tell whether DuckDB takes a path for that file alone, and not for a pattern."""
    return not set(path) & set("*?[]{}")


def stamp_of(path: str) -> tuple[int, int]:
    """Return what tells whether a file was written since: its bytes, and when that was last."""
    try:
        status = os.stat(path)
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def _first_line(path: str) -> str | None:
    """Return the first line of a text file without its end; None where there is none."""
    opened = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            line = file.readline(_LONGEST)
        text = line.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        return None
    if not text.endswith("\n") and len(line) >= _LONGEST:
        return None
    return text.rstrip("\r\n") or None
