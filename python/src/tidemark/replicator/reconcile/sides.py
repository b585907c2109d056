"""The two sides of a comparison: a table of the database, and the current table of its copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tidemark.capture.checks.findings import Queries
from tidemark.replicator.reconcile.compare import Figure, Row, RowDigest
from tidemark.replicator.reconcile.dialects import Dialect, Scope
from tidemark.replicator.reconcile.forms import Copy, Pairing


class Ask(Protocol):
    """Calls a run-operation."""

    def __call__(self, operation: str, arguments: dict[str, Any], mark: str) -> list[Any]:
        """Return what it answered."""


class SourceSide:
    """A table of the database; digests are computed there.

    Args:
        database: An open connection.
        dialect: Its SQL.
        table: `schema.table`.
        pairing: The columns that are compared.
    """

    def __init__(self, database: Queries, dialect: Dialect, table: str, pairing: Pairing) -> None:
        self._database = database
        self._dialect = dialect
        self._table = table
        self._pairing = pairing

    def figures(self, modulus: int, scope: Scope) -> dict[int, Figure]:
        """Return count and sum of the buckets that have rows."""
        sql = self._dialect.figures_sql(self._table, self._pairing, modulus, scope)
        return _figures(self._database.query(sql))

    def digests(self, scope: Scope) -> list[RowDigest]:
        """Return the digests of the rows of some buckets."""
        sql = self._dialect.digests_sql(self._table, self._pairing, scope)
        return _digests(self._database.query(sql))

    def rows(self, keys: Sequence[str]) -> list[Row]:
        """Return rows by the digests of their keys."""
        sql = self._dialect.rows_sql(self._table, self._pairing, keys)
        return _rows(self._database.query(sql))


class CopySide:
    """The current table of a model, which the run-operation `reconcile` reads.

    Args:
        ask: Calls it.
        model: The model.
        pairing: The columns that are compared.
    """

    def __init__(self, ask: Ask, model: str, pairing: Pairing) -> None:
        self._ask = ask
        self._arguments = {
            "entity": model,
            "columns": [
                {"name": column.name, "type": column.stored, "form": column.form}
                for column in pairing.columns
            ],
            "keys": pairing.keys,
        }

    def figures(self, modulus: int, scope: Scope) -> dict[int, Figure]:
        """Return count and sum of the buckets that have rows."""
        return _figures(self._answer("figures", _scope(scope) | {"buckets": modulus}))

    def digests(self, scope: Scope) -> list[RowDigest]:
        """Return the digests of the rows of some buckets."""
        return _digests(self._answer("digests", _scope(scope)))

    def rows(self, keys: Sequence[str]) -> list[Row]:
        """Return rows by the digests of their keys."""
        return _rows(self._answer("rows", {"digests": list(keys)}))

    def _answer(self, ask: str, scope: dict[str, Any]) -> list[Any]:
        arguments = {**self._arguments, "ask": ask, "scope": scope}
        answers = self._ask("reconcile", arguments, MARK)
        return [row for answer in answers for row in answer]


# what begins the line that the run-operation answers with
MARK = "tidemark reconcile "


def describe_copy(ask: Ask, model: str) -> Copy:
    """Return what is known of the copy that a model keeps."""
    known = ask("reconcile", {"entity": model}, MARK)[0]
    return Copy(
        relation=known["relation"],
        types={column["name"]: column["type"] for column in known["columns"]},
        keys=known["keys"],
        sensitive=known["sensitive"],
        ordered=known["ordered"],
    )


def _scope(scope: Scope) -> dict[str, Any]:
    residues = None if scope.residues is None else list(scope.residues)
    return {"modulus": scope.modulus, "residues": residues}


def _figures(rows: Sequence[Sequence[Any]]) -> dict[int, Figure]:
    return {int(row[0]): Figure(int(row[1]), int(str(row[2]))) for row in rows}


def _digests(rows: Sequence[Sequence[Any]]) -> list[RowDigest]:
    return [RowDigest(str(row[0]), str(row[1]), int(row[2])) for row in rows]


def _rows(rows: Sequence[Sequence[Any]]) -> list[Row]:
    return [
        Row(str(row[0]), str(row[1]), [None if text is None else str(text) for text in row[2:]])
        for row in rows
    ]
