"""The warehouse of the load pipeline, by dbt: its connection, its log of statements, its macros."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.base.impl import BaseAdapter
from dbt.events.types import JinjaLogInfo, JinjaLogWarning
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event, warn_or_error


class DbtWarehouse:
    """Runs statements by dbt's connection, with its query comments and its log.

    Args:
        adapter: The adapter that is connected.
        macros: The macros of the package, as the macro that calls sees them.
    """

    def __init__(self, adapter: BaseAdapter, macros: Mapping[str, Any]) -> None:
        self.adapter = adapter
        self._macros = macros

    def macro(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return what a macro of the package returns."""
        return self._macros[name](*arguments, **named)

    def run(self, sql: str) -> Any:
        """Run a statement; its rows, if any, by position and by name."""
        return self.adapter.execute(sql, fetch=True)[1]

    def run_all(self, statements: Iterable[str]) -> None:
        """Run statements in order."""
        for sql in statements:
            self.run(sql)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query as dicts, names in lower case."""
        return [dict(row.dict()) for row in self.run(sql)]

    def tell(self, sentence: str) -> None:
        """Say something on the console."""
        fire_event(JinjaLogInfo(msg=sentence, node_info=get_node_info()))

    def warn(self, sentence: str) -> None:
        """Say it as a warning of dbt."""
        warn_or_error(JinjaLogWarning(msg=sentence))
