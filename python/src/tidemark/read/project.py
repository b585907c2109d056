"""What a dbt project says of its entities, parsed by dbt once and kept until a file changes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tidemark.errors import ConfigError
from tidemark.home import tidemark_home
from tidemark.project import NOT_PARSED
from tidemark.read.landed_lines import Landed
from tidemark.read.macros import macros_of
from tidemark.run.files import fingerprint
from tidemark.run.options import RunOptions

if TYPE_CHECKING:
    from tidemark.run.invoke import Invoker

KINDS = ("cdc", "scd2", "feed", "atomic", "shred")
"""The materializations whose tables have commits."""

_MINUTES = {"minute": 1, "hour": 60, "day": 24 * 60}


@dataclass(frozen=True)
class Entity:
    """A model whose table has commits.

    Attributes:
        name: The model; of several of one name schema.table.
        kind: Its materialization.
        schema: Where its tables lie.
        table: The name of its table; side tables are called `<table>__log` and so on.
        key: Its key columns; none for a table without key.
        location: Where its extracts or events land, as its YAML says; None if its SQL says it.
        location_root: The folder of its tables, where that is not the warehouse.
        file_format: The format of its tables.
        fresh_minutes: How long a run keeps it fresh (`freshness: {build_after: …}` of its config).
        extract: full, delta or events; None if it has none.
        format: That of the files at its location.
        options: How they are read, names and values.
        sensitive: The columns whose values are not shown.
        valid_from: Of kept intervals, what the column is called where one begins.
    """

    name: str
    kind: str
    schema: str
    table: str
    key: tuple[str, ...] = ()
    location: str | None = None
    location_root: str | None = None
    file_format: str = "delta"
    fresh_minutes: int | None = None
    extract: str | None = None
    format: str = "csv"
    options: tuple[tuple[str, str], ...] = ()
    sensitive: tuple[str, ...] = ()
    valid_from: str = "_valid_from"

    @property
    def landed(self) -> Landed:
        """How its files are found and read."""
        return Landed(self.location, self.extract, self.format, self.key, self.options)

    @property
    def relation(self) -> str:
        """schema.table, as commits name it."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class KnownProject:
    """A project's entities and where its tables lie.

    Attributes:
        root: The project.
        warehouse: The folder of the warehouse: a path or a URL.
        commits_schema: Where `tidemark_commits` lies.
        commits_format: The format of its table.
        entities: By name.
        name: What the project is called.
        edges: What is read, and the model that reads it; names of sources, seeds and models.
        macros: The package's macros that look-ups ask, their texts by name.
    """

    root: Path
    warehouse: str
    commits_schema: str
    commits_format: str
    entities: dict[str, Entity] = field(default_factory=dict)
    name: str = ""
    edges: tuple[tuple[str, str], ...] = ()
    macros: dict[str, str] = field(default_factory=dict)


