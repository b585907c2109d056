"""A table of a database compared with one of the warehouse, by the buckets of `reconcile`.

Both sides make digests of canonical texts, so that no table goes over the network. Rows are read of
buckets that differ, ten thousand at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidemark.console import nearest
from tidemark.diff.canonical_text import canonical_text_sql
from tidemark.diff.columns import IGNORED, IN_A, IN_B, OWN, TECHNICAL, Asked, key_of
from tidemark.diff.model import Cell, ColumnDifference, Kind, Sample, TableDifference
from tidemark.diff.rows import database, fields_of, spark_type
from tidemark.diff.sides import DatabaseTable, Stored
from tidemark.engine.quoted import identifier
from tidemark.errors import ConfigError, DataError
from tidemark.printable import counted
from tidemark.read.project import KnownProject
from tidemark.replicator.reconcile.compare import (
    KeyDifference,
    Row,
    compare_buckets,
    differences,
)
from tidemark.replicator.reconcile.dialects import DIALECTS, Dialect
from tidemark.replicator.reconcile.forms import (
    Copy,
    Incomparable,
    Pairing,
    SourceColumn,
    event_value,
    pair_columns,
)
from tidemark.replicator.reconcile.sides import SourceSide

if TYPE_CHECKING:
    from tidemark.capture.checks.findings import Queries

_BUCKETS = 256
_KINDS: Mapping[str, Kind] = {
    "missing": "only_in_a",
    "surplus": "only_in_b",
    "different": "different",
}
_TABLE = "diff.stored"
_MOST_SHOWN = 10_000


class Duck(Dialect):
    """DuckDB, with the texts of a copy: what the macro `reconcile_text_expr` gives in Spark."""

    def text(self, value: str, type_: str, form: str) -> str:
        """Return the expression of a value's canonical text."""
        import duckdb

        return self._text(value, duckdb.type(type_), form, 0)

    def _text(self, value: str, type_: Any, form: str, depth: int) -> str:
        if form.startswith("array:"):
            one, text = f"one_{depth}", f"text_{depth}"
            inner = self._text(one, type_.children[0][1], form.removeprefix("array:"), depth + 1)
            texts = f"list_transform({value}, lambda {one}: {inner})"
            items = f"list_transform({texts}, lambda {text}: {self.item(text)})"
            return (
                f"case when {value} is not null "
                f"then concat('[', array_to_string({items}, ''), ']') end"
            )
        if type_.id == "varchar" and form == "decimal":
            plain = f"upper({value})"
            cut = f"rtrim(rtrim({plain}, '0'), '.')"
            return f"case when contains({plain}, '.') then {cut} else {plain} end"
        if type_.id == "varchar" and form == "bytes":
            return f"upper({value})"
        return canonical_text_sql(value, type_)

    def item(self, text: str) -> str:
        """Return a text with its length before it, so that joined texts stay apart."""
        return f"coalesce(length({text}) || ':' || {text} || ';', 'N;')"

    def digest(self, text: str) -> str:
        """Return the MD5 of a text."""
        return f"md5({text})"

    def number(self, digest: str) -> str:
        """Return the first 60 bits of a digest as a number."""
        return f"cast('0x' || left({digest}, 15) as bigint)"

    def total(self, number: str) -> str:
        """Return the exact sum of a group's numbers, as text."""
        return f"cast(sum({number}) as varchar)"


class DuckQueries:
    """Questions to a connection of DuckDB.

    Args:
        db: The connection.
    """

    def __init__(self, db: Any) -> None:
        self._db = db

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        rows: list[tuple[Any, ...]] = self._db.execute(sql, list(values)).fetchall()
        return rows

    def value(self, sql: str, *values: Any) -> Any:
        """Return the first value of a query."""
        return self.query(sql, *values)[0][0]


