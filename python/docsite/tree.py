"""The tree of Markdown that the generator reads: pages made whole, links that hold, navigation."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from docsite.markdown import anchor_of, demote, headings_of, lines_of, map_links, section_of
from docsite.sources import page_of, show_file

ROOT = Path(__file__).resolve().parents[2]
DOCS = "python/docs"
#: Sections in their order, and in each the pages that come first; others follow by name
ORDER = {
    "start": ["install", "five-minutes", "own-project"],
    "how-to": [
        "cookbook",
        "recipes",
        "extracts", "change-events", "enriched-events", "change-columns", "read", "change-feed",
        "timeline", "rules", "unit-tests", "plan-and-apply", "clones", "replay", "diff",
        "operations", "house-keeping", "console", "serve", "alarms", "lineage", "shell",
        "mirror-a-database", "set-up-databases", "reconcile", "formats", "engine", "python-models",
        "thrift", "cluster", "object-stores", "upgrade",
    ],
    "reference": [
        "settings", "variables", "commands", "macros", "tables", "columns", "tests", "messages",
        "spark", "bill-of-materials",
    ],
    "explanation": [
        "glossary", "the-log", "time", "order-and-ties", "crash-safety", "faults", "hash-recipe",
        "engines", "capture", "cost", "guarantees", "security", "limits", "compared", "leaving",
    ],
    "coming-from": [],
}  # fmt: skip
TITLES = {
    "start": "Start",
    "how-to": "How to",
    "reference": "Reference",
    "explanation": "Explanation",
    "coming-from": "Coming from",
}
#: What writes the text that is made of the sources into the pages
COMMAND = "make reference"
_GENERATE = re.compile(r"^<!-- generate: (\S+) ?(.*?) -->$")
_END = f"<!-- end of what {COMMAND} writes -->"
_COMMENT = re.compile(rf"^(<!-- (run|not run): .* -->|{_GENERATE.pattern[1:-1]}|{_END})$")

Generator = Callable[[str], str]


class SiteError(Exception):
    """A page that cannot be made; the message says which line of which file, and why."""


def read_pages(root: Path = ROOT) -> dict[str, str]:
    """The pages of the repository by their place below python/docs.

    Example:
        >>> "how-to/change-events.md" in read_pages()
        True
    """
    folder = root / DOCS
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.md"))
    }


def written(text: str) -> str:
    """A page as it is written by hand: without what is made of the sources.

    Example:
        >>> written(page_anew("a.md", "# A\\n<!-- generate: x y -->\\nb", {"x": str.upper}))
        '# A\\n<!-- generate: x y -->\\nb'
    """
    return _with_made(text, lambda _: [])


def page_anew(page: str, text: str, generators: Mapping[str, Generator]) -> str:
    """A page with what is made of the sources made anew, below each line that asks for it.

    Example:
        >>> page_anew("a.md", "# A\\n<!-- generate: x y -->\\n", {"x": str.upper}).split("\\n")[3]
        'Y'
    """

    def made(found: re.Match[str]) -> list[str]:
        if found[1] not in generators:
            raise SiteError(f"{DOCS}/{page}: nothing generates `{found[1]}`")
        text = generators[found[1]](found[2])
        if found[1] == "readme":
            # its links are those of a file at the top of the repository; its blocks are run there
            text = _without_comments(map_links(text, lambda link: _from_top(page, link)))
        return ["", *text.split("\n"), "", _END]

    return _with_made(text, made)


def _with_made(text: str, made: Callable[[re.Match[str]], list[str]]) -> str:
    """The text with other lines between each line that asks for some and their end."""
    found: list[str] = []
    lines = list(lines_of(text))
    while lines:
        line, code = lines.pop(0)
        found.append(line)
        asked = None if code else _GENERATE.match(line)
        if asked:
            found += made(asked)
            # a line that is new has no end yet: the next one belongs to another
            stops = [n for n, (one, _) in enumerate(lines) if one == _END or _GENERATE.match(one)]
            if stops and lines[stops[0]][0] == _END:
                del lines[: stops[0] + 1]
    return "\n".join(found)


def site_tree(pages: Mapping[str, str], root: Path = ROOT) -> dict[str, str]:
    """All pages of the site: those given, with links that hold there, and the files that they name.

    Example:
        >>> site_tree({"a.md": "# A\\n<!-- run: test_a.py::test -->"})
        {'a.md': '# A'}
    """
    homes = _homes_of_sections(pages)
    tree: dict[str, str] = {}
    wanted: list[str] = []
    for page, text in pages.items():
        shown = _without_comments(text)
        tree[page] = _relink(page, f"{DOCS}/{page}", shown, pages, homes, root, wanted)
    while wanted:
        path = wanted.pop()
        page = page_of(path)
        if page not in tree:
            tree[page] = ""
            base = f"{path}/." if (root / path).is_dir() else path
            tree[page] = _relink(page, base, show_file(root, path), pages, homes, root, wanted)
    return tree


def navigation(pages: Mapping[str, str]) -> list[Any]:
    """Every page in its section; a folder that nobody has named gets a section at the end.

    Example:
        >>> navigation({"index.md": "", "how-to/zoo.md": "", "how-to/read.md": ""})
        ['index.md', {'How to': ['how-to/read.md', 'how-to/zoo.md']}]
    """
    sections: dict[str, list[str]] = {name: [] for name in ORDER}
    for page in sorted(pages):
        if "/" in page:
            sections.setdefault(page.partition("/")[0], []).append(page)
    found: list[Any] = [page for page in sorted(pages) if "/" not in page]
    for name, names in sections.items():
        first = ORDER.get(name, [])

        def place(page: str, first: list[str] = first) -> tuple[int, str]:
            stem = page.partition("/")[2].removesuffix(".md")
            return (first.index(stem) if stem in first else len(first), page)

        if names:
            title = TITLES.get(name, name.replace("-", " ").capitalize())
            found.append({title: sorted(names, key=place)})
    return found


def readme_section(root: Path = ROOT) -> Generator:
    """The generator `readme TITLE`: a section of README.md, its links as of this page."""
    text = (root / "README.md").read_text(encoding="utf-8")

    def section(title: str) -> str:
        found = section_of(text, title)
        if found is None:
            raise SiteError(f"README.md has no section `{title}`")
        return found.strip("\n")

    return section


def _without_comments(text: str) -> str:
    """The text without the comments that are for tests and for what makes it."""
    return "\n".join(
        line for line, code in lines_of(text) if code or not _COMMENT.match(line.strip())
    )


def _from_top(page: str, link: str) -> str:
    if re.match(r"[a-z]+:|#", link):
        return link
    return posixpath.relpath(link, posixpath.dirname(f"{DOCS}/{page}"))


def _homes_of_sections(pages: Mapping[str, str]) -> dict[str, str]:
    """Anchors of README.md → the pages that show these sections."""
    return {
        anchor_of(found[2]): page
        for page, text in pages.items()
        for line in text.split("\n")
        if (found := _GENERATE.match(line)) and found[1] == "readme"
    }


def _relink(
    page: str,
    file: str,
    text: str,
    pages: Mapping[str, str],
    homes: Mapping[str, str],
    root: Path,
    wanted: list[str],
) -> str:
    """The text with links to pages of the site; files of the repository are noted as wanted."""
    here = posixpath.dirname(page)

    def change(link: str) -> str:
        if re.match(r"[a-z]+:|#", link):
            return link
        target, mark, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
        inside = path.removeprefix(f"{DOCS}/")
        if path.startswith(".."):
            raise SiteError(f"{file}: {link} lies outside of the repository")
        if path == "README.md":
            if anchor and anchor not in homes:
                raise SiteError(f"{file}: no page shows README.md#{anchor}")
            return posixpath.relpath(homes.get(anchor, "index.md"), here or ".")
        if inside != path and inside in pages:
            return posixpath.relpath(inside, here or ".") + mark + anchor
        if not (root / path).exists():
            raise SiteError(f"{file}: there is no {path}")
        if inside != path and (root / path).is_file():
            return posixpath.relpath(inside, here or ".")
        if path.endswith((".png", ".svg")):
            return posixpath.relpath(f"sources/{path}", here or ".")
        wanted.append(path)
        return posixpath.relpath(page_of(path), here or ".") + mark + anchor

    return map_links(text, change)


def title_of(text: str) -> str:
    """The first heading of a page, without marks."""
    return next((title.replace("`", "") for level, title in headings_of(text) if level == 1), "")


__all__ = [
    "demote", "navigation", "page_anew", "read_pages", "readme_section", "site_tree", "title_of",
    "written",
]  # fmt: skip
