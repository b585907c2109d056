"""How an entity stood: its rows at the end of a business date, or as known at a commit."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from tidemark.engine.quoted import identifier, literal
from tidemark.errors import ConfigError
from tidemark.read.commits import first_commit
from tidemark.read.log import OWN, Log, key_columns, log_of
from tidemark.read.project import Entity
from tidemark.read.tables import Tables


@dataclass(frozen=True)
class PastRows:
    """Some of the rows of an entity as it stood.

    Attributes:
        columns: The names of its columns, those of the key first.
        rows: By column; beside them when and by which commit a row was changed last.
        total: How many rows there are.
    """

    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    total: int


# those of our own columns that tell where a row comes from
BESIDE = ("_business_date", "_commit_id")


def rows_as_of(
    tables: Tables,
    entity: Entity,
    moment: dt.date | int | None,
    begins: str = "",
    offset: int = 0,
    limit: int = 50,
) -> PastRows:
    """Return rows of an entity as it stood, in the order of their keys.

    What stands apart (sensitive columns) is not part of it. A date counts as it is known today,
    with later corrections; a commit as it was known when that commit was the last one.

    Args:
        tables: Where they are read.
        entity: A cdc model with a key.
        moment: A business date, the number of a commit, or None for now.
        begins: Only rows of which a key column's text begins so.
        offset: How many rows are left out at the beginning.
        limit: How many are returned at most.

    Raises:
        ConfigError: It has no key or was never loaded, or the commit lies before its log.
        TableNotReadable: Only Spark reads the log.
    """
    log, stood = state_at(tables, entity, moment)
    keys = key_columns(entity, log.names)
    columns = [*keys, *(name for name in log.names if name not in OWN and name not in keys)]
    state = f"select * from ({stood}){_filter(keys, begins)}"
    (counted,) = tables.rows(log.path, f"select count(*) as n from ({state})")
    selected = ", ".join(map(identifier, [*columns, *BESIDE]))
    by_key = ", ".join([*(f"{identifier(name)} nulls first" for name in keys), "_key_hash"])
    rows = tables.rows(
        log.path,
        f"select {selected} from ({state}) order by {by_key} "
        f"limit {int(limit)} offset {int(offset)}",
    )
    return PastRows(tuple(columns), tuple(rows), counted["n"])


def state_at(tables: Tables, entity: Entity, moment: dt.date | int | None) -> tuple[Log, str]:
    """Return the log of an entity, and a query of the rows as they stood.

    Args:
        tables: Where they are read.
        entity: A cdc model with a key.
        moment: A business date, the number of a commit, or None for now.

    Raises:
        ConfigError: It has no key or was never loaded, or the commit lies before its log.
        TableNotReadable: Only Spark reads the log.
    """
    log = log_of(tables, entity)
    if not entity.key:
        raise ConfigError(
            f"{entity.name} has no unique_key, so its rows cannot be told apart: add "
            "`unique_key` to the model"
        )
    if isinstance(moment, int):
        _check_commit(tables, entity, moment)
    return log, log.rows_at_sql(moment)


def _check_commit(tables: Tables, entity: Entity, commit: int) -> None:
    """Refuse a commit before which rows are gone."""
    first = first_commit(tables, entity.relation)
    if commit < first:
        raise ConfigError(
            f"Tidemark keeps what it knew of {entity.name} from commit {first} on, so it "
            f"knows nothing of commit {commit}: name a later commit"
        )


def _filter(keys: list[str], begins: str) -> str:
    if not begins:
        return ""
    texts = [f"cast({identifier(name)} as varchar)" for name in keys]
    # a key that is sensitive has no text
    any_of = " or ".join(f"starts_with({text}, {literal(begins)})" for text in texts) or "false"
    return f" where ({any_of})"
