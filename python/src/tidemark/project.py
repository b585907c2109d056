"""What the YAML files of a dbt project say, read without dbt: its Jinja is not rendered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tidemark.errors import ConfigError


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
        raise ConfigError(f"{file}{where} is not valid YAML: {problem}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(
            f"{file} is not a property file: it has no `models:` or other key at its top"
        )
    return content


def model_paths(project: Path) -> list[str]:
    """Return `model-paths` of a project as they are written; one may be Jinja."""
    settings = parse((project / "dbt_project.yml").read_text(encoding="utf-8"), "dbt_project.yml")
    return [str(path) for path in settings.get("model-paths") or ["models"]]


def is_jinja(path: str) -> bool:
    """Say whether dbt alone knows what a path is."""
    return "{" in path


def model_folders(project: Path) -> list[Path]:
    """Return the folders of a project's models; `models` where every path is Jinja."""
    plain = [path for path in model_paths(project) if not is_jinja(path)]
    return [project / path for path in plain or ["models"]]
