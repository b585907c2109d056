"""A project that is copied, moved or restored with its home goes on where it is, and touches nothing where it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.iceberg_tables import create

from .entities import Entity
from .event_entities import insert

pytestmark = [pytest.mark.iceberg(never=True), pytest.mark.turn(2)]
DAYS = {
    "2026-01-01": "id,name\n1,ann\n2,bob\n",
    "2026-01-02": "id,name\n1,ann\n3,cy\n",
    "2026-01-03": "id,name\n1,anna\n3,cy\n",
    "2026-01-04": "id,name\n1,anna\n4,dee\n",
}
HISTORY = [
    ("2026-01-01", 1, "I"), ("2026-01-01", 2, "I"),
    ("2026-01-02", 2, "D"), ("2026-01-02", 3, "I"),
    ("2026-01-03", 1, "U"),
    ("2026-01-04", 3, "D"), ("2026-01-04", 4, "I"),
]  # fmt: skip


def command(root: Path, schema: str, *arguments: str) -> str:
    """What a command of ours says that is called in a project, by the home beside it."""
    environment = {**os.environ, "TIDEMARK_SCHEMA": schema, "TIDEMARK_TARGET": "ci"}
    del environment["TIDEMARK_HOME"]
    done = subprocess.run(
        [sys.executable, "-m", "tidemark.cli", *arguments],
        cwd=root, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout if "--json" in arguments else done.stdout + done.stderr


def load(root: Path, schema: str, day: str, select: str = "+readers") -> str:
    """Have a date's files land in a project, and load them: of events one each day."""
    (root / "drop").mkdir(exist_ok=True)
    (root / "drop" / f"{day}.csv").write_text(DAYS[day])
    (root / "landing").mkdir(exist_ok=True)
    (root / "landing" / f"{day}.jsonl").write_text(json.dumps(insert({"name": day})) + "\n")
    return command(root, schema, "run", "--business-date", day, "--select", select)


def rows(root: Path, schema: str, table: str, select: str) -> list[tuple[Any, ...]]:
    from tidemark.read.delta import open_table

    table_path = root / ".tidemark" / "warehouse" / f"{schema}.db" / table
    found = open_table(str(table_path)).query(f"select {select} from t")
    return sorted(tuple(str(v) if n == "day" else v for n, v in row.items()) for row in found)


def is_loaded(root: Path, schema: str, days: int) -> None:
    """The project's own tables have so many of the days, each event once, and it says so."""
    last = list(DAYS)[days - 1]
    history = [row for row in HISTORY if row[0] <= last]
    assert rows(root, schema, "orders__log", "_business_date as day, id, _operation") == history
    expected = {int(line.split(",")[0]) for line in DAYS[last].splitlines()[1:]}
    assert {row[0] for row in rows(root, schema, "orders", "id")} == expected
    assert rows(root, schema, "events", "name") == [(day,) for day in list(DAYS)[:days]]
    assert rows(root, schema, "readers", "n") == [(len([h for h in history if h[2] != "D"]),)]
    for one in json.loads(command(root, schema, "status", "--json")):
        if one["entity"] == "orders":
            assert (one["state"], one["last_date"], one["landed_dates"]) == ("loaded", last, [])


def content(root: Path) -> dict[str, str]:
    return {
        str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in root.rglob("*")
        if file.is_file() and not file.is_symlink()
    }


def test_copied_moved_restored(make_project: Any, tmp_path: Path) -> None:
    project = make_project("shop")
    schema = project.schema
    Entity(
        project, "orders", {"id": "int", "name": "string"}, location="drop/{business_date}.csv",
        max_delete_fraction=1,
    )  # fmt: skip
    # events that nothing but their place in a file tells apart: read twice they would be there twice
    Entity(project, "events", {"name": "string"}, None, extract="events", format="canonical", location="landing")  # type: ignore[arg-type]  # fmt: skip
    project.write(
        "models/intervals.sql",
        "{{ config(materialized='view') }} {{ tidemark.scd2(ref('orders')) }}",
    )
    project.write(
        "models/readers.sql",
        "{{ config(materialized='table') }} select count(*) as n from {{ ref('intervals') }} "
        "where 0 <= (select count(*) from {{ ref('events') }})",
    )
    first, *_ = DAYS
    load(project.root, schema, first)
    is_loaded(project.root, schema, 1)

    before = content(project.root)
    copy = tmp_path / "a copy" / "it's"
    shutil.copytree(project.root, copy, symlinks=True)
    # a view that is not made anew is that of the copy's tables
    load(copy, schema, "2026-01-02", "orders events readers")
    is_loaded(copy, schema, 2)
    assert content(project.root) == before

    moved = tmp_path / "moved"
    copy.rename(moved)
    load(moved, schema, "2026-01-03", "orders events readers")
    is_loaded(moved, schema, 3)

    restored = tmp_path / "restored"
    moved.rename(restored)
    shutil.rmtree(restored / ".tidemark" / "metastore")
    said = load(restored, schema, "2026-01-04")
    assert "the embedded metastore" in said and "was gone" in said
    is_loaded(restored, schema, 4)
    assert content(project.root) == before


def test_files_of_iceberg(make_project: Any, tmp_path: Path) -> None:
    """The files of a table of Iceberg, which name each other, name the folder that it has come to."""
    from tidemark.read.iceberg import open_table
    from tidemark.spark.moved_iceberg import settle_table

    table = create(tmp_path / "was" / "t", pa.table({"id": [1, 2], "name": ["ann", "bob"]}))
    table.append(pa.table({"id": [3], "name": ["cy"]}))
    moved = tmp_path / "it's here"
    (tmp_path / "was").rename(moved)
    settle_table(make_project("iceberg").session._jvm, moved / "t")
    found = open_table(str(moved / "t")).query("select id, name from t order by id")
    assert [row["name"] for row in found] == ["ann", "bob", "cy"]
    described = [file.read_bytes() for file in (moved / "t" / "metadata").iterdir()]
    assert described and not [data for data in described if b"/was/" in data]
