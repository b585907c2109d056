"""A model's tables in another schema, over the same files, with commits that go on from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tidemark.errors import DataError, UsageError
from tidemark.operations.entity import asked_run, is_true, report
from tidemark.operations.tables import SIDES, kept_tables
from tidemark.pipeline.commits import ensure_commits, entity_state, known_states, record_commit
from tidemark.pipeline.promoting import copy_commits
from tidemark.pipeline.tables import make_history_view, relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.rules.clones import commits_schema_there, deferred_schemas, schema_there
from tidemark.rules.commits import CommitState, last_states
from tidemark.shapes.opened import Commit, Commits, Run
from tidemark.shapes.settings import Settings

KINDS = ["cdc", "atomic", "scd2", "feed", "shred"]
_TRIES = 3


class Entity(NamedTuple):
    """A model's tables in one schema.

    Attributes:
        name: The model.
        current: Its table, a relation.
        commits: Where its commits are.
    """

    name: str
    current: Any
    commits: Commits

    @property
    def relation(self) -> str:
        """The table as tidemark_commits names it."""
        return f"{self.current.schema}.{self.current.identifier}"


def clone(
    warehouse: Warehouse, entity: str, to: Any, replace: Any, remove: Any, dry_run: Any
) -> None:
    """Clone a model, or remove its clone.

    The clone is recorded in flight first and its commits last, so that what a killed call left is
    known as that: the next call begins anew.
    """
    macro = warehouse.macro
    check_links_files(warehouse)
    node, run = macro("entity_node", entity, KINDS), asked_run(warehouse, is_true(dry_run))
    here = entity_here(warehouse, node, run)
    there = entity_there(warehouse, here, run, to)
    own = commits_of(warehouse, there)
    if is_true(remove):
        _remove(warehouse, node, there, own, is_true(dry_run))
        return
    _check_free(warehouse, here, there, own, is_true(replace))
    if is_true(dry_run):
        _settled(warehouse, here)
        tables = _tables(warehouse, node, here.current)
        report(
            warehouse, entity, f"would clone {counted(len(tables), 'table')} to {there.relation}"
        )
        return
    _clone(warehouse, node, (here, there), own, base_schemas(warehouse, to))
    _warn_location(warehouse, node)


def check_links_files(warehouse: Warehouse) -> None:
    """Stop where Spark is at the end of a wire.

    Raises:
        UsageError: It is.
    """
    if not warehouse.macro("can", "remove_files"):
        raise UsageError(
            "clone and promote link files, which needs `method: session`. Write `method: session` "
            "in the profile"
        )


def _warn_location(warehouse: Warehouse, node: Values) -> None:
    """Warn of a folder that the original and a target of the clone would share."""
    own = (node["config"].get("meta") or {}).get("tidemark") or {}
    if node["config"].get("location_root") or own.get("location_root"):
        warehouse.warn(
            str(node["name"]),
            "the entity has a location_root, which its clone does not use. Give the target of "
            "the clone another location_root. Otherwise a full refresh there writes into the "
            "folder of the original",
        )


def begin_deferred(warehouse: Warehouse, node: Values, state: str) -> None:
    """Have a model that dbt defers, and that has no table yet, begin with a clone of the other one.

    Args:
        warehouse: Where both are.
        node: The model.
        state: The folder of `--state`, with the manifest of the other target.
    """
    macro = warehouse.macro
    if not macro("can", "remove_files"):
        return
    run = macro("run_config")
    there = entity_here(warehouse, node, run)
    current, own = there.current, commits_of(warehouse, there)
    is_left = bool(own) and mark_of(own[:1]) is not None and own[0]["state"] == "inflight"
    if (own and not is_left) or (not own and relation_exists(warehouse, current)):
        return
    manifest = Path(state) / "manifest.json"
    other = _tables_in(manifest, manifest.stat().st_mtime_ns).get(str(node["unique_id"]))
    schemas = other and deferred_schemas(macro("target_schema"), current.schema, other["schema"])
    if not schemas:
        return
    was, now = schemas
    commits_schema = commits_schema_there(run["commits_schema"], now, was)
    others = macro("commits_relations", {**run, "commits_schema": commits_schema})
    here = Entity(there.name, current.incorporate(path=other), others)
    is_there = relation_exists(warehouse, others["states"])
    if is_there and any(one["state"] == "completed" for one in commits_of(warehouse, here)):
        _clone(warehouse, node, (here, there), own, schemas)


@lru_cache(maxsize=1)
def _tables_in(manifest: Path, written: int) -> dict[str, dict[str, str]]:
    """Return the tables of a manifest of dbt by the ids of their nodes: each model asks for one.

    Args:
        manifest: The file.
        written: When it was: of another time it is another one.
    """
    nodes = json.loads(manifest.read_text(encoding="utf-8"))["nodes"]
    return {
        name: {"schema": node["schema"], "identifier": node["alias"]}
        for name, node in nodes.items()
        if "alias" in node
    }


def _clone(
    warehouse: Warehouse,
    node: Values,
    entities: tuple[Entity, Entity],
    own: list[CommitState],
    schemas: tuple[str, str],
) -> None:
    """Clone a model.

    Args:
        warehouse: Where it is.
        node: The model.
        entities: The original, and the clone to be.
        own: The commits that there are of the clone.
        schemas: What their schemas begin with.
    """
    (here, there), run = entities, warehouse.macro("run_config")
    commits = _settled(warehouse, here)
    mark = _mark(warehouse, here, there, commits, own, run)
    record_commit(warehouse, there.commits, mark, "inflight", {})
    _drop(warehouse, node, there)
    _forget(warehouse, there, f"commit_id <> {mark['commit_id']}")
    warehouse.run(f"create schema if not exists {there.current.include(identifier=False)}")
    copied, commits = _clone_tables(warehouse, node, here, there, commits)
    mark = {**mark, "source_commit_id": commits[0]["commit_id"]}
    copy_commits(
        warehouse,
        (here.commits["states"], there.commits["states"]),
        (here.relation, there.relation),
        schemas,
        (there.current, mark["commit_id"]),
    )
    if node["config"]["materialized"] == "cdc":
        _make_history(warehouse, node, there, run)
    record_commit(warehouse, there.commits, mark, "completed", {})
    copies = f", {counted(copied, 'file')} as copies, as they could not be linked" if copied else ""
    report(warehouse, there.name, f"{here.relation} is cloned to {there.relation}{copies}")


def entity_here(warehouse: Warehouse, node: Values, run: Run) -> Entity:
    """Return a model's tables as the target has them."""
    current = warehouse.macro("_table_of", node)
    return Entity(str(node["name"]), current, ensure_commits(warehouse, run))


