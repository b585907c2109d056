"""What a model names that is not there: files of its unit tests, macros of the package."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidemark.console import meant
from tidemark.model.settings.unit_tests import TableRows, UnitTest

_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_CALL = re.compile(r"\btidemark\.(\w+)\s*\(")


def missing_files(root: Path, tests: Iterable[UnitTest]) -> Iterator[str]:
    """Say which files of unit tests are not there.

    Args:
        root: The project's folder.
        tests: Those of a model.
    """
    for test in tests:
        for number, step in enumerate(test.steps, 1):
            given, expect = step.given, step.expect
            tables = [given, *((given.inputs or []) if given is not None else [])]
            tables += [getattr(expect, name) for name in expect.model_fields] if expect else []
            names = [one.file for one in tables if isinstance(one, TableRows) and one.file]
            files = given.files if given is not None else None
            names += [files] if isinstance(files, str) else files or []
            for name in names:
                if not (root / name).is_file():
                    yield (
                        f"unit_tests.{test.name}: step {number} names the file {name}, which is "
                        "not there. Check the path, which counts from dbt_project.yml"
                    )


def unknown_macros(node: Mapping[str, Any], known: Collection[str]) -> Iterator[str]:
    """Say which macros of the package a model calls that the package does not have.

    dbt parses such a model all the same, and stops as it compiles the model.

    Args:
        node: The model, as dbt's graph has it.
        known: The macros of the package.
    """
    if node["language"] != "sql":
        return
    code = _COMMENT.sub("", str(node["raw_code"]))
    calls = (name for block in _JINJA.findall(code) for name in _CALL.findall(block))
    for name in dict.fromkeys(calls):
        if name not in known:
            public = sorted(one for one in known if not one.startswith("_"))
            yield (
                f"its SQL calls tidemark.{name}(), which is no macro of the package; "
                f"{_nearest(name, public)}"
            )


def _nearest(name: str, public: list[str]) -> str:
    hint = meant(name, public)
    return hint if len(hint) < 80 else "python/docs/reference/macros.md has them"
