"""Intervals of both axes over random histories: at each date and each moment they are what `as_of` and `known_at` tell.

The log of a history is what lies between the states of an oracle, commit by commit, and the macros' SQL is run by DuckDB.
The seed is in the test's name; `TIDEMARK_TEST_SEED` adds one.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import duckdb
import pytest
import sqlglot

from dbt.adapters.tidemark.errors import MacroError

from ..functional.timeline_oracle import Timeline
from ..rendering import load_sql_macros, relation

BOTH_AXES = ["business", "system"]
SEEDS = [1, 2, *map(int, filter(None, [os.environ.get("TIDEMARK_TEST_SEED")]))]
THINGS = relation("main", "things")
KEYS = [f"k{number}" for number in range(25)]
FIRST = date(2026, 1, 10)
STEPS = 10
STEP = 10
"""Between the ids of two commits, so that there are moments between them."""
OF_EXTRACTS = {
    "id": "varchar",
    "name": "varchar",
    "updated_at": "timestamp",
    "_key_hash": "varchar",
    "_row_hash": "varchar",
    "_operation": "varchar",
    "_business_date": "date",
    "_eff_start_date": "date",
    "_changed_columns": "varchar[]",
}
OF_EVENTS = {
    **OF_EXTRACTS,
    "_sequence_num": "bigint",
    "_event_time": "timestamp",
    "_batch_id": "bigint",
    "_source_operation": "varchar",
    "_event_id": "varchar",
    "_transaction_id": "varchar",
    "_offset": "varchar",
    "_unsupplied": "varchar[]",
    "_moved_from": "varchar",
}


@dataclass
class Log:
    """Rows by what tells them, as commits leave them."""

    columns: Mapping[str, str]
    rows: list[list[Any]] = field(default_factory=list)
    in_force: dict[Hashable, list[Any]] = field(default_factory=dict)
    commits: list[int] = field(default_factory=list)

    def commit(self, wanted: Mapping[Hashable, tuple[Any, ...]]) -> None:
        """Mark the rows that are not wanted any more, append those that are not there."""
        commit = STEP * (len(self.commits) + 1)
        self.commits.append(commit)
        for name, row in list(self.in_force.items()):
            if tuple(row[:-2]) != wanted.get(name):
                row[-1] = commit
                del self.in_force[name]
        for name, values in wanted.items():
            if name not in self.in_force:
                self.in_force[name] = [*values, commit, None]
                self.rows.append(self.in_force[name])

    def stored(self) -> Any:
        """A session of DuckDB that has it as the log of `things`."""
        db = duckdb.connect()
        columns = {**self.columns, "_commit_id": "bigint", "_superseded_by": "bigint"}
        told = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        db.execute(f"create table things__log ({told})")
        db.executemany(
            f"insert into things__log values ({', '.join('?' * len(columns))})", self.rows
        )
        return db

    def moments(self) -> list[int]:
        """Before, at and between commits."""
        return [moment for one in [0, *self.commits] for moment in (one, one + STEP // 2)]


def extracts(seed: int, *, delta: bool) -> tuple[Log, Timeline]:
    """Dates in any order, again, corrected, with keys that go and come, and rollbacks, of which some are undone."""
    rng = random.Random(f"{seed} {delta}")
    timeline, log = Timeline(["name"], ["updated_at"], delta=delta), Log(OF_EXTRACTS)
    known: dict[date, Any] = {}
    for step in range(STEPS):
        if step > 2 and rng.random() < 0.25:
            if timeline.rollback(rng.randrange(step)) is None:
                timeline.repeat("rollback")
        else:
            ahead = max(timeline.loaded_dates(), default=FIRST) + timedelta(days=1)
            day = ahead if rng.random() < 0.4 else FIRST + timedelta(days=rng.randrange(6))
            if day not in known or rng.random() < 0.7:
                known[day] = random_extract(rng)
            timeline.load(day, known[day])
        log.commit(
            {
                (day, key): (
                    *(key, *entry.values, f"hash of {key}", f"hash of {entry.values[0]}"),
                    *(entry.operation, day, day, entry.changed and list(entry.changed)),
                )
                for (day, key), entry in timeline.history().items()
            }
        )
    return log, timeline


def random_extract(rng: random.Random) -> dict[str, tuple[Any, ...]]:
    """Some keys with one of three names, and since when the row holds as it says itself."""
    return {
        key: (rng.choice("abc"), rng.choice([None, f"2026-01-{rng.randrange(8, 20)} 12:00:00"]))
        for key in KEYS
        if rng.random() < 0.7
    }


Event = tuple[str, int, int, int, str | None]
"""Key, sequence, minute in the source, day of arrival, name; None: a delete."""


def events(seed: int) -> Log:
    """Events that come in any order of their sequence, each once, and rollbacks."""
    rng, log = random.Random(f"events {seed}"), Log(OF_EVENTS)
    arrived: list[list[Event]] = []
    for step in range(STEPS):
        if step > 2 and rng.random() < 0.25:
            kept = rng.randrange(step)
            arrived.append([])
            arrived[kept:] = [[] for _ in arrived[kept:]]
        else:
            arrived.append(
                [
                    (key, 100 * rng.randrange(1, 9) + step, rng.randrange(9), step // 2, name)
                    for key in KEYS[:12]
                    if rng.random() < 0.5
                    for name in [rng.choice(["a", "b", "c", None])]
                ]
            )
        log.commit(replayed(arrived))
    return log


def replayed(arrived: list[list[Event]]) -> dict[Hashable, tuple[Any, ...]]:
    """What the log says of events, in the order of their sequence."""
    rows: dict[Hashable, tuple[Any, ...]] = {}
    names: dict[str, str | None] = {}
    placed = [(batch, event) for batch, of_one in enumerate(arrived) for event in of_one]
    for batch, (key, sequence, minute, day, name) in sorted(placed, key=lambda one: one[1][1]):
        before = names.get(key)
        names[key] = name
        operation = "N" if name == before else "I" if before is None else "U" if name else "D"
        shown = before if operation == "D" else name
        arrival = FIRST + timedelta(days=day)
        rows[key, sequence] = (
            *(key, shown, None, f"hash of {key}", shown and f"hash of {shown}"),
            *(operation, arrival, arrival, None, sequence, f"2026-01-10 00:{minute:02}:00"),
            *(batch, "UPDATE" if name else "DELETE", f"{key} {sequence}", *[None] * 4),
        )
    return rows


def crossed(macro: str, *arguments: Any, **named: Any) -> str:
    """What a macro gives, in DuckDB's SQL."""
    sql = load_sql_macros()[macro](*arguments, **named)
    return str(sqlglot.transpile(f"select * from ({sql})", read="spark", write="duckdb")[0])


