"""Prose of the pages: short sentences, and none that begins with its object."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from docsite.markdown import lines_of
from docsite.tree import read_pages, title_of, written

#: Words of a sentence: of a page's sentences on average, and of the longest one
MEAN, LONGEST = 15, 30
PAGES = {name: written(text) for name, text in read_pages().items()}
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NO_PROSE = re.compile(r"^\s*(#|\||!!!|---)")
_ITEM = re.compile(r"^\s*([-*]|\d+\.) +")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)")
_CODE = re.compile(r"(`+)[^`].*?\1")
_END = re.compile(r"(?<=[.?!])[\"')*_]*\s+")
_INVERTED = re.compile(
    r"(Of|By|In|To|From|With|For|On) (which|whom|what)\b|Of |What(ever)? |Which "
)


def paragraphs(text: str) -> Iterator[str]:
    """What stands between blank lines, outside of code, tables and headings; each item of a list by itself."""
    lines: list[str] = []
    for line, is_code in [*lines_of(_COMMENT.sub("", text)), ("", False)]:
        ends = is_code or not line.strip() or _NO_PROSE.match(line)
        if lines and (ends or _ITEM.match(line)):
            yield " ".join(lines)
            lines = []
        if not ends:
            lines.append(_ITEM.sub("", line).strip())


def sentences(text: str) -> list[str]:
    """The sentences of a page. Code in a sentence is one word, and a link is its text.

    Example:
        >>> sentences("# T\\nRun `a b.c`. See [d e](f.md):\\n\\n- g\\n- h")
        ['Run CODE.', 'See d e:', 'g', 'h']
    """
    plain = (_LINK.sub(r"\1", _CODE.sub("CODE", part)) for part in paragraphs(text))
    return [one for part in plain for one in _END.split(part) if words(one)]


def words(sentence: str) -> list[str]:
    return [word for word in sentence.split() if re.search(r"\w", word)]


def is_inverted(sentence: str) -> bool:
    """Whether it begins with what is said of its object; a question may."""
    return bool(_INVERTED.match(sentence.lstrip("*_("))) and not sentence.rstrip("*_)").endswith(
        "?"
    )


def faults(text: str) -> list[str]:
    found = sentences(text)
    counts = [len(words(sentence)) for sentence in found]
    mean = sum(counts) / max(len(counts), 1)
    return [
        *([f"{mean:.1f} words in a sentence, on average"] if mean >= MEAN else []),
        *(f"{n} words: {one}" for n, one in zip(counts, found, strict=True) if n > LONGEST),
        *(f"begins with its object: {one}" for one in found if is_inverted(one)),
    ]


def test_faults() -> None:
    assert faults("Short.\n\n| " + "long " * 40 + "|\n\n```sh\nOf which\n```\n") == []
    assert len(faults("One. " * 9 + "word " * 31)) == 1
    assert len(faults("word " * 20)) == 1
    for inverted in ("Of the log: all.", "What comes again writes nothing.", "By which it is."):
        assert len(faults(inverted)) == 1, inverted
    assert faults("What does it do? Offers are fine. It does what it says.") == []


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str) -> None:
    assert not faults(PAGES[page]), "\n".join(faults(PAGES[page]))


def test_how_to__titles_are_questions() -> None:
    for page, text in PAGES.items():
        if page.startswith("how-to/"):
            assert title_of(text).endswith("?"), f"{page}: what does its reader ask?"
