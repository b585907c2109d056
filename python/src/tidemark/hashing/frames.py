"""Rows of DataFrames and RDDs, cast and hashed in Python workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tidemark.errors import ConfigError
from tidemark.hashing.casts import cast_values, payload_of, readers_of, values_of
from tidemark.hashing.recipe import ALGORITHMS, PEPPER_VARIABLE
from tidemark.hashing.rows import RowEncoder
from tidemark.hashing.types import STRINGS, Type, parse_type, type_of_spark
from tidemark.rules.quoted import back_ticked

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession


def hash_rows(
    df: DataFrame,
    keys: Sequence[str],
    compared: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    algorithm: str = "md5",
    types: Mapping[str, str] | None = None,
) -> DataFrame:
    """Add `_key_hash` and `_row_hash` to typed rows, computed in Python workers.

    Example:
        >>> hash_rows(dbt.ref("airports_raw"), keys=["icao"])  # doctest: +SKIP

    Args:
        df: Typed rows. Names that begin with an underscore are hashed like any other: drop what is
            not data.
        keys: Key columns, in the order of `unique_key`.
        compared: Columns of the row hash in hash order; without it all that are neither keys nor
            ignored, in df's order.
        ignore: Columns that are carried but not hashed.
        sensitive: Columns whose hash is peppered from the environment variable TIDEMARK_PEPPER.
        algorithm: `md5` or `sha256`.
        types: Types to read text columns as. The rows are then cast as by `cast_and_hash`.

    Returns:
        The columns of df, `_key_hash` and `_row_hash`; with `types` also `_reject_reason` and
        `_raw_payload`.

    Raises:
        ConfigError: An unknown column or algorithm, a type without canonical text, or no pepper.
    """
    if types:
        _check_names(df.columns, "types", types)
        for name in df.columns:
            found = df.schema[name].dataType.simpleString()
            if found != "string" and types.get(name, found) != found:
                raise ConfigError(
                    f"types: column {name} is {found} already. Cast the column before"
                )
        declared = {
            name: types.get(name, df.schema[name].dataType.simpleString()) for name in df.columns
        }
        return cast_and_hash(df, declared, keys, compared, ignore, sensitive, algorithm)

    kinds = {field.name: type_of_spark(field.dataType) for field in df.schema.fields}
    hashing = _Hashing.of(kinds, keys, compared, ignore, sensitive, algorithm)

    def hash_partition(rows: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
        hash_values = hashing.hasher()
        for row in rows:
            values = tuple(row)
            yield (*values, *hash_values(values))

    schema = _schema(df.schema, ["_key_hash", "_row_hash"])
    session = df.sparkSession
    return session.createDataFrame(df.rdd.mapPartitions(hash_partition), schema, verifySchema=False)


def cast_and_hash(
    rows: DataFrame | RDD[Any],
    columns: Mapping[str, str],
    keys: Sequence[str],
    compared: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    algorithm: str = "md5",
    time_zone: str | None = None,
) -> DataFrame:
    """Cast rows of text to typed columns and hash them; what cannot be cast is marked, not raised.

    Example:
        >>> lines = session.sparkContext.textFile("airports.txt")  # doctest: +SKIP
        >>> cast_and_hash(
        ...     lines.map(lambda line: (line[:4], line[4:12])),
        ...     columns={"icao": "string", "elevation": "double"},
        ...     keys=["icao"],
        ... )  # doctest: +SKIP

    Text that is blank is NULL in every type but string. Whole numbers must be in range, decimals
    are rounded half up to their scale, dates are `yyyy-MM-dd`, timestamps ISO 8601, booleans
    true/t/yes/y/1 or false/f/no/n/0.

    Args:
        rows: A DataFrame with these columns (others are dropped; those that are not text must have
            their type), or an RDD of tuples in the order of `columns` or of dicts, with text
            values.
        columns: Spark type by name. Text can be read as string, boolean, whole numbers, decimal,
            float, double, date, timestamp, timestamp_ntz.
        keys: Key columns, in the order of `unique_key`.
        compared: Columns of the row hash in hash order; without it all that are neither keys nor
            ignored.
        ignore: Columns that are carried but not hashed.
        sensitive: Columns whose hash is peppered from TIDEMARK_PEPPER and whose value is masked in
            `_raw_payload`.
        algorithm: `md5` or `sha256`.
        time_zone: The zone of timestamps that name none; without it the session's.

    Returns:
        The typed columns, `_key_hash`, `_row_hash`, `_reject_reason` and `_raw_payload`. A
        rejected row has the reason (`cast_failed: <column>`, or `unreadable` if its shape is
        wrong), its values as JSON, and no row hash; it has a key hash if its key could be read.

    Raises:
        ConfigError: An unknown column or algorithm, a type that cannot be read from text, or no
            pepper.
    """
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    session: SparkSession
    names = list(columns)
    done: frozenset[str] = frozenset()
    if isinstance(rows, DataFrame):
        _check_names(rows.columns, "columns", columns)
        session = rows.sparkSession
        selected = rows.select(*(back_ticked(name) for name in names))
        arrived = {field.name: field.dataType.simpleString() for field in selected.schema.fields}
        for name, found in zip(names, arrived.values(), strict=True):
            if found not in ("string", columns[name]):
                raise ConfigError(f"columns: {name} is {found}, neither string nor {columns[name]}")
        done = frozenset(n for n, t in zip(names, arrived.values(), strict=True) if t != "string")
        source = selected.rdd
    else:
        session = SparkSession.builder.getOrCreate()
        source = rows

    zone = time_zone or str(session.conf.get("spark.sql.session.timeZone"))
    kinds = {name: parse_type(data_type) for name, data_type in columns.items()}
    hashing = _Hashing.of(kinds, keys, compared, ignore, sensitive, algorithm)
    readers_of(kinds, done, zone)

    def cast_partition(partition: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
        readers = readers_of(kinds, done, zone)
        hash_values = hashing.hasher()
        for row in partition:
            arrived_values = values_of(row, names)
            if arrived_values is None:
                payload = payload_of(row, names, hashing.sensitive)
                yield (*[None] * len(names), None, None, "unreadable", payload)
                continue
            values, failed = cast_values(arrived_values, readers)
            if not failed:
                yield (*values, *hash_values(values), None, None)
                continue
            first = next((name for name in hashing.keys if name in failed), failed[0])
            key_hash = None if first in hashing.keys else hash_values(values)[0]
            payload = payload_of(
                dict(zip(names, arrived_values, strict=True)), names, hashing.sensitive
            )
            yield (*values, key_hash, None, f"cast_failed: {first}", payload)

    typed = StructType()
    for name, kind in kinds.items():
        ddl = "string" if kind.base in STRINGS else kind.text
        typed = typed.add(name, DataType.fromDDL(ddl))
    schema = _schema(typed, ["_key_hash", "_row_hash", "_reject_reason", "_raw_payload"])
    return session.createDataFrame(source.mapPartitions(cast_partition), schema, verifySchema=False)


@dataclass(frozen=True)
class _Hashing:
    """Which columns make the key hash and the row hash; checked once, sent to the workers."""

    kinds: tuple[tuple[str, Type], ...]
    keys: tuple[str, ...]
    compared: tuple[str, ...]
    sensitive: frozenset[str]
    algorithm: str
    pepper: str | None

    @classmethod
    def of(
        cls,
        kinds: Mapping[str, Type],
        keys: Sequence[str],
        compared: Sequence[str] | None,
        ignore: Sequence[str],
        sensitive: Sequence[str],
        algorithm: str,
    ) -> _Hashing:
        if not keys or isinstance(keys, str):
            raise ConfigError(
                "keys must be a list of at least one column. Name the columns that identify a row"
            )
        if algorithm not in ALGORITHMS:
            raise ConfigError(f"unknown hash algorithm {algorithm}: use {', '.join(ALGORITHMS)}")
        named = {"keys": keys, "compared": compared or (), "ignore": ignore, "sensitive": sensitive}
        for setting, columns in named.items():
            _check_names(kinds, setting, columns)
        if compared is None:
            compared = [name for name in kinds if name not in keys and name not in ignore]
        hashing = cls(
            tuple(kinds.items()),
            tuple(keys),
            tuple(compared),
            frozenset(sensitive),
            algorithm,
            os.environ.get(PEPPER_VARIABLE) if sensitive else None,
        )
        hashing.hasher()
        return hashing

    def hasher(self) -> Callable[[Sequence[Any]], tuple[str, str]]:
        """A function from the values of a row to its key hash and row hash."""
        kinds = dict(self.kinds)
        positions = {name: index for index, name in enumerate(kinds)}
        encoders = []
        for columns in (self.keys, self.compared):
            described = [(name, kinds[name], name in self.sensitive) for name in columns]
            encoders.append((RowEncoder(described, self.pepper), [positions[n] for n in columns]))
        (key, key_at), (row, row_at) = encoders
        algorithm = self.algorithm

        def hash_values(values: Sequence[Any]) -> tuple[str, str]:
            return (
                key.hash([values[i] for i in key_at], algorithm),
                row.hash([values[i] for i in row_at], algorithm),
            )

        return hash_values


def _check_names(known: Iterable[str], setting: str, names: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f": the columns are {', '.join(known)}"
            raise ConfigError(f"{setting} names column {name}, which the rows do not have{hint}")


def _schema(schema: Any, added: Sequence[str]) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [StructField(field.name, field.dataType, True) for field in schema.fields]
    return StructType(fields + [StructField(name, StringType(), True) for name in added])
