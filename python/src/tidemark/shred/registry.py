"""A local folder of Iglu JSON Schemas: the columns that they give, and what does not match them.

Schemas are self-describing JSON Schemas, read as draft 4, the one that Iglu knows: keywords of
later drafts are passed over. Nothing is ever fetched. Pure Python without Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import unquote

import fastjsonschema

from tidemark.errors import ConfigError
from tidemark.shred.schema_uri import SchemaPattern, SchemaUri, is_schema_uri, snake_case

SCHEMA_NOT_FOUND = "schema_not_found"
NOT_JSON = "not_json"

RESERVED: tuple[str, ...] = ("schema", "hierarchy")
"""Columns that a table of entities has of its own, besides all that begin with `_`."""

_LAYOUT = "[schemas/]vendor/name/format/model-revision-addition"
_SELF = ("vendor", "name", "format", "version")

Schema = dict[str, Any]


@dataclass(frozen=True)
class RegistryColumn:
    """A column of a table of entities.

    Attributes:
        name: The property in snake case, see `Registry.columns`.
        property: The property as the JSON has it.
        data_type: Spark SQL's text of the type.
        description: As in the newest version that has one, else empty.
    """

    name: str
    property: str
    data_type: str
    description: str


@dataclass(frozen=True)
class Registry:
    """The schemas of a folder, as they were when it was read.

    Attributes:
        folder: Where they are, for messages.
        schemas: The JSON by URI, in the order of the URIs.
    """

    folder: Path
    schemas: Mapping[SchemaUri, Schema]
    _checks: dict[str, _Check] = field(default_factory=dict, init=False, repr=False, compare=False)

    def columns(self, pattern: SchemaPattern) -> list[RegistryColumn]:
        """The typed columns of the table of the versions that match, one per property.

        Properties of the lowest version come first, in the file's order; each later version
        appends what it adds. So a new version never moves a column.

        Names are in snake case; a character that Delta refuses in names (blank and any of
        `,;{}()=`, tab, line feed) becomes `_`. What would begin with `_` or be one of `RESERVED`
        gets the prefix `data_`.

        Types:

        - string: `string`; with the format `date-time` `timestamp`, with `date` `date`.
        - integer: `bigint`, so that nothing has to be widened; `decimal(38,0)` if `minimum` or
          `maximum` lies beyond.
        - number: `double`; `decimal(18,k)` if `multipleOf` is 10 to the power of -k (up to 18),
          with 38 digits if `minimum` or `maximum` needs them.
        - boolean: `boolean`. `null` besides another type does not count.
        - array with one typed `items`: `array<…>`. Object with properties: ``struct<`p`:…>``, the
          names unchanged; not if Delta could not store them (see above, or they differ in case
          only), nor if `allOf`, `anyOf` or `oneOf` name more properties.
        - enum without type: as its values are. `allOf`, `anyOf`, `oneOf` without type: what all
          of them agree on.
        - Local references are followed. One that leads back to itself is not.
        - All else is `string`, the JSON text: no type, several types, tuples, free objects.

        Where versions differ: integers and numbers become `double` (inexact beyond 2^53), both
        kinds of integers `decimal(38,0)`, structs have the fields of both, arrays the type that
        both items have; anything else becomes `string`, the JSON text of either.

        What is no property of the schema itself (`additionalProperties`, `patternProperties`,
        alternatives at the top) has no column.

        Example:
            >>> registry = read_registry("models/events/registry")  # doctest: +SKIP
            >>> pattern = SchemaPattern.parse("iglu:com.acme/product/jsonschema/1-*-*")
            >>> [f"{c.name} {c.data_type}" for c in registry.columns(pattern)]  # doctest: +SKIP
            ['sku string', 'price decimal(18,2)', 'stock bigint']

        Raises:
            ConfigError: No schema matches, those that do are of several tables, or two properties
                give one column.
        """
        versions = self._versions(pattern)
        types: dict[str, _Type] = {}
        descriptions: dict[str, str] = {}
        for uri in versions:
            schema = self.schemas[uri]
            for name, definition in _properties(schema).items():
                kind = _type_of(schema, definition) or _TEXT
                types[name] = _merged(types[name], kind) if name in types else kind
                descriptions[name] = _description(schema, definition) or descriptions.get(name, "")
        columns = [
            RegistryColumn(_column_name(name), name, _sql(kind), descriptions[name])
            for name, kind in types.items()
        ]
        _check_names(columns, versions)
        return columns

    def problem(self, uri: str, data: str) -> str | None:
        """Why a JSON text does not match a schema, or None if it does.

        The text is safe to store: it says which rule of the schema is broken, never by which
        value, and names properties only if the schema does (`*` stands for others).

        A boolean is no number, and 1.0 is no integer, as in draft 4. The formats `date-time`,
        `date`, `uuid`, `ipv4`, `ipv6`, `email`, `hostname` and `uri` are checked, others are not.
        `default` changes nothing. Of several rules that are broken one is told.

        Example:
            >>> registry = read_registry("models/events/registry")  # doctest: +SKIP
            >>> product = "iglu:com.acme/product/jsonschema/1-0-0"
            >>> registry.problem(product, '{"sku": 1, "price": 9.99}')  # doctest: +SKIP
            'invalid: sku: must be string'

        Args:
            uri: The schema.
            data: The JSON text of the entity's data.

        Returns:
            `schema_not_found`, `not_json`, or `invalid: <path>: <reason>` with a path such as
            `items[0].sku`, `$` for the whole.
        """
        check = self._checks.get(uri)
        if check is None:
            if not is_schema_uri(uri) or (parsed := SchemaUri.parse(uri)) not in self.schemas:
                return SCHEMA_NOT_FOUND
            check = self._check(parsed)
        try:
            value = _parse(data)
        except (ValueError, RecursionError):
            return NOT_JSON
        found = check.problem(value)
        return None if found is None else f"invalid: {found}"

    def _check(self, uri: SchemaUri) -> _Check:
        text = str(uri)
        if text not in self._checks:
            self._checks[text] = _Check.of(self.schemas[uri])
        return self._checks[text]

    def _versions(self, pattern: SchemaPattern) -> list[SchemaUri]:
        found = sorted(uri for uri in self.schemas if pattern.matches(uri))
        if not found:
            known = [str(uri) for uri in self.schemas]
            near = get_close_matches(str(pattern), known, n=3)
            hint = f"the nearest are {', '.join(near)}" if near else f"such as {known[0]}"
            raise ConfigError(
                f"{pattern} matches none of the {len(known)} schemas in {self.folder}; {hint}"
            )
        tables = {f"{u.vendor}/{u.name}/{u.format}/{u.model}": u for u in found}
        if len(tables) > 1:
            raise ConfigError(
                f"{pattern} matches schemas of {len(tables)} tables in {self.folder}: "
                f"{', '.join(tables)}; each needs a pattern of its own, such as "
                f"{_model_pattern(found[0])}"
            )
        return found


def read_registry(folder: str | Path) -> Registry:
    """Read the schemas of a folder, and check that each can be used.

    A schema is the file `[schemas/]vendor/name/format/model-revision-addition`, with or without
    `.json`. Other files must be README or Markdown, or begin with a dot.

    Example:
        >>> registry = read_registry("models/events/registry")  # doctest: +SKIP
        >>> len(registry.schemas)  # doctest: +SKIP
        6

    Raises:
        ConfigError: There is no such folder, no schema in it, or something that is none: not JSON,
            no object, with another `self` than the path says, with a reference that is not local,
            or refused by the validator. The message has a line for each.
    """
    registry, places, problems = _read(Path(folder))
    for uri in registry.schemas:
        try:
            registry._check(uri)
        except _RefusedError as error:
            problems[places[uri]] = str(error)
    if problems:
        lines = [f"{where}: {reason}" for where, reason in sorted(problems.items())]
        raise ConfigError(
            f"{registry.folder}: {len(lines)} of its files cannot be used as schemas\n"
            + "\n".join(lines)
        )
    if not registry.schemas:
        raise ConfigError(f"{registry.folder} has no schemas: expected files {_LAYOUT} in it")
    return registry


def registry_columns(folder: str, pattern: str) -> list[dict[str, str]]:
    """`Registry.columns` as plain dicts, for Jinja.

    Example:
        >>> registry_columns("schemas", "iglu:com.acme/x/jsonschema/1-*-*")  # doctest: +SKIP
        [{'name': 'target_url', 'property': 'targetUrl', 'data_type': 'string', 'description': ''}]

    Raises:
        ConfigError: The folder cannot be read, or has no such schema.
    """
    columns = read_registry(folder).columns(SchemaPattern.parse(pattern))
    return [asdict(column) for column in columns]


def schema_problem(folder: str, uri: str | None, data: str | None) -> str | None:
    """`Registry.problem` as a plain function of texts, for a UDF.

    A process reads a folder once and compiles the schemas that it meets. It does not see later
    changes of the folder, and does not check again what `read_registry` checks.

    Example:
        >>> schema_problem(".", "iglu:com.acme/x/jsonschema/1-0-0", "{}")  # doctest: +SKIP
        'schema_not_found'

    Args:
        folder: Of the registry; the same for all processes.
        uri: The schema; without one it is not found.
        data: The JSON text; without one it is not JSON.

    Raises:
        ConfigError: There is no such folder, or the schema cannot be used.
    """
    registry = _cached(folder)
    try:
        return registry.problem(uri or "", data or "")
    except _RefusedError as error:
        raise ConfigError(f"{uri} in {registry.folder}: {error}") from error


@lru_cache(maxsize=16)
def _cached(folder: str) -> Registry:
    return _read(Path(folder))[0]


# -- Reading -------------------------------------------------------------------------------------


class _RefusedError(Exception):
    """A schema that cannot be used, and why."""


def _read(folder: Path) -> tuple[Registry, dict[SchemaUri, str], dict[str, str]]:
    """What can be read, not yet compiled, with its paths, and by path why the rest cannot."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder: expected a registry, with files {_LAYOUT}")
    found: dict[SchemaUri, Schema] = {}
    places: dict[SchemaUri, str] = {}
    problems: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_dir() or any(part.startswith(".") for part in place.parts):
            continue
        try:
            uri = _uri_of(place)
            if uri is None:
                continue
            if uri in places:
                raise _RefusedError(f"is {uri} as {places[uri]} is: keep one of them")
            places[uri] = place.as_posix()
            found[uri] = _schema(path, uri)
        except _RefusedError as error:
            problems[place.as_posix()] = str(error)
    return Registry(folder, MappingProxyType(dict(sorted(found.items())))), places, problems


