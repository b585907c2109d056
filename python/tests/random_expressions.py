"""Random expressions of what may cross to DuckDB, over rows of values that tell engines apart: what the contract's proof asks both.

    rng = random.Random(7)
    pq.write_table(random_rows(rng, 400), "t.parquet")
    name, query, given = random_query(rng)      # "coalesce", "select id, coalesce(s, '') as v from t", ["coalesce(s, '')"]

`given` are the expressions in it as a user would write them in YAML: `check_types` judges them first, `check_query` the query.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

_UTC = dt.UTC
_TEXTS = [
    *("", " ", "a", "B", "ab", "ß", "Zoë 🙂", "it's", "a\\b", "x\ty", "\u3000x ", "10", "9", "1", "1.5", "9.5", "01", " 1", "1 ", "-0"),
    *("true", "TRUE", "t", "no", "2026-03-29", "2026-3-9", "2026-03-29 02:30:00", "2026-03-29T02:30:00Z", "1e3", "NaN", "Infinity"),
    *("null", "%", "_", "aXb", "é", "e\u0301", "ÄÖ", "жЖ"),
]  # fmt: skip
_MOMENTS = [
    dt.datetime(2026, 3, 29, 2, 30, tzinfo=_UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=_UTC),
    dt.datetime(2026, 3, 29, tzinfo=_UTC),
    dt.datetime(1600, 1, 1, tzinfo=_UTC),
]
_DATES = [
    *(dt.date(2026, 3, 29), dt.date(1970, 1, 1), dt.date(1600, 1, 1), dt.date(9999, 12, 31)),
    *(dt.date(2026, 1, 31), dt.date(2024, 2, 29)),
]
_FLOATS = [
    *(0.0, 1.0, 1.5, 0.1, 2.5, -2.5, 3.5, 1e10, 0.285, 1.005, 2.675, -0.0049),
    *(float("nan"), float("inf"), -float("inf")),
]

Value = Callable[[random.Random], Any]


def _whole(bits: int) -> Value:
    most = 2 ** (bits - 1)
    some = [0, 1, -1, 2, 3, 9, 10]
    return lambda rng: rng.choice([*some, rng.randrange(-100, 100), rng.randrange(-most, most)])


def _decimal(scale: int, most: int) -> Value:
    return lambda rng: Decimal(rng.choice([0, 10**scale, 15 * 10**scale // 10, rng.randrange(-most, most), rng.randrange(-500, 500)])).scaleb(-scale)  # fmt: skip


_COLUMNS: dict[str, tuple[pa.DataType, str, Value]] = {
    "b": (pa.bool_(), "BOOLEAN", lambda rng: rng.random() < 0.5),
    "i1": (pa.int8(), "TINYINT", _whole(8)),
    "i2": (pa.int16(), "SMALLINT", _whole(16)),
    "i4": (pa.int32(), "INTEGER", _whole(32)),
    "i8": (pa.int64(), "BIGINT", _whole(64)),
    "f4": (pa.float32(), "FLOAT", lambda rng: rng.choice([*_FLOATS, 1e30, rng.random()])),
    "f8": (
        pa.float64(),
        "DOUBLE",
        lambda rng: rng.choice([*_FLOATS, 1e17, 1e300, 1e-300, round(rng.random() * 100, 2)]),
    ),
    "n2": (pa.decimal128(12, 2), "DECIMAL(12,2)", _decimal(2, 10**11)),
    "n6": (pa.decimal128(38, 6), "DECIMAL(38,6)", _decimal(6, 10**30)),
    "n0": (pa.decimal128(10, 0), "DECIMAL(10,0)", _decimal(0, 10**9)),
    "s": (pa.string(), "VARCHAR", lambda rng: rng.choice(_TEXTS)),
    "u": (pa.string(), "VARCHAR", lambda rng: rng.choice(_TEXTS) + rng.choice(_TEXTS)),
    "d": (pa.date32(), "DATE", lambda rng: rng.choice(_DATES)),
    "t": (pa.timestamp("us", "UTC"), "TIMESTAMP WITH TIME ZONE", lambda rng: rng.choice(_MOMENTS)),
    "a": (
        pa.list_(pa.string()),
        "VARCHAR[]",
        lambda rng: rng.choices(["a", "b", None, "", "ab"], k=rng.randrange(4)),
    ),
}
KINDS = {"id": "BIGINT", "k": "INTEGER", **{name: kind for name, (_, kind, _) in _COLUMNS.items()}}
"""Columns of the rows, with their types in DuckDB."""
_WHOLE, _DECIMALS, _DOUBLES = ["i1", "i2", "i4", "i8"], ["n2", "n6", "n0"], ["f4", "f8"]
_LITERALS = {
    "b": ["true", "false"],
    "i": ["0", "1", "-1", "10"],
    "f": ["1.5d", "0.1d", "0d"],
    "n": ["1.5", "0.10", "10.00"],
    "s": ["''", "'a'", "'1'", "'1.0'", "'2026-03-29'", "'true'", "'x '", "'10'"],
    "d": ["date'2026-03-29'", "date'1970-01-01'"],
    "t": ["timestamp'2026-03-29 02:30:00'", "timestamp'2026-03-29 00:00:00Z'"],
    "null": ["null"],
}
_PATTERNS, _PARTS = ["'%a%'", "'_'", "'1%'", "''", "'a_b'", "'%'"], ["'a'", "'1'", "'x '"]
_KINDS_OF_LITERALS = {
    "b": "b",
    "i": "i",
    "f": "f",
    "n": "n",
    "s": "s",
    "u": "s",
    "d": "d",
    "t": "t",
}


def random_rows(rng: random.Random, rows: int) -> pa.Table:
    """Return rows of all columns, some 15 % of their values NULL; `id` counts, `k` groups by twenties."""
    columns = {"id": pa.array(range(rows), pa.int64()), "k": pa.array([rng.randrange(rows // 20) for _ in range(rows)], pa.int32())}  # fmt: skip
    for name, (kind, _, value) in _COLUMNS.items():
        values = [None if rng.random() < 0.15 else value(rng) for _ in range(rows)]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


class _Grammar:
    """Writes expressions; most operands that meet are of one type, as those of who reads a page are."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def one_of(self, *some: str) -> str:
        return self.rng.choice(some)

    def literal(self, kind: str | None = None) -> str:
        return self.rng.choice(_LITERALS[kind or self.rng.choice([*_LITERALS])])

    def column(self) -> str:
        return self.rng.choice([name for name in _COLUMNS if name != "a"])

    def value(self, depth: int = 1) -> str:
        chance = self.rng.random()
        if depth <= 0 or chance < 0.6:
            return self.column()
        return self.literal() if chance < 0.7 else self.expression(depth - 1)

    def text(self, depth: int = 1) -> str:
        chance = self.rng.random()
        if depth <= 0 or chance < 0.7:
            return self.one_of("s", "u")
        if chance < 0.8:
            return self.literal("s")
        return self.rng.choice([*_TEXT_FORMS.values()])(self, depth - 1)

    def pair(self, depth: int = 1) -> tuple[str, str]:
        chance = self.rng.random()
        name = self.column()
        if chance < 0.2:
            return name, self.literal(_KINDS_OF_LITERALS[name[0]])
        if chance < 0.4:
            return self.text(depth), self.text(depth)
        if chance < 0.6:
            return self.rng.choice(_WHOLE), self.rng.choice(_WHOLE)
        return (name, name) if chance < 0.7 else (self.value(depth), self.value(depth))

    def condition(self, depth: int = 1) -> str:
        if depth <= 0:
            return self.one_of("b", "s is null", "i4 > 0", "d > date'2026-02-01'")
        return self.rng.choice([*_CONDITIONS.values()])(self, depth - 1)

    def expression(self, depth: int = 1) -> str:
        return self.rng.choice([*_FORMS.values()])(self, depth)


