"""The tables of atomic events: checked, made, set aside by a full refresh, made anew."""

from __future__ import annotations

from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.pipeline.commits import new_commit, record_commit
from tidemark.pipeline.replacing import check_is_alone
from tidemark.pipeline.tables import (
    drop_table,
    has_rows,
    make_anew,
    present_relations,
    relation_exists,
    warn_layout,
)
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.load import Staged
from tidemark.shapes.opened import Commit, Found, Opened, RelationName, Relations, Run, State
from tidemark.shapes.settings import Settings

_BY_SCHEMA = {"partition_by": ["vendor", "name", "model"]}
"""How the table of entities lies."""
_STATISTICS = (
    "app_id",
    "etl_tstamp",
    "collector_tstamp",
    "dvce_created_tstamp",
    "event",
    "event_id",
    "derived_tstamp",
    "event_name",
    "_commit_id",
)
"""The columns that people filter by, of 132, and that by which runs find each other."""


def run_of_enriched(warehouse: Warehouse, opened: Found, state: State) -> Run:
    """Return what a run does: a full refresh that died is begun anew by whichever comes next.

    Its tables are set aside, or some of them.
    """
    run: Run = opened["run"]
    if not state["left_refresh"] or run["full_refresh"]:
        return run
    if not run["empty"]:
        warehouse.report(
            f"{opened['cfg']['entity']}: reads all landed files again, to finish a "
            "--full-refresh that died"
        )
    return {**run, "full_refresh": True}


def enriched_state(warehouse: Warehouse, opened: Found, state: State) -> State:
    """Return the state of atomic events.

    What lies where their tables belong is checked, what is missing beside them made anew.

    Raises:
        DataError: Tables and commits do not belong together.
        ConfigError: New events could not be compared with those that are there.
    """
    cfg, run, relations = opened["cfg"], opened["run"], opened["relations"]
    current, recorded, refreshes = relations["current"], state["recorded"], run["full_refresh"]
    exists = relation_exists(warehouse, current)
    if exists and not recorded and not refreshes:
        made = relation_exists(warehouse, relations["entities"])
        if not made or has_rows(warehouse, current):
            raise DataError(
                f"{cfg['entity']}: {current} is a table that Tidemark did not make, or its "
                f"commits are gone from {opened['commits']['view']}. Drop or rename the table, "
                "or set the table aside with --full-refresh"
            )
    elif recorded and not exists and not refreshes:
        raise DataError(
            f"{cfg['entity']}: {current} is gone, but commits wrote to it. Restore the table, "
            "or read all landed files again with --full-refresh"
        )
    state = {
        **state,
        "exists": exists,
        "first": not recorded or refreshes,
        "has_manifest": relation_exists(warehouse, relations["manifest"]),
        "replaces": refreshes and (exists or recorded is not None),
    }
    if not state["first"]:
        _check_drift(cfg, state, str(relations["manifest"]))
        _make_missing(warehouse, cfg, relations)
    return state


def _check_drift(cfg: Settings, state: State, manifest: str) -> None:
    """Stop at what would make new events incomparable with those that are there."""
    recorded, entity = state["recorded"], cfg["entity"]
    was, now = (sorted(one["fingerprint_ignore"], key=str.lower) for one in (recorded, cfg))
    if was != now:
        raise ConfigError(
            f"{entity}: fingerprint_ignore was {', '.join(was)} and is now {', '.join(now)}. "
            "Computed fingerprints would differ from stored ones. Undo the change, or read all "
            "landed files again with --full-refresh"
        )
    is_same = state["has_manifest"] and recorded.get("manifest", manifest) == manifest
    if cfg["looks_across"] and not is_same:
        lacks = "there is none of the events that were stored without"
        if state["has_manifest"]:
            lacks = f"what was stored last is not claimed in {manifest}"
        raise ConfigError(
            f"{entity}: de-duplication across batches needs a manifest, and {lacks}. Make the "
            f"manifest with dbt run-operation populate_manifest --args '{{entity: {entity}}}'"
        )