def base_schemas(warehouse: Warehouse, schema: Any) -> tuple[str, str]:
    """Return the schema of the target, and that of its clones."""
    if not isinstance(schema, str) or not schema.strip():
        raise UsageError(
            f"the name of the clone's schema cannot be used: {schema}. Give another name, such as "
            "dev"
        )
    return str(warehouse.macro("target_schema")), schema.strip()


def entity_there(warehouse: Warehouse, here: Entity, run: Run, schema: Any) -> Entity:
    """Return a model's tables as its clone has them.

    A schema that begins with that of the target, as those of `+schema` do, has its clone in one
    that begins with the other.

    Raises:
        UsageError: It has no other place.
    """
    was, now = base_schemas(warehouse, schema)
    there = schema_there(here.name, str(here.current.schema), was, now)
    current = here.current.incorporate(path={"schema": there})
    commits_schema = commits_schema_there(run["commits_schema"], was, now)
    other: Run = {**run, "commits_schema": commits_schema}
    return Entity(here.name, current, ensure_commits(warehouse, other))


def commits_of(warehouse: Warehouse, entity: Entity) -> list[CommitState]:
    """Return the commits of a model in their last states, the last one first."""
    states = known_states(warehouse, entity.commits, entity.relation)
    if states is None:
        names = ", ".join(warehouse.macro("known_commit_columns"))
        commits = warehouse.macro("last_commits_sql", entity.commits["states"], entity.relation)
        states = warehouse.rows(f"select {names} from {commits} order by commit_id desc")
    return last_states(states)


def mark_of(own: Sequence[CommitState], source: str | None = None) -> CommitState | None:
    """Return the commit that made a clone; None: these are commits of none.

    Args:
        own: The commits of what may be one.
        source: Of which table; None: of any.
    """
    return next(
        (
            one
            for one in own
            if one["kind"] == "clone" and (source is None or one["source_relation"] == source)
        ),
        None,
    )


def _settled(warehouse: Warehouse, here: Entity) -> list[CommitState]:
    """Return a model's commits, none of which is in flight.

    Raises:
        DataError: One is, or there is none.
    """
    commits = commits_of(warehouse, here)
    for one in commits:
        if one["state"] == "inflight":
            raise DataError(
                f"{here.name}: commit {one['commit_id']} is in flight: a run is at work, or "
                "died. Wait for the run, then clone again. If the run died, run the model first"
            )
    if not any(one["state"] == "completed" for one in commits):
        raise DataError(
            f"{here.name}: there is nothing to clone, as nothing was loaded yet. Run the model "
            "first"
        )
    return commits


def _check_free(
    warehouse: Warehouse, here: Entity, there: Entity, own: list[CommitState], replaces: bool
) -> None:
    """Stop where the place of a clone is taken."""
    mark = mark_of(own)
    if mark is not None:
        if mark["state"] != "completed" or replaces:
            return
        raise UsageError(
            f"{here.name}: {there.relation} is a clone already, of commit "
            f"{mark['source_commit_id']}. Add --replace to clone the entity again. This removes "
            "what was loaded into the clone"
        )
    if own or relation_exists(warehouse, there.current):
        raise UsageError(
            f"{here.name}: {there.relation} is not a clone. Name another schema, or drop the "
            "entity there: dbt run-operation drop_entity --args "
            f"'{{entity: {here.name}}}' with --target of a target whose schema it is"
        )