def _uri_of(place: PurePath) -> SchemaUri | None:
    """The schema that a file must have; None if it may be anything."""
    parts = list(place.parts)
    if len(parts) == 5 and parts[0] == "schemas":
        del parts[0]
    parts[-1] = parts[-1].removesuffix(".json")
    text = f"iglu:{'/'.join(parts)}"
    if is_schema_uri(text):
        return SchemaUri.parse(text)
    if place.stem.upper() == "README" or place.suffix.lower() == ".md":
        return None
    raise _RefusedError(f"expected {_LAYOUT}: move it there, or out of the registry")


def _schema(path: Path, uri: SchemaUri) -> Schema:
    try:
        schema = _parse(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"not JSON ({error})") from error
    if not isinstance(schema, dict):
        raise _RefusedError("not a JSON object")
    own = schema.get("self")
    if not isinstance(own, dict):
        raise _RefusedError(f"no self block; expected {json.dumps(_self_of(uri))}")
    for key, expected in _self_of(uri).items():
        if own.get(key) != expected:
            has = f"is {own[key]!r}" if key in own else "is missing"
            raise _RefusedError(f"self.{key} {has}, but the path says {expected!r}")
    return schema


def _self_of(uri: SchemaUri) -> dict[str, str]:
    return {key: getattr(uri, key) for key in _SELF}


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _model_pattern(uri: SchemaUri) -> str:
    return f"iglu:{uri.vendor}/{uri.name}/{uri.format}/{uri.model}-*-*"


