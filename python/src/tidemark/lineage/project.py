"""The part of a dbt project that lineage needs: models, their SQL, their declared columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.home import tidemark_home
from tidemark.lineage.compiling import compiled_models, invoke, selected_models, warehouse_here
from tidemark.lineage.datasets import Warehouse
from tidemark.project import NOT_PARSED
from tidemark.run.options import RunOptions, common_options

_KINDS = ("model", "snapshot", "seed")
Columns = dict[str, str | None]


@dataclass(frozen=True)
class Node:
    """A model, snapshot, seed or dbt source.

    Attributes:
        unique_id: dbt's.
        name: dbt's; of a source `source.table`.
        kind: model, snapshot, seed or source.
        schema: Where its table is.
        identifier: What its table is called.
        materialized: How it is kept.
        language: sql or python.
        columns: Declared columns and their types, in the order of the YAML.
        measured: Columns and types of the catalogue, empty without one.
        settings: What stands under `meta.tidemark`.
        keys: `unique_key`.
        depends_on: The nodes that it refers to.
        sql: Its compiled SQL.
        remark: Why there is no compiled SQL, or that it is an old one.
        description: Of the YAML.
        location_root: dbt's own setting.
        package: dbt's package.
    """

    unique_id: str
    name: str
    kind: str
    schema: str
    identifier: str
    materialized: str = "table"
    language: str = "sql"
    columns: Columns = field(default_factory=dict)
    measured: Columns = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    sql: str | None = None
    remark: str | None = None
    description: str = ""
    location_root: str | None = None
    package: str = ""

    @property
    def known(self) -> Columns:
        """Columns that are known without looking at the SQL: the catalogue's, then the YAML's."""
        there = {name.lower() for name in self.measured}
        declared = {name: kind for name, kind in self.columns.items() if name.lower() not in there}
        return self.measured | declared


@dataclass(frozen=True)
class Project:
    """A parsed project.

    Attributes:
        name: dbt's.
        nodes: All of it, by unique_id.
        selected: The models asked for, upstream ones first.
        warehouse: Where tables are.
        places: Which node a schema and identifier, in lower case, belong to.
    """

    name: str
    nodes: Mapping[str, Node]
    selected: tuple[str, ...]
    warehouse: Warehouse
    places: Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class LastRun:
    """What the last run left in dbt's target folder.

    Attributes:
        places: Which node a schema and identifier belonged to.
        checksums: Of the models' files.
        compiled: Compiled SQL.
    """

    places: Mapping[tuple[str, str], str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    compiled: Mapping[str, str] = field(default_factory=dict)


def target_folder(root: Path) -> Path:
    """Return dbt's target folder, where runs leave their artefacts."""
    folder = Path(os.environ.get("DBT_TARGET_PATH") or tidemark_home().target)
    return folder if folder.is_absolute() else root / folder


def artefacts_folder(root: Path) -> Path:
    """Return a folder for artefacts of our own, so that those of the last run stay."""
    return target_folder(root) / "lineage"


def read_project(options: RunOptions) -> Project:
    """Parse a project, compile it without Spark and look into what the last run left.

    Models whose SQL depends on what is stored, such as feeds, do not compile without Spark: theirs
    is that of the last run.

    Args:
        options: Project, profile and selection.

    Raises:
        ConfigError: The project cannot be parsed, or the selection is wrong.
    """
    target = target_folder(options.project_dir)
    last = read_last_run(target)
    own = artefacts_folder(options.project_dir)
    # dbt's own catalogue, then that of `tidemark docs`
    measured = read_catalog(target / "catalog.json") | read_catalog(own / "catalog.json")
    common = [*common_options(options, None), "--target-path", str(own)]
    parsed = invoke(["parse", *common])
    if not parsed.success:
        raise ConfigError(str(parsed.exception or NOT_PARSED))
    manifest = parsed.result
    warehouse = warehouse_here(options.project_dir)
    selected = selected_models(options, common)
    compiled, problems = compiled_models(manifest, common)
    nodes: dict[str, Node] = {}
    for node in manifest.nodes.values():
        if str(node.resource_type) in _KINDS:
            read = node_of(node.to_dict(omit_none=False), measured)
            nodes[read.unique_id] = _with_sql(read, node, compiled, problems, last)
    for source in manifest.sources.values():
        read = source_of(source.to_dict(omit_none=False), measured)
        nodes[read.unique_id] = read
    return make_project(manifest.metadata.project_name, nodes, selected, warehouse, last.places)


def make_project(
    name: str,
    nodes: Mapping[str, Node],
    selected: Iterable[str],
    warehouse: Warehouse,
    former_places: Mapping[tuple[str, str], str] | None = None,
) -> Project:
    """Put a project together."""
    places = dict(former_places or {})
    places.update(
        {(node.schema.lower(), node.identifier.lower()): key for key, node in nodes.items()}
    )
    chosen = set(selected)
    return Project(
        name,
        nodes,
        tuple(key for key in in_order(nodes) if key in chosen),
        warehouse,
        {place: key for place, key in places.items() if key in nodes},
    )


