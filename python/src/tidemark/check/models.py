"""The models of a parsed project whose configuration is wrong, and how."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from glob import has_magic
from itertools import takewhile
from pathlib import Path
from typing import Any, cast

from tidemark.check.doubled import doubled_keys
from tidemark.check.named import missing_files, unknown_macros
from tidemark.console import meant
from tidemark.engine.covers import why_not_read
from tidemark.engine.enriched.covers import why_not_enriched
from tidemark.errors import ODD_SQL, ConfigError
from tidemark.home import tidemark_home
from tidemark.model.derived import feed_settings, scd2_settings
from tidemark.model.enriched import atomic_settings, shred_settings
from tidemark.model.entity import entity_settings
from tidemark.model.unit_tests import unit_tests_of
from tidemark.pipeline.expressions import given_expressions
from tidemark.run.watch import is_local, local_path
from tidemark.shapes.settings import Settings

_READERS: Mapping[str, Callable[..., Mapping[str, Any]]] = {
    "cdc": entity_settings,
    "scd2": scd2_settings,
    "feed": feed_settings,
    "atomic": atomic_settings,
    "shred": shred_settings,
}
"""What reads and judges a model's configuration, by its materialization."""

_PACKAGE = "tidemark"
_EXTRACT = "macro.tidemark.extract"


@dataclass(frozen=True)
class Checked:
    """A model and what is wrong with it.

    Attributes:
        name: The model; empty where the problems are of a file.
        materialized: How it is materialized; empty of what is no model.
        path: Its property file where it has one, else its own file; from the project's folder.
        problems: Sentences that say what to mend; none if all is right.
        remarks: Sentences about what is right, but may not do what it says.
    """

    name: str
    materialized: str
    path: str
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def checked_models(
    manifest: Any,
    variables: Mapping[str, Any],
    root: Path,
    *,
    has_session: bool,
    only: Collection[str] | None = None,
) -> list[Checked]:
    """Judge every model of ours, as a run would before it asks Spark.

    Args:
        manifest: dbt's, of the parsed project.
        variables: The project's, of its file and of the command.
        root: The project's folder.
        has_session: Whether the profile has Spark in dbt's own process.
        only: The ids of the models to judge. Default: all.

    Returns:
        The models by path and name.
    """
    manifest.build_flat_graph()
    nodes = manifest.flat_graph["nodes"]
    is_iceberg = (variables or {}).get("tidemark__commits_format") == "iceberg"
    lake_format = "iceberg" if is_iceberg else "delta"
    known = _materializations(manifest)
    macros = {one.name for one in manifest.macros.values() if one.package_name == _PACKAGE}
    doubled = doubled_keys(root)
    found = []
    for node in nodes.values():
        kind = str(node["config"].get("materialized"))
        if node["resource_type"] != "model" or (only is not None and node["unique_id"] not in only):
            continue
        is_own = node["package_name"] == manifest.metadata.project_name
        twice = doubled.pop((_path(node), node["name"]), ()) if is_own else ()
        unknown = (*twice, *unknown_macros(node, macros))
        if kind in known and kind not in _READERS:
            if _EXTRACT in node["depends_on"]["macros"]:
                unknown = (_not_read(kind, node, manifest), *unknown)
            if unknown:
                found.append(Checked(node["name"], kind, _path(node), unknown))
            continue
        if kind not in known:
            problems = (_no_such(kind, known), *twice)
            found.append(Checked(node["name"], kind, _path(node), problems))
            continue
        more = {"scd2": (nodes,), "shred": (has_session,)}.get(kind, ())
        config, problems = _judged(_READERS[kind], node, lake_format, *more)
        tests, wrong = _judged(unit_tests_of, node)
        problems += (*wrong, *missing_files(root, tests or ()), *unknown)
        remarks: tuple[str, ...] = ()
        if config:
            odd_sql = _odd_sql(config, node["columns"])
            remarks = (*_remarks(kind, config, node), *_no_folder(root, node), *odd_sql)
        found.append(Checked(node["name"], kind, _path(node), problems, remarks))
    if only is None:
        # what stands outside of models, or in one that is disabled
        found += [Checked(name, "", path, said) for (path, name), said in doubled.items()]
    return sorted(found, key=lambda one: (one.path, one.name))


def _materializations(manifest: Any) -> set[str]:
    """Return what a model of the project can be materialized as, by any adapter."""
    names = [macro.name.split("_") for macro in manifest.macros.values()]
    # materialization_<name>_<adapter>
    found = {"_".join(name[1:-1]) for name in names if name[0] == "materialization"}
    return found | {"ephemeral"}


def _no_such(kind: str, known: Iterable[str]) -> str:
    hint = meant(kind.lower(), sorted(known))
    return f"materialized: {kind} is none that the project has; {hint}"


def _not_read(kind: str, node: Mapping[str, Any], manifest: Any) -> str:
    """Return what is wrong with a model that calls extract() and is not of a kind that reads it."""
    near = difflib.get_close_matches("materialized", set(node["config"]) - {"materialized"}, n=1)
    lost = None if node.get("patch_path") else _described_in(node["name"], manifest)
    if near:
        cure = f"config.{near[0]} is not read; did you mean `materialized`?"
    elif lost:
        cure = f"dbt has lost what {lost} says of it: dbt parse --no-partial-parse reads it again"
    else:
        cure = "Write materialized: cdc in its config"
    return (
        f"its SQL calls tidemark.extract(), but the model is materialized: {kind}, which reads no "
        f"extract. {cure}"
    )


