"""The operating half of the replicator without Spark, Java and database."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.clients import jinja

from tidemark.capture.config import CaptureConfig
from tidemark.capture.files import event_file
from tidemark.capture.state import CaptureState
from tidemark.errors import ConfigError, TidemarkError
from tidemark.home import Home
from tidemark.replicator.apply import Applier, ApplyError
from tidemark.replicator.background import stop_process
from tidemark.replicator.backlog import Backlog, Times, read_backlog
from tidemark.replicator.lag import read_lags
from tidemark.replicator.metrics import (
    SourceCollector,
    SourceStatus,
    lag_seconds,
    metrics_text,
    table_figures,
)
from tidemark.replicator.models import (
    known_models,
    landing_location,
    model_folder,
    model_name,
    table_setting,
    write_models,
)
from tidemark.replicator.operated import Operated
from tidemark.replicator.removal import drop_copies
from tidemark.replicator.service import CaptureFailed, CaptureProcess, Service, remove_applied
from tidemark.replicator.settings import Operation
from tidemark.replicator.show import print_status
from tidemark.replicator.state import ReplicatorState, TableState
from tidemark.run.invoke import Outcome
from tidemark.run.options import RunOptions
from tidemark.run.report import ModelResult

pytest.importorskip("orjson")
NOW = 1_772_600_000.0
MOMENT = 1_772_600_000_000
CONNECTION = {"host": "db", "database": "shop", "user": "me", "password": {"env": "P"}}


def config(connector: str = "postgresql", **more: Any) -> CaptureConfig:
    return CaptureConfig.from_dict(
        "shop", {"connector": connector, "connection": CONNECTION, **more}
    )


def line(table: str, op: str, key: dict[str, Any] | None, age: float = 0) -> str:
    schema, _, name = table.rpartition(".")
    source = {"version": "3", "connector": "postgresql", "name": "shop", "db": "shop"}
    source |= {"schema": schema, "table": name, "txId": 1, "lsn": 1}
    source |= {"ts_ms": int((NOW - age) * 1000), "snapshot": "true" if op == "r" else "false"}
    envelope = {"before": None, "after": key, "source": source, "op": op}
    return json.dumps({"topic": f"shop.{table}", "key": key, "value": envelope, "_id": "1"})


class Shop:
    """A project with one source, whose landing files and dbt runs tests make up."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.now = NOW
        (root / "dbt_project.yml").write_text("name: tests\n")
        self.config = config(**settings)
        self.operation = Operation.of(self.config)
        self.landing = root / "landing"
        self.landing.mkdir()
        self.state = ReplicatorState(self.landing, clock=lambda: self.now)
        self.state.open()
        self.said: list[str] = []
        self.runs: list[list[str]] = []
        self.fails: dict[str, str] = {}
        self.applier = self.new_applier()

    def new_applier(self) -> Applier:
        options = RunOptions(dates=[], project_dir=self.root)
        return Applier(
            self.config, self.operation, self.state, options, self.said.append, run=self.run
        )

    def run(self, models: list[str]) -> Outcome:
        self.runs.append(models)
        outcome = Outcome(success=not self.fails, started=True)
        for model in models:
            outcome.results.append(
                ModelResult(model, "error" if model in self.fails else "success", 1.0)
            )
        outcome.failures = {name: text for name, text in self.fails.items() if name in models}
        return outcome

    def land(self, number: int, *lines: str) -> None:
        event_file(self.landing, number).write_bytes(gzip.compress("\n".join(lines).encode()))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_settings__all_errors_at_once() -> None:
    wrong = config(
        freshness="soon",
        objective=101,
        on_failure="panic",
        keep_landed="5 minutes",
        ddl={"drop_table": "maybe", "add_colum": "apply"},
    )
    with pytest.raises(ConfigError) as error:
        Operation.of(wrong)
    for name in (
        "freshness: must be like",
        "objective: Input should be less than or equal to 100, found: 101",
        "on_failure",
        "keep_landed: must be at least 1 hour, found: '5 minutes'",
        "ddl.drop_table",
        "ddl.add_colum is no setting",
    ):
        assert name in str(error.value)


