"""The lines of event files, numbered as Spark's reader numbers them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any

from tidemark.engine.events.load import LINES_OF_FILE, Landed, PrefilteredFile
from tidemark.engine.quoted import literal

_CHUNK = 1 << 23
_MARK = b"\xef\xbb\xbf"
# what stands in no line of JSON: it ends no field there, and is no NULL
_NO_DELIMITER, _NO_NULL = "\x01", "\x02"
LONGEST = 1 << 20
"""The bytes of a line beyond which it is left to Spark."""
IS_NOT_BLANK = "line <> '' and (left(line, 1) <> ' ' or trim(line, ' ') <> '')"
"""A condition on a line: it is none of spaces alone, which is no JSON and passed over."""


def read_lines(db: Any, landed: Sequence[Landed]) -> str | None:
    """Make the table `lines`; return why the files are not read alike.

    Its columns: `num`, `line`, `landed_id`, what capture knows the line by, and `known_doubt`, why
    the engine does not answer for it, if that is known by now.

    The number of a line is that of its file, and below it that of the line, from 1.
    """
    db.execute(
        "create temp table lines (num bigint, line varchar, landed_id varchar, known_doubt varchar)"
    )
    db.execute("set preserve_insertion_order = true")
    for file in landed:
        counted = _line_count(file.path)
        if isinstance(counted, str):
            return counted
        read = (
            f"read_csv({literal(file.path)}, columns = {{'line': 'VARCHAR'}}, header = false, "
            f"auto_detect = false, delim = '{_NO_DELIMITER}', quote = '', escape = '', "
            f"nullstr = '{_NO_NULL}', comment = '', new_line = '\\n', "
            f"max_line_size = {2 * LONGEST}, hive_partitioning = false)"
        )
        (found,) = db.execute(
            f"insert into lines select {file.number * LINES_OF_FILE} + row_number() over (), "
            f"line, null, null from {read}"
        ).fetchone()
        if found != counted:
            return "a file has empty lines"
    db.execute("set preserve_insertion_order = false")
    return None


def drop_lines(db: Any, after: int | None, before: int | None, left_out: Sequence[int]) -> None:
    """Take lines away from the table `lines`: up to a number, from one on, and some between."""
    gone = []
    if after is not None:
        gone.append(f"num <= {after}")
    if before is not None:
        gone.append(f"num >= {before}")
    if left_out:
        gone.append(f"num in ({', '.join(map(str, left_out))})")
    if gone:
        db.execute(f"delete from lines where {' or '.join(gone)}")


def _line_count(path: str) -> int | str:
    """Return how many lines a file has; a text: why readers may see others."""
    count, last = 0, b"\n"
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        is_first = True
        while chunk := file.read(_CHUNK):
            if is_first and chunk.startswith(_MARK):
                return "a file begins with a byte order mark"
            if b"\r" in chunk:
                return "a file has carriage returns"
            count += chunk.count(b"\n")
            last, is_first = chunk[-1:], False
    return count + (last != b"\n")


def read_prefiltered(db: Any, files: Sequence[PrefilteredFile], is_ours: str) -> None:
    """Make the table `lines` of what prefilter() kept of files, for a table and for all of them."""
    reads = " union all by name ".join(
        f"select {file.number * LINES_OF_FILE} + num as num, line, landed_id, known_doubt "
        f'from read_parquet({literal(file.path)}) where "table" is null or {is_ours}'
        for file in files
    )
    db.execute(f"create temp table lines as {reads}")
