"""The columns of two sides that are compared, and how."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidemark.console import nearest
from tidemark.diff.canonical_text import NESTED, canonical_text_sql
from tidemark.diff.sides import Stored
from tidemark.errors import ConfigError
from tidemark.model.columns import reserved_columns

_OF_INTERVALS = {"_valid_from", "_valid_to", "_is_current"}
TECHNICAL = frozenset({*reserved_columns("iceberg"), "_known_from", "_known_to"}) - _OF_INTERVALS
"""Columns that tell how and when a row was loaded. The bounds of intervals tell what was true."""

IN_A, IN_B, IGNORED = "only A has it", "only B has it", "ignored"
OWN, APART = "added by Tidemark: see --all-columns", "sensitive: its values stand apart"


@dataclass(frozen=True)
class Field:
    """A column of one side: its name there and its type, as DuckDB's Python client has it."""

    name: str
    type: Any


@dataclass(frozen=True)
class Column:
    """A column that is compared.

    Attributes:
        name: As A calls it.
        a: What it is in A.
        b: What it is in B.
    """

    name: str
    a: Field
    b: Field

    @property
    def has_one_type(self) -> bool:
        """Whether both sides have one type."""
        return str(self.a.type) == str(self.b.type)

    def text(self, side: str, value: str) -> str:
        """Return the canonical text of a value of one of the sides, as an expression.

        A decimal beside a double is read as one: the text of a double is that of its bits.
        """
        own, other = (self.a, self.b) if side == "a" else (self.b, self.a)
        if own.type.id == "decimal" and other.type.id in ("float", "double"):
            return canonical_text_sql(f"cast({value} as {other.type.id})", other.type)
        return canonical_text_sql(value, own.type)

    def key(self, side: str, value: str) -> str:
        """Return what rows are matched by: the value, or its text where types differ."""
        is_plain = self.has_one_type and self.a.type.id not in NESTED
        return value if is_plain else self.text(side, value)


@dataclass(frozen=True)
class Pairing:
    """The columns of two sides.

    Attributes:
        keys: Those that tell which rows belong together.
        others: The others that are compared.
        left_out: Why a column is not compared, by its name.
    """

    keys: Sequence[Column]
    others: Sequence[Column]
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """What is asked of a comparison.

    Attributes:
        key: The key columns; none: those of the entities.
        ignore: Columns that are not compared.
        all_columns: Whether those are compared that Tidemark adds.
        samples: Of how many keys values are told.
        also: Of the columns that Tidemark adds those that are compared all the same.
        cure: What to do where the key does not tell rows apart.
    """

    key: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    all_columns: bool = False
    samples: int = 3
    also: tuple[str, ...] = ()
    cure: str = "Name another key with --key"


def paired(
    a: Sequence[Field], b: Sequence[Field], key: Sequence[str], asked: Asked, names: tuple[str, str]
) -> Pairing:
    """Return which columns are compared, the key's first. Names match in any case.

    Args:
        a: The columns of the one side.
        b: Those of the other one.
        key: The key columns.
        asked: What is asked.
        names: What the sides are called.

    Raises:
        ConfigError: A side does not have a column of the key, or nobody has one to ignore.
    """
    sides = [{one.name.lower(): one for one in fields} for fields in (a, b)]
    _check_key(sides, key, names)
    keys = {name.lower() for name in key}
    ignored = {name.lower() for name in asked.ignore}
    _check_ignored(ignored, {*sides[0], *sides[1]})
    left_out, others = {}, []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        one, other = sides[0].get(name), sides[1].get(name)
        spelt = (one or other or Field(name, None)).name
        if name in keys:
            continue
        if name in ignored:
            left_out[spelt] = IGNORED
        elif not asked.all_columns and name in TECHNICAL and name not in asked.also:
            left_out[spelt] = OWN
        elif one is None or other is None:
            left_out[spelt] = IN_B if one is None else IN_A
        else:
            others.append(Column(spelt, one, other))
    found = [sides[0][name.lower()] for name in key]
    return Pairing(
        [Column(one.name, one, sides[1][one.name.lower()]) for one in found], others, left_out
    )


def key_of(a: Stored, b: Stored, asked: Asked) -> tuple[str, ...]:
    """Return the key of two sides: what is asked for, else that of their models.

    Raises:
        ConfigError: There is none, or the models have two.
    """
    if asked.key:
        return asked.key
    known = [one.key for one in (a, b) if one.key]
    if not known:
        names = " and ".join(dict.fromkeys((a.name, b.name)))
        raise ConfigError(
            f"no unique_key is known for {names}: name the columns that tell rows apart with --key"
        )
    if {name.lower() for name in known[0]} != {name.lower() for name in known[-1]}:
        keys = " and ".join(f"({', '.join(key)})" for key in known)
        raise ConfigError(f"{a.name} and {b.name} have two keys, {keys}: choose one with --key")
    return tuple(known[0])


def _check_key(
    sides: Sequence[Mapping[str, Field]], key: Sequence[str], names: tuple[str, str]
) -> None:
    for fields, name in zip(sides, names, strict=True):
        for column in key:
            if column.lower() not in fields:
                hint = nearest(column, [one.name for one in fields.values()])
                raise ConfigError(
                    f"{name} has no column {column!r}, which the key ({', '.join(key)}) "
                    f"needs. Name another key with --key.{hint}"
                )


def _check_ignored(ignored: Collection[str], known: Collection[str]) -> None:
    for name in sorted(set(ignored) - set(known)):
        raise ConfigError(
            f"--ignore must name a column of a side, found: {name!r}.{nearest(name, known)}"
        )
