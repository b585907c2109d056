"""Change events whose choice of columns changes: what is left out stays as it is, and is taken up again."""

from __future__ import annotations

from typing import Any

import pytest

from .event_entities import EventEntity, delete, insert, update

COLUMNS = {"id": "int", "name": "string", "email": "string", "seen": "int", "version": "int"}
NARROW = ["id", "name", "version"]
FORMS: dict[str, dict[str, Any]] = {
    # current is written whole, where all columns are chosen by the engine in the workers, or row by row
    "whole": {"engine": "workers"},
    "merged": {"engine": "spark", "write_mode": "merge_on_read"},
}


def row(key: int, name: str, version: int, **others: Any) -> dict[str, Any]:
    return {
        "id": key,
        "name": name,
        "email": f"{name}@x",
        "seen": key,
        "version": version,
        **others,
    }


class Shops:
    """The same table under each form; every step lands the same events and takes them by one run."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.number = 0
        self.entities = [
            EventEntity(project, name, COLUMNS, **settings, ignore=["seen"])
            for name, settings in FORMS.items()
        ]
        # a kept table of intervals
        project.write(
            "models/whole_scd2.sql",
            "{{ config(materialized='scd2') }}\n{{ tidemark.scd2(ref('whole'), by='sequence') }}\n",
        )

    def choose(self, columns: Any) -> None:
        for one in self.entities:
            one.settings["columns"] = columns
            one.write()

    def load(self, *events: Any, at: int | None = None) -> None:
        for one in self.entities:
            numbered = [
                {**event, "_sequence_num": (self.number if at is None else at) + place}
                for place, event in enumerate(events, 1)
            ]
            one.land(numbered)
        if at is None:
            self.number += 10 * len(events)
        self.run()

    def run(self, expect_pass: bool = True) -> Any:
        return self.project.dbt("run", "--select", *FORMS, "whole_scd2", expect_pass=expect_pass)

    def emails(self) -> dict[int, str | None]:
        """By key, as current of both forms, the log and the table of intervals agree."""
        found = []
        for one in self.entities:
            current = one.rows("id, name, email, seen, version, _row_hash")
            names = f"id, name, email, seen, version, _row_hash from {one.name}"
            ranked = f"row_number() over (partition by id order by _sequence_num desc) as r, {names}__log"
            sql = f"select id, name, email, seen, version, _row_hash from (select {ranked} where _superseded_by is null and _operation in ('I', 'U', 'D')) where r = 1"
            logged = {tuple(each) for each in self.project.sql(sql)}
            assert set(current) <= logged, one.name
            found.append(current)
        assert found[0] == found[1]
        kept = self.entities[0].rows("id, email", "_scd2", "_is_current")
        assert kept == [(each[0], each[2]) for each in found[0]]
        return {each[0]: each[2] for each in found[0]}


@pytest.fixture(scope="module")
def shops(module_project: Any) -> Shops:
    return Shops(module_project)


@pytest.mark.turn(2)
def test_columns_that_are_left_out_stay(shops: Shops) -> None:
    many = [insert(row(key, f"n{key}", 1)) for key in range(10, 40)]
    shops.load(
        insert(row(1, "a", 1)), insert(row(4, "d", 1)), insert(row(5, "e", 1)), insert(row(6, "f", 1)), *many
    )  # fmt: skip
    others = {key: f"n{key}@x" for key in range(10, 40)}

    # narrow: a new row, a change, a change of the key, and a row that goes and comes again
    shops.choose(NARROW)
    shops.load(
        insert(row(2, "b", 2)),
        update(row(4, "dd", 2)),
        update(row(7, "e", 2), {"id": 5}),
        delete({"id": 6}),
        insert(row(6, "f", 2)),
    )
    narrow = {1: "a@x", 2: None, 4: "d@x", 6: None, 7: "e@x", **others}
    assert shops.emails() == narrow
    one = shops.entities[0]
    assert one.rows("id, seen", where="id < 9") == [(1, 1), (2, None), (4, 4), (6, None), (7, 5)]
    changed = "_operation = 'U' and id < 9"
    assert one.rows("id, _changed_columns", "__log", changed) == [(4, ["name", "version"])]

    # current is made anew from the log
    for entity in shops.entities:
        shops.project.sql(f"drop table {entity.name}")
    shops.load(update(row(1, "aa", 3)))
    assert shops.emails() == narrow

    # wide again: what events bring from now on counts
    shops.choose(None)
    shops.load(update(row(4, "d4", 4)), insert(row(8, "h", 4)))
    wide = {**narrow, 4: "d4@x", 8: "h@x"}
    assert shops.emails() == wide
    # an event from before all of that comes late: what the narrow one left as it was is what that one brings
    shops.load(update(row(1, "late", 1)), at=100)
    assert shops.emails() == {**wide, 1: "late@x"}
    assert one.rows("name", where="id = 1") == [("aa",)]


@pytest.mark.turn(0)
def test_columns_of_a_table_without_key(module_project: Any) -> None:
    """Rows are found by all values: the choice stays what it was."""
    lines = EventEntity(module_project, "no_key", {"a": "string", "b": "string"}, None)
    lines.load([insert({"a": "1", "b": "x"})])
    lines.settings["columns"] = ["a"]
    lines.write()
    lines.land([delete({"a": "1", "b": "x"})])
    error = lines.run(expect_pass=False).error
    assert "columns leaves out `b`, which it took so far. Without unique_key an event finds a row by all its values" in error  # fmt: skip
    lines.settings["columns"] = None
    lines.write()
    lines.run()
    assert lines.rows("a") == []
