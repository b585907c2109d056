"""Lines that are too long, found without reading what lies between their ends."""

from __future__ import annotations

import gzip
import random
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tidemark.spark.long_lines import first_long_line, long_line, why_no_memory

SESSION: Any = None


def plain(data: bytes, most: int) -> int | None:
    """The same by looking at every byte; a line has its end with it."""
    start = 0
    for place, byte in enumerate(data):
        if place + 1 - start > most:
            return start
        if byte in b"\r\n":
            start = place + 1
    return None


def test_first_long_line__as_by_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemark.spark.long_lines._BLOCK", 4)
    monkeypatch.setattr("tidemark.spark.long_lines._LARGEST_BLOCK", 16)
    rng = random.Random(20260304)
    found = 0
    for _ in range(2000):
        ends = rng.choice([b"\n", b"\r\n", b"\r"])
        lines = [b"x" * rng.choice([0, 3, 10, 30, 60]) for _ in range(rng.randrange(8))]
        data = ends.join(lines) + rng.choice([b"", ends])
        most = rng.choice([20, 40, 64])
        wanted = plain(data, most)
        at = first_long_line(lambda start, count, data=data: data[start : start + count], len(data), most)  # fmt: skip
        assert at == wanted, (data, most)
        found += at is not None
    assert found > 300


def test_first_long_line__reads_a_block_of_each_stretch() -> None:
    data = b"a line of some bytes\n" * 1_000_000
    read = []

    def read_and_note(start: int, count: int) -> bytes:
        read.append(count)
        return data[start : start + count]

    assert first_long_line(read_and_note, len(data), 1 << 20) is None
    assert sum(read) <= (len(data) / (1 << 20) + 1) * (1 << 16)


@pytest.mark.parametrize(("name", "at"), [("a b.csv", 4), ("a.csv.gz", None), ("a.parquet", None)])
def test_long_line(tmp_path: Path, name: str, at: int | None) -> None:
    """A sparse file of 1 GB: what it has is told by its first megabytes."""
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(b"a,b\n")
        file.truncate(1 << 30)
    assert long_line(SESSION, f"file:{path}", 1 << 30, 1 << 24) == at
    assert long_line(SESSION, f"file:{path}", 1 << 30, 1 << 31) is None


def test_why_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not seen beforehand: compressed lines, and a quote behind which all is one value."""
    monkeypatch.setattr("tidemark.spark.long_lines._looked_at", deque())
    most = 1 << 24

    def looked_at(name: str, data: bytes) -> str:
        path = tmp_path / name
        path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
        assert long_line(SESSION, f"file:{path}", path.stat().st_size, most) is None
        return str(path)

    short = b"a,b\n" * (most // 2)
    looked_at("good.csv", short)
    assert why_no_memory() is None
    path = looked_at("line.json.gz", b"{}\n" + bytes(2 * most))
    assert why_no_memory() == f"{path} has a line of more than {most} bytes, from byte 3 on"
    path = looked_at("quote.csv", b'a,"b\n' + short)
    assert why_no_memory() == f"{path} has a quote that nothing closes"
    Path(path).unlink()
    assert "line.json.gz" in str(why_no_memory())
    (tmp_path / "line.json.gz").unlink()
