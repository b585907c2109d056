"""README.md and the pages of python/docs as what they are made of: sections, blocks, the script that blocks are together."""

from __future__ import annotations

import re
from typing import NamedTuple

from docsite.markdown import headings_of, lines_of, section_of
from docsite.tree import DOCS, read_pages, written
from tests.macros import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
_SHOWN = {f"{DOCS}/{name}": text for name, text in read_pages().items()}
#: What is written by hand on every page that users read, by its place in the repository
PAGES = {"README.md": README, **{page: written(text) for page, text in _SHOWN.items()}}
#: All that stands on them, and on those for developers
ALL = {
    "README.md": README,
    **_SHOWN,
    **{
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("CONTRIBUTING.md", "CHANGELOG.md")
    },
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
#: The first line of a block that is a file: its name
NAMED = re.compile(r"(?:#|--) (\S+\.\w+)\n")
_MARK = re.compile(r"<!-- (run|not run): (.*) -->")


class Block(NamedTuple):
    """A block of code on a page.

    Attributes:
        page: The page's place in the repository.
        language: What stands behind the back-ticks.
        text: The code.
        mark: `run` with the test that runs it, `not run` with why, or neither.
    """

    page: str
    language: str
    text: str
    mark: tuple[str, str] | None


def page_of(title: str) -> str:
    """The page that has a heading: the one whose title it is, else the only one that has it.

    A page that only shows a section of README.md is not meant.
    """
    found = [
        (level, page)
        for page, text in PAGES.items()
        for level, heading in headings_of(text)
        if heading == title and f"<!-- generate: readme {title} -->" not in text
    ]
    titled = [page for level, page in found if level == 1]
    assert len(titled or found) == 1, f"{title}: {found}"
    return titled[0] if titled else found[0][1]


def section(title: str, whole: bool = False) -> str:
    """The text below a heading, wherever it lies, up to the next heading; with `whole`, with its subsections."""
    text = section_of(PAGES[page_of(title)], title, whole)
    assert text is not None
    return text


def blocks_of(title: str) -> list[tuple[str, str]]:
    """Language and text of the blocks below a heading and its subheadings."""
    return BLOCK.findall(section(title, whole=True) + "\n")


def script_of(title: str) -> str:
    """What a reader does: types the shell blocks, and writes the blocks that begin with a file's name."""
    steps = []
    for language, text in blocks_of(title):
        named = NAMED.match(text)
        if language == "bash":
            steps.append(text)
        elif named:
            steps.append(f"cat > {named[1]} <<'END OF FILE'\n{text}END OF FILE\n")
    return "".join(steps)


def all_blocks(pages: dict[str, str] = PAGES) -> list[Block]:
    """Every block of code with its mark, the comment on the line above it."""
    found = []
    for page, text in pages.items():
        mark: tuple[str, str] | None = None
        language, code = "", None
        for line, is_code in lines_of(text):
            if code is None and is_code:
                language, code = line.strip().strip("`"), []
            elif code is not None and line.strip() == "```":
                found.append(Block(page, language, "".join(f"{one}\n" for one in code), mark))
                code, mark = None, None
            elif code is not None:
                code.append(line)
            elif line.strip():
                comment = _MARK.fullmatch(line.strip())
                mark = (comment[1], comment[2]) if comment else None
    return found


def blocks_run_by(test: str) -> list[Block]:
    """The blocks whose mark names a test: `test_file.py::test_name`."""
    found = [block for block in all_blocks() if block.mark == ("run", test)]
    assert found, f"no block says that {test} runs it"
    return found
