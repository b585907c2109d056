"""Change events by the engine in the workers beside Spark SQL: the same tables and figures, whatever it is given."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import pytest

from .event_entities import EventEntity

COLUMNS = {
    "id": "int", "part": "string", "name": "string", "b": "boolean", "ti": "tinyint", "si": "smallint", "bi": "bigint",
    "f": "float", "d": "double", "dec": "decimal(12,2)", "big": "decimal(38,0)", "day": "date", "at": "timestamp",
    "seen": "string",
}  # fmt: skip
TABLES = ("", "__log", "__history", "__rejects", "__staging", "__landed")
FIGURES = (
    "kind, state, rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_rejected, rows_duplicate, "
    "rows_ignored, rows_tied, first_sequence_num, last_sequence_num, business_date"
)
# as they stand in a line
VALUES: dict[str, list[str]] = {
    "name": ["null", '""', '"plain"', '"quote \\" inside"', '"line\\nbreak"', '"Ünïcodé 🙂"', '"back\\\\slash"', '"tab\\there"',
             '"a/b"', '"\\u0001\\u001F"', '"\u007f\u2028"', '" padded "', '"{x}"', '"[1]"', '"info: nan"', "12", "-7", "1.5", "12.0", "true",
             "123456789012345678901234567890", "10000000000000000000000", "0.1", "0.0"],
    "b": ["null", "true", "false", "1", '"0"'],
    "ti": ["null", "0", "-128", '"127"'],
    "si": ["null", "32767", '"-5"'],
    "bi": ["null", "9223372036854775807", "-1"],
    "f": ["null", "0", "1.5", '"-3.25e10"', "0.1", "16777217"],
    "d": ["null", "0", "0.1", '"1e-99"', "12345678901.12345", "9007199254740993", "-432.5", "12.0"],
    "dec": ["null", '"0"', "-1.5", '"9999999999.99"', "100", '"1.50"', "7.25", "3.0"],
    "big": ["null", "99999999999999999999999999999999999999", "-7"],
    "day": ["null", '"2026-03-04"', '"1600-01-01"', "20516", "-1", "0"],
    "at": ["null", '"2026-03-04T12:30:00Z"', '"2026-03-04T12:30:00.5Z"', "1772611200123456", '"1999-12-31 23:59:59.123456"'],
    "seen": ["null", '"a"', '"b"'],
}  # fmt: skip


class Source:
    """A table of a database, whose changes are captured as Debezium does."""

    values = VALUES

    def __init__(
        self, rng: random.Random, connector: str = "postgresql", moves: bool = False
    ) -> None:
        self.rng = rng
        self.moves = moves
        self.connector = connector
        self.rows: dict[int, dict[str, str]] = {}
        self.number = 90
        self.transaction = 30

    def row(self, key: int) -> dict[str, str]:
        values = {name: self.rng.choice(values) for name, values in self.values.items()}
        return {"id": str(key), "part": '"p"', **values}

    def snapshot(self, count: int) -> list[str]:
        """Rows of a first read, all at one position."""
        self.rows = {key: self.row(key) for key in range(count)}
        marks = ["true"] * (count - 1) + ["last"]
        return [
            self.line("r", None, row, mark)
            for row, mark in zip(self.rows.values(), marks, strict=True)
        ]

    def changes(self, count: int) -> list[str]:
        lines = []
        self.transaction += 1
        for _ in range(count):
            self.number += 1
            self.transaction += self.rng.random() < 0.3
            key, other = self.rng.randrange(40), self.rng.randrange(40)
            if self.moves and key in self.rows and key != other and self.rng.random() < 0.15:
                lines += self.move(key, other)
            elif key not in self.rows:
                self.rows[key] = self.row(key)
                lines.append(self.line("c", None, self.rows[key]))
            elif self.rng.random() < 0.2:
                before = self.rows.pop(key)
                short = {name: before[name] for name in ("id", "part")}
                lines.append(self.line("d", self.rng.choice([before, short]), None))
                if self.rng.random() < 0.3:
                    lines.append("null")
            else:
                before = self.rows[key]
                name = self.rng.choice(list(self.values))
                self.rows[key] = {**before, name: self.rng.choice(self.values[name])}
                lines.append(self.line("u", self.rng.choice([None, None, before]), self.rows[key]))
        return lines

    def move(self, key: int, other: int) -> list[str]:
        """A row goes to another key, as one change or as two; one that is there goes to the key of the first."""
        before, pushed = self.rows.pop(key), self.rows.pop(other, None)
        self.rows[other] = {**before, "id": str(other)}
        short = {name: before[name] for name in ("id", "part")}
        if pushed is None and self.rng.random() < 0.5:
            return [self.line("d", before, None), self.line("c", None, self.rows[other])]
        lines = [self.line("u", self.rng.choice([before, short]), self.rows[other])]
        if pushed is not None:
            self.number += 1
            self.rows[key] = {**pushed, "id": str(key)}
            lines.append(self.line("u", pushed, self.rows[key]))
        return lines

    def line(
        self,
        op: str,
        before: dict[str, str] | None,
        after: dict[str, str] | None,
        mark: str = "false",
    ) -> str:
        source: dict[str, Any] = {"version": "3.0.0.Final", "connector": self.connector, "name": "shop", "ts_ms": 1772611200000 + self.number,
                  "snapshot": mark, "db": "shop", "schema": "public", "table": "orders"}  # fmt: skip
        if self.connector == "mysql":
            source |= {"schema": None, "file": "mysql-bin.000003", "pos": self.number, "row": 0, "gtid": f"g:{self.transaction}"}  # fmt: skip
        else:
            source |= {"txId": self.transaction, "lsn": self.number * 8, "sequence": '["1","2"]'}
        if self.rng.random() < 0.3:
            source["ts_us"] = source["ts_ms"] * 1000 + 7
        names = ["id", "part", *self.values]
        self.rng.shuffle(names)

        def image(row: dict[str, str] | None) -> str:
            if row is None:
                return "null"
            return "{" + ",".join(f'"{name}":{row[name]}' for name in names if name in row) + "}"

        return (
            f'{{"before":{image(before)},"after":{image(after)},"source":{json.dumps(source)},"transaction":null,'
            f'"op":"{op}","ts_ms":{1772611201000 + self.number}}}'
        )

    def other_table(self) -> str:
        return self.line("c", None, self.row(7)).replace('"table": "orders"', '"table": "items"')


# what Kafka Connect tells of the columns: type, semantic name, type in the database
CONNECT: dict[str, dict[str, Any]] = {
    "id": {"type": "int32"}, "part": {"type": "string"}, "name": {"type": "string"}, "b": {"type": "boolean"},
    "ti": {"type": "int8"}, "si": {"type": "int16"}, "bi": {"type": "int64"}, "f": {"type": "float"}, "d": {"type": "double"},
    "dec": {"type": "string", "parameters": {"__debezium.source.column.type": "NUMERIC", "__debezium.source.column.length": "12", "__debezium.source.column.scale": "2"}},
    "big": {"type": "string", "parameters": {"__debezium.source.column.type": "NUMERIC", "__debezium.source.column.length": "38", "__debezium.source.column.scale": "0"}},
    "day": {"type": "int32", "name": "io.debezium.time.Date"},
    "at": {"type": "string", "name": "io.debezium.time.ZonedTimestamp"},
    "seen": {"type": "string", "name": "io.debezium.data.Json"},
    "plain_at": {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
    "plain_ms": {"type": "int64", "name": "io.debezium.time.Timestamp"},
}  # fmt: skip
# of these columns a schema allows less
BY_SCHEMA = {
    "day": ["null", "20516", "-1", "0", "-135000"],
    "at": ["null", '"2026-03-04T12:30:00Z"', '"2026-03-04T12:30:00.5Z"', '"1999-12-31T23:59:59.123456Z"'],
    "plain_at": ["null", "0", "1772611200123456", "-1", "-11000000000000000", "1772611200100000"],
    "plain_ms": ["null", "0", "1772611200123", "-1"],
}  # fmt: skip


class Wrapped(Source):
    """The same with what Kafka Connect, or capture, puts around an envelope, and with its markers of transactions."""

    values = {**VALUES, **BY_SCHEMA}  # noqa: RUF012

    def __init__(self, rng: random.Random, form: str) -> None:
        super().__init__(rng, moves=True)
        self.form = form
        self.lines = 0
        image = [{"optional": True, **told, "field": name} for name, told in CONNECT.items()]
        sides = [{"type": "struct", "optional": True, "field": side, "fields": image} for side in ("before", "after")]  # fmt: skip
        self.schema = json.dumps({"type": "struct", "fields": sides, "name": "shop.Envelope"}, separators=(",", ":"))  # fmt: skip

    def wrapped(self, line: str) -> str:
        self.lines += 1
        if self.form == "payload":
            return line if line == "null" else f'{{"schema":{self.schema},"payload":{line}}}'
        key = f'"topic":"shop.public.orders","key":{{"id":{self.lines}}}'
        if self.form == "value":
            return f'{{{key},"value":{line}}}'
        value = line if line == "null" else f'{{"schema":{self.schema},"payload":{line}}}'
        return f'{{{key},"value":{value},"_seq":1,"_ord":{self.lines},"_id":"{self.lines}:é"}}'

    def marker(self) -> str:
        status = '{"status":"END","id":"31","event_count":2,"data_collections":null,"ts_ms":1}'
        value = status if self.form == "value" else f'{{"schema":{{"type":"struct"}},"payload":{status}}}'  # fmt: skip
        return f'{{"topic":"shop.transaction","key":null,"value":{value}}}'


class Canonical(Source):
    """The same in canonical events, known again by their number, their offset, their content or their line."""

    def __init__(self, rng: random.Random, known_by: str) -> None:
        super().__init__(rng, moves=True)
        self.known_by = known_by
        self.count = 0

    def line(self, op: str, before: dict[str, str] | None, after: dict[str, str] | None, mark: str = "false") -> str:  # fmt: skip
        self.count += 1
        operation = {"c": ["INSERT", "UPSERT", "insert"], "r": ["READ", "INSERT"], "u": ["UPDATE", "UPSERT"], "d": ["DELETE"]}[op]  # fmt: skip
        told: dict[str, Any] = {"_operation": self.rng.choice(operation), "_table": "orders"}
        if self.known_by == "number":
            told["_sequence_num"] = self.rng.choice([self.count, str(self.count)])
        if self.known_by == "offset" or self.rng.random() < 0.1:
            told["_offset"] = f"{self.number:09}"
        if self.known_by == "content":
            told["_event_time"] = self.rng.choice(["2026-03-04T12:30:00.5Z", "2026-03-04 12:30:00", 1772611200123456 + self.count])  # fmt: skip
        if self.known_by != "line" and self.rng.random() < 0.5:
            told["_transaction_id"] = self.rng.choice([self.transaction, f"t{self.transaction}"])
        if self.known_by in ("number", "offset"):
            told["_database"] = "shop"
        if op == "r":
            told["_is_snapshot"] = self.rng.choice([True, "true"])
        members = {name: json.dumps(value) for name, value in told.items()}
        if op == "d" and before:
            chance = self.rng.random()
            if chance < 0.4:
                after, before = before, None
            elif chance < 0.7:
                after = {"id": before["id"], "seen": self.rng.choice(self.values["seen"])}
        if (
            after
            and op in "cu"
            and (before or after)["id"] == after["id"]
            and self.rng.random() < 0.4
        ):
            left_out = self.rng.sample(list(self.values), self.rng.randrange(1, len(self.values)))
            after = {name: value for name, value in after.items() if name not in left_out}
        members |= after or {}
        members |= {f"_before_{name}": value for name, value in (before or {}).items()}
        names = list(members)
        self.rng.shuffle(names)
        between = self.rng.choice([",", ", "])
        return "{" + between.join(f'"{name}":{members[name]}' for name in names) + "}"

    def other_table(self) -> str:
        return '{"_operation":"INSERT","_table":"items","what":{"is":["else"]}}'


def tables_of(entity: EventEntity) -> dict[str, list[str]]:
    """All tables of an entity without what names its commits, with the types of columns; as texts."""
    found = {}
    for table in (*TABLES, *(["__sensitive"] if entity.settings.get("sensitive") else [])):
        frame = entity.project.session.table(f"`{entity.project.schema}`.{entity.name}{table}")
        commits = ("_commit_id", "_superseded_by", "_batch_id")
        names = [name for name in frame.columns if name not in commits]
        found[table] = [
            tuple((name, dict(frame.dtypes)[name]) for name in names),
            *entity.rows(", ".join(f"`{name}`" for name in names), table),
        ]
    return {table: [repr(row) for row in rows] for table, rows in found.items()}


def assert_same(entity: EventEntity, other: EventEntity) -> None:
    found, wanted = tables_of(entity), tables_of(other)
    for table, rows in wanted.items():
        only = [row for row in found[table] if row not in rows]
        missing = [row for row in rows if row not in found[table]]
        assert (only[:3], missing[:3]) == ([], []), table
        assert len(found[table]) == len(rows), table


def by_workers(entity: EventEntity, table: str = "__log") -> list[bool]:
    """Of each file of the log, in the order of their writing, whether the engine wrote it."""
    if entity.project.file_format == "iceberg":
        table = f"spark_catalog.{entity.project.schema}.{entity.name}{table}"
        return [
            "/workers-" in row.file_path
            for row in entity.project.sql(f"select * from {table}.files")
        ]
    folder = Path(entity.project.home) / "warehouse" / f"{entity.project.schema}.db"
    actions: Any = deltalake.DeltaTable(folder / f"{entity.name}{table}").get_add_actions()
    rows = sorted(actions.to_struct_array().to_pylist(), key=lambda row: row["modification_time"])
    return ["workers-" in unquote(row["path"]) for row in rows]


def assert_by_engines(one: EventEntity, other: EventEntity, both: EventEntity, batches: int) -> None:  # fmt: skip
    """The same figures by both engines, each of which loaded what it was to load."""
    assert other.commits(FIGURES) == both.commits(FIGURES) == one.commits(FIGURES)
    assert by_workers(other) == by_workers(other, "__staging") == [True] * batches
    assert not any(by_workers(one))
    assert other.check().success


def entities(project: Any, name: str, columns: dict[str, str] = COLUMNS, key: Any = ("id", "part"), **settings: Any) -> tuple[EventEntity, EventEntity, EventEntity]:  # fmt: skip
    """Entities of the same files: by Spark SQL, by the workers, and by each in turn."""
    made: list[EventEntity] = []
    settings = {"format": "debezium", "table": "orders", **settings}
    for engine in ("spark", "workers", "auto"):
        location = str(made[0].folder) if made else None
        one = EventEntity(
            project, f"{name}_{engine}", columns, list(key),
            engine=engine, **{**settings, **({"location": location} if location else {})},
        )  # fmt: skip
        made.append(one)
    return made[0], made[1], made[2]


def run(*all_of_them: EventEntity, **options: Any) -> Any:
    names = [entity.name for entity in all_of_them]
    return all_of_them[0].project.dbt("run", "--select", *names, **options)


@pytest.mark.parametrize(
    ("seed", "settings"),
    [
        pytest.param(1, {"ignore": ["seen"]}, marks=pytest.mark.slow),
        *(
            pytest.param(seed, settings, marks=pytest.mark.slow)
            for seed in range(2, 12)
            for settings in (
                [{}, {"soft_delete": True, "hash": "sha256"}, {"changed_columns": False}, {"connector": "mysql", "null_keys": "allow"}][seed % 4],
            )
        ),
    ],
)  # fmt: skip
def test_random_batches(module_project: Any, seed: int, settings: dict[str, Any]) -> None:
    """Current, log, history, staging, register and figures of both, and of one that goes by the one and the other in turn."""
    rng = random.Random(seed)
    settings = dict(settings)
    source = Source(rng, settings.pop("connector", "postgresql"), moves=True)
    one, other, both = entities(module_project, f"random_{seed}", **settings)
    lines = source.snapshot(30)
    earlier: list[str] = []
    batches = 2 if seed == 1 else 4
    for number in range(batches):
        both.write(engine=("workers", "spark")[number % 2])
        lines += source.changes(40)
        again = rng.sample(lines, 5) + rng.sample(earlier, min(5, len(earlier)))
        batch = [*lines, *again, source.other_table()]
        one.land(batch[:37])
        one.land(batch[37:])
        run(one, other, both)
        assert_same(other, one)
        assert_same(both, one)
        earlier += lines
        lines = []
    one.land(rng.sample(earlier, 20))  # nothing new
    run(one, other, both)
    assert_same(other, one)
    assert len(one.rows("id", "__log")) > 40 * batches
    assert_by_engines(one, other, both, batches)
    assert set(by_workers(both)) == {True, False}


class Whole(Source):
    """Every image from before has all columns, as it has with REPLICA IDENTITY FULL."""

    def line(self, op: str, before: dict[str, str] | None, after: dict[str, str] | None, mark: str = "false") -> str:  # fmt: skip
        if op == "u" and (before is None or len(before) < len(self.values) + 2):
            before = after
        return super().line(op, self.whole(before), after, mark)

    def whole(self, row: dict[str, str] | None) -> dict[str, str] | None:
        return row and {**dict.fromkeys(self.values, "null"), **row}


class Rows(Source):
    """Rows as an application sends them: all upserts, numbered, some members left out or NULL."""

    def line(self, op: str, before: dict[str, str] | None, after: dict[str, str] | None, mark: str = "false") -> str:  # fmt: skip
        row = after or {**(before or {}), "seen": '"gone"'}
        members = {name: text for name, text in row.items() if text != "null" or self.rng.random() < 0.5}  # fmt: skip
        members["n"] = str(self.number)
        names = list(members)
        self.rng.shuffle(names)
        return "{" + self.rng.choice([",", ", "]).join(f'"{name}":{members[name]}' for name in names) + "}"  # fmt: skip

    def other_table(self) -> str:
        return "null"


SPOILT = {
    "b": ['"yes"', '""', '"tru"'], "ti": ['"x"', '""'], "si": ['"1O"', "true"], "bi": ['"n/a"', "false"], "f": ['"fast"'], "d": ['"1e5x"', '"nan"'],
    "dec": ['"x"', '"EUR 5"'], "big": ['"NULL"'], "day": ['"yesterday"', '"2026-Mar-04"'], "at": ['"now"', '"2026-03-04T12:30:00 CET"'],
}  # fmt: skip
"""Texts that are no value of their column."""
STAGED: dict[str, dict[str, Any]] = {
    "sequence": {"sequence_by": "ti", "on_reject": "quarantine"},
    "sequences": {"sequence_by": ["day", "_event_time"], "on_reject": "quarantine", "on_tie": "reject"},
    "no key": {"key": ()},
    "no key, mysql": {"key": (), "connector": "mysql", "hash": "sha256"},
    "null updates": {"ignore_null_updates": True, "hash": "sha256"},
    "deletes": {"apply_as_deletes": "_operation = 'DELETE' or seen = 'b'", "track_history": {"exclude": ["name"]}},
    "rejects": {"on_reject": "quarantine", "spoils": True},
    "rejects, no key": {"on_reject": "quarantine", "spoils": True, "key": ()},
    "rows": {"format": "rows", "sequence_by": "n", "apply_as_deletes": "seen = 'gone'", "on_reject": "quarantine", "table": None},
    "numbered": {"format": "canonical", "sequence_by": "bi", "on_reject": "quarantine"},
    "sensitive": {"sensitive": ["name", "day"], "on_reject": "quarantine", "spoils": True},
    "sensitive, no key": {"sensitive": ["name"], "key": ()},
    "sensitive, later": {"sensitive": ["name"], "sequence_by": "ti", "soft_delete": True, "on_reject": "quarantine"},
    "nullable key": {"null_keys": "allow", "sequence_by": "ti", "on_reject": "quarantine", "soft_delete": True},
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *(
            pytest.param(name, 1, marks=pytest.mark.turn(0, 1, 2, 3))
            for name in ("sequence", "no key", "rejects", "rows", "sensitive")
        ),
        *(pytest.param(name, seed, marks=pytest.mark.slow) for name in STAGED for seed in (2, 3)),
    ],
)
@pytest.mark.iceberg
def test_read_by_workers(module_project: Any, name: str, seed: int) -> None:
    """What the workers read and the macros stage: settings that need the log, late events, rejects, events of no key."""
    settings = dict(STAGED[name])
    rng = random.Random(seed)
    spoils = settings.pop("spoils", False)
    source: Source = Whole(rng, settings.pop("connector", "postgresql"), moves=bool(settings.get("key", True)))  # fmt: skip
    if settings.get("format") == "rows":
        source = Rows(rng)
        settings["columns"] = {**COLUMNS, "n": "bigint"}
    elif settings.get("format") == "canonical":
        source = Canonical(rng, "offset")
    if spoils:
        source.values = {**VALUES, **{name: [*VALUES[name] * 3, *texts] for name, texts in SPOILT.items()}}  # fmt: skip
    one, other, both = entities(module_project, f"{name.replace(' ', '_').replace(',', '')}_{seed}", **settings)  # fmt: skip
    lines, earlier = source.snapshot(20), list[str]()
    for number in range(3):
        both.write(engine=("workers", "spark")[number % 2])
        lines += source.changes(30)
        late = [lines.pop(rng.randrange(len(lines) // 2, len(lines))) for _ in range(4)]
        again = rng.sample(lines, 5) + rng.sample(earlier, min(5, len(earlier)))
        one.land([*lines, *again, source.other_table()])
        result = run(one, other, both)
        assert f"{other.name}: by Spark SQL" not in result.output
        assert_same(other, one)
        assert_same(both, one)
        earlier += lines
        lines = late
    assert other.commits(FIGURES) == both.commits(FIGURES) == one.commits(FIGURES)
    assert any(by_workers(other))
    assert not any(by_workers(one))
    assert other.check().success


@pytest.mark.turn(1, 3)
def test_types_that_meet(module_project: Any) -> None:
    """Of `rate = 0.1` Spark compares doubles, and DuckDB floats: the expression is Spark's, as the console says."""
    columns = {"id": "int", "rate": "float", "at": "int"}
    settings = {"format": "rows", "sequence_by": "at", "apply_as_deletes": "rate = 0.1"}
    one, other, both = entities(module_project, "meeting", columns, ("id",), table=None, **settings)
    one.land(
        [json.dumps({"id": key, "rate": rate, "at": 1}) for key, rate in enumerate([0.1, 0.5])]
    )
    result = run(one, other, both)
    assert f"{other.name}: by Spark SQL, as DOUBLE and FLOAT meet in rate = 0.1" in result.output
    assert_same(other, one)
    assert one.rows("id") == [(0,), (1,)]


