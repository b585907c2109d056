"""Which columns of which tables the columns of a SELECT come from. sqlglot reads the SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope
from sqlglot.schema import MappingSchema

from tidemark.errors import ODD_SQL, first_line
from tidemark.lineage.links import (
    AGGREGATION,
    ALL,
    CONDITIONAL,
    FILTER,
    GROUP_BY,
    IDENTITY,
    JOIN,
    SORT,
    TRANSFORMATION,
    WINDOW,
    How,
    Link,
    merged,
)
from tidemark.lineage.query import Query, SqlNotReadError

# a value goes through them as it is, so that a field of it is the same field behind them
_CARRIERS = (
    exp.AnyValue,
    exp.ArgMax,
    exp.ArgMin,
    exp.Coalesce,
    exp.First,
    exp.FirstValue,
    exp.Lag,
    exp.Last,
    exp.LastValue,
    exp.Lead,
    exp.Max,
    exp.Min,
    exp.NthValue,
)
# sqlglot's tree has them under aggregates, but they give a value of one row
_PICKS = (exp.FirstValue, exp.Lag, exp.LastValue, exp.Lead, exp.NthValue)
_HASHES = (exp.MD5, exp.SHA, exp.SHA2)
_HASH_NAMES = {"crc32", "hash", "sha", "sha1", "xxhash64"}

Path = tuple[str, ...]
Schemas = Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True)
class Traced:
    """The lineage of a query.

    Attributes:
        columns: What each column follows from, in the order of the query.
        rows: What decides which rows there are, and in which order.
        opened: `select *` from tables with unknown columns, one link with column ALL for each.
        notes: What could not be told.
    """

    columns: dict[str, tuple[Link, ...]]
    rows: tuple[Link, ...] = ()
    opened: tuple[Link, ...] = ()
    notes: tuple[str, ...] = field(default=())


def trace(query: Query, schemas: Schemas) -> Traced:
    """Follow every column of a query to the tables.

    Args:
        query: What read_query() gave. It is used up.
        schemas: Columns and types of the tables by key; a table that is left out has columns that
            are not known.

    Raises:
        SqlNotReadError: The query contradicts itself or its tables.
    """
    known = {
        key: {name.lower(): data_type or "string" for name, data_type in columns.items()}
        for key, columns in schemas.items()
    }
    spellings = dict(query.spellings)
    for columns in schemas.values():
        for name in columns:
            spellings.setdefault(name.lower(), name)
    try:
        tree = qualify(
            query.expression,
            dialect="spark",
            schema=_schema(known),
            validate_qualify_columns=False,
            allow_partial_qualification=True,
            quote_identifiers=False,
            identify=False,
        )
        root = build_scope(tree)
    except (SqlglotError, *ODD_SQL) as error:
        raise SqlNotReadError(first_line(error)) from error
    if root is None:
        raise SqlNotReadError("it is not a SELECT")
    tracer = _Tracer({key: list(columns) for key, columns in known.items()})
    columns_of: dict[str, tuple[Link, ...]] = {}
    opened: list[Link] = []
    for name in tracer.names(root):
        links = merged(tracer.output(root, name, ()))
        if name == ALL:
            opened += links
        else:
            columns_of[spellings.get(name, name)] = links
    return Traced(columns_of, merged(tracer.rows(root)), tuple(opened), tuple(tracer.notes))


def _schema(known: Mapping[str, Mapping[str, str]]) -> MappingSchema:
    # names are normalized already: sqlglot would take dots in them apart
    tables: dict[str, object] = {
        key: {
            name: exp.DataType.build("string") if "<" in kind or "(" in kind else kind
            for name, kind in columns.items()
        }
        for key, columns in known.items()
    }
    return MappingSchema(tables, dialect="spark", normalize=False)


class _Tracer:
    """Walks the scopes of one qualified query."""

    def __init__(self, known: Mapping[str, Sequence[str]]) -> None:
        self._known = known
        self._outputs: dict[tuple[int, str, Path], tuple[Link, ...]] = {}
        self._rows: dict[int, tuple[Link, ...]] = {}
        self._open: set[int] = set()
        self.notes: list[str] = []

    # --- what a scope gives

    def names(self, scope: Scope) -> list[str]:
        """Return the names of a scope's columns; ALL where they are not known."""
        expression = scope.expression
        if isinstance(expression, exp.SetOperation):
            return self.names(scope.set_operation_scopes[0])
        if isinstance(expression, exp.Subquery):
            return self.names(scope.derived_table_scopes[0]) if scope.derived_table_scopes else []
        if isinstance(expression, exp.Query):
            names = [name for item in _selects(expression) for name in _names_of(item)]
            return list(dict.fromkeys(names))
        return []

    def output(self, scope: Scope, name: str, path: Path) -> tuple[Link, ...]:
        """Return what a column of a scope, or a field of it, follows from."""
        place = (id(scope), name, path)
        if place not in self._outputs:
            self._outputs[place] = ()  # a recursive CTE asks for itself
            self._outputs[place] = merged(self._output(scope, name, path))
        return self._outputs[place]

    def _output(self, scope: Scope, name: str, path: Path) -> Iterator[Link]:
        expression = scope.expression
        if isinstance(expression, exp.SetOperation):
            yield from self._of_set_operation(scope, name, path)
        elif isinstance(expression, exp.Subquery):
            for inner in scope.derived_table_scopes[:1]:
                yield from self.output(inner, name, path)
        elif isinstance(expression, exp.Query):
            chosen = [item for item in _selects(expression) if name in _names_of(item)]
            if name != ALL and chosen:
                yield from self.value(chosen[0], scope, path)
                return
            for star in filter(_is_star, _selects(expression)):
                yield from self._of_star(star, scope, name, path)
        elif scope.subquery_scopes:
            # lateral (select …)
            for inner in scope.subquery_scopes:
                yield from self.output(inner, name, path)
        elif scope.parent is not None:
            # a table function: what it gives is made of its arguments, columns beside it
            for argument in expression.iter_expressions():
                if not isinstance(argument, exp.TableAlias):
                    found = self.value(argument, scope.parent, ())
                    yield from (link.via(TRANSFORMATION) for link in found)

    def _of_set_operation(self, scope: Scope, name: str, path: Path) -> Iterator[Link]:
        sides = scope.set_operation_scopes
        names = self.names(sides[0])
        by_name = bool(scope.expression.args.get("by_name"))
        for number, side in enumerate(sides):
            its_names = self.names(side)
            # columns meet by their place, unless a side's are not known
            if by_name or ALL in its_names or ALL in names or name not in names:
                its_name = name if name in its_names else ALL
            else:
                place = names.index(name)
                its_name = its_names[place] if place < len(its_names) else ALL
            links = self.output(side, its_name, path)
            if its_name == ALL and name != ALL:
                links = self._named(links, name)
            if number and not isinstance(scope.expression, exp.Union):
                # EXCEPT and INTERSECT: the other side only says which rows stay
                links = tuple(link.via(FILTER) for link in links)
            yield from links

    def _of_star(self, star: exp.Expr, scope: Scope, name: str, path: Path) -> Iterator[Link]:
        if isinstance(star, exp.Dot) or (isinstance(star, exp.Column) and star.args.get("db")):
            # the fields of a struct
            found = self.value(_without_star(star), scope, ())
            yield from (link.via(TRANSFORMATION) for link in found)
            return
        sources = _sources(scope)
        qualifier = star.table if isinstance(star, exp.Column) else ""
        wanted = [qualifier] if qualifier else list(sources)
        if len(wanted) == 1 and wanted[0] not in sources:
            column = exp.column(wanted[0])
            yield from self._via(column, scope, TRANSFORMATION)
            return
        for alias in wanted:
            yield from self._from_source(sources[alias], name, path)

    def _from_source(self, source: exp.Expr | Scope, name: str, path: Path) -> Iterator[Link]:
        if isinstance(source, Scope):
            names = self.names(source)
            if name in names or not names:
                yield from self.output(source, name, path)
            elif ALL in names:
                yield from self._named(self.output(source, ALL, path), name)
        elif isinstance(source, exp.Table) and "key" in source.meta:
            key = source.meta["key"]
            given = source.alias_column_names
            if name in given:  # `as t(a, b)`: by their place
                stored = self._known.get(key, ())
                place = given.index(name)
                name = stored[place] if place < len(stored) else ALL
            yield Link(key, name, TRANSFORMATION if path else IDENTITY)
        elif isinstance(source, exp.Table):
            self._note(f"columns of the function `{source.this.name}` cannot be followed")

    def _named(self, links: Iterable[Link], name: str) -> tuple[Link, ...]:
        """Read a column out of `*`: of a table it is the one of that name."""
        return tuple(
            replace(link, column=name) if link.column == ALL and link.how == IDENTITY else link
            for link in links
        )

    # --- what an expression is made of

    def value(self, node: exp.Expr, scope: Scope, path: Path) -> tuple[Link, ...]:
        """Return what an expression, or a field of its value, follows from."""
        return merged(self._value(node, scope, path))

    def _value(self, node: exp.Expr, scope: Scope, path: Path) -> Iterator[Link]:
        if isinstance(node, exp.Alias | exp.Paren | exp.Ordered):
            yield from self._value(node.this, scope, path)
        elif isinstance(node, exp.Column):
            yield from self._column(node, scope, path)
        elif isinstance(node, exp.Dot):
            yield from self._value(node.this, scope, (node.expression.name, *path))
        elif isinstance(node, exp.Struct):
            yield from self._struct(node, scope, path)
        elif isinstance(node, exp.If):
            yield from self._via(node.this, scope, CONDITIONAL)
            for side in ("true", "false"):
                yield from self._via(node.args.get(side), scope, TRANSFORMATION, path)
        elif isinstance(node, exp.Case):
            yield from self._via(node.this, scope, CONDITIONAL)
            for branch in node.args["ifs"]:
                yield from self._via(branch.this, scope, CONDITIONAL)
                yield from self._via(branch.args.get("true"), scope, TRANSFORMATION, path)
            yield from self._via(node.args.get("default"), scope, TRANSFORMATION, path)
        elif isinstance(node, exp.Window):
            yield from self._value(node.this, scope, path)
            for window in (node, *_named_window(node, scope)):
                for key in ("partition_by", "order"):
                    for item in _listed(window.args.get(key)):
                        yield from self._via(item, scope, WINDOW)
        elif isinstance(node, exp.Filter):
            yield from self._value(node.this, scope, path)
            yield from self._via(node.expression, scope, CONDITIONAL)
        elif isinstance(node, exp.Query) or (
            isinstance(node, exp.Subquery | exp.Exists) and isinstance(node.this, exp.Query)
        ):
            yield from self._subquery(node, scope, path)
        elif isinstance(node, exp.ArgMax | exp.ArgMin):
            yield from self._via(node.this, scope, AGGREGATION, path)
            yield from self._via(node.expression, scope, CONDITIONAL)
        elif isinstance(node, exp.Lambda):
            bound = {item.name for item in node.expressions}
            for column in node.this.find_all(exp.Column):
                if column.parts[0].name not in bound:
                    yield from self._via(column, scope, TRANSFORMATION)
        else:
            how = _how_of(node)
            onward = path if isinstance(node, _CARRIERS) else ()
            for child in node.iter_expressions():
                if not isinstance(child, exp.DataType | exp.Identifier | exp.Literal):
                    yield from self._via(child, scope, how, onward)

    def _via(
        self, node: exp.Expr | None, scope: Scope, how: How, path: Path = ()
    ) -> Iterator[Link]:
        if node is not None:
            yield from (link.via(how) for link in self.value(node, scope, path))

    def _struct(self, node: exp.Struct, scope: Scope, path: Path) -> Iterator[Link]:
        for item in node.expressions:
            named = isinstance(item, exp.PropertyEQ)
            value = item.expression if named else item
            name = item.this.name if named else item.alias_or_name
            if not path:
                yield from self._via(value, scope, TRANSFORMATION)
            elif name.lower() == path[0].lower():
                yield from self._value(value, scope, path[1:])

    def _subquery(self, node: exp.Expr, scope: Scope, path: Path) -> Iterator[Link]:
        query = node if isinstance(node, exp.Query) else node.this
        while isinstance(query, exp.Subquery):
            query = query.this
        for inner in scope.subquery_scopes:
            if inner.expression is query:
                for name in self.names(inner):
                    found = self.output(inner, name, path)
                    yield from (link.via(TRANSFORMATION) for link in found)
                yield from self.rows(inner)

    def _column(self, column: exp.Column, scope: Scope, path: Path) -> Iterator[Link]:
        name = column.name
        if isinstance(column.this, exp.Star):
            yield from self._of_star(column, scope, ALL, path)
            return
        here: Scope | None = scope
        while here is not None:
            sources = _sources(here) | _joined(here)
            if column.table in sources:
                yield from self._from_source(sources[column.table], name, path)
                return
            for source, pivot in _pivots(here, column.table):
                yield from self._of_pivot(source, pivot, name, here)
                return
            if not column.table:
                found = list(self._unqualified(name, here, path))
                if found or here.parent is None:
                    yield from found
                    return
            here = here.parent
        # a struct whose table is not known: struct.field
        if column.table:
            base = exp.column(column.parts[0].copy())
            fields = tuple(part.name for part in column.parts[1:])
            yield from self._column(base, scope, (*fields, *path))

    def _of_pivot(
        self, source: exp.Expr | Scope, pivot: exp.Pivot, name: str, scope: Scope
    ) -> Iterator[Link]:
        if name not in [column.name for column in pivot.args.get("columns") or ()]:
            yield from self._from_source(source, name, ())
            return
        for value in pivot.expressions:
            yield from self._via(value, scope, AGGREGATION)
        for item in pivot.args.get("fields") or ():
            yield from self._via(item.this, scope, CONDITIONAL)

    def _unqualified(self, name: str, scope: Scope, path: Path) -> Iterator[Link]:
        """Find a column that qualify() could not: of `order by`, or of tables not known."""
        sources = _sources(scope)
        having = [source for source in sources.values() if self._may_have(source, name)]
        if not having and len(sources) == 1 and not _is_alias(scope, name):
            having = [source for source in sources.values() if isinstance(source, exp.Table)]
        if len(having) == 1:
            yield from self._from_source(having[0], name, path)
            return
        expression = scope.expression
        if isinstance(expression, exp.Select):
            for item in expression.selects:
                if (
                    isinstance(item, exp.Alias)
                    and item.alias == name
                    and id(item) not in self._open
                ):
                    self._open.add(id(item))  # `a as a` names itself
                    try:
                        yield from self._value(item.this, scope, path)
                    finally:
                        self._open.discard(id(item))
                    return
        if having and scope.parent is None:
            self._note(
                f"several tables ({len(having)}) may have `{name}`: qualify the column with "
                "its table"
            )

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _may_have(self, source: exp.Expr | Scope, name: str) -> bool:
        if isinstance(source, Scope):
            names = self.names(source)
            return name in names or ALL in names
        return isinstance(source, exp.Table) and source.meta.get("key") not in self._known

    # --- what decides on rows

    def rows(self, scope: Scope) -> tuple[Link, ...]:
        """Return what decides which rows a scope has."""
        if id(scope) not in self._rows:
            self._rows[id(scope)] = ()
            self._rows[id(scope)] = merged(self._rows_of(scope))
        return self._rows[id(scope)]

    def _rows_of(self, scope: Scope) -> Iterator[Link]:
        expression = scope.expression
        if isinstance(expression, exp.SetOperation):
            for side in scope.set_operation_scopes:
                yield from self.rows(side)
        for source in (_sources(scope) | _joined(scope)).values():
            if isinstance(source, Scope):
                yield from self.rows(source)
        if not isinstance(expression, exp.Query):
            return
        for key, how in (
            ("where", FILTER),
            ("having", FILTER),
            ("qualify", FILTER),
            ("group", GROUP_BY),
            ("order", SORT),
            ("sort", SORT),
        ):
            yield from self._via(expression.args.get(key), scope, how)
        for join in expression.args.get("joins") or ():
            yield from self._via(join.args.get("on"), scope, JOIN)


