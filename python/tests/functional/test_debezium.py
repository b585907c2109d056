"""Events that Debezium captured from real servers end as the rows that those servers had then, in one batch or several."""

from __future__ import annotations

import datetime
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests import captures
from tidemark.capture.config import Flush
from tidemark.capture.lander import Lander
from tidemark.capture.state import CaptureState

from .event_entities import EventEntity

pytestmark = [pytest.mark.iceberg, pytest.mark.turn(2)]

TRUTHS = {db: json.loads(captures.read(f"{db}_final_rows.json")) for db in ("postgres", "mariadb")}
LINES = {
    name: captures.read(f"{name}.jsonl").splitlines()
    for name in ("postgres_inline_schema", "mariadb_inline_schema", "mariadb_schemaless")
}


# MariaDB gives it more digits behind the point, which no type of Iceberg's can take up: it is declared
WIDE = {"balance": "decimal(20,6)"}


def followed(project: Any) -> dict[str, str]:
    """What is declared where the table cannot follow the server."""
    return WIDE if project.file_format == "iceberg" else {}


class Captured(EventEntity):
    """An entity over one table of a capture; several read one folder."""

    def __init__(
        self, project: Any, name: str, source: str, table: str, key: Any, **settings: Any
    ) -> None:
        columns = settings.pop("columns_declared", {})
        self.source = source
        super().__init__(
            project,
            name,
            columns,
            key,
            format="debezium",
            table=f"inventory.{table}",
            location=f"{project.root}/landing/{source}",
            **settings,
        )


def land(project: Any, source: str, file: str, lines: list[str]) -> None:
    folder = project.root / "landing" / source
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("\n".join(lines) + "\n")


def land_as_capture(folder: Path, lines: list[str]) -> None:
    """Land a capture as `tidemark capture` does, in files of ten events, with its state beside them."""
    state = CaptureState(folder)
    state.open()
    lander = Lander(folder, Flush(rows=10))
    for line in lines:
        content = json.loads(line)
        key, value = (
            None if content[part] is None else json.dumps(content[part], separators=(",", ":"))
            for part in ("key", "value")
        )
        lander.add(content["topic"], key, value, "token")
        if lander.is_due():
            lander.land()
    lander.land()
    state.positions.offsets.write_bytes(b"positions")
    state.positions.history.write_text('{"source": {}}\n')
    state.positions.copy(lander.number, 0)
    state.write_status({"state": "STOPPED", "last_file": lander.number})
    state.close()


@pytest.fixture(scope="module")
def landed(module_project: Any) -> dict[str, int]:
    """Every capture, landed: two as capture does it, one as a file of envelopes; how many lines."""
    folder = module_project.root / "landing"
    for source, lines in LINES.items():
        if source == "mariadb_schemaless":
            land(module_project, source, "000001.jsonl", lines)
        else:
            land_as_capture(folder / source, lines)
    return {
        source: sum(len(gzip.decompress(path.read_bytes()).splitlines()) for path in files)
        if (files := sorted((folder / source).glob("ev-*.gz")))
        else len(lines)
        for source, lines in LINES.items()
    }