@pytest.mark.parametrize(
    ("connector", "table", "name"),
    [
        ("postgresql", "public.orders", "shop__orders"),
        ("postgresql", "Audit.Log Lines", "shop__audit__log_lines"),
        ("sqlserver", "dbo.orders", "shop__orders"),
        ("mysql", "shop.orders", "shop__orders"),
        ("mysql", "other.orders", "shop__other__orders"),
        ("postgresql", "public.größe", "shop__gr__e"),
    ],
)
def test_model_names(connector: str, table: str, name: str) -> None:
    assert model_name(config(connector), table) == name


def test_models__names_in_the_database_are_data(shop: Shop) -> None:
    name, key = "{{ env_var('HOME') }}\n# ../x", "{# it's #} `k`: [x"
    table = f"public.{name}"
    shop.land(1, line(table, "r", {key: 1}))
    assert shop.applier.apply()
    folder = model_folder(shop.root, shop.config)
    (path,) = folder.glob("*.yml")
    (model,) = yaml.safe_load(path.read_text())["models"]
    config = model["config"]
    written = [config["unique_key"][0], config["meta"]["tidemark"]["table"]]
    assert [jinja.get_rendered(text, {}) for text in written] == [key, table]
    assert set(config) == {"materialized", "unique_key", "meta"} and path.parent == folder
    # and the next run knows the model of that table
    assert known_models(folder).keys() == {table}
    shop.land(2, line(table, "c", {key: 2}))
    assert shop.applier.apply()
    assert len(list(folder.glob("*.yml"))) == 1


@pytest.mark.parametrize("location", ["~/landing/shop", "landing/shop/", "/landing/shop"])
def test_models__read_where_capture_writes(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    source = config(location=location)
    read = landing_location(source)
    assert (tmp_path / read).parent == source.landing(tmp_path, tmp_path / "home")


@pytest.mark.parametrize("paths", ["[transform]", '["{{ env_var(1) }}", transform]'])
def test_models_are_parsed_when_they_have_changed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, paths: str
) -> None:
    """Wherever the project has them."""
    parsed: list[int] = []

    class Dbt:
        options: RunOptions

        def run_date(self, *_: Any, **__: Any) -> Outcome:
            return shop.run(list(self.options.select))

        def ask(self, *_: Any) -> None:
            """Figures."""

    def quiet(*_: Any) -> Dbt:
        parsed.append(len(shop.runs))
        return Dbt()

    monkeypatch.setattr("tidemark.replicator.apply.Invoker.quiet", quiet)
    (shop.root / "dbt_project.yml").write_text(f"name: tests\nmodel-paths: {paths}\n")
    options = RunOptions(dates=[], project_dir=shop.root)
    applier = Applier(shop.config, shop.operation, shop.state, options, shop.said.append)
    shop.land(1, line("public.orders", "r", {"a": 1}))
    assert applier.apply()
    shop.land(2, line("public.orders", "c", {"a": 2}))
    assert applier.apply() and parsed == [0]
    shop.land(3, line("public.later", "c", {"a": 1}))
    assert applier.apply() and parsed == [0, 2]
    path = shop.root / "transform" / "shop" / "shop__later.yml"
    path.write_text(path.read_text() + "# edited\n")
    shop.land(4, line("public.later", "c", {"a": 2}))
    assert applier.apply() and parsed == [0, 2, 3]


def test_models_are_written_once(shop: Shop) -> None:
    shop.land(1, line("public.orders", "r", {"b": 1, "a": 2}), line("public.logs", "c", None))
    assert shop.applier.apply()
    folder = model_folder(shop.root, shop.config)
    orders = yaml.safe_load((folder / "shop__orders.yml").read_text())["models"][0]
    assert orders["config"]["unique_key"] == ["b", "a"]
    assert orders["config"]["meta"]["tidemark"]["table"] == "public.orders"
    logs = yaml.safe_load((folder / "shop__logs.yml").read_text())["models"][0]
    assert "unique_key" not in logs["config"]
    assert (folder / "shop__orders.sql").read_text() == "{{ tidemark.extract() }}\n"
    assert shop.runs == [["shop__logs", "shop__orders"]]
    # a user's own name and settings stay, and are used
    orders["name"] = "my_orders"
    (folder / "mine.yml").write_text(yaml.safe_dump({"models": [orders]}))
    (folder / "shop__orders.yml").unlink()
    shop.land(2, line("public.orders", "c", {"b": 2, "a": 2}))
    shop.applier.apply()
    assert shop.runs[-1] == ["my_orders"]
    assert not (folder / "shop__orders.yml").exists()


