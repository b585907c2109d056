"""Could parsing a dbt project give another result for another business date?

While dbt parses, it renders each model to learn its refs, sources and configuration, and throws
the text away: the text is rendered again when the model runs. So a date that merely becomes text
does no harm, `where day = date '{{ var("business_date") }}'`, and one parsed project serves every
date. A date that can decide something does: in a statement (`if`, `set`, …), in the arguments of a
call, in a captured block, in YAML. Then every date is parsed by itself, and none is compared with
another: a third one may show what two hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dbt_common.clients.jinja import get_environment
from jinja2 import TemplateError, nodes
from jinja2.parser import Parser

# macros of these packages are known not to read business_date while dbt parses
_KNOWN_PACKAGES = {"tidemark", "dbt", "dbt_spark", "dbt_tidemark"}
_READS_DATE = re.compile(r"\bvar\s*\(\s*['\"]business_date\b")
_JINJA_READS_DATE = re.compile(r"\{[{%][^}]*\bvar\s*\(\s*['\"]business_date\b")
# what they return decides names and refs, wherever they are called
_DECIDING = re.compile(
    r"(.*__)?(generate_(schema|alias|database)_name|ref|source|config|var|env_var|return)"
)
# what is rendered in them becomes a value
_CAPTURES = (nodes.AssignBlock, nodes.CallBlock, nodes.FilterBlock, nodes.Macro)


def parsing_varies(manifest: Any, project_dir: Path) -> bool:
    """Say whether a parsed project must not be reused for another business date.

    What the package itself has counts only where it is the project.

    Args:
        manifest: The parsed project.
        project_dir: Where its dbt_project.yml lies.
    """
    root = getattr(getattr(manifest, "metadata", None), "project_name", None)

    def is_foreign(package: str | None) -> bool:
        return package in _KNOWN_PACKAGES and package != root

    texts = [
        str(getattr(node, "raw_code", "") or "")
        for node in [
            *manifest.nodes.values(),
            *(item for group in manifest.disabled.values() for item in group),
        ]
        if not is_foreign(getattr(node, "package_name", None))
        and str(getattr(node, "language", "sql")) != "python"  # dbt renders no Python
    ]
    macros = {
        str(macro.unique_id): (str(macro.name), str(macro.macro_sql))
        for macro in manifest.macros.values()
        if macro.package_name not in _KNOWN_PACKAGES
    }
    files = [project_dir / "dbt_project.yml"]
    for item in manifest.files.values():
        path = getattr(item.path, "absolute_path", None)
        is_yaml = str(path).endswith((".yml", ".yaml"))
        if is_yaml and not is_foreign(getattr(item, "project_name", None)):
            files.append(Path(str(path)))
    return any(_JINJA_READS_DATE.search(_text_of(path)) for path in files) or date_decides(
        texts, macros
    )


def date_decides(texts: Iterable[str], macros: Mapping[str, tuple[str, str]]) -> bool:
    """Say whether Jinja reads the date other than to write it as text.

    Args:
        texts: Of models, tests and hooks.
        macros: Name and text of each macro that they may call, by any identifier.

    Example:
        >>> date_decides(["select '{{ var('business_date') }}'"], {})
        False
        >>> date_decides(["select * from {{ ref('sales_' ~ var('business_date')) }}"], {})
        True
    """
    # a macro that only writes the date is read as the var itself is; dispatch() calls x__day as day
    readers: set[str] = set()
    judged: dict[str, tuple[str, str]] = {}
    while found := {
        key: macro
        for key, macro in macros.items()
        if key not in judged and _mentions(macro[1], readers)
    }:
        judged |= found
        readers |= {alias for name, _ in found.values() for alias in (name, name.split("__")[-1])}
    return any(
        _DECIDING.fullmatch(name) or _decides(text, readers, in_macro=True)
        for name, text in judged.values()
    ) or any(_mentions(text, readers) and _decides(text, readers, in_macro=False) for text in texts)


def _mentions(text: str, readers: set[str]) -> bool:
    if _READS_DATE.search(text):
        return True
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in readers)


def _decides(text: str, readers: set[str], *, in_macro: bool) -> bool:
    try:
        # parse() of dbt's environment is patched: it gives outlines of macros
        tree = Parser(get_environment(None), text).parse()
    except TemplateError:
        return True
    if in_macro:
        macros = list(tree.iter_child_nodes())
        return any(_unsafe(child, readers, returns=True) for child in _bodies(macros))
    return any(_unsafe(child, readers, returns=False) for child in tree.body)


def _bodies(children: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Return what a macro's file holds, the macro's own body in the place of the macro."""
    for child in children:
        yield from child.iter_child_nodes() if isinstance(child, nodes.Macro) else [child]


def _unsafe(node: nodes.Node, readers: set[str], *, returns: bool, captured: bool = False) -> bool:
    """Say whether the date is read below a node other than to be written."""
    children = list(node.iter_child_nodes())
    if isinstance(node, nodes.Output) and not captured:
        parts = (_written(child, readers, returns=returns) for child in node.nodes)
        children = [part for pair in parts for part in pair]
    elif _reads(node, readers):
        return True
    elif isinstance(node, nodes.Const) and isinstance(node.value, str) and "{" in node.value:
        # the text of a hook in config() is rendered by itself
        if _mentions(node.value, readers) and _decides(node.value, readers, in_macro=False):
            return True
    inside = captured or isinstance(node, _CAPTURES)
    return any(_unsafe(child, readers, returns=returns, captured=inside) for child in children)


def _written(node: nodes.Node, readers: set[str], *, returns: bool) -> list[nodes.Node]:
    """Return what is left to judge of an expression that is written, its reading left out."""
    left: list[nodes.Node] = []
    while isinstance(node, nodes.Filter) and node.node is not None:
        left += [*node.args, *node.kwargs]
        node = node.node
    if isinstance(node, nodes.Call) and _is_var(node.node) and _is_date(node.args):
        return [*left, *node.args[1:], *node.kwargs]
    if isinstance(node, nodes.Call) and _names(node.node, readers):
        return [*left, *node.args, *node.kwargs]
    is_return = isinstance(node, nodes.Call) and getattr(node.node, "name", None) == "return"
    if returns and is_return and isinstance(node, nodes.Call) and len(node.args) == 1:
        return left + _written(node.args[0], readers, returns=False)
    return [*left, node]


def _reads(node: nodes.Node, readers: set[str]) -> bool:
    """Say whether a node reads the date: the var, or what writes it by whatever name."""
    if isinstance(node, nodes.Call):
        called = node.node
        owner = called.node if isinstance(called, nodes.Getattr) else called
        if _is_var(owner) and _is_date(node.args):
            return True
        dispatches = isinstance(called, nodes.Getattr) and called.attr == "dispatch"
        if dispatches and any(_names(argument, readers) for argument in node.args):
            return True
    if isinstance(node, nodes.Getitem):
        return _names(node.arg, readers)
    return not isinstance(node, nodes.Const) and _names(node, readers)


def _is_var(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "var"


def _names(node: nodes.Node, readers: set[str]) -> bool:
    if isinstance(node, nodes.Const):
        return isinstance(node.value, str) and node.value in readers
    if isinstance(node, nodes.Name):
        return node.ctx == "load" and node.name in readers
    return isinstance(node, nodes.Getattr) and node.attr in readers


def _is_date(arguments: list[nodes.Expr]) -> bool:
    return bool(arguments) and getattr(arguments[0], "value", None) == "business_date"


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
