"""Every macro that makes an expression has a part in what `test_three_ways.py` has Spark work out, or in a golden file."""

from __future__ import annotations

import re

import pytest

from tests import macros as made
from tests.expressions import FAMILIES, NO_VALUES
from tests.macros import ROOT
from tests.rendering import load_sql_macros

from .test_golden import CASES


def test_every_expression_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    called: set[str] = set()
    call = made._Macro.__call__

    def noted(self: made._Macro, *arguments: object, **named: object) -> object:
        called.add(self.name)
        return call(self, *arguments, **named)

    monkeypatch.setattr(made._Macro, "__call__", noted)
    macros = load_sql_macros()
    for family in FAMILIES:
        list(family(macros))
    for macro, *arguments in CASES.values():
        macros[macro](*arguments)
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "macros").rglob("*.sql"))
    there = {name for text in sources for name in re.findall(r"macro (\w+_expr)\(", text)}
    assert NO_VALUES.keys() <= there
    assert there - called - NO_VALUES.keys() == set(), "add it to a family of tests/expressions.py"
