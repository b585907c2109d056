"""What DDL statements say of the name of a table, which names it bears after them, and what becomes of its columns. No JVM."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import re
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from tests.macros import load_macros, warehouse_of
from tests.rendering import load_sql_macros
from tidemark.errors import ConfigError, DataError
from tidemark.pipeline import altering, events_statement
from tidemark.rules.batches import batch_at, stretches_of
from tidemark.rules.event_roles import aliases_of, names_to_come
from tidemark.rules.statement_texts import renames_column
from tidemark.rules.statements import (
    canonical_statement,
    check_name_of_key,
    column_changes,
    debezium_statement,
    failed_policy,
    hidden_renames,
    judge_change,
    judge_statement,
    renamed_table,
)
from tidemark.rules.table_names import check_one_table, names_of_table


def judge(cfg: Any, batch: Any, statement: Any, said: Any, before: Any) -> None:
    """What becomes of a statement is told in it and in the batch, as in a load."""
    judged = judge_statement(cfg, batch, statement, said, before)
    batch.update(judged["batch"])
    statement.update(judged["statement"])


APPLY = {"rename_table": "apply", "create_table": "apply", "drop_table": "apply"}


@pytest.mark.parametrize(
    ("ddl", "name", "previous"),
    [
        ("rename table a to b", "shop.b", "shop.a"),
        ("RENAME TABLE `shop`.`a` TO `shop`.`b`", "shop.b", "shop.a"),
        ("rename /* by a tool */ table shop.a to shop.b", "shop.b", "shop.a"),
        ("rename table a to a_del, a_gho to a", "shop.a", "shop.a_gho"),
        ("rename table a to a_del, a_gho to a", "shop.a_del", "shop.a"),
        ("rename table `my table` to `her table`", "shop.her table", "shop.my table"),
        ("rename tables if exists a wait 5 to b", "shop.b", "shop.a"),
        ("rename table a to other.b", "other.b", "other.a"),
        ("alter table a rename b", "shop.b", "shop.a"),
        ("ALTER TABLE a RENAME TO b", "shop.b", "shop.a"),
        ("alter table a add column z int, rename to b", "shop.b", "shop.a"),
        ("alter table a rename as `b`, add column z int", "shop.b", "shop.a"),
        ("alter table a\n  rename column x to y,\n  rename to b", "shop.b", "shop.a"),
        ('ALTER TABLE "S"."A" RENAME TO "B"', "DB.S.B", "DB.S.A"),
        ("alter table a rename column x to b", "shop.b", None),
        ("alter table a rename index x to b", "shop.b", None),
        ("alter table a comment 'x, rename to b'", "shop.b", None),
        ("alter table a add column z int", "shop.a", None),
        ("create table b (id int)", "shop.b", None),
        ("", "shop.b", None),
    ],
)
def test_renamed_table(ddl: str, name: str, previous: str | None) -> None:
    assert renamed_table(ddl, name) == previous


@pytest.mark.parametrize(
    ("ddl", "says"),
    [
        ("alter table t change a b int", True),
        ("alter table t CHANGE COLUMN `a` `b` int", True),
        ("alter table t rename column a to b", True),
        ("alter table t change column if exists a b int", True),
        ("alter table t rename column if exists a to b", True),
        ("alter table t change /* by a tool */ a/**/b int", True),
        ("alter table t /*!50000 change a b int */", True),
        ("alter table t /*M!100100 change a b int */", True),
        ("alter table t comment 'change a b', add column b int", False),
        ("alter table t add column b int /* change a b */", False),
        ("alter table t change a bc int", False),
        ('alter table t add c enum("x\\"", "y") comment "change a b"', False),
    ],
)
def test_renames_column(ddl: str, says: bool) -> None:
    assert renames_column(ddl, "a", "b") is says


@pytest.mark.parametrize("name", ["COMMENT", "MY COMMENT", "DEFAULT", "it's", "/*"])
def test_says_rename__of_a_name_that_looks_like_a_text(name: str) -> None:
    assert renames_column(f'ALTER TABLE "S"."T" RENAME COLUMN "{name}" TO "NOTE"', name, "NOTE")
    assert renames_column(
        f"alter table t change `NOTE` `{name}` int, add c int comment 'x'", "NOTE", name
    )


def followed(
    *statements: tuple[str, str, str | None], database: str | None = "shop", **batch: Any
) -> tuple[list[str], list[str]]:
    """The names that a table bears after statements (operation, table, previous), and those whose rows are taken."""
    table_named = next(iter(batch.get("tables", ["shop.a"])), None)
    batch = {
        "tables": ["shop.a"],
        "named": [],
        "followed": [],
        "refused": [],
        "renames": {},
        **batch,
    }
    for operation, table, previous in statements:
        row = {
            "_operation": operation, "_database": database, "_table": table, "_prev_table": previous, "_schema": None,
        }  # fmt: skip
        setting = {"entity": "orders", "table": table_named}
        said = canonical_statement(row, batch, setting)
        if said:
            cfg = {"ddl": APPLY, "columns": [], "file_format": "delta"}
            statement = {"operation": operation, "changes": [], "effect": "none", "cuts": False}
            judge(cfg, batch, statement, said, None)
            if statement["effect"] == "close":
                batch.setdefault("closed", []).append(table)
    assert not batch.get("closed") or batch["closed"] == ["a"]
    return names_of_table(batch), batch["tables"]


def told_columns(text: Any) -> list[dict[str, Any]]:
    """What a canonical statement with this `_schema` says of columns."""
    row = {
        "_operation": "ALTER_TABLE", "_database": "shop", "_table": "a", "_prev_table": None,
        "_schema": text if isinstance(text, str) or text is None else json.dumps(text),
    }  # fmt: skip
    batch = {"tables": ["shop.a"], "followed": [], "named": []}
    found = canonical_statement(row, batch, {"entity": "orders", "table": "shop.a"})["columns"]
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("DECIMAL(9, 2)", "decimal(9, 2)"),
        ("STRUCT<streetName: STRING, No:Decimal(9, 2)>", "struct<streetName: string,No:decimal(9, 2)>"),
        ("Array<Map<String, Struct<`A:b`:INT>>>", "array<map<string,struct<`A:b`:int>>>"),
        (None, None),
    ],
)  # fmt: skip
def test_canonical_statement__names_of_fields(told: str | None, kept: str | None) -> None:
    """They are letter for letter those of JSON; the words of types are one in any case."""
    (column,) = told_columns([{"name": "address", "type": told}])
    assert column["type"] == kept
    cfg = {**SETTINGS, "ddl": {"rename_column": "apply"}}
    before = [{"name": "address", "type": told and told.lower()}]
    assert column_changes(cfg, {"columns": [column]}, before) == []


@pytest.mark.parametrize(
    "text",
    ["id int, name string", ["id", "name"], {"id": "int"}, "3", "null", [{"type": "int"}], [{"name": "id", "type": 3}]],
)  # fmt: skip
def test_canonical_statement__no_list_of_columns(text: Any) -> None:
    assert told_columns(None) is told_columns([]) is None
    with pytest.raises(DataError, match=r"orders: `_schema` of a DDL event is `.*`, which is not a list of columns"):  # fmt: skip
        told_columns(text)


def test_follow_table() -> None:
    rename, create, drop = "RENAME_TABLE", "CREATE_TABLE", "DROP_TABLE"
    assert followed() == (["shop.a"], ["shop.a"])
    assert followed((rename, "b", "a")) == (["shop.a", "shop.b"], ["shop.a", "shop.b"])
    assert followed((rename, "b", "a"), (rename, "a", "b")) == (["shop.b", "shop.a"], ["shop.a", "shop.b"])  # fmt: skip
    # a copy is swapped in; the table that goes is no longer ours
    swapped = followed((rename, "a_del", "a"), (rename, "a", "a_gho"), (drop, "a_del", None))
    assert swapped == (["shop.a"], ["shop.a", "shop.a_del"])
    # a full table is put aside
    aside = followed((rename, "a_2025", "a"), (create, "a", None), (drop, "a_2025", None))
    assert aside == (["shop.a"], ["shop.a", "shop.a_2025"])
    # made anew under its own name
    assert followed((drop, "a", None), (create, "a", None)) == (["shop.a"], ["shop.a"])
    # a copy of a table that was renamed before
    moved = followed((rename, "b", "a"), (rename, "b_old", "b"), (rename, "b", "b_new"))
    assert moved == (["shop.b"], ["shop.a", "shop.b", "shop.b_old"])
    # others
    assert followed((rename, "c", "b"), (drop, "c", None)) == (["shop.a"], ["shop.a"])
    # the setting names none
    untold = {"tables": [], "named": ["shop.a"]}
    assert followed((rename, "c", "b"), (drop, "c", None), **untold) == (["shop.a"], [])
    assert followed((rename, "b", "a"), **untold) == (["shop.a", "shop.b"], ["shop.a", "shop.b"])
    # the setting leaves out the database
    assert followed((rename, "b", "a"), (rename, "a", "c"), tables=["a"])[0] == ["shop.a"]


@pytest.mark.parametrize("name", ["shop.a", "a"])
@pytest.mark.parametrize("tables", [["a"], []])
def test_follow_table__statements_without_database(name: str, tables: list[str]) -> None:
    rename, drop = "RENAME_TABLE", "DROP_TABLE"
    told: dict[str, Any] = {"tables": tables, "named": [name], "database": None}
    swap = ((rename, "a_del", "a"), (rename, "a", "a_gho"), (drop, "a_del", None))
    assert followed(*swap, **told)[0] == [name]
    # a table that only looks alike, and one that was renamed before
    assert followed((drop, "aa", None), **told)[0] == [name]
    moved = f"{name[:-1]}b"
    assert followed((rename, "b", "a"), **told)[0] == [name, moved]


@pytest.mark.parametrize("told", [{"tables": ["a"]}, {"tables": []}, {"tables": ["SHOP.A"]}])
def test_database_of_table(told: dict[str, list[str]]) -> None:
    """Which database a statement has to be of the events tell, where the setting leaves it out."""
    batch = {"named": ["shop.a"], "followed": [], "refused": [], **told}
    setting = {"entity": "a", "table": next(iter(told["tables"]), None)}

    def is_ours(operation: str, database: str | None, table: str | None = None) -> list[bool]:
        row = {"_operation": operation, "_database": database, "_table": table, "_prev_table": None, "_schema": None}  # fmt: skip
        change = {"id": f'"{database}"."{table}"', "type": "DROP"}
        debezium = {
            "_ddl": operation.replace("_", " ") + f" {table or database}", "_ddl_database": database, "_is_captured": False,
            "_table_changes": json.dumps([change] if table else []),
        }  # fmt: skip
        said = [
            canonical_statement(row, batch, setting), debezium_statement(debezium, batch)
        ]  # fmt: skip
        return [one is not None for one in said]

    assert is_ours("DROP_DATABASE", "shop") == is_ours("DROP_TABLE", "shop", "a") == [True, True]
    assert is_ours("CREATE_DATABASE", "shop") == [True, True]
    assert is_ours("CREATE_DATABASE", "archive") == [False, False]
    assert is_ours("DROP_DATABASE", "archive") == is_ours("DROP_TABLE", "archive", "a") == [False, False]  # fmt: skip
    # a statement may leave it out too
    if told["tables"] == ["a"]:
        assert is_ours("DROP_TABLE", None, "a")[0]


@pytest.mark.parametrize(
    ("setting", "tables", "ours"),
    [
        ("a", ["a"], "a shop.a x.a"),
        # a statement has told the whole name
        ("a", ["shop.a", "shop.B"], "a b shop.a shop.b"),
        (None, ["shop.a"], "a shop.a"),
        ("shop.a", ["shop.a"], "shop.a"),
        ("public.a", ["shop.public.a"], "public.a shop.public.a"),
    ],
)
def test_events_without_database(setting: str | None, tables: list[str], ours: str) -> None:
    """They are of the table where the setting leaves the database out, before and after a statement; so are those beside them that tell it."""
    macros = load_sql_macros()
    is_ours = macros["_is_canonical_table_expr"]({"table": setting}, tables, "_table")
    names = ["a", "b", "public.a", "shop.a", "shop.b", "shop.public.a", "x.a"]
    found = []
    for name in names:
        database, _, table = name.rpartition(".") if "public" not in name else (name.removesuffix("public.a").strip("."), "", "public.a")  # fmt: skip
        told = f"'{database}'" if database else "cast(null as string)"
        query = f"select {is_ours} from (select {told} as _database, '{table}' as _table)"
        found += [name] if duckdb.sql(query).fetchall() == [(True,)] else []
    assert " ".join(found) == ours
    batch = {"tables": tables, "named": []}
    figures = [{"_table_name": name} for name in ("a", "shop.a")]
    check_one_table({"entity": "a"}, batch, figures, [])
    figures.append({"_table_name": "archive.a"})
    with pytest.raises(ConfigError, match=r"of several tables \(archive.a, shop.a\)"):
        check_one_table({"entity": "a"}, {"tables": ["a"], "named": []}, figures, [])


def refused(
    *statements: tuple[str, list[str]], policy: str = "apply", **batch: Any
) -> tuple[list[set[str]], dict[str, Any]]:
    """The names that images have for no column, in each stretch, of statements (text, names of columns); and the batch in the last."""
    cfg = {
        "ddl": {"add_column": policy, "rename_column": "apply", "drop_column": "ignore"},
        "columns": [], "keys": [], "sequence_by": [], "ignore": [], "sensitive": [], "tracked": {"include": [], "exclude": []},
        "previous_names": {}, "file_format": "delta", "chosen": SETTINGS["chosen"],
    }  # fmt: skip
    batch = {
        "statements": [], "refused": [], "renames": {}, "names": [], "source_columns": [{"name": "id"}, {"name": "a"}],
        **batch,
    }  # fmt: skip
    before = batch["source_columns"]
    for number, (text, names) in enumerate(statements, 1):
        columns = [{"name": name, "type": None} for name in names]
        statement = {
            "landing_num": number * 10, "columns": columns, "changes": [], "effect": "none", "cuts": False,
        }  # fmt: skip
        said = {"operation": "ALTER_TABLE", "table": "shop.a", "columns": columns, "ddl": text}
        judge(cfg, batch, statement, said, before)
        batch["statements"].append(statement)
        before = columns
    found = []
    for stretch in stretches_of(batch):
        batch = batch_at(batch, stretch)
        found.append({*batch["refused"], *names_to_come(batch, stretch)})
    return found, batch


def test_refused_names__a_column_takes_a_former_name() -> None:
    """The name of a renamed column is free for a new one; before the rename it is that of the old one."""
    rename = ("alter table a rename column a to b", ["id", "b"])
    add = ("alter table a add column a int", ["id", "b", "a"])
    assert refused(rename)[0] == [{"b"}, {"a"}]
    assert refused(rename, add)[0] == [{"b"}, {"a"}, set()]
    # in a later batch
    renamed = {"refused": ["a"], "source_columns": [{"name": "id"}, {"name": "b"}]}
    assert refused(**renamed)[0] == [{"a"}]
    assert refused(add, **renamed)[0] == [{"a"}, set()]
    # by another rename
    shifted = ("alter table a rename column id to a", ["a", "b"])
    assert refused(shifted, **renamed)[0] == [{"a"}, {"id"}]
    # as it is read under the name that is declared
    aliases = [refused(*given)[1]["renames"] for given in ([rename], [rename, add])]
    assert aliases == [{"a": "b"}, {}]


def test_aliases__of_renames_to_declared_names() -> None:
    """Values come under the declared name at once, unless the column is known under the former one: the statement takes them along."""
    cfg = {"previous_names": {}, "columns": [{"name": "B"}], "keys": ["id"]}
    aliases = aliases_of
    found = {"renames": {"a": "B"}}
    assert aliases(cfg, found) == aliases(cfg, found, [{"name": "b"}]) == {"a": "b"}
    assert aliases(cfg, found, [{"name": "A"}]) == {}
    # another one of that name, which was dropped
    assert aliases(cfg, found, [{"name": "a", "gone": True}]) == {"a": "b"}


def test_refused_names__by_policy() -> None:
    """What a policy leaves out is refused by the policy of the day; where tables are still to be made, in its batch."""
    drop = ("alter table a drop column a", ["id"])
    add = ("alter table a add column a int", ["id", "a"])
    other = ("alter table a add column c int", ["id", "a", "c"])
    found, batch = refused(other, policy="ignore")
    assert (found, batch["refused"]) == ([{"c"}], [])
    # there was one of that name before
    assert refused(drop, add, policy="ignore")[0] == [set()]
    assert refused(drop, add)[0] == [set(), set()]
    # an earlier version recorded it
    columns = [{"name": "id"}, {"name": "a"}, {"name": "c"}]
    assert refused(refused=["c"], source_columns=columns)[0] == [set()]


SETTINGS: dict[str, Any] = {
    "ddl": {
        "add_column": "apply", "drop_column": "ignore", "rename_column": "apply", "widen_column": "apply", "change_type": "fail", **APPLY,
    },
    "columns": [], "keys": ["id"], "sequence_by": [], "ignore": ["seen"], "sensitive": [], "tracked": {"include": [], "exclude": []},
    "previous_names": {}, "file_format": "delta", "entity": "shop", "chosen": {"all": True, "include": [], "exclude": []},
}  # fmt: skip


def judged(
    said: str | dict[str, str], before: str, after: str, **settings: Any
) -> list[tuple[str, ...]]:
    """What becomes of the columns of a table (`id a:bigint`) by a statement's text, or the former names that an event tells."""

    def columns(names: str, former: dict[str, str]) -> list[dict[str, Any]]:
        found = [(*name.split(":"), "int")[:2] for name in names.split()]
        return [{"name": n, "type": kind, "encoding": "auto", "previous_name": former.get(n)} for n, kind in found]  # fmt: skip

    told = {"operation": "ALTER_TABLE", "table": "shop.a", "ddl": said if isinstance(said, str) else None}  # fmt: skip
    told["columns"] = columns(after, {} if isinstance(said, str) else said)  # type: ignore[assignment]
    batch = {"tables": ["shop.a"], "named": [], "followed": [], "refused": [], "renames": {}}
    statement: dict[str, Any] = {"text": "x", "changes": [], "effect": "none", "cuts": False}
    cfg = {**SETTINGS, **settings}
    judge(cfg, batch, statement, told, columns(before, {}))
    assert statement["cuts"] == any(one["policy"] != "ignore" for one in statement["changes"])
    return [
        (one["kind"].split("_")[0], one["policy"], *filter(None, [one.get("old"), one["name"]]))
        for one in statement["changes"]
    ]


