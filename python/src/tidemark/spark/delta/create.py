"""Tables that are made without a Spark job: the first version of their log, and their name."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tidemark.spark.files import each, hadoop_path, java_class, java_module, table_identifier
from tidemark.spark.messages import java_throwable

# behind what dbt says of each statement
_BEGINNING = re.compile(r"\s*(/\*.*?\*/\s*)?create table if not exists\s", re.DOTALL)
# what every table of ours has, see layout_properties()
_OURS = "'tidemark.layout'"
# Delta's settings that ask for no more of a first version than to be named in it
_PLAIN_SETTINGS = frozenset(
    f"delta.{name}"
    for name in (
        "autoOptimize.autoCompact",
        "checkpointInterval",
        "columnMapping.maxColumnId",
        "columnMapping.mode",
        "dataSkippingStatsColumns",
        "enableTypeWidening",
    )
)
_CATALOG = "org.apache.spark.sql.catalyst.catalog.Catalog"


@dataclass(frozen=True)
class _Statement:
    """What a `create table` says, as Spark reads it."""

    schema: str
    name: str
    fields: Mapping[str, Any]
    partition_by: Sequence[str]
    properties: Mapping[str, str]
    comment: str | None


def create_table(session: SparkSession, sql: str) -> bool:
    """Make the empty Delta table that a statement makes, in a third of its time.

    To make one, Delta asks for the files that the table has before there is one, as a Dataset that
    Spark analyzes and runs: in a new process that is a second, and more than half of the time later
    on. Here Delta says what the table is (columns, protocol), and version 0 of its log and the
    table's name in the catalog are written as Delta writes them.

    Args:
        session: The running session.
        sql: The statement.

    Returns:
        False, and nothing was made, where Spark has to run the statement: it is none of ours, its
        table or its folder is there, or it asks for more than columns, partitions and plain
        properties.
    """
    if _OURS not in sql or not _BEGINNING.match(sql) or not _is_deltas(session):
        return False
    jvm: Any = session._jvm
    state = session._jsparkSession.sessionState()
    statement = _read(jvm, state.sqlParser().parsePlan(sql))
    if statement is None:
        return False
    catalog = state.catalog()
    identifier = table_identifier(jvm, statement.schema, statement.name)
    if not catalog.databaseExists(statement.schema) or catalog.tableExists(identifier):
        return False
    location = catalog.defaultTablePath(identifier)
    folder = hadoop_path(jvm, location)
    if folder.getFileSystem(state.newHadoopConf()).exists(folder):
        return False
    table = catalog_table(jvm, identifier, location, statement.comment)
    log = java_class(jvm, "org.apache.spark.sql.delta.DeltaLog").forTable(
        session._jsparkSession, table
    )
    if not _write_first_version(jvm, log, table, statement, session.version):
        return False
    catalog.createTable(table, False, False)
    return True


def _is_deltas(session: SparkSession) -> bool:
    name = session.conf.get("spark.sql.catalog.spark_catalog", "")
    return name == "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def _read(jvm: Any, plan: Any) -> _Statement | None:
    """Return what a statement says; None where it says more than is done here."""
    if plan.getClass().getSimpleName() != "CreateTable":
        return None
    spec = plan.tableSpec()
    has_more = any(
        option.isDefined() for option in (spec.location(), spec.collation(), spec.serde())
    )
    if has_more or not spec.provider().contains("delta") or spec.constraints().size():
        return None
    names = each(plan.name().nameParts())
    names = names[1:] if len(names) == 3 and names[0] == "spark_catalog" else names
    fields = json.loads(plan.tableSchema().json())
    parts = each(plan.partitioning())
    converters = java_class(jvm, "scala.jdk.javaapi.CollectionConverters")
    properties = dict(converters.asJava(spec.properties()))
    plain = (
        len(names) == 2
        and all(str(part.name()) == "identity" for part in parts)
        and all(set(field["metadata"]) <= {"comment"} for field in fields["fields"])
        and "char(" not in json.dumps(fields)
        and _are_plain(properties)
    )
    if not plain:
        return None
    return _Statement(
        schema=names[0],
        name=names[1],
        fields=fields,
        partition_by=[str(part.references()[0].fieldNames()[0]) for part in parts],
        properties=properties,
        comment=spec.comment().get() if spec.comment().isDefined() else None,
    )


def _are_plain(properties: Mapping[str, str]) -> bool:
    settings = {name for name in properties if name.lower().startswith("delta.")}
    return settings <= _PLAIN_SETTINGS


def catalog_table(jvm: Any, identifier: Any, location: Any, comment: str | None) -> Any:
    """Return what the catalog keeps of a table of Delta, whose columns its log has.

    Args:
        jvm: The session's JVM.
        identifier: What the catalog calls the table.
        location: The folder, as a URI of Java.
        comment: What is said of it.
    """
    some = java_class(jvm, "scala.Option").apply
    nothing = java_class(jvm, "scala.Option").empty()
    none = java_class(jvm, "org.apache.spark.api.python.PythonUtils").toSeq([])
    no_properties = java_module(jvm, f"{_CATALOG}StorageFormat").empty().properties()
    storage = java_class(jvm, f"{_CATALOG}StorageFormat")
    return java_class(jvm, f"{_CATALOG}Table")(
        identifier,
        java_module(jvm, f"{_CATALOG}TableType").MANAGED(),
        storage(some(location), nothing, nothing, nothing, False, no_properties),
        java_class(jvm, "org.apache.spark.sql.types.StructType")(),
        some("delta"),
        none,  # partitions
        nothing,  # buckets
        java_class(jvm, "org.apache.spark.sql.catalyst.CurrentUserContext").getCurrentUser(),
        int(time.time() * 1000),
        -1,  # when it was used last
        "",  # Spark's version, which the catalog sets
        no_properties,
        nothing,  # statistics
        nothing,  # text of a view
        some(comment),
        nothing,  # collation
        none,  # what Spark would not support
        True,  # its partitions are not the catalog's
        True,  # capitals in names stay
        no_properties,
        nothing,  # the view's text as it was written
    )


def _write_first_version(
    jvm: Any, log: Any, table: Any, statement: _Statement, spark_version: str
) -> bool:
    """Write version 0 of a log, unless Delta asks for more than it has, or another one does."""
    some = java_class(jvm, "scala.Option").apply
    transaction = log.startTransaction(some(table), java_class(jvm, "scala.Option").empty())
    if int(transaction.readVersion()) != -1:
        return False
    wanted = {
        "id": str(uuid4()),
        "description": statement.comment,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(statement.fields),
        "partitionColumns": list(statement.partition_by),
        "configuration": dict(statement.properties),
        "createdTime": int(time.time() * 1000),
    }
    action = java_class(jvm, "org.apache.spark.sql.delta.actions.Action")
    transaction.updateMetadataForNewTable(action.fromJson(json.dumps({"metaData": wanted})))
    metadata, protocol = str(transaction.metadata().json()), str(transaction.protocol().json())
    # also what the session sets for every new table
    if not _are_plain(json.loads(metadata)["metaData"]["configuration"]):
        return False
    log.createLogDirectoriesIfNotExists()
    made = _commit_info(jvm, spark_version, wanted)
    try:
        _write(jvm, log, "json", [_json({"commitInfo": made}), metadata, protocol], False)
    except Py4JJavaError as error:
        if "FileAlreadyExistsException" not in str(java_throwable(error)):
            raise
        return False  # of a run that makes it at this moment
    sums = {
        "txnId": made["txnId"],
        **dict.fromkeys(("tableSizeBytes", "numFiles"), 0),
        **dict.fromkeys(("numMetadata", "numProtocol"), 1),
        **{name: [] for name in ("setTransactions", "domainMetadata", "allFiles")},
        **json.loads(protocol),
        "metadata": json.loads(metadata)["metaData"],
    }
    _write(jvm, log, "crc", [_json(sums)], True)
    return True


def _commit_info(jvm: Any, spark_version: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    delta_version = java_class(jvm, "io.delta.package").VERSION()
    return {
        "timestamp": int(time.time() * 1000),
        "operation": "CREATE TABLE",
        "operationParameters": {
            "partitionBy": _json(wanted["partitionColumns"]),
            "clusterBy": "[]",
            "description": wanted["description"],
            "isManaged": "true",
            "properties": _json(wanted["configuration"]),
        },
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
        "engineInfo": f"Apache-Spark/{spark_version} Delta-Lake/{delta_version}",
        "txnId": str(uuid4()),
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _write(jvm: Any, log: Any, ending: str, lines: Sequence[str], overwrite: bool) -> None:
    path = hadoop_path(jvm, log.logPath(), f"{0:020}.{ending}")
    rows = java_class(jvm, "org.apache.spark.api.python.PythonUtils").toSeq(list(lines)).iterator()
    log.store().write(path, rows, overwrite, log.newDeltaHadoopConf())
