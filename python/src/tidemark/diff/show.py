"""What differs, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark.diff.columns import OWN
from tidemark.diff.model import Cell, Differences, Sample, TableDifference
from tidemark.printable import counted
from tidemark.read.show import simple_table
from tidemark.read.values import shown_change, shown_value

KINDS = {"different": "different", "only_in_a": "only in A", "only_in_b": "only in B"}
_STYLES = {"different": "yellow", "only_in_a": "red", "only_in_b": "green"}
_MOST_COLUMNS = 8

SUMMARY = ("table", "only in A", "only in B", "different", "same", "cells differ in")
DATES = ("business date", "only in A", "only in B", "different")
SAMPLE = ("key", "row", "column", "A", "B")


def show_differences(found: Differences, out: Console) -> None:
    """Print what differs: counts, columns, samples; of schemas a line of each entity."""
    is_of_schemas = len(found.tables) != 1 or found.tables[0].a != found.a
    if not is_of_schemas:
        show_table(found.tables[0], out)
        return
    out.print(Text(f"A: {found.a}, B: {found.b}", style="bold"), soft_wrap=True)
    if found.tables:
        _show_tables(found, out)
    for text in asides(found):
        out.print(Text(text), soft_wrap=True)


def asides(found: Differences) -> Iterator[str]:
    """Yield what there is to say of schemas, beside the tables that were compared."""
    for side, names in ((found.a, found.only_in_a), (found.b, found.only_in_b)):
        if names:
            yield f"only in {side}: {', '.join(names)}"
    for name, why in found.failed.items():
        yield f"{name} was not compared: {why}"


def notes(one: TableDifference) -> Iterator[str]:
    """Yield what there is to know of a comparison, a sentence each."""
    for column in one.other_types:
        yield f"{column.column} is {column.a} in A and {column.b} in B: compared as text"
    reasons: dict[str, list[str]] = {}
    for name, why in one.not_compared.items():
        reasons.setdefault(why, []).append(name)
    added = len(reasons.pop(OWN, []))
    if added:
        yield f"not compared: {counted(added, 'column')} that Tidemark adds (see --all-columns)"
    for why, names in reasons.items():
        yield f"not compared: {', '.join(names)} ({why})"


def most_changed(one: TableDifference) -> str:
    """Return the columns that differ, each with its number of cells."""
    shown = [f"{column.column} ({column.cells:,})" for column in one.columns[:_MOST_COLUMNS]]
    more = len(one.columns) - _MOST_COLUMNS
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def summary_row(one: TableDifference) -> list[str]:
    """Return the texts of a table's line, below SUMMARY."""
    numbers = (one.only_in_a, one.only_in_b, one.different, one.same)
    name = one.a if one.a == one.b else f"{one.a}, {one.b}"
    verdict = "equal" if one.equal else most_changed(one)
    return [name, *(f"{number:,}" for number in numbers), verdict]


def date_rows(one: TableDifference) -> list[list[str]]:
    """Return the texts of each business date that differs, below DATES."""
    return [
        [
            str(date.business_date),
            f"{date.only_in_a:,}",
            f"{date.only_in_b:,}",
            f"{date.different:,}",
        ]
        for date in one.by_date
    ]


def sample_rows(one: TableDifference) -> list[list[str]]:
    """Return the texts of each cell of the samples, below SAMPLE."""
    rows = []
    for sample in one.samples:
        first = [key_text(sample), KINDS[sample.kind]]
        rows += [[*first, cell.column, *cell_texts(sample, cell)] for cell in sample.cells]
        if not sample.cells:
            rows.append([*first, "", "", ""])
    return rows


def key_text(sample: Sample) -> str:
    """Return the key of a sample on one line."""
    return ", ".join(f"{name}={shown_value(value)}" for name, value in sample.key.items())


def cell_texts(sample: Sample, cell: Cell) -> tuple[str, str]:
    """Return the two values of a cell; the side that does not have the row has none."""
    if sample.kind == "different":
        return (
            (shown_value(cell.a), shown_value(cell.b))
            if cell.hidden
            else shown_change(cell.a, cell.b)
        )
    return (shown_value(cell.a), "") if sample.kind == "only_in_a" else ("", shown_value(cell.b))


def _show_tables(found: Differences, out: Console) -> None:
    table = _counts_table(SUMMARY)
    for one in found.tables:
        # tables of two schemas have one name
        _, *rest, verdict = summary_row(one)
        style = "green" if one.equal else ""
        table.add_row(Text(one.a.rpartition(".")[2]), *rest, Text(verdict, style=style))
    out.print(table)


def _counts_table(heads: Sequence[str]) -> Table:
    table = simple_table(*heads)
    for head, column in zip(heads, table.columns, strict=True):
        if head in ("only in A", "only in B", "different", "same"):
            column.justify = "right"
    return table


def show_table(one: TableDifference, out: Console) -> None:
    """Print how two tables compare."""
    out.print(Text(f"A: {one.a}, {counted(one.rows_in_a, 'row')}", style="bold"), soft_wrap=True)
    out.print(Text(f"B: {one.b}, {counted(one.rows_in_b, 'row')}", style="bold"), soft_wrap=True)
    if one.equal:
        out.print(Text(f"  no difference in {counted(one.same, 'row')}"), soft_wrap=True)
    else:
        counts = (
            f"  only in A {one.only_in_a:,}, only in B {one.only_in_b:,}, "
            f"different {one.different:,}, same {one.same:,}"
        )
        out.print(Text(counts), soft_wrap=True)
    if one.by_date:
        dates = _counts_table(DATES)
        for row in date_rows(one):
            dates.add_row(*row)
        out.print(dates)
    if one.columns:
        out.print(Text(f"  cells that differ: {most_changed(one)}"), soft_wrap=True)
    for sample in one.samples:
        _show_sample(sample, out)
    for note in notes(one):
        out.print(Text(f"  {note}", style="dim"), soft_wrap=True)


def _show_sample(sample: Sample, out: Console) -> None:
    head = Text(f"  {key_text(sample)}  ")
    head.append(KINDS[sample.kind], style=_STYLES[sample.kind])
    out.print(head, soft_wrap=True)
    for cell in sample.cells:
        line, (a, b) = Text(f"    {cell.column}: "), cell_texts(sample, cell)
        if sample.kind == "different":
            line.append(a, style="red").append(" → ").append(b, style="green")
        else:
            line.append(a or b)
        out.print(line, soft_wrap=True)
