"""The archive of Spark's classes: when it is written, kept, used and left alone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tidemark.errors import ConfigError
from tidemark.java import find_java
from tidemark.spark import class_archive
from tidemark.spark.class_archive import ENOUGH_STATEMENTS, ClassArchive, find_archive


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(class_archive.VARIABLE, str(tmp_path))
    return tmp_path


def find() -> ClassArchive:
    archive = find_archive(find_java())
    assert archive is not None
    return archive


def find_after_the_first() -> ClassArchive:
    find().keep(ENOUGH_STATEMENTS, 0)
    return find()


def test_the_second_session_writes_and_the_next_reads(folder: Path) -> None:
    first = find()
    assert first.new is None and first.options == ""
    first.keep(ENOUGH_STATEMENTS - 1, 0)
    assert find().new is None
    first.keep(ENOUGH_STATEMENTS, 0)
    second = find()
    assert second.new is not None
    assert f'-XX:ArchiveClassesAtExit={second.new}"' in second.options
    second.new.write_bytes(b"classes")
    second.keep(ENOUGH_STATEMENTS, 0)
    third = find()
    assert third.new is None
    assert third.path.read_bytes() == b"classes"
    assert f'-XX:SharedArchiveFile={third.path}"' in third.options
    third.keep(ENOUGH_STATEMENTS, 0)
    assert list(folder.iterdir()) == [third.path]


@pytest.mark.parametrize(
    ("statements", "exit_code"),
    [(ENOUGH_STATEMENTS - 1, 0), (ENOUGH_STATEMENTS, -9), (ENOUGH_STATEMENTS, None)],
)
def test_what_is_poor_or_torn_is_not_kept(
    folder: Path, statements: int, exit_code: int | None
) -> None:
    archive = find_after_the_first()
    assert archive.new is not None
    archive.new.write_bytes(b"cla")
    archive.keep(statements, exit_code)
    assert list(folder.iterdir()) == [archive.asked_for]


def test_what_a_killed_session_left_is_removed_later(folder: Path) -> None:
    left = folder / "spark-0-1.tmp"
    left.write_bytes(b"cla")
    find()
    assert left.exists()
    old = time.time() - 2 * 3600
    os.utime(left, (old, old))
    find()
    assert not left.exists()


def test_another_java_has_another_archive(tmp_path: Path) -> None:
    other = tmp_path / "java"
    other.write_text("#!/bin/sh\necho 'OpenJDK 64-Bit Server VM (mixed mode, sharing)' >&2\n")
    other.chmod(0o755)
    archive = find_archive(str(other))
    assert archive is not None
    assert archive.path != find().path


def test_a_java_without_sharing_has_none(tmp_path: Path) -> None:
    other = tmp_path / "java"
    other.write_text("#!/bin/sh\necho 'OpenJ9 VM (build 1)' >&2\n")
    other.chmod(0o755)
    assert find_archive(str(other)) is None


def test_switched_off_and_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(class_archive.VARIABLE, "off")
    assert find_archive(find_java()) is None
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv(class_archive.VARIABLE, str(file))
    with pytest.raises(ConfigError, match="must be a folder, or off"):
        find()
