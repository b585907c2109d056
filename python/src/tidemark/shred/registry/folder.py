"""Schemas of a folder: read, found by URI, and told apart by version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

from tidemark.errors import ConfigError
from tidemark.shred.registry.check import Check
from tidemark.shred.registry.types import (
    TEXT,
    Type,
    check_names,
    column_name,
    description_of,
    merged,
    properties_of,
    sql,
    type_of,
)
from tidemark.shred.registry.words import (
    NOT_JSON,
    SCHEMA_NOT_FOUND,
    RefusedError,
    RegistryColumn,
    Schema,
    model_pattern,
)
from tidemark.shred.schema_uri import SchemaPattern, SchemaUri, is_schema_uri

_LAYOUT = "[schemas/]vendor/name/format/model-revision-addition"
_SELF = ("vendor", "name", "format", "version")


@dataclass(frozen=True)
class Registry:
    """The schemas of a folder, as they were when it was read.

    Attributes:
        folder: Where they are, for messages.
        schemas: The JSON by URI, in the order of the URIs.
    """

    folder: Path
    schemas: Mapping[SchemaUri, Schema]
    _checks: dict[str, Check] = field(default_factory=dict, init=False, repr=False, compare=False)

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
        types: dict[str, Type] = {}
        descriptions: dict[str, str] = {}
        for uri in versions:
            schema = self.schemas[uri]
            for name, definition in properties_of(schema).items():
                kind = type_of(schema, definition) or TEXT
                types[name] = merged(types[name], kind) if name in types else kind
                descriptions[name] = description_of(schema, definition) or descriptions.get(
                    name, ""
                )
        columns = [
            RegistryColumn(column_name(name), name, sql(kind), descriptions[name])
            for name, kind in types.items()
        ]
        check_names(columns, versions)
        return columns

    def problem(self, uri: str, data: str) -> str | None:
        """Why a JSON text does not match a schema, or None if it does.

        The text is safe to store: it says which rule of the schema is broken, never by which
        value, and names properties only if the schema does (`*` stands for others).

        A boolean is no number, and 1.0 is no integer, as in draft 4. The formats `date-time`,
        `date`, `uuid`, `ipv4`, `ipv6`, `email`, `hostname` and `uri` are checked, others are not.
        `default` changes nothing. If several rules are broken, one is named.

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

    def _check(self, uri: SchemaUri) -> Check:
        text = str(uri)
        if text not in self._checks:
            self._checks[text] = Check.of(self.schemas[uri])
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
                f"{', '.join(tables)}. Write a pattern for each table, such as "
                f"{model_pattern(found[0])}"
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
            no object, with another `self` than the path says, a link out of the folder, with a
            reference that is not local, or refused by the validator. The message has a line for
            each.
    """
    registry, places, problems = _read(Path(folder))
    for uri in registry.schemas:
        try:
            registry._check(uri)
        except RefusedError as error:
            problems[places[uri]] = str(error)
    if problems:
        lines = [f"{where}: {reason}" for where, reason in sorted(problems.items())]
        raise ConfigError(
            (
                f"{registry.folder}: {len(lines)} of its files cannot be used as schemas. Correct "
                "or remove these files:\n"
            )
            + "\n".join(lines)
        )
    if not registry.schemas:
        raise ConfigError(f"{registry.folder} has no schemas. Add files {_LAYOUT} in it")
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


def registry_state(folder: str) -> str:
    """What tells a registry from what it was before one of its files changed.

    Example:
        >>> registry_state("models/events/registry")  # doctest: +SKIP
        '5f1d7a84e6dc4c39'

    Raises:
        ConfigError: There is no such folder.
    """
    root, seen = _folder(Path(folder)), blake2b(digest_size=8)
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        seen.update(json.dumps([path.relative_to(root).as_posix(), path.stat().st_size]).encode())
        seen.update(path.read_bytes())
    return seen.hexdigest()


def schema_problem(folder: str, state: str, uri: str | None, data: str | None) -> str | None:
    """`Registry.problem` as a plain function of texts, for a UDF.

    A process reads each state of a folder once and compiles the schemas that it meets. It does not
    check again what `read_registry` checks.

    Example:
        >>> uri = "iglu:com.acme/x/jsonschema/1-0-0"
        >>> schema_problem(".", registry_state("."), uri, "{}")  # doctest: +SKIP
        'schema_not_found'

    Args:
        folder: Of the registry; the same for all processes.
        state: What `registry_state` gives. Processes live on from load to load: one that knows the
            folder as it was would refuse what another one takes.
        uri: The schema; without one it is not found.
        data: The JSON text; without one it is not JSON.

    Raises:
        ConfigError: There is no such folder, or the schema cannot be used.
    """
    registry = _cached(folder, state)
    try:
        return registry.problem(uri or "", data or "")
    except RefusedError as error:
        raise ConfigError(f"{uri} in {registry.folder}: {error}") from error


@lru_cache(maxsize=16)
def _cached(folder: str, state: str) -> Registry:
    return _read(Path(folder))[0]


def _folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise ConfigError(
            f"{folder} is not a folder. Name a folder of schemas, with files {_LAYOUT}"
        )
    return folder


def _read(folder: Path) -> tuple[Registry, dict[SchemaUri, str], dict[str, str]]:
    """What can be read, not yet compiled, with its paths, and by path why the rest cannot."""
    _folder(folder)
    found: dict[SchemaUri, Schema] = {}
    places: dict[SchemaUri, str] = {}
    problems: dict[str, str] = {}
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_dir() or any(part.startswith(".") for part in place.parts):
            continue
        try:
            uri = _uri_of(place)
            if uri is None:
                continue
            if uri in places:
                raise RefusedError(f"is {uri} as {places[uri]} is: keep one of them")
            if not path.resolve().is_relative_to(root):
                raise RefusedError("a link that leaves the registry: put the file itself here")
            places[uri] = place.as_posix()
            found[uri] = _schema(path, uri)
        except RefusedError as error:
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
    raise RefusedError(f"expected {_LAYOUT}: move it there, or out of the registry")


def _schema(path: Path, uri: SchemaUri) -> Schema:
    try:
        schema = _parse(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"not JSON ({error})") from error
    if not isinstance(schema, dict):
        raise RefusedError("not a JSON object")
    own = schema.get("self")
    if not isinstance(own, dict):
        raise RefusedError(f"no self block. Add a self block: {json.dumps(_self_of(uri))}")
    for key, expected in _self_of(uri).items():
        if own.get(key) != expected:
            has = f"is {own[key]!r}" if key in own else "is missing"
            raise RefusedError(
                f"self.{key} {has}, but the path says {expected!r}. Correct the self block, or "
                "move "
                "the file"
            )
    return schema


def _self_of(uri: SchemaUri) -> dict[str, str]:
    return {key: getattr(uri, key) for key in _SELF}


def _parse(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
