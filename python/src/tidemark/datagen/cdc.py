"""Two extracts, a day apart, with exactly so many rows inserted, updated, deleted, left alone."""

from __future__ import annotations

import hashlib
import math
import random
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tidemark.datagen.csv_text import open_csv
from tidemark.errors import ConfigError

_VALUES = 100_000_000
"""Values are 0.00 to 999999.99, made as whole numbers of hundredths."""


@dataclass(frozen=True)
class CdcSpec:
    """What to generate.

    Attributes:
        n_init: Rows of day 1.
        n_incr: Rows that day 2 adds.
        n_keys: Key columns, `key1` …, uuids.
        n_nonkeys: Other columns, `value1` …, numbers with two decimal places.
        pct_del: Per cent of day 1 that day 2 deletes.
        pct_upd: Per cent of day 1 that day 2 updates.
        pct_unchanged: Per cent of day 1 that day 2 leaves alone. The three add up to 100.
        seed: Same seed, same bytes.
        delta: Day 2 is a delta extract: inserted and updated rows only.
        pct_with_unchanged: Per cent of the unchanged rows that a delta extract has all the same.
    """

    n_init: int
    n_incr: int
    n_keys: int
    n_nonkeys: int
    pct_del: float
    pct_upd: float
    pct_unchanged: float
    seed: int = 0
    delta: bool = False
    pct_with_unchanged: float = 0.0

    def __post_init__(self) -> None:
        errors = []
        percentages = (self.pct_del, self.pct_upd, self.pct_unchanged)
        if self.n_init < 0 or self.n_incr < 0 or self.n_nonkeys < 0:
            errors.append("the numbers of rows and columns must be 0 or more")
        if self.n_keys < 1:
            errors.append(f"n_keys must be at least 1 (found {self.n_keys})")
        if not all(0 <= percentage <= 100 for percentage in percentages):
            errors.append("percentages must lie between 0 and 100")
        if not math.isclose(sum(percentages), 100, abs_tol=1e-9):
            shown = " + ".join(f"{percentage:g}" for percentage in percentages)
            errors.append(
                "pct_del, pct_upd and pct_unchanged must add up to 100 "
                f"({shown} = {sum(percentages):g})"
            )
        if self.n_nonkeys == 0 and self.pct_upd > 0:
            errors.append("rows without non-key columns cannot be updated: set pct_upd to 0")
        if not 0 <= self.pct_with_unchanged <= 100:
            errors.append("with-unchanged must lie between 0 and 100")
        if self.pct_with_unchanged and not self.delta:
            errors.append("with-unchanged needs delta: a full extract has all unchanged rows")
        if errors:
            raise ConfigError("\n".join(errors))

    @property
    def counts(self) -> CdcCounts:
        """Rows per operation that day 2 must give."""
        deleted = round(self.n_init * self.pct_del / 100)
        updated = min(round(self.n_init * self.pct_upd / 100), self.n_init - deleted)
        if self.pct_unchanged == 0:
            updated = self.n_init - deleted
        unchanged = self.n_init - deleted - updated
        if not self.delta:
            return CdcCounts(self.n_incr, updated, deleted, unchanged, 0)
        supplied = round(unchanged * self.pct_with_unchanged / 100)
        return CdcCounts(self.n_incr, updated, 0, supplied, unchanged - supplied + deleted)


@dataclass(frozen=True)
class CdcCounts:
    """Rows per operation: I, U, D, N (unchanged) and X (not supplied)."""

    inserted: int
    updated: int
    deleted: int
    unchanged: int
    not_supplied: int

    def __str__(self) -> str:
        named = zip("IUDNX", self.__dict__.values(), strict=True)
        return ", ".join(f"{operation} {count}" for operation, count in named)


