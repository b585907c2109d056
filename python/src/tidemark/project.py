"""What the YAML files of a dbt project say, read without dbt: its Jinja is not rendered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tidemark.errors import ConfigError

NOT_PARSED = "the project cannot be parsed. Run `dbt parse` to see why"
SEEDS = "seed-paths"
_JINJA = re.compile(r"\{[{%#]")
_UNRENDERED = re.compile(r"\{\{ '(\{[{%#])' \}\}")
_FOLDERS = {
    "model-paths": "models",
    "macro-paths": "macros",
    SEEDS: "seeds",
    "snapshot-paths": "snapshots",
    "test-paths": "tests",
    "analysis-paths": "analyses",
}
"""Settings of dbt_project.yml that name folders, and what each is if it is not there."""


def parse(text: str, file: str) -> dict[str, Any]:
    """Return what a property file says.

    Raises:
        ConfigError: It is not YAML, or not a mapping.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "not one YAML document"
        raise ConfigError(
            f"{file}{where} is not valid YAML. Correct it there: {problem}"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{file} has a date that does not exist. Correct it: {error}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"{file} is not a property file, because it has no `models:` or other key at "
            "its top: add one"
        )
    return content


def read_properties(path: Path, shown: str | None = None) -> dict[str, Any]:
    """Return what the property file of this path says.

    Args:
        path: Of the file.
        shown: How messages name it, if not by its path.

    Raises:
        ConfigError: It is not a property file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{shown or path} line {line} is not UTF-8, which dbt reads. Save the file as UTF-8"
        ) from error
    return parse(text, shown or str(path))


def tolerated_properties(path: Path) -> dict[str, Any]:
    """Return what a property file says; nothing where it cannot be read, of which dbt says why."""
    try:
        return read_properties(path)
    except (ConfigError, OSError):
        return {}


def mappings_in(holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the entries of a list in a property file; dbt says what else is wrong there.

    Example:
        >>> mappings_in({"columns": [{"name": "id"}, "name"]}, "columns")
        [{'name': 'id'}]
    """
    items = holder.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def models_in(content: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the models of a property file with their names."""
    return [
        (str(model["name"]), model) for model in mappings_in(content, "models") if "name" in model
    ]


def property_files(folders: Iterable[Path]) -> list[Path]:
    """Return the YAML files in folders of models."""
    return sorted(
        path
        for folder in folders
        for pattern in ("*.yml", "*.yaml")
        for path in folder.rglob(pattern)
    )


def model_paths(project: Path) -> list[str]:
    """Return `model-paths` of a project as they are written; one may be Jinja."""
    settings = read_properties(project / "dbt_project.yml", "dbt_project.yml")
    return [str(path) for path in settings.get("model-paths") or ["models"]]


def unrendered(text: str) -> str:
    """Return what dbt renders to a text: names from outside may look like Jinja.

    Example:
        >>> unrendered("{{ env_var('HOME') }}")
        "{{ '{{' }} env_var('HOME') }}"
    """
    return _JINJA.sub(r"{{ '\g<0>' }}", text)


def as_rendered(text: str) -> str:
    """Return the text of which `unrendered` was made.

    Example:
        >>> as_rendered("{{ '{%' }} set x")
        '{% set x'
    """
    return _UNRENDERED.sub(r"\g<1>", text)


def is_jinja(path: str) -> bool:
    """Say whether dbt alone knows what a path is."""
    return "{" in path


def model_folders(project: Path) -> list[Path]:
    """Return the folders of a project's models; `models` where every path is Jinja."""
    plain = [path for path in model_paths(project) if not is_jinja(path)]
    return [project / path for path in plain or ["models"]]


def dbt_folders(project: Path) -> dict[str, list[Path]] | None:
    """Return the folders of a project that dbt reads, those that are there, by their setting.

    Returns:
        None if one of them is Jinja, so that dbt alone knows it.

    Raises:
        ConfigError: dbt_project.yml cannot be read.
    """
    settings = read_properties(project / "dbt_project.yml", "dbt_project.yml")
    found: dict[str, list[Path]] = {}
    for name, usual in _FOLDERS.items():
        paths = [str(path) for path in settings.get(name) or [usual]]
        if any(map(is_jinja, paths)):
            return None
        found[name] = [project / path for path in paths if (project / path).is_dir()]
    return found
