"""However events are cut into runs, by whatever engine: the tables are the same, also in columns that are not compared.

Random cuts of the macros' SQL and of the workers' task: unit/test_any_cut.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from .event_entities import Event, EventEntity, ddl, delete, insert, update

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1)]

PLAIN = {"id": "int", "name": "string", "n": "int"}
BOX = "struct<w:int,h:int>"


def numbered(*events: Event) -> list[Event]:
    return [{**event, "_sequence_num": number} for number, event in enumerate(events, 1)]


def shape(number: int, *names: str, default: int | None = None) -> Event:
    told: list[dict[str, Any]] = [{"name": name, "type": "int"} for name in names]
    told[-1]["default"] = default
    return ddl("ALTER_TABLE", told, sequence_num=number)


def person(key: int, name: str | None = None, n: int | None = None) -> dict[str, Any]:
    given = {"id": key, "name": name, "n": n}
    return {column: value for column, value in given.items() if value is not None}


CHANGES = numbered(
    *(insert(person(key, "b", 2)) for key in (1, 2, 3, 4)),
    *(update(person(key, "b", 1)) for key in (1, 2, 3, 4)),
    update(person(1, "c")),
    delete({"id": 2}),
    update(person(5), before={"id": 3}),
    update(person(4, n=7)),
    update(person(4)),
    update(person(4, "d")),
)
"""A few rows, of which something changes that is not compared, and what comes after that."""

DROPPED = [
    shape(1, "id", "a", "n", "g"),
    insert({"id": 1, "a": 1, "n": 2, "g": 1}, sequence_num=10),
    update({"id": 1, "a": 1, "n": 9}, sequence_num=15),
    update({"id": 1, "a": 1, "n": 7, "g": 2}, sequence_num=20),
    shape(30, "id", "a", "n"),
    update({"id": 1, "a": 5}, sequence_num=40),
]


@dataclass
class Told:
    """An entity that is loaded in several runs, and one that gets the same in one.

    `runs` are what each run brings; `in_order` is what all of them do, in the order of the source.
    """

    runs: list[list[Event]]
    settings: dict[str, Any]
    expected: list[tuple[Any, ...]]
    columns: dict[str, str] = field(default_factory=lambda: dict(PLAIN))
    shown: str = "id, name, n"
    in_order: list[Event] | None = None

    def whole(self) -> list[Event]:
        return self.in_order or [event for run in self.runs for event in run]


CURRENT = [(1, "c", 2), (4, "d", 2), (5, "b", 2)]
CUT = [CHANGES[:6], CHANGES[6:8], CHANGES[8:]]
TOLD = {
    "by_spark": Told(CUT, {"ignore": ["n"], "engine": "spark"}, CURRENT),
    "by_workers": Told(CUT, {"ignore": ["n"], "engine": "workers"}, CURRENT),
    "apart": Told(CUT, {"ignore": ["n"], "sensitive": ["n"]}, [], shown="id, name"),
    "late": Told(
        [CHANGES[:4], CHANGES[8:], CHANGES[4:8]],
        {"ignore": ["n"]},
        CURRENT,
        in_order=CHANGES,
    ),
    # an update gives a part of what is not compared, and later ones another one
    "boxed": Told(
        [
            numbered(insert({"id": 1, "name": "b", "box": {"w": 1, "h": 1}}), update({"id": 1, "box": {"w": 2}})),
            [],
            numbered(*[insert({"id": 9})] * 2, update({"id": 1, "name": "c", "box": {"h": 3}}), update({"id": 1, "box": {"w": 4}}), update({"id": 1, "name": "d"}))[2:],
        ],
        {"ignore": ["box"], "ignore_null_updates": True},
        [(1, "d", 1, 3)],
        {"id": "int", "name": "string", "box": BOX},
        "id, name, box.w, box.h",
    ),
    # the default of a column that is not compared changes no row
    "added": Told(
        [[shape(1, "id", "a"), insert({"id": 1, "a": 1}, sequence_num=2)], [shape(3, "id", "a", "n", default=5)], [update({"id": 1, "a": 2}, sequence_num=4)]],
        {"ignore": ["n"]},
        [(1, 2, None)],
        {"id": "int", "a": "int", "n": "int"},
        "id, a, n",
    ),
    # what changed a column that is gone was a change
    "dropped": Told(
        [DROPPED[:2] + DROPPED[3:4], DROPPED[4:], DROPPED[2:3]],
        {"ignore": ["n"], "ddl": {"drop_column": "apply"}},
        [(1, 5, 7)],
        {"id": "int", "a": "int", "n": "int"},
        "id, a, n",
        in_order=DROPPED,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def entities(module_project: Any) -> Iterator[dict[str, tuple[EventEntity, EventEntity]]]:
    made = {}
    for name, told in TOLD.items():
        parts = EventEntity(module_project, f"{name}_cut", told.columns, **told.settings)
        whole = EventEntity(module_project, f"{name}_whole", told.columns, **told.settings)
        for one in (parts, whole):
            one.write(table=f"shop.{name}")
        made[name] = (parts, whole)
    for run in range(3):
        due = []
        for name, (parts, whole) in made.items():
            if events := TOLD[name].runs[run]:
                parts.land(events)
                due.append(parts.name)
            if run == 2:
                whole.land(TOLD[name].whole())
                due.append(whole.name)
        module_project.dbt("run", "--select", *due, vars={"business_date": "2026-03-04"})
    yield made


@pytest.mark.parametrize("name", TOLD)
def test_cut(entities: dict[str, tuple[EventEntity, EventEntity]], name: str) -> None:
    told, (parts, whole) = TOLD[name], entities[name]
    logged = f"_sequence_num, _source_operation, {told.shown}, _operation, _row_hash, _changed_columns, _unsupplied"
    for table, columns in (("", told.shown), ("__log", logged), ("__history", logged)):
        where = "_superseded_by is null" if table == "__log" else "true"
        if name == "dropped":  # which a late event knows nothing of
            columns = columns.replace(", _row_hash, _changed_columns, _unsupplied", "")
        assert parts.rows(columns, table, where) == whole.rows(columns, table, where), table
    if told.expected:
        assert whole.rows(told.shown) == told.expected
    for one in (parts, whole):
        one.check()


def test_cut__apart(entities: dict[str, tuple[EventEntity, EventEntity]]) -> None:
    """The values that are kept apart are those of the rows that are stored."""
    for one in entities["apart"]:
        project = one.project
        project.write(f"models/{one.name}_joined.sql", f"{{{{ config(materialized='view') }}}}\n{{{{ tidemark.with_sensitive(ref('{one.name}')) }}}}\n")  # fmt: skip
        project.dbt("run", "--select", f"{one.name}_joined")
        assert one.rows("id, name, n", "_joined") == CURRENT
