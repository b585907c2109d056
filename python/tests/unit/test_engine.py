"""The engine in the workers, without Spark: what it reads, what it declines, what it writes."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import itertools
import os
import random
import string
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tidemark import hashing
from tidemark.engine import files, ranges
from tidemark.engine.covers import separator_of, why_not, why_not_columns
from tidemark.engine.header import header_of, local_path, stamp_of
from tidemark.engine.lines import lines_of
from tidemark.engine.load import Column, Load, Target, load_of
from tidemark.engine.room import Room, attempt, connection, memory_limits
from tidemark.engine.sql import _separators_within, hash_sql
from tidemark.engine.task import Outcome, Targets, compare, keep, look_again, write_kept
from tidemark.engine.types import cast_sql, comes_back_sql, known_type, text_sql, unproven_sql
from tidemark.hashing import types as hash_types
from tidemark.hashing.casts import readers_of

from .. import hash_vectors


@pytest.fixture(scope="module")
def db() -> Iterator[Any]:
    connection = duckdb.connect()
    connection.execute("set TimeZone = 'UTC'")
    yield connection
    connection.close()


# -- types: a text that is not declined is read to the value that the reference reads

PROVEN = {
    "string": ["", " ", "x", " x ", "NULL", "ü", "😀", "a\nb", 'a"b', "1,2", "\\"],
    "boolean": ["true", "FALSE", " True "],
    "tinyint": ["0", "-1", "127", "-128", " 7 ", "07"],
    "smallint": ["32767", "-32768", "0"],
    "int": ["2147483647", "-2147483648", "0", "-0", "000000007"],
    "bigint": ["9223372036854775807", "-9223372036854775808", "0", "123", "  12  "],
    "float": ["0", "1.5", "0.1", "-3.25e10", "16777217", "123456.789"],
    "double": ["0", "0.1", "1.5", "432.5", "-1e10", "123456789012345.12345", "1e-99", "9007199254740993",
               "4.9e-50", "0.30000000000000004", "100000000000000e99", "999999999999999.9", " 1.5 ", "0.0"],
    "decimal(12,2)": ["0", "1", "-1.5", " 1.5 ", "1.50", "-10.00", "9999999999.99", "0.00", "100", "-0.5"],
    "decimal(38,0)": ["0", "99999999999999999999999999999999999999", "-7"],
    "decimal(7,6)": ["0.5", "-0.000001", "9.999999"],
    "date": ["2026-03-04", "  2026-03-04 ", "1600-01-01", "9999-12-31", "2024-02-29"],
    "timestamp": ["2026-03-04 12:30:00", "2026-03-04T12:30:00.5", "2026-03-04 00:00:00.123456Z", "1999-12-31 23:59:59",
                  "1600-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2026-03-04 12:30:00.120000"],
}  # fmt: skip
DECLINED = {
    "string": ["a\rb", "\0", "\x01NULL\x01"],
    "boolean": ["t", "yes", "1", "wahr", "tRUE"],
    "tinyint": ["128", "1.5", "1e1", "x", "0x1", "1_0"],
    "smallint": ["32768", "+1", "1."],
    "int": ["2147483648", "1.0", "\t1", "\uff11", "--1", "1 1", "Infinity"],
    "bigint": ["9223372036854775808", "1e3", "12L"],
    "float": ["1e99", "NaN", "1f", "0x1p3"],
    "double": ["NaN", "-0", "-0.0", "Infinity", "1d", "1e400", "1e-400", "1,5", "1e", "."],
    "decimal(12,2)": ["1.005", "10000000000", "1e2", "x"],
    "decimal(38,0)": ["100000000000000000000000000000000000000", "1.5"],
    "decimal(7,6)": [".5", "10.5", "0.0000001"],
    "date": ["1599-12-31", "10000-01-01", "2026-02-30", "2026-3-4", "1582-10-10", "0000-01-01", "2026-03-04 00:00:00", "today", "epoch", "infinity"],
    "timestamp": ["1599-12-31 23:59:59", "10000-01-01 00:00:00", "2026-03-04 24:00:00", "2026-03-04 12:30:00+02:00", "2026-03-04", "2026-03-04 12:30", "now",
                  "2026-02-30 00:00:00", "2026-03-04 12:30:00.1234567", "2026-03-04 23:59:60"],
}  # fmt: skip


def judged(db: Any, text: str | None, name: str) -> tuple[bool, str | None]:
    """Whether the engine declines a text, and the canonical text of what it reads."""
    value = cast_sql("t", name)
    found = db.execute(
        f"select ({unproven_sql('t', 'v', name)}), {text_sql('v', name)} from (select t, {value} as v from (select ? as t))",
        [text],
    ).fetchone()
    return bool(found[0]), found[1]


def reference(text: str, name: str) -> str | None:
    """The canonical text of what Tidemark's Python implementation reads of a text; its tests hold it to Spark."""
    if name != "string" and not text.strip(" "):
        return None
    ((_, read),) = readers_of({"c": hash_types.parse_type(name)}, frozenset(), "UTC")
    return hashing.canonical_text(read(text) if read else text, name)


@pytest.mark.parametrize("name", PROVEN)
def test_texts__read_alike(db: Any, name: str) -> None:
    for text in PROVEN[name]:
        assert judged(db, text, name) == (False, reference(text, name)), text
    for blank in (None, *(() if name == "string" else ("", "  "))):
        assert judged(db, blank, name) == (False, None)


@pytest.mark.parametrize("name", DECLINED)
def test_texts__declined(db: Any, name: str) -> None:
    for text in DECLINED[name]:
        assert judged(db, text, name)[0], text


