"""Text and hash of a row."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.errors import ConfigError
from tidemark.hashing.recipe import ALGORITHMS, PEPPER_VARIABLE, Column
from tidemark.hashing.text import byte_length, encoder_of, label_of
from tidemark.hashing.types import Type, parse_type


class RowEncoder:
    """Row text and hash of value lists, for columns known beforehand."""

    def __init__(self, columns: Sequence[tuple[str, Type, bool]], pepper: str | None) -> None:
        self._columns = [
            (label_of(name), encoder_of(kind), secret) for name, kind, secret in columns
        ]
        self._pepper = b""
        if any(secret for _, _, secret in columns):
            checked = _checked_pepper(pepper)
            self._pepper = f"{byte_length(checked)}:{checked}".encode()

    def text(self, values: Iterable[Any]) -> str:
        parts = []
        for (label, encoder, secret), value in zip(self._columns, values, strict=True):
            if value is not None:
                text = encoder(value)
                if secret:
                    text = hashlib.sha256(self._pepper + text.encode("utf-8")).hexdigest()
                parts.append(f"{label}{byte_length(text)}:{text}")
        return "".join(parts)

    def hash(self, values: Iterable[Any], algorithm: str) -> str:
        return _digest(self.text(values), algorithm)


def check_pepper() -> None:
    """Look at the pepper of the environment before Spark puts it into a statement.

    Raises:
        ConfigError: It would not be read as it stands, and might get into messages. One that is not
            set is none of this function's business.
    """
    pepper = os.environ.get(PEPPER_VARIABLE)
    if pepper:
        _checked_pepper(pepper)


def _checked_pepper(pepper: str | None) -> str:
    if not pepper:
        raise ConfigError(f"sensitive columns need a pepper: set {PEPPER_VARIABLE}")
    if re.search(r"['\\\x00-\x1f]|\$\{", pepper):
        raise ConfigError(
            f"{PEPPER_VARIABLE} must not hold quotes, backslashes, control characters or ${{. "
            "Make another pepper with openssl rand -hex 32"
        )
    return pepper


def _digest(text: str, algorithm: str) -> str:
    data = text.encode("utf-8")
    if algorithm == "md5":
        return hashlib.md5(data, usedforsecurity=False).hexdigest()
    if algorithm == "sha256":
        return hashlib.sha256(data).hexdigest()
    raise ConfigError(f"unknown hash algorithm {algorithm}: use {', '.join(ALGORITHMS)}")


def _row_encoder(columns: Sequence[Column], pepper: str | None) -> RowEncoder:
    parsed = [(column.name, parse_type(column.type), column.sensitive) for column in columns]
    return RowEncoder(parsed, pepper)


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
        algorithm: `md5` or `sha256`.
        pepper: The secret for columns marked sensitive.

    Raises:
        ConfigError: Unknown algorithm, a type without canonical text, or a missing or unusable
            pepper.
    """
    return _digest(row_text(row, columns, pepper), algorithm)
