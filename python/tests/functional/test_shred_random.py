"""Random loads of enriched events, some of which die, repeat or come late, against the oracle."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.functional.enriched_events import (
    add_events,
    add_products,
    assert_same_events,
    commits_of,
    counts_of,
    event_line,
    expected_events,
    land,
    stored_events,
)
from tests.functional.event_dedup_oracle import Batch, Loads, Steps

STEPS = {
    "all_steps": Steps(),
    "some_steps": Steps(in_batch_synthetic=False, cross_batch_natural=False),
    "no_steps": Steps(False, False, False, False),
}
NAMES = {
    "in_batch_natural": "natural_in_batch",
    "in_batch_synthetic": "synthetic_in_batch",
    "cross_batch_natural": "natural_cross_batch",
    "cross_batch_synthetic": "synthetic_cross_batch",
}
WRITTEN = ("__manifest", "__rejects", "__landed", "__entities", "")
"""The tables of a batch in the order in which they are written."""


def a_line(dice: random.Random, day: int) -> str:
    """An event of a small pool of ids and contents, enriched around a day."""
    if dice.random() < 0.03:
        return dice.choice(("no event", "", "{}", '{"event_id": "x"}'))
    number = dice.randrange(120)
    moment = f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}"
    fields: dict[str, str | None] = {
        "etl_tstamp": f"{moment} {dice.randrange(3):02d}:00:00.000"
        if dice.random() < 0.9
        else None,
        "collector_tstamp": f"{moment} 0{dice.randrange(3)}:30:00.000",
        "event_fingerprint": dice.choice(("f1", "f1", "f2", "f3", None)),
        "page_title": dice.choice(("one", "one", "two")),
        "network_userid": dice.choice(("n1", "n2")),
    }
    if dice.random() < 0.2:
        fields["event_id"] = event_line(number).split("\t")[6].upper()
    contexts = [("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})] * dice.randrange(2)
    return event_line(number, contexts, **fields)


def die_after(project: Project, name: str, tables: int) -> None:
    """Leave a model as its last run would have, had it died when so many tables were written."""
    commit = project.sql(
        f"select max(commit_id) from tidemark_commits where entity = '{name}' and kind = 'load'"
    )[0][0]
    for table in WRITTEN[tables:]:
        if project.sql(f"show tables like '{name}{table}'"):
            project.sql(f"delete from {name}{table} where _commit_id = {commit}")
    project.sql(
        f"delete from tidemark_commits__log where commit_id = {commit} and entity = '{name}' and state = 'completed'"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_loads(project: Project, seed: int) -> None:
    dice = random.Random(seed)
    landing = project.root / "landing"
    landing.mkdir()
    loads: dict[str, Loads] = {}
    lines_before: list[str] = []
    for name, steps in STEPS.items():
        chosen = [NAMES[step] for step in NAMES if getattr(steps, step)]
        add_events(project, name, location=landing, deduplicate=chosen)
        loads[name] = Loads(steps)
    # at day 260 the first claims have expired; day 60 after it is a batch that comes late
    for number, day in enumerate((1, 2, 260, 60)):
        lines = [a_line(dice, day) for _ in range(90)]
        if number == 3:  # a file that is delivered again under another name
            lines += lines_before
        path = land(landing, f"batch_{number}.tsv{dice.choice(('', '.gz'))}", lines)
        project.dbt("run")
        if number == 1:
            # each model dies at a point of its own; more has landed when it is run again
            for name in STEPS:
                die_after(project, name, dice.randrange(len(WRITTEN)))
            more = [a_line(dice, day) for _ in range(40)]
            land(landing, f"batch_{number}b.tsv", more)
            lines = lines + more
            result = project.dbt("run")
            assert "rolled back commit" in result.output
        lines_before = lines
        for name in STEPS:
            loads[name].load(Batch(path.stem, tuple(lines)))
            assert tuple(commits_of(project, name)[-1]) == counts_of(loads[name], path.stem)
    for name in STEPS:
        assert_same_events(stored_events(project, name), expected_events(loads[name].atomic))
        rejects = project.sql(f"select _raw_payload from {name}__rejects")
        assert len(rejects) == sum(len(each.rejects) for each in loads[name].outcomes.values())
    claims = project.sql(
        "select event_id, fingerprint, cast(etl_tstamp as string) from all_steps__manifest"
    )
    assert sorted(map(tuple, claims)) == sorted(
        (each.event_id, each.fingerprint, str(each.etl_tstamp))
        for each in loads["all_steps"].claims
    )


@pytest.mark.iceberg
def test_died_after_the_events_were_stored(project: Project) -> None:
    landing = add_events(project)
    land(landing, "one.tsv", [event_line(1), event_line(1), event_line(2), "bad"])
    project.dbt("run")
    before = commits_of(project)
    etl = "select cast(etl_tstamp as string) from tidemark_commits where etl_tstamp is not null"
    times = project.sql(etl)
    stored = stored_events(project)
    die_after(project, "events", len(WRITTEN))
    assert commits_of(project) == []
    result = project.dbt("run")
    assert "finished commit" in result.output
    assert commits_of(project) == before == [(4, 2, 1, 1, 0, 0, 0, 1)]
    # by which `clean` reckons how old a claim is
    assert project.sql(etl) == times != []
    assert stored_events(project) == stored


@pytest.mark.slow
@pytest.mark.iceberg
def test_two_at_once_do_not_both_keep_the_event(project: Project) -> None:
    """Two models share a manifest and run at once. Each finds what the other one claimed, or fails."""
    landing = project.root / "landing"
    landing.mkdir()
    claims = f"{project.schema}_claims.claims"  # a schema that nobody has made
    for name in ("left", "right"):
        add_events(project, name, location=landing, manifest=claims)
    for number in range(2):
        lines = [event_line(20 * number + each) for each in range(20)]
        land(landing, f"{number}.tsv", lines)
        # the format lets one of two MERGEs through that meet
        if not project.dbt("run", expect_pass=None).success:
            project.dbt("run")
        kept = [
            row["event_id"] for name in ("left", "right") for row in stored_events(project, name)
        ]
        assert len(kept) == len(set(kept)) == 20 * (number + 1)
    assert len(project.sql(f"select * from {claims}")) == 40
    # what is read anew is no copy of itself
    before = stored_events(project, "left")
    project.dbt("run", "--full-refresh", "--select", "left")
    assert {row["event_id"] for row in stored_events(project, "left")} == {
        row["event_id"] for row in before
    }
    assert len(project.sql(f"select * from {claims}")) == 40


def test_a_file_that_changed_is_read_again(project: Project) -> None:
    landing = add_events(project)
    path: Path = land(landing, "one.tsv", [event_line(1)])
    project.dbt("run")
    land(landing, path.name, [event_line(1), event_line(2)])
    project.dbt("run")
    assert commits_of(project)[-1] == (2, 1, 0, 0, 1, 0, 0, 1)
    assert len(stored_events(project)) == 2
    # where nothing would keep what it had from being stored again, it is not
    add_events(project, deduplicate=["natural_in_batch", "synthetic_cross_batch"])
    land(landing, path.name, [event_line(number) for number in (1, 2, 3)])
    error = project.dbt("run", expect_pass=False).error
    assert "one.tsv has changed since it was read. Without natural_cross_batch" in error


@pytest.mark.slow
@pytest.mark.iceberg
@pytest.mark.parametrize("seed", [1, 2])
def test_random_rollbacks(project: Project, seed: int) -> None:
    """Batches that are taken back and read again, all at once or without some files; a table of products follows."""
    dice = random.Random(f"rollbacks {seed}")
    landing = add_events(project)
    add_products(project, "[{name: sku, data_type: string}, {name: size, data_type: string}]")
    loads, landed, read = Loads(Steps()), {}, set()
    known: list[tuple[int, Loads, set[str]]] = []
    told = [f"seed {seed}"]
    for number in range(12):
        if len(known) > 1 and dice.random() < 0.4:
            at = dice.randrange(max(0, len(known) - 3), len(known))
            commit, loads, read = known[at][0], deepcopy(known[at][1]), set(known[at][2])
            del known[at + 1 :]
            told.append(f"rollback to {commit}")
            project.dbt("run-operation", "rollback", "--args", f"{{entity: events, to: {commit}}}")
            for name in [name for name in landed if name not in read and dice.random() < 0.3]:
                (landing / name).unlink()
                del landed[name]
                told.append(f"without {name}")
        if not known or dice.random() < 0.8:
            name = f"batch_{number:02}.tsv"
            landed[name] = [a_line(dice, number) for _ in range(dice.randrange(1, 25))]
            if known and dice.random() < 0.4:
                landed[name] += landed[dice.choice([*landed])]
            land(landing, name, landed[name])
            told.append(f"{name}: {len(landed[name])} lines")
        files = [name for name in landed if name not in read]
        project.dbt("run")
        if files:
            lines = tuple(line for name in files for line in landed[name])
            loads.load(Batch(f"b{number}", lines))
            read |= set(files)
            commit = project.sql("select max(commit_id) from tidemark_commits where entity = 'events' and kind = 'load'")[0][0]  # fmt: skip
            known.append((commit, deepcopy(loads), set(read)))
            assert tuple(commits_of(project)[-1]) == counts_of(loads, f"b{number}"), told
        wanted = expected_events(loads.atomic)
        assert_same_events(stored_events(project), wanted)
        rejects = project.sql("select _raw_payload from events__rejects")
        assert len(rejects) == sum(len(each.rejects) for each in loads.outcomes.values()), told
        claims = project.sql("select event_id, fingerprint, cast(etl_tstamp as string) from events__manifest")  # fmt: skip
        assert sorted(map(tuple, claims)) == sorted(
            (each.event_id, each.fingerprint, str(each.etl_tstamp)) for each in loads.claims
        ), told
        skus = sorted(
            entity["data"]["sku"]
            for event in wanted
            for entity in json.loads(event["contexts"] or '{"data": []}')["data"]
            if "/product/" in entity["schema"]
        )
        assert sorted(row[0] for row in project.sql("select sku from products")) == skus, told
