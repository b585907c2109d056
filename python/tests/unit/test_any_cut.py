"""However events are cut into batches, the tables are those of one event a batch: also where some columns are not compared.

The SQL that the macros make goes by DuckDB with no warehouse, and the task of the workers goes beside it. The seed is in
the test's name; `TIDEMARK_TEST_SEED` adds one.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.functional.event_entities import Event, delete, insert, truncate, update
from tests.functional.event_streams import deliver, random_streams
from tests.macros import warehouse_of
from tests.rendering import load_sql_macros, relation
from tidemark.pipeline import events_moves
from tidemark.sessions.contract import crossed

from .test_engine_events import Lake

SEEDS = [1, *map(int, filter(None, [os.environ.get("TIDEMARK_TEST_SEED")]))]
MACROS = load_sql_macros()
TYPES = {"stream": "int", "id": "int", "label": "string", "n": "int", "amount": "double"}
KEY = ["stream", "id"]
DAY = "2026-03-04"
FIRST_COMMIT = 260304093000000
Row = tuple[Any, ...]
Tables = dict[str, list[Row]]
_KINDS = {"int": "integer", "string": "varchar", "bigint": "bigint", "boolean": "boolean", "date": "date", "timestamp": "timestamp", "array<string>": "varchar[]", "double": "double"}  # fmt: skip


_crossed = functools.cache(crossed)


class Shop:
    """The tables of an entity in DuckDB, loaded by the project's SQL as a run loads them."""

    def __init__(self, db: Any, key: Sequence[str] | None = KEY, **settings: Any) -> None:
        self.db = db
        meta = {"extract": "events", "format": "canonical", "location": "landing/shop", **settings}
        columns = {name: {"name": name, "data_type": kind} for name, kind in TYPES.items()}
        self.cfg = MACROS["entity_config"]({
            "name": "shop", "alias": "shop", "schema": "main", "description": "", "columns": columns,
            "config": {"unique_key": key, "meta": {"tidemark": meta}},
        })  # fmt: skip
        self.cfg = {**self.cfg, "target": relation("main", "shop")}
        found = {
            "names": list(TYPES), "schemas": {}, "ddl": None, "arrived": None, "renames": {}, "refused": [], "has_schemaless": True,
            "inferred": {},
        }  # fmt: skip
        self.plan = MACROS["event_roles"](self.cfg, found, TYPES, None)
        sides = ("current", "log", "sensitive")
        self.relations = {name: f"shop__{name}" for name in sides}
        self.columns_of = {
            "current": MACROS["current_columns"](self.cfg, self.plan),
            "log": MACROS["log_columns"](self.plan),
            "sensitive": MACROS["sensitive_columns"](self.plan),
        }
        for name in sides:
            listed = [f'"{one["name"]}" {_KINDS[one["type"]]}' for one in self.columns_of[name]]
            db.execute(f"create or replace table shop__{name} ({', '.join(listed)})")
        self.commit_id = FIRST_COMMIT - 1
        self.has_moves = self.has_partial_moves = False
        self.known: set[int] = set()
        macros = {
            **MACROS,
            "run_query": lambda sql: db.execute(self._crossed(sql)).fetchall(),
            "row_count": lambda rows: db.execute(
                self._crossed(f"select count(*) from {rows}")
            ).fetchone()[0],
        }
        self.warehouse = warehouse_of(macros)

    def load(self, events: Sequence[Event]) -> None:
        self.commit_id += 1
        fresh = [event for event in events if event["_sequence_num"] not in self.known]
        fresh = list({event["_sequence_num"]: event for event in fresh}.values())
        if not fresh:
            return
        load = self._staged(fresh)
        self.known |= {event["_sequence_num"] for event in fresh}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(events_moves, "make_slice", self._make_slice)
            self._make("replayed", self._replayed_sql(load))
        self._write(load)

    def tables(self) -> Tables:
        """Current, the whole log in force, and the intervals by sequence and time."""
        commits = ("_commit_id", "_batch_id", "_superseded_by")
        values = [f'log."{one["name"]}"' for one in self.plan["stored"]]
        meta = [
            one["name"] for one in self.columns_of["log"] if one["name"] not in (*TYPES, *commits)
        ]
        sensitive = [f'sensitive."{one["name"]}"' for one in self.plan["sensitive"]]
        # what deleted nothing has the values of its line, or of the row that it deleted once
        is_row = "_operation <> 'N' or log._row_hash is not null"
        listed = ", ".join(
            [f"case when {is_row} then {value} end" for value in values + sensitive]
            + [f'log."{name}"' for name in meta]
        )
        found = {
            "current": self.rows("select * from shop__current"),
            "log": self.rows(
                f"select {listed} from shop__log as log left join shop__sensitive as sensitive "
                "using (_key_hash, _event_id, _commit_id) where _superseded_by is null"
            ),
        }
        flow = {"sequence_by": [], "hash": "md5", "sensitive": None, "tracked": None, "on_tie": self.cfg["on_tie"], "has_copies": not self.plan["keyed"]}  # fmt: skip
        for by in ("sequence", "event_time"):
            sql = MACROS["event_intervals_sql"](flow, "shop__log", "_superseded_by is null", by)
            names = ", ".join(f'"{one["name"]}"' for one in self.plan["stored"])
            found[by] = self.rows(
                f"select {names}, _valid_from, _valid_to from ({self._crossed(sql)})"
            )
        if sensitive:
            sql = MACROS["existing_rows_sql"](self.plan, self.relations)
            names = ", ".join(f'"{name}"' for name in TYPES)
            found["with sensitive"] = self.rows(f"select {names} from ({self._crossed(sql)})")
        return found

    def rows(self, sql: str) -> list[Row]:
        return sorted(self.db.execute(sql).fetchall(), key=repr)

    def _make(self, name: str, sql: str) -> str:
        self.db.execute(f"create or replace table {name} as {self._crossed(sql)}")
        return name

    def _crossed(self, sql: str) -> str:
        """Return a query in DuckDB's SQL. It is parsed once for all commits, which takes most of the time."""
        commit, any_commit = str(self.commit_id), str(FIRST_COMMIT - 1)
        return _crossed(sql.replace(commit, any_commit)).replace(any_commit, commit)

    def _make_slice(self, _: Any, current: Any, commit_id: int, name: str, sql: str) -> str:
        return self._make(f"slice_{name}", sql)

    def _staged(self, events: Sequence[Event]) -> dict[str, Any]:
        """Stage events; what their load needs to know."""
        is_first, keyed = self.commit_id == FIRST_COMMIT, self.plan["keyed"]
        rows = [self._staged_row(event) for event in events]
        names = [*TYPES, *(f"_before_{name}" for name in (KEY if keyed else TYPES))]
        kinds = [_KINDS[TYPES[name.removeprefix("_before_")]] for name in names]
        listed = [f'"{name}" {kind}' for name, kind in zip(names, kinds, strict=True)]
        by = "_key_hash varchar, _before_key_hash varchar"
        self.db.execute(
            f"create or replace table staged ({', '.join(listed)}, {by}, _tidemark_effect varchar, _source_operation varchar, "
            "_unsupplied varchar[], _sequence_num bigint, _landing_num bigint, _event_id varchar, _event_time timestamp, "
            "_transaction_id varchar, _offset varchar, _is_usable boolean, _tidemark_is_pair boolean, _is_snapshot boolean, "
            "_snapshot_mark varchar, _reject_reason varchar)"
        )
        marks = f"({', '.join('?' * len(rows[0]))})"
        given = [value for row in rows for value in row]
        self.db.execute(f"insert into staged values {', '.join([marks] * len(rows))}", given)
        moved = "_before_key_hash <> _key_hash"
        conditions = (moved, f"{moved} and _unsupplied is not null", f"_tidemark_effect = 'delete' or {moved}", "_tidemark_effect = 'truncate'")  # fmt: skip
        moves, partial_moves, departures, truncates = self.db.execute(
            "select "
            + ", ".join(f"count(*) filter (where {one})" for one in conditions)
            + " from staged"
        ).fetchone()
        last = max(self.known, default=-1)
        late = any(event["_sequence_num"] <= last for event in events)
        if not late and self.has_moves and departures:
            found = self.db.execute(
                "select 1 from shop__log where _source_operation = 'MOVE_IN' and _transaction_id in (select _transaction_id from staged)"
            ).fetchone()
            late = found is not None
        carried = self.db.execute("select distinct unnest(_unsupplied) from staged").fetchall()
        load = {
            "commit_id": self.commit_id, "batch_id": self.commit_id, "business_date": DAY, "late": late, "forward": not late,
            "moves": late or moves > 0, "fills": late, "carried": sorted(name for (name,) in carried), "statements": [],
            "table_events": late or truncates > 0, "everything": truncates > 0, "closes_snapshot": False, "linked": None,
            "log": None if is_first else "shop__log", "first": is_first,
            "has_partial_moves": partial_moves > 0 or (late and self.has_partial_moves),
            "order_type": MACROS["place_type"](self.cfg, None),
        }  # fmt: skip
        if late and self.has_partial_moves:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(events_moves, "make_slice", self._make_slice)
                load["linked"] = events_moves.linked_keys(
                    self.warehouse, self.cfg, "shop__log", "staged", self.commit_id
                )
        self.has_moves |= moves > 0
        self.has_partial_moves |= partial_moves > 0
        return load

    def _staged_row(self, event: Event) -> Row:
        operation, number = event["_operation"], event["_sequence_num"]
        effect = {"DELETE": "delete", "TRUNCATE": "truncate"}.get(operation, "upsert")
        before = {name: event.get(f"_before_{name}", event.get(name)) for name in KEY}
        image = {name: event.get(f"_before_{name}") for name in TYPES} if effect == "delete" else event  # fmt: skip
        has_before = any(event.get(f"_before_{name}") is not None for name in KEY)
        left_out = sorted(name for name in TYPES if name not in event)
        return (
            *(image.get(name) for name in TYPES),
            *(before[name] for name in KEY),
            None if effect == "truncate" else repr([image.get(name) for name in KEY]),
            repr(list(before.values())) if effect == "upsert" and has_before else None,
            effect,
            operation,
            left_out if effect == "upsert" and left_out else None,
            number,
            number,
            f"e{number}",
            event["_event_time"].removesuffix("Z"),
            event.get("_transaction_id"),
            str(number),
            True,
            False,
            False,
            None,
            None,
        )

    def _replayed_sql(self, load: dict[str, Any]) -> str:
        cfg, plan, parts = self.cfg, self.plan, list[str]()
        relations = {**self.relations, "log": "shop__log"}
        sql = MACROS["no_existing_events_sql"](cfg, plan, load) if load["first"] else MACROS["existing_events_sql"](cfg, plan, relations, "staged", load)  # fmt: skip
        sources = {"staged": "staged", "existing": self._make("existing", sql), "table_events": "table_events", "moved": None}  # fmt: skip
        if load["table_events"]:
            self._make(
                "table_events", MACROS["table_events_sql"](cfg, plan, relations, "staged", load)
            )
            parts.append(MACROS["logged_statements_sql"](cfg, plan, "table_events", load))
        if load["has_partial_moves"]:
            sources["moved"] = events_moves.moved_values(self.warehouse, cfg, plan, sources, load)  # type: ignore[arg-type]
        parts.append(f"select * from (\n{MACROS['replayed_keys_sql'](cfg, plan, sources, load)}\n)")
        return "\nunion all\n".join(parts)

    def _write(self, load: dict[str, Any]) -> None:
        db, commit = self.db, self.commit_id
        same = " and ".join(
            f"replayed.{one} is not distinct from log.{one}"
            for one in ("_key_hash", "_event_id", "_source_operation")
        )
        db.execute(
            f"update shop__log as log set _superseded_by = {commit} from replayed "
            f"where replayed._supersedes = log._commit_id and {same} and log._superseded_by is null"
        )
        for name in ("log", "sensitive"):
            told = {"_commit_id": str(commit), "_superseded_by": "null"}
            listed = ", ".join(
                told.get(one["name"], f'"{one["name"]}"') for one in self.columns_of[name]
            )
            if name == "log" or self.plan["sensitive"]:
                keyed = "" if name == "log" else " and _operation <> 'T'"
                db.execute(
                    f"insert into shop__{name} select {listed} from replayed where _supersedes is null{keyed}"
                )
        self._make("touched", MACROS["touched_rows_sql"](self.plan, self.relations, load))
        db.execute("delete from shop__current where _key_hash in (select _key_hash from touched)")
        kept = "" if self.cfg["soft_delete"] else " and _operation <> 'D'"
        db.execute(
            f"insert into shop__current by name select * from touched where _operation is not null{kept}"
        )


