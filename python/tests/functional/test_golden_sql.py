"""The golden files run on empty tables of the shape they were written for: queries are planned, statements executed."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from tidemark.rules.commits import judged_marks, judged_state
from tidemark.spark.delta.landed import unread_files
from tidemark.spark.files import list_files

from ..render.test_config import DATA_TYPES
from ..render.test_golden import (
    APART,
    ATOMIC,
    CASES,
    EVENT_LOAD,
    KEYED,
    PLAIN,
    Events,
)
from ..rendering import load_sql_macros
from .golden_relations import EmptyRelations, golden_sql


@pytest.fixture(scope="module")
def session(module_project: Any) -> Iterator[Any]:
    session = module_project.session
    EmptyRelations(session).make()
    yield session
    session.sql("drop database shop cascade")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.turn(place % 2, place % 2 + 2))
        for place, name in enumerate(CASES)
    ],
)
def test_golden_sql__runs(session: Any, tmp_path: Path, name: str) -> None:
    text = golden_sql(name).replace("/lake/", f"{tmp_path}/")
    (tmp_path / "shop").mkdir()
    for statement in text.split(";\n\n"):
        # on tables without rows a query has nothing to meet but its plan; what writes has run by now
        session.sql(statement)._jdf.queryExecution().executedPlan()


KNOWN_STATES = (
    "relation string, commit_id bigint, kind string, state string, business_date date, "
    "state_at timestamp, last_sequence_num bigint, source_commit_id bigint, "
    "source_relation string, rows_read bigint, "
    "undone_by bigint, config string"
)


RELATIONS = 12


def random_states(chance: random.Random, *kinds: str) -> list[tuple[Any, ...]]:
    """States of the commits of some relations, with ties and gaps; the first has none."""
    start = dt.datetime(2026, 3, 1)
    rows: list[tuple[Any, ...]] = []
    for number in range(RELATIONS):
        for commit in range(1, chance.choice([1, 2, 8]) if number else 1):
            kind = chance.choice(kinds)
            date = chance.choice([None, *(f"2026-03-0{day}" for day in range(1, 8))])
            for state in ["inflight", "completed", "rolled_back"][: chance.randint(1, 3)]:
                rows.append(
                    (
                        f"shop.e{number}",
                        commit,
                        kind,
                        state,
                        dt.date.fromisoformat(date) if date else None,
                        start + dt.timedelta(seconds=commit * 5 + (state == "rolled_back")),
                        chance.choice([None, commit * 10]),
                        chance.choice([None, commit * 100]),
                        None,
                        chance.choice([None, commit * 7]),
                        commit + 1 if state == "rolled_back" and chance.random() < 0.5 else None,
                        chance.choice(
                            [
                                None,
                                json.dumps(
                                    {"made_by": commit, "extract": chance.choice(["full", "delta"])}
                                ),
                            ]
                        ),
                    )
                )
    return rows


def test_judged_state__is_what_spark_works_out(session: Any) -> None:
    """Few commits are judged in Jinja, many by Spark: random histories, with ties and gaps."""
    macros = load_sql_macros()
    chance = random.Random(7)
    kinds = ("load", "load", "load", "full_refresh", "rollback", "repeat", "promote")
    session.createDataFrame(random_states(chance, *kinds), KNOWN_STATES).createOrReplaceTempView(
        "judged_states"
    )
    session.sql("cache table judged_states")
    for number in range(RELATIONS):
        name = f"shop.e{number}"
        date = chance.choice([None, "2026-03-04"])
        (worked_out,) = session.sql(
            macros["entity_state_sql"]("judged_states", name, date)
        ).collect()
        wanted = worked_out.asDict()
        wanted["recorded"] = json.loads(wanted.pop("config") or "null")
        later = {load["business_date"]: load for load in json.loads(wanted["later_loads"] or "[]")}
        # JSON leaves out what is NULL
        wanted["later_loads"] = [{"extract": None, **load} for load in later.values()]
        for key in ("undone", "inflight"):
            wanted[key] = json.loads(wanted[key] or "[]")
        for key in ("previous_date", "last_date"):
            wanted[key] = str(wanted[key]) if wanted[key] else None
        states = session.sql(macros["entity_states_sql"]("judged_states", name, 500)).collect()
        found = judged_state([row.asDict() for row in states], date)
        for one in (wanted, found):
            one["undone"] = sorted(one["undone"])
            one["inflight"] = sorted(
                ({k: v for k, v in commit.items() if v is not None} for commit in one["inflight"]),
                key=lambda commit: commit["commit_id"],
            )
        assert found == wanted, name
    session.sql("uncache table judged_states")


def test_judged_marks__are_what_spark_works_out(session: Any) -> None:
    """The same of what intervals and entities have read; each reads the entity of the next number."""
    macros = load_sql_macros()
    chance = random.Random(11)
    kinds = ("scd2", "shred", "load", "load", "full_refresh", "rehash", "promote")
    # what such a run records always says how far it has read
    rows = [
        (*row[:7], row[1] * 100, None, row[1] * 7, *row[10:])
        for row in random_states(chance, *kinds)
    ]
    session.createDataFrame(rows, KNOWN_STATES).createOrReplaceTempView("judged_marks")
    session.sql("cache table judged_marks")
    last = macros["last_commits_sql"]("judged_marks")
    session.sql(f"create or replace temporary view last_judged as select * from {last}")

    def states(name: str) -> list[dict[str, Any]]:
        found = session.sql(macros["entity_states_sql"]("judged_marks", name, 500)).collect()
        return [row.asDict() for row in found]

    for number in range(RELATIONS - 1):
        own, source = f"shop.e{number}", f"shop.e{number + 1}"
        marks = judged_marks(states(own), states(source), "scd2")
        (row,) = session.sql(macros["scd2_watermark_sql"]("last_judged", own, source)).collect()
        done = marks["done"] or {"commit_id": 0, "source_commit_id": 0, "rows_read": 0}
        found = (
            *(done[name] for name in ("commit_id", "source_commit_id", "rows_read")),
            max((one["commit_id"] for one in marks["replaced"]), default=0),
        )
        assert found == (row.commit_id, row.source_commit_id, row.rows_read, row.log_commit_id)
        assert marks["last_id"] is None or marks["last_id"] >= (row.last_id or 0)
        marks = judged_marks(states(own), states(source), "shred")
        (row,) = session.sql(macros["shred_marks_sql"]("judged_marks", own, source)).collect()
        anew = [one["commit_id"] for one in marks["replaced"] if one["kind"] == "full_refresh"]
        assert marks["last_id"] == row.last_id
        assert (max(anew, default=0), marks["ended"]) == (row.source_start, row.source_end)
        assert sorted(marks["undone"]) == sorted(json.loads(row.undone))
    session.sql("uncache table judged_marks")


def test_sensitive_of_current__of_the_change_in_force(session: Any) -> None:
    """A column that is not compared has other values under the same hash: later ones that do not hold, and earlier ones."""
    macros = load_sql_macros()

    def view(name: str, columns: str, *rows: str) -> None:
        values = ", ".join(f"({row})" for row in rows)
        session.sql(
            f"create or replace temporary view {name} as select * from values {values} as t ({columns})"
        )

    def values(rows: str, flow: Any) -> list[tuple[Any, ...]]:
        sql = macros["sensitive_of_current_sql"](flow, "kept_log", "kept_apart", True)
        found = session.sql(
            f"select key_hash, phone from values {rows} as stored (key_hash, row_hash, since) left join ({sql}) as apart "
            "on key_hash = apart._key_hash and row_hash = apart._row_hash and since = _business_date and _tidemark_rank = 1 order by 1"
        )
        return [tuple(row) for row in found.collect()]

    view(
        "kept_log",
        "_key_hash, _row_hash, _business_date, _commit_id, _superseded_by, _operation",
        # commits 2 and 3 were undone by 4
        "'undone', 'A', date'2026-03-01', 1, null, 'I'",
        "'undone', 'B', date'2026-03-02', 2, 4, 'U'",
        "'undone', 'A', date'2026-03-03', 3, 4, 'U'",
        # commit 4 came late, before the others
        "'late', 'A', date'2026-03-01', 4, null, 'I'",
        "'late', 'B', date'2026-03-02', 2, null, 'U'",
        "'late', 'A', date'2026-03-03', 3, null, 'U'",
        # nothing was kept apart of it
        "'none', 'A', date'2026-03-03', 3, null, 'I'",
    )
    view(
        "kept_apart",
        "phone, _key_hash, _row_hash, _business_date, _commit_id",
        "'u1', 'undone', 'A', date'2026-03-01', 1",
        "'u2', 'undone', 'B', date'2026-03-02', 2",
        "'u3', 'undone', 'A', date'2026-03-03', 3",
        "'l0', 'late', 'A', date'2026-03-01', 4",
        "'l2', 'late', 'B', date'2026-03-02', 2",
        "'l3', 'late', 'A', date'2026-03-03', 3",
        # of a run that died before its commit
        "'l9', 'late', 'A', date'2026-03-03', 9",
    )
    stored = "('undone', 'A', date'2026-03-01'), ('late', 'A', date'2026-03-03'), ('none', 'A', date'2026-03-03')"
    assert values(stored, PLAIN.roles) == [("late", "l3"), ("none", None), ("undone", "u1")]

    # of one date and key there are many events; an N changed nothing, in current neither
    view(
        "kept_log",
        "_key_hash, _row_hash, _business_date, _commit_id, _superseded_by, _operation, _event_id, _source_operation, _sequence_num, _batch_id",
        *(
            f"'k', '{row}', date'2026-03-01', {commit}, {by}, '{kind}', '{event}', 'UPDATE', {number}, {commit}"
            for row, commit, by, kind, event, number in (
                ("A", 1, "null", "I", "e1", 1),
                ("B", 1, "null", "U", "e2", 2),
                ("A", 1, "null", "U", "e3", 3),
                ("A", 1, "null", "N", "e4", 4),
                ("A", 2, "3", "U", "e5", 5),
            )
        ),
    )
    view(
        "kept_apart",
        "phone, _key_hash, _row_hash, _business_date, _commit_id, _event_id",
        *(
            f"'p{number}', 'k', '{row}', date'2026-03-01', {commit}, 'e{number}'"
            for number, row, commit in (
                (1, "A", 1),
                (2, "B", 1),
                (3, "A", 1),
                (4, "A", 1),
                (5, "A", 2),
            )
        ),
    )
    assert values("('k', 'A', date'2026-03-01')", APART.roles) == [("k", "p3")]


def test_identity__of_a_source_that_gains_columns(session: Any) -> None:
    """What a row is known by stays, in a log begun by all columns too; a value in a new column is something new."""
    macros = load_sql_macros()
    cfg = {"format": "rows"}

    def known_by(rows: str, cfg: Any = cfg, recorded: Any = None, lines: bool = False) -> list[str]:
        session.sql(f"create or replace temporary view growing as {rows}")
        fields = session.table("growing").schema.fields
        columns = [{"name": f.name, "type": f.dataType.simpleString()} for f in fields]
        columns = None if lines else columns
        chosen = {"all": True, "include": [], "exclude": ["operation"]}
        names = macros["identifying_names"]({**cfg, "chosen": chosen}, columns, recorded)
        sql = macros["canonical_events_sql"](
            cfg, {"tables": [], "by_content": True, "identifying": names}, "growing", columns
        )
        return [row[0] for row in session.sql(f"select _content from ({sql})").collect()]

    old = (
        "select 1 as id, cast(null as string) as `Full Name`, 'c' as operation, 5 as _sequence_num"
    )
    wide = "select {} as badge, 1 as id, {} as note, cast(null as string) as `Full Name`, 'c' as operation, 5 as _sequence_num"
    recorded = {"columns": [{"name": "id"}, {"name": "full name"}], "source": {}}
    begun = {**recorded, "source": {"identifying": ["Full Name", "id"]}}
    for log in (None, recorded, begun):
        first = known_by(old, recorded=log)
        assert known_by(wide.format("null", "cast(null as int)"), recorded=log) == first, log
        other = {*first, *known_by(wide.format("'x'", "null"), recorded=log)}
        other |= {*known_by(wide.format("null", "'x'"), recorded=log)}
        assert len(other) == 3, log
    by_all = '{"id":1,"Full Name":null,"operation":"c","_sequence_num":5}'
    assert known_by(old, recorded=recorded) == [hashlib.md5(by_all.encode()).hexdigest()]

    line = "select '{}' as value, cast(1 as bigint) as _landing_num"
    narrow, wider = '{"id":1,"name":null}', '{"id":1,"badge":null,"name":null}'
    recorded = {"columns": [{"name": "id"}, {"name": "name"}]}
    for log in (None, recorded):
        first = known_by(line.format(narrow), recorded=log, lines=True)
        assert known_by(line.format(wider), recorded=log, lines=True) == first, log
        assert known_by(line.format('{"id":1,"badge":0}'), recorded=log, lines=True) != first
    assert first == [hashlib.md5(narrow.encode()).hexdigest()]
    # of a change a NULL is a value: it is another event without it
    change = {"format": "canonical"}
    first = known_by(line.format('{"id":1}'), change, lines=True)
    assert known_by(line.format('{"id":1,"badge":null}'), change, lines=True) != first


@pytest.mark.parametrize(
    "on_tie",
    ["later", *(pytest.param(tie, marks=pytest.mark.slow) for tie in ("reject", "content"))],
)
@pytest.mark.turn(0, 1, 2, 3)
def test_ties__random(session: Any, on_tie: str) -> None:
    """Random batches with ties, the later ones late: what is rejected, and what the log has of each event in force."""
    macros = load_sql_macros()
    entity = Events(f"tied_{on_tie}", format="canonical", sequence_by=["balance"], on_tie=on_tie)
    cfg, roles, log = entity.cfg, entity.roles, f"tied_{on_tie}_log"
    chance = random.Random(19)
    taken: dict[str, Any] = {}  # line → event, as first taken
    stored: list[dict[str, Any]] = []
    for batch in (1, 2, 3):
        lines = {100 * batch + number: _tied_line(chance) for number in range(50)}
        session.createDataFrame(
            [(line, number) for number, line in lines.items()], "value string, _landing_num bigint"
        ).createOrReplaceTempView("tied_lines")
        events = macros["canonical_events_sql"](
            cfg, {"tables": [], "by_content": True}, "tied_lines"
        )
        session.sql(f"create or replace temporary view tied_events as {events}")
        known = {"log": log} if stored else {}
        staged = macros["staged_events_sql"](cfg, roles, "tied_events", known, {})
        staged = session.sql(staged)
        staged.createOrReplaceTempView("tied_staged")
        roles["sequence_type"] = staged.schema["_sequence_by"].dataType.simpleString()

        firsts: dict[Any, str] = {}
        held: dict[Any, set[str]] = {}
        for event in taken.values():
            held.setdefault(event["place"], set()).add(event["content"])
        wanted: dict[int, str] = {}
        here: dict[str, Any] = {}
        for number, line in lines.items():
            event = {**json.loads(line), "batch": batch, "line": number}
            event["place"] = event["id"], event["balance"]
            deletes = event["_operation"] == "DELETE"
            event["content"] = "deleted" if deletes else str(event["full name"])
            if line in taken or line in here:
                wanted[number] = "duplicate"
                continue
            here[line] = event
            first = firsts.setdefault(event["place"], event["content"])
            is_tie = event["content"] not in held.get(event["place"], {first})
            wanted[number] = "tie: balance" if on_tie == "reject" and is_tie else "usable"
        found = {}
        for row in staged.collect():
            reason = row["_reject_reason"] or "duplicate"
            found[row["_landing_num"]] = "usable" if row["_is_usable"] else reason
            assert row["_raw_payload"] == (
                lines[row["_landing_num"]] if row["_reject_reason"] else None
            )
            if row["_is_usable"]:
                line = lines[row["_landing_num"]]
                taken[line] = {**here[line], "event_id": row["_event_id"]}
        assert found == wanted

        load = {
            **EVENT_LOAD,
            **{
                "commit_id": batch * 10**14,
                "batch_id": batch * 10**14,
                "late": batch > 1,
                "fills": batch > 1,
            },
            **{
                "moves": False,
                "table_events": False,
                "everything": False,
                "closes_snapshot": False,
            },
            "carried": [column["name"] for column in roles["columns"]] if batch > 1 else [],
            "order_type": macros["place_type"](cfg, roles["sequence_type"]),
        }
        existing = (
            macros["existing_events_sql"](cfg, roles, {"log": log}, "tied_staged", load)
            if stored
            else macros["no_existing_events_sql"](cfg, roles, load)
        )
        session.sql(f"create or replace temporary view tied_existing as {existing}")
        sources = {"staged": "tied_staged", "existing": "tied_existing", "moved": None}
        derived = session.sql(macros["replayed_keys_sql"](cfg, roles, sources, load))
        rows = [row.asDict() for row in derived.collect()]
        for mark in (row for row in rows if row["_supersedes"] is not None):
            (old,) = (
                row
                for row in stored
                if (row["_event_id"], row["_commit_id"]) == (mark["_event_id"], mark["_supersedes"])
                and row["_superseded_by"] is None
            )
            old["_superseded_by"] = batch * 10**14
        stored += [
            {**row, "_commit_id": batch * 10**14, "_superseded_by": None}
            for row in rows
            if row["_supersedes"] is None
        ]
        columns = [StructField(field.name, field.dataType) for field in derived.schema]
        columns += [StructField(name, LongType()) for name in ("_commit_id", "_superseded_by")]
        schema = StructType(columns)
        values = [tuple(row[name] for name in schema.names) for row in stored]
        session.createDataFrame(values, schema).createOrReplaceTempView(log)

        def place(event: dict[str, Any]) -> tuple[Any, ...]:
            kind = 2 if event["content"] == "deleted" else 1
            arrival = () if on_tie == "content" else (event["batch"], event["line"])
            return (event["balance"], *arrival, kind, event["event_id"])

        effects = {}
        state: dict[int, Any] = {}
        for event in sorted(taken.values(), key=place):
            before, row = state.get(event["id"]), (event["content"], event["balance"])
            if event["content"] == "deleted":
                state.pop(event["id"], None)
                effects[event["event_id"]] = "D" if before else "N"
            else:
                state[event["id"]] = row
                effects[event["event_id"]] = (
                    "I" if before is None else "N" if before == row else "U"
                )
        assert effects == {
            row["_event_id"]: row["_operation"] for row in stored if row["_superseded_by"] is None
        }


def _tied_line(chance: random.Random) -> str:
    """An event of one of three keys, at one of six places."""
    name = chance.choice(["ann", "bob", None])
    event = {"_operation": chance.choice(["INSERT", "UPDATE", "UPDATE", "DELETE"])}
    event |= {"id": chance.randrange(3), "full name": name, "balance": chance.randrange(6)}
    return json.dumps({**event, "phone": None, "_table": "shop.customers"})


def test_decided_events__claims_of_another_tool(session: Any) -> None:
    """A batch knows its own by etl time alone: of its earliest or its latest event, in seconds or exactly."""
    macros = load_sql_macros()
    columns = "_row bigint, _event_id string, _fingerprint string, _etl_tstamp timestamp, "
    columns += "_collector_tstamp timestamp, _line_hash bigint, _reject_reason string"
    moment = dt.datetime(2026, 3, 4, 8, 0, 5, 123456)
    last = moment + dt.timedelta(minutes=3)
    times = {
        "earliest": moment.replace(microsecond=0),
        "earliest exactly": moment,
        "latest": last.replace(microsecond=0),
        "latest exactly": last,
        "second before": moment.replace(microsecond=0) - dt.timedelta(seconds=1),
        "between": moment + dt.timedelta(minutes=1),
        "of a batch here": moment,
    }
    keys = [(n, name, "f", moment, moment, n, None) for n, name in enumerate(times)]
    keys += [(90, "new", "f", last, last, 90, None), (91, "bad", "f", None, None, 91, "no")]
    session.createDataFrame(keys, columns).createOrReplaceTempView("claimed_keys")
    claims = [
        (name, "f", at, last + dt.timedelta(days=9), 7 if "here" in name else None)
        for name, at in times.items()
    ]
    session.createDataFrame(
        claims,
        "event_id string, fingerprint string, etl_tstamp timestamp, expires_at timestamp, _commit_id bigint",
    ).createOrReplaceTempView("foreign_claims")
    (figures,) = session.sql(macros["batch_figures_sql"]("claimed_keys")).collect()
    load = {**figures.asDict(), "commit_id": 8}
    sql = macros["decided_events_sql"](ATOMIC, "claimed_keys", "foreign_claims", load)
    dropped = {row["_row"] for row in session.sql(sql).collect() if row["_kind"] != "rejected"}
    others = ["second before", "between", "of a batch here"]
    assert dropped == {list(times).index(name) for name in others}
    # claims end, but not where each run has all events again; those of its earliest event are its own
    load = {**load, "etl_micros": load["etl_micros"] + 10 * 86_400_000_000}
    later = [
        (n, name, "f", moment + dt.timedelta(days=10), moment, n, None)
        for n, name in enumerate(times)
    ]
    session.createDataFrame(later, columns).createOrReplaceTempView("claimed_keys")
    for location, wanted in (("landing/*.tsv", set()), (None, set(range(2, len(times))))):
        cfg = {**ATOMIC, "location": location}
        sql = macros["decided_events_sql"](cfg, "claimed_keys", "foreign_claims", load)
        dropped = {row["_row"] for row in session.sql(sql).collect() if row["_kind"] != "rejected"}
        assert dropped == wanted, location


def test_claims_horizon__is_that_of_late_batches(session: Any) -> None:
    """What a batch still finds that is late by no more than claims hold stays; a time to come is now."""
    macros = load_sql_macros()

    def horizon(*times: dt.datetime) -> dt.datetime | None:
        rows = [("completed", "shop.atomic_events", time) for time in times]
        rows.append(("completed", "shop.other", dt.datetime(2099, 1, 1)))
        rows.append(("rolled_back", "shop.atomic_events", dt.datetime(2099, 1, 1)))
        session.createDataFrame(
            rows, "state string, relation string, etl_tstamp timestamp"
        ).createOrReplaceTempView("claiming")
        (row,) = session.sql(macros["claims_horizon_sql"](ATOMIC, "claiming")).collect()
        if row.horizon is None:
            return None
        return dt.datetime.fromtimestamp(row.horizon / 1_000_000)

    august = dt.datetime(2025, 8, 1, 12)
    assert horizon() is None
    assert horizon(dt.datetime(2025, 1, 5), august) == august - dt.timedelta(days=180)
    ahead = horizon(august, dt.datetime(2099, 1, 1))
    assert ahead is not None and ahead < dt.datetime.now() - dt.timedelta(days=179)


@pytest.mark.parametrize(
    ("rows", "removed", "kept"),
    [
        # the second says all that the first did
        ([("I", ""), ("U", "")], [1], []),
        # it does not, and no later one does
        ([("I", ""), ("U", "name"), ("U", "name")], [], [1, 2]),
        ([("I", ""), ("U", "name"), ("U", ""), ("U", "name")], [1, 2], [3]),
        # what is gone needs nothing
        ([("I", ""), ("U", "name"), ("D", "")], [1, 2, 3], []),
        ([("I", ""), ("D", ""), ("I", "name")], [1], [2]),
    ],
)
def test_cleaned_rows__of_partial_events(
    session: Any, rows: list[tuple[str, str]], removed: list[int], kept: list[int]
) -> None:
    """What a row took its values from stays, and is told apart from what goes."""
    values = [
        f"('k', date'2026-03-01', {n}L, cast(null as bigint), '{operation}', 'e{n}', "
        f"'{'DELETE' if operation == 'D' else 'UPDATE'}', array_except(array('{lacking}'), array('')), "
        f"cast(null as string), cast(null as string), {n}L, {n}L)"
        for n, (operation, lacking) in enumerate(rows, 1)
    ]
    names = "_key_hash, _business_date, _commit_id, _superseded_by, _operation, _event_id, _source_operation, _unsupplied"
    session.sql(
        f"create or replace temporary view cleaned_log as select * from values {', '.join(values)} "
        f"as t ({names}, _offset, _moved_from, _sequence_num, _batch_id)"
    )
    macros = load_sql_macros()
    for wanted, those in ((removed, False), (kept, True)):
        sql = macros["cleaned_rows_sql"](KEYED.cfg, KEYED.roles, "cleaned_log", 9, those)
        assert sorted(row._commit_id for row in session.sql(sql).collect()) == wanted, those


def test_data_types(session: Any) -> None:
    """What the check of declared types lets pass is what Spark reads."""
    types = ", ".join(f"cast(null as {declared})" for declared in DATA_TYPES)
    assert len(session.sql(f"select {types}").columns) == len(DATA_TYPES)
    with pytest.raises(Exception, match="DATATYPE"):
        session.sql("select cast(null as strng)")


@pytest.mark.turn(0, 1, 2, 3)
def test_unread_files__are_those_of_the_query(session: Any, tmp_path: Path) -> None:
    """The files that are read by few steps are those that the statement gives, whatever they are called."""
    macros = load_sql_macros()
    names = ["a.tsv", "b c.tsv.gz", "d%20e", "f+g#h?.x", "ü🙂.tsv", "empty", "late.tmp", "_left", ".out", "é"]  # fmt: skip
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("" if name == "empty" else "x" * (number + 1))

    def by_query(landed: str | None, undone: list[int]) -> list[dict[str, Any]]:
        query = macros["event_files_sql"](str(tmp_path), landed, undone)
        return [row.asDict() for row in session.sql(query).collect()]

    register = ("shop", "known_files")
    columns = "_file string, _file_number bigint, _file_size bigint, _file_time timestamp, _is_whole boolean, _commit_id bigint"
    session.sql(f"create table shop.known_files ({columns}) using delta")
    there = list_files(session, str(tmp_path))
    first = by_query(None, [])
    assert {unquote(file["_file"]).removeprefix(f"file:{tmp_path}/") for file in first} == {
        *names
    } - {"late.tmp", "_left", ".out", "empty"}
    for table in (None, register):
        assert unread_files(session, there, table, []) == first

    chance = random.Random(3)
    for commit in range(1, 9):
        rows = []
        for file in chance.sample(first, 6):
            size, is_whole = file["_file_size"] + chance.choice((0, 0, 0, 1)), chance.random() < 0.8
            micros = file["_file_micros"] + chance.choice((0, 0, 0, 1000))
            number = first.index(file) * 10 + chance.choice((0, commit * 100))
            name = macros["string_literal"](file["_file"])
            rows.append(
                f"({name}, {number}, {size}, timestamp_micros({micros}), {is_whole}, {commit})"
            )
        session.sql(f"insert into shop.known_files values {', '.join(rows)}")
        for undone in ([], [commit], [2, 4, 6]):
            found = unread_files(session, there, register, undone)
            assert found == by_query("shop.known_files", undone)
            assert all(file["_last_number"] >= 10 for file in found or [])
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/a.tsv").write_text("x")
    assert unread_files(session, list_files(session, str(tmp_path)), register, []) is None
    session.sql("alter table shop.known_files set tblproperties ('delta.appendOnly' = 'true')")
    assert unread_files(session, there, register, []) is None
