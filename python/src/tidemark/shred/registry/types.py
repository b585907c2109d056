"""Spark types of what a JSON Schema describes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias
from urllib.parse import unquote

from tidemark.errors import ConfigError
from tidemark.rules.quoted import back_ticked
from tidemark.shred.registry.words import RESERVED, RegistryColumn, Schema, model_pattern
from tidemark.shred.schema_uri import SchemaUri, snake_case


@dataclass(frozen=True)
class _Array:
    item: Type


@dataclass(frozen=True)
class _Struct:
    fields: tuple[tuple[str, Type], ...]


Type: TypeAlias = str | _Array | _Struct
TEXT = "string"
_LONG = (-(2**63), 2**63 - 1)
_FORMATTED = {"date-time": "timestamp", "date": "date"}
_COMBINED = ("allOf", "anyOf", "oneOf")
_REFUSED_BY_DELTA = re.compile(r"[ ,;{}()\n\t=]")


def column_name(name: str) -> str:
    """Return the column of a property."""
    column = _REFUSED_BY_DELTA.sub("_", snake_case(name))
    if not column or column.startswith("_") or column in RESERVED:
        return f"data_{column}"
    return column


def check_names(columns: list[RegistryColumn], versions: list[SchemaUri]) -> None:
    """Refuse columns that would meet each other, or ours."""
    properties: dict[str, str] = {}
    for column in columns:
        other = properties.setdefault(column.name, column.property)
        if other != column.property:
            raise ConfigError(
                f"{model_pattern(versions[0])}: the properties {other!r} and "
                f"{column.property!r} both "
                f"give the column {column.name}. Remove one of them from the schemas, or write "
                "a pattern of versions that have only one"
            )


def properties_of(definition: Schema) -> Schema:
    """Return the properties that an object has."""
    found = definition.get("properties")
    return found if isinstance(found, dict) else {}


def description_of(root: Schema, definition: Any) -> str:
    """Return what a schema says of a property, or nothing."""
    for _ in range(2):
        if not isinstance(definition, dict):
            break
        if isinstance(definition.get("description"), str):
            return str(definition["description"])
        definition = target_of(root, definition.get("$ref"))
    return ""


def type_of(root: Schema, definition: Any, followed: tuple[str, ...] = ("#",)) -> Type | None:
    """The type of a property or item; None if the schema gives none."""
    if not isinstance(definition, dict):
        return None
    ref = definition.get("$ref")
    if isinstance(ref, str):
        target = None if ref in followed else target_of(root, ref)
        return TEXT if target is None else type_of(root, target, (*followed, ref))
    if "type" not in definition:
        if isinstance(definition.get("enum"), list):
            return _type_of_values(definition["enum"])
        return _type_of_branches(root, definition, followed)
    match sorted(_type_names(definition) - {"null"}):
        case ["string"]:
            return _FORMATTED.get(str(definition.get("format")), TEXT)
        case ["integer"]:
            return _type_of_integers(_limits(definition))
        case ["number"] | ["integer", "number"]:
            return _type_of_numbers(definition)
        case ["boolean"]:
            return "boolean"
        case ["array"]:
            item = type_of(root, definition.get("items"), followed)
            return TEXT if item is None else _Array(item)
        case ["object"]:
            return _type_of_object(root, definition, followed)
    return TEXT


def _type_names(definition: Schema) -> set[str]:
    found = definition["type"]
    return {str(name) for name in found} if isinstance(found, list) else {str(found)}


def _type_of_values(values: Sequence[Any]) -> Type:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return _type_of_integers([value for value in values if value is not None])
    return "double" if kinds and kinds <= {int, float} else TEXT


def _limits(definition: Schema) -> list[Any]:
    found = (definition.get("minimum"), definition.get("maximum"))
    return [limit for limit in found if _is_number(limit)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _type_of_integers(values: Sequence[Any]) -> str:
    if all(_LONG[0] <= value <= _LONG[1] for value in values):
        return "bigint"
    return "decimal(38,0)" if all(abs(value) < 10**38 for value in values) else TEXT


def _type_of_numbers(definition: Schema) -> str:
    step = definition.get("multipleOf")
    if not isinstance(step, float):
        return "double"
    # repr, because a binary 0.01 is no power of ten
    _, digits, exponent = Decimal(repr(step)).normalize().as_tuple()
    scale = -exponent if isinstance(exponent, int) else 0
    if digits != (1,) or not 1 <= scale <= 18:
        return "double"
    for precision in (18, 38):
        if all(abs(limit) < 10 ** (precision - scale) for limit in _limits(definition)):
            return f"decimal({precision},{scale})"
    return "double"


def _type_of_object(root: Schema, definition: Schema, followed: tuple[str, ...]) -> Type:
    properties = properties_of(definition)
    for branch in _branches(definition):
        # a struct without these fields would lose their values
        if not _branch_properties(root, branch) <= properties.keys():
            return TEXT
    return _struct({n: type_of(root, d, followed) or TEXT for n, d in properties.items()})


def _struct(fields: Mapping[str, Type]) -> Type:
    """A struct, or JSON text if Delta could not store it: names are equal whatever their case."""
    names = {name.lower() for name in fields}
    if not fields or len(names) < len(fields):
        return TEXT
    if any(not name or _REFUSED_BY_DELTA.search(name) for name in fields):
        return TEXT
    return _Struct(tuple(fields.items()))


def _branches(definition: Schema) -> list[Schema]:
    found = [definition.get(key) for key in _COMBINED]
    return [b for branches in found if isinstance(branches, list) for b in branches]


def _branch_properties(root: Schema, branch: Schema) -> set[str]:
    target = target_of(root, branch.get("$ref")) if "$ref" in branch else branch
    return set(properties_of(target)) if isinstance(target, dict) else set()


def _type_of_branches(root: Schema, definition: Schema, followed: tuple[str, ...]) -> Type | None:
    branches = [b for b in _branches(definition) if not _is_null(b)]
    if not branches:
        return None
    types = {type_of(root, branch, followed) or TEXT for branch in branches}
    if types == {"bigint", "double"}:
        return "double"
    return types.pop() if len(types) == 1 else TEXT


def _is_null(branch: Any) -> bool:
    return isinstance(branch, dict) and (
        branch.get("type") in ("null", ["null"]) or branch.get("enum") == [None]
    )


def merged(first: Type, second: Type) -> Type:
    """The type of a property that versions do not agree on."""
    if first == second:
        return first
    if isinstance(first, _Struct) and isinstance(second, _Struct):
        fields = dict(first.fields)
        for name, kind in second.fields:
            fields[name] = merged(fields[name], kind) if name in fields else kind
        return _struct(fields)
    if isinstance(first, _Array) and isinstance(second, _Array):
        return _Array(merged(first.item, second.item))
    if {first, second} == {"bigint", "decimal(38,0)"}:
        return "decimal(38,0)"
    return "double" if _is_numeric(first) and _is_numeric(second) else TEXT


def _is_numeric(kind: Type) -> bool:
    return isinstance(kind, str) and (kind in ("bigint", "double") or kind.startswith("decimal"))


def sql(kind: Type) -> str:
    """Return Spark SQL's text of a type."""
    if isinstance(kind, _Array):
        return f"array<{sql(kind.item)}>"
    if isinstance(kind, _Struct):
        fields = [f"{back_ticked(name)}:{sql(of)}" for name, of in kind.fields]
        return f"struct<{','.join(fields)}>"
    return kind


def target_of(root: Schema, ref: Any) -> Any:
    """What a local reference means, None if nothing."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        return None
    node: Any = root
    for part in unquote(ref).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list):
            node = node[int(key)] if key.isdecimal() and int(key) < len(node) else None
        else:
            node = node.get(key) if isinstance(node, dict) else None
    return node


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            yield from nodes(each)
