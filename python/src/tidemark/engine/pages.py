"""Are the pages of Parquet files as they were written? Their checksums say so, if they have any.

Spark's reader compares them, DuckDB's does not: a bit that has flipped would become a value.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Sequence
from typing import Any

from tidemark.engine.quoted import literal

_BINARY, _LIST, _SET, _STRUCT = 8, 9, 10, 12
_DOUBLE, _BYTE, _TRUE, _FALSE = 7, 3, 1, 2
_SIZE, _CRC = 3, 4
"""The fields of a page's header that are asked for."""


def broken_file(db: Any, paths: Sequence[str], column: str | None = None) -> str | None:
    """Return the first file with a page that is not what its checksum says; None: there is none.

    Example:
        >>> broken_file(db, ["/data/airports.parquet"])

    Args:
        db: A connection of DuckDB.
        paths: Parquet files.
        column: The one column that is read of them, by its name there; None: all are.
    """
    one = "" if column is None else f" where path_in_schema = {literal(column)}"
    for path in paths:
        chunks = db.execute(
            "select coalesce(nullif(dictionary_page_offset, 0), data_page_offset), "
            "data_page_offset, total_compressed_size "
            f"from parquet_metadata({literal(path)}){one}"
        ).fetchall()
        if not chunks:
            continue
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for first, values, size in chunks:
                start = min(first, values)
                if not _is_whole(data, start, start + size):
                    return path
    return None


def _is_whole(data: Any, start: int, end: int) -> bool:
    """Say whether the pages between two places are what their checksums say."""
    place = start
    while place < end:
        try:
            header, place = _page_header(data, place)
        except IndexError:
            return False
        size = header.get(_SIZE, -1)
        if size < 0 or place + size > end:
            return False
        if _CRC in header and zlib.crc32(data[place : place + size]) != header[_CRC] & 0xFFFFFFFF:
            return False
        place += size
    return True


def _page_header(data: Any, place: int) -> tuple[dict[int, int], int]:
    """Return the whole numbers of a header, by their fields, and where it ends.

    It is a struct of Thrift's compact protocol.
    """
    numbers: dict[int, int] = {}
    field = 0
    while (head := data[place]) != 0:
        place += 1
        kind = head & 0x0F
        if head >> 4:
            field += head >> 4
        else:
            field, place = _number(data, place)
        if kind in (_TRUE, _FALSE):
            continue
        if 4 <= kind <= 6:
            numbers[field], place = _number(data, place)
        else:
            place = _after(data, place, kind)
    return numbers, place + 1


def _number(data: Any, place: int) -> tuple[int, int]:
    """Return a whole number with a sign, and where it ends."""
    value, place = _varint(data, place)
    return (value >> 1) ^ -(value & 1), place


def _varint(data: Any, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise IndexError


def _after(data: Any, place: int, kind: int) -> int:
    """Return where a value ends that is not asked for."""
    if kind in (_BYTE, _TRUE, _FALSE):
        return place + 1
    if 4 <= kind <= 6:
        return _varint(data, place)[1]
    if kind == _DOUBLE:
        return place + 8
    if kind == _BINARY:
        size, place = _varint(data, place)
        return place + size
    if kind in (_LIST, _SET):
        head = data[place]
        place += 1
        count = head >> 4
        if count == 15:
            count, place = _varint(data, place)
        if count > len(data):
            raise IndexError
        for _ in range(count):
            place = _after(data, place, head & 0x0F)
        return place
    if kind == _STRUCT:
        return _page_header(data, place)[1]
    raise IndexError  # a header has nothing else: it is broken
