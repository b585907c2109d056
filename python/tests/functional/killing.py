"""Flows to kill: a model `killed` of each family, what its dates bring, and what its tables hold after any of them.

flow = FLOWS["captured events"](project, random.Random(7), dates=5)
flow.land(0)
...                                       # a run of flow.day(0), killed and called again
flow.check(Stored(folder_of_the_schema), 1)
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from .cdc_oracle import Row, replay
from .enriched_events import add_events, event_id, event_line
from .event_oracle import simulate
from .event_streams import COLUMNS, KEY, deliver, random_streams

EXTRACT = {"extract": "full", "tag_unchanged": True}
STILL_IN_FLIGHT = """
    select relation, commit_id from (
        select *, row_number() over (
            partition by relation, commit_id order by state_at desc, case when state = 'inflight' then 1 else 0 end
        ) as place from t
    ) where place = 1 and state = 'inflight'
"""


class Stored:
    """The tables of a schema, read without Spark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, table: str, select: str) -> list[tuple[Any, ...]]:
        """Rows of a table, which is `t` in the query."""
        found = DeltaTable(str(self.folder / table))
        read = QueryBuilder().register("t", found).execute(select).read_all()
        columns = [read.column(name).to_pylist() for name in read.column_names]
        return list(zip(*columns, strict=True))

    def values(self, table: str, column: str) -> list[Any]:
        return [row[0] for row in self.rows(table, f"select {column} as c from t")]

    def files(self, table: str) -> list[str]:
        """The data files of a table."""
        return [Path(each).name for each in DeltaTable(str(self.folder / table)).file_uris()]


class Flow:
    """A model and its dates, counted from 0."""

    log = "killed__log"
    """The table whose commit makes a load true."""
    engines: tuple[str, ...] = ("workers", "spark")
    derived: tuple[str, ...] = ()
    """Models that are loaded from `killed` after it."""
    beside = True
    """Whether a load writes beside its log."""

    def __init__(self, project: Any, rng: random.Random, dates: int) -> None:
        self.project, self.rng, self.dates = project, rng, dates

    @property
    def models(self) -> int:
        """How many models a run loads."""
        return 1 + len(self.derived)

    def day(self, number: int) -> date:
        return date(2026, 1, 1) + timedelta(number)

    def land(self, number: int) -> None:
        """Put there what a date brings; nothing if it is there."""
        raise NotImplementedError

    def check(self, stored: Stored, dates: int) -> None:
        """Compare the tables with a plain model of the first dates."""
        raise NotImplementedError


class Extracts(Flow):
    """Full extracts, or deltas."""

    def __init__(
        self, project: Any, rng: random.Random, dates: int, extract: str = "full", **settings: Any
    ) -> None:
        super().__init__(project, rng, dates)
        self.delta = self.beside = extract == "delta"
        settings = {**EXTRACT, "extract": extract, **settings}
        self.folder = write_model(project, {"k": "string", "a": "string"}, "k", **settings)
        share = 0.1 if self.delta else 0.9
        self.extracts = {self.day(number): random_extract(rng, 5000, share) for number in range(dates)}  # fmt: skip

    def land(self, number: int) -> None:
        if not (self.folder / f"{self.day(number)}.csv").exists():
            write_extract(self.folder, self.day(number), self.extracts[self.day(number)])

    def check(self, stored: Stored, dates: int) -> None:
        seen = {self.day(number): self.extracts[self.day(number)] for number in range(dates)}
        assert_extracts(stored, seen, delta=self.delta)


class KeptTables(Extracts):
    """Full extracts with their intervals and their feed, both kept as tables."""

    derived = ("killed_feed", "killed_scd2")

    def __init__(self, project: Any, rng: random.Random, dates: int, **settings: Any) -> None:
        super().__init__(project, rng, dates, **settings)
        feed = "{{ config(materialized='feed') }} select * from ({{ tidemark.change_feed(ref('killed')) }})"
        project.write("models/killed_feed.sql", feed)
        intervals = "{{ config(materialized='scd2') }} {{ tidemark.scd2(ref('killed')) }}"
        project.write("models/killed_scd2.sql", intervals)

    def check(self, stored: Stored, dates: int) -> None:
        super().check(stored, dates)
        seen = {self.day(number): self.extracts[self.day(number)] for number in range(dates)}
        history = replay(seen, ("a",), delta=self.delta).history
        wanted, until = [], dict[str, date]()
        for (day, key), (operation, row, _) in sorted(history.items(), reverse=True):
            if operation != "D":
                wanted.append((key, row[0], day, until.get(key)))
            until[key] = day
        found = stored.rows("killed_scd2", "select k, a, _valid_from, _valid_to from t")
        assert Counter(found) == Counter(wanted)
        fed = stored.rows("killed_feed", "select k, _operation, _commit_id from t")
        assert len(fed) == len(set(fed))
        logged = Counter((key, operation) for (_, key), (operation, _, _) in history.items())
        assert Counter((key, operation) for key, operation, _ in fed) == logged


