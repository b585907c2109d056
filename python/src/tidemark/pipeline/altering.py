"""Columns of tables that are there, renamed, put aside and dropped as the source or a rollback did.

Doing it twice does nothing the second time, as what is there is looked at: a run may die at any
statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tidemark.pipeline.applying import rebuild_current
from tidemark.pipeline.tables import (
    add_columns,
    drop_stored,
    has_rows,
    make_current,
    make_history_view,
    relation_exists,
    rename_stored,
)
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.columns_back import columns_meant, columns_return, free_name, renames_back
from tidemark.rules.names import lowered, names_of
from tidemark.rules.statements import check_name_of_key
from tidemark.shapes.events import Statement
from tidemark.shapes.opened import Commit, Opened, Recorded, RelationName, Relations
from tidemark.shapes.settings import Settings

_ALTERED: tuple[RelationName, ...] = ("log_table", "current", "staging", "sensitive")
_PREFIXES = ("", "_before_")
"""For a column, and for its value in the image before."""
_Renames = Sequence[Sequence[str]]


def alter_columns(
    warehouse: Warehouse,
    cfg: Settings,
    relations: Relations,
    recorded: Recorded | None,
    statement: Statement,
) -> None:
    """Rename and drop columns, in the tables and in what is recorded of them.

    Added and wider ones follow from the roles of columns. What of it a dead run leaves half done
    undo_statement() takes back.

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        relations: The tables; without them what is recorded alone is told, as it will be.
        recorded: What is recorded of their columns, which is changed.
        statement: The DDL event.

    Raises:
        DataError: A column takes the name of the key.
    """
    if not recorded:
        return
    declared, keys = lowered(names_of(cfg["columns"])), lowered(cfg["keys"])
    for change in statement["changes"]:
        kind, name, applies = change["kind"], change["name"], change["policy"] == "apply"
        if kind == "add_column":
            is_taken = change["policy"] != "ignore" or name.lower() in declared
            if is_taken and _was_dropped(recorded, name):
                _put_aside(warehouse, relations, recorded, name)
        elif kind == "rename_column" and applies:
            check_name_of_key(cfg, recorded, statement, change)
            old = change["old"]
            # names in another case are the same
            if old.lower() not in declared and old.lower() != name.lower():
                _rename_column(warehouse, relations, recorded, old, name)
        elif kind == "drop_column" and applies and name.lower() not in [*keys, *declared]:
            _drop_column(warehouse, relations, recorded, name)


def _rename_column(
    warehouse: Warehouse, relations: Relations, recorded: Recorded, old: str, new: str
) -> None:
    """Rename a column wherever it is stored. Its values, and its name in hashes, stay."""
    for column in recorded["columns"]:
        if column["name"].lower() != old.lower():
            continue
        _put_aside(warehouse, relations, recorded, new, old)
        for _, relation in _present(warehouse, relations, _ALTERED):
            _rename_in(warehouse, relation, old, new)
        column["name"] = new
        recorded["views_are_old"] = True


def _put_aside(
    warehouse: Warehouse,
    relations: Relations,
    recorded: Recorded,
    name: str,
    old: str | None = None,
) -> None:
    """Make a name free for a column that takes it, the one that is called `old` so far, or none.

    What a dropped one has under it is kept beside current under another name. One that was declared
    before it existed has no values, and goes.
    """
    aside = free_name(name, lowered(names_of(recorded["columns"])))
    # without relations: where there may be values
    is_kept = not relations
    for table, relation in _present(warehouse, relations, _ALTERED):
        present = _names_in(warehouse, relation)
        for prefix in _PREFIXES:
            stored = prefix + name
            # a run that died may have done a table
            is_done = f"{prefix}{aside}".lower() in present
            is_done = is_done or (old is not None and f"{prefix}{old}".lower() not in present)
            if stored.lower() not in present or is_done:
                continue
            if table != "current" and _has_values(warehouse, relation, stored):
                rename_stored(warehouse, relation, stored, prefix + aside)
                present.append(f"{prefix}{aside}".lower())
            else:
                drop_stored(warehouse, relation, stored)
        if table in ("log_table", "sensitive") and aside.lower() in present:
            is_kept = True
    columns = []
    for column in recorded["columns"]:
        if column["name"].lower() != name.lower():
            columns.append(column)
        elif is_kept:
            columns.append({**column, "name": aside, "gone": True})
    recorded.update({"columns": columns, "views_are_old": True})


def _was_dropped(recorded: Recorded, name: str) -> bool:
    """Say whether a column of this name was taken away from current."""
    columns = recorded.get("columns", [])
    return any(one["name"].lower() == name.lower() and one.get("gone") for one in columns)


def _drop_column(warehouse: Warehouse, relations: Relations, recorded: Recorded, name: str) -> None:
    """Take a column away from current. The log keeps it and its values."""
    for column in recorded["columns"]:
        if column["name"].lower() == name.lower() and not column.get("gone"):
            if relations and name.lower() in _names_in(warehouse, relations["current"]):
                drop_stored(warehouse, relations["current"], column["name"])
            column["gone"] = True


def columns_go_back(
    warehouse: Warehouse, cfg: Settings, relations: Relations, now: Recorded, back: Recorded
) -> bool:
    """Bring the tables to the columns of a rollback, once the log has that: see recorded_back().

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        relations: The tables.
        now: What the last commit recorded.
        back: What the rollback does.

    Returns:
        Whether current is to be built again, as it has other columns.
    """
    renames = renames_back(cfg["entity"], now["columns"], back["columns"])
    is_remade = columns_return(now["columns"], back["columns"])
    if not renames and not is_remade:
        return False
    names = ("log_table", "staging", "sensitive", *(() if is_remade else ("current",)))
    for _, relation in _present(warehouse, relations, names):
        _free_names(warehouse, relation, renames, renames)
        for old, new in renames:
            _rename_in(warehouse, relation, old, new)
    roles = warehouse.macro("recorded_roles", back, cfg)
    if is_remade:
        make_current(warehouse, cfg, roles, relations)
    make_history_view(warehouse, cfg, roles, relations)
    return is_remade


def undo_statement(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Bring the tables from the columns that a commit was to have back to those that are recorded.

    Its run died after it had altered them, or half way. What it took away as it had no values is
    there again.

    Args:
        warehouse: Where the tables are.
        opened: The entity.
        commit: The commit of a DDL event, as it was begun.
    """
    relations, recorded = opened["relations"], opened["state"]["recorded"]
    now = columns_meant(recorded["columns"], commit["config"]["columns"])
    if now is None:
        return
    macro = warehouse.macro
    cfg = macro("recorded_cfg", opened["cfg"], recorded)
    roles = macro("recorded_roles", recorded, cfg)
    is_remade = columns_return(now, recorded["columns"])
    renames = renames_back(cfg["entity"], now, recorded["columns"])
    # which in a table was put aside before its name went to another column
    aside = [column["name"] for column in now if column.get("gone")]
    freed = [pair for pair in renames if pair[0] in aside]
    sensitive = {**roles, "sensitive": [*roles["sensitive"], *roles["gone_sensitive"]]}
    stored: dict[RelationName, Any] = {
        "log_table": macro("log_columns", roles),
        "current": macro("current_columns", cfg, roles),
        "staging": macro("staging_columns", cfg, roles),
        "sensitive": macro("sensitive_columns", sensitive),
    }
    for name, relation in _present(warehouse, relations, stored):
        if name == "current" and is_remade:
            continue
        _free_names(warehouse, relation, freed, renames)
        for old, new in renames:
            _rename_in(warehouse, relation, old, new)
        present = _names_in(warehouse, relation)
        missing = [column for column in stored[name] if column["name"].lower() not in present]
        add_columns(warehouse, relation, macro("_nullable", missing))
    if is_remade:
        make_current(warehouse, cfg, roles, relations)
    make_history_view(warehouse, cfg, roles, relations)
    if is_remade:
        rebuild_current(warehouse, cfg, roles, opened["state"], relations)


