"""The part of Spark's SQL that DuckDB runs with the same meaning, and its form there.

    Spark SQL ─► tree ─► what is not in these tables declines, by name ─► DuckDB's SQL

A library writes the tree in the other dialect. What a node of the tree means is not its matter:
here stand the nodes whose meaning is known to be the same in both engines, or has a form that makes
it so. How a text is read as a value is none of it: that is the readers' part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidemark.engine.quoted import PEPPER, end_with_reason
from tidemark.errors import ODD_SQL
from tidemark.sessions.declined import Declined

_ALIKE: frozenset[type[exp.Expression]] = frozenset(
    {
        # the shape of a query
        exp.Alias,
        exp.CTE,
        exp.Column,
        exp.Dot,
        exp.Except,
        exp.From,
        exp.Group,
        exp.Having,
        exp.Identifier,
        exp.Join,
        exp.Limit,
        exp.Order,
        exp.Paren,
        exp.Select,
        exp.Star,
        exp.Subquery,
        exp.Table,
        exp.TableAlias,
        exp.Tuple,
        exp.Union,
        exp.Where,
        exp.With,
        # values and conditions
        exp.And,
        exp.Array,
        exp.Between,
        exp.Boolean,
        exp.Case,
        exp.Coalesce,
        exp.EQ,
        exp.Exists,
        exp.Greatest,
        exp.If,
        exp.In,
        exp.Is,
        exp.Least,
        exp.Literal,
        exp.NEQ,
        exp.Not,
        exp.Null,
        exp.Nullif,
        exp.NullSafeEQ,
        exp.Or,
        exp.PropertyEQ,
        exp.Struct,
        # aggregates and windows
        exp.Count,
        exp.Distinct,
        exp.Filter,
        exp.FirstValue,
        exp.IgnoreNulls,
        exp.Lag,
        exp.LastValue,
        exp.Lead,
        exp.LogicalOr,
        exp.RowNumber,
        exp.WindowSpec,
    }
)


def _function(name: str, *arguments: exp.Expression | None) -> exp.Expression:
    given = [one.copy() for one in arguments if one is not None]
    if len(given) < len(arguments):
        raise Declined("a function that lacks an argument")
    return exp.Anonymous(this=name, expressions=given)


def _is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _only(types: str, value: exp.Expression, then: exp.Expression, what: str) -> exp.Expression:
    """Return `then` for a value of some types; one of another ends the query.

    Types are known where DuckDB binds the query, which leaves nothing of the condition. Where a
    form has told the type, nothing is asked.
    """
    known = _kind_of(value)
    if known is not None and re.fullmatch(types, known):
        return then
    kind = _function("typeof", value)
    is_one = _function("regexp_full_match", kind, exp.Literal.string(types))
    return exp.If(this=is_one, true=then, false=_ends(what))


def _kind_of(value: exp.Expression) -> str | None:
    """Return the type of a value in DuckDB, where it is known."""
    if isinstance(value, exp.Literal):
        return "VARCHAR" if value.is_string else None
    if isinstance(value, exp.Paren):
        return _kind_of(value.this)
    kind: str | None = value.meta.get(_KIND)
    return kind


def _of_kind(kind: str, value: exp.Expression) -> exp.Expression:
    """Return a value whose type is known from now on."""
    value.meta[_KIND] = kind
    return value


_KIND = "tidemark_kind"


def _ends(what: str) -> exp.Expression:
    return _function("error", exp.Literal.string(end_with_reason(what)))


_WHOLE = "TINYINT|SMALLINT|INTEGER|BIGINT"
_FLOATING = "FLOAT|DOUBLE"
_PLAIN = rf"{_WHOLE}|BOOLEAN|DECIMAL\(\d+,[0-6]\)"
_TEXTS = rf"{_PLAIN}|VARCHAR|DATE"


def _cast(node: exp.Expression) -> exp.Expression:
    """A text of a value, or a wider whole number; else of constants alone."""
    of, to = node.this, node.args["to"]
    cast: exp.Expression = exp.Cast(this=of.copy(), to=to)
    is_constant = isinstance(of, exp.Null | exp.Literal | exp.Boolean)
    if isinstance(of, exp.Literal) and not of.name.isdecimal() and to.this in _WHOLE_TYPES:
        raise Declined("a whole number of another text")
    if is_constant or (isinstance(of, exp.Array) and not of.expressions):
        return cast
    name = to.sql(dialect="spark").lower()
    types = {"string": _TEXTS, "bigint": _WHOLE, "date": "DATE", "double": _FLOATING}.get(name)
    if types is None:
        raise Declined(f"a cast to {name}")
    if name == "bigint" and _kind_of(of) is None:
        types, cast = f"{_WHOLE}|{_FLOATING}", _without_fraction(of)
    kind = {"string": "VARCHAR"}.get(name, name.upper())
    return _of_kind(kind, _only(types, of, cast, f"a cast to {name}"))


_WHOLE_TYPES = exp.DataType.INTEGER_TYPES


def _without_fraction(of: exp.Expression) -> exp.Expression:
    """A whole number of a number, whose fraction DuckDB's own cast rounds."""
    whole = exp.cast(of.copy(), "bigint")
    # whatever it is, the query is bound
    number = exp.TryCast(this=of.copy(), to=exp.DataType.build("double"))
    fits = exp.LT(this=_function("abs", number), expression=exp.Literal.number("9007199254740992"))
    cut = exp.If(
        this=fits,
        true=exp.cast(_function("trunc", number), "bigint"),
        false=_ends("a cast to bigint"),
    )
    is_floating = _function("regexp_full_match", _function("typeof", of), _text(_FLOATING))
    cut = exp.If(this=_is_null(of), true=exp.Null(), false=cut)
    return exp.If(this=is_floating, true=cut, false=whole)


