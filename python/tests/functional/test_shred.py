"""Enriched events, from landed lines to atomic events, entities and the manifest."""

from __future__ import annotations

import json

from tests.conftest import Project
from tests.functional.enriched_events import (
    add_events,
    assert_same_events,
    commits_of,
    counts_of,
    expected_events,
    land,
    stored_events,
)
from tests.functional.event_dedup_oracle import Batch, Loads
from tidemark.datagen.events import EventsSpec, write_events


def test_batches_as_the_oracle_has_them(project: Project, tmp_path) -> None:
    spec = EventsSpec(
        240, 3, natural_in_batch=5, natural_cross_batch=8, synthetic_in_batch=5,
        synthetic_cross_batch=5, late=5, bad=6, no_fingerprint=20, hot_ids=1, hot_copies=30, seed=3,
    )  # fmt: skip
    written = write_events(spec, str(tmp_path / "{batch}.tsv"))
    landing = add_events(project)
    loads = Loads()
    for path in written.files:
        lines = path.read_text(encoding="utf-8").splitlines()
        land(landing, f"{path.stem}.tsv.gz", lines)
        result = project.dbt("run")
        print(result.output)
        loads.load(Batch(path.stem, tuple(lines)))
        assert tuple(commits_of(project)[-1]) == counts_of(loads, path.stem)
    assert_same_events(stored_events(project), expected_events(loads.atomic))

    entities = project.sql("select schema.name as name, data, hierarchy from events__entities")
    wanted = sum(len(_entities(kept.event)) for kept in loads.atomic)
    assert len(entities) == wanted
    ids = {row["event_id"] for row in stored_events(project)}
    assert {row["hierarchy"]["root_id"] for row in entities} <= ids


def _entities(event) -> list:
    found = []
    for column in ("contexts", "derived_contexts"):
        if event[column]:
            found += json.loads(event[column])["data"]
    if event["unstruct_event"]:
        found.append(json.loads(event["unstruct_event"])["data"])
    return found
