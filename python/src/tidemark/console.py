"""Where commands print what was asked for; talk goes to stderr."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rich.console import Console

# of files and pipes, which have no width: tables are not to be cut
_WIDTH = 160


def stdout_console() -> Console:
    """Return a console on stdout, as wide as the terminal if it is one."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what a misspelt name may have meant, as the end of a message.

    Example:
        >>> nearest("airprots", ["airports", "orders"]), nearest("xyz", ["airports"])
        (" Did you mean 'airports'?", '')
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "table"), counted(2_000, "event")
        ('1 table', '2,000 events')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