# -- Columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Array:
    item: _Type


@dataclass(frozen=True)
class _Struct:
    fields: tuple[tuple[str, _Type], ...]


_Type: TypeAlias = str | _Array | _Struct

_TEXT = "string"
_LONG = (-(2**63), 2**63 - 1)
_FORMATTED = {"date-time": "timestamp", "date": "date"}
_COMBINED = ("allOf", "anyOf", "oneOf")
_REFUSED_BY_DELTA = re.compile(r"[ ,;{}()\n\t=]")


def _column_name(name: str) -> str:
    column = _REFUSED_BY_DELTA.sub("_", snake_case(name))
    if not column or column.startswith("_") or column in RESERVED:
        return f"data_{column}"
    return column


def _check_names(columns: list[RegistryColumn], versions: list[SchemaUri]) -> None:
    properties: dict[str, str] = {}
    for column in columns:
        other = properties.setdefault(column.name, column.property)
        if other != column.property:
            raise ConfigError(
                f"{_model_pattern(versions[0])}: the properties {other!r} and {column.property!r} "
                f"both give the column {column.name}; take one of them out of the schemas, or a "
                "pattern of versions that have only one"
            )


def _properties(definition: Schema) -> Schema:
    found = definition.get("properties")
    return found if isinstance(found, dict) else {}


