"""Java is looked for before anything is started, and what is wrong is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidemark.errors import JavaError
from tidemark.java import check_java, java_major


def fake_java(folder: Path, text: str, code: int = 0) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_412"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_java_major(text: str, major: int | None) -> None:
    assert java_major(text) == major


def test_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, 'openjdk version "21.0.1"')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    assert check_java() == 21


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError) as raised:
        check_java()
    message = str(raised.value)
    assert message.startswith("Java 17 or newer is required and none was found")
    assert "apt install openjdk-17-jre-headless" in message
    assert "brew install openjdk@17" in message
    assert "\n" not in message


def test_too_old__java_home_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=rf"is Java 11 \(JAVA_HOME={tmp_path}\)"):
        check_java()


def test_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaError, match="does not run"):
        check_java()


def test_dbt_run_without_java__one_line_and_no_traceback(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    (project / "models" / "one.sql").write_text("select 1 as id")
    (project / "dbt_project.yml").write_text("{name: one, version: 1.0.0, profile: one}")
    (project / "profiles.yml").write_text(
        "one: {target: a, outputs: {a: {type: tidemark, schema: one}}}"
    )
    script = "from dbt.cli.main import cli; cli()"
    environment = {
        "PATH": str(tmp_path),
        "HOME": str(tmp_path),
        "TIDEMARK_HOME": str(tmp_path / "home"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    ran = subprocess.run(
        [sys.executable, "-c", script, "run", "--project-dir", str(project)],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    said = ran.stdout + ran.stderr
    assert said.count("Java 17 or newer is required") == 1
    assert "Traceback" not in said
