"""The project's macros in dbt's own Jinja, without a project, a connection or a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt_common.clients import jinja
from dbt_common.exceptions.macros import MacroReturn

from dbt.adapters.tidemark.errors import MacroError

ROOT = Path(__file__).resolve().parents[2]

#: Folders whose macros read settings, plan and write SQL
SQL_FOLDERS = ("expr", "config", "log", "extract", "events", "enriched", "read", "operations/sql")


class _Macro(jinja.BaseMacroGenerator):
    def __init__(self, name: str, source: str, context: dict[str, Any]) -> None:
        super().__init__(context)
        self.name = name
        self.source = source

    def get_template(self) -> Any:
        if not hasattr(self, "_template"):
            self._template = jinja.get_template(self.source, self.context)
        return self._template

    def get_name(self) -> str:
        return self.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_macro(*args, **kwargs)


def _raise_error(kind: str, message: str) -> None:
    raise MacroError(kind, message)


def _return(value: Any) -> None:
    raise MacroReturn(value)


def load_macros(*folders: str) -> dict[str, Any]:
    """All macros under `macros/<folder>` by name, callable from Python.

    Example:
        >>> load_macros("expr")["quote_identifier"]("a`b")
        '`a``b`'
    """
    package: dict[str, Any] = {}
    context: dict[str, Any] = {
        "tidemark": package,
        "return": _return,
    }
    for folder in folders:
        for path in sorted((ROOT / "macros" / folder).rglob("*.sql")):
            environment = jinja.get_environment(None, capture_macros=False)
            source = path.read_text(encoding="utf-8")
            for node in environment.parse(source).find_all(jinja.jinja2.nodes.Macro):
                name = node.name.removeprefix("dbt_macro__")
                package[name] = _Macro(name, source, context)
    package["raise_error"] = _raise_error
    return package