def _description(root: Schema, definition: Any) -> str:
    for _ in range(2):
        if not isinstance(definition, dict):
            break
        if isinstance(definition.get("description"), str):
            return str(definition["description"])
        definition = _target(root, definition.get("$ref"))
    return ""


def _type_of(root: Schema, definition: Any, followed: tuple[str, ...] = ("#",)) -> _Type | None:
    """The type of a property or item; None if the schema gives none."""
    if not isinstance(definition, dict):
        return None
    ref = definition.get("$ref")
    if isinstance(ref, str):
        target = None if ref in followed else _target(root, ref)
        return _TEXT if target is None else _type_of(root, target, (*followed, ref))
    if "type" not in definition:
        if isinstance(definition.get("enum"), list):
            return _type_of_values(definition["enum"])
        return _type_of_branches(root, definition, followed)
    match sorted(_type_names(definition) - {"null"}):
        case ["string"]:
            return _FORMATTED.get(str(definition.get("format")), _TEXT)
        case ["integer"]:
            return _type_of_integers(_limits(definition))
        case ["number"] | ["integer", "number"]:
            return _type_of_numbers(definition)
        case ["boolean"]:
            return "boolean"
        case ["array"]:
            item = _type_of(root, definition.get("items"), followed)
            return _TEXT if item is None else _Array(item)
        case ["object"]:
            return _type_of_object(root, definition, followed)
    return _TEXT


def _type_names(definition: Schema) -> set[str]:
    found = definition["type"]
    return {str(name) for name in found} if isinstance(found, list) else {str(found)}


def _type_of_values(values: Sequence[Any]) -> _Type:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return _type_of_integers([value for value in values if value is not None])
    return "double" if kinds and kinds <= {int, float} else _TEXT


