"""Batches of enriched events for the engine in the workers, and tables for them without Delta."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidemark.engine.enriched import task
from tidemark.engine.enriched.batch import Batch, Shelves
from tidemark.engine.header import stamp_of
from tidemark.engine.load import Target
from tidemark.engine.room import Room
from tidemark.shred.enriched import LEFT_OUT

STEPS = ("natural_in_batch", "natural_cross_batch", "synthetic_in_batch", "synthetic_cross_batch")
ROOM = Room(threads=1, folder=None, memory=1 << 30)


def batch_of_file(path: Path, **changes: Any) -> Batch:
    size, written = stamp_of(str(path))
    given = {
        "files": (str(path),), "stamps": ((size, written // 1_000_000),), "deduplicate": frozenset(STEPS),
        "fingerprint_ignore": frozenset(LEFT_OUT), "ttl_micros": 86_400_000_000, "most_rejects": 1,
        "shortest_doubles": False, "commit_id": 7,
    }  # fmt: skip
    return Batch(**{**given, **changes})


def shelves_in(folder: Path, manifest: tuple[str, ...] = ()) -> Shelves:
    """Tables without Delta: folders that files are written to."""
    parts = {"schema": ("vendor", "name", "format", "version"),
             "hierarchy": ("root_id", "root_tstamp", "ref_root", "ref_tree", "ref_parent")}  # fmt: skip

    def table(name: str, columns: tuple[str, ...], files: tuple[str, ...] = ()) -> Target:
        (folder / name).mkdir(parents=True)
        names = [*columns]
        if name == "entities":
            names += [f"{column}.{part}" for column, inner in parts.items() for part in inner]
        fields = {each: (each.rpartition(".")[2], number + 1) for number, each in enumerate(names)}
        return Target(str(folder / name), fields, files)

    return Shelves(
        table("events", task._EVENTS),
        table("entities", task._ENTITIES),
        table("rejects", task._REJECTS),
        table("claims", task._CLAIMS, manifest),
    )
