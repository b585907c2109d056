"""The project's macros in dbt's own Jinja, without a project, a connection or a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbt_common.clients import jinja

from tidemark.check.macros import callable_macros

ROOT = Path(__file__).resolve().parents[2]

#: Folders whose macros read settings, plan and write SQL
SQL_FOLDERS = (
    "expr",
    "config",
    "log",
    "extract",
    "events",
    "enriched",
    "plan",
    "read",
    "operations/sql",
)


def load_macros(*folders: str) -> dict[str, Any]:
    """All macros under `macros/<folder>` by name, callable from Python.

    Example:
        >>> load_macros("expr")["quote_identifier"]("a`b")
        '`a``b`'
    """
    sources: dict[str, str] = {}
    for folder in folders:
        for path in sorted((ROOT / "macros" / folder).rglob("*.sql")):
            environment = jinja.get_environment(None, capture_macros=False)
            source = path.read_text(encoding="utf-8")
            for node in environment.parse(source).find_all(jinja.jinja2.nodes.Macro):
                sources[node.name.removeprefix("dbt_macro__")] = source
    return callable_macros(sources)[0]
