"""Constraints of the YAML that dbt refuses without saying of which model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from dbt_common.contracts.constraints import ConstraintType

from tidemark.console import meant

_TYPES = [str(kind.value) for kind in ConstraintType]


def broken_constraints(root: Path) -> list[str]:
    """Return a sentence for each constraint of a project that is of no type dbt knows.

    Example:
        >>> broken_constraints(Path("shop"))
        ['orders  models/orders.yml: constraint `notnull` of column `id` is none of dbt; did you …']
    """
    found = []
    project = _content(root / "dbt_project.yml")
    folders = [root / str(name) for name in project.get("model-paths") or ["models"]]
    for path in sorted(path for folder in folders for path in folder.rglob("*.y*ml")):
        for model, place, kind in _constraints(path):
            if kind not in _TYPES:
                what = "a constraint without `type`" if kind is None else f"constraint `{kind}`"
                file, hint = path.relative_to(root), meant(str(kind), _TYPES)
                found.append(f"{model}  {file}: {what} of {place} is none of dbt; {hint}")
    return found


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
