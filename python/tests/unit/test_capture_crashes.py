"""Capture killed at every step of landing: everything lands, in order, once."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.unit.fake_capture import expected

pytest.importorskip("jpype")

FAILPOINTS = [
    "before_tmp_write",
    "after_tmp_write",
    "after_fsync",
    "after_rename",
    "before_mark",
    "after_mark",
    "before_offsets",
    "after_offsets",
]


def run(
    folder: Path, kind: str, failpoint: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.unit.fake_capture", str(folder), kind],
        cwd=REPO / "python",
        env={**os.environ, "TIDEMARK_FAILPOINT": failpoint, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def landed(folder: Path) -> list[str]:
    lines = []
    for number, path in enumerate(sorted((folder / "landing").glob("ev-*")), start=1):
        assert path.name == f"ev-{number:010d}.jsonl.gz"
        for place, line in enumerate(gzip.decompress(path.read_bytes()).splitlines(), start=1):
            content = json.loads(line)
            assert (content["_seq"], content["_ord"]) == (number, place)
            if not content["_id"].startswith("end:"):
                lines.append(json.dumps(content["value"], separators=(",", ":")))
    return lines


@pytest.mark.parametrize(
    ("kind", "failpoint"),
    [
        (kind, failpoint)
        for kind in ("postgresql", "mariadb")
        for failpoint in FAILPOINTS
        # of PostgreSQL the slot is the position
        if kind == "mariadb" or not failpoint.endswith("offsets")
    ],
)
def test_killed_at(kind: str, failpoint: str, tmp_path: Path) -> None:
    # at the first file, at a later one, and at the one after a restart
    for times in (1, 4, 2):
        killed = run(tmp_path, kind, f"{failpoint}:{times}")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = run(tmp_path, kind)
    assert finished.returncode == 0, finished.stderr
    assert landed(tmp_path) == expected(kind)
    assert list((tmp_path / "landing").glob("*.tmp")) == []
    # nothing new: nothing lands
    files = sorted((tmp_path / "landing").glob("ev-*"))
    assert run(tmp_path, kind).returncode == 0
    assert sorted((tmp_path / "landing").glob("ev-*")) == files
    status = json.loads((tmp_path / "landing" / "_state" / "status.json").read_text())
    assert sum(sum(counts.values()) for counts in status["events"].values()) == len(expected(kind))
    assert status["last_file"] == len(files)


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_full_disk(kind: str, tmp_path: Path) -> None:
    room = tmp_path / "landing"
    room.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(room)], check=False
        ).returncode
        != 0
    ):
        pytest.skip("no tmpfs")
    try:
        full = run(tmp_path, kind)
        assert full.returncode == 1 and "cannot be written (No space left on device)" in full.stderr
        before = landed(tmp_path)
        assert before == expected(kind)[: len(before)]
        subprocess.run(["mount", "-o", "remount,size=4m", str(room)], check=True)
        assert run(tmp_path, kind).returncode == 0
        assert landed(tmp_path) == expected(kind)
    finally:
        subprocess.run(["umount", str(room)], check=True)
