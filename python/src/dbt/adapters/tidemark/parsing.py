"""dbt parses each macro twice: for its arguments, then for what it calls. Here it does so once."""

from __future__ import annotations

import gc
import re
from typing import Any

from dbt_common.clients.jinja import MacroFuzzEnvironment

_MACRO = re.compile(r"\s*\{%[-+]?\s*(?:macro|materialization|test|data_test)\b")
_GARBAGE_AFTER = 20_000
"""Objects made before Python looks for garbage: of trees there is none to find."""

# the trees that wait for their second reader: neither changes one
_trees: dict[str, Any] = {}
_parse = MacroFuzzEnvironment.parse


def read_macros_once() -> None:
    """Have dbt parse each macro once, in this command and in those that follow it in the process.

    A third of `dbt parse` of a project that has this package and little else.
    """
    _trees.clear()
    MacroFuzzEnvironment.parse = _parse_once  # type: ignore[method-assign, assignment]
    at, *others = gc.get_threshold()
    if 0 < at < _GARBAGE_AFTER:
        gc.set_threshold(_GARBAGE_AFTER, *others)


def _parse_once(
    self: MacroFuzzEnvironment, source: str, name: str | None = None, filename: str | None = None
) -> Any:
    tree = _trees.pop(source, None)
    if tree is None:
        tree = _parse(self, source, name, filename)
        if _MACRO.match(source):
            _trees[source] = tree
    return tree
