"""Loads into clones, by today's models, with the target and the Spark settings of the user."""

from __future__ import annotations

import datetime as dt
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.console import Console

from tidemark.errors import ConfigError, DataError
from tidemark.project import NOT_PARSED
from tidemark.read.project import KnownProject
from tidemark.replay.chosen import Asked, Replayed
from tidemark.run.invoke import Invoker
from tidemark.run.nodes import fresh_copy


def clone_models(invoker: Invoker, models: Sequence[Replayed], asked: Asked) -> None:
    """Clone what has no clone yet; all are judged before one is made.

    Raises:
        ConfigError: The place of one is taken, or its original is being loaded.
    """
    missing = [one for one in models if not one.is_cloned]
    for dry_run in (True, False):
        for one in missing:
            arguments = {
                "entity": one.entity.name,
                "to": asked.clones,
                "replace": asked.replaces,
                "dry_run": dry_run,
            }
            invoker.operate("clone", arguments, Console(file=io.StringIO()))


def load_dates(
    invoker: Invoker,
    project: KnownProject,
    models: Sequence[Replayed],
    asked: Asked,
    report: Callable[[str], None],
) -> None:
    """Load every date into the clones, in order.

    A date is loaded in the place of what it was: dates after the last one, and late dates before
    the first one, stay as the original has them.

    Args:
        invoker: With the user's project parsed.
        project: That of the clones.
        models: What is replayed.
        asked: What is asked.
        report: Takes a line about the work.

    Raises:
        DataError: A load stopped; the dates after it are not loaded.
    """
    options = replace(
        invoker.options,
        exclude=[],
        vars={**invoker.options.vars, "tidemark__schema": project.commits_schema},
    )
    for date in sorted({date for one in models for date in one.dates}):
        of_date = [one for one in models if date in one.dates]
        moved = manifest_of_clones(_project_on(invoker, date), models)
        # each begins its log with its own first date
        fresh = [one for one in of_date if asked.is_from_beginning and date == one.dates[0]]
        later = [one for one in of_date if one not in fresh]
        for group, is_first in ((fresh, True), (later, False)):
            if not group:
                continue
            report(f"{date}: {', '.join(one.entity.name for one in group)}")
            select = [".".join(one.node.fqn) for one in group]
            over = invoker.over(moved, replace(options, select=select))
            outcome = over.run_date(date, full_refresh=is_first, progress=lambda name: None)
            if outcome.interrupted:
                raise KeyboardInterrupt
            if not outcome.success:
                raise DataError(_describe_stop(date, outcome.errors, asked))


def _project_on(invoker: Invoker, date: dt.date) -> Any:
    """Return the project as it is parsed for a date."""
    if invoker.reusable:
        return invoker.manifest
    options = invoker.options
    dated = replace(options, vars={**options.vars, "business_date": date.isoformat()})
    return Invoker.quiet(dated, f"{date}: {NOT_PARSED}").manifest


def _describe_stop(date: dt.date, errors: Sequence[str], asked: Asked) -> str:
    lines = [
        f"{date}: the load stopped in {asked.clones}, as today's model would stop it. The "
        "dates after it were not loaded",
        *(errors or ["dbt did not load it (see dbt's log)"]),
    ]
    if not asked.is_from_beginning:
        lines.append(
            "If the message asks for a new log or new hashes, leave out --from: then all "
            "dates are loaded into a new log of the clone"
        )
    return "\n".join(lines)


def manifest_of_clones(manifest: Any, models: Sequence[Replayed]) -> Any:
    """Return a manifest in which models have the schemas of their clones; all others stay.

    Hooks and grants are left out: they may write elsewhere. So is the folder of the tables, which
    is that of the original.

    Args:
        manifest: dbt's, of the user's project.
        models: What is replayed.
    """
    copy = fresh_copy(manifest)
    copy.nodes = {
        name: node for name, node in copy.nodes.items() if node.resource_type != "operation"
    }
    for one in models:
        node = copy.nodes[one.node.unique_id]
        node.schema, node.relation_name = one.clone.schema, None
        config = node.config
        config.pre_hook, config.post_hook, config.grants, config.full_refresh = [], [], {}, None
        config.meta = _without_folder(config.meta)
        for name in ("location_root", "pre-hook", "post-hook"):
            getattr(config, "_extra", {}).pop(name, None)
    return copy


def _without_folder(meta: Any) -> dict[str, Any]:
    kept = dict(meta or {})
    settings = kept.get("tidemark")
    if isinstance(settings, dict):
        kept["tidemark"] = {key: one for key, one in settings.items() if key != "location_root"}
    return kept


def check_tables(invoker: Invoker) -> None:
    """Refuse a Spark that is elsewhere: a clone links files.

    Raises:
        ConfigError: It is.
    """
    if not getattr(invoker.config.credentials, "has_session", False):
        raise ConfigError(
            "replay makes clones, which need `method: session` in the profile: set it"
        )


@contextmanager
def no_progress() -> Iterator[None]:
    """Have no webhook told of the loads of a replay."""
    kept = {name: one for name, one in os.environ.items() if name.startswith("TIDEMARK_WEBHOOK")}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)
