"""What datasets are called: as OpenLineage's naming convention says, and shorter for readers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

# connector → scheme of the namespace and the port that a server listens at by default
_DATABASES = {
    "postgresql": ("postgres", 5432),
    "mysql": ("mysql", 3306),
    "mariadb": ("mariadb", 3306),
    "sqlserver": ("mssql", 1433),
    "oracle": ("oracle", 1521),
}
_METASTORES = ("spark.hadoop.hive.metastore.uris", "hive.metastore.uris")


@dataclass(frozen=True)
class Dataset:
    """A table, a file or a stream.

    Attributes:
        namespace: OpenLineage's.
        name: OpenLineage's, unique in the namespace.
        label: What a reader sees.
        symlink: Namespace and name by which others may know it.
    """

    namespace: str
    name: str
    label: str
    symlink: tuple[str, str] | None = None


def schema_folder(warehouse: str, schema: str) -> str:
    """Return where Spark puts a schema's tables: its schema `default` is the warehouse itself.

    Example:
        >>> schema_folder("/w", "shop"), schema_folder("/w/", "default")
        ('/w/shop.db', '/w')
    """
    folder = warehouse.rstrip("/")
    return folder if schema.lower() == "default" else f"{folder}/{schema}.db"


@dataclass(frozen=True)
class Warehouse:
    """Where the project's tables are.

    Attributes:
        root: The project, which relative paths are relative to.
        folder: Of the warehouse.
        server: A metastore or Thrift server as a namespace, or None with an embedded one.
    """

    root: Path
    folder: str
    server: str | None = None

    def table(
        self, schema: str | None, identifier: str, location_root: str | None = None
    ) -> Dataset:
        """Return a table of the warehouse: a name of the server's, else a path.

        Example:
            >>> Warehouse(Path("/p"), "/w").table("shop", "orders").name
            '/w/shop.db/orders'
        """
        name = f"{schema}.{identifier}" if schema else identifier
        if self.server is not None:
            return Dataset(self.server, name, name)
        if location_root:
            path = f"{location_root.rstrip('/')}/{identifier}"
        else:
            folder = schema_folder(self.folder, schema) if schema else self.folder.rstrip("/")
            path = f"{folder}/{identifier}"
        file = self.file(path)
        return Dataset(file.namespace, file.name, name, (self.file(self.folder).uri, name))

    def file(self, path: str) -> FileDataset:
        """Return files: a path, perhaps relative to the project, or a URL.

        Example:
            >>> Warehouse(Path("/p"), "/w").file("landing/a.csv").name
            '/p/landing/a.csv'
            >>> Warehouse(Path("/p"), "/w").file("s3://lake/a.csv").namespace
            's3://lake'
        """
        url = urlsplit(path)
        if url.scheme and url.scheme != "file" and "://" in path:
            return FileDataset(
                f"{url.scheme}://{url.netloc}", path.split(url.netloc, 1)[1].strip("/") or "/", path
            )
        local = path.removeprefix("file:")
        local = "/" + local.lstrip("/") if local != path else local
        absolute = local if PurePosixPath(local).is_absolute() else f"{self.root}/{local}"
        label = local.removeprefix(f"{self.root}/")
        return FileDataset("file", absolute, label)


@dataclass(frozen=True)
class FileDataset(Dataset):
    """Files at a path."""

    @property
    def uri(self) -> str:
        """One text for namespace and name."""
        return f"file:{self.name}" if self.namespace == "file" else f"{self.namespace}/{self.name}"


def warehouse_of(credentials: Any, root: Path, folder: Path) -> Warehouse:
    """Return where a profile puts tables.

    Args:
        credentials: dbt's, of the target.
        root: The project.
        folder: The warehouse of TIDEMARK_HOME.
    """
    settings = dict(getattr(credentials, "server_side_parameters", None) or {})
    chosen = str(settings.get("spark.sql.warehouse.dir") or folder)
    method = str(getattr(credentials, "method", "") or "")
    for name in _METASTORES:
        if settings.get(name):
            first = str(settings[name]).split(",")[0].strip()
            url = urlsplit(first)
            return Warehouse(root, chosen, f"hive://{url.netloc or first}")
    if method and not method.endswith("session") and getattr(credentials, "host", None):
        port = getattr(credentials, "port", None)
        return Warehouse(root, chosen, f"spark://{credentials.host}{f':{port}' if port else ''}")
    return Warehouse(root, chosen)


def database_table(
    replicator: Mapping[str, Any], table: str, environment: Mapping[str, str] | None = None
) -> Dataset:
    """Return the table of a database that a replicator mirrors.

    Args:
        replicator: What stands under `config.meta.tidemark.replicator` of the source.
        table: As its connector names it: schema.table, or database.table.
        environment: Where `{env: NAME}` is looked up. A variable that is not set is left out.

    Example:
        >>> shop = {"connector": "postgresql", "connection": {"host": "db", "database": "shop"}}
        >>> orders = database_table(shop, "public.orders")
        >>> orders.namespace, orders.name
        ('postgres://db:5432', 'shop.public.orders')
    """
    environment = os.environ if environment is None else environment
    connector = str(replicator.get("connector") or "database")
    scheme, default_port = _DATABASES.get(connector, (connector, None))
    connection = replicator.get("connection")
    values = connection if isinstance(connection, Mapping) else {}
    host = _resolved(values.get("host"), environment)
    port = _resolved(values.get("port"), environment) or default_port
    database = _resolved(values.get("pdb"), environment) or _resolved(
        values.get("database"), environment
    )
    namespace = f"{scheme}://{host}{f':{port}' if port else ''}" if host else scheme
    parts = table.split(".")
    # what MySQL calls a database others call a schema: it has nothing above it
    if database and connector not in ("mysql", "mariadb") and parts[0] != database:
        parts = [database, *parts]
    elif database and len(parts) == 1:
        parts = [database, *parts]
    name = ".".join(parts)
    return Dataset(namespace, name, name)


def _resolved(value: Any, environment: Mapping[str, str]) -> str | None:
    if isinstance(value, Mapping):
        return environment.get(str(value.get("env"))) or None
    return str(value) if value not in (None, "") else None
