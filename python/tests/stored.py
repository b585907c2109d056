"""Tables of an entity as a run leaves them, written without Spark."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests import iceberg_tables
from tests.macros import macro_texts
from tidemark.read.project import Entity, KnownProject

NOW = dt.datetime(2026, 3, 5, 12, tzinfo=dt.UTC)
CITIES = Entity("cities", "cdc", "shop", "cities", key=("id",))
VIEWED = Entity("cities_scd2", "scd2", "shop", "cities_scd2")


ICEBERG = "tables-are-iceberg"
"""A file in a project's folder that says so."""


def day(number: int) -> dt.date:
    return dt.date(2026, 3, number)


def write(
    folder: Path, name: str, rows: list[dict[str, Any]] | pa.Table, mode: Any = "error"
) -> None:
    path = folder / "warehouse/shop.db" / name
    table = _typed(pa.Table.from_pylist(rows)) if isinstance(rows, list) else rows
    if (folder / ICEBERG).exists():
        iceberg_tables.write(path, table, mode)
    else:
        write_deltalake(str(path), table, mode=mode)


def _typed(table: pa.Table) -> pa.Table:
    """Give numbers of which there is none the type that they have in a real table."""
    numbers = {"source_commit_id", "undone_by", "_superseded_by", "_resolved_by"}
    for place, field in enumerate(table.schema):
        if pa.types.is_null(field.type) and field.name in numbers:
            table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
    return table


def state(number: int, state: str, at: int, **more: Any) -> dict[str, Any]:
    """A row of tidemark_commits__log as a load of `cities` writes it."""
    begun = NOW + dt.timedelta(minutes=number)
    done = begun + dt.timedelta(seconds=5)
    names = {"relation": "shop.cities", "entity": "cities", "kind": "load"}
    row = {"commit_id": number, **names, "business_date": day(number), "state": state}
    row |= {"started_at": begun, "completed_at": done if state == "completed" else None}
    counts = ("rows_read", "rows_inserted", "rows_updated", "rows_deleted", "rows_unchanged")
    row |= {name: more.get(name) for name in (*counts, "rows_rejected")}
    row |= {"source_relation": None, "source_commit_id": None, "undone_by": None}
    return row | {"is_correction": False, "state_at": NOW + dt.timedelta(minutes=at)} | more


def logged(key: int, name: str | None, operation: str, number: int, **more: Any) -> dict[str, Any]:
    """A row of the log of `cities`."""
    row = {"id": key, "name": name, "Area km²": key * 1.5, "_key_hash": f"k{key}"}
    row |= {"_row_hash": "r", "_operation": operation, "_business_date": day(number)}
    row |= {"_eff_start_date": day(number), "_changed_columns": None, "_commit_id": number}
    return row | {"_superseded_by": None} | more


LOG = [
    logged(1, "Aa", "I", 1),
    logged(2, "it's", "I", 1),
    logged(1, "A wrong one", "U", 2, _changed_columns=["name"], _superseded_by=3),
    logged(1, "A2", "U", 2, _changed_columns=["name"], _commit_id=3),
    logged(2, "it's", "D", 2),
    logged(3, "Cc", "I", 2),
]
COMMITS = [
    state(1, "inflight", 1),
    state(1, "completed", 1, rows_read=2, rows_inserted=2),
    state(2, "inflight", 2),
    state(2, "completed", 2, rows_read=3, rows_inserted=1, rows_updated=1, rows_deleted=1, rows_rejected=1),
]  # fmt: skip


REJECTS = [
    {"_reject_reason": "cast_failed: id", "_key_hash": None, "_raw_payload": text,
     "_business_date": day(2), "_commit_id": 2, "_resolved_by": mended}
    for text, mended in (("x,y", None), ("z", 3))
]  # fmt: skip


MACROS = macro_texts("expr", "events", "log", "read")
"""Those that look-ups ask, as the project keeps them, and more."""


def known_shop(folder: Path) -> KnownProject:
    """The project of the entity, and of a view on it that was never built; dbt is not asked."""
    lake = "iceberg" if (folder / ICEBERG).exists() else "delta"
    return KnownProject(
        root=folder,
        warehouse=str(folder / "warehouse"),
        commits_schema="shop",
        commits_format=lake,
        entities={
            "cities": replace(CITIES, location="in/{business_date}.csv", file_format=lake),
            "cities_scd2": replace(VIEWED, file_format=lake),
        },
        name="shop",
        edges=(("cities", "cities_scd2"),),
        macros=MACROS,
    )


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> KnownProject:
    """Have commands find the project in this folder."""
    found = known_shop(folder)
    (folder / "dbt_project.yml").write_text("name: shop\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TIDEMARK_HOME", str(folder / ".tidemark"))
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setattr("tidemark.read.cli.known_project", lambda *_: found)
    return found


def write_loads(folder: Path) -> None:
    """Write the tables as two loads leave them."""
    write(folder, "tidemark_commits__log", COMMITS)
    write(folder, "cities", [{"id": 1}, {"id": 3}])
    write(folder, "cities__log", LOG)
    write(folder, "cities__rejects", REJECTS)
