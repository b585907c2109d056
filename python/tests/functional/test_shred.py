"""Enriched events, from landed lines to atomic events, entities and the manifest."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO, Project
from tests.functional.enriched_events import (
    add_events,
    add_products,
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
from tidemark.shred.enriched import CONTEXTS_SCHEMA, fingerprint, synthetic_id


def test_batches_as_the_oracle_has_them(project: Project, tmp_path: Path) -> None:
    add_steps(project)
    wanted = report_batches(project, tmp_path)
    steps = [data for schema, data in wanted if "/checkoutStep/" in schema]
    found = project.sql("select step, total, items, note from steps")
    assert sorted((row["step"], float(row["total"])) for row in found) == sorted(
        (data["step"], data["total"]) for data in steps
    )
    assert sum(len(row["items"]) for row in found) == sum(len(data["items"]) for data in steps)
    assert project.sql("select * from steps__rejects") == []


@pytest.mark.turn(2)
def test_reject_guard(project: Project) -> None:
    """Lines of a batch, and entities of a schema: more than may be stop it; nothing is stored or remembered as read."""
    landing = add_events(project, max_reject_fraction=None)
    add_products(project, "[{name: sku, data_type: int}]")
    path = project.root / "models/_products.yml"
    path.write_text(path.read_text().replace("max_reject_fraction: 1", "max_reject_fraction: 0.5"))
    product = [("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})]
    land(landing, "1.tsv", [event_line(1, product), "x", "y"])
    said = project.dbt("run", "--select", "events", expect_pass=False).error
    assert "2 of 3 lines cannot be used; nothing was written (max_reject_fraction is 0.5)" in said
    assert commits_of(project) == []
    result = project.dbt("run", vars={"allow_rejects": True})
    assert [
        len(project.sql(f"select * from {name}__rejects")) for name in ("events", "products")
    ] == [2, 1]
    assert result.success
    land(landing, "2.tsv", [event_line(2, product)])
    said = project.dbt("run", expect_pass=False).messages
    assert "1 of 1 entities cannot be used" in said["products"]
    assert len(project.sql("select * from events")) == 2


def report_batches(project: Project, tmp_path: Path) -> list[tuple[str, Any]]:
    """Two batches become events, entities and a table of products; returns schema and data of each entity."""
    spec = EventsSpec(
        240, 2, natural_in_batch=5, natural_cross_batch=8, synthetic_in_batch=5,
        synthetic_cross_batch=5, late=5, bad=6, no_fingerprint=20, hot_ids=1, hot_copies=30, seed=3,
    )  # fmt: skip
    written = write_events(spec, str(tmp_path / "{batch}.tsv"))
    landing = add_events(project)
    add_products(project, PRODUCT_COLUMNS)
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


PRODUCT_COLUMNS = """[
              {name: sku, data_type: string, constraints: [{type: not_null}]},
              {name: price, data_type: "decimal(10,2)"},
              {name: in_stock, data_type: bigint, config: {meta: {tidemark: {property: stock}}}}]"""
"""A product's columns in the table of them."""


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
            config: {{materialized: shred, meta: {{tidemark: {{registry: {REPO}/models/events/registry, max_reject_fraction: 1}}}}}}
        """,
    )


@pytest.mark.iceberg
@pytest.mark.turn(1)
def test_entities_that_do_not_match(project: Project, tmp_path: Path) -> None:
    landing = add_events(project)
    registry = shutil.copytree(REPO / "models/events/registry", tmp_path / "registry")
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
            config: {{materialized: shred, meta: {{tidemark: {{registry: {registry}, max_reject_fraction: 1}}}}}}
          - name: profiles
            config: {{materialized: shred, meta: {{tidemark: {{max_reject_fraction: 1}}}}}}
            columns:
              - {{name: age, data_type: int}}
              - {{name: user_name, data_type: string, constraints: [{{type: not_null}}]}}
              - {{name: address, data_type: "struct<city: string, geo: struct<lat: double>, tags: array<int>>"}}
              - {{name: country, data_type: varchar(2)}}
              - {{name: born_at, data_type: timestamp}}
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
        {"userName": "f", "country": "che"},
        {"userName": "g", "bornAt": "10:30"},
        {"userName": "h", "country": "ch", "bornAt": "2001-02-03 10:30"},
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
    found = project.sql(
        "select age, user_name, address.geo.lat, address.tags, country, cast(born_at as string) from profiles order by 2"
    )
    assert found == [
        (7, "a", 1.0, [1, 2], None, None),
        (None, "h", None, None, "ch", "2001-02-03 10:30:00"),
    ]
    assert project.sql(
        "select hierarchy.root_id, _reject_reason from profiles__rejects order by 1"
    ) == [
        (event_id(4), "cast_failed: age"),
        (event_id(5), "null_value: user_name"),
        (event_id(6), "cast_failed: address"),
        (event_id(7), "cast_failed: address"),
        (event_id(8), "cast_failed: address"),
        # longer than the column, which the format refuses; an hour of no day
        (event_id(9), "cast_failed: country"),
        (event_id(10), "cast_failed: born_at"),
    ]
    # a schema of today is known to the processes that checked entities yesterday
    versions = registry / "schemas/com.acme/checkoutStep/jsonschema"
    newer = json.loads((versions / "1-0-0").read_text())
    newer["self"]["version"] = "1-0-9"
    (versions / "1-0-9").write_text(json.dumps(newer))
    newest = [("iglu:com.acme/checkoutStep/jsonschema/1-0-9", {**step, "step": n}) for n in (2, 3)]
    # and the table has a NOT NULL no longer than the YAML
    newest.append(("iglu:com.acme/userProfile/jsonschema/1-0-0", {"userName": None}))
    entities = project.root / "models/_entities.yml"
    entities.write_text(entities.read_text().replace(", constraints: [{type: not_null}]", ""))
    land(landing, "later.tsv", [event_line(20, contexts=newest)])
    project.dbt("run")
    assert project.sql("select step from steps order by 1") == [(1,), (2,), (3,)]
    assert len(project.sql("select * from steps__rejects")) == 2
    assert [row[0] for row in project.sql("select user_name from profiles order by 1")] == [None, "a", "h"]  # fmt: skip
    # others than were read so far
    project.write(
        "models/profiles.sql",
        "{{ tidemark.shred('iglu:com.acme/userProfile/jsonschema/1-0-*', events='events') }}",
    )
    error = project.dbt("run", "--select", "profiles", expect_pass=False).error
    assert "its entities were iglu:com.acme/userProfile/jsonschema/1-*-* and are now" in error
    project.dbt("run", "--select", "profiles", "--full-refresh")
    assert len(project.sql("select * from profiles")) == 4


@pytest.mark.slow
@pytest.mark.iceberg
def test_events_that_come_as_rows(project: Project) -> None:
    """What a line would be rejected for is no event as a row either, and a fingerprint that is missing is computed."""
    add_events(
        project, location=None, body="select * from {{ target.schema }}.rows_of_another_tool"
    )
    moment, broken = "2026-03-04 09:30:00", '{"a":1}'
    product = {"schema": "iglu:com.acme/product/jsonschema/1-0-0", "data": {"sku": "a"}}
    whole = json.dumps({"schema": CONTEXTS_SCHEMA, "data": [product]})
    rows = [
        (event_id(1), None, moment, "one", None, None),
        (event_id(1), None, moment, "one", None, None),
        (event_id(1), None, moment, "two", None, None),
        ("no$1", "f1", moment, "nine", None, None),
        ("no$1", "f2", moment, "ten", None, None),
        (None, "f", moment, "three", None, None),
        (None, "f", moment, "four", None, None),
        (event_id(2), "f", None, "five", None, None),
        (event_id(3), "f", moment, "six", broken, None),
        (event_id(4), "f", moment, "seven", None, "1.5"),
        (event_id(5).upper(), "f", moment, "eight", whole, "7"),
    ]
    values = ", ".join(
        "(" + ", ".join("null" if each is None else f"'{each}'" for each in row) + ")"
        for row in rows
    )
    project.sql(
        f"""
        create table rows_of_another_tool as
        select * except (moment), cast(moment as timestamp) as collector_tstamp
        from values {values} as t(event_id, event_fingerprint, moment, page_title, contexts, txn_id)
        """
    )
    project.dbt("run")
    marks = {title: fingerprint({"page_title": title}) for title in ("one", "two")}
    stored = "select event_id, event_fingerprint, page_title, txn_id from events"
    wanted = [(synthetic_id(event_id(1), mark), mark, title, None) for title, mark in marks.items()]
    wanted.append((event_id(5), "f", "eight", 7))
    for mark, title in [("f1", "nine"), ("f2", "ten")]:
        wanted.append((synthetic_id("no$1", mark), mark, title, None))
    assert sorted(map(tuple, project.sql(stored))) == sorted(wanted)
    assert commits_of(project)[-1] == (11, 5, 5, 1, 0, 4, 0, 1)
    assert sorted(row[0] for row in project.sql("select _reject_reason from events__rejects")) == [
        "cast_failed: contexts",
        "cast_failed: txn_id",
        "null_value: collector_tstamp",
        "null_value: event_id",
        "null_value: event_id",
    ]
    entities = project.sql("select schema.name, data from events__entities order by 1")
    assert [row["name"] for row in entities] == [*["duplicate"] * 4, "product"]
    # the table has it all the next time, too
    project.dbt("run")
    assert len(project.sql(stored)) == 5
    assert commits_of(project)[-1] == (11, 0, 5, 1, 5, 0, 0, 6)
