"""Reading a SELECT with sqlglot, and which tables it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import build_scope

from tidemark.errors import ODD_SQL, TidemarkError, first_line


class SqlNotReadError(TidemarkError):
    """sqlglot does not know the SQL."""


@dataclass(frozen=True)
class Table:
    """A table as a query names it.

    Attributes:
        key: What links call it.
        parts: Its name, as written.
    """

    key: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """A SELECT that was read.

    Attributes:
        expression: sqlglot's tree.
        tables: The tables that it reads, by what links call them.
        spellings: Names of the query as written, by their lower case.
    """

    expression: exp.Query
    tables: tuple[Table, ...]
    spellings: Mapping[str, str]


def read_query(sql: str) -> Query:
    """Read a SELECT.

    Example:
        >>> [table.parts for table in read_query("select * from shop.orders").tables]
        [('shop', 'orders')]

    Raises:
        SqlNotReadError: It is no SELECT, or sqlglot does not know how to read it.
    """
    dialect = Spark()
    try:
        tokens = list(_without_reader_options(dialect.tokenize(sql)))
        trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except (SqlglotError, *ODD_SQL) as error:
        raise SqlNotReadError(first_line(error)) from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise SqlNotReadError("it is not one SELECT")
    tree = trees[0]
    spellings: dict[str, str] = {}
    for identifier in tree.find_all(exp.Identifier):
        spellings.setdefault(identifier.name.lower(), identifier.name)
    # what Spark takes as the same name is the same from here on; paths keep their case beside it
    for table in tree.find_all(exp.Table):
        table.meta["parts"] = tuple(part.name for part in table.parts)
    tree = normalize_identifiers(tree, dialect=dialect)
    return Query(tree, tuple(_name_tables(tree)), spellings)


def _without_reader_options(tokens: list[Token]) -> Iterator[Token]:
    """Leave out `with ('header' 'true')` behind a file, which sqlglot does not parse."""
    depth = 0
    for place, token in enumerate(tokens):
        following = tokens[place + 1].token_type if place + 1 < len(tokens) else None
        if depth == 0 and token.token_type == TokenType.WITH and following == TokenType.L_PAREN:
            depth = 1
        elif depth:
            if token.token_type == TokenType.L_PAREN:
                # the first one is what `with` stands before
                depth += 1
            elif token.token_type == TokenType.R_PAREN:
                depth -= 1
                if depth == 1:
                    depth = 0
        else:
            yield token


def _name_tables(tree: exp.Query) -> Iterator[Table]:
    """Give each table of the database a name of one part, which no name of a CTE meets."""
    keys: dict[tuple[str, ...], str] = {}
    root = build_scope(tree)
    for scope in root.traverse() if root is not None else ():
        for source in scope.sources.values():
            if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
                continue
            parts: tuple[str, ...] = source.meta.get("parts", ())
            if "key" in source.meta or not parts:
                continue
            if parts not in keys:
                keys[parts] = f"_tidemark_table_{len(keys)}"
                yield Table(keys[parts], parts)
            if not source.alias:
                alias = exp.to_identifier(source.name, quoted=True)
                source.set("alias", exp.TableAlias(this=alias))
            source.meta["key"] = keys[parts]
            source.set("this", exp.to_identifier(keys[parts]))
            source.set("db", None)
            source.set("catalog", None)
