"""The names of entities and columns, and the dates, that the shell completes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from tidemark.errors import TidemarkError
from tidemark.read.commits import read_commits
from tidemark.read.project import KnownProject
from tidemark.read.status import landed_dates
from tidemark.read.tables import Tables

LANDED, LOADED = "landed, not loaded", "loaded"
_SIDES = ("__log", "__history")


class Names:
    """Names of a parsed project; what its tables tell is read when somebody asks, and kept.

    Attributes:
        models: Models, seeds and snapshots.
        entities: Models whose tables have commits.
    """

    models: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """What can be read with SQL."""
        sides = (name + side for name in self.entities for side in _SIDES)
        return tuple(sorted({*self.models, *sides}))

    def columns(self, model: str) -> tuple[str, ...]:
        """Return the columns of a model, as its YAML and its table say; none of another name."""
        return ()

    def dates(self, entities: Iterable[str]) -> dict[dt.date, str]:
        """Return the dates of entities, the newest first, each with whether it is loaded.

        Args:
            entities: Their names; all if there is none of that name.
        """
        return {}

    def forget(self) -> None:
        """Read the tables anew when somebody asks."""


class ProjectNames(Names):
    """The names of a project that dbt has parsed."""

    def __init__(self, manifest: Any, project: KnownProject) -> None:
        """Take them from the project.

        Args:
            manifest: dbt's.
            project: What is known of it.
        """
        self._project = project
        self._tables = Tables(project)
        self._columns = {
            node.name: tuple(str(name) for name in node.columns)
            for node in manifest.nodes.values()
            if node.resource_type in ("model", "seed", "snapshot")
        }
        self._there: dict[str, tuple[str, ...]] = {}
        self._loaded: dict[str, set[dt.date]] | None = None
        self.models = tuple(sorted(self._columns))
        self.entities = tuple(project.entities)

    def columns(self, model: str) -> tuple[str, ...]:
        """See Names."""
        if model not in self._columns:
            return ()
        if model not in self._there:
            self._there[model] = self._columns_of_table(model)
        return tuple(dict.fromkeys((*self._columns[model], *self._there[model])))

    def dates(self, entities: Iterable[str]) -> dict[dt.date, str]:
        """See Names."""
        known = self._project.entities
        chosen = [known[name] for name in entities if name in known] or list(known.values())
        loaded_of = self._loaded_dates()
        landed: set[dt.date] = set()
        loaded: set[dt.date] = set()
        for entity in chosen:
            landed |= set(landed_dates(self._project.root, entity.location))
            loaded |= loaded_of.get(entity.relation, set())
        return {
            date: LOADED if date in loaded else LANDED
            for date in sorted(landed | loaded, reverse=True)
        }

    def forget(self) -> None:
        """See Names."""
        self._loaded = None
        self._there.clear()

    def _loaded_dates(self) -> dict[str, set[dt.date]]:
        if self._loaded is None:
            found: dict[str, set[dt.date]] = {}
            with suppress(TidemarkError):  # only Spark reads it: no reason to fail within a line
                for commit in read_commits(self._tables):
                    if commit.business_date is not None:
                        found.setdefault(commit.relation, set()).add(commit.business_date)
            self._loaded = found
        return self._loaded

    def _columns_of_table(self, model: str) -> tuple[str, ...]:
        entity = self._project.entities.get(model)
        if entity is not None:
            with suppress(TidemarkError):
                path = self._tables.of(entity)
                if self._tables.exists(path):
                    return tuple(self._tables.columns(path))
        return ()