@pytest.mark.parametrize("name", [name for name in PROVEN if name != "string"])
def test_texts__random(db: Any, name: str) -> None:
    """Whatever looks like a value: declined, or read alike."""
    rng = random.Random(7)
    taken = 0
    for _ in range(400):
        text = random_text(rng, name)
        declined, found = judged(db, text, name)
        if not declined:
            taken += 1
            assert found == reference(text, name), text
    assert taken > 50


@pytest.mark.parametrize("name", [name for name in PROVEN if name != "string"])
def test_texts__come_back(db: Any, name: str) -> None:
    """What is told without the pattern would be told by it."""
    rng = random.Random(11)
    known = known_type(name)
    assert known is not None
    taken = 0
    texts = [random_text(rng, name) for _ in range(400)]
    if name == "double":
        texts += [repr(rng.uniform(-10, 10) * 10 ** rng.randrange(-20, 20)) for _ in range(400)]
    others = [text for each in (*PROVEN.values(), *DECLINED.values()) for text in each]
    for text in (*texts, *others):
        value = cast_sql("t", name)
        told, matches = db.execute(
            f"select {comes_back_sql('t', 'v', name)}, regexp_full_match(t, '{known.texts}') "
            f"from (select t, {value} as v from (select ? as t))",
            [text],
        ).fetchone()
        if told:
            taken += 1
            assert matches or (name.endswith("int") and text == str(int(text))), text
    assert taken > (1 if name == "boolean" else 20)


def random_text(rng: random.Random, name: str) -> str:
    text = rng.choice(PROVEN[name])
    kind = rng.random()
    if kind < 0.3 and name in ("float", "double"):
        return repr(rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20))
    if kind < 0.6 and name not in ("boolean", "date", "timestamp"):
        digits = "".join(rng.choices("0123456789", k=rng.randrange(1, 12)))
        return (
            rng.choice(["", "-"])
            + digits
            + (f".{rng.randrange(100)}" if rng.random() < 0.4 else "")
        )
    if kind < 0.6 and name in ("date", "timestamp"):
        day = dt.date(1600, 1, 1) + dt.timedelta(days=rng.randrange(3_000_000))
        return f"{day}" + (
            f" {rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
            if name == "timestamp"
            else ""
        )
    if kind < 0.8:
        at = rng.randrange(len(text) + 1)
        return text[:at] + rng.choice(string.printable[:95]) + text[at:]
    return text


def test_known_types() -> None:
    assert known_type("decimal(20,4)") is not None
    for name in (
        "decimal(20,7)",
        "binary",
        "array<int>",
        "map<string,int>",
        "char(3)",
        "variant",
    ):
        assert known_type(name) is None


def test_hash_vectors(db: Any) -> None:
    """Every shared vector of types that the engine knows, both hashes."""
    tried = 0
    for case in hash_vectors.load():
        columns = case["columns"]
        if any(known_type(column["type"]) is None or column.get("sensitive") for column in columns):
            continue
        values = [hash_vectors.value_of(column["value"], column["type"]) for column in columns]
        if any(
            isinstance(value, float)
            and (value != value or abs(value) == float("inf") or 0 < abs(value) < 2.3e-308)
            for value in values
        ):
            continue  # no text of a file that the engine takes is one
        load = a_load(
            columns=tuple(
                Column(c["name"], c["type"], place, False) for place, c in enumerate(columns)
            )
        )
        names = tuple(column["name"] for column in columns)
        terms = "".join(
            f", cast(? as {known_type(column['type']).duck}) as c{place}"
            for place, column in enumerate(columns)  # type: ignore[union-attr]
        )
        for algorithm in ("md5", "sha256"):
            asked = hash_sql(replace(load, hash=algorithm), names)
            found = db.execute(
                f"select {asked} from (select 1{terms})", [as_text(v) for v in values]
            ).fetchone()[0]
            assert found == case[algorithm], case["name"]
        tried += 1
    assert tried >= 20


def as_text(value: Any) -> Any:
    """A parameter of which DuckDB makes the value that it is."""
    return str(value) if isinstance(value, decimal.Decimal) else value


