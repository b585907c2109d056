"""The warehouse of the load pipeline, by dbt: its connection, its log of statements, its macros."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.base.impl import BaseAdapter
from dbt.events.types import JinjaLogDebug, JinjaLogInfo
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event
from dbt_common.invocation import get_invocation_id

from tidemark.pipeline.families import take_step
from tidemark.shapes.settings import Settings

_BEFORE_COMMIT = {"source", "stage", "prepare", "derive"}


class DbtWarehouse:
    """Runs statements by dbt's connection, with its query comments and its log.

    Args:
        adapter: The adapter that is connected.
        macros: The macros of the package, as the macro that calls sees them.
    """

    def __init__(self, adapter: BaseAdapter, macros: Mapping[str, Any]) -> None:
        self.adapter = adapter
        self._macros = macros

    @property
    def invocation_id(self) -> str:
        """The command of dbt that runs."""
        return get_invocation_id()

    def macro(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return what a macro of the package returns."""
        return self._macros[name](*arguments, **named)

    def of_format(self, file_format: str, name: str, *arguments: Any) -> Any:
        """Return what the macro of a format returns."""
        return self.macro("for_format", file_format, name)(*arguments)

    def of_family(self, cfg: Settings, name: str, *arguments: Any) -> Any:
        """Take a step as an entity's family does; extracts and events share those of a log.

        Ctrl-C ends a load before a step that comes before its commit: nothing is visible yet.
        """
        if name in _BEFORE_COMMIT:
            connections: Any = self.adapter.connections
            connections.check_not_interrupted()
        return take_step(self, cfg, name, *arguments)

    def run(self, sql: str) -> Any:
        """Run a statement; its rows, if any, by position and by name."""
        return self.adapter.execute(sql, fetch=True)[1]

    def run_all(self, statements: Iterable[str]) -> Any:
        """Run statements in order; the last one's rows, if any."""
        rows = None
        for sql in statements:
            rows = self.run(sql)
        return rows

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query as dicts, names in lower case."""
        return [dict(row.dict()) for row in self.run(sql)]

    def note(self, sentence: str) -> None:
        """Write something to dbt's log."""
        fire_event(JinjaLogDebug(msg=sentence, node_info=get_node_info()))

    def report(self, sentence: str) -> None:
        """Print a line on the console."""
        fire_event(JinjaLogInfo(msg=sentence, node_info=get_node_info()))

    def warn(self, entity: str, sentence: str) -> None:
        """Say it as a warning, which `--warn-error` does not make an error."""
        self.report(f"[WARNING]: {entity}: {sentence}")