def _rename_in(warehouse: Warehouse, relation: Any, old: str, new: str) -> None:
    """Rename a column of a table, and that of the image before, unless it has the new name."""
    present = _names_in(warehouse, relation)
    for prefix in _PREFIXES:
        if f"{prefix}{old}".lower() in present and f"{prefix}{new}".lower() not in present:
            rename_stored(warehouse, relation, prefix + old, prefix + new)


def _free_names(warehouse: Warehouse, relation: Any, freed: _Renames, renames: _Renames) -> None:
    """Take away what a run that died left under names which columns are to have again.

    It has no values. None in a table where one of them is there already, as the name that is taken
    may be another one's.

    Args:
        warehouse: Where the table is.
        relation: The table.
        freed: [old, new] of those columns, of all `renames`.
        renames: The same of all that are renamed.
    """
    present = _names_in(warehouse, relation) if freed else []
    former = lowered(old for old, _ in renames)
    for prefix in _PREFIXES:
        found = [pair for pair in freed if f"{prefix}{pair[1]}".lower() in present]
        taken = [new for old, new in found if f"{prefix}{old}".lower() in present]
        if len(taken) < len(found):
            continue
        for name in taken:
            if name.lower() not in former and not _has_values(warehouse, relation, prefix + name):
                drop_stored(warehouse, relation, prefix + name)


def _present(
    warehouse: Warehouse, relations: Relations, names: Iterable[RelationName]
) -> Iterator[tuple[RelationName, Any]]:
    """Yield those of the tables that are there, each with its name; none without relations."""
    for name in names if relations else ():
        if relation_exists(warehouse, relations[name]):
            yield name, relations[name]


def _names_in(warehouse: Warehouse, relation: Any) -> list[str]:
    return [column.name.lower() for column in warehouse.adapter.get_columns_in_relation(relation)]


def _has_values(warehouse: Warehouse, relation: Any, name: str) -> bool:
    quoted = warehouse.macro("quote_identifier", name)
    return has_rows(warehouse, relation, f"{quoted} is not null")
