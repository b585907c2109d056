"""An entity goes back to how it stood after a commit, by one more commit of its log."""

from __future__ import annotations

import json
from typing import Any

from tidemark.errors import UsageError
from tidemark.operations.batches import roll_back_batches
from tidemark.operations.entity import is_true, open_entity, report
from tidemark.pipeline.altering import columns_go_back
from tidemark.pipeline.applying import apply_load
from tidemark.pipeline.commits import new_commit
from tidemark.pipeline.committing import check_still_ours, commit_load, record_load, table_versions
from tidemark.pipeline.landing import lands_in_files
from tidemark.pipeline.opening import open_load
from tidemark.pipeline.slices import drop_slices, make_slice
from tidemark.pipeline.timeline import timeline as timeline_of
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.rules.columns_back import recorded_back, renames_back
from tidemark.rules.timeline import before_runs, steps_to, with_last
from tidemark.shapes.load import Derived, Load, Steps
from tidemark.shapes.opened import Opened, Recorded, Relations
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def rollback(warehouse: Warehouse, entity: str, to: Any, together: Any, dry_run: Any) -> None:
    """Take an entity back: the feed shows it as one correction, which can be rolled back itself."""
    is_dry, node = is_true(dry_run), warehouse.macro("entity_node", entity, ["cdc", "atomic"])
    if node["config"]["materialized"] == "atomic":
        if is_true(together):
            raise UsageError(
                f"{entity}: together rolls back cdc models, and only with another model. Leave "
                "together out: enriched events are rolled back alone"
            )
        roll_back_batches(warehouse, node, to, is_dry)
        return
    opened = open_entity(warehouse, entity, "roll back", is_dry)
    if to is None:
        raise UsageError(
            f"{entity}: `to` is missing. Give a commit id, a business date or a timestamp. `dbt "
            "run-operation show_commits` lists the commits"
        )
    steps, ways = rollback_steps(warehouse, opened, to), []
    if is_true(together):
        _settle_entities_of_runs(warehouse, opened, steps, is_dry)
        for other, before in _entities_of_runs(warehouse, opened, steps):
            its_opened = open_entity(warehouse, other, "roll back", is_dry)
            ways.append((its_opened, rollback_steps(warehouse, its_opened, before)))
    # what cannot go back is told before anything does
    known = [
        (its_opened, with_columns_back(warehouse, its_opened, its_steps))
        for its_opened, its_steps in [*ways, (opened, steps)]
    ]
    for its_opened, its_steps in known:
        roll_back(warehouse, its_opened, its_steps, is_dry)


def rollback_steps(warehouse: Warehouse, opened: Opened, to: Any) -> Steps:
    """Return the commit that `to` stands for, and what going back to it undoes or has hold again.

    Raises:
        UsageError: There is no commit so early.
    """
    cfg, commits = opened["cfg"], opened["commits"]
    ends = {"from": to, "argument": "to"}
    target = int(warehouse.macro("span_of", cfg, commits, ends, "rollback")["from"] or 0)
    if target == 0:
        raise UsageError(
            f"rollback: {cfg['entity']} has no commit at or before {to}. Give a later moment, "
            "or begin again from nothing with --full-refresh"
        )
    return steps_to(timeline_of(warehouse, commits, cfg["relation"]), target)


def with_columns_back(warehouse: Warehouse, opened: Opened, steps: Steps) -> Steps:
    """Return steps with what the entity is held to then, and how columns are renamed for that."""
    if not steps["undone"] and not steps["redone"]:
        return steps
    back = _recorded_at(warehouse, opened, steps["target"])
    now = opened["state"]["recorded"]["columns"]
    renames = renames_back(opened["cfg"]["entity"], now, back["columns"])
    return {**steps, "back": back, "renames": renames}


def _recorded_at(warehouse: Warehouse, opened: Opened, target: int) -> Recorded:
    cfg, recorded = opened["cfg"], opened["state"]["recorded"]
    if recorded["extract"] != "events":
        return {**recorded}
    states = opened["commits"]["states"]
    sql = warehouse.macro("config_at_sql", states, cfg["relation"], target)
    then = warehouse.rows(sql)[0]["config"]
    named = [column["name"].lower() for column in cfg["columns"]]
    named += [key.lower() for key in cfg["keys"]]
    return recorded_back(recorded, json.loads(then) if then else None, named)