def _text(of: str) -> exp.Expression:
    return exp.Literal.string(of)


def _whole_numbers(node: exp.Expression) -> exp.Expression:
    # what is too large is an error, and Spark's to say
    found = node.copy()
    for one in (node.this, node.args.get("expression")):
        if one is not None and not isinstance(one, exp.Literal):
            found = _only(_WHOLE, one, found, type(node).__name__.lower())
    # of whichever width it is: where one may be, all may
    return _of_kind("BIGINT", found)


def _count_if(node: exp.Expression) -> exp.Expression:
    # over no rows 0, where DuckDB's own has NULL
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=node.this))


def _inline(node: exp.Expression) -> exp.Expression:
    depth = exp.PropertyEQ(this=exp.to_identifier("max_depth"), expression=exp.Literal.number(2))
    return exp.Anonymous(this="unnest", expressions=[node.this.copy(), depth])


def _arg_max(node: exp.Expression) -> exp.Expression:
    # DuckDB's own passes over rows whose value is NULL
    return _function("arg_max_null", node.this, node.expression)


def _arg_min(node: exp.Expression) -> exp.Expression:
    return _function("arg_min_null", node.this, node.expression)


def _array_compact(node: exp.Expression) -> exp.Expression:
    return _filtered(node.this, exp.Not(this=_is_null(_element())))


def _array_contains(node: exp.Expression) -> exp.Expression:
    array, value = node.this, node.expression
    has_null = exp.LT(this=_function("list_count", array), expression=_function("len", array))
    return exp.Case(
        ifs=[
            exp.If(this=exp.Or(this=_is_null(array), expression=_is_null(value)), true=exp.Null()),
            exp.If(this=_function("list_contains", array, value), true=exp.true()),
            exp.If(this=has_null, true=exp.Null()),
        ],
        default=exp.false(),
    )


def _array_min(node: exp.Expression) -> exp.Expression:
    rest = node.this
    if isinstance(rest, exp.ArrayExcept):
        # which of equal elements is left does not matter to the least
        none = exp.Coalesce(this=rest.expression.copy(), expressions=[exp.Array()])
        gone = _function("list_contains", none, _element())
        rest = _filtered(rest.this, exp.Not(this=gone))
    return _function("list_min", rest)


def _array_except(node: exp.Expression) -> exp.Expression:
    if isinstance(node.parent, exp.ArrayMin):
        return node
    rest = node.expression
    is_of_nulls = isinstance(rest, exp.Array) and all(map(_gives_null, rest.expressions))
    if not is_of_nulls or not _lists_names(node.this):
        raise Declined("array_except()")
    return _filtered(node.this, exp.Not(this=_is_null(_element())))


def _lists_names(array: exp.Expression) -> bool:
    """Say whether an array has literals on conditions, each once: nothing in it can be double."""
    if not isinstance(array, exp.Array):
        return False
    given = [one.args["true"] for one in array.expressions if isinstance(one, exp.If)]
    names = [one.name for one in given if isinstance(one, exp.Literal)]
    others = [one for one in array.expressions if not isinstance(one, exp.If)]
    return len(names) == len(given) == len(set(names)) and all(map(_gives_null, others))


def _gives_null(value: exp.Expression) -> bool:
    of = value.this if isinstance(value, exp.Alias) else value
    return isinstance(of.this if isinstance(of, exp.Cast) else of, exp.Null)


