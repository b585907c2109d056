"""Hundreds of random streams of events: the tables are those of a source database that took each event once, in order.

No two events of a key share a sequence number here, so that the order of arrival decides nothing, whatever `on_tie` says
(ties: test_event_sources.py::test_ties). All entities are loaded by the same few runs of dbt; `-k` with an entity's name
loads that one alone. The seed is printed.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ..rendering import load_sql_macros
from .event_entities import Event, EventEntity
from .event_oracle import Change, simulate, versions_of
from .event_streams import COLUMNS, KEY, deliver, random_streams

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(3)]

SEED = int(os.environ.get("TIDEMARK_TEST_SEED", "20260304"))
BATCHES = 3
QUICK_BATCHES = 2
"""Of the entity that is not in the slow ring."""

Row = tuple[Any, ...]
Changes = dict[int, Counter[Row]]
"""Stream → rows."""


@dataclass
class Tables:
    """What an entity's tables hold after a run."""

    current: list[Row]
    intervals: list[Row]  # columns, from, to
    history: list[Row]  # columns, sequence number, operation, commit


@dataclass
class Load:
    """An entity, what is delivered to it, and what it held after each run."""

    events: list[Event]
    """In true order, each once."""
    batches: list[list[Event]]
    keyless: bool = False
    shuffled: bool = False
    by_landing: bool = False
    """The events have no sequence number, and every file is delivered again, under another name, with the next one."""
    files: list[tuple[int, str, list[Event]]] = field(default_factory=list)
    """(run, file, events) as delivered."""
    tables: list[Tables] = field(default_factory=list)
    """After each batch, then after a redelivery."""
    marks: list[int] = field(default_factory=list)
    """The high-water mark of each commit."""
    entity: EventEntity | None = None

    def checkpoints(self) -> list[tuple[int, list[Event]]]:
        """(run, events in true order that have arrived by then) where the tables are known."""
        if self.shuffled:
            return [(len(self.batches) - 1, self.events)]
        arrived: set[int] = set()
        points = []
        for run, batch in enumerate(self.batches):
            arrived |= {event["_offset"] for event in batch}
            points.append((run, [event for event in self.events if event["_offset"] in arrived]))
        return points


def keyed_shuffled(rng: random.Random) -> Load:
    events = random_streams(rng, 250, 12)
    return Load(events, deliver(rng, events, QUICK_BATCHES, "shuffled"), shuffled=True)


def truncates_in_order(rng: random.Random) -> Load:
    events = truncates_events()
    return Load(events, deliver(rng, events, BATCHES, "in_order"))


def truncates_shuffled(rng: random.Random) -> Load:
    events = truncates_events()
    return Load(events, deliver(rng, events, BATCHES, "shuffled"), shuffled=True)


def truncates_events() -> list[Event]:
    return random_streams(random.Random(f"{SEED} truncates"), 60, 12, truncates=3)


def keyless_shuffled(rng: random.Random) -> Load:
    events = random_streams(rng, 150, 12, keyless=True)
    return Load(events, deliver(rng, events, BATCHES, "shuffled"), keyless=True, shuffled=True)


def keyed_by_landing(rng: random.Random) -> Load:
    events = [
        {name: value for name, value in event.items() if name != "_sequence_num"}
        for event in random_streams(rng, 60, 12)
    ]
    return Load(events, deliver(rng, events, BATCHES, "in_order", duplicate=0), by_landing=True)


MAKERS = {
    maker.__name__: maker
    for maker in (
        keyed_shuffled,
        truncates_in_order,
        truncates_shuffled,
        keyless_shuffled,
        keyed_by_landing,
    )
}

SLOW = ("truncates_in_order", "truncates_shuffled", "keyed_by_landing", "keyless_shuffled")

each_entity = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in MAKERS]
)


