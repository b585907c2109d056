"""The dbt models of mirrored tables: written when a table first appears, then the user's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidemark.capture.config import BINLOG, CaptureConfig, FromEnvironment
from tidemark.capture.files import write_atomically
from tidemark.home import DEFAULT_HOME, HOME_VARIABLE
from tidemark.printable import one_line
from tidemark.project import as_rendered, model_folders, models_in, read_properties, unrendered
from tidemark.replicator.settings import Operation

# schemas that a table's name is the same without
_OWN_SCHEMAS = {"postgresql": "public", "sqlserver": "dbo"}
_BODY = "{{ tidemark.extract() }}\n"


@dataclass(frozen=True)
class MirrorModel:
    """The model of a mirrored table.

    Attributes:
        name: Of the model.
        table: `schema.table` as the database calls it.
        path: Its YAML file; the SQL file lies beside it.
        others: Further models of the same table, such as one of some of its rows.
    """

    name: str
    table: str
    path: Path
    others: tuple[MirrorModel, ...] = ()

    @property
    def body(self) -> Path:
        """The SQL file."""
        return self.path.with_name(f"{self.name}.sql")

    @property
    def all(self) -> tuple[MirrorModel, ...]:
        """This one and the others."""
        return (self, *self.others)


def model_name(config: CaptureConfig, table: str) -> str:
    """Return the name of a table's model: `<source>__<table>`, with the schema if it is another.

    Example:
        >>> model_name(shop, "public.orders"), model_name(shop, "audit.Log Lines")
        ('shop__orders', 'shop__audit__log_lines')
    """
    schema, _, name = table.rpartition(".")
    own = _OWN_SCHEMAS.get(config.connector) or (
        config.connection.database if config.connector in BINLOG else None
    )
    parts = [config.source, name] if schema == own or not schema else [config.source, schema, name]
    # Spark takes no other letters in the name of a table
    return "__".join(re.sub(r"\W", "_", part.lower(), flags=re.ASCII) for part in parts)


def table_setting(config: CaptureConfig, table: str) -> str:
    """Return the setting `table` of a table's model, by which its events are known.

    A name of two parts is also one of any schema in the database of the first part: where a schema
    is called as its database, the name has three.

    Example:
        >>> table_setting(shop, "public.orders"), table_setting(shop, "shop.orders")
        ('public.orders', 'shop.shop.orders')
    """
    database = config.connection.database
    if isinstance(database, FromEnvironment):
        database = os.environ.get(database.env)
    schema = table.partition(".")[0]
    has_schemas = config.connector not in BINLOG
    databases = [str(one).lower() for one in (database, config.connection.pdb) if one is not None]
    return f"{schema}.{table}" if has_schemas and schema.lower() in databases else table


def _table_of(setting: str) -> str:
    """Return the table that `table_setting` is of."""
    return re.sub(r"^([^.]+)\.(?=\1\.[^.]+$)", "", setting)


def model_folder(project: Path, config: CaptureConfig) -> Path:
    """Return where the models of a source are."""
    return model_folders(project)[0] / config.source


def known_models(folder: Path) -> dict[str, MirrorModel]:
    """Return the models of a source's folder, by table, whoever wrote them.

    One that a user has renamed or changed is still that of its table; of several the first one is.

    Raises:
        ConfigError: A file cannot be read: somebody is at work on it.
    """
    models: dict[str, MirrorModel] = {}
    for path in sorted(folder.glob("*.yml")) if folder.is_dir() else ():
        for name, model in models_in(read_properties(path)):
            settings: Any = model
            for key in ("config", "meta", "tidemark"):
                settings = settings.get(key) if isinstance(settings, dict) else None
            if not isinstance(settings, dict):
                continue
            if settings.get("extract") == "events" and settings.get("table"):
                table = _table_of(as_rendered(str(settings["table"])))
                found = MirrorModel(name, table, path)
                first = models.get(table)
                models[table] = (
                    replace(first, others=(*first.others, found)) if first is not None else found
                )
    return models


def write_models(
    folder: Path,
    config: CaptureConfig,
    operation: Operation,
    tables: Mapping[str, list[str]],
    known: Mapping[str, MirrorModel],
) -> dict[str, MirrorModel]:
    """Write the models of tables that have none; return these, by table.

    Args:
        folder: Where the models of the source are.
        config: The source.
        operation: How it is operated.
        tables: Columns of the key, by table; an empty list for a table without one.
        known: The models that there are, by table.
    """
    names = {model.name for first in known.values() for model in first.all}
    written = {}
    for table, key in sorted(tables.items()):
        if table in known:
            continue
        name = model_name(config, table)
        while name in names or (folder / f"{name}.yml").exists() or _is_elsewhere(name, folder):
            name += "_2"  # another table's, whose name differs in what a model's cannot have
        names.add(name)
        model = MirrorModel(name, table, folder / f"{name}.yml")
        folder.mkdir(parents=True, exist_ok=True)
        if not model.body.exists():
            write_atomically(model.body, _BODY.encode())
        text = model_yaml(config, operation, model, key)
        write_atomically(model.path, text.encode())
        written[table] = model
    return written


def _is_elsewhere(name: str, folder: Path) -> bool:
    """Return whether another source has a model of this name, of which dbt takes but one."""
    return any(path.parent != folder for path in folder.parent.rglob(f"{name}.sql"))


def model_yaml(
    config: CaptureConfig, operation: Operation, model: MirrorModel, key: list[str]
) -> str:
    """Return the YAML of a model: an ordinary entity, to be edited."""
    description = unrendered(f"Copy of {model.table} of source {config.source}.")
    settings: dict[str, Any] = {
        "extract": "events",
        "format": "debezium",
        "location": landing_location(config),
        "table": unrendered(table_setting(config, model.table)),
        **({"ddl": operation.ddl} if operation.ddl else {}),
    }
    # JSON values are YAML, and quoted as it needs
    lines = [
        f"# `tidemark replicator` wrote this file when {one_line(model.table)} first appeared,",
        "# and never writes it again: edit it as you like.",
        "version: 2",
        "",
        "models:",
        f"  - name: {model.name}",
        f"    description: {_text(description)}",
        "    config:",
        "      materialized: cdc",
        *([f"      unique_key: {_text([unrendered(name) for name in key])}"] if key else []),
        "      meta:",
        "        tidemark:",
        *(f"          {name}: {_text(value)}" for name, value in settings.items()),
        "    data_tests:",
        "      - tidemark.current_equals_open_intervals",
        "",
    ]
    return "\n".join(lines)


def landing_location(config: CaptureConfig) -> str:
    """Return the `location` of the models: relative to the project, or to TIDEMARK_HOME."""
    if config.location is not None:
        folder = str(Path(config.location).expanduser())
    else:
        folder = f"{{{{ env_var('{HOME_VARIABLE}', '{DEFAULT_HOME}') }}}}/landing/{config.source}"
    return f"{folder}/*.jsonl.gz"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