def in_order(nodes: Mapping[str, Node]) -> list[str]:
    """Return nodes such that each comes after those that it refers to."""
    ordered: dict[str, None] = {}
    stack = [(key, False) for key in reversed(list(nodes))]
    while stack:
        key, is_done = stack.pop()
        if key in ordered:
            continue
        if is_done:
            ordered[key] = None
            continue
        stack.append((key, True))
        stack += [(above, False) for above in nodes[key].depends_on if above in nodes]
    return list(ordered)


def node_of(raw: Mapping[str, Any], measured: Mapping[str, Columns]) -> Node:
    """Read a node of the manifest."""
    config = raw.get("config") or {}
    keys = config.get("unique_key") or []
    return Node(
        unique_id=raw["unique_id"],
        name=raw["name"],
        kind=str(raw["resource_type"]),
        schema=raw.get("schema") or "",
        identifier=raw.get("alias") or raw["name"],
        materialized=config.get("materialized") or "table",
        language=str(raw.get("language") or "sql"),
        columns=_declared(raw),
        measured=measured.get(raw["unique_id"], {}),
        settings=_settings(config),
        keys=(keys,) if isinstance(keys, str) else tuple(str(key) for key in keys),
        depends_on=tuple((raw.get("depends_on") or {}).get("nodes") or ()),
        description=raw.get("description") or "",
        location_root=config.get("location_root"),
        package=raw.get("package_name") or "",
    )


def source_of(raw: Mapping[str, Any], measured: Mapping[str, Columns]) -> Node:
    """Read a source of the manifest."""
    return Node(
        unique_id=raw["unique_id"],
        name=f"{raw['source_name']}.{raw['name']}",
        kind="source",
        schema=raw.get("schema") or "",
        identifier=raw.get("identifier") or raw["name"],
        columns=_declared(raw),
        measured=measured.get(raw["unique_id"], {}),
        settings=_settings({"meta": raw.get("source_meta")})
        | _settings({"meta": raw.get("meta")})
        | _settings(raw.get("config") or {}),
        description=raw.get("description") or "",
        package=raw.get("package_name") or "",
    )


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    meta = config.get("meta")
    settings = meta.get("tidemark") if isinstance(meta, Mapping) else None
    return dict(settings) if isinstance(settings, Mapping) else {}


def _declared(raw: Mapping[str, Any]) -> Columns:
    columns: Mapping[str, Mapping[str, Any]] = raw.get("columns") or {}
    return {column["name"]: column.get("data_type") for column in columns.values()}


def _with_sql(
    read: Node,
    node: Any,
    compiled: Mapping[str, str],
    problems: Mapping[str, str],
    last: LastRun,
) -> Node:
    key = read.unique_id
    if read.kind == "seed" or read.language == "python":
        return read
    if key in compiled:
        return replace(read, sql=compiled[key])
    if key in last.compiled:
        same = last.checksums.get(key) == node.checksum.checksum
        remark = (
            None if same else "lineage from the SQL of its last run; its file has changed since"
        )
        return replace(read, sql=last.compiled[key], remark=remark)
    reason = problems.get(key) or "its SQL does not compile without Spark, and it has not run"
    return replace(read, remark=reason)


def read_last_run(target: Path) -> LastRun:
    """Read what the last run left; nothing if there was none."""
    raw = _read_json(target / "manifest.json")
    places: dict[tuple[str, str], str] = {}
    checksums: dict[str, str] = {}
    compiled: dict[str, str] = {}
    for key, node in (raw.get("nodes") or {}).items():
        if node.get("resource_type") not in _KINDS:
            continue
        identifier = node.get("alias") or node["name"]
        places[(str(node.get("schema") or "").lower(), identifier.lower())] = key
        checksums[key] = (node.get("checksum") or {}).get("checksum") or ""
        code = node.get("compiled_code")
        # dbt writes the manifest anew with each command, the folder of compiled SQL it keeps
        path = target / "compiled" / node["package_name"] / node["original_file_path"]
        if not code and path.is_file() and node.get("language") != "python":
            code = path.read_text(encoding="utf-8")
        if code:
            compiled[key] = code
    for result in _read_json(target / "run_results.json").get("results") or []:
        if result.get("compiled_code") and result["unique_id"] in checksums:
            compiled.setdefault(result["unique_id"], result["compiled_code"])
    return LastRun(places, checksums, compiled)


def read_catalog(path: Path) -> dict[str, Columns]:
    """Read the columns of a catalog.json by node; nothing if there is none."""
    raw = _read_json(path)
    found: dict[str, Columns] = {}
    for group in ("nodes", "sources"):
        for key, table in (raw.get(group) or {}).items():
            columns = sorted(table["columns"].values(), key=lambda column: column.get("index") or 0)
            found[key] = {column["name"]: column.get("type") for column in columns}
    return found


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