def _make_missing(warehouse: Warehouse, cfg: Settings, relations: Relations) -> None:
    """Make anew what beside atomic events was dropped by hand: entities from the events.

    What was rejected is gone, and without the register of files all of them would be taken again.
    """
    macro, entity, file_format = warehouse.macro, cfg["entity"], cfg["file_format"]
    present = present_relations(warehouse, relations)
    if "landed" not in present and cfg["location"]:
        raise DataError(
            f"{entity}: {relations['landed']} is gone, which lists the files that were read. "
            "Restore the table, or read all landed files again with --full-refresh"
        )
    for name in ("landed", "rejects"):
        if name in present:
            continue
        columns = "landed_columns" if name == "landed" else "rejected_line_columns"
        relation = relations[name]
        macro("clear_leftovers", [relation])
        warehouse.run_all(
            warehouse.of_format(file_format, "create_table", relation, macro(columns), {})
        )
        warehouse.report(f"{entity}: {relation} was gone. The run makes an empty one")
    if "entities" not in present:
        relation, columns = relations["entities"], macro("entity_columns")
        rows_sql = macro("stored_entities_sql", relations["current"])
        make_anew(warehouse, file_format, relation, columns, _BY_SCHEMA, rows_sql)
        warehouse.report(
            f"{entity}: {relation} was gone. The run makes the table again from the events"
        )


def prepare_enriched(warehouse: Warehouse, opened: Opened, staged: Staged | None = None) -> None:
    """Make the tables where they are missing; a full refresh first sets the old ones aside.

    It is in flight before that, by which the next run knows that it has died: see
    run_of_enriched().

    Args:
        warehouse: Where they are.
        opened: What open_load() returned.
        staged: What was staged; `is_prepared` where that has made them.
    """
    cfg, run, state = opened["cfg"], opened["run"], opened["state"]
    relations = opened["relations"]
    if state["replaces"] and staged:
        _set_aside(warehouse, opened, staged)
    if staged and not state["first"]:
        warn_layout(warehouse, cfg, state["recorded"])
    if not state["first"] or (staged and staged.get("is_prepared")):
        return
    if run["full_refresh"] and cfg["manifest"]:
        take_back_claims(warehouse, opened)
    warehouse.macro("clear_leftovers", list(relations.values()))
    warehouse.run_all(_made_by(warehouse, cfg, relations, state["replaces"]))
    if state["replaces"] and cfg["looks_across"] and not cfg["manifest"]:
        keep_claims_of_others(warehouse, opened)


def _made_by(
    warehouse: Warehouse, cfg: Settings, relations: Relations, is_fresh: bool
) -> list[str]:
    """Return the statements that make the tables, that of the events last."""
    macro, statements = warehouse.macro, []
    if cfg["manifest"] and cfg["looks_across"]:
        schema = relations["manifest"].include(identifier=False)
        statements.append(f"create schema if not exists {schema}")
    tables: list[tuple[RelationName, str, Values]] = [
        ("rejects", "rejected_line_columns", {}),
        ("landed", "landed_columns", {}),
        ("entities", "entity_columns", _BY_SCHEMA),
        *((("manifest", "manifest_columns", {}),) if cfg["looks_across"] else ()),
        ("current", "atomic_columns", {**_options_of_events(cfg), "is_fresh": is_fresh}),
    ]
    for name, columns, options in tables:
        statements += warehouse.of_format(
            cfg["file_format"], "create_table", relations[name], macro(columns), options
        )
    return statements


def _options_of_events(cfg: Settings) -> Values:
    """Return what atomic events are made with."""
    properties = {"delta.dataSkippingStatsColumns": ",".join(_STATISTICS)}
    if cfg["file_format"] == "iceberg":
        prefix = "write.metadata.metrics.column."
        properties = {"write.metadata.metrics.default": "none"}
        properties |= {f"{prefix}{name}": "truncate(36)" for name in _STATISTICS}
    return {
        "partition_by": cfg["partition_by"],
        "cluster_by": cfg["cluster_by"],
        "location_root": cfg["location_root"],
        "properties": {**properties, **cfg["table_properties"]},
        "description": cfg["description"],
    }


