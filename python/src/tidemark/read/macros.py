"""SQL of the package's macros, written without dbt: look-ups and loads share each rule.

macros as dbt parsed them ─► Jinja ─► Spark's SQL ─► contract ─► DuckDB's SQL
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from tidemark.errors import ConfigError

ASKED = (
    "as_of_rows_sql",
    "effects_of_events_sql",
    "feed_floor_sql",
    "in_force_expr",
    "last_commits_sql",
    "log_order_expr",
    "open_rejects_sql",
)
"""The macros that look-ups ask."""

_PACKAGE = "macro.tidemark."


class _Returned(Exception):
    """What a macro returns, which is no text that it prints."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _return(value: Any) -> None:
    raise _Returned(value)


def macros_of(manifest: Any) -> dict[str, str]:
    """Return the texts of the macros that look-ups ask and that these call, by name.

    Args:
        manifest: dbt's.
    """
    found: dict[str, str] = {}
    left = [f"{_PACKAGE}{name}" for name in ASKED]
    while left:
        known = manifest.macros.get(left.pop())
        if known is not None and known.name not in found:
            found[known.name] = known.macro_sql
            left += [one for one in known.depends_on.macros if one.startswith(_PACKAGE)]
    return found


class Macros:
    """Macros of the package, by name.

    Args:
        texts: What macros_of() returned.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._known: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a macro: what it prints is returned as text.

        Raises:
            ConfigError: The project's package is of another release.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._known:
            if name not in self._texts:
                raise ConfigError(
                    f"the dbt package tidemark of this project has no macro {name}: it is of "
                    "another release than the command. Run dbt deps, or install the same release"
                )
            # a module of Jinja shows no name that begins with an underscore
            text = f"{self._texts[name]}{{% set macro = {name} %}}"
            module = self._environment.from_string(text).module
            self._known[name] = _returning(module.macro)
        return self._known[name]

    @cached_property
    def _environment(self) -> Any:
        from jinja2 import Environment, StrictUndefined

        environment = Environment(extensions=["jinja2.ext.do"], undefined=StrictUndefined)
        environment.globals |= {"tidemark": self, "return": _return}
        return environment


def _returning(macro: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return str(macro(*arguments, **named))
        except _Returned as returned:
            return returned.value

    return call


@cache
def in_duckdb(sql: str) -> str:
    """Return a query that macros wrote, in DuckDB's SQL."""
    from tidemark.sessions.contract import crossed

    return crossed(sql)
