"""What a replay left, beside what there was: versions by key and date, and rows at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidemark.diff.columns import OWN
from tidemark.diff.columns import Asked as AskedOfDiff
from tidemark.diff.model import TableDifference
from tidemark.diff.rows import compare_rows
from tidemark.diff.sides import Stored, at_moment, versions_between
from tidemark.errors import ConfigError
from tidemark.read.commits import recorded_config
from tidemark.read.project import Entity, KnownProject
from tidemark.read.tables import Tables
from tidemark.replay.chosen import Asked, Replayed, clones_project
from tidemark.replay.model import EntityReplay, Replay


def compared(
    project: KnownProject, models: Sequence[Replayed], asked: Asked, samples: int
) -> Replay:
    """Return what differs between originals and clones.

    Args:
        project: That of the originals.
        models: What was replayed.
        asked: What was asked.
        samples: Of how many keys values are told.

    Raises:
        ConfigError: An original does not have the key of its model.
        DataError: The key does not tell the rows of one apart.
        TableNotReadable: Only Spark reads one of them.
    """
    here, there = Tables(project), Tables(clones_project(project, asked))
    entities = [_compared(here, there, one, asked, samples) for one in models]
    return Replay(clones=asked.clones, equal=all(one.equal for one in entities), entities=entities)


def _compared(
    here: Tables, there: Tables, one: Replayed, asked: Asked, samples: int
) -> EntityReplay:
    first, last = asked.first or one.dates[0], one.dates[-1]
    sides = [(here, one.entity), (there, one.clone)]
    a, b = (
        versions_between(
            tables, entity, f"{entity.relation}, versions of {first}..{last}", first, last
        )
        for tables, entity in sides
    )
    more = _former_key(here, one.entity, a, b)
    key = ",".join(more) or "COLUMN"
    command = f"tidemark diff {one.entity.relation} {one.clone.relation} --key {key}"
    asked_of_diff = AskedOfDiff(samples=samples, cure=f"Call `{command}`")
    known = {name.lower() for name in a.names} | a.sensitive  # whose hash tells rows apart
    lacking = [name for name in one.entity.key if name.lower() not in known]
    if lacking:
        raise ConfigError(
            f"{a.name} has no column {lacking[0]!r}, which the key of the model needs. "
            f"Call `{command}`"
        )
    of_versions = replace(asked_of_diff, also=("_operation",))
    versions = compare_rows(_with_key(a, more), _with_key(b, more), of_versions)
    a, b = (
        at_moment(tables, entity, f"{entity.relation} at the end of {last}", last)
        for tables, entity in sides
    )
    rows = compare_rows(_with_key(a, more), _with_key(b, more), asked_of_diff)
    return EntityReplay(
        entity=one.entity.name,
        original=one.entity.relation,
        replay=one.clone.relation,
        from_beginning=asked.is_from_beginning,
        dates=list(one.dates),
        equal=versions.equal and rows.equal,
        versions=_without_own(versions),
        rows=_without_own(rows),
    )


def _former_key(here: Tables, entity: Entity, a: Stored, b: Stored) -> tuple[str, ...]:
    """Return the columns of the original's key that are of the model's key no more.

    Without them two of its rows might have one key.
    """
    recorded = recorded_config(here, entity.relation).get("keys", [])
    known = {name.lower() for name in entity.key}
    there = {name.lower() for name in a.names} & {name.lower() for name in b.names}
    return tuple(name for name in recorded if name.lower() in there - known)


def _with_key(side: Stored, more: tuple[str, ...]) -> Stored:
    return replace(side, key=(*side.key, *more))


def _without_own(found: TableDifference) -> TableDifference:
    """Return a comparison that does not name the columns of Tidemark: nothing is said by them."""
    named = {name: why for name, why in found.not_compared.items() if why != OWN}
    return found.model_copy(update={"not_compared": named})