def _limits(definition: Schema) -> list[Any]:
    found = (definition.get("minimum"), definition.get("maximum"))
    return [limit for limit in found if _is_number(limit)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _type_of_integers(values: Sequence[Any]) -> str:
    if all(_LONG[0] <= value <= _LONG[1] for value in values):
        return "bigint"
    return "decimal(38,0)" if all(abs(value) < 10**38 for value in values) else _TEXT


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


def _type_of_object(root: Schema, definition: Schema, followed: tuple[str, ...]) -> _Type:
    properties = _properties(definition)
    for branch in _branches(definition):
        # a struct without these fields would lose their values
        if not _branch_properties(root, branch) <= properties.keys():
            return _TEXT
    return _struct({n: _type_of(root, d, followed) or _TEXT for n, d in properties.items()})


def _struct(fields: Mapping[str, _Type]) -> _Type:
    """A struct, or JSON text if Delta could not store it: names are equal whatever their case."""
    names = {name.lower() for name in fields}
    if not fields or len(names) < len(fields):
        return _TEXT
    if any(not name or _REFUSED_BY_DELTA.search(name) for name in fields):
        return _TEXT
    return _Struct(tuple(fields.items()))


def _branches(definition: Schema) -> list[Schema]:
    found = [definition.get(key) for key in _COMBINED]
    return [b for branches in found if isinstance(branches, list) for b in branches]


def _branch_properties(root: Schema, branch: Schema) -> set[str]:
    target = _target(root, branch.get("$ref")) if "$ref" in branch else branch
    return set(_properties(target)) if isinstance(target, dict) else set()


def _type_of_branches(root: Schema, definition: Schema, followed: tuple[str, ...]) -> _Type | None:
    branches = [b for b in _branches(definition) if not _is_null(b)]
    if not branches:
        return None
    types = {_type_of(root, branch, followed) or _TEXT for branch in branches}
    if types == {"bigint", "double"}:
        return "double"
    return types.pop() if len(types) == 1 else _TEXT


def _is_null(branch: Any) -> bool:
    return isinstance(branch, dict) and (
        branch.get("type") in ("null", ["null"]) or branch.get("enum") == [None]
    )


def _merged(first: _Type, second: _Type) -> _Type:
    """The type of a property that versions do not agree on."""
    if first == second:
        return first
    if isinstance(first, _Struct) and isinstance(second, _Struct):
        fields = dict(first.fields)
        for name, kind in second.fields:
            fields[name] = _merged(fields[name], kind) if name in fields else kind
        return _struct(fields)
    if isinstance(first, _Array) and isinstance(second, _Array):
        return _Array(_merged(first.item, second.item))
    if {first, second} == {"bigint", "decimal(38,0)"}:
        return "decimal(38,0)"
    return "double" if _is_numeric(first) and _is_numeric(second) else _TEXT


def _is_numeric(kind: _Type) -> bool:
    return isinstance(kind, str) and (kind in ("bigint", "double") or kind.startswith("decimal"))


def _sql(kind: _Type) -> str:
    if isinstance(kind, _Array):
        return f"array<{_sql(kind.item)}>"
    if isinstance(kind, _Struct):
        fields = [f"`{name.replace('`', '``')}`:{_sql(of)}" for name, of in kind.fields]
        return f"struct<{','.join(fields)}>"
    return kind


# -- References ----------------------------------------------------------------------------------


def _target(root: Schema, ref: Any) -> Any:
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


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, (dict, list)):
            yield from _nodes(each)


# -- Validation ----------------------------------------------------------------------------------

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
    raise _RefusedError(f"$ref {uri!r} is not local: nothing is fetched")


_NO_FETCHING = dict.fromkeys(("http", "https", "ftp", "file", "data"), _refuse_remote)


@dataclass(frozen=True)
class _Check:
    """A compiled schema, and the properties that it names."""

    validate: Callable[[Any], Any]
    names: frozenset[str]

    @classmethod
    def of(cls, schema: Schema) -> _Check:
        """Compile a schema.

        Raises:
            _RefusedError: It cannot be used.
        """
        names = frozenset(name for node in _nodes(schema) for name in _named(node))
        prepared = _prepared(schema)
        try:
            validate = fastjsonschema.compile(
                prepared, handlers=_NO_FETCHING, formats=_FORMATS, use_default=False
            )
        except _RefusedError:
            raise
        except Exception as error:
            # The library builds code of whatever it finds: a schema that is wrong in a way that it
            # does not look for ends in any exception.
            reason = str(error) or type(error).__name__
            raise _RefusedError(f"no JSON Schema that can be used ({reason})") from error
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
    yield from _properties(definition)
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
                raise _RefusedError(
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
        target = _target(schema, ref)
        if not isinstance(target, dict):
            raise _RefusedError(f"$ref {ref!r} leads to no schema")
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
