"""Where a task of the engine keeps what it has not committed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tidemark.spark.delta.task import folder_of_task


def test_folder_of_task__of_machines_that_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a dead process of this machine left goes; of another machine's only what is a day old."""
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    nobody = 2**22 + 1
    mine = folder_of_task()
    dead = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{nobody}-"))
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    theirs = folder_of_task()
    young, old = (
        theirs.with_name(theirs.name.replace(f"-{os.getpid()}-", f"-{number}-"))
        for number in (nobody, nobody + 1)
    )
    monkeypatch.undo()
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path))
    for folder in (mine, dead, young, old):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))
    folder_of_task()
    assert [each.exists() for each in (mine, dead, young, old)] == [True, False, True, False]
