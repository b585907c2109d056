"""The tables of an entity with a log: made, brought up to date, made anew where they are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.column_roles import had_deltas
from tidemark.rules.drift import changed_layout
from tidemark.shapes.load import Staged
from tidemark.shapes.opened import Opened, Recorded, RelationName, Relations
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Loaded, Settings

SWAPPED: tuple[RelationName, ...] = (
    "rejects",
    "supplied",
    "sensitive",
    "staging",
    "landed",
    "log_table",
)
"""What may be written beside the old one to take its name, by what it holds; the log is last."""


def prepare_tables(warehouse: Warehouse, opened: Opened, staged: Staged) -> None:
    """Make the entity's tables and views where they are missing, or bring them up to date.

    A full refresh writes a new log beside the old one, so that the old one stays until the new one
    is whole.

    Args:
        warehouse: Where they are.
        opened: What open_load() returned.
        staged: What was staged: `roles`, and `alters` where tables that are there are altered.
    """
    cfg, relations, state = opened["cfg"], opened["relations"], opened["state"]
    roles = staged["roles"]
    if not state["first"]:
        if not state["recorded"].get("marks_rejects"):
            evolve_rejects(warehouse, relations["rejects"])
        warn_layout(warehouse, cfg, state["recorded"])
    if staged.get("alters"):
        evolve_tables(warehouse, opened, roles)
    if state["first"]:
        _make_all(warehouse, opened, roles)
    elif _gets_first_delta(warehouse, opened):
        table = side_tables(warehouse, cfg, roles)["supplied"]
        make_side(warehouse, cfg["file_format"], relations["supplied"], table)


def _gets_first_delta(warehouse: Warehouse, opened: Opened) -> bool:
    has_deltas = warehouse.macro("has_deltas", opened["cfg"])
    if not has_deltas or had_deltas(opened["state"]["recorded"]):
        return False
    return not relation_exists(warehouse, opened["relations"]["supplied"])


def _make_all(warehouse: Warehouse, opened: Opened, roles: Roles) -> None:
    """Make log and side tables, beside the old ones of a full refresh; else current too."""
    cfg, relations, has_log = opened["cfg"], opened["relations"], opened["state"]["has_log"]
    if has_log:
        # Also what a rehash left that was taken for dead: it would take names with the new log.
        drop_new_log(warehouse, relations)
    targets = write_relations(warehouse, opened)
    warehouse.run(f"create schema if not exists {cfg['target'].include(identifier=False)}")
    warehouse.macro("clear_leftovers", [targets[name] for name in SWAPPED])
    columns = warehouse.macro("log_columns", roles)
    warehouse.run_all(warehouse.of_format(cfg["file_format"], "create_log", cfg, targets, columns))
    for name, table in side_tables(warehouse, cfg, roles).items():
        make_side(warehouse, cfg["file_format"], targets[name], table, is_clear=True)
    if has_log:
        evolve_rejects(warehouse, targets["rejects"])
    else:
        make_current(warehouse, cfg, roles, relations)
        make_history_view(warehouse, cfg, roles, relations)


def make_side(
    warehouse: Warehouse, file_format: str, relation: Any, table: Values, is_clear: bool = False
) -> None:
    """Make a table beside the log; what a killed run left in its folder goes first."""
    if not is_clear:
        warehouse.macro("clear_leftovers", [relation])
    columns, options = table["columns"], table["options"]
    warehouse.run_all(warehouse.of_format(file_format, "create_table", relation, columns, options))


def side_tables(warehouse: Warehouse, cfg: Settings, roles: Roles) -> dict[RelationName, Values]:
    """Return the tables beside log and current that an entity has: {columns, options} by name."""
    macro, beside = warehouse.macro, {"side": True}
    tables: dict[RelationName, Values] = {}
    if roles["sensitive"]:
        tables["sensitive"] = {"columns": macro("sensitive_columns", roles), "options": beside}
    if macro("has_deltas", cfg):
        tables["supplied"] = {"columns": macro("supplied_columns"), "options": beside}
    elif cfg["extract"] == "events":
        by_batch = {"partition_by": ["_batch_id"]}
        tables["staging"] = {"columns": macro("staging_columns", cfg, roles), "options": by_batch}
        tables["landed"] = {"columns": macro("landed_columns"), "options": {}}
    tables["rejects"] = {"columns": macro("rejects_columns"), "options": beside}
    return tables


def write_relations(warehouse: Warehouse, opened: Opened) -> Relations:
    """Return where a run writes, by what it holds.

    Log and sensitive of a full refresh lie beside the old ones.
    """
    targets, state = dict(opened["relations"]), opened["state"]
    if state["first"] and state.get("has_log"):
        names: list[RelationName] = ["log", "log_table", "sensitive", "staging", "landed"]
        targets.update({name: warehouse.macro("new_relation", targets[name]) for name in names})
    return targets


def make_current(warehouse: Warehouse, cfg: Settings, roles: Roles, relations: Relations) -> None:
    """Make the current table; a view or a table of somebody else's gives way to a full refresh."""
    current = relations["current"]
    existing = cached_relation(warehouse, current)
    is_there = existing is not None
    stays = bool(cfg["location_root"] and is_there and existing.is_table)
    if is_there and not stays and relation_exists(warehouse, current):
        drop = warehouse.macro("drop_table_sql", current)
        warehouse.run(f"drop view if exists {current}" if existing.is_view else drop)
    warehouse.macro("clear_leftovers", [current])
    options = {
        "partition_by": cfg["partition_by"],
        "cluster_by": cfg["cluster_by"],
        "location_root": cfg["location_root"],
        "replaces": stays,
        "properties": _current_properties(warehouse, cfg),
        "description": cfg["description"] if cfg["persist_docs"].get("relation") else "",
    }
    columns = warehouse.macro("current_columns", cfg, roles)
    warehouse.run_all(
        warehouse.of_format(cfg["file_format"], "create_table", current, columns, options)
    )


