"""What the catalogue says of a table is asked once in a load, and again after each statement."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.spark import catalog, tables_of_load
from tidemark.spark.catalog import table_folder
from tidemark.spark.tables_of_load import catalog_table, forget_tables, remembered_tables


class Catalogue:
    """Tables by name, and how often they were asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tables, self.asked = {"shop.orders": "at first"}, 0
        monkeypatch.setattr(tables_of_load, "table_identifier", lambda _, *names: ".".join(names))
        state = SimpleNamespace(catalog=lambda: self)
        self.session: Any = SimpleNamespace(
            _jsparkSession=SimpleNamespace(sessionState=lambda: state), _jvm=None
        )

    def tableExists(self, name: str) -> bool:
        self.asked += 1
        return name in self.tables

    def getTableMetadata(self, name: str) -> str:
        return self.tables[name]

    def of(self, name: str) -> Any:
        return catalog_table(self.session, "shop", name)


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    return Catalogue(monkeypatch)


def test_in_a_load(catalogue: Catalogue) -> None:
    with remembered_tables():
        assert [catalogue.of("orders"), catalogue.of("ORDERS")] == ["at first"] * 2
        assert catalogue.asked == 1
        # what is not there yet may come at any time
        assert catalogue.of("items") is None
        catalogue.tables["shop.items"] = "new"
        assert catalogue.of("items") == "new"
        catalogue.tables["shop.orders"] = "another"
        forget_tables()
        assert catalogue.of("orders") == "another"
    with remembered_tables():
        catalogue.tables["shop.orders"] = "of the next load"
        assert catalogue.of("orders") == "of the next load"


def test_outside_of_one(catalogue: Catalogue) -> None:
    """Nothing is remembered, in another thread neither."""
    seen = []
    with remembered_tables():
        catalogue.of("orders")
        catalogue.tables["shop.orders"] = "another"
        thread = threading.Thread(target=lambda: seen.append(catalogue.of("orders")))
        thread.start()
        thread.join()
    forget_tables()
    assert [*seen, catalogue.of("orders")] == ["another"] * 2
    del catalogue.tables["shop.orders"]
    assert catalogue.of("orders") is None


def test_table_folder(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table the catalogue knows where it lies; of one to come, where it would."""
    monkeypatch.setattr(catalog, "local_folder", lambda _, folder: folder)
    monkeypatch.setattr(catalog, "folder_to_come", lambda _, *name: f"by default {name}")
    monkeypatch.setitem(catalogue.tables, "shop.orders", SimpleNamespace(location=lambda: "/there"))
    with remembered_tables():
        found = [table_folder(catalogue.session, "shop", name) for name in ("orders", "orders")]
        assert (found, catalogue.asked) == (["/there"] * 2, 1)
        assert table_folder(catalogue.session, "shop", "items") == (
            "by default ('shop', 'items', None)"
        )
