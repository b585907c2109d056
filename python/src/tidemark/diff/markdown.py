"""What differs, as Markdown: the comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tidemark.diff.columns import OWN
from tidemark.diff.model import Differences, TableDifference
from tidemark.diff.show import (
    DATES,
    SAMPLE,
    SUMMARY,
    asides,
    date_rows,
    notes,
    sample_rows,
    summary_row,
)

# marks, what mentions, and what begins a link; other punctuation reads better as it is
_MARKS = re.compile(r"[!-'*+;<>?@\[-`{-~]|//|(?i:www[.])|(?i:mailto:)|(?i:xmpp:)")
# GitHub takes a comment of 65,536 characters
_MOST = 60_000


def as_markdown(found: Differences) -> str:
    """Return what differs as Markdown, cut where a comment would be too long.

    Values of rows are plain text in it, whatever they look like.
    """
    text = "\n".join(_lines(found))
    if len(text) <= _MOST:
        return text
    whole = text[:_MOST].rpartition("\n")[0]
    closing = "\n</details>" if whole.count("<details>") > whole.count("</details>") else ""
    return f"{whole}{closing}\n\nThe rest is left out: it is too long for a comment."


def _lines(found: Differences) -> Iterator[str]:
    verdict = "no difference" if found.equal else "differences"
    yield f"### {plain(found.a)} and {plain(found.b)}: {verdict}"
    yield ""
    if found.tables:
        yield from _table(SUMMARY, map(summary_row, found.tables))
    for text in asides(found):
        yield f"- {plain(text)}"
    for one in found.tables:
        yield from _details(one)


def _details(one: TableDifference) -> Iterator[str]:
    rows, about = sample_rows(one), [f"- {plain(note)}" for note in notes(one)]
    # that Tidemark's own columns are not compared is said where there is more to say
    if one.equal and not one.other_types and {*one.not_compared.values()} <= {OWN}:
        return
    yield f"<details><summary>{plain(one.a)}: rows and columns</summary>"
    yield ""
    if one.by_date:
        yield from _table(DATES, date_rows(one))
    if rows:
        yield from _table(SAMPLE, rows)
    yield from about
    yield ""
    yield "</details>"
    yield ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(map(plain, row))} |"
    yield ""


def plain(text: str) -> str:
    r"""Return a text as Markdown that shows it as it is: no mark, no tag, nobody is mentioned.

    Example:
        >>> plain("<b> *a*|b")
        '&#60;b&#62; &#42;a&#42;&#124;b'
    """

    def shown(found: re.Match[str]) -> str:
        return "".join(f"&#{ord(character)};" for character in found[0])

    return _MARKS.sub(shown, " ".join(text.split()))
