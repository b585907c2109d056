"""dbt's docs with what lies beside entities, and where each column comes from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark.errors import ConfigError
from tidemark.lineage.compiling import invoke
from tidemark.lineage.links import ALL, Column
from tidemark.lineage.project import artefacts_folder, read_project, target_folder
from tidemark.lineage.sides import add_sides, side_key
from tidemark.project import NOT_PARSED
from tidemark.run.options import RunOptions, common_options

if TYPE_CHECKING:
    from tidemark.lineage.graph import Lineage, ModelLineage

PAGE = "tidemark_docs.html"


def make_docs(options: RunOptions, *, offline: bool = False, has_lineage: bool = True) -> Path:
    """Make the page and return its path.

    Args:
        options: Project and profile.
        offline: Without Spark: the catalogue is that of the last time, or an empty one.
        has_lineage: Whether what the extra `lineage` needs is there; without it the page does not
            say where columns come from.

    Raises:
        ConfigError: dbt could not make the catalogue, or the project cannot be parsed.
    """
    folder = artefacts_folder(options.project_dir)
    if not offline or not (folder / "catalog.json").exists():
        _make_catalogue(options, folder, is_empty=offline)
    lineage = _lineage(options) if has_lineage else None
    if lineage is None:
        # the files may have changed since the catalogue was made
        parsed = invoke(["parse", *common_options(options, None), "--target-path", str(folder)])
        if not parsed.success:
            raise ConfigError(str(parsed.exception or NOT_PARSED))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    catalog = json.loads((folder / "catalog.json").read_text(encoding="utf-8"))
    add_sides(manifest, catalog)
    if lineage is not None:
        extend_descriptions(manifest, lineage)
    page = target_folder(options.project_dir) / PAGE
    page.write_text(_static_page(json.dumps(manifest), json.dumps(catalog)), encoding="utf-8")
    return page


def _lineage(options: RunOptions) -> Lineage:
    from tidemark.lineage.graph import Lineage

    return Lineage(read_project(options))


def _make_catalogue(options: RunOptions, folder: Path, *, is_empty: bool) -> None:
    # not compiled: a model that does not compile today has its place in the docs too
    command = ["docs", "generate", "--no-compile", *common_options(options, None)]
    command += ["--target-path", str(folder), *(["--empty-catalog"] if is_empty else [])]
    made = invoke(command)
    if made.exception is not None:
        raise ConfigError(f"dbt could not make its docs. Try `dbt docs generate`: {made.exception}")
    if not made.success:
        errors = getattr(made.result, "errors", None) or "it gives no reason"
        raise ConfigError(f"dbt could not make the catalogue: {errors}. See logs/dbt.log")


def extend_descriptions(manifest: dict[str, Any], lineage: Lineage) -> None:
    """Add to the description of each column of the manifest where it comes from.

    Columns that the YAML does not name are added; compiled SQL as well, where it is known. So are
    columns of what lies beside a model.
    """
    from tidemark.lineage.report import all_columns

    for key, made in lineage.models.items():
        node = manifest.get("nodes", {}).get(key)
        if node is None:
            continue
        if made.node.sql:
            node["compiled_code"] = made.node.sql
            node["compiled"] = True
        _extend(node, lineage, made, all_columns(made))
        for relation, columns in made.sides:
            side = relation.key.removeprefix(f"{key}__")
            beside = manifest["nodes"].get(side_key(key, node, side))
            if beside is not None:
                _extend(beside, lineage, made, columns)


def _extend(
    node: dict[str, Any], lineage: Lineage, made: ModelLineage, wanted: Iterable[Column]
) -> None:
    from tidemark.lineage.report import describe

    columns: dict[str, Any] = node.setdefault("columns", {})
    spelled = {name.lower(): name for name in columns}
    for column in wanted:
        if column.name == ALL:
            continue
        known = columns.setdefault(spelled.get(column.name.lower(), column.name), {})
        known.setdefault("name", column.name)
        known["data_type"] = known.get("data_type") or column.type
        before = str(known.get("description") or "").rstrip()
        # the page reads Markdown: a path may have more than one `*`
        line = describe(lineage, made, column).replace("*", "\\*")
        known["description"] = f"{before}\n\n{line}" if before else line
        _fill(known)


def _fill(column: dict[str, Any]) -> None:
    """Give a column that the YAML does not name the keys that dbt's page reads."""
    empty: Mapping[str, Any] = {"meta": {}, "tags": [], "constraints": [], "quote": None}
    for name, value in empty.items():
        column.setdefault(name, value)


def _static_page(manifest: str, catalog: str) -> str:
    """Put the artefacts into dbt's page, as `dbt docs generate --static` does."""
    from dbt.task.docs import DOCS_INDEX_FILE_PATH

    page = Path(DOCS_INDEX_FILE_PATH).read_text(encoding="utf-8")
    for mark, data in (
        ('"MANIFEST.JSON INLINE DATA"', manifest),
        ('"CATALOG.JSON INLINE DATA"', catalog),
    ):
        if mark not in page:
            raise ConfigError(
                "dbt's docs page has no place for the artefacts, because dbt's version "
                "changed: install the version of dbt that Tidemark requires"
            )
        # JSON in a script element: what could end the element is written in another way
        page = page.replace(mark, data.replace("</", "<\\/"))
    return page
