"""Lineage through the models of a project, and through Tidemark's own materializations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lineage_projects import POSTGRES, WAREHOUSE, entity, lineage_of, model, source
from tidemark.lineage.datasets import Warehouse, database_table, warehouse_of
from tidemark.lineage.graph import Lineage
from tidemark.lineage.project import Node, in_order
from tidemark.lineage.report import ROWS, describe, lines_of

AIRPORTS = entity(
    "airports", {"extract": "full", "location": "in/a_{business_date}.csv"}, ["icao", "Lat"]
)
IN = "in/a_{business_date}.csv: "


def told(lineage: Lineage, name: str) -> dict[str, set[tuple[str, ...]]]:
    """The columns of a model: kind, then what it comes from."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for line in lines_of(lineage, lineage.models[f"model.shop.{name}"]):
        found.setdefault(line.column, set()).add((line.kind, *line.sources))
    return found


def remarks(lineage: Lineage, name: str) -> tuple[str, ...]:
    return lineage.models[f"model.shop.{name}"].remarks


def test_extract__columns_of_the_file_and_those_that_tidemark_adds() -> None:
    lineage = lineage_of(AIRPORTS)
    assert told(lineage, "airports") == {
        "icao": {("identity", f"{IN}icao")},
        "Lat": {("identity", f"{IN}Lat")},
        "_key_hash": {("added by tidemark",)},
        "_row_hash": {("added by tidemark",)},
        "_operation": {("added by tidemark",)},
        "_eff_start_date": {("added by tidemark",)},
    }
    assert remarks(lineage, "airports") == ()


def test_extract__a_select_over_files_and_columns_that_the_yaml_does_not_name() -> None:
    sql = "select id, trim(name) as name from csv.`/data/x.csv` with ('header' 'true')"
    lineage = lineage_of(entity("people", {"extract": "full"}, [], sql=sql))
    found = told(lineage, "people")
    assert found["id"] == {("identity", "/data/x.csv: id")}
    assert found["name"] == {("transformation", "/data/x.csv: name")}


def test_chain__through_all_models_in_between() -> None:
    lineage = lineage_of(
        model("top", "select icao, most * 2 as twice from lake.middle", "middle"),
        model(
            "middle",
            "select ICAO, max(lat) as most from lake.airports where _operation <> 'D' group by icao",
            "airports",
        ),
        AIRPORTS,
    )
    assert told(lineage, "top") == {
        "icao": {("identity", f"{IN}icao")},
        "twice": {("aggregation", f"{IN}Lat")},
    }
    assert told(lineage, "middle")[ROWS] == {
        ("filter", "airports._operation"),
        ("group by", f"{IN}icao"),
    }


def test_chain__of_a_thousand_models() -> None:
    models = [
        model(f"m{n}", f"select icao from lake.m{n - 1}", f"m{n - 1}") for n in range(1, 1000)
    ]
    lineage = lineage_of(
        AIRPORTS, model("m0", "select icao from lake.airports", "airports"), *models
    )
    assert told(lineage, "m999") == {"icao": {("identity", f"{IN}icao")}}


def test_sides__log_and_history_have_the_columns_of_the_entity() -> None:
    sql = """
        select * except (_operation, _changed_columns, _superseded_by, _eff_start_date, _row_hash),
            lead(_business_date) over (partition by _key_hash order by _business_date) as _valid_to
        from lake.airports__log
    """
    lineage = lineage_of(AIRPORTS, model("airports_scd2", sql, "airports", materialized="scd2"))
    found = told(lineage, "airports_scd2")
    assert found["icao"] == {("identity", f"{IN}icao")}
    assert found["Lat"] == {("identity", f"{IN}Lat")}
    assert found["_valid_to"] == {
        ("transformation", "airports__log._business_date"),
        ("window", "airports__log: _key_hash, _business_date"),
    }
    assert list(found) == ["icao", "Lat", "_key_hash", "_business_date", "_commit_id", "_valid_to"]


