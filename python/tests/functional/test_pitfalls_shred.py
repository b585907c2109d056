"""What users of shredders reported, a test each; the numbers are those of the list of pitfalls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Project
from tests.functional.enriched_events import (
    add_events,
    add_products,
    commits_of,
    event_id,
    event_line,
    land,
    stored_events,
)
from tidemark.shred.enriched import fingerprint, parse_line, synthetic_id

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1)]

PRODUCT = ("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})


def line_of(pitfall: str, number: int, *contexts: Any, **fields: str | None) -> str:
    """A line that says which pitfall it belongs to."""
    return event_line(number, contexts, platform=pitfall, **fields)


@pytest.fixture(scope="module")
def loaded(module_project: Project) -> dict[str, Any]:
    """All pitfalls' lines in one model, loaded in two runs; what was stored of each after each.

    The model `backwards` has the lines of the first run in the opposite order.
    """
    project = module_project
    landing = {name: add_events(project, name) for name in ("events", "backwards")}
    add_products(project)
    crowded = line_of("crowded", 31, PRODUCT, PRODUCT)
    first = [
        *(line_of("unmarked", 1, event_fingerprint=None, page_title="one") for _ in range(2)),
        *(
            line_of("retried", 11, event_fingerprint=mark, page_title=mark)
            for mark in ("f", "g", "h", "f", "g")
        ),
        *(line_of("retried", 12, network_userid=user) for user in "abc"),
        *(line_of("tied", 21, network_userid=user) for user in "abcd"),
        *(crowded, crowded, line_of("crowded", 32, PRODUCT)),
        line_of("late", 41, collector_tstamp="2026-03-04 12:00:00.000"),
    ]
    second = [
        *(
            line_of("unmarked", 1, event_fingerprint=None, page_title=title, network_userid="other")
            for title in ("one", "two")
        ),
        crowded,
        # the same event and another one, both from before what is known
        *(line_of("late", n, collector_tstamp="2026-03-01 00:00:00.000") for n in (41, 42)),
    ]
    land(landing["backwards"], "0.tsv", first[::-1])
    stored: dict[str, Any] = {"project": project}
    for number, lines in enumerate((first, second)):
        land(landing["events"], f"{number}.tsv", lines)
        project.dbt("run", *(["--exclude", "backwards"] if number else []))
        for row in stored_events(project):
            stored.setdefault(f"{row['platform']} {number}", []).append(row)
    for row in stored_events(project, "backwards"):
        stored.setdefault(f"{row['platform']} backwards", []).append(row)
    return stored


def test_53_a_missing_fingerprint_is_computed(loaded: dict[str, Any]) -> None:
    """A copy is recognised in the batch and in the next one, and what differs is told apart."""
    lines = [
        line_of("unmarked", 1, event_fingerprint=None, page_title=title) for title in ("one", "two")
    ]
    computed = [fingerprint(parse_line(line)) for line in lines]
    assert [row["event_fingerprint"] for row in loaded["unmarked 0"]] == computed[:1]
    rows = {row["event_fingerprint"]: row["event_id"] for row in loaded["unmarked 1"]}
    assert rows == {
        computed[0]: event_id(1),
        computed[1]: synthetic_id(event_id(1), computed[1]),
    }


def test_54_a_retry_gives_the_same_ids_and_survivors(loaded: dict[str, Any]) -> None:
    project = loaded["project"]
    project.dbt("run", "--full-refresh", "--select", "backwards")

    def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        columns = ("event_id", "event_fingerprint", "network_userid", "derived_contexts")
        return sorted((tuple(row[c] for c in columns) for row in rows), key=repr)

    again = [row for row in stored_events(project, "backwards") if row["platform"] == "retried"]
    assert shown(again) == shown(loaded["retried backwards"]) == shown(loaded["retried 0"])
    assert len(again) == 4


def test_55_copies_go_before_siblings_are_looked_for(loaded: dict[str, Any]) -> None:
    """Two copies of one event are no synthetic duplicates: it keeps its id."""
    rows = loaded["retried 0"]
    assert [row["event_id"] for row in rows if row["event_fingerprint"] == "f12"] == [event_id(12)]
    # the siblings are f, g and h of one event; the others are copies
    assert commits_of(loaded["project"])[0] == (18, 9, 0, 9, 0, 3, 0, 9)


def test_56_equal_order_keys_have_the_same_survivor(loaded: dict[str, Any]) -> None:
    (one,), (other,) = loaded["tied 0"], loaded["tied backwards"]
    assert one["network_userid"] == other["network_userid"]


def test_57_two_contexts_of_a_copied_event_stay_two(loaded: dict[str, Any]) -> None:
    project = loaded["project"]
    rows = project.sql("select hierarchy.root_id, count(*) from products group by 1 order by 1")
    assert rows == [(event_id(31), 2), (event_id(32), 1)]
    positions = project.sql(
        "select position from events__entities where schema.name = 'product' order by hierarchy.root_id, 1"
    )
    assert positions == [(0,), (1,), (0,)]


def test_58_an_event_from_before_what_is_known(loaded: dict[str, Any]) -> None:
    """What is stored stays as it is, whenever its copy says that it happened."""
    (first,) = loaded["late 0"]
    by_id = {row["event_id"]: row for row in loaded["late 1"]}
    assert by_id.keys() == {event_id(41), event_id(42)}
    assert by_id[event_id(41)] == first
    loaded["project"].dbt("run", "--select", "events")
    again = [row for row in stored_events(loaded["project"]) if row["platform"] == "late"]
    assert len(again) == 2


@pytest.mark.parametrize("copies", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_59_a_hot_id(project: Project, copies: int) -> None:
    """Half the lines of one id are copies, half are other contents; then all of them come again."""
    landing = add_events(project)
    lines = [
        event_line(1, event_fingerprint="f" if number % 2 else f"f{number}")
        for number in range(copies)
    ]
    for name in ("one.tsv", "two.tsv"):
        land(landing, name, lines)
        project.dbt("run")
    kept = copies // 2 + 1
    assert commits_of(project) == [
        (copies, kept, 0, copies - kept, 0, kept, 0, copies - kept),
        (copies, 0, 0, copies - kept, kept, 0, 0, copies),
    ]
