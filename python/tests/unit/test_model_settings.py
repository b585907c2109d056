"""What models are configured with, and what is said of it: as the macros had it that did this once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from tests.macros import load_macros
from tests.setting_vectors import BASES, FILE, node_of, outcome, run_outcome
from tidemark.errors import ConfigError
from tidemark.hashing.types import TYPE_WORDS
from tidemark.model.columns import reserved_columns
from tidemark.model.entity import entity_settings
from tidemark.model.settings import ENCODINGS, AtomicSettings, EventSettings
from tidemark.shred.enriched import LEFT_OUT, TYPES

VECTORS: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("flow", BASES)
def test_models(flow: str) -> None:
    of_flow = [vector for vector in VECTORS["models"] if vector[0]["flow"] == flow]
    wrong = [(case, kept, found) for case, kept in of_flow if (found := outcome(case)) != kept]
    assert len(of_flow) > 150 and wrong == []


def test_scope__names_columns_of_the_model() -> None:
    columns = {
        "id": {"name": "id"},
        "region": {"name": "region", "meta": {"tidemark": {"compare_as": "lower(region)"}}},
    }
    tidemark = {**BASES["extract"], "scope": {"columns": ["id", "Region", "regio"]}}
    config = {"unique_key": "id", "meta": {"tidemark": tidemark}}
    node = {
        "name": "shops",
        "alias": "shops",
        "schema": "shop",
        "columns": columns,
        "config": config,
    }
    with pytest.raises(ConfigError) as told:
        entity_settings(node, "delta")
    assert str(told.value).split("\n  - ")[1:] == [
        "scope.columns names `Region`, which has compare_as: what is stored may be another value",
        "scope.columns names `regio`, which is not declared under columns; did you mean `region`?",
    ]


def test_runs() -> None:
    wrong = [
        (case, found) for case, kept in VECTORS["runs"] if (found := run_outcome(case)) != kept
    ]
    assert wrong == []


def test_what_a_reading_needs_without_python() -> None:
    """What plain `type: spark` reads by is what the model was loaded by."""
    macros = load_macros("expr", "config")
    macros["lake_format"].context["var"] = lambda name, default=None: default
    wrong = []
    for case, kept in VECTORS["models"]:
        if case["flow"] in ("extract", "events") and isinstance(kept, dict) and "lake" not in case:
            node = node_of(case)
            judged, found = entity_settings(node, "delta"), macros["_config_for_reading"](node)
            columns = found.pop("columns")
            wrong += [
                (case, name) for name in found if found[name] != judged.get(name, found[name])
            ]
            assert columns == [
                {name: one[name] for name in columns[0]} for one in judged["columns"]
            ]
    assert wrong == []


def test_doors__without_python() -> None:
    """By plain `type: spark` a reading asks no function, and nothing else is asked for settings."""
    macros = load_macros("expr", "config")
    macros["entity_config"].context.update(
        adapter=SimpleNamespace(type=lambda: "spark"),
        flags=SimpleNamespace(EMPTY=False),
        target=SimpleNamespace(schema="s"),
        invocation_id="i",
    )
    cfg = macros["entity_config"](node_of({"flow": "events"}))
    assert (str(cfg["target"]), cfg["keys"], cfg["tracked"]["all"]) == ("s.shop", ["id"], True)
    assert macros["run_config"]()["commits_schema"] == "s"
    assert macros["_did_you_mean"]("valid", ["valid_to", "is_current"]) == (
        "; there are is_current, valid_to"
    )


def test_lists_that_sql_has_too() -> None:
    """Macros have them where a project reads without Python."""
    macros = load_macros("expr", "config")
    assert macros["reserved_columns"]() == [*reserved_columns("delta")]
    assert macros["_type_words"]() == [*TYPE_WORDS]
    assert {*macros["encodings"]()} == {*ENCODINGS, "decimal_bytes", "array"}
    assert macros["usual_truncates"]() == EventSettings.model_fields["apply_as_truncates"].default
    assert macros["deduplication_steps"]() == AtomicSettings.model_fields["deduplicate"].default
    assert macros["fingerprint_ignore"]() == [*LEFT_OUT]
    columns = [(column["name"], column["type"]) for column in macros["enriched_columns"]()]
    assert columns == [*TYPES.items()]
