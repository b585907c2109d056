"""Projects that load enriched events, and what they hold compared with the oracle."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.conftest import Project
from tests.functional.entities import MANY_REJECTS
from tests.functional.event_dedup_oracle import Kept, Loads
from tidemark.shred.enriched import CONTEXTS_SCHEMA, TYPES, Event, parse_timestamp, to_line

PRODUCT: list[tuple[str, Any]] = [("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})]
"""The contexts of an event that has a product."""


def add_events(
    project: Project, name: str = "events", body: str = "{{ tidemark.extract() }}", **settings: Any
) -> Path:
    """Add a `materialized: atomic` model; the folder that its batches go to."""
    landing = project.root / f"landing_{name}"
    landing.mkdir(exist_ok=True)
    given = {"location": f"{landing}", **MANY_REJECTS, **settings}
    lines = "".join(
        f"\n          {key}: {value}" for key, value in given.items() if value is not None
    )
    project.write(f"models/{name}.sql", body)
    project.write(
        f"models/_{name}.yml",
        f"""
version: 2
models:
  - name: {name}
    config:
      materialized: atomic
      meta:
        tidemark:{lines}
""",
    )
    return landing


def add_products(project: Project, columns: str = "[{name: sku, data_type: string}]") -> None:
    """Add a table of the products that came with `events`; its columns as YAML in one line."""
    project.write(
        "models/products.sql",
        "{{ tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*', events='events') }}",
    )
    project.write(
        "models/_products.yml",
        f"""
        version: 2
        models:
          - name: products
            config: {{materialized: shred, meta: {{tidemark: {{max_reject_fraction: 1}}}}}}
            columns: {columns}
        """,
    )


def land(folder: Path, name: str, lines: Iterable[str]) -> Path:
    """Write a file of lines, gzip if its name says so."""
    data = "".join(f"{line}\n" for line in lines).encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def event_id(number: int) -> str:
    """The id of a test event."""
    return f"00000000-0000-4000-8000-{number:012d}"


def event_line(number: int, contexts: Iterable[tuple[str, Any]] = (), **fields: str | None) -> str:
    """A line of the canonical TSV: an event with these contexts, (schema, data), and fields."""
    event: dict[str, str | None] = {
        "app_id": "shop",
        "event": "page_view",
        "event_id": event_id(number),
        "etl_tstamp": "2026-03-04 10:00:00.000",
        "collector_tstamp": "2026-03-04 09:30:00.000",
        "v_collector": "c",
        "v_etl": "e",
        "event_fingerprint": f"f{number}",
    }
    entities = [{"schema": schema, "data": data} for schema, data in contexts]
    if entities:
        event["contexts"] = json.dumps({"schema": CONTEXTS_SCHEMA, "data": entities})
    return to_line({**event, **fields})


def stored_events(project: Project, name: str = "events") -> list[dict[str, Any]]:
    """All rows of atomic events as dicts."""
    return [row.asDict() for row in project.sql(f"select * from {name}")]


def value_of(column: str, text: str | None) -> Any:
    """The value that a text of the TSV has in atomic events."""
    from decimal import ROUND_HALF_UP, Decimal

    if text is None:
        return None
    kind = TYPES[column]
    if kind == "int":
        return int(text)
    if kind == "double":
        return float(text)
    if kind == "boolean":
        return text == "1"
    if kind == "timestamp":
        return parse_timestamp(text)
    if kind.startswith("decimal"):
        return Decimal(text).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return text


def typed(event: Event) -> dict[str, Any]:
    """An event as atomic events have it."""
    return {column: value_of(column, event[column]) for column in TYPES}


def expected_events(kept: Iterable[Kept]) -> list[dict[str, Any]]:
    """What the oracle kept, as atomic events have it."""
    return [typed(each.event) for each in kept]


def assert_same_events(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Compare events, order aside, with a failure that names the first difference."""

    def key(row: dict[str, Any]) -> str:
        return repr([row[column] for column in ("event_id", "event_fingerprint", *TYPES)])

    found = sorted(({c: row[c] for c in TYPES} for row in found), key=key)
    wanted = sorted(wanted, key=key)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        differing = {c: (one[c], other[c]) for c in TYPES if one[c] != other[c]}
        assert not differing


def commits_of(project: Project, name: str = "events") -> list[Any]:
    """Counts of an entity's completed commits, in order."""
    return project.sql(
        f"""
        select rows_read, rows_inserted, rows_rejected, rows_natural_in_batch, rows_natural_cross_batch,
            rows_synthetic_in_batch, rows_synthetic_cross_batch, rows_duplicate
        from tidemark_commits where entity = '{name}' and state = 'completed' and kind in ('load', 'full_refresh')
        order by commit_id
        """
    )


def counts_of(loads: Loads, batch: str) -> tuple[int, ...]:
    """What the oracle counted of a batch, in the order of `commits_of`."""
    counts = loads.outcomes[batch].counts
    kinds = (
        "natural_in_batch",
        "natural_cross_batch",
        "synthetic_in_batch",
        "synthetic_cross_batch",
    )
    found = tuple(counts.get(kind, 0) for kind in ("read", "atomic", "rejected", *kinds))
    return (*found, found[3] + found[4])
