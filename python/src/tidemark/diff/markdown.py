"""What differs, as Markdown: the comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tidemark.diff.model import Differences, TableDifference
from tidemark.diff.show import KINDS, asides, cell_texts, key_text, most_changed, notes
from tidemark.state.values import told

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
        heads = ("table", "only in A", "only in B", "different", "same", "cells differ in")
        yield from _table(heads, [_row(one) for one in found.tables])
    for text in asides(found):
        yield f"- {plain(text)}"
    for one in found.tables:
        yield from _details(one)


def _row(one: TableDifference) -> list[str]:
    numbers = (one.only_in_a, one.only_in_b, one.different, one.same)
    said = "equal" if one.equal else plain(most_changed(one))
    name = one.a if one.a == one.b else f"{one.a}, {one.b}"
    return [plain(name), *(f"{number:,}" for number in numbers), said]


def _details(one: TableDifference) -> Iterator[str]:
    about = [f"- {plain(note)}" for note in notes(one)]
    if not one.samples and not about:
        return
    yield f"<details><summary>{plain(one.a)}: rows and columns</summary>"
    yield ""
    rows = []
    for sample in one.samples:
        for cell in sample.cells:
            a, b = told(cell.a), told(cell.b)
            if sample.kind == "different":
                a, b = cell_texts(cell)
            elif sample.kind == "only_in_a":
                b = ""
            else:
                a = ""
            texts = (key_text(sample), KINDS[sample.kind], cell.column, a, b)
            rows.append([plain(text) for text in texts])
        if not sample.cells:
            rows.append([plain(key_text(sample)), KINDS[sample.kind], "", "", ""])
    if rows:
        yield from _table(("key", "", "column", "A", "B"), rows)
    yield from about
    yield ""
    yield "</details>"
    yield ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
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
