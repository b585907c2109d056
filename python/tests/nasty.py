"""Rows of NULL, empty and extreme values of any type, as a relation that Spark does not work out before it runs.

Example:
    >>> nasty_rows({"id": "int", "name": "string"}, 3)
    "select * from values …"
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tests.rendering import load_sql_macros

TEXTS = (
    "",
    " ",
    "a",
    "b",
    "NULL",
    "null",
    "true",
    "0",
    "1",
    "-0",
    "-1",
    "+7",
    "007",
    "1.50",
    ".5",
    "1e3",
    "-1.5E-7",
    "NaN",
    "-Infinity",
    "127",
    "-128",
    "2147483647",
    "-2147483649",
    "9223372036854775807",
    "-9223372036854775809",
    "9" * 38,
    "1709210096123456",
    "0001-01-01",
    "9999-12-31",
    "2024-02-30",
    "2024-03-10 02:30:00",
    "2024-03-31T02:30:00.123456+01:00",
    "0001-01-01 00:00:00",
    "9999-12-31T23:59:59.999999Z",
    "1883-11-18 12:03:57",
    "12:34:56",
    "😀 é\u0301",
    "\t\n\r\x01\x7f|,;\"'\\",
    "a\ufffdb",
    "${x} $1 \\1 %_",
    "[]",
    "{}",
    "[1,null,\"x\"]",
    '{"a":1,"b":null,"c":{"d":[true,1.5,"é"]}}',
    '{"a":1}x',
    '{"schema":"iglu:com.acme/product/jsonschema/1-0-1","data":{"a":1}}',
    "[{]",
    "AP8=",
    "\\x00ff",
    "00ff",
)  # fmt: skip
_WHOLE = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
_PLAIN = {
    "boolean": ("true", "false"),
    "date": ("0001-01-01", "9999-12-31", "1970-01-01", "1582-10-15", "2024-02-29", "1969-12-31"),
    "timestamp": (
        "0001-01-01 00:00:00Z",
        "9999-12-31 23:59:59.999999Z",
        "1970-01-01 00:00:00Z",
        "1969-12-31 23:59:59.999999Z",
        "2024-03-10 07:30:00.120Z",
        "2024-11-03 06:30:00.123456Z",
        "2024-03-31 01:00:00Z",
        "1883-11-18 16:59:59Z",
    ),
    "timestamp_ntz": (
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59.999999",
        "2024-03-10 02:30:00",
        "2024-11-03 01:30:00.5",
        "1969-12-31 23:59:59.999999",
    ),
}
_WIDEST = {
    "float": ("1.4E-45", "3.4028235E38"),
    "double": ("4.9E-324", "1.7976931348623157E308", "9007199254740992", "-9007199254740993"),
}
_FLOATS = ("0", "-0.0", "NaN", "Infinity", "-Infinity", "1.5", "-7", "0.1")


def literal(text: str) -> str:
    """The literal of a text, whatever is in it.

    Example:
        >>> literal("it's")
        "cast(X'69742773' as string)"
    """
    return f"cast(X'{text.encode().hex()}' as string)"


def values_of(kind: str) -> list[str]:
    """The values of a type, each as SQL; the first is NULL."""
    macros = load_sql_macros()
    null = f"cast(null as {macros['quoted_type'](kind)})"
    base, inner = kind.split("<")[0].split("(")[0], kind[kind.find("<") + 1 : -1]
    if base == "array":
        items = values_of(inner)
        filled = f"array({', '.join([items[0], *items[1:5], items[0]])})"
        empty = f"cast(array() as {macros['quoted_type'](kind)})"
        return [null, empty, f"array({items[0]})", filled, f"array({items[-1]})"]
    if base == "map":
        of_key, of_value = macros["_type_parts"](inner)
        keys, items = values_of(of_key)[1:], values_of(of_value)
        last = keys[min(len(keys) - 1, 1)]
        return [
            null,
            f"cast(map() as {macros['quoted_type'](kind)})",
            f"map({keys[0]}, {items[0]})",
            f"map({keys[0]}, {items[1]}, {last}, {items[-1]})",
            f"map({last}, {items[-1]}, {keys[0]}, {items[1]})",
        ]
    if base == "struct":
        fields = [
            (macros["string_literal"](field["name"]), values_of(field["type"]))
            for field in macros["_struct_fields"](inner)
        ]

        def struct(at: int) -> str:
            parts = (f"{name}, {values[at % len(values)]}" for name, values in fields)
            return f"named_struct({', '.join(parts)})"

        return [null, *(struct(at) for at in range(max(map(len, (v for _, v in fields)))))]
    if base in _WHOLE:
        most = 2 ** _WHOLE[base]
        texts = [str(n) for n in (0, 1, -1, 7, most - 1, -most)]
    elif base == "decimal":
        precision, scale = (int(part) for part in kind[8:-1].split(","))
        digits = "9" * precision
        most_of = f"{digits[scale:]}.{digits[:scale]}" if scale else digits
        one = "1" if scale < precision else "0.1"
        texts = ["0", one, most_of, f"-{most_of}", f"-1E-{scale}"]
    elif base in ("float", "double"):
        texts = [*_FLOATS, *_WIDEST[base]]
    elif base == "binary":
        return [null, *(f"unhex('{text}')" for text in ("", "00", "00FF80", "C3A9", "F09F9880"))]
    elif base == "string":
        return [null, *map(literal, TEXTS)]
    elif base == "void":
        return [null]
    elif base == "variant":
        documents = (text for text in TEXTS if text[:1] in ("[", "{", "n", "t", "1", "-", '"'))
        return ["cast(null as string)", *map(literal, documents)]
    else:
        texts = list(_PLAIN[base])
    return [null, *(f"cast('{text}' as {kind})" for text in texts)]


_CAME_LATER = ("rules",)
"""Columns whose values are chosen apart: queries over rows find some by the choice of the others."""


def nasty_rows(
    columns: Mapping[str, str], count: int = 0, given: Mapping[str, Sequence[str]] | None = None
) -> str:
    """A query with rows of such values: one of NULLs, then each value of each column, in a random order that is the same each time.

    Args:
        columns: Type by name.
        count: How many rows; 0 has every value once.
        given: The values that a column takes beside NULL, as SQL, where its type's are not wanted.
    """
    chance = random.Random(46)
    # so that rows stay as they are when a column comes
    apart = {name: random.Random(f"46 {name}") for name in _CAME_LATER}
    pools = {name: values_of(kind) for name, kind in columns.items()}
    pools |= {
        name: [pools[name][0], *(f"cast({value} as {columns[name]})" for value in values)]
        for name, values in (given or {}).items()
    }
    count = count or max(map(len, pools.values()))
    rows = [[pool[0] for pool in pools.values()]]
    decks: dict[str, list[str]] = {name: [] for name in pools}
    for _ in range(count - 1):
        for name, deck in decks.items():
            if not deck:
                of_its_own = apart.get(name, chance)
                deck.extend(of_its_own.sample(pools[name], len(pools[name])))
        rows.append([deck.pop() for deck in decks.values()])
    quoted = load_sql_macros()["quote_identifier"]
    names = ", ".join(map(quoted, pools))
    listed = ",\n".join(f"({', '.join(row)})" for row in rows)
    rows = f"select * from values\n{listed}\nas rows({names})"
    if "variant" not in columns.values():
        return rows
    # an inline table has no functions that Spark puts others in the place of
    parsed = (
        f"try_parse_json({quoted(name)}) as {quoted(name)}" if kind == "variant" else quoted(name)
        for name, kind in columns.items()
    )
    return f"select {', '.join(parsed)} from ({rows})"