def _collect_set(node: exp.Expression) -> exp.Expression:
    if not node.find_ancestor(exp.ArrayExcept):
        raise Declined("collect_set()")
    present = exp.Not(this=_is_null(node.this))
    return exp.Filter(this=exp.ArrayAgg(this=node.this), expression=exp.Where(this=present))


def _element() -> exp.Expression:
    return exp.column("one", quoted=True)


def _filtered(array: exp.Expression, condition: exp.Expression) -> exp.Expression:
    function = exp.Lambda(this=condition, expressions=[exp.to_identifier("one", quoted=True)])
    return exp.Anonymous(this="list_filter", expressions=[array.copy(), function])


def _size(node: exp.Expression) -> exp.Expression:
    # of NULL it is a matter of Spark's settings
    return exp.If(
        this=_is_null(node.this), true=_ends("size(NULL)"), false=_function("len", node.this)
    )


def _micros(node: exp.Expression) -> exp.Expression:
    return _only(
        "TIMESTAMP WITH TIME ZONE", node.this, _function("epoch_us", node.this), "unix_micros()"
    )


def _md5(node: exp.Expression) -> exp.Expression:
    return _of_text(node, "md5()", _function("md5", node.this))


def _sha2(node: exp.Expression) -> exp.Expression:
    if node.args.get("length") is None or node.args["length"].name != "256":
        raise Declined("sha2()")
    return _of_text(node, "sha2()", _function("sha256", node.this))


def _octets(node: exp.Expression) -> exp.Expression:
    return _of_kind("BIGINT", _function("strlen", *node.expressions))


def _shown(value: exp.Expression, what: str) -> exp.Expression:
    """Return a part of a text: a text itself, or a whole number."""
    if isinstance(value, exp.Null) or _kind_of(value) == "VARCHAR":
        return value
    return _only(f"{_WHOLE}|VARCHAR", value, exp.cast(value.copy(), "text"), what)


def _concat(node: exp.Expression) -> exp.Expression:
    # DuckDB's own passes over what is NULL
    parts = [_shown(one, "concat()") for one in node.expressions]
    return exp.Paren(this=_of_kind("VARCHAR", _behind_each_other(parts)))


def _behind_each_other(parts: Sequence[exp.Expression]) -> exp.Expression:
    found, *others = parts
    for one in others:
        found = exp.DPipe(this=found, expression=one, safe=False)
    return found


def _joined(node: exp.Expression) -> exp.Expression:
    return _concat(exp.Concat(expressions=[node.this, node.expression]))


def _concat_ws(node: exp.Expression) -> exp.Expression:
    between, *texts = node.expressions
    if not isinstance(between, exp.Literal):
        raise Declined("concat_ws() with a separator of the row's own")
    shown = [_shown(one, "concat_ws()") for one in texts]
    return _of_kind("VARCHAR", _function("concat_ws", between, *shown))


def _trim(node: exp.Expression) -> exp.Expression:
    # DuckDB's own takes every kind of space where none is told
    what, position = node.args.get("expression") or _text(" "), node.args.get("position")
    names = {None: "trim", "BOTH": "trim", "TRAILING": "rtrim", "LEADING": "ltrim"}
    if not isinstance(what, exp.Literal):
        raise Declined("trim() of what the row tells")
    return _of_text(node, "trim()", _function(names[position], node.this, what))


def _of_text(node: exp.Expression, what: str, then: exp.Expression) -> exp.Expression:
    """Return the text that a function makes of one; a value of another type ends the query."""
    return _of_kind("VARCHAR", _only("VARCHAR", node.this, then, what))


_OTHER_CASES = r"\x{1c80}-\x{1c8f}\x{a7c0}-\x{a7ff}\x{10000}-\x{1efff}\x{20000}-\x{10ffff}"
_OTHER_LOWER = rf"[\x{{130}}\x{{3a3}}{_OTHER_CASES}]"
_OTHER_UPPER = (
    r"[\x{149}\x{19b}\x{1f0}\x{250}-\x{2af}\x{390}\x{3b0}\x{587}\x{1e96}-\x{1e9a}"
    rf"\x{{1f50}}-\x{{1fff}}\x{{fb00}}-\x{{fb1f}}{_OTHER_CASES}]"
)
"""Characters, with some of their neighbours, of which one engine knows no other case than it."""


def _lower(node: exp.Expression) -> exp.Expression:
    return _case(node, _function("lower", node.this), _OTHER_LOWER, "lower()")


def _upper(node: exp.Expression) -> exp.Expression:
    # two letters in Java
    spelt = _function("replace", node.this, _text("ß"), _text("ss"))
    return _case(node, _function("upper", spelt), _OTHER_UPPER, "upper()")


