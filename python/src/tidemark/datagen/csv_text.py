"""CSV as Spark reads it: a bare empty field is NULL, a quoted one is an empty string."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_QUOTED = frozenset('",\n\r')


def csv_line(values: Iterable[str | None]) -> str:
    r"""One line with its line feed.

    Example:
        >>> csv_line(["a", None, "", 'say "b", c'])
        'a,,"","say ""b"", c"\n'
    """
    return ",".join(map(_field, values)) + "\n"


def _field(value: str | None) -> str:
    if value is None:
        return ""
    if not value or value != value.strip() or not _QUOTED.isdisjoint(value):
        return '"' + value.replace('"', '""') + '"'
    return value


@contextmanager
def open_csv(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, gzip if the name ends in .gz; the same content gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            with io.BufferedWriter(raw, 1 << 20) as plain:  # type: ignore[arg-type]
                yield plain
            return
        # No file name and no time in the header, or two runs would differ.
        with (
            gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw, mtime=0) as packed,
            io.BufferedWriter(packed, 1 << 20) as buffered,  # type: ignore[arg-type]
        ):
            yield buffered
