"""Lines that no reader has the memory for, found without reading the files that they are in.

What is compressed, and values in quotes that go over lines, would have to be read for that: once
memory has run out they are.
"""

from __future__ import annotations

import bz2
import gzip
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

from pyspark.sql import SparkSession

from tidemark.engine.header import local_path
from tidemark.spark.files import hadoop_path, java_class

_NOT_TEXT = (
    *(".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate", ".xz"),
    *(".parquet", ".orc", ".avro"),
)
_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
# to so many times its size a file can unpack
_MOST_UNPACKED = 1100
_BLOCK = 1 << 16
_LARGEST_BLOCK = 1 << 23

# the files that were looked at last, with the bytes that a line may have
_looked_at: deque[tuple[str, int]] = deque(maxlen=1000)


def long_line(session: SparkSession, path: str, size: int, most: int) -> int | None:
    """Return where the first line of a file begins that is longer than a number of bytes.

    A line ends with a line feed or a carriage return. Compressed files are not looked into.

    Example:
        >>> long_line(session, "file:/data/events.jsonl", 3_000_000_000, 64 << 20)
        134

    Args:
        session: The running session, whose Hadoop configuration names the file systems.
        path: The file, as list_files() gives it.
        size: Its bytes.
        most: How many bytes a line may have.

    Returns:
        None where there is no such line.
    """
    local = local_path(path)
    if local is not None and size * _MOST_UNPACKED > most:
        _looked_at.append((local, most))
    if size <= most or path.endswith(_NOT_TEXT):
        return None
    if local is not None:
        with open(local, "rb") as file:
            return first_long_line(partial(_read, file), size, most)
    jvm: Any = session.sparkContext._jvm
    place = hadoop_path(jvm, path)
    system = place.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    stream = system.open(place)
    bytes_of = java_class(jvm, "org.apache.commons.io.IOUtils").toByteArray

    def read(start: int, count: int) -> bytes:
        stream.seek(start)
        return bytes(bytes_of(stream, count))

    try:
        return first_long_line(read, size, most)
    finally:
        stream.close()


def _read(file: BinaryIO, start: int, count: int) -> bytes:
    file.seek(start)
    return file.read(count)


def first_long_line(read: Callable[[int, int], bytes], size: int, most: int) -> int | None:
    """Return where the first line begins that is longer than `most`; None: there is none.

    From a line on, the last end of a line is looked for within `most` bytes, from behind: of a
    file of short lines one block of each stretch is read.

    Args:
        read: Returns so many bytes from a place on.
        size: How many bytes there are.
        most: How many bytes a line may have.
    """
    start = 0
    while size - start > most:
        end = _last_end(read, start, start + most)
        if end is None:
            return start
        start = end
    return None


def _last_end(read: Callable[[int, int], bytes], start: int, stop: int) -> int | None:
    """Return where the last line within a stretch ends; None: none does."""
    block = _BLOCK
    while stop > start:
        first = max(start, stop - block)
        found = read(first, stop - first)
        at = max(found.rfind(b"\n"), found.rfind(b"\r"))
        if at >= 0:
            return first + at + 1
        stop, block = first, min(8 * block, _LARGEST_BLOCK)
    return None


def why_no_memory() -> str | None:
    """Return what may have taken the memory in one of the files that were looked at last.

    They are read as a whole, for a second per some hundred MB.

    Example:
        >>> why_no_memory()
        '/data/events.jsonl.gz has a line of more than 67108864 bytes, from byte 134 on'
    """
    for path, most in dict(reversed(_looked_at)).items():
        try:
            if where := _find_long_line(path, most):
                return f"{path} {where}"
        except (OSError, EOFError):
            continue
    return None


def _find_long_line(path: str, most: int) -> str | None:
    suffix = path[path.rfind(".") :]
    if suffix not in _COMPRESSED and path.endswith(_NOT_TEXT):
        return None
    place = start = quotes = 0
    with _COMPRESSED.get(suffix, open)(path, "rb") as file:
        while chunk := file.read(_LARGEST_BLOCK):
            ends = [at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0]
            if place + min(ends, default=len(chunk)) - start > most:
                return f"has a line of more than {most} bytes, from byte {start} on"
            if ends:
                start = place + max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            place += len(chunk)
            quotes += chunk.count(b'"')
    return "has a quote that nothing closes" if ".csv" in path and quotes % 2 else None
