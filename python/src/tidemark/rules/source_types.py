"""How a source writes the values of its columns, and the Spark types that hold them.

A column is told as {name, encoding, type, optional} and, if there is one, `default` as the text of
a value in that encoding, with `default_is_stand_in` where it is one of an expression.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.rules.statement_texts import definition_of
from tidemark.shapes.opened import Default, SourceColumn

Column = Mapping[str, Any]
Type = tuple[str, str]
"""Encoding and Spark type."""
Table = Sequence[tuple[str, str, str]]
"""Encodings and types, with the words that they stand for."""

#: Source types whose strings are bytes in hexadecimal (`binary.handling.mode=hex`)
BINARY = frozenset(
    ["LONG RAW", *"BYTEA BLOB TINYBLOB MEDIUMBLOB LONGBLOB BINARY VARBINARY RAW IMAGE".split()]
)

#: By the names of Kafka Connect schemas; D. stands for io.debezium., K. for
#: org.apache.kafka.connect.data.
SEMANTIC: Table = (
    ("days", "date", "D.time.Date K.Date"),
    ("millis", "timestamp_ntz", "D.time.Timestamp K.Timestamp"),
    ("micros", "timestamp_ntz", "D.time.MicroTimestamp"),
    ("nanos", "timestamp_ntz", "D.time.NanoTimestamp"),
    ("iso", "timestamp", "D.time.ZonedTimestamp"),
    ("iso", "date", "D.time.IsoDate"),
    ("iso", "timestamp_ntz", "D.time.IsoTimestamp"),
    ("iso", "string", "D.time.IsoTime D.time.ZonedTime"),
    ("time_millis", "string", "D.time.Time K.Time"),
    ("time_micros", "string", "D.time.MicroTime"),
    ("time_nanos", "string", "D.time.NanoTime"),
    ("number", "int", "D.time.Year"),
    ("number", "bigint", "D.time.MicroDuration D.time.NanoDuration"),
    ("text", "string", "D.time.Interval D.data.Json D.data.Xml D.data.Uuid D.data.Enum"),
    ("text", "string", "D.data.EnumSet D.data.Ltree"),
    ("decimal_struct", "string", "D.data.VariableScaleDecimal"),
    ("base64", "binary", "D.data.Bits"),
)
#: By the types of Kafka Connect
PLAIN: Table = (
    ("number", "tinyint", "int8"),
    ("number", "smallint", "int16"),
    ("number", "int", "int32"),
    ("number", "bigint", "int64"),
    ("number", "float", "float float32"),
    ("number", "double", "double float64"),
    ("boolean", "boolean", "boolean"),
    ("text", "string", "string"),
    ("base64", "binary", "bytes"),
    ("json", "string", "map struct"),
)
MYSQL: Table = (
    ("number", "smallint", "TINYINT INT1"),
    ("number", "int", "MEDIUMINT INT3 MIDDLEINT YEAR"),
    ("number", "bigint", "BIGINT INT8"),
    ("number", "float", "FLOAT4"),
    ("number", "double", "FLOAT FLOAT8 DOUBLE REAL"),
    ("boolean", "boolean", "BOOL BOOLEAN"),
    ("days", "date", "DATE"),
    ("time_micros", "string", "TIME"),
    ("iso", "timestamp", "TIMESTAMP"),
    ("array:number", "array<float>", "VECTOR"),
    ("json", "string", "GEOMETRY POINT LINESTRING POLYGON MULTIPOINT MULTILINESTRING"),
    ("json", "string", "MULTIPOLYGON GEOMETRYCOLLECTION GEOMCOLLECTION"),
)
ORACLE: Table = (
    ("millis", "timestamp_ntz", "DATE"),
    ("number", "float", "BINARY_FLOAT"),
    ("number", "double", "BINARY_DOUBLE"),
    ("boolean", "boolean", "BOOLEAN"),
    ("json", "string", "SDO_GEOMETRY MDSYS.SDO_GEOMETRY"),
)
#: Whose `timestamp` is a row version and whose tinyint goes to 255
SQLSERVER: Table = (
    ("boolean", "boolean", "bit"),
    ("number", "smallint", "tinyint smallint"),
    ("number", "int", "int"),
    ("number", "bigint", "bigint"),
    ("number", "float", "real"),
    ("number", "double", "float"),
    ("auto", "decimal(19,4)", "money"),
    ("auto", "decimal(10,4)", "smallmoney"),
    ("days", "date", "date"),
    ("millis", "timestamp_ntz", "datetime smalldatetime"),
    ("iso", "timestamp", "datetimeoffset"),
    ("hex", "binary", "binary varbinary image timestamp rowversion"),
    ("json", "string", "geometry geography"),
)
#: What MySQL and MariaDB have for a type where a column is NOT NULL and has no default
IMPLICIT: Table = (
    ("0", "", "TINYINT INT1 SMALLINT INT2 MEDIUMINT INT3 MIDDLEINT INT INTEGER INT4 BIGINT INT8"),
    ("0", "", "YEAR DECIMAL NUMERIC DEC FIXED FLOAT FLOAT4 FLOAT8 DOUBLE REAL"),
    ("", "", "CHAR VARCHAR CHARACTER NCHAR NVARCHAR TINYTEXT TEXT MEDIUMTEXT LONGTEXT SET"),
    ("", "", "VARBINARY TINYBLOB BLOB MEDIUMBLOB LONGBLOB"),
)
#: Units of a count since the epoch, or since midnight
PER_SECOND = {"days": 1, "millis": 10**3, "micros": 10**6, "nanos": 10**9}


def connect_columns(fields: Iterable[Mapping[str, Any]]) -> list[SourceColumn]:
    """Return the columns of a Kafka Connect struct schema.

    Example:
        >>> connect_columns([{"field": "id", "type": "int32"}])
        [{'name': 'id', 'encoding': 'number', 'type': 'int', 'optional': False}]

    Args:
        fields: `fields` of an event's `before` or `after`.
    """
    columns = []
    for field in fields:
        encoding, kind = _connect_type(field)
        column: SourceColumn = {"name": field["field"], "encoding": encoding, "type": kind}
        column["optional"] = field.get("optional", False)
        if "default" in field:
            column = {**column, **_default_value(json_text(field["default"]), encoding)}
        columns.append(column)
    return columns


def _default_value(text: str | None, encoding: str) -> Default:
    """{default}, and whether it is what Debezium sends in place of an expression.

    That is the epoch, or the nil UUID.
    """
    is_epoch = encoding in PER_SECOND and text == "0"
    is_iso = encoding == "iso" and re.match(r"^1970-01-01([T ]00:00:00[.0]*)?Z?$", text or "")
    is_stand_in = is_epoch or is_iso or text == "00000000-0000-0000-0000-000000000000"
    return {"default": text, **({"default_is_stand_in": True} if is_stand_in else {})}


def _connect_type(schema: Mapping[str, Any]) -> Type:
    """By its semantic name, then by the source column's type, then by its own type."""
    name, kind = schema.get("name") or "", schema["type"]
    short = name.replace("io.debezium.", "D.").replace("org.apache.kafka.connect.data.", "K.")
    named = _type_of(short, SEMANTIC)
    parameters = schema.get("parameters") or {}
    source = parameters.get("__debezium.source.column.type", "").upper()
    if named:
        return named
    if short == "K.Decimal":
        scale = _whole(parameters.get("scale"))
        digits = _whole(parameters.get("connect.decimal.precision", 38))
        return f"decimal_bytes:{scale}", decimal_type(digits, scale)
    if kind == "int64" and _is_unsigned_bigint(source):
        # `bigint.unsigned.handling.mode` is long
        return "unsigned", "decimal(20,0)"
    if kind == "array":
        encoding, item = _connect_type(schema["items"])
        return f"array:{encoding}", f"array<{item}>"
    if kind == "string" and source in BINARY:
        return "hex", "binary"
    # Oracle's NUMBER without a scale holds any
    has_scale = source == "NUMBER" and "__debezium.source.column.scale" in parameters
    if kind == "string" and (_word(source) in ("NUMERIC", "DECIMAL", "DEC", "FIXED") or has_scale):
        length = _whole(parameters.get("__debezium.source.column.length"))
        scale = _whole(parameters.get("__debezium.source.column.scale"))
        return "number", decimal_type(length, scale)
    return _type_of(kind, PLAIN) or ("auto", "string")


