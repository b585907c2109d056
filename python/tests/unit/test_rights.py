"""What this user may not look into is told from what is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidemark.errors import DataError
from tidemark.rights import check_open, closed_folder


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("landing/a_2026-03-04.csv", "landing"),
        ("landing/sub/a.csv", "landing"),
        ("file:{root}/landing/a.csv", "landing"),
        ("landing/*.csv", "landing"),
        ("landing", "landing"),
        ("passed/in/a.csv", None),
        ("passed/a.csv", "passed"),
        ("l*/a.csv", None),
        ("nowhere/a.csv", None),
        ("s3a://lake/landing/a.csv", None),
    ],
)
def test_closed_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, folder: str | None
) -> None:
    for name in ("landing", "passed/in"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    rights = {"landing": 0, "passed": os.X_OK}
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode & rights.get(Path(path).name, 7) == mode
    )
    found = closed_folder(path.format(root=tmp_path))
    assert found == (str(tmp_path / folder) if folder else None)
    if folder:
        with pytest.raises(DataError, match=f"the folder .*/{folder} cannot be read: permission"):
            check_open(path.format(root=tmp_path))
    else:
        check_open(path)