def rows(db: Any, sql: str, shown: str = "*", **values: Any) -> Counter[Any]:
    """The rows of a query, each with how often it is there, with these values in the place of others."""
    for name, value in values.items():
        sql = sql.replace(PLACES[name], str(value))
    return Counter(db.execute(f"select {shown} from ({sql})").fetchall())


PLACES = {"moment": "777777", "day": "2999-12-31"}
"""What stands in SQL that is made once for many moments and days."""
MOMENT, DAY = 777777, PLACES["day"]


def keep(db: Any, **named: Any) -> None:
    """Make a table of the intervals of both axes, which no two of may overlap."""
    db.execute(f"create table kept as {crossed('scd2', THINGS, axes=BOTH_AXES, **named)}")
    told = "_key_hash, _valid_from, _known_from"
    assert not db.execute(f"select {told} from kept group by all having count(*) > 1").fetchall()
    # nor is there a border between rows that say the same
    same = "* exclude (_known_from, _known_to, _is_current)"
    ends = db.execute(f"select _known_to, {same} from kept where _known_to is not null").fetchall()
    begins = db.execute(f"select _known_from, {same} from kept").fetchall()
    assert not set(ends) & set(begins)
    for test in ("no_overlapping_intervals", "one_open_interval_per_key"):
        told = {"open_end": named["open_end"]} if "open_end" in named else {}
        assert not rows(db, crossed(f"test_{test}", "kept", axes=BOTH_AXES, **told))


def known(db: Any, moment: int, columns: str, holds: str = "true") -> Counter[Any]:
    """The kept rows that were known at a moment."""
    found = db.execute(
        f"select {columns} from kept where {holds}"
        f" and _known_from <= {moment} and (_known_to is null or {moment} < _known_to)"
    )
    return Counter(found.fetchall())