@pytest.mark.parametrize(
    ("said", "before", "after", "expected"),
    [
        # names go round
        ("alter table t change a b int, change b a int", "id a b", "id b a", ["fail a b", "fail b a"]),
        ("alter table t rename column `A` to B, rename column `b` to `a`", "id a b", "id b a", ["fail a b", "fail b a"]),
        ({"a": "b", "b": "a"}, "id a b", "id a b", ["fail b a", "fail a b"]),
        # on to the next
        ("alter table t change column b c int, change a b int", "id a b", "id b c", ["fail b c", "fail a b"]),
        # the name goes to a new column
        ('ALTER TABLE t RENAME COLUMN "a" TO "b", ADD COLUMN "a" INT', "id a", "id b a", ["fail a b"]),
        # the name is that of a column which goes
        ("alter table t drop column b, change if exists a b bigint", "id a b:text", "id b:bigint", ["apply a b"]),
        ({"b": "a"}, "id a b", "id b", ["apply a b"]),
        # none of these is one
        ("alter table t change a a bigint comment 'change a b', add c int /* change a b */", "id a b", "id a b c", []),
        ('alter table t add c int comment "change a b"', "id a b", "id a b c", []),
        ("alter table t rename index a to b", "id a b", "id a b", []),
        ("alter table t rename to b, change a a int", "id to a b", "id to a b", []),
        ("alter table t rename column a to c", "id a to", "id c to", ["apply a c"]),
    ],
)  # fmt: skip
def test_column_changes__names_within_a_statement(
    said: Any, before: str, after: str, expected: list[str]
) -> None:
    found = judged(said, before, after)
    assert [" ".join(change[1:]) for change in found if change[0] == "rename"] == expected
    kept = judged(said, before, after, ddl={**SETTINGS["ddl"], "rename_column": "ignore"})
    renames = [" ".join(change[2:]) for change in kept if change[0] == "rename"]
    assert renames == [one.split(" ", 1)[1] for one in expected]
    assert {change[1] for change in kept if change[0] == "rename"} <= {"ignore"}