def known_project(options: RunOptions, talk: Console) -> KnownProject:
    """Return what dbt knows of a project; it parses only if a file has changed since it did.

    Args:
        options: Which project, profile, target and vars.
        talk: Where dbt's messages go.

    Raises:
        ConfigError: The project cannot be parsed.
    """
    mark = fingerprint(options)
    try:
        found = json.loads(_kept().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {}
    if _kept_as(mark) in found:
        return _from_json(found[_kept_as(mark)])
    from tidemark.run.invoke import Invoker

    invoker = Invoker(options, talk)
    with talk.status("reading the project (once, until one of its files changes) …"):
        if not invoker.parse():
            raise ConfigError(NOT_PARSED)
    return remember_project(options, invoker, mark)


def remember_project(options: RunOptions, invoker: Invoker, mark: str) -> KnownProject:
    """Keep what dbt has just parsed for the next who asks.

    Args:
        options: What it was parsed with.
        invoker: Who had it parsed.
        mark: The fingerprint of before it was parsed: what changes meanwhile is to be noticed.
    """
    project = _described(options, invoker)
    content = {**asdict(project), "root": str(project.root)}
    kept = _kept()
    with suppress(PermissionError):  # who may only read has it parsed again the next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({_kept_as(mark): content}), encoding="utf-8")
        new.replace(kept)
    return project


def _kept_as(mark: str) -> str:
    """Return what a project is kept as: what an earlier release has kept lacks some of it."""
    names = [one.name for kind in (KnownProject, Entity) for one in fields(kind)]
    return f"{mark} {','.join(names)}"


def _kept() -> Path:
    return tidemark_home().target / "tidemark_entities.json"


def entities_of(manifest: Any, commits_format: str = "delta") -> dict[str, Entity]:
    """Return the entities of a parsed project by name.

    Args:
        manifest: dbt's.
        commits_format: The format of `tidemark_commits`; with iceberg all tables are Iceberg's.
    """
    usual_format = "iceberg" if commits_format == "iceberg" else "delta"
    nodes = [
        node
        for node in manifest.nodes.values()
        if node.resource_type == "model" and str(node.config.get("materialized")) in KINDS
    ]
    project = getattr(getattr(manifest, "metadata", None), "project_name", None)
    named = Counter(node.name for node in nodes)
    named_here = Counter(
        node.name for node in nodes if getattr(node, "package_name", None) == project
    )
    found = {}
    for node in nodes:
        config = node.config
        kind = str(config.get("materialized"))
        meta = config.get("meta") or {}
        settings = meta.get("tidemark") if isinstance(meta, Mapping) else None
        settings = settings if isinstance(settings, Mapping) else {}
        location = settings.get("location")
        key = config.get("unique_key") or settings.get("key") or ()
        root = config.get("location_root") or settings.get("location_root")
        # versions and packages have models of one name: the operations know them by their tables
        is_meant = named[node.name] == 1 or (
            named_here[node.name] == 1 and getattr(node, "package_name", None) == project
        )
        name = node.name if is_meant else f"{node.schema}.{node.alias}"
        found[name] = Entity(
            name=name,
            kind=kind,
            schema=node.schema,
            table=node.alias,
            key=_names(key),
            location=location if isinstance(location, str) else None,
            location_root=str(root) if root else None,
            file_format=str(config.get("file_format") or usual_format),
            extract=settings.get("extract"),
            format=str(settings.get("format") or "csv"),
            options=_options(settings.get("options")),
            sensitive=_names(settings.get("sensitive")),
            fresh_minutes=_fresh_minutes(config.get("freshness")),
            valid_from=str(settings.get("valid_from") or "_valid_from"),
        )
    return dict(sorted(found.items()))


def _fresh_minutes(freshness: Any) -> int | None:
    """Return dbt's `freshness: {build_after: {count: 1, period: day}}` in minutes."""
    after = getattr(freshness, "build_after", None)
    if after is None and isinstance(freshness, Mapping):
        after = freshness.get("build_after")
    if after is None:
        return None
    count, period = (
        after.get(name) if isinstance(after, Mapping) else getattr(after, name, None)
        for name in ("count", "period")
    )
    minutes = _MINUTES.get(str(getattr(period, "value", period)))
    return int(count) * minutes if count and minutes else None


def _names(given: Any) -> tuple[str, ...]:
    """Return one name or several."""
    return (given,) if isinstance(given, str) else tuple(map(str, given or ()))


def _options(given: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping):
        return ()
    return tuple((str(name), str(value)) for name, value in given.items())


def edges_of(manifest: Any) -> tuple[tuple[str, str], ...]:
    """Return what each model reads, as pairs of names.

    Args:
        manifest: dbt's.
    """
    names = {one.unique_id: f"{one.source_name}.{one.name}" for one in manifest.sources.values()}
    names |= {
        node.unique_id: node.name
        for node in manifest.nodes.values()
        if node.resource_type in ("model", "seed", "snapshot")
    }
    return tuple(
        sorted(
            {
                (names[above], node.name)
                for node in manifest.nodes.values()
                if node.resource_type == "model"
                for above in node.depends_on.nodes
                if above in names
            }
        )
    )


def _described(options: RunOptions, invoker: Invoker) -> KnownProject:
    from tidemark.lineage.datasets import warehouse_of

    config = invoker.config
    variables = invoker.variables
    commits_format = str(variables.get("tidemark__commits_format") or "delta")
    warehouse = warehouse_of(config.credentials, options.project_dir, tidemark_home().warehouse)
    return KnownProject(
        root=options.project_dir,
        warehouse=warehouse.folder,
        commits_schema=str(variables.get("tidemark__schema") or config.credentials.schema),
        commits_format=commits_format,
        entities=entities_of(invoker.manifest, commits_format),
        name=str(config.project_name),
        edges=edges_of(invoker.manifest),
        macros=macros_of(invoker.manifest),
    )


def _from_json(content: dict[str, Any]) -> KnownProject:
    entities = {
        name: Entity(
            **{
                **entity,
                "key": tuple(entity["key"]),
                "sensitive": tuple(entity.get("sensitive", ())),
                "options": tuple((option, value) for option, value in entity.get("options", ())),
            }
        )
        for name, entity in content.pop("entities").items()
    }
    edges = tuple((above, below) for above, below in content["edges"])
    root = Path(content["root"])
    return KnownProject(**{**content, "root": root, "entities": entities, "edges": edges})