def _case(node: exp.Expression, then: exp.Expression, other: str, what: str) -> exp.Expression:
    is_other = _function("regexp_matches", node.this, _text(other))
    return _of_text(node, what, exp.If(this=is_other, true=_ends(what), false=then))


def _substring(node: exp.Expression) -> exp.Expression:
    start, length = node.args.get("start"), node.args.get("length")
    numbers = [one for one in (start, length) if one is not None]
    if start is None or not all(map(_is_count, numbers)) or start.name == "0":
        raise Declined("substring() by what is no number of characters")
    return _of_text(node, "substring()", _function("substring", node.this, *numbers))


def _is_count(value: exp.Expression) -> bool:
    return isinstance(value, exp.Literal) and value.name.isdecimal()


def _left(node: exp.Expression) -> exp.Expression:
    if not _is_count(node.expression):
        raise Declined("left() by what is no number of characters")
    return _of_text(node, "left()", _function("left", node.this, node.expression))


def _replace(node: exp.Expression) -> exp.Expression:
    texts = [node.expression, node.args.get("replacement") or _text("")]
    if not all(isinstance(one, exp.Literal) for one in texts) or not texts[0].name:
        raise Declined("replace() of what is no literal")
    return _of_text(node, "replace()", _function("replace", node.this, *texts))


def _length(node: exp.Expression) -> exp.Expression:
    # Spark's is an int
    count = exp.cast(_function("length", node.this), "int")
    return _of_kind("INTEGER", _only("VARCHAR", node.this, count, "length()"))


def _round(node: exp.Expression) -> exp.Expression:
    """A decimal, or a double by the digits that it is shown with, half away from zero."""
    of, digits = node.this, node.args.get("decimals") or exp.Literal.number(0)
    if not _is_count(digits) or int(digits.name) > 6:
        raise Declined("round() by what is no number of digits")
    if _kind_of(of) != "DOUBLE":
        return _only(r"DECIMAL\(\d+,\d+\)", of, _function("round", of, digits), "round()")
    places = int(digits.name)
    shown = exp.cast(of.copy(), "text")
    cut = exp.cast(exp.cast(shown, f"decimal(38, {places})"), "double")
    size, number = _function("abs", of), exp.Literal.number
    # DuckDB reads a text with an exponent wrong (1.5); NaN is greater than all numbers
    is_odd = exp.Or(
        this=_function("contains", shown.copy(), _text("e")),
        expression=exp.GTE(this=size.copy(), expression=number(9 * 10 ** (15 - places))),
    )
    rounded = exp.Case(
        ifs=[
            exp.If(this=_is_null(of), true=exp.Null()),
            exp.If(
                this=exp.LT(this=size, expression=number(f"4e-{places + 1}")),
                true=exp.cast(number("0"), "double"),
            ),
            exp.If(this=is_odd, true=_ends("round()")),
        ],
        default=cut,
    )
    return _of_kind("DOUBLE", rounded)


def _like(node: exp.Expression) -> exp.Expression:
    # a backslash escapes in Spark alone
    if not isinstance(node.expression, exp.Literal) or "\\" in node.expression.name:
        raise Declined("like")
    return node


def _abs(node: exp.Expression) -> exp.Expression:
    return _only(_FLOATING, node.this, node, "abs()")


def _rint(node: exp.Expression) -> exp.Expression:
    even = _function("round_even", node.this, exp.Literal.number(0))
    return _only(_FLOATING, node.this, even, "rint()")


def _format(node: exp.Expression) -> exp.Expression:
    """Java's %a of a double: a digit after the point, no sign of a positive exponent."""
    pattern, *values = [node.this, *node.expressions] if node.this else node.expressions
    if not isinstance(pattern, exp.Literal) or pattern.name != "%a" or len(values) != 1:
        raise Declined("format_string()")
    (of,) = values
    shown = _function("format", _text("{:a}"), of)
    shown = _function("replace", shown, _text("p+"), _text("p"))
    pointed = exp.If(
        this=_function("contains", shown, _text(".")),
        true=shown,
        false=_function("replace", shown.copy(), _text("p"), _text(".0p")),
    )
    least = exp.LT(this=_function("abs", of), expression=exp.Literal.number("2.3e-308"))
    found = exp.Case(
        ifs=[
            exp.If(this=_is_null(of), true=_text("null")),
            exp.If(this=_function("isnan", of), true=_text("NaN")),
            exp.If(this=exp.EQ(this=of.copy(), expression=_infinity()), true=_text("Infinity")),
            exp.If(
                this=exp.EQ(this=of.copy(), expression=exp.Neg(this=_infinity())),
                true=_text("-Infinity"),
            ),
            # Java shows another form of those
            exp.If(this=least, true=_ends("format_string()")),
        ],
        default=pointed,
    )
    return _only("DOUBLE", of, found, "format_string()")


