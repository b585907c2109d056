"""Tables as those read them that know nothing of Tidemark: each value is the one that Spark reads, or the reader says that it cannot."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaProtocolError

from tests.conftest import Project
from tests.pages import blocks_run_by
from tidemark.spark.catalog import described_tables

from .enriched_events import PRODUCT, add_events, add_products, event_line, land
from .entities import Entity
from .event_entities import EventEntity, ddl, delete, insert, update
from .interrupted import die_at

COLUMNS = {
    "id": "int",
    "name": "string",
    "born": "date",
    "at": "timestamp",
    "price": "decimal(9,2)",
}
HEADER = "id,name,born,at,price,phone\n"
MAPPING = "delta.columnMapping.mode"


def tables_of(project: Project) -> dict[str, Path]:
    """Where all tables of the project lie."""
    found = described_tables(project.session, project.schema)
    return {name: project.folder_of(name) for name, told in found if "Type: VIEW" not in told}


def told(value: Any) -> Any:
    """A value as each reader has it: maps as pairs, moments of UTC."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=value.tzinfo or dt.UTC).astimezone(dt.UTC)
    if isinstance(value, dict):
        return {name: told(one) for name, one in value.items()}
    return [told(one) for one in value] if isinstance(value, list | tuple) else value


def rows_of(found: pa.Table, names: list[str]) -> list[Any]:
    columns = [told(found.column(name).to_pylist()) for name in names]
    return sorted(zip(*columns, strict=True), key=repr)


def by_deltalake(table: DeltaTable) -> pa.Table:
    return table.to_pyarrow_table()


def by_query(table: DeltaTable) -> pa.Table:
    settings = {"datafusion.execution.parquet.coerce_int96": "us"}
    read = QueryBuilder(settings).register("t", table).execute("select * from t")
    return pa.table(read.read_all())


def by_duckdb(table: DeltaTable) -> pa.Table:
    """The files, whose folders tell the partitions; a column of NULLs may be in none."""
    query = "from read_parquet(?, hive_partitioning = true, union_by_name = true)"
    with duckdb.connect() as db:
        found = db.execute(query, [table.file_uris()]).to_arrow_table()
    for field in table.schema().fields:
        if field.name not in found.column_names:
            found = found.append_column(field.name, pa.nulls(found.num_rows))
    return found


def by_pyarrow(table: DeltaTable) -> pa.Table:
    """The same by what pandas reads Parquet with."""
    schema = pa.schema(table.schema().to_arrow())
    names = table.metadata().partition_columns
    parts = ds.partitioning(pa.schema([schema.field(name) for name in names]), flavor="hive")
    options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
    files = ds.dataset(
        table.file_uris(),
        schema=schema,
        format=ds.ParquetFileFormat(read_options=options),
        partitioning=parts,
        partition_base_dir=str(Path(table.table_uri.removeprefix("file://"))),
    )
    return files.to_table()


READERS = (by_deltalake, by_query, by_duckdb, by_pyarrow)


def assert_read(project: Project, tables: dict[str, Path]) -> None:
    """All readers read the rows of these tables that Spark does."""
    for name, folder in tables.items():
        wanted = project.session.table(f"`{project.schema}`.`{name}`").toArrow()
        table = DeltaTable(str(folder))
        for read in READERS if table.file_uris() else (by_deltalake, by_query):
            found = read(table)
            assert sorted(found.column_names) == sorted(wanted.column_names), (name, read)
            assert rows_of(found, wanted.column_names) == rows_of(wanted, wanted.column_names), (name, read)  # fmt: skip


