"""dbt's messages: answers, counts, and texts without the words around them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from tidemark.run.report import COUNTS
from tidemark.spark.messages import clean_message

# how dbt begins the message of an operation that failed
_FAILED = "Encountered an error while running operation: "
# and a Thrift server what Spark says
_OF_THRIFT = re.compile(
    r"org\.apache\.hive\.service\.cli\.HiveSQLException: Error running query: (?:\[[\w.]+\] )?"
)


def without_stacks(message: str) -> str:
    """Take off a message what is in dbt's log: macros that called each other, a server's Java."""
    found = _OF_THRIFT.search(message)
    if found is not None:
        message = message[: found.start()] + clean_message(message[found.end() :])
    lines = message.splitlines()
    kept = [line for line in lines if not re.match(r"\s*> (in macro|called by) ", line)]
    return "\n".join(kept).strip()


def operation_error(raw: Any, messages: Iterable[str]) -> str:
    """Return what a run-operation that failed said, without dbt's words around it.

    Args:
        raw: dbt's result.
        messages: What it logged.
    """
    lines = [str(raw.exception)] if raw.exception is not None else []
    lines += [message for message in messages if message.startswith(_FAILED)]
    text = without_stacks(lines[0].removeprefix(_FAILED)) if lines else ""
    head, _, rest = text.partition("\n")
    if re.match(r"\w+ Error(\s+in \w+ |$)", head) and rest:
        text = rest
    return textwrap.dedent(text).strip()


def answers_in(messages: Iterable[str], mark: str) -> list[Any]:
    """Return what run-operations logged as JSON on lines that begin with `mark`.

    Example:
        >>> answers_in(['tidemark changes {"rows": [{"key": "00AA"}]}'], "tidemark changes ")
        [{'rows': [{'key': '00AA'}]}]
    """
    return [json.loads(text[len(mark) :]) for text in messages if text.startswith(mark)]


def counts_of(commits: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, int | None]]:
    """Return what commits counted by schema and entity, those of one entity added up.

    Example:
        >>> counts_of([{"relation": "shop.orders", "counts": {"rows_read": 3}}])
        {('shop', 'orders'): {'rows_read': 3}}
    """
    counts: dict[tuple[str, str], dict[str, int | None]] = {}
    for commit in commits:
        owner, _, name = str(commit["relation"]).replace("`", "").rpartition(".")
        known = counts.setdefault((owner, name), {})
        for column in COUNTS.keys() & commit["counts"].keys():
            known[column] = (known.get(column) or 0) + int(commit["counts"][column])
    return counts