def test_column_changes__what_else_a_statement_does() -> None:
    swap = "alter table t change a b int, change b a int, add c int, drop d"
    assert judged(swap, "id a b d", "id b a c")[2:] == [("add", "apply", "c"), ("drop", "ignore", "d")]  # fmt: skip
    # an event that says again what a column was called once
    again = {"ddl": None, "columns": [{"name": "b", "previous_name": "a"}, {"name": "a"}]}
    assert hidden_renames(again, again["columns"]) == []
    # of a column that others are named by here
    assert judged({"key": "id"}, "id a", "key a") == [("rename", "fail", "id", "key")]
    assert judged({"at": "seen"}, "id seen", "id at") == [("rename", "fail", "seen", "at")]
    assert judged({"ID": "id"}, "id a", "ID a") == [("rename", "apply", "id", "ID")]
    declared = [{"name": "seen", "data_type": None}]
    assert judged({"at": "seen"}, "id seen", "id at", columns=declared)[0][1] == "apply"
    # a renamed column may get another type too, and the name of one that goes
    change = "alter table t change a b varchar(9)"
    assert judged(change, "id a:int", "id b:string") == [("rename", "apply", "a", "b"), ("change", "fail", "b")]  # fmt: skip
    assert judged(change, "id a:int", "id b:bigint")[1:] == [("widen", "apply", "b")]
    # not where the type is declared, under a name that stays
    typed: dict[str, Any] = {"columns": [{"name": "a", "data_type": "string"}]}
    assert judged(change, "id a:int", "id b:string", **typed) == [("rename", "apply", "a", "b")]
    typed["previous_names"] = {"a": "b"}
    assert judged(change, "id a:int", "id b:string", **typed) == [("rename", "ignore", "a", "b")]
    assert judged("alter table t modify b int", "id b:string", "id b:int", **typed) == []
    drop = "alter table t drop column b, change a b int"
    assert judged(drop, "id a:int b:string", "id b:int") == [("rename", "apply", "a", "b")]
    stops = judged(drop, "id a b", "id b", ddl={**SETTINGS["ddl"], "drop_column": "fail"})
    assert stops == [("rename", "apply", "a", "b"), ("drop", "fail", "b")]
    # one that the copy is not to have, unless its new name is left out too
    left_out = {"all": True, "include": [], "exclude": ["a"]}
    assert judged(change, "id a", "id b", chosen=left_out) == [("rename", "fail", "a", "b")]
    left_out = {**left_out, "exclude": ["a", "b"]}
    assert judged(change, "id a", "id b", chosen=left_out) == [("rename", "apply", "a", "b")]
    # which its setting keeps
    kept = {"id": ["nr", "Key"]}
    assert judged({"key": "id"}, "id a", "key a", previous_names=kept) == [("rename", "ignore", "id", "key")]  # fmt: skip


