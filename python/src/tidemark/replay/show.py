"""What a replay tells, as a terminal shows it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from tidemark.diff.show import show_table
from tidemark.printable import counted
from tidemark.replay.model import Replay
from tidemark.run.dates import date_ranges


def show_replay(found: Replay, out: Console) -> None:
    """Print each entity: versions by date and column, then rows at the end."""
    for one in found.entities:
        anew = ", into a new log" if one.from_beginning else ""
        dates = f"{counted(len(one.dates), 'business date')}{anew}: {date_ranges(one.dates)}"
        out.print(Text(f"{one.entity}, {dates}", style="bold"), soft_wrap=True)
        show_table(one.versions, out)
        show_table(one.rows, out)
