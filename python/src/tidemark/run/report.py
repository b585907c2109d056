"""What a run did, as a table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tidemark.printable import one_line, shortened
from tidemark.read.values import shown_change

# counts of tidemark_commits → heading; the last ones show only where there are any
COUNTS = {
    "rows_read": "read",
    "rows_inserted": "inserted",
    "rows_updated": "updated",
    "rows_deleted": "deleted",
    "rows_unchanged": "unchanged",
    "rows_not_supplied": "not supplied",
    "rows_rejected": "rejected",
    "rows_duplicate": "duplicates",
    "rows_tied": "tied",
    "rows_synthetic_in_batch": "renamed",
    "rows_synthetic_cross_batch": "across",
}
_ALWAYS = 5
# a longer value is cut in the table of changes
_WIDEST = 120


@dataclass(frozen=True)
class ModelResult:
    """One model's part in one run.

    Attributes:
        name: The model.
        status: dbt's status.
        seconds: How long it took.
        counts: Rows by column of `tidemark_commits`; empty for models that are no entities.
        relation: schema.table, as a version's name is also that of others.
    """

    name: str
    status: str
    seconds: float
    counts: dict[str, int | None] = field(default_factory=dict)
    relation: str = ""


def render_table(title: str, results: Sequence[ModelResult]) -> Table:
    """Return the table of one date: a row per model, with its counts where it has commits."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", no_wrap=True)
    table.add_column("status", no_wrap=True)
    shown = [
        column
        for number, column in enumerate(COUNTS)
        if any(
            (count := result.counts.get(column)) is not None and (number < _ALWAYS or count > 0)
            for result in results
        )
    ]
    for column in shown:
        table.add_column(COUNTS[column], justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    for result in results:
        counts = [result.counts.get(column) for column in shown]
        table.add_row(
            result.name,
            result.status,
            *("" if count is None else f"{count:,}" for count in counts),
            f"{result.seconds:.1f}",
        )
    return table


def print_whole(out: Console, table: Table) -> None:
    """Print a table of which no cell is cut, also where the terminal is narrower."""
    if _width(out, table) > out.width:
        table.collapse_padding = True
        table.width = _width(out, table)
    out.print(table, crop=False)


def _width(out: Console, table: Table) -> int:
    return Measurement.get(out, out.options.update(max_width=10_000), table).maximum


def render_changes(title: str, rows: Sequence[Mapping[str, str | None]]) -> Table:
    """Return the table of what updates changed: key, column, value before and after.

    Args:
        title: What stands above it.
        rows: key, column_name, old_value, new_value: what the run-operation `show_changes` gives.
    """
    # at least as wide as the title, which would be folded
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.min_width = cell_len(title)
    for heading in ("key", "column", "old", "new"):
        table.add_column(heading, overflow="fold")
    key_before: str | None = None
    for row in rows:
        key = row["key"]
        sides = row["old_value"], row["new_value"]
        table.add_row(
            Text(one_line(shortened(key or "", _WIDEST)) if key != key_before else ""),
            Text(one_line(shortened(row["column_name"] or "", _WIDEST))),
            *(
                Text(shown, style="dim" if value is None else "")
                for shown, value in zip(shown_change(*sides, _WIDEST), sides, strict=True)
            ),
        )
        key_before = key
    return table


def render_summary(summary: Sequence[tuple[dt.date | None, bool, float]]) -> str:
    """Return one line on all dates.

    Example:
        >>> render_summary([(None, True, 2.0), (None, False, 1.0)])
        '1 of 2 dates went through in 3.0 s'
    """
    good = sum(1 for _, success, _ in summary if success)
    seconds = sum(seconds for _, _, seconds in summary)
    return f"{good} of {len(summary)} dates went through in {seconds:.1f} s"
