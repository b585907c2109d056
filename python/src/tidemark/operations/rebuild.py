"""Current is made anew from the log, or all of an entity is dropped."""

from __future__ import annotations

import json
from typing import Any

from tidemark.errors import DataError
from tidemark.operations.entity import asked_run, entity_config, is_true, report
from tidemark.operations.planning import drop_plan
from tidemark.operations.tables import drop_any, entity_tables, kept_tables
from tidemark.pipeline.applying import rebuild_current
from tidemark.pipeline.commits import ensure_commits, entity_state
from tidemark.pipeline.opening import open_load
from tidemark.pipeline.slices import clear_slices, drop_slices, forget_run_views
from tidemark.pipeline.tables import drop_table, make_current, relation_exists
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted


def rebuild(warehouse: Warehouse, entity: str, dry_run: Any) -> None:
    """Make current anew from the log, whatever has become of its files: nothing of it is read.

    Another table is filled beside it, which takes its name when it is whole. What a run left in
    flight, as it met a file that could not be read, is finished then.
    """
    macro, cfg, is_dry = warehouse.macro, entity_config(warehouse, entity), is_true(dry_run)
    run = asked_run(warehouse, is_dry)
    relations = macro("side_relations", cfg["target"])
    state = entity_state(warehouse, ensure_commits(warehouse, run), cfg["relation"], run)
    current = relations["current"]
    if not state["recorded"] or not relation_exists(warehouse, relations["log"]):
        raise DataError(
            f"{entity}: there is no log, so there is nothing to rebuild. Run the model first"
        )
    does = "would make" if is_dry else "making"
    report(warehouse, entity, f"{does} {current} anew from {relations['log']}")
    if is_dry:
        return
    # A load that has altered the tables has altered the log, too.
    loads = [one.get("config") for one in state["inflight"] if one["kind"] == "load"]
    altered = [config for config in loads if config]
    recorded = json.loads(altered[-1]) if altered else state["recorded"]
    recorded_cfg = macro("recorded_cfg", cfg, recorded)
    roles = macro("recorded_roles", recorded, cfg)
    new = macro("new_relation", current)
    beside = {**relations, "current": new}
    drop_table(warehouse, new)
    make_current(warehouse, recorded_cfg, roles, beside)
    rebuild_current(warehouse, recorded_cfg, roles, state, beside)
    drop_table(warehouse, current)
    located = cfg["location_root"] is not None
    warehouse.run_all(macro("rename_table_sql", new, current, located))
    open_load(warehouse, cfg, run)
    report(warehouse, entity, f"rebuilt: {counted(macro('row_count', current), 'row')}")


def drop_entity(warehouse: Warehouse, entity: str, dry_run: Any) -> None:
    """Drop all tables of an entity, and forget its commits.

    What full refreshes and rehashes left goes too: without their commits `clean` would keep it for
    ever.
    """
    macro, cfg = warehouse.macro, entity_config(warehouse, entity)
    current = cfg["target"]
    relations = macro("side_relations", current)
    if is_true(dry_run):
        kept = [relation for relation, _ in kept_tables(warehouse, current)]
        for relation in [*entity_tables(warehouse, relations), *kept]:
            report(warehouse, entity, f"would drop {relation}")
        return
    commits = ensure_commits(warehouse, macro("run_config"))
    forget_run_views(warehouse, current)
    drop_slices(warehouse, current, "all")
    clear_slices(warehouse, current)
    warehouse.run(f"drop view if exists {relations['history']}")
    drop_plan(warehouse, current)
    # Commits go last: without the log they stop a run, which says what is missing.
    for name in ("current", "staging", "landed", "rejects", "supplied", "sensitive"):
        drop_table(warehouse, relations[name])
    # for plain Parquet, which earlier releases wrote, the log is a view of slices
    drop_any(warehouse, relations["log"])
    drop_table(warehouse, macro("side_relation", current, "log_slices"))
    for relation, _ in kept_tables(warehouse, current):
        drop_any(warehouse, relation)
    relation = macro("string_literal", cfg["relation"])
    warehouse.run(f"delete from {commits['states']} where relation = {relation}")
    report(warehouse, entity, "dropped")