def roll_back(warehouse: Warehouse, opened: Opened, steps: Steps, dry_run: bool) -> None:
    """Go back by steps that with_columns_back() returned, or say what that would do."""
    macro, cfg, relations = warehouse.macro, opened["cfg"], opened["relations"]
    entity, state, target = cfg["entity"], opened["state"], steps["target"]
    if not steps["undone"] and not steps["redone"]:
        report(warehouse, entity, f"is at commit {target} already, nothing to roll back")
        return
    recorded, back = state["recorded"], steps["back"]
    roles: Roles = macro("recorded_roles", recorded)
    # the log still has the values of columns that are gone from current
    whole: Roles = {
        **roles,
        "stored": roles["stored"] + roles["gone"],
        "gone": [],
        "sensitive": roles["sensitive"] + roles["gone_sensitive"],
    }
    slice_sql = macro("rollback_slice_sql", whole, relations, target)
    seen = warehouse.rows(macro("rollback_figures_sql", slice_sql))[0]
    _report_steps(warehouse, opened, steps, seen, dry_run)
    if dry_run:
        return
    load: Load = {
        "commit_id": macro("next_commit_id", state["last_id"]),
        "kind": "rollback",
        "business_date": seen["first_date"] or steps["last_date"],
        "last_commit_id": state["last_commit_id"],
        "forward": False,
        "rebuild": False,
    }
    load = with_last(load, steps)
    commit = new_commit(warehouse, opened, load, back)
    commit = {**commit, "business_date": None, "source_commit_id": target}
    rows = make_slice(warehouse, cfg["target"], load["commit_id"], "log", slice_sql)
    held: Opened = {**opened, "cfg": macro("recorded_cfg", cfg, recorded)}
    copies = int(seen["copy_count"] or 0)
    beside = []
    if whole["sensitive"] and copies:
        columns = macro("sensitive_columns", whole)
        sql = macro("restored_sensitive_sql", whole, relations, rows, load["commit_id"])
        beside = [macro("insert_sql", relations["sensitive"], columns, sql)]
    derived: Derived = {
        "outcome": "commit",
        "load": load,
        "slice": rows,
        "numbers": table_versions(warehouse, held["cfg"], relations, "before"),
        "figures": {"rows_logged": copies, "rows_superseded": int(seen["mark_count"] or 0)},
        "beside": beside,
    }
    commit_load(warehouse, held, whole, derived, commit)
    drop_slices(warehouse, cfg["target"])
    check_still_ours(warehouse, held, derived, commit)
    is_remade = columns_go_back(warehouse, held["cfg"], relations, recorded, back)
    load = {**load, "business_date": steps["last_date"], "rebuild": is_remade}
    apply_load(warehouse, held, macro("recorded_roles", back), load, commit, derived["figures"])
    record_load(warehouse, held, derived, commit)
    report(warehouse, entity, f"is back at commit {target}, by commit {load['commit_id']}")


def _report_steps(
    warehouse: Warehouse, opened: Opened, steps: Steps, seen: Values, dry_run: bool
) -> None:
    cfg = opened["cfg"]
    entity = cfg["entity"]
    report(
        warehouse,
        entity,
        f"{'would go' if dry_run else 'going'} back to commit {steps['target']}: "
        f"{counted(int(seen['mark_count'] or 0), 'log row')} superseded, "
        f"{int(seen['copy_count'] or 0):,} appended anew",
    )
    moved = ((steps["undone"], "undoes"), (steps["redone"], "makes hold again"))
    for commits, label in moved:
        for commit in commits:
            of = f" of {commit['business_date']}" if commit["business_date"] else ""
            if commit.get("is_correction") and commit["kind"] == "load":
                of += ", a correction"
            counts = ", ".join(
                f"{letter} {commit[f'rows_{what}'] or 0}"
                for letter, what in (("I", "inserted"), ("U", "updated"), ("D", "deleted"))
            )
            line = f"  {label} commit {commit['commit_id']} ({commit['kind']}{of}): {counts}"
            report(warehouse, entity, line)
    for old, new in steps["renames"]:
        report(warehouse, entity, f"  renames column `{old}` to `{new}`")
    if cfg["extract"] == "events" and steps["undone"]:
        _report_retaken(warehouse, opened, steps)


