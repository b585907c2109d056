"""Does data match its schema? If not, why?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import jsonschema_rs

from tidemark.errors import first_line
from tidemark.shred.registry.types import nodes, properties_of, target_of
from tidemark.shred.registry.words import RefusedError, Schema

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_URI = re.compile(r"[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE)


def _is_date(text: str) -> bool:
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


_FORMATS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "date": _is_date,
        "uuid": lambda text: _UUID.fullmatch(text) is not None,
        # the library's own wants more of it than a scheme such as android-app has
        "uri": lambda text: _URI.fullmatch(text) is not None,
    }
)


@dataclass(frozen=True)
class Check:
    """A compiled schema, and the properties that it names."""

    errors: Callable[[Any], Iterator[jsonschema_rs.ValidationError]]
    names: frozenset[str]

    @classmethod
    def of(cls, schema: Schema) -> Check:
        """Compile a schema.

        Raises:
            RefusedError: It cannot be used.
        """
        names = frozenset(name for node in nodes(schema) for name in _named(node))
        _check_references(schema)
        rules = _with_quoted_references({k: v for k, v in schema.items() if k not in _LEFT_OUT})
        try:
            validator = jsonschema_rs.Draft4Validator(
                rules, formats=dict(_FORMATS), validate_formats=True
            )
        except Exception as error:
            raise RefusedError(
                f"no JSON Schema that can be used ({first_line(error)}). Correct the schema"
            ) from error
        return cls(validator.iter_errors, names)

    def problem(self, value: Any) -> str | None:
        """The path and the rule that is broken."""
        try:
            error = next(self.errors(value), None)
        except Exception:
            # Such as nesting too deep for a recursive schema. One entity must not stop all others.
            return "$: cannot be checked"
        if error is None:
            return None
        steps = list(error.instance_path)
        kind: Any = error.kind
        if kind.name == "required" and "dependencies" not in error.schema_path:
            return f"{self._path([*steps, kind.property])}: is required"
        return f"{self._path(steps)}: {_reason(kind)}"

    def _path(self, steps: Sequence[str | int]) -> str:
        text = ""
        for step in steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{step if step in self.names else '*'}"
        return text.removeprefix(".") or "$"


# what a schema says of itself, and where it says that it lies
_LEFT_OUT = ("$schema", "self", "id", "$id")


def _named(definition: Schema) -> Iterator[str]:
    yield from properties_of(definition)
    required = definition.get("required")
    yield from required if isinstance(required, list) else []


def _check_references(schema: Schema) -> None:
    for node in nodes(schema):
        ref = node.get("$ref")
        if not isinstance(ref, str):
            continue
        if not ref.startswith("#"):
            raise RefusedError(
                f"$ref {ref!r} is not local, and no schema is fetched. Copy the schema under "
                "definitions and refer to #/definitions/…"
            )
        if not isinstance(target_of(schema, ref), dict):
            raise RefusedError(f"$ref {ref!r} leads to no schema. Correct the reference")


def _with_quoted_references(node: Any) -> Any:
    """A copy for the library, which takes a reference for a URI as it must be written."""
    if isinstance(node, list):
        return [_with_quoted_references(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        name: quote(value, safe="#/~%")
        if name == "$ref" and isinstance(value, str)
        else _with_quoted_references(value)
        for name, value in node.items()
    }


# by the library's word for the rule that is broken
_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "type": "must be {}",
        "enum": "is none of the allowed values",
        "anyOf": "matches none of the allowed forms",
        "oneOf": "must match exactly one of the allowed forms",
        "not": "matches a form that is not allowed",
        "minLength": "shorter than {}",
        "maxLength": "longer than {}",
        "pattern": "does not match the pattern",
        "format": "must be {}",
        "minimum": "less than {}",
        "maximum": "greater than {}",
        "exclusiveMinimum": "must be greater than {}",
        "exclusiveMaximum": "must be less than {}",
        "multipleOf": "must be a multiple of {}",
        "minItems": "fewer than {} items",
        "maxItems": "more than {} items",
        "uniqueItems": "has an item twice",
        "additionalItems": "more items than allowed",
        "required": "lacks a property that another one needs",
        "minProperties": "fewer than {} properties",
        "maxProperties": "more than {} properties",
        "additionalProperties": "has a property that is not allowed",
    }
)
_LIMITS = ("limit", "multiple_of", "format")


def _reason(kind: Any) -> str:
    """What a rule asks for. It is built of the schema alone: values may be personal data."""
    if kind.name == "type":
        types = sorted(kind.types, key=lambda name: name == "null")
        return _REASONS["type"].format(" or ".join(types))
    limit = next((getattr(kind, name) for name in _LIMITS if hasattr(kind, name)), None)
    return _REASONS.get(kind.name, "does not match the schema").format(limit)
