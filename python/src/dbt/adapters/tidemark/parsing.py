"""dbt parses each macro twice: for its arguments, then for its calls. Here it does so once.

What both want to know is an outline: the macro's name, its arguments and the calls that it has.
An environment keeps outlines beside the archive of Spark's classes, each by the text of its macro.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbt_common.clients.jinja import MacroFuzzEnvironment
from jinja2 import nodes

from tidemark.errors import ConfigError
from tidemark.spark.class_archive import kept_folder

_MACRO = re.compile(r"\s*\{%[-+]?\s*(?:macro|materialization|test|data_test)\b")
ENOUGH_NEW = 20
"""A file is not written for the macros that somebody is at work on."""
MOST = 20_000
"""Outlines of a file, of which those that are not read any more go."""

# the trees that wait for their second reader: neither changes one
_trees: dict[str, Any] = {}
_parse = MacroFuzzEnvironment.parse


def read_macros_once() -> None:
    """Have dbt parse no macro anew that was parsed before, as long as this process lives.

    A third of `dbt parse` of a project that has this package and little else.
    """
    _trees.clear()
    _outlines.begin()
    MacroFuzzEnvironment.parse = _parse_once  # type: ignore[method-assign, assignment]


def _parse_once(
    self: MacroFuzzEnvironment, source: str, name: str | None = None, filename: str | None = None
) -> Any:
    if not _MACRO.match(source):
        return _parse(self, source, name, filename)
    tree = _trees.pop(source, None)
    if tree is None:
        tree = _trees[source] = _outlines.of(source) or _outlines.note(
            source, _parse(self, source, name, filename)
        )
    elif not _trees:
        _outlines.keep()
    return tree


class _Outlines:
    """The outlines of an environment's macros, read when the first one is asked for."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Ask the file anew: another process may have written it."""
        self._path: Path | None = None
        self._known: dict[str, bytes] | None = None
        self._used: dict[str, bytes] = {}
        self._new = 0

    def of(self, source: str) -> nodes.Template | None:
        """Return a macro's outline, or None."""
        if self._known is None:
            self._path = _path()
            self._known = _read(self._path)
        key = _key(source)
        outline = _loaded(self._known.get(key, b""))
        if not isinstance(outline, nodes.Template):
            return None
        self._used[key] = self._known[key]
        return outline

    def note(self, source: str, tree: nodes.Template) -> nodes.Template:
        """Take in a macro that was parsed, and return what is enough of it."""
        if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Macro):
            return tree
        outline = outline_of(tree.body[0])
        self._used[_key(source)] = pickle.dumps(outline, protocol=5)
        self._new += 1
        return outline

    def keep(self) -> None:
        """Write what is new, if it is worth it."""
        if self._new < ENOUGH_NEW or self._path is None:
            return
        self._known = {**(self._known or {}), **self._used}
        if len(self._known) > MOST:
            self._known = dict(self._used)
        self._new = 0
        beside = self._path.with_name(f"{self._path.name}-{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(pickle.dumps(self._known, protocol=5))
            beside.replace(self._path)
        except OSError:
            pass  # it only saves time


_outlines = _Outlines()


def outline_of(macro: nodes.Macro) -> nodes.Template:
    """Return a template of a macro's name, arguments, defaults and calls, these in their order."""
    outline = nodes.Macro(macro.name, macro.args, macro.defaults, list(_calls_in(macro.body)))
    template = nodes.Template([outline])
    # no node leads to the environment, which has all of dbt behind it
    template.set_environment(None)  # type: ignore[arg-type]
    return template


def _calls_in(parts: list[Any]) -> Iterator[nodes.Call]:
    """The calls in nodes, each with those in its arguments in the place of the arguments."""
    for part in parts:
        if isinstance(part, nodes.Call):
            yield part if _dispatches(part) else _call(part)
        elif isinstance(part, nodes.Node):
            yield from _calls_in(list(part.iter_child_nodes()))


def _call(call: nodes.Call) -> nodes.Call:
    within = [child for child in call.iter_child_nodes() if child is not call.node]
    return nodes.Call(call.node, list(_calls_in(within)), [], None, None, lineno=call.lineno)


def _dispatches(call: nodes.Call) -> bool:
    """Whether it is `adapter.dispatch()`, of which dbt reads the arguments."""
    return isinstance(call.node, nodes.Getattr) and call.node.attr == "dispatch"


class _Nodes(pickle.Unpickler):
    """Reads nodes of Jinja and nothing else that might be in a file."""

    def find_class(self, module: str, name: str) -> Any:
        if module != nodes.__name__ or not issubclass(getattr(nodes, name), nodes.Node):
            raise pickle.UnpicklingError(f"{module}.{name} is no node")
        return getattr(nodes, name)


def _key(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def _path() -> Path | None:
    try:
        folder = kept_folder()
    except ConfigError:  # the start of Spark says so
        return None
    if folder is None:
        return None
    of = "-".join(version(name) for name in ("dbt-core", "dbt-common", "jinja2"))
    return folder / f"macros-{of}.pickle"


def _read(path: Path | None) -> dict[str, bytes]:
    try:
        found = _loaded(path.read_bytes()) if path is not None else None
    except OSError:
        return {}
    return found if isinstance(found, dict) else {}


def _loaded(data: bytes) -> Any:
    """Return what was written, or None if that is not what it is."""
    try:
        return _Nodes(io.BytesIO(data)).load()
    except Exception:  # of whatever the bytes make of it
        return None
