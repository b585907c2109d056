"""The effect of a DDL event on the table of an entity, by policy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidemark.errors import DataError
from tidemark.rules.event_roles import aliases_of
from tidemark.rules.names import lowered, names_of, unique
from tidemark.rules.source_types import ddl_columns, json_text
from tidemark.rules.statement_texts import renamed_pairs, renamed_tables, renames_column
from tidemark.rules.table_names import is_database_of, is_one_of_tables, names_of_table
from tidemark.rules.types import (
    is_same_by_name,
    is_type_text,
    type_in_lower_case,
    wider_type,
)
from tidemark.shapes.events import Batch, Change, Followed, Judged, Statement, TableStatement
from tidemark.shapes.opened import Recorded, SourceColumn
from tidemark.shapes.settings import Settings

Row = Mapping[str, Any]


def canonical_statement(row: Row, batch: Batch, cfg: Settings) -> TableStatement | None:
    """Return what a canonical DDL event says.

    Args:
        row: The event.
        batch: What the table is called.
        cfg: The settings of the entity.

    Returns:
        None if it is of another table.

    Raises:
        DataError: What it says of columns is no list of them.
    """
    operation, ours = row["_operation"], names_of_table(batch)
    database = row["_database"] or _missing_database(cfg["table"], ours, row["_table"] or "")
    name = ".".join(filter(None, (database, row["_table"])))
    previous = (
        ".".join(filter(None, (database, row["_prev_table"]))) if row["_prev_table"] else None
    )
    if operation in ("CREATE_DATABASE", "DROP_DATABASE"):
        if not is_database_of(row["_database"], ours):
            return None
    elif operation != "RENAME_TABLE" or not previous or not is_one_of_tables(previous, ours):
        if not is_one_of_tables(name, ours):
            return None
        # another table has taken the name
        operation = "ALTER_TABLE" if operation == "RENAME_TABLE" else operation
    columns: list[SourceColumn] = [
        {
            "name": column["name"],
            "type": type_in_lower_case(column["type"]) if column.get("type") else None,
            "encoding": "auto",
            "default": json_text(column.get("default")),
            "previous_name": column.get("previous_name"),
        }
        for column in _columns_of_statement(row["_schema"], cfg["entity"])
    ]
    return {
        "operation": operation,
        "table": name,
        "previous": previous,
        "columns": columns or None,
    }


def _missing_database(setting: str | None, names: Sequence[str], table: str) -> str:
    """The database of a statement that tells none: that of the entity's table.

    Not if the setting names it, as it must be told then.
    """
    parts = (names[-1] if names else "").split(".")
    if setting and len(setting.split(".")) >= len(parts):
        return ""
    return ".".join(parts[: -len(table.split("."))])


def _columns_of_statement(text: str | None, entity: str) -> list[dict[str, Any]]:
    """The columns that `_schema` of a canonical event lists."""
    columns = _parsed(text)
    if not isinstance(columns, list) or not all(map(_is_column, columns)):
        raise DataError(
            f"{entity}: `_schema` of a DDL event is `{(text or '')[:60]}`, which is not a list "
            'of columns; nothing was written. Correct the event: [{"name": "id", "type": '
            '"int"}, …]'
        )
    return columns


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text or "[]")
    except ValueError:
        return None


def _is_column(column: Any) -> bool:
    return (
        isinstance(column, dict)
        and isinstance(column.get("name"), str)
        and isinstance(column.get("type"), str | None)
    )


def debezium_statement(row: Row, batch: Batch) -> TableStatement | None:
    """Return what a schema-change message of Debezium says.

    Args:
        row: The event.
        batch: What the table is called.

    Returns:
        None if it is of another table.
    """
    ddl, ours = row["_ddl"] or "", names_of_table(batch)
    of_database = re.match(
        r"(?is)\s*(create|drop)\s+(?:or\s+replace\s+)?(?:database|schema)\b", ddl
    )
    if of_database and is_database_of(row["_ddl_database"], ours):
        operation = f"{of_database.group(1).upper()}_DATABASE"
        return {"operation": operation, "table": None, "columns": None, "ddl": ddl}
    for change in _parsed(row["_table_changes"]) or []:
        name = change["id"].replace('"', "").replace("`", "")
        table = change.get("table")
        previous = renamed_table(ddl, name)
        is_renamed = previous is not None and is_one_of_tables(previous, ours)
        if is_renamed or is_one_of_tables(name, ours):
            done = {"CREATE": "CREATE_TABLE", "DROP": "DROP_TABLE"}
            usual = done.get(change["type"], "ALTER_TABLE")
            return {
                "operation": "RENAME_TABLE" if is_renamed else usual,
                "table": name,
                "previous": previous,
                "columns": ddl_columns(table["columns"], None, row["_is_captured"], ddl)
                if table
                else None,
                "ddl": ddl,
            }
    return None


def renamed_table(ddl: str, name: str) -> str | None:
    """Return the former name of a table in a statement that renames it, in the new one's database.

    Example:
        >>> renamed_table("rename table a to b, c to d", "shop.d")
        'shop.c'
    """
    for old, new in renamed_tables(ddl):
        if is_one_of_tables(name, [new]):
            parts = name.split(".")[:-1]
            return ".".join([*parts[: max(len(parts) - old.count("."), 0)], old])
    return None


def check_statement_types(entity: str, columns: Iterable[SourceColumn] | None) -> None:
    """Refuse what a DDL event calls a type and Spark does not: SQL is made with it.

    Raises:
        DataError: There is one.
    """
    for column in columns or []:
        if column["type"] and not is_type_text(column["type"]):
            raise DataError(
                f"{entity}: a DDL event says that column `{column['name']}` is of type "
                f"`{column['type'][:60]}`, "
                "which is not a type of Spark; nothing was written. Correct `_schema` of the "
                "event, or remove `type` from it"
            )


def judge_statement(
    cfg: Settings,
    batch: Batch,
    statement: Statement,
    content: TableStatement,
    before: Sequence[SourceColumn] | None,
) -> Judged:
    """Return a batch and a statement with what becomes of the statement by policy.

    Example:
        >>> judge_statement(cfg, batch, statement, content, before)["statement"]["cuts"]
        True

    Args:
        cfg: The settings of the entity.
        batch: What the table is called, and the renames of its columns so far.
        statement: What is known of the statement.
        content: What it says.
        before: The columns that the table had.

    Returns:
        `batch` and `statement`, changed.
    """
    kind = content["operation"].lower()
    policy = cfg["ddl"].get(kind)
    follows = kind == "rename_table" and policy == "apply"
    batch = {**batch, **_followed(batch, content, follows), "renames": dict(batch["renames"])}
    changes: list[Change] = []
    told: Change = {"kind": kind, "policy": "fail", "name": ""}
    if kind in ("alter_table", "create_table") or follows:
        for change in column_changes(cfg, content, before):
            changes.append(change | judge_change(cfg, change))
            if change["kind"] == "rename_column" and changes[-1]["policy"] == "apply":
                batch["renames"][change["old"]] = change["name"]
        if kind == "create_table" and policy == "fail" and before:
            changes.append(told)
    elif policy == "fail":
        changes.append(told)
    statement = {**statement, "changes": [*statement["changes"], *changes]}
    if any(change["policy"] != "ignore" for change in changes):
        statement["cuts"] = True
    if policy == "apply" and kind in ("drop_table", "truncate_table", "drop_database"):
        statement = {**statement, "effect": "close", "operation": "TRUNCATE"}
    return {"batch": batch, "statement": statement}


def _followed(batch: Batch, content: TableStatement, is_renamed: bool) -> Followed:
    """The names that the table bears after a statement, `followed`, the last is its newest.

    Rows of the batch under each name that it has had are taken (`tables`). Another table that takes
    a name which this one gave away is from then on the one that bears it: so a migration swaps a
    copy in (RENAME TABLE a TO a_old, a_new TO a), and so a full table is put aside (RENAME TABLE a
    TO a_2025; CREATE TABLE a).
    """
    names, new = names_of_table(batch), content["table"]
    if is_renamed:
        names = names or [content["previous"]]
        return {
            "followed": [*(name for name in names if name != new), new],
            "tables": unique([*(batch["tables"] or names), new]),
        }
    takes = new and (content["operation"] == "CREATE_TABLE" or content.get("previous"))
    if (
        names
        and takes
        and not is_one_of_tables(new, names[-1:])
        and is_one_of_tables(new, names[:-1])
    ):
        return {"followed": [new]}
    return {}


def column_changes(
    cfg: Settings, content: TableStatement, before: Sequence[SourceColumn] | None
) -> list[Change]:
    """Return the changes of columns between two lists; a rename where the statement says so.

    Example:
        >>> column_changes(cfg, {"columns": [{"name": "a", …}, {"name": "b", …}]}, before)
        [{'kind': 'add_column', 'name': 'b', 'column': {…}}]

    Args:
        cfg: The settings of the entity.
        content: What the statement says.
        before: The columns that the table had.
    """
    after = content["columns"]
    if not before or not after:
        return []
    old_names, new_names = names_of(before), names_of(after)
    changes, renamed = [], dict[str, str]()
    for rename in hidden_renames(content, before):
        renamed[rename["old"]] = rename["name"]
        changes.append(rename)
        # whose name is taken is put aside, unless a drop stops the run
        takes_name = not rename["crosses"] and rename["name"] in old_names
        if takes_name and cfg["ddl"]["drop_column"] == "fail":
            changes.append({"kind": "drop_column", "name": rename["name"]})
    gone = [old for old in old_names if old not in new_names]
    for column in after:
        name = column["name"]
        if name in old_names or name in renamed.values():
            continue
        for old in gone:
            is_told = column.get("previous_name") == old
            if old not in renamed and (
                is_told or renames_column(content.get("ddl") or "", old, name)
            ):
                renamed[old] = name
                changes.append({"kind": "rename_column", "old": old, "name": name})
    changes += [
        {"kind": "add_column", "name": column["name"], "column": column}
        for column in after
        if column["name"] not in old_names and column["name"] not in renamed.values()
    ]
    changes += [{"kind": "drop_column", "name": old} for old in gone if old not in renamed]
    return [*changes, *_type_changes(cfg, after, before, renamed)]


def _type_changes(
    cfg: Settings,
    after: Sequence[SourceColumn],
    before: Sequence[SourceColumn],
    renamed: Mapping[str, str],
) -> Iterator[Change]:
    declared = lowered(one["name"] for one in cfg["columns"] if one.get("data_type"))
    kept = aliases_of(cfg, {"renames": {}})
    follows = cfg["ddl"]["rename_column"] == "apply"
    former = {new: old for old, new in renamed.items()} if follows else {}
    were = {column["name"]: column.get("type") for column in reversed(before)}
    for column in after:
        name = column["name"]
        was = were.get(former.get(name, name))
        # its values go to the column that is declared under its former name, or that keeps it by
        # previous_names
        names = lowered([name, former.get(name, ""), kept.get(name.lower(), "")])
        if not was or not column["type"] or any(one in declared for one in names):
            continue
        if not is_same_by_name(was, column["type"]):
            wider = wider_type(was, column["type"], cfg["file_format"])
            kind = "widen_column" if wider else "change_type"
            yield {"kind": kind, "name": name, "type": column["type"], "was": was}


def judge_change(cfg: Settings, change: Change) -> Change:
    """Return what becomes of a change by policy: {policy}.

    A column whose name `previous_names` keeps is not renamed.

    Example:
        >>> judge_change(cfg, {"kind": "add_column", "name": "fax"})
        {'policy': 'apply'}

    Returns:
        `stops`, too, where it cannot be applied: what of it, and what to do.
    """
    policy = cfg["ddl"][change["kind"]]
    if change["kind"] != "rename_column" or policy != "apply":
        return {"policy": policy}
    was, now = change["old"], change["name"]
    old, new = was.lower(), now.lower()
    if change.get("crosses"):
        return _stopped(
            f"in which `{was}` becomes `{now}` while another column takes or gives up one of these "
            "names: that cannot be followed",
            "Set ddl.rename_column to ignore under meta.tidemark and run again, then have the "
            "source read the whole table once more: until then rows keep what they have under each "
            "name. Or begin anew with --full-refresh on a snapshot from after the statement",
        )
    if aliases_of(cfg, {"renames": {}}).get(new) == old:
        return {"policy": "ignore"}
    settings = {"unique_key": cfg["keys"], "sequence_by": cfg["sequence_by"]}
    if old not in lowered(names_of(cfg["columns"])):
        settings |= {
            "ignore": cfg["ignore"],
            "sensitive": cfg["sensitive"],
            "track_history": cfg["tracked"]["include"] + cfg["tracked"]["exclude"],
            "columns": cfg["chosen"]["include"],
        }
    if old in cfg["chosen"]["exclude"] and new not in cfg["chosen"]["exclude"]:
        return _stopped(
            f"and columns leaves out `{was}`, which is `{now}` now",
            f"Name `{now}` under columns.exclude too, and run again",
        )
    for setting, names in settings.items():
        if old != new and old in lowered(names):
            return _stopped(
                f"and {setting} names `{was}`, which is `{now}` now",
                f"Set previous_names: {{{was}: {now}}} under meta.tidemark, by which the column "
                "keeps its name here, and run again",
            )
    return {"policy": policy}


def _stopped(what: str, cure: str) -> Change:
    return {"policy": "fail", "stops": [what, cure]}


def hidden_renames(content: TableStatement, before: Sequence[SourceColumn]) -> list[Change]:
    """Return the renames within a statement that names before and after it do not show.

    There one of the names stays with another column. They cross if that one takes or gives up its
    name in the statement, too: tables on their way do not tell which has which values.

    Example:
        >>> hidden_renames({"ddl": "alter table t change a b int, add a int", …}, before)
        [{'kind': 'rename_column', 'old': 'a', 'name': 'b', 'crosses': True}]
    """
    pairs = renamed_pairs(content.get("ddl") or "")
    known = {column["name"]: column for column in reversed(before)}
    for column in content["columns"]:
        # a source may go on to say what a column was called once
        former, was = column.get("previous_name"), known.get(column["name"])
        if former and (was is None or was.get("previous_name") != former):
            pairs.append((former.lower(), column["name"].lower()))
    old_names = {column["name"].lower(): column["name"] for column in before}
    new_names = {column["name"].lower(): column["name"] for column in content["columns"]}
    pairs = [(old, new) for old, new in pairs if old in old_names and new in new_names]
    return [
        {
            "kind": "rename_column",
            "old": old_names[old],
            "name": new_names[new],
            "crosses": old in new_names or new in (one for one, _ in pairs),
        }
        for old, new in pairs
        if old != new and (old in new_names or new in old_names)
    ]


def failed_policy(
    cfg: Settings, statement: Statement, change: Change, is_cut: bool = True
) -> DataError:
    """Return the error that a statement stops with, by policy or because it cannot be followed.

    Args:
        cfg: The settings of the entity.
        statement: What stops it, with its `text`.
        change: Which of its changes.
        is_cut: Whether the batch was cut there, so that what came before it was applied.
    """
    kind, before = change["kind"], ""
    if kind == "change_type":
        before = (
            f"The type of `{change['name']}` went from {change['was']} to {change['type']}, which "
            "the target cannot follow in place: declare a data_type for it that holds both, or "
        )
    why, advice = change.get("stops") or (
        f"and ddl.{kind} is fail",
        f"{before}set ddl.{kind} to apply or ignore under meta.tidemark, then run again",
    )
    applied = "what came before it was applied" if is_cut else "nothing was applied"
    return DataError(
        f"{cfg['entity']}: the source did `{statement['text']}`, {why}; {applied}. {advice}"
    )


def check_name_of_key(
    cfg: Settings, recorded: Recorded, statement: Statement, change: Change
) -> None:
    """Refuse a column that takes the name of the key.

    The rows are known here by what the one that was called so had.

    Raises:
        DataError: It does.
    """
    declared = lowered(names_of(cfg["columns"]))
    old, new = change["old"].lower(), change["name"].lower()
    for column in recorded["columns"]:
        is_key = column["name"].lower() == new and column.get("role") == "key"
        if is_key and old != new and old not in declared:
            stops = (
                f"and `{column['name']}`, by which rows are known here, is what was "
                f"`{change['old']}`",
                "Begin anew with --full-refresh on a snapshot from after the statement",
            )
            raise failed_policy(cfg, statement, {**change, "stops": stops})
