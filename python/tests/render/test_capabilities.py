"""What plain `type: spark` has not: one list, which every macro asks."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from ..macros import ROOT, load_macros

ASKED = re.compile(r"tidemark\.can\('(\w+)'\)")


def macros_of(adapter: str) -> dict[str, Any]:
    """The macros of `expr`, as they are under an adapter."""

    def refuse(message: str) -> None:
        raise LookupError(message)

    macros = load_macros("expr")
    macros["can"].context["adapter"] = SimpleNamespace(type=lambda: adapter)
    macros["can"].context["exceptions"] = SimpleNamespace(raise_compiler_error=refuse)
    return macros


@pytest.mark.parametrize(("adapter", "can"), [("tidemark", True), ("spark", False)])
def test_can__by_adapter(adapter: str, can: bool) -> None:
    macros = macros_of(adapter)
    assert {macros["can"](name) for name in macros["capabilities"]()} == {can}


def test_can__of_a_name_that_is_none() -> None:
    with pytest.raises(LookupError, match="there is no capability `list_file`"):
        macros_of("spark")["can"]("list_file")


def test_capabilities__are_what_is_asked_for_and_nothing_else_asks_the_adapter() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in ROOT.glob("macros/**/*.sql")}
    asked = {name for text in texts.values() for name in ASKED.findall(text)}
    assert asked == set(macros_of("spark")["capabilities"]())
    asking = [path.name for path, text in texts.items() if "adapter.type()" in text]
    assert asking == ["can.sql"]
