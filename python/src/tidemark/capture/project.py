"""Sources of the dbt project that say how they are captured."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tidemark.errors import ConfigError
from tidemark.project import mappings_in, model_folders, property_files


def replicator_settings(project: Path, source: str) -> Any:
    """Return `config.meta.tidemark.replicator` of a source, its Jinja not rendered.

    dbt leaves a source without tables out of its manifest, and a capture starts before there are
    models of its tables; so the YAML files are read as they are.

    Raises:
        ConfigError: There is no such source, or it says nothing of capture.
    """
    found = dict(_sources(project))
    if source not in found:
        near = difflib.get_close_matches(source, found, n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        if not near and found:
            hint = f"; there are: {', '.join(sorted(found))}"
        raise ConfigError(
            f"the YAML files of {project} have no source {source!r}. Declare it under "
            f"sources:{hint}"
        )
    settings = _replicator(found[source])
    if settings is None:
        raise ConfigError(
            f"source {source!r} has no config.meta.tidemark.replicator: write there how "
            "Tidemark captures it, or run `tidemark replicator create` for a new source"
        )
    return settings


def replicator_sources(project: Path) -> list[str]:
    """Return the names of the sources that say how they are captured.

    Raises:
        ConfigError: A file is no YAML.
    """
    found = {name for name, source in _sources(project) if _replicator(source) is not None}
    return sorted(found)


def replicated_sources(project: Path) -> list[str]:
    """Return the same names; none where the YAML cannot be read."""
    try:
        return replicator_sources(project)
    except ConfigError:
        return []


def _sources(project: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in property_files(model_folders(project)):
        try:
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise ConfigError(
                f"{file} is not valid YAML. Correct it at the place that the parser names: {error}"
            ) from error
        if not isinstance(content, dict):
            continue
        for entry in mappings_in(content, "sources"):
            if isinstance(entry.get("name"), str):
                yield entry["name"], entry


def _replicator(source: dict[str, Any]) -> Any:
    for holder in (source.get("config"), source):
        meta = holder.get("meta") if isinstance(holder, dict) else None
        ours = meta.get("tidemark") if isinstance(meta, dict) else None
        if isinstance(ours, dict) and "replicator" in ours:
            return ours["replicator"]
    return None
