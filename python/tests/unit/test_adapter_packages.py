"""Packages are resolved once; what was found counts while it is there and nothing else is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemark.spark.packages import note_resolved, use_resolved

ASKED = {"spark.jars.packages": "io.delta:delta:1.0", "spark.app.name": "a"}


@pytest.fixture
def found(tmp_path: Path) -> dict[str, str]:
    jars = [tmp_path / "a.jar", tmp_path / "b c.jar"]
    for jar in jars:
        jar.touch()
    names = ",".join(jar.as_uri() for jar in jars)
    return {"spark.jars": names, "spark.submit.pyFiles": names, "spark.other": "x"}


def test_jars_in_place_of_packages(tmp_path: Path, found: dict[str, str]) -> None:
    note = tmp_path / "packages.json"
    conf = dict(ASKED)
    assert not use_resolved(conf, note)
    assert conf == ASKED
    note_resolved(conf, found, note)
    assert use_resolved(conf, note)
    assert conf == {
        "spark.app.name": "a",
        "spark.jars": found["spark.jars"],
        "spark.submit.pyFiles": found["spark.jars"],
    }


@pytest.mark.parametrize(
    "other",
    [
        {"spark.jars.packages": "io.delta:delta:1.1"},
        {"spark.jars.excludes": "a:b"},
        {"spark.jars": "mine.jar"},
    ],
)
def test_something_else_is_asked_for(
    tmp_path: Path, found: dict[str, str], other: dict[str, str]
) -> None:
    note = tmp_path / "packages.json"
    note_resolved(ASKED, found, note)
    conf = {**ASKED, **other}
    assert not use_resolved(conf, note)
    assert conf == {**ASKED, **other}


def test_nothing_is_asked_for(tmp_path: Path, found: dict[str, str]) -> None:
    note = tmp_path / "packages.json"
    note_resolved(ASKED, found, note)
    assert not use_resolved({"spark.app.name": "a"}, note)


def test_a_jar_is_gone__or_the_note_is_broken(tmp_path: Path, found: dict[str, str]) -> None:
    note = tmp_path / "packages.json"
    note_resolved(ASKED, found, note)
    (tmp_path / "b c.jar").unlink()
    assert not use_resolved(dict(ASKED), note)
    for text in ("", "[]", '{"asked": {}}', '{"asked": {}, "found": {"spark.jars": 1}}'):
        note.write_text(text)
        assert not use_resolved(dict(ASKED), note)


@pytest.mark.parametrize("version", ["1.0-SNAPSHOT", "latest.release", "[1.0,2.0)", "1.+"])
def test_a_version_that_may_change_is_not_noted(
    tmp_path: Path, found: dict[str, str], version: str
) -> None:
    note = tmp_path / "packages.json"
    note_resolved({"spark.jars.packages": f"io.delta:delta:{version}"}, found, note)
    assert not note.exists()
