"""What of Spark's SQL may cross to DuckDB, and in which form: all of it means the same there.

    Spark SQL ─► tree ─► what is not in these tables declines, by name ─► DuckDB's SQL

A library writes the tree in the other dialect. What a node of the tree means is not its matter:
here stand the nodes whose meaning is known to be the same in both engines, or has a form that makes
it so. How a text is read as a value is none of it: that is the readers' part.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidemark.sessions.declined import BY_SPARK, Declined

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
        exp.Ordered,
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
        exp.GT,
        exp.GTE,
        exp.Greatest,
        exp.If,
        exp.In,
        exp.Is,
        exp.LT,
        exp.LTE,
        exp.Least,
        exp.Literal,
        exp.NEQ,
        exp.Not,
        exp.Null,
        exp.NullSafeEQ,
        exp.Or,
        exp.PropertyEQ,
        exp.Struct,
        # aggregates and windows
        exp.Count,
        exp.Distinct,
        exp.Filter,
        exp.IgnoreNulls,
        exp.Lag,
        exp.LastValue,
        exp.Lead,
        exp.LogicalOr,
        exp.Max,
        exp.Min,
        exp.RowNumber,
        exp.Sum,
        exp.Window,
        exp.WindowSpec,
    }
)


def _function(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[one.copy() for one in arguments])


def _is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _only(types: str, value: exp.Expression, then: exp.Expression, what: str) -> exp.Expression:
    """Return `then` for a value of some types; one of another ends the query.

    Types are known where DuckDB binds the query, which leaves nothing of the condition.
    """
    kind = _function("typeof", value)
    is_one = _function("regexp_full_match", kind, exp.Literal.string(types))
    return exp.If(this=is_one, true=then, false=_ends(what))


def _ends(what: str) -> exp.Expression:
    return _function("error", exp.Literal.string(f"{BY_SPARK}: {what}"))


_WHOLE = "TINYINT|SMALLINT|INTEGER|BIGINT"
_TEXTS = rf"{_WHOLE}|VARCHAR|BOOLEAN|DATE|DECIMAL\(\d+,[0-6]\)"


def _cast(node: exp.Expression) -> exp.Expression:
    """A text of a value, or a wider whole number; else of constants alone."""
    of, to = node.this, node.args["to"]
    cast = exp.Cast(this=of.copy(), to=to)
    is_constant = isinstance(of, exp.Null | exp.Literal | exp.Boolean)
    if is_constant or (isinstance(of, exp.Array) and not of.expressions):
        return cast
    name = to.sql(dialect="spark").lower()
    types = {"string": _TEXTS, "bigint": _WHOLE, "date": "DATE"}.get(name)
    if types is None:
        raise Declined(f"a cast to {name}")
    return _only(types, of, cast, f"a cast to {name}")


def _whole_numbers(node: exp.Expression) -> exp.Expression:
    # what is too large is an error, and Spark's to say
    found = node.copy()
    for one in (node.this, node.args.get("expression")):
        if one is not None and not isinstance(one, exp.Literal):
            found = _only(_WHOLE, one, found, type(node).__name__.lower())
    return found


def _count_if(node: exp.Expression) -> exp.Expression:
    # over no rows 0, where DuckDB's own has NULL
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=node.this))


def _inline(node: exp.Expression) -> exp.Expression:
    depth = exp.PropertyEQ(this=exp.to_identifier("max_depth"), expression=exp.Literal.number(2))
    return exp.Anonymous(this="unnest", expressions=[node.this.copy(), depth])


def _arg_max(node: exp.Expression) -> exp.Expression:
    # DuckDB's own passes over rows whose value is NULL
    return _function("arg_max_null", node.this, node.expression)


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
    if not isinstance(node.parent, exp.ArrayMin):
        raise Declined("array_except()")
    return node


def _collect_set(node: exp.Expression) -> exp.Expression:
    if not node.find_ancestor(exp.ArrayExcept):
        raise Declined("collect_set()")
    told = exp.Not(this=_is_null(node.this))
    return exp.Filter(this=exp.ArrayAgg(this=node.this), expression=exp.Where(this=told))


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
    return _only("VARCHAR", node.this, _function("md5", node.this), "md5()")


def _octets(node: exp.Expression) -> exp.Expression:
    return _function("strlen", *node.expressions)


_FORMS: dict[type[exp.Expression], Callable[[exp.Expression], exp.Expression]] = {
    exp.Add: _whole_numbers,
    exp.ArgMax: _arg_max,
    exp.ArrayCompact: _array_compact,
    exp.ArrayContains: _array_contains,
    exp.ArrayExcept: _array_except,
    exp.ArrayMin: _array_min,
    exp.ArraySize: _size,
    exp.ArrayUniqueAgg: _collect_set,
    exp.Cast: _cast,
    exp.CountIf: _count_if,
    exp.Inline: _inline,
    exp.MD5: _md5,
    exp.Neg: _whole_numbers,
    exp.Sub: _whole_numbers,
    exp.TryCast: _cast,
    exp.UnixMicros: _micros,
}
_FUNCTIONS = {"octet_length": _octets}
_ENDS: dict[type[exp.Expression], str] = {exp.JSONFormat: "to_json()"}
"""Nodes of rejects alone: a row that gets there ends the query."""
_UNSEEN = (exp.Hint, exp.DataType, exp.DataTypeParam)
"""Nodes that are judged with the one they belong to."""
_COMMENT = re.compile(r"\A\s*/\*.*?\*/", re.DOTALL)


def tree_of(sql: str) -> Any:
    """Return the tree of a query of Spark's.

    Raises:
        Declined: It is none that is understood.
    """
    try:
        tree = sqlglot.parse_one(_COMMENT.sub("", sql), read="spark")
    except SqlglotError as error:
        raise Declined("SQL that is not understood") from error
    if not isinstance(tree, exp.Query):
        raise Declined("a statement that is no query")
    return tree


def inserted(sql: str) -> tuple[tuple[str, str], str]:
    """Return the table that an INSERT names, schema and name, and its query, by its columns' names.

    Raises:
        Declined: It is no plain `insert into schema.table (columns) query`.
    """
    try:
        tree: Any = sqlglot.parse_one(_COMMENT.sub("", sql), read="spark")
    except SqlglotError as error:
        raise Declined("SQL that is not understood") from error
    target = tree.this if isinstance(tree, exp.Insert) else None
    if not isinstance(target, exp.Schema) or tree.args.get("overwrite"):
        raise Declined("a statement that is no plain insert")
    table, query = target.this, tree.expression
    if not table.args.get("db") or table.args.get("catalog") or not isinstance(query, exp.Query):
        raise Declined("a statement that is no plain insert")
    names = ", ".join(one.sql(dialect="spark") for one in target.expressions)
    text = f"select * from ({query.sql(dialect='spark')}) as inserted_rows({names})"
    return (table.args["db"].name, table.name), text


def tables_of(tree: exp.Expression) -> list[exp.Table]:
    """Return the tables and views that a query names, those aside that it defines itself."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    return [
        table
        for table in tree.find_all(exp.Table)
        if table.args.get("db") or table.name.lower() not in own
    ]


def duck_sql(tree: exp.Expression) -> str:
    """Return a query in DuckDB's SQL; its tables are those that DuckDB has by these names.

    Example:
        >>> duck_sql(tree_of("select count_if(a <=> 1) as n from t"))
        'SELECT COUNT(*) FILTER(WHERE a IS NOT DISTINCT FROM 1) AS n FROM t'

    Raises:
        Declined: Something in it is not proven to mean the same.
    """
    try:
        return _crossed(tree.copy()).sql(dialect="duckdb", comments=False)
    except RecursionError as error:
        raise Declined("SQL of too many parts") from error


def _crossed(node: exp.Expression) -> exp.Expression:
    """Return a node in DuckDB's form, and all within it before."""
    kind = type(node)
    if kind in _UNSEEN:
        return node
    if kind in _ENDS:
        return _ends(_ENDS[kind])
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
    return form(node) if form else node


def _name_of(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return f"{node.name.lower()}()"
    if isinstance(node, exp.Func):
        return f"{node.sql_name().lower()}()"
    return type(node).__name__