class CanonicalEvents(Flow):
    """Batches of change events, a part of which comes twice."""

    truncates = 0

    def __init__(self, project: Any, rng: random.Random, dates: int, **settings: Any) -> None:
        super().__init__(project, rng, dates)
        settings = {"extract": "events", "format": "canonical", "table": "shop.killed", **settings}
        self.folder = write_model(project, COLUMNS, KEY, **settings)
        self.events = random_streams(rng, 60, max(12, dates), truncates=self.truncates)
        self.batches = deliver(rng, self.events, dates, "in_order")

    def land(self, number: int) -> None:
        path = self.folder / f"{number:04}.jsonl"
        if number < self.dates and not path.exists():
            named = [{**each, "_database": "shop", "_table": "killed"} for each in self.batches[number]]  # fmt: skip
            write_whole(path, "".join(f"{json.dumps(each)}\n" for each in named))

    def check(self, stored: Stored, dates: int) -> None:
        landed = {each["_sequence_num"] for batch in self.batches[:dates] for each in batch}
        events = [event for event in self.events if event["_sequence_num"] in landed]
        truth = simulate(events, list(COLUMNS), KEY)
        names = ", ".join(COLUMNS)
        assert Counter(stored.rows("killed", f"select {names} from t")) == Counter(truth.current.values())  # fmt: skip
        logged = stored.rows("killed__log", "select _key_hash, _event_id, _source_operation from t")
        assert len(logged) == len(set(logged))
        staged = stored.values("killed__staging", "_event_id")
        assert len(staged) == len(set(staged)) == len(events)


class TruncatedEvents(CanonicalEvents):
    """The same with truncates, which the workers leave to Spark SQL."""

    engines = ("spark",)
    truncates = 2


class CapturedEvents(Flow):
    """Batches of change events as Debezium has them, each with some of the last one again."""

    size = 300

    def __init__(self, project: Any, rng: random.Random, dates: int, **settings: Any) -> None:
        super().__init__(project, rng, dates)
        settings = {"extract": "events", "format": "debezium", "table": "orders", **settings}
        self.folder = write_model(project, {"id": "int", "name": "string"}, "id", **settings)
        rows: dict[int, str] = {}
        self.batches: list[list[str]] = []
        self.after: list[dict[int, str]] = []
        for number in range(dates):
            first = number * self.size
            self.batches.append([captured(rng, rows, first + each) for each in range(self.size)])
            self.after.append(dict(rows))

    def land(self, number: int) -> None:
        path = self.folder / f"{number:04}.jsonl"
        if number < self.dates and not path.exists():
            again = self.rng.choices(self.batches[number], k=20)
            again += self.rng.choices(self.batches[max(0, number - 1)], k=20)
            write_whole(path, "".join([*self.batches[number], *again]))

    def check(self, stored: Stored, dates: int) -> None:
        current = stored.rows("killed", "select id, name from t")
        assert dict(current) == self.after[dates - 1]
        assert len(current) == len(self.after[dates - 1])
        for name in ("killed__log", "killed__staging"):
            found = stored.values(name, "_event_id")
            assert len(found) == len(set(found)) == self.size * dates