def _mark(
    warehouse: Warehouse,
    here: Entity,
    there: Entity,
    commits: list[CommitState],
    own: list[CommitState],
    run: Run,
) -> Commit:
    """Return the commit that records a clone.

    It tells the last commit of the original, whatever that was of.
    """
    last_id = max(one["commit_id"] for one in [*commits[:1], *own[:1]])
    return {
        "commit_id": warehouse.macro("next_commit_id", last_id),
        "relation": there.relation,
        "entity": there.name,
        "kind": "clone",
        "started_at": warehouse.macro("utc_now"),
        "invocation_id": run["invocation_id"],
        "source_relation": here.relation,
        "source_commit_id": commits[0]["commit_id"],
    }


def clones_of(warehouse: Warehouse, relation: str) -> list[str]:
    """Return the clones that there are of a table, wherever they are, as schema.name.

    They are looked for, as a clone leaves nothing with its original.
    """
    macro, found = warehouse.macro, set()
    run = macro("run_config")
    for schema in {*warehouse.adapter.list_schemas(None), run["commits_schema"]}:
        states = macro("commits_relations", {**run, "commits_schema": schema})["states"]
        if relation_exists(warehouse, states):
            found |= {
                row["name"] for row in warehouse.rows(macro("clones_of_sql", states, relation))
            }
    return sorted(
        name for name in found if relation_exists(warehouse, macro("relation_named", name))
    )


def _tables(warehouse: Warehouse, node: Values, current: Any) -> list[Any]:
    """Return the tables of a model that are there, the log last: what has none is no entity."""
    kind = node["config"]["materialized"]
    if kind == "cdc":
        relations = warehouse.macro("side_relations", current)
        named = [relations[name] for name in SIDES if name != "log"]
        named += [table for table, _ in kept_tables(warehouse, current)]
        named.append(relations["log"])
    elif kind == "atomic":
        cfg = {**warehouse.macro("atomic_config", node), "target": current}
        relations = warehouse.macro("atomic_relations", {**cfg, "manifest": None})
        named = [*relations.values()]
    else:
        named = [current]
    return [table for table in named if relation_exists(warehouse, table)]


def _clone_tables(
    warehouse: Warehouse, node: Values, here: Entity, there: Entity, commits: list[CommitState]
) -> tuple[int, list[CommitState]]:
    """Clone the tables as they stand between two commits.

    Returns:
        How many files were copied, and the commits that the tables have: a load may have come.
    """
    for _ in range(_TRIES):
        copied = 0
        for table in _tables(warehouse, node, here.current):
            target = table.incorporate(path={"schema": there.current.schema})
            copied += warehouse.adapter.clone_table(table, target)
        if commits_of(warehouse, here) == commits:
            return copied, commits
        _drop(warehouse, node, there)
        commits = _settled(warehouse, here)
    raise DataError(
        f"{here.name}: runs wrote to the entity during each attempt to clone. Clone the entity "
        "when "
        "no run is at work"
    )


def _make_history(warehouse: Warehouse, node: Values, there: Entity, run: Run) -> None:
    """Make the view of the rows in force of a clone, as its log is by now."""
    cfg = warehouse.macro("entity_config", node)
    recorded = entity_state(warehouse, there.commits, there.relation, run)["recorded"]
    held: Settings = warehouse.macro("recorded_cfg", {**cfg, "target": there.current}, recorded)
    roles = warehouse.macro("recorded_roles", recorded, cfg)
    make_history_view(warehouse, held, roles, warehouse.macro("side_relations", there.current))


def _drop(warehouse: Warehouse, node: Values, there: Entity) -> None:
    """Drop what there is of a clone."""
    history = warehouse.macro("side_relation", there.current, "history")
    warehouse.run(f"drop view if exists {history}")
    for table in _tables(warehouse, node, there.current):
        warehouse.adapter.drop_clone(table)


def _forget(warehouse: Warehouse, there: Entity, condition: str) -> None:
    """Forget commits of a clone."""
    relation = warehouse.macro("string_literal", there.relation)
    states = there.commits["states"]
    warehouse.run(f"delete from {states} where relation = {relation} and {condition}")


def _remove(
    warehouse: Warehouse, node: Values, there: Entity, own: list[CommitState], is_dry: bool
) -> None:
    if mark_of(own) is None:
        raise UsageError(
            f"{there.name}: {there.relation} is not a clone, so nothing was removed. Name the "
            "schema of a clone"
        )
    if is_dry:
        report(warehouse, there.name, f"would remove its clone {there.relation}")
        return
    _drop(warehouse, node, there)
    _forget(warehouse, there, "true")
    report(warehouse, there.name, f"removed its clone {there.relation}")
