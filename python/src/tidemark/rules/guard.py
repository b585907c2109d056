"""Guards: how much a load may delete and reject, unless a person lets it through."""

from __future__ import annotations

from tidemark.shapes.load import Figures
from tidemark.shapes.opened import Run
from tidemark.shapes.settings import Loaded, Settings

#: Extracts by which keys are deleted that they do not have
DELETING = ("full", "scoped")


def deletes_too_much(cfg: Settings, figures: Figures) -> bool:
    """Return whether a full extract is empty or would delete more than it may.

    Example:
        >>> figures = {"rows_read": 70, "existing": 100, "rows_deleted": 30}
        >>> deletes_too_much({"max_delete_fraction": 0.29}, figures)
        True

    Args:
        cfg: The settings of the entity.
        figures: What the load has counted.
    """
    existing, deleted = guarded_deletes(figures).values()
    if existing <= 0 or deleted <= 0:
        return False
    return figures["rows_read"] == 0 or deleted > _part(cfg["max_delete_fraction"], existing)


def guarded_deletes(figures: Figures) -> dict[str, int]:
    """Return how many keys a load takes away (`deleted`), and of how many (`existing`).

    For a date that comes again, that is of what there was by that date: with what it inserted,
    which is deleted where it does not come again, and without what it deleted, which has been let
    through. For a scoped extract it is of the keys in the scopes that came.

    Example:
        >>> guarded_deletes({"existing": 100, "rows_deleted": 30})
        {'existing': 100, 'deleted': 30}
        >>> guarded_deletes({"existing": 100, "in_scope": 40, "rows_deleted": 30})
        {'existing': 40, 'deleted': 30}
    """
    existing = figures.get("in_scope", figures.get("existing")) or 0
    deleted = figures.get("rows_deleted") or 0
    here = figures.get("here")
    if here:
        existing += here["inserted"] - here["deleted"]
        deleted += here["gone"] - here["deleted_again"]
    return {"existing": existing, "deleted": deleted}


def rejects_too_many(cfg: Loaded, run: Run, figures: Figures) -> bool:
    """Return whether a load rejects more of what it read than it may.

    Args:
        cfg: The settings of the entity.
        run: What this run was asked for.
        figures: What the load has counted.
    """
    guarded = guarded_rejects(figures)
    return guarded["rejected"] > _part(most_rejects(cfg, run), guarded["read"])


def most_rejects(cfg: Loaded, run: Run) -> float:
    """Return the part of what a load reads that may be rejected.

    Example:
        >>> most_rejects({"on_reject": "fail"}, {"allow_rejects": True})
        0
    """
    if cfg["on_reject"] == "fail":
        return 0
    fraction: float = 1 if run["allow_rejects"] else cfg["max_reject_fraction"]
    return fraction


def guarded_rejects(figures: Figures) -> dict[str, int]:
    """Return how many rows a load rejects (`rejected`), and of how many (`read`).

    For a date that comes again, without those that it rejected before, which have been let through;
    of change events without the messages that are none of the table.

    Example:
        >>> guarded_rejects({"rows_read": 10, "rows_rejected": 3, "new_rejects": 1})
        {'rejected': 1, 'read': 8}
    """
    rejected, new = figures.get("rows_rejected") or 0, figures.get("new_rejects")
    again = 0 if new is None else rejected - new
    read = (figures.get("rows_read") or 0) - (figures.get("rows_ignored") or 0)
    return {"rejected": rejected - again, "read": read - again}


def _part(fraction: float, whole: int) -> float:
    """A part, rounded: 0.29 * 100 is a little less than 29."""
    return round(fraction * whole, 6)
