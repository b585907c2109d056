"""A source's capture settings, and the properties that Debezium gets for them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tidemark.capture.config import CaptureConfig, Login
from tidemark.capture.joining import Table, leave_out
from tidemark.capture.project import replicator_settings
from tidemark.capture.properties import debezium_properties, selects, table_expressions
from tidemark.errors import ConfigError
from tidemark.replicator.new_source import write_source
from tidemark.replicator.settings import Operation

GOLDEN = Path(__file__).parent / "golden"
CONNECTORS = ["postgresql", "mysql", "mariadb", "sqlserver", "oracle"]


def settings(**changes: Any) -> dict[str, Any]:
    connection = {
        "host": "db.local",
        "database": "shop",
        "user": "tidemark",
        "password": {"env": "SHOP_PASSWORD"},
    }
    return {"connector": "postgresql", "connection": connection, **changes}


def config(**changes: Any) -> CaptureConfig:
    return CaptureConfig.from_dict("shop", settings(**changes))


@pytest.mark.parametrize("connector", CONNECTORS)
def test_properties(connector: str, request: pytest.FixtureRequest) -> None:
    given = config(
        connector=connector,
        include=["shop.*", "crm.customer?"],
        exclude=["shop.audit_*"],
        columns={"exclude": ["shop.customers.card_number"]},
        options={"snapshot.fetch.size": 500, "time.precision.mode": "connect"},
    )
    login = given.login({"SHOP_PASSWORD": "secret"})
    found = debezium_properties(given, login, Path("/state"), snapshot_mode="initial")
    golden = GOLDEN / f"debezium_properties.{connector}.json"
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    if not golden.exists():
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
        pytest.fail(f"{golden} was written: review it")
    assert text == golden.read_text()


def test_all_problems_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        CaptureConfig.from_dict(
            "shop",
            {
                "connector": "postgres",
                "connection": {"host": "h", "usr": "u", "password": "letmein"},
                "inclde": ["public.*"],
                "flush": {"row": 1},
                "options": {
                    "slot.name": "x",
                    "offset.storage.file.filename": "y",
                    "snapshot.fetch.size": 1,
                },
            },
        )
    message = str(caught.value)
    for part in [
        "source 'shop'",
        "connector: Input should be 'postgresql'",
        "connection.user is missing",
        "connection.usr is no setting: did you mean 'user'?",
        "connection.password: must be {env: NAME}",
        "inclde is no setting: did you mean 'include'?",
        "flush.row is no setting: did you mean 'rows'?",
        "slot.name cannot be set (use `slot`)",
        "offset.storage.file.filename cannot be set",
    ]:
        assert part in message
    assert "letmein" not in message
    assert "snapshot.fetch.size" not in message


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"include": ["customers"]}, "include: 'customers' is not <schema>.<table>"),
        (
            {"columns": {"exclude": ["a.b"]}},
            "columns.exclude: 'a.b' is not <schema>.<table>.<column>",
        ),
        (
            {"columns": {"include": ["a.b.c"], "exclude": ["a.b.d"]}},
            "columns: include and exclude are both set",
        ),
        ({"connector": "mysql", "slot": "x"}, "slot is a setting of postgresql"),
        ({"server_id": 5}, "server_id is a setting of mysql and mariadb"),
        ({"slot": "My-Slot"}, "slot: "),
        (
            {
                "connection": {
                    "host": "{{ env_var('H') }}",
                    "database": "d",
                    "user": "u",
                    "password": {"env": "P"},
                }
            },
            "connection.host has Jinja, which capture does not render: write {env: NAME}",
        ),
        ({"flush": {"rows": 0}}, "flush.rows: "),
        (
            {"location": "{{ env_var('X') }}/l"},
            "location: must be a folder of this machine, without ",
        ),
        ({"location": "s3a://bucket/l"}, "location: must be a folder of this machine, without URI"),
        ({"location": "landing/*"}, "location: must be a folder of this machine, without URI"),
        (
            {"connection": {"host": "h", "user": "u", "password": {"env": "P"}}},
            "connection.database is missing",
        ),
    ],
)
def test_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        config(**changes)


def test_names_follow_the_source() -> None:
    given = CaptureConfig.from_dict("My Shop", settings())
    assert (given.slot, given.publication, given.topic_prefix) == (
        "tidemark_my_shop",
        "tidemark_my_shop",
        "my_shop",
    )
    assert given.server_id == CaptureConfig.from_dict("My Shop", settings()).server_id
    assert given.server_id != config().server_id


def test_what_operates_is_kept() -> None:
    given = config(ddl={"drop_column": "apply"}, on_failure="isolate", every="5m")
    assert given.operating == {
        "ddl": {"drop_column": "apply"},
        "on_failure": "isolate",
        "every": "5m",
    }


@pytest.mark.parametrize(
    ("settings", "seconds"), [({}, 600), ({"retry_for": None}, 600), ({"retry_for": "1h"}, 3600)]
)
def test_retry_for(settings: dict[str, Any], seconds: float) -> None:
    """Both halves have it: capture by itself, and the process that operates the source."""
    given = config(**settings)
    assert given.retry_for == Operation.of(given).retry_for == seconds


def test_retry_for__no_duration() -> None:
    with pytest.raises(ConfigError, match=r"retry_for: must be like 30s, .* found: 'soon'"):
        config(retry_for="soon")


def test_login() -> None:
    given = config(
        connection={
            "host": {"env": "H"},
            "port": {"env": "PORT"},
            "database": "d",
            "user": "u",
            "password": {"env": "P"},
        }
    )
    assert given.login({"H": "h", "PORT": "5433", "P": "p"}) == Login("h", 5433, "u", "p", "d")
    with pytest.raises(ConfigError, match="not set: H, PORT, P"):
        given.login({})
    with pytest.raises(ConfigError, match=r"connection\.port must be a whole number, found: 'x'"):
        given.login({"H": "h", "PORT": "x", "P": "p"})
    assert "secret" not in repr(Login("h", 1, "u", "secret"))


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ("public.customers", True),
        ("PUBLIC.Customers", True),
        ("public.audit_log", False),
        ("crm.customer1", True),
        ("crm.customer12", False),
        ("other.customers", False),
        ("public.a+b", True),
    ],
)
def test_selects(table: str, wanted: bool) -> None:
    given = config(include=["public.*", "crm.customer?"], exclude=["public.audit_*"])
    assert selects(given, table) is wanted


def test_patterns_are_no_expressions() -> None:
    assert table_expressions(["public.a+b"], []) == [r"public\.a\+b"]
    assert table_expressions([], []) == []
    assert table_expressions([], ["x.y"]) == [r"(?!(?:x\.y)$)[^.]*\.[^.]*"]


@pytest.mark.parametrize("include", [["public.*"], []])
def test_first_snapshot_leaves_out_tables_whose_updates_would_fail(include: list[str]) -> None:
    tables = [
        Table(f"public.{name}", f"public.{name}", False, True, True, identified)
        for name, identified in (("orders", True), ("logs", False), ("logs2", True))
    ]
    given = config(include=include, exclude=["public.audit_*"])
    properties, warnings = leave_out(given, tables)
    (wanted,) = properties["table.include.list"].split(",")
    names = ["public.orders", "public.logs", "public.logs2", "public.audit_1"]
    assert [bool(re.fullmatch(wanted, name)) for name in names] == [True, False, True, False]
    assert [warning.split(" ")[0] for warning in warnings] == ["public.logs"]
    assert "alter table public.logs replica identity full" in warnings[0]
    assert leave_out(given, tables[:1]) == ({}, ())
    assert leave_out(config(include=["crm.*"]), tables) == ({}, ())


def test_tls_of_our_own_connection() -> None:
    """PostgreSQL's driver has Debezium's names, of others `driver.` says how it is."""
    pytest.importorskip("jpype")
    from tidemark.capture.database import _driver_options

    names = ("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword")
    given = {f"database.{name}": "x" for name in names}
    assert _driver_options(config(options=given)) == dict.fromkeys(names, "x")
    options = {"database.ssl.mode": "required", "driver.sslMode": "trust"}
    other = config(connector="mariadb", options=options)
    assert _driver_options(other) == {"sslMode": "trust"}


def test_landing(tmp_path: Path) -> None:
    assert config().landing(Path("/project"), Path("/home")) == Path("/home/landing/shop")
    assert config(location="landing/s").landing(Path("/project"), Path("/home")) == Path(
        "/project/landing/s"
    )


def test_project(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: p\n")
    (tmp_path / "models" / "s.yml").write_text(
        json.dumps(
            {
                "sources": [
                    {"name": "shop", "config": {"meta": {"tidemark": {"replicator": {"a": 1}}}}},
                    {"name": "crm"},
                ]
            }
        )
    )
    assert replicator_settings(tmp_path, "shop") == {"a": 1}
    with pytest.raises(ConfigError, match="did you mean 'shop'"):
        replicator_settings(tmp_path, "shopp")
    with pytest.raises(ConfigError, match=r"'crm' has no config\.meta"):
        replicator_settings(tmp_path, "crm")


def test_a_source_is_found_where_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "dbt_project.yml").write_text("model-paths: [\"{{ env_var('MODELS') }}\"]\n")
    connection = {"host": "h", "database": "d", "user": "u", "password": {"env": "P"}}
    settings = {"connector": "postgresql", "connection": connection}
    path = write_source(tmp_path, "shop", settings, "a database")
    assert path.is_relative_to(tmp_path / "models")
    assert replicator_settings(tmp_path, "shop") == settings
