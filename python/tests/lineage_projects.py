"""Small projects for the tests of lineage, made without dbt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidemark.lineage.datasets import Warehouse
from tidemark.lineage.graph import Lineage
from tidemark.lineage.project import Node, make_project

WAREHOUSE = Warehouse(Path("/project"), "/home/warehouse")


def model(name: str, sql: str | None = None, *refs: str, **given: Any) -> Node:
    return Node(
        unique_id=f"model.shop.{name}",
        name=name,
        kind="model",
        schema="lake",
        identifier=name,
        sql=sql,
        depends_on=tuple(ref if "." in ref else f"model.shop.{ref}" for ref in refs),
        package="shop",
        **given,
    )


def entity(
    name: str, settings: dict[str, Any], columns: list[str], *refs: str, **given: Any
) -> Node:
    given.setdefault("sql", f"select * from `tidemark__lake__{name}__extract`")
    return model(
        name,
        given.pop("sql"),
        *refs,
        materialized="cdc",
        settings=settings,
        columns=dict.fromkeys(columns, "string"),
        **given,
    )


def source(name: str, columns: list[str] | None = None, **settings: Any) -> Node:
    schema, _, table = name.rpartition(".")
    return Node(
        unique_id=f"source.shop.{name}",
        name=f"shop.{table}",
        kind="source",
        schema=schema,
        identifier=table,
        columns=dict.fromkeys(columns or [], "string"),
        settings=settings,
    )


def lineage_of(*nodes: Node, warehouse: Warehouse = WAREHOUSE) -> Lineage:
    by_key = {node.unique_id: node for node in nodes}
    selected = [node.unique_id for node in nodes if node.kind == "model"]
    return Lineage(make_project("shop", by_key, selected, warehouse))


POSTGRES = {
    "connector": "postgresql",
    "connection": {
        "host": {"env": "SHOP_HOST"},
        "port": 5433,
        "database": "shop",
        "user": "cdc",
        "password": {"env": "SHOP_PASSWORD"},
    },
}
