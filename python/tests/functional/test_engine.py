"""The engine in the workers beside Spark SQL: the same tables, hashes, figures, whatever it is given."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .entities import Entity

COLUMNS = {
    "id": "int", "part": "string", "name": "string", "b": "boolean", "ti": "tinyint", "si": "smallint", "bi": "bigint",
    "f": "float", "d": "double", "dec": "decimal(12,2)", "big": "decimal(38,0)", "day": "date", "at": "timestamp",
    "local": "timestamp_ntz", "seen": "string",
}  # fmt: skip
NAMES = list(COLUMNS)
TABLES = ("", "__log", "__history", "__rejects")
FIGURES = "kind, state, rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_rejected, rows_duplicate"
VALUES: dict[str, list[str]] = {
    "name": ["", '""', "plain", '"comma, inside"', '"quote "" inside"', '"line\nbreak"', "NULL", " padded ", "Ünïcodé 🙂",
             "back\\slash", "'single'", "tab\there", "{{ jinja }}", "a \"b\" c", "#", '"x, ""y"""'],
    "b": ["", "true", "FALSE"],
    "ti": ["", "0", "-128", "127"],
    "si": ["", "32767", " 5 "],
    "bi": ["", "9223372036854775807", "-1", "007"],
    "f": ["", "0", "1.5", "-3.25e10", "0.1", "16777217"],
    "d": ["", "0", "0.1", "1e-99", "123456789012345.12345", "9007199254740993", "1e99", "-432.5"],
    "dec": ["", "0", "-1.5", "9999999999.99", "100"],
    "big": ["", "99999999999999999999999999999999999999", "-7"],
    "day": ["", "2026-03-04", "1600-01-01", "9999-12-31"],
    "at": ["", "2026-03-04 12:30:00", "2026-03-04T12:30:00.5Z", "1999-12-31 23:59:59.123456"],
    "local": ["", "2026-03-04 12:30:00", "2026-03-04T12:30:00.5", "1600-01-01 00:00:00.000", "9999-12-31 23:59:59.999999"],
    "seen": ["", "a", "b", '""'],
}  # fmt: skip


def random_rows(rng: random.Random, before: dict[int, dict[str, str]]) -> dict[int, dict[str, str]]:
    """An extract by key: some keys gone, some new, most as they were but for what is ignored."""
    rows: dict[int, dict[str, str]] = {}
    for key in range(40):
        if rng.random() < 0.25:
            continue
        if key in before and rng.random() < 0.6:
            rows[key] = {**before[key], "seen": rng.choice(VALUES["seen"])}
        elif key in before and rng.random() < 0.5:
            name = rng.choice(list(VALUES))
            rows[key] = {**before[key], name: rng.choice(VALUES[name])}
        else:
            rows[key] = {name: rng.choice(values) for name, values in VALUES.items()}
    return rows


