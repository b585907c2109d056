"""SQL of the YAML that would break its statement: refused before Spark sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_QUOTED = re.compile(r"""'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|`[^`]*`""")
_DIRECTION = re.compile(r"(?i)\s(asc|desc|nulls\s+(first|last))\s*$")
_OPENS = {")": "(", "]": "["}


def expression_problems(setting: str, text: Any) -> Iterator[str]:
    """Yield what is wrong with a value that is to be an SQL expression.

    What letters do not tell is left to Spark.

    Example:
        >>> [*expression_problems("sequence_by", "lower(at")]
        ['sequence_by: `lower(at` has a `(` that nothing closes']
    """
    if not isinstance(text, str):
        yield f"{setting} must be an SQL expression, found: {text}"
    elif problem := _problem(text):
        yield f"{setting}: `{text.strip()}` {problem}"


def _problem(text: str) -> str | None:
    bare = _QUOTED.sub("x", text)
    if not text.strip():
        return "is empty"
    if quote := re.search("['\"`]", bare):
        return f"has a quote {quote[0]} that nothing closes"
    if "--" in bare or "/*" in bare:
        return "has a comment: write it in the YAML, after #"
    if ";" in bare:
        return "has a `;`: it is an expression, not a statement"
    opened: list[str] = []
    for bracket in re.findall("[][(),]", bare):
        if bracket in "([":
            opened.append(bracket)
        elif bracket == ",":
            if not opened:
                return "is more than one expression: of several write a list"
        elif not opened or opened.pop() != _OPENS[bracket]:
            return f"has a `{bracket}` that nothing opens"
    if opened:
        return f"has a `{opened[-1]}` that nothing closes"
    if _DIRECTION.search(bare):
        return "has a direction: the greatest is the last; turn a number round by a minus"
    return None