@pytest.mark.parametrize(
    ("form", "seed"),
    [("captured", 1), *(pytest.param(form, seed, marks=pytest.mark.slow) for form in ("captured", "payload", "value") for seed in (2, 3, 4))],
)  # fmt: skip
@pytest.mark.turn(1)
def test_wrapped_events(module_project: Any, form: str, seed: int) -> None:
    """Envelopes within others, compressed, with the schema that alone tells the columns."""
    rng = random.Random(seed)
    source = Wrapped(rng, form)
    told = dict.fromkeys(CONNECT) if form == "value" else {}
    types = {**COLUMNS, "plain_at": "bigint", "plain_ms": "bigint"}
    columns: Any = {name: types[name] for name in told}
    one, other, both = entities(module_project, f"{form}_{seed}", columns, hash="sha256")
    one.folder.mkdir(parents=True)

    def land(number: int, lines: list[str]) -> None:
        with gzip.open(one.folder / f"ev-{number:010}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    lines = [source.wrapped(line) for line in source.snapshot(20)]
    earlier: list[str] = []
    for number in range(2):
        both.write(engine=("workers", "spark")[number % 2])
        lines += [source.wrapped(line) for line in source.changes(30)]
        again = rng.sample(lines, 5) + rng.sample(earlier, min(5, len(earlier)))
        others = [source.wrapped(source.other_table()) for _ in range(3)]
        if form != "payload":
            others.append(source.marker())
        land(2 * number, [*lines, *others])
        land(2 * number + 1, again)
        run(one, other, both)
        assert_same(other, one)
        assert_same(both, one)
        earlier += lines
        lines = []
    assert_by_engines(one, other, both, 2)
    # events that change nothing are logged: current stays as it lies
    before = [module_project.version(entity.name) for entity in (one, other)]
    source.number += 1
    key, row = next(iter(source.rows.items()))
    assert str(key) == row["id"]
    land(4, [source.wrapped(source.line("u", None, row))])
    run(one, other)
    assert_same(other, one)
    assert one.commits("rows_updated, rows_unchanged")[-1] == (0, 1)
    assert [module_project.version(entity.name) for entity in (one, other)] == before


@pytest.mark.parametrize(
    ("known_by", "seed"),
    [("number", 1), *(pytest.param(known_by, seed, marks=pytest.mark.slow) for known_by in ("number", "offset", "content", "line") for seed in (2, 3))],
)  # fmt: skip
@pytest.mark.turn(2)
def test_canonical_events(module_project: Any, known_by: str, seed: int) -> None:
    """Canonical events: the same tables and figures, also where batches go by the one and the other in turn."""
    rng = random.Random(seed)
    source = Canonical(rng, known_by)
    settings: dict[str, Any] = [{}, {"soft_delete": True, "hash": "sha256"}, {"changed_columns": False, "null_keys": "allow"}][seed % 3]  # fmt: skip
    one, other, both = entities(module_project, f"{known_by}_{seed}", format="canonical", **settings)  # fmt: skip
    lines = source.snapshot(20)
    earlier: list[str] = []
    batches = 2 if seed == 1 else 3
    for number in range(batches):
        both.write(engine=("workers", "spark")[number % 2])
        lines += source.changes(40)
        again = [] if known_by == "line" else rng.sample(lines, 5) + rng.sample(earlier, min(5, len(earlier)))  # fmt: skip
        batch = [*lines, *again, source.other_table(), "null", '{"_operation":"COMMIT"}']
        one.land(batch[:37])
        with gzip.open(one.folder / f"events-{number + 1:03}-more.jsonl.gz", "wt", encoding="utf-8") as file:  # fmt: skip
            file.write("".join(f"{line}\n" for line in batch[37:]))
        run(one, other, both)
        assert_same(other, one)
        assert_same(both, one)
        earlier += lines
        lines = []
    assert_by_engines(one, other, both, batches)
    assert set(by_workers(both)) == {True, False}


@pytest.mark.turn(3)
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 4))])
def test_ddl(module_project: Any, seed: int) -> None:
    """What stands between DDL events is read by the workers; what comes behind a batch of them, too."""
    rng = random.Random(seed)
    columns = {"id": "int", "name": "string"}
    policies = {"drop_column": "apply", "change_type": "apply"}
    one, other, _ = entities(
        module_project, f"ddl_{seed}", columns, ("id",), format="canonical", ddl=policies
    )
    types, rows, lines, made = dict(columns), set[int](), list[str](), 0

    def event(operation: str, **members: Any) -> None:
        nonlocal made
        made += 1
        told = {"_operation": operation, "_table": "orders", "_sequence_num": made, **members}
        lines.append(json.dumps(told))

    def change() -> None:
        key = rng.randrange(12)
        if key in rows and rng.random() < 0.2:
            rows.remove(key)
            event("DELETE", id=key)
            return
        values = {name: rng.choice([None, 1, 2]) for name in types if name not in columns}
        rows.add(key)
        event("UPSERT", id=key, name=rng.choice(["a", "b"]), **values)

    def statement(kind: str) -> None:
        previous: dict[str, str] = {}
        extra = [name for name in types if name not in columns]
        if kind == "add" or not extra:
            name = f"n{made}"
            types[name] = "int"
        elif kind == "widen":
            types[rng.choice(extra)] = "bigint"
        elif kind == "drop":
            del types[rng.choice(extra)]
        elif kind == "rename":
            old = rng.choice(extra)
            previous = {f"m{made}": old}
            types[f"m{made}"] = types.pop(old)
        schema = [
            {"name": name, "type": kind, "previous_name": previous.get(name)}
            for name, kind in types.items()
        ]
        event("ALTER_TABLE", _schema=schema)

    kinds = [["add"], [], ["widen", "drop", "rename"], []]
    if seed > 1:
        kinds = [["add"], ["add", "add"], [], ["add", "widen"], ["add", "drop"], ["rename", "add"], []]  # fmt: skip
    for number, statements in enumerate(kinds):
        for kind in [None, *statements]:
            if kind:
                statement(kind)
            for _ in range(12):
                change()
            if rng.random() < 0.5:
                event("DROP_TABLE", _table="items")
                change()
        one.land(lines)
        lines.clear()
        run(one, other)
        assert_same(other, one)
        assert other.commits(FIGURES) == one.commits(FIGURES)
        # what follows on other types and names of what is stored is Spark's
        assert all(by_workers(other)) or number > 1
    assert not any(by_workers(one))
    assert other.check().success