def csv_of(rng: random.Random, rows: dict[int, dict[str, str]], end: str = "\n") -> str:
    lines = [
        ",".join([str(key), rng.choice(["p", '"p"']), *(row[name] for name in NAMES[2:])])
        for key, row in rows.items()
    ]
    lines += rng.sample(lines, len(lines) // 5)  # exact copies
    rng.shuffle(lines)
    return end.join([",".join(NAMES), *lines]) + end


def tables_of(entity: Entity) -> dict[str, list[str]]:
    """All tables of an entity without what names its commits, with the types of columns; as texts, which tell 0.0 from -0.0."""
    found = {}
    tables = (*TABLES, "__supplied") if entity.settings.get("extract") == "delta" else TABLES
    if entity.settings.get("sensitive"):
        tables = (*tables, "__sensitive")
    for table in tables:
        frame = entity.project.session.table(f"`{entity.project.schema}`.{entity.name}{table}")
        commits = ("_commit_id", "_superseded_by", "_resolved_by")
        names = [name for name in frame.columns if name not in commits]
        terms = [*(f"`{name}`" for name in names)]
        terms += [f"{name} is null" for name in commits if name in frame.columns]
        found[table] = [
            tuple((name, dict(frame.dtypes)[name]) for name in names),
            *entity.rows(", ".join(terms), table),
        ]
    return {table: [repr(row) for row in rows] for table, rows in found.items()}


def assert_same(entity: Entity, other: Entity) -> None:
    found, wanted = tables_of(entity), tables_of(other)
    for table, rows in wanted.items():
        only = [row for row in found[table] if row not in rows]
        missing = [row for row in rows if row not in found[table]]
        assert (only, missing) == ([], []), table
        assert len(found[table]) == len(rows), table


def by_workers(entity: Entity) -> list[bool]:
    """Of each file of the log, in the order of their dates, whether the engine wrote it."""
    folder = Path(entity.project.home) / "warehouse" / f"{entity.project.schema}.db"
    files = deltalake.DeltaTable(folder / f"{entity.name}__log").file_uris()
    return [
        "/workers-" in unquote(file)
        for file in sorted(files, key=lambda f: f.split("_business_date=")[-1])
    ]


def pair(
    project: Any, name: str, columns: dict[str, str], key: Any, **settings: Any
) -> tuple[Entity, Entity]:
    """Two entities of the same files, one for each engine."""
    not_null = settings.pop("not_null", ())
    one = Entity(
        project, f"{name}_spark", columns, key, engine="spark", not_null=not_null, **settings
    )
    location = f"{one.folder}/{{business_date}}.csv"
    other = Entity(
        project,
        f"{name}_workers",
        columns,
        key,
        engine="workers",
        not_null=not_null,
        **{"location": location, **settings},
    )
    return one, other


def load_both(one: Entity, other: Entity, day: str, text: str | bytes, **options: Any) -> Any:
    one.extract(day, text)
    return one.project.dbt(
        "run",
        "--select",
        one.name,
        other.name,
        vars={"business_date": day, **options.pop("vars", {})},
        **options,
    )


@pytest.mark.parametrize(
    ("seed", "settings"),
    [
        pytest.param(1, {}, marks=pytest.mark.slow),
        (2, {"soft_delete": True, "tag_unchanged": True, "hash": "sha256"}),
        pytest.param(3, {"extract": "delta", "tag_unchanged": True}, marks=pytest.mark.slow),
        *(
            pytest.param(seed, settings, marks=pytest.mark.slow)
            for seed in range(4, 44)
            for settings in (
                [{}, {"tag_unchanged": True}, {"soft_delete": True}, {"changed_columns": False, "hash": "sha256"}, {"extract": "delta"}][seed % 5],
            )
        ),
    ],
)  # fmt: skip
@pytest.mark.turn(0)
def test_random_dates(module_project: Any, seed: int, settings: dict[str, Any]) -> None:
    """Current, log, history, rejects and figures of both, and of one that goes by the one and the other in turn."""
    rng = random.Random(seed)
    one, other = pair(
        module_project,
        f"random_{seed}",
        COLUMNS,
        ["id", "part"],
        ignore=["seen"],
        max_delete_fraction=1,
        **settings,
    )
    both = Entity(
        module_project, f"random_{seed}_both", COLUMNS, ["id", "part"], ignore=["seen"], max_delete_fraction=1,
        location=f"{one.folder}/{{business_date}}.csv", **settings,
    )  # fmt: skip
    rows: dict[int, dict[str, str]] = {}
    days = [f"2026-01-0{number}" for number in range(1, 6)]
    for number, day in enumerate(days):
        # the last of them brings nothing new
        rows = random_rows(rng, rows) if number < 4 else rows
        one.extract(
            day,
            csv_of(
                rng,
                rows,
                rng.choice(["\n", "\r\n"])
                if not any("\n" in row["name"] for row in rows.values())
                else "\n",
            ),
        )
        both.write(engine=("workers", "spark")[number % 2])
        module_project.dbt(
            "run", "--select", one.name, other.name, both.name, vars={"business_date": day}
        )
        if number == 3:
            assert_again(one, other, day)
            both.run(day)
    assert len(one.rows("id", "__log")) > 50
    assert_same(other, one)
    assert_same(both, one)
    assert other.commits(FIGURES) == both.commits(FIGURES) == one.commits(FIGURES)
    assert (set(by_workers(one)), by_workers(other)) == ({False}, [True] * 4)
    assert set(by_workers(both)) == {True, False}
    # a late date, and one that is corrected twice, the second time as it was before
    last, rows = rows, random_rows(rng, rows)
    corrected = random_rows(rng, rows)
    for day, came in (("2025-12-31", rows), (days[1], corrected), (days[1], rows)):
        one.extract(day, csv_of(rng, came))
        assert_by_workers(one, other, day)
    # which changes what the last date has in the log
    one.extract(days[4], csv_of(rng, last))
    assert_again(one, other, days[4])
    assert other.check().success


def assert_by_workers(one: Entity, other: Entity, day: str) -> None:
    """A date, by the engine alone: the same tables and figures."""
    run = ("run", "--select", one.name, other.name)
    result = one.project.dbt(*run, vars={"business_date": day})
    assert "by Spark SQL" not in result.output
    assert_same(other, one)
    assert other.commits(FIGURES)[-1] == one.commits(FIGURES)[-1]
    # what another engine wrote, or a statement, begins otherwise
    folder = Path(one.project.home) / "warehouse" / f"{one.project.schema}.db"
    for table in ("", "__log"):
        files = deltalake.DeltaTable(folder / f"{other.name}{table}").file_uris()
        assert all("workers-" in unquote(file) for file in files), table


def assert_again(one: Entity, other: Entity, day: str) -> None:
    """The last date once more, as it was."""
    assert_by_workers(one, other, day)
    assert other.commits(FIGURES)[-1][:2] == ("repeat", "completed")


FEW = ["id", "part", "name", "d", "dec", "day", "at", "b", "seen"]
PLAIN = {
    "d": ["", "0", "0.1", "1.005", "-2.675", "0.125", "7", "-432.5"],
    "name": ["", '" A b "', "a B", "Straße", '"x, y"'],
}
BAD = {"d": "much", "dec": "1,5", "day": "31.12.2026", "at": "yesterday", "b": "perhaps"}
COMPARED = {
    "d": "round(d, 2)",
    "dec": "round(dec, 1)",
    "name": "upper(trim(name))",
    "day": "coalesce(day, date'2000-01-01')",
}
REAL: dict[str, dict[str, Any]] = {
    "sensitive": {"sensitive": ["name", "day"]},
    "secret_key": {"sensitive": ["id", "d"], "hash": "sha256"},
    "rejects": {"on_reject": "quarantine", "not_null": ("b",)},
    "compare_as": {"compare_as": COMPARED},
    "effective_from": {"effective_from": "at", "config": {"tblproperties": {"delta.logRetentionDuration": "interval 60 days"}}},
    "delta": {"extract": "delta", "sensitive": ["name"], "on_reject": "quarantine", "compare_as": COMPARED},
    "tagged": {"tag_unchanged": True, "soft_delete": True, "sensitive": ["name"], "compare_as": {"name": "lower(name)"}},
    "merge_on_read": {"write_mode": "merge_on_read"},
    "laid_out": {"config": {"partition_by": "part"}},
    "clustered": {"config": {"liquid_clustered_by": "name"}},
}  # fmt: skip
"""What entities have beside a key and columns. Of the last three statements of Spark's own bring current after the log."""
OF_DELTA = ("effective_from", "merge_on_read", "laid_out", "clustered")


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(
            name,
            seed,
            marks=(
                *(() if name == "delta" and seed == 1 else (pytest.mark.slow,)),
                *(() if name in OF_DELTA else (pytest.mark.iceberg,)),
            ),
        )
        for name in REAL
        for seed in (1, 2)
    ],
)
@pytest.mark.turn(2)
def test_real_entities(module_project: Any, name: str, seed: int) -> None:
    """Dates in order, one that is late, one that is corrected and one again: by Spark, by the workers, by both in turn."""
    rng, settings = (
        random.Random(seed),
        {"max_delete_fraction": 1, "ignore": ["seen"], **REAL[name]},
    )
    columns = {column: COLUMNS[column] for column in FEW}
    not_null, config = settings.pop("not_null", ()), settings.pop("config", {})
    compared = settings.pop("compare_as", {})

    def entity(engine: str, **more: Any) -> Entity:
        one = Entity(
            module_project, f"{name}_{seed}_{engine}", columns, ["id", "part"], engine=engine if engine != "both" else "workers",
            not_null=not_null, config=config, compare_as=compared, **settings, **more,
        )  # fmt: skip
        return one

    one = entity("spark")
    location = f"{one.folder}/{{business_date}}.csv"
    other, both = entity("workers", location=location), entity("both", location=location)
    rows: dict[int, dict[str, str]] = {}

    def land(day: str, rows: dict[int, dict[str, str]]) -> None:
        lines = [",".join([str(key), "p", *(row[column] for column in FEW[2:])]) for key, row in rows.items()]  # fmt: skip
        lines += rng.sample(lines, len(lines) // 5)
        if settings.get("on_reject"):
            for column, text in rng.sample(list(BAD.items()), 3):
                cells = {**rng.choice(list(rows.values())), column: f'"{text}"'}
                lines.append(",".join([str(rng.randrange(60)), "p", *(cells[one] for one in FEW[2:])]))  # fmt: skip
            lines += [",p" + "," * (len(FEW) - 2), "x,p" + "," * (len(FEW) - 2)]
        rng.shuffle(lines)
        one.extract(day, "\n".join([",".join(FEW), *lines]) + "\n")

    def next_rows() -> dict[int, dict[str, str]]:
        chosen = random_rows(rng, rows)
        for row in chosen.values():
            for column, values in PLAIN.items():
                if row[column] not in values or rng.random() < 0.1:
                    row[column] = rng.choice(values)
            if not_null:
                row["b"] = row["b"] or "true"
        return chosen

    found: dict[str, dict[int, dict[str, str]]] = {}
    days = ["2026-01-03", "2026-01-04", "2026-01-05", "2026-01-01", "2026-01-04", "2026-01-05", "2026-01-05"]  # fmt: skip
    for number, day in enumerate(days):
        if number < 6:
            rows = found[day] = next_rows()
            land(day, rows)
        both.write(engine=("workers", "spark")[number % 2])
        result = module_project.dbt("run", "--select", one.name, other.name, both.name, vars={"business_date": day})  # fmt: skip
        told = [line for line in result.output.splitlines() if f"{other.name}: by Spark SQL" in line]  # fmt: skip
        known = (
            STATEMENTS.get(name, "none"),
            "as by Spark alone: to_json()",
        )  # keys with other rows
        assert all(line.endswith(known) for line in told), told
        for entity_ in (other, both):
            assert_same(entity_, one)
        assert other.commits(FIGURES) == both.commits(FIGURES) == one.commits(FIGURES)
    assert len(one.rows("_key_hash", "__log")) > 60
    if settings.get("on_reject"):
        reasons = {row[0].split(":")[0] for row in one.rows("_reject_reason", "__rejects")}
        assert {"cast_failed", "null_key"} <= reasons
    assert other.check().success


STATEMENTS = {
    "merge_on_read": (
        "as a table with deletion vectors",
        "__log has deletion vectors, or a commit that this run does not know of",
    ),
    "laid_out": ("as current with partitions of its own",),
}
DECLINED = {
    "id,name,n\n1,a,1.0\n2,b,3\n": "column n has a value that is a reject, or of a form that is read by Spark alone",
    "id,name,n\n": None,  # the guard stops it
    "id,name,n\n1,a,1\n1,b,2\n": "a key came with different values",
    "id,name,n,m\n1,a,1,x\n2,b,2,\n": None,  # its columns have changed: the reading is the engine's, and so is the rest
}  # fmt: skip
"""Extracts that it declines, and why."""
UNREAD = {
    "id,name,n\n1, \"a\",1\n2,b,3\n": "a file has blanks around quotes",
    "id,name,n\n1,\"a\rb\",1\n2,b,3\n": "a file has a carriage return that ends no line",
    "id,name,n\n1,a,1,\n2,b,2\n": "a line has more fields than the header",
    "id,name,n\n1,a\n2,b,2\n": "a file is not read by it (InvalidInputException)",
    "id,name,n\nx,a,1\n2,b,2\n": "column id has a value that is a reject, or of a form that is read by Spark alone",
}  # fmt: skip
"""More of them, which the unit ring has too."""


@pytest.mark.parametrize("texts", [DECLINED, pytest.param({**UNREAD, **DECLINED}, marks=pytest.mark.slow)], ids=["some", "all"])  # fmt: skip
@pytest.mark.turn(1)
def test_what_it_declines(module_project: Any, texts: dict[str, str | None]) -> None:
    """The same rejects, errors and rows as without it, and the reason is told."""
    columns = {"id": "int", "name": "string", "n": "int"}
    one, other = pair(module_project, f"declined_{len(texts)}", columns, "id", not_null=("n",))
    load_both(one, other, "2026-01-01", "id,name,n\n1,a,1\n2,b,2\n")
    assert by_workers(other) == [True]
    for text, why in texts.items():
        day = f"2026-01-{len(one.commits()) + 1:02}"
        result = load_both(one, other, day, text, expect_pass=None)
        if why is not None:
            assert f"{other.name}: by Spark SQL, as {why}" in result.output, text
    # the log keeps what each of them did, and a row of current that was wrong makes the next load a change
    assert_same(other, one)
    assert other.commits(FIGURES) == one.commits(FIGURES)
    one.extract(day, "id,name,n,m\nx,a,1,\n")
    messages = [one.run(day, expect_pass=False).error, other.run(day, expect_pass=False).error]
    # their files are of one folder
    assert messages[0] == messages[1].replace(other.name, one.name)
    assert "cast_failed: id: 1 row" in messages[1]
    # the NOT NULL that current was made with goes with that of the YAML
    for entity in (one, other):
        entity.not_null = ()
        entity.write()
    load_both(one, other, day, "id,name,n,m\n1,a,,\n")
    assert other.rows("id, n") == [(1, None)]
    assert_same(other, one)
    # tables elsewhere, told before the first of them is made: here by a protocol that nobody speaks
    root = "nowhere://lake/tables"
    other = Entity(module_project, "elsewhere", columns, engine="workers", config={"location_root": root})  # fmt: skip
    other.extract(day, "id,name,n\n1,a,1\n")
    result = other.run(day, expect_pass=False)
    assert "elsewhere__log is not to lie on a local file system" in result.output
    assert 'No FileSystem for scheme "nowhere"' in result.error


MEMBERS = {
    "id": ["1", "2", '"3"', "4", "5"],
    "text": ['"a"', '""', "null", "5", "true", '"\\u0041\\n\\r\\ud83d\\ude00"', '"Hello, it\'s"', '" x "'],
    "d": ["0.30000000000000004", "1.10", "1e5", "5", "null", '"-2.5"', "1.1000000000000000888"],
    "dec": ["1.10", "99999.5", "7", '"0.25"', "null"],
    "day": ['"2026-03-04"', "null", '""'],
    "a/b~c": ["12345678901234567", "-1", "null"],
    "x 'y'": ['"\\u0000"', '"🙂"', "null"],
    "not read": ["NaN", '{"id": 7}', "[1.50]", "-Infinity"],
}  # fmt: skip
"""What members of JSON lines may be."""


@pytest.mark.turn(1)
def test_json_lines(module_project: Any) -> None:
    """Texts, numbers and their digits, escapes, names, copies, members that are not read; of deltas."""
    rng = random.Random(5)
    columns = {
        "id": "int", "text": "string", "d": "double", "dec": "decimal(12,2)", "day": "date", "a/b~c": "bigint", "x 'y'": "string",
    }  # fmt: skip
    one, other = pair(
        module_project, "lines", columns, "id", format="json", extract="delta", tag_unchanged=True
    )
    for number in range(1, 5):
        lines = []
        for key in rng.sample(MEMBERS["id"], 4):
            values = {name: rng.choice(texts) for name, texts in MEMBERS.items()} | {"id": key}
            if number < 4:
                values["not read"] = rng.choice(MEMBERS["not read"][1:3])
            members = [f'"{name}": {value}' for name, value in values.items() if value != "null" or rng.random() < 0.5]  # fmt: skip
            lines += [f"{{{','.join(members)}}}"] * rng.randrange(1, 3)
        result = load_both(one, other, f"2026-01-0{number}", "\n\n".join(lines))
        assert_same(other, one)
    assert len(one.rows("id", "__log")) > 8
    # to DuckDB's reader -Infinity is a number in any case of its letters
    assert "by Spark SQL, as a line has a member twice" in result.output
    assert other.commits(FIGURES) == one.commits(FIGURES)
    assert set(by_workers(one)) == {False}
    # also what Spark read
    assert by_workers(other) == [True] * 4


def parquet_table(day: int) -> pa.Table:
    """Rows of which some come as they were, with keys that are NULL, and a column of texts for numbers."""
    rows = [number for number in range(40) if (number + day) % 7]
    moment = dt.datetime(1700, 3, 1, tzinfo=dt.UTC)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "id": (pa.int32(), [number or None for number in rows]),
        "part": (pa.string(), [None if number % 3 else "" for number in rows]),
        "b": (pa.bool_(), [number % 2 == 0 for number in rows]),
        "ti": (pa.int8(), [number - 20 for number in rows]),
        "si": (pa.int16(), [number * -100 for number in rows]),
        "bi": (pa.int64(), [2**40 + number * day for number in rows]),
        "f": (pa.float32(), [number / 4 for number in rows]),
        "d": (pa.float64(), [number / 3 or None for number in rows]),
        "dec": (pa.decimal128(12, 2), [decimal.Decimal(number) / 4 for number in rows]),
        "day": (pa.date32(), [dt.date(1600, 1, 1) + dt.timedelta(number) for number in rows]),
        "at": (pa.timestamp("us", tz="UTC"), [moment + dt.timedelta(microseconds=number) for number in rows]),
        "typed": (pa.string(), [f" {number}.50 " for number in rows]),
        "s": (pa.string(), [f"x\r{number % 5}" if number % 4 else None for number in rows]),
    }  # fmt: skip
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in columns.items()})


