"""The embedded metastore names tables by their absolute places: it is brought to where they are.

A home that was copied, moved or restored elsewhere has a metastore that names the old place, or
none. Its warehouse is the truth.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tidemark.home import Home, project_above
from tidemark.rules.quoted import back_ticked, literal
from tidemark.spark.delta.create import catalog_table
from tidemark.spark.files import hadoop_path, java_class, table_identifier
from tidemark.spark.iceberg import is_iceberg
from tidemark.spark.moved_iceberg import settle_table

Moved = tuple[str, str]
"""Where a folder was, and where it is."""

_DERBY = "jdbc:derby:;databaseName="
_SCHEMA = ".db"
# where Hive keeps places
_PLACES = (
    ("DBS", "DB_LOCATION_URI"),
    ("SDS", "LOCATION"),
    ("SERDE_PARAMS", "PARAM_VALUE"),
    ("TABLE_PARAMS", "PARAM_VALUE"),
)
_COMMITS = "_delta_log/[0-9]*"
_DESCRIPTIONS = "metadata/*.metadata.json"


def follow_home(jvm: Any, home: Home, warehouse: str) -> bool:
    """Have the metastore of a home name the present place, where that was another one before.

    What lies elsewhere, as a warehouse that several homes share, stays where it is.

    Args:
        jvm: The JVM, in which nobody has opened the metastore.
        home: The home.
        warehouse: Where new schemas are put.

    Returns:
        Whether the metastore is to be filled: it is not there, or who filled it has died.
    """
    known, here = _read(home), str(home.root)
    if not home.metastore.is_dir() or known.get("is_filled") is False:
        _write(home, known.get("home"), known, is_filled=False)
        return True
    if known.get("home") == here:
        return False
    with _opened(jvm, home.metastore) as connection:
        was = known.get("home")
        if was is None and warehouse == str(home.warehouse):
            was = _home_of(connection, home)
        moved = moves(was, here) if was and not _is_same(was, here) else []
        if moved:
            for _, folder in _folders(home.warehouse, _DESCRIPTIONS):
                settle_table(jvm, folder)
        for old, new in moved:
            for table, column in _PLACES:
                for scheme in ("file:", "file://", ""):
                    _replace(connection, table, column, f"{scheme}{old}/", f"{scheme}{new}/")
        connection.commit()
    _write(home, was, known)
    return False


def fill_metastore(session: SparkSession, home: Home) -> list[str]:
    """Register the tables of a home's warehouse in its metastore, which is new.

    Args:
        session: The running session.
        home: The home.

    Returns:
        What was registered, as schema.table.
    """
    if is_iceberg(session):
        found = [
            register_iceberg(session, schema, name, folder)
            for (schema, name), folder in _newest(home.warehouse).items()
        ]
    else:
        tables = _folders(home.warehouse, _COMMITS)
        found = [register_delta(session, schema, folder) for schema, folder in tables]
    _write(home, None, _read(home))
    return found


def follow_files(session: SparkSession, home: Home, table: str, column: str, path: str) -> None:
    """Have a register of files name those that have moved with the home by their present places.

    Else they would be read again.

    Args:
        session: The running session.
        home: The home.
        table: The register, as SQL has it.
        column: That with the addresses of files.
        path: One of the files that lie there now: others than those of its place have not moved.
    """
    known = _read(home)
    if not known.get("before") or table in known.get("followed", []):
        return
    moved = [move for was in known["before"] for move in moves(was, str(home.root))]
    path = re.sub("^file:/*", "/", path)
    for places in moved:
        if not path.startswith(f"{places[1]}/"):
            continue
        addresses = [str(hadoop_path(session._jvm, place).toUri().toString()) for place in places]
        for scheme in ("file:", "file://"):
            old, new = (f"{scheme}{address}/" for address in addresses)
            session.sql(
                f"update {table} set {column} = {literal(new)} || "
                f"substring({column}, {len(old) + 1}) where startswith({column}, {literal(old)})"
            )
    _write(home, None, {**known, "followed": [*known.get("followed", []), table]})


def moves(was: str, here: str) -> list[Moved]:
    """Return what has moved with a home: it, and the project that it lies in.

    Example:
        >>> moves("/old/shop/.tidemark", "/new/shop2/.tidemark")  # in which is a dbt_project.yml
        [('/old/shop', '/new/shop2')]

    Args:
        was: Where the home was.
        here: Where it is.
    """
    project = project_above(Path(here))
    inner = "" if project is None else f"/{Path(here).relative_to(project).as_posix()}"
    if project is None or not was.endswith(inner):
        return [(was, here)]
    return [(was.removesuffix(inner), str(project))]


def _read(home: Home) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        known = json.loads(home.places.read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    return {}


def _write(home: Home, was: str | None, known: Mapping[str, Any], is_filled: bool = True) -> None:
    """Note where the home is, and where it was."""
    here = str(home.root)
    before = dict.fromkeys(one for one in (was, *known.get("before", [])) if one and one != here)
    followed = known.get("followed", []) if not was or was == here else []
    noted = {"home": here, "is_filled": is_filled, "before": list(before), "followed": followed}
    new = home.places.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(noted), encoding="utf-8")
    new.replace(home.places)


def _is_same(one: str, other: str) -> bool:
    """Say whether two paths are of one folder, as where one is a link to the other."""
    with suppress(OSError):
        return os.path.samefile(one, other)
    return False


# --- what the metastore says, in its own tables


@contextmanager
def _opened(jvm: Any, metastore: Path) -> Iterator[Any]:
    """Open the metastore; it is closed for good, as Spark opens it by a class loader of its own."""
    driver = java_class(jvm, "org.apache.derby.jdbc.EmbeddedDriver")()
    nothing = java_class(jvm, "java.util.Properties")()
    try:
        connection = driver.connect(f"{_DERBY}{metastore}", nothing)
        connection.setAutoCommit(False)
        yield connection
    finally:
        with suppress(Py4JJavaError):  # so it says that it is closed
            driver.connect(f"{_DERBY}{metastore};shutdown=true", nothing)


def _home_of(connection: Any, home: Home) -> str | None:
    """Return whose the metastore was, as the place of its first schema tells."""
    statement = connection.createStatement()
    rows = statement.executeQuery("select DB_LOCATION_URI from DBS where NAME = 'default'")
    place = re.sub("^file:/*", "/", str(rows.getString(1))) if rows.next() else ""
    statement.close()
    inner = f"/{home.warehouse.name}"
    was = Path(place.removesuffix(inner))
    # a warehouse that has been given a place of its own is in no home
    is_home = place.endswith(inner) and (not was.is_dir() or (was / home.metastore.name).is_dir())
    return str(was) if is_home else None


def _replace(connection: Any, table: str, column: str, old: str, new: str) -> None:
    pattern = re.sub(r"([\\%_])", r"\\\1", old) + "%"
    statement = connection.prepareStatement(
        f'update {table} set "{column}" = cast(? as varchar(4000)) || '
        f'substr("{column}", {len(old) + 1}) '
        f"where \"{column}\" like ? escape '\\'"
    )
    statement.setString(1, new)
    statement.setString(2, pattern)
    statement.executeUpdate()
    statement.close()


# --- what the warehouse has


def _folders(warehouse: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """Yield schema and folder of the tables in a warehouse that have such files."""
    schemas = [("default", warehouse)] if warehouse.is_dir() else []
    schemas += [
        (folder.name.removesuffix(_SCHEMA), folder)
        for folder in sorted(warehouse.glob(f"*{_SCHEMA}"))
    ]
    for schema, place in schemas:
        for folder in sorted(place.iterdir()):
            if any(folder.glob(pattern)):
                yield schema, folder


def _newest(warehouse: Path) -> dict[tuple[str, str], Path]:
    """Return the tables of Iceberg by schema and name; of a name the one that changed last."""
    from tidemark.read.folders import called
    from tidemark.read.iceberg import describe

    found: dict[tuple[str, str], tuple[int, Path]] = {}
    for schema, folder in _folders(warehouse, _DESCRIPTIONS):
        described = describe(folder)
        if described is not None:
            name = schema, called(folder, described)
            found[name] = max(found.get(name, (-1, folder)), (described.changed, folder))
    return {name: folder for name, (_, folder) in found.items()}


def register_delta(session: SparkSession, schema: str, folder: Path) -> str:
    """Have the catalog know a table of Delta by the name of its folder; return schema.table."""
    _make_schema(session, schema)
    jvm: Any = session._jvm
    table = table_identifier(jvm, schema, folder.name)
    place = hadoop_path(jvm, f"file:{folder}").toUri()
    catalog = session._jsparkSession.sessionState().catalog()
    catalog.createTable(catalog_table(jvm, table, place, None), True, False)
    return f"{schema}.{folder.name}"


def register_iceberg(session: SparkSession, schema: str, name: str, folder: Path) -> str:
    """Have the catalog know a table of Iceberg, wherever its files lay; return schema.table."""
    from tidemark.read.iceberg import newest_description

    _make_schema(session, schema)
    settle_table(session._jvm, folder)
    catalog = session._jsparkSession.sessionState().catalog()
    if not catalog.tableExists(table_identifier(session._jvm, schema, name)):
        session.sql(
            f"call spark_catalog.system.register_table({literal(f'{schema}.`{name}`')}, "
            f"{literal(f'file:{newest_description(folder)}')})"
        )
    return f"{schema}.{name}"


def _make_schema(session: SparkSession, schema: str) -> None:
    if not session._jsparkSession.sessionState().catalog().databaseExists(schema):
        session.sql(f"create database {back_ticked(schema)}")
