"""Where plans are kept: TIDEMARK_HOME/plans/<id>/plan.json, for their owner's eyes only.

Example:
    >>> [plan.id for plan in list_plans() if plan.state == "open"]
    ['p7k3m']
"""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from tidemark.console import nearest
from tidemark.errors import ConfigError
from tidemark.home import tidemark_home, write_private
from tidemark.plan.model import EntityPlan, Plan, State

_NAME = "plan.json"
_ID = re.compile(r"p[a-z0-9]{5}")
# no 0, 1, l, o, i: an id is read out and typed
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
# closed plans that are kept; they have no values of rows
_KEPT = 50


def list_plans() -> list[Plan]:
    """Return the plans that there are, the newest first; what cannot be read is left out."""
    plans = []
    for folder in _folders():
        try:
            plans.append(_read(folder))
        except ConfigError:
            continue
    return sorted(plans, key=lambda plan: plan.made_at, reverse=True)


def read_plan(id: str) -> Plan:
    """Return one plan.

    Raises:
        ConfigError: There is no such plan, or it cannot be read.
    """
    folder = _root() / id
    if not _ID.fullmatch(id) or not (folder / _NAME).is_file():
        known = [folder.name for folder in _folders()]
        raise ConfigError(
            f"there is no plan {id!r}.{nearest(id, known) or ' See `tidemark plan --list`'}"
        )
    return _read(folder)


def discard_plan(id: str) -> None:
    """Close a plan that is not to be applied; the values of rows in it are removed.

    Raises:
        ConfigError: There is no such plan, it is not open, or it is being applied.
    """
    with held(id) as plan:
        close_plan(plan, "discarded")


def discard_plans_of(relation: str) -> None:
    """Close the open plans that have values of an entity's rows, as rows of it are erased.

    Args:
        relation: schema.table.
    """
    for plan in list_plans():
        if plan.state == "open" and relation in {one.relation for one in plan.entities}:
            discard_plan(plan.id)


def new_id() -> str:
    """Return an id that no plan has."""
    while True:
        id = "p" + "".join(secrets.choice(_LETTERS) for _ in range(5))
        if not (_root() / id).exists():
            return id


def write_plan(plan: Plan) -> Path:
    """Write a plan, whole or not at all; return its file."""
    root = _root()
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = root / plan.id
    for made in (root, folder):
        made.mkdir(exist_ok=True, mode=0o700)
        made.chmod(0o700)
    path, new = folder / _NAME, folder / f".{_NAME}.{os.getpid()}"
    write_private(new, plan.model_dump_json(indent=2) + "\n")
    new.replace(path)
    return path


@contextmanager
def held(id: str) -> Iterator[Plan]:
    """Give an open plan to be applied or discarded, to nobody else meanwhile.

    Raises:
        ConfigError: It is applied or discarded already, or somebody is at it.
    """
    read_plan(id)
    lock = FileLock(_root() / id / "lock", timeout=0, mode=0o600)
    try:
        with lock:
            plan = read_plan(id)
            if plan.state != "open":
                when = f" on {plan.closed_at:%Y-%m-%d %H:%M} UTC" if plan.closed_at else ""
                raise ConfigError(f"plan {id} was {plan.state}{when}: plan again")
            yield plan
    except Timeout:
        raise ConfigError(
            f"plan {id} is applied by another process at the moment. Wait for the other process"
        ) from None


def close_plan(plan: Plan, state: State) -> Plan:
    """Mark a plan applied or discarded, without the values of rows that it has; the oldest go."""
    closed = plan.without_values().model_copy(
        update={"state": state, "closed_at": dt.datetime.now(dt.UTC)}
    )
    write_plan(closed)
    for old in [one for one in list_plans() if one.state != "open"][_KEPT:]:
        shutil.rmtree(_root() / old.id, ignore_errors=True)
    return closed


def _root() -> Path:
    return tidemark_home().plans


def _folders() -> list[Path]:
    try:
        return [path for path in _root().iterdir() if _ID.fullmatch(path.name)]
    except OSError:
        return []


def _read(folder: Path) -> Plan:
    path = folder / _NAME
    try:
        return Plan.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        what = f"{error.error_count()} fields" if isinstance(error, ValidationError) else str(error)
        raise ConfigError(
            f"the plan in {path} cannot be read ({what}), as the plan is damaged, or of another "
            "version. Remove the folder, and plan again"
        ) from error


__all__ = [
    "EntityPlan",
    "Plan",
    "close_plan",
    "discard_plan",
    "discard_plans_of",
    "held",
    "list_plans",
    "new_id",
    "read_plan",
    "write_plan",
]