@pytest.mark.turn(3)
def test_parquet_files(module_project: Any) -> None:
    """Those of Arrow and of Spark, a folder of them; and Spark finds rows in the files by their values."""
    settings = {
        "format": "parquet",
        "null_keys": "allow",
        "on_reject": "quarantine",
        "compare": {"exclude": ["bi"]},
    }
    one, other = pair(
        module_project, "parquet", {"typed": "decimal(9,3)"}, ["id", "part"],
        **settings, location=f"{module_project.root}/extracts/parquet/{{business_date}}",
    )  # fmt: skip
    for day in (1, 2):
        folder = Path(module_project.root) / f"extracts/parquet/2026-01-0{day}"
        folder.mkdir(parents=True)
        table = parquet_table(day)
        for part in (0, 1):
            pq.write_table(table.slice(part * 20, 20), folder / f"{part}.parquet")
        if day == 2:
            folder.rename(folder.with_name("arrow"))
            rows = module_project.session.read.parquet(str(folder.with_name("arrow")))
            rows.write.parquet(str(folder))
        names = ("--select", one.name, other.name)
        module_project.dbt("run", *names, vars={"business_date": f"2026-01-0{day}"})
        assert_same(other, one)
    assert other.commits(FIGURES) == one.commits(FIGURES)
    assert (set(by_workers(one)), by_workers(other)) == ({False}, [True] * 2)
    for name in table.column_names:
        bound = one.rows(name, where=f"{name} is not null")[7][0]
        text = {True: "true", False: "false"}.get(bound, f"'{bound}'")
        found = [entity.rows("_key_hash", where=f"{name} = {text}") for entity in (one, other)]
        assert found[0] == found[1] != [], name


