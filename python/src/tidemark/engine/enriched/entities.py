"""The contexts and self-describing events of an event, as Spark's VARIANT has them.

The common text is JSON as machines write it, without blanks: what a parser makes of it and prints
again is the same text, so that nothing in it can be read in two ways. All others go by
tidemark.shred.canonical.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from tidemark.shred.canonical import ENTITIES
from tidemark.shred.canonical.lines import distinct_json, variant_text
from tidemark.shred.canonical.values import is_envelope
from tidemark.shred.schema_uri import is_schema_uri

Entity = tuple[str, str]
"""The schema's vendor, name, format, version and model, between tabs; the data."""

_DEEPEST = 200
# a number that is printed otherwise: as a double, or with a fraction of 0
_OTHER_NUMBER = re.compile(rb"[:,\[]-?[0-9]+(?:\.0[,\]}]|(?:\.[0-9]+)?[eE])")
# names with such characters have another order in UTF-16 than in UTF-8
_HIGH, _ASTRAL = re.compile("[\ue000-\uffff]"), re.compile("[\U00010000-\U0010ffff]")
_DOUBLE = re.compile(r"[:,\[]\s*-?[0-9]+(?:\.[0-9]*)?(?:[eE]|[0-9.]{38})")
_ENVELOPES = {
    column: re.compile(re.escape(uri.removesuffix("*")) + "(0|[1-9][0-9]*)")
    for column, uri in ENTITIES.items()
}


_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


class Undecided(Exception):
    """It is not proven how Spark reads a text."""


class Reader:
    """Reads the columns of entities.

    Args:
        shortest_doubles: Whether Spark's Java prints a double with no digit too many.
    """

    def __init__(self, shortest_doubles: bool) -> None:
        self._shortest_doubles = shortest_doubles
        self._known: dict[tuple[bool, str], list[Entity] | None] = {}
        self._addresses: dict[str, str | None] = {}

    def read(self, column: str, text: str) -> list[Entity] | None:
        """Return the entities of a column; None: it is not the envelope.

        Example:
            >>> Reader(True).read("contexts", '{"schema":"iglu:com.snowplowanalytics.snowplow/…')
            [('com.acme\\tproduct\\tjsonschema\\t1-0-0\\t1', '{"price":9.5,"sku":"a"}')]

        Raises:
            Undecided: It is not proven how Spark reads it.
        """
        key = (column == "unstruct_event", text)
        if key not in self._known:
            if len(self._known) > 20_000:
                self._known.clear()
            self._known[key] = self._read(column, text)
        return self._known[key]

    def _read(self, column: str, text: str) -> list[Entity] | None:
        if is_too_deep(text):
            raise Undecided("JSON that is nested too deep")
        return self._plain(column, text) or self._any(column, text)

    def _plain(self, column: str, text: str) -> list[Entity] | None:
        """Return the entities of a text that is as machines write it; None: it is another."""
        given = text.encode()
        try:
            found = orjson.loads(given)
        except orjson.JSONDecodeError:
            return None
        if (
            orjson.dumps(found) != given
            or b"\\u" in given
            or _OTHER_NUMBER.search(given)
            or (len(given) != len(text) and _HIGH.search(text) and _ASTRAL.search(text))
        ):
            return None
        if not isinstance(found, dict) or found.keys() != {"schema", "data"}:
            return None
        if not isinstance(found["schema"], str) or not _ENVELOPES[column].fullmatch(
            found["schema"]
        ):
            return None
        data = [found["data"]] if column == "unstruct_event" else found["data"]
        if not isinstance(data, list):
            return None
        entities = []
        for entity in data:
            if not isinstance(entity, dict) or not isinstance(entity.get("data"), dict):
                return None
            address = self._address(entity.get("schema"))
            if address is None:
                return None
            shown = orjson.dumps(entity["data"], option=orjson.OPT_SORT_KEYS)
            entities.append((address, shown.decode()))
        return entities

    def _any(self, column: str, text: str) -> list[Entity] | None:
        if not is_envelope(column, text):
            return None
        try:
            orjson.loads(text)
            found = distinct_json(text)
        except ValueError:
            # a member that is there twice, or half a surrogate
            raise Undecided("JSON that readers differ in") from None
        if not self._shortest_doubles and _DOUBLE.search(_TEXT.sub('""', text)):
            raise Undecided("a double in JSON, which an older Java prints otherwise")
        data = [found["data"]] if column == "unstruct_event" else found["data"]
        entities = []
        for entity in data:
            address = self._address(entity["schema"])
            if address is None:
                raise Undecided("JSON that readers differ in")
            entities.append((address, variant_text(entity["data"])))
        return entities

    def _address(self, uri: Any) -> str | None:
        if not isinstance(uri, str):
            return None
        if uri not in self._addresses:
            parts = uri.removeprefix("iglu:").split("/")
            model = parts[-1].partition("-")[0]
            # a greater one is no int
            known = is_schema_uri(uri) and len(model) < 10
            self._addresses[uri] = "\t".join([*parts, model]) if known else None
        return self._addresses[uri]


def is_too_deep(text: str) -> bool:
    """Say whether JSON may be nested deeper than Python follows it."""
    if text.count("{") + text.count("[") <= _DEEPEST:
        return False
    depth = deepest = 0
    for character in _TEXT.sub("", text):
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest > _DEEPEST