def know_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have macros take the log for one of change events."""
    of_events = {"flow": "events", "sequence_by": [], "on_tie": "arrival", "effective_from": None}
    asks = load_sql_macros()["scd2"].context["tidemark"]  # what macros see of each other
    monkeypatch.setitem(asks, "flow_of", lambda _: of_events)
    monkeypatch.setitem(asks, "tracked_flow", lambda _, flow: {**flow, "tracked": None})
    monkeypatch.setitem(asks, "check_sequence", lambda *_: None)


def holds_at(moment: str) -> str:
    return f"(_valid_from is null or _valid_from <= {moment}) and (_valid_to is null or {moment} < _valid_to)"


@pytest.mark.parametrize(("seed", "delta"), [(seed, seed % 2 == 0) for seed in SEEDS])
def test_extracts__as_of_each_date_at_each_moment(seed: int, delta: bool) -> None:
    log, timeline = extracts(seed, delta=delta)
    db = log.stored()
    keep(db)
    as_of = crossed("as_of", THINGS, DAY, MOMENT)
    for moment in log.moments():
        for number in range(-1, (max(timeline.loaded_dates()) - FIRST).days + 2):
            day = FIRST + timedelta(days=number)
            found = known(db, moment, "id, name, _row_hash", holds_at(f"date '{day}'"))
            asked = rows(db, as_of, "id, name, _row_hash", moment=moment, day=day)
            assert found == asked, (moment, day)
            told = timeline.as_of(day, moment // STEP - 1)
            assert {row[:2] for row in found} == {(key, row[0]) for key, row in told.items()}


SHOWN = {"deletes": True, "columns": {"is_deleted": "is gone"}}


@pytest.mark.parametrize("options", [{}, SHOWN, {"open_end": "2099-01-01"}])
@pytest.mark.parametrize("seed", SEEDS[-1:])
def test_extracts__intervals_at_each_moment(seed: int, options: dict[str, Any]) -> None:
    log, _ = extracts(seed, delta=False)
    db = log.stored()
    keep(db, **options)
    end = "nullif(_valid_to, date '2099-01-01')"
    columns = f"id, name, _commit_id, _valid_from, {end}" + (
        ', "is gone"' if options is SHOWN else ""
    )
    intervals = crossed("scd2", THINGS, MOMENT, **options)
    for moment in log.moments():
        assert known(db, moment, columns) == rows(db, intervals, columns, moment=moment), moment


def test_current() -> None:
    log, timeline = extracts(1, delta=False)
    db = log.stored()
    keep(db)
    found = db.execute("select id, name from kept where _is_current").fetchall()
    assert dict(found) == {key: row[0] for key, row in timeline.current().items()}


@pytest.mark.parametrize("seed", SEEDS[-1:])
def test_effective_from(seed: int) -> None:
    """Its fold over the rows is no SQL of DuckDB's: here that the rows are those of each moment, the rest by Spark."""
    log, _ = extracts(seed, delta=False)
    db = log.stored()
    spans = crossed("known_log_sql", relation("main", "things__log"), ["_business_date"])
    db.execute(f"create table spans as {spans}")
    for moment in log.moments():
        of_moment = (
            f"_tidemark_known_from <= {moment} and coalesce({moment} < _tidemark_known_to, true)"
        )
        in_force = load_sql_macros()["in_force_expr"](moment)
        found, asked = (
            rows(db, f"select id, _business_date, _commit_id from {source} where {condition}")
            for source, condition in (("spans", of_moment), ("things__log", in_force))
        )
        assert found == asked, moment


