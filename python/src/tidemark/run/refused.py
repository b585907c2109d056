"""YAML that dbt refuses without naming the model: the model is found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbt_common.contracts.constraints import ConstraintType

from tidemark.console import meant
from tidemark.errors import ConfigError
from tidemark.project import (
    mappings_in,
    model_folders,
    models_in,
    property_files,
    tolerated_properties,
)

_TYPES = [str(kind.value) for kind in ConstraintType]
_KEY = re.compile(r"^ *(?:at path \['(\w+)'\]|Field \"(\w+)\" of .* in ModelConfig)", re.MULTILINE)
_NOT_MAPPING = "expected dict, got "


def check_may_write(error: BaseException | None) -> None:
    """Say in a sentence that dbt may not write its own files.

    Args:
        error: What dbt ended with.

    Raises:
        ConfigError: It was that.
    """
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return
    paths = [os.environ.get(name) for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH")]
    folders = [Path(folder).absolute() for folder in paths if folder]
    if not any(Path(error.filename).absolute().is_relative_to(one) for one in folders):
        raise ConfigError(f"{error.filename}: {error.strerror}") from error
    raise ConfigError(
        f"{error.filename} cannot be written ({error.strerror}), and dbt writes there "
        "whenever it reads the project. Set DBT_LOG_PATH and DBT_TARGET_PATH to a folder "
        "of your own: the right to read is enough then"
    ) from error


def places_of(message: str, root: Path) -> list[str]:
    """Return where in a project that is what dbt complains of; none where it may be elsewhere.

    Example:
        >>> places_of("  at path ['tags']: [{'a': 1}] is not valid …", Path("shop"))
        ["orders  models/orders.yml: tags is not what dbt takes, found: {'a': 1}"]

    Args:
        message: That of dbt.
        root: The project's folder.
    """
    found = _broken_constraints(root) if "constraint" in message else []
    key = _KEY.search(message)
    name = "meta" if _NOT_MAPPING in message else (key[1] or key[2]) if key else None
    return found + (_with_value(name, message, root) if name else [])


def _with_value(name: str, message: str, root: Path) -> list[str]:
    """Return the models whose key of dbt's own has a value that a message quotes."""
    wanted = {
        "unique_key": "must be a name or a list of names",
        "meta": "must be a mapping",
    }.get(name, "is not what dbt takes")
    found = []
    for place, model in _models(root):
        config = model.get("config")
        value = config.get(name) if isinstance(config, dict) else None
        if value is not None and re.search(rf"\s{re.escape(str(value))}(?:\s|$)", message):
            found.append(f"{place}: {name} {wanted}, found: {value}")
    return found


def _broken_constraints(root: Path) -> list[str]:
    """Return a sentence for each constraint of a project that is of no type dbt knows."""
    found = []
    for place, model in _models(root):
        for holder, kind in _constraints(model):
            if kind not in _TYPES:
                what = "a constraint without `type`" if kind is None else f"constraint `{kind}`"
                hint = meant(str(kind), _TYPES)
                found.append(f"{place}: dbt does not know {what} of {holder}; {hint}")
    return found


def _models(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the models of a project, each with its name and the file that it is in."""
    try:
        folders = model_folders(root)
    except (ConfigError, OSError):  # dbt says what is wrong with dbt_project.yml
        folders = [root / "models"]
    for path in property_files(folders):
        for name, model in models_in(tolerated_properties(path)):
            yield f"{name}  {path.relative_to(root)}", model


def _constraints(model: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield of what each constraint of a model is, and its type."""
    holders = [("the model", model)]
    holders += [(f"column `{one.get('name')}`", one) for one in mappings_in(model, "columns")]
    for holder, entry in holders:
        for constraint in mappings_in(entry, "constraints"):
            yield holder, constraint.get("type")
