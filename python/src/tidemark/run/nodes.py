"""Nodes of a parsed project, and a copy of it for each call of dbt."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from tidemark.console import nearest
from tidemark.errors import ConfigError

_RUN = ("model", "seed", "snapshot")
# what dbt takes around a name for the nodes above and below it
_AROUND = re.compile(r"^@?(?:\d*\+)?|(?:\+\d*)?$")


def is_python(node: Any) -> bool:
    """Say whether a node is written in Python."""
    return str(getattr(node, "language", "")) == "python"


def is_entity(node: Any) -> bool:
    """Say whether a node is a model kept by the cdc materialization."""
    return getattr(getattr(node, "config", None), "materialized", None) == "cdc"


def needs_pepper(node: Any) -> bool:
    """Say whether a model has sensitive columns that are hashed here."""
    settings = _settings(node)
    return bool(settings.get("sensitive")) and not settings.get("stored_hashes")


def some_models(selected: list[Any]) -> list[Any]:
    """Return the models that a selection matches.

    Raises:
        ConfigError: It matches none.
    """
    if not selected:
        raise ConfigError("the selection matches no model. Correct --select or --exclude")
    return selected


def unmatched_reason(criteria: Collection[str], manifest: Any) -> str:
    """Return a sentence about criteria of --select that nothing fits, with the nearest names.

    Args:
        criteria: As they were typed, such as `orderz+`.
        manifest: dbt's.
    """
    names = {node.name for node in manifest.nodes.values() if node.resource_type in _RUN}
    near = {one: nearest(_AROUND.sub("", one), sorted(names)) for one in criteria}
    said = " ".join(f"{one!r} fits no model.{hint}" for one, hint in near.items())
    return f"the selection matches nothing. Correct --select: {said}"


def dated_location(node: Any) -> str | None:
    """Return the location of a model's extracts if it has one for each business date."""
    location = _settings(node).get("location")
    if isinstance(location, str) and re.search(r"\{(business_date|dd)\}", location):
        return location
    return None


def _settings(node: Any) -> dict[str, Any]:
    meta = getattr(getattr(node, "config", None), "meta", None) or {}
    settings = meta.get("tidemark") if isinstance(meta, dict) else None
    return settings if isinstance(settings, dict) else {}


def fresh_copy(manifest: Any, only: Collection[str] | None = None) -> Any:
    """Copy a parsed project for one call of dbt, which writes into its nodes.

    Disabled nodes are left out: nothing runs them, and dbt cannot copy them (it takes the list of
    nodes that it keeps under each of their names for a node). Macros are shared: nothing changes
    them, and they are most of a project.

    Args:
        manifest: dbt's.
        only: Copy only these nodes, by their ids. Default: all.
    """
    disabled, manifest.disabled = manifest.disabled, {}
    macros, manifest.macros = manifest.macros, {}
    nodes = manifest.nodes
    if only is not None:
        manifest.nodes = {name: node for name, node in nodes.items() if name in only}
    try:
        copy = manifest.deepcopy()
    finally:
        manifest.disabled, manifest.macros, manifest.nodes = disabled, macros, nodes
    copy.macros = macros
    return copy
