"""Blocks of the documentation, typed as they are written; a mark above a block says which of these tests does it.

Those that take a call of dbt each are of the slow ring: the quick one has tests of their own for what they show.
"""

from __future__ import annotations

import http.server
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.conftest import Project
from tests.pages import Block, all_blocks, blocks_run_by, section
from tidemark.cli import cli

from .entities import Entity
from .event_entities import EventEntity, insert, update
from .feed_reading import render
from .typing_in import call_tidemark

COLUMNS = {"icao": "string", "name": "string", "lat": "double", "lon": "double"}
#: Three dates of the README's airports and one that operations name
DAYS = {
    "2026-02-05": "icao,name,lat,lon\n00AA,Aero B,38.70402,-101.47391\n00MD,Slater,38.75,-75.75\nWIPO,Wipo,1,2\n",
    "2026-03-04": "icao,name,lat,lon\n00AA,Aero B,38.704022,-101.473911\n00TN,Thompson,36.12,-86.35\nWIPO,Wipo,1,3\n,?,0,0\n",
}


def blocks_of(name: str, *languages: str) -> list[Block]:
    found = blocks_run_by(f"test_pages_blocks.py::{name}")
    return [block for block in found if block.language in languages]


def loaded(project: Project) -> Project:
    """`airports`, with the README's two dates."""
    entity = Entity(
        project, "airports", COLUMNS, "icao", on_reject="quarantine", max_delete_fraction=1
    )
    for day, text in DAYS.items():
        entity.load(day, text)
    return project


@pytest.fixture(scope="module")
def airports(module_project: Project) -> Project:
    """`airports` and `customers`, which pages take as examples."""
    project = module_project
    airports = Entity(
        project, "airports", COLUMNS, "icao", on_reject="quarantine", max_delete_fraction=1
    )
    customers = EventEntity(
        project,
        "customers",
        {"id": "int", "name": "string", "phone": "string"},
        sensitive=["phone"],
    )
    at = "2026-03-04T11:00:00Z"
    customers.land(
        [
            insert({"id": 1, "name": "ann", "phone": "+41 1"}, sequence_num=1, event_time=at),
            update({"id": 1, "name": "anna"}, sequence_num=2, event_time=at),
        ]
    )
    for number, (day, text) in enumerate(DAYS.items()):
        airports.extract(day, text)
        project.dbt(
            "run", "--select", "airports", *([] if number else ["customers"]),
            vars={"business_date": day},
        )  # fmt: skip
    return project


def with_commits(text: str, project: Project) -> str:
    """The text with commit ids of the example, 260304093000123, as those of the same dates here."""

    def id_of(found: re.Match[str]) -> str:
        day = f"20{found[1]}-{found[2]}-{found[3]}"
        ((commit,),) = project.sql(
            "select min(commit_id) from tidemark_commits where entity = 'airports' and kind = 'load'"
            f" and business_date = date'{day}'"
        )
        return str(commit)

    return re.sub(r"\b(\d\d)(\d\d)(\d\d)093000123\b", id_of, text)