def _infinity() -> exp.Expression:
    return exp.cast(_text("Infinity"), "double")


def _any_value(node: exp.Expression) -> exp.Expression:
    # DuckDB's own passes over rows whose value is NULL
    return _function("first", node.this)


def _explode(node: exp.Expression) -> exp.Expression:
    return _function("unnest", node.this)


def _sequence(node: exp.Expression) -> exp.Expression:
    first, last = node.args["start"], node.args["end"]
    if node.args.get("step") is not None:
        raise Declined("sequence() with a step")
    numbers = _function("generate_series", first, last)
    # Spark counts down then
    falls = exp.GT(this=first.copy(), expression=last.copy())
    rises = exp.If(this=falls, true=_ends("sequence()"), false=numbers)
    return _only(_WHOLE, first, _only(_WHOLE, last, rises, "sequence()"), "sequence()")


def _sum(node: exp.Expression) -> exp.Expression:
    """A sum of whole numbers, which is a bigint in Spark."""
    of = _only(_WHOLE, node.this, node.this.copy(), "sum()")
    total = exp.Sum(this=of)
    if isinstance(node.parent, exp.Window | exp.Filter):
        return total
    return exp.cast(total, "bigint")


def _json(node: exp.Expression) -> exp.Expression:
    """A row as JSON, NULL kept: of values whose text is the same in both; others end the query."""
    struct, options = node.this, node.args.get("options")
    if not isinstance(struct, exp.Struct) or options is None or options.sql("spark") != _KEEPS_NULL:
        return _ends("to_json()")
    fields = []
    for number, field in enumerate(struct.expressions):
        if not isinstance(field, exp.PropertyEQ):
            return _ends("to_json()")
        name = json.dumps(field.this.name, ensure_ascii=False)
        fields += [
            _text(f"{',' if number else ''}{name}:"),
            _json_value(_crossed(field.expression)),
        ]
    parts = [_text("{"), *fields, _text("}")]
    return exp.Paren(this=_of_kind("VARCHAR", _behind_each_other(parts)))


_KEEPS_NULL = exp.VarMap(
    keys=exp.Array(expressions=[exp.Literal.string("ignoreNullFields")]),
    values=exp.Array(expressions=[exp.Literal.string("false")]),
).sql("spark")


def _json_value(value: exp.Expression) -> exp.Expression:
    kind, text = _function("typeof", value), exp.cast(value.copy(), "text")

    def is_like(text: exp.Expression, pattern: str) -> exp.Expression:
        return _function("regexp_full_match", text, exp.Literal.string(pattern))

    quoted: exp.Expression = text
    for what in ("\\", '"'):
        quoted = _function("replace", quoted, _text(what), _text("\\" + what))
    quoted = _behind_each_other([_text('"'), quoted, _text('"')])
    # the one behind 9999 has a sign, and what is below the blank is written by its number
    is_date = exp.and_(is_like(kind, "DATE"), is_like(text, r"[0-9]{4}-[0-9]{2}-[0-9]{2}"))
    is_text = exp.and_(is_like(kind, "VARCHAR"), is_like(text, r"[^\x00-\x1f]*"))
    return exp.Case(
        ifs=[
            exp.If(this=_is_null(value), true=_text("null")),
            exp.If(this=is_like(kind, _PLAIN), true=text),
            exp.If(this=exp.or_(is_date, is_text), true=quoted),
        ],
        default=_ends("to_json()"),
    )


def _window(node: exp.Expression) -> exp.Expression:
    return exp.cast(node.copy(), "bigint") if isinstance(node.this, exp.Sum) else node


def _ordered(node: exp.Expression) -> exp.Expression:
    """A comparison of what has an order; within a struct DuckDB has NULL as the greatest."""
    for side in (node.this, node.args.get("expression")):
        for one in side.find_all(exp.Column) if isinstance(side, exp.Expression) else ():
            if one.name in _UNORDERED and not isinstance(one.parent, exp.Is):
                raise Declined(f"an order by {one.name}")
    return node


