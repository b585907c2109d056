"""Where change events come from: the table of a database whose log they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidemark.lineage.datasets import Dataset, database_table
from tidemark.lineage.project import Node, Project


@dataclass(frozen=True)
class Stream:
    """Change events of one table.

    Attributes:
        dataset: The table in its database; without a replicator what is known of it.
        previous_names: Names that columns had before, by their present name in lower case.
    """

    dataset: Dataset
    previous_names: Mapping[str, str] = field(default_factory=dict)

    def names_of(self, column: str) -> tuple[str, ...]:
        """Return the names under which a column stands in the source, now and before."""
        former = self.previous_names.get(column.lower())
        return (column, former) if former else (column,)


def stream_of(node: Node, project: Project) -> Stream | None:
    """Return the stream that a node has its rows from, or None if its SQL says more.

    Args:
        node: An entity with `extract: events`, or a source that a replicator mirrors.
        project: Its project.
    """
    if node.kind == "source":
        replicator = _replicator(node)
        return Stream(_mirrored(replicator, node)) if replicator else None
    settings = node.settings
    if node.materialized != "cdc" or settings.get("extract") != "events":
        return None
    given = settings.get("previous_names")
    previous = {
        str(name).lower(): str(former)
        for name, former in (given.items() if isinstance(given, Mapping) else ())
    }
    table = settings.get("table")
    above = [project.nodes[key] for key in node.depends_on if key in project.nodes]
    location = settings.get("location")
    for source in (*above, *_landing_at(location, project)):
        replicator = _replicator(source)
        if replicator:
            dataset = (
                database_table(replicator, str(table)) if table else _mirrored(replicator, source)
            )
            return Stream(dataset, previous)
    if settings.get("format", "debezium") != "debezium" and not location:
        return None  # a SELECT of events in columns
    return Stream(_landed(node, project, above), previous)


def _replicator(node: Node) -> Mapping[str, Any] | None:
    found = node.settings.get("replicator") if node.kind == "source" else None
    return found if isinstance(found, Mapping) else None


def _landing_at(location: Any, project: Project) -> list[Node]:
    """Return the sources whose events land in a folder."""
    if not isinstance(location, str):
        return []
    return [
        node
        for node in project.nodes.values()
        if (replicator := _replicator(node)) is not None
        and isinstance(replicator.get("location"), str)
        and location.rstrip("/*") == replicator["location"].rstrip("/*")
    ]


def _mirrored(replicator: Mapping[str, Any], source: Node) -> Dataset:
    parts = [part for part in (source.schema, source.identifier) if part]
    return database_table(replicator, ".".join(parts))


def _landed(node: Node, project: Project, above: list[Node]) -> Dataset:
    """Name a stream by where it lands: which database it is of is not known here."""
    location = str(node.settings.get("location") or "")
    table = node.settings.get("table")
    if location and not ("/" in location or "*" in location):
        schema, _, name = location.rpartition(".")
        place = project.warehouse.table(schema or node.schema, name)
    elif location:
        place = project.warehouse.file(location)
    elif above:
        place = project.warehouse.table(above[0].schema, above[0].identifier)
    else:
        place = project.warehouse.file(f"{node.name}/events")
    if not table:
        return place
    return Dataset(f"{place.namespace}:{place.name}", str(table), str(table))