@pytest.fixture(scope="module")
def whole(module_project: Any, landed: dict[str, int]) -> dict[str, Captured]:
    """Tables of each kind, each capture in one batch."""
    project = module_project
    postgres = {"created": "string"}
    return run(
        Captured(
            project, "pg_customers", "postgres_inline_schema", "customers", "id",
            columns_declared=postgres, previous_names={"mail": "email"},
        ),
        Captured(project, "pg_nokey", "postgres_inline_schema", "nokey", None),
        Captured(project, "pg_toast", "postgres_inline_schema", "toast", "id"),
        Captured(
            project, "my_customers", "mariadb_inline_schema", "customers", "id",
            columns_declared=followed(project), ddl={"drop_column": "apply"},
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def more(module_project: Any, landed: dict[str, int]) -> dict[str, Captured]:
    """The other tables."""
    project = module_project
    return run(
        Captured(project, "pg_strict", "postgres_inline_schema", "customers", "id", on_reject="quarantine"),
        Captured(project, "pg_orders", "postgres_inline_schema", "orders", ["cust", "ord"]),
        Captured(project, "pg_newtab", "postgres_inline_schema", "newtab", "id"),
        Captured(project, "pg_types", "postgres_inline_schema", "types", "id"),
        Captured(project, "my_newtab", "mariadb_inline_schema", "newtab", "id"),
        Captured(project, "my_nokey", "mariadb_schemaless", "nokey", None),
        Captured(
            project, "my_plain", "mariadb_schemaless", "customers", "id",
            columns_declared=followed(project), encodings=PLAIN,
        ),
        Captured(project, "my_orders", "mariadb_inline_schema", "orders", ["cust", "ord"]),
    )  # fmt: skip


def run(*entities: Captured) -> dict[str, Captured]:
    entities[0].project.dbt("run", "--select", *(entity.name for entity in entities))
    return {entity.name: entity for entity in entities}


# nothing else tells how a capture that is not ours writes these
PLAIN = {"pic": "hex", "ub": "decimal_bytes:0"}
POSTGRES = "id, name, mail, cast(balance as double) as balance, active, created, updated, to_json(tags) as tags, doc, hex(pic) as pic, u, phone"
MARIADB = (
    "id, name, phone, mail, cast(balance as string) as balance, active, hex(flags) as flags, created, updated, dur, "
    "kind, st, doc, hex(pic) as pic, big, cast(ub as string) as ub"
)


def postgres_customers(entity: EventEntity) -> list[dict[str, Any]]:
    return [row.asDict() for row in entity.project.sql(f"select {POSTGRES} from {entity.name}")]


def check_postgres_customers(entity: EventEntity) -> None:
    found = {row["id"]: row for row in postgres_customers(entity)}
    truth = {row["id"]: row for row in TRUTHS["postgres"]["customers"]}
    assert found.keys() == truth.keys()
    for key, row in found.items():
        true = truth[key]
        for name in ("name", "mail", "active", "u", "phone", "balance"):
            assert row[name] == true[name], (key, name)
        assert json.loads(row["doc"] or "null") == true["doc"]
        assert (row["tags"] and json.loads(row["tags"])) == true["tags"]
        assert (row["pic"] and "\\x" + row["pic"].lower()) == true["pic"]
        assert (row["updated"] and row["updated"].isoformat()) == true["updated"]
        assert row["created"].replace("Z", "+00:00") == true["created"]


def check_mariadb_customers(entity: EventEntity) -> None:
    found = {
        row["id"]: row.asDict()
        for row in entity.project.sql(f"select {MARIADB} from {entity.name}")
    }
    truth = {row["id"]: row for row in TRUTHS["mariadb"]["customers"]}
    assert found.keys() == truth.keys()
    for key, row in found.items():
        true = truth[key]
        for name in ("name", "phone", "mail", "balance", "active", "kind", "st", "doc", "big"):
            assert row[name] == true[name], (key, name)
        assert row["flags"] == (true["flags"] and true["flags"].upper())
        assert (row["pic"] if row["pic"] is None else row["pic"].lower()) == true["pic"]
        assert row["ub"] == (None if true["ub"] is None else str(true["ub"]))
        assert str(row["created"]) == true["created"]
        assert (row["updated"] and str(row["updated"])) == true["updated"]
    assert {row["dur"] for row in found.values()} == {"-838:59:59", "00:00:01", None}


def test_postgres_customers(whole: dict[str, Captured]) -> None:
    check_postgres_customers(whole["pg_customers"])
    # the default of the added column reached rows that no event touched, as changes of their own
    assert whole["pg_customers"].rows(
        "id, _changed_columns[0]", "__log", "_source_operation = 'ADD_COLUMN' and _operation = 'U'"
    ) == [(1, "phone"), (100, "phone"), (4, "phone"), (5, "phone"), (6, "phone"), (900, "phone")]


def test_what_has_landed_is_read_once(whole: dict[str, Captured]) -> None:
    customers = whole["pg_customers"]
    commits = customers.commits()
    customers.run()
    assert customers.commits() == commits
    check_postgres_customers(customers)


@pytest.mark.slow
def test_unreadable_value_is_rejected(more: dict[str, Captured]) -> None:
    strict = more["pg_strict"]
    assert strict.rows("_reject_reason", "__rejects") == [("cast_failed: created",)]
    assert '"infinity"' in strict.rows("_raw_payload", "__rejects")[0][0]
    assert strict.rows("id", where="id = 100") == []
    assert dict(strict.rows("id, email")) | {4: None} == {
        1: "changed@x",
        4: None,
        5: "e5@x.io",
        6: "s1@x",
        900: "e2@x.io",
    }


def check_keyless(entity: EventEntity) -> None:
    # the copies of (1, x) that the snapshot read, each changed to (1, y), then the truncate
    assert entity.rows("a, b, _operation, count(*)", "__history", "true group by all") == [
        (None, None, "D", 1),
        (None, None, "I", 1),
        (1, "x", "D", 2),
        (1, "x", "I", 2),
        (1, "y", "D", 2),
        (1, "y", "I", 2),
    ]


def test_keyless_tables(whole: dict[str, Captured]) -> None:
    assert whole["pg_nokey"].rows("a, b") == []
    check_keyless(whole["pg_nokey"])


@pytest.mark.slow
def test_other_tables(more: dict[str, Captured]) -> None:
    # renamed, then dropped: the entity follows the name, and a drop keeps the target
    assert more["my_newtab"].rows("id, v") == [(1, "replaced"), (2, "b"), (3, "c"), (9, "nine")]


@pytest.mark.slow
def test_more_tables(more: dict[str, Captured]) -> None:
    assert more["pg_orders"].rows("*") == []
    assert more["pg_newtab"].rows("id, v") == [(1, "a"), (3, "kept")]
    assert more["my_orders"].rows("cust, ord, amount") == [(1, 2, 2.0), (2, 1, 11.0)]
    assert more["my_nokey"].rows("a, b") == []
    check_keyless(more["my_nokey"])


def test_toast(whole: dict[str, Captured]) -> None:
    toast = whole["pg_toast"]
    assert toast.rows("n, length(big), _operation, _unsupplied[0]", "__history") == [
        (1, 64000 - 64000 + toast.rows("length(big)", "__history", "n = 1")[0][0], "I", None),
        (2, toast.rows("length(big)", "__history", "n = 1")[0][0], "D", None),
        (2, toast.rows("length(big)", "__history", "n = 1")[0][0], "U", "big"),
    ]
    assert toast.rows("*", "__log", "big like '%unavailable%'") == []


@pytest.mark.slow
def test_types(more: dict[str, Captured]) -> None:
    types = more["pg_types"]
    assert types.rows("id, t, d, n, bi, si, c, dp, hex(h), i") == [
        (1, "12:34:56.789123", datetime.date(2024, 2, 29), "123456789012345678901234567890.123456789",
         9223372036854775807, 7, "ab   ", 1e308, "15", 37091106789000),
        (2, "24:00:00", datetime.date(1, 1, 1), "NAN", None, 7, "     ", float("-inf"), None, None),
    ]  # fmt: skip


def test_mariadb_customers(whole: dict[str, Captured]) -> None:
    check_mariadb_customers(whole["my_customers"])
    # a dropped column leaves current by policy, and stays in the log with its values
    assert (
        "born"
        not in whole["my_customers"]
        .project.session.table("`" + whole["my_customers"].project.schema + "`.my_customers")
        .columns
    )
    assert whole["my_customers"].rows(
        "born", "__history", "id = 3 and _operation = 'I' and born is null"
    ) == [(None,)]
    assert (
        len(whole["my_customers"].rows("born", "__history", "id = 1 and born = date'1990-01-01'"))
        == 5
    )


@pytest.mark.slow
def test_mariadb_customers__without_schema(more: dict[str, Captured]) -> None:
    plain = more["my_plain"]
    check_mariadb_customers(plain)
    assert "born" in plain.project.session.table(f"`{plain.project.schema}`.my_plain").columns


def test_counts(whole: dict[str, Captured], landed: dict[str, int]) -> None:
    for name, entity in whole.items():
        read, applied = entity.commits(
            "sum(rows_read) over (), sum(rows_ignored + rows_rejected + rows_duplicate) over ()"
        )[0]
        lines = landed[entity.source]
        assert read == lines, name
        assert applied <= lines


@pytest.mark.slow
def test_in_batches(project: Any) -> None:
    """The same in several batches, each followed by the one before it again, under another name."""
    entities = [
        Captured(
            project, "pg_customers", "postgres_inline_schema", "customers", "id",
            columns_declared={"created": "string"}, previous_names={"mail": "email"},
        ),
        Captured(project, "pg_nokey", "postgres_inline_schema", "nokey", None),
        Captured(
            project, "my_customers", "mariadb_schemaless", "customers", "id",
            columns_declared=followed(project), encodings=PLAIN,
        ),
        Captured(project, "my_nokey", "mariadb_inline_schema", "nokey", None),
    ]  # fmt: skip
    # cut within the snapshot's equal rows, within a change of key and between the DDL
    cuts = {
        "postgres_inline_schema": [7, 22],
        "mariadb_schemaless": [21, 60],
        "mariadb_inline_schema": [24, 48],
    }
    parts = {}
    for source, lines in LINES.items():
        edges = [0, *cuts[source], len(lines)]
        parts[source] = [lines[a:b] for a, b in itertools.pairwise(edges)]
    for number in range(3):
        for source, batches in parts.items():
            land(project, source, f"{number}1.jsonl", batches[number])
            if number:
                land(project, source, f"{number}2.jsonl", batches[number - 1])
        project.dbt("run", "--select", *(entity.name for entity in entities))
    check_postgres_customers(entities[0])
    check_mariadb_customers(entities[2])
    for entity in (entities[1], entities[3]):
        check_keyless(entity)