_FORMS: dict[type[exp.Expression], Callable[[exp.Expression], exp.Expression]] = {
    exp.Abs: _abs,
    exp.Add: _whole_numbers,
    exp.AnyValue: _any_value,
    exp.ArgMax: _arg_max,
    exp.ArgMin: _arg_min,
    exp.ArrayCompact: _array_compact,
    exp.ArrayContains: _array_contains,
    exp.ArrayExcept: _array_except,
    exp.ArrayMin: _array_min,
    exp.ArraySize: _size,
    exp.ArrayUniqueAgg: _collect_set,
    exp.Cast: _cast,
    exp.Concat: _concat,
    exp.ConcatWs: _concat_ws,
    exp.CountIf: _count_if,
    exp.DPipe: _joined,
    exp.Explode: _explode,
    exp.Format: _format,
    exp.GT: _ordered,
    exp.GTE: _ordered,
    exp.GenerateSeries: _sequence,
    exp.Inline: _inline,
    exp.LT: _ordered,
    exp.LTE: _ordered,
    exp.Left: _left,
    exp.Length: _length,
    exp.Like: _like,
    exp.Lower: _lower,
    exp.MD5: _md5,
    exp.Max: _ordered,
    exp.Min: _ordered,
    exp.Neg: _whole_numbers,
    exp.Ordered: _ordered,
    exp.Replace: _replace,
    exp.Rint: _rint,
    exp.Round: _round,
    exp.SHA2: _sha2,
    exp.Sub: _whole_numbers,
    exp.Substring: _substring,
    exp.Sum: _sum,
    exp.Trim: _trim,
    exp.TryCast: _cast,
    exp.UnixMicros: _micros,
    exp.Upper: _upper,
    exp.Window: _window,
}
_UNORDERED = ("_sequence_by",)
"""Columns of structs whose members may be NULL."""
_FUNCTIONS = {"octet_length": _octets}
_UNSEEN = (exp.Hint, exp.DataType, exp.DataTypeParam)
"""Nodes that are judged with the one they belong to."""
_MOST_NODES = 5_000
_TOO_MANY_PARTS = "SQL of too many parts"
_COMMENT = re.compile(r"\A\s*/\*.*?\*/", re.DOTALL)


def inserted(sql: str) -> tuple[tuple[str, str], str]:
    """Return the table that an INSERT names, schema and name, and its query, by its columns' names.

    Raises:
        Declined: It is no plain `insert into schema.table (columns) query`.
    """
    tree = _tree_of(sql)
    target = tree.this if isinstance(tree, exp.Insert) else None
    if not isinstance(target, exp.Schema) or tree.args.get("overwrite"):
        raise Declined("a statement that is no plain insert")
    table, query = target.this, tree.expression
    if not table.args.get("db") or table.args.get("catalog") or not isinstance(query, exp.Query):
        raise Declined("a statement that is no plain insert")
    names = ", ".join(one.sql(dialect="spark") for one in target.expressions)
    text = f"select * from ({query.sql(dialect='spark')}) as inserted_rows({names})"
    return (table.args["db"].name, table.name), text


def crossed(sql: str, known_as: Callable[[str | None, str], str] | None = None) -> str:
    """Return a query of Spark's in DuckDB's SQL.

    Example:
        >>> crossed("select count_if(a <=> 1) as n from t", lambda schema, name: name.upper())
        'SELECT COUNT(*) FILTER(WHERE a IS NOT DISTINCT FROM 1) AS n FROM "T" AS "t"'

    Args:
        sql: The query.
        known_as: Gives what DuckDB calls a table or a view, by its schema, if one is told, and
            name; None: what Spark does. It is not asked of what the query itself defines.

    Raises:
        Declined: Something in it is not proven to mean the same.
    """
    if "${" in sql.replace(PEPPER, ""):
        raise Declined("a variable that Spark puts into SQL")
    root: Any = _tree_of(sql)
    is_query = isinstance(root, exp.Query)
    if not is_query:
        raise Declined("a statement that is no query")
    try:
        if known_as is not None:
            _rename(root, known_as)
        return _applied(root).sql(dialect="duckdb", comments=False)
    except RecursionError as error:
        raise Declined(_TOO_MANY_PARTS) from error


def crossed_expression(sql: str, kinds: Mapping[str, str], kind: str) -> str:
    """Return an expression of Spark's in DuckDB's SQL.

    Args:
        sql: The expression.
        kinds: The columns that it sees, with their types in DuckDB.
        kind: The type that its value has there; one of another type ends the query.

    Raises:
        Declined: As of crossed(), and of check_types().
    """
    check_types(sql, kinds)
    (tree,) = _tree_of(f"select {sql}").expressions
    for column in tree.find_all(exp.Column):
        if column.name in kinds:
            _of_kind(kinds[column.name], column)
    of = exp.Paren(this=_applied(tree))
    types = _WHOLE if re.fullmatch(_WHOLE, kind) else re.escape(kind)
    types = re.sub(r"(?<=DECIMAL\\\()\d+", r"\\d+", types)
    ending = f"a value that is no {kind.split('(')[0]}"
    return _only(types, of, exp.cast(of.copy(), kind, dialect="duckdb"), ending).sql("duckdb")