@dataclass(frozen=True)
class Bucketed:
    """A side that digests its rows itself.

    Attributes:
        name: As it was named.
        queries: What asks it.
        dialect: Its SQL.
        table: `schema.table`.
        pairing: The columns that are compared.
    """

    name: str
    queries: Queries
    dialect: Dialect
    table: str
    pairing: Pairing

    @property
    def side(self) -> SourceSide:
        """What the comparison of buckets asks."""
        return SourceSide(self.queries, self.dialect, self.table, self.pairing)

    def check_key(self) -> None:
        """Refuse rows that their key does not tell apart.

        Raises:
            DataError: A key is NULL, or there twice.
        """
        names = [self.dialect.quote(one.source) for one in self.pairing.key_columns]
        key = f"{self.name}: the key ({', '.join(one.name for one in self.pairing.key_columns)})"
        table, keys = self.dialect.table(self.table), ", ".join(names)
        empty = " or ".join(f"{name} is null" for name in names)
        number = int(self.queries.query(f"select count(*) from {table} where {empty}")[0][0])
        if number:
            raise DataError(
                f"{key} is NULL in {counted(number, 'row')}. Name another key with --key"
            )
        twice = f"select {keys} from {table} group by {keys} having count(*) > 1"
        number = int(self.queries.query(f"select count(*) from ({twice}) as twice")[0][0])
        if number:
            what = counted(number, "value")
            raise DataError(
                f"{key} is not unique: {what} of it have several rows. Name another key with --key"
            )


def compare_with_database(
    project: KnownProject, a: Stored | DatabaseTable, b: Stored | DatabaseTable, asked: Asked
) -> TableDifference:
    """Return what differs between a table of a database and one of the warehouse.

    Raises:
        ConfigError: Both are of databases, the source or its table is not there, or no key.
        DataError: A key is NULL or there twice.
        DatabaseError: The database cannot be reached.
        TableNotReadable: Only Spark reads the other table.
    """
    from tidemark.replicator.operated import Operated

    if isinstance(a, DatabaseTable) and isinstance(b, DatabaseTable):
        raise ConfigError("both sides are tables of a database. Give one that Tidemark keeps")
    theirs, ours = (a, b) if isinstance(a, DatabaseTable) else (b, a)
    if not isinstance(theirs, DatabaseTable) or not isinstance(ours, Stored):
        raise AssertionError("one of the sides is a table of a database")
    operated = Operated.find(theirs.source, project.root)
    login = operated.start_java("diff")
    # which imports jpype
    from tidemark.capture.database import connect
    from tidemark.replicator.reconcile.catalogue import source_columns

    with database(ours) as db, connect(operated.config, login) as queries:
        dialect = DIALECTS[operated.config.connector]
        for statement in dialect.session:
            queries.query(statement)
        known = source_columns(operated.config, queries)
        if theirs.table not in known:
            hint = nearest(theirs.table, known)
            raise ConfigError(
                f"source {theirs.source!r} has no table {theirs.table!r}. Declare it in the "
                f"source.{hint}"
            )
        stored, pairing = copied(db, ours, known[theirs.table], asked, theirs)
        source = Bucketed(theirs.name, queries, dialect, theirs.table, pairing)
        sides = (source, stored) if theirs is a else (stored, source)
        return compare_bucketed(*sides, asked)


def copied(
    db: Any, ours: Stored, source: Sequence[SourceColumn], asked: Asked, theirs: DatabaseTable
) -> tuple[Bucketed, Pairing]:
    """Return a side of the warehouse, in DuckDB, and which columns of the source it compares to.

    Args:
        db: The connection, which gets the rows.
        ours: The side.
        source: The columns of the database's table.
        asked: What is asked.
        theirs: That table.

    Raises:
        ConfigError: There is no key, or nothing can be compared.
    """
    fields = {one.name: one.type for one in fields_of(db, ours)}
    key = key_of(ours, ours, asked)
    left_out = {
        name: IGNORED
        for name in (*fields, *(one.name for one in source))
        if name.lower() in {one.lower() for one in asked.ignore}
    }
    own = TECHNICAL - {name.lower() for name in key}
    left_out |= {name: OWN for name in fields if name.lower() in own and not asked.all_columns}
    types = {name: spark_type(type_) for name, type_ in fields.items() if name not in left_out}
    copy = Copy(ours.name, types, list(key), sorted(ours.sensitive))
    try:
        pairing = pair_columns([one for one in source if one.name not in left_out], copy)
    except Incomparable as error:
        raise ConfigError(f"{theirs.name}: {error}") from error
    pairing = replace(pairing, left_out={**left_out, **pairing.left_out})
    db.execute("create schema diff")
    ours.show(db, "stored_in", [(one.name, identifier(one.name)) for one in pairing.columns])
    db.execute(f"create table {_TABLE} as select * from stored_in")
    own_pairing = replace(
        pairing,
        columns=[
            replace(one, source=one.name, type=str(fields[one.name])) for one in pairing.columns
        ],
    )
    return Bucketed(ours.name, DuckQueries(db), Duck(), _TABLE, own_pairing), pairing


