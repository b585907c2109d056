"""An entity's log gets the hashes of its present configuration."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError
from tidemark.hashing.recipe import RECIPE_VERSION
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean
from tidemark.operations.entity import (
    entity_config,
    is_true,
    operation_commit,
    replace_log,
    report,
)
from tidemark.pipeline.commits import ensure_commits, entity_state, record_commit
from tidemark.pipeline.extracts import type_compared_values
from tidemark.pipeline.given import pepper_check
from tidemark.pipeline.replacing import has_concurrent_erase
from tidemark.pipeline.tables import evolve_rejects
from tidemark.pipeline.warehouse import Warehouse
from tidemark.printable import counted
from tidemark.rules.column_roles import had_deltas
from tidemark.rules.drift import column_role, keys_in_order, recorded_layout, shown
from tidemark.rules.names import is_chosen
from tidemark.rules.timeline import with_last
from tidemark.shapes.load import Load
from tidemark.shapes.opened import (
    Inflight,
    Opened,
    Recorded,
    RecordedColumn,
    RelationName,
    Relations,
)
from tidemark.shapes.settings import Settings


def rehash(warehouse: Warehouse, entity: str, drop: Any, dry_run: Any) -> None:
    """Give a log other hashes, without a new version of any row.

    New tables are filled beside the old ones and take their names when they are whole; the old ones
    stay as `<table>_<commit>` until they are cleaned. An interrupted rehash is finished or rolled
    back by the entity's next run.
    """
    macro, cfg = warehouse.macro, entity_config(warehouse, entity)
    is_dry, drop = is_true(dry_run), [drop] if isinstance(drop, str) else drop
    macro("refuse_events", cfg, "rehash")
    run, relations = macro("run_config"), macro("side_relations", cfg["target"])
    commits = ensure_commits(warehouse, run)
    state = entity_state(warehouse, commits, cfg["relation"], run)
    recorded = state["recorded"]
    if has_concurrent_erase(warehouse, commits, cfg["relation"], state["last_id"]):
        raise DataError(
            f"{entity}: a call of erase_key is at work, or died. Nothing was written. Call "
            "erase_key again with the same key to finish"
        )
    keys = keys_in_order(cfg, recorded)
    cfg = {**cfg, "keys": keys, "has_deltas": bool(recorded and had_deltas(recorded))}
    wanted = rehashed_config(cfg, recorded, drop, state["inflight"])
    roles = macro("recorded_roles", wanted, cfg)
    type_compared_values(warehouse, cfg, roles)
    if roles["sensitive"]:
        wanted = {**wanted, "pepper": pepper_check(warehouse, cfg)}

    rows = warehouse.run(f"select count(*) from {relations['log']}")[0][0]
    compared = ", ".join(column["name"] for column in roles["compared"])
    does = "would rehash" if is_dry else "rehashing"
    report(
        warehouse,
        entity,
        f"{does} {counted(rows, 'log row')} with {wanted['hash']} over {compared}",
    )
    if is_dry:
        return
    opened: Opened = {
        "cfg": cfg,
        "run": run,
        "relations": relations,
        "commits": commits,
        "state": state,
    }
    commit = operation_commit(
        warehouse, opened, "rehash", config=wanted, source_commit_id=state["last_commit_id"]
    )
    record_commit(warehouse, commits, commit, "inflight", {"rows_logged": rows})
    evolve_rejects(warehouse, relations["rejects"])
    before = None if _keeps_key_hashes(recorded, wanted) else recorded["hash"]
    hashes = {"now": wanted["hash"], "before": before}
    warehouse.run_all(macro("rehash_sql", cfg, roles, hashes, relations))
    if before:
        _report_lost_keys(warehouse, cfg, relations)
    load: Load = {
        "kind": "rehash",
        "forward": False,
        "commit_id": commit["commit_id"],
        "business_date": state["last_date"],
    }
    load = with_last(load, state)
    replace_log(warehouse, opened, roles, load, commit, rows)
    report(warehouse, entity, f"rehashed in commit {commit['commit_id']}")


def _keeps_key_hashes(recorded: Recorded, wanted: Recorded) -> bool:
    names = ("hash", "recipe", "pepper")
    return [recorded.get(name) for name in names] == [wanted.get(name) for name in names]


def _report_lost_keys(warehouse: Warehouse, cfg: Settings, relations: Relations) -> None:
    """Say how many rows beside the log have no hash of their key any more.

    Neither the log nor they themselves show the key.
    """
    names: list[RelationName] = ["rejects"]
    for name in [*names, "supplied"] if warehouse.macro("has_deltas", cfg) else names:
        relation = relations[name]
        now, before = (
            warehouse.macro("row_count", table, "_key_hash is null")
            for table in (warehouse.macro("new_relation", relation), relation)
        )
        if now > before:
            rows = f"{counted(now - before, 'row')} of {relation.identifier}"
            lost = f"of {rows} the key is not known any more: the log never had it"
            report(warehouse, cfg["entity"], lost)


def rehashed_config(
    cfg: Settings, recorded: Recorded | None, drop: list[str], inflight: list[Inflight]
) -> Recorded:
    """Return what the entity will be held to after a rehash.

    Raises:
        ConfigError: A rehash cannot change something that is another.
    """
    if recorded is None:
        raise_problems(cfg["entity"], ["it has no log yet: there is nothing to rehash"])
        return {}
    names = [column["name"].lower() for column in recorded["columns"]]
    raise_problems(cfg["entity"], _problems(cfg, recorded, drop, inflight, names))
    dropped = [name.lower() for name in drop]
    others = [name.lower() for name in cfg["keys"] + cfg["ignore"]]
    declared = {column["name"].lower(): column["settings"] for column in cfg["columns"]}
    columns: list[RecordedColumn] = []
    for column in recorded["columns"]:
        name = column["name"]
        is_dropped = name.lower() in dropped or column.get("dropped", False)
        is_compared = name.lower() not in others and is_chosen(cfg["compare"], name)
        known: RecordedColumn = {
            "name": name,
            "type": column["type"],
            "sensitive": column["sensitive"],
            "role": column_role(
                {"key": column["role"] == "key", "ignored": is_dropped or not is_compared}
            ),
            "dropped": is_dropped,
        }
        if column.get("not_null") and not is_dropped:
            known["not_null"] = True
        if declared.get(name.lower(), {}).get("compare_as"):
            known["compare_as"] = declared[name.lower()]["compare_as"]
        columns.append(known)
    return {
        **recorded,
        "hash": cfg["hash"],
        "recipe": RECIPE_VERSION,
        "columns": columns,
        "layout": recorded_layout(cfg),
    }


def _problems(
    cfg: Settings, recorded: Recorded, drop: list[str], inflight: list[Inflight], names: list[str]
) -> list[str]:
    errors = []
    if inflight:
        errors.append("a commit is in flight. Run the model once to finish the commit")
    if recorded["hash"] == "xxhash64x2":
        errors.append(
            "this release does not compute the hash xxhash64x2 of the entity. Rehash the "
            "entity by the release before, or start a new log with --full-refresh"
        )
    for name in ("keys", "stored_hashes", "file_format"):
        if str(cfg[name]).lower() != str(recorded[name]).lower():
            label = "unique_key" if name == "keys" else name
            change = f"{label} was {shown(recorded[name])} and is now {shown(cfg[name])}"
            errors.append(f"{change}, which needs a new log: --full-refresh")
    if cfg["stored_hashes"]:
        errors.append(
            "the hashes of the entity come from the model (stored_hashes). Start a new log "
            "with --full-refresh"
        )
    for name in drop:
        if name.lower() not in names:
            hint = did_you_mean(name, names)
            errors.append(f"drop names `{name}`, which the log does not have{hint}")
    return errors
