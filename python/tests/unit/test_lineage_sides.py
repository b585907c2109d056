"""What lies beside entities, as nodes of dbt's docs."""

from __future__ import annotations

import copy
import re
from typing import Any

from tests.macros import load_macros
from tidemark.lineage.sides import COLUMNS, add_sides, side_key, sides_of


def model(name: str, materialized: str = "cdc", **settings: Any) -> dict[str, Any]:
    columns = {"id": ("The key.", "bigint"), "phone": ("Where to call.", None)}
    return {
        "resource_type": "model",
        "unique_id": f"model.shop.{name}",
        "name": name,
        "alias": name,
        "schema": "lake",
        "package_name": "shop",
        "fqn": ["shop", "people", name],
        "config": {"materialized": materialized, "meta": {"tidemark": settings}},
        "columns": {
            column: {"name": column, "description": text, "data_type": kind}
            for column, (text, kind) in columns.items()
        },
        "depends_on": {"nodes": ["source.shop.x"]},
        "raw_code": "select 1",
        "compiled_code": "select 1",
    }


def described(*models: dict[str, Any], catalog: dict[str, Any] | None = None) -> dict[str, Any]:
    manifest = {"nodes": {one["unique_id"]: one for one in models}}
    add_sides(manifest, catalog or {})
    return manifest


def test_sides_of__what_a_model_keeps() -> None:
    assert sides_of(model("a")) == ("log", "history", "rejects")
    assert sides_of(model("a", extract="delta", sensitive="phone"))[3:] == ("sensitive", "supplied")
    assert sides_of(model("a", extract="events"))[3:] == ("staging", "landed")
    assert "manifest" in sides_of(model("a", "atomic"))
    assert sides_of(model("a", "view")) == ()


def test_add_sides__inherit_columns_but_those_that_are_sensitive() -> None:
    catalog: dict[str, Any] = {
        "nodes": {"model.shop.people": {"columns": {"PHONE": {"name": "PHONE", "type": "string"}}}}
    }
    manifest = described(model("people", sensitive=["phone"]), catalog=catalog)
    nodes = manifest["nodes"]
    log, secret = nodes["model.shop.people__log"], nodes["model.shop.people__sensitive"]
    assert log["columns"]["id"]["description"] == "The key."
    assert log["columns"]["_superseded_by"]["description"] == COLUMNS["_superseded_by"]
    assert "phone" not in log["columns"] and "_event_id" not in log["columns"]
    assert secret["columns"]["phone"]["data_type"] == "string"
    assert "id" not in secret["columns"]
    # dbt's page takes types from the catalogue
    shown = catalog["nodes"]["model.shop.people__log"]["columns"]
    assert (shown["id"]["type"], shown["_superseded_by"]["type"]) == ("bigint", "bigint")
    assert set(nodes["model.shop.people__rejects"]["columns"]) >= {"_reject_reason", "_raw_payload"}
    assert nodes["model.shop.people__history"]["config"]["materialized"] == "view"
    # below the entity, beside it in the tree, and without its SQL
    assert log["depends_on"]["nodes"] == ["model.shop.people"]
    assert manifest["parent_map"][log["unique_id"]] == ["model.shop.people"]
    assert log["unique_id"] in manifest["child_map"]["model.shop.people"]
    assert (log["fqn"], log["relation_name"]) == (["shop", "people", "people__log"], "`lake`.`people__log`")  # fmt: skip
    assert "select" not in log["raw_code"] + log["compiled_code"]
    assert side_key("model.shop.people", nodes["model.shop.people"], "log") == log["unique_id"]


def test_add_sides__what_is_the_projects_own_stays() -> None:
    entity = model("people")
    entity["columns"]["_operation"] = {"name": "_operation", "description": "Mine."}
    own = model("people__rejects", "view")
    before = copy.deepcopy(own)
    nodes = described(entity, own)["nodes"]
    assert nodes["model.shop.people__rejects"] == before
    assert nodes["model.shop.people"]["columns"]["_operation"]["description"] == "Mine."
    assert nodes["model.shop.people"]["columns"]["_row_hash"]["description"] == COLUMNS["_row_hash"]
    assert nodes["model.shop.people"]["raw_code"] == "select 1"


def test_columns__all_of_the_log_and_of_rejects_are_described() -> None:
    macros = load_macros("expr", "config", "log")
    roles = {"stored": [], "flow": "events", "sequence_by": ["x"], "sequence_type": "int"}
    names = [column["name"] for column in macros["log_columns"](roles)]
    names += [column["name"] for column in macros["rejects_columns"]()]
    assert set(names) <= set(COLUMNS)
    assert all(re.search(r"\.$|…$", text) for text in COLUMNS.values())