def test_raise_failed_policy() -> None:
    """It says what to do."""

    def message(change: dict[str, Any]) -> str:
        change = {**change, **judge_change(SETTINGS, change)}
        return str(failed_policy(SETTINGS, {"text": "x"}, change))

    key = message({"kind": "rename_column", "old": "id", "name": "key"})
    assert "shop: the source did `x`, and unique_key names `id`, which is `key` now; what came before it was applied. " in key  # fmt: skip
    assert "Set previous_names: {id: key} under" in key
    crossing = message({"kind": "rename_column", "old": "a", "name": "b", "crosses": True})
    assert "in which `a` becomes `b` while another column takes or gives up one" in crossing
    widened = message({"kind": "change_type", "name": "a", "was": "int", "type": "text"})
    assert "and ddl.change_type is fail; what came before it was applied. The type of `a`" in widened  # fmt: skip


def test_column_that_takes_the_name_of_the_key() -> None:
    """It stops before the key's values are put aside; not where the name stays."""
    recorded = {"columns": [{"name": "id", "role": "key"}, {"name": "nr", "role": "compared"}]}
    change = {"kind": "rename_column", "old": "nr", "name": "ID"}
    with pytest.raises(DataError, match="and `id`, by which rows are known here, is what was `nr`"):
        check_name_of_key(SETTINGS, recorded, {"text": "x"}, change)
    for old, new in (("id", "ID"), ("nr", "number")):
        check_name_of_key(SETTINGS, recorded, {"text": "x"}, {**change, "old": old, "name": new})


