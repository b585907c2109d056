"""The contexts and self-describing events of an event, as Spark's VARIANT has them.

The common text is JSON as machines write it, without blanks: what a parser makes of it and prints
again is the same text, so that nothing in it can be read in two ways. All others go by
tidemark.shred.enriched.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from tidemark.shred.enriched import ENTITIES
from tidemark.shred.enriched.lines import distinct_json, variant_text
from tidemark.shred.enriched.values import is_envelope
from tidemark.shred.schema_uri import is_schema_uri

Entity = tuple[bytes, bytes]
"""The schema's vendor, name, format, version and model, between tabs; the data."""
_MEMBERS = {"schema", "data"}

_DEEPEST = 200
ODD = (
    # a number that may be printed as a double; an escape, which may be of half a character
    r"[:,\[]-?[0-9]+(\.[0-9]+)?[eE]|[:,\[]-0\.0+[,\]}]|\\u"
)
"""What JSON may have that Python and Spark print in two ways: an expression of RE2."""
# where JSON has both, names of members have another order in UTF-16 than in UTF-8
_HIGH, _ASTRAL = re.compile(rb"[\xee\xef]"), re.compile(rb"[\xf0-\xf4]")
# a number with a fraction of 0, which goes without it; first what is none, as it stands in a text
_WHOLE = re.compile(rb'("(?:[^"\\]|\\.)*")|(?<=[:,\[])(-?[0-9]+)\.0(?=[,\]}])')
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
        self._addresses: dict[Any, bytes | None] = {}

    def read(self, column: str, text: bytes, is_plain: bool) -> list[Entity] | None:
        """Return the entities of a column; None: it is not the envelope.

        Example:
            >>> Reader(True).read("contexts", b'{"schema":"iglu:com.snowplowanalytics.s…', True)
            [(b'com.acme\\tproduct\\tjsonschema\\t1-0-0\\t1', b'{"price":9.5,"sku":"a"}')]

        Args:
            column: The column.
            text: What it has.
            is_plain: Whether ODD is not in it.

        Raises:
            Undecided: It is not proven how Spark reads it.
        """
        if text.count(b"{") + text.count(b"[") > _DEEPEST and is_too_deep(text.decode()):
            raise Undecided("JSON that is nested too deep")
        found = self._plain(column, text) if is_plain else None
        return self._any(column, text.decode()) if found is None else found

    def _plain(self, column: str, text: bytes) -> list[Entity] | None:
        """Return the entities of a text that is as machines write it; None: it is another."""
        try:
            found = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        if orjson.dumps(found) != text or type(found) is not dict:
            return None
        if not text.isascii() and _HIGH.search(text) and _ASTRAL.search(text):
            return None
        if found.keys() != _MEMBERS or not isinstance(found["schema"], str):
            return None
        if not _ENVELOPES[column].fullmatch(found["schema"]):
            return None
        data = found["data"]
        if column == "unstruct_event":
            data = [data]
        elif type(data) is not list:
            return None
        entities = []
        for entity in data:
            if type(entity) is not dict or type(entity.get("data")) is not dict:
                return None
            address = self._address(entity.get("schema"))
            if address is None:
                return None
            shown = orjson.dumps(entity["data"], option=orjson.OPT_SORT_KEYS)
            if b".0" in shown:
                shown = _WHOLE.sub(rb"\1\2", shown)
            entities.append((address, shown))
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
            entities.append((address, variant_text(entity["data"]).encode()))
        return entities

    def _address(self, uri: Any) -> bytes | None:
        if not isinstance(uri, str):
            return None
        if uri not in self._addresses:
            parts = uri.removeprefix("iglu:").split("/")
            model = parts[-1].partition("-")[0]
            # a greater one is no int
            known = is_schema_uri(uri) and len(model) < 10
            self._addresses[uri] = "\t".join([*parts, model]).encode() if known else None
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
