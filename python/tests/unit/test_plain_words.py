"""Prose of the pages: short sentences, and none that begins with its object."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from pydantic import BaseModel

from docsite.markdown import lines_of
from docsite.reference import macros_of
from docsite.tree import read_pages, title_of, written
from tests.macros import ROOT
from tests.pages import README
from tidemark.model import settings

#: Words of a sentence: of a page's sentences on average, and of the longest one
MEAN, LONGEST = 15, 30
PAGES = {
    "README.md": README,
    **{name: written(text) for name, text in read_pages().items()},
}
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


def test_blocks__are_introduced() -> None:
    """A reader knows what a block of code is for before it begins; in the reference, the heading says it."""
    for page, text in PAGES.items():
        before = ""
        if page.startswith("reference/"):
            continue
        for line, is_code in lines_of(_COMMENT.sub("", text)):
            assert not (is_code and before.startswith("#")), f"{page}: what is it for, {before}?"
            before = "" if is_code else line or before


def test_how_to__titles_are_questions() -> None:
    for page, text in PAGES.items():
        if page.startswith("how-to/"):
            assert title_of(text).endswith("?"), f"{page}: what does its reader ask?"


# --- what settings and macros say of themselves, in the YAML, an editor and the reference


def descriptions_of_settings() -> Iterator[str]:
    for module in iter_modules(settings.__path__, f"{settings.__name__}."):
        for of in vars(import_module(module.name)).values():
            if isinstance(of, type) and issubclass(of, BaseModel) and of.__module__ == module.name:
                yield from (field.description or "" for field in of.model_fields.values())


def descriptions_of_macros() -> Iterator[str]:
    for macro in macros_of().values():
        yield macro["description"]
        yield from (one["description"] for one in macro.get("arguments") or [])


@pytest.mark.parametrize("descriptions", [descriptions_of_settings, descriptions_of_macros])
def test_descriptions__have_short_sentences(
    descriptions: Callable[[], Iterator[str]],
) -> None:
    """A description names a thing, so that it may begin with "What" or "Which", but not with "Of"."""
    found = [one for text in descriptions() for one in sentences(text)]
    assert len(found) > 300, "the descriptions are somewhere else"
    for one in found:
        assert len(words(one)) <= LONGEST, one
        assert not one.startswith("Of "), one
    assert sum(len(words(one)) for one in found) / len(found) < MEAN


# --- the report and the live page


class _Texts(HTMLParser):
    """The texts of a page, each element of a block by itself; code is one word."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._text, self._code = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if value and name in _SPOKEN]
        if tag == "code":
            self._text += "CODE"
        self._code = tag == "code"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "h1", "h2", "label", "button", "option", "a"):
            self.found.append(" ".join(self._text.split()))
            self._text = ""
        self._code = False

    def handle_data(self, data: str) -> None:
        self._text += "" if self._code else data


_SPOKEN = ("aria-label", "placeholder", "title")
ASSETS = [
    path
    for room in ("report", "serve")
    for path in sorted((ROOT / "python/src/tidemark" / room / "assets").iterdir())
    if path.suffix == ".html" or path.name in ("report.js", "serve.js")
]
#: Words that these pages had for what the docs call otherwise
FORMER = re.compile(r"\b(anew|mended|at work|broken line|nothing to show|what is shown)\b", re.I)


def texts_of(path: Path) -> list[str]:
    """What a reader sees of a file: texts of HTML; of a script its texts of several words."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        parser = _Texts()
        parser.feed(re.sub(r"<style.*?</style>|<script.*?</script>", "", text, flags=re.DOTALL))
        return [one for one in parser.found if one]
    code = "\n".join(line.split(" // ")[0] for line in text.split("\n") if line[:3] != "// ")
    literals = (a or b for a, b in re.findall(r'"((?:[^"\\\n])*)"|`([^`\n]*)`', code))
    return [one for one in (re.sub(r"\$\{[^}]*\}", "X", text) for text in literals) if " " in one]


@pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.name)
def test_pages_of_ours(path: Path) -> None:
    texts = texts_of(path)
    assert texts
    for text in texts:
        found = [fault for fault in faults(text) if "average" not in fault]
        assert not found, found
        assert not FORMER.search(text), f"{text}: the docs have another word"


#: Columns of a line: of prose in a page, of a macro but for drawings, and of what YAML says of macros
WIDEST = 110


@pytest.mark.parametrize("name", PAGES)
def test_lines__are_narrow(name: str) -> None:
    """But for tables, code, and what is one word, such as a long link."""
    wide = [
        line
        for line, is_code in lines_of(_COMMENT.sub("", PAGES[name]))
        if len(line) > WIDEST
        and not is_code
        and not _NO_PROSE.match(line)
        and " " in _LINK.sub("", line[: WIDEST + 1]).strip()
    ]
    assert wide == []


#: A JSON schema's name, and what is one line of a table each: the columns of tidemark_commits
_ONE_LINE = re.compile(r"iglu:|^(kind|rows_ignored|source_\w+) (string|bigint) ")


def test_macros__are_narrow() -> None:
    wide = [
        f"{path.name}: {line}"
        for path in sorted((ROOT / "macros").rglob("*.sql"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if len(line) > WIDEST and not _ONE_LINE.search(line) and not re.search("[─│]|c1 +c2", line)
    ]
    assert wide == []


def test_descriptions_of_macros__are_narrow() -> None:
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "macros").rglob("*.yml"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > WIDEST
    ]
    assert wide == [], "`description: >` takes several lines"
