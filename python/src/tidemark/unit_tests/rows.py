"""Rows that a test gives or expects, wherever they stand: in the YAML, as CSV text, in a file."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.model.settings.unit_tests import Row, TableRows
from tidemark.printable import counted


def rows_of(table: TableRows, root: Path) -> list[Row]:
    """Return the rows of a table.

    Args:
        table: As the YAML has it.
        root: The project's folder.

    Raises:
        ConfigError: A file is not there, or has no rows.
    """
    if table.rows is not None:
        return table.rows
    if table.csv is not None:
        return _rows_of_csv(table.csv, "csv")
    path = root / str(table.file)
    text = text_of(path)
    if path.suffix == ".csv":
        return _rows_of_csv(text, str(table.file))
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{table.file} is not valid JSON. Correct it: {error}") from error
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ConfigError(f"{table.file} must hold a list of rows")
    return found


def text_of(path: Path) -> str:
    """Return what a file has.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read. Check the path: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8. Save it as UTF-8") from error


def _rows_of_csv(text: str, place: str) -> list[Row]:
    """Return the rows of CSV text; an empty cell is NULL, blanks around one do not count."""
    reader = csv.reader(io.StringIO(text.strip("\n")), skipinitialspace=True)
    lines = [[cell.strip() for cell in line] for line in reader if line]
    if not lines:
        raise ConfigError(f"{place} has no header: write the names of columns into its first line")
    names, *rows = lines
    if len(names) == 1 and (other := re.search(r"[;\t|]", names[0])):
        raise ConfigError(
            f"{place} has {other[0]!r} between its columns. Write commas, whatever the options of "
            "the model say; `lines` takes a file as it is"
        )
    for row in rows:
        if len(row) != len(names):
            raise ConfigError(
                f"{place}: a row must have {counted(len(names), 'cell')}, as the header has, found "
                f"{len(row)}: {','.join(row)}. Put a value with a comma in quotes"
            )
    return [_row(names, row) for row in rows]


def _row(names: list[str], cells: list[str]) -> dict[str, Any]:
    return {name: cell or None for name, cell in zip(names, cells, strict=True)}


def types_of(node: Any, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the types of the columns of rows: as the YAML declares them, else as the rows say.

    Args:
        node: The model or source, of dbt's manifest.
        rows: What is given.
    """
    declared = {
        name.lower(): str(column.data_type)
        for name, column in node.columns.items()
        if column.data_type
    }
    names = dict.fromkeys(name for row in rows for name in row)
    names = names or dict.fromkeys(str(name) for name in node.columns)
    return {name: declared.get(name.lower()) or _kind_of(rows, name) for name in names}


def _kind_of(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    first = next((row[name] for row in rows if row.get(name) is not None), "")
    kinds: dict[type, str] = {
        bool: "boolean",
        int: "bigint",
        float: "double",
        dt.date: "date",
        dt.datetime: "timestamp",
    }
    return kinds.get(type(first), "string")
