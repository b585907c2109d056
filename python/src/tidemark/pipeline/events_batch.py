"""A first look into a batch of change events: tables, schemas, names of columns, DDL."""

from __future__ import annotations

from typing import Any

from tidemark.pipeline.checking import check_drift
from tidemark.pipeline.events_roles import ANEW, roles_of_stretch
from tidemark.pipeline.slices import make_view
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.batches import batch_at, shapes_of, stretches_of
from tidemark.rules.event_roles import identifying_names
from tidemark.rules.names import names_of
from tidemark.rules.statements import (
    canonical_statement,
    check_statement_types,
    debezium_statement,
    failed_policy,
    judge_statement,
)
from tidemark.rules.table_names import check_one_table, named_tables, table_drift
from tidemark.shapes.events import Batch, Change, Landing, Statement
from tidemark.shapes.opened import Opened, RecordedSource
from tidemark.shapes.settings import Settings


def look_into(warehouse: Warehouse, opened: Opened, landing: Landing) -> Batch:
    """Return what a batch holds: schemas, names of columns, DDL events that were not applied yet.

    Args:
        warehouse: Where the events are.
        opened: What open_load() returned.
        landing: What land_events() returned.

    Raises:
        ConfigError: The events are of several tables.
        DataError: What a DDL event says is no list of columns, or not of types.
    """
    cfg, run, state = opened["cfg"], opened["run"], opened["state"]
    events, source, tables = landing["events"], source_of(opened), tables_of(opened)
    batch: Batch = {
        "tables": tables,
        "named": source.get("named", []),
        "followed": source.get("followed", []),
        "ignored": 0,
        "names": [],
        "schemas": {},
        "has_schemaless": False,
        "first_nums": {},
        "is_empty": True,
        "has_truncates": False,
        "statements": [],
        "source_columns": source.get("columns"),
        "refused": source.get("refused", []),
        "renames": {},
        "unreadable": [],
        "by_content": source.get("by_content", state["first"] and len(cfg["sequence_by"]) > 0),
        "by_server": source.get("by_server", state["first"]),
        "identifying": identified_by(warehouse, opened, landing["columns"]),
        "line_num": landing["line_num"],
    }
    _make_events_view(warehouse, cfg, landing, batch)
    if run["empty"] and (cfg["columns"] or not state["first"]):
        return batch
    figures = warehouse.rows(warehouse.macro("event_figures_sql", events))
    # Events that are not to be loaded still give the columns, if nothing else does.
    if run["empty"]:
        return {**batch, "is_empty": False, **shapes_of(figures)}
    batch["named"] = named_tables(batch, figures)
    if any(row["_kind"] == "ddl" for row in figures):
        batch["statements"] = statements_of(warehouse, opened, landing, batch)
        if batch["tables"] != tables:
            # A rename within the batch: rows under the new name are ours too.
            _make_events_view(warehouse, cfg, landing, batch)
            figures = warehouse.rows(warehouse.macro("event_figures_sql", events))
    check_one_table(cfg, batch, figures, source.get("named", []))
    for row in figures:
        kind, count = row["_kind"], row["_row_count"]
        if kind in ("row", "truncate", "unreadable"):
            batch["is_empty"] = False
        else:
            batch["ignored"] += int(count or 0)
        if kind == "unreadable":
            batch["unreadable"].append(f"{row['_problem']}: {count}")
        if kind == "truncate":
            batch["has_truncates"] = True
    return {**batch, **shapes_of(figures)}


def source_of(opened: Opened) -> RecordedSource:
    """Return what is recorded of the source that the log in force was made from."""
    state = opened["state"]
    is_known = state["recorded"] and not state["first"]
    return (state["recorded"].get("source") if is_known else None) or {}


def tables_of(opened: Opened) -> list[str]:
    """Return the names of the table whose events an entity takes.

    Raises:
        ConfigError: The log was made of another one.
    """
    cfg, source = opened["cfg"], source_of(opened)
    taken = source.get("tables") or []
    check_drift(cfg, table_drift(cfg, taken), ANEW)
    return source.get("followed") or taken or ([cfg["table"]] if cfg["table"] else [])


def identified_by(warehouse: Warehouse, opened: Opened, columns: Any) -> list[str]:
    """Return the columns that an event is known by even where they are NULL."""
    state = opened["state"]
    recorded = None if state["first"] else state["recorded"]
    meta = names_of(warehouse.macro("event_columns"))
    return identifying_names(opened["cfg"], columns, recorded, meta)


def reorders_ties(warehouse: Warehouse, opened: Opened) -> bool:
    """Say whether the log is to be put in another order.

    It was made with an `on_tie` that orders otherwise, and has ties. Every log that does not tell
    was made by their content.
    """
    cfg, state = opened["cfg"], opened["state"]
    if state["first"] or opened["run"]["empty"] or not warehouse.macro("can_tie", cfg):
        return False
    was_by_content = state["recorded"].get("on_tie", "content") == "content"
    if was_by_content == (cfg["on_tie"] == "content"):
        return False
    roles = {"keyed": len(cfg["keys"]) > 0}
    return len(warehouse.run(warehouse.macro("any_tie_sql", cfg, roles, opened["relations"]))) > 0


def _make_events_view(warehouse: Warehouse, cfg: Settings, landing: Landing, batch: Batch) -> None:
    macro, arrived = warehouse.macro, landing["arrived"]
    if cfg["format"] == "debezium":
        line_num = landing["line_num"]
        by_server = batch["by_server"]
        sql = macro("debezium_events_sql", cfg, batch["tables"], arrived, line_num, by_server)
    else:
        sql = macro("canonical_events_sql", cfg, batch, arrived, landing["columns"])
    make_view(warehouse, landing["events"], sql)


