"""Where commands print what was asked for; talk goes to stderr."""

from __future__ import annotations

from rich.console import Console

# of files and pipes, which have no width: tables are not to be cut
_WIDTH = 160


def stdout_console() -> Console:
    """Return a console on stdout, as wide as the terminal if it is one."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)
