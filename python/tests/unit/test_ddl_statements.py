"""What DDL statements say of the name of a table, and which names it bears after them. No JVM."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rendering import load_sql_macros

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
    assert load_sql_macros()["renamed_table"](ddl, name) == previous


def followed(*statements: tuple[str, str, str | None], **batch: Any) -> tuple[list[str], list[str]]:
    """The names that a table bears after statements (operation, table, previous), and those whose rows are taken."""
    macros = load_sql_macros()
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
            "_operation": operation, "_database": "shop", "_table": table, "_prev_table": previous, "_schema": None,
        }  # fmt: skip
        said = macros["canonical_statement"](row, batch)
        if said:
            cfg = {"ddl": APPLY, "columns": [], "file_format": "delta"}
            statement = {"operation": operation, "changes": [], "effect": "none", "cuts": False}
            macros["judge_statement"](cfg, batch, statement, said, None)
            if statement["effect"] == "close":
                batch.setdefault("closed", []).append(table)
    assert not batch.get("closed") or batch["closed"] == ["a"]
    return macros["names_of_table"](batch), batch["tables"]


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
