"""The folder of a table that is found by its name: no metastore is asked.

Spark puts a table into a folder whose name begins with the table's. It keeps that name where the
table is renamed, which a property says (rename_table_sql() of the macros).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tidemark.errors import first_line

NAME_PROPERTY = "tidemark.table"
"""The property that names a table which was renamed."""

# for the old name of a renamed log: new_relation() of the macros
_FOLDER = r"{name}(?:__new)?(?:-[0-9a-f]{{32}})?"


class Described(NamedTuple):
    """What the table in a folder says of itself.

    Attributes:
        properties: Its properties.
        changed: When it changed last, in a unit that its format has.
    """

    properties: Mapping[str, str]
    changed: int


def folder_of(schema: Path, name: str, describe: Callable[[Path], Described | None]) -> str | None:
    """Return the folder of a table: the newest that says its name.

    Args:
        schema: The folder in which tables lie.
        name: The table, without its schema.
        describe: Of the tables' format: folder → what its table says; None if there is none.

    Raises:
        ValueError: A folder that may be the table's cannot be read.
    """
    pattern = re.compile(_FOLDER.format(name=re.escape(name)), re.IGNORECASE)
    found = []
    for folder in schema.iterdir() if schema.is_dir() else ():
        if not pattern.fullmatch(folder.name):
            continue
        try:
            described = describe(folder)
        except Exception as error:
            raise ValueError(
                f"{folder} cannot be read, so it is not known whether it is the table {name}: "
                f"{first_line(error)}"
            ) from error
        if described is None:
            continue
        if called(folder, described).lower() == name.lower():
            found.append((described.changed, str(folder)))
    return max(found)[1] if found else None


def called(folder: Path, described: Described) -> str:
    """Return the name of the table in a folder: what it says, else that it was made for."""
    made_for = re.sub(r"-[0-9a-f]{32}$", "", folder.name)
    return str(described.properties.get(NAME_PROPERTY, made_for))
