"""Credentials, Spark settings, locks and logs, without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError
from filelock import FileLock

from dbt.adapters.tidemark import launch
from dbt.adapters.tidemark.connections import TidemarkCredentials
from dbt.adapters.tidemark.python_submissions import SessionPythonJobHelper
from dbt.adapters.tidemark.session import _literal
from tidemark.errors import ConfigError, MetastoreBusyError
from tidemark.home import Home, tidemark_home


def credentials(**values: Any) -> TidemarkCredentials:
    data = TidemarkCredentials.translate_aliases({"schema": "s", **values})
    TidemarkCredentials.validate(data)
    return TidemarkCredentials.from_dict(data)


def test_credentials__session_is_the_default() -> None:
    chosen = credentials()
    assert chosen.type == "tidemark"
    assert chosen.method == SparkConnectionMethod.SESSION
    assert chosen.unique_field == "localhost"
    assert dict(chosen.connection_info()) == {"method": "session", "schema": "s"}
    assert chosen.server_side_parameters == {"spark.sql.ansi.enabled": "false"}


def test_credentials__empty_settings_are_left_out() -> None:
    chosen = credentials(server_side_parameters={"spark.a": "", "spark.b": "1"})
    assert chosen.server_side_parameters["spark.b"] == "1"
    assert "spark.a" not in chosen.server_side_parameters


def test_python_models_need_a_session() -> None:
    chosen = credentials()
    chosen.method = SparkConnectionMethod.THRIFT
    with pytest.raises(DbtRuntimeError, match="`method: session` is needed"):
        SessionPythonJobHelper({"alias": "a", "original_file_path": "a.py"}, chosen)


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEMARK_HOME", raising=False)
    assert tidemark_home().root == tmp_path / ".tidemark"
    monkeypatch.setenv("TIDEMARK_HOME", "elsewhere")
    assert tidemark_home().warehouse == tmp_path / "elsewhere" / "warehouse"


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
