"""Credentials, Spark settings, locks and logs, without a JVM."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError
from filelock import FileLock

from dbt.adapters.tidemark import connections
from dbt.adapters.tidemark.base import SessionAdapter
from dbt.adapters.tidemark.connections import TidemarkCredentials, project_variable
from dbt.adapters.tidemark.cursor import _literal
from tidemark import home
from tidemark.errors import ConfigError, MetastoreBusyError
from tidemark.home import Home, tidemark_home
from tidemark.run.options import prepare_environment
from tidemark.spark import launch
from tidemark.spark.defaults import (
    ANSI,
    CATALOG,
    DEFAULTS,
    DRIVER_OPTIONS,
    EXTENSIONS,
    JAVA_OPTIONS,
    MASTER,
    PACKAGES,
    PYTHON,
    shown_settings,
    with_defaults,
    with_iceberg,
)
from tidemark.spark.launch import _set_python

DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


@pytest.fixture(autouse=True)
def no_other_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)


def credentials(**values: Any) -> TidemarkCredentials:
    data = TidemarkCredentials.translate_aliases({"schema": "s", **values})
    TidemarkCredentials.validate(data)
    return TidemarkCredentials.from_dict(data)


def test_credentials__session_is_the_default() -> None:
    chosen = credentials()
    assert chosen.type == "tidemark"
    assert chosen.method == SparkConnectionMethod.SESSION
    assert chosen.unique_field == "localhost"
    assert dict(chosen.connection_info(with_aliases=True)) == {"method": "session", "schema": "s"}
    assert chosen.server_side_parameters == {"spark.sql.ansi.enabled": "false"}


def test_credentials__empty_settings_are_left_out() -> None:
    chosen = credentials(server_side_parameters={"spark.a": "", "spark.b": "1"})
    assert chosen.server_side_parameters["spark.b"] == "1"
    assert "spark.a" not in chosen.server_side_parameters


def test_credentials__of_a_thrift_server() -> None:
    chosen = credentials(method="thrift", host="spark.example.com/", port=10000, user="dbt")
    assert not chosen.has_session and chosen.unique_field == "spark.example.com"
    shown = {
        "method": "thrift",
        "host": "spark.example.com",
        "port": 10000,
        "user": "dbt",
        "schema": "s",
    }
    assert dict(chosen.connection_info(with_aliases=True)) == shown
    assert dict(chosen.connection_info()) == {**shown, "TIDEMARK_HOME": str(tidemark_home().root)}
    with pytest.raises(DbtRuntimeError, match="Must specify `host`"):
        credentials(method="thrift")


def test_credentials__of_a_thrift_server_without_its_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbt.adapters.spark.connections.hive", None)
    with pytest.raises(DbtRuntimeError, match=r"pip install dbt-spark\[PyHive\]"):
        credentials(method="thrift", host="localhost")


@pytest.mark.parametrize("method", ["http", "odbc"])
def test_credentials__other_methods_are_refused(method: str) -> None:
    with pytest.raises(
        DbtRuntimeError,
        match=rf"method: {method} is not supported .* method: session .* method: thrift",
    ):
        credentials(method=method, host="localhost")


def test_adapter__of_a_thrift_server_starts_no_session() -> None:
    adapter: Any = SimpleNamespace(config=SimpleNamespace(credentials=credentials(
        method="thrift", host="localhost"
    )))  # fmt: skip
    adapter.has_session = partial(SessionAdapter.has_session, adapter)
    with pytest.raises(DbtRuntimeError, match="method: session"):
        SessionAdapter._session.fget(adapter)  # type: ignore[attr-defined]


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(home._Known, "project", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEMARK_HOME", raising=False)
    assert tidemark_home().root == tmp_path / ".tidemark"
    monkeypatch.setenv("TIDEMARK_HOME", "elsewhere")
    assert tidemark_home().warehouse == tmp_path / "elsewhere" / "warehouse"


def test_home__beside_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(home._Known, "project", None)
    monkeypatch.delenv("TIDEMARK_HOME", raising=False)
    shop, models = tmp_path / "shop", tmp_path / "shop" / "models"
    models.mkdir(parents=True)
    (shop / "dbt_project.yml").write_text("name: shop\n")
    for folder in (shop, models):
        monkeypatch.chdir(folder)
        assert tidemark_home().root == shop / ".tidemark"
    monkeypatch.chdir(tmp_path)
    assert tidemark_home().root == tmp_path / ".tidemark"
    assert tidemark_home(Path("shop")).root == shop / ".tidemark"
    # as dbt is called with --project-dir
    home.work_for(Path("shop"))
    assert tidemark_home().root == shop / ".tidemark"
    # where a home was made before it lay beside the project, its tables are found
    (tmp_path / ".tidemark" / "warehouse").mkdir(parents=True)
    assert tidemark_home(shop).root == tmp_path / ".tidemark"
    (shop / ".tidemark" / "metastore").mkdir(parents=True)
    assert tidemark_home(shop).root == shop / ".tidemark"


def test_environment__has_the_home_of_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("TIDEMARK_HOME", "DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, "")  # put back when the test is over
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    prepare_environment(tmp_path / "shop")
    assert os.environ["DBT_TARGET_PATH"] == str(tmp_path / "shop" / ".tidemark" / "target")


def test_spark_settings__all_that_is_written_lies_under_home() -> None:
    conf = launch.spark_settings({}, Home(Path("/data/it's here")))
    assert conf["spark.sql.warehouse.dir"] == "/data/it's here/warehouse"
    assert conf["spark.local.dir"] == "/data/it's here/tmp"
    assert conf[launch.DERBY_URL] == (
        "jdbc:derby:;databaseName=/data/it's here/metastore;create=true"
    )
    options = conf["spark.driver.extraJavaOptions"]
    assert '"-Dderby.stream.error.file=/data/it\'s here/logs/derby.log"' in options
    assert launch._is_embedded(conf)
    assert launch.ONE_PROCESS.items() <= conf.items()


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.master": "spark://host:7077"},
        {"spark.hadoop.hive.metastore.uris": "thrift://h:9083"},
    ],
)
def test_spark_settings__for_several_processes(settings: dict[str, str]) -> None:
    conf = launch.spark_settings(settings, Home(Path("/data")))
    assert not launch.ONE_PROCESS.keys() & conf.keys()


def test_spark_settings__the_profile_wins() -> None:
    conf = launch.spark_settings(
        {
            "spark.sql.warehouse.dir": "s3a://bucket/warehouse",
            "spark.hadoop.hive.metastore.uris": "thrift://metastore:9083",
            "spark.driver.extraJavaOptions": "-Dmine=1",
        },
        Home(Path("/data")),
    )
    assert conf["spark.sql.warehouse.dir"] == "s3a://bucket/warehouse"
    assert launch.DERBY_URL not in conf
    assert not launch._is_embedded(conf)
    assert conf["spark.driver.extraJavaOptions"].endswith("-Dmine=1")


def test_defaults__a_profile_of_two_lines() -> None:
    conf = with_defaults(credentials().server_side_parameters)
    assert conf == {ANSI: "false", **{default.key: default.value for default in DEFAULTS}}


def test_defaults__what_is_given_wins() -> None:
    given = {default.key: f"given, as {default.value}" for default in DEFAULTS}
    assert with_defaults(given) == given


def test_defaults__a_cluster_has_its_own() -> None:
    conf = with_defaults({MASTER: "yarn"})
    assert conf == {
        MASTER: "yarn",
        **{default.key: default.value for default in DEFAULTS if not default.local},
    }
    assert "spark.sql.shuffle.partitions" not in conf
    assert conf[PACKAGES].startswith("io.delta:")


def test_defaults__executors_on_this_machine_are_a_cluster() -> None:
    assert "spark.sql.shuffle.partitions" not in with_defaults({MASTER: "local-cluster[2,1,1024]"})


@pytest.mark.parametrize(
    ("conf", "python"),
    [
        ({MASTER: "local[2]"}, sys.executable),
        ({MASTER: "spark://a:7077"}, None),
        ({MASTER: "yarn", PYTHON: "./environment/bin/python"}, "./environment/bin/python"),
    ],
)
def test_python_of_the_workers(
    monkeypatch: pytest.MonkeyPatch, conf: dict[str, str], python: str | None
) -> None:
    monkeypatch.setattr("os.environ", {})
    _set_python(conf)
    assert os.environ.get("PYSPARK_PYTHON") == python


def test_defaults__another_table_format_is_alone() -> None:
    iceberg = {
        PACKAGES: "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
        EXTENSIONS: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        CATALOG: "org.apache.iceberg.spark.SparkSessionCatalog",
    }
    for given in (iceberg, {EXTENSIONS: iceberg[EXTENSIONS]}, {CATALOG: iceberg[CATALOG]}):
        conf = with_defaults(given)
        assert {key: conf[key] for key in iceberg if key in conf} == given


def test_iceberg__in_the_place_of_delta() -> None:
    conf = with_defaults(with_iceberg({"spark.driver.memory": "8g"}))
    assert conf["spark.driver.memory"] == "8g"
    assert conf[PACKAGES].startswith("org.apache.iceberg:") and "delta" not in conf[PACKAGES]
    assert (conf[CATALOG], conf[f"{CATALOG}.type"]) == (
        "org.apache.iceberg.spark.SparkSessionCatalog",
        "hive",
    )
    # what the profile says wins, and a package of its own comes too
    own = with_iceberg({f"{CATALOG}.type": "rest", PACKAGES: "a.b:c:1"})
    assert own[f"{CATALOG}.type"] == "rest" and own[PACKAGES].startswith("a.b:c:1,org.apache")
    jar = {"spark.jars": "/jars/iceberg-spark-runtime-4.1_2.13-1.11.0.jar"}
    assert PACKAGES not in with_iceberg(jar)


@pytest.mark.parametrize("uris", [{}, {"spark.hadoop.hive.metastore.uris": "thrift://m:9083"}])
def test_iceberg__locks_of_a_shared_metastore_only(tmp_path: Path, uris: dict[str, str]) -> None:
    lock = "spark.hadoop.iceberg.engine.hive.lock-enabled"
    assert lock not in launch.spark_settings(uris, Home(tmp_path))
    found = launch.spark_settings(with_iceberg(uris), Home(tmp_path))
    assert found.get(lock) == (None if uris else "false")
    # what other processes commit is seen at once where there are any
    assert found.get(f"{CATALOG}.cache-enabled") == ("false" if uris else None)


@pytest.mark.parametrize(
    ("file", "command", "expected"),
    [
        ({}, {}, None),
        ({"n": "a"}, {}, "a"),
        ({"n": "a", "shop": {"n": "b"}}, {}, "b"),
        ({"n": "a", "shop": {"n": "b"}}, {"n": "c"}, "c"),
    ],
)
def test_project_variable(file: dict[str, Any], command: dict[str, Any], expected: str) -> None:
    provider = SimpleNamespace(to_dict=lambda: file)
    profile = SimpleNamespace(vars=provider, project_name="shop", cli_vars=command)
    assert project_variable(profile, "n") == expected
    assert project_variable(SimpleNamespace(), "n") is None


def test_project_variable__of_dbt_debug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows the profile alone, and is to connect as a run does."""
    # of a run of this process before
    monkeypatch.setattr(connections, "get_flags", SimpleNamespace)
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "dbt_project.yml"
    assert project_variable(SimpleNamespace(), "n") is None
    for text, expected in (
        ("vars: {n: 1}", 1),
        ("name: shop\nvars: {n: 1, shop: {n: 2}}", 2),
        ("vars: [", None),
        ("vars: 1", None),
        ("[]", None),
    ):
        file.write_text(text)
        assert project_variable(SimpleNamespace(), "n") == expected