def _current_properties(warehouse: Warehouse, cfg: Settings) -> Values:
    """Return properties of current: the write mode, statistics, those of the model, which win.

    A table of hashed keys is looked up by them; of the columns by which it is clustered Delta keeps
    statistics anyway.
    """
    properties = dict(warehouse.macro("write_mode_properties", cfg))
    if cfg["file_format"] == "delta" and not cfg["cluster_by"]:
        properties["delta.dataSkippingStatsColumns"] = "_key_hash"
    return {**properties, **cfg["table_properties"]}


def make_history_view(
    warehouse: Warehouse, cfg: Settings, roles: Roles, relations: Relations
) -> None:
    """Make the view of the log's rows in force, that is, of what changed on each business date."""
    columns = warehouse.macro("log_columns", roles)
    warehouse.run_all(warehouse.of_format(cfg["file_format"], "evolve_log", relations, columns))
    warehouse.run(warehouse.macro("history_view_sql", roles, relations))


def drop_new_log(warehouse: Warehouse, relations: Relations) -> None:
    """Drop what was written to take the place of another."""
    for name in SWAPPED:
        drop_table(warehouse, warehouse.macro("new_relation", relations[name]))


def warn_layout(warehouse: Warehouse, cfg: Loaded, recorded: Mapping[str, Any]) -> None:
    """Warn that a table does not follow the layout of the YAML; the commit to come records that."""
    changed = changed_layout(cfg, recorded)
    if changed:
        have = "has" if len(changed) == 1 else "have"
        warehouse.warn(
            cfg["entity"],
            f"{' and '.join(changed)} {have} changed since {cfg['target']} was made. The table "
            "stays as it is until --full-refresh",
        )


