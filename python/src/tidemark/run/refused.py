"""What of the YAML dbt refuses without saying of which model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from dbt_common.contracts.constraints import ConstraintType

from tidemark.console import meant

_TYPES = [str(kind.value) for kind in ConstraintType]
_KEY = re.compile(r"^ *(?:at path \['(\w+)'\]|Field \"(\w+)\" of .* in ModelConfig)", re.MULTILINE)
_NOT_MAPPING = "expected dict, got "


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
    for path in _property_files(root):
        for model in _mappings(_content(path), "models"):
            config = model.get("config")
            value = config.get(name) if isinstance(config, dict) else None
            if value is not None and re.search(rf"\s{re.escape(str(value))}(?:\s|$)", message):
                place = f"{model.get('name')}  {path.relative_to(root)}"
                found.append(f"{place}: {name} {wanted}, found: {value}")
    return found


def _broken_constraints(root: Path) -> list[str]:
    """Return a sentence for each constraint of a project that is of no type dbt knows."""
    found = []
    for path in _property_files(root):
        for model, place, kind in _constraints(path):
            if kind not in _TYPES:
                what = "a constraint without `type`" if kind is None else f"constraint `{kind}`"
                file, hint = path.relative_to(root), meant(str(kind), _TYPES)
                found.append(f"{model}  {file}: {what} of {place} is none of dbt; {hint}")
    return found


def _property_files(root: Path) -> list[Path]:
    project = _content(root / "dbt_project.yml")
    folders = [root / str(name) for name in project.get("model-paths") or ["models"]]
    return sorted(path for folder in folders for path in folder.rglob("*.y*ml"))


def _constraints(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield model, place and type of each constraint in a file."""
    for model in _mappings(_content(path), "models"):
        places = [("the model", model)]
        places += [(f"column `{one.get('name')}`", one) for one in _mappings(model, "columns")]
        for place, holder in places:
            for constraint in _mappings(holder, "constraints"):
                yield str(model.get("name")), place, constraint.get("type")


def _content(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}  # dbt says what is wrong with it
    return content if isinstance(content, dict) else {}


def _mappings(holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = holder.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
