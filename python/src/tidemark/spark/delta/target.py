"""Tables of Delta as the engine writes them, and why it cannot."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from tidemark.engine.files import Written
from tidemark.engine.header import is_read_as_it_stands, local_path
from tidemark.engine.load import Column, Target
from tidemark.spark.delta.log import (
    added_file,
    log_of,
    newest,
)
from tidemark.spark.delta.small import listed_files, paths_of
from tidemark.spark.files import each, folder_to_come, java_class

Table = tuple[str, str]
"""Schema and name."""

# what a table may be set to without an effect on how its files are written
_HARMLESS = frozenset(
    f"delta.{name}"
    for name in (
        "checkpointInterval",
        "columnMapping.maxColumnId",
        "columnMapping.mode",
        "dataSkippingStatsColumns",
        "deletedFileRetentionDuration",
        "enableDeletionVectors",
        "enableTypeWidening",
        "logRetentionDuration",
        "parquet.compression.codec",
    )
)
_FIELD_METADATA = frozenset(
    ("comment", "delta.columnMapping.id", "delta.columnMapping.physicalName")
)
_SQL_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_HARMFUL = (("delta.columnMapping.mode", "id"),)
_DEFAULTS = "spark.databricks.delta.properties.defaults."


def why_not_made(
    session: SparkSession, log: tuple[str, str], root: str | None, given: Mapping[str, Any]
) -> str | None:
    """Return why the engine could not write to tables that are to be made; None: it can.

    Asked before they are made: a first load that finds it out afterwards would do so each time.

    Args:
        session: The running session.
        log: The schema and the name of the entity's log.
        root: The folder of the tables' folders, where that is not the schema's.
        given: The properties that the entity gives them.
    """
    for name, value in given.items():
        if _is_harmful(str(name), str(value).lower()):
            return f"it has the table property {name}"
    folder = folder_to_come(session, *log, root)
    if folder is None:
        return f"{'.'.join(log)} is not to lie on a local file system"
    if not is_read_as_it_stands(folder):
        return f"{'.'.join(log)} is to lie at a path that is not read as it stands"
    # one call of the JVM in place of one for each setting
    is_set = _DEFAULTS in str(session._jsparkSession.conf().getAll().toString())
    for name, value in (session.conf.getAll if is_set else {}).items():
        default = f"delta.{name.removeprefix(_DEFAULTS)}"
        if name.startswith(_DEFAULTS) and _is_harmful(default, value):
            return f"the session gives new tables the property {default}"
    return None


def with_files(session: SparkSession, table: Table, target: Target) -> Target | str:
    """Return a table with the files that it has; a text: why the engine cannot read them."""
    delta = log_of(session, *table)
    before = listed_files(newest(session._jvm, delta))
    if before is None:
        return "has many files, or deletion vectors"
    paths = paths_of(delta, each(before))
    if paths is None or not is_read_as_it_stands(target.folder):
        return "lies at a path that is not read as it stands"
    return Target(target.folder, target.fields, paths)


def target_of(jvm: Any, delta: Any, snapshot: Any, required: Collection[str]) -> Target | str:
    """Return a table as the engine writes it; a text: why it cannot.

    Args:
        jvm: The session's JVM.
        delta: The table's log.
        snapshot: The table as it is.
        required: The columns of which no row comes without a value.
    """
    folder = folder_of(delta)
    if folder is None:
        return "is not on a local file system"
    metadata = snapshot.metadata()
    converters = java_class(jvm, "scala.jdk.javaapi.CollectionConverters")
    settings = dict(converters.asJava(metadata.configuration()))
    for name, value in settings.items():
        if _is_harmful(name, value):
            return f"has the property {name}"
    fields = {}
    for field in json.loads(metadata.schemaString())["fields"]:
        known = field["metadata"]
        if not _FIELD_METADATA.issuperset(known):
            return f"has more to say of column {field['name']} than its name and type"
        if not field["nullable"] and field["name"] not in required:
            return f"has column {field['name']} as NOT NULL, which the load may have as NULL"
        fields[str(field["name"])] = in_files(field)
    return Target(folder, fields)


def in_files(field: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the name and the number that files have a column by, or a field of one.

    Args:
        field: What the table's log says of it. It has no number where the table maps no names.
    """
    known = field["metadata"]
    number = known.get("delta.columnMapping.id")
    name = str(known.get("delta.columnMapping.physicalName", field["name"]))
    return name, None if number is None else int(number)


def why_not_types(schema: str, columns: Collection[Column]) -> str | None:
    """Return why files by the plan do not fit a table, as Spark could not read them; None: they do.

    Example:
        >>> why_not_types('{"fields": [{"name": "price", "type": "integer"}]}', [price])
        'has column price as int, and the load has it as decimal(10,2)'

    Args:
        schema: What the table's log says of its columns.
        columns: The columns of the load.
    """
    types = {field["name"]: field["type"] for field in json.loads(schema)["fields"]}
    for column in columns:
        # staging has the values before a change, too
        for name in (column.name, f"_before_{column.name}"):
            found: Any = _SQL_TYPES.get(str(types.get(name)), types.get(name))
            if found not in (None, column.type):
                shown = found if isinstance(found, str) else found["type"]
                return f"has column {name} as {shown}, and the load has it as {column.type}"
    return None


def _is_harmful(name: str, value: str) -> bool:
    return (name.startswith("delta.") and name not in _HARMLESS) or (name, value) in _HARMFUL


def folder_of(delta: Any) -> str | None:
    """Return where a table lies, by its log; None: not on a local file system."""
    return local_path(str(delta.dataPath().toString()))


def added_files(jvm: Any, files: Sequence[Written], partition: Mapping[str, str]) -> list[Any]:
    """Return what a commit says of files that come."""
    return [added_file(jvm, file.path, file.size, file.statistics, partition) for file in files]
