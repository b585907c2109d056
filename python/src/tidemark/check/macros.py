"""Macros as functions of Python: called without a connection and without a model that is run."""

from __future__ import annotations

import datetime
import importlib
import json
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from dbt.adapters.spark.relation import SparkRelation
from dbt_common.clients import jinja
from dbt_common.exceptions.macros import MacroReturn

from dbt.adapters.tidemark.errors import MacroError
from tidemark.errors import TidemarkError


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


def _return(value: Any) -> None:
    raise MacroReturn(value)


def _call_function(function: str, *arguments: Any) -> Any:
    module, _, name = function.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)(*arguments)
    except TidemarkError as error:
        raise MacroError(error.kind, str(error)) from error


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
        "adapter": SimpleNamespace(call_function=_call_function, type=lambda: "tidemark"),
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
    package.update({name: _Macro(name, text, context) for name, text in sources.items()})
    package["raise_error"] = _raise_error
    return package, context