def compare_bucketed(a: Bucketed, b: Bucketed, asked: Asked) -> TableDifference:
    """Return what differs between two sides that digest their rows."""
    for side in (a, b):
        side.check_key()
    found = compare_buckets(a.side, b.side, _BUCKETS)
    numbers: Counter[str] = Counter()
    cells: Counter[str] = Counter()
    samples: list[Sample] = []
    for batch in differences(a.side, b.side, found.buckets, found.differing, keyed=True):
        numbers.update(_KINDS[one.kind] for one in batch)
        for first in range(0, len(batch), _MOST_SHOWN):
            part = batch[first : first + _MOST_SHOWN]
            samples += _looked_at(a, b, part, cells, asked.samples - len(samples))
    left_out = {name: _why(why, a, b) for name, why in a.pairing.left_out.items()}
    return TableDifference(
        a=a.name,
        b=b.name,
        equal=not numbers.total(),
        key=[one.name for one in a.pairing.key_columns],
        rows_in_a=found.source_rows,
        rows_in_b=found.rows_here,
        only_in_a=numbers["only_in_a"],
        only_in_b=numbers["only_in_b"],
        different=numbers["different"],
        same=found.source_rows - numbers["only_in_a"] - numbers["different"],
        columns=[ColumnDifference(column=name, cells=n) for name, n in cells.most_common()],
        other_types=[],
        not_compared=left_out,
        samples=samples,
    )


def _looked_at(
    a: Bucketed, b: Bucketed, part: Sequence[KeyDifference], cells: Counter[str], wanted: int
) -> list[Sample]:
    """Count the cells that differ in some rows, and return samples of these."""
    chosen = [one for n, one in enumerate(part) if one.kind == "different" or n < wanted]
    if not chosen:
        return []
    keys = [one.key for one in chosen]
    left, right = ({row.key: row for row in side.side.rows(keys)} for side in (a, b))
    samples: list[Sample] = []
    for one in chosen:
        sample = _sample(a.pairing, _KINDS[one.kind], left.get(one.key), right.get(one.key))
        if one.kind == "different":
            cells.update(cell.column for cell in sample.cells)
        if len(samples) < wanted:
            samples.append(sample)
    return samples


def _sample(pairing: Pairing, kind: Kind, left: Row | None, right: Row | None) -> Sample:
    nothing: list[str | None] = [None] * len(pairing.columns)
    a = list(left.texts) if left else nothing
    b = list(right.texts) if right else nothing
    cells = list(zip(pairing.columns, a, b, strict=True))
    return Sample(
        kind=kind,
        key={
            column.name: _shown(column, theirs if left else ours)
            for column, theirs, ours in cells[: pairing.keys]
        },
        cells=[
            Cell(column=column.name, a=_shown(column, theirs), b=_shown(column, ours))
            for column, theirs, ours in cells[pairing.keys :]
            if theirs != ours
        ],
    )


def _shown(column: Any, text: str | None) -> Any:
    """Return a canonical text as people write the value."""
    try:
        return event_value(column.form, column.stored, text)
    except ValueError:
        return text


def _why(why: str, a: Bucketed, b: Bucketed) -> str:
    """Return why a column is left out, where it says which side does not have it."""
    is_first = isinstance(b.dialect, Duck)
    return {
        "missing in the copy": IN_A if is_first else IN_B,
        "missing in the source": IN_B if is_first else IN_A,
    }.get(why, why)
