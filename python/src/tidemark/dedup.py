"""De-duplication of a batch of enriched events, in Python workers: the steps that look at it alone.

Copies (the same id and fingerprint) are merged before they are moved, so that an id which a broken
tracker sends a hundred thousand times does not fill the memory of one task. Nothing that grows
with the batch comes to the driver. What other batches hold is for `materialized: atomic` to
compare, which claims ids in a manifest.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tidemark.errors import ConfigError
from tidemark.rules.quoted import back_ticked
from tidemark.shred.enriched import line_hash, synthetic_id, with_duplicate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEPS = ("natural_in_batch", "synthetic_in_batch")
"""The steps, in their order."""

_NEEDED = (
    "event_id",
    "event_fingerprint",
    "etl_tstamp",
    "collector_tstamp",
    "derived_contexts",
    "_reject_reason",
    "_raw_payload",
)

_Key = tuple[str, int, str, str]
"""Id, what it is, fingerprint, and a name of its own for what is not to be merged.

All that has one id goes to one partition, and is sorted there: what fingerprints the id has comes
before its events.
"""

_FINGERPRINT, _EVENT = 0, 1


def deduplicate_batch(events: DataFrame, steps: Iterable[str] = STEPS) -> DataFrame:
    """De-duplicate a batch of events within itself.

    Example:
        >>> lines = session.read.text("landing/*.tsv.gz")  # doctest: +SKIP
        >>> deduplicate_batch(read_events(lines))  # doctest: +SKIP

    - `natural_in_batch`: of events with the same id and fingerprint one stays, the one with the
      smallest etl_tstamp, collector_tstamp and hash of the line, missing timestamps last. Lines
      that are equal in these are equal altogether.
    - `synthetic_in_batch`: ids that are left with several fingerprints are split: each of their
      events gets an id of its own, and a `duplicate` context with the one that it came with.

    Args:
        events: What `read_events` gives. Further columns are carried along.
        steps: Which steps to take.

    Returns:
        The columns of `events`, and `_original_id`: the id that a renamed event came with, NULL
        if it kept its own. Rejected rows are as they were.

    Raises:
        ConfigError: An unknown step, or a column that `read_events` gives is missing.
    """
    from pyspark.sql.types import StringType, StructField, StructType, TimestampType

    chosen = _checked(events, steps)
    natural, synthetic = (step in chosen for step in STEPS)
    stamps = {f.name for f in events.schema.fields if isinstance(f.dataType, TimestampType)}
    # as numbers: in Python a timestamp would pass through the time zone of the worker
    flat = events.selectExpr(
        *(
            f"unix_micros({back_ticked(c)}) as {back_ticked(c)}" if c in stamps else back_ticked(c)
            for c in events.columns
        )
    )
    at = {name: flat.columns.index(name) for name in _NEEDED}
    id_at, print_at, contexts_at = (
        at[c] for c in ("event_id", "event_fingerprint", "derived_contexts")
    )
    order = _preference(at)

    def keyed(partition: int, rows: Iterable[Any]) -> Iterator[tuple[_Key, Any]]:
        for number, row in enumerate(rows):
            values, own = tuple(row), f"{partition}/{number}"
            if values[at["_reject_reason"]] is not None:
                # an id that no event has, so that rejected rows spread
                yield (f"/{own}", _EVENT, "", ""), ((), values)
                continue
            event_id, found = values[id_at], values[print_at]
            if synthetic:
                yield (event_id, _FINGERPRINT, found, ""), ((), None)
            yield (event_id, _EVENT, found, "" if natural else own), (order(values), values)

    def decided(pairs: Iterable[tuple[_Key, Any]]) -> Iterator[tuple[Any, ...]]:
        for _, group in groupby(pairs, key=lambda pair: pair[0][0]):
            fingerprints = 0
            for (event_id, kind, found, _), (_, values) in group:
                if kind == _FINGERPRINT:
                    fingerprints += 1
                elif fingerprints < 2:
                    yield (*values, None)
                else:
                    renamed = list(values)
                    renamed[id_at] = synthetic_id(event_id, found)
                    renamed[contexts_at] = with_duplicate(values[contexts_at], event_id)
                    yield (*renamed, event_id)

    source = flat.rdd
    partitions = max(source.getNumPartitions(), source.context.defaultParallelism)
    left = (
        source.mapPartitionsWithIndex(keyed)
        .reduceByKey(_first, partitions, _partition)
        # they are in their partitions by now
        .repartitionAndSortWithinPartitions(partitions, _partition, keyfunc=_itself)
    )
    schema = StructType([StructField(f.name, f.dataType, True) for f in flat.schema.fields]).add(
        "_original_id", StringType()
    )
    found = events.sparkSession.createDataFrame(
        left.mapPartitions(decided), schema, verifySchema=False
    )
    return found.selectExpr(
        *(
            f"timestamp_micros({back_ticked(c)}) as {back_ticked(c)}"
            if c in stamps
            else back_ticked(c)
            for c in found.columns
        )
    )


def _checked(events: DataFrame, steps: Iterable[str]) -> frozenset[str]:
    chosen = frozenset([steps] if isinstance(steps, str) else steps)
    for step in sorted(chosen - {*STEPS}):
        raise ConfigError(f"there is no step {step}: use {', '.join(STEPS)}")
    missing = [name for name in _NEEDED if name not in events.columns]
    if missing:
        raise ConfigError(f"the events lack {', '.join(missing)}. Pass the result of read_events()")
    return chosen


def _preference(at: dict[str, int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """`enriched.preference` of rows, their timestamps in microseconds."""
    etl_at, collector_at, line_at = (
        at[c] for c in ("etl_tstamp", "collector_tstamp", "_raw_payload")
    )

    def order(values: tuple[Any, ...]) -> tuple[Any, ...]:
        etl, collector = values[etl_at], values[collector_at]
        return (
            etl is None,
            etl or 0,
            collector is None,
            collector or 0,
            line_hash(values[line_at]),
        )

    return order


_order = itemgetter(0)


def _first(one: Any, other: Any) -> Any:
    return min(one, other, key=_order)


def _itself(key: _Key) -> Any:
    return key


def _partition(key: _Key) -> int:
    return zlib.crc32(key[0].encode())
