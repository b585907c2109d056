"""The models, dates and clones of a replay, and why one is not possible."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidemark.errors import ConfigError
from tidemark.read.commits import Commit, read_commits
from tidemark.read.project import Entity, KnownProject
from tidemark.read.status import loaded_of
from tidemark.read.tables import Tables
from tidemark.rules.clones import commits_schema_there, schema_there
from tidemark.run.dates import date_ranges, extract_path
from tidemark.run.nodes import dated_location


@dataclass(frozen=True)
class Asked:
    """What is asked of a replay.

    Attributes:
        clones: The schema of the clones.
        target: The schema of the target, in whose place they have that.
        first: The first business date; None: all, into a new log.
        last: The last one; None: the last that was loaded.
        replaces: Whether clones that are there are made anew.
    """

    clones: str
    target: str
    first: dt.date | None = None
    last: dt.date | None = None
    replaces: bool = False

    @property
    def is_from_beginning(self) -> bool:
        """Whether clones have a new log."""
        return self.first is None


@dataclass(frozen=True)
class Replayed:
    """A model that is replayed.

    Attributes:
        node: dbt's.
        entity: Its tables.
        clone: Those of its clone.
        dates: What is loaded again, in order.
        location: Where its extracts land.
        is_cloned: Whether its clone is there, as the original stands now.
    """

    node: Any
    entity: Entity
    clone: Entity
    dates: tuple[dt.date, ...]
    location: str
    is_cloned: bool


def clones_project(project: KnownProject, asked: Asked) -> KnownProject:
    """Return a project as it is where the clones are."""
    schema = commits_schema_there(project.commits_schema, asked.target, asked.clones)
    return replace(project, commits_schema=schema)


def chosen_models(project: KnownProject, nodes: Iterable[Any], asked: Asked) -> list[Replayed]:
    """Return what is replayed of models; nothing is written and no Spark is asked.

    Args:
        project: Where the originals are.
        nodes: The models that are selected, as dbt has them.
        asked: What is asked.

    Raises:
        ConfigError: There is none, or one cannot be replayed.
        TableNotReadable: Only Spark reads the commits.
    """
    here, there = Tables(project), Tables(clones_project(project, asked))
    entities = {one.relation: one for one in project.entities.values()}
    found, problems = [], []
    for node in nodes:
        if node.config.materialized != "cdc":
            continue
        entity = entities[f"{node.schema}.{node.alias}"]
        try:
            found.append(_chosen(here, there, node, entity, asked))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(describe_problems(problems))
    if not found:
        raise ConfigError("the selection has no model to replay: select a cdc model with extracts")
    return found


def describe_problems(problems: Sequence[str]) -> str:
    """Return why nothing is replayed."""
    return "\n".join(["nothing was replayed:", *(f"  {one}" for one in problems)])


def gone_extracts(
    models: Iterable[Replayed], is_there: Callable[[str, dt.date], bool]
) -> list[str]:
    """Return which extracts are gone, a sentence for each model that lacks some.

    Args:
        models: What is replayed.
        is_there: Says whether files of a date are at a location.
    """
    problems = []
    for one in models:
        gone = [date for date in one.dates if not is_there(one.location, date)]
        if gone:
            example = extract_path(one.location, gone[0])
            problems.append(
                f"{one.entity.name}: the extracts of {date_ranges(gone)} are gone "
                f"({example}). The log cannot stand in for them, because it holds the "
                "results of the model of that time. Put the extracts back, or replay other "
                "dates"
            )
    return problems


def _chosen(here: Tables, there: Tables, node: Any, entity: Entity, asked: Asked) -> Replayed:
    location = dated_location(node)
    if entity.extract == "events":
        raise ConfigError(
            f"{entity.name} takes change events, whose business date is the date of their "
            "arrival, so a replay would put all events on one date. Clone the entity, "
            "restate it by a target with the clone's schema, and compare the two with "
            "`tidemark diff`"
        )
    if location is None:
        raise ConfigError(
            f"{entity.name}: its location has no {{business_date}}, so no date can be loaded "
            "again. Select another model"
        )
    if not entity.key:
        raise ConfigError(
            f"{entity.name} has no unique_key, so its rows cannot be compared: add "
            "`unique_key` to the model"
        )
    schema = schema_there(entity.name, entity.schema, asked.target, asked.clones)
    clone = replace(entity, schema=schema, location_root=None)
    own = read_commits(here, [entity.relation])
    dates = _dates(entity, own, asked)
    known = read_commits(there, [clone.relation])
    is_cloned = not asked.replaces and is_clone_of_now(own, known, entity, clone)
    return Replayed(node, entity, clone, dates, location, is_cloned)


def _dates(entity: Entity, own: Sequence[Commit], asked: Asked) -> tuple[dt.date, ...]:
    """Return the dates that were loaded and hold, of those that are asked for."""
    loaded = sorted(loaded_of(own).dates)
    if not loaded:
        raise ConfigError(
            f"{entity.name}: nothing was loaded yet, so there is nothing to replay: load it first"
        )
    first, last = asked.first or loaded[0], asked.last or loaded[-1]
    dates = tuple(date for date in loaded if first <= date <= last)
    if not dates:
        which = f"of {first}..{last}" if asked.last else f"from {first} on"
        raise ConfigError(
            f"{entity.name}: no business date {which} was loaded. Choose from {date_ranges(loaded)}"
        )
    return dates


def is_clone_of_now(
    own: Sequence[Commit], known: Sequence[Commit], entity: Entity, clone: Entity
) -> bool:
    """Say whether a clone is there, as the original stands now; without one it is to be made.

    Args:
        own: The commits of the original, the newest first.
        known: Those of the clone.
        entity: The original.
        clone: The clone.

    Raises:
        ConfigError: There is one that has gone on, or whose original has, or another table.
    """
    if not known:
        return False
    mark = next((one for one in known if one.kind == "clone"), None)
    if mark is None:
        raise ConfigError(f"{entity.name}: {clone.relation} is not a clone: name another schema")
    if mark.source_relation != entity.relation:
        raise ConfigError(
            f"{entity.name}: {clone.relation} is a clone of {mark.source_relation}: name another "
            "schema"
        )
    if mark.state != "completed":
        # a call that died left it, and another one begins anew
        return False
    anew = "Use --replace to clone it again; what was loaded there is dropped"
    if known[0].commit_id != mark.commit_id:
        raise ConfigError(
            f"{entity.name}: {clone.relation} was loaded after it was cloned, as a replay "
            f"does. {anew}"
        )
    if mark.source_commit_id != own[0].commit_id:
        raise ConfigError(f"{entity.name} has moved since {clone.relation} was cloned. {anew}")
    return True