def test_defaults__a_catalog_beside_deltas() -> None:
    conf = with_defaults({"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"})
    assert conf[CATALOG].endswith("DeltaCatalog")


@pytest.mark.parametrize(
    ("given", "packages"),
    [
        ({PACKAGES: "a.b:c:1"}, f"a.b:c:1,{DELTA}"),
        ({PACKAGES: "io.delta:delta-spark_4.1_2.13:4.3.0"}, "io.delta:delta-spark_4.1_2.13:4.3.0"),
        ({"spark.jars": "/jars/delta-spark_4.1_2.13-4.4.0.jar"}, None),
        ({EXTENSIONS: f"{DELTA_EXTENSION},my.Extension"}, DELTA),
    ],
)
def test_defaults__deltas_jar_comes_once(given: dict[str, str], packages: str | None) -> None:
    conf = with_defaults(given)
    assert conf.get(PACKAGES) == packages
    assert conf[EXTENSIONS] == given.get(EXTENSIONS, DELTA_EXTENSION)


def test_defaults__jars_of_the_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta-spark_4.1_2.13-4.4.0.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert PACKAGES not in with_defaults({})


def test_defaults__java_options_that_say_nothing_of_the_jvm_are_added() -> None:
    assert with_defaults({DRIVER_OPTIONS: "-Dhttps.proxyHost=proxy"})[DRIVER_OPTIONS] == (
        f"{JAVA_OPTIONS} -Dhttps.proxyHost=proxy"
    )
    assert with_defaults({DRIVER_OPTIONS: "-XX:+UseG1GC"})[DRIVER_OPTIONS] == "-XX:+UseG1GC"


