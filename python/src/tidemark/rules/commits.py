"""An entity's commits as a run needs them, worked out from all their states.

States come in the order of `entity_states_sql()`: the last commit first, and its last state first.
Where they are many, SQL works out the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.rules.timeline import LOADS, REWRITING
from tidemark.shapes.opened import DatedLoad, Inflight, State

CommitState = Mapping[str, Any]

LOG_KINDS = (*LOADS, *REWRITING, "rollback")
REPLACING = ("full_refresh", *REWRITING)
"""With these a new log takes the place of the old one."""


def last_states(states: Iterable[CommitState]) -> list[CommitState]:
    """Return the last state of each commit, the last commit first.

    Example:
        >>> [(one["commit_id"], one["state"]) for one in last_states(states)]
        [(2, 'inflight'), (1, 'completed')]
    """
    commits: dict[Any, CommitState] = {}
    for state in states:
        commits.setdefault(state["commit_id"], state)
    return list(commits.values())


def judged_state(states: Iterable[CommitState], business_date: str | None) -> State:
    """Return how an entity stands, for a run of a business date.

    Example:
        >>> judged_state(states, "2026-03-02")["last_date"]
        '2026-03-01'

    Args:
        states: All states of its commits.
        business_date: The date of the run, if it has one.

    Returns:
        What is known, among it `undone`, all commits that were rolled back, as a run that was
        taken for dead may have written beside the log after that; and `left_refresh`, whether the
        last full refresh died and nothing was loaded since.
    """
    commits = last_states(states)
    completed = [one for one in commits if one["state"] == "completed"]
    log_start = _first_id(completed, ("full_refresh",))
    since = [one for one in completed if one["commit_id"] >= log_start]
    loads = sorted(
        (_load(one) for one in since if one["kind"] in LOADS),
        key=lambda load: (load["business_date"], load["commit_id"]),
    )
    dated = [load for load in loads if business_date and load["business_date"]]
    this = [load for load in dated if load["business_date"] == business_date]
    earlier = [load for load in dated if load["business_date"] < str(business_date)]
    later = {
        one["business_date"]: one for one in dated if one["business_date"] > str(business_date)
    }
    inflight = [one for one in commits if one["state"] == "inflight" and one["kind"] in LOG_KINDS]
    failed = [one for one in commits if one["state"] == "rolled_back" and one["undone_by"] is None]
    numbers = [one["last_sequence_num"] for one in since if one["last_sequence_num"] is not None]
    config = next((one["config"] for one in completed if one["config"]), None)
    nothing: DatedLoad = {"business_date": None, "commit_id": None, "extract": None}
    this_load, earlier_load, last_load = (
        (found or [nothing])[-1] for found in (this, earlier, loads)
    )
    return {
        "last_id": commits[0]["commit_id"] if commits else None,
        "last_commit_id": _first_id(completed, LOG_KINDS),
        "last_sequence_num": max(numbers, default=None),
        "recorded": _parsed(config) if config else None,
        "left_refresh": _first_id(failed, ("full_refresh",)) > _first_id(completed, LOADS),
        "has_erased": any(one["kind"] == "erase_key" for one in completed),
        "undone": [one["commit_id"] for one in commits if one["state"] == "rolled_back"],
        "inflight": [
            _inflight(one) for one in sorted(inflight, key=lambda one: int(one["commit_id"]))
        ],
        "this_commit_id": this_load["commit_id"],
        "this_extract": this_load["extract"],
        "previous_date": earlier_load["business_date"],
        "previous_extract": earlier_load["extract"],
        "last_date": last_load["business_date"] or None,
        "last_date_commit_id": last_load["commit_id"],
        "last_extract": last_load["extract"],
        "later_loads": list(later.values()),
    }


def judged_marks(
    own: Iterable[CommitState], others: Iterable[CommitState], kind: str
) -> dict[str, Any]:
    """Return how far what is derived from an entity has read it, and what its commits are by now.

    Example:
        >>> judged_marks(own, others, "scd2")["ended"]
        260304093000123

    Args:
        own: States of the commits of what is derived.
        others: Those of the entity.
        kind: What the commits of the one are called.

    Returns:
        `done`, the last completed one of that kind; `replaced`, with which the entity's log began
        anew, the last first; `ended`, the last load before what is in flight; `undone`, which were
        rolled back, also because their run died: it may have been alive, and have written on.
    """
    own, others = last_states(own), last_states(others)
    loads = [one for one in others if one["kind"] in LOADS]
    begun = [one["commit_id"] for one in loads if one["state"] == "inflight"]
    ended = [one["commit_id"] for one in loads if one["state"] == "completed"]
    completed = [one for one in others if one["state"] == "completed"]
    return {
        "last_id": own[0]["commit_id"] if own else None,
        "done": next(
            (one for one in own if one["kind"] == kind and one["state"] == "completed"), None
        ),
        "replaced": [one for one in completed if one["kind"] in REPLACING],
        "ended": next((one for one in ended if not begun or one < min(begun)), 0),
        "undone": [one["commit_id"] for one in others if one["state"] == "rolled_back"],
    }


def _first_id(commits: Iterable[CommitState], kinds: Sequence[str]) -> int:
    return next((int(one["commit_id"]) for one in commits if one["kind"] in kinds), 0)


def _load(state: CommitState) -> DatedLoad:
    date = str(state["business_date"]) if state["business_date"] else ""
    extract = _parsed(state["config"] or "{}").get("extract")
    return {"business_date": date, "commit_id": state["commit_id"], "extract": extract}


def _inflight(state: CommitState) -> Inflight:
    date = state["business_date"]
    left: Inflight = {
        "commit_id": state["commit_id"],
        "kind": state["kind"],
        "config": state["config"],
    }
    return {**left, "business_date": str(date)} if date else left


def _parsed(config: str) -> Any:
    return json.loads(config)