@pytest.mark.parametrize("engine", ["workers", pytest.param("spark", marks=pytest.mark.slow)])
@pytest.mark.turn(3)
def test_ranges(module_project: Any, engine: str) -> None:
    """A delta of a few keys writes few files of a large current anew, whoever wrote them before."""
    columns = {"id": "bigint", "name": "string"}
    entity = Entity(module_project, f"ranges_{engine}", columns, extract="delta")
    many = 1_050_000
    path = entity.folder / "2026-01-01.csv"
    entity.extract("2026-01-01", "")
    duckdb.sql(f"copy (select i as id, 'a' as name from range({many}) t(i)) to '{path}' (header)")
    entity.run("2026-01-01", tidemark__engine="workers")
    folder = Path(module_project.home) / "warehouse" / f"{module_project.schema}.db" / entity.name

    def load(day: str, *rows: str, engine: str = "workers") -> tuple[set[str], set[str]]:
        """Which files have gone with a load, and which came."""
        before = set(deltalake.DeltaTable(folder).file_uris())
        entity.extract(day, "\n".join(["id,name", *rows]) + "\n")
        entity.run(day, tidemark__engine=engine)
        after = set(deltalake.DeltaTable(folder).file_uris())
        return before - after, after - before

    files = deltalake.DeltaTable(folder).file_uris()
    assert len(files) == 5
    gone, came = load("2026-01-02", "7,b", f"{many},b")
    assert 1 <= len(gone) == len(came) <= 2
    gone, came = load("2026-01-03", "7,c", "8,c", engine=engine)
    assert gone
    assert {"workers-" in file for file in came} == {engine == "workers"}
    gone, came = load("2026-01-04", "8,d", "9,d")
    assert 1 <= len(gone) <= 4
    assert all("workers-" in file for file in came)
    assert entity.commits("rows_inserted, rows_updated, rows_not_supplied")[1:] == [
        (1, 1, many - 1), (0, 2, many - 1), (0, 2, many - 1),
    ]  # fmt: skip
    assert sorted(entity.rows("id, name, _operation", "", "name <> 'a'")) == [
        (7, "c", "U"), (8, "d", "U"), (9, "d", "U"), (many, "b", "I"),
    ]  # fmt: skip
    (row,) = module_project.sql(f"select count(*), count(distinct id), max(id) from {entity.name}")
    assert tuple(row) == (many + 1, many + 1, many)