class Stored:
    """The tables of an entity, each with its columns and whether they have values, for macros that alter them.

    As tables of Delta are made, none lets a column be renamed or dropped before it maps their names (`mapped`).

    Args:
        columns: Those of each table.
        dies: The number of the statement after which the run dies.
    """

    def __init__(self, columns: dict[str, dict[str, bool]], dies: int = 99) -> None:
        self.columns = columns
        self.mapped: set[str] = set()
        self.left = dies
        self.macros = load_macros("expr", "log", "query", "load")
        self.macros["lake_format"] = lambda: "delta"
        self.macros["relation_exists"] = lambda relation: relation in self.columns
        self.macros["has_rows"] = lambda relation, condition: self.columns[relation][condition.split("`")[1]]  # fmt: skip
        self.macros["run_query"] = self.run_query
        self.macros["table_property"].context["run_query"] = self.run_query
        self.warehouse = warehouse_of(
            self.macros,
            get_columns_in_relation=lambda relation: [SimpleNamespace(name=name) for name in self.columns[relation]],
        )  # fmt: skip

    def run_query(self, sql: str) -> list[tuple[str, str]] | None:
        if sql.startswith("show tblproperties "):
            mode = [("delta.columnMapping.mode", "name")]
            return mode if sql.split()[-1] in self.mapped else []
        if not self.left:
            raise RuntimeError("died")
        self.left -= 1
        if " set tblproperties ('delta.columnMapping.mode' = 'name', " in sql:
            self.mapped.add(sql.split()[2])
            return None
        table, what, names = re.fullmatch(r"alter table (\w+) (drop|rename|add) columns? (.*)", sql, re.DOTALL).groups()  # type: ignore[union-attr]  # fmt: skip
        old, *new = [name.strip("`") for name in names.split(" to ")]
        columns = self.columns[table]
        if what == "add":
            columns.update(dict.fromkeys(re.findall("`(.*?)`", names), False))
            return None
        assert table in self.mapped and old in columns and not {*new} & {*columns}, sql
        self.columns[table] = {
            (new[0] if name == old and what == "rename" else name): has_values
            for name, has_values in columns.items()
            if name != old or what == "rename"
        }
        return None


