"""Two tables compared by DuckDB: first hashes of all rows, then values of those that differ.

    rows of A ─► keys, hash ─┐
                             ├─► differing ─► values of these ─► cells by column, samples
    rows of B ─► keys, hash ─┘

What memory does not hold DuckDB keeps in a folder of TIDEMARK_HOME. This process gets the samples.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from tidemark.diff.columns import APART, Asked, Column, Field, Pairing, key_of, paired
from tidemark.diff.model import (
    Cell,
    ColumnDifference,
    DateDifference,
    Kind,
    OtherTypes,
    Sample,
    TableDifference,
)
from tidemark.diff.sides import Stored
from tidemark.engine.quoted import literal
from tidemark.engine.room import Room, connection
from tidemark.errors import DataError, first_line
from tidemark.home import tidemark_home
from tidemark.printable import counted
from tidemark.read.tables import TableNotReadable
from tidemark.read.values import json_value, shown_value, with_short_floats

HIDDEN = "***"
_KINDS: tuple[Kind, ...] = ("different", "only_in_a", "only_in_b")


def compare_rows(a: Stored, b: Stored, asked: Asked) -> TableDifference:
    """Return what differs between two sides.

    Raises:
        ConfigError: There is no key, or a side does not have it.
        DataError: A key is NULL or there twice.
        TableNotReadable: Only Spark reads one of them.
    """
    with database(a, b) as db:
        key = key_of(a, b, asked)
        pairing = paired(fields_of(db, a), fields_of(db, b), key, asked, (a.name, b.name))
        known = {name.lower() for name in (*a.names, *b.names)}
        apart = dict.fromkeys(sorted((a.sensitive | b.sensitive) - known), APART)
        pairing = replace(pairing, left_out={**pairing.left_out, **apart})
        return _Comparison(db, a, b, pairing, asked).found()


@contextmanager
def database(*sides: Stored) -> Iterator[Any]:
    """Open DuckDB for a comparison; what it cannot read is told of these sides."""
    import duckdb

    try:
        with (
            TemporaryDirectory(prefix="diff-", dir=_scratch()) as folder,
            connection(Room(threads=os.cpu_count() or 1, folder=f"{folder}/duckdb")) as db,
        ):
            # where PyArrow is installed, it would be asked to filter texts, which it cannot
            db.execute("set disabled_optimizers = 'join_filter_pushdown'")
            yield db
    except duckdb.Error as error:
        names = " or ".join(side.name for side in sides)
        raise TableNotReadable(f"{names} cannot be read: {first_line(error)}") from error


def _scratch() -> Path | None:
    """Return where rows lie that memory does not hold; None: a folder of the machine's.

    That is the case of who may only read the project.
    """
    try:
        return tidemark_home().create().temporary
    except PermissionError:
        return None


def fields_of(db: Any, side: Stored) -> list[Field]:
    """Return the columns of a side with their types."""
    view = f"no_rows_{uuid4().hex}"
    side.show(db, view, [(name, f"c{n}") for n, name in enumerate(side.names)], "limit 0")
    types = db.view(view).types
    return [Field(name, type_) for name, type_ in zip(side.names, types, strict=True)]


class _Comparison:
    def __init__(self, db: Any, a: Stored, b: Stored, pairing: Pairing, asked: Asked) -> None:
        self._db = db
        self._sides = {"a": a, "b": b}
        self._pairing = pairing
        self._samples, self._cure = asked.samples, asked.cure
        self._columns: list[Column] = [*pairing.keys, *pairing.others]
        self._keys = [f"k{number}" for number in range(len(pairing.keys))]
        self._hidden = a.sensitive | b.sensitive

    def found(self) -> TableDifference:
        """Compare, and tell."""
        rows = {side: self._hash(side) for side in ("a", "b")}
        numbers = self._match()
        cells, samples = [], []
        if numbers["different"] or (self._samples and sum(numbers.values())):
            self._fetch()
            cells, samples = self._cells(), self._sampled()
        a, b = self._sides["a"], self._sides["b"]
        return TableDifference(
            a=a.name,
            b=b.name,
            equal=not sum(numbers.values()),
            key=[one.name for one in self._pairing.keys],
            rows_in_a=rows["a"],
            rows_in_b=rows["b"],
            **numbers,
            same=rows["a"] - numbers["only_in_a"] - numbers["different"],
            columns=cells,
            by_date=self._by_date(),
            other_types=[_types(one) for one in self._columns if not one.has_one_type],
            not_compared=dict(self._pairing.left_out),
            samples=samples,
        )

    def _show(self, side: str) -> None:
        """Make the rows of a side a view that is read once: c0, c1, … of its columns."""
        fields = (one.a if side == "a" else one.b for one in self._columns)
        selected = [(one.name, f"c{number}") for number, one in enumerate(fields)]
        self._sides[side].show(self._db, f"{side}_in", selected)

    def _key_sql(self, side: str) -> str:
        return ", ".join(
            f"{one.key(side, f'c{number}')} as k{number}"
            for number, one in enumerate(self._pairing.keys)
        )

    def _hash(self, side: str) -> int:
        """Keep key and hash of every row of a side; return how many there are."""
        parts = []
        for number, one in enumerate(self._pairing.others, len(self._keys)):
            text = one.text(side, f"c{number}")
            # with its length before it, so that no two rows have one text
            parts += [f"coalesce(strlen({text}), -1)", "':'", text]
        self._show(side)
        self._db.execute(
            f"create temp table {side}_hashes as select {self._key_sql(side)}, "
            f"md5_number(concat({', '.join(parts) or literal('')})) as row_hash from {side}_in"
        )
        self._check_keys(side)
        (rows,) = self._db.execute(f"select count(*) from {side}_hashes").fetchone()
        return int(rows)

    def _check_keys(self, side: str) -> None:
        """Refuse rows that their key does not tell apart."""
        keys = ", ".join(self._keys)
        name = f"{self._sides[side].name}: the key ({', '.join(self._key_names())})"
        empty = " or ".join(f"{key} is null" for key in self._keys)
        (number,) = self._db.execute(f"select count(*) from {side}_hashes where {empty}").fetchone()
        if number:
            raise DataError(f"{name} is NULL in {counted(number, 'row')}. {self._cure}")
        twice = self._db.execute(
            f"select {keys}, count(*) as n from {side}_hashes group by {keys} having n > 1 "
            f"order by n desc, {keys} limit 1"
        ).fetchone()
        if twice:
            *values, number = twice
            shown = ", ".join(
                f"{column}="
                + (HIDDEN if column.lower() in self._hidden else shown_value(json_value(value)))
                for column, value in zip(self._key_names(), values, strict=True)
            )
            raise DataError(f"{name} is not unique: {number:,} rows have {shown}. {self._cure}")

    def _key_names(self) -> list[str]:
        return [one.name for one in self._pairing.keys]

    def _match(self) -> dict[str, int]:
        """Keep the keys that differ, and of which to tell values; return how many of each kind."""
        keys = ", ".join(f"coalesce(a.{key}, b.{key}) as {key}" for key in self._keys)
        same = " and ".join(f"a.{key} = b.{key}" for key in self._keys)
        place = " ".join(f"when '{kind}' then {n}" for n, kind in enumerate(_KINDS))
        order = f"case kind {place} end, {', '.join(self._keys)}"
        self._db.execute(
            f"create temp table differing as select {keys}, case "
            "when b.row_hash is null then 'only_in_a' when a.row_hash is null then 'only_in_b' "
            f"else 'different' end as kind from a_hashes as a full join b_hashes as b on {same} "
            "where a.row_hash is distinct from b.row_hash;"
            "create temp table sampled as "
            f"select *, row_number() over (order by {order}) as place "
            f"from (from differing order by {order} limit {self._samples});"
            "drop table a_hashes; drop table b_hashes"
        )
        counts = self._db.execute("select kind, count(*) from differing group by kind").fetchall()
        return {**dict.fromkeys(_KINDS, 0), **dict(counts)}

    def _by_date(self) -> list[DateDifference]:
        """Count what differs of each business date, where that is of the key."""
        places = [n for n, name in enumerate(self._key_names()) if name == "_business_date"]
        if not places:
            return []
        counts = ", ".join(f"count(*) filter (where kind = '{kind}') as {kind}" for kind in _KINDS)
        found = self._db.execute(
            f"select k{places[0]} as business_date, {counts} from differing group by 1 order by 1"
        )
        names = [one[0] for one in found.description]
        return [
            DateDifference.model_validate(dict(zip(names, row, strict=True)))
            for row in found.fetchall()
        ]

    def _fetch(self) -> None:
        """Keep the values of the rows that differ, and of the samples."""
        keys = ", ".join(self._keys)
        wanted = (
            f"select {keys} from differing where kind = 'different' "
            f"union select {keys} from sampled"
        )
        self._db.execute(f"create temp table wanted as {wanted}")
        for side in ("a", "b"):
            self._show(side)
            self._db.execute(
                f"create temp table {side}_rows as "
                f"from (select {self._key_sql(side)}, * from {side}_in) "
                f"semi join wanted using ({keys})"
            )

    def _differs(self, number: int) -> str:
        one = self._columns[number]
        a, b = (one.text(side, f"{side}.c{number}") for side in ("a", "b"))
        return f"{a} is distinct from {b}"

    def _cells(self) -> list[ColumnDifference]:
        """Count in how many rows of both sides each column differs."""
        numbers = range(len(self._keys), len(self._columns))
        if not numbers:
            return []
        counts = self._db.execute(
            "select "
            + ", ".join(f"count(*) filter (where {self._differs(number)})" for number in numbers)
            + f" from a_rows as a join b_rows as b using ({', '.join(self._keys)})"
        ).fetchone()
        found = zip(self._pairing.others, counts, strict=True)
        differing = [ColumnDifference(column=one.name, cells=n) for one, n in found if n]
        return sorted(differing, key=lambda one: -one.cells)

    def _sampled(self) -> list[Sample]:
        width, keys = len(self._columns), ", ".join(self._keys)
        selected = [f"{side}.c{number}" for side in ("a", "b") for number in range(width)]
        differ = [self._differs(number) for number in range(width)]
        found = self._db.execute(
            f"select {', '.join([*selected, *differ])}, kind from sampled as s "
            f"left join a_rows as a using ({keys}) left join b_rows as b using ({keys}) "
            "order by s.place"
        )
        types = [str(one[1]) for one in found.description]
        columns = [
            with_short_floats(values, type_)
            for values, type_ in zip(zip(*found.fetchall(), strict=True), types, strict=False)
        ]
        return [
            self._sample(row[:width], row[width : 2 * width], row[2 * width : -1], row[-1])
            for row in zip(*columns, strict=True)
        ]

    def _sample(
        self, a: Sequence[Any], b: Sequence[Any], differ: Sequence[bool], kind: Kind
    ) -> Sample:
        first, either = len(self._keys), b if kind == "only_in_b" else a
        cells = []
        for one, left, right, differs in list(zip(self._columns, a, b, differ, strict=True))[
            first:
        ]:
            if differs:
                hidden = one.name.lower() in self._hidden
                cells.append(
                    Cell(
                        column=one.name,
                        a=_value(left, hidden),
                        b=_value(right, hidden),
                        hidden=hidden,
                    )
                )
        key = {
            one.name: _value(value, one.name.lower() in self._hidden)
            for one, value in zip(self._pairing.keys, either[:first], strict=True)
        }
        return Sample(kind=kind, key=key, cells=cells)


def _value(value: Any, hidden: bool) -> Any:
    return HIDDEN if hidden and value is not None else json_value(value)


def _types(column: Column) -> OtherTypes:
    return OtherTypes(column=column.name, a=spark_type(column.a.type), b=spark_type(column.b.type))


def spark_type(type_: Any) -> str:
    """Return a type of DuckDB as Spark calls it."""
    from sqlglot import exp

    written = exp.DataType.build(str(type_), dialect="duckdb").sql("spark").lower()
    return written.replace(", ", ",").replace(": ", ":")
