"""Plans that wait: what `tidemark plan` has kept."""

from __future__ import annotations

import importlib
from typing import Any

from tidemark.errors import ConfigError

_STORE = "tidemark.plan.store"


def open_plans() -> list[dict[str, Any]]:
    """Return the plans that wait, the newest first: what they are, and no value of any row.

    One that was refused waits for nothing: something is not as it was when the plan was made.
    """
    return [
        {
            "id": str(plan.id),
            "made_at": plan.made_at.isoformat(),
            "command": _command(plan.command),
            "entities": [_entity(one) for one in plan.entities],
        }
        for plan in _plans()
        if plan.state == "open" and plan.refused_at is None
    ]


def known_plan(id: str) -> str:
    """Return the id of a plan that waits.

    Raises:
        ConfigError: There is no such plan.
    """
    if id not in {str(plan.id) for plan in _plans() if plan.state == "open"}:
        raise ConfigError(f"there is no open plan {id!r}. Make a new plan")
    return id


def discard(id: str) -> None:
    """Discard a plan that waits.

    Raises:
        ConfigError: There is no such plan, or it is at work.
    """
    known_plan(id)
    _store().discard_plan(id)


def _plans() -> list[Any]:
    store = _store()
    return [] if store is None else list(store.list_plans())


def _store() -> Any:
    """Return the module that keeps plans; None where there is none."""
    try:
        return importlib.import_module(_STORE)
    except ModuleNotFoundError:
        return None


def _command(command: Any) -> str:
    return command if isinstance(command, str) else " ".join(map(str, command))


def _entity(entity: Any) -> dict[str, Any]:
    """Return what a plan would do to an entity: words and counts."""
    if isinstance(entity, str):
        return {"entity": entity, "says": ""}
    counts = getattr(entity, "counts", None)
    told = [
        f"{number:,} {name}"
        for name in ("inserted", "updated", "deleted", "unchanged", "rejected")
        if (number := getattr(counts, f"rows_{name}", 0))
    ]
    date = getattr(entity, "business_date", None)
    parts = [str(date)] if date else []
    parts += [str(getattr(entity, "kind", "")), ", ".join(told)]
    if getattr(entity, "outcome", None) == "stops":
        parts.append("the load would stop")
    return {"entity": str(entity.entity), "says": "; ".join(part for part in parts if part)}
