"""Tables derived from an entity that only grow: brought up to columns, made way for."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.tables import add_columns, cached_relation, take_names, widen_columns
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.types import wider_type


def add_missing_columns(
    warehouse: Warehouse,
    model: str,
    relation: Any,
    columns: list[Values],
    open_structs: bool = False,
) -> None:
    """Bring a table that only grows up to these columns: new ones are added, types widened.

    Args:
        warehouse: Where it is.
        model: What messages call it.
        relation: The table.
        columns: {name, type, description} of each.
        open_structs: Whether Delta may add fields to structs when it writes.

    Raises:
        DataError: A type has changed otherwise.
    """
    macro, lake = warehouse.macro, warehouse.macro("lake_format")
    described = macro("describe_query", f"select * from {relation}")
    stored = {one["name"].lower(): one["type"] for one in described}
    nulls = ", ".join(f"cast(null as {column['type']})" for column in columns)
    missing = []
    # as Spark writes the types
    for column, typed in zip(columns, macro("describe_query", f"select {nulls}"), strict=True):
        name, wanted, found = column["name"], typed["type"], stored.get(column["name"].lower())
        if found is None:
            description = column.get("description", "")
            missing.append({"name": name, "type": column["type"], "description": description})
        elif macro("is_kept_as", found, wanted, lake):
            continue
        elif open_structs and wanted.startswith("struct<"):
            take_names(warehouse, relation, [{"name": "", "type": wanted}])
        # rows are inserted by the places of fields
        elif wider_type(found, wanted, lake) == wanted:
            widen_columns(warehouse, relation, [{"name": name, "from": found, "type": wanted}])
        else:
            raise DataError(
                f"{model}: column `{name}` was {found} and is now {column['type']}. Build the "
                "table again with --full-refresh"
            )
    add_columns(warehouse, relation, missing)


def drop_other_format(warehouse: Warehouse, relation: Any, file_format: str) -> None:
    """Make way for a table: a view or a table of another format is dropped."""
    existing = cached_relation(warehouse, relation)
    if existing is not None and not is_of_format(existing, file_format):
        warehouse.adapter.drop_relation(existing)
    warehouse.macro("clear_leftovers", [relation])


def is_of_format(existing: Any, file_format: str) -> bool:
    """Say whether a relation of dbt's cache is a table of this format.

    Of an Iceberg table the metastore tells that in its properties.
    """
    if file_format == "delta":
        return bool(existing.is_delta)
    return "table_type=ICEBERG," in (existing.information or "")