SOURCE = """
    select 1 as id, cast(0.1 as float) as rate, 7 as n, ' Ann ' as name, date'2026-01-01' as day
    union all select 2, cast(0.5 as float), null, 'bob', null
    union all select 3, null, 3, null, date'2026-01-02'
"""
BODIES = {
    "alike": ("select id, upper(trim(name)) as name, coalesce(n, 0) as n, day from {}.priced where id < 9", []),
    # Spark compares doubles, and makes a text of the number
    "float": ("select id, if(rate = 0.1, 'low', 'high') as name, n, day from {}.priced", [("high",)] * 3),
    "text": ("select id, concat('x', coalesce(n, '07')) as name, n, day from {}.priced", [("x07",), ("x3",), ("x7",)]),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.turn(1, 3)
def test_select_of_the_models_own(module_project: Any, name: str) -> None:
    """One in which types meet is Spark's, as each engine has another type in common."""
    project = module_project
    project.sql(f"create or replace table priced using delta as {SOURCE}")
    body, right = BODIES[name]
    columns = {"id": "int", "name": "string", "n": "int", "day": "date"}
    one, other = (
        Entity(
            project, f"selected_{name}_{engine}", columns, ["id"], engine=engine,
            body=body.format(project.schema), location=None,
        )
        for engine in ("spark", "workers")
    )  # fmt: skip
    logs = list(Path(project.root).rglob("dbt.log"))
    told = sum(log.stat().st_size for log in logs)
    for day in ("2026-01-01", "2026-01-02"):
        project.dbt("run", "--select", one.name, other.name, vars={"business_date": day})
        assert_same(other, one)
        project.sql("insert into priced values (4, 0.1, null, 'cy', null)")
    log = next(Path(project.root).rglob("dbt.log"))
    assert (" meet in the model's SELECT" in log.read_text()[told:]) is (name != "alike")
    assert {*right} <= {*one.rows("name")}
