"""The input and output of one load: files, columns, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

VALUE = "tidemark_value"
"""What an expression of one column calls it, quoted."""


@dataclass(frozen=True)
class Column:
    """A column of the extract.

    Args:
        name: Its name, by which it is hashed.
        type: Its Spark type.
        place: Where it stands in the files, from 0; None: they lack it.
        is_required: A row without it is a reject.
        arrives_as: The Spark type that it has in the files.
        compared: What is compared in place of its value, as DuckDB works it out of VALUE, and the
            Spark type of that; None: the value.
        is_sensitive: Its text is hashed with the pepper.
    """

    name: str
    type: str
    place: int | None
    is_required: bool
    arrives_as: str = "string"
    compared: tuple[str, str] | None = None
    is_sensitive: bool = False


@dataclass(frozen=True)
class Target:
    """A table that files are written for.

    Args:
        folder: Where its files lie.
        fields: Name to the name that files have it by, and the number, if they have one, or those
            of what is in it too, as DuckDB writes them.
        files: The paths of the files that it has now; empty where nothing is read of it.
    """

    folder: str
    fields: Mapping[str, tuple[str, int | str | None]]
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Load:
    """An extract of a date that comes after all others.

    Args:
        extract: full, or delta: keys that are not in it stay as they are.
        format: csv, json or parquet.
        files: Paths of the files.
        stamps: What stamp_of() said of each as its header was read.
        separator: What stands between the fields of CSV files.
        fields: The names of the columns that the files have, in their order; of JSON those that are
            read.
        columns: The columns, in the order of the entity's roles.
        keys: Names of those that identify a row, in the order of the hash.
        compared: Names of those that are compared, in the order of the hash.
        ignored: Names of those that are not.
        hash: md5 or sha256.
        changed_columns: Whether the log has the names of the columns that an update changed.
        soft_delete: Whether current keeps deleted keys.
        tag_unchanged: Whether current tells the operation of each row of the last date.
        business_date: The date, ISO.
        commit_id: The commit that the rows go with.
        takes_rejects: Rows with values that are none of their columns are kept, with the reason.
        pepper: What texts of sensitive columns are hashed with.
    """

    extract: str
    format: str
    files: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    separator: str
    fields: tuple[str, ...]
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    compared: tuple[str, ...]
    ignored: tuple[str, ...]
    hash: str
    changed_columns: bool
    soft_delete: bool
    tag_unchanged: bool
    business_date: str
    commit_id: int
    takes_rejects: bool = False
    pepper: str = field(default="", repr=False)

    @property
    def width(self) -> int:
        """How many fields a line has."""
        return len(self.fields)

    @property
    def judges_all(self) -> bool:
        """Whether something becomes of each key: not of those that a delta leaves as they are."""
        return self.extract != "delta" or self.tag_unchanged

    def number(self, name: str) -> int:
        """Return the place of a column among all: in DuckDB columns go by numbers, c0, c1, …"""
        return next(place for place, column in enumerate(self.columns) if column.name == name)


def load_of(
    cfg: Mapping[str, Any],
    roles: Mapping[str, Any],
    load: Mapping[str, Any],
    source: Mapping[str, Any],
) -> Load:
    """Return the load that a model's configuration, the roles of its columns and its files make.

    Args:
        cfg: What entity_config() returns.
        roles: What column_roles() returns.
        load: What load_of_date() returns.
        source: What source_extract() returns, with `files` and `fields`, and what is `compared` in
            place of columns' values.
    """
    places = {str(name).lower(): place for place, name in enumerate(source["fields"])}

    def names(columns: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        return tuple(str(column["name"]) for column in columns)

    return Load(
        extract=str(cfg["extract"]),
        format=str(cfg["format"]),
        files=tuple(source["files"]),
        stamps=tuple((int(size), int(written)) for size, written in source["stamps"]),
        separator=str(source["separator"]),
        fields=tuple(str(name) for name in source["fields"]),
        columns=tuple(
            Column(
                name=str(column["name"]),
                type=str(column["type"]),
                place=places[str(column["source_name"]).lower()]
                if column["source_name"] is not None
                else None,
                is_required=bool(column["not_null"]),
                arrives_as=str(column["source_type"] or "string"),
                compared=source.get("compared", {}).get(column["name"]),
                is_sensitive=bool(column.get("sensitive")),
            )
            for column in roles["columns"]
        ),
        keys=names(roles["keys"]),
        compared=names(roles["compared"]),
        ignored=names(roles["ignored"]),
        hash=str(cfg["hash"]),
        changed_columns=bool(cfg["changed_columns"]),
        soft_delete=bool(cfg["soft_delete"]),
        tag_unchanged=bool(cfg["tag_unchanged"]),
        business_date=str(load["business_date"]),
        commit_id=int(load["commit_id"]),
    )
