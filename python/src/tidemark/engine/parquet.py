"""The columns of Parquet files, by their footers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidemark.engine.quoted import literal

_PLAIN = {
    ("BOOLEAN", None): "boolean",
    ("INT32", None): "int",
    ("INT32", "INT_8"): "tinyint",
    ("INT32", "INT_16"): "smallint",
    ("INT32", "INT_32"): "int",
    ("INT32", "DATE"): "date",
    ("INT64", None): "bigint",
    ("INT64", "INT_64"): "bigint",
    ("INT96", None): "timestamp",
    ("FLOAT", None): "float",
    ("DOUBLE", None): "double",
    ("BYTE_ARRAY", "UTF8"): "string",
}
_DECIMALS = ("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY")


def columns_of(paths: Sequence[str]) -> list[dict[str, str]] | str:
    """Return the columns that Parquet files have, as Spark calls their types.

    Example:
        >>> columns_of(["/data/airports.parquet"])
        [{'name': 'icao', 'type': 'string'}, {'name': 'elevation', 'type': 'double'}]

    Args:
        paths: The files.

    Returns:
        The columns in their order; or a text: why the engine does not take the files.
    """
    import duckdb

    try:
        with duckdb.connect() as db:
            return _same_columns([(_nodes(db, path), _words(db, path)) for path in paths])
    except duckdb.Error as error:
        return f"the footer of a file is not read by it ({type(error).__name__})"


Node = tuple[str, str | None, str | None, int | None, str | None, int | None, int | None, str]
"""Name, type, repetition, children, converted type, scale, precision, logical type."""


def _nodes(db: Any, path: str) -> list[Node]:
    asked = (
        "name, type, repetition_type, num_children, converted_type, scale, precision, "
        "coalesce(logical_type, '')"
    )
    found = db.execute(f"select {asked} from parquet_schema({literal(path)})")
    return list(found.fetchall())


def _words(db: Any, path: str) -> dict[str, str]:
    """Return what those that wrote a file have left in it, beside the columns."""
    found = db.execute(
        f"select decode(key), decode(value) from parquet_kv_metadata({literal(path)}) "
        "where starts_with(decode(key), 'org.apache.spark.')"
    )
    return dict(found.fetchall())


def _same_columns(
    files: Sequence[tuple[Sequence[Node], Mapping[str, str]]],
) -> list[dict[str, str]] | str:
    """Return the columns of all files, whose nodes and words these are."""
    first: list[dict[str, str]] | None = None
    for nodes, words in files:
        columns = list(_columns(nodes[1:]))
        for column in columns:
            if not column["type"]:
                return f"column {column['name']} of a file is of a type that Spark alone knows"
        if first is not None and columns != first:
            return "its files have different columns"
        if _is_old(words):
            return "a file was written by an old Spark"
        if not _agree(columns, words):
            return "a file has more to say of its columns than their names and types"
        first = columns
    names = [column["name"].lower() for column in first or []]
    if not names or len(set(names)) < len(names):
        return "its files have no columns, or one name twice"
    return first or []


def _columns(nodes: Sequence[Node]) -> Iterator[dict[str, str]]:
    """Yield the columns; `type` is empty of one that the engine does not know."""
    for name, kind, repetition, children, converted, scale, precision, logical in nodes:
        found = _PLAIN.get((str(kind), converted))
        if converted == "DECIMAL" and kind in _DECIMALS:
            found = f"decimal({precision},{scale or 0})"
        elif converted == "TIMESTAMP_MICROS" and "isAdjustedToUTC=1" in logical:
            found = "timestamp"
        elif converted is None and logical:
            found = None  # a time, a uuid …
        is_flat = repetition in ("OPTIONAL", "REQUIRED") and not children
        yield {"name": name, "type": found if found and is_flat else ""}


def _is_old(words: Mapping[str, str]) -> bool:
    """Say whether dates in a file may be of another calendar."""
    version = words.get("org.apache.spark.version", "")
    legacy = any(name.startswith("org.apache.spark.legacy") for name in words)
    return legacy or (bool(version) and int(version.split(".")[0]) < 3)


def _agree(columns: Sequence[Mapping[str, str]], words: Mapping[str, str]) -> bool:
    """Say whether the schema that Spark has left in a file, which it goes by, says the same."""
    known = words.get("org.apache.spark.sql.parquet.row.metadata")
    if known is None:
        return True
    fields = json.loads(known)["fields"]
    spelled = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
    return [dict(column) for column in columns] == [
        {"name": field["name"], "type": spelled.get(str(field["type"]), str(field["type"]))}
        for field in fields
        if not set(field["metadata"]) - {"comment"}
    ]