def test_defaults__spark_defaults_conf_comes_between(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\nspark.master   yarn\nspark.driver.memory=6g\nspark.ui.enabled : true\n"
        "spark.driver.extraJavaOptions -XX:MaxHeapFreeRatio=30 -XX:+UseG1GC\nspark.local.dir\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    conf = with_defaults({"spark.driver.memory": "8g"})
    assert (conf[MASTER], conf["spark.driver.memory"]) == ("yarn", "8g")
    assert (conf["spark.ui.enabled"], "spark.sql.shuffle.partitions" in conf) == ("true", False)
    assert conf[DRIVER_OPTIONS] == "-XX:MaxHeapFreeRatio=30 -XX:+UseG1GC"
    assert "spark.local.dir" not in conf
    shown = dict(shown_settings({"spark.driver.memory": "8g"}))
    assert shown[MASTER] == "yarn  (spark-defaults.conf)"
    assert shown["spark.driver.memory"] == "8g  (profile)"
    assert shown["spark.sql.session.timeZone"] == "UTC  (default)"


def test_debug__shows_what_is_in_force_but_no_secret() -> None:
    chosen = credentials(
        server_side_parameters={
            PACKAGES: "a.b:c:1",
            "spark.hadoop.fs.s3a.secret.key": "hidden",
            "spark.jars.repositories": "https://me:hidden@jars.example.com/maven",
        }
    )
    shown = dict(chosen.connection_info())
    assert shown["schema"] == "s"
    assert shown[PACKAGES] == f"a.b:c:1,{DELTA}  (profile, with the default)"
    assert shown["spark.driver.memory"] == "2g  (default)"
    assert shown[ANSI] == "false  (dbt-spark)"
    assert shown["spark.hadoop.fs.s3a.secret.key"] == "*****  (profile)"
    assert "hidden" not in str(shown)


def test_log_settings_are_shipped() -> None:
    assert Path(launch.__file__).with_name("log4j2.properties").exists()


def test_missing_packages(tmp_path: Path) -> None:
    conf = {
        "spark.jars.ivy": str(tmp_path),
        "spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.4.0, a.b:c:1",
    }
    assert launch.missing_packages(conf) == ["io.delta:delta-spark_4.1_2.13:4.4.0", "a.b:c:1"]
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "io.delta_delta-spark_4.1_2.13-4.4.0.jar").touch()
    assert launch.missing_packages(conf) == ["a.b:c:1"]
    assert launch.missing_packages({}) == []