def decimal_type(precision: int, scale: int) -> str:
    """Return the decimal that holds every value of a source's.

    Example:
        >>> decimal_type(10, 2), decimal_type(5, -2), decimal_type(0, 0)
        ('decimal(10,2)', 'decimal(7,0)', 'string')

    Args:
        precision: How many digits it has, 0 where the source sets no limit.
        scale: Those behind the point; may be negative, or more than the precision.

    Returns:
        string where there is no such decimal.
    """
    places = max(scale, 0)
    digits = max(precision - min(scale, 0), places)
    return f"decimal({digits},{places})" if precision > 0 and digits <= 38 else "string"


def json_text(value: Any) -> str | None:
    """Return a parsed JSON value as the text that from_json() gives for it."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True)


def ddl_columns(
    columns: Sequence[Column], connector: str | None = None, captured: bool = True, ddl: str = ""
) -> list[SourceColumn]:
    """Return the columns of a table in one of Debezium's schema-change messages.

    The settings are those of Tidemark's capture: decimals as strings, binary as hex, unsigned
    bigint precise, time precision adaptive, intervals as strings.
    https://debezium.io/documentation/reference/3.5/connectors/mysql.html#mysql-data-types, likewise
    oracle and sqlserver

    Example:
        >>> ddl_columns([{"name": "at", "typeName": "DATETIME", "length": 6}], "mysql")
        [{'name': 'at', 'encoding': 'micros', 'type': 'timestamp_ntz', 'optional': True}]

    Args:
        columns: `tableChanges[].table.columns`.
        connector: The message's `source.connector`; without it the type names tell.
        captured: Whether Tidemark captured it. Nothing tells how another capture writes
            bytes; unsigned bigint tells itself.
        ddl: The text of the statement.
    """
    family = connector or _family(columns)
    kind_of = {"oracle": _oracle_type, "sqlserver": _sqlserver_type}.get(family, _mysql_type)
    found = []
    for column in columns:
        encoding, kind = kind_of(column)
        read: SourceColumn = {"name": column["name"], "encoding": encoding, "type": kind}
        read["optional"] = column.get("optional", True)
        read = {**read, **_default(column, read, family)}
        if family in ("mysql", "mariadb") and _has_implicit_default(column, ddl):
            text = _implicit_default(column, encoding)
            read |= {} if text is None else {"default": text}
        if not captured and encoding in ("hex", "decimal_bytes:0"):
            read["encoding"] = "auto" if encoding == "hex" else "unsigned"
            read["default_encoding"] = encoding
        found.append(read)
    return found


def _family(columns: Iterable[Column]) -> str:
    """Whose type names these are.

    Oracle's DATE and TIMESTAMP have the JDBC type of a timestamp; SQL Server's are lower case.
    """
    own = "NUMBER VARCHAR2 NVARCHAR2 CLOB NCLOB RAW BINARY_FLOAT BINARY_DOUBLE ROWID XMLTYPE"
    family = "mysql"
    for column in columns:
        name = column.get("typeName") or ""
        is_time = _word(name) in ("DATE", "TIMESTAMP") and column.get("jdbcType") in (
            93,
            -101,
            -102,
        )
        if name.split("(")[0] in own.split() or is_time:
            family = "oracle"
        elif name and name == name.lower() and family == "mysql":
            family = "sqlserver"
    return family


def _mysql_type(column: Column) -> Type:
    name = (column.get("typeName") or "").upper()
    word, unsigned = _word(name), _is_unsigned(name)
    length, scale = column.get("length") or 0, column.get("scale")
    if word in ("DECIMAL", "NUMERIC", "DEC", "FIXED"):
        return "auto", decimal_type(length or 10, scale or 0)
    if _is_unsigned_bigint(name):
        return "decimal_bytes:0", "decimal(20,0)"
    if word == "BIT":
        return ("boolean", "boolean") if length <= 1 else ("base64", "binary")
    if word == "DATETIME":
        return _fraction_unit(length), "timestamp_ntz"
    if word == "FLOAT" and scale is None and length <= 24:
        return "number", "float"
    if word in BINARY:
        return "hex", "binary"
    if word in ("SMALLINT", "INT2"):
        return "number", "int" if unsigned else "smallint"
    if word in ("INT", "INTEGER", "INT4"):
        return "number", "bigint" if unsigned else "int"
    return _type_of(word, MYSQL) or ("auto", "string")


def _is_unsigned(name: str) -> bool:
    """Whether values of a type, in upper case, are never negative: what is filled with zeros."""
    return " UNSIGNED" in name or " ZEROFILL" in name


def _is_unsigned_bigint(name: str) -> bool:
    """Whether they may be too large for a bigint, too."""
    word = _word(name)
    return (word in ("BIGINT", "INT8") and _is_unsigned(name)) or word == "SERIAL"


def _oracle_type(column: Column) -> Type:
    """A NUMBER without a scale and a FLOAT have no bound that a decimal could hold.

    The places of a timestamp stand in its name (`TIMESTAMP(9)`, from the catalogue) or are its
    length (from parsed DDL).
    """
    name = (column.get("typeName") or "").upper()
    word = _word(name)
    length, scale = column.get("length") or 0, column.get("scale")
    if word == "NUMBER" and scale is not None and length:
        digits = length - scale
        if scale > 0 or digits > 18:
            return "auto", decimal_type(length, scale)
        most = {2: "tinyint", 4: "smallint", 9: "int", 18: "bigint"}
        return "number", next(kind for places, kind in most.items() if digits <= places)
    if word == "TIMESTAMP" and "ZONE" in name:
        return "iso", "timestamp"
    if word == "TIMESTAMP":
        told = re.match(r"^TIMESTAMP[(]([0-9])[)]", name)
        usual = length if length <= 9 else 6
        places = int(told.group(1)) if told else usual if scale is None else scale
        return _fraction_unit(places), "timestamp_ntz"
    if word == "INTERVAL":
        return "text", "string"
    if word in BINARY:
        return "hex", "binary"
    return _type_of(word, ORACLE) or ("auto", "string")


def _sqlserver_type(column: Column) -> Type:
    word = _word((column.get("typeName") or "").lower())
    length, scale = column.get("length") or 0, column.get("scale")
    places = 7 if scale is None else scale
    if word in ("decimal", "numeric"):
        return "auto", decimal_type(length or 18, scale or 0)
    if word == "datetime2":
        return _fraction_unit(places), "timestamp_ntz"
    if word == "time":
        return f"time_{_fraction_unit(places)}", "string"
    return _type_of(word, SQLSERVER) or ("auto", "string")


def _word(name: str) -> str:
    return name.split("(")[0].split(" ")[0]


def _whole(text: Any) -> int:
    """A whole number, 0 of a text that is none."""
    try:
        return int(text)
    except (TypeError, ValueError):
        return 0


def _fraction_unit(digits: int) -> str:
    """What is counted where so many digits stand behind the second."""
    if digits <= 3:
        return "millis"
    return "micros" if digits <= 6 else "nanos"


def _type_of(word: str, table: Table) -> Type | None:
    for encoding, kind, words in table:
        if word in words.split(" "):
            return encoding, kind
    return None


def _default(column: Column, read: SourceColumn, family: str) -> Default:
    """{default} as the text of a value, {} where there is none or it is an expression.

    MySQL's defaults come without quotes, Oracle's and SQL Server's as they stand in the DDL:
    `'std'`, `((0))`, `sysdate`.
    """
    given, encoding = column.get("defaultValueExpression"), read["encoding"]
    if given is None:
        return {"default": None} if column.get("hasDefaultValue") else {}
    text = str(given)
    if family in ("oracle", "sqlserver"):
        bare = re.sub(r"(?s)^[( ]*(.*?)[) ]*$", r"\1", text, count=1)
        quoted = re.match(r"(?s)^[( ]*[nN]?'(.*)'[) ]*$", text)
        if bare.upper() == "NULL":
            return {"default": None}
        if quoted:
            text = quoted.group(1).replace("''", "'")
        elif re.match(r"(?i)^([-+]?[0-9]*[.]?[0-9]+|true|false)$", bare):
            text = bare
        else:
            return {}
    # in any case; of a number they are 1 and 0
    if text.lower() in ("true", "false") and read["type"] != "string":
        number = "1" if text.lower() == "true" else "0"
        text = text.lower() if encoding == "boolean" else number
    encoded = _encoded_literal(text, encoding)
    return {} if encoded is None else _default_value(encoded, encoding)


def _has_implicit_default(column: Column, ddl: str) -> bool:
    """Whether the rows that are there get what MySQL and MariaDB have for a type.

    That is so as a statement adds a column that is NOT NULL and has no default. An expression that
    tells another value is in the statement alone.
    """
    has_value = any(
        column.get(name) for name in ("hasDefaultValue", "autoIncremented", "generated")
    )
    if column.get("optional", True) or has_value or not re.search(r"(?i)\badd\b", ddl):
        return False
    pattern = r"(?i)\bas\s*[(]|\bdefault\b"
    is_unspecified = column.get("defaultValueExpression") is None
    return is_unspecified and re.search(pattern, definition_of(column["name"], ddl)) is None


def _implicit_default(column: Column, encoding: str) -> str | None:
    """That value as the text of an event's: zero, the empty text, the first of an ENUM.

    None where it is a date, or no event could bring it.
    """
    if encoding == "boolean":
        return "false"
    word, length = _word(column.get("typeName") or "").upper(), column.get("length") or 1
    first = (column.get("enumValues") or ["''"])[0][1:-1].replace("''", "'")
    own = {"ENUM": first, "BIT": "0" * length, "BINARY": "0x" + "00" * length, "TIME": "00:00:00"}
    usual = _type_of(word, IMPLICIT)
    literal = own.get(word, usual[0] if usual else None)
    return None if literal is None else _encoded_literal(literal, encoding)


def _encoded_literal(text: str, encoding: str) -> str | None:
    """The text of a SQL literal as that of an event's value; None where it is not one."""
    if encoding.removeprefix("time_") in PER_SECOND:
        return _counted(text, encoding)
    if encoding == "decimal_bytes:0":
        return _number_base64(int(text)) if re.match("^[0-9]{1,38}$", text) else None
    if encoding == "base64":
        # bits, the lowest byte first
        bits = re.match("^(?:[bB]')?([01]{1,64})'?$", text)
        if not bits:
            return None
        size = (len(bits.group(1)) + 7) // 8
        return base64.b64encode(int(bits.group(1), 2).to_bytes(size, "little")).decode()
    if encoding == "hex":
        digits = re.match("^(?:0x|[xX]')([0-9a-fA-F]*)'?$", text)
        return digits.group(1) if digits else text.encode("utf-8").hex()
    return None if encoding.startswith("array") or encoding == "json" else text


