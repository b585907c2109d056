"""Where do two sides differ? Buckets first, then the rows of those that do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from tidemark.replicator.reconcile.dialects import Scope

# a bucket with more rows is split, and buckets are read together up to as many
MOST_ROWS = 10_000
_SPLIT = 16
# how many keys of a first look are remembered for the second one
_REMEMBERED = 1_000_000

Difference = Literal["missing", "surplus", "different"]


class Figure(NamedTuple):
    """A bucket: its rows and the sum of their digests."""

    rows: int
    total: int


class RowDigest(NamedTuple):
    """The digests of a row, and how many such rows there are."""

    key: str
    row: str
    copies: int


class Row(NamedTuple):
    """A row with the canonical texts of its columns."""

    key: str
    row: str
    texts: Sequence[str | None]


class Side(Protocol):
    """One side of a comparison."""

    def figures(self, modulus: int, scope: Scope) -> dict[int, Figure]:
        """Return count and sum of the buckets that have rows."""

    def digests(self, scope: Scope) -> list[RowDigest]:
        """Return the digests of the rows of some buckets."""

    def rows(self, keys: Sequence[str]) -> list[Row]:
        """Return rows by the digests of their keys."""


@dataclass(frozen=True)
class KeyDifference:
    """A key whose rows differ.

    Attributes:
        key: Its digest.
        kind: `missing` in the copy, `surplus` there, or `different`.
        source: The rows at the source, by digest.
        here: Those in the copy.
    """

    key: str
    kind: Difference
    source: Mapping[str, int]
    here: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many rows it is: more than one for copies of a row without key."""
        missing, surplus = Counter(self.source), Counter(self.here)
        if self.kind == "different":
            return 1
        return abs(missing.total() - surplus.total())


@dataclass
class Comparison:
    """What differs between a table and its copy.

    Attributes:
        source_rows: Rows at the source.
        rows_here: Rows in the copy.
        buckets: How many buckets were compared.
        differing: The buckets that differ.
    """

    source_rows: int
    rows_here: int
    buckets: int
    differing: dict[int, tuple[Figure, Figure]] = field(default_factory=dict)


def compare_buckets(source: Side, here: Side, buckets: int) -> Comparison:
    """Compare the figures of all buckets."""
    everything = Scope(buckets)
    found, known = source.figures(buckets, everything), here.figures(buckets, everything)
    return Comparison(
        sum(figure.rows for figure in found.values()),
        sum(figure.rows for figure in known.values()),
        buckets,
        _differing(found, known),
    )


def _differing(
    found: Mapping[int, Figure], known: Mapping[int, Figure]
) -> dict[int, tuple[Figure, Figure]]:
    nothing = Figure(0, 0)
    pairs = {
        bucket: (found.get(bucket, nothing), known.get(bucket, nothing))
        for bucket in sorted({*found, *known})
    }
    return {bucket: pair for bucket, pair in pairs.items() if pair[0] != pair[1]}


def differences(
    source: Side,
    here: Side,
    modulus: int,
    differing: Mapping[int, tuple[Figure, Figure]],
    keyed: bool,
    most: int = MOST_ROWS,
) -> Iterator[list[KeyDifference]]:
    """Compare the rows of buckets that differ, some buckets at a time.

    Args:
        source: The source.
        here: The copy.
        modulus: How many buckets there are.
        differing: Those that differ, with their figures.
        keyed: Whether the table has a key.
        most: How many rows are read at a time; larger buckets are split.
    """
    small = [bucket for bucket, pair in differing.items() if _size(pair) <= most]
    for residues in _together(small, differing, most):
        yield from _look(source, here, Scope(modulus, residues), keyed)
    for bucket, pair in differing.items():
        if _size(pair) <= most:
            continue
        scope, finer = Scope(modulus, [bucket]), modulus * _SPLIT
        parts = _differing(source.figures(finer, scope), here.figures(finer, scope))
        # what no split parts has one key, a row without key many times over: its digests are few
        whole = [part for part, figures in parts.items() if _size(figures) >= _size(pair)]
        if whole:
            yield from _look(source, here, Scope(finer, whole), keyed)
        rest = {part: figures for part, figures in parts.items() if part not in whole}
        yield from differences(source, here, finer, rest, keyed, most)


def _look(source: Side, here: Side, scope: Scope, keyed: bool) -> Iterator[list[KeyDifference]]:
    found = compare_digests(source.digests(scope), here.digests(scope), keyed)
    if found:
        yield found


def _size(pair: tuple[Figure, Figure]) -> int:
    return max(pair[0].rows, pair[1].rows)


def _together(
    buckets: Sequence[int], differing: Mapping[int, tuple[Figure, Figure]], most: int
) -> Iterator[list[int]]:
    chosen: list[int] = []
    rows = 0
    for bucket in buckets:
        size = _size(differing[bucket])
        if chosen and rows + size > most:
            yield chosen
            chosen, rows = [], 0
        chosen.append(bucket)
        rows += size
    if chosen:
        yield chosen


def compare_digests(
    source: Sequence[RowDigest], here: Sequence[RowDigest], keyed: bool
) -> list[KeyDifference]:
    """Return the keys whose rows differ.

    Example:
        >>> compare_digests([RowDigest("k", "a", 1)], [RowDigest("k", "b", 1)], True)[0].kind
        'different'
    """
    found, known = _by_key(source), _by_key(here)
    result = []
    for key in sorted({*found, *known}):
        left, right = found.get(key, {}), known.get(key, {})
        if left == right:
            continue
        if keyed and left and right:
            kind: Difference = "different"
        else:
            kind = "missing" if sum(left.values()) > sum(right.values()) else "surplus"
        result.append(KeyDifference(key, kind, left, right))
    return result


def _by_key(digests: Sequence[RowDigest]) -> dict[str, dict[str, int]]:
    keys: dict[str, dict[str, int]] = {}
    for digest in digests:
        rows = keys.setdefault(digest.key, {})
        rows[digest.row] = rows.get(digest.row, 0) + digest.copies
    return keys


class Seen:
    """The keys that differed at a first look: only these can differ at the second."""

    def __init__(self) -> None:
        self._keys: set[int] = set()
        self._is_full = False

    def add(self, found: Sequence[KeyDifference]) -> None:
        """Remember keys."""
        self._is_full |= len(self._keys) + len(found) > _REMEMBERED
        if not self._is_full:
            self._keys |= {_short(one.key) for one in found}

    def of(self, found: Sequence[KeyDifference]) -> list[KeyDifference]:
        """Return those that were seen."""
        return [one for one in found if self._is_full or _short(one.key) in self._keys]


def _short(key: str) -> int:
    return int(key[:15], 16)