@pytest.mark.parametrize(("text", "seconds"), [("", 600.0), ("0", 0.0), ("2.5", 2.5)])
def test_lock_timeout(text: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LOCK_TIMEOUT", text)
    assert launch.lock_timeout() == seconds


@pytest.mark.parametrize("text", ["soon", "-1", "nan"])
def test_lock_timeout__not_a_number(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LOCK_TIMEOUT", text)
    with pytest.raises(ConfigError, match="TIDEMARK_LOCK_TIMEOUT must be a number"):
        launch.lock_timeout()


def test_metastore_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    first = launch._lock_metastore(home)
    try:
        monkeypatch.setenv("TIDEMARK_LOCK_TIMEOUT", "0")
        with pytest.raises(MetastoreBusyError, match=r"Another run \(pid \d+\) uses"):
            launch._lock_metastore(home)
        assert capsys.readouterr().err == ""
        monkeypatch.setenv("TIDEMARK_LOCK_TIMEOUT", "0.3")
        with pytest.raises(MetastoreBusyError, match=r"gave up after 0\.3 s"):
            launch._lock_metastore(home)
        said = capsys.readouterr().err
        assert said.startswith("tidemark: waiting for another run (pid ")
        assert said.count("\n") == 1
    finally:
        first.release()
    launch._lock_metastore(home).release()


def test_lock_file_left_behind_is_no_lock(tmp_path: Path) -> None:
    home = Home(tmp_path)
    FileLock(str(home.metastore_lock)).acquire().lock.release()
    home.metastore_lock.touch()
    launch._lock_metastore(home).release()


def test_why_no_jvm(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(
        "old Exception of yesterday\n:: problems summary ::\n\t\tmodule not found: a.b#c;1\n"
        "Exception in thread: [unresolved dependency: a.b#c;1: not found]\n"
    )
    start = len("old Exception of yesterday\n")
    assert "a package could not be fetched (module not found: a.b#c;1)" in launch._why_no_jvm(
        log, start
    )
    log.write_text("Error: Could not create the Java Virtual Machine.\nmore\n")
    assert "Could not create the Java Virtual Machine." in launch._why_no_jvm(log, 0)


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (None, "null"),
        (True, "true"),
        (9007199254740993, "9007199254740993"),
        ("it's", "'it\\'s'"),
        ("back\\slash", "'back\\\\slash'"),
    ],
)
def test_literals_of_seeds(value: object, literal: str) -> None:
    assert _literal(value) == literal


def test_profiles_link_points_to_the_profiles() -> None:
    root = Path(__file__).resolve().parents[3]
    assert (root / "profiles.yml").resolve() == root / "profiles" / "profiles.yml"
