"""Look-ups of rules in other tables: as SQL, and judged before rows are held to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidemark.model.look_ups import compared_look_up, look_up_sql, names_of_fields
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.names import names_of
from tidemark.shapes.settings import RowRule, Settings


def with_look_ups(warehouse: Warehouse, cfg: Settings) -> Settings:
    """Return the settings with look-ups as conditions, over the tables that dbt resolves."""
    if not any(rule.get("looks_up") for rule in cfg.get("rules", [])):
        return cfg
    return {**cfg, "rules": list(_with_conditions(warehouse, cfg))}


def _with_conditions(warehouse: Warehouse, cfg: Settings) -> Iterator[RowRule]:
    for number, rule in enumerate(cfg["rules"], start=1):
        look_up = rule.get("looks_up")
        if not look_up:
            yield rule
            continue
        relation = str(warehouse.macro("named_relation", look_up["kind"], look_up["names"]))
        look_up = {**look_up, "relation": relation, "prefix": f"_tidemark_of_{number}"}
        check = look_up_sql(look_up, look_up["prefix"], relation)
        yield {**rule, "check": check, "shown": rule["check"], "looks_up": look_up}


def looked_up_tables(cfg: Settings) -> list[str]:
    """Return a query of each table that rules look up."""
    found = [rule["looks_up"] for rule in cfg.get("rules", []) if rule.get("looks_up")]
    return list(dict.fromkeys(f"select * from {one['relation']}" for one in found if one))


def check_look_ups(
    warehouse: Warehouse, cfg: Settings, columns: Sequence[Mapping[str, Any]]
) -> tuple[list[str], dict[str, str]]:
    """Judge look-ups over the other tables as they are now.

    Args:
        warehouse: Where they are.
        cfg: The settings.
        columns: The columns of the rows, with their types.

    Returns:
        What is compared, as expressions, and the types of what they name beside the columns.

    Raises:
        ConfigError: A table or a column of one is not there, or types do not fit.
    """
    given: list[str] = []
    kinds: dict[str, str] = {}
    errors: list[str] = []
    types = {column["name"].lower(): str(column["type"]) for column in columns}
    for rule in cfg.get("rules", []):
        look_up = rule.get("looks_up")
        if not look_up:
            continue
        found, problems = _fields_of(warehouse, rule["setting"], look_up)
        errors += [*problems, *_type_problems(rule, types, found)]
        if found:
            given += compared_look_up(look_up, look_up["prefix"])
            names = names_of_fields(look_up, look_up["prefix"])
            kinds |= dict(zip(names, map(found.__getitem__, look_up["fields"]), strict=True))
    raise_problems(cfg["entity"], errors)
    return given, kinds


def _fields_of(
    warehouse: Warehouse, setting: str, look_up: Any
) -> tuple[dict[str, str], list[str]]:
    """Return the types of a look-up's fields, or what is wrong."""
    macro, to, relation = warehouse.macro, look_up["to"], look_up["relation"]
    if macro("can", "parse_expressions"):
        refused = warehouse.adapter.analysis_error(f"select * from {relation}")
        if refused:
            return {}, [f"{setting}: {to} cannot be looked up: {refused['reason']}"]
    described = macro("describe_query", f"select * from {relation}")
    types = {column["name"].lower(): str(column["type"]) for column in described}
    lacks = [field for field in look_up["fields"] if field.lower() not in types]
    problems = [
        f"{setting} names column `{field}`, which {to} does not have"
        f"{did_you_mean(field, names_of(described))}"
        for field in lacks
    ]
    if problems:
        return {}, problems
    return {field: types[field.lower()] for field in look_up["fields"]}, []


def _type_problems(
    rule: RowRule, types: Mapping[str, str], found: Mapping[str, str]
) -> Iterator[str]:
    """Yield which texts would be compared with what is none: a cast of a value could fail."""
    look_up = rule["looks_up"] or {}
    pairs = zip(look_up["columns"], look_up["fields"], strict=True)
    for column, field in pairs if found else ():
        kind = types.get(column.lower(), found[field])
        if _is_text(kind) != _is_text(found[field]):
            yield (
                f"{rule['setting']} compares `{column}` ({kind}) with `{field}` of "
                f"{look_up['to']} ({found[field]}): give them one type"
            )


def _is_text(kind: str) -> bool:
    return kind.startswith(("string", "varchar", "char"))
