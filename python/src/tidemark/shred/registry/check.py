"""Whether data matches its schema, and why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

import fastjsonschema

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
        # the library's own knows no scheme such as android-app
        "uri": lambda text: _URI.fullmatch(text) is not None,
    }
)


def _refuse_remote(uri: str) -> Any:
    raise RefusedError(f"$ref {uri!r} is not local: nothing is fetched")


_NO_FETCHING = dict.fromkeys(("http", "https", "ftp", "file", "data"), _refuse_remote)


@dataclass(frozen=True)
class Check:
    """A compiled schema, and the properties that it names."""

    validate: Callable[[Any], Any]
    names: frozenset[str]

    @classmethod
    def of(cls, schema: Schema) -> Check:
        """Compile a schema.

        Raises:
            RefusedError: It cannot be used.
        """
        names = frozenset(name for node in nodes(schema) for name in _named(node))
        prepared = _prepared(schema)
        try:
            validate = fastjsonschema.compile(
                prepared, handlers=_NO_FETCHING, formats=_FORMATS, use_default=False
            )
        except RefusedError:
            raise
        except Exception as error:
            # The library builds code of whatever it finds: a schema that is wrong in a way that it
            # does not look for ends in any exception.
            reason = str(error) or type(error).__name__
            raise RefusedError(f"no JSON Schema that can be used ({reason})") from error
        return cls(validate, names)

    def problem(self, value: Any) -> str | None:
        """The path and the rule that is broken."""
        try:
            self.validate(value)
        except fastjsonschema.JsonSchemaValueException as error:
            steps = _steps((error.name or "").removeprefix("data"), value) or []
            definition = error.definition if isinstance(error.definition, dict) else {}
            if error.rule == "required" and isinstance(error.value, dict):
                missing = (name for name in definition["required"] if name not in error.value)
                return f"{self._path([*steps, *missing][: len(steps) + 1])}: is required"
            return f"{self._path(steps)}: {_reason(error.rule, definition)}"
        except Exception:
            # Such as numbers too big for multipleOf, nesting too deep for a recursive schema. One
            # entity must not stop all others.
            return "$: cannot be checked"
        return None

    def _path(self, steps: Sequence[str | int]) -> str:
        text = ""
        for step in steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{step if step in self.names else '*'}"
        return text.removeprefix(".") or "$"


def _named(definition: Schema) -> Iterator[str]:
    yield from properties_of(definition)
    required = definition.get("required")
    yield from required if isinstance(required, list) else []


def _prepared(schema: Schema) -> Schema:
    """A copy for the library.

    It names functions after references in lower case without punctuation, so that `a-b` and `A_b`
    would share one: they are numbered instead.
    """
    numbered: dict[str, str] = {}

    def copy(node: Any) -> Any:
        if isinstance(node, list):
            return [copy(each) for each in node]
        if not isinstance(node, dict):
            return node
        return {key: rewritten(key, value) for key, value in node.items()}

    def rewritten(key: str, value: Any) -> Any:
        if key == "$ref" and isinstance(value, str):
            if not value.startswith("#"):
                raise RefusedError(
                    f"$ref {value!r} is not local, and nothing is fetched: put what it means under "
                    "definitions and refer to #/definitions/…"
                )
            return numbered.setdefault(value, f"#/definitions/{len(numbered)}")
        if key == "additionalProperties" and value == {}:
            # taken for false beside `required`; a property of this name stays as it is
            return {"description": ""}
        return _pattern(value) if key == "pattern" and isinstance(value, str) else copy(value)

    numbered["#"] = "#"
    left_out = ("$schema", "self", "id", "$id")
    prepared: Schema = copy({k: v for k, v in schema.items() if k not in left_out})
    prepared["definitions"] = {}
    for ref, number in list(numbered.items())[1:]:
        target = target_of(schema, ref)
        if not isinstance(target, dict):
            raise RefusedError(f"$ref {ref!r} leads to no schema")
        prepared["definitions"][number.rpartition("/")[2]] = copy(target)
    prepared["$schema"] = "http://json-schema.org/draft-04/schema#"
    return prepared


def _pattern(pattern: str) -> str:
    r"""A pattern for the library, which takes every `$` for an end, also that of `[a-z$]`."""
    inside, escaped, found = False, False, ""
    for char in pattern:
        found += "\\$" if char == "$" and inside and not escaped else char
        if not escaped and char in "[]":
            inside = char == "["
        escaped = char == "\\" and not escaped
    return found


def _steps(text: str, value: Any) -> list[str | int] | None:
    """The way to a part of a value, by the library's text of it; names may hold dots themselves."""
    if not text:
        return []
    if isinstance(value, list):
        index = re.match(r"\[([0-9]+)\]", text)
        if index is None or int(index[1]) >= len(value):
            return None
        tail = _steps(text[index.end() :], value[int(index[1])])
        return None if tail is None else [int(index[1]), *tail]
    if isinstance(value, dict) and text.startswith("."):
        for key in sorted(value, key=len, reverse=True):
            tail = _steps(text[1 + len(key) :], value[key]) if text.startswith(key, 1) else None
            if tail is not None:
                return [key, *tail]
    return None


_REASONS: Mapping[str, str] = MappingProxyType(
    {
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
        "multipleOf": "must be a multiple of {}",
        "minItems": "fewer than {} items",
        "maxItems": "more than {} items",
        "uniqueItems": "has an item twice",
        "items": "more items than allowed",
        "minProperties": "fewer than {} properties",
        "maxProperties": "more than {} properties",
        "dependencies": "lacks a property that another one needs",
        "additionalProperties": "has a property that is not allowed",
    }
)


def _reason(rule: str | None, definition: Schema) -> str:
    """What a rule asks for. It is built of the schema alone: values may be personal data."""
    limit = definition.get(rule or "")
    if rule == "type":
        return f"must be {' or '.join(limit) if isinstance(limit, list) else limit}"
    if rule == "minimum" and definition.get("exclusiveMinimum"):
        return f"must be greater than {limit}"
    if rule == "maximum" and definition.get("exclusiveMaximum"):
        return f"must be less than {limit}"
    return _REASONS.get(rule or "", "does not match the schema").format(limit)