@pytest.fixture
def db() -> Iterator[Any]:
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        yield db


def stamped(events: Iterable[Event]) -> list[Event]:
    return [
        {"_sequence_num": number, "_event_time": f"2026-03-04T08:00:{number % 7:02}Z", **event}
        for number, event in enumerate(events, 1)
    ]


def few_values(rng: random.Random, events: list[Event]) -> list[Event]:
    """The same events with labels that are often as they were, and one column more."""
    found = []
    for event in events:
        told = dict(event)
        for name in ("label", "_before_label"):
            if name in told:
                told[name] = "x" if told[name] in (None, "", "x", "NULL") else "y"
        if told["_operation"] in ("INSERT", "UPDATE") and rng.random() < 0.7:
            told["amount"] = rng.choice([0, None, 1.5])
        if "_before_label" in told and rng.random() < 0.5:
            told["_before_amount"] = 7.0
        found.append(told)
    return found


def cuts(rng: random.Random, events: Sequence[Any], batches: int) -> list[Sequence[Any]]:
    at = sorted(rng.sample(range(1, len(events)), batches - 1))
    return [events[a:b] for a, b in itertools.pairwise([0, *at, len(events)])]


def by_one(events: list[Event]) -> list[list[Event]]:
    """Batches of no two events of one stream, in their order."""
    batches: list[list[Event]] = []
    seen: set[Any] = set()
    for event in events:
        stream = event.get("stream", event.get("_before_stream"))
        if not batches or stream is None or stream in seen or None in seen:
            batches.append([])
            seen = set()
        batches[-1].append(event)
        seen.add(stream)
    return batches


