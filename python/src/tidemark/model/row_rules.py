"""The rules that the rows of an entity are held to, read from its YAML and judged."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

from tidemark.errors import ConfigError
from tidemark.model.expressions import expression_problems
from tidemark.model.given import Config
from tidemark.model.look_ups import look_up_of, look_up_problems, shown_look_up
from tidemark.model.problems import read_named, repeated_names
from tidemark.model.settings.row_rules import RowRule
from tidemark.rules.quoted import back_ticked, literal

_NEEDS = (
    "check, or relationships: {columns, to, fields} with as many columns as fields",
    "one of check, accepted_values and relationships: {to, field}",
)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def row_rules(node: Config, cfg: Config, given: Any, errors: list[str]) -> list[dict[str, Any]]:
    """Return the rules of an entity: those of the model, then those of its columns.

    Args:
        node: The model, as dbt's graph has it.
        cfg: What was read of its settings.
        given: The setting `rules` of the model.
        errors: Where problems go.
    """
    rules = [*_read(given, "rules", None, errors)]
    for column in cfg["columns"]:
        place = f"column `{column['name']}`: meta.tidemark.rules"
        rules += _read(column["settings"].get("rules"), place, column["name"], errors)
    rules += _constraints(node, cfg)
    twice = repeated_names([rule["name"] for rule in rules])
    errors += [f"rules: two rules have the name {name}" for name in twice]
    errors += look_up_problems(node, rules)
    for rule in rules:
        if not rule["looks_up"]:
            errors += expression_problems(rule["setting"], rule["check"])
        if rule["on_fail"] == "quarantine" and cfg["on_reject"] != "quarantine":
            errors.append(
                f"{rule['setting']}: on_fail: quarantine needs on_reject: quarantine. Set "
                "on_reject to quarantine, which makes the table of rejects"
            )
    return rules


def _read(
    given: Any, place: str, column: str | None, errors: list[str]
) -> Iterator[dict[str, Any]]:
    for setting, rule in read_named(given, RowRule, "rules", place, errors):
        try:
            looks_up = look_up_of(rule.relationships, column) if rule.relationships else None
        except ConfigError as error:
            errors.append(f"{setting}: relationships.to: {error}")
            continue
        if column is None and rule.accepted_values is not None and rule.check is None:
            errors.append(
                f"{setting}: accepted_values is for a rule of a column. Move the rule to "
                "config.meta.tidemark.rules of the column"
            )
            continue
        check = shown_look_up(looks_up) if looks_up else _check_of(rule, column)
        if check is None or len(_conditions(rule)) > 1:
            errors.append(f"{setting} needs {_NEEDS[column is not None]}")
            continue
        if (flag := _flag_beside_texts(rule.accepted_values)) is not None:
            errors.append(
                f"{setting}: accepted_values has {flag} beside texts. YAML reads NO and YES as "
                "false and true: write them in quotes"
            )
            continue
        at_most = _part(rule.at_most)
        if rule.at_most is not None and at_most is None:
            errors.append(
                f"{setting}: at_most must be a fraction of the rows, such as '1 %' or 0.01, "
                f"found: {rule.at_most}"
            )
        yield {
            "name": rule.name,
            "check": check,
            "looks_up": looks_up,
            "on_fail": rule.on_fail,
            "at_most": 0.0 if at_most is None and rule.on_fail == "fail" else at_most,
            "setting": setting,
        }


def _check_of(rule: RowRule, column: str | None) -> str | None:
    if rule.check is not None:
        return rule.check
    if column is None:
        return None
    # NULL never fails, and beside it no other value would
    values = ", ".join(_literal(one) for one in rule.accepted_values or [] if one is not None)
    return f"{back_ticked(column)} in ({values})" if values else None


def _flag_beside_texts(values: list[Any] | None) -> str | None:
    """Return the flag that stands beside texts; None if none does.

    Example:
        >>> _flag_beside_texts([False, "SE"]), _flag_beside_texts([False, True])
        ('false', None)
    """
    flags = [one for one in values or [] if isinstance(one, bool)]
    has_text = any(isinstance(one, str) for one in values or [])
    return _literal(flags[0]) if flags and has_text else None


def _conditions(rule: RowRule) -> list[str]:
    names = ("check", "accepted_values", "relationships")
    return [name for name in names if getattr(rule, name) is not None]


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dt.datetime):
        return f"timestamp'{value.isoformat(' ')}'"
    if isinstance(value, dt.date):
        return f"date'{value.isoformat()}'"
    return literal(str(value))


def _part(at_most: str | float | None) -> float | None:
    """Return a part of the rows; None of what is none.

    Example:
        >>> _part("1 %"), _part(0.5), _part("many")
        (0.01, 0.5, None)
    """
    if isinstance(at_most, str):
        found = _PERCENT.fullmatch(at_most.strip())
        at_most = round(float(found[1]) / 100, 9) if found else None
    return at_most if at_most is not None and 0 <= at_most <= 1 else None


def _constraints(node: Config, cfg: Config) -> Iterator[dict[str, Any]]:
    """Yield the constraints of dbt that are conditions of a row."""
    on_fail = "quarantine" if cfg["on_reject"] == "quarantine" else "fail"
    whole = [("constraints", one) for one in node.get("constraints") or []]
    for column in node["columns"].values():
        place = f"column `{column['name']}`: constraints"
        whole += [(place, one) for one in column.get("constraints") or []]
    number = 0
    for place, one in whole:
        if str(one["type"]) != "check":
            continue
        number += 1
        name = one.get("name") or f"check_{number}"
        yield {
            "name": re.sub(r"\W", "_", str(name)),
            "check": str(one.get("expression") or ""),
            "looks_up": None,
            "on_fail": on_fail,
            "at_most": 0.0 if on_fail == "fail" else None,
            "setting": f"{place}.{name}",
        }
