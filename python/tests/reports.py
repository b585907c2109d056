"""Made-up data of the report's page: one that tries what it can, and that of the pictures in the docs."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

from tidemark.diff.model import Cell, ColumnDifference, Differences, Sample, TableDifference
from tidemark.report.data import (
    ColumnRow,
    EntityRow,
    KeyHistory,
    KeyVersion,
    LagRow,
    LineageEdge,
    LoadRow,
    RejectRow,
    ReplicatorRow,
    Report,
    RunRow,
    ValueInterval,
    VersionsRow,
)

NOW = dt.datetime(2026, 3, 5, 12, tzinfo=dt.UTC)
JANUARY, FEBRUARY = dt.date(2026, 1, 1), dt.date(2026, 2, 1)
HOSTILE = "</script><img src=x onerror=alert(1)>"


def entity(name: str, **more: Any) -> EntityRow:
    values: dict[str, Any] = {
        "kind": "cdc", "relation": f"shop.{name}", "state": "loaded", "last_date": dt.date(2026, 3, 4),
        "loaded_at": NOW - dt.timedelta(hours=3), "rows": 1000, "inserted": 3, "updated": 20, "deleted": 1,
        "unchanged": 976, "open_rejects": 0, "size_bytes": 5_000_000, "files": 4, "small_files": 4,
        "notes": [], "next_command": None,
    }  # fmt: skip
    return EntityRow(entity=name, **{**values, **more})


def loads(name: str, days: int) -> list[LoadRow]:
    return [
        LoadRow(
            entity=name, commit_id=number, kind="load", business_date=dt.date(2026, 2, 1) + dt.timedelta(days=number),
            completed_at=NOW - dt.timedelta(days=days - number), seconds=3.5, inserted=number, updated=10, deleted=1, rejected=2,
        )
        for number in range(days)
    ]  # fmt: skip


def report(entities: list[EntityRow]) -> Report:
    names = [one.entity for one in entities]
    return Report(
        project="shop",
        made_at=NOW,
        version="0.1.0",
        days=90,
        entities=entities,
        loads=[load for name in names[:20] if name != "later" for load in loads(name, 5)],
        columns=[ColumnRow(entity=names[0], column=c, changes=n) for n, c in enumerate("abc", 1)],
        rejects=[RejectRow(entity=names[0], reason=HOSTILE, rows=4)],
        versions=[VersionsRow(entity=names[0], versions=n, keys=10 * n) for n in (1, 2, 5)],
        lineage=[LineageEdge(reads=a, read_by=b) for a, b in itertools.pairwise(names[:4])],
        runs=[RunRow(entity=names[0], completed_at=NOW - dt.timedelta(hours=h)) for h in (40, 20)],
        replicators=[
            ReplicatorRow(source=HOSTILE, freshness_seconds=300, objective=99, fresh=99.9, tables=3)
        ],
        lags=[
            LagRow(
                source=HOSTILE,
                at=NOW - dt.timedelta(minutes=m),
                lag_seconds=10 * m,
                table="public.orders",
                waiting=m,
            )
            for m in range(60, 0, -1)
        ],
        keys=[
            KeyHistory(
                entity=names[0],
                key="WIPO",
                versions=[
                    KeyVersion(
                        business_date=dt.date(2026, 3, 4),
                        operation="U",
                        commit_id=7,
                        changes=[f"name: {HOSTILE} → b"],
                    )
                ],
                values=[
                    ValueInterval(column="name", value=HOSTILE, since=JANUARY, until=FEBRUARY),
                    ValueInterval(column="name", value="b", since=FEBRUARY, until=None),
                    ValueInterval(column="size", value="7", since=JANUARY, until=None),
                ],
            )
        ],
    )


# --- the pictures of the docs: a project without anything hostile


def example() -> Report:
    """A project as it may look on a morning."""
    names = ["orders", "customers", "airports", "airports_scd2", "prices"]
    made = report([entity(name) for name in names])
    made.entities = [
        entity("orders", state="failed", rows=1_204_518, notes=["failed 5 min ago: no file of 2026-03-05"],
               inserted=4_120, updated=12_004, deleted=17, unchanged=1_188_377, open_rejects=4),
        entity("customers", rows=88_204, inserted=120, updated=640, deleted=3, unchanged=87_441),
        entity("airports", rows=28_410, inserted=428, updated=12_180, deleted=292, unchanged=15_802),
        entity("airports_scd2", kind="scd2", state="behind", rows=71_930, notes=["airports has loaded more since"]),
        entity("prices", rows=5_120),
    ]  # fmt: skip
    made.loads = [
        load.model_copy(update={"inserted": 40 + 7 * load.commit_id, "updated": 90 + 11 * place})
        for place, name in enumerate(names)
        for load in loads(name, 12)
    ]
    changes = zip(["status", "city", "price", "lat", "lon"], [940, 610, 380, 210, 205], strict=True)
    made.columns = [ColumnRow(entity="orders", column=c, changes=n) for c, n in changes]
    made.rejects = [RejectRow(entity="orders", reason="cast", rows=4)]
    made.replicators, made.lags, made.keys = [], [], []
    return made


def differing() -> Report:
    """The same with what `tidemark report --diff` adds."""
    made = example()
    table = TableDifference(
        a="customers@2026-03-04", b="customers", equal=False, key=["id"], rows_in_a=4, rows_in_b=4,
        only_in_a=1, only_in_b=1, different=2, same=1, other_types=[], not_compared={},
        columns=[ColumnDifference(column="city", cells=2), ColumnDifference(column="name", cells=1)],
        samples=[
            Sample(kind="different", key={"id": 1}, cells=[Cell(column="city", a="Oslo", b="Bergen")]),
            Sample(kind="different", key={"id": 2}, cells=[Cell(column="name", a="Lea", b="Léa")]),
            Sample(kind="only_in_a", key={"id": 3}, cells=[Cell(column="name", a="Ivo")]),
        ],
    )  # fmt: skip
    made.differences = [Differences.of_table(table)]
    return made
