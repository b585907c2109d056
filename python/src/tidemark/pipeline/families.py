"""The function that does a step for an entity, by the entity's family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidemark.pipeline import (
    altering,
    committing,
    enriched,
    enriched_tables,
    events_derive,
    events_source,
    events_stage,
    extracts,
    extracts_source,
    mending,
    opening,
    tables,
)
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.settings import Settings

Step = Callable[..., Any]


_LOG: dict[str, Step] = {
    "run": lambda warehouse, opened, state: opened["run"],
    "state": opening.log_state,
    "prepare": tables.prepare_tables,
    "append": committing.append_slice,
    "has_landed": mending.log_has_landed,
    "shared_log": mending.shared_log,
    "fences": mending.log_fences,
    "finish": mending.finish_commit,
    "discard": mending.discard_commit,
}
"""Those of extracts and change events, which both have a log."""
_FAMILIES: dict[str, dict[str, Step]] = {
    "extract": {
        **_LOG,
        "source": extracts_source.source_extract,
        "stage": extracts.stage_extract,
        "derive": extracts.derive_extract,
    },
    "events": {
        **_LOG,
        "source": events_source.source_events,
        "stage": events_stage.stage_events,
        "derive": events_derive.derive_events,
        "undo": altering.undo_statement,
    },
    "enriched": {
        "run": enriched_tables.run_of_enriched,
        "state": enriched_tables.enriched_state,
        "source": enriched.source_enriched,
        "stage": enriched.stage_enriched,
        "prepare": enriched_tables.prepare_enriched,
        "derive": enriched.derive_enriched,
        "append": enriched.append_enriched,
        "has_landed": enriched.has_landed,
        "shared_log": lambda warehouse, relations, commit: relations["current"],
        "fences": enriched.fences_of_enriched,
        "finish": enriched.finish_enriched,
        "discard": enriched.discard_enriched,
    },
}


def take_step(warehouse: Warehouse, cfg: Settings, name: str, *arguments: Any) -> Any:
    """Take a step of a load as the entity's family does.

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        name: run, state, source, stage, prepare, derive, append; undo, of a DDL event; and of a
            commit that a run left in flight has_landed, shared_log, fences, finish, discard.
        *arguments: What the step takes after the warehouse.
    """
    return _FAMILIES[cfg["family"]][name](warehouse, *arguments)