def evolve_tables(warehouse: Warehouse, opened: Opened, roles: Roles) -> None:
    """Bring the tables up to date, once a load may write.

    New columns are added, NULL in every row that is there; types widen; a NOT NULL that the YAML
    has no more goes, or current would refuse what the log has by then.
    """
    cfg, relations = opened["cfg"], opened["relations"]
    if roles["added"] or warehouse.macro("widened_columns", roles):
        for name in tables_of_columns(cfg, roles, "log_table"):
            relation = relations[name]
            if name == "sensitive" and not relation_exists(warehouse, relation):
                table = side_tables(warehouse, cfg, roles)[name]
                make_side(warehouse, cfg["file_format"], relation, table, is_clear=True)
            columns = warehouse.macro("describe_query", f"select * from {relation}")
            changes = warehouse.macro("changes_to_come", cfg, roles, name, columns)
            for column in changes["left"]:
                _take_column_away(warehouse, cfg, relation, column)
            add_columns(warehouse, relation, changes["added"])
            widen_columns(warehouse, relation, changes["widened"])
        make_history_view(warehouse, cfg, roles, relations)
    free_columns(warehouse, relations["current"], freed_columns(warehouse, opened, roles))
    if _has_other_mode(opened):
        _change_write_mode(warehouse, cfg, relations)


def alters_tables(warehouse: Warehouse, opened: Opened, roles: Roles) -> bool:
    """Say whether a load alters tables that are there; such a load stages no rows of the log."""
    if opened["state"]["first"] or opened["state"].get("is_evolved"):
        return False
    return bool(
        roles["added"]
        or warehouse.macro("widened_columns", roles)
        or _has_other_mode(opened)
        or freed_columns(warehouse, opened, roles)
    )


def freed_columns(warehouse: Warehouse, opened: Opened, roles: Roles) -> list[str]:
    """Return the columns that current has as NOT NULL and the load has not."""
    recorded = opened["state"]["recorded"]
    held = names_required(recorded["columns"]) if recorded.get("marks_not_null") else None
    return no_longer_required(warehouse, opened["relations"]["current"], roles["stored"], held)


def no_longer_required(
    warehouse: Warehouse,
    relation: Any,
    columns: Iterable[Mapping[str, Any]],
    held: list[str] | None = None,
) -> list[str]:
    """Return the columns that a table has as NOT NULL and that may be NULL by now, or are none.

    Args:
        warehouse: Where it is.
        relation: The table.
        columns: What it is to have.
        held: Columns that may be NOT NULL, as the last commit recorded: where that tells enough the
            table is not asked.
    """
    required = names_required(columns)
    if held is not None and all(name in required for name in held):
        return []
    found = warehouse.macro("required_names", relation)
    return [name for name in found if name.lower() not in required]


