"""Rows of tables that this process has read or appended, good while nobody else writes.

known = KnownRows()
known.learn("shop.commits", id_and_version(...), {"orders": [{"id": 1}]}, is_all=True)
known.append("shop.commits", *append_rows(...), "orders", {"id": 2})
known.rows("shop.commits", id_and_version(...), "orders")
"""

from __future__ import annotations

import threading
from typing import Any

Row = dict[str, Any]

TableVersion = tuple[str, int]
"""Which table has a name, and its version: a table that was made anew has another id."""

# if a part has more, macros ask Spark: a process that lives for months is not to hold them
_MOST = 500


class KnownRows:
    """Parts of tables by key, each as it was at the one version of its table that is known.

    Args:
        most: How many rows of a part are kept, those that were appended last.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._states: dict[str, TableVersion] = {}
        self._parts: dict[str, dict[str, list[Row]]] = {}
        self._whole: set[str] = set()

    def rows(self, table: str, state: TableVersion | None, key: str) -> list[Row] | None:
        """Return the rows of a key, the last appended first; None if they are not known.

        If there are many rows, these are the last ones, as many as are kept.

        Args:
            table: Its name.
            state: The state that it has now.
            key: Which part of it.
        """
        with self._lock:
            if state is None or self._states.get(table) != state:
                return None
            part = self._parts[table].get(key, [] if table in self._whole else None)
            return None if part is None else [dict(row) for row in part]

    def learn(
        self,
        table: str,
        state: TableVersion | None,
        parts: dict[str, list[Row]],
        is_all: bool = False,
    ) -> None:
        """Keep the rows of some keys.

        Args:
            table: Its name.
            state: The state that it had before and after the rows were read.
            parts: All rows of each key.
            is_all: Whether other keys have no rows.
        """
        with self._lock:
            if state is None:
                return
            if self._states.get(table) != state:
                self._forget(table)
                self._states[table], self._parts[table] = state, {}
            for key, rows in parts.items():
                self._parts[table][key] = [dict(row) for row in rows[: self._most]]
            if is_all:
                self._whole.add(table)

    def append(
        self, table: str, before: TableVersion, state: TableVersion, key: str, row: Row
    ) -> None:
        """Note a row that this process has appended, as a commit of its own.

        All is forgotten where anything else has come between.

        Args:
            table: Its name.
            before: The state that the commit came after.
            state: The state that it has now.
            key: Which part of it the row is in.
            row: The row, as it would be read.
        """
        with self._lock:
            known = self._states.get(table)
            if known is None:
                return
            if known != before:
                self._forget(table)
                return
            self._states[table] = state
            if table in self._whole:
                self._parts[table].setdefault(key, [])
            if key in self._parts[table]:
                part = self._parts[table][key]
                last = part[0] if part else {}
                # texts that are as they were, such as a configuration, are kept once
                shared = {
                    name: last[name]
                    if isinstance(value, str) and last.get(name) == value
                    else value
                    for name, value in row.items()
                }
                part.insert(0, shared)
                del part[self._most :]

    def follow(self, table: str, before: TableVersion, after: TableVersion) -> None:
        """Note a commit of this process that has left the rows of a table as they were.

        Args:
            table: Its name.
            before: The state that it had.
            after: The state that it has now.
        """
        with self._lock:
            if self._states.get(table) == before:
                self._states[table] = after

    def _forget(self, table: str) -> None:
        self._states.pop(table, None)
        self._parts.pop(table, None)
        self._whole.discard(table)
