"""What `tidemark replicator reconcile` prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidemark.replicator.reconcile.run import Example, TableResult

EXIT_EQUAL, EXIT_DIFFERENT, EXIT_UNKNOWN = 0, 1, 2


def exit_code(results: Sequence[TableResult]) -> int:
    """Return 0 if all is equal, 1 if something differs, 2 if something could not be compared.

    Example:
        >>> exit_code([TableResult("public.t", "shop__t", missing=1)])
        1
    """
    if any(result.error is not None for result in results):
        return EXIT_UNKNOWN
    return EXIT_EQUAL if all(result.is_equal for result in results) else EXIT_DIFFERENT


def render_json(
    source: str, results: Sequence[TableResult], before: Sequence[TableResult] | None = None
) -> str:
    """Return the results as JSON; `before` is what was found before a repair."""
    content = {
        "source": source,
        "equal": exit_code(results) == EXIT_EQUAL,
        "tables": [_content(result) for result in results],
        **({} if before is None else {"before_repair": [_content(result) for result in before]}),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def _content(result: TableResult) -> dict[str, Any]:
    return {**asdict(result), "equal": result.is_equal}


def print_results(out: Console, source: str, results: Sequence[TableResult]) -> None:
    """Print a table, and below it what differs, what was left out, and what went wrong."""
    titles = ["table", "at the source", "here", "buckets", "missing", "too many", "different"]
    repaired = any(result.repaired is not None for result in results)
    table = Table(*titles, *(["events"] if repaired else []), "verdict")
    for result in results:
        events = "" if result.repaired is None else f"{result.repaired:,}"
        table.add_row(
            *(escape(text) for text in _figures(result)),
            *([events] if repaired else []),
            _verdict(result),
        )
    if results:
        out.print(table)
    for result in results:
        if result.error is not None:
            _line(out, f"{result.table}: {result.error}")
        for example in result.examples:
            _line(out, f"{result.table}: {_example(example)}")
        shown = len(result.examples)
        found = result.missing + result.surplus + result.different
        if shown < found:
            _line(out, f"{result.table}: … {found:,} in all")
        if result.left_out:
            names = ", ".join(f"{name} ({why})" for name, why in result.left_out.items())
            _line(out, f"{result.table}: not compared: {names}")
        if result.skipped:
            _line(
                out,
                f"{result.table}: {result.skipped:,} rows were not repaired, because the "
                "copy cannot hold their values",
            )
        if result.repaired and result.differs and not result.skipped:
            _line(
                out,
                f"{result.table}: no event mends what is left, which its own log does not know: "
                f"drop the current table, and `dbt run --select {result.model}` makes it anew from "
                "the log",
            )
    equal = sum(result.is_equal for result in results)
    _line(out, f"{source}: {equal} of {len(results)} tables are equal")


def _line(out: Console, text: str) -> None:
    out.print(text, highlight=False, markup=False, soft_wrap=True)


def _figures(result: TableResult) -> list[str]:
    if result.error is not None:
        return [result.table, *[""] * 6]
    buckets = f"{result.buckets_differing:,} of {result.buckets:,} differ"
    return [
        result.table,
        f"{result.source_rows:,}",
        f"{result.rows_here:,}",
        buckets if result.buckets_differing else f"{result.buckets:,}",
        f"{result.missing:,}",
        f"{result.surplus:,}",
        f"{result.different:,}",
    ]


def _verdict(result: TableResult) -> str:
    if result.error is not None:
        return "not compared"
    if result.is_equal:
        return "repaired" if result.repaired else "equal"
    return "differs"


def _example(example: Example) -> str:
    words = {"missing": "missing here", "surplus": "too many here", "different": "different"}
    key = ", ".join(f"{name}={_text(text)}" for name, text in example.key.items())
    text = f"{words[example.kind]}: {key}"
    if example.columns:
        columns = ", ".join(
            f"{name} {_text(theirs)} at the source, {_text(ours)} here"
            for name, (theirs, ours) in example.columns.items()
        )
        text += f": {columns}"
    return text


def _text(text: str | None) -> str:
    return "NULL" if text is None else repr(text)
