"""`tidemark lineage` and `tidemark docs` on dbt projects; neither starts Spark here."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.conftest import REPO, Project
from tidemark.cli import cli

pytestmark = pytest.mark.turn(0)


def call(root: Path, home: Path, *arguments: str) -> Any:
    """Call the CLI as a process of its own would: what it sets in the environment goes again."""
    result = CliRunner().invoke(
        cli,
        [*arguments, "--project-dir", str(root), "--profiles-dir", str(root), "--target", "ci"],
        env={
            "DBT_TARGET_PATH": str(home / "target"),
            "DBT_LOG_PATH": str(home / "logs"),
            "SHOP_HOST": "db.example.com",
        },
    )
    assert result.exit_code == 0, result.output
    return result


def told(result: Any) -> dict[tuple[str, str | None], set[str]]:
    """What `--output-format json` printed: model and column, with `relation.column subtype`."""
    records = [json.loads(line) for line in result.stdout.splitlines()]
    return {
        (record["model"], record["column"]): {
            f"{link['relation']}.{link['column']} {link['subtype']}" for link in record["from"]
        }
        for record in records
    }


@pytest.fixture(scope="module")
def shop(make_project: Callable[[str], Project]) -> Project:
    project = make_project("lineage")
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
                    connection:
                      {host: {env: SHOP_HOST}, database: shop, user: cdc, password: {env: SHOP_PASSWORD}}
            tables: [{name: customers}]
        models:
          - name: customers
            config:
              materialized: cdc
              unique_key: id
              meta: {tidemark: {extract: events, format: debezium, table: public.customers}}
            columns: [{name: id, data_type: int}, {name: name, data_type: string, description: Full name.}]
          - name: orders
            config:
              materialized: cdc
              unique_key: id
              meta: {tidemark: {extract: full, location: "landing/orders_{business_date}.csv"}}
            columns: [{name: id, data_type: int}, {name: customer, data_type: int}, {name: amount, data_type: double}]
          - name: orders_feed
            config: {materialized: feed}
            columns: [{name: id}]
        """,
    )
    project.write("models/customers.sql", "select * from {{ source('shop', 'customers') }}")
    project.write("models/orders.sql", "{{ tidemark.extract() }}")
    project.write(
        "models/orders_scd2.sql",
        "{{ config(materialized='scd2') }}{{ tidemark.scd2(ref('orders')) }}",
    )
    project.write(
        "models/orders_feed.sql", "select * from ({{ tidemark.change_feed(ref('orders')) }})"
    )
    project.write(
        "models/per_customer.sql",
        """
        select customers.name, sum(orders.amount) as total
        from {{ ref('orders') }} as orders
        inner join {{ ref('customers') }} as customers on orders.customer = customers.id
        group by customers.name
        """,
    )
    project.write(
        "models/broken.sql",
        """
        {% if execute %}{{ exceptions.raise_compiler_error('there is no such thing') }}{% endif %}
        select 1 as x
        """,
    )
    project.write(
        "models/scores.py",
        """
        def model(dbt, session):
            return dbt.ref("per_customer")
        """,
    )
    return project


def test_lineage__a_small_project(shop: Project) -> None:
    result = call(shop.root, shop.root, "lineage", "--output-format", "json")
    found = told(result)
    file = "landing/orders_{business_date}.csv"
    assert found["customers", "name"] == {"shop.public.customers.name IDENTITY"}
    assert found["per_customer", "name"] == {"shop.public.customers.name IDENTITY"}
    assert found["per_customer", "total"] == {f"{file}.amount AGGREGATION"}
    assert found["per_customer", None] == {
        f"{file}.customer JOIN",
        "shop.public.customers.id JOIN",
        "shop.public.customers.name GROUP_BY",
    }
    assert found["orders_scd2", "amount"] == {f"{file}.amount IDENTITY"}
    assert found["orders_scd2", "_valid_from"] == {"orders__log._business_date IDENTITY"}
    assert found["orders_feed", "id"] == {f"{file}.id IDENTITY"}
    assert found["scores", "*"] == {"per_customer.* TRANSFORMATION"}
    assert "orders_feed: its SQL does not compile without Spark" in result.stderr
    assert "scores: a Python model: by table only" in result.stderr
    assert "broken: its SQL does not compile: there is no such thing" in result.stderr


def test_lineage__events_of_a_selection(shop: Project, tmp_path: Path) -> None:
    file = tmp_path / "lineage.ndjson"
    result = call(
        shop.root, shop.root, "lineage", "--select", "customers+1", "--openlineage", str(file)
    )
    assert result.stdout == ""
    events = {
        event["job"]["name"]: event for event in map(json.loads, file.read_text().splitlines())
    }
    assert set(events) == {"tests.customers", "tests.per_customer"}
    (read,) = events["tests.customers"]["inputs"]
    assert (read["namespace"], read["name"]) == (
        "postgres://db.example.com:5432",
        "shop.public.customers",
    )
    assert (
        "group by customers.name" in events["tests.per_customer"]["job"]["facets"]["sql"]["query"]
    )


