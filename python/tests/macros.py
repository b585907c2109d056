"""The project's macros in dbt's own Jinja, without a project, a connection or a manifest."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dbt.adapters.spark.relation import SparkRelation
from dbt_common.clients import jinja
from dbt_common.exceptions.macros import MacroReturn

from dbt.adapters.tidemark.errors import MacroError
from dbt.adapters.tidemark.python_submissions import imported
from tidemark.errors import TidemarkError
from tidemark.pipeline.families import take_step

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


class _Macro(jinja.BaseMacroGenerator):
    def __init__(self, name: str, source: str, context: dict[str, Any]) -> None:
        super().__init__(context)
        self.name = name
        self.source = source

    def get_template(self) -> Any:
        if not hasattr(self, "_template"):
            self._template = jinja.get_template(self.source, self.context or {})
        return self._template

    def get_name(self) -> str:
        return self.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call_macro(*args, **kwargs)


def _raise_error(kind: str, message: str) -> None:
    raise MacroError(kind, message)


def call_function(function: str, *arguments: Any) -> Any:
    """What the adapter does for macros."""
    try:
        return imported(function)(*arguments)
    except TidemarkError as error:
        raise MacroError(error.kind, str(error)) from error


class MacroWarehouse:
    """The warehouse of the pipeline over macros, of which a test replaces those that would ask a database."""

    invocation_id = "this run"

    def __init__(self, macros: Mapping[str, Any], adapter: Any) -> None:
        self.adapter = adapter
        self._macros = macros
        self.said: list[str] = []
        self.steps: dict[str, Any] = {}

    def macro(self, name: str, *arguments: Any, **named: Any) -> Any:
        return self._macros[name](*arguments, **named)

    def of_format(self, file_format: str, name: str, *arguments: Any) -> Any:
        return self.macro("for_format", file_format, name)(*arguments)

    def of_family(self, cfg: Any, name: str, *arguments: Any) -> Any:
        if name in self.steps:
            return self.steps[name](*arguments)
        return take_step(self, cfg, name, *arguments)

    def run(self, sql: str) -> Any:
        return self.macro("run_query", sql)

    def run_all(self, statements: Any) -> Any:
        return self.macro("run_statements", statements)

    def rows(self, sql: str) -> Any:
        return self.macro("query_rows", sql)

    def note(self, sentence: str) -> None:
        self.said.append(sentence)

    report = note

    def warn(self, entity: str, sentence: str) -> None:
        self.macro("warn", entity, sentence)


def warehouse_of(macros: Mapping[str, Any], **adapter: Any) -> MacroWarehouse:
    """Return a warehouse over macros, whose adapter has these methods.

    Example:
        >>> warehouse_of(load_macros("log"), table_version=lambda relation: 7)
    """
    return MacroWarehouse(macros, SimpleNamespace(**adapter))


def _return(value: Any) -> None:
    raise MacroReturn(value)


def _fromjson(text: str, default: Any = None) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return default


def callable_macros(sources: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the macros of the package `tidemark`, callable, and what all of them see.

    Example:
        >>> macros, context = callable_macros({"twice": "{% macro twice(n) %}{{ return(n * 2) }}…"})
        >>> macros["twice"](4)
        8

    Args:
        sources: The text of each macro, by name. Those that ask a database are not to be called.
    """
    package: dict[str, Any] = {}
    context: dict[str, Any] = {
        "tidemark": package,
        "return": _return,
        "api": SimpleNamespace(Relation=SparkRelation),
        "execute": True,
        "var": lambda name, default=None: default,
        "modules": SimpleNamespace(
            datetime=datetime, pytz=SimpleNamespace(utc=datetime.UTC), re=re
        ),
        "tojson": json.dumps,
        "fromjson": _fromjson,
        "zip": zip,
    }
    adapter = SimpleNamespace(
        type=lambda: "tidemark", has_session=lambda: True, call_function=call_function
    )

    def run_step(step: str, macros: Mapping[str, Any], *arguments: Any) -> Any:
        # a test may have put another adapter in the place of this one
        warehouse = MacroWarehouse(macros, context["adapter"])
        name = step if step.startswith("operations.") else f"pipeline.{step}"
        return call_function(f"tidemark.{name}", warehouse, *arguments)

    adapter.run_step = run_step
    context["adapter"] = adapter
    package.update({name: _Macro(name, text, context) for name, text in sources.items()})
    package["raise_error"] = _raise_error
    return package, context


def load_macros(*folders: str) -> dict[str, Any]:
    """All macros under `macros/<folder>` by name, callable from Python.

    Example:
        >>> load_macros("expr")["quote_identifier"]("a`b")
        '`a``b`'
    """
    return callable_macros(macro_texts(*folders))[0]


def macro_texts(*folders: str) -> dict[str, str]:
    """The text of the file that each macro under `macros/<folder>` stands in, by the macro's name."""
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted((ROOT / "macros" / folder).rglob("*.sql")):
            environment = jinja.get_environment(None, capture_macros=False)
            source = path.read_text(encoding="utf-8")
            for node in environment.parse(source).find_all(jinja.jinja2.nodes.Macro):
                found[node.name.removeprefix("dbt_macro__")] = source
    return found
