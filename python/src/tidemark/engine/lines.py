"""How the bytes of a CSV file are to be read as lines.

DuckDB takes some lines for good that Spark does not: blanks around quotes, an empty field too many
at the end of a line. Whether a file has such lines is seen here, at the speed of memory.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass

# what the caches of a core hold is looked at for half of what memory takes
_CHUNK = 1 << 18
# DuckDB's reader takes none that is longer
_LONGEST = 1 << 21


@dataclass(frozen=True)
class Lines:
    """What was found in files.

    Args:
        separators: How many separators there are, in quotes or not.
        has_quotes: Whether there is a quote.
        doubt: Why the lines may not be read alike by every reader; None: nothing speaks against it.
    """

    separators: int
    has_quotes: bool
    doubt: str | None


def lines_of(paths: tuple[str, ...], separator: str) -> Lines:
    """Look at all bytes of CSV files.

    Args:
        paths: The files; those that end with .gz are unpacked.
        separator: What stands between their fields, one ASCII character.
    """
    between = separator.encode()
    doubtful = _blanks_around_quotes(between)
    separators, has_quotes = 0, False
    for path in paths:
        first_end = None
        for block in blocks_of(path):
            separators += block.count(between)
            has_quotes = has_quotes or b'"' in block
            returns, doubt = block.count(b"\r"), None
            first_end = first_end or _end_of_line(block)
            if len(block) > _LONGEST and b"\n" not in block[:-1]:
                doubt = "has a very long line"
            elif returns and returns > block.count(b"\r\n"):
                doubt = "has a carriage return that ends no line"
            elif returns and first_end == b"\n":
                # to Spark's reader, which goes by the first line, the others are part of a value
                doubt = "has lines with and without carriage returns at their ends"
            elif has_quotes and doubtful.search(block):
                doubt = "has blanks around quotes"
            if doubt:
                return Lines(separators, has_quotes, doubt)
    return Lines(separators, has_quotes, None)


def _end_of_line(block: bytes) -> bytes | None:
    """Return what ends the first line of a block; None: nothing does."""
    at = block.find(b"\n")
    if at < 0:
        return None
    return b"\r\n" if block[at - 1 : at] == b"\r" else b"\n"


def _blanks_around_quotes(separator: bytes) -> re.Pattern[bytes]:
    """Return what finds a quote that opens or closes a field with blanks before or after it.

    Within quotes a quote stands doubled: an odd number of them opens or closes, as does an even
    number that is a whole field.
    """
    start, end = rb"(?:\A|[\r\n%s])" % separator, rb"(?:[\r\n%s]|\Z)" % separator
    return re.compile(
        rb'%(start)s[ \t]+(?:"(?:"")*(?!")|(?:"")+[ \t]*%(end)s)'
        rb'|(?:(?<!")"(?:"")*|%(start)s(?:"")+)[ \t]+%(end)s' % {b"start": start, b"end": end}
    )


def blocks_of(path: str) -> Iterator[bytes]:
    """Yield a file in parts that end where a line ends, but for what has no end."""
    rest = b""
    for chunk in _chunks(path):
        rest += chunk
        end = rest.rfind(b"\n") + 1
        if end or len(rest) > _LONGEST:
            end = end or len(rest)
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def _chunks(path: str) -> Iterator[bytes]:
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
