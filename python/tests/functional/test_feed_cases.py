"""Feed and net changes in the cases of other tools (feed_cases), then ranges by time, errors, and a rollback."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from .entities import Entity
from .event_entities import Event, EventEntity, delete, insert, update
from .feed_cases import (
    COLUMNS,
    EVENT_BATCHES,
    EVENT_CASES,
    EXTRACT_CASES,
    EXTRACT_DATES,
    Again,
    EventCase,
    ExtractCase,
    Row,
    Shown,
    SourceEvent,
)
from .feed_reading import FeedRow, call, feed_rows, query_all

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(1)]

KEY = ("case_name", "id")
TYPES = {"case_name": "string", "id": "int", "v1": "int", "v2": "int", "note": "string"}
CASES: list[ExtractCase | EventCase] = [*EXTRACT_CASES, *EVENT_CASES]

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{_entity(case)}-{case.name}")


@dataclass
class Loaded:
    """The two entities with all batches loaded, and what every range of a case shows.

    Attributes:
        ids: Entity → commit id of each batch, before them 0 for the beginning.
        completed: Entity → when each batch was completed.
        rows: (macro, entity, since, until) → rows.
    """

    project: Any
    ids: dict[str, list[int]] = field(default_factory=dict)
    completed: dict[str, list[datetime]] = field(default_factory=dict)
    rows: dict[tuple[Any, ...], list[FeedRow]] = field(default_factory=dict)

    def commit(self, entity: str, batch: int) -> int | None:
        """The moment after a batch."""
        return self.ids[entity][batch] or None

    def batch(self, entity: str, row: FeedRow) -> int:
        """The batch that a row belongs to."""
        return self.ids[entity].index(row.commit_id)


def _entity(case: ExtractCase | EventCase) -> str:
    return "extract_cases" if isinstance(case, ExtractCase) else "event_cases"


@pytest.fixture(scope="module")
def loaded(module_project: Any) -> Iterator[Loaded]:
    project = module_project
    extracts = Entity(
        project, "extract_cases", TYPES, list(KEY), extract="full", max_delete_fraction=1
    )
    events = EventEntity(project, "event_cases", TYPES, list(KEY), sequence_by=["_sequence_num"])
    for number, day in enumerate(EXTRACT_DATES, 1):
        extracts.extract(day, _csv(number))
        names = [extracts.name]
        if number <= EVENT_BATCHES:
            events.land(_events(number))
            names.append(events.name)
        project.dbt("run", "--select", *names, vars={"business_date": day})
    loaded = Loaded(project)
    for entity in (extracts, events):
        commits = entity.commits("commit_id, cast(completed_at as string)")
        loaded.ids[entity.name] = [0, *(row[0] for row in commits)]
        loaded.completed[entity.name] = [
            datetime.min,
            *(datetime.fromisoformat(row[1]) for row in commits),
        ]
    assert [len(ids) for ids in loaded.ids.values()] == [
        1 + len(EXTRACT_DATES),
        1 + EVENT_BATCHES,
    ]
    spans = sorted({(_entity(case), case.since, case.until) for case in CASES})
    wanted = [(macro, *span) for macro in ("change_feed", "net_changes") for span in spans]
    templates = [
        call(
            macro,
            entity,
            **{"from": loaded.commit(entity, since), "to": loaded.commit(entity, until)},
        )
        for macro, entity, since, until in wanted
    ]
    for span, rows in zip(wanted, query_all(project, templates), strict=True):
        loaded.rows[span] = feed_rows(rows, KEY)
    yield loaded


def _csv(batch: int) -> str:
    lines = [",".join(TYPES)]
    for case in EXTRACT_CASES:
        for id, row in case.extract(batch).items():
            values = ["" if value is None else str(value) for value in row]
            lines.append(",".join([case.name, str(id), *values]))
    # a key that stays, so that no extract is empty
    lines.append("anchor,0,0,0,")
    return "\n".join(lines) + "\n"


def _events(batch: int) -> list[Event]:
    """The events of a batch. Their sequence numbers say the batch, the case and the place in it."""
    lines = []
    for number, case in enumerate(EVENT_CASES):
        for place, event in enumerate(
            case.batches[batch - 1] if batch <= len(case.batches) else []
        ):
            if isinstance(event, Again):
                first, at = event.event
                lines.append(
                    _event(case, case.batches[first - 1][at], _sequence(first, number, at))
                )
            elif event.after is not None:
                first, at = event.after
                late = _sequence(first, number, at) + 1 + place
                lines.append(_event(case, event, late))
            else:
                lines.append(_event(case, event, _sequence(batch, number, place)))
    return lines


def _sequence(batch: int, case: int, place: int) -> int:
    return batch * 1_000_000 + case * 1_000 + place * 10


def _event(case: EventCase, event: SourceEvent | Again, sequence: int) -> Event:
    assert isinstance(event, SourceEvent)
    key = {"case_name": case.name, "id": event.id}
    if event.operation == "DELETE":
        return delete(key, sequence_num=sequence)
    if event.operation == "INSERT":
        return insert({**key, **event.columns}, sequence_num=sequence)
    before = None if event.old_id is None else {**key, "id": event.old_id}
    return update({**key, **event.columns}, before, sequence_num=sequence)


# ── the cases ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@each_case
def test_feed(loaded: Loaded, case: ExtractCase | EventCase) -> None:
    rows = _rows_of(loaded, "change_feed", case)
    assert [_shown(loaded, case, row) for row in rows] == _ordered(case.feed)
    seen: dict[tuple[Any, ...], int] = {}
    for row in rows:
        at = (row.commit_id, row.key)
        seen[at] = seen.get(at, 0) + 1
        assert row.position == seen[at]


@each_case
def test_net_changes(loaded: Loaded, case: ExtractCase | EventCase) -> None:
    rows = _rows_of(loaded, "net_changes", case)
    assert [_shown(loaded, case, row) for row in rows] == _ordered(case.net)


def _rows_of(loaded: Loaded, macro: str, case: ExtractCase | EventCase) -> list[FeedRow]:
    rows = loaded.rows[macro, _entity(case), case.since, case.until]
    mine = [row for row in rows if row.key[0] == case.name]
    assert [row.commit_id for row in mine] == sorted(row.commit_id for row in mine)
    # within a commit keys come in an order of their own; a key's changes stay in theirs
    return sorted(mine, key=lambda row: (row.commit_id, row.key))


def _ordered(rows: Sequence[Shown]) -> list[Shown]:
    return sorted(rows, key=lambda row: (row.batch, row.id))


def _shown(loaded: Loaded, case: ExtractCase | EventCase, row: FeedRow) -> Shown:
    assert list(row.change) == ["event_type", "change", "pre_image", "post_image"]
    event_type = row.change["event_type"]
    assert row.operation == {"insert": "I", "update": "U", "delete": "D"}[event_type]
    if event_type == "update":
        assert set(row.changed_columns or ()) == set(row.change["change"])
    pre, post = (_image(row, name) for name in ("pre_image", "post_image"))
    batch = loaded.batch(_entity(case), row)
    return Shown(batch, row.key[1], event_type, row.change["change"], pre, post)


def _image(row: FeedRow, name: str) -> Row | None:
    image = row.change[name]
    if image is None:
        return None
    assert set(image) == set(TYPES)
    assert tuple(image[column] for column in KEY) == row.key
    return tuple(image[column] for column in COLUMNS)


# ── columns and images ────────────────────────────────────────────────────────────────────────────────────────────────


def test_columns(loaded: Loaded) -> None:
    times = {
        row.commit_id: row.completed_at
        for row in loaded.project.sql("select commit_id, completed_at from tidemark_commits")
    }
    for entity, batches in (("extract_cases", len(EXTRACT_DATES)), ("event_cases", EVENT_BATCHES)):
        rows = loaded.rows["change_feed", entity, 0, batches]
        for row in rows:
            batch = loaded.batch(entity, row)
            assert str(row.other["_business_date"]) == EXTRACT_DATES[batch - 1]
            assert row.other["_commit_time"] == times[row.commit_id]
            assert len(row.other["_key_hash"]) == 32
    numbers = [row.other["_sequence_num"] for row in rows if loaded.batch("event_cases", row) < 4]
    assert numbers == sorted(numbers)


def test_columns_of_net_changes(loaded: Loaded) -> None:
    """Those of the feed, but for those that say which of several changes it is."""
    for entity, batches in (("extract_cases", len(EXTRACT_DATES)), ("event_cases", EVENT_BATCHES)):
        feed, net = (
            loaded.rows[macro, entity, 0, batches][0] for macro in ("change_feed", "net_changes")
        )
        assert net.position is None
        of_one = ["_sequence_num", "_event_time"] if entity == "event_cases" else []
        assert [name for name in feed.other if name not in net.other] == of_one
        assert list(net.other) == [name for name in feed.other if name not in of_one]


@pytest.mark.slow
def test_adjacent_ranges(loaded: Loaded) -> None:
    """Every change is in one of them: a boundary is the end of one range and not in the next."""
    templates, wholes = [], []
    for entity, ids in loaded.ids.items():
        ends = [id or None for id in ids]
        for since, until in pairwise(ends):
            templates.append(call("change_feed", entity, **{"from": since, "to": until}))
            wholes.append(entity)
    templates += [call("change_feed", entity) for entity in loaded.ids]
    answers = query_all(loaded.project, templates)
    for entity in loaded.ids:
        pieces = [
            row
            for of, rows in zip(wholes, answers, strict=False)
            if of == entity
            for row in feed_rows(rows, KEY)
        ]
        whole = feed_rows(answers[len(wholes) + list(loaded.ids).index(entity)], KEY)
        assert pieces == whole


@pytest.mark.parametrize(
    "images",
    [["change"], ["pre", "post"], ["post"], ["pre", "post", "change"]],
    ids=lambda images: "_".join(images),
)
def test_images(loaded: Loaded, images: list[str]) -> None:
    """Phoenix: the scopes PRE, POST, CHANGE and their combinations; the event type is always there."""
    names = {"pre": "pre_image", "post": "post_image", "change": "change"}
    (rows,) = query_all(
        loaded.project,
        [call("change_feed", "event_cases", to=loaded.ids["event_cases"][3], images=images)],
    )
    whole = loaded.rows["change_feed", "event_cases", 0, 4]
    wanted = ["event_type", *(names[image] for image in images)]
    found = feed_rows(rows, KEY)
    assert [row.change for row in found] == [
        {name: value for name, value in row.change.items() if name in wanted}
        for row in whole[: len(found)]
    ]


# ── ranges by time ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_timestamps(loaded: Loaded) -> None:
    """Delta, Hudi: a time between two commits means the earlier, the time of a commit means that commit."""
    ids, completed = loaded.ids["extract_cases"], loaded.completed["extract_cases"]
    short = timedelta(milliseconds=1)
    assert all(later - earlier > 2 * short for earlier, later in pairwise(completed))
    ranges = [
        (completed[1], completed[2], 1, 2),
        (completed[1] + short, completed[2] + short, 1, 2),
        (completed[1] - short, completed[3] - short, 0, 2),
        (completed[2] + short, completed[3] - short, 2, 2),
        (ids[2], completed[4], 2, 4),
        (completed[2], str(ids[3]), 2, 3),
    ]
    templates = []
    for since, until, first, last in ranges:
        templates.append(
            call("change_feed", "extract_cases", **{"from": _text(since), "to": _text(until)})
        )
        templates.append(
            call("change_feed", "extract_cases", **{"from": ids[first] or None, "to": ids[last]})
        )
    answers = [feed_rows(rows, KEY) for rows in query_all(loaded.project, templates)]
    for by_time, by_id, span in zip(answers[::2], answers[1::2], ranges, strict=True):
        assert by_time == by_id, span
    assert answers[6] == []


def _text(moment: Any) -> Any:
    return str(moment) if isinstance(moment, datetime) else moment


def test_business_dates(loaded: Loaded) -> None:
    """A date is its first load, also when it was corrected later; one loaded late is where it was loaded."""
    ids = loaded.ids["extract_cases"]
    spans: list[tuple[Any, Any, int, int]] = [
        ("2026-01-01", "2026-01-04", ids[1], ids[3]),
        ("2026-01-04", "2026-01-03", ids[3], ids[5]),
    ]
    templates = []
    for since, until, first, last in spans:
        templates.append(call("change_feed", "extract_cases", **{"from": since, "to": until}))
        templates.append(call("change_feed", "extract_cases", **{"from": first, "to": last}))
    answers = query_all(loaded.project, templates)
    for by_date, by_id in zip(answers[::2], answers[1::2], strict=True):
        assert by_date == by_id


def _error(loaded: Loaded, **moments: Any) -> str:
    template = call("change_feed", "extract_cases", **moments)
    result = loaded.project.dbt("compile", "--inline", template, expect_pass=False)
    return str(result.error or result.output)


def test_error__end_before_start(loaded: Loaded) -> None:
    ids = loaded.ids["extract_cases"]
    error = _error(loaded, **{"from": ids[3], "to": ids[2]})
    assert str(ids[3]) in error
    assert str(ids[2]) in error


def test_error__no_such_commit(loaded: Loaded) -> None:
    ids = loaded.ids["extract_cases"]
    error = _error(loaded, to=ids[2] + 1)
    assert str(ids[2]) in error


def test_error__date_never_loaded(loaded: Loaded) -> None:
    assert "2026-01-04" in _error(loaded, to="2026-01-05")


def test_error__end_in_the_future(loaded: Loaded) -> None:
    """Delta, Hudi: what is to come cannot be in a range that is told whole."""
    error = _error(loaded, to="2999-01-01 00:00:00")
    assert str(loaded.ids["extract_cases"][5]) in error


def test_error__commit_in_flight(loaded: Loaded) -> None:
    """Hudi: a pull ends before a commit that has begun and is not completed."""
    project = loaded.project
    started = project.sql("select current_timestamp() as now")[0].now
    columns = project.session.table(f"`{project.schema}`.tidemark_commits__log").columns
    values = {
        "commit_id": "991231235959999",
        "state": "'inflight'",
        "completed_at": "null",
        "started_at": "current_timestamp()",
        "state_at": "current_timestamp()",
    }
    chosen = ", ".join(f"{values.get(name, name)} as {name}" for name in columns)
    project.sql(
        f"insert into tidemark_commits__log select {chosen} from tidemark_commits__log "
        "where entity = 'extract_cases' and state = 'completed' order by commit_id desc limit 1"
    )
    try:
        time.sleep(1)
        last = str(loaded.ids["extract_cases"][5])
        now = project.sql("select current_timestamp() as now")[0].now
        assert last in _error(loaded, to=str(now))
        # up to its start, and without an end, the range is whole
        templates = [
            call("change_feed", "extract_cases", to=str(started)),
            call("change_feed", "extract_cases"),
        ]
        for rows in query_all(project, templates):
            assert feed_rows(rows, KEY) == loaded.rows["change_feed", "extract_cases", 0, 5]
    finally:
        project.sql("delete from tidemark_commits__log where commit_id = 991231235959999")


# ── last of all, as it changes the tables: a rollback, then the same again ────────────────────────────────────────────


def test_rollback_then_rerun(loaded: Loaded) -> None:
    """Hudi: what a rollback undoes is told, and so is what the next run brings back; all in all nothing happened."""
    project, ids = loaded.project, loaded.ids["extract_cases"]
    before = project.sql("select * from extract_cases order by case_name, id")
    arguments = f"{{entity: extract_cases, to: {ids[2]}}}"
    project.dbt("run-operation", "rollback", "--args", arguments)
    state = "commit_id, kind, state, source_commit_id, undone_by"
    commits = project.sql(
        f"select {state} from tidemark_commits where entity = 'extract_cases' order by commit_id"
    )
    rollback = commits[-1]
    assert tuple(rollback[1:]) == ("rollback", "completed", ids[2], None)
    undone = [(row.commit_id, row.undone_by) for row in commits if row.state == "rolled_back"]
    assert undone == [(id, rollback.commit_id) for id in ids[3:]]
    entity = [
        call("net_changes", "extract_cases", **{"from": ids[2], "to": rollback.commit_id}),
        call("change_feed", "extract_cases", **{"from": ids[5], "to": rollback.commit_id}),
        call("net_changes", "extract_cases", **{"from": ids[2], "to": ids[5]}),
        call("change_feed", "extract_cases", to=ids[5]),
    ]
    nothing, compensation, done, earlier = (
        feed_rows(rows, KEY) for rows in query_all(project, entity)
    )
    assert nothing == []
    assert earlier == loaded.rows["change_feed", "extract_cases", 0, 5]
    turned = {"I": "D", "D": "I", "U": "U"}
    assert {
        (
            row.key,
            turned[row.operation],
            str(row.change["post_image"]),
            str(row.change["pre_image"]),
        )
        for row in compensation
    } == {
        (row.key, row.operation, str(row.change["pre_image"]), str(row.change["post_image"]))
        for row in done
    }
    # the last date again, with the extract that corrected it; the late one between concerned history alone
    project.dbt("run", "--select", "extract_cases", vars={"business_date": EXTRACT_DATES[3]})
    after = project.sql("select * from extract_cases order by case_name, id")
    business = [*TYPES]
    assert [[row[name] for name in business] for row in after] == [
        [row[name] for name in business] for row in before
    ]
    (net,) = query_all(project, [call("net_changes", "extract_cases", **{"from": ids[5]})])
    assert feed_rows(net, KEY) == []
