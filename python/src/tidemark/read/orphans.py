"""Entities that have commits and tables, and that no model of the project is any more."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.read.commits import Commit
from tidemark.read.project import KnownProject
from tidemark.read.tables import TableNotReadable, Tables


def orphans_of(project: KnownProject, tables: Tables, commits: Iterable[Commit]) -> list[str]:
    """Return what commits call entities whose model was renamed or deleted, as schema.table.

    Tables of other schemas may be another project's, or clones, and are not asked for.

    Args:
        project: The project.
        tables: Where its tables are read.
        commits: All commits.
    """
    known = {entity.relation.lower() for entity in project.entities.values()}
    schemas = {entity.schema.lower() for entity in project.entities.values()}
    schemas.add(project.commits_schema.lower())
    found = []
    for relation in sorted({commit.relation for commit in commits}):
        schema, _, table = relation.rpartition(".")
        if relation.lower() in known or schema.lower() not in schemas:
            continue
        try:
            # who has dropped the tables has nothing left to do
            is_there = tables.exists(tables.at(schema, table))
        except TableNotReadable:
            continue
        if is_there:
            found.append(relation)
    return found


def orphans_note(orphans: Iterable[str]) -> str:
    """Return what is to be done about them.

    Example:
        >>> orphans_note(["shop.towns"]).partition(". ")[0]
        'no model of the project has shop.towns, whose tables and commits remain'
    """
    names = list(orphans)
    return (
        f"no model of the project has {', '.join(names)}, whose tables and commits remain. "
        f"A renamed model goes on with them by `alias: {names[0].rpartition('.')[2]}` in its "
        "config; else run `dbt run-operation drop_entity` while the model is in the project"
    )
