"""Messages of the program, as templates that are read from its sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docsite.markdown import table
from docsite.tree import ROOT

SOURCES = ("python/src/tidemark", "python/src/dbt")
#: Errors that no user causes: they are caught in the program, or are a defect of a caller's
INTERNAL = {"AssertionError", "MacroError", "TypeError", "UnpicklingError", "ValueError"}
#: Calls that collect the problems of a model, which one error tells together
PROBLEMS = {"errors.append", "problems.append", "drift.append", "reasons.append", "Drift"}
#: Calls that print a warning, and those that print a line of progress
WARNINGS = {"warehouse.warn", "warn", "logger.warning", "doubts.append"}
NOTES = {"warehouse.report", "report", "report_line", "say", "notes.append", "self._note"}
#: Verbs that a cure begins with
CURES = frozenset(
    "add adopt ask begin build call cast check choose clone copy correct declare deliver drop "
    "exclude give hash install keep land leave load look make mend move name pass pause plan "
    "promote put raise read register remove rename replace report restore return run save say "
    "see select set start stop take try undo use wait write".split()
)
#: Groups of the reference, and the folders whose messages each has
GROUPS = {
    "Settings and models": ("model", "rules", "check", "hashing"),
    "Loads": ("pipeline", "engine", "sessions"),
    "Operations": ("operations", "operate", "replay"),
    "Plans": ("plan",),
    "Reading": ("macros", "feed", "diff", "read", "lineage", "report", "serve"),
    "Enriched events": ("shred", "dedup.py"),
    "Spark, Java and dbt": ("spark", "java.py", "dbt", "home.py"),
    "Capture": ("capture", "replicator"),
}
OTHERS = "Other commands"
_MACRO = re.compile(
    r"raise_error\(\s*'(\w+)',\s*(.*?)\)\s*-?%}|raise_compiler_error\((.*?)\)", re.DOTALL
)
_MACRO_WORDS = re.compile(
    r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|(\w[\w.\[\]]*(?:\([^()]*\))?)"
)
_CLAUSE = re.compile(r"(?<=[.?!;:])\s+|\n|, or |, and |, then ")
_MUST = re.compile(r"(?i)\b(?:must|takes|needs|did you mean)\b(?:[^.]|\.(?! ))*?(?=[,;] found|$)")


@dataclass(frozen=True)
class Message:
    """A message of the program.

    Attributes:
        path: The file in the repository.
        line: Where in the file it begins.
        kind: `error`, `problem` of a model, `warning` or `note`.
        call: What it is given to, such as `DataError`.
        text: Its words; `…` stands for what a run puts in.
    """

    path: str
    line: int
    kind: str
    call: str
    text: str


def messages(root: Path = ROOT) -> list[Message]:
    """Return the messages of all sources, in the order of files and lines."""
    found = [
        message
        for folder in SOURCES
        for path in sorted((root / folder).rglob("*.py"))
        for message in _of_python(path.relative_to(root).as_posix(), path.read_text("utf-8"))
    ]
    for path in sorted((root / "macros").rglob("*.sql")):
        found += _of_macro(path.relative_to(root).as_posix(), path.read_text("utf-8"))
    return found


def _of_python(path: str, source: str) -> Iterator[Message]:
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (kind := _kind(ast.unparse(node.func))):
            given = [*node.args, *(word.value for word in node.keywords)]
            for text in dict.fromkeys(one for each in given for one in templates(each, constants)):
                if len(re.findall(r"\w+", text)) > 2:
                    call = ast.unparse(node.func)
                    yield Message(path, node.lineno, kind, call, text)


def _kind(call: str) -> str | None:
    name = call.rpartition(".")[2]
    if name in INTERNAL:
        return None
    if name.endswith("Error"):
        return "error"
    for kind, calls in (("problem", PROBLEMS), ("warning", WARNINGS), ("note", NOTES)):
        if call in calls:
            return kind
    return None


def templates(node: ast.expr, constants: dict[str, ast.expr]) -> list[str]:
    """Return the texts that an expression can be, with `…` for what only a run knows.

    Example:
        >>> templates(ast.parse("f'{a} of ' + ('b' if c else 'd')", mode="eval").body, {})
        ['… of b', '… of d']
    """
    if isinstance(node, ast.Constant):
        return [str(node.value)] if isinstance(node.value, str) else ["…"]
    if isinstance(node, ast.JoinedStr):
        return _product([_part(part, constants) for part in node.values])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _product([templates(node.left, constants), templates(node.right, constants)])
    if isinstance(node, ast.IfExp):
        return [*templates(node.body, constants), *templates(node.orelse, constants)]
    if isinstance(node, ast.Name) and isinstance(
        constants.get(node.id), (ast.Constant, ast.JoinedStr)
    ):
        return templates(constants[node.id], constants)
    return ["…"]


def _part(node: ast.expr, constants: dict[str, ast.expr]) -> list[str]:
    if isinstance(node, ast.FormattedValue):
        inner = node.value
        found = templates(inner, constants) if isinstance(inner, (ast.Name, ast.IfExp)) else ["…"]
        # of a choice of parts the longest tells most
        return [max(found, key=len)]
    return templates(node, constants)


def _product(parts: list[list[str]]) -> list[str]:
    found = [""]
    for part in parts:
        found = [begun + one for begun in found for one in part]
    return found


def _of_macro(path: str, source: str) -> Iterator[Message]:
    for match in _MACRO.finditer(source):
        words = _MACRO_WORDS.findall(match[2] or match[3])
        text = re.sub("…+", "…", "".join(single or double or "…" for single, double, _ in words))
        if len(re.findall(r"\w+", text)) > 2:
            line = source.count("\n", 0, match.start()) + 1
            yield Message(path, line, "error", match[1] or "compiler", text)


def folder_of(path: str) -> str:
    """Return the folder or file of the package that a source is in.

    Example:
        >>> folder_of("python/src/tidemark/plan/cli.py"), folder_of("macros/read/scd2.sql")
        ('plan', 'macros')
    """
    parts = path.removeprefix("python/src/").removeprefix("tidemark/").split("/")
    return parts[0]


def cure(text: str) -> str:
    """Return the part of a message that says what to do; empty if there is none.

    Example:
        >>> cure("…: there is no log. Run the model first")
        'Run the model first'
        >>> cure("plan must be true or false, found: …")
        'must be true or false'
    """
    start = 0
    for match in [*_CLAUSE.finditer(text), None]:
        clause = text[start : match.start() if match else None].lstrip(" `(")
        if start and re.split(r"\W", clause.lower().removeprefix("first "), maxsplit=1)[0] in CURES:
            return text[start:].strip()
        start = match.end() if match else len(text)
    must = _MUST.search(text)
    return must[0].strip() if must else ""


def messages_text(root: Path = ROOT) -> str:
    """The errors of all sources by group, each with its cure, as tables of Markdown."""
    group_of = {folder: group for group, folders in GROUPS.items() for folder in folders}
    rows: dict[str, dict[str, str]] = {group: {} for group in [*GROUPS, OTHERS]}
    for message in messages(root):
        if message.kind in ("error", "problem"):
            text = " ".join(message.text.removeprefix("…: ").split())
            found = rows[group_of.get(folder_of(message.path), OTHERS)]
            found[text] = " ".join(cure(message.text).split())
    return "\n\n".join(
        f"## {group}\n\n{table(['message', 'what to do'], _rows(texts))}"
        for group, texts in rows.items()
        if texts
    )


def _rows(texts: dict[str, str]) -> list[list[str]]:
    return [
        [_cell(text.removesuffix(done).rstrip(" :;") if done else text), _cell(done)]
        for text, done in sorted(texts.items(), key=lambda item: item[0].lstrip("…`'. ").lower())
    ]


def _cell(text: str) -> str:
    return f"<code>{escape(text, quote=False).replace('|', '&#124;')}</code>" if text else ""