_COMPARED = (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NEQ, exp.NullSafeEQ, exp.Nullif)
_JOINED = (exp.Array, exp.Case, exp.Coalesce, exp.Greatest, exp.If, exp.Least)
"""Nodes whose value has the type that their operands have in common."""


def check_types(sql: str, kinds: Mapping[str, str]) -> None:
    """Decline an expression in which values of two types meet.

    Whoever writes one leaves the type that they have in common to the engine, and each may have
    another: of `rate = 0.1` with a float Spark compares doubles, DuckDB floats, which are equal.

    Example:
        >>> check_types("coalesce(n, '')", {"n": "INTEGER"})
        Traceback (most recent call last):
        tidemark.sessions.declined.Declined: INT and STRING meet in coalesce(n, '')

    Args:
        sql: The expression, as of Spark.
        kinds: The columns that it sees, with their types in DuckDB.

    Raises:
        Declined: Two types meet, or one is not known.
    """
    _check_tree(_tree_of(f"select {sql} from t"), {"t": kinds}, sql)


def check_query(sql: str, kinds_of: Callable[[str | None, str], Mapping[str, str]]) -> None:
    """Decline a query of a user's in which values of two types meet, as check_types() does.

    Args:
        sql: The query, as of Spark.
        kinds_of: Gives the columns of a table or a view, by its schema, if one is told, and name,
            with their types in DuckDB.

    Raises:
        Declined: Two types meet, or one is not known.
    """
    tree = _tree_of(sql)
    is_query = isinstance(tree, exp.Query)
    if not is_query:
        raise Declined("a statement that is no query")
    kinds: dict[str, Mapping[str, str]] = {}

    def known_as(schema: str | None, name: str) -> str:
        kinds[f"t{len(kinds)}"] = kinds_of(schema, name)
        return f"t{len(kinds) - 1}"

    _rename(tree, known_as)
    _check_tree(tree, kinds, "the model's SELECT")


def _check_tree(tree: Any, kinds: Mapping[str, Mapping[str, str]], where: str) -> None:
    from sqlglot.optimizer.annotate_types import annotate_types
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.schema import MappingSchema

    # names are normalized here: sqlglot would parse them, and takes `a;b` for two statements
    named: dict[str, object] = {
        table: {name.lower(): kind for name, kind in columns.items()}
        for table, columns in kinds.items()
    }
    schema = MappingSchema(named, dialect="duckdb", normalize=False)
    try:
        tree = qualify(_applied_to_one(tree), schema=schema, dialect="spark")
        tree = annotate_types(tree, schema=schema, dialect="spark")
    except (SqlglotError, *ODD_SQL) as error:
        raise Declined(f"columns that are not told apart in {where}") from error
    except RecursionError as error:
        raise Declined(_TOO_MANY_PARTS) from error
    for node in tree.walk():
        is_compared = not isinstance(node, (*_JOINED, exp.SetOperation))
        for values in _meeting(node):
            met = [one for one in values if one is not None and not _gives_null(one)]
            if not _are_alike(met, is_compared):
                names = sorted({one.type.sql("spark") if one.type else "UNKNOWN" for one in met})
                raise Declined(f"{' and '.join(names)} meet in {where}")


def _meeting(node: exp.Expression) -> list[list[Any]]:
    """Return operands of a node that it brings to one type."""
    if isinstance(node, exp.Case):
        ifs = node.args["ifs"]
        cases = [] if node.this is None else [[node.this, *[one.this for one in ifs]]]
        return [*cases, [*[one.args["true"] for one in ifs], node.args.get("default")]]
    if isinstance(node, exp.If):
        # those of a CASE are looked at with it
        is_branch = isinstance(node.parent, exp.Case)
        return [] if is_branch else [[node.args["true"], node.args.get("false")]]
    if isinstance(node, exp.Between):
        return [[node.this, node.args["low"], node.args["high"]]]
    if isinstance(node, _COMPARED):
        return [[node.this, node.expression]]
    if isinstance(node, exp.SetOperation):
        sides = node.this.selects, node.expression.selects
        return [list(pair) for pair in zip(*sides, strict=False)]
    if isinstance(node, exp.Lag | exp.Lead):
        return [[node.this, node.args.get("default")]]
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return [[node.this, *node.args["query"].unnest().selects]]
    if isinstance(node, exp.In | exp.Coalesce | exp.Greatest | exp.Least):
        return [[node.this, *node.expressions]]
    return [node.expressions] if isinstance(node, exp.Array) else []


