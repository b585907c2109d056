"""Markdown as text: what lies in a code block and what does not, links, headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"^ *(```+|~~~+)")
_HEADING = re.compile(r"^(#+) +(.*?) *$")
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
_CODE = re.compile(r"(`+[^`]+`+)")


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is code.

    Example:
        >>> [code for _, code in lines_of("a\\n```\\nb\\n```")]
        [False, True, True, True]
    """
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            yield line, True
            if found and found[1].startswith(fence) and line.strip() == found[1]:
                fence = ""
        else:
            fence = found[1] if found else ""
            yield line, bool(fence)


def map_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with every line changed that is no code."""
    return "\n".join(line if code else change(line) for line, code in lines_of(text))


def map_links(text: str, change: Callable[[str], str]) -> str:
    """The text with the target of every link and image changed.

    Example:
        >>> map_links("see [a](b.md), not `[c](d)`", str.upper)
        'see [a](B.MD), not `[c](d)`'
    """

    def line_of(line: str) -> str:
        parts = _CODE.split(line)
        # a link's own text may have code in it: then the line is taken as a whole
        if any(part.count("[") != part.count("]") for part in parts[::2]):
            return _LINK.sub(lambda found: f"{found[1]}({change(found[2])})", line)
        return "".join(
            part if number % 2 else _LINK.sub(lambda found: f"{found[1]}({change(found[2])})", part)
            for number, part in enumerate(parts)
        )

    return map_prose(text, line_of)


def links_of(text: str) -> list[str]:
    """The targets of all links and images."""
    found: list[str] = []

    def note(target: str) -> str:
        found.append(target)
        return target

    map_links(text, note)
    return found


def headings_of(text: str) -> list[tuple[int, str]]:
    """Level and text of every heading."""
    return [
        (len(found[1]), found[2])
        for line, code in lines_of(text)
        if not code and (found := _HEADING.match(line))
    ]


def section_of(text: str, title: str, whole: bool = True) -> str | None:
    """What stands below a heading; with `whole` its subsections too.

    Example:
        >>> section_of("# a\\nb\\n## c\\nd\\n# e", "a")
        'b\\n## c\\nd'
    """
    level, found = 0, []
    for line, code in lines_of(text):
        heading = None if code else _HEADING.match(line)
        if level and heading and (not whole or len(heading[1]) <= level):
            break
        if level:
            found.append(line)
        elif heading and heading[2] == title:
            level = len(heading[1])
    return "\n".join(found) if level else None


def demote(text: str, by: int) -> str:
    """The text with its headings so many levels lower."""
    return map_prose(text, lambda line: "#" * by + line if _HEADING.match(line) else line)


def anchor_of(heading: str) -> str:
    """The anchor that code hosts and the site give a heading.

    Example:
        >>> anchor_of("`meta.tidemark` with `extract: events`")
        'metatidemark-with-extract-events'
    """
    text = _LINK.sub(lambda found: found[1][1:-1], heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table; cells may hold several lines and bars.

    Example:
        >>> print(table(["a"], [["x | y"]]))
        | a |
        |---|
        | x \\\\| y |
    """

    def line(cells: list[str]) -> str:
        texts = (re.sub(r"(?<!\\)\|", r"\\|", " ".join(cell.split())) for cell in cells)
        return "| " + " | ".join(texts) + " |"

    return "\n".join([line(header), "|" + "---|" * len(header), *map(line, rows)])
