"""What lies beside the log was dropped by hand: the next run makes it anew, as it was where the log can tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.enriched_events import add_events, event_line
from tests.functional.enriched_events import land as land_lines

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = pytest.mark.iceberg

COLUMNS = {"id": "int", "name": "string", "at": "int"}
PRODUCT = "iglu:com.acme/product/jsonschema/1-0-0"


@pytest.mark.slow
def test_dropped_by_hand(project: Any) -> None:
    """One relation of each kind at a time, of every flow, with nothing new and then with new rows."""
    quarantine = {"on_reject": "quarantine"}
    full = Entity(
        project, "whole", COLUMNS, tag_unchanged=True, max_delete_fraction=1, **quarantine
    )
    delta = Entity(project, "part", COLUMNS, extract="delta", tag_unchanged=True, **quarantine)
    extracts = [full, delta]
    events = [
        EventEntity(project, "arrived", COLUMNS, **quarantine),
        EventEntity(project, "ordered", COLUMNS, sequence_by="at", **quarantine),
        EventEntity(project, "bag", COLUMNS, None, **quarantine),
    ]
    for name in ("whole", "ordered"):
        project.write(
            f"models/{name}_scd2.sql",
            f"{{{{ config(materialized='scd2') }}}}\n{{{{ tidemark.scd2(ref('{name}')) }}}}",
        )
    project.write("models/products.sql",
                  "{{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*', events='events') }}")  # fmt: skip
    project.write(
        "models/_products.yml",
        "version: 2\nmodels: [{name: products, columns: [{name: price, data_type: int}], "
        "config: {materialized: shred, meta: {tidemark: {on_reject: quarantine, max_reject_fraction: 1}}}}]",
    )
    landing = add_events(project, **quarantine)

    def row(key: Any, name: str, at: int) -> dict[str, Any]:
        return {"id": key, "name": name, "at": at}

    def run(day: str, *arguments: str) -> None:
        project.dbt("run", *arguments, vars={"business_date": day})

    def table(name: str, without: tuple[str, ...] = ()) -> list[Any]:
        rows = [item.asDict() for item in project.sql(f"select * from {name}")]
        return sorted(str([pair for pair in row.items() if pair[0] not in without]) for row in rows)

    def drop(*names: str) -> None:
        for name in names:
            kind = "view" if name.endswith("__history") else "table"
            project.sql(f"drop {kind} {name}")

    for entity in extracts:
        entity.extract("2026-01-01", "id,name,at\n1,a,1\n2,b,1\n3,c,1\nx,bad,1\n")
        entity.extract("2026-01-02", "id,name,at\n1,A,2\n2,b,1\ny,bad,1\n")
    for entity in events:
        entity.land([
            insert(row(1, "a", 1)), insert(row(2, "b", 2)), insert(row(3, "c", 3)),
            update(row(1, "A", 4), row(1, "a", 1)), delete(row(3, "c", 3)), insert(row("x", "bad", 6)),
        ])  # fmt: skip
        entity.land([update(row(2, "B", 7), row(2, "b", 2))])
    # an entity that does not match its columns, a line that is none, an event that comes twice under one id
    lines = [
        event_line(1, contexts=[(PRODUCT, {"price": 1}), (PRODUCT, {"price": "much"})]),
        event_line(2, contexts=[(PRODUCT, {"price": 2})]),
        event_line(2, contexts=[(PRODUCT, {"price": 3})], event_fingerprint="other"),
        "no event",
    ]
    land_lines(landing, "one.tsv", lines)
    run("2026-01-01", "--select", full.name, delta.name)
    run("2026-01-02")

    entities = [*extracts, *events]
    sides = [
        *(entity.name for entity in entities),
        *("whole_scd2", "ordered_scd2", "products"),
        *(f"{entity.name}__history" for entity in entities),
        *("events__entities", "products__rejects"),
    ]
    before = {name: table(name) for name in sides}
    assert all(before.values())
    drop(*sides[:8])
    run("2026-01-02")
    assert {name: table(name) for name in sides} == before

    # what only arrival knew: of extracts it comes again with the date, of events it is gone
    rejects = {
        entity.name: table(f"{entity.name}__rejects", ("_commit_id",)) for entity in extracts
    }
    columns = "_event_id, _operation, _sequence_num, _commit_id, id, name"
    staged = {entity.name: entity.rows(columns, "__staging") for entity in events}
    drop(*sides[8:], "events__rejects", "part__supplied")
    drop(*(f"{entity.name}__rejects" for entity in entities))
    drop(*(f"{entity.name}__staging" for entity in events))
    for entity in events:
        entity.land([insert(row(4, "d", 8)), delete(row(1, "A", 4)), insert(row("y", "bad", 9))])
    events[1].write(soft_delete=True)
    land_lines(landing, "two.tsv", ["no event either", event_line(3)])
    run("2026-01-02")
    assert {name: table(name) for name in sides[8:10] + sides[13:]} == {
        name: before[name] for name in sides[8:10] + sides[13:]
    }
    for entity in extracts:
        now = table(f"{entity.name}__rejects", ("_commit_id",))
        assert now == [text for text in rejects[entity.name] if "date(2026, 1, 2)" in text] != []
    for entity in events:
        assert entity.rows("_raw_payload like '%\"y\"%'", "__rejects") == [(True,)]
        assert set(before[f"{entity.name}__history"]) < set(table(f"{entity.name}__history"))
        now = entity.rows(columns, "__staging")
        assert set(staged[entity.name]) < set(now), entity.name
        assert len(now) == len(staged[entity.name]) + 2, entity.name
        live = [(2, "B"), (4, "d")]
        assert entity.rows("id, name", "", "_operation <> 'D'") == live
    assert events[1].rows("id", "", "_operation = 'D'") == [(1,), (3,)]
    assert [len(table(name)) for name in ("events", "events__rejects")] == [4, 1]
