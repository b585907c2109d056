"""The state of mirrored tables, read from the files of their replicators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tidemark.errors import ConfigError
from tidemark.read.status import Mirror

if TYPE_CHECKING:
    from tidemark.replicator.operated import Operated


def operated_sources(root: Path) -> Iterator[Operated]:
    """Return the sources of a project that are replicated and have landed anything.

    One whose settings have errors is left out: `tidemark replicator` says what is wrong.
    """
    from tidemark.capture.project import replicated_sources

    names = replicated_sources(root)
    if not names:
        return
    from tidemark.replicator.operated import Operated

    for name in names:
        try:
            operated = Operated.find(name, root)
        except ConfigError:
            continue
        if operated.landing.is_dir():
            yield operated


def mirrors_of(root: Path) -> dict[str, Mirror]:
    """Return how far mirrored tables are behind their sources, by their models.

    Args:
        root: The project.
    """
    return {
        table.model: Mirror(operated.source, table.lag_seconds, operated.operation.freshness)
        for operated in operated_sources(root)
        for table in operated.status().tables
        if table.model
    }