TABLES = ("log_table", "current", "staging", "sensitive")


def known(*names: str) -> dict[str, Any]:
    """What a commit recorded; a name in brackets is that of a column which was taken away."""
    return {
        "columns": [
            {"name": name.strip("()"), "hash_name": name.strip("()"), "gone": name.startswith("("), "sensitive": False}
            for name in names
        ]
    }  # fmt: skip


def apply(stored: Stored, recorded: dict[str, Any], change: dict[str, Any]) -> list[Any]:
    """Bring a statement to tables: what is recorded of their columns then."""
    cfg = {"columns": [], "keys": ["id"]}
    told = copy.deepcopy(recorded)
    statement = {"changes": [{"policy": "apply", **change}]}
    relations = {name: name for name in TABLES}
    altering.alter_columns(stored.warehouse, cfg, relations, told, statement)
    return [(one["name"], one["hash_name"], one["gone"]) for one in told["columns"]]


RENAME = {"kind": "rename_column", "old": "a", "name": "b"}
ADD = {"kind": "add_column", "name": "b", "column": {"encoding": "auto"}}


def test_rename_column__to_the_name_of_a_dropped_one() -> None:
    """What that has is kept beside current, and again if the run died at any moment."""

    def begin() -> dict[str, dict[str, bool]]:
        columns = {"id": True, "a": True, "b": True}
        return {
            "log_table": dict(columns),
            "current": dict(columns),
            "staging": {**columns, "_before_a": True, "_before_b": False},
        }

    kept = [("id", "id", False), ("b", "a", False), ("b__dropped", "b", True)]
    for dies in range(12):
        stored = Stored(begin(), dies)
        recorded = known("id", "a", "b")
        try:
            apply(stored, recorded, RENAME)
        except RuntimeError:
            pass
        stored.left = 99
        assert apply(stored, recorded, RENAME) == kept, dies
        assert [*stored.columns["log_table"]] == ["id", "b", "b__dropped"]
        assert [*stored.columns["current"]] == ["id", "b"]
        assert [*stored.columns["staging"]] == ["id", "b", "b__dropped", "_before_b"]
    # once more
    stored.columns["log_table"]["a"] = True
    for table in ("current", "staging"):
        stored.columns[table]["a"] = True
    again = apply(stored, known("id", "b", "(b__dropped)", "a"), RENAME)
    assert again == [
        ("id", "id", False), ("b__dropped_2", "b", True), ("b__dropped", "b__dropped", True), ("b", "a", False),
    ]  # fmt: skip
    assert [*stored.columns["log_table"]] == ["id", "b__dropped_2", "b__dropped", "b"]