def forget_what_fails(warehouse: Warehouse, opened: Opened, landing: Landing, batch: Batch) -> None:
    """Have a batch tell nothing that comes behind a statement whose policy is `fail`.

    It ends the run. Where there are no rows before it, tables that are to be made yet go by what
    follows.
    """
    for statement in batch["statements"]:
        number = statement["landing_num"]
        fails = any(change.get("policy") == "fail" for change in statement["changes"])
        if number is not None and fails:
            sql = warehouse.macro("event_figures_sql", landing["events"], number)
            shapes = shapes_of(warehouse.rows(sql))
            if shapes["names"] or not opened["state"]["first"]:
                batch.update({**batch, **shapes})
            return


def statements_of(
    warehouse: Warehouse, opened: Opened, landing: Landing, batch: Batch
) -> list[Statement]:
    """Return the DDL events that concern the table and were not applied yet, in landing order.

    Each has `changes` to columns, and `cuts` the batch where rows before and after it need other
    columns. A snapshot's DDL only tells the columns: it never changes a target. What they tell of
    the table and its columns is told to the batch.
    """
    cfg, macro = opened["cfg"], warehouse.macro
    known = []
    if not opened["state"]["first"]:
        known = _first_column(
            warehouse,
            f"select distinct _event_id from {opened['relations']['log']} where _operation = 'T' "
            f"and {macro('in_force_expr')}",
        )
    followed, columns = batch["followed"], batch["source_columns"]
    statements: list[Statement] = []
    seen = set()
    found = warehouse.rows(macro("ddl_events_sql", landing["events"]))
    batch["ddl_nums"] = [row["_landing_num"] for row in found if row["_landing_num"] is not None]
    for row in found:
        if row["_operation"]:
            read = canonical_statement(row, batch, cfg)
        else:
            read = debezium_statement(row, batch)
        event_id = row["_event_id"]
        # what a delivery repeats is the same letter for letter; one statement on several tables has
        # one place in the source
        text = f"{event_id}|{row['_ddl'] or ''}|{row['_table_changes'] or ''}"
        if not read or text in seen:
            continue
        seen.add(text)
        check_statement_types(cfg["entity"], read["columns"])
        if row["_is_snapshot"] or event_id in known:
            if read["columns"] and event_id not in known:
                columns = read["columns"]
            if not statements:
                batch["source_columns"] = columns
            continue
        statement: Statement = {
            "landing_num": row["_landing_num"],
            "event_time": row["_event_time"],
            "sequence_num": row["_sequence_num"],
            "event_id": event_id,
            "operation": read["operation"],
            "text": row["_ddl"] or read["operation"],
            "columns": read["columns"] or columns,
            "changes": [],
            "effect": "none",
            "cuts": False,
        }
        judged = judge_statement(cfg, batch, statement, read, columns)
        batch.update(judged["batch"])
        statements.append(judged["statement"])
        columns = judged["statement"]["columns"]
    if batch["followed"] != followed:
        names = ", then ".join(batch["followed"])
        warehouse.report(
            f"{cfg['entity']}: a statement renamed the table. The name is {names} from now on"
        )
    return statements


def cut_at_truncate(warehouse: Warehouse, opened: Opened, landing: Landing, batch: Batch) -> None:
    """Cut a batch at its first truncate that is not known, by `ddl.truncate_table: fail`.

    It ends the run there, as a statement of another kind does. What is an event of a row otherwise
    may be one, by `apply_as_truncates`.

    Raises:
        DataError: The truncate is a row of a table that has no order of arrival.
    """
    cfg, state, relations = opened["cfg"], opened["state"], opened["relations"]
    macro, stretch = warehouse.macro, stretches_of(batch)[0]
    # a column that is new behind it is not judged before it
    added = cfg["ddl"]["add_column"]
    ddl = {**cfg["ddl"], "add_column": "apply" if added == "fail" else added}
    looking: Opened = {**opened, "cfg": {**cfg, "ddl": ddl}}
    roles = roles_of_stretch(warehouse, looking, landing, batch_at(batch, stretch), stretch)
    found = warehouse.rows(macro("truncates_sql", cfg, roles, landing["events"]))
    known = []
    if found and not state["first"]:
        ids = macro("string_literals", [row["_event_id"] for row in found])
        # one that was ignored is in staging alone
        staging = macro("in_force_of", relations["staging"], state)
        known = _first_column(
            warehouse,
            f"select _event_id from {relations['log']} where _event_id in ({ids}) and "
            f"{macro('in_force_expr')} union select _event_id from {staging} where _event_id in "
            f"({ids})",
        )
    for row in found:
        number = row["_landing_num"]
        if row["_event_id"] in known:
            continue
        change: Change = {"kind": "truncate_table", "policy": "fail", "name": ""}
        statement: Statement = {
            "landing_num": number,
            "sequence_num": row["_sequence_num"],
            "event_id": row["_event_id"],
            "operation": row["_operation"],
            "text": row["_operation"],
            "columns": None,
            "changes": [change],
            "effect": "none",
            "cuts": True,
        }
        if number is None:
            # rows of a table that have no order of arrival
            raise failed_policy(cfg, statement, change, is_cut=False)
        before = [one for one in batch["statements"] if one["landing_num"] < number]
        batch["statements"] = [*before, statement]
        return


def _first_column(warehouse: Warehouse, sql: str) -> list[Any]:
    return [row[0] for row in warehouse.run(sql)]
