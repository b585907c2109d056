"""Ending the mirroring of a source: its position, what has landed, and the copies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection

from tidemark.capture.files import event_files
from tidemark.capture.state import STATE
from tidemark.project import models_in, read_properties
from tidemark.replicator.models import MirrorModel
from tidemark.replicator.operated import Operated
from tidemark.run.invoke import Invoker
from tidemark.run.options import prepare_environment


def forget_position(operated: Operated) -> None:
    """Give up the position that the database keeps."""
    login = operated.start_java("delete")
    # it imports jpype, which is an extra
    from tidemark.capture.sources import make_source

    make_source(operated.config, login).forget()


def drop_copies(
    operated: Operated,
    models: Collection[MirrorModel],
    target: str | None,
    say: Callable[[str], None],
) -> None:
    """Drop the tables of models, then delete the files of these.

    Raises:
        ConfigError: The project cannot be parsed; nothing was dropped.
    """
    prepare_environment(operated.project)
    invoker = Invoker.quiet(
        operated.run_options(target),
        "the dbt project cannot be parsed, so no table was dropped. Run `dbt parse` to see why",
    )
    for model in models:
        invoker.ask("drop_entity", {"entity": model.name}, "tidemark dropped ")
        say(f"dropped {model.name}")
    dropped = {model.name for model in models}
    for model in models:
        model.body.unlink(missing_ok=True)
    for path in {model.path for model in models}:
        content = read_properties(path)
        named = {name for name, _ in models_in(content)}
        if named <= dropped and content.keys() <= {"version", "models"}:
            path.unlink()
        else:
            gone = ", ".join(sorted(named & dropped))
            say(f"{path} also has models that stay: take these out by hand: {gone}")


def remove_landed(operated: Operated) -> None:
    """Delete what has landed, and what is known of it."""
    if operated.landing.is_dir():
        for _, path in event_files(operated.landing):
            path.unlink(missing_ok=True)
        shutil.rmtree(operated.landing / STATE, ignore_errors=True)
