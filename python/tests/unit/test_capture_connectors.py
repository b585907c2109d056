"""The jars of the connectors: fetched once, checked at each use; and what the command says without them."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tidemark.capture import connectors
from tidemark.capture.cli import Progress, capture
from tidemark.capture.connectors import (
    ConnectorsError,
    _explain,
    connector_jars,
    connectors_folder,
    install,
)
from tidemark.cli import cli
from tidemark.errors import ConfigError, TidemarkError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a resolver that finds two jars."""
    monkeypatch.setenv("TIDEMARK_CONNECTORS", str(tmp_path / "cache"))
    jars = [tmp_path / "a.jar", tmp_path / "b.jar"]
    for jar in jars:
        jar.write_bytes(jar.name.encode())
    asked: list[int] = []

    def resolve(say: Any) -> list[Path]:
        asked.append(1)
        assert len(asked) == 1, "resolved again"
        return jars

    monkeypatch.setattr(connectors, "_resolve", resolve)
    return tmp_path / "cache"


def test_installed_once(cache: Path) -> None:
    with pytest.raises(ConnectorsError, match="run `tidemark connectors install`"):
        connector_jars()
    found = install(lambda text: None)
    assert [path.name for path in found] == ["a.jar", "b.jar"]
    assert install(lambda text: None) == found == connector_jars()
    assert sorted(path.name for path in cache.iterdir() if not path.name.startswith(".")) == [
        connectors.DEBEZIUM_VERSION
    ]


def test_damage_is_seen(cache: Path) -> None:
    install(lambda text: None)
    jar = connectors_folder() / "b.jar"
    jar.write_bytes(b"B.jar")
    with pytest.raises(ConnectorsError, match=r"1 of the jars .* damaged \(b.jar\)"):
        connector_jars()
    jar.unlink()
    with pytest.raises(ConnectorsError, match="--force"):
        connector_jars()
    (connectors_folder() / "manifest.json").write_text("{")
    with pytest.raises(ConnectorsError, match="cannot be read"):
        connector_jars()


def test_what_ivy_says_is_made_short() -> None:
    lines = [
        "Host repo1.maven.org not found. url=https://repo1.maven.org/maven2/x",
        ":: io.debezium#debezium-embedded;3.5.0.Final: not found",
        "failed: unresolved dependencies",
    ]
    message = _explain(lines)
    assert "unresolved dependencies" in message
    assert "not found: io.debezium#debezium-embedded;3.5.0.Final" in message
    assert "not reached: repo1.maven.org" in message
    assert "TIDEMARK_IVYSETTINGS" in message


def test_settings_of_ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("TIDEMARK_IVYSETTINGS", raising=False)
    assert connectors._ivy_settings() is None
    (tmp_path / "spark-defaults.conf").write_text("# x\nspark.jars.ivySettings  /etc/ivy.xml\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert connectors._ivy_settings() == "/etc/ivy.xml"
    monkeypatch.setenv("TIDEMARK_IVYSETTINGS", str(tmp_path / "none.xml"))
    with pytest.raises(ConfigError, match="there is no such file"):
        connectors._ivy_settings()


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name == "jpype":
            raise ImportError(name=name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    for command in (["capture", "shop"], ["replicator", "validate", "shop"]):
        result = CliRunner().invoke(cli, command)
        assert isinstance(result.exception, ConfigError)
        assert "pip install 'dbt-tidemark[capture]'" in str(result.exception)


def test_source_without_settings(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: p\n")
    monkeypatch.setenv("P", "secret")
    replicator = {
        "connector": "oracle",
        "connection": {"host": "h", "database": "d", "user": "u", "password": {"env": "P"}},
    }
    source = {"name": "shop", "config": {"meta": {"tidemark": {"replicator": replicator}}}}
    (tmp_path / "models" / "s.yml").write_text(json.dumps({"sources": [source]}))
    arguments = ["--project-dir", str(tmp_path), "--landing", str(tmp_path / "landing")]
    assert "no source 'shpo'" in str(CliRunner().invoke(capture, ["shpo", *arguments]).exception)
    # the connectors are not installed: nothing is made
    result = CliRunner().invoke(capture, ["shop", *arguments])
    assert isinstance(result.exception, TidemarkError) and "connectors install" in str(
        result.exception
    )
    assert not (tmp_path / "landing").exists()


def test_progress_is_told_once_per_state(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    progress = Progress(Console(stderr=True, width=200))
    status = {
        "source": "shop",
        "state": "REPLICATING",
        "events": {"t": {"c": 2000}},
        "tables": {"t": "done"},
        "last_file": 3,
        "lag_ms": 1500,
        "last_error": None,
        "warnings": ["public.t is not captured"],
    }
    with progress:
        progress.show(status)
        progress.show(status)
        progress.show({**status, "state": "FAILING", "lag_ms": None, "last_error": "[gone]"})
    assert capsys.readouterr().err.splitlines() == [
        "Warning: public.t is not captured",
        "shop  replicating  2,000 events of 1 tables in 3 files, 1.5 s behind",
        "shop  failing  2,000 events of 1 tables in 3 files: [gone]",
    ]
