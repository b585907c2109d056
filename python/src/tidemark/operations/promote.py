"""A clone takes the place of what it was made of."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError, UsageError
from tidemark.operations.clone import (
    Entity,
    base_schemas,
    check_links_files,
    commits_of,
    entity_there,
    mark_of,
)
from tidemark.operations.entity import (
    is_true,
    open_entity,
    operation_commit,
    replace_log,
    report,
)
from tidemark.pipeline.commits import entity_state, record_commit
from tidemark.pipeline.tables import SWAPPED, drop_new_log, relation_exists
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted
from tidemark.rules.commits import LOG_KINDS, CommitState
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Opened, Promoted, Recorded

# what a clone does not have, or has still
_MOVES = (*LOG_KINDS, "erase_key", "clean")


def promote(warehouse: Warehouse, entity: str, schema: Any, dry_run: Any) -> None:
    """Put the log of a clone in the place of the entity's, and its commits behind the entity's.

    The clone's tables are cloned in their turn, beside those that are there, and take their names
    when they are whole, as those of a rehash do. What is begun and not finished the entity's next
    run finishes or rolls back.

    Raises:
        UsageError: There is no clone.
        DataError: One of the two has moved since, or is being written to.
    """
    check_links_files(warehouse)
    opened = open_entity(warehouse, entity, "promote", is_true(dry_run))
    if opened["cfg"]["location_root"] is not None:
        raise UsageError(
            f"{entity}: the entity has a location_root, so its clone cannot be promoted. Load the "
            "same data into the original instead"
        )
    here = Entity(entity, opened["cfg"]["target"], opened["commits"])
    there = entity_there(warehouse, here, opened["run"], schema)
    own = commits_of(warehouse, there)
    mark = mark_of(own, here.relation)
    if mark is None or mark["state"] != "completed":
        raise UsageError(
            f"{entity}: {there.relation} is not a clone of {here.relation}. Name the schema of a "
            "clone"
        )
    _check_unmoved(warehouse, here, there, mark, own)
    made = [one for one in own if one["commit_id"] > mark["commit_id"] and _is_done(one)]
    if not made:
        report(
            warehouse,
            entity,
            f"nothing was done in {there.relation}, so there is nothing to promote",
        )
        return
    summary = f"{counted(len(made), 'commit')} of {there.relation}: {_shown(made)}"
    if is_true(dry_run):
        report(warehouse, entity, f"would promote {summary}")
        return
    _promote(warehouse, opened, there, mark, own, base_schemas(warehouse, schema))
    report(warehouse, entity, f"promoted {summary}")


def _is_done(commit: CommitState) -> bool:
    return commit["state"] == "completed" and commit["kind"] in LOG_KINDS


def _shown(made: list[CommitState]) -> str:
    shown = [f"{one['kind']} {one['business_date'] or one['commit_id']}" for one in made[::-1]]
    more = f", and {len(shown) - 5} more" if len(shown) > 5 else ""
    return ", ".join(shown[:5]) + more


def _check_unmoved(
    warehouse: Warehouse,
    here: Entity,
    there: Entity,
    mark: CommitState,
    own: list[CommitState],
) -> None:
    """Stop where the original has got what the clone lacks, or somebody is at work in that."""
    for one in own:
        if one["state"] == "inflight":
            raise DataError(
                f"{here.name}: commit {one['commit_id']} of {there.relation} is in flight: a "
                "run is at work there, or died. Nothing was promoted. Run the model in the "
                "clone, then promote again"
            )
    for one in commits_of(warehouse, here):
        if one["commit_id"] <= mark["source_commit_id"]:
            break
        if one["kind"] == "promote" and one["source_relation"] == there.relation:
            raise DataError(
                f"{here.name}: {there.relation} was promoted already, in commit "
                f"{one['commit_id']}. Clone the entity again (--replace) before you go on there"
            )
        if one["kind"] in _MOVES and one["state"] == "completed":
            what = one["business_date"] or "no date"
            raise DataError(
                f"{here.name}: the original has moved since it was cloned: commit "
                f"{one['commit_id']} ({one['kind']}, {what}). Nothing was promoted. Clone the "
                "entity again (--replace), then repeat in the clone what you want to promote"
            )


def _promote(
    warehouse: Warehouse,
    opened: Opened,
    there: Entity,
    mark: CommitState,
    own: list[CommitState],
    schemas: tuple[str, str],
) -> None:
    cfg, commits, relations = opened["cfg"], opened["commits"], opened["relations"]
    macro, state = warehouse.macro, opened["state"]
    others = macro("side_relations", there.current)
    settled = entity_state(warehouse, there.commits, there.relation, opened["run"])
    promoted: Promoted = {
        "schema": there.commits["states"].schema,
        "relation": there.relation,
        "mark": mark["commit_id"],
        "was": schemas[1],
        "now": schemas[0],
    }
    recorded: Recorded = settled["recorded"] or {}
    wanted: Recorded = {**recorded, "promoted": promoted}
    rows = macro("row_count", others["log"])
    last_id = max(state["last_id"], own[0]["commit_id"])
    last: Opened = {**opened, "state": {**state, "last_id": last_id}}
    commit = operation_commit(
        warehouse,
        last,
        "promote",
        config=wanted,
        source_commit_id=state["last_commit_id"],
        source_relation=there.relation,
    )
    record_commit(warehouse, commits, commit, "inflight", {"rows_logged": rows})
    drop_new_log(warehouse, relations)
    for name in SWAPPED:
        if relation_exists(warehouse, others[name]):
            warehouse.adapter.clone_table(others[name], macro("new_relation", relations[name]))
    if commits_of(warehouse, there) != own:
        drop_new_log(warehouse, relations)
        record_commit(warehouse, commits, commit, "rolled_back", {})
        raise DataError(
            f"{cfg['entity']}: {there.relation} changed while it was promoted. Nothing was "
            "promoted. Promote the clone again"
        )
    recorded_cfg = macro("recorded_cfg", cfg, recorded)
    roles = macro("recorded_roles", recorded, cfg)
    load: Load = {
        "kind": "promote",
        "forward": False,
        "commit_id": commit["commit_id"],
        "business_date": None,
    }
    held: Opened = {**opened, "cfg": recorded_cfg}
    replace_log(warehouse, held, roles, load, commit, rows)
