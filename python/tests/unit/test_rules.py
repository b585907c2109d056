"""Rules as functions of Python give what they gave as macros, on the cases that were recorded then."""

from __future__ import annotations

import copy
import datetime
import functools
import importlib
import json
from typing import Any

import pytest

from tidemark.errors import TidemarkError
from tidemark.rules.drift import Drift

from ..macros import ROOT, load_macros

VECTORS = ROOT / "python" / "tests" / "vectors"

#: The module of `tidemark.rules` that has the functions of a file of vectors
MODULES = {
    name: module
    for module, names in {
        "timeline": "live_commits steps_to last_loads",
        "commits": "last_states judged_state judged_marks",
        "table_names": (
            "is_one_of_tables names_of_table is_database_of table_drift named_tables check_one_table"
        ),
        "source_types": "connect_columns ddl_columns",
        "statement_texts": "renames_column",
        "statements": (
            "judge_statement column_changes judge_change hidden_renames canonical_statement "
            "debezium_statement renamed_table check_statement_types"
        ),
        "types": "is_widening wider_type is_same_by_name",
        "order": "numbered_files",
        "guard": "deletes_too_much guarded_deletes rejects_too_many guarded_rejects most_rejects",
        "column_roles": "column_roles",
        "event_roles": (
            "event_roles sequence_change new_in_schemas names_in_batch names_to_come check_new_columns "
            "check_known_columns identifying_names"
        ),
        "drift": (
            "config_drift choice_drift keys_in_order column_role is_retagged recorded_layout "
            "changed_layout left_out_columns new_columns"
        ),
        "columns_back": "recorded_back source_back columns_back free_name renames_back columns_return",
    }.items()
    for name in names.split()
}


def decoded(value: Any) -> Any:
    """A value as JSON has it: dates and dicts with other keys than texts are told by `$…`."""
    if isinstance(value, list):
        return [decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$pairs" in value:
        return {decoded(key): decoded(each) for key, each in value["$pairs"]}
    if "$date" in value:
        return datetime.date.fromisoformat(value["$date"])
    if "$datetime" in value:
        return datetime.datetime.fromisoformat(value["$datetime"])
    if "$relation" in value:
        return value["$relation"]
    return {key: decoded(each) for key, each in value.items()}


#: What macros asked other macros for, and a function is given
GIVEN = {
    "column_roles": ([None, None, None, None, ""], ["reserved_columns", "hash_recipe_version"]),
    "event_roles": ([], ["reserved_event_columns", "hash_recipe_version"]),
    "identifying_names": ([], ["event_names"]),
}


@functools.cache
def macros() -> dict[str, Any]:
    found = load_macros("expr", "config", "log", "events")
    return {**found, "event_names": lambda: [one["name"] for one in found["event_columns"]()]}


def whole(name: str, arguments: list[Any]) -> list[Any]:
    """The arguments of a rule with those that its macro left out or had from elsewhere."""
    usual, asked = GIVEN.get(name, ([], []))
    return [*arguments, *usual[len(arguments) :], *(macros()[one]() for one in asked)]


def plain(value: Any) -> Any:
    """A result with lists in place of tuples; a drift as the macro told it."""
    if isinstance(value, Drift):
        return value.sentence
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def cases() -> list[Any]:
    found = []
    for path in sorted(VECTORS.glob("*_rules.json")):
        for name, recorded in json.loads(path.read_text(encoding="utf-8")).items():
            found += [pytest.param(name, recorded, id=name)]
    return found


@pytest.mark.parametrize(("name", "recorded"), cases())
def test_rule__gives_what_the_macro_gave(name: str, recorded: list[dict[str, Any]]) -> None:
    function = getattr(importlib.import_module(f"tidemark.rules.{MODULES[name]}"), name)
    assert recorded
    for case in recorded:
        arguments = whole(name, decoded(case["args"]))
        named = decoded(case.get("named", {}))
        before = copy.deepcopy(arguments)
        if "error" in case:
            with pytest.raises(TidemarkError) as raised:
                function(*arguments, **named)
            assert [raised.value.kind, str(raised.value)] == case["error"]
        else:
            assert plain(function(*arguments, **named)) == decoded(case["is"]), before
            assert arguments == whole(name, decoded(case.get("after", case["args"])))


def test_body_hash__is_that_of_a_clone() -> None:
    from tidemark.rules.clones import body_hash

    body = "select a from `shop`.orders__log join shop.rates join shop_ref.x where b = 1"
    clone = body.replace("shop.", "dev.").replace("`shop`", "`dev`")
    assert body_hash(body, "shop") == body_hash(clone, "dev")
    for other in (
        clone.replace("1", "2"),
        clone.replace("dev.rates", "other.rates"),
        clone.replace("shop_ref", "dev"),
    ):
        assert body_hash(body, "shop") != body_hash(other, "dev")