@pytest.fixture(scope="module")
def read_by_others(module_project: Project) -> Project:
    """Two dates of each flow and of what is derived from them, by the engine in the workers and by Spark."""
    project = module_project
    days = {
        "2026-03-04": "1,ann,1990-02-28,2026-03-04 09:30:00.123456,1.50,555\n2,,,,,\nx,bad,,,,\n",
        "2026-03-05": "1,ann,1990-02-28,2261-12-31 23:59:59.999999,2.50,556\n3,cy,1600-01-01,1700-01-01 00:00:00,-1,7\n",
    }
    made = [
        Entity(project, name, {**COLUMNS, "phone": "string"}, sensitive=["phone"], on_reject="quarantine", max_delete_fraction=1, **settings)
        for name, settings in (("people", {}), ("people_by_spark", {"engine": "spark"}), ("stock", {"extract": "delta"}))
    ]  # fmt: skip
    orders = EventEntity(project, "orders", {"id": "int", "name": "string", "n": "bigint"})
    landing = add_events(project)
    add_products(project)
    project.write("models/people_feed.sql", "{{ config(materialized='feed') }} select * from ({{ tidemark.change_feed(ref('people')) }})")  # fmt: skip
    project.write("models/people_past.sql", "{{ config(materialized='scd2') }} {{ tidemark.scd2(ref('people')) }}")  # fmt: skip
    for number, (day, rows) in enumerate(days.items()):
        for entity in made:
            entity.extract(day, HEADER + rows)
        lines = [event_line(10 * number + one, PRODUCT, page_url="https://x.de/ü") for one in range(3)]  # fmt: skip
        land(landing, f"{day}.tsv", [*lines, "no event"])
        orders.land([insert({"id": number, "name": "a", "n": 2**40}), update({"id": number, "n": None}), *([delete({"id": 0})] if number else [])])  # fmt: skip
        project.dbt("run", vars={"business_date": day})
    return project


@pytest.mark.turn(0)
def test_every_table(read_by_others: Project) -> None:
    """A table maps names of columns only when something asks for it: readers that do not would see NULL in each."""
    tables = {
        name: folder
        for name, folder in tables_of(read_by_others).items()
        if not name.startswith(("shaped", "odd"))
    }
    assert {"people", "people__log", "people__sensitive", "people__rejects", "people_by_spark__log", "stock__supplied",
            "orders__staging", "orders__landed", "events", "events__entities", "events__rejects", "events__manifest",
            "products", "people_feed", "people_past", "tidemark_commits__log"} <= {*tables}  # fmt: skip
    for name, folder in tables.items():
        table = DeltaTable(str(folder))
        assert MAPPING not in table.metadata().configuration, name
        assert (table.protocol().min_reader_version, table.protocol().reader_features) == (1, None), name  # fmt: skip
    assert_read(read_by_others, tables)


def mapped(project: Project, entity: str) -> list[str]:
    """What follows the entity's name in those of its tables that map names, sorted."""
    return sorted(
        name.removeprefix(entity)
        for name, folder in tables_of(project).items()
        if name.partition("__")[0] == entity
        and DeltaTable(str(folder)).metadata().configuration.get(MAPPING) == "name"
    )