def test_lineage__models_by_name(shop: Project) -> None:
    """A name is what --select takes, beside it."""
    told = ("--output-format", "json")
    by_name = call(shop.root, shop.root, "lineage", "customers", "per_customer", *told)
    selected = call(shop.root, shop.root, "lineage", *told, "--select", "customers", "per_customer")
    both = call(shop.root, shop.root, "lineage", "per_customer", *told, "--select", "customers")
    assert by_name.stdout == selected.stdout == both.stdout != ""


def test_lineage__nothing_selected(shop: Project) -> None:
    root = str(shop.root)
    result = CliRunner().invoke(
        cli,
        [
            "lineage",
            "--select",
            "nothing",
            "--project-dir",
            root,
            "--profiles-dir",
            root,
            "--target",
            "ci",
        ],
        env={"DBT_TARGET_PATH": f"{root}/target", "DBT_LOG_PATH": f"{root}/logs"},
    )
    assert "no model is left. Check the names, --select" in str(result.exception)


def test_lineage__the_sql_of_the_last_run_where_it_does_not_compile(
    shop: Project, tmp_path: Path
) -> None:
    folder = tmp_path / "target"
    feed = {
        "resource_type": "model",
        "schema": "before",
        "name": "orders_feed",
        "alias": "orders_feed",
        "package_name": "tests",
        "original_file_path": "models/orders_feed.sql",
        "checksum": {"checksum": "another"},
    }
    log = feed | {"name": "orders", "alias": "orders", "original_file_path": "models/orders.sql"}
    folder.mkdir()
    nodes = {"model.tests.orders_feed": feed, "model.tests.orders": log}
    (folder / "manifest.json").write_text(json.dumps({"nodes": nodes}))
    compiled = folder / "compiled" / "tests" / "models" / "orders_feed.sql"
    compiled.parent.mkdir(parents=True)
    compiled.write_text("select id, to_json(struct(amount)) as _change from before.orders__log")
    result = call(
        shop.root, tmp_path, "lineage", "--select", "orders_feed", "--output-format", "json"
    )
    found = told(result)
    assert found["orders_feed", "_change"] == {
        "landing/orders_{business_date}.csv.amount TRANSFORMATION"
    }
    assert "lineage from the SQL of its last run; its file has changed since" in result.stderr
    assert (folder / "manifest.json").read_text() == json.dumps({"nodes": nodes})


def test_docs__say_where_columns_come_from_and_leave_the_yaml(shop: Project) -> None:
    yaml = (shop.root / "models/shop.yml").read_text()
    result = call(shop.root, shop.root, "docs", "--offline")
    page = Path(result.stdout.strip())
    html = page.read_text(encoding="utf-8")
    assert page.suffix == ".html"
    assert "Full name.\\n\\nfrom: shop.public.customers.name" in html
    assert "from: landing/orders_{business_date}.csv: amount (aggregation)" in html
    assert "INLINE DATA" not in html
    assert (shop.root / "models/shop.yml").read_text() == yaml


def test_docs__without_the_extra_have_what_lies_beside(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    missing = ("sqlglot", "openlineage")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name in missing else find(name, *more)
    )  # fmt: skip
    result = call(shop.root, shop.root, "docs", "--offline")
    assert "does not say where columns come from, which needs openlineage" in result.stderr
    html = Path(result.stdout.strip()).read_text(encoding="utf-8")
    assert "from: landing" not in html and "__log`" in html
    assert "Rows of `" in html and "Reason why the row cannot be used" in html


def test_lineage__the_examples_by_their_compiled_sql(tmp_path: Path) -> None:
    found = told(call(REPO, tmp_path, "lineage", "--output-format", "json"))
    airports = "seeds/airports/airports_{business_date}.csv.gz"
    assert found["airports_scd2", "lat"] == {f"{airports}.lat IDENTITY"}
    assert found["airports_by_rdd", "icao"] == {"airports_hashed.icao IDENTITY"}
    assert found["customers_by_batch", "balance"] == {"inventory.customers.balance IDENTITY"}
    assert found["customers_scd2", "name"] == {"inventory.customers.name IDENTITY"}
    assert found["customers_scd2", "_valid_from"] >= {"customers__log._event_time AGGREGATION"}
    contexts = {link.rpartition(".")[2] for link in found["products", "price"]}
    assert contexts == {
        f"{name} TRANSFORMATION" for name in ("contexts", "unstruct_event", "derived_contexts")
    }
    assert {link.rpartition(".")[2] for link in found["renamed_events", "original_event_id"]} >= {
        "derived_contexts TRANSFORMATION",
        "event_id TRANSFORMATION",
    }
    assert {link.rpartition("/")[2] for link in found["event_keys", "_event_id"]} == {
        "none.tsv.gz.value TRANSFORMATION",
        "none.tsv.gz.value CONDITIONAL",
    }
