"""How the bytes of files are to be read as lines."""

from __future__ import annotations

import codecs
import zlib
from pathlib import Path

from tidemark.engine.lines import blocks_of

SEPARATOR = "\x01\x02\x03"
"""What DuckDB is told to separate fields by, so that a line is one: no file has it."""
# DuckDB's reader takes none that is longer
_LONGEST = 1 << 21


def count_lines(paths: tuple[str, ...]) -> int | str:
    """Return how many lines files have; a text: what speaks against reading them.

    Args:
        paths: The files; those that end with .gz are unpacked.
    """
    count = 0
    for path in paths:
        decoder, last, first = codecs.getincrementaldecoder("utf-8")(), b"\n", True
        try:
            for block in blocks_of(path):
                doubt = _doubt(block, first)
                if doubt:
                    return f"a file {doubt}"
                decoder.decode(block)
                count += block.count(b"\n")
                last, first = block[-1:], False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "a file has a line that is no UTF-8"
        except (OSError, EOFError, zlib.error) as error:
            return f"{Path(path).name} cannot be read ({type(error).__name__})"
        count += last != b"\n"
    return count


def _doubt(block: bytes, is_first: bool) -> str | None:
    if is_first and block.startswith(b"\xef\xbb\xbf"):
        return "begins with a byte order mark"
    if b"\r" in block:
        return "has a carriage return"
    if b"\0" in block or SEPARATOR.encode() in block:
        return "has a control character that readers take for their own"
    if len(block) > _LONGEST and max(map(len, block.split(b"\n"))) >= _LONGEST:
        return "has a very long line"
    return None