@pytest.mark.parametrize("engine", ["workers", pytest.param("spark", marks=pytest.mark.slow)])
@pytest.mark.turn(1)
def test_names_are_mapped_once_a_column_is_renamed(module_project: Project, engine: str) -> None:
    """In the tables that have it, also where the run dies after that; names in files stay, and a rollback brings back what was."""
    name = f"shaped_{engine}"
    entity = EventEntity(module_project, name, {"id": "int"}, ddl={"rename_column": "apply", "drop_column": "apply"}, engine=engine)  # fmt: skip
    kinds = {"id": "int", "name": "string", "n": "int"}
    shape = [{"name": one, "type": kind} for one, kind in kinds.items()]
    entity.load(
        [
            ddl("CREATE_TABLE", shape),
            insert({"id": 1, "name": "a", "n": 1}),
            insert({"id": 2, "name": "b", "n": 2}),
        ]
    )
    assert mapped(module_project, name) == []
    last = entity.commits("commit_id")[-1][0]
    renamed = [shape[0], {"name": "label", "type": "string", "previous_name": "name"}]
    entity.land([
        ddl("ALTER_TABLE", renamed), update({"id": 1, "label": "a2"}), insert({"id": 3, "label": "c"}),
        ddl("ALTER_TABLE", [*renamed, {"name": "extra", "type": "int"}]), insert({"id": 4, "label": "d", "extra": 4}),
    ])  # fmt: skip
    die_at(module_project, rf"alter table \S*{name}(__log)?`? rename column", "--select", name)
    entity.run()
    mapped_tables = mapped(module_project, name)
    assert mapped_tables == ["", "__log", "__staging"]
    rows = [(1, "a2", None), (2, "b", None), (3, "c", None), (4, "d", 4)]
    assert entity.rows("id, label, extra") == rows
    assert entity.rows("id, label, n, _operation", "__history") == [
        (1, "a", 1, "I"), (1, "a2", None, "U"), (2, "b", 2, "I"), (3, "c", None, "I"), (4, "d", None, "I"),
    ]  # fmt: skip
    tables = {one: path for one, path in tables_of(module_project).items() if one.startswith(name)}
    for table, folder in tables.items():
        wanted = module_project.session.table(f"`{module_project.schema}`.`{table}`").toArrow()
        delta = DeltaTable(str(folder))
        found = by_query(delta)
        if table.removeprefix(name) in mapped_tables:
            with pytest.raises(DeltaProtocolError, match="columnMapping"):
                by_deltalake(delta)
        assert rows_of(found, wanted.column_names) == rows_of(wanted, wanted.column_names), table
    files = DeltaTable(str(tables[f"{name}__log"])).file_uris()
    in_files = {column for file in files for column in pq.read_schema(file).names}
    assert {"id", "name", "n"} <= in_files and "label" not in in_files
    entity.check()
    entity.operate("rollback", to=last)
    assert entity.rows("id, name, n") == [(1, "a", 1), (2, "b", 2)]
    # the next run reads again what was undone
    entity.load([update({"id": 2, "label": "b2"})])
    assert entity.rows("id, label") == [(1, "a2"), (2, "b2"), (3, "c"), (4, "d")]
    (block,) = blocks_run_by(
        "test_other_readers.py::test_names_are_mapped_once_a_column_is_renamed"
    )
    for table in mapped(module_project, name):
        for statement in block.text.replace("shop.orders", f"{name}{table}").split(";\n"):
            module_project.sql(statement)
    assert mapped(module_project, name) == []
    entity.load([update({"id": 2, "label": "b3"}), insert({"id": 5, "label": "e"})])
    assert entity.rows("id, label") == [(1, "a2"), (2, "b3"), (3, "c"), (4, "d"), (5, "e")]


@pytest.mark.turn(3)
def test_names_are_mapped_where_they_are_odd(module_project: Project) -> None:
    """From the start or from the load that brings the name, and only in tables that have it."""
    columns = {"id": "int", "a": "string"}
    entity = Entity(module_project, "odd", columns, on_reject="quarantine")
    entity.load("2026-03-04", "id,a\n1,x\n")
    assert mapped(module_project, "odd") == []
    entity.write(columns={**columns, "b (m)": "int"})
    entity.load("2026-03-05", "id,a,b (m)\n1,x,7\n2,y,\n")
    assert mapped(module_project, "odd") == ["", "__log"]
    assert entity.rows("id, a, `b (m)`") == [(1, "x", 7), (2, "y", None)]
    entity.load("2026-03-06", "id,a,b (m)\n1,x,8\n2,y,\n", "--full-refresh")
    # a full refresh keeps the old log
    (kept,) = set(mapped(module_project, "odd")) - {"", "__log"}
    assert re.fullmatch(r"__log_\d+", kept)
    assert set(mapped(module_project, "odd")) == {"", "__log", kept}
    entity.write(columns=columns)
    entity.load("2026-03-06", "id,a\n1,x\n2,y\n", "--full-refresh")
    assert entity.rows("id, a") == [(1, "x"), (2, "y")]
    assert not {"", "__log"} & set(mapped(module_project, "odd"))
