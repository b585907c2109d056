"""The rows of one key are taken out of all tables of an entity, and out of those made from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidemark.errors import ConfigError, UsageError
from tidemark.model.suggestions import did_you_mean
from tidemark.operate import kept, traces
from tidemark.operations.clone import clones_of
from tidemark.operations.entity import (
    begin_operation,
    is_true,
    open_entity,
    operation_commit,
    report,
)
from tidemark.operations.planning import drop_plan
from tidemark.operations.tables import (
    entity_tables,
    has_deletion_vectors,
    kept_tables,
    vacuum_or_report,
    vacuum_tables,
)
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.committing import table_versions
from tidemark.pipeline.given import pepper_check
from tidemark.pipeline.slices import clear_slices, drop_slices
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.plan.store import discard_plans_of
from tidemark.printable import counted
from tidemark.shapes.opened import Opened
from tidemark.shapes.settings import Settings

_ALGORITHMS = ("md5", "sha256", "xxhash64x2")
"""What erased_key_sql() computes; the last one stands in tables that releases before have left."""


def erase_key(
    warehouse: Warehouse, entity: str, key: Any, dry_run: Any, vacuum: Any, confirm: Any
) -> None:
    """Take out the rows of a key.

    The commit has hashes of the key and counts, never its values, nor has any commit of the tables;
    a call that died is finished by the next one with the same key. Files of former versions stay
    until they are vacuumed.
    """
    is_dry, vacuums = is_true(dry_run), is_true(vacuum)
    opened = open_entity(warehouse, entity, "erase", is_dry)
    cfg, relations, macro = opened["cfg"], opened["relations"], warehouse.macro
    _check_erase(warehouse, cfg, vacuums and not is_dry and not is_true(confirm))
    erased = _erased_key(warehouse, opened, key)
    steps = _erase_steps(warehouse, opened, erased)
    is_begun = _was_erased(warehouse, opened, erased, "inflight")
    # one that died was rolled back by an erase of another key
    is_known = is_begun or (
        vacuums
        and (
            _was_erased(warehouse, opened, erased, "completed")
            or _was_erased(warehouse, opened, erased, "rolled_back")
        )
    )
    if not steps and not is_known:
        raise UsageError(
            f"{entity}: no table of the entity has this key (key hash {erased['hash']}). Give "
            f"every column of unique_key ({', '.join(erased['names'])}) as it is stored"
        )
    if is_dry:
        for step in steps:
            what = f"would {step['verb']} {counted(step['count'], 'row')} of {step['relation']}"
            report(warehouse, entity, what)
        if is_begun:
            report(warehouse, entity, "would finish an earlier call that erases this key")
        if vacuums:
            vacuum_or_report(warehouse, entity, _erasable_tables(warehouse, opened), True)
        return

    removed: Values = {}
    marks = {"key_hashes": erased["marks"]}
    record = operation_commit(warehouse, opened, "erase_key", details=json.dumps(marks))
    begin_operation(warehouse, opened, record)
    drop_slices(warehouse, cfg["target"], "all")
    clear_slices(warehouse, cfg["target"])
    drop_plan(warehouse, cfg["target"])
    if macro("can", "keep_plan"):
        discard_plans_of(cfg["relation"])
    for step in steps:
        name = str(step["relation"])
        warehouse.run(step["statement"])
        removed[name] = removed.get(name, 0) + step["count"]
        report(warehouse, entity, f"{step['verb']}d {counted(step['count'], 'row')} of {name}")
    if vacuums:
        _vacuum_at_once(warehouse, _erasable_tables(warehouse, opened), record["commit_id"])
    record["details"] = json.dumps({**marks, "removed": removed, "vacuum": vacuums})
    versions = table_versions(warehouse, cfg, relations, "after")
    record_commit(warehouse, opened["commits"], record, "completed", versions)
    files = (
        "files of former versions have it until they are vacuumed: clean with vacuum: true after "
        "the retention of the format, or here vacuum: true with confirm: true"
    )
    if vacuums:
        files = _vacuumed_files(warehouse)
    report(warehouse, entity, f"erased the key in commit {record['commit_id']}; {files}")
    _report_traces(warehouse, entity, erased, not isinstance(key, str))
    _report_clones(warehouse, opened)


def _vacuumed_files(warehouse: Warehouse) -> str:
    """Say what there is of the key in the files of its tables after _vacuum_at_once()."""
    if warehouse.macro("lake_format") == "iceberg":
        return (
            "no data file of its tables has it any more; manifests of Iceberg may have the first "
            "16 characters of it, as a bound of values, until they are written anew"
        )
    if not warehouse.macro("can", "trim_log"):
        return (
            "no data file of its tables has it any more; Delta's log may have the first 32 "
            "characters of it, as a bound of values, for 30 days"
        )
    return "no file of its tables has it any more"


def _report_traces(warehouse: Warehouse, entity: str, erased: Values, is_logged: bool) -> None:
    """Take the key out of what was typed into the shell, and say which other files have it."""
    files = ["dbt's log (with this command)"] if is_logged else []
    files += traces.forget(erased["words"])
    if files:
        warehouse.warn(
            entity,
            f"the key is in files that erase does not change: {', '.join(files)}. Remove these "
            "files, or the lines with the key",
        )


def _report_clones(warehouse: Warehouse, opened: Opened) -> None:
    """Name the clones that may have the key still: they have files of their own."""
    if not warehouse.macro("can", "remove_files"):
        return
    if there := clones_of(warehouse, opened["cfg"]["relation"]):
        warehouse.warn(
            opened["cfg"]["entity"],
            f"clones of the entity may still have the key: {', '.join(there)}. Erase the key in "
            "each clone too, by a target with its schema. Or remove the clones: tidemark clone "
            "--remove",
        )


def _was_erased(warehouse: Warehouse, opened: Opened, erased: Values, state: str) -> bool:
    """Say whether a call for this key is in flight, or was completed."""
    macro, states = warehouse.macro, opened["commits"]["states"]
    relation = opened["cfg"]["relation"]
    rows = warehouse.rows(macro("_operations_in_state_sql", states, relation, "erase_key", state))
    known = {*erased["marks"], erased["hash"]}
    return any(mark in known for row in rows for mark in macro("marks_of", row))


def _check_erase(warehouse: Warehouse, cfg: Settings, is_unconfirmed: bool) -> None:
    entity = cfg["entity"]
    if not cfg["keys"]:
        raise ConfigError(
            f"{entity}: erase_key needs unique_key, but this entity has none. Set unique_key, "
            "or remove the rows at the source"
        )
    if is_unconfirmed:
        raise UsageError(
            f"{entity}: vacuum: true removes the files of all former versions at once. A "
            "running query or a restore may need these files. Nothing was erased. Add confirm: "
            "true to remove the files"
        )
    for relation, _ in kept_tables(warehouse, cfg["target"]):
        if "__log_slices_" in relation.identifier:
            raise ConfigError(
                f"{entity}: a full refresh kept tables of Parquet, such as {relation}. Rows of "
                "such tables cannot be deleted. Nothing was erased. Drop the tables first: "
                "clean with retention: {superseded: 0 days}"
            )


def _erased_key(warehouse: Warehouse, opened: Opened, key: Any) -> Values:
    """Return the key as it is looked for.

    `tidemark erase` gives a key by the name that it is kept under, so that dbt's log does not have
    it.

    Returns:
        Its `hashes` as SQL, its `values` as SQL by column, its words as SQL (`texts`) and as they
        are, its own `hash`, and `marks`, what is recorded of its hashes.
    """
    macro, cfg, recorded = warehouse.macro, opened["cfg"], opened["state"]["recorded"]
    roles = macro("recorded_roles", recorded)
    names = recorded["keys"]
    columns = [one for name in names for one in roles["columns"] if one["name"] == name]
    given = kept.given(key) if isinstance(key, str) else key
    values = _given_values(warehouse, cfg, names, columns, given)
    row = warehouse.rows(macro("erased_key_sql", columns, values))[0]
    _raise_key_errors(
        cfg,
        [
            f"the value of `{column['name']}` is no {column['type']}"
            for number, column in enumerate(columns, 1)
            if row[f"misfit_{number}"]
        ],
    )
    # What is sensitive stands in no table but as a hash, and in its own.
    typed = {
        column["name"]: f"cast({values[column['name']]} as {column['type']})"
        for column in columns
        if not column["sensitive"]
    }
    if any(column["key"] for column in roles["sensitive"]):
        pepper_check(warehouse, cfg)
    words = json.loads(row["texts"])
    erased = {
        "names": names,
        "values": typed if len(typed) == len(columns) else {},
        "texts": [_hidden(warehouse, text) for text in words],
        "words": words,
    }
    hashes, own = [row[algorithm] for algorithm in _ALGORITHMS], row[recorded["hash"]]
    # Hashes that came with the rows, or from an older recipe, stand in the log beside the values.
    by_values = {"hashes": [], "values": erased["values"], "texts": []}
    condition = macro("erased_rows_expr", list(erased["values"]), by_values)
    log = opened["relations"]["log"]
    for found in warehouse.run(f"select distinct _key_hash from {log} where {condition}"):
        if found[0] not in hashes:
            own = found[0]
            hashes.append(own)
    literals = [_hidden(warehouse, found) for found in hashes]
    marks = ", ".join(macro("erased_mark_expr", literal) for literal in literals)
    told = json.loads(warehouse.run(f"select to_json(array({marks}))")[0][0])
    return {**erased, "hashes": literals, "hash": own, "marks": told}


def _given_values(
    warehouse: Warehouse, cfg: Settings, names: list[str], columns: list[Values], key: Any
) -> Values:
    """Return the values of a key as literals that can be cast, by column."""
    if not isinstance(key, Mapping):
        error = "key must be a mapping of column and value such as {" + f"{names[0]}: …}}, found: …"
        _raise_key_errors(cfg, [error])
    given = {str(name).lower(): value for name, value in key.items()}
    known = [name.lower() for name in names]
    errors = [
        f"`{name}` is no column of the key{did_you_mean(name, names)}"
        for name in key
        if str(name).lower() not in known
    ]
    values = {}
    for column in columns:
        name = column["name"]
        if name.lower() in given:
            values[name] = _key_literal(warehouse, given[name.lower()])
        else:
            errors.append(f"`{name}` is missing: write null if the key has no value there")
    _raise_key_errors(cfg, errors)
    return values


def _raise_key_errors(cfg: Settings, errors: list[str]) -> None:
    if errors:
        problems = "\n  - ".join(errors)
        raise UsageError(
            f"{cfg['entity']}: the key cannot be looked for. Correct the key:\n  - {problems}"
        )


def _key_literal(warehouse: Warehouse, value: Any) -> str:
    if value is None:
        return "null"
    return _hidden(warehouse, str(value).lower() if isinstance(value, bool) else value)


def _hidden(warehouse: Warehouse, value: Any) -> str:
    """Return the name of a literal that Spark puts in when it parses the statement.

    So it stands neither in dbt's log nor in a message.
    """
    literal: str = warehouse.macro("string_literal", value)
    if warehouse.macro("can", "hide_literals"):
        literal = warehouse.adapter.hide_literal(literal)
    return literal


def _erasable_tables(warehouse: Warehouse, opened: Opened) -> list[Any]:
    """Return the tables that may hold a key."""
    return [relation for relation, _ in _tables_and_names(warehouse, opened)]


def _tables_and_names(warehouse: Warehouse, opened: Opened) -> list[tuple[Any, list[str] | None]]:
    """Return the entity's own tables, those that were kept, and derived ones.

    Of the last also what `_entity` may be there of this entity's rows.
    """
    macro, relations = warehouse.macro, opened["relations"]
    tables: list[tuple[Any, list[str] | None]]
    tables = [(relation, None) for relation in entity_tables(warehouse, relations)]
    tables += [(relation, None) for relation, _ in kept_tables(warehouse, relations["current"])]
    sources = [opened["cfg"]["relation"]]
    pairs = warehouse.rows(macro("derived_tables_sql", opened["commits"]["states"]))
    # Derived of derived: as often as there are tables, so that every chain is followed.
    for _ in pairs:
        for pair in pairs:
            if pair["source_relation"] in sources and pair["relation"] not in sources:
                sources.append(pair["relation"])
    for name in sources[1:]:
        relation = macro("relation_named", name)
        if relation_exists(warehouse, relation):
            tables.append((relation, names_in_feed(pairs, sources[0], name)))
    return tables


def names_in_feed(pairs: list[Values], entity: str, table: str) -> list[str]:
    """Return what `_entity` may be of an entity's rows in a table made from it.

    See name_in_unit(). The name without schema is not, where each run that made the table, or the
    one that it got the rows from, read another one of that name too.

    Example:
        >>> pairs = [{"relation": "b.feed", "source_relation": "a.orders", "was_alone": True}]
        >>> names_in_feed(pairs, "a.orders", "b.feed")
        ['a.orders', 'orders']

    Args:
        pairs: The rows of derived_tables_sql().
        entity: The entity, as tidemark_commits names it.
        table: The table.
    """
    reads = [pair for pair in pairs if pair["source_relation"] == entity]
    own = [pair for pair in reads if pair["relation"] == table]
    short = entity.split(".")[-1]
    has_short = short != entity and any(pair["was_alone"] for pair in own or reads)
    return [entity, short] if has_short else [entity]


def _erase_steps(warehouse: Warehouse, opened: Opened, erased: Values) -> list[Values]:
    """Return what is to be done, table by table, current first: steps with something to do."""
    macro, steps = warehouse.macro, []
    by_column = macro("erased_by_name", erased)
    for relation, entities in _tables_and_names(warehouse, opened):
        names = macro("names_in", relation)
        condition = macro("erased_rows_expr", names, erased)
        by_name = macro("erased_rows_expr", names, by_column)
        # A feed of several entities: another one may have the same key.
        if entities and "_entity" in names:
            of_entities = f"_entity in ({macro('string_literals', entities)}) and "
            condition, by_name = of_entities + condition, of_entities + by_name
        if condition != "false":
            steps.append(
                {
                    "relation": relation,
                    "verb": "remove",
                    "count": macro("row_count", relation, condition),
                    "statement": macro("erase_rows_sql", relation, erased, by_name),
                }
            )
        elif entities:
            why = f"{relation} has neither `_key_hash` nor the key: erase it there yourself"
            report(warehouse, opened["cfg"]["entity"], why)
        if "_moved_from" in names:
            moved = f"_moved_from in ({', '.join(erased['hashes'])}) and not {condition}"
            steps.append(
                {
                    "relation": relation,
                    "verb": "change",
                    "count": macro("row_count", relation, moved),
                    "statement": macro("forget_moves_sql", relation, erased),
                }
            )
    return [step for step in steps if step["count"]]


def _vacuum_at_once(warehouse: Warehouse, relations: list[Any], commit_id: int) -> None:
    """Remove every file that the present version of these tables does not need.

    Rows that deletion vectors only marked are written out of their files first. Of Delta that takes
    what a load on another machine has written and not committed yet, too: nothing may be committed
    to them afterwards that began before.
    """
    is_delta = warehouse.macro("lake_format") == "delta"
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    warehouse.run(f"set {check} = false")
    for relation in relations:
        if has_deletion_vectors(warehouse, relation):
            warehouse.run(f"reorg table {relation} apply (purge)")

    def fence(relation: Any) -> None:
        if is_delta:
            warehouse.run_all(warehouse.of_format("delta", "fence_log", relation, commit_id))

    # What began before this is shut out at once, and what began meanwhile as soon as the files of a
    # table are gone.
    for relation in relations:
        fence(relation)
    trims = is_delta and warehouse.macro("can", "trim_log")
    for relation in relations:
        vacuum_tables(warehouse, [relation], at_once=True)
        fence(relation)
        # what went says of files which values they had
        if trims:
            warehouse.adapter.trim_log(relation)
    warehouse.run(f"reset {check}")
