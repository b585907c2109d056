"""What `tidemark_commits` says: each commit with its last state."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tidemark.engine.quoted import identifier, literal
from tidemark.read.macros import in_duckdb
from tidemark.read.project import Entity
from tidemark.read.tables import Tables

LOADS = ("load", "full_refresh")
"""Kinds of commits that bring rows to an entity; `repeat` found nothing new in a date."""

RUNS = (*LOADS, "repeat", "scd2", "feed", "shred")
"""Kinds of commits that runs of a model make; the others are of operations such as `compact`."""

_COLUMNS = (
    "commit_id",
    "relation",
    "entity",
    "kind",
    "business_date",
    "state",
    "started_at",
    "completed_at",
    "rows_read",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "rows_unchanged",
    "rows_rejected",
    "source_relation",
    "source_commit_id",
    "undone_by",
    "is_correction",
    "rules",
)


@dataclass(frozen=True)
class Commit:
    """A commit with its last state; the columns of `tidemark_commits` of these names."""

    commit_id: int
    relation: str
    entity: str
    kind: str
    business_date: dt.date | None
    state: str
    started_at: dt.datetime
    completed_at: dt.datetime | None = None
    rows_read: int | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    rows_unchanged: int | None = None
    rows_rejected: int | None = None
    source_relation: str | None = None
    source_commit_id: int | None = None
    undone_by: int | None = None
    is_correction: bool | None = None
    rules: str | None = None

    @property
    def broken_rules(self) -> dict[str, int]:
        """How many rows failed a rule, by its name; of those that some did."""
        counts: dict[str, int] = json.loads(self.rules or "{}")
        return {name: number for name, number in counts.items() if number}

    @property
    def changed(self) -> int:
        """Rows inserted, updated and deleted."""
        return sum(n or 0 for n in (self.rows_inserted, self.rows_updated, self.rows_deleted))

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it is in flight."""
        if self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()


def read_commits(
    tables: Tables, relations: Collection[str] | None = None, limit: int | None = None
) -> list[Commit]:
    """Return commits, the newest first.

    Args:
        tables: Where they are read.
        relations: Only of these entities, as schema.table.
        limit: At most so many.

    Raises:
        TableNotReadable: Only Spark reads the table.
    """
    path = tables.commits()
    if not tables.exists(path):
        return []
    there = set(tables.columns(path))
    names = ", ".join(
        identifier(name) if name in there else f"null as {identifier(name)}" for name in _COLUMNS
    )
    chosen = "true"
    if relations is not None:
        chosen = f"relation in ({', '.join(map(literal, relations)) or 'null'})"
    last = f" limit {limit}" if limit is not None else ""
    states = _last_states(tables)
    rows = tables.rows(
        path, f"select {names} from ({states}) order by commit_id desc, relation{last}", chosen
    )
    return [_commit(row) for row in rows]


def recorded_config(tables: Tables, relation: str) -> dict[str, Any]:
    """Return what the last completed commit recorded of its entity's settings; {} where none did.

    Args:
        tables: Where they are read.
        relation: The entity, as schema.table.

    Raises:
        TableNotReadable: Only Spark reads the table.
    """
    path = tables.commits()
    if not tables.exists(path) or "config" not in tables.columns(path):
        return {}
    rows = tables.rows(
        path,
        f"select config from ({_last_states(tables)}) where state = 'completed' and config is not "
        "null order by commit_id desc limit 1",
        f"relation = {literal(relation)}",
    )
    found = json.loads(rows[0]["config"]) if rows else {}
    return found if isinstance(found, dict) else {}


def by_relation(commits: Iterable[Commit]) -> dict[str, list[Commit]]:
    """Return commits by the entity that they are of, in the order given."""
    found: dict[str, list[Commit]] = {}
    for commit in commits:
        found.setdefault(commit.relation, []).append(commit)
    return found


def of_models(commits: Iterable[Commit], entities: Iterable[Entity]) -> list[Commit]:
    """Return commits with the name of the model, which its table need not have.

    Args:
        commits: As `tidemark_commits` has them.
        entities: The models; what is of others stays as it is.
    """
    names = {entity.relation: entity.name for entity in entities}
    return [replace(commit, entity=names.get(commit.relation, commit.entity)) for commit in commits]


def first_commit(tables: Tables, relation: str) -> int:
    """Return the commit from which on it is known how an entity stood; 0 where it has none.

    Args:
        tables: Where they are read.
        relation: The entity, as schema.table.

    Raises:
        TableNotReadable: Only Spark reads the table of commits.
    """
    path = tables.commits()
    if not tables.exists(path):
        return 0
    floor = in_duckdb(tables.macros.feed_floor_sql("t", relation))
    own = f"relation = {literal(relation)}"
    (found,) = tables.rows(path, f"select ({floor}) as floor, min(commit_id) as first from t", own)
    return int(found["floor"] or found["first"] or 0)


def _last_states(tables: Tables) -> str:
    """Return a query of the last state of each commit."""
    return in_duckdb(f"select * from {tables.macros.last_commits_sql('t')}")


def _commit(row: dict[str, Any]) -> Commit:
    return Commit(**row)
