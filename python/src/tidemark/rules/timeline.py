"""Commits in order: which of them hold at a moment, and which ones a rollback undoes.

A timeline is a list of commits in their order, each as `timeline_sql()` tells it: `commit_id`,
`kind`, `business_date`, `source_commit_id`, which is where a rollback went to, and more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.shapes.load import Load, Steps
from tidemark.shapes.opened import LastLoad

Commit = Mapping[str, Any]

LOADS = ("load", "full_refresh")
REWRITING = ("rehash", "promote")
"""They write the log anew and load nothing: what was loaded before them holds."""


def live_commits(timeline: Sequence[Commit], head: int) -> dict[int, bool]:
    """Return the commits whose work holds when `head` is the last one: `{commit_id: True}`.

    Example:
        >>> #  c1 ── c2 ── c3        c4 (rollback to c2)       live at c4: c1, c2 and c4
        >>> #         └───────────────┘
        >>> list(live_commits(timeline, 4))
        [4, 2, 1]

    Args:
        timeline: The commits that took effect.
        head: The commit to go back from: each follows the one before it, but a rollback follows
            the commit that it went to.
    """
    live, wanted = {}, head
    for commit in reversed(timeline):
        if commit["commit_id"] <= wanted:
            live[commit["commit_id"]] = True
            is_rollback = commit["kind"] == "rollback"
            wanted = commit["source_commit_id"] if is_rollback else commit["commit_id"] - 1
    return live


def loaded_dates(timeline: Sequence[Commit], since: str = "") -> list[str]:
    """Return the business dates, from one on, whose loads hold, in order.

    Example:
        >>> loaded_dates(timeline, "2026-03-02")
        ['2026-03-02', '2026-03-03']
    """
    live = live_commits(timeline, timeline[-1]["commit_id"])
    loads = [one for one in timeline if one["commit_id"] in live and one["kind"] in LOADS]
    return sorted(
        {str(load["business_date"]) for load in loads if str(load["business_date"]) >= since}
    )


def steps_to(timeline: Sequence[Commit], target: int) -> Steps:
    """Return what going from the last commit to `target` undoes and makes hold again.

    Example:
        >>> steps = steps_to(timeline, 1)
        >>> [commit["commit_id"] for commit in steps["undone"]], steps["last_date"]
        ([2], '2026-03-01')

    Args:
        timeline: The commits that took effect.
        target: The commit to be at.

    Returns:
        `undone` and `redone` commits, both empty where no work changes, and the load of the last
        date that holds then: `last_date`, `last_date_commit_id`, `last_extract`.
    """
    now = live_commits(timeline, timeline[-1]["commit_id"])
    then = live_commits(timeline, target)
    moved = [
        commit
        for commit in timeline
        if commit["kind"] not in REWRITING
        and (commit["commit_id"] in now) != (commit["commit_id"] in then)
    ]
    if all(commit["kind"] == "rollback" for commit in moved):
        moved = []
    loads = [one for one in timeline if one["commit_id"] in then and one["kind"] in LOADS]
    last = max(loads, key=lambda load: (load["business_date"], load["commit_id"]), default=None)
    return {
        "target": target,
        "undone": [commit for commit in moved if commit["commit_id"] in now],
        "redone": [commit for commit in moved if commit["commit_id"] in then],
        "last_date": str(last["business_date"]) if last else None,
        "last_date_commit_id": last["commit_id"] if last else None,
        "last_extract": last.get("extract") if last else None,
    }


def with_last(load: Load, known: LastLoad) -> Load:
    """Return a load that leaves the last date as it is known."""
    return {
        **load,
        "last_date": known["last_date"],
        "last_date_commit_id": known["last_date_commit_id"],
        "last_extract": known["last_extract"],
    }


def last_loads(timeline: Sequence[Commit], horizon: int) -> list[int]:
    """Return the loads up to `horizon` that say what was observed of their date from there on.

    That is the last load of each date, of those that were live at `horizon`, or before it where a
    later rollback went to. What an earlier load of a date observed nobody asks again.

    Example:
        >>> #  c1 (2nd) ── c2 (4th) ── c3 (2nd)        c4 (rollback to c1)
        >>> last_loads(timeline, 3)  # c2 and c3, and c1 that holds again
        [1, 2, 3]

    Args:
        timeline: The commits that took effect.
        horizon: A commit.
    """
    heads = [horizon] + [
        commit["source_commit_id"]
        for commit in timeline
        if commit["kind"] == "rollback"
        and commit["commit_id"] > horizon > commit["source_commit_id"]
    ]
    found: set[int] = set()
    for head in heads:
        live = live_commits(timeline, head)
        loads = [one for one in timeline if one["commit_id"] in live and one["kind"] in LOADS]
        found.update({load["business_date"]: load["commit_id"] for load in loads}.values())
    return sorted(found)


def before_date(timeline: Sequence[Commit], date: str) -> dict[str, int | None]:
    """Return the first load of a date from this one on that holds, and the commit before it.

    Example:
        >>> before_date(timeline, "2026-03-02")
        {'first': 2, 'before': 1}

    Args:
        timeline: The commits that took effect.
        date: A business date.

    Returns:
        `first` and `before`, None where there is none; without a first one all are before it.
    """
    return _before(timeline, lambda one: one["kind"] in LOADS and str(one["business_date"]) >= date)


def before_runs(timeline: Sequence[Commit], runs: Sequence[str | None]) -> dict[str, int | None]:
    """Return the first commit of these runs of dbt that holds, and the one before it.

    Example:
        >>> before_runs(timeline, ["3f2c…"])
        {'first': 2, 'before': 1}
    """
    return _before(timeline, lambda one: one["invocation_id"] in runs)


def _before(
    timeline: Sequence[Commit], is_first: Callable[[Commit], bool]
) -> dict[str, int | None]:
    live = live_commits(timeline, timeline[-1]["commit_id"]) if timeline else {}
    before = None
    for commit in timeline:
        if commit["commit_id"] in live:
            if is_first(commit):
                return {"first": commit["commit_id"], "before": before}
            before = commit["commit_id"]
    return {"first": None, "before": before}