Form = Callable[[_Grammar, int], str]


def _compared(operator: str) -> Form:
    return lambda g, d: f" {operator} ".join(g.pair(d)).join("()")


_CONDITIONS: dict[str, Form] = {
    **{operator: _compared(operator) for operator in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    "in": lambda g, d: "({0} in ({1}, {0}))".format(*g.pair(d)),
    "not in": lambda g, d: "({} not in ({}, null))".format(*g.pair(d)),
    "between": lambda g, d: "({0} between {1} and {0})".format(*g.pair(d)),
    "is null": lambda g, d: f"({g.value(d)} is null)",
    "is not null": lambda g, d: f"({g.value(d)} is not null)",
    "not": lambda g, d: f"(not {g.condition(d)})",
    "and": lambda g, d: f"({g.condition(d)} and {g.condition(d)})",
    "or": lambda g, d: f"({g.condition(d)} or {g.condition(d)})",
    "like": lambda g, d: f"({g.text(d)} like {g.rng.choice(_PATTERNS)})",
    "array_contains": lambda g, d: f"array_contains(a, {g.text(d)})",
    "is true": lambda g, d: f"({g.condition(d)} is true)",
}
_TEXT_FORMS: dict[str, Form] = {
    "concat": lambda g, d: f"concat({g.text(d)}, {g.one_of('s', 'u', *_WHOLE)})",
    "||": lambda g, d: f"({g.text(d)} || {g.one_of('s', 'u', *_WHOLE)})",
    "concat_ws": lambda g, d: (
        f"concat_ws({g.literal('s')}, {g.text(d)}, {g.one_of('s', 'u', *_WHOLE)})"
    ),
    "trim": lambda g, d: f"{g.one_of('trim', 'ltrim', 'rtrim')}({g.text(d)})",
    "trim both": lambda g, d: (
        f"trim({g.one_of('both', 'leading', 'trailing')} {g.literal('s')} from {g.text(d)})"
    ),
    "lower": lambda g, d: f"lower({g.text(d)})",
    "upper": lambda g, d: f"upper({g.text(d)})",
    "substring": lambda g, d: (
        f"substring({g.text(d)}, {g.one_of('1', '2', '3')}, {g.one_of('0', '1', '2', '100')})"
    ),
    "substr": lambda g, d: f"substr({g.text(d)}, {g.one_of('1', '2', '30')})",
    "left": lambda g, d: f"left({g.text(d)}, {g.one_of('0', '1', '3')})",
    "replace": lambda g, d: f"replace({g.text(d)}, {g.rng.choice(_PARTS)}, {g.literal('s')})",
    "md5": lambda g, d: f"md5({g.text(d)})",
    "sha2": lambda g, d: f"sha2({g.text(d)}, 256)",
    "format": lambda g, d: "format_string('%a', f8)",
    "cast": lambda g, d: f"cast({g.one_of('s', 'b', 'd', 'n2', 'n6', *_WHOLE)} as string)",
    "nullif": lambda g, d: f"nullif({g.text(d)}, {g.text(d)})",
}
_FORMS: dict[str, Form] = {
    **_TEXT_FORMS,
    "condition": lambda g, d: g.condition(d + 1),
    "coalesce": lambda g, d: "coalesce({}, {})".format(*g.pair(d)),
    "greatest": lambda g, d: "greatest({}, {})".format(*g.pair(d)),
    "least": lambda g, d: "least({}, {})".format(*g.pair(d)),
    "if": lambda g, d: "if({2}, {0}, {1})".format(*g.pair(d), g.condition(d)),
    "case": lambda g, d: "case when {2} then {0} else {1} end".format(*g.pair(d), g.condition(d)),
    "case of": lambda g, d: "case {} when {} then {} end".format(*g.pair(d), g.value(d)),
    "case without": lambda g, d: f"case when {g.condition(d)} then {g.value(d)} end",
    "+": lambda g, d: f"({g.one_of('i1', 'i2', '7')} + {g.one_of('i2', 'i4', '1')})",
    "-": lambda g, d: f"({g.one_of('i1', 'i2')} - {g.one_of('i2', '1')})",
    "negated": lambda g, d: f"(-{g.one_of('i1', 'i2', 'i4')})",
    "cast to bigint": lambda g, d: f"cast({g.rng.choice([*_WHOLE, 'f8'])} as bigint)",
    "try_cast": lambda g, d: f"try_cast({g.rng.choice(_WHOLE)} as {g.one_of('string', 'bigint')})",
    "length": lambda g, d: f"length({g.text(d)})",
    "octet_length": lambda g, d: f"octet_length({g.text(d)})",
    "round": lambda g, d: f"round({g.rng.choice(_DECIMALS)}{g.one_of('', ', 0', ', 1', ', 2', ', 5')})",
    "abs": lambda g, d: f"abs({g.rng.choice(_DOUBLES)})",
    "rint": lambda g, d: f"rint({g.rng.choice(_DOUBLES)})",
    "array_compact": lambda g, d: "array_compact(a)",
    "array_min": lambda g, d: f"array_min(array({g.text(d)}, {g.text(d)}))",
    "array_except": lambda g, d: f"array_except(array(if({g.condition(d)}, 'x', null), if({g.condition(d)}, 'y', null)), array(cast(null as string)))",
    "size": lambda g, d: "size(if(a is null, array('x'), a))",
    "unix_micros": lambda g, d: "unix_micros(t)",
    "equal arrays": lambda g, d: f"(a <=> array({g.literal('s')}, 'b'))",
    "a value by its name": lambda g, d: f"transform(array({g.column()}), `s` -> (coalesce(s, null)))[0]",
    "a rounded double": lambda g, d: f"transform(array(f8), `f8` -> (round(f8{g.one_of('', ', 1', ', 2')})))[0]",
}  # fmt: skip
_AGGREGATES: dict[str, Callable[[_Grammar], str]] = {
    "max": lambda g: f"max({g.value()})",
    "min": lambda g: f"min({g.value()})",
    "sum": lambda g: f"sum({g.one_of('i1', 'i2', 'i4')})",
    "count": lambda g: f"count({g.value()})",
    "count distinct": lambda g: f"count(distinct {g.value()})",
    "count_if": lambda g: f"count_if({g.condition()})",
    "bool_or": lambda g: f"bool_or({g.condition()})",
    "filter": lambda g: f"max({g.column()}) filter (where {g.condition()})",
    "max_by": lambda g: f"max_by({g.value()}, id)",
    "min_by": lambda g: f"min_by({g.value()}, id)",
    "any_value": lambda g: "any_value(k)",
    "array_min of a set": lambda g: "array_min(array_except(array(date'2026-03-29', date'1970-01-01', date'2026-01-31'), collect_set(d)))",
}  # fmt: skip
_WINDOWS: dict[str, Callable[[_Grammar], str]] = {
    "row_number": lambda g: f"row_number() over (partition by k order by {g.value()} {g.one_of('', 'desc', 'nulls last', 'desc nulls first')}, id)",
    "lag": lambda g: f"lag({g.value()}) over (partition by k order by id)",
    "lead": lambda g: f"lead({g.value()}) over (order by {g.value()}, id)",
    "last_value": lambda g: f"last_value({g.value()}) ignore nulls over (partition by k order by id)",
    "first_value": lambda g: f"first_value({g.value()}, true) over (partition by k order by id rows between unbounded preceding and current row)",
    "max over": lambda g: f"max({g.value()}) over (partition by {g.value()})",
    "sum over": lambda g: f"sum({g.rng.choice(_WHOLE[:3])}) over (partition by k order by id)",
    "count over": lambda g: f"count({g.value()}) over (partition by {g.value()})",
}  # fmt: skip
GENERATORS: dict[str, Callable[[_Grammar], str]] = {
    "explode": lambda g: "select id, explode(a) as v from t",
    "sequence": lambda g: "select id, explode(sequence(1, if(k > 2, k, 2))) as v from t",
    "inline": lambda g: (
        f"select id, inline(array(named_struct('p', {g.column()}, 'q', {g.column()}))) from t"
    ),
}
"""Queries whose rows are made of one row, whose types the library does not know."""


def random_query(rng: random.Random) -> tuple[str, str, list[str]]:
    """Return the name of a form, a query of `t` that has it, and the expressions in it that a user may write."""
    grammar = _Grammar(rng)
    chance = rng.random()
    if chance < 0.65:
        name = rng.choice([*_FORMS])
        written = _FORMS[name](grammar, rng.choice([0, 1, 1, 2]))
        return name, f"select id, {written} as v from t", [written]
    if chance < 0.75:
        name = rng.choice([*_AGGREGATES])
        return name, f"select k, {_AGGREGATES[name](grammar)} as v from t group by k", []
    if chance < 0.88:
        name = rng.choice([*_WINDOWS])
        return name, f"select id, {_WINDOWS[name](grammar)} as v from t", []
    if chance < 0.9:
        name = rng.choice([*GENERATORS])
        return name, GENERATORS[name](grammar), []
    one, other = grammar.pair()
    met = [f"{one} <=> {other}", f"coalesce({one}, {other})"]
    if chance < 0.95:
        kind, joins = grammar.one_of("full outer", "left", "left anti", "left semi"), grammar.one_of("=", "<=>")  # fmt: skip
        values = "l.id" if kind in ("left anti", "left semi") else "l.id, r.id as v"
        sides = f"(select id, {one} as x from t where id < 60) as l {kind} join (select id, {other} as x from t where id < 70) as r"
        return f"{kind} join", f"select {values} from {sides} on l.x {joins if kind != 'full outer' else '='} r.x", met  # fmt: skip
    kind = grammar.one_of("union", "union all", "except", "except all")
    return kind, f"select 1 as id, {one} as v from t {kind} select 1, {other} from t where id < 50", met  # fmt: skip
