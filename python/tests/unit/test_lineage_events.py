"""OpenLineage events, field by field, and the docs' descriptions."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.lineage_projects import POSTGRES, entity, lineage_of, model, source
from tidemark.errors import ConfigError
from tidemark.lineage.docs import extend_descriptions
from tidemark.lineage.events import OpenLineageError, events_of, send_events, write_events
from tidemark.lineage.graph import Lineage
from tidemark.lineage.report import json_lines, lines_of, render_table

SQL = "select customer, sum(amount) as total from lake.orders where amount > 0 group by customer"


@pytest.fixture
def lineage(monkeypatch: pytest.MonkeyPatch) -> Lineage:
    monkeypatch.setenv("SHOP_HOST", "db")
    monkeypatch.delenv("OPENLINEAGE_NAMESPACE", raising=False)
    settings = {"extract": "events", "table": "public.orders"}
    return lineage_of(
        source("public.orders", replicator=POSTGRES),
        entity(
            "orders",
            settings,
            ["customer", "amount"],
            "source.shop.public.orders",
            sql="select * from public.orders",
        ),
        model(
            "totals",
            SQL,
            "orders",
            description="Totals.\n",
            columns={"customer": "int", "total": "decimal(28,2)"},
        ),
        model("inline", "select 1 as x", materialized="ephemeral"),
    )


def written(lineage: Lineage, path: Path) -> dict[str, dict[str, Any]]:
    assert write_events(events_of(lineage, lineage.models.values()), path) == 2
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return {event["job"]["name"]: event for event in events}


def test_event__what_a_model_reads_and_writes(lineage: Lineage, tmp_path: Path) -> None:
    event = written(lineage, tmp_path / "new" / "lineage.ndjson")["shop.totals"]
    assert event["eventType"] == "COMPLETE"
    assert event["eventTime"].endswith("+00:00")
    assert event["producer"].startswith("urn:tidemark:")
    assert event["schemaURL"].endswith("#/$defs/RunEvent")
    assert str(uuid.UUID(event["run"]["runId"])) == event["run"]["runId"]
    assert event["job"]["namespace"] == "shop"
    facets = event["job"]["facets"]
    assert (facets["sql"]["query"], facets["sql"]["dialect"]) == (SQL, "spark")
    assert {
        key: facets["jobType"][key] for key in ("processingType", "integration", "jobType")
    } == {
        "processingType": "BATCH",
        "integration": "DBT",
        "jobType": "MODEL",
    }
    (read,) = event["inputs"]
    assert (read["namespace"], read["name"]) == ("file", "/home/warehouse/lake.db/orders")
    assert read["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "file:/home/warehouse", "name": "lake.orders", "type": "TABLE"}
    ]
    (made,) = event["outputs"]
    assert (made["namespace"], made["name"]) == ("file", "/home/warehouse/lake.db/totals")
    assert made["facets"]["documentation"]["description"] == "Totals."
    assert [(field["name"], field["type"]) for field in made["facets"]["schema"]["fields"]] == [
        ("customer", "int"),
        ("total", "decimal(28,2)"),
    ]


def test_event__column_lineage(lineage: Lineage, tmp_path: Path) -> None:
    (made,) = written(lineage, tmp_path / "l.ndjson")["shop.totals"]["outputs"]
    facet = made["facets"]["columnLineage"]
    place = {"namespace": "file", "name": "/home/warehouse/lake.db/orders"}

    def way(kind: str, subtype: str) -> dict[str, Any]:
        return {"type": kind, "subtype": subtype, "description": "", "masking": False}

    assert facet["_schemaURL"].endswith(
        "ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
    )
    assert {name: field["inputFields"] for name, field in facet["fields"].items()} == {
        "customer": [
            {**place, "field": "customer", "transformations": [way("DIRECT", "IDENTITY")]}
        ],
        "total": [{**place, "field": "amount", "transformations": [way("DIRECT", "AGGREGATION")]}],
    }
    assert facet["dataset"] == [
        {**place, "field": "amount", "transformations": [way("INDIRECT", "FILTER")]},
        {**place, "field": "customer", "transformations": [way("INDIRECT", "GROUP_BY")]},
    ]


def test_event__an_entity_with_what_lies_beside_it(lineage: Lineage, tmp_path: Path) -> None:
    event = written(lineage, tmp_path / "l.ndjson")["shop.orders"]
    assert [(read["namespace"], read["name"]) for read in event["inputs"]] == [
        ("postgres://db:5433", "shop.public.orders")
    ]
    assert [made["name"].rpartition("/")[2] for made in event["outputs"]] == [
        "orders",
        "orders__log",
        "orders__history",
    ]
    for made in event["outputs"]:
        fields = made["facets"]["columnLineage"]["fields"]
        # what Tidemark adds is in the schema, and comes from nowhere
        assert set(fields) == {"customer", "amount"}
        assert fields["amount"]["inputFields"][0]["name"] == "shop.public.orders"
        assert "_key_hash" in {field["name"] for field in made["facets"]["schema"]["fields"]}


def test_events__a_file_is_written_anew_and_the_namespace_is_openlineage_s(
    lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "production")
    written(lineage, tmp_path / "l.ndjson")
    assert {
        event["job"]["namespace"] for event in written(lineage, tmp_path / "l.ndjson").values()
    } == {"production"}


def test_events__a_file_that_cannot_be_written(lineage: Lineage, tmp_path: Path) -> None:
    with pytest.raises(OpenLineageError, match="cannot be written"):
        write_events(events_of(lineage, []), tmp_path)


def test_emit__needs_openlineage_s_own_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="set OPENLINEAGE_URL"):
        send_events([])


def test_emit__by_the_transport_that_the_environment_names(
    lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(tmp_path / "sent.ndjson"))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    assert send_events(events_of(lineage, lineage.models.values())) == 2
    assert len((tmp_path / "sent.ndjson").read_text().splitlines()) == 2


def test_json_lines__sources_and_inputs(lineage: Lineage) -> None:
    made = lineage.models["model.shop.totals"]
    records = [json.loads(line) for line in json_lines(lineage, made)]
    assert [record["column"] for record in records] == ["customer", "total", None]
    assert records[1]["from"] == [
        {
            "relation": "shop.public.orders",
            "column": "amount",
            "namespace": "postgres://db:5433",
            "dataset": "shop.public.orders",
            "type": "DIRECT",
            "subtype": "AGGREGATION",
            "masking": False,
        }
    ]
    assert [(link["relation"], link["column"]) for link in records[1]["inputs"]] == [
        ("orders", "amount")
    ]
    assert {link["subtype"] for link in records[2]["from"]} == {"FILTER", "GROUP_BY"}


def test_table__names_stand_once_and_added_columns_together(lineage: Lineage) -> None:
    table = render_table(lines_of(lineage, lineage.models["model.shop.orders"]))
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    assert cells[0] == ["orders", "", ""]
    assert cells[1] == [
        "customer",
        "amount",
        "_key_hash\n_row_hash\n_operation\n_eff_start_date\n_sequence_num",
    ]


def test_docs__each_column_says_where_it_comes_from(lineage: Lineage) -> None:
    manifest: dict[str, Any] = {
        "nodes": {
            "model.shop.totals": {
                "columns": {"CUSTOMER": {"name": "CUSTOMER", "description": "Who."}}
            },
        }
    }
    extend_descriptions(manifest, lineage)
    node = manifest["nodes"]["model.shop.totals"]
    assert node["compiled_code"] == SQL
    assert node["columns"]["CUSTOMER"]["description"] == "Who.\n\nfrom: shop.public.orders.customer"
    assert (
        node["columns"]["total"]["description"] == "from: shop.public.orders.amount (aggregation)"
    )
    assert node["columns"]["total"]["data_type"] == "decimal(28,2)"