def write_cdc(spec: CdcSpec, day1: Path, day2: Path) -> CdcCounts:
    """Write the extracts of both days.

    Example:
        >>> spec = CdcSpec(10000, 2000, 5, 10, 20, 40, 40)
        >>> print(write_cdc(spec, Path("day1.csv"), Path("day2.csv")))  # doctest: +SKIP
        I 2000, U 4000, D 2000, N 4000, X 0

    Args:
        spec: What to generate.
        day1: CSV file with a header; gzip if the name ends in .gz.
        day2: The same a day later.

    Returns:
        The operations that day 2 must give. In a delta extract deleted rows are rows not supplied.

    Raises:
        ConfigError: Both files are the same one.
    """
    if day1.resolve() == day2.resolve():
        raise ConfigError(f"day 1 and day 2 cannot both be {day1}. Give two dates")
    names = [f"key{i}" for i in range(1, spec.n_keys + 1)]
    names += [f"value{i}" for i in range(1, spec.n_nonkeys + 1)]
    header = (",".join(names) + "\n").encode()
    with ExitStack() as stack:
        first, second = stack.enter_context(open_csv(day1)), stack.enter_context(open_csv(day2))
        first.write(header)
        second.write(header)
        for before, after in _rows(spec):
            if before:
                first.write(before)
            if after:
                second.write(after)
    return spec.counts


def _rows(spec: CdcSpec) -> Iterator[tuple[bytes, bytes]]:
    """Each row as its line on day 1 and on day 2, empty where it is not."""
    make = _row_maker(spec)
    dice = random.Random(spec.seed)
    for index, operation in enumerate(_operations(spec, dice)):
        keys, values = make(index)
        line = _line(keys, values)
        if operation == "N":
            yield line, line
        elif operation == "U":
            yield line, _line(keys, _changed(values, dice))
        else:
            yield line, b""
    for index in range(spec.n_init, spec.n_init + spec.n_incr):
        yield b"", _line(*make(index))


def _operations(spec: CdcSpec, dice: random.Random) -> Iterator[str]:
    """What happens to each row of day 1: drawn without replacement, so the counts are exact."""
    counts = spec.counts
    left = {"U": counts.updated, "N": counts.unchanged}
    for remaining in range(spec.n_init, 0, -1):
        drawn = int(dice.random() * remaining)
        operation = "U" if drawn < left["U"] else "N" if drawn < left["U"] + left["N"] else "D"
        if operation in left:
            left[operation] -= 1
        yield operation


def _row_maker(spec: CdcSpec) -> Callable[[int], tuple[str, list[int]]]:
    """A function from a row's number to its keys and values, the same for a seed for ever."""
    key_digits = 32 * spec.n_keys
    unpack = struct.Struct(f">{spec.n_nonkeys}Q").unpack
    size = 16 * spec.n_keys + 8 * spec.n_nonkeys
    shake = hashlib.shake_128(f"tidemark cdc {spec.seed} ".encode())
    starts = range(0, key_digits, 32)

    def make(index: int) -> tuple[str, list[int]]:
        stream = shake.copy()
        stream.update(b"%d" % index)
        drawn = stream.digest(size)
        digits = drawn[: 16 * spec.n_keys].hex()
        # The row's number, scrambled one to one, ends the first key: no two rows can share it.
        own = f"{(index * 0x5DEECE66D + 0xB) % (1 << 48):012x}"
        digits = digits[:20] + own + digits[32:]
        keys = ",".join(
            f"{digits[s : s + 8]}-{digits[s + 8 : s + 12]}-4{digits[s + 13 : s + 16]}"
            f"-a{digits[s + 17 : s + 20]}-{digits[s + 20 : s + 32]}"
            for s in starts
        )
        return keys, [value % _VALUES for value in unpack(drawn[16 * spec.n_keys :])]

    return make


def _changed(values: list[int], dice: random.Random) -> list[int]:
    """The values with at least one replaced, and each that is replaced different from before."""
    changed = list(values)
    for _ in range(1 + int(dice.random() * min(3, len(values)))):
        at = int(dice.random() * len(values))
        step = 1 + int(dice.random() * (_VALUES - 1))
        changed[at] = (values[at] + step) % _VALUES
    return changed


def _line(keys: str, values: list[int]) -> bytes:
    numbers = [f",{value // 100}.{value % 100:02d}" for value in values]
    return (keys + "".join(numbers) + "\n").encode()
