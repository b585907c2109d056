"""What differs between tables, as a section of the report: HTML that needs no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tidemark.diff.model import Differences
from tidemark.diff.show import SAMPLE, SUMMARY, asides, notes, sample_rows, summary_row


def differences_html(found: Sequence[Differences]) -> str:
    """Return the section; nothing where nothing was compared."""
    return "\n".join(_section(found)) if found else ""


def _section(found: Sequence[Differences]) -> Iterator[str]:
    yield '<section aria-labelledby="differences-title">'
    yield '<h2 id="differences-title">What differs</h2>'
    for one in found:
        title = f"A: {one.a}, B: {one.b}"
        yield f"<h3>{escape(title)}</h3>"
        yield from _table(title, SUMMARY, map(summary_row, one.tables))
        for table in one.tables:
            rows = sample_rows(table)
            if rows:
                yield from _table(f"Rows of {table.a} and {table.b}", SAMPLE, rows)
        said = [*asides(one), *(note for table in one.tables for note in notes(table))]
        yield f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in said)}</ul>" if said else ""
    yield "</section>"


def _table(label: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f'<div class="scroll" role="region" aria-label="{escape(label)}" tabindex="0"><table>'
    titles = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    yield f"<thead><tr>{titles}</tr></thead>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>"
    yield "</table></div>"