def names_required(columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names, in lower case, of the columns that are not to be NULL."""
    return [
        column["name"].lower()
        for column in columns
        if column.get("not_null") and column.get("held", True)
    ]


def add_columns(warehouse: Warehouse, relation: Any, columns: list[Values]) -> None:
    """Add columns to a table, where there are any to add."""
    take_names(warehouse, relation, columns)
    if columns:
        definitions = warehouse.macro("column_definitions_expr", columns)
        warehouse.run(f"alter table {relation} add columns ({definitions})")


def widen_columns(warehouse: Warehouse, relation: Any, columns: list[Values]) -> None:
    """Let columns of a table take wider values, and their structs more fields.

    The one place that alters a type; no format but Delta and Iceberg can.

    Args:
        warehouse: Where it is.
        relation: The table.
        columns: {name, from, type} of each.
    """
    macro = warehouse.macro
    take_names(warehouse, relation, columns)
    lake, added, widened = macro("lake_format"), [], {}
    for column in columns:
        types = [macro("kept_type", column[name], lake) for name in ("from", "type")]
        changes = macro("type_changes", macro("quote_identifier", column["name"]), *types)
        for path, kind in changes["added"].items():
            added.append(f"{path} {macro('quoted_type', kind)}")
        widened.update(changes["widened"])
    if added:
        warehouse.run(f"alter table {relation} add columns ({', '.join(added)})")
    if widened:
        warehouse.run_all(warehouse.of_format(lake, "widen_columns", relation, widened))


def take_names(warehouse: Warehouse, relation: Any, columns: list[Values]) -> None:
    """Have a table take columns, or fields in them, under the names that they have."""
    if warehouse.macro("has_odd_names", columns):
        _map_columns(warehouse, relation)


def _map_columns(warehouse: Warehouse, relation: Any) -> None:
    """Have a table map the names of its columns to those in its files.

    Doing it twice does nothing the second time, and readers see the same rows: a run may die behind
    it.
    """
    statements = warehouse.of_format(warehouse.macro("lake_format"), "map_columns", relation)
    if not statements:
        return
    mode = warehouse.macro("table_property", relation, "delta.columnMapping.mode")
    if mode in (None, "none"):
        warehouse.run_all(statements)


def rename_stored(warehouse: Warehouse, relation: Any, old: str, new: str) -> None:
    """Rename a column of a table."""
    _map_columns(warehouse, relation)
    names = [warehouse.macro("quote_identifier", name) for name in (old, new)]
    warehouse.run(f"alter table {relation} rename column {names[0]} to {names[1]}")


def drop_stored(warehouse: Warehouse, relation: Any, name: str) -> None:
    """Drop a column of a table."""
    _map_columns(warehouse, relation)
    warehouse.run(f"alter table {relation} drop column {warehouse.macro('quote_identifier', name)}")


def free_columns(warehouse: Warehouse, relation: Any, names: list[str]) -> None:
    """Let columns of a table be NULL."""
    for name in names:
        quoted = warehouse.macro("quote_identifier", name)
        warehouse.run(f"alter table {relation} alter column {quoted} drop not null")


def _has_other_mode(opened: Opened) -> bool:
    recorded = opened["state"]["recorded"].get("write_mode", "copy_on_write")
    return bool(opened["cfg"]["write_mode"] != recorded)


def _change_write_mode(warehouse: Warehouse, cfg: Settings, relations: Relations) -> None:
    """Bring current and log to another write mode.

    Rows that are marked stay so until `compact` writes their files.
    """
    wanted = "true" if cfg["write_mode"] == "merge_on_read" else "false"
    name = "delta.enableDeletionVectors"
    tables: list[RelationName] = ["log"] if name in cfg["table_properties"] else ["log", "current"]
    for table in tables:
        warehouse.run(f"alter table {relations[table]} set tblproperties ('{name}' = '{wanted}')")


def opened_evolved(warehouse: Warehouse, opened: Opened) -> Opened:
    """Return the entity whose tables have been brought up to date."""
    opened = opened_altered(warehouse, opened)
    return {**opened, "state": {**opened["state"], "is_evolved": True}}


def opened_altered(warehouse: Warehouse, opened: Opened) -> Opened:
    """Return the entity whose log this run has altered.

    Its rows go with the version that it has by now, if no other run has written to it meanwhile.
    """
    version = opened["state"]["log_version"]
    if version is not None:
        log = opened["relations"]["log"]
        version = warehouse.adapter.version_of_same_rows(log, version)
    return {**opened, "state": {**opened["state"], "log_version": version}}


def _take_column_away(warehouse: Warehouse, cfg: Settings, relation: Any, column: Values) -> None:
    """Drop a column that no commit in force has, as a run left it that died before its commit.

    Raises:
        DataError: It has values, or cannot be dropped.
    """
    name = column["name"]
    quoted = warehouse.macro("quote_identifier", name)
    has_values = has_rows(warehouse, relation, f"{quoted} is not null")
    if has_values:
        raise DataError(
            f"{cfg['entity']}: {relation} has column `{name}` as {column['type']} from a load "
            "that a rollback undid. Declare the column with that type, or start a new log with "
            "--full-refresh"
        )
    drop_stored(warehouse, relation, name)


def tables_of_columns(cfg: Settings, roles: Roles, log: RelationName) -> list[RelationName]:
    """Return the tables that have an entity's columns, by what they hold."""
    apart: list[RelationName] = ["sensitive"] if roles["sensitive"] else []
    return [log, "current", *apart, *(("staging",) if cfg["extract"] == "events" else ())]


def needed_relations(recorded: Recorded) -> list[RelationName]:
    """Return the relations that an entity has, by what they hold."""
    is_apart = any(column.get("sensitive") for column in recorded["columns"])
    return [
        *("current", "log", "history", "rejects"),
        *(("staging", "landed") if recorded["extract"] == "events" else ()),
        *(("supplied",) if had_deltas(recorded) else ()),
        *(("sensitive",) if is_apart else ()),
    ]


def present_relations(warehouse: Warehouse, relations: Relations) -> list[RelationName]:
    """Return which of these relations are there, by what they hold: it asks once."""
    names: dict[str, list[RelationName]] = {}
    for name, relation in relations.items():
        names.setdefault(relation.identifier.lower(), []).append(name)
    schema = relations["current"].include(identifier=False)
    found = warehouse.macro("table_names", schema, "|".join(names))
    return [name for one in found for name in names.get(one.lower(), [])]


def make_anew(
    warehouse: Warehouse,
    file_format: str,
    relation: Any,
    columns: list[Values],
    options: Values,
    rows_sql: str,
) -> None:
    """Make a table that is gone, with these rows: under another name until it is whole."""
    new = warehouse.macro("new_relation", relation)
    drop_table(warehouse, new)
    warehouse.macro("clear_leftovers", [new, relation])
    warehouse.run_all(warehouse.of_format(file_format, "create_table", new, columns, options))
    warehouse.run(warehouse.macro("insert_sql", new, columns, rows_sql))
    warehouse.run_all(warehouse.macro("rename_table_sql", new, relation))


def has_commit(warehouse: Warehouse, log_table: Any, commit_id: int) -> bool:
    """Say whether a log has rows or marks of a commit."""
    if not relation_exists(warehouse, log_table):
        return False
    condition = f"_commit_id = {commit_id} or _superseded_by = {commit_id}"
    return has_rows(warehouse, log_table, condition)


def has_rows(warehouse: Warehouse, relation: Any, condition: str | None = None) -> bool:
    """Say whether a relation has a row, which need not be looked for in all files."""
    return bool(warehouse.macro("has_rows", relation, condition))


def has_rejects_of_loads(warehouse: Warehouse, rejects: Any) -> bool:
    """Say whether a table of rejects is there, and tells which load mended them."""
    return relation_exists(warehouse, rejects) and _records_loads(warehouse, rejects)


def _records_loads(warehouse: Warehouse, rejects: Any) -> bool:
    return "_resolved_by" in warehouse.macro("names_in", rejects)


def evolve_rejects(warehouse: Warehouse, rejects: Any) -> None:
    """Have a table of rejects tell that; one of an earlier version does not."""
    if relation_exists(warehouse, rejects) and not _records_loads(warehouse, rejects):
        warehouse.run(f"alter table {rejects} add columns (_resolved_by bigint)")


def relation_exists(warehouse: Warehouse, relation: Any) -> bool:
    """Say whether a relation exists, asked of the metastore: dbt's cache may not have it yet."""
    return bool(warehouse.macro("relation_exists", relation))


def cached_relation(warehouse: Warehouse, relation: Any) -> Any:
    """Return a relation as dbt's cache knows it, a view or a table; None if it does not."""
    return warehouse.adapter.get_relation(
        database=relation.database, schema=relation.schema, identifier=relation.identifier
    )


def drop_table(warehouse: Warehouse, relation: Any) -> None:
    """Drop a table, if it is there."""
    warehouse.run(warehouse.macro("drop_table_sql", relation))


def is_only_process(warehouse: Warehouse) -> bool:
    """Say whether no other process can write to the tables."""
    can_see = warehouse.macro("can", "remove_files")
    return bool(can_see and not warehouse.adapter.shares_metastore())