def _report_retaken(warehouse: Warehouse, opened: Opened, steps: Steps) -> None:
    """Say what the next run will take again, as it was read by commits that are undone."""
    cfg, entity = opened["cfg"], opened["cfg"]["entity"]
    if not lands_in_files(warehouse, cfg):
        what = "  what the source still has of their events the next run takes again"
        report(warehouse, entity, what)
        return
    ids = [commit["commit_id"] for commit in steps["undone"]]
    file = warehouse.macro("landed_file")
    count, first, last = warehouse.run(
        f"select count(distinct {file}), min({file}), max({file}) from "
        f"{opened['relations']['landed']} where _commit_id in ({', '.join(map(str, ids))})"
    )[0]
    if not count:
        return
    gone = len(files_gone(warehouse, cfg, opened["relations"], ids))
    span = f"{first} … {last}" if count > 1 else first
    report(
        warehouse,
        entity,
        f"  the next run reads these files again, unless you move them away first: {count} ({span})"
        + (f"; gone by now: {gone}" if gone else ""),
    )


def files_gone(
    warehouse: Warehouse, cfg: Settings, relations: Relations, commit_ids: list[int]
) -> list[str]:
    """Return the files that these commits read and that are not where events land any more."""
    if not commit_ids or not lands_in_files(warehouse, cfg):
        return []
    # a query of a folder that is not there fails
    if warehouse.macro("files_at", cfg["location"]):
        sql = warehouse.macro("files_gone_sql", relations["landed"], cfg["location"], commit_ids)
    else:
        sql = (
            f"select distinct {warehouse.macro('landed_file')} from {relations['landed']} "
            f"where _commit_id in ({', '.join(map(str, commit_ids))})"
        )
    return [row[0] for row in warehouse.run(sql)]


def _other_entities(warehouse: Warehouse, opened: Opened) -> dict[str, Values]:
    """Return the cdc models of the project but for an entity's own, by relation."""
    nodes = warehouse.macro("models_of", ["cdc"])
    found = {f"{node['schema']}.{node['alias']}": node for node in nodes}
    return {name: node for name, node in found.items() if name != opened["cfg"]["relation"]}


def _runs_of(steps: Steps) -> list[str | None]:
    return list(dict.fromkeys(commit["invocation_id"] for commit in steps["undone"]))


def _settle_entities_of_runs(
    warehouse: Warehouse, opened: Opened, steps: Steps, dry_run: bool
) -> None:
    """Finish or roll back what the runs that are undone have left in flight in other entities."""
    runs = [run for run in _runs_of(steps) if run]
    if not runs:
        return
    sql = warehouse.macro("_inflight_of_runs_sql", opened["commits"]["states"], runs)
    relations = [row[0] for row in warehouse.run(sql)]
    for relation, node in _other_entities(warehouse, opened).items():
        if relation in relations:
            cfg = warehouse.macro("entity_config", node)
            open_load(warehouse, cfg, {**opened["run"], "dry_run": dry_run})


def _entities_of_runs(warehouse: Warehouse, opened: Opened, steps: Steps) -> list[tuple[str, int]]:
    """Return the others that the runs which are undone wrote, each with the commit before them."""
    others = []
    for relation, node in _other_entities(warehouse, opened).items():
        timeline = timeline_of(warehouse, opened["commits"], relation)
        at = before_runs(timeline, _runs_of(steps))
        if at["first"] is not None and at["before"] is None:
            first = "its first load came from the same run; there is nothing before it to go back"
            report(warehouse, node["name"], f"{first} to, so it stays")
        elif at["before"] is not None and at["first"] is not None:
            others.append((relation, at["before"]))
    return others