# -- lines: what is not as every reader reads it


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("a,b\n1,2\n", None),
        ("a,b\r\n1,2\r\n", None),
        ('a,b\n1,"x, ""y"""\n', None),
        ('a,b\n1,"x ""y"" , ""z"""\n', None),
        ('a,b\n1,"x, ""y"\n', None),
        ('a,b\n1, "x"\n', "has blanks around quotes"),
        ('a,b\n1, ""\n', "has blanks around quotes"),
        ('a,b\n1, """x"\n', "has blanks around quotes"),
        ('a,b\n1,"" \n', "has blanks around quotes"),
        ('a,b\n1,"x""" \n', "has blanks around quotes"),
        ('a,b\n "x",y\n', "has blanks around quotes"),
        ('a,b\n1,"x" \n', "has blanks around quotes"),
        ('a,b\n1,"x"\t', "has blanks around quotes"),
        ("a,b\n1,x\ry\n", "has a carriage return that ends no line"),
        ("a,b\r1,2\r", "has a carriage return that ends no line"),
        # the first line tells Spark's reader how lines end: the last field of the others would be "\r"
        ("a,b\n1,\r\n", "has lines with and without carriage returns at their ends"),
        ("a,b\n\r\n1,x\n", "has lines with and without carriage returns at their ends"),
        ("a,b\r\n1,\n", None),
    ],
)  # fmt: skip
def test_lines(tmp_path: Path, text: str, doubt: str | None) -> None:
    for name, data in (("t.csv", text.encode()), ("t.csv.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(data)
        found = lines_of((str(tmp_path / name),), ",")
        assert found.doubt == doubt
        assert found.has_quotes == ('"' in text)


def test_lines__over_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is doubtful is seen wherever a chunk ends."""
    text = 'a,b\r\n1,"x"   \r\n2,y\r\n'
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    for size in range(1, len(text) + 1):
        monkeypatch.setattr("tidemark.engine.lines._CHUNK", size)
        assert lines_of((str(path),), ",").doubt == "has blanks around quotes", size
    path.write_bytes(text.replace("   ", "").encode())
    mixed = tmp_path / "mixed.csv"
    mixed.write_bytes(b"a,b\n1,x\n2,\r\n")
    for size in range(1, len(text) + 1):
        monkeypatch.setattr("tidemark.engine.lines._CHUNK", size)
        assert "with and without" in str(lines_of((str(mixed),), ",").doubt), size
        assert (lines_of((str(path),), ",").separators, lines_of((str(path),), ",").doubt) == (
            3,
            None,
        ), size


# -- header


def test_header(tmp_path: Path) -> None:
    def of(*texts: str) -> dict[str, Any]:
        files = []
        for number, text in enumerate(texts):
            path = tmp_path / f"{number}.csv"
            path.write_text(text, newline="")
            files.append({"path": f"file:{path}", "size": len(text)})
        return header_of(files, ",")

    assert of("id,a name\r\n1,2\n") == {
        "paths": [str(tmp_path / "0.csv")],
        "stamps": [list(stamp_of(str(tmp_path / "0.csv")))],
        "names": ["id", "a name"],
        "types": ["string", "string"],
    }
    assert of("id,b\n1,2\n", "id,b\n")["names"] == ["id", "b"]
    assert of('"id","a name"\n1,2\n')["names"] == ["id", "a name"]
    assert of('id,"b\n"\n')["why_not"] == "its header cannot be read"
    for texts, why in {
        ("id,b\n", "id,c\n"): "its files have different headers",
        ("",): "the first line of a file cannot be read",
        ("id\n",): "its header has one name, or one twice",
        ("id,ID\n",): "its header has one name, or one twice",
        ('id,"b""c"\n',): "its header has names with quotes in them, blanks at an end, or none",
        ("id,\n",): "its header has names with quotes in them, blanks at an end, or none",
        ("id, b\n",): "its header has names with quotes in them, blanks at an end, or none",
        ("\ufeffid,b\n",): "its header has names with quotes in them, blanks at an end, or none",
        ("id,_Malformed\n",): "its header has a name that is Tidemark's own",
        ("id,_tidemark_arrived_1\n",): "its header has a name that is Tidemark's own",
    }.items():
        assert of(*texts) == {"why_not": why}
    assert header_of([{"path": "s3a://lake/a.csv"}], ",") == {
        "why_not": "its files are not on a local file system"
    }
    whole = of("id,b\n")["paths"][0]
    assert header_of([{"path": whole, "depth": 1}], ",")["names"] == ["id", "b"]
    assert header_of([{"path": whole, "depth": 2}], ",") == {
        "why_not": "its files lie in folders of the folder"
    }
    for path in ("file:/_a.csv", "file:/b/.a.csv", "file:/b/a.csv._COPYING_"):
        assert "begins with _" in header_of([{"path": path}], ",")["why_not"]
    assert "why_not" in header_of([{"path": "file:/a*.csv"}], ",")
    assert "why_not" in header_of([{"path": "file:/a.csv.zst"}], ",")
    assert (local_path("file:///a b"), local_path("/c"), local_path("hdfs://x/y")) == (
        "/a b",
        "/c",
        None,
    )


# -- what is covered

CFG: dict[str, Any] = {
    "extract": "full", "format": "csv", "file_format": "delta", "on_reject": "fail", "write_mode": "copy_on_write",
    "stored_hashes": False, "sensitive": [], "effective_from": None, "partition_by": [], "cluster_by": [],
    "table_properties": {}, "hash": "md5", "location": "data/{business_date}.csv", "options": {},
    "changed_columns": True, "soft_delete": False, "tag_unchanged": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("extract", "delta", None),
        ("format", "json", None),
        ("format", "avro", "format is avro"),
        ("format", "parquet", None),
        ("file_format", "parquet", "file_format is parquet"),
        ("file_format", "iceberg", "file_format is iceberg"),
        ("on_reject", "quarantine", None),
        ("write_mode", "merge_on_read", "write_mode is merge_on_read"),
        ("stored_hashes", True, "stored_hashes is true"),
        ("sensitive", ["a"], "it has sensitive"),
        ("effective_from", "a", None),
        ("partition_by", ["a"], "it has partition_by"),
        ("cluster_by", ["a"], "it has liquid_clustered_by"),
        ("table_properties", {"a": "b"}, None),
        ("location", None, "it has no location"),
        ("options", {"header": False}, "options has header: False"),
        ("options", {"nullValue": "NA"}, "options has nullValue: NA"),
        ("options", {"encoding": "latin1"}, "options has encoding: latin1"),
        ("options", {"sep": "||"}, "options has sep: ||"),
        ("options", {"dateFormat": "dd.MM.yyyy"}, "options has dateFormat: dd.MM.yyyy"),
        ("options", {"multiLine": "false"}, "options has multiLine: false"),
        ("options", {"sep": "\\t", "Header": True, "charset": "UTF-8"}, None),
        ("hash", "sha256", None),
        ("tag_unchanged", True, None),
    ],
)  # fmt: skip
def test_why_not(setting: str, value: Any, why: str | None) -> None:
    assert why_not({**CFG, setting: value}) == why


def test_why_not__options_of_parquet() -> None:
    cfg = {**CFG, "format": "parquet", "options": {"mergeSchema": True}}
    assert why_not(cfg) == "options has mergeSchema: True"


def test_why_not__columns() -> None:
    column = {
        "name": "c",
        "type": "int",
        "source_name": "c",
        "source_type": "string",
        "compare_as": None,
    }
    assert why_not_columns([column], "UTC") is None
    assert why_not_columns([{**column, "type": "timestamp"}], "UTC") is None
    for changed, why in {
        ("type", "binary"): "column c is binary",
        ("source_type", "bigint"): "column c is int, and comes as bigint",
        ("type", "timestamp"): "column c is timestamp, and the session's time zone Europe/Zurich",
    }.items():
        assert why_not_columns([{**column, changed[0]: changed[1]}], "Europe/Zurich") == why


def test_separator() -> None:
    assert [
        separator_of(options) for options in ({}, {"sep": ";"}, {"Delimiter": "|"}, {"sep": "\\t"})
    ] == [",", ";", "|", "\t"]


# -- a load: compared with a replay in Python

FIELDS: dict[str, tuple[str, int | None]] = {
    name: (f"col-{number}", number)
    for number, name in enumerate(
        ("id", "part", "name", "n", "seen", "_key_hash", "_row_hash", "_operation", "_eff_start_date", "_business_date",
         "_changed_columns", "_commit_id", "_superseded_by"), 1)
}  # fmt: skip
PLAIN: dict[str, tuple[str, int | None]] = {name: (name, None) for name in FIELDS}
"""Those of a table that maps no names."""


def a_load(**changes: Any) -> Load:
    load = Load(
        extract="full", format="csv", files=(), stamps=(), separator=",", fields=("id", "part", "name", "n", "seen"),
        columns=(
            Column("id", "int", 0, True), Column("part", "string", 1, True), Column("name", "string", 2, False),
            Column("n", "double", 3, False), Column("seen", "string", 4, False),
        ),
        keys=("id", "part"), compared=("name", "n"), ignored=("seen",), hash="md5", changed_columns=True,
        soft_delete=False, tag_unchanged=False, business_date="2026-01-01", commit_id=1,
    )  # fmt: skip
    return replace(load, **changes)


def read_now(load: Load) -> Load:
    """The load of files as they are."""
    return replace(load, stamps=tuple(stamp_of(file) for file in load.files))


def test_attempts_at_a_task__have_folders_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/a,{tmp_path}/b")
    (tmp_path / "a").mkdir()
    for room in (Room(1, str(tmp_path / "engine-1")), Room(1, None, 64 << 20)):
        with connection(room) as one, connection(room) as other:
            asked = "select current_setting('temp_directory')"
            folders = [Path(db.execute(asked).fetchone()[0]) for db in (one, other)]
            assert len({*folders}) == 2 and all(folder.is_dir() for folder in folders)
            assert {folder.parent for folder in folders} == {
                tmp_path / ("a" if room.folder is None else "")
            }
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_machine_in_another_time_zone(tmp_path: Path) -> None:
    """Nothing that a task reads goes by the zone of its machine, on a cursor of its own neither."""
    asked = "select epoch_us(cast('2026-03-04 12:00:00' as timestamp with time zone))"
    code = f"""
from tidemark.engine.room import Room, connection
with connection(Room(1, {str(tmp_path / "engine")!r})) as db:
    print({{db.execute({asked!r}).fetchone(), db.cursor().execute({asked!r}).fetchone()}})
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TZ": "America/New_York"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "{(1772625600000000,)}"


class Lake:
    """Log and current of an entity as folders, and what the engine wrote into them."""

    def __init__(self, folder: Path, fields: dict[str, tuple[str, int | None]] = FIELDS) -> None:
        self.folder = folder
        self.fields = fields
        self.log = Target(str(folder / "log"), fields)
        self.current = Target(str(folder / "current"), fields)
        self.supplied: Target | None = None
        for target in (self.log, self.current):
            Path(target.folder).mkdir()

    def room(self) -> Room:
        return Room(2, str(self.folder / "tmp"))

    def targets(self) -> Targets:
        return Targets(self.log, self.current, self.supplied)

    def extract(self, day: str, rows: list[dict[str, Any]], **changes: Any) -> Load:
        path = self.folder / f"{day}.csv"
        lines = ["id,part,name,n,seen"]
        for row in rows:
            lines.append(
                ",".join(quoted(row[name]) for name in ("id", "part", "name", "n", "seen"))
            )
        path.write_text("\n".join(lines) + "\n", newline="")
        return read_now(
            a_load(files=(str(path),), business_date=day, commit_id=int(day[-2:]), **changes)
        )

    def first(self, load: Load) -> Outcome:
        kept = keep(load, str(self.folder / "kept"), self.room())
        assert kept.declined is None, kept.declined
        assert kept.figures is not None and kept.kept is not None
        written = write_kept(load, kept.kept, self.targets(), self.room())
        assert written.figures is not None
        # of copies only keep() knows
        assert written.figures | {"rows_read": 0, "rows_duplicate": 0} == kept.figures | {
            "rows_read": 0,
            "rows_duplicate": 0,
        }
        return self.taken(replace(written, figures=kept.figures))

    def next(self, load: Load) -> Outcome:
        outcome = compare(load, self.targets(), self.room())
        return self.taken(outcome)

    def taken(self, outcome: Outcome) -> Outcome:
        if outcome.current is not None:
            written = (str(Path(self.current.folder, file.path)) for file in outcome.current)
            replaced = self.current.files if outcome.replaced is None else outcome.replaced
            assert set(replaced) <= set(self.current.files)
            stay = (file for file in self.current.files if file not in replaced)
            self.current = replace(self.current, files=(*stay, *written))
        return outcome

    def rows(self, files: list[str]) -> list[dict[str, Any]]:
        if not files:
            return []
        names = {field: name for name, (field, _) in self.fields.items()}
        found = duckdb.sql(
            f"select * from read_parquet({files}, union_by_name = true, hive_partitioning = false)"
        )
        columns = [names[column] for column in found.columns]
        return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]

    def shown(self) -> dict[tuple[int, str], Any]:
        rows = self.rows(list(self.current.files))
        assert len({row["_key_hash"] for row in rows}) == len(rows)
        return {
            (row["id"], row["part"]): (
                row["name"],
                row["n"],
                row["seen"],
                row["_operation"],
                str(row["_eff_start_date"]),
            )
            for row in rows
        }

    def logged(self, outcome: Outcome) -> dict[tuple[int, str], Any]:
        files = [str(Path(self.log.folder, file.path)) for file in outcome.log]
        rows = self.rows(files)
        assert sum(file.rows for file in outcome.log) == len(rows)
        return {
            (row["id"], row["part"]): (
                row["_operation"],
                row["name"],
                row["n"],
                row["seen"],
                row["_changed_columns"],
            )
            for row in rows
        }


def small_ranges(monkeypatch: pytest.MonkeyPatch, rows: int = 3) -> None:
    """Have current in several files where there are a few rows."""
    monkeypatch.setattr(ranges, "ROWS_OF_ONE_FILE", 2 * rows)
    monkeypatch.setattr(ranges, "ROWS_OF_A_RANGE", rows)


def quoted(value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if text == "" or set(text) & set(',"\n') else text


def random_row(rng: random.Random, key: tuple[int, str]) -> dict[str, Any]:
    return {
        "id": key[0], "part": key[1],
        "name": rng.choice([None, "", "x", 'say "hi", twice', "two\nlines", "é", " blank ", "NULL"]),
        "n": rng.choice([None, 0.0, 1.5, -2.25, 1e20]),
        "seen": rng.choice([None, "", "a", "b"]),
    }  # fmt: skip


@pytest.mark.parametrize("extract", ["full", "delta"])
@pytest.mark.parametrize("told_by_hash", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_random_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, told_by_hash: bool, extract: str
) -> None:
    """Told by hash: all columns are compared, so that what came is written for what stood.

    Of the later seeds current is in ranges.
    """
    rng = random.Random(seed)
    if seed > 2:
        small_ranges(monkeypatch)
    settings = {
        "extract": extract,
        "soft_delete": seed % 2 == 1,
        "tag_unchanged": seed % 3 == 1,
        "changed_columns": seed != 5,
    }
    compared = ["name", "n"]
    if told_by_hash:
        compared.append("seen")
        decimal_n = Column("n", "decimal(23,2)", 3, False)
        columns = tuple(decimal_n if column.name == "n" else column for column in a_load().columns)
        settings |= {"compared": tuple(compared), "ignored": (), "columns": columns}
    lake = Lake(tmp_path, FIELDS if seed % 2 else PLAIN)
    if extract == "delta":
        lake.supplied = Target(str(tmp_path / "supplied"), lake.fields)
        Path(lake.supplied.folder).mkdir()
    keys = [(number, part) for number in range(12) for part in ("a", "b")]
    state: dict[tuple[int, str], Any] = {}
    for number in range(5):
        day = f"2026-01-0{number + 1}"
        rows = {key: random_row(rng, key) for key in keys if rng.random() < 0.6}
        if told_by_hash:
            rows = {
                key: dict(row, n=7.25 if row["n"] == 1e20 else row["n"])
                for key, row in rows.items()
            }
            if number == 4:
                rows = {}  # nothing comes: a full extract deletes all
        for key, row in list(rows.items()):  # most come as they were, but for what is ignored
            if key in state and state[key][3] != "D" and rng.random() < 0.5:
                row.update(zip(compared, state[key], strict=False))
        copies = [
            dict(row) if told_by_hash else dict(row, seen="z")
            for row in rows.values()
            if rng.random() < 0.2
        ]
        load = lake.extract(
            day, rng.sample([*rows.values(), *copies], len(rows) + len(copies)), **settings
        )
        outcome = lake.next(load) if number else lake.first(load)
        assert outcome.declined is None, outcome.declined

        logged: dict[tuple[int, str], Any] = {}
        for key, row in rows.items():
            before = state.get(key)
            seen = (
                "z"
                if not told_by_hash
                and any(copy["id"] == key[0] and copy["part"] == key[1] for copy in copies)
                else row["seen"]
            )
            if before is None or before[3] == "D":
                logged[key] = ("I", row["name"], row["n"], seen, None)
            elif changed := [name for at, name in enumerate(compared) if before[at] != row[name]]:
                logged[key] = (
                    "U",
                    row["name"],
                    row["n"],
                    seen,
                    changed if settings["changed_columns"] else None,
                )
        for key, before in state.items():
            if extract == "full" and key not in rows and before[3] != "D":
                logged[key] = ("D", *before[:3], None)
        assert lake.logged(outcome) == logged
        if settings["tag_unchanged"]:
            state = {
                key: (
                    *row[:3],
                    row[3] if row[3] == "D" else "N" if key in rows or extract == "full" else "X",
                    row[4],
                )
                for key, row in state.items()
            }
        for key, (operation, name, n, seen, _) in logged.items():
            state[key] = (name, n, seen, operation, day)
        if not settings["soft_delete"]:
            state = {key: row for key, row in state.items() if row[3] != "D"}
        assert lake.shown() == state
        if lake.supplied:
            files = [str(Path(lake.supplied.folder, file.path)) for file in outcome.supplied]
            found = lake.rows(files)
            hashes = {
                row["_key_hash"]: (row["id"], row["part"])
                for row in lake.rows(list(lake.current.files))
            }
            assert {hashes[row["_key_hash"]] for row in found} == set(rows) and len(found) == len(
                rows
            )
            dated = {(str(row["_business_date"]), row["_commit_id"]) for row in found}
            assert dated == ({(day, number + 1)} if rows else set())
        else:
            assert outcome.supplied == ()
        figures = outcome.figures or {}
        absent = sum(key not in rows and row[3] != "D" for key, row in state.items())
        assert figures["rows_not_supplied"] == (absent if extract == "delta" else 0)
        by = {operation: sum(row[0] == operation for row in logged.values()) for operation in "IUD"}
        assert (
            figures["rows_inserted"],
            figures["rows_updated"],
            figures["rows_deleted"],
        ) == tuple(by.values())
        assert figures["rows_read"] == len(rows) + len(copies)
        assert figures["rows_duplicate"] == len(copies)
        assert figures["rows_unchanged"] == len(rows) - by["I"] - by["U"]
        assert not (tmp_path / "tmp").exists()


ROWS = [{"id": 1, "part": "a", "name": "x", "n": 1.5, "seen": None}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,a,x\n", "a file is not read by it (InvalidInputException)"),
        ("1,a,x,1.5,s,\n", "a line has more fields than the header"),
        ('1,a,"x,y",1.5,s,\n', "a line has more fields than the header"),
        ("x,a,x,1.5,s\n", "column id has a value that is a reject, or of a form that is read by Spark alone"),
        (",a,x,1.5,s\n", "column id has a value that is a reject, or of a form that is read by Spark alone"),
        ("1,a,x,NaN,s\n", "column n has a value that is a reject, or of a form that is read by Spark alone"),
        ("1,a,x,1.5,s\n1,a,y,1.5,s\n", "a key came with different values"),
        ("1,a,\udcff,1.5,s\n", "a file is not read by it (InvalidInputException)"),
        ('1,a,"x,1.5,s\n', "a file is not read by it (InvalidInputException)"),
        ('1,a, "x",1.5,s\n', "a file has blanks around quotes"),
    ],
)  # fmt: skip
def test_declined(tmp_path: Path, text: str, why: str) -> None:
    """First load or later one: the same, and nothing is written."""
    lake = Lake(tmp_path)
    load = lake.extract("2026-01-02", ROWS)
    Path(load.files[0]).write_bytes(
        b"id,part,name,n,seen\n" + text.encode("utf-8", "surrogateescape")
    )
    load = read_now(load)
    assert keep(load, str(tmp_path / "kept"), lake.room()).declined == why
    lake.first(lake.extract("2026-01-01", ROWS))
    before = sorted(tmp_path.rglob("*.parquet"))
    assert lake.next(load).declined == why
    assert sorted(tmp_path.rglob("*.parquet")) == before


def test_file_changes_after_its_header_was_read(tmp_path: Path) -> None:
    """Other columns may stand at the places that the header told."""
    lake = Lake(tmp_path)
    load = lake.extract("2026-01-01", ROWS)
    Path(load.files[0]).write_text("id,name,part,n,seen\n1,x,a,1.5,\n2,x,a,1.5,\n")
    declined = keep(load, str(tmp_path / "kept"), lake.room()).declined
    assert declined == "a file was written while it was read"


def test_folders_that_look_like_partitions(tmp_path: Path) -> None:
    """DuckDB would take `c0=9` of a path for a column of that name."""
    folder = tmp_path / "c0=9" / "kh=z" / "f1=y" / "col-1=8"
    folder.mkdir(parents=True)
    lake = Lake(folder)
    lake.first(lake.extract("2026-01-01", ROWS))
    lake.next(lake.extract("2026-01-02", [*ROWS, dict(ROWS[0], id=2)]))
    assert sorted(lake.shown()) == [(1, "a"), (2, "a")]


def test_nothing_new__writes_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.first(lake.extract("2026-01-01", ROWS))
    outcome = lake.next(lake.extract("2026-01-02", ROWS))
    assert (outcome.log, outcome.current) == ((), None)
    assert outcome.figures == {
        "rows_read": 1, "rows_inserted": 0, "rows_updated": 0, "rows_deleted": 0, "rows_unchanged": 1, "rows_not_supplied": 0,
        "rows_rejected": 0, "rows_duplicate": 0, "existing": 1,
    }  # fmt: skip


def test_last_date_again__writes_nothing(tmp_path: Path) -> None:
    """The figures are those of the date, by what stood before it."""
    lake = Lake(tmp_path)
    lake.first(lake.extract("2026-01-01", [dict(ROWS[0], id=key) for key in (1, 2, 3, 4)]))
    rows = [dict(ROWS[0], seen="b"), dict(ROWS[0], id=2, name="y"), dict(ROWS[0], id=3), dict(ROWS[0], id=5)]  # fmt: skip
    second = lake.extract("2026-01-02", rows)
    outcome = lake.next(second)
    files = tuple(str(Path(lake.log.folder, file.path)) for file in outcome.log)
    targets = replace(lake.targets(), log=replace(lake.log, files=files))
    again = look_again(second, targets, lake.room())
    assert again == Outcome(figures=outcome.figures)
    assert outcome.figures is not None and outcome.figures["rows_updated"] == 1
    for other in (rows[1:], [*rows, dict(ROWS[0], id=4)], [dict(rows[0], name="z"), *rows[1:]]):
        again = look_again(lake.extract("2026-01-02", other), targets, lake.room())
        assert again.declined == "the last date comes again, and not as it was"
    again = look_again(
        lake.extract("2026-01-02", rows, changed_columns=False), targets, lake.room()
    )
    assert again.declined == "changed_columns is not as it was when the last date came"


def test_column_comes_later(tmp_path: Path) -> None:
    """A column that the files of current lack is NULL in their rows."""
    lake = Lake(tmp_path)
    narrow = a_load().columns[:3] + a_load().columns[4:]
    load = lake.extract("2026-01-01", ROWS, columns=narrow, compared=("name",))
    outcome = lake.first(load)
    assert outcome.figures is not None and outcome.figures["rows_inserted"] == 1
    outcome = lake.next(lake.extract("2026-01-02", ROWS))
    assert lake.logged(outcome) == {(1, "a"): ("U", "x", 1.5, None, ["n"])}


def test_statistics(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    outcome = lake.first(
        lake.extract("2026-01-01", [dict(ROWS[0], id=number) for number in range(50)])
    )
    (file,) = outcome.log
    hashes = sorted(row["_key_hash"] for row in lake.rows([str(Path(lake.log.folder, file.path))]))
    key, commit, superseded = (
        FIELDS[name][0] for name in ("_key_hash", "_commit_id", "_superseded_by")
    )
    assert file.statistics == {
        "numRecords": 50,
        "minValues": {key: hashes[0], commit: 1},
        "maxValues": {key: hashes[-1], commit: 1},
        "nullCount": {key: 0, commit: 0, superseded: 50},
    }
    assert file.path.startswith("_business_date=2026-01-01/workers-")
    assert file.size == Path(lake.log.folder, file.path).stat().st_size


def test_load_of() -> None:
    columns: list[Mapping[str, Any]] = [
        {
            "name": "ID",
            "type": "int",
            "source_name": "id",
            "source_type": "bigint",
            "not_null": True,
        },
        {
            "name": "gone",
            "type": "string",
            "source_name": None,
            "source_type": None,
            "not_null": False,
        },
    ]
    roles = {"columns": columns, "keys": columns[:1], "compared": [], "ignored": columns[1:]}
    load = load_of(
        CFG, roles, {"business_date": "2026-01-01", "commit_id": 7},
        {"files": ["/a.csv"], "stamps": [[7, 8]], "separator": ";", "fields": ["x", "Id"]},
    )  # fmt: skip
    assert load.columns == (
        Column("ID", "int", 1, True, "bigint"),
        Column("gone", "string", None, False),
    )
    assert (load.keys, load.compared, load.ignored, load.width, load.commit_id) == (
        ("ID",),
        (),
        ("gone",),
        2,
        7,
    )
    assert load.stamps == ((7, 8),)


@pytest.mark.parametrize("extract", ["full", "delta"])
def test_few_changes__write_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extract: str
) -> None:
    """Each file has a range of hashes; a load writes those anew that have its keys, or get them."""
    small_ranges(monkeypatch, 6)
    lake = Lake(tmp_path)
    rows = {number: dict(ROWS[0], id=number) for number in range(150)}

    def files() -> dict[str, tuple[str, str, int]]:
        read = f"read_parquet({list(lake.current.files)}, filename = true)"
        found = duckdb.sql(
            f'select filename, min("{FIELDS["_key_hash"][0]}"), max("{FIELDS["_key_hash"][0]}"), count(*) from {read} group by all'
        )
        return {path: (least, greatest, count) for path, least, greatest, count in found.fetchall()}

    lake.first(lake.extract("2026-01-01", list(rows.values())))
    assert len(files()) == 24
    rng = random.Random(3)
    kept = []
    for number in range(2, 25):
        before = files()
        changed = {key: dict(rows[key], name=f"n{number}") for key in rng.sample(sorted(rows), 2)}
        changed[1000 + number] = dict(ROWS[0], id=1000 + number)
        rows |= changed
        if extract == "full":
            del rows[rng.choice(sorted(rows.keys() - changed.keys()))]
        day = f"2026-01-{number:02}"
        outcome = lake.next(
            lake.extract(
                day, list((rows if extract == "full" else changed).values()), extract=extract
            )
        )
        assert outcome.declined is None
        assert {id: one[0] for (id, _), one in lake.shown().items()} == {
            id: row["name"] for id, row in rows.items()
        }
        if outcome.replaced is None:
            continue
        kept.append(len(before.keys() & files().keys()))
        assert before.keys() - files().keys() == set(outcome.replaced)
        assert len(outcome.replaced) <= 4
        assert len(outcome.current or ()) <= 4
        bounds = sorted(files().values())
        assert all(one[1] < other[0] for one, other in itertools.pairwise(bounds))
        told = {str(Path(lake.current.folder, one.path)): one for one in outcome.current or ()}
        for path, (least, greatest, count) in files().items():
            if path in told:
                statistics, field = told[path].statistics, FIELDS["_key_hash"][0]
                assert told[path].rows == statistics["numRecords"] == count
                assert (statistics["minValues"][field], statistics["maxValues"][field]) == (
                    least,
                    greatest,
                )
    assert len(kept) > 15
    assert min(kept) >= 20
    # many changes: all is written anew, in ranges
    monkeypatch.setattr(ranges, "_MOST_KEYS", 5)
    rows = {key: dict(row, name="other") for key, row in rows.items()}
    assert (
        lake.next(lake.extract("2026-01-25", list(rows.values()), extract=extract)).replaced is None
    )
    assert len(files()) == 24


def test_many_loads__never_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that grows, and shrinks again: a load of few rows touches no more files than these, and leaves no more."""
    small_ranges(monkeypatch)
    lake = Lake(tmp_path)
    rng = random.Random(11)
    rows = {number: dict(ROWS[0], id=number) for number in range(12)}
    lake.first(lake.extract("2026-01-01", list(rows.values())))
    counts, parts = [], 0
    for number in range(2, 30):
        before, extract = len(lake.current.files), "delta" if number < 20 else "full"
        changed = {
            key: dict(ROWS[0], id=key, name=f"n{number}")
            for key in (*rng.sample(sorted(rows), 2), *(100 * number + each for each in range(5)))
        }
        gone = rng.sample(sorted(rows.keys() - changed.keys()), 12) if extract == "full" else []
        there = len(rows.keys() - changed.keys())
        rows = {key: row for key, row in (rows | changed).items() if key not in gone}
        supplied = rows if extract == "full" else changed
        day = f"2026-01-{number:02}"
        outcome = lake.next(lake.extract(day, list(supplied.values()), extract=extract))
        assert (outcome.figures or {})["rows_not_supplied"] == (there if extract == "delta" else 0)
        assert {id: one[0] for (id, _), one in lake.shown().items()} == {id: row["name"] for id, row in rows.items()}  # fmt: skip
        counts.append(len(lake.current.files))
        assert counts[-1] <= ranges.MOST_RANGES
        if outcome.replaced is not None:
            parts += 1
            assert len(outcome.replaced) <= len(changed) + len(gone)
            assert counts[-1] <= before
    assert max(counts) > 20 > counts[-1]
    assert parts > 8


def test_files_of_a_task_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of ranges that were being written lies where Delta's VACUUM looks: in no folder with _ or . before it."""
    small_ranges(monkeypatch)
    left = []
    monkeypatch.setattr(
        files.shutil, "rmtree", lambda folder, **_: left.extend(Path(folder).rglob("*"))
    )
    lake = Lake(tmp_path)
    lake.first(lake.extract("2026-01-01", [dict(ROWS[0], id=number) for number in range(40)]))
    folders = [path for path in left if path.is_relative_to(lake.current.folder)]
    assert len(folders) == len(lake.current.files) > 10
    names = {part for path in folders for part in path.relative_to(lake.current.folder).parts}
    assert not [name for name in names if name[0] in "_."]


def test_files_of_another_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose ranges overlap have the row that is changed, wherever it lies; one range is too large: all is written."""
    lake = Lake(tmp_path)
    days = ("2026-01-01", "2026-01-02", "2026-01-03")
    rows = [dict(ROWS[0], id=number) for number in range(40)]
    lake.first(lake.extract(days[0], rows))
    (whole,) = lake.current.files
    halves = []
    for rest in (0, 1):
        halves.append(str(Path(lake.current.folder, f"half-{rest}.parquet")))
        duckdb.sql(
            f"copy (from (select *, row_number() over () as n from read_parquet({[whole]!r})) where n % 2 = {rest}) to {halves[-1]!r}".replace(
                "(from (select *, row_number() over () as n from",
                "(select * exclude (n) from (select *, row_number() over () as n from",
            )
        )
    lake.current = replace(lake.current, files=tuple(halves))
    small_ranges(monkeypatch)
    rows[7] = dict(rows[7], name="other")
    outcome = lake.next(lake.extract(days[1], rows))
    assert outcome.replaced is None
    assert len(lake.current.files) == 14
    assert lake.shown()[(7, ROWS[0]["part"])][0] == "other"
    assert len(lake.shown()) == 40
    # a row that is gone from a range of its own: no file without rows
    outcome = lake.next(lake.extract(days[2], rows[1:]))
    assert len(lake.shown()) == 39


def test_full_disk(tmp_path: Path) -> None:
    """Where writing fails, nothing of what was written stays: it would fill the disk for good."""
    lake = Lake(tmp_path)
    lake.first(lake.extract("2026-01-01", ROWS))
    load = lake.extract("2026-01-02", [*ROWS, dict(ROWS[0], id=2)])
    before = sorted(tmp_path.rglob("*.parquet"))
    for table in ("log", "current"):
        full = replace(getattr(lake, table), folder=str(tmp_path / "full" / table))
        (tmp_path / "full").mkdir(exist_ok=True)
        Path(full.folder).write_text("a file in the place of the folder")
        targets = {"log": lake.log, "current": lake.current, table: full}
        with pytest.raises((OSError, duckdb.Error)):
            compare(load, Targets(targets["log"], targets["current"]), lake.room())
        assert sorted(tmp_path.rglob("*.parquet")) == before
        assert not (tmp_path / "tmp").exists()


def test_a_thousand_columns(db: Any) -> None:
    """The separators in the fields of a row are counted, however many there are."""
    load = a_load(fields=tuple(f"c{number}" for number in range(1100)))
    fields = ", ".join(f"'{'|,,'[number % 3]}' as f{number}" for number in range(1100))
    asked = f"select {_separators_within(load)} from (select {fields})"
    assert db.execute(asked).fetchone() == (733,)


def test_attempt__forgets_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a task of a worker found of archives is not read anew before the next one."""
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("module_of_an_archive.py", "number = 7")
    monkeypatch.syspath_prepend(str(archive))

    def task(room: Room) -> int:
        number: int = import_module("module_of_an_archive").number
        assert str(archive) in sys.path_importer_cache
        return number + room.threads

    try:
        assert attempt(task, Room(1, None)) == 8
        assert str(archive) not in sys.path_importer_cache
    finally:
        sys.modules.pop("module_of_an_archive", None)


def test_memory__of_a_container(tmp_path: Path) -> None:
    """The limit of a control group counts, and those of the groups that it is in, of both versions."""
    groups, root = tmp_path / "cgroup", tmp_path / "fs"
    for name, text in {
        "memory.max": "max\n",
        "pods/memory.max": "4000\n",
        "memory/memory.limit_in_bytes": "7000\n",
        "cpu/memory.max": "1\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    groups.write_text("4:memory:/box\n1:cpu:/\n0::/pods/one\n")
    assert sorted(memory_limits(groups, root)) == [4000, 7000]
    assert memory_limits(tmp_path / "none", root) == []
