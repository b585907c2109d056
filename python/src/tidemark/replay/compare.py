"""What a replay left, beside what there was: versions by key and date, and rows at the end."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.diff.columns import OWN
from tidemark.diff.columns import Asked as AskedOfDiff
from tidemark.diff.model import TableDifference
from tidemark.diff.rows import compare_rows
from tidemark.diff.sides import at_moment, versions_between
from tidemark.replay.chosen import Asked, Replayed, clones_project
from tidemark.replay.model import EntityReplay, Replay
from tidemark.state.project import KnownProject
from tidemark.state.tables import Tables


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
    versions = compare_rows(a, b, AskedOfDiff(samples=samples, also=("_operation",)))
    a, b = (
        at_moment(tables, entity, f"{entity.relation} at the end of {last}", last)
        for tables, entity in sides
    )
    rows = compare_rows(a, b, AskedOfDiff(samples=samples))
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


def _without_own(found: TableDifference) -> TableDifference:
    """Return a comparison that does not name the columns of Tidemark: nothing is said by them."""
    named = {name: why for name, why in found.not_compared.items() if why != OWN}
    return found.model_copy(update={"not_compared": named})
