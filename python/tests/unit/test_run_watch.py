"""`tidemark run --watch`: which files count, what is said, and when the selection runs again."""

from __future__ import annotations

import datetime as dt
import io
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tidemark.run import kept
from tidemark.run.again import Selection, definition, look, run_again
from tidemark.run.files import changed_files, describe_changes, files_of, fingerprint
from tidemark.run.invoke import Invoker
from tidemark.run.kept import Parsed, projects_kept
from tidemark.run.options import RunOptions
from tidemark.run.watch import Places, Watch, landed_files, location_places, project_places

DAYS = [dt.date(2026, 3, 1), dt.date(2026, 3, 2)]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunOptions:
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    root = tmp_path / "shop"
    write(root / "dbt_project.yml", "name: shop\nmodel-paths: [models]\n")
    write(root / "models" / "a.sql", "select 1")
    write(root / "models" / "_models.yml", "models: []")
    write(root / "seeds" / "s.csv", "a\n1\n")
    write(root / "landing" / "a_2026-03-01.csv", "id\n1\n")
    write(root / ".tidemark" / "target" / "x.sql", "select 1")
    return RunOptions(dates=DAYS, project_dir=root, profiles_dir=root)


def write(path: Path, text: str) -> None:
    """Write a file; a later one is always newer, also on a file system of coarse times."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    write.now += 1_000_000_000  # type: ignore[attr-defined]
    os.utime(path, ns=(write.now, write.now))  # type: ignore[attr-defined]


write.now = time.time_ns()  # type: ignore[attr-defined]


# --- which files count


def test_files__those_that_dbt_reads(options: RunOptions) -> None:
    root = options.project_dir
    found = {str(path.relative_to(root)) for path in files_of(options, seeds=True)}
    assert found == {
        "dbt_project.yml", "models/a.sql", "models/_models.yml", "seeds/s.csv", "profiles.yml",
    }  # fmt: skip
    assert root / "seeds" / "s.csv" not in set(files_of(options))


def test_files__all_of_the_project_where_only_dbt_knows_its_folders(options: RunOptions) -> None:
    root = options.project_dir
    write(root / "dbt_project.yml", "name: shop\nmodel-paths: [\"{{ var('x') }}\"]\n")
    found = {str(path.relative_to(root)) for path in files_of(options, seeds=True)}
    assert {"models/a.sql", "landing/a_2026-03-01.csv"} <= found
    assert not any(path.startswith(".tidemark") for path in found)
    write(root / "dbt_project.yml", "name: [shop\n")
    assert root / "models" / "a.sql" in set(files_of(options))


def test_fingerprint__changes_with_files_and_options(options: RunOptions) -> None:
    before = fingerprint(options, seeds=True)
    write(options.project_dir / "landing" / "a_2026-03-02.csv", "id\n2\n")
    assert fingerprint(options, seeds=True) == before
    assert fingerprint(replace(options, vars={"a": 1}), seeds=True) != before
    write(options.project_dir / "seeds" / "s.csv", "a\n2\n")
    assert fingerprint(options, seeds=True) != before


def test_fingerprint__changes_with_what_files_ask_of_the_environment(
    options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_SCHEMA", "dev")
    before = fingerprint(options)
    monkeypatch.setenv("SHOP_SCHEMA", "prod")
    assert fingerprint(options) == before
    profile = "shop: {outputs: {dev: {schema: \"{{ env_var('SHOP_SCHEMA') }}\"}}}\n"
    write(options.project_dir / "profiles.yml", profile)
    before = fingerprint(options)
    monkeypatch.setenv("SHOP_SCHEMA", "dev")
    assert fingerprint(options) != before


def test_changes__are_told_by_path() -> None:
    before = {Path("/p/a"): (1, 1), Path("/p/b"): (1, 1), Path("/d/c"): (1, 1)}
    after = {Path("/p/a"): (1, 2), Path("/d/c"): (1, 1), Path("/d/e"): (1, 1)}
    changes = changed_files(before, after)
    assert changes == {Path("/d/e"): "new", Path("/p/a"): "changed", Path("/p/b"): "gone"}
    assert describe_changes(changes, Path("/p")) == "/d/e is new, a changed, b is gone"
    assert describe_changes(changes, Path("/p"), most=1) == "/d/e is new, 2 more"


def test_landed_files__of_a_file_a_glob_a_folder_a_url(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", "")
    write(tmp_path / "in" / "deep" / "b.csv", "")
    write(tmp_path / "in" / "_SUCCESS", "")
    write(tmp_path / "in" / ".c.csv.crc", "")

    def names(location: str) -> list[str]:
        return [path.name for path in landed_files(tmp_path, location)]

    assert names("in/a.csv") == names("in/*.csv") == names(f"file://{tmp_path}/in/a.csv")
    assert names("in/a.csv") == ["a.csv"]
    assert names("in") == ["a.csv", "b.csv"]
    assert names("in/none.csv") == names("s3://data/in") == []


def test_places__of_the_project_and_of_what_lands(options: RunOptions) -> None:
    root = options.project_dir
    assert project_places(options) == Places(
        frozenset({root / "models", root / "seeds"}), frozenset({root})
    )
    places = location_places(
        root,
        [
            "landing/a_{business_date}.csv",
            "landing/*/b.csv",
            "landing",
            "not/there/*.csv",
            "s3://a/b",
        ],
    )
    assert places == Places(frozenset({root / "landing"}), frozenset({root / "landing", root}))
    assert location_places(root, ["landing/a_2026-03-01.csv"]).flat == {root / "landing"}


def test_definition__what_a_model_s_files_say() -> None:
    def of(**parts: Any) -> str:
        said = {"raw_code": "select 1", "config": {"meta": {}}, "columns": {}, **parts}
        return definition(SimpleNamespace(to_dict=lambda: said))

    assert of() == of(created_at=1)
    assert (
        len(
            {
                of(),
                of(raw_code="select 2"),
                of(config={"meta": {"tidemark": {}}}),
                of(columns={"a": {}}),
            }
        )
        == 4
    )


# --- listening


def test_watch__wakes_once_for_changes_that_follow_each_other(tmp_path: Path) -> None:
    deep, flat = tmp_path / "deep", tmp_path / "flat"
    (deep / "below").mkdir(parents=True)
    flat.mkdir()

    def places() -> Places:
        return Places(frozenset({deep}), frozenset({flat}))

    with Watch(places) as watch:
        assert woken(watch, lambda: (deep / "below" / "a").write_text("1"))
        assert woken(watch, lambda: (flat / "a").write_text("1"))
        for number in range(3):
            (deep / str(number)).write_text("1")
        assert watch.wait(10)
        assert not watch.wait(0.5)
    assert watch.closed and not watch.wait()


def test_watch__goes_to_folders_that_come(tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    with Watch(lambda: location_places(tmp_path, ["landing/*.csv"])) as watch:
        assert woken(watch, folder.mkdir)
        assert woken(watch, lambda: (folder / "a.csv").write_text("1"))


def woken(watch: Watch, change: Callable[[], Any]) -> bool:
    """Change something; the system may need a moment until it listens."""
    time.sleep(0.3)
    change()
    return watch.wait(10)


# --- running again


class Story:
    """What happens between the runs; a run and a parse are noted and not done."""

    def __init__(self, options: RunOptions, steps: list[Callable[[], Any]]) -> None:
        self.options = options
        self.steps = steps
        self.ran: list[list[str]] = []
        self.full_refresh: list[bool] = []
        self.code = 0
        self.parsed = 0
        self.closed = False
        self.selection: Selection | None = Selection(
            {"model.shop.a": "1"}, ("landing/a_{business_date}.csv", "s3://far/away")
        )
        self.talk = Console(file=io.StringIO(), width=200)

    def run(self, options: RunOptions) -> int:
        self.ran.append([str(date) for date in options.dates])
        self.full_refresh.append(options.full_refresh)
        return self.code

    def select(self, options: RunOptions) -> Selection | None:
        self.parsed += 1
        return self.selection

    @contextmanager
    def watch(self, places: Callable[[], Places]) -> Iterator[Any]:
        assert self.options.project_dir in places().flat
        if self.selection is not None:
            assert self.options.project_dir / "landing" in places().flat
        yield self

    def wait(self, timeout: float) -> bool:
        if not self.steps:
            raise KeyboardInterrupt
        self.steps.pop(0)()
        return True

    def play(self) -> int:
        return run_again(self.options, self.talk, self.run, self.select, self.watch)  # type: ignore[arg-type]

    @property
    def said(self) -> list[str]:
        lines = self.talk.file.getvalue().splitlines()  # type: ignore[attr-defined]
        return [line for line in lines if not line.startswith("waiting for a change")]


BOTH = ["2026-03-01", "2026-03-02"]


def test_again__for_the_dates_whose_files_changed(options: RunOptions) -> None:
    landing = options.project_dir / "landing"
    story = Story(
        replace(options, full_refresh=True),
        [
            lambda: None,  # something of no interest
            lambda: write(landing / "a_2026-03-02.csv", "id\n2\n"),
            lambda: write(landing / "a_2026-03-09.csv", "id\n2\n"),
            lambda: (landing / "a_2026-03-01.csv").unlink(),
        ],
    )
    assert story.play() == 0
    assert story.ran == [BOTH, ["2026-03-02"], ["2026-03-01"]]
    assert story.full_refresh == [True, False, False]
    assert story.parsed == 1
    assert story.said == [
        "s3://far/away is not watched, because it is not a path of this machine",
        "landing/a_2026-03-02.csv is new (2026-03-02)",
        "landing/a_2026-03-01.csv is gone (2026-03-01)",
    ]


def test_again__for_models_and_yaml_of_the_selection_and_what_all_depend_on(
    options: RunOptions,
) -> None:
    root = options.project_dir

    def another_model() -> None:
        write(root / "models" / "b.sql", "select 2")

    def the_model() -> None:
        write(root / "models" / "a.sql", "select 3")
        story.selection = Selection({"model.shop.a": "2"}, ("landing/a_{business_date}.csv",))

    def a_macro() -> None:
        write(root / "macros" / "m.sql", "{% macro m() %}{% endmacro %}")

    def the_project() -> None:
        write(root / "dbt_project.yml", "name: shop\nvars: {a: 1}\n")

    story = Story(options, [another_model, the_model, a_macro, the_project])
    assert story.play() == 0
    assert story.ran == [BOTH] * 4
    assert story.said[1:] == [
        "models/b.sql is new",
        "nothing of the selection changed",
        "models/a.sql changed",
        "macros/m.sql is new",
        "dbt_project.yml changed",
    ]


def test_again__waits_for_a_project_that_cannot_be_parsed_to_be_mended(options: RunOptions) -> None:
    root = options.project_dir
    good = Story(options, []).selection

    def broken() -> None:
        write(root / "models" / "_models.yml", "models: [")
        write(root / "landing" / "a_2026-03-02.csv", "id\n2\n")
        story.selection = None

    def mended() -> None:
        write(root / "models" / "_models.yml", "models: []")
        story.selection = good

    story = Story(replace(options, full_refresh=True), [mended, broken, mended])
    story.selection = None
    # it begins broken; what landed while it was broken is run when it is mended
    assert story.play() == 0
    assert story.ran == [BOTH, BOTH]
    # to begin anew is for the first run that comes about
    assert story.full_refresh == [True, False]


def test_again__begins_anew_by_the_first_run_that_runs_something(options: RunOptions) -> None:
    landing = options.project_dir / "landing"

    def it_runs() -> None:
        write(landing / "a_2026-03-02.csv", "id\n2\n")
        story.code = 1

    story = Story(
        replace(options, full_refresh=True),
        [it_runs, lambda: write(landing / "a_2026-03-02.csv", "id\n3\n")],
    )
    story.code = 2
    assert story.play() == 0
    # none was run, so all dates are, not only the one that there is news of
    assert story.ran == [BOTH, BOTH, ["2026-03-02"]]
    assert story.full_refresh == [True, True, False]


def test_again__what_changes_during_a_run_is_run_after_it(options: RunOptions) -> None:
    story = Story(options, [])
    late = [options.project_dir / "landing" / "a_2026-03-02.csv"]

    def run(asked: RunOptions) -> int:
        story.ran.append([str(date) for date in asked.dates])
        while late:
            write(late.pop(), "id\n2\n")
        return 1

    story.run = run  # type: ignore[method-assign]
    assert story.play() == 0
    assert story.ran == [BOTH, ["2026-03-02"]]


def test_again__interrupted_in_a_run(options: RunOptions) -> None:
    story = Story(options, [])
    story.code = 130
    assert story.play() == 130


def test_look__events_without_dates(options: RunOptions) -> None:
    selection = Selection({}, ("landing", "landing/a_{business_date}.csv"))
    seen = look(replace(options, dates=[]), selection)
    assert set(seen.landed) == {None}
    assert [path.name for path in seen.landed[None]] == ["a_2026-03-01.csv"]


# --- only what changed is parsed


def test_invoker__parses_a_kept_project_only_if_its_files_changed(
    options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def invoke(self: Any, command: list[str], **_: Any) -> Any:
        parsed.append(command[0])
        return SimpleNamespace(success=True, result=object())

    monkeypatch.setattr(Invoker, "_invoke", invoke)
    monkeypatch.setattr("tidemark.run.varies.parsing_varies", lambda *_: False)

    def manifest(given: RunOptions = options) -> Any:
        invoker = Invoker(given, Console(quiet=True))
        assert invoker.parse()
        return invoker.manifest

    assert manifest() is not manifest()
    assert len(parsed) == 2
    with projects_kept():
        first = manifest()
        with projects_kept():
            assert manifest() is first and len(parsed) == 3
        # the dates are no matter; other vars are
        assert manifest(replace(options, dates=[], select=["a"])) is first
        assert manifest(replace(options, vars={"a": 1})) is not first
        assert manifest() is first and len(parsed) == 4
        write(options.project_dir / "models" / "_models.yml", "models: [] # saved")
        second = manifest()
        assert second is not first and manifest() is second and len(parsed) == 5
        kept.forget_projects()
        assert manifest() is not second
    assert manifest() is not manifest()


def test_kept__a_few() -> None:
    with projects_kept():
        for mark in "abcde":
            kept.keep(mark, Parsed(mark, True, None))
        assert kept.kept("a") is None
        assert kept.kept("b") == Parsed("b", True, None)
        kept.keep("f", Parsed("f", True, None))
        assert kept.kept("b") is not None and kept.kept("c") is None
    assert kept.kept("b") is None