def test_rename_column__to_one_that_was_declared_before() -> None:
    """It has no values, and gives way; a name in another case is the same."""
    columns = {"id": True, "a": True, "b": False}
    stored = Stored({"log_table": dict(columns), "current": dict(columns)})
    assert apply(stored, known("id", "a", "b"), RENAME) == [("id", "id", False), ("b", "a", False)]
    assert [*stored.columns["log_table"]] == [*stored.columns["current"]] == ["id", "b"]
    cased = apply(stored, known("id", "b"), {**RENAME, "old": "b", "name": "B"})
    assert cased == [("id", "id", False), ("b", "b", False)]


def test_add_column__of_a_dropped_one() -> None:
    """It is a new one; what the other one had stays in the log."""
    stored = Stored({"log_table": {"id": True, "b": True}, "current": {"id": True}})
    recorded = known("id", "(b)")
    kept = [("id", "id", False), ("b__dropped", "b", True)]
    assert apply(stored, recorded, ADD) == kept
    for table in ("log_table", "current"):
        stored.columns[table]["b"] = False
    # the run died before its commit
    assert apply(stored, recorded, ADD) == kept
    assert [*stored.columns["log_table"]] == ["id", "b__dropped", "b"]
    # one that only its source has dropped goes on
    assert apply(stored, known("id", "b"), ADD) == [("id", "id", False), ("b", "b", False)]


@pytest.mark.parametrize("left", [[], ["a"]])
@pytest.mark.parametrize("is_dropped", [False, True])
def test_columns_go_back(
    monkeypatch: pytest.MonkeyPatch, is_dropped: bool, left: list[str]
) -> None:
    """A rollback that died while it brought tables to the names of then goes on with it. What another dead run left gives way."""
    now, back = known("id", "b"), known("id", "a")
    if is_dropped:
        now, back = known("id", "b", "(b__dropped)"), known("id", "a", "b")
    stored, made = Stored({}), []
    stored.macros["recorded_roles"] = lambda *_: {}
    monkeypatch.setattr(altering, "make_current", lambda *_: made.append("current"))
    monkeypatch.setattr(altering, "make_history_view", lambda *_: None)
    for dies in range(10):
        logged = {"id": True, "b": True, **({"b__dropped": True} if is_dropped else {})}
        columns = {"log_table": logged, "current": {"id": True, "b": True}, "staging": dict(logged)}
        for table in columns.values():
            table.update(dict.fromkeys(left, False))
        stored.columns, stored.mapped, stored.left = columns, set(), dies
        made.clear()
        arguments = (
            stored.warehouse,
            {"entity": "shop"},
            {name: name for name in TABLES},
            now,
            back,
        )
        try:
            altering.columns_go_back(*arguments)
        except RuntimeError:
            pass
        stored.left = 99
        assert altering.columns_go_back(*arguments) == is_dropped
        names = ["id", "a", *(["b"] if is_dropped else [])]
        assert [*stored.columns["log_table"]] == [*stored.columns["staging"]] == names
        # built again from the log, where it has other columns
        assert [*stored.columns["current"]] == (["id", "b", *left] if is_dropped else ["id", "a"])
        assert ("current" in made) == is_dropped