@pytest.mark.parametrize(
    ("by", "moments"),
    [
        ("sequence", range(95, 915, 90)),
        ("event_time", [f"2026-01-{day} 00:{minute:02}:30" for day in (9, 10) for minute in range(day - 9, 9, 2)]),
        ("business_date", [str(FIRST + timedelta(days=number)) for number in range(-1, 8)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", SEEDS[-1:])
def test_events(seed: int, by: str, moments: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    know_events(monkeypatch)
    log = events(seed)
    db = log.stored()
    keep(db, by=by)
    intervals = crossed("scd2", THINGS, MOMENT, by)
    places = {"sequence": 555555, "event_time": f"{DAY} 00:00:00"}
    as_of = crossed("as_of", THINGS, places.get(by, DAY), MOMENT, by)
    for moment in log.moments():
        columns = "id, name, _commit_id, _sequence_num, _valid_from, _valid_to"
        assert known(db, moment, columns) == rows(db, intervals, columns, moment=moment), moment
        for at in moments:
            literal = {"sequence": str(at), "event_time": f"timestamp '{at}'"}.get(
                by, f"date '{at}'"
            )
            found = known(db, moment, "id, name", holds_at(literal))
            asked = as_of.replace(str(places.get(by, DAY)), str(at))
            assert found == rows(db, asked, "id, name", moment=moment), (moment, at)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"axes": ["system"]}, "axes must be [business] or [business, system], found: system"),
        ({"axes": 7}, "axes must be [business] or [business, system], found: 7"),
        ({"axes": BOTH_AXES, "known_at": 7}, "known_at is for one axis"),
    ],
)
def test_axes__wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(MacroError, match=message.replace("[", r"\[")):
        load_sql_macros()["scd2"](THINGS, **arguments)


def test_axes__one_is_the_default() -> None:
    macros = load_sql_macros()
    assert macros["scd2"](THINGS, axes="business") == macros["scd2"](THINGS)


FAULTS = {
    "one after the other, on either axis": ("(1, null, 10, 20), (1, 3, 20, null), (3, null, 20, null)", 0, 0),
    "a gap on either axis": ("(1, 2, 10, 20), (5, null, 30, null)", 0, 0),
    "overlap while both are known": ("(1, 5, 10, null), (3, 8, 20, 30)", 1, 0),
    "overlap from the same commit on": ("(1, 5, 10, 20), (3, 8, 10, null)", 1, 0),
    "open twice while both are known": ("(1, null, 10, 30), (3, null, 20, null)", 1, 1),
    "known at no moment": ("(1, 2, 20, 20)", 1, 0),
    "known since no commit": ("(1, 2, null, 20)", 1, 0),
    "another key": ("(1, 5, 10, null), (3, 8, 20, 30, 'other')", 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_generic_tests__catch_planted_faults(name: str) -> None:
    values, overlaps, open_twice = FAULTS[name]
    db = duckdb.connect()
    db.execute(
        "create table faulty (_valid_from int, _valid_to int, _known_from int, _known_to int, \"a key\" varchar default 'k')"
    )
    for row in values[1:-1].split("), ("):
        names = "" if row.count(",") == 4 else "(_valid_from, _valid_to, _known_from, _known_to)"
        db.execute(f"insert into faulty {names} values ({row})")
    for test, found in (
        ("no_overlapping_intervals", overlaps),
        ("one_open_interval_per_key", open_twice),
    ):
        sql = crossed(f"test_{test}", "faulty", keys=["a key"], axes=BOTH_AXES)
        assert len(db.execute(sql).fetchall()) == found, test


@pytest.mark.parametrize("seed", SEEDS[-1:])
@pytest.mark.parametrize(
    ("of", "named"),
    [
        ("extracts", {}), ("extracts", {"deletes": True}), ("deltas", {}), ("events", {"by": "sequence"}), ("events", {"by": "event_time"}),
        ("extracts", {"axes": BOTH_AXES}), ("extracts", {"axes": BOTH_AXES, "deletes": True}), ("deltas", {"axes": BOTH_AXES}),
        ("events", {"axes": BOTH_AXES, "by": "sequence"}), ("events", {"axes": BOTH_AXES, "by": "event_time"}), ("events", {"axes": BOTH_AXES, "by": "business_date"}),
    ],
)  # fmt: skip
def test_runs__each_after_some_commits(
    seed: int, of: str, named: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs have merged, commit by commit, is what one query gives of the whole log."""
    if of == "events":
        know_events(monkeypatch)
    rng = random.Random(f"runs {seed} {of}")
    log = events(seed) if of == "events" else extracts(seed, delta=of == "deltas")[0]
    body = crossed("scd2", THINGS, **named)
    columns = None
    with log.stored() as db:
        db.execute("create table whole as from things__log")
        read_to = 0
        for commit in log.commits:
            if columns and commit != log.commits[-1] and rng.random() < 0.4:
                continue
            db.execute(
                "create or replace table things__log as select * replace (case when _superseded_by"
                f" <= {commit} then _superseded_by end as _superseded_by) from whole where _commit_id <= {commit}"
            )
            if columns is None:
                db.execute(f"create table kept as {body}")
                columns = [row[0] for row in db.execute("describe kept").fetchall()]
            else:
                state = {
                    "log": "things__log",
                    "watermark": read_to,
                    "columns": [{"name": name, "type": "string"} for name in columns],
                }
                starts = ["_valid_from", *(["_known_from"] if "axes" in named else [])]
                spark = load_sql_macros()["scd2"](THINGS, **named)
                merge = load_sql_macros()["merge_intervals_sql"]("kept", state, spark, starts)
                db.execute(sqlglot.transpile(merge, read="spark", write="duckdb")[0])
            read_to = commit
            found, wanted = rows(db, "from kept"), rows(db, body)
            assert found == wanted, (commit, found - wanted, wanted - found)