def loaded(db: Any, batches: Iterable[Sequence[Event]], **settings: Any) -> Tables:
    shop = Shop(db, **settings)
    for batch in batches:
        shop.load(batch)
    return shop.tables()


PARTS = [{"stream": 1, "id": 1}, {"stream": 1, "id": 2}]
REPLAYED = {
    "an update that leaves it out": [insert({**PARTS[0], "label": "b", "n": 2, "amount": 1}), update({**PARTS[0], "label": "b", "n": 1, "amount": 1}), update({**PARTS[0], "label": "c"})],
    "a delete": [insert({**PARTS[0], "label": "b", "n": 2}), update({**PARTS[0], "label": "b", "n": 1}), delete(PARTS[0])],
    "the end of all": [insert({**PARTS[0], "label": "b", "n": 2}), update({**PARTS[0], "label": "b", "n": 1}), truncate()],
    "a change of the key": [insert({**PARTS[0], "label": "b", "n": 2}), update({**PARTS[0], "label": "b", "n": 1}), update(PARTS[1], PARTS[0])],
    "an update that leaves all out": [insert({**PARTS[0], "label": "b", "n": 2}), update({**PARTS[0], "n": 1}), update(PARTS[0]), update({**PARTS[0], "label": "b", "n": 3}), update({**PARTS[0], "label": "c"})],
    "a row that comes again": [insert({**PARTS[0], "label": "b", "n": 2}), delete(PARTS[0]), insert({**PARTS[0], "label": "b", "n": 3}), update({**PARTS[0], "n": 4}), update({**PARTS[0], "label": "c"})],
    "a change of the key to one that is there": [
        insert({**PARTS[0], "label": "b", "n": 2}, transaction_id="1"), insert({**PARTS[1], "label": "b", "n": 5}, transaction_id="1"), update({**PARTS[0], "n": 1}, transaction_id="2"),
        update(PARTS[1], PARTS[0], transaction_id="3"), update({**PARTS[1], "label": "c"}, transaction_id="4"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", REPLAYED)
def test_cut(db: Any, name: str) -> None:
    events = stamped(REPLAYED[name])
    finest = loaded(db, [[event] for event in events], ignore=["n"])
    for parts in range(1, len(events)):
        for at in itertools.combinations(range(1, len(events)), parts - 1):
            batches = [events[a:b] for a, b in itertools.pairwise([0, *at, len(events)])]
            assert loaded(db, batches, ignore=["n"]) == finest, at


def test_cut__what_is_stored(db: Any) -> None:
    """What changed no compared column leaves the row as it is, and what follows it sees that row."""
    events = stamped(REPLAYED["an update that leaves it out"])
    shop = Shop(db, ignore=["n"])
    shop.load(events)
    assert shop.rows("select _sequence_num, _operation, label, n from shop__log") == [(1, "I", "b", 2), (2, "N", "b", 1), (3, "U", "c", 2)]  # fmt: skip
    assert shop.rows("select label, n from shop__current") == [("c", 2)]


def test_late__what_is_left_out(db: Any) -> None:
    """An event that comes late changes what later ones had left out, though these change the same."""
    row = {"stream": 1, "id": 1}
    events = stamped([insert({**row, "label": "a", "n": 1}), update({**row, "label": "b", "n": 7}), update({**row, "label": "c"}), delete(row)])  # fmt: skip
    for count in (3, 4):
        finest = loaded(db, [[event] for event in events[:count]], ignore=["n"])
        late = [[*events[:1], *events[2:count]], events[1:2]]
        assert loaded(db, late, ignore=["n"]) == finest


SETTINGS: dict[str, dict[str, Any]] = {
    "all compared": {},
    "ignored": {"ignore": ["n"]},
    "several ignored": {"ignore": ["n", "amount"], "hash": "sha256", "soft_delete": True},
    "sensitive": {"ignore": ["n"], "sensitive": ["n"]},
    "by content": {"ignore": ["amount"], "on_tie": "content"},
}


QUICK = ("ignored", "sensitive")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SETTINGS],
)
def test_random_cuts(db: Any, name: str, seed: int) -> None:
    """In order and shuffled, with changes of the key and truncates."""
    rng, settings = random.Random(f"{seed} {name}"), SETTINGS[name]
    events = few_values(rng, random_streams(rng, 8, 9, truncates=1))
    finest = loaded(db, by_one(events), **settings)
    assert len(finest["log"]) > 60
    for batches in (1, 4):
        assert_same(loaded(db, cuts(rng, events, batches), **settings), finest)
    shuffled = deliver(rng, events, 4, "shuffled")
    assert_same(loaded(db, shuffled, **settings), finest)


def assert_same(found: Tables, wanted: Tables) -> None:
    for name, rows in wanted.items():
        missing = [row for row in map(repr, rows) if row not in set(map(repr, found[name]))]
        too_many = [row for row in map(repr, found[name]) if row not in set(map(repr, rows))]
        assert (missing, too_many) == ([], []), name
        assert len(rows) == len(found[name])


def random_lines(rng: random.Random, count: int) -> list[str]:
    """Canonical events of a table `orders` with `id`, `name` and `n`: inserts, updates that leave columns out, deletes, changes of the key."""
    lines = []
    for number in range(1, count + 1):
        key, fate = rng.randrange(4), rng.random()
        row = {"id": key, "name": rng.choice("ab"), "n": rng.randrange(3)}
        event = {"_operation": "UPDATE", "_table": "orders", "_sequence_num": number, "_transaction_id": str(number), **row}  # fmt: skip
        if fate < 0.15:
            event = {name: value for name, value in event.items() if name not in row}
            event |= {"_operation": "DELETE", "_before_id": key, "_before_n": 9}
        elif fate < 0.25:
            event["_before_id"] = rng.randrange(4)
        elif fate < 0.8:
            for name in ("name", "n"):
                if rng.random() < 0.5:
                    del event[name]
        lines.append(json.dumps(event))
    return lines


def by_workers(root: Path, batches: Iterable[Sequence[str]], ignored: tuple[str, ...]) -> Tables:
    root.mkdir()
    lake = Lake(root, form="canonical", ignored=ignored)
    for batch in batches:
        assert lake.load(batch).declined is None
    log = "_sequence_num, _source_operation, _operation, id, name, n, _row_hash, _changed_columns, _unsupplied, _moved_from"
    return {
        "log": lake.rows("log", log),
        "current": lake.rows("current", "id, name, n, _row_hash, _operation, _sequence_num"),
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ignored", [(), ("n",)])
def test_random_cuts__by_workers(tmp_path: Path, ignored: tuple[str, ...], seed: int) -> None:
    """What one task of the workers replays."""
    rng = random.Random(seed)
    lines = random_lines(rng, 40)
    finest = by_workers(tmp_path / "finest", [[line] for line in lines], ignored)
    for batches in (1, 5):
        found = by_workers(tmp_path / str(batches), cuts(rng, lines, batches), ignored)
        assert_same(found, finest)