def _pivots(scope: Scope, alias: str) -> Iterator[tuple[exp.Expr | Scope, exp.Pivot]]:
    """Find a pivot by the alias that qualify() gives it."""
    for node, source in scope.selected_sources.values():
        for pivot in node.args.get("pivots") or ():
            if pivot.alias == alias:
                yield source, pivot


def _named_window(node: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """Return what `over w` stands for."""
    windows = scope.expression.args.get("windows") or []
    return [item for item in windows if node.alias and item.name == node.alias]


def _names_of(item: exp.Expr) -> list[str]:
    """Return the names that an item of SELECT gives: a generator may give several."""
    if isinstance(item, exp.Aliases):
        return [name.name for name in item.expressions]
    return [ALL if _is_star(item) else item.alias_or_name]


def _is_alias(scope: Scope, name: str) -> bool:
    return any(item.alias == name for item in _selects(scope.expression))


def _selects(query: exp.Expr) -> list[exp.Expr]:
    return list(query.selects) if isinstance(query, exp.Query) else []


def _sources(scope: Scope) -> dict[str, exp.Expr | Scope]:
    """Return what stands in FROM, its joins and lateral views; CTEs only where they are read."""
    if isinstance(scope.expression, exp.SetOperation):
        return {}
    found: dict[str, exp.Expr | Scope] = {
        alias: source for alias, (_, source) in scope.selected_sources.items()
    }
    for alias, source in scope.lateral_sources.items():
        found.setdefault(alias, source)
    for alias, source in scope.sources.items():
        if alias not in scope.cte_sources and alias not in scope.semi_or_anti_join_tables:
            found.setdefault(alias, source)
    return found


def _joined(scope: Scope) -> dict[str, exp.Expr | Scope]:
    """Return the right sides of semi and anti joins: only their conditions see the columns."""
    names = set(scope.semi_or_anti_join_tables)
    return {alias: source for alias, source in scope.sources.items() if alias in names}


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (
        isinstance(node, exp.Column | exp.Dot)
        and isinstance(node.this if isinstance(node, exp.Column) else node.expression, exp.Star)
    )


def _without_star(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Dot):
        return node.this.copy() if isinstance(node.this, exp.Expr) else node
    parts = [part.copy() for part in node.parts if not isinstance(part, exp.Star)]  # type: ignore[attr-defined]
    return exp.column(*reversed(parts))


def _listed(value: object) -> list[exp.Expr]:
    if isinstance(value, exp.Order):
        return list(value.expressions)
    if isinstance(value, list):
        return [item for item in value if isinstance(item, exp.Expr)]
    return [value] if isinstance(value, exp.Expr) else []


def _how_of(node: exp.Expr) -> How:
    if isinstance(node, exp.AggFunc) and not isinstance(node, _PICKS):
        is_count = isinstance(node, exp.Count | exp.CountIf | exp.ApproxDistinct)
        return How(True, "AGGREGATION", masking=is_count)
    is_hash = isinstance(node, _HASHES) or (
        isinstance(node, exp.Anonymous) and str(node.this).lower() in _HASH_NAMES
    )
    return How(True, "TRANSFORMATION", masking=is_hash)
