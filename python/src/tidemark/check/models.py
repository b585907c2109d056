"""The models of a parsed project whose configuration is wrong, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from dbt.adapters.tidemark.errors import MacroError
from tidemark.check.macros import callable_macros

_READERS: Mapping[str, str] = {
    "cdc": "entity_config",
    "scd2": "scd2_config",
    "feed": "feed_config",
    "atomic": "atomic_config",
    "shred": "shred_config",
}
"""The macro that reads and judges a model's configuration, by its materialization."""


@dataclass(frozen=True)
class Checked:
    """A model and what is wrong with it.

    Attributes:
        name: The model.
        materialized: How it is materialized.
        path: Its property file where it has one, else its own file; from the project's folder.
        problems: Sentences that say what to mend; none if all is right.
    """

    name: str
    materialized: str
    path: str
    problems: tuple[str, ...]


def checked_models(manifest: Any) -> list[Checked]:
    """Judge every model of ours, as a run would before it asks Spark.

    Args:
        manifest: dbt's, of the parsed project.

    Returns:
        The models by path and name.
    """
    sources = {
        macro.name: macro.macro_sql
        for macro in manifest.macros.values()
        if macro.package_name == "tidemark"
    }
    macros, context = callable_macros(sources)
    manifest.build_flat_graph()
    adapter = SimpleNamespace(type=lambda: manifest.metadata.adapter_type)
    context.update(graph=manifest.flat_graph, adapter=adapter)
    found = []
    for node in manifest.flat_graph["nodes"].values():
        kind = str(node["config"].get("materialized"))
        if node["resource_type"] != "model" or kind not in _READERS:
            continue
        context.update(model=node, config=node["config"])
        found.append(Checked(node["name"], kind, _path(node), _problems(macros[_READERS[kind]])))
    return sorted(found, key=lambda one: (one.path, one.name))


def _problems(reader: Any) -> tuple[str, ...]:
    try:
        reader()
    except MacroError as error:
        head, *rest = error.msg.split("\n  - ")
        return tuple(rest) or (head,)
    return ()


def _path(node: Mapping[str, Any]) -> str:
    patch = str(node.get("patch_path") or "").rpartition("://")[2]
    return patch or str(node["original_file_path"])
