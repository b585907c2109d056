"""A DDL event is brought to the tables, under the commit of the stretch that it begins."""

from __future__ import annotations

import copy

from tidemark.pipeline.altering import alter_columns
from tidemark.pipeline.commits import new_commit, record_commit
from tidemark.pipeline.events_roles import date_of_events
from tidemark.pipeline.tables import opened_altered
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.batches import take_up_columns
from tidemark.rules.statements import failed_policy
from tidemark.shapes.events import Batch, Statement, Stretch
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Opened


def opened_after_statement(
    warehouse: Warehouse, opened: Opened, batch: Batch, stretch: Stretch
) -> Opened:
    """Bring the DDL event that begins a stretch to the tables.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        batch: What the events tell; what the statement adds is told to it.
        stretch: The stretch.

    Returns:
        The entity; what is recorded of its columns is a copy of its own.

    Raises:
        DataError: The load stops at the statement, by policy or as it cannot be followed.
    """
    cfg, state = opened["cfg"], opened["state"]
    recorded = None if state["first"] else copy.deepcopy(state["recorded"])
    opened = {**opened, "state": {**state, "recorded": recorded or state["recorded"]}}
    for statement in batch["statements"]:
        if not statement["cuts"] or statement["landing_num"] != stretch["from"]:
            continue
        for change in statement["changes"]:
            if change["policy"] == "fail":
                raise failed_policy(cfg, statement, change)
        opened = begin_statement(warehouse, opened, statement)
        alter_columns(warehouse, cfg, opened["relations"], recorded, statement)
        take_up_columns(cfg, batch, statement)
        return opened_altered(warehouse, opened)
    return opened


def begin_statement(warehouse: Warehouse, opened: Opened, statement: Statement) -> Opened:
    """Record the commit of a stretch, in flight, before a table is altered.

    It has the names that columns will have: by that a run which finds it there takes back what this
    one did, see undo_statement(). Also stops at a name that a column cannot have.
    """
    run, state = opened["run"], opened["state"]
    meant = None if state["first"] else copy.deepcopy(state["recorded"])
    alter_columns(warehouse, opened["cfg"], {}, meant, statement)
    if not meant or meant["columns"] == state["recorded"]["columns"] or run.get("dry_run"):
        return opened
    load: Load = {
        "commit_id": warehouse.macro("next_commit_id", state["last_id"]),
        "kind": "load",
        "business_date": date_of_events(run),
        "forward": True,
    }
    begun = new_commit(warehouse, opened, load, meant)
    record_commit(warehouse, opened["commits"], begun, "inflight", {})
    return {**opened, "state": {**state, "last_id": begun["commit_id"], "begun": begun}}
