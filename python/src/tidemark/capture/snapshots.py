"""The end of a snapshot, as a line of each table that it has read, also of one that is empty.

A row tells that it is the last of its table, a table without rows tells nothing, and neither does
the first table if it has one row. A copy that has rows from before needs to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tidemark.capture.config import BINLOG, CaptureConfig, Login
from tidemark.capture.events import END_OF_SNAPSHOT


def source_of(config: CaptureConfig, login: Login, name: str) -> dict[str, str]:
    """Return what an envelope says of its table in `source`.

    Args:
        config: The source.
        login: How it is reached.
        name: The table as Debezium calls it.
    """
    known = {"connector": config.connector, "name": config.topic_prefix}
    if config.connector in BINLOG:
        database, _, table = name.partition(".")
        return {**known, "db": database, "table": table}
    database = login.database or ""
    if config.connector == "postgresql":
        schema, _, table = name.partition(".")
    else:
        database, schema, table = name.split(".", 2)
    return {**known, "db": database, "schema": schema, "table": table}


def end_of_snapshot(source: Mapping[str, str], read: str | None) -> bytes:
    """Return the envelope that tells the end of a table, as JSON.

    Args:
        source: What it says of its table.
        read: The envelope of one of the rows that were read, of this table if it has some: where
            the snapshot stands in the source. None: no table has rows.
    """
    place: Mapping[str, Any] = {}
    if read is not None:
        content = orjson.loads(read)
        place = content.get("payload", content)["source"]
    payload = {
        "before": None,
        "after": None,
        "source": {**place, **source, "snapshot": "last"},
        "op": END_OF_SNAPSHOT,
    }
    return orjson.dumps({"schema": None, "payload": payload})
