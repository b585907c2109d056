"""Iceberg tables written without Spark and without a metastore, as Spark would lay them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import assign_fresh_schema_ids
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableResponse, StaticTable, Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata


class Folder(NoopCatalog):
    """What makes a table's next description its newest one, and nothing else."""

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        metadata = update_table_metadata(
            table.metadata, updates, metadata_location=table.metadata_location
        )
        number = int(Path(table.metadata_location).name.partition("-")[0]) + 1
        location = describe(metadata, number)
        return CommitTableResponse(**{"metadata": metadata, "metadata-location": location})


def describe(metadata: Any, number: int) -> str:
    """Write a description of a table; where it is."""
    location = f"{metadata.location}/metadata/{number:05}-{uuid4()}.metadata.json"
    output = load_file_io(location=location).new_output(location)
    ToOutputFile.table_metadata(metadata, output)
    return location


def create(folder: Path, rows: pa.Table, properties: dict[str, str] | None = None) -> Table:
    """Make a table in a folder, and append rows to it."""
    schema = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(rows.schema))
    metadata = new_table_metadata(
        schema,
        UNPARTITIONED_PARTITION_SPEC,
        UNSORTED_SORT_ORDER,
        f"file:{folder}",
        properties or {},
    )
    location = describe(metadata, 0)
    table = Table((folder.name,), metadata, location, load_file_io(location=location), Folder("x"))
    if rows.num_rows:
        table.append(rows)
    return table


def write(folder: Path, rows: pa.Table, mode: str = "error") -> None:
    """Append rows to a table, overwrite it, or make it; its folder is called as Spark calls it.

    Args:
        folder: Where it lies, without the number that Spark puts behind its name.
        rows: The rows; a column without a value is text.
        mode: As that of write_deltalake().
    """
    columns = [
        pa.field(field.name, pa.string() if pa.types.is_null(field.type) else field.type)
        for field in rows.schema
    ]
    rows = rows.cast(pa.schema(columns))
    found = sorted(folder.parent.glob(f"{folder.name}-*/metadata/*.metadata.json"))
    if not found:
        create(folder.with_name(f"{folder.name}-{uuid4().hex}"), rows)
        return
    assert mode in ("append", "overwrite"), f"{folder} exists"
    table = table_of(found[-1])
    table.overwrite(rows) if mode == "overwrite" else table.append(rows)


def table_of(description: Path) -> Table:
    """The table that a file describes, to be written to."""
    metadata = StaticTable.from_metadata(str(description)).metadata
    location = str(description)
    return Table(("t",), metadata, location, load_file_io(location=location), Folder("x"))
