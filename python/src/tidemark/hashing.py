"""The hash recipe (docs block `hash_recipe`) in Python: same bytes as the macro `row_hash_expr`.

The functions for one value and one row need no Spark. `hash_rows` and `cast_and_hash` hash the
rows of a DataFrame or RDD in Python workers, for sources that SQL cannot express; the `cdc`
materialization takes such hashes as they are.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import os
import re
import struct
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import xxhash

from tidemark.errors import ConfigError

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

RECIPE_VERSION = 1
ALGORITHMS = ("md5", "sha256", "xxhash64x2")
PEPPER_VARIABLE = "TIDEMARK_PEPPER"

_SPARK_SEED = 42
_SECOND_SEED = xxhash.xxh64_intdigest(b"tidemark", _SPARK_SEED)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)

_Encoder = Callable[[Any], str]
_Reader = Callable[[str], Any]


@dataclass(frozen=True)
class Column:
    """A column that is hashed: its name, its Spark type, and whether its value is peppered."""

    name: str
    type: str
    sensitive: bool = False


# -- Types ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Type:
    """A parsed Spark type: `base` in lower case, inner types, and field names of a struct."""

    text: str
    base: str
    parts: tuple[_Type, ...] = ()
    names: tuple[str, ...] = ()
    precision: int = 10
    scale: int = 0


_INTEGERS = {
    "tinyint": 8,
    "byte": 8,
    "smallint": 16,
    "short": 16,
    "int": 32,
    "integer": 32,
    "bigint": 64,
    "long": 64,
}
_STRINGS = ("string", "char", "varchar", "character")
_DECIMALS = ("decimal", "dec", "numeric")
_NESTED = ("array", "map", "struct")
_TYPE_WORDS = frozenset(
    (
        *_INTEGERS,
        *_STRINGS,
        *_DECIMALS,
        *_NESTED,
        *("boolean", "float", "real", "double", "date", "timestamp", "timestamp_ltz"),
        *("timestamp_ntz", "time", "binary", "interval", "void", "variant", "object"),
        *("geometry", "geography"),
    )
)


@lru_cache(maxsize=4096)
def _parse_type(text: str) -> _Type:
    stripped = text.strip()
    base = re.split(r"[<( ]", stripped, maxsplit=1)[0].lower()
    if base in _DECIMALS:
        digits = re.findall(r"\d+", stripped)
        precision = int(digits[0]) if digits else 10
        return _Type(stripped, "decimal", (), (), precision, int(digits[1]) if digits[1:] else 0)
    if base in _NESTED and "<" in stripped and stripped.endswith(">"):
        inner = stripped[stripped.index("<") + 1 : -1]
        if base == "struct" and not stripped.endswith("more fields>"):
            fields = list(_struct_fields(inner))
            types = tuple(_parse_type(field) for _, field in fields)
            return _Type(stripped, base, types, tuple(name for name, _ in fields))
        parts = tuple(_parse_type(part) for part in _type_parts(inner))
        if base != "struct" and len(parts) == (1 if base == "array" else 2):
            return _Type(stripped, base, parts)
    return _Type(stripped, base if base not in _NESTED else "unknown")


def _type_parts(text: str) -> list[str]:
    """Split at the commas that stand neither within inner brackets nor within back-ticks."""
    parts, part, depth, quoted = [], "", 0, False
    for character in text:
        if character == "`" and (quoted or not part.strip() or part.startswith("`")):
            quoted = not quoted
        elif not quoted and character in "<(":
            depth += 1
        elif not quoted and character in ">)":
            depth -= 1
        if character == "," and depth == 0 and not quoted:
            parts.append(part)
            part = ""
        else:
            part += character
    if part.strip():
        parts.append(part)
    return parts


def _struct_fields(text: str) -> Iterator[tuple[str, str]]:
    pending = ""
    for part in _type_parts(text):
        name, field = _struct_field(pending + part)
        if field:
            yield name, field
        pending = "" if field else pending + part + ","


def _struct_field(part: str) -> tuple[str, str]:
    text = part.strip()
    quoted = re.match(r"`((?:[^`]|``)*)`\s*:?", text)
    if quoted:
        return quoted[1].replace("``", "`"), text[quoted.end() :].strip()
    pieces = text.split(":")
    for index in range(1, len(pieces)):
        if re.split(r"[<(,` ]", pieces[index].strip(), maxsplit=1)[0].lower() in _TYPE_WORDS:
            return ":".join(pieces[:index]), ":".join(pieces[index:]).strip()
    return text, ""


def _type_of_spark(data_type: Any) -> _Type:
    """The type tree of a `pyspark.sql.types.DataType`; field names are taken as they are."""
    if hasattr(data_type, "elementType"):
        return _Type("array", "array", (_type_of_spark(data_type.elementType),))
    if hasattr(data_type, "keyType"):
        parts = (_type_of_spark(data_type.keyType), _type_of_spark(data_type.valueType))
        return _Type("map", "map", parts)
    if hasattr(data_type, "fields"):
        types = tuple(_type_of_spark(field.dataType) for field in data_type.fields)
        return _Type("struct", "struct", types, tuple(data_type.names))
    return _parse_type(data_type.simpleString())


# -- Canonical text ------------------------------------------------------------------------------


def canonical_text(value: Any, data_type: str) -> str | None:
    """The canonical text of a value, None for None.

    Example:
        >>> canonical_text(decimal.Decimal("1.50"), "decimal(10,2)")
        '1.5'
        >>> canonical_text(1.1, "double")
        '0x1.199999999999ap0'
        >>> canonical_text([1, None], "array<int>")
        '[1:1;N;]'

    Args:
        value: As PySpark gives it: str, bool, int, Decimal, float, date, datetime, bytes,
            timedelta, list, dict (map), Row, tuple or dict (struct). A datetime without a zone
            counts as local time in a `timestamp`.
        data_type: A Spark type, as `describe query` prints it or with quoted field names.

    Raises:
        ConfigError: The type has no canonical text (variant, time …).
        TypeError: The value is not of the type.
        ValueError: The value does not fit the type.
    """
    return None if value is None else _encoder(_parse_type(data_type))(value)


@lru_cache(maxsize=4096)
def _encoder(data_type: _Type) -> _Encoder:
    base = data_type.base
    if base in _STRINGS:
        return _text_of_string
    if base == "boolean":
        return _text_of_boolean
    if base in _INTEGERS:
        return _text_of_integer
    if base == "decimal":
        scale = data_type.scale
        return lambda value: _text_of_decimal(value, scale)
    if base == "double":
        return _text_of_double
    if base in ("float", "real"):
        return lambda value: _text_of_double(_as_float32(value))
    if base == "date":
        return _text_of_date
    if base in ("timestamp", "timestamp_ltz"):
        return lambda value: str(_micros(value))
    if base == "timestamp_ntz":
        return _text_of_timestamp_ntz
    if base == "binary":
        return lambda value: bytes(_checked(value, (bytes, bytearray), "binary")).hex().upper()
    if base == "interval":
        return _interval_encoder(data_type)
    if base == "void":
        return str
    if base == "array":
        item = _encoder(data_type.parts[0])
        return lambda value: "[" + "".join(_item(item, part) for part in value) + "]"
    if base == "map":
        return _map_encoder(data_type)
    if base == "struct":
        return _struct_encoder(data_type)
    raise ConfigError(
        f"cannot hash a value of type {data_type.text}: it has no canonical text. "
        "Cast it to another type, or list its column as ignored"
    )


def _checked(value: Any, kind: type | tuple[type, ...], data_type: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"not a {data_type}: a {type(value).__name__}")
    return value


def _text_of_string(value: Any) -> str:
    return str(_checked(value, str, "string"))


def _text_of_boolean(value: Any) -> str:
    return "true" if _checked(value, bool, "boolean") else "false"


def _text_of_integer(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError("not an integer: a bool")
    return str(_checked(value, int, "integer"))


def _text_of_decimal(value: Any, scale: int) -> str:
    """`str(Decimal)` without zeros that end the fraction; no context is used, as contexts round."""
    if isinstance(value, bool):
        raise TypeError("not a decimal: a bool")
    number = decimal.Decimal(_checked(value, (decimal.Decimal, int), "decimal"))
    sign, all_digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{number} is not a decimal number")
    digits = "".join(map(str, all_digits)).lstrip("0")
    if not digits:
        return "0"
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    if -exponent > scale:
        raise ValueError(f"a decimal with {-exponent} decimal places does not fit {scale}")
    minus = "-" if sign else ""
    adjusted = exponent + len(kept) - 1
    if adjusted < -6:
        return f"{minus}{kept[0]}{'.' if kept[1:] else ''}{kept[1:]}E{adjusted}"
    if exponent >= 0:
        return minus + kept + "0" * exponent
    padded = kept.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"


def _text_of_double(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError("not a double: a bool")
    number = float(_checked(value, (float, int), "double"))
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if abs(number) < 2**53 and number.is_integer():
        return str(int(number))
    mantissa, exponent = number.hex().split("p")
    mantissa = mantissa.rstrip("0")
    return f"{mantissa}{'0' if mantissa.endswith('.') else ''}p{int(exponent)}"


def _as_float32(value: Any) -> float:
    number = float(_checked(value, (float, int), "float"))
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _text_of_date(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        raise TypeError("not a date: a datetime")
    return str(_checked(value, datetime.date, "date").isoformat())


def _micros(value: Any) -> int:
    moment: datetime.datetime = _checked(value, datetime.datetime, "timestamp")
    aware = moment if moment.tzinfo is not None else moment.astimezone(datetime.UTC)
    return (aware - _EPOCH) // _MICROSECOND


def _text_of_timestamp_ntz(value: Any) -> str:
    moment: datetime.datetime = _checked(value, datetime.datetime, "timestamp_ntz")
    text = moment.replace(tzinfo=None).isoformat(sep=" ")
    return text.rstrip("0") if moment.microsecond else text


def _interval_encoder(data_type: _Type) -> _Encoder:
    units = data_type.text.upper().split()[1:]
    order = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if not units or units[0] not in order or units[-1] not in order:
        raise ConfigError(f"Python has no value for {data_type.text}: hash the column in SQL")
    first, last = order.index(units[0]), order.index(units[-1])
    suffix = units[0] if first == last else f"{units[0]} TO {units[-1]}"

    def encode(value: Any) -> str:
        micros = _checked(value, datetime.timedelta, "interval") // _MICROSECOND
        rest, fraction = divmod(abs(micros), 1_000_000)
        counts = []
        for size in (86_400, 3_600, 60, 1)[first : last + 1]:
            count, rest = divmod(rest, size)
            counts.append(count)
        parts = [
            str(count) if first + index == 0 else f"{count:02d}"
            for index, count in enumerate(counts)
        ]
        text = parts[0] + "".join(
            (" " if first + i == 0 else ":") + p for i, p in enumerate(parts[1:])
        )
        if last == 3 and fraction:
            text += f".{fraction:06d}".rstrip("0")
        return f"INTERVAL '{'-' if micros < 0 else ''}{text}' {suffix}"

    return encode


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def _item(encoder: _Encoder, value: Any) -> str:
    if value is None:
        return "N;"
    text = encoder(value)
    return f"{_byte_length(text)}:{text};"


def _map_encoder(data_type: _Type) -> _Encoder:
    key_encoder, value_encoder = (_encoder(part) for part in data_type.parts)

    def encode(value: Any) -> str:
        entries = [
            _item(key_encoder, key) + _item(value_encoder, item) for key, item in value.items()
        ]
        return "<" + "".join(sorted(entries, key=lambda entry: entry.encode("utf-8"))) + ">"

    return encode


def _struct_encoder(data_type: _Type) -> _Encoder:
    names = data_type.names
    fields = [
        (_label(name), _encoder(part)) for name, part in zip(names, data_type.parts, strict=True)
    ]

    def encode(value: Any) -> str:
        values = [value.get(name) for name in names] if isinstance(value, Mapping) else value
        texts = []
        for (label, encoder), item in zip(fields, values, strict=True):
            if item is not None:
                text = encoder(item)
                texts.append(f"{label}{_byte_length(text)}:{text}")
        return "{" + "".join(texts) + "}"

    return encode


def _label(name: str) -> str:
    return f"{_byte_length(name)}:{name}"


# -- Rows ----------------------------------------------------------------------------------------


class _RowEncoder:
    """Row text and hash of value lists, for columns known beforehand."""

    def __init__(self, columns: Sequence[tuple[str, _Type, bool]], pepper: str | None) -> None:
        self._columns = [(_label(name), _encoder(kind), secret) for name, kind, secret in columns]
        self._pepper = b""
        if any(secret for _, _, secret in columns):
            checked = _checked_pepper(pepper)
            self._pepper = f"{_byte_length(checked)}:{checked}".encode()

    def text(self, values: Iterable[Any]) -> str:
        parts = []
        for (label, encoder, secret), value in zip(self._columns, values, strict=True):
            if value is not None:
                text = encoder(value)
                if secret:
                    text = hashlib.sha256(self._pepper + text.encode("utf-8")).hexdigest()
                parts.append(f"{label}{_byte_length(text)}:{text}")
        return "".join(parts)

    def hash(self, values: Iterable[Any], algorithm: str) -> str:
        return _digest(self.text(values), algorithm)


def _checked_pepper(pepper: str | None) -> str:
    if not pepper:
        raise ConfigError(f"sensitive columns need a pepper: set {PEPPER_VARIABLE}")
    if re.search(r"['\\\x00-\x1f]|\$\{", pepper):
        raise ConfigError(
            f"{PEPPER_VARIABLE} must not hold quotes, backslashes, control characters or ${{, "
            "as Spark puts it into a string literal"
        )
    return pepper


def _digest(text: str, algorithm: str) -> str:
    data = text.encode("utf-8")
    if algorithm == "md5":
        return hashlib.md5(data, usedforsecurity=False).hexdigest()
    if algorithm == "sha256":
        return hashlib.sha256(data).hexdigest()
    if algorithm == "xxhash64x2":
        lanes = (
            xxhash.xxh64_hexdigest(data, _SPARK_SEED),
            xxhash.xxh64_hexdigest(data, _SECOND_SEED),
        )
        return "".join(lanes)
    raise ConfigError(f"unknown hash algorithm {algorithm}: use {', '.join(ALGORITHMS)}")


def _row_encoder(columns: Sequence[Column], pepper: str | None) -> _RowEncoder:
    parsed = [(column.name, _parse_type(column.type), column.sensitive) for column in columns]
    return _RowEncoder(parsed, pepper)


def row_text(row: Mapping[str, Any], columns: Sequence[Column], pepper: str | None = None) -> str:
    """The text that a row's hash is made of.

    Example:
        >>> columns = [Column("icao", "string"), Column("elevation", "double")]
        >>> row_text({"icao": "EDDF", "elevation": None}, columns)
        '4:icao4:EDDF'

    Args:
        row: Values by column name; a missing name counts as NULL.
        columns: Columns in hash order.
        pepper: The secret for columns marked sensitive.

    Raises:
        ConfigError: A type has no canonical text, or the pepper is missing or unusable.
    """
    return _row_encoder(columns, pepper).text(row.get(column.name) for column in columns)


def row_hash(
    row: Mapping[str, Any],
    columns: Sequence[Column],
    algorithm: str = "md5",
    pepper: str | None = None,
) -> str:
    """The hash of a row, or of a key if `columns` are the key columns.

    Example:
        >>> row_hash({"icao": "EDDF"}, [Column("icao", "string")])
        '0641478b647ce210f16b30b058150cf8'

    Args:
        row: Values by column name; a missing name counts as NULL.
        columns: Columns in hash order.
        algorithm: `md5`, `sha256` or `xxhash64x2`.
        pepper: The secret for columns marked sensitive.

    Raises:
        ConfigError: Unknown algorithm, a type without canonical text, or a missing or unusable
            pepper.
    """
    return _digest(row_text(row, columns, pepper), algorithm)


# -- DataFrames and RDDs -------------------------------------------------------------------------


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
        algorithm: `md5`, `sha256` or `xxhash64x2`.
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
                raise ConfigError(f"types: column {name} is {found} already, cast it before")
        declared = {
            name: types.get(name, df.schema[name].dataType.simpleString()) for name in df.columns
        }
        return cast_and_hash(df, declared, keys, compared, ignore, sensitive, algorithm)

    kinds = {field.name: _type_of_spark(field.dataType) for field in df.schema.fields}
    plan = _HashPlan.of(kinds, keys, compared, ignore, sensitive, algorithm)

    def hash_partition(rows: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
        hash_values = plan.hasher()
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
        algorithm: `md5`, `sha256` or `xxhash64x2`.
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
        selected = rows.select(*(_quoted(name) for name in names))
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
    kinds = {name: _parse_type(data_type) for name, data_type in columns.items()}
    plan = _HashPlan.of(kinds, keys, compared, ignore, sensitive, algorithm)
    _readers(kinds, done, zone)

    def cast_partition(partition: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
        readers = _readers(kinds, done, zone)
        hash_values = plan.hasher()
        for row in partition:
            arrived_values = _values_of(row, names)
            if arrived_values is None:
                payload = _payload_of(row, names, plan.sensitive)
                yield (*[None] * len(names), None, None, "unreadable", payload)
                continue
            values, failed = _cast_values(arrived_values, readers)
            if not failed:
                yield (*values, *hash_values(values), None, None)
                continue
            first = next((name for name in plan.keys if name in failed), failed[0])
            key_hash = None if first in plan.keys else hash_values(values)[0]
            payload = _payload_of(
                dict(zip(names, arrived_values, strict=True)), names, plan.sensitive
            )
            yield (*values, key_hash, None, f"cast_failed: {first}", payload)

    typed = StructType()
    for name, kind in kinds.items():
        ddl = "string" if kind.base in _STRINGS else kind.text
        typed = typed.add(name, DataType.fromDDL(ddl))
    schema = _schema(typed, ["_key_hash", "_row_hash", "_reject_reason", "_raw_payload"])
    return session.createDataFrame(source.mapPartitions(cast_partition), schema, verifySchema=False)


@dataclass(frozen=True)
class _HashPlan:
    """Which columns make the key hash and the row hash; checked once, sent to the workers."""

    kinds: tuple[tuple[str, _Type], ...]
    keys: tuple[str, ...]
    compared: tuple[str, ...]
    sensitive: frozenset[str]
    algorithm: str
    pepper: str | None

    @classmethod
    def of(
        cls,
        kinds: Mapping[str, _Type],
        keys: Sequence[str],
        compared: Sequence[str] | None,
        ignore: Sequence[str],
        sensitive: Sequence[str],
        algorithm: str,
    ) -> _HashPlan:
        if not keys or isinstance(keys, str):
            raise ConfigError("keys must be a list of at least one column")
        if algorithm not in ALGORITHMS:
            raise ConfigError(f"unknown hash algorithm {algorithm}: use {', '.join(ALGORITHMS)}")
        named = {"keys": keys, "compared": compared or (), "ignore": ignore, "sensitive": sensitive}
        for setting, columns in named.items():
            _check_names(kinds, setting, columns)
        if compared is None:
            compared = [name for name in kinds if name not in keys and name not in ignore]
        plan = cls(
            tuple(kinds.items()),
            tuple(keys),
            tuple(compared),
            frozenset(sensitive),
            algorithm,
            os.environ.get(PEPPER_VARIABLE) if sensitive else None,
        )
        plan.hasher()
        return plan

    def hasher(self) -> Callable[[Sequence[Any]], tuple[str, str]]:
        """A function from the values of a row to its key hash and row hash."""
        kinds = dict(self.kinds)
        positions = {name: index for index, name in enumerate(kinds)}
        encoders = []
        for columns in (self.keys, self.compared):
            described = [(name, kinds[name], name in self.sensitive) for name in columns]
            encoders.append((_RowEncoder(described, self.pepper), [positions[n] for n in columns]))
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


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _schema(schema: Any, added: Sequence[str]) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [StructField(field.name, field.dataType, True) for field in schema.fields]
    return StructType(fields + [StructField(name, StringType(), True) for name in added])


# -- Text to values ------------------------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))
_WIDE = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def _values_of(row: Any, names: Sequence[str]) -> list[Any] | None:
    """The values in column order, None if the row has another shape."""
    fields = getattr(row, "__fields__", None)
    if fields is not None and fields != names:
        row = row.asDict()
    if isinstance(row, Mapping):
        return [row.get(name) for name in names] if set(row) <= set(names) else None
    if isinstance(row, tuple | list) and len(row) == len(names):
        return list(row)
    return None


def _payload_of(row: Any, names: Sequence[str], sensitive: frozenset[str]) -> str:
    """The row as JSON, sensitive values masked; one of unknown shape may hold them anywhere."""
    if isinstance(row, Mapping) and set(row) <= set(names):
        shown = {n: "***" if n in sensitive and v is not None else v for n, v in row.items()}
    elif sensitive:
        shown = {"_unreadable": "*** (withheld: the entity has sensitive columns)"}
    else:
        shown = {"_unreadable": row}
    return json.dumps(shown, ensure_ascii=False, default=str)


def _cast_values(
    arrived: Sequence[Any], readers: Sequence[tuple[str, _Reader | None]]
) -> tuple[list[Any], list[str]]:
    """Typed values, and the names of the columns that could not be read (their value is None)."""
    values: list[Any] = []
    failed: list[str] = []
    for value, (name, read) in zip(arrived, readers, strict=True):
        if value is None or read is None:
            values.append(value)
            continue
        try:
            values.append(read(value if isinstance(value, str) else str(value)))
        except (ValueError, ArithmeticError):
            values.append(None)
            failed.append(name)
    return values, failed


def _readers(
    kinds: Mapping[str, _Type], done: frozenset[str], zone: str
) -> list[tuple[str, _Reader | None]]:
    return [
        (name, None if name in done else _reader(name, kind, zone)) for name, kind in kinds.items()
    ]


def _reader(name: str, kind: _Type, zone: str) -> _Reader:
    base = kind.base
    if base in _STRINGS:
        return str
    read: _Reader
    if base == "boolean":
        read = _read_boolean
    elif base in _INTEGERS:
        bits = _INTEGERS[base]
        read = lambda text: _read_integer(text, bits)  # noqa: E731
    elif base == "decimal":
        read = lambda text: _read_decimal(text, kind)  # noqa: E731
    elif base == "double":
        read = _read_double
    elif base in ("float", "real"):
        read = lambda text: _as_float32(_read_double(text))  # noqa: E731
    elif base == "date":
        read = _read_date
    elif base in ("timestamp", "timestamp_ltz"):
        read = lambda text: _read_timestamp(text, zone)  # noqa: E731
    elif base == "timestamp_ntz":
        read = lambda text: _read_timestamp(text, None)  # noqa: E731
    else:
        raise ConfigError(f"columns: {name} cannot be read from text as {kind.text}")
    return lambda text: read(text.strip()) if text.strip() else None


def _read_boolean(text: str) -> bool:
    lower = text.lower()
    if lower not in _TRUE | _FALSE:
        raise ValueError("not a boolean")
    return lower in _TRUE


def _read_integer(text: str, bits: int) -> int:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise ValueError("not a whole number")
    number = int(text)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError("out of range")
    return number


def _read_decimal(text: str, kind: _Type) -> decimal.Decimal:
    if not text.isascii() or not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    number = decimal.Decimal(text)
    if number and number.adjusted() > kind.precision:
        raise ValueError("out of range")
    rounded = number.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=_WIDE)
    if rounded and rounded.adjusted() >= kind.precision - kind.scale:
        raise ValueError("out of range")
    return rounded


def _read_double(text: str) -> float:
    special = text.lower().lstrip("+-") in ("nan", "inf", "infinity")
    if not special and not (text.isascii() and _NUMBER.fullmatch(text)):
        raise ValueError("not a number")
    return float(text)


def _read_date(text: str) -> datetime.date:
    match = _DATE.fullmatch(text)
    if match is None or not text.isascii():
        raise ValueError("not a date")
    return datetime.date(int(match[1]), int(match[2]), int(match[3]))


def _read_timestamp(text: str, zone: str | None) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    if zone is None:
        if moment.tzinfo is not None:
            raise ValueError("a timestamp without zone names one")
        return moment
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=_zone(zone))
    return aware.astimezone(datetime.UTC)


@lru_cache(maxsize=16)
def _zone(name: str) -> datetime.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        offset = datetime.datetime.fromisoformat(f"2000-01-01T00:00:00{name.removeprefix('GMT')}")
        return offset.tzinfo or datetime.UTC
