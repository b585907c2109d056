"""Identity of enriched events: fingerprints, ids of duplicates, their order."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime

import xxhash

from tidemark import hashing
from tidemark.shred.enriched.columns import (
    COLUMNS,
    CONTEXTS_SCHEMA,
    DUPLICATE_SCHEMA,
    LEFT_OUT,
    SYNTHETIC_NAMESPACE,
)
from tidemark.shred.enriched.lines import check_columns
from tidemark.shred.enriched.values import parse_timestamp


def fingerprint(event: Mapping[str, str | None], left_out: Iterable[str] = LEFT_OUT) -> str:
    """The event's fingerprint; computed if it has none.

    What is computed is the MD5 of the hash recipe over the texts of the columns that are not left
    out, all as strings, in the order of the TSV.

    Example:
        >>> fingerprint({"event_fingerprint": "8f2a", "platform": "web"})
        '8f2a'
        >>> fingerprint({"platform": "web"})
        '5fba404a69a2ba980df082ddf8c5ad05'

    Raises:
        ConfigError: A column that is left out is not canonical.
    """
    return event.get("event_fingerprint") or hashing.row_hash(event, _hashed(tuple(left_out)))


_HASHED: dict[tuple[str, ...], list[hashing.Column]] = {}


def _hashed(left_out: tuple[str, ...]) -> list[hashing.Column]:
    if left_out not in _HASHED:
        check_columns(left_out)
        _HASHED[left_out] = [hashing.Column(c, "string") for c in COLUMNS if c not in left_out]
    return _HASHED[left_out]


def synthetic_id(event_id: str, event_fingerprint: str) -> str:
    """The id that a synthetic duplicate gets: the same at every attempt, for every copy.

    Example:
        >>> synthetic_id("1799A90F-f570-4414-b91a-b0db8f39cc2e", "8f2a")
        '31d5ea89-2590-5fa8-9bfd-d7cb71c854ae'

    Args:
        event_id: The id that it came with, in any case.
        event_fingerprint: Its fingerprint, found or computed.

    Returns:
        The UUID, version 5, of `<id in lower case>:<fingerprint>` in `SYNTHETIC_NAMESPACE`.
    """
    return str(uuid.uuid5(SYNTHETIC_NAMESPACE, f"{event_id.lower()}:{event_fingerprint}"))


def with_duplicate(derived_contexts: str | None, original_id: str) -> str:
    """Derived contexts with a `duplicate` context that names a former id, before the others.

    Example:
        >>> with_duplicate(None, "1799a90f-f570-4414-b91a-b0db8f39cc2e").partition("data")[2][:30]
        '":[{"schema":"iglu:com.snowplo'
    """
    quoted = json.dumps(original_id, ensure_ascii=False)
    own = f'{{"schema":"{DUPLICATE_SCHEMA}","data":{{"originalEventId":{quoted}}}}}'
    if derived_contexts is None:
        return f'{{"schema":"{CONTEXTS_SCHEMA}","data":[{own}]}}'
    # as text, so that what is there stays as it is
    joint = "" if _EMPTY.match(derived_contexts) else ","
    return _OPENING.sub(lambda found: f"{found[1]}{own}{joint}", derived_contexts, count=1)


_OPENING = re.compile(r'^(.*?"data"[ \t\r\n]*:[ \t\r\n]*\[)[ \t\r\n]*', re.DOTALL)
# atomic: the first array of that name, not any that is empty
_EMPTY = re.compile(rf"(?>{_OPENING.pattern})\]", re.DOTALL)


def preference(
    event: Mapping[str, str | None], line: str
) -> tuple[bool, datetime, bool, datetime, int]:
    """The order of copies of an event: the first one stays.

    Example:
        >>> preference({"etl_tstamp": "2026-03-04 09:30:00.000", "collector_tstamp": None}, "")[:2]
        (False, datetime.datetime(2026, 3, 4, 9, 30))

    Args:
        event: The event.
        line: Its line; Spark's `xxhash64` of it breaks ties.

    Returns:
        etl_tstamp and collector_tstamp, each last if it is missing, and the hash.
    """
    etl, collector = (parse_timestamp(event[f"{name}_tstamp"]) for name in ("etl", "collector"))
    return (
        etl is None,
        etl or datetime.max,
        collector is None,
        collector or datetime.max,
        line_hash(line),
    )


def line_hash(line: str) -> int:
    """Spark's `xxhash64` of a line, which breaks ties between copies.

    Example:
        >>> line_hash("")
        -7444071767201028348
    """
    digest = xxhash.xxh64_intdigest(line.encode(), seed=42)
    return digest - 2**64 if digest >= 2**63 else digest
