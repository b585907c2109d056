"""Whether a key is being erased while something else makes a copy of its log."""

from __future__ import annotations

from typing import Any

from tests.macros import load_macros, warehouse_of
from tidemark.pipeline.replacing import has_concurrent_erase


def test_erases_beside__of_an_entity_without_commits_compares_with_a_number() -> None:
    macros, asked = load_macros("expr", "log", "query"), list[str]()

    def query_rows(sql: str) -> list[dict[str, Any]]:
        asked.append(sql)
        return [{"is_beside": False}]

    macros["query_rows"] = query_rows
    commits = {"states": "commits", "view": "last_commits", "are_known": False}
    assert not has_concurrent_erase(warehouse_of(macros), commits, "shop.orders", None)
    assert "commit_id > 0)" in asked[0]