def test_sensitive__columns_are_beside_the_entity() -> None:
    people = entity(
        "people", {"extract": "full", "location": "in/p", "sensitive": ["phone"]}, ["id", "phone"]
    )
    sql = "select p.id, s.phone from lake.people p join lake.people__sensitive s on p._key_hash = s._key_hash"
    lineage = lineage_of(
        people,
        model("joined", sql, "people"),
        model("all_of_it", "select * from lake.people", "people"),
    )
    assert told(lineage, "joined")["phone"] == {("identity", "in/p: phone")}
    assert "phone" not in told(lineage, "all_of_it")
    assert told(lineage, "people")["phone"] == {("identity", "in/p: phone")}
    made = lineage.models["model.shop.people"]
    assert "phone" not in made.relation.columns
    assert {
        relation.key.rpartition("__")[2]: "phone" in relation.columns for relation, _ in made.sides
    } == {
        "log": False,
        "history": False,
        "sensitive": True,
    }


def test_events__the_table_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_HOST", "db.example.com")
    settings = {
        "extract": "events",
        "format": "debezium",
        "table": "public.customers",
        "previous_names": {"email": "mail"},
    }
    lineage = lineage_of(
        source("public.customers", replicator=POSTGRES),
        entity(
            "customers",
            settings,
            ["id", "email"],
            "source.shop.public.customers",
            sql="select * from public.customers",
        ),
        model("mails", "select lower(email) as mail from lake.customers", "customers"),
    )
    found = told(lineage, "customers")
    assert found["id"] == {("identity", "shop.public.customers.id")}
    assert found["email"] == {("identity", "shop.public.customers: email, mail")}
    assert found["_sequence_num"] == {("added by tidemark",)}
    assert told(lineage, "mails") == {
        "mail": {("transformation", "shop.public.customers: email, mail")}
    }
    relation = lineage.relations[lineage.models["model.shop.customers"].inputs[0]]
    assert (relation.dataset.namespace, relation.dataset.name) == (
        "postgres://db.example.com:5433",
        "shop.public.customers",
    )


def test_events__found_by_where_they_land() -> None:
    settings = {"extract": "events", "table": "public.orders", "location": "landing/shop/*"}
    lineage = lineage_of(
        source("public.tables", replicator=POSTGRES | {"location": "landing/shop"}),
        entity("orders", settings, ["id"]),
    )
    assert told(lineage, "orders")["id"] == {("identity", "shop.public.orders.id")}


def test_events__without_a_replicator_the_stream_is_named_by_its_folder() -> None:
    settings = {"extract": "events", "table": "inventory.orders", "location": "landing/shop"}
    lineage = lineage_of(entity("orders", settings, ["id"]))
    assert told(lineage, "orders")["id"] == {("identity", "inventory.orders.id")}
    relation = lineage.relations[lineage.models["model.shop.orders"].inputs[0]]
    assert (relation.dataset.namespace, relation.dataset.name) == (
        "file:/project/landing/shop",
        "inventory.orders",
    )


def test_events__columns_that_nothing_names() -> None:
    settings = {"extract": "events", "table": "a.b", "location": "landing/shop"}
    lineage = lineage_of(entity("orders", settings, []))
    assert told(lineage, "orders")["(all columns)"] == {("identity", "a.b")}
    assert remarks(lineage, "orders") == (
        "the columns come with the events: `tidemark docs` makes a catalogue of them",
    )


def test_events__rows_of_a_select_without_what_is_left_out() -> None:
    settings = {
        "extract": "events",
        "format": "rows",
        "sequence_by": "changed_at",
        "columns": {"exclude": ["Operation"]},
    }
    changes = source("raw.changes", ["id", "name", "operation", "changed_at"])
    sql = "select id, upper(name) as name, operation, changed_at from raw.changes"
    lineage = lineage_of(changes, entity("users", settings, [], changes.unique_id, sql=sql))
    found = told(lineage, "users")
    assert found["name"] == {("transformation", "raw.changes.name")}
    assert "operation" not in found
    assert found["_sequence_by"] == {("added by tidemark",)}


