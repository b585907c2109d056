"""The benchmarks without measuring: what they need is there at once, and RESULTS.md is of one commit."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.macros import ROOT

FOLDER = ROOT / "python" / "benchmarks"
RESULTS = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
LETTERS = sorted(path.stem for path in (FOLDER / "results").glob("*.json"))


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("harness_of_benchmarks", FOLDER / "harness.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_results__are_of_one_commit(harness: ModuleType) -> None:
    commits = re.findall(r"(?:commit|tidemark) `?([0-9a-f]{7,40}(?:-dirty)?)", RESULTS)
    assert len(commits) == 1 and not commits[0].endswith(harness.DIRTY)
    assert harness.rendered(LETTERS, commits[0]) == RESULTS


def test_programs__are_found_in_an_environment_that_is_not_activated(
    harness: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert harness.program("dbt") == str(Path(sys.executable).parent / "dbt")
    assert harness.program(sys.executable) == sys.executable
    with pytest.raises(SystemExit, match=r"no-such-program is neither beside .* nor on the PATH"):
        harness.program("no-such-program")


def test_bench__says_at_once_what_is_missing(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, str(FOLDER / "bench.py"), "a"],
        env={**kept, "PATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("git is neither beside")


@pytest.fixture
def folder(harness: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are written, as if at commit c2."""
    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr(harness, "RESULTS", results)
    monkeypatch.setattr(harness, "commit", lambda: "c2")
    return results


def keep(folder: Path, letter: str, commit: str, date: str = "2026-03-04") -> None:
    machine = {"cores": "2", "tidemark": commit, "date": date}
    (folder / f"{letter}.json").write_text(json.dumps({"machine": machine, "rounds": {}}))
    (folder / f"{letter}.md").write_text(f"### ({letter})\n")


def test_render__waits_until_all_are_of_this_commit(
    harness: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(folder, "a", "c2", "2026-03-03")
    keep(folder, "b", "c1")
    harness.render(["a", "b", "c"])
    assert not (folder.parent / "RESULTS.md").exists()
    assert "RESULTS.md stays: not yet measured of c2: b, c" in capsys.readouterr().err
    keep(folder, "b", "c2")
    harness.render(["a", "b"])
    text = (folder.parent / "RESULTS.md").read_text()
    assert "of commit `c2` from 2026-03-03 to 2026-03-04: cores 2.\n" in text
    assert text.endswith("\n### (a)\n\n### (b)\n")


def test_result__is_kept_with_its_commit(harness: ModuleType, folder: Path) -> None:
    result = harness.Result("(a) a workload", "What it is.", "ours")
    result.add("ours", "Tidemark").rounds.append(harness.Timing(2.0))
    result.add("floor", "floor").rounds.append(harness.Timing(1.0))
    result.save()
    assert harness.measured()["a"]["tidemark"] == "c2"
    assert "| floor | 1.0 | 1.0 to 1.0 |  | 2.00 x |" in (folder / "a.md").read_text()
