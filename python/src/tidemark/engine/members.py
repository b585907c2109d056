"""JSON lines: their members as texts, and which of them are read alike by every reader.

A text is what the member is in the file: of a text what its quotes hold, of a number its digits.
DuckDB's reader writes a number with a point or an exponent anew (1.10 becomes 1.1), and takes some
lines for good that Spark does not; such lines are told here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidemark.engine.lines import blocks_of
from tidemark.engine.quoted import literal
from tidemark.engine.types import is_floating

# if a line begins otherwise, Spark makes a row, DuckDB an error or nothing
_OTHER_START = re.compile(rb"(?:\A|\n)(?! *(?:\{|\r?\n|\Z))")
# Jackson's bounds on a text, a number and the depth are met by no line within these
_LONGEST = 50_000
_SHORT = 900
_DEEPEST = 500
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ESCAPED_NAME = r'\\[^"]*"\s*:'
_LENIENT = r",\s*[\]}]|[:,\[]\s*[-+]?(?:[nN][aA]|[iI])"
"""What DuckDB lets pass: a comma at an end, NaN and Infinity in any case."""


def doubt_of(paths: Sequence[str]) -> str | None:
    """Return why the lines of files may not be read alike by every reader; None: nothing tells so.

    Args:
        paths: The files; those that end with .gz are unpacked.
    """
    for path in paths:
        for block in blocks_of(path):
            returns = block.count(b"\r")
            if returns and returns > block.count(b"\r\n"):
                return "has a carriage return that ends no line"
            if _OTHER_START.search(block):
                return "has a line that is no object"
    return None


def lines_sql(files: str, names: Sequence[str]) -> str:
    """Return a query of JSON lines: `line`, `members` (their names), f0, f1, … and k0, k1, …

    Args:
        files: A list of paths, as DuckDB reads it.
        names: The members whose texts (f) and kinds (k) are asked for.
    """
    pointers = ", ".join(literal(_pointer(name)) for name in names)
    columns = ", ".join(
        f"texts[{place + 1}] as f{place}, kinds[{place + 1}] as k{place}"
        for place in range(len(names))
    )
    return (
        f"select line, members, {columns} from ("
        "select cast(json as varchar) as line, json_keys(json) as members, "
        f"json_extract_string(json, [{pointers}]) as texts, json_type(json, [{pointers}]) as kinds "
        f"from read_ndjson_objects({files}))"
    )


def line_doubt_sql() -> str:
    """Return a condition on `line` and `members`: Spark may not read the line alike."""
    bare = f"regexp_replace(line, {literal(_QUOTED)}, '\"\"', 'g')"
    depth = "2 * strlen(line) - strlen(replace(line, '[', '')) - strlen(replace(line, '{', ''))"
    return f"""(
    len(members) <> len(list_distinct(members))
    or list_contains(members, '_unreadable')
    or strlen(line) > {_LONGEST}
    or case when strlen(line) > {_SHORT} then
        {depth} > {_DEEPEST} or regexp_matches(line, '[0-9]{{{_SHORT}}}')
    else false end
    or case when regexp_matches(line, {literal(_LENIENT)}) then
        regexp_matches({bare}, {literal(_LENIENT)})
    else false end
)"""


def member_doubt_sql(name: str, place: int, kind: str) -> str:
    """Return a condition: a member's text may not be what it is in the file, as far as that counts.

    Args:
        name: The member.
        place: Its number.
        kind: The Spark type that its text becomes.
    """
    text, found = f"f{place}", f"k{place}"
    if kind == "double":
        other = "false"
    elif is_floating(kind) or kind.startswith("decimal"):
        # 15 digits and a point come back as they were; a name with an escape would not be found
        written = rf'"{re.escape(name)}"\s*:\s*-?[0-9.]'
        other = (
            f"(regexp_matches(line, {literal(_ESCAPED_NAME)}) "
            f"or regexp_matches(line, {literal(written + '{17,}')}) "
            f"or not regexp_matches(line, {literal(written + '{1,16}[^0-9.eE]')}))"
        )
    else:
        other = "true"
    return (
        f"case when {found} is null or {found} in ('NULL', 'VARCHAR', 'BOOLEAN') then false "
        f"when {found} in ('BIGINT', 'UBIGINT') then {text} = '0' and contains(line, '-0') "
        f"when {found} = 'DOUBLE' then {other} else true end"
    )


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")