@pytest.fixture(scope="module")
def loads(module_project: Any, request: pytest.FixtureRequest) -> Iterator[dict[str, Load]]:
    """Every entity that a selected test looks at, after all runs."""
    print(f"seed {SEED}")
    selected = {
        item.callspec.params.get("name")
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    wanted = {name: maker for name, maker in MAKERS.items() if name in selected}
    loads, entities = {}, {}
    for name, maker in wanted.items():
        loads[name] = maker(random.Random(f"{SEED} {name}"))
        key = None if loads[name].keyless else KEY
        # the default orders by `_sequence_num` too, where it is supplied: the keyless entity relies on that
        named = loads[name].shuffled and key is not None
        settings: dict[str, Any] = (
            {"sequence_by": ["_sequence_num"], "changed_columns": False} if named else {}
        )
        entities[name] = EventEntity(module_project, name, COLUMNS, key, **settings)
        loads[name].entity = entities[name]
        entities[name].add_scd2_view()
    for run in range(BATCHES + 1):
        due = {name: load for name, load in loads.items() if run <= len(load.batches)}
        for name, load in due.items():
            for batch in files_of_run(load, run):
                file = entities[name].land(batch).name
                load.files.append((run, file, batch))
        if due:
            # a view needs no second run
            views = [f"{name}_scd2" for name in due] if run == 0 else []
            # a date for each run
            day = {"business_date": f"2026-03-{4 + run:02}"}
            module_project.dbt("run", "--select", *due, *views, vars=day)
        for name, load in due.items():
            load.tables.append(read_tables(entities[name]))
    for name, load in loads.items():
        load.marks = [mark for (mark,) in entities[name].commits("last_sequence_num")]
    yield loads


def files_of_run(load: Load, run: int) -> list[list[Event]]:
    """The files that land before a run; the last run gets only events that it has."""
    if run == len(load.batches):
        if load.shuffled:
            again = [event for batch in load.batches for event in batch]
            random.Random(f"{SEED} again").shuffle(again)
            return [again]
        # the end of the last batch, again
        last = load.batches[-1]
        return [last[len(last) // 2 :]]
    previous = [load.batches[run - 1]] if load.by_landing and run else []
    return [*previous, load.batches[run]]


def read_tables(entity: EventEntity) -> Tables:
    columns = ", ".join(f"`{name}`" for name in COLUMNS)
    return Tables(
        current=entity.rows(columns),
        intervals=entity.intervals(columns),
        history=entity.rows(f"{columns}, _sequence_num, _operation, _commit_id", "__history"),
    )


@each_entity
def test_current(loads: dict[str, Load], name: str) -> None:
    load = loads[name]
    for run, events in load.checkpoints():
        current = truth(load, events).current
        rows = Counter(current) if load.keyless else Counter(current.values())
        check(load, run, "current", rows.elements(), load.tables[run].current)


@each_entity
def test_intervals(loads: dict[str, Load], name: str) -> None:
    load = loads[name]
    for run, events in load.checkpoints():
        wanted = [(*row, since, until) for _, since, until, row in truth(load, events).versions]
        check(load, run, "intervals", wanted, load.tables[run].intervals)


@each_entity
@pytest.mark.parametrize("by", ["sequence", "event_time", "business_date"])
def test_intervals__tracked(loads: dict[str, Load], name: str, by: str) -> None:
    """With `track_history: [label]`: the versions are those of the log's changes, by whatever they are ordered.

    In another order than that of the sequence, an event that changed nothing there is a change like any other.
    """
    load = loads[name]
    assert load.entity is not None
    macros, project = load_sql_macros(), load.entity.project
    flow = {
        "sequence_by": [],  # `_sequence_num` alone is what the order is anyway
        "hash": "md5",
        "sensitive": None,
        "tracked": [{"name": "label", "type": "string", "sensitive": False}],
        "has_copies": load.keyless,
    }
    counted = "'I', 'U', 'D'" if by == "sequence" or load.keyless else "'I', 'U', 'D', 'N'"
    log = f"{project.schema}.{name}__log"
    columns = ", ".join(f"`{column}`" for column in COLUMNS)
    rank = f"dense_rank() over (partition by _key_hash order by {macros['event_order_expr'](flow)})"
    changes: dict[str, list[Change]] = defaultdict(list)
    sources: dict[str, str] = {}
    for key, moment, place, operation, is_gone, source, *row in project.sql(
        f"select _key_hash, {macros['event_moment_expr'](flow, by)}, {rank} as place, _operation, _row_hash is null, "
        f"_source_operation, {columns} from {log} where _superseded_by is null and _operation in ({counted}) "
        "and _key_hash is not null order by place"
    ):
        before, sources[key] = sources.get(key), source
        if operation == "N" and is_gone and before == "MOVE_IN":
            continue  # the row that was pushed aside; the newcomer stays
        is_deleted = operation == "D" or (operation == "N" and is_gone)
        changes[key].append(Change(moment, place, None if is_deleted else tuple(row)))
    label = list(COLUMNS).index("label")
    wanted = [v for rows in changes.values() for v in versions_of(rows, lambda row: row[label])]
    query = macros["event_intervals_sql"](flow, log, "_superseded_by is null", by)
    found = project.sql(f"select {columns}, _valid_from, _valid_to from ({query})")
    assert len({version[-2] for version in wanted}) >= 2
    check(load, BATCHES, f"tracked intervals by {by}", wanted, map(tuple, found))


@each_entity
def test_history_replays(loads: dict[str, Load], name: str) -> None:
    load = loads[name]
    for run, _ in load.checkpoints():
        tables = load.tables[run]
        replay = replayed_copies if load.keyless else replayed_rows
        check(
            load, run, "current, as history replays to it", tables.current, replay(tables.history)
        )


@each_entity
def test_redelivery__changes_nothing(loads: dict[str, Load], name: str) -> None:
    before, after = loads[name].tables[-2:]
    assert after == before


@each_entity
def test_mark_never_falls(loads: dict[str, Load], name: str) -> None:
    marks = loads[name].marks
    assert marks and marks == sorted(marks)


def truth(load: Load, events: Sequence[Event]) -> Any:
    return simulate(events, list(COLUMNS), None if load.keyless else KEY)


def replayed_rows(history: Iterable[Row]) -> list[Row]:
    """Rows after all changes; a change that does not follow from the ones before it comes out as a row that says so."""
    state: dict[Row, Row] = {}
    broken: list[Row] = []
    width = len(COLUMNS)
    for change in sorted(history, key=lambda change: change[width]):
        row, operation = change[:width], change[width + 1]
        key = row[: len(KEY)]
        match operation, key in state:
            case "I", False:
                state[key] = row
            case "U", True if state[key] != row:
                state[key] = row
            case "D", True if state[key] == row:
                del state[key]
            case _:
                broken.append((row[0], f"does not follow from {state.get(key)}", *change))
    return [*state.values(), *broken]


def replayed_copies(history: Iterable[Row]) -> list[Row]:
    """The same without key: rows, each as often as its inserts exceed its deletes."""
    counts: Counter[Row] = Counter()
    broken: list[Row] = []
    width = len(COLUMNS)
    for change in history:
        row, operation = change[:width], change[width + 1]
        if operation == "U":
            broken.append((row[0], "U in a table without key", *change))
        counts[row] += {"I": 1, "D": -1, "U": 0}[operation]
    return [*counts.elements(), *broken]


def check(load: Load, run: int, what: str, wanted: Iterable[Row], found: Iterable[Row]) -> None:
    """Compare stream by stream; the failure shows a few that differ, with what was delivered."""
    ranks = load.by_landing and what == "intervals"
    wanted_by_stream, found_by_stream = (by_stream(rows, ranks=ranks) for rows in (wanted, found))
    streams = sorted(wanted_by_stream.keys() | found_by_stream.keys())
    different = [s for s in streams if wanted_by_stream[s] != found_by_stream[s]]
    if not different:
        return
    lines = [
        f"seed {SEED}: {what} of {len(different)} streams of {len(streams)} differs after batch {run + 1}"
    ]
    if ranks:
        lines.append("(sequence numbers are numbered through within the stream)")
    # the shortest tell most
    for stream in sorted(different, key=lambda s: len(delivered(load, run, s)))[:3]:
        missing = wanted_by_stream[stream] - found_by_stream[stream]
        too_many = found_by_stream[stream] - wanted_by_stream[stream]
        keys = sorted({row[:2] for row in [*missing, *too_many]}, key=repr)
        lines += ["", f"stream {stream}, keys {keys}, delivered:"]
        lines += [f"  {line}" for line in delivered(load, run, stream)]
        for title, rows in (
            ("expected", wanted_by_stream[stream]),
            ("found", found_by_stream[stream]),
            ("missing", missing),
            ("too many", too_many),
        ):
            lines.append(f" {title}:")
            lines += [f"  {row}" for row in sorted(rows.elements(), key=repr)]
    pytest.fail("\n".join(lines), pytrace=False)


def by_stream(rows: Iterable[Row], *, ranks: bool) -> Changes:
    """Rows by their first column; with `ranks` the last two, sequence numbers, only as their order in the stream."""
    streams: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        streams[row[0]].append(row)
    result: Changes = defaultdict(Counter)
    for stream, its_rows in streams.items():
        if ranks:
            bounds = sorted({b for row in its_rows for b in row[-2:] if b is not None})
            its_rows = [
                (*row[:-2], *(None if b is None else bounds.index(b) for b in row[-2:]))
                for row in its_rows
            ]
        result[stream] = Counter(its_rows)
    return result


def delivered(load: Load, run: int, stream: int) -> list[str]:
    """The events of a stream, and truncates, in order of delivery up to a run."""
    return [
        f"{file} {json.dumps(event, ensure_ascii=False)}"
        for file_run, file, events in load.files
        if file_run <= run
        for event in events
        if event.get("stream", event.get("_before_stream", stream)) == stream
    ]
