"""What dbt tells of a command at work, noted for those who watch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tidemark.home import tidemark_home
from tidemark.progress import NodeProgress, ProgressWriter


def progress_listener(flags: Any) -> Callable[[Any], None]:
    """Return a callback for dbt's events that keeps the progress file of this process.

    Args:
        flags: dbt's, of the command that begins.
    """
    given = getattr(flags, "VARS", None) or {}
    date = given.get("business_date")
    writer = ProgressWriter(
        tidemark_home(), str(getattr(flags, "WHICH", "run")), None if date is None else str(date)
    )

    def hear(event: Any) -> None:
        name = event.info.name
        if name not in _HEARD:
            return
        # dbt goes down with what a listener raises, and nothing here is worth that
        with suppress(Exception):
            _HEARD[name](writer, event)

    return hear


def _open(writer: ProgressWriter, event: Any) -> None:
    writer.open(event.info.invocation_id, event.data.node_count)


def _begin(writer: ProgressWriter, event: Any) -> None:
    node = event.data.node_info
    owner, table = node.node_relation.schema, node.node_relation.alias
    is_model = node.resource_type == "model"
    begun = NodeProgress(
        name=node.node_name,
        kind=node.materialized if is_model else node.resource_type,
        relation=f"{owner}.{table}" if table and node.resource_type != "test" else None,
        state="running",
        started_at=dt.datetime.now(dt.UTC),
    )
    writer.begin(node.unique_id, begun)


def _end(writer: ProgressWriter, event: Any) -> None:
    writer.end(event.data.node_info.unique_id, str(event.data.run_result.status))


def _close(writer: ProgressWriter, event: Any) -> None:
    writer.close()


_HEARD: dict[str, Callable[[ProgressWriter, Any], None]] = {
    "ConcurrencyLine": _open,
    "LogStartLine": _begin,
    "NodeFinished": _end,
    "CommandCompleted": _close,
}