def _set_aside(warehouse: Warehouse, opened: Opened, staged: Staged) -> None:
    """Give the tables other names, under the number of the last commit; the events are last."""
    cfg, relations, macro = opened["cfg"], opened["relations"], warehouse.macro
    commit = new_commit(warehouse, opened, staged["load"], staged["roles"]["recorded"])
    record_commit(warehouse, opened["commits"], commit, "inflight", {})
    _check_replaced(warehouse, opened, commit)
    own = () if cfg["manifest"] else ("manifest",)
    for name in ("entities", "rejects", "landed", *own, "current"):
        relation = relations[name]
        if not relation_exists(warehouse, relation):
            continue
        old = macro("old_relation", relation, opened["state"]["last_commit_id"])
        if relation_exists(warehouse, old):
            drop_table(warehouse, relation)
        else:
            is_apart = name == "current" and cfg["location_root"] is not None
            warehouse.run_all(macro("rename_table_sql", relation, old, is_apart))


def _check_replaced(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Stop if another run has loaded a batch since this one began, or is about to.

    That batch would be read again, though tables of entities have it by then; see
    check_replaced_log(), which does it of the others.
    """
    current, recorded = opened["relations"]["current"], opened["state"]["recorded"]
    check_is_alone(warehouse, opened, commit)
    if recorded and relation_exists(warehouse, current):
        file_format = recorded.get("file_format") or opened["cfg"]["file_format"]
        commit_id = commit["commit_id"]
        warehouse.run_all(
            warehouse.of_format(file_format, "fence_events", current, commit_id, False)
        )
        check_is_alone(warehouse, opened, commit)


def keep_claims_of_others(warehouse: Warehouse, opened: Opened) -> None:
    """Keep what populate_manifest claimed of other tables in a manifest that was set aside.

    Those are not read anew, and copies of their events are copies still.
    """
    macro, manifest = warehouse.macro, opened["relations"]["manifest"]
    old = macro("old_relation", manifest, opened["state"]["last_commit_id"])
    ids = _populations_of_others(warehouse, opened)
    if ids and relation_exists(warehouse, old):
        sql = f"select * from {old} where _commit_id in ({_listed(ids)})"
        warehouse.run(macro("insert_sql", manifest, macro("manifest_columns"), sql))


def take_back_claims(warehouse: Warehouse, opened: Opened) -> None:
    """Take back what all batches of a model have claimed in a manifest that others share with it.

    It is not set aside with its tables: read anew, its events would be copies of themselves. Not
    what populate_manifest claimed of other tables. After the tables, so that a run that died in
    between is followed by another full refresh.
    """
    macro, manifest = warehouse.macro, opened["relations"]["manifest"]
    if not relation_exists(warehouse, manifest):
        return
    ids = _populations_of_others(warehouse, opened)
    kept = f" and commit_id not in ({_listed(ids)})" if ids else ""
    literal = macro("string_literal", opened["cfg"]["relation"])
    claims = (
        f"select distinct commit_id as _commit_id from {opened['commits']['states']} where "
        f"relation = {literal}{kept}"
    )
    warehouse.run(macro("delete_rows_sql", manifest, claims, ["_commit_id"]))


def _populations_of_others(warehouse: Warehouse, opened: Opened) -> list[int]:
    """Return the commits of populate_manifest that claimed the events of other tables."""
    relation, states = opened["cfg"]["relation"], opened["commits"]["states"]
    current = opened["relations"]["current"]
    sql = warehouse.macro("populations_sql", states, relation, current, of_others=True)
    return [row["commit_id"] for row in warehouse.rows(sql)]


def _listed(ids: list[Any]) -> str:
    return ", ".join(map(str, ids))
