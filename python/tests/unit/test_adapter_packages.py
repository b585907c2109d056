"""Packages are resolved once; what was found counts while it is there and nothing else is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidemark.errors import ConfigError
from tidemark.spark.packages import check_ivy, ivy_folder, note_resolved, use_resolved

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


def test_ivy__a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ivy = tmp_path / "ivy"
    conf = {**ASKED, "spark.jars.ivy": str(ivy)}
    check_ivy(conf)
    assert not ivy.exists()
    # what another user has fetched
    (ivy / "cache").mkdir(parents=True)
    closed = {str(ivy / "cache")}
    may = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: str(path) not in closed and may(path, mode)
    )
    with pytest.raises(ConfigError) as raised:
        check_ivy(conf)
    assert str(raised.value) == (
        f"{ivy / 'cache'} cannot be written, and Spark keeps the jars of spark.jars.packages in "
        f"{ivy}. Set spark.jars.ivy in server_side_parameters of the profile to a folder of your "
        "own, or give this user the right to write there"
    )
    check_ivy({"spark.jars.ivy": str(ivy)})
    check_ivy({**conf, "spark.jars.ivySettings": "/etc/ivy.xml"})
    closed.add(str(tmp_path))
    with pytest.raises(ConfigError, match=f"{tmp_path} cannot be written"):
        check_ivy({**conf, "spark.jars.ivy": str(tmp_path / "other" / "ivy")})
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file cannot be written"):
        check_ivy({**conf, "spark.jars.ivy": str(tmp_path / "file")})


def test_ivy__is_where_java_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Java does not go by HOME where the user is known."""
    pwd = pytest.importorskip("pwd")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ivy_folder({}) == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".ivy2.5.2"
    assert ivy_folder({"spark.jars.ivy": "~/ivy"}) == tmp_path / "ivy"

    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert ivy_folder({}) == tmp_path / ".ivy2.5.2"
