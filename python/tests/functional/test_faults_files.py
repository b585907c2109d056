"""Files that are cut, changed, gone or another thing than expected, and disks that are full or cannot be written.

A load that meets them ends with one line, and leaves the tables as they were. Once the fault is mended, the same load
again gives what it would have given.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .enriched_events import add_events, event_line, land
from .entities import Entity
from .event_entities import EventEntity, insert
from .hostile import INTERNAL

pytestmark = pytest.mark.faults
ENGINES = ("spark", "workers")
COLUMNS = {"k": "string", "v": "string"}
ROWS = {"2026-01-01": [("1", "a"), ("2", "b")], "2026-01-02": [("1", "aa"), ("3", "c")]}
FIRST, SECOND = ROWS


def rows_of(day: str) -> bytes:
    return b"k,v\n" + "".join(f"{k},{v}\n" for k, v in ROWS[day]).encode()


def new(project: Any, name: str, engine: str, suffix: str = "csv") -> Entity:
    name = f"{name}_{engine}"
    location = f"{project.root}/extracts/{name}/{{business_date}}.{suffix}"
    form = suffix if suffix in ("parquet", "json") else "csv"
    settings = {"location": location, "format": form, "engine": engine}
    entity = Entity(project, name, COLUMNS, "k", max_delete_fraction=1, **settings)
    entity.folder.mkdir(parents=True)
    return entity


def file_of(entity: Entity, day: str) -> Path:
    return entity.folder / Path(str(entity.settings["location"])).name.format(business_date=day)


def write(entity: Entity, day: str) -> Path:
    path = file_of(entity, day)
    if path.suffix == ".parquet":
        columns = zip(*ROWS[day], strict=True)
        table = pa.table(
            {name: list(values) for name, values in zip(COLUMNS, columns, strict=True)}
        )
        pq.write_table(
            table, path, write_page_checksum=True, compression="none", use_dictionary=False
        )
    elif path.suffix == ".json":
        path.write_text("".join(f'{{"k":"{k}","v":"{v}"}}\n' for k, v in ROWS[day]))
    else:
        path.write_bytes(gzip.compress(rows_of(day)) if path.suffix == ".gz" else rows_of(day))
    return path


def loaded(project: Any, name: str, engine: str) -> Entity:
    """An entity with its first date, and the file of the second."""
    entity = new(project, name, engine)
    write(entity, FIRST)
    entity.run(FIRST)
    write(entity, SECOND)
    return entity


def fails(entity: Entity, day: str, *says: str) -> None:
    """A load that is refused in a few lines, and whose tables are as before."""
    before = state(entity)
    message = entity.run(day, expect_pass=False).messages[entity.name]
    for text in says:
        assert text in message, message
    assert len(message.splitlines()) <= 4, message
    assert not INTERNAL.search(message), message
    assert state(entity) == before


def state(entity: Entity) -> Any:
    if not entity.exists("__log"):
        return None
    return entity.rows("k, v, _operation"), entity.rows(
        "k, v, _operation, _business_date", "__history"
    )


def succeeds(entity: Entity, day: str) -> None:
    """The load as it is without a fault: history is that of both dates."""
    entity.run(day)
    assert entity.rows("k, v") == ROWS[day]
    history = [("1", "a", "I"), ("2", "b", "I")]
    if day == SECOND:
        history = [
            ("1", "a", "I"),
            ("1", "aa", "U"),
            ("2", "b", "D"),
            ("2", "b", "I"),
            ("3", "c", "I"),
        ]
    assert entity.rows("k, v, _operation", "__history") == history


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


def with_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "nested").mkdir()


def with_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def with_dead_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere/at/all")


def changed(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def do(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return do


FAULTS: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "gz_cut": ("csv.gz", changed(lambda data: data[:-12]), "cannot be read"),
    "gz_flipped": ("csv.gz", changed(lambda data: flipped(data, -6)), "cannot be read"),
    "gz_garbage": ("csv.gz", changed(lambda data: b"k,v\n1,a\n"), "cannot be read"),
    "parquet_cut": ("parquet", changed(lambda data: data[: len(data) // 2]), "cannot be read"),
    "parquet_flipped": ("parquet", changed(lambda data: data.replace(b"\4\0\0\0a", b"\4\0\0\0b").replace(b"\1\0\0\0a", b"\1\0\0\0b")), "cannot be read"),
    "folder": ("csv", with_folder, "no extract for business date"),
    "loop": ("csv", with_loop, "no extract for business date"),
    "dead_link": ("csv", with_dead_link, "no extract for business date"),
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fault", FAULTS)
def test_extract(module_project: Any, fault: str, engine: str) -> None:
    """A file of an extract, as it should not be, and then as it should."""
    suffix, spoil, says = FAULTS[fault]
    entity = new(module_project, fault, engine, suffix)
    spoil(write(entity, FIRST))
    fails(entity, FIRST, says)
    path = file_of(entity, FIRST)
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    write(entity, FIRST)
    succeeds(entity, FIRST)


def lengthened(path: Path) -> bytes:
    """Give a file a last line of 1 GB, which takes no room on the disk; what it was."""
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    return whole


def names_long_line(message: str, path: Path, at: int) -> None:
    assert f"{path} has a line of more than 67108864 bytes, from byte {at} on" in message
    assert "tidemark__max_line_bytes" in message
    assert len(message.splitlines()) <= 4 and not INTERNAL.search(message), message


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_long_line(module_project: Any, suffix: str, engine: str) -> None:
    entity = new(module_project, f"long_{suffix}", engine, suffix)
    path = write(entity, FIRST)
    whole = lengthened(path)
    message = entity.run(FIRST, expect_pass=False).messages[entity.name]
    names_long_line(message, path, len(whole))
    assert not entity.exists("__log")
    path.write_bytes(whole)
    succeeds(entity, FIRST)
    # a bound of one's own
    write(entity, SECOND)
    message = entity.run(SECOND, tidemark__max_line_bytes=3, expect_pass=False).error
    assert "has a line of more than 3 bytes" in message
    succeeds(entity, SECOND)


@pytest.mark.parametrize("engine", ENGINES)
def test_long_line__events(module_project: Any, engine: str) -> None:
    entity = EventEntity(module_project, f"long_event_{engine}", COLUMNS, "k", engine=engine)
    entity.load([insert({"k": "1", "v": "a"})])
    path = entity.land([insert({"k": "2", "v": "b"})], "a file.jsonl")
    whole = lengthened(path)
    names_long_line(entity.run(expect_pass=False).messages[entity.name], path, len(whole))
    assert entity.rows("k, v") == [("1", "a")]
    path.write_bytes(whole)
    entity.run()
    assert entity.rows("k, v") == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize("engine", ENGINES)
def test_long_line__enriched_events(module_project: Any, engine: str) -> None:
    name = f"long_enriched_{engine}"
    path = land(add_events(module_project, name, engine=engine), "1.tsv", [event_line(1)])
    whole = lengthened(path)
    run = ("run", "--select", name)
    message = module_project.dbt(*run, expect_pass=False).messages[name]
    names_long_line(message, path, len(whole))
    path.write_bytes(whole)
    module_project.dbt(*run)
    assert len(module_project.sql(f"select 1 from {name}")) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_gone_after_it_was_listed(
    module_project: Any, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    from tidemark.spark import files

    entity = new(module_project, "gone", engine)
    listed = files.list_files
    path = write(entity, FIRST)

    def list_and_remove(*arguments: Any, **options: Any) -> Any:
        found = listed(*arguments, **options)
        path.unlink(missing_ok=True)
        return found

    with monkeypatch.context() as patch:
        patch.setattr("dbt.adapters.tidemark.files.list_files", list_and_remove)
        message = entity.run(FIRST, expect_pass=False).messages[entity.name]
    assert f"{FIRST}.csv" in message and len(message.splitlines()) <= 4, message
    assert not entity.exists("__log")
    write(entity, FIRST)
    succeeds(entity, FIRST)


def data_file(entity: Entity, table: str) -> Path:
    folder = Path(
        entity.project.home, "warehouse", f"{entity.project.schema}.db", entity.name + table
    )
    return max(folder.rglob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)


def forget(entity: Entity) -> None:
    """What this process remembers of the tables."""
    session = entity.project.session
    session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    session.catalog.clearCache()


TABLE_FAULTS: dict[str, tuple[Callable[[Entity], Path], Callable[[bytes], bytes | None]]] = {
    "data_cut": (lambda entity: data_file(entity, ""), lambda data: data[:40]),
    "data_gone": (lambda entity: data_file(entity, ""), lambda data: None),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fault", TABLE_FAULTS)
def test_table(module_project: Any, fault: str, engine: str) -> None:
    """A file of current that was damaged stops the load; put back, the load gives what it should."""
    entity = loaded(module_project, fault, engine)
    find, spoil = TABLE_FAULTS[fault]
    path = find(entity)
    whole, spoilt = path.read_bytes(), spoil(path.read_bytes())
    checksum = path.with_name(f".{path.name}.crc")
    aside = checksum.read_bytes() if checksum.exists() else None
    path.unlink() if spoilt is None else path.write_bytes(spoilt)
    checksum.unlink(missing_ok=True)
    forget(entity)
    message = entity.run(SECOND, expect_pass=False).messages[entity.name]
    assert len(message.splitlines()) <= 4 and not INTERNAL.search(message), message
    path.write_bytes(whole)
    if aside is not None:
        checksum.write_bytes(aside)
    forget(entity)
    assert entity.rows("k, v") == ROWS[FIRST]
    succeeds(entity, SECOND)


def commit_file(entity: Entity) -> Path:
    """The last of the log of current by Delta; without its checksums, which notice less."""
    log = data_file(entity, "").parent
    while not (log / "_delta_log").is_dir():
        log = log.parent
    for checksum in list(log.rglob("*.crc")):
        checksum.unlink()
    return max((log / "_delta_log").glob("[0-9]*.json"))


BROKEN_CURRENT: dict[str, tuple[Callable[[Entity], Path], Callable[[bytes], bytes]]] = {
    "rows": (lambda entity: data_file(entity, ""), lambda data: data[:40]),
    "commit": (commit_file, lambda data: b"{x" + data[2:]),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fault", BROKEN_CURRENT)
def test_rebuilt(module_project: Any, fault: str, engine: str) -> None:
    """Of a file of current that is lost the message says the command that makes current anew."""
    entity = loaded(module_project, f"broken_{fault}", engine)
    find, spoil = BROKEN_CURRENT[fault]
    path = find(entity)
    path.write_bytes(spoil(path.read_bytes()))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    forget(entity)
    message = entity.run(SECOND, expect_pass=False).messages[entity.name]
    assert f"{path} cannot be read" in message
    assert f"`tidemark rebuild {entity.name}` makes the table again from its log" in message
    assert len(message.splitlines()) <= 4 and not INTERNAL.search(message), message
    said = entity.operate("rebuild", dry_run=True).output
    assert f"would make {entity.project.schema}.{entity.name} anew" in said
    said = entity.operate("rebuild").output
    assert f"rebuilt: {len(entity.rows('k'))} rows" in said
    succeeds(entity, SECOND)
    assert {state for _, state in entity.commits()} == {"completed"}


@pytest.mark.parametrize("engine", ENGINES)
def test_log(module_project: Any, engine: str) -> None:
    """Of a file of the log the message says what is lost, and how to load it again."""
    entity = loaded(module_project, "broken_log", engine)
    path = data_file(entity, "__log")
    entity.run(SECOND)
    path.write_bytes(path.read_bytes()[:40])
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    forget(entity)
    message = entity.operate("rebuild", expect_pass=False).output
    commit = entity.commits("commit_id")[0][0]
    assert f"{path} cannot be read" in message
    assert f"The file has the rows of {FIRST} (commit {commit}). Restore the file" in message
    told = message[message.index("The file has the rows of") :]
    statement, _, command = re.findall("`(?:sql )?([^`]+)`", told)[:3]
    assert command == f"tidemark run --select {entity.name} --business-date {FIRST}"
    entity.project.sql(statement)
    entity.run(FIRST)
    succeeds(entity, SECOND)


@pytest.fixture
def small_disk(make_project: Any) -> Iterator[tuple[Any, Path]]:
    """A project whose schema lies on a disk of its own, of a few MB."""
    project = make_project("small_disk")
    folder = Path(project.home) / "warehouse" / f"{project.schema}.db"
    project.sql("select 1")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("no tmpfs")
    yield project, folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_full_disk(small_disk: tuple[Any, Path], engine: str) -> None:
    project, folder = small_disk
    entity = loaded(project, "full", engine)
    ballast = folder / "_ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    message = entity.run(SECOND, expect_pass=False).messages[entity.name]
    assert "No space left on device" in message
    assert len(message.splitlines()) <= 4 and not INTERNAL.search(message), message
    ballast.unlink()
    forget(entity)
    succeeds(entity, SECOND)
    # a first load, which makes its tables before it writes their rows
    with ballast.open("wb", buffering=0) as file:
        file.write(b"x" * (os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - 40_000))
    other = new(project, "first", engine)
    write(other, FIRST)
    message = other.run(FIRST, expect_pass=False).messages[other.name]
    assert "No space left on device" in message and not INTERNAL.search(message), message
    ballast.unlink()
    forget(other)
    succeeds(other, FIRST)


@pytest.mark.parametrize("engine", ENGINES)
def test_read_only(small_disk: tuple[Any, Path], engine: str) -> None:
    project, folder = small_disk
    entity = loaded(project, "read_only", engine)
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    message = entity.run(SECOND, expect_pass=False).messages[entity.name]
    assert "cannot be made: the disk is full or read-only" in message
    assert len(message.splitlines()) <= 4 and not INTERNAL.search(message), message
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    forget(entity)
    succeeds(entity, SECOND)