@pytest.mark.slow
def test_many_batches(module_project: Any) -> None:
    """The register of files is joined on the way, and each file is taken once; the rows are those of all files at once."""
    source = Source(random.Random(7))
    at_once, batch_by_batch, _ = entities(module_project, "many")
    at_once.land(source.snapshot(20))
    for _ in range(54):
        run(batch_by_batch)
        at_once.land(source.changes(3))
    run(at_once, batch_by_batch)
    names = ", ".join(f"`{name}`" for name in COLUMNS)
    assert batch_by_batch.rows(names) == at_once.rows(names)
    assert by_workers(batch_by_batch, "__staging") == [True] * 55
    folder = Path(module_project.home) / "warehouse" / f"{module_project.schema}.db"
    register = deltalake.DeltaTable(folder / f"{batch_by_batch.name}__landed")
    assert len(register.file_uris()) == 56 - 50
    assert len(batch_by_batch.rows("_file", "__landed")) == 55
    assert len(batch_by_batch.commits("kind")) == 55
    run(batch_by_batch)
    assert len(batch_by_batch.rows("_file", "__landed")) == 55


@pytest.mark.slow
def test_default_of_a_declared_column(module_project: Any) -> None:
    """A column that the YAML has had before the source got it: the rows that stand get its default."""
    one, other, _ = entities(module_project, "defaulted", {"id": "int", "status": "string"}, ("id",))  # fmt: skip
    source = Source(random.Random(5))
    source.values = {"status": []}

    def line(key: int, status: str | None = None) -> str:
        source.number += 1
        row = {"id": str(key)} | ({"status": json.dumps(status)} if status else {})
        told = {"id": {"type": "int32"}, "status": {"type": "string", "default": "new"}}
        fields = [{"optional": True, **told[name], "field": name} for name in row]
        schema = {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}  # fmt: skip
        return f'{{"schema":{json.dumps(schema)},"payload":{source.line("c", None, row)}}}'

    whys = ["an image has other columns than are declared", "a column with a default is new at the source", None]  # fmt: skip
    batches = [[line(1), line(2)], [line(3, "paid")], [line(4, "sent")]]
    for lines, why in zip(batches, whys, strict=True):
        one.land(lines)
        output = run(one, other).output
        assert ("by Spark SQL" in output) == (why is not None)
        assert why is None or f"by Spark SQL, as {why}" in output
        assert_same(other, one)
    assert other.rows("id, status") == [(1, "new"), (2, "new"), (3, "paid"), (4, "sent")]