def _counted(text: str, encoding: str) -> str | None:
    """A date, a time or both as a count since the epoch, or since midnight."""
    parts = re.match(
        "^(?:([0-9]{4})-([0-9]{2})-([0-9]{2}))?[ T]?"
        "(?:(-?)([0-9]+):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]{1,9}))?)?)?$",
        text,
    )
    if not parts or not text or (parts.group(1) is None) != encoding.startswith("time_"):
        return None
    if parts.group(2) == "00":
        return None
    year, month, day = (int(parts.group(number) or 0) for number in (1, 2, 3))
    days = _days_since_epoch(year, month, day) if parts.group(1) else 0
    if encoding == "days":
        return str(days)
    hours, minutes, seconds = (int(parts.group(number) or 0) for number in (5, 6, 7))
    nanos = int(f"{parts.group(8) or ''}000000000"[:9])
    per_second = PER_SECOND[encoding.removeprefix("time_")]
    whole = days * 86400 + hours * 3600 + minutes * 60 + seconds
    count = whole * per_second + nanos * per_second // 10**9
    return str(-count if parts.group(4) else count)


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the proleptic Gregorian calendar.

    A day that its month does not have is one of the next: MySQL may have such dates.
    """
    years = year - 1 if month <= 2 else year
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * years + years // 4 - years // 100 + years // 400 + day_of_year - 719468


def _number_base64(number: int) -> str:
    """Base64 of a whole number that is not negative, big-endian with room for the sign."""
    size = number.bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big")).decode()
