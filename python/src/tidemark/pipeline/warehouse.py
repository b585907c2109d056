"""What a load works with: it runs statements, renders macros, and talks to the user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from tidemark.shapes.settings import Settings

Values = dict[str, Any]
"""Settings, the roles of columns, a load or a commit, by the names that macros read."""


class Warehouse(Protocol):
    """Where the tables are, as the pipeline sees it.

    Example:
        >>> sql = warehouse.macro("timeline_sql", states, "shop.orders")
        >>> [row["commit_id"] for row in warehouse.rows(sql)]
        [1, 2]
    """

    adapter: Any
    """What knows sessions and formats: the methods that macros call."""

    @property
    def invocation_id(self) -> str:
        """The command of dbt that runs."""

    def macro(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return what a macro of the package returns: a text of SQL, or what a step gives."""

    def of_format(self, file_format: str, name: str, *arguments: Any) -> Any:
        """Return what the macro of a format returns."""

    def of_family(self, cfg: Settings, name: str, *arguments: Any) -> Any:
        """Take a step as an entity's family does; extracts and events share those of a log."""

    def run(self, sql: str) -> Any:
        """Run a statement; its rows, if any, by position and by name."""

    def run_all(self, statements: Iterable[str]) -> Any:
        """Run statements in order; the last one's rows, if any."""

    def rows(self, sql: str) -> list[Values]:
        """Return the rows of a query as dicts, names in lower case."""

    def note(self, sentence: str) -> None:
        """Write something to dbt's log."""

    def report(self, sentence: str) -> None:
        """Print a line on the console."""

    def warn(self, entity: str, sentence: str) -> None:
        """Say it as a warning, which `--warn-error` does not make an error."""