@pytest.mark.slow
def test_what_it_declines(module_project: Any) -> None:
    """The same tables as without it, and the reason is told; what comes after goes by it again."""
    columns = {"id": "int", "name": "string", "si": "int"}
    source = Source(random.Random(7))
    one, other, _ = entities(module_project, "declined", columns, ("id",), on_reject="quarantine")

    def event(op: str, before: Any, after: Any) -> str:
        source.number += 1
        texts = [
            row and {name: json.dumps(value) for name, value in zip(columns, row, strict=False)}
            for row in (before, after)
        ]
        return source.line(op, texts[0], texts[1])

    truncated = event("c", None, (1, "a", 1)).replace('"op":"c"', '"op":"t"')
    steps: list[tuple[list[str], str | None]] = [
        ([event("c", None, (1, "a", 1)), event("c", None, (2, "b", 2))], None),
        ([event("u", None, (1, "a", "x"))], None),
        ([event("u", None, (1, "a", "1.5"))], "column si has a value that is a reject, or of a form that is read by Spark alone"),
        ([event("u", None, (1, "aa", 3)), event("d", (2,), None)], None),
        ([event("u", None, (1, "a"))], "an image has other columns than are declared"),
        (["{"], "a file is not read by it (InvalidInputException)"),
        ([event("c", None, (4, "d", 4))], None),
        ([truncated, event("c", None, (3, "c", 3))], "a line is no plain envelope of a change of a row"),
        ([event("u", (3,), (5, "e", 5))], None),
        ([event("u", (4,), (6, "f", 6)), source.line("d", {"id": "5"}, None)], None),
        ([event("c", None, (7, "g", 7))], None),
        ([source.line("r", None, {"id": "8", "name": "null", "si": "1"}, "true")], None),
    ]  # fmt: skip
    for lines, why in steps:
        one.land(lines)
        result = run(one, other)
        told = f"{other.name}: by Spark SQL"
        assert (told in result.output) == (why is not None), why
        assert why is None or f"{told}, as {why}" in result.output
        assert_same(other, one)
        assert other.commits(FIGURES) == one.commits(FIGURES), why