def test_atomic_and_shred() -> None:
    body = "select `schema`, data, hierarchy, field, position, _commit_id from lake.atomic_events__entities where name = 'product'"
    lineage = lineage_of(
        model(
            "atomic_events",
            "select * from `tidemark__lake__atomic_events__extract`",
            materialized="atomic",
            settings={"location": "in/e.tsv"},
        ),
        model("products", body, "atomic_events", materialized="shred", columns={"sku": "string"}),
    )
    atomic = told(lineage, "atomic_events")
    assert len(atomic) == 132
    assert atomic["app_id"] == {("identity", "in/e.tsv: app_id")}
    assert atomic["_commit_id"] == {("added by tidemark",)}
    products = told(lineage, "products")
    assert products["sku"] == {
        ("transformation", "in/e.tsv: contexts, unstruct_event, derived_contexts")
    }
    assert products["hierarchy"] == {("transformation", "in/e.tsv: event_id, collector_tstamp")}
    assert list(products) == ["schema", "hierarchy", "sku", "_commit_id", ROWS]


def test_python__by_table_only() -> None:
    lineage = lineage_of(
        AIRPORTS,
        model("scored", None, "airports", language="python", columns={"score": "double"}),
        model("best", "select max(score) as best from lake.scored", "scored"),
    )
    assert told(lineage, "scored") == {
        "score": {("made in Python",)},
        "(all columns)": {("Python, by table", "airports")},
    }
    assert told(lineage, "best") == {"best": {("aggregation", "scored.score")}}
    assert remarks(lineage, "scored") == ("a Python model: by table only",)


def test_without_sql__columns_of_the_same_name() -> None:
    feed = model(
        "feed",
        None,
        "airports",
        materialized="feed",
        columns={"icao": None, "_change": None, "_commit_id": None},
    )
    lineage = lineage_of(AIRPORTS, feed)
    found = told(lineage, "feed")
    assert found["icao"] == {("identity", f"{IN}icao")}
    assert found["_change"] == {("no column",)}
    assert found["_commit_id"] == {("added by tidemark",)}
    assert remarks(lineage, "feed") == ("it has no compiled SQL: columns are matched by name",)


def test_sql_that_cannot_be_read__is_said_and_columns_are_matched_by_name() -> None:
    broken = model("broken", "select frm where (", "airports", columns={"icao": None})
    lineage = lineage_of(AIRPORTS, broken)
    assert told(lineage, "broken") == {"icao": {("identity", f"{IN}icao")}}
    assert remarks(lineage, "broken")[0].startswith("its SQL cannot be read (")


def test_catalogue__its_columns_come_before_those_of_the_yaml() -> None:
    raw = replace(source("raw.changes", ["id"]), measured={"id": "bigint", "Name": "string"})
    lineage = lineage_of(raw, model("all_of_it", "select * from raw.changes", raw.unique_id))
    assert told(lineage, "all_of_it") == {
        "id": {("identity", "raw.changes.id")},
        "Name": {("identity", "raw.changes.Name")},
    }
    assert lineage.models["model.shop.all_of_it"].relation.columns == {
        "id": "bigint",
        "Name": "string",
    }


def test_star_over_a_source_that_is_not_known() -> None:
    raw = source("raw.changes")
    named = model("named", "select * from raw.changes", raw.unique_id, columns={"Id": "int"})
    lineage = lineage_of(raw, named, model("unnamed", "select * from raw.changes", raw.unique_id))
    assert told(lineage, "named") == {"Id": {("identity", "raw.changes.Id")}}
    assert told(lineage, "unnamed") == {"(all columns)": {("identity", "raw.changes")}}


def test_incremental__what_a_model_reads_of_itself_adds_nothing() -> None:
    sql = "select icao, coalesce(t.lat, s.lat) as lat from lake.airports s left join lake.kept t using (icao)"
    lineage = lineage_of(
        AIRPORTS, model("kept", sql, "airports", columns={"icao": None, "lat": None})
    )
    assert told(lineage, "kept")["lat"] == {("transformation", f"{IN}Lat")}


