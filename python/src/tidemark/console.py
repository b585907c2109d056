"""Where commands print what was asked for; talk goes to stderr."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tidemark.printable import without_orders

# for files and pipes, which have no width: tables are not to be cut
_WIDTH = 160


class _DataConsole(Console):
    """A console that shows values of rows: what they tell a terminal to do is shown too."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else Segment(without_orders(segment.text), segment.style)
            )


def stdout_console() -> Console:
    """Return a console on stdout, as wide as the terminal if it is one."""
    console = _DataConsole()
    return console if console.is_terminal else _DataConsole(width=_WIDTH)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what a misspelt name may have meant, as the end of a message.

    Example:
        >>> nearest("airprots", ["airports", "orders"]), nearest("xyz", ["airports"])
        (" Did you mean 'airports'?", '')
    """
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def meant(name: str, known: Sequence[str]) -> str:
    """Return what a misspelt name may have meant, or else what there is.

    Example:
        >>> meant("tabel", ["table", "view"]), meant("xyz", ["table", "view"])
        ('did you mean `table`?', 'there are table, view')
    """
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
