"""Enriched events, from landed lines to atomic events, entities and the manifest."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO, Project
from tests.functional.enriched_events import (
    add_events,
    assert_same_events,
    commits_of,
    counts_of,
    event_id,
    event_line,
    expected_events,
    land,
    stored_events,
)
from tests.functional.event_dedup_oracle import Batch, Loads
from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec


def test_batches_as_the_oracle_has_them(project: Project, tmp_path: Path) -> None:
    add_steps(project)
    wanted = tell_batches(project, tmp_path)
    steps = [data for schema, data in wanted if "/checkoutStep/" in schema]
    found = project.sql("select step, total, items, note from steps")
    assert sorted((row["step"], float(row["total"])) for row in found) == sorted(
        (data["step"], data["total"]) for data in steps
    )
    assert sum(len(row["items"]) for row in found) == sum(len(data["items"]) for data in steps)
    assert project.sql("select * from steps__rejects") == []


def tell_batches(project: Project, tmp_path: Path) -> list[tuple[str, Any]]:
    """Two batches become events, entities and a table of products; returns schema and data of each entity."""
    spec = EventsSpec(
        240, 2, natural_in_batch=5, natural_cross_batch=8, synthetic_in_batch=5,
        synthetic_cross_batch=5, late=5, bad=6, no_fingerprint=20, hot_ids=1, hot_copies=30, seed=3,
    )  # fmt: skip
    written = write_events(spec, str(tmp_path / "{batch}.tsv"))
    landing = add_events(project)
    add_products(project)
    loads = Loads()
    for path in written.files:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        land(landing, f"{path.stem}.tsv.gz", lines)
        project.dbt("run")
        loads.load(Batch(path.stem, tuple(lines)))
        assert tuple(commits_of(project)[-1]) == counts_of(loads, path.stem)
    assert_same_events(stored_events(project), expected_events(loads.atomic))

    # a field: what Hive's protocol makes of a struct with a timestamp is no JSON
    entities = project.sql("select hierarchy.root_id as root_id from events__entities")
    wanted = [
        (entity["schema"], entity["data"])
        for kept in loads.atomic
        for entity in _entities(kept.event)
    ]
    assert len(entities) == len(wanted)
    ids = {row["event_id"] for row in stored_events(project)}
    assert {row["root_id"] for row in entities} <= ids

    products = [data for schema, data in wanted if "com.acme/product/" in schema]
    found = project.sql("select sku, price, in_stock from products")
    assert sorted(map(repr, map(tuple, found))) == sorted(
        repr((data["sku"], Decimal(str(data["price"])), data.get("stock"))) for data in products
    )
    return wanted


def _entities(event) -> list:
    found = []
    for column in ("contexts", "derived_contexts"):
        if event[column]:
            found += json.loads(event[column])["data"]
    if event["unstruct_event"]:
        found.append(json.loads(event["unstruct_event"])["data"])
    return found


def add_products(project: Project) -> None:
    """A table of an entity by its columns."""
    project.write(
        "models/products.sql",
        "{{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*', events='events') }}",
    )
    project.write(
        "models/_products.yml",
        """
        version: 2
        models:
          - name: products
            config: {materialized: shred}
            columns:
              - {name: sku, data_type: string, constraints: [{type: not_null}]}
              - {name: price, data_type: "decimal(10,2)"}
              - {name: in_stock, data_type: bigint, config: {meta: {tidemark: {property: stock}}}}
        """,
    )


def add_steps(project: Project) -> None:
    """A table of an entity by its schema, which our own adapter alone can read."""
    project.write(
        "models/steps.sql",
        "{{ tidemark.shred('iglu:com.acme/checkoutStep/jsonschema/1-*-*', events='events') }}",
    )
    project.write(
        "models/_steps.yml",
        f"""
        version: 2
        models:
          - name: steps
            config: {{materialized: shred, meta: {{tidemark: {{registry: {REPO}/models/events/registry}}}}}}
        """,
    )


@pytest.mark.iceberg
def test_entities_that_do_not_match(project: Project) -> None:
    landing = add_events(project)
    project.write(
        "models/steps.sql",
        "{{ tidemark.shred('iglu:com.acme/checkoutStep/jsonschema/1-*-*', events='events') }}",
    )
    project.write(
        "models/profiles.sql",
        "{{ tidemark.shred('iglu:com.acme/userProfile/jsonschema/1-*-*', events='events') }}",
    )
    project.write(
        "models/_entities.yml",
        f"""
        version: 2
        models:
          - name: steps
            config: {{materialized: shred, meta: {{tidemark: {{registry: {REPO}/models/events/registry}}}}}}
          - name: profiles
            config: {{materialized: shred}}
            columns:
              - {{name: age, data_type: int}}
              - {{name: user_name, data_type: string, constraints: [{{type: not_null}}]}}
              - {{name: address, data_type: "struct<city: string, geo: struct<lat: double>, tags: array<int>>"}}
        """,
    )
    step = {"step": 1, "total": 2.5, "items": []}
    profiles = [
        {"age": 7, "userName": "a", "address": {"city": "x", "geo": {"lat": 1}, "tags": [1, 2]}},
        {"age": 7.5, "userName": "b"},
        {"userName": None},
        {"user_name": "c", "address": {"geo": {"lat": "north"}}},
        {"userName": "d", "address": {"tags": [1, "x"]}},
        {"userName": "e", "address": "here"},
    ]
    lines = [
        event_line(number, contexts=[(f"iglu:com.acme/{name}/jsonschema/{version}", data)])
        for number, (name, version, data) in enumerate(
            [
                ("checkoutStep", "1-0-0", step),
                ("checkoutStep", "1-0-0", {**step, "step": "one"}),
                ("checkoutStep", "1-0-9", step),
                *(("userProfile", "1-0-0", profile) for profile in profiles),
            ]
        )
    ]
    land(landing, "batch.tsv", lines)
    project.dbt("run")
    assert project.sql("select step from steps") == [(1,)]
    reasons = project.sql("select _reject_reason from steps__rejects order by 1")
    assert reasons == [("invalid: step: must be integer",), ("schema_not_found",)]
    found = project.sql("select age, user_name, address.geo.lat, address.tags from profiles")
    assert found == [(7, "a", 1.0, [1, 2])]
    assert project.sql(
        "select hierarchy.root_id, _reject_reason from profiles__rejects order by 1"
    ) == [
        (event_id(4), "cast_failed: age"),
        (event_id(5), "null_value: user_name"),
        (event_id(6), "cast_failed: address"),
        (event_id(7), "cast_failed: address"),
        (event_id(8), "cast_failed: address"),
    ]