def _described_in(name: str, manifest: Any) -> str | None:
    """Return the property file that describes a model, whatever dbt made of it."""
    for file in manifest.files.values():
        models = (getattr(file, "dict_from_yaml", None) or {}).get("models") or []
        if any(isinstance(one, dict) and one.get("name") == name for one in models):
            return str(file.path.original_file_path)
    return None


def _judged(reader: Callable[..., Any], *given: Any) -> tuple[Any, tuple[str, ...]]:
    """Return what a model is configured with, and what is wrong with that."""
    try:
        return reader(*given), ()
    except ConfigError as error:
        head, *rest = str(error).split("\n  - ")
        return None, tuple(rest) or (head,)


def _remarks(kind: str, config: Mapping[str, Any], node: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    settings = node["config"].get("meta", {}).get("tidemark") or {}
    if kind != "cdc" and node["config"].get("unique_key"):
        found.append(f"unique_key has no effect: it is for materialized: cdc, and this is {kind}")
    if kind == "cdc":
        found += _misspelt_columns(node["columns"], {**settings, "unique_key": config.get("keys")})
    if config.get("extract") == "delta" and "max_delete_fraction" in settings:
        found.append("max_delete_fraction has no effect: a delta deletes no rows")
    if config.get("on_reject") == "fail" and "max_reject_fraction" in settings:
        found.append("max_reject_fraction has no effect: on_reject is fail, so any reject stops it")
    if config.get("engine") == "workers":
        why = why_not_enriched(config) if kind == "atomic" else why_not_read(config)
        if why:
            found.append(f"engine: workers has no effect: {why}, so Spark SQL loads it")
    return tuple(found)


def _no_folder(root: Path, node: Mapping[str, Any]) -> Iterator[str]:
    """Say that the folder in which files are to land is not there; of a URL that is not known."""
    location = (node["config"].get("meta", {}).get("tidemark") or {}).get("location")
    # without a slash it is a table, or a file beside dbt_project.yml
    if not isinstance(location, str) or "/" not in location or not is_local(location):
        return
    *folders, last = local_path(root, location).parts
    is_file = "." in last or has_magic(last) or "{" in last
    fixed = takewhile(
        lambda part: not has_magic(part) and "{" not in part,
        folders if is_file else [*folders, last],
    )
    folder = Path(*fixed)
    # what lies below the home is made by a command, such as a capture
    if not folder.exists() and not folder.is_relative_to(tidemark_home().root):
        shown = folder.relative_to(root) if folder.is_relative_to(root) else folder
        yield f"location: there is no folder {shown} yet, so a load finds no file"


def _odd_sql(config: Mapping[str, Any], declared: Iterable[str]) -> Iterator[str]:
    """Say which SQL of the YAML a parser other than Spark's cannot read, or has a misspelt column.

    Only a load, and a plan, ask Spark itself.
    """
    given = given_expressions(cast(Settings, config))
    if not given:
        return
    # it takes a tenth of a second to import
    import sqlglot
    from sqlglot.errors import SqlglotError

    known = {name.lower(): name for name in declared}
    for setting, text in given:
        try:
            tree = sqlglot.parse_one(f"select {text}", read="spark")
        except (SqlglotError, *ODD_SQL, RecursionError):
            yield f"{setting}: `{text}` is likely no SQL. `tidemark plan` asks Spark"
            continue
        named = (one.name for one in tree.find_all(sqlglot.exp.Column))
        yield from _near_misses(setting, dict.fromkeys(named), known)


def _misspelt_columns(declared: Iterable[str], settings: Mapping[str, Any]) -> Iterator[str]:
    """Say which settings name a column that is nearly a declared one, and none of them."""
    known = {name.lower(): name for name in declared}
    for setting in ("unique_key", "ignore", "sensitive", "effective_from"):
        named = settings.get(setting) or []
        yield from _near_misses(setting, [named] if isinstance(named, str) else named, known)


def _near_misses(setting: str, named: Iterable[Any], known: Mapping[str, str]) -> Iterator[str]:
    """Say which names are nearly that of a declared column, and of none.

    A column need not be declared, so another name is no mistake by itself, nor is another number.
    """
    for name in named:
        lower = str(name).lower()
        near = difflib.get_close_matches(lower, known, n=1, cutoff=0.8)
        if not near:
            # letters that changed places: of a short name they are much of it
            near = [one for one in known if sorted(one) == sorted(lower)][:1]
        if near and re.sub(r"\d", "", near[0]) != re.sub(r"\d", "", lower):
            yield (
                f"{setting} names `{name}`, which `columns` does not have; "
                f"did you mean `{known[near[0]]}`?"
            )


def _path(node: Mapping[str, Any]) -> str:
    patch = str(node.get("patch_path") or "").rpartition("://")[2]
    return patch or str(node["original_file_path"])