def meant_by(stored: Stored, recorded: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """What the commit of a statement records before a table is altered."""
    rows: list[dict[str, Any]] = []
    opened = {
        "cfg": {"columns": [], "keys": ["id"], "sequence_by": [], "relation": "shop", "entity": "shop"},
        "run": {"business_date": None, "invocation_id": "x"}, "commits": {}, "relations": {name: name for name in TABLES},
        "state": {"first": False, "recorded": recorded, "last_id": 1},
    }  # fmt: skip
    statement = {"event_id": "x", "changes": [{"policy": "apply", **change}]}
    with pytest.MonkeyPatch.context() as patch:
        record = lambda _, commits, commit, *__: rows.append(commit["config"])  # noqa: E731
        patch.setattr(events_statement, "record_commit", record)
        begun = events_statement.begin_statement(stored.warehouse, opened, statement)
    assert begun["state"]["begun"]["commit_id"] == begun["state"]["last_id"] > 1
    assert opened["state"]["recorded"] == recorded
    return rows[0]


@pytest.mark.parametrize(
    ("change", "names", "logged", "current"),
    [
        # with what an earlier run left under its name, in one table
        (RENAME, "id a", "id a b?", "id a"),
        # to the name of one that was dropped, or declared before it had values
        (RENAME, "id a (b)", "id a b", "id a"),
        (RENAME, "id a b", "id a b", "id a b"),
        (RENAME, "id a b", "id a b?", "id a b?"),
        (RENAME, "id a b", "id a? b", "id a? b"),
        (ADD, "id (b)", "id b", "id"),
        ({"kind": "drop_column", "name": "a"}, "id a", "id a", "id a"),
    ],
)
def test_undo_statement(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], names: str, logged: str, current: str
) -> None:
    """Tables that a dead run altered, wholly or half way, are as they are recorded; also if the run dies that takes it back."""

    def table(text: str) -> dict[str, bool]:
        return {name.strip("?"): not name.endswith("?") for name in text.split()}

    begun = {"log_table": table(logged), "current": table(current), "staging": table(logged)}
    stored, made = Stored({}), []
    recorded = {**known(*names.split()), "extract": "events"}
    commit = {"kind": "load", "config": meant_by(stored, recorded, change)}
    stored.macros |= {
        "recorded_cfg": lambda cfg, _: cfg,
        "recorded_roles": lambda *_: {"columns": [], "sensitive": [], "gone_sensitive": []},
        "log_columns": lambda _: [{"name": name} for name in begun["log_table"]],
        "staging_columns": lambda *_: [{"name": name} for name in begun["staging"]],
        "sensitive_columns": lambda _: [],
        "current_columns": lambda *_: [{"name": name} for name in begun["current"]],
        "_nullable": lambda columns: [{"type": "int", **column} for column in columns],
    }
    monkeypatch.setattr(altering, "make_current", lambda *_: made.append("made"))
    monkeypatch.setattr(altering, "make_history_view", lambda *_: None)
    monkeypatch.setattr(altering, "rebuild_current", lambda *_: made.append("built"))
    opened = {
        "cfg": {"entity": "shop", "keys": ["id"]}, "state": {"recorded": recorded}, "relations": {name: name for name in TABLES},
    }  # fmt: skip
    is_remade = change.get("kind") == "drop_column" or (change is RENAME and names == "id a b")
    left = {"b"} if names == "id a" else set()
    for dies, dies_again in itertools.product(range(13), (0, 2, 99)):
        stored.columns, stored.mapped, stored.left = copy.deepcopy(begun), set(), dies
        made.clear()
        with contextlib.suppress(RuntimeError):
            apply(stored, recorded, change)
            if change is ADD:
                stored.run_query("alter table log_table add columns (`b` int)")
        stored.left = dies_again
        with contextlib.suppress(RuntimeError):
            altering.undo_statement(stored.warehouse, opened, commit)
        stored.left = 99
        altering.undo_statement(stored.warehouse, opened, commit)
        assert (made[-2:] == ["made", "built"]) == is_remade
        for name, had in begun.items():
            if name != "current" or not is_remade:
                found = {**stored.columns[name], **dict.fromkeys(left & {*had}, False)}
                assert found == had, (dies, dies_again, name)