def test_snapshot_and_seed() -> None:
    seed = Node("seed.shop.rates", "rates", "seed", "lake", "rates")
    snapshot = Node(
        "snapshot.shop.kept",
        "kept",
        "snapshot",
        "lake",
        "kept",
        sql="select code, rate from lake.rates",
        depends_on=("seed.shop.rates",),
    )
    lineage = lineage_of(
        seed,
        snapshot,
        model("top", "select code, dbt_valid_from from lake.kept", snapshot.unique_id),
    )
    assert told(lineage, "top") == {
        "code": {("identity", "rates.code")},
        "dbt_valid_from": {("identity", "kept.dbt_valid_from")},
    }


def test_describe__one_line() -> None:
    lineage = lineage_of(
        AIRPORTS,
        model(
            "m", "select icao, max(lat) as m, 1 as one from lake.airports group by icao", "airports"
        ),
    )
    made = lineage.models["model.shop.m"]
    assert [describe(lineage, made, column) for column in made.columns] == [
        f"from: {IN}icao",
        f"from: {IN}Lat (aggregation)",
        "from: no column",
    ]


def test_in_order__upstream_first() -> None:
    nodes = {
        name: model(name, None, *refs) for name, refs in {"c": ["b"], "b": ["a"], "a": []}.items()
    }
    assert in_order({node.unique_id: node for node in nodes.values()}) == [
        "model.shop.a",
        "model.shop.b",
        "model.shop.c",
    ]


@pytest.mark.parametrize(
    ("connector", "database", "table", "namespace", "name"),
    [
        ("postgresql", "shop", "public.orders", "postgres://h:5432", "shop.public.orders"),
        ("mysql", None, "inventory.orders", "mysql://h:3306", "inventory.orders"),
        ("mariadb", "inventory", "orders", "mariadb://h:3306", "inventory.orders"),
        ("sqlserver", "shop", "dbo.orders", "mssql://h:1433", "shop.dbo.orders"),
        ("sqlserver", "shop", "shop.dbo.orders", "mssql://h:1433", "shop.dbo.orders"),
        ("oracle", "XE", "SHOP.ORDERS", "oracle://h:1521", "XE.SHOP.ORDERS"),
    ],
)
def test_database_table(
    connector: str, database: str | None, table: str, namespace: str, name: str
) -> None:
    replicator = {"connector": connector, "connection": {"host": "h", "database": database}}
    found = database_table(replicator, table)
    assert (found.namespace, found.name) == (namespace, name)


def test_database_table__what_the_environment_does_not_say_is_left_out() -> None:
    found = database_table(POSTGRES, "public.orders", {})
    assert (found.namespace, found.name) == ("postgres", "shop.public.orders")


class Credentials:
    def __init__(
        self, method: str, host: str | None = None, port: int | None = None, **settings: str
    ) -> None:
        self.method, self.host, self.port = method, host, port
        self.server_side_parameters = {
            name.replace("_", "."): value for name, value in settings.items()
        }


def test_warehouse__embedded_metastore_and_thrift() -> None:
    root, home = Path("/project"), Path("/home")
    embedded = warehouse_of(Credentials("session", "localhost"), root, home / "warehouse")
    assert embedded.table("lake", "orders") == WAREHOUSE.table("lake", "orders")
    assert embedded.table("default", "orders").name == "/home/warehouse/orders"
    assert embedded.table("lake", "orders").symlink == ("file:/home/warehouse", "lake.orders")
    shared = warehouse_of(
        Credentials(
            "session", spark_hadoop_hive_metastore_uris="thrift://meta:9083,thrift://b:9083"
        ),
        root,
        home,
    )
    assert (shared.table("lake", "orders").namespace, shared.table("lake", "orders").name) == (
        "hive://meta:9083",
        "lake.orders",
    )
    thrift = warehouse_of(Credentials("thrift", "spark.example.com", 10000), root, home)
    assert thrift == Warehouse(root, "/home", "spark://spark.example.com:10000")
    assert (
        warehouse_of(Credentials("session"), root, home).table("a", "b", "s3://lake/x").name
        == "x/b"
    )
