"""The engine in the workers, whatever it loads."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from tidemark.pipeline.delta_files import check_staged
from tidemark.pipeline.slices import prefix_of_views
from tidemark.pipeline.tables import write_relations
from tidemark.pipeline.warehouse import Warehouse
from tidemark.shapes.load import Load, Staged
from tidemark.shapes.opened import Asked, Opened


def engine_of(opened: Asked) -> str:
    """Return the engine that an entity asks for, or the run for all that ask for none."""
    engine: str = opened["cfg"]["engine"] or opened["run"]["engine"]
    return engine


def tries_workers(warehouse: Warehouse, opened: Opened, body: str, why_not: str) -> bool:
    """Say whether the engine in the workers tries a load; where not, why not is told.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.
        why_not: The name of the engine's function that says what of the model's settings speaks
            against it, as of_engine() takes it.
    """
    if not asks_workers(warehouse, opened):
        return False
    why = why_not_workers(warehouse, opened, body, why_not)
    if why:
        leave_to_spark(warehouse, opened, why)
    return not why


def asks_workers(warehouse: Warehouse, opened: Opened) -> bool:
    """Say whether the engine in the workers is to be asked for a load."""
    run = opened["run"]
    if engine_of(opened) == "spark" or run["empty"] or run["full_refresh"]:
        return False
    return bool(warehouse.macro("can", "run_workers"))


def why_not_workers(warehouse: Warehouse, opened: Opened, body: str, why_not: str) -> str | None:
    """Return why the engine in the workers does not try a load, as of tries_workers()."""
    cfg = opened["cfg"]
    if without_comments(body) != warehouse.macro("extract_sql", cfg).strip():
        return "the model has a SELECT of its own"
    why: str | None = of_engine(why_not, cfg)
    if not why and engine_of(opened) == "auto" and warehouse.adapter.is_on_cluster():
        return (
            "the session has a cluster, whose nodes may not share files: engine: workers says that "
            "they do"
        )
    return why


def without_comments(body: str) -> str:
    """Return the SQL of a model without lines that are comments, such as `-- depends_on: …`."""
    lines = [line for line in body.splitlines() if not line.lstrip().startswith("--")]
    return "\n".join(lines).strip()


def of_engine(name: str, *arguments: Any) -> Any:
    """Return what a function of the engine does, which is imported where it is asked for.

    Args:
        name: `module.function` of `tidemark.engine`.
        *arguments: What it takes.
    """
    module, _, function = f"tidemark.engine.{name}".rpartition(".")
    return getattr(import_module(module), function)(*arguments)


def open_views(warehouse: Warehouse, opened: Opened) -> None:
    """Have the workers answer what they can of the queries of an extract's load."""
    cfg, engine = opened["cfg"], engine_of(opened)
    is_taken = cfg.get("extract") in ("full", "scoped", "delta", "events")
    if not is_taken or engine == "spark" or opened["run"]["empty"]:
        return
    if not warehouse.macro("can", "run_workers"):
        return
    if engine == "workers" or not warehouse.adapter.is_on_cluster():
        prefix = prefix_of_views(warehouse, cfg["target"])
        warehouse.adapter.open_views(prefix, partial(leave_to_spark, warehouse, opened))


def close_views(warehouse: Warehouse, opened: Opened) -> None:
    """Remove what the workers have kept of a load that failed."""
    if warehouse.macro("can", "run_workers"):
        warehouse.adapter.close_views(prefix_of_views(warehouse, opened["cfg"]["target"]))


def leave_to_spark(warehouse: Warehouse, opened: Opened, why: str) -> None:
    """Say why a load goes by Spark SQL: on the console where the workers were asked for, once."""
    left = opened["run"].setdefault("left_to_spark", [])
    is_told = engine_of(opened) == "workers" and opened["cfg"]["entity"] not in left
    left.append(opened["cfg"]["entity"])
    report = warehouse.report if is_told else warehouse.note
    report(f"{opened['cfg']['entity']}: by Spark SQL, as {why}")


def files_of_workers(warehouse: Warehouse, opened: Opened, staged: Staged, load: Load) -> Any:
    """Return the files of a load, once its tables are there; None of what Spark is to write."""
    written = staged["uncommitted"]
    if staged.get("kept"):
        targets = write_relations(warehouse, opened)
        version = load["log_version"]
        written = warehouse.adapter.write_kept_rows(staged["kept"], targets, version)
    if written is not None:
        logged = written.figures.get("rows_logged", staged["figures"].get("rows_logged"))
        check_staged(warehouse, opened["cfg"], written, logged)
    return written
