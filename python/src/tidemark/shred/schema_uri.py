"""Iglu schema URIs, `iglu:vendor/name/format/model-revision-addition`, patterns of them, tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidemark.errors import ConfigError

_FORM = "iglu:vendor/name/format/model-revision-addition"
_VENDOR = r"[a-zA-Z0-9_.-]+"
_NAME = r"[a-zA-Z0-9_-]+"
_VERSION = re.compile(r"([1-9][0-9]*)-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)")
_CAMEL = (
    re.compile(r"([A-Z]+)([A-Z][a-z])"),
    re.compile(r"([a-z0-9])([A-Z])"),
)


@dataclass(frozen=True, order=True)
class SchemaUri:
    """One schema. Schemas of a vendor, name and format are ordered by version.

    Example:
        >>> uri = SchemaUri.parse("iglu:com.acme/linkClick/jsonschema/1-0-2")
        >>> uri.name, uri.version, uri.table_name
        ('linkClick', '1-0-2', 'com_acme_link_click_1')
        >>> str(uri)
        'iglu:com.acme/linkClick/jsonschema/1-0-2'
    """

    vendor: str
    name: str
    format: str
    model: int
    revision: int
    addition: int

    @classmethod
    def parse(cls, text: str) -> SchemaUri:
        """Read a URI.

        Raises:
            ConfigError: It is none; the message has the form, and the nearest URI if there is one.
        """
        parts = _parts(text)
        if parts is None or not _is_uri(parts):
            raise ConfigError(f"{text!r} is no schema URI{_hint(text, _URI_PARTS)}")
        vendor, name, schema_format, version = parts
        model, revision, addition = map(int, version.split("-"))
        return cls(vendor, name, schema_format, model, revision, addition)

    def __str__(self) -> str:
        return f"iglu:{self.vendor}/{self.name}/{self.format}/{self.version}"

    @property
    def version(self) -> str:
        return f"{self.model}-{self.revision}-{self.addition}"

    @property
    def table_name(self) -> str:
        """The table of all versions of the schema's model, as Snowplow's loaders name it.

        Vendor in lower case, name from camel to snake case, dots and hyphens as underscores. Two
        schemas may share a name, as they do there (`com.acme/a-b` and `com.acme/a_b`).
        """
        return f"{_plain(self.vendor)}_{snake_case(self.name)}_{self.model}"


@dataclass(frozen=True)
class SchemaPattern:
    """Schemas with `*` for a whole part: vendor, name, format, model, revision or addition.

    Example:
        >>> pattern = SchemaPattern.parse("iglu:com.acme/*/jsonschema/1-*-*")
        >>> pattern.matches(SchemaUri.parse("iglu:com.acme/linkClick/jsonschema/1-2-0"))
        True
        >>> pattern.matches(SchemaUri.parse("iglu:com.acme/linkClick/jsonschema/2-0-0"))
        False
    """

    vendor: str
    name: str
    format: str
    model: str
    revision: str
    addition: str

    @classmethod
    def parse(cls, text: str) -> SchemaPattern:
        """Read a pattern; a URI without `*` is the pattern of itself.

        Raises:
            ConfigError: It is none; the message has the form, and the nearest pattern.
        """
        parts = _parts(text)
        if parts is None or not _is_pattern(parts):
            raise ConfigError(f"{text!r} is no schema pattern{_hint(text, _PATTERN_PARTS)}")
        vendor, name, schema_format, version = parts
        return cls(vendor, name, schema_format, *version.split("-"))

    def __str__(self) -> str:
        version = f"{self.model}-{self.revision}-{self.addition}"
        return f"iglu:{self.vendor}/{self.name}/{self.format}/{version}"

    def matches(self, uri: SchemaUri) -> bool:
        """Whether a schema is one of these. Upper and lower case differ, as in a registry."""
        found = (uri.vendor, uri.name, uri.format, uri.model, uri.revision, uri.addition)
        wanted = (self.vendor, self.name, self.format, self.model, self.revision, self.addition)
        return all(w in ("*", str(f)) for w, f in zip(wanted, found, strict=True))


def is_schema_uri(text: str) -> bool:
    """Whether `SchemaUri.parse` can read it."""
    parts = _parts(text)
    return parts is not None and _is_uri(parts)


def snake_case(name: str) -> str:
    """Camel case and hyphens as snake case, the way Snowplow's loaders do it.

    Example:
        >>> snake_case("someURLThing-v2"), snake_case("PascalCase"), snake_case("x1Y")
        ('some_url_thing_v2', 'pascal_case', 'x1_y')
    """
    for pattern in _CAMEL:
        name = pattern.sub(r"\1_\2", name)
    return _plain(name)


def _plain(text: str) -> str:
    return text.replace(".", "_").replace("-", "_").lower()


# -- Reading -------------------------------------------------------------------------------------

_URI_PARTS = (_VENDOR, _NAME, _NAME, _VERSION.pattern)
_STAR_VERSION = r"(\*|[1-9][0-9]*)-(\*|0|[1-9][0-9]*)-(\*|0|[1-9][0-9]*)"
_PATTERN_PARTS = (*(rf"(\*|{part})" for part in (_VENDOR, _NAME, _NAME)), _STAR_VERSION)


def _parts(text: str) -> list[str] | None:
    prefix, _, path = text.partition(":")
    parts = path.split("/")
    return parts if prefix == "iglu" and len(parts) == 4 else None


def _is_uri(parts: list[str]) -> bool:
    return _fit(parts, _URI_PARTS)


def _is_pattern(parts: list[str]) -> bool:
    return _fit(parts, _PATTERN_PARTS)


def _fit(parts: list[str], wanted: tuple[str, ...]) -> bool:
    return all(re.fullmatch(w, part) for w, part in zip(wanted, parts, strict=True))


def _hint(text: str, wanted: tuple[str, ...]) -> str:
    """The form, and what the text may have meant: its mistakes put right, if they can be."""
    path = re.sub(r"(?i)^\s*iglu(:/*|/)", "", text).strip().strip("/")
    path = path.replace("\\", "/")
    parts = [part.strip() for part in path.split("/")]
    if len(parts) == 3 and re.fullmatch(r"[0-9*]+([-.][0-9*]+)*", parts[2]):
        parts.insert(2, "jsonschema")
    if len(parts) == 3:
        parts.append("")
    if len(parts) == 4:
        stars = wanted is _PATTERN_PARTS
        parts[3] = _nearest_version(parts[3], "*" if stars else "0")
        if _fit(parts, wanted):
            return f": did you mean iglu:{'/'.join(parts)}?"
    example = "iglu:com.acme/*/jsonschema/1-*-*" if wanted is _PATTERN_PARTS else None
    return f": expected {_FORM}, such as {example or 'iglu:com.acme/link_click/jsonschema/1-0-0'}"


def _nearest_version(text: str, filler: str) -> str:
    numbers = re.findall(r"[0-9]+|\*", text)[:3] or ["1"]
    numbers = [number if number == "*" else str(int(number)) for number in numbers]
    if numbers[0] == "0":
        numbers[0] = "1"
    return "-".join([*numbers, filler, filler][:3])
