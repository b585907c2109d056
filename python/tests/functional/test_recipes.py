"""The page of recipes, typed from top to bottom in one project; what it shows is what is printed."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess

import pytest

from tests.conftest import Project
from tests.macros import ROOT
from tests.pages import NAMED, all_blocks
from tidemark.hashing.recipe import PEPPER_VARIABLE

from .typing_in import call_tidemark

PAGE = "python/docs/how-to/recipes.md"
_EXIT = re.compile(r"\s+# exit code (\d).*$")


def type_line(project: Project, line: str) -> str:
    """Type a command of the page, in the project's folder; what it printed."""
    expected = _EXIT.search(line)
    words = shlex.split(_EXIT.sub("", line))
    if words[0] == "dbt":
        return project.dbt(*words[1:]).output
    if words[0] != "tidemark":
        done = subprocess.run(
            ["bash", "-ec", line], cwd=project.root, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout
    code = int(expected[1]) if expected else 0
    pepper = {PEPPER_VARIABLE: "0123456789abcdef" * 2}
    result = call_tidemark(project, words[1:], code=code, **pepper)
    return result.stdout + result.stderr


def squeezed(text: str) -> str:
    return " ".join(text.split())


def missed(shown: str, printed: str) -> str | None:
    """The first line of a block that was not printed behind the one before it; `…` stands for any text."""
    rest = "\n".join(squeezed(line) for line in printed.splitlines())
    for line in filter(None, map(squeezed, shown.splitlines())):
        found = re.search(".*?".join(map(re.escape, line.split("…"))), rest)
        if found is None:
            return line
        rest = rest[found.end() :]
    return None


def test_missed() -> None:
    assert missed("a … c\nd", "x\na  b c\n d") is None
    assert missed("d\na", "a\nd") == "a"


@pytest.mark.turn(3)
def test_recipes(project: Project) -> None:
    printed: list[str] = []
    for block in all_blocks({PAGE: (ROOT / PAGE).read_text(encoding="utf-8")}):
        named = NAMED.match(block.text)
        if block.mark and block.mark[0] == "not run":
            continue
        if block.language == "text":
            line = missed(block.text, "\n".join(printed))
            assert line is None, "\n".join([f"not printed: {line}", *printed])
        elif block.language == "bash":
            printed = [type_line(project, line) for line in block.text.splitlines()]
        elif block.language == "python":
            (command,) = bash_commands(block.text)
            type_line(project, command.replace("{{ ds }}", "2026-03-08"))
        else:
            assert named, block.text
            project.write(named[1], block.text)


def bash_commands(dag: str) -> list[str]:
    """What a DAG of Airflow types."""
    return [
        node.value.value
        for node in ast.walk(ast.parse(dag))
        if isinstance(node, ast.keyword)
        and node.arg == "bash_command"
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
