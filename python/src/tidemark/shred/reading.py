"""Lines of enriched events become typed rows, in Python workers.

The same values and reasons as the SQL step gives. For sources and formats of one's own: what a
function of an RDD can do to a line before or after, SQL cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidemark.errors import ConfigError
from tidemark.shred.enriched import COLUMNS, LEFT_OUT, TYPES, fingerprint, read_line, read_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FINGERPRINT = COLUMNS.index("event_fingerprint")


def read_events(lines: DataFrame, left_out: Iterable[str] = LEFT_OUT) -> DataFrame:
    """Read lines of enriched events, TSV or JSON; what cannot be used is marked, not raised.

    Example:
        >>> lines = session.read.text("landing/*.tsv.gz")  # doctest: +SKIP
        >>> deduplicate_batch(read_events(lines))  # doctest: +SKIP

    Timestamps are UTC in every session time zone, money is rounded half up to two decimal places,
    ids are in lower case, and events without a fingerprint get one.

    Args:
        lines: A DataFrame with the column `value`, a line per row; others are dropped.
        left_out: Columns that a computed fingerprint leaves out.

    Returns:
        The canonical columns, `_reject_reason` and `_raw_payload`, which is the line. A rejected
        row has the reason (`unreadable: …`, or its problems, such as `cast_failed: <column>`) and
        no values.

    Raises:
        ConfigError: No column `value`, or a column that is left out is not canonical.
    """
    from pyspark.sql.types import DataType, StringType, StructField, StructType

    if "value" not in lines.columns:
        raise ConfigError(
            f"lines has no column value, but {', '.join(lines.columns)}. Name the column of the "
            "lines value"
        )
    ignored = tuple(left_out)
    fingerprint({}, ignored)

    def read_partition(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        for line, is_utf8 in rows:
            yield _row(line, is_utf8, ignored)

    # Python gets the text with replacement characters, which is too late to tell
    texts = lines.selectExpr(
        "make_valid_utf8(coalesce(value, '')) as value", "is_valid_utf8(coalesce(value, ''))"
    )
    fields = [StructField(name, DataType.fromDDL(kind), True) for name, kind in TYPES.items()]
    fields += [StructField(name, StringType(), True) for name in ("_reject_reason", "_raw_payload")]
    return lines.sparkSession.createDataFrame(
        texts.rdd.mapPartitions(read_partition), StructType(fields), verifySchema=False
    )


def _row(line: str, is_utf8: bool, left_out: tuple[str, ...]) -> tuple[Any, ...]:
    """The canonical values, the reject reason and the line."""
    reason = None if is_utf8 else "unreadable: no UTF-8"
    if reason is None:
        try:
            event = read_line(line)
        except ValueError as error:
            reason = f"unreadable: {error}"
    if reason is None:
        values, problems = read_values(event)
        reason = ", ".join(problems) or None
    if reason is not None:
        return (*_NOTHING, reason, line)
    values[_FINGERPRINT] = fingerprint(event, left_out)
    return (*map(_in_utc, values), None, line)


_NOTHING = (None,) * len(COLUMNS)


def _in_utc(value: Any) -> Any:
    # one without zone would be taken for the worker's
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
