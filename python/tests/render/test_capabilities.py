"""What an adapter has not, a Thrift server's or plain `type: spark`: one list, which every macro and step asks."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from ..macros import ROOT, load_macros

ASKED = re.compile(r"tidemark\.can\('(\w+)'\)|\bmacro\(\"can\", \"(\w+)\"\)")


def macros_of(adapter: str, has_session: bool = False) -> dict[str, Any]:
    """The macros of `expr`, as they are under an adapter."""

    def refuse(message: str) -> None:
        raise LookupError(message)

    macros = load_macros("expr")
    macros["can"].context["adapter"] = SimpleNamespace(
        type=lambda: adapter, has_session=lambda: has_session
    )
    macros["can"].context["exceptions"] = SimpleNamespace(raise_compiler_error=refuse)
    return macros


ALL = set(macros_of("spark")["capabilities"]())


@pytest.mark.parametrize(
    ("adapter", "has_session", "lacks"),
    [
        ("tidemark", True, set()),
        ("tidemark", False, ALL - {"load", "call_python", "report_errors"}),
        ("spark", False, ALL),
    ],
)
def test_can__by_adapter(adapter: str, has_session: bool, lacks: set[str]) -> None:
    macros = macros_of(adapter, has_session)
    assert {name for name in ALL if not macros["can"](name)} == lacks


def test_can__of_a_name_that_is_none() -> None:
    with pytest.raises(LookupError, match="there is no capability `list_file`"):
        macros_of("spark")["can"]("list_file")


def test_capabilities__are_what_is_asked_for_and_nothing_else_asks_the_adapter() -> None:
    rooms = ROOT / "python" / "src" / "tidemark"
    steps = [path for room in ("pipeline", "operations") for path in (rooms / room).glob("*.py")]
    paths = [*ROOT.glob("macros/**/*.sql"), *steps]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    asked = {name or of_step for text in texts.values() for name, of_step in ASKED.findall(text)}
    assert asked == ALL
    asking = [
        path.name
        for path, text in texts.items()
        if "adapter.type()" in text or "has_session()" in text
    ]
    assert asking == ["can.sql"]
