"""Tests as a terminal shows them, and as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark.printable import counted, without_orders
from tidemark.read.values import shown_value
from tidemark.unit_tests.differences import Difference, RowDifference
from tidemark.unit_tests.runner import Failure, Result

# so many rows of a table that differ are shown
_MOST = 20
_OK, _FAILED = ("passed", "green"), ("FAILED", "bold red")
_NO_ROW = "no such row"


def show_result(result: Result, out: Console) -> None:
    """Print what became of a test; of one that fails what differs."""
    word, style = _OK if result.passed else _FAILED
    line = Text.assemble((word, style), f"  {result.case.name}  {result.seconds:.1f} s")
    out.print(line, soft_wrap=True)
    for failure in result.failures:
        step = result.case.test.steps[failure.step - 1]
        date = f" ({step.business_date})" if step.business_date else ""
        out.print(Text(f"  step {failure.step}{date}: {_head(failure)}"), soft_wrap=True)
        if failure.difference is not None and failure.difference.rows:
            out.print(_table(failure.difference))
            others = len(failure.difference.rows) - _MOST
            if others > 0:
                out.print(f"  … and {counted(others, 'row')} more", highlight=False)


def show_sum(results: Sequence[Result], seconds: float, out: Console) -> None:
    """Print how many tests passed."""
    failed = sum(not result.passed for result in results)
    verdict = f"{failed} failed, {len(results) - failed} passed" if failed else "all passed"
    out.print(f"{counted(len(results), 'unit test')}: {verdict}, {seconds:.1f} s", highlight=False)


def _head(failure: Failure) -> str:
    if failure.difference is None:
        return str(failure.problem)
    if failure.difference.problem is not None:
        return f"{failure.difference.what}: {failure.difference.problem}"
    rows = failure.difference.rows
    verb = "differs" if len(rows) == 1 else "differ"
    return f"{failure.difference.what}: {counted(len(rows), 'row')} {verb}"


def _table(difference: Difference) -> Table:
    """Return the rows that differ: of a cell what is expected, and below what is found."""
    table = Table("", *difference.columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in difference.rows[:_MOST]:
        for label, cells in _lines(row, difference.columns):
            table.add_row(label, *cells)
    return table


def _lines(row: RowDifference, columns: Sequence[str]) -> Iterator[tuple[Text, list[Text]]]:
    sides = [("expected", row.expected, "green"), ("found", row.found, "red")]
    for label, values, style in sides:
        if values is None:
            yield (
                Text(label, style=style),
                [Text(_NO_ROW, style="dim")] + [Text("")] * (len(columns) - 1),
            )
            continue
        differs = set(row.columns) or set(columns)
        yield (
            Text(label, style=style),
            [
                Text(shown_value(values.get(name)), style=style if name in differs else "dim")
                for name in columns
            ],
        )


def write_junit(results: Sequence[Result], path: Path) -> None:
    """Write what became of tests as JUnit XML, which servers of continuous integration read."""
    suite = ElementTree.Element(
        "testsuite",
        name="tidemark",
        tests=str(len(results)),
        failures=str(sum(not result.passed for result in results)),
        errors="0",
        skipped="0",
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=str(result.case.node.name),
            name=result.case.test.name,
            file=str(result.case.node.original_file_path),
            time=f"{result.seconds:.3f}",
        )
        if not result.passed:
            difference = _plain_text(result)
            failure = ElementTree.SubElement(case, "failure", message=difference.splitlines()[0])
            failure.text = difference
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _plain_text(result: Result) -> str:
    console = Console(width=160, no_color=True, force_terminal=False)
    lines = []
    for failure in result.failures:
        lines.append(f"step {failure.step}: {_head(failure)}")
        if failure.difference is not None and failure.difference.rows:
            with console.capture() as captured:
                console.print(_table(failure.difference))
            lines.append(captured.get())
    # XML has no control characters
    return without_orders("\n".join(lines)).replace("\x00", "")
