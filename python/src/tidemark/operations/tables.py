"""The tables of an entity, also those that a full refresh or a rehash left; their files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tidemark.operations.entity import report
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted
from tidemark.shapes.opened import RelationName, Relations

SIDES: tuple[RelationName, ...] = (
    "current",
    "log",
    "rejects",
    "sensitive",
    "supplied",
    "staging",
    "landed",
)
"""What an entity's tables hold."""

_KEPT = "(log|log_slices|rejects|supplied|sensitive|staging|landed)_([0-9]{15})"
"""What a full refresh or a rehash keeps; the slices are of a log of plain Parquet, see `log`."""


def entity_tables(warehouse: Warehouse, relations: Relations) -> list[Any]:
    """Return the entity's own tables that are there."""
    named = [relations[name] for name in SIDES]
    return [relation for relation in named if relation_exists(warehouse, relation)]


def kept_tables(warehouse: Warehouse, current: Any) -> list[tuple[Any, int]]:
    """Return the tables `<entity>__log_<commit>` and the like, each with its commit."""
    pattern = re.compile(f"{re.escape(current.identifier.lower())}__{_KEPT}")
    schema = current.include(identifier=False)
    found = []
    for name in warehouse.macro("table_names", schema, f"{current.identifier}__*"):
        match = pattern.fullmatch(name.lower())
        if match:
            found.append((current.incorporate(path={"identifier": name}), int(match.group(2))))
    return found


def drop_any(warehouse: Warehouse, relation: Any) -> None:
    """Drop what may be a view: the log of an entity of plain Parquet, which releases before had."""
    is_view = warehouse.macro("is_view", relation)
    drop = warehouse.macro("drop_table_sql", relation)
    warehouse.run(f"drop view if exists {relation}" if is_view else drop)


def has_deletion_vectors(warehouse: Warehouse, relation: Any) -> bool:
    """Say whether rows of a Delta table can be marked as deleted instead of leaving their file."""
    if warehouse.macro("lake_format") != "delta":
        return False
    features = warehouse.rows(f"describe detail {relation}")[0]["tableFeatures"]
    return "deletionVectors" in str(features)


def vacuum_tables(warehouse: Warehouse, relations: Iterable[Any], at_once: bool = False) -> None:
    """VACUUM tables.

    Delta lists folders with as many tasks as Spark may discover partitions with: ten thousand,
    unless told otherwise.
    """
    name = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
    warehouse.run(f"set {name} = 32")
    lake_format = warehouse.macro("lake_format")
    for relation in relations:
        warehouse.run_all(warehouse.of_format(lake_format, "vacuum", relation, at_once))
    warehouse.run(f"reset {name}")


def vacuum_or_report(
    warehouse: Warehouse, entity: str, relations: list[Any], dry_run: bool
) -> None:
    """VACUUM tables, or say that they would be."""
    if not dry_run:
        vacuum_tables(warehouse, relations)
        return
    report(warehouse, entity, f"would vacuum {counted(len(relations), 'table')}")
