"""Two schemas compared, entity by entity: what a branch has made, beside what is in production."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.diff.columns import Asked
from tidemark.diff.model import Differences
from tidemark.diff.rows import compare_rows
from tidemark.diff.sides import Schema, current
from tidemark.errors import ConfigError, TidemarkError
from tidemark.read.project import Entity, KnownProject
from tidemark.read.tables import Tables


def compare_schemas(
    project: KnownProject, tables: Tables, a: Schema, b: Schema, asked: Asked
) -> Differences:
    """Return what differs between the current tables of two schemas.

    An entity that cannot be compared is told, and the others are compared.

    Raises:
        ConfigError: No entity of the project has a table in either of them.
    """
    paths = {side.name: dict(_tables_in(project, tables, side.name)) for side in (a, b)}
    if not any(paths.values()):
        raise ConfigError(
            a.problem
            or b.problem
            or f"no entity of the project has a table in {a.name} or {b.name}"
        )
    # if several have one name, the one that is there
    there = sorted(project.entities.values(), key=lambda one: one.schema in (a.name, b.name))
    entities = {entity.table: entity for entity in there}
    compared, failed = [], {}
    for table in sorted(paths[a.name].keys() & paths[b.name].keys()):
        try:
            left, right = (
                current(project, tables, entities[table], f"{name}.{table}", paths[name][table])
                for name in (a.name, b.name)
            )
            compared.append(compare_rows(left, right, asked))
        except TidemarkError as error:
            failed[table] = str(error)
    only_in_a = sorted(paths[a.name].keys() - paths[b.name].keys())
    only_in_b = sorted(paths[b.name].keys() - paths[a.name].keys())
    differs = only_in_a or only_in_b or failed or not all(one.equal for one in compared)
    return Differences(
        a=a.name,
        b=b.name,
        equal=not differs,
        tables=compared,
        only_in_a=only_in_a,
        only_in_b=only_in_b,
        failed=failed,
    )


def _tables_in(project: KnownProject, tables: Tables, schema: str) -> Iterator[tuple[str, str]]:
    """Yield the entities that have a table in a schema, each with where it lies.

    A feed tells of commits, which are others in the other schema.
    """
    for entity in project.entities.values():
        if entity.kind == "feed":
            continue
        path = _path(tables, entity, schema)
        if path is not None and tables.exists(path):
            yield entity.table, path


def _path(tables: Tables, entity: Entity, schema: str) -> str | None:
    if entity.schema == schema:
        return tables.of(entity)
    return tables.at(schema, entity.table)