def _are_alike(values: Sequence[exp.Expression], is_compared: bool) -> bool:
    """Say whether engines have the same type in common for values."""
    kinds = {_class_of(one, is_compared) for one in values} - {"a number"}
    has_number = any(map(_is_number, values))
    return not (
        "" in kinds
        or len(kinds) > 1
        or (has_number and kinds & {"REAL", "VARCHAR", "BOOLEAN", "DATE"})
    )


def _is_number(value: exp.Expression) -> bool:
    of = value.this if isinstance(value, exp.Neg) else value
    return isinstance(of, exp.Literal) and not of.is_string


def _class_of(value: exp.Expression, is_compared: bool) -> str:
    """Return what a value is alike with; of a number that is written down: whatever counts."""
    kind = value.type
    if kind is None or kind.this in (exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL):
        return ""
    if _is_number(value):
        number = value.find(exp.Literal)
        return "a number" if is_compared or (number and number.name.isdecimal()) else "DECIMAL"
    if kind.this in exp.DataType.INTEGER_TYPES:
        return "a whole number"
    if kind.this in exp.DataType.TEXT_TYPES:
        return "VARCHAR"
    # scales of decimals differ
    return kind.sql("duckdb")


def _tree_of(sql: str) -> Any:
    try:
        return sqlglot.parse_one(_COMMENT.sub("", sql), read="spark")
    except (SqlglotError, *ODD_SQL) as error:
        raise Declined("SQL that is not understood") from error
    except RecursionError as error:
        raise Declined(_TOO_MANY_PARTS) from error


def _applied(tree: exp.Expression) -> exp.Expression:
    """Return a tree in DuckDB's form."""
    return _crossed(_applied_to_one(tree))


def _applied_to_one(tree: exp.Expression) -> exp.Expression:
    """Return a tree in which an expression that is applied to one value has it in its place."""
    # a root of its own can be replaced
    whole = exp.Paren(this=tree)
    for one in list(whole.find_all(exp.Bracket)):
        _apply(one)
    found: exp.Expression = whole.this
    return found


def _apply(node: exp.Bracket) -> None:
    """Put the value in the place of its name where an expression is applied to one value."""
    of, places = node.this, node.expressions
    if not isinstance(of, exp.Transform) or [one.sql() for one in places] != ["0"]:
        return
    array, function = of.this, of.expression
    if not isinstance(array, exp.Array) or len(array.expressions) != 1:
        return
    (value,), (name,) = array.expressions, function.expressions
    body = exp.Paren(this=function.this.copy())
    for one in list(body.find_all(exp.Identifier)):
        known = one.parent if isinstance(one.parent, exp.Column) else one
        if one.name.lower() == name.name.lower() and not known.args.get("table"):
            known.replace(exp.Paren(this=value.copy()))
    node.replace(body)


def _rename(tree: exp.Expression, known_as: Callable[[str | None, str], str]) -> None:
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        schema, name = table.args.get("db"), table.name
        if table.args.get("catalog"):
            raise Declined("a table of another catalogue")
        if schema is None and name.lower() in own:
            continue
        renamed = known_as(None if schema is None else schema.name, name)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        table.set("this", exp.to_identifier(renamed, quoted=True))
        table.set("db", None)


def _crossed(node: exp.Expression) -> exp.Expression:
    """Return a node in DuckDB's form, and all within it before."""
    kind = type(node)
    if kind in _UNSEEN:
        return node
    if kind is exp.JSONFormat:
        # what it is called with is its own to cross
        return _json(node)
    if kind is exp.Select:
        node.set("hint", None)
    form = _FORMS.get(kind)
    if kind is exp.Anonymous:
        form = _FUNCTIONS.get(node.name.lower())
    if form is None and kind not in _ALIKE:
        raise Declined(_name_of(node))
    for name, value in list(node.args.items()):
        if isinstance(value, exp.Expression):
            node.set(name, _crossed(value))
        elif isinstance(value, list):
            within = [_crossed(one) if isinstance(one, exp.Expression) else one for one in value]
            node.set(name, within)
    return _of_bounded_size(form(node)) if form else node


def _of_bounded_size(node: exp.Expression) -> exp.Expression:
    """Decline what grew too large: a form has its operand several times, and so on within it."""
    if next(islice(node.walk(), _MOST_NODES, None), None) is not None:
        raise Declined(_TOO_MANY_PARTS)
    return node


def _name_of(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return f"{node.name.lower()}()"
    if isinstance(node, exp.Func):
        return f"{node.sql_name().lower()}()"
    return type(node).__name__
