"""What a load works with: statements, the macros that give their text, and whom to tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Warehouse(Protocol):
    """Where the tables are, as the pipeline sees it.

    Example:
        >>> sql = warehouse.macro("timeline_sql", states, "shop.orders")
        >>> [row["commit_id"] for row in warehouse.rows(sql)]
        [1, 2]
    """

    adapter: Any
    """What knows sessions and formats: the methods that macros call."""

    def macro(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return what a macro of the package returns: a text of SQL, or what a step gives."""

    def run(self, sql: str) -> Any:
        """Run a statement; its rows, if any, by position and by name."""

    def run_all(self, statements: Iterable[str]) -> None:
        """Run statements in order."""

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query as dicts, names in lower case."""

    def tell(self, sentence: str) -> None:
        """Say something on the console."""

    def warn(self, sentence: str) -> None:
        """Say it as a warning of dbt."""
