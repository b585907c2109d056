"""Values of rows as text: a browser has no decimals, and no integers above 2^53."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.printable import shortened
from tidemark.read.values import value_text

_WIDEST = 2000


def cell(value: Any) -> str | None:
    """Return a value as text, a long one cut; None stays None.

    Example:
        >>> cell(9007199254740993), cell(True), cell(None), cell(b"\\x01\\xff")
        ('9007199254740993', 'true', None, '01ff')
    """
    text = value_text(value)
    return None if text is None else shortened(text, _WIDEST)


def cells(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[list[str | None]]:
    """Return rows as lists of texts, in the order of the names."""
    return [[cell(row.get(name)) for name in names] for row in rows]
