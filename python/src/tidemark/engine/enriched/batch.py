"""What one batch of enriched events reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tidemark.engine.enriched.covers import micros_of
from tidemark.engine.files import Written
from tidemark.engine.header import OTHER_PATH, local_path
from tidemark.engine.load import Target
from tidemark.engine.task import Outcome


@dataclass(frozen=True)
class Batch:
    """A batch of lines.

    Args:
        files: Paths of the files.
        stamps: The bytes of each, and its last change in milliseconds, as they were listed.
        deduplicate: The steps that are taken.
        fingerprint_ignore: The columns that a computed fingerprint leaves out.
        ttl_micros: How long a claim holds.
        most_rejects: The part of its lines that may be rejected.
        shortest_doubles: Whether Spark's Java prints a double with no digit too many.
        commit_id: The commit that the rows go with.
        undone: Commits that were rolled back, whose claims count for nothing.
    """

    files: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    deduplicate: frozenset[str]
    fingerprint_ignore: frozenset[str]
    ttl_micros: int
    most_rejects: float
    shortest_doubles: bool
    commit_id: int
    undone: frozenset[int] = frozenset()

    @property
    def looks_across(self) -> bool:
        """Whether events are compared with those of other batches."""
        return bool(self.deduplicate & {"natural_cross_batch", "synthetic_cross_batch"})


@dataclass(frozen=True)
class Shelves:
    """The tables that a batch is written to.

    Args:
        events: Atomic events.
        entities: Their contexts and self-describing events.
        rejects: Lines that cannot be used.
        manifest: The claims, with the files that it has; None: no step looks across batches.
    """

    events: Target
    entities: Target
    rejects: Target
    manifest: Target | None = None


@dataclass(frozen=True)
class Shredded(Outcome):
    """What became of a batch.

    Args:
        events: The files for atomic events.
        entities: Those for the entities, each with its partition.
        rejects: Those for the lines that cannot be used.
        claims: Those for the manifest.
        kinds: How many lines each step of de-duplication took, by its name.
        reasons: Why lines cannot be used, and how many each, the most frequent six.
    """

    events: tuple[Written, ...] = ()
    entities: tuple[tuple[Written, Mapping[str, str]], ...] = ()
    rejects: tuple[Written, ...] = ()
    claims: tuple[Written, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    reasons: tuple[tuple[str, int], ...] = ()


def batch_of(
    cfg: Mapping[str, Any], files: Sequence[Mapping[str, Any]], commit_id: int, java_version: int
) -> Batch | str:
    """Return the batch that a model's configuration and files make.

    Args:
        cfg: What atomic_config() returns, with `undone`: commits that were rolled back, and
            `most_rejects`.
        files: The files, as files_to_read() gives them.
        commit_id: The commit.
        java_version: That of Spark's Java.

    Returns:
        A text: why the engine does not take them.
    """
    paths = [local_path(unquote(str(file["_file"]))) for file in files]
    if None in paths or not all(Path(str(path)).is_file() for path in paths):
        return "its files are not on a local file system"
    if any(OTHER_PATH.search(str(path)) for path in paths):
        return (
            "a file's name has one of *?[]{} or begins with _ or ., or it is compressed by other "
            "than gzip"
        )
    if any(str(path).endswith(".parquet") for path in paths):
        return "its files are Parquet"
    return Batch(
        files=tuple(str(path) for path in paths),
        stamps=tuple(
            (int(file["_file_size"]), int(file["_file_micros"]) // 1000) for file in files
        ),
        deduplicate=frozenset(cfg["deduplicate"]),
        fingerprint_ignore=frozenset(cfg["fingerprint_ignore"]),
        ttl_micros=micros_of(str(cfg["manifest_ttl"])) or 0,
        most_rejects=float(cfg["most_rejects"]),
        # before, 2e23 is 1.9999999999999998E23
        shortest_doubles=java_version >= 19,
        commit_id=commit_id,
        undone=frozenset(map(int, cfg.get("undone", ()))),
    )
