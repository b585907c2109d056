"""dbt parses each macro twice: for its arguments, then for what it calls. Here it does so once."""

from __future__ import annotations

import re
from typing import Any

from dbt_common.clients.jinja import MacroFuzzEnvironment

_MACRO = re.compile(r"\s*\{%[-+]?\s*(?:macro|materialization|test|data_test)\b")

# the trees that wait for their second reader: neither changes one
_trees: dict[str, Any] = {}
_parse = MacroFuzzEnvironment.parse


def read_macros_once() -> None:
    """Have dbt parse each macro once, in this command and in those that follow it in the process.

    A fifth of `dbt parse` of a project that has this package and little else.
    """
    _trees.clear()
    MacroFuzzEnvironment.parse = _parse_once  # type: ignore[method-assign, assignment]


def _parse_once(
    self: MacroFuzzEnvironment, source: str, name: str | None = None, filename: str | None = None
) -> Any:
    tree = _trees.pop(source, None)
    if tree is None:
        tree = _parse(self, source, name, filename)
        if _MACRO.match(source):
            _trees[source] = tree
    return tree