class EnrichedEvents(Flow):
    """Batches of enriched events, of which a third comes again: each is stored once, with its entity."""

    log = "killed"
    size = 200

    def __init__(self, project: Any, rng: random.Random, dates: int, **settings: Any) -> None:
        super().__init__(project, rng, dates)
        self.folder = add_events(project, "killed", **settings)

    def land(self, number: int) -> None:
        path = self.folder / f"{number:04}.tsv"
        if number < self.dates and not path.exists():
            numbers = [number * self.size + each for each in range(self.size)]
            again = [self.rng.randrange(numbers[-1]) for _ in range(self.size // 2)]
            product = ("iglu:com.acme/product/jsonschema/1-0-0", {"sku": "a"})
            lines = [event_line(each, [product]) for each in numbers + again]
            write_whole(path, "\n".join(lines) + "\n")

    def check(self, stored: Stored, dates: int) -> None:
        wanted = sorted(event_id(number) for number in range(dates * self.size))
        assert sorted(stored.values("killed", "event_id")) == wanted
        assert sorted(stored.values("killed__entities", "hierarchy['root_id']")) == wanted
        assert sorted(stored.values("killed__manifest", "event_id")) == wanted


class ShreddedEvents(EnrichedEvents):
    """The same, with a table of their entities."""

    derived = ("products",)

    def __init__(self, project: Any, rng: random.Random, dates: int, **settings: Any) -> None:
        super().__init__(project, rng, dates, **settings)
        uri = "iglu:com.acme/product/jsonschema/1-*-*"
        body = f"{{{{ tidemark.shred('{uri}', events='killed') }}}}"
        project.write("models/products.sql", body)
        columns = [{"name": "sku", "data_type": "string"}]
        model = {"name": "products", "config": {"materialized": "shred"}, "columns": columns}
        project.write("models/products.yml", json.dumps({"version": 2, "models": [model]}))

    def check(self, stored: Stored, dates: int) -> None:
        super().check(stored, dates)
        wanted = sorted(event_id(number) for number in range(dates * self.size))
        assert sorted(stored.values("products", "hierarchy['root_id']")) == wanted
        assert set(stored.values("products", "sku")) == {"a"}


FLOWS: dict[str, Callable[..., Flow]] = {
    "full extracts": Extracts,
    "delta extracts": partial(Extracts, extract="delta"),
    "kept tables": KeptTables,
    "canonical events": CanonicalEvents,
    "truncated events": TruncatedEvents,
    "captured events": CapturedEvents,
    "enriched events": EnrichedEvents,
    "shredded events": ShreddedEvents,
}


def write_model(project: Any, columns: dict[str, str], key: Any, **settings: Any) -> Path:
    """Write the model `killed`; the folder that its files come from."""
    folder = Path(project.root) / "arrives"
    for each in (folder, project.root / "models"):
        each.mkdir()
    where = folder if settings.get("extract") == "events" else f"{folder}/{{business_date}}.csv"
    model = {
        "name": "killed",
        "config": {
            "materialized": "cdc",
            "unique_key": key,
            "meta": {"tidemark": {"location": str(where), **settings}},
        },
        "columns": [{"name": name, "data_type": kind} for name, kind in columns.items()],
    }
    (project.root / "models/killed.sql").write_text("{{ tidemark.extract() }}")
    (project.root / "models/killed.yml").write_text(json.dumps({"version": 2, "models": [model]}))
    return folder


def random_extract(rng: random.Random, keys: int, share: float) -> dict[str, Row]:
    return {f"k{n}": (rng.choice("xyz"),) for n in range(keys) if rng.random() < share}


def write_extract(folder: Path, day: date, extract: dict[str, Row]) -> None:
    lines = "".join(f"{k},{row[0]}\n" for k, row in extract.items())
    write_whole(folder / f"{day}.csv", f"k,a\n{lines}")


def write_whole(path: Path, text: str) -> None:
    """Put a file where a load finds it, whole."""
    path.with_name(f"_{path.name}").write_text(text)
    path.with_name(f"_{path.name}").rename(path)


def assert_extracts(stored: Stored, extracts: dict[date, dict[str, Row]], *, delta: bool) -> None:
    """Log and current are those of a plain replay of the dates."""
    wanted = replay(extracts, ("a",), delta=delta)
    logged = stored.rows(
        "killed__log",
        "select _business_date, k, _operation, a, _changed_columns, _superseded_by is null from t",
    )
    assert len(logged) == len(wanted.history)
    assert all(row[-1] for row in logged)
    history = {
        (day, k): (operation, (a,), None if changed is None else tuple(changed))
        for day, k, operation, a, changed, _ in logged
    }
    assert history == wanted.history
    current = stored.rows("killed", "select k, _operation, a from t")
    assert len(current) == len(wanted.current)
    assert {k: (operation, a) for k, operation, a in current} == {
        k: (wanted.tagged[k], row[0]) for k, (_, row, _) in wanted.current.items()
    }


def captured(rng: random.Random, rows: dict[int, str], number: int) -> str:
    """A change of the rows, as Debezium captures it of PostgreSQL."""
    key, before, after = rng.randrange(200), None, None
    operation = "c" if key not in rows else rng.choice("uuud")
    if operation == "d":
        before = {"id": key, "name": rows.pop(key)}
    else:
        rows[key] = f"name {number}"
        after = {"id": key, "name": rows[key]}
    source = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public", "table": "orders",
              "snapshot": "false", "ts_ms": 1772611200000 + number, "txId": number, "lsn": number}  # fmt: skip
    event = {"before": before, "after": after, "source": source, "op": operation, "ts_ms": 1772611201000 + number}  # fmt: skip
    return json.dumps(event) + "\n"