def type_in(project: Project, text: str, **env: str) -> list[str]:
    """Type the commands of a block, each said yes to; what each printed."""
    printed = []
    for line in text.splitlines():
        assigned, words = [], shlex.split(line, comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            assigned.append(words.pop(0))
        if not words:
            continue
        if words[0] == "dbt":
            printed.append(project.dbt(*words[1:]).output)
            continue
        assert words[0] == "tidemark", line
        printed.append(call_tidemark(project, words[1:], **env).stdout)
    return printed


# --- the body of a model


@pytest.mark.turn(1)
def test_renamed_column(project: Project) -> None:
    customers = Entity(project, "customers", {"id": "int", "email": "string"}, "id")
    customers.load("2026-01-01", "id,email\n1,a@x\n2,b@x\n")
    (body,) = blocks_of("test_renamed_column", "sql")
    project.write("models/customers.sql", body.text)
    loaded = customers.load("2026-01-02", "id,mail\n1,a@x\n2,c@x\n")
    # the body names it, so nobody needs to hear that `mail` is new
    assert "new in the source" not in loaded.output
    assert project.sql("select id, email, _operation from customers order by id") == [
        (1, "a@x", "I"),
        (2, "c@x", "U"),
    ]


# --- what models read


@pytest.mark.turn(2)
def test_selects(airports: Project) -> None:
    blocks = blocks_of("test_selects", "sql")
    statements = [
        statement
        for block in blocks
        for statement in block.text.strip().split("\n\n")
        # the body of a cdc model: here it is that of `airports`
        if statement != "{{ tidemark.extract() }}"
    ]
    assert len(statements) > 20
    # another entity of the examples, which is not worth a load
    here = [one.replace("'fuel_prices'", "'customers'") for one in statements]
    queries = render(airports, [with_commits(statement, airports) for statement in here])
    answers: dict[str, list[Any]] = {}
    for statement, query in zip(statements, queries, strict=True):
        query = query.replace("tidemark.airports__", "airports__")
        answers[statement] = [row.asDict() for row in airports.sql(query)]
        assert answers[statement], statement

    # what is written by hand is what the macro gives
    for macro, columns in [
        ("scd2", ["icao", "name", "_valid_from", "_valid_to", "_is_current"]),
        ("as_of", ["icao", "name"]),
        ("change_feed", ["icao", "_operation", "_commit_id"]),
    ]:
        by_macro, by_hand = (
            sorted(repr([row[name] for name in columns]) for row in answers[block.text.strip()])
            for block in all_blocks()
            if block in blocks and block.text.strip() in _below(macro)
        )
        assert by_macro == by_hand, macro


def _below(macro: str) -> str:
    """The section of a macro in the reference."""
    page = section("What models read", whole=True)
    return page.partition(f"### [{macro}](")[2].partition("\n### ")[0]


@pytest.mark.slow
def test_feed_command(airports: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidemark.feed import reader

    def ended(self: Any, page: Any) -> None:
        raise KeyboardInterrupt

    # `--follow` waits for more, until somebody ends it
    monkeypatch.setattr(reader.FeedReader, "rest", ended)
    (block,) = blocks_of("test_feed_command", "bash")
    printed = type_in(airports, with_commits(block.text, airports))
    assert [text.count('"_operation"') for text in printed] == [1, 4, 0]


@pytest.mark.turn(0)
def test_extracts(airports: Project) -> None:
    settings = next(text for text in _yaml_of("how-to/extracts.md") if "prices" in text)
    landing = airports.root / "landing"
    model = yaml.safe_load(settings)
    meta = model["models"][0]["config"]["meta"]["tidemark"]
    meta["location"] = f"{airports.root}/{meta['location']}"
    airports.write("models/prices.yml", yaml.safe_dump(model))
    airports.write("models/prices.sql", "{{ tidemark.extract() }}")
    landing.mkdir(exist_ok=True)
    line = '{"country": "CH", "product": "salt", "price": "1.20"}\n'
    (landing / "prices_2026-03-04.jsonl").write_text(line)
    (block,) = blocks_of("test_extracts", "bash")
    type_in(airports, block.text)
    ((price,),) = airports.sql("select cast(price as string) from prices")
    assert price == "1.20"


def _yaml_of(page: str) -> list[str]:
    return [b.text for b in all_blocks() if b.page.endswith(page) and b.language == "yaml"]


def test_first_look(airports: Project) -> None:
    (block,) = blocks_of("test_first_look", "bash")
    version, debug = type_in(airports, block.text)
    assert re.search(r"\d+\.\d+", version)
    assert "All checks passed" in debug


# --- lineage


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Somebody who takes OpenLineage's events: the address, and what came."""
    received: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    thread.join()
    server.server_close()


def write_shop(project: Project) -> None:
    """The project that the page about lineage shows."""
    project.write(
        "models/shop.yml",
        """
        version: 2
        sources:
          - name: shop
            schema: public
            config:
              meta:
                tidemark:
                  replicator:
                    connector: postgresql
                    connection: {host: db, database: shop, user: cdc, password: {env: SHOP_PASSWORD}}
            tables: [{name: customers}]
        models:
          - name: customers
            config:
              materialized: cdc
              unique_key: id
              meta: {tidemark: {extract: events, format: debezium, table: public.customers}}
            columns: [{name: id, data_type: int}, {name: name, data_type: string}]
          - name: orders
            config:
              materialized: cdc
              unique_key: id
              meta: {tidemark: {extract: full, location: "landing/orders_{business_date}.csv"}}
            columns: [{name: id, data_type: int}, {name: customer, data_type: int}, {name: amount, data_type: double}]
          - name: per_customer
            columns: [{name: name}, {name: total}]
        """,
    )
    project.write("models/customers.sql", "select * from {{ source('shop', 'customers') }}")
    project.write("models/orders.sql", "{{ tidemark.extract() }}")
    project.write(
        "models/per_customer.sql",
        """
        select c.name, sum(o.amount) as total
        from {{ ref('customers') }} as c join {{ ref('orders') }} as o on o.customer = c.id
        group by c.name
        """,
    )


def test_lineage(
    project: Project, collector: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shop(project)
    monkeypatch.chdir(project.root)
    address, received = collector
    table, events = blocks_of("test_lineage", "bash")
    home = {
        "DBT_TARGET_PATH": str(project.root / "target"),
        "DBT_LOG_PATH": str(project.root / "logs"),
    }
    (printed,) = type_in(project, table.text, **home)
    shown = next(b.text for b in all_blocks() if b.page == table.page and b.language == "text")
    assert _words(printed) == _words(shown)
    type_in(project, events.text, OPENLINEAGE_URL=address, **home)
    assert (project.root / "lineage.ndjson").read_text().count('"COMPLETE"') == 3
    assert len(received) == 3


def _words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip(" ─")]


@pytest.mark.slow
def test_docs_page(project: Project) -> None:
    write_shop(project)
    project.sql("select 1")
    home = {
        "DBT_TARGET_PATH": str(project.root / "target"),
        "DBT_LOG_PATH": str(project.root / "logs"),
    }
    (block,) = blocks_of("test_docs_page", "bash")
    for path in type_in(project, block.text, **home):
        assert "per_customer" in Path(path.strip()).read_text(encoding="utf-8")


# --- operations, each a call of dbt


@pytest.mark.slow
def test_operation_commands(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark.operate.cli._can_ask", lambda: True)
    (block,) = blocks_of("test_operation_commands", "bash")
    loaded(project)
    type_in(project, block.text)
    kinds = [
        kind for (kind,) in project.sql("select kind from tidemark_commits order by commit_id")
    ]
    assert {"rollback", "savepoint", "erase_key"} <= set(kinds)
    assert not project.sql("select * from airports__log where icao = 'WIPO'")


@pytest.mark.slow
def test_operations(project: Project) -> None:
    loaded(project)
    for block in blocks_of("test_operations", "bash"):
        type_in(project, with_commits(block.text, project))
    assert not project.sql("select * from airports__log where icao = 'WIPO'")


@pytest.mark.slow
def test_read_optimized(airports: Project) -> None:
    """What `compact` left, so that comes first."""
    airports.dbt("run-operation", "compact", "--args", "{entity: airports}")
    (block,) = blocks_of("test_read_optimized", "sql")
    (query,) = render(airports, [block.text])
    assert len(airports.sql(query)) == len(airports.sql("select * from airports")) > 0


# --- Python models


@pytest.mark.slow
def test_python_models(project: Project) -> None:
    python, sql = blocks_of("test_python_models", "python", "sql")
    project.write("models/stations/stations_hashed.py", python.text)
    project.write("models/stations/stations.sql", sql.text)
    (properties,) = _yaml_of("how-to/python-models.md")
    text = properties.replace("landing/", f"{project.root}/landing/")
    project.write("models/stations/stations.yml", f"version: 2\n{text}")
    (project.root / "landing").mkdir()
    (project.root / "landing/stations_2026-01-01.txt").write_text(
        "LSZH 432.5 \nLSGG 430.1 \nXXXX nothing\n"
    )
    (command,) = re.findall(
        r"`(dbt run --select \+stations .*?)`",
        section("How do I load what SQL cannot read (Excel, XML)?"),
    )
    type_in(project, command)
    rows = project.sql("select icao, elevation from stations order by icao")
    assert [tuple(row) for row in rows] == [("LSGG", 430.1), ("LSZH", 432.5)]
    assert len(project.sql("select * from stations__rejects")) == 1


# --- enriched events


@pytest.mark.slow
def test_enriched_events(project: Project, make_project: Callable[[str], Project]) -> None:
    landing = project.root / "landing/events"
    blocks = blocks_of("test_enriched_events", "sql", "bash")
    models, by_name = [block for block in blocks if block.language == "sql"]
    for text in models.text.split("\n\n"):
        name = re.match(r"-- (models/\w+\.sql)\n", text)
        assert name
        project.write(name[1], text)
    properties = _yaml_of("how-to/enriched-events.md")[0]
    text = properties.replace("location: landing/", f"location: {project.root}/landing/")
    project.write("models/events.yml", f"version: 2\n{text}")
    written = CliRunner().invoke(
        cli, ["datagen", "events", "200", "1", str(landing / "{date}.tsv.gz"), "--hours", "24"]
    )
    assert written.exit_code == 0, written.output
    project.dbt("build", "--select", "atomic_events", "products")
    assert project.sql("select * from products")
    # the macro's other form names the model of events
    (query,) = render(project, [by_name.text.replace("web_events", "atomic_events")])
    assert len(project.sql(query)) == len(project.sql("select * from products"))
    (block,) = [block for block in blocks if block.language == "bash"]
    ((first,),) = project.sql("select min(_commit_id) from atomic_events")
    script = (
        block.text.replace("lake.events", f"{project.schema}.atomic_events")
        .replace("/lake/shredded", f"{project.root}/shredded")
        .replace(", from: 260304093000123", "")
        .replace("260304093000123", str(first))
    )
    type_in(project, script)
    assert list((project.root / "shredded").rglob("*"))