def test_two_models_of_one_table(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are run; what landed is applied when both have it."""
    shop.land(1, line("public.orders", "r", {"a": 1}))
    shop.applier.apply()
    folder = model_folder(shop.root, shop.config)
    orders = yaml.safe_load((folder / "shop__orders.yml").read_text())["models"][0]
    more = {"models": [{**orders, "name": "shop__orders_eu"}, {"name": "mine"}]}
    (folder / "shop__orders_eu.yml").write_text(yaml.safe_dump(more))
    for name in ("shop__orders_eu", "mine"):
        (folder / f"{name}.sql").write_text("")
    shop.fails = {"shop__orders_eu": "no"}
    shop.land(2, line("public.orders", "c", {"a": 2}))
    assert not shop.applier.apply()
    assert shop.runs[-1] == ["shop__orders", "shop__orders_eu"]
    state = shop.state.tables["public.orders"]
    assert (state.model, state.last_error, state.applied_file) == ("shop__orders", "no", 1)
    # deleted, a file with something else stays
    operated = Operated(shop.root, shop.config, shop.operation, Home(shop.root), shop.landing)
    monkeypatch.setattr("tidemark.replicator.removal.Invoker.quiet", lambda *_: Invoked())
    known = known_models(folder)["public.orders"]
    drop_copies(operated, known.all, None, shop.said.append)
    assert {path.name for path in folder.iterdir()} == {"mine.sql", "shop__orders_eu.yml"}
    assert shop.said[-1].endswith("by hand: shop__orders_eu")


class Invoked:
    """Stands for dbt."""

    def ask(self, *_: Any) -> None:
        """Drops a table."""


def test_two_tables_of_one_name(shop: Shop) -> None:
    shop.land(1, line("public.Orders", "r", {"a": 1}), line("public.orders", "r", {"a": 1}))
    shop.applier.apply()
    names = {model.name for model in known_models(model_folder(shop.root, shop.config)).values()}
    assert names == {"shop__orders", "shop__orders_2"}


@pytest.mark.parametrize(
    ("connector", "setting"), [("postgresql", "shop.shop.orders"), ("mariadb", "shop.orders")]
)
def test_a_schema_called_as_its_database(tmp_path: Path, connector: str, setting: str) -> None:
    """`shop.orders` is also `orders` of any schema in the database `shop`."""
    assert table_setting(config(connector), "public.orders") == "public.orders"
    assert table_setting(config(connector), "shop.orders") == setting
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    there = tmp_path / "models/other/shop__orders.sql"
    there.parent.mkdir(parents=True)
    there.write_text("select 1 as id")
    folder = model_folder(tmp_path, config(connector))
    tables: dict[str, list[str]] = {"shop.orders": [], "audit.orders": []}
    written = write_models(folder, config(connector), Operation(), tables, {})
    assert known_models(folder) == written and written.keys() == tables.keys()
    names = sorted(model.name for model in written.values())
    # dbt takes one model of a name, whichever source it is of
    assert names == [
        "shop__audit__orders",
        "shop__shop__orders" if connector == "postgresql" else "shop__orders_2",
    ]


def test_nothing_landed_nothing_runs(shop: Shop) -> None:
    assert shop.applier.apply()
    shop.land(1, line("public.orders", "r", {"a": 1}))
    shop.applier.apply()
    shop.applier.apply()
    assert shop.runs == [["shop__orders"]]


def test_figures(shop: Shop) -> None:
    shop.land(1, line("public.orders", "r", {"a": 1}, 10), line("public.orders", "c", {"a": 2}, 4))
    shop.applier.look()
    waiting = shop.applier.backlog["public.orders"]
    assert (waiting.count, waiting.events["c"]) == (2, 1)
    running = {"state": "REPLICATING", "updated_at": "2026-03-04T04:53:20+00:00", "tables": {}}
    assert lag_seconds(waiting, running, NOW) == 10
    shop.applier.apply()
    known = shop.state.tables["public.orders"]
    assert known.events == {"r": 1, "c": 1}
    assert known.latency == [4.0, 10.0, 10.0]
    # two events in the second that dbt took
    assert known.throughput == 2
    assert known.applied_file == 1
    assert lag_seconds(None, running, NOW) == 0
    assert lag_seconds(None, {**running, "state": "STOPPED"}, NOW + 60) == 60
    assert lag_seconds(None, {**running, "state": "SNAPSHOTTING"}, NOW) is None


def test_a_failing_table_waits_and_leaves_the_others(shop: Shop) -> None:
    shop.fails = {"shop__orders": "cast_failed: amount"}
    shop.land(1, line("public.orders", "r", {"a": 1}), line("public.logs", "r", None))
    assert not shop.applier.apply()
    orders, logs = shop.state.tables["public.orders"], shop.state.tables["public.logs"]
    assert (orders.failures, orders.last_error, logs.failures) == (1, "cast_failed: amount", 0)
    # the others go on, it waits
    shop.land(2, line("public.orders", "c", {"a": 2}), line("public.logs", "c", None))
    assert not shop.applier.apply()
    assert shop.runs[-1] == ["shop__logs"]
    # the waits grow, and end after retry_for
    waits = []
    while not orders.given_up:
        assert orders.next_try is not None
        waits.append(orders.next_try - shop.now)
        shop.now = orders.next_try
        shop.applier.apply()
        assert shop.runs[-1] == ["shop__orders"]
    assert waits == sorted(waits) and waits[0] == 5 and waits[-1] > 100
    assert 600 <= shop.now - NOW < 1200
    shop.now += 10_000
    runs = len(shop.runs)
    shop.applier.apply()
    assert len(shop.runs) == runs
    assert [one.state for one in table_figures(shop.state, {}, {}, NOW)] == [
        "REPLICATING",
        "FAILING",
    ]
    # asked to, it is tried again, and has missed nothing
    shop.fails = {}
    shop.state.ask_retry()
    shop.state.take_retry()
    assert shop.applier.apply()
    assert orders.events == {"r": 1, "c": 1}
    assert (orders.applied_file, orders.last_error, orders.given_up) == (2, None, False)


def test_on_failure_stop(tmp_path: Path) -> None:
    shop = Shop(tmp_path, on_failure="stop")
    shop.fails = {"shop__orders": "no"}
    shop.land(1, line("public.orders", "r", {"a": 1}))
    with pytest.raises(ApplyError, match=r"public\.orders"):
        shop.applier.apply()


def test_another_process_goes_on_where_one_ended(shop: Shop) -> None:
    shop.fails = {"shop__orders": "no"}
    shop.land(1, line("public.orders", "r", {"a": 1}), line("public.logs", "r", None))
    shop.applier.apply()
    shop.state.load()
    for table in shop.state.tables.values():
        table.retry()
    shop.fails = {}
    shop.applier = shop.new_applier()
    shop.land(2, line("public.late", "c", {"a": 1}))
    assert shop.applier.apply()
    assert shop.runs[-1] == ["shop__late", "shop__orders"]
    assert {name: one.events for name, one in shop.state.tables.items()} == {
        "public.logs": {"r": 1},
        "public.orders": {"r": 1},
        "public.late": {"c": 1},
    }


def test_a_model_that_did_not_run_is_a_failure(shop: Shop) -> None:
    shop.land(1, line("public.orders", "r", {"a": 1}))

    def disabled(models: list[str]) -> Outcome:
        return Outcome(success=True, started=True)

    options = RunOptions(dates=[], project_dir=shop.root)
    applier = Applier(
        shop.config, shop.operation, shop.state, options, shop.said.append, run=disabled
    )
    assert not applier.apply()
    assert "disabled" in str(shop.state.tables["public.orders"].last_error)


def test_backlog__only_what_is_not_applied(shop: Shop) -> None:
    for number in (1, 2, 3):
        shop.land(number, line("public.a", "c", {"x": 1}), line("public.b", "u", {"x": 1}))
    found = read_backlog(shop.config, shop.landing, {"public.a": 3, "public.b": 1})
    assert {table: backlog.count for table, backlog in found.items()} == {"public.b": 2}
    assert read_backlog(shop.config, shop.landing, {}, 1, 2)["public.a"].count == 1


def ddl(statement: str, *tables: str, change: str = "ALTER") -> list[str]:
    """The schema changes that Debezium sends of one statement of MariaDB."""
    names = [table.split(".") for table in tables]
    source = {"version": "3", "connector": "mariadb", "name": "shop", "db": names[0][0]}
    source |= {"table": ",".join(name[1] for name in names), "ts_ms": int(NOW * 1000)}
    return [
        json.dumps({"topic": "shop", "key": {"databaseName": name[0]}, "_id": "1", "value": {
            "source": source, "ts_ms": 1, "databaseName": name[0], "ddl": statement,
            "tableChanges": [{"type": change, "id": f'"{name[0]}"."{name[1]}"', "table": None}],
        }})
        for name in names
    ]  # fmt: skip


def test_schema_changes_alone_make_no_model(tmp_path: Path) -> None:
    """Those of a snapshot come before all rows: what the key is, and whether a row comes, is not known yet."""
    shop = Shop(tmp_path, connector="mariadb", include=["shop.*"], exclude=["shop.audit_*"])
    lines = ddl("create table `log`", "shop.log") + ddl("create …", "shop.never")
    shop.land(1, *lines, *ddl("create table audit_x", "shop.audit_x", change="CREATE"))
    assert shop.applier.apply() and not shop.runs
    folder = model_folder(shop.root, shop.config)
    assert not folder.exists() and "shop.audit_x" not in shop.state.tables
    shop.land(2, line("shop.log", "r", {"id": 1}))
    assert shop.applier.apply()
    assert [path.name for path in folder.glob("*.yml")] == ["shop__log.yml"]
    (model,) = yaml.safe_load((folder / "shop__log.yml").read_text())["models"]
    assert model["config"]["unique_key"] == ["id"]
    assert {one.applied_file for one in shop.state.tables.values()} == {2}


def test_schema_changes__of_several_tables(tmp_path: Path) -> None:
    shop = Shop(tmp_path, connector="mariadb")
    shop.land(1, line("shop.a", "r", {"id": 1}), line("shop.b", "r", {"id": 1}))
    shop.applier.apply()
    shop.land(2, *ddl("drop table a, b", "shop.a", "shop.b", change="DROP"))
    assert shop.applier.look() == 2
    assert {name: one.events["ddl"] for name, one in shop.applier.backlog.items()} == {
        "shop.a": 1,
        "shop.b": 1,
    }


def test_next_try__of_a_clock_that_has_gone_back() -> None:
    table = TableState()
    table.failed("no", NOW, 3600)
    assert not table.is_due(NOW + 1)
    assert table.is_due(NOW + 60)
    # not a day later
    assert table.is_due(NOW - 86_400)


def test_times__as_a_list_would_have_them() -> None:
    rng = random.Random(20260304)
    listed = [MOMENT - int(rng.expovariate(1 / 600)) for _ in range(3000)]
    times, others = Times(), Times()
    for number, time in enumerate(listed):
        (times if number % 2 else others).add(time)
    times.update(others)
    ages = sorted(MOMENT - time for time in listed)
    assert times.first == min(listed)
    wanted = [ages[math.ceil(len(ages) * share) - 1] for share in (0.0001, 0.5, 0.95, 1)]
    assert times.ages(MOMENT, (0.0001, 0.5, 0.95, 1)) == wanted
    assert Times().ages(MOMENT, (0.5,)) == []


def test_times__memory_does_not_grow_with_events() -> None:
    """What a backlog of a hundred million events takes: as much as one of ten thousand."""
    times, others = Times(), Times()
    for number in range(200_000):
        (times if number % 3 else others).add(MOMENT - number * 997)
    times.update(others)
    assert len(times._counts) <= 4096
    oldest = 199_999 * 997
    assert times.first == MOMENT - oldest
    ages = times.ages(MOMENT, (0.5, 0.95, 1))
    for age, share in zip(ages, (0.5, 0.95, 1), strict=True):
        assert 0 <= age - share * oldest <= oldest / 500
    assert ages[-1] <= oldest


def test_landing_files_that_are_applied_go(shop: Shop) -> None:
    for number in (1, 2, 3, 4):
        shop.land(number, line("public.a", "c", {"x": 1}))
        age = NOW - 10_000 if number != 2 else NOW
        os.utime(event_file(shop.landing, number), (age, age))
    shop.state.tables = {
        "public.a": TableState(applied_file=4),
        "public.b": TableState(applied_file=3),
    }
    assert remove_applied(shop.state, 3600) == [1]
    age = NOW - 10_000
    os.utime(event_file(shop.landing, 2), (age, age))
    assert remove_applied(shop.state, 3600) == [2, 3]
    shop.state.tables["public.b"].applied_file = 4
    # the last one says where landing goes on
    assert remove_applied(shop.state, 3600) == []


def test_landing_files_that_are_applied_go__of_quiet_tables(shop: Shop) -> None:
    """What has landed of one table since is nothing that another has not applied."""
    shop.land(1, line("public.quiet", "r", {"a": 1}), line("public.busy", "r", {"a": 1}))
    shop.applier.apply()
    for number in (2, 3, 4):
        shop.land(number, line("public.busy", "c", {"a": number}))
        shop.applier.apply()
    assert {name: one.applied_file for name, one in shop.state.tables.items()} == {
        "public.quiet": 4,
        "public.busy": 4,
    }
    for number in (1, 2, 3, 4):
        os.utime(event_file(shop.landing, number), (NOW - 10_000, NOW - 10_000))
    assert remove_applied(shop.state, 3600) == [1, 2, 3]
    # a table that fails keeps what it has not applied
    shop.fails = {"shop__quiet": "no"}
    shop.land(5, line("public.quiet", "u", {"a": 1}))
    shop.land(6, line("public.busy", "c", {"a": 6}))
    shop.applier.apply()
    assert shop.state.tables["public.quiet"].applied_file == 4


def test_the_end_of_a_snapshot_is_applied(shop: Shop) -> None:
    """Of a table that is empty by then nothing else lands; one of which no row ever came has no copy."""
    shop.land(1, line("public.orders", "r", {"a": 1}))
    shop.applier.apply()
    shop.land(2, line("public.orders", "snapshot", None), line("public.never", "snapshot", None))
    assert shop.applier.look() == 2
    assert shop.applier.backlog["public.orders"].count == 1
    assert shop.applier.apply()
    assert shop.runs == [["shop__orders"], ["shop__orders"]]
    # it is no event of the source
    assert shop.state.tables["public.orders"].events == {"r": 1}
    assert shop.applier.backlog == {}
    shop.applier.apply()
    assert {one.applied_file for one in shop.state.tables.values()} == {2}
    assert {path.stem for path in model_folder(shop.root, shop.config).glob("*.sql")} == {
        "shop__orders"
    }


def test_the_end_of_a_snapshot__of_a_table_without_copy(shop: Shop) -> None:
    """Its model is there, as in a project that comes with all of them; its table was never made."""
    shop.land(1, line("public.orders", "r", {"a": 1}))
    shop.applier.apply()
    said = (
        "shop__orders: no events of public.orders have landed at … yet, and the YAML declares no "
        "columns. Declare the columns, or wait for the first event"
    )
    shop.fails = {"shop__orders": said}
    shop.land(2, line("public.orders", "snapshot", None))
    assert shop.applier.apply() and len(shop.runs) == 2
    assert shop.state.tables["public.orders"].applied_file == 2
    shop.land(3, line("public.orders", "c", {"a": 2}))
    assert not shop.applier.apply()


def test_one_process_operates_a_source(shop: Shop) -> None:
    other = ReplicatorState(shop.landing)
    assert other.is_open_elsewhere
    with pytest.raises(TidemarkError, match=r"another process \(pid .*\) operates"):
        other.open()
    shop.state.close()
    assert not other.is_open_elsewhere


def test_a_lost_state_file_is_made_anew(shop: Shop) -> None:
    shop.land(1, line("public.orders", "r", {"a": 1}))
    shop.applier.apply()
    shop.state.path.write_text('{"pid": 1, "tab')
    shop.state.load()
    assert shop.new_applier().apply()
    # what is applied already is known to the entity; the figures begin anew
    assert shop.state.tables["public.orders"].events == {"r": 1}


def test_metrics(shop: Shop) -> None:
    pytest.importorskip("prometheus_client")
    shop.land(1, line("public.orders", "r", {"a": 1}, 10))
    shop.applier.apply()
    shop.state.tables["public.orders"].seconds_total = 200
    shop.state.tables["public.orders"].seconds_within = 150
    collector = SourceCollector(
        "shop", shop.operation, shop.state, {"public.orders": Backlog()}, lambda: {}
    )
    text = metrics_text(collector)
    labels = 'source="shop",table="public.orders"'
    assert f'tidemark_replication_events_total{{operation="r",{labels}}} 1.0' in text
    assert f"tidemark_replication_fresh_ratio{{{labels}}} 0.75" in text
    assert f"tidemark_replication_events_per_second{{{labels}}} 1.0" in text
    assert f'tidemark_replication_latency_seconds{{quantile="0.95",{labels}}} 10.0' in text
    assert (
        'tidemark_replication_state{source="shop",state="REPLICATING",table="public.orders"} 1.0'
        in text
    )
    assert 'tidemark_replication_objective_ratio{source="shop"} 0.99' in text


def test_paused(shop: Shop) -> None:
    shop.state.tables = {"public.orders": TableState()}
    shop.state.pause()
    assert [one.state for one in table_figures(shop.state, {}, {}, NOW)] == ["PAUSED"]
    shop.state.resume()
    status = {"tables": {"public.orders": "reading"}, "state": "SNAPSHOTTING"}
    assert [one.state for one in table_figures(shop.state, {}, status, NOW)] == ["SNAPSHOTTING"]
    assert CaptureState(shop.landing).read_status() == {}


class FailingCapture(CaptureProcess):
    """A capture whose source is gone: it tries for `retry_for` by itself, and then ends."""

    def __init__(self, shop: Shop, clock: list[float]) -> None:
        self.shop, self.clock = shop, clock
        self.starts: list[float] = []

    def start(self, *arguments: str) -> None:
        self.starts.append(self.clock[0])
        tried = self.shop.operation.retry_for
        CaptureState(self.shop.landing).write_status({"state": "FAILING", "failing_seconds": tried})

    @property
    def exit_code(self) -> int | None:
        if not self.starts or self.clock[0] - self.starts[-1] < self.shop.operation.retry_for:
            return None
        return 1

    @property
    def is_running(self) -> bool:
        return bool(self.starts) and self.exit_code is None

    def said(self) -> str:
        return "the server is gone"

    def stop(self) -> None:
        """Nothing runs."""


def test_a_source_that_is_gone_fails_after_retry_for(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("tidemark.replicator.service.time.monotonic", lambda: clock[0])
    CaptureState(shop.landing).folder.mkdir(parents=True, exist_ok=True)
    capture = FailingCapture(shop, clock)

    class Tick(threading.Event):
        """Half a second of the test's clock."""

        def wait(self, timeout: float | None = None) -> bool:
            clock[0] += timeout or 0
            return clock[0] > 10_000

    service = Service(
        shop.config, shop.operation, shop.state, capture, shop.applier, Tick(), shop.said.append
    )
    with pytest.raises(CaptureFailed, match="the server is gone"):
        service.run()
    # not once more after the time that capture has used up
    assert len(capture.starts) == 1 and clock[0] - 1000 < shop.operation.retry_for + 10


class Running(CaptureProcess):
    """A capture that runs."""

    is_running = True

    def start(self, *arguments: str) -> None:
        """It does."""

    def stop(self) -> None:
        """Nothing runs."""


@pytest.mark.parametrize(("how", "fresh"), [("fast", 1.0), ("slow", 0.0), ("paused", 0.0)])
def test_freshness__of_slow_applications_and_pauses(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, how: str, fresh: float
) -> None:
    """What is applied in the end was behind until then."""
    clock = [1000.0]
    monkeypatch.setattr("tidemark.replicator.service.time.monotonic", lambda: clock[0])

    def pass_time(seconds: float) -> None:
        clock[0] += seconds
        shop.now += seconds
        # capture goes on, unless it is paused
        if not shop.state.paused:
            CaptureState(shop.landing).write_status(
                {"state": "REPLICATING", "updated_at": moment(shop.now), "tables": {}}
            )

    class Ends(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pass_time(200 * (timeout or 0))
            return clock[0] > 21_000

    def run(models: list[str]) -> Outcome:
        pass_time(20_000 if how == "slow" else 0)
        return shop.run(models)

    options = RunOptions(dates=[], project_dir=shop.root)
    applier = Applier(shop.config, shop.operation, shop.state, options, shop.said.append, run=run)
    shop.land(1, line("public.orders", "r", {"a": 1}))
    pass_time(0)
    if how == "paused":
        shop.applier.apply()
        shop.state.pause()
    capture = Running("shop", shop.root, shop.root / "capture.log")
    service = Service(
        shop.config, shop.operation, shop.state, capture, applier, Ends(), shop.said.append
    )
    service.run()
    service.close()
    table = shop.state.tables["public.orders"]
    assert table.seconds_total > 19_000
    assert table.seconds_within / table.seconds_total == pytest.approx(fresh, abs=0.05)


@pytest.mark.parametrize("is_mended", [True, False])
def test_slip_in_a_file__is_waited_for(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, is_mended: bool
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("tidemark.replicator.service.time.monotonic", lambda: clock[0])
    file = model_folder(shop.root, shop.config) / "shop__orders.yml"
    steps = [
        lambda: shop.land(1, line("public.orders", "c", {"a": 1})),
        lambda: (
            file.write_text("models:\n\t- name: shop__orders\n"),
            shop.land(2, line("public.orders", "c", {"a": 2})),
        ),
        lambda: file.write_text("models: [text, {config: none}, {name: mine}]\n") if is_mended else None,
    ]  # fmt: skip

    class Ends(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            clock[0] += shop.operation.every
            if steps:
                steps.pop(0)()
            elif shop.state.last_error is None:
                return True
            return clock[0] > 1000 + 2 * shop.operation.retry_for

    capture = Running("shop", shop.root, shop.root / "capture.log")
    service = Service(
        shop.config, shop.operation, shop.state, capture, shop.applier, Ends(), shop.said.append
    )
    if is_mended:
        service.run()
        assert shop.runs == [["shop__orders"], ["shop__orders_2"]]
    else:
        with pytest.raises(ConfigError, match=r"orders\.yml line 2 is not valid YAML"):
            service.run()
        assert clock[0] - 1000 >= shop.operation.retry_for
    (said,) = [text for text in shop.said if text.startswith("nothing is applied until")]
    assert "shop__orders.yml line 2 is not valid YAML" in said


def moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds")


def test_lag__is_noted_before_it_is_gone(shop: Shop) -> None:
    capture = CaptureProcess("shop", shop.root, shop.root / "capture.log")
    service = Service(
        shop.config, shop.operation, shop.state, capture, shop.applier, threading.Event(), shop.said.append
    )  # fmt: skip
    shop.land(1, line("public.orders", "c", {"a": 1}, 42), line("public.people", "c", {"a": 1}, 7))
    assert service.apply_landed()
    shop.now += 60
    service.tick()
    service.close()
    first, second = read_lags(shop.state.lags)
    assert (first.seconds, first.table, first.waiting, first.applied) == (42.0, "public.orders", 2, 0)  # fmt: skip
    assert (second.waiting, second.applied) == (0, 2)


def test_status_tells_what_capture_warns_of(capsys: pytest.CaptureFixture[str]) -> None:
    warning = "public.logs is selected but not captured: alter table public.logs …"
    status = {"state": "REPLICATING", "last_file": 1, "warnings": [warning]}
    print_status("postgresql", SourceStatus("shop", True, 1, False, None, 300, 99, status, []))
    assert f"Warning: {warning}" in capsys.readouterr().out
    print_status("postgresql", SourceStatus("shop", False, None, False, None, 300, 99, {}, []))
    assert "Warning" not in capsys.readouterr().out


def stop(shop: Shop, sent: list[int]) -> bool:
    """`tidemark replicator stop`, as another process."""
    operated = Operated(shop.root, shop.config, shop.operation, Home(shop.root), shop.landing)

    def kill(pid: int, number: int) -> None:
        sent.append(pid)
        shop.state.close()
        raise ProcessLookupError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidemark.replicator.background.os.kill", kill)
        return stop_process(operated)


def test_stop__knows_who_operates_the_source(shop: Shop) -> None:
    class Once(CaptureProcess):
        """Is stopped while it captures."""

        is_running = True

        def start(self, *arguments: str) -> None:
            assert stop(shop, sent)

        def stop(self) -> None:
            """Nothing runs."""

    sent: list[int] = []
    shop.state.pid = 4711
    shop.state.save()
    # that one was killed, and its number is another process's by now
    shop.state.close()
    assert not stop(shop, sent)
    shop.state.open()
    with pytest.raises(ConfigError, match="another process reconciles, deletes"):
        stop(shop, sent)
    assert sent == []
    capture = Once("shop", shop.root, shop.root / "capture.log")
    stopping = threading.Event()
    stopping.set()
    service = Service(
        shop.config, shop.operation, shop.state, capture, shop.applier, stopping, shop.said.append
    )
    service.run_once()
    assert sent == [os.getpid()]
    assert ReplicatorState(shop.landing).pid is None
