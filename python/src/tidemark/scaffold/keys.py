"""Propose a key: the fewest columns that are unique and never NULL, by the likeliest names."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from tidemark.scaffold.inference import Column

MAX_COLUMNS = 3
_MAX_COMPOSITE_CANDIDATES = 12
_NEVER_A_KEY = re.compile(
    r"double|float|decimal\(\d+, [1-9]\d*\)|boolean|array|struct|map|binary|variant"
)
_IDENTIFIER_ENDINGS = ("id", "key", "code", "no", "number")
_FIRST, _TEXT, _UNLIKELY = 4, 7, 8
_NAME_RANKS = [
    (rank, re.compile(pattern))
    for rank, pattern in (
        (0, r"^(?:id|key|uuid|guid|pk)$"),
        (1, r"_(?:id|key|uuid|guid|pk)$|^id_"),
        (2, r"^(?:code|icao|iata|isbn|ean|sku|vin|ref|number|no)$"),
        (3, r"_(?:code|no|nr|num|number|ref|sku)$"),
        (_UNLIKELY, r"(?:^|_)(?:at|ts|time|timestamp|updated|created|modified|loaded)$"),
        (
            _UNLIKELY + 1,
            r"(?:^|_)(?:amount|price|fee|cost|balance|salary|tax|discount|rate|score|weight|age|qty|"
            r"quantity|total|value|count|size|lat|lon|latitude|longitude)(?:_|$)",
        ),
        (
            _TEXT,
            r"(?:^|_)(?:name|title|description|comment|note|text|address|email|label|url)(?:_|$)",
        ),
    )
]
"""Ranks by name, the first that fits; 4 is the first column, 5 and 6 names that say nothing."""


@dataclass(frozen=True)
class KeyProposal:
    """A proposed key.

    Attributes:
        columns: Names of its columns; empty if nothing is unique.
        others: Further sets of the same size that are unique in the sample too.
    """

    columns: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


def propose_key(
    columns: Sequence[Column], rows: Sequence[Sequence[Hashable]], entity: str = ""
) -> KeyProposal:
    """Propose the key of a sample; rows that are equal in all columns count once.

    Args:
        columns: The sample's columns.
        rows: Its rows, values in the order of the columns.
        entity: Name of the model, as `airport_id` is a likely key of `airports`.
    """
    unique_rows = list(dict.fromkeys(tuple(row) for row in rows))
    if not unique_rows:
        return KeyProposal((), ())
    ranks = {
        index: _rank(column, entity, first=index == 0)
        for index, column in enumerate(columns)
        if column.nulls == 0 and not _NEVER_A_KEY.match(column.data_type)
    }
    ranked = sorted(ranks, key=lambda index: (ranks[index], index))
    # A time or amount that is unique by chance is a worse key than two columns meant to be one.
    for allowed in ([index for index in ranked if ranks[index] < _UNLIKELY], ranked):
        for size in range(1, MAX_COLUMNS + 1):
            candidates = allowed if size == 1 else _for_composite(allowed, columns)
            found = [
                indexes
                for indexes in itertools.combinations(candidates, size)
                if _may_be_unique(indexes, columns, len(unique_rows))
                and _is_unique(indexes, unique_rows)
            ]
            if found:
                found.sort(key=lambda indexes: sum(ranks[i] for i in indexes))
                names = [tuple(columns[i].name for i in sorted(indexes)) for indexes in found]
                return KeyProposal(names[0], tuple(names[1:]))
    return KeyProposal((), ())


@dataclass(frozen=True)
class NearKey:
    """The column that is nearest to a key.

    Attributes:
        column: Its name.
        repeated: How many rows have a value that a row before them has.
        nulls: How many rows have no value.
        example: A value that several rows have; None if there is none.
    """

    column: str
    repeated: int
    nulls: int
    example: Hashable


def nearest_to_key(
    columns: Sequence[Column], rows: Sequence[Sequence[Hashable]], entity: str = ""
) -> NearKey | None:
    """Return the column with the fewest rows that keep it from being a key; None if none can be.

    Args:
        columns: The sample's columns.
        rows: Its rows; rows that are equal in all columns count once.
        entity: Name of the model.
    """
    unique_rows = list(dict.fromkeys(tuple(row) for row in rows))
    found: list[tuple[int, int, NearKey]] = []
    for index, column in enumerate(columns):
        if _NEVER_A_KEY.match(column.data_type):
            continue
        counts = Counter(row[index] for row in unique_rows)
        nulls = sum(counts.pop(value) for value in list(counts) if _is_null(value))
        repeated = counts.total() - len(counts)
        example = counts.most_common(1)[0][0] if repeated else None
        near = NearKey(column.name, repeated, nulls, example)
        found.append((nulls + repeated, _rank(column, entity, first=index == 0), near))
    return min(found, key=lambda one: one[:2])[2] if found else None


def _is_null(value: Hashable) -> bool:
    return value is None or not str(value).strip()


def count_key_problems(
    key: Sequence[int], rows: Sequence[Sequence[Hashable]], is_null: Callable[[Hashable], bool]
) -> tuple[int, int]:
    """Return how many rows have NULL in the key, and how many repeat the key of another row."""
    nulls = repeated = 0
    seen: set[tuple[Hashable, ...]] = set()
    for row in dict.fromkeys(tuple(row) for row in rows):
        values = tuple(row[index] for index in key)
        if any(is_null(value) for value in values):
            nulls += 1
        elif values in seen:
            repeated += 1
        seen.add(values)
    return nulls, repeated


def _rank(column: Column, entity: str, first: bool) -> int:
    """How likely a column identifies a row, by name, type and place; 0 is likeliest."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", column.name)
    name = re.sub(r"\W+", "_", name).lower().strip("_")
    stem = re.sub(r"^(?:stg|raw|src|dim)_+", "", entity.lower())
    singular = stem[:-3] + "y" if stem.endswith("ies") else stem.removesuffix("s")
    if name in {f"{start}_{end}" for start in (stem, singular) for end in _IDENTIFIER_ENDINGS}:
        return 0
    unnamed = 5 if column.data_type in ("string", "bigint") else 6
    rank = next((rank for rank, pattern in _NAME_RANKS if pattern.search(name)), unnamed)
    if column.data_type == "timestamp":
        rank = max(rank, _UNLIKELY)
    return _FIRST if first and 5 <= rank <= _TEXT else rank


def _for_composite(ranked: Sequence[int], columns: Sequence[Column]) -> list[int]:
    """The likeliest columns of a composite key: constants add nothing, all are too many to try."""
    return [index for index in ranked if columns[index].distinct > 1][:_MAX_COMPOSITE_CANDIDATES]


def _may_be_unique(indexes: Sequence[int], columns: Sequence[Column], rows: int) -> bool:
    combinations = 1
    for index in indexes:
        combinations *= columns[index].distinct
    return combinations >= rows


def _is_unique(indexes: Sequence[int], rows: Sequence[tuple[Hashable, ...]]) -> bool:
    seen = set()
    for row in rows:
        key = tuple(row[index] for index in indexes)
        if key in seen:
            return False
        seen.add(key)
    return True
