"""`tidemark report` in a browser: every chart has its marks, filters work, nothing is said to the console."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from tests.servers import chromium
from tidemark.diff.model import Cell, ColumnDifference, Differences, Sample, TableDifference
from tidemark.report.data import (
    ColumnRow,
    EntityRow,
    KeyHistory,
    KeyVersion,
    LagRow,
    LineageEdge,
    LoadRow,
    RejectRow,
    ReplicatorRow,
    Report,
    RunRow,
    ValueInterval,
    VersionsRow,
)
from tidemark.report.page import page

NOW = dt.datetime(2026, 3, 5, 12, tzinfo=dt.UTC)
JANUARY, FEBRUARY = dt.date(2026, 1, 1), dt.date(2026, 2, 1)
HOSTILE = "</script><img src=x onerror=alert(1)>"
CHARTS = {
    "calendar": "rect",
    "loads": "rect",
    "columns": "rect",
    "rejects": "rect",
    "versions": "rect",
    "sizes": "rect",
    "lineage": "circle",
    "key-0": "rect",
    "ages": "path",
    "lags": "path",
}
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1300, "height": 900}},
    "dark": {"viewport": {"width": 1300, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}},
}


def entity(name: str, **more: Any) -> EntityRow:
    values: dict[str, Any] = {
        "kind": "cdc", "relation": f"shop.{name}", "state": "loaded", "last_date": dt.date(2026, 3, 4),
        "loaded_at": NOW - dt.timedelta(hours=3), "rows": 1000, "inserted": 3, "updated": 20, "deleted": 1,
        "unchanged": 976, "open_rejects": 0, "size_bytes": 5_000_000, "files": 4, "small_files": 4,
        "notes": [], "next_command": None,
    }  # fmt: skip
    return EntityRow(entity=name, **{**values, **more})


def loads(name: str, days: int) -> list[LoadRow]:
    return [
        LoadRow(
            entity=name, commit_id=number, kind="load", business_date=dt.date(2026, 2, 1) + dt.timedelta(days=number),
            completed_at=NOW - dt.timedelta(days=days - number), seconds=3.5, inserted=number, updated=10, deleted=1, rejected=2,
        )
        for number in range(days)
    ]  # fmt: skip


def report(entities: list[EntityRow]) -> Report:
    names = [one.entity for one in entities]
    return Report(
        project="shop",
        made_at=NOW,
        version="0.1.0",
        days=90,
        entities=entities,
        loads=[load for name in names[:20] if name != "later" for load in loads(name, 5)],
        columns=[ColumnRow(entity=names[0], column=c, changes=n) for n, c in enumerate("abc", 1)],
        rejects=[RejectRow(entity=names[0], reason=HOSTILE, rows=4)],
        versions=[VersionsRow(entity=names[0], versions=n, keys=10 * n) for n in (1, 2, 5)],
        lineage=[LineageEdge(reads=a, read_by=b) for a, b in itertools.pairwise(names[:4])],
        runs=[RunRow(entity=names[0], completed_at=NOW - dt.timedelta(hours=h)) for h in (40, 20)],
        replicators=[
            ReplicatorRow(source=HOSTILE, freshness_seconds=300, objective=99, fresh=99.9, tables=3)
        ],
        lags=[
            LagRow(
                source=HOSTILE,
                at=NOW - dt.timedelta(minutes=m),
                lag_seconds=10 * m,
                table="public.orders",
                waiting=m,
            )
            for m in range(60, 0, -1)
        ],
        keys=[
            KeyHistory(
                entity=names[0],
                key="WIPO",
                versions=[
                    KeyVersion(
                        business_date=dt.date(2026, 3, 4),
                        operation="U",
                        commit_id=7,
                        changes=[f"name: {HOSTILE} → b"],
                    )
                ],
                values=[
                    ValueInterval(column="name", value=HOSTILE, since=JANUARY, until=FEBRUARY),
                    ValueInterval(column="name", value="b", since=FEBRUARY, until=None),
                    ValueInterval(column="size", value="7", since=JANUARY, until=None),
                ],
            )
        ],
    )


FEW = [
    entity("orders", state="failed", fresh_minutes=1440, notes=["failed 5 min ago: no file"], open_rejects=4),
    entity("customers"),
    entity("airports", state="behind", rows=28_000),
    entity(HOSTILE, notes=[HOSTILE]),
    entity("later", state="empty", last_date=None, loaded_at=None, rows=None, inserted=None,
           updated=None, deleted=None, unchanged=None, size_bytes=None, files=None, small_files=None),
]  # fmt: skip


# --- the pictures of the docs: a project without anything hostile


def example() -> Report:
    """A project as it may look on a morning."""
    names = ["orders", "customers", "airports", "airports_scd2", "prices"]
    made = report([entity(name) for name in names])
    made.entities = [
        entity("orders", state="failed", rows=1_204_518, notes=["failed 5 min ago: no file of 2026-03-05"],
               inserted=4_120, updated=12_004, deleted=17, unchanged=1_188_377, open_rejects=4),
        entity("customers", rows=88_204, inserted=120, updated=640, deleted=3, unchanged=87_441),
        entity("airports", rows=28_410, inserted=428, updated=12_180, deleted=292, unchanged=15_802),
        entity("airports_scd2", kind="scd2", state="behind", rows=71_930, notes=["airports has loaded more since"]),
        entity("prices", rows=5_120),
    ]  # fmt: skip
    made.loads = [
        load.model_copy(update={"inserted": 40 + 7 * load.commit_id, "updated": 90 + 11 * place})
        for place, name in enumerate(names)
        for load in loads(name, 12)
    ]
    changes = zip(["status", "city", "price", "lat", "lon"], [940, 610, 380, 210, 205], strict=True)
    made.columns = [ColumnRow(entity="orders", column=c, changes=n) for c, n in changes]
    made.rejects = [RejectRow(entity="orders", reason="cast", rows=4)]
    made.replicators, made.lags, made.keys = [], [], []
    return made


def differing() -> Report:
    """The same with what `tidemark report --diff` adds."""
    made = example()
    table = TableDifference(
        a="customers@2026-03-04", b="customers", equal=False, key=["id"], rows_in_a=4, rows_in_b=4,
        only_in_a=1, only_in_b=1, different=2, same=1, other_types=[], not_compared={},
        columns=[ColumnDifference(column="city", cells=2), ColumnDifference(column="name", cells=1)],
        samples=[
            Sample(kind="different", key={"id": 1}, cells=[Cell(column="city", a="Oslo", b="Bergen")]),
            Sample(kind="different", key={"id": 2}, cells=[Cell(column="name", a="Lea", b="Léa")]),
            Sample(kind="only_in_a", key={"id": 3}, cells=[Cell(column="name", a="Ivo")]),
        ],
    )  # fmt: skip
    made.differences = [Differences.of_table(table)]
    return made


@pytest.mark.parametrize(
    ("name", "view", "part"),
    [
        ("python/examples/report.png", "light", None),
        ("python/docs/assets/report-phone.png", "phone", None),
        ("python/docs/assets/diff.png", "light", "section[aria-labelledby=differences-title]"),
    ],
    ids=["report", "phone", "diff"],
)
def test_pictures(
    browser: Any,
    tmp_path: Path,
    picture: Callable[..., None],
    name: str,
    view: str,
    part: str | None,
) -> None:
    path = tmp_path / "example.html"
    path.write_text(page(differing() if part else example()), encoding="utf-8")
    with browser.new_context(offline=True, **VIEWS[view]) as context:
        shown = context.new_page()
        shown.goto(path.as_uri())
        picture(shown.locator(part) if part else shown, name)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = chromium()
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Shown:
    """A report in a browser, and what its console was told."""

    def __init__(self, browser: Any, path: Path, entities: list[EntityRow], view: str) -> None:
        path.write_text(page(report(entities)), encoding="utf-8")
        self.context = browser.new_context(offline=True, **VIEWS[view])
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append("a dialog"))
        self.page.goto(path.as_uri())

    def names(self) -> list[str]:
        return self.page.locator("#entities tbody th").all_inner_texts()

    def bars(self, chart: str) -> int:
        return self.page.locator(f"#{chart} svg {CHARTS[chart]}").count()


@pytest.fixture
def shown(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shown]:
    entities, view = getattr(request, "param", (FEW, "light"))
    shown = Shown(browser, tmp_path / "report.html", entities, view)
    yield shown
    assert shown.said == []
    shown.context.close()


@pytest.mark.parametrize("shown", [(FEW, view) for view in VIEWS], indirect=True, ids=VIEWS)
def test_whole(shown: Shown, tmp_path: Path) -> None:
    for chart in CHARTS:
        assert shown.bars(chart) > 0, chart
    assert shown.page.locator("figure .none").count() == 0
    found = Axe().run(shown.page)
    assert found.violations_count == 0, found.generate_report()
    # nothing is wider than the screen but what scrolls by itself
    width = "document.documentElement.scrollWidth <= window.innerWidth"
    assert shown.page.evaluate(width)
    shown.page.screenshot(path=tmp_path / "whole.png", full_page=True)
    ink, paper = (
        shown.page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert ink != paper


def test_filters_and_order(shown: Shown) -> None:
    # what somebody has to look at comes first; what is empty is folded
    assert shown.names() == ["orders", "airports", HOSTILE, "customers"]
    shown.page.click("#fold")
    assert shown.names()[-1] == "later" and shown.page.inner_text("#fold") == "Hide 1 empty entity"
    shown.page.click("#fold")
    assert len(shown.names()) == 4
    shown.page.fill("#filter", "no file")
    assert shown.names() == ["orders"]
    assert shown.page.inner_text("#shown") == "1 of 5 entities"
    shown.page.fill("#filter", "")
    shown.page.select_option("#state", "behind")
    assert shown.names() == ["airports"]
    # nothing is folded where somebody asks for it
    shown.page.select_option("#state", "empty")
    assert shown.names() == ["later"] and shown.page.locator("#fold").is_hidden()
    shown.page.select_option("#state", "")
    # by keyboard, up and down; the focus stays where it was
    shown.page.focus("th button:text-is('rows')")
    shown.page.keyboard.press("Enter")
    assert shown.page.locator("th[aria-sort=ascending]").inner_text().startswith("rows")
    shown.page.keyboard.press("Enter")
    assert shown.page.locator("th[aria-sort=descending]").inner_text().startswith("rows")
    assert shown.names()[0] == "airports"


@pytest.mark.parametrize("shown", [(FEW, "phone")], indirect=True)
def test_phone__an_entity_is_a_card(shown: Shown) -> None:
    """State and what is to do are seen without scrolling, and what is touched is large enough."""
    for part in ("th", ".state", ".notes"):
        box = shown.page.locator(f"#entities tbody tr:first-child {part}").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390, part
    for touched in shown.page.locator("button:visible, select:visible, input:visible").all():
        box = touched.bounding_box()
        assert box is not None and box["height"] >= 44


def test_lineage__names_stand_beside_the_dots(shown: Shown) -> None:
    dots, names = shown.page.locator("#lineage circle"), shown.page.locator("#lineage text")
    assert dots.count() == names.count() == 4
    for dot, name in zip(dots.all(), names.all(), strict=True):
        point, text = dot.bounding_box(), name.bounding_box()
        assert point is not None and text is not None
        assert text["x"] >= point["x"] + point["width"]
    # what goes on from a name begins behind it
    ends = [box["x"] + box["width"] for name in names.all() if (box := name.bounding_box())]
    first = shown.page.locator("#lineage path").first.bounding_box()
    assert first is not None and first["x"] >= min(ends)


def test_charts_of_one_entity(shown: Shown) -> None:
    before = shown.bars("calendar")
    shown.page.select_option("#entity", "orders")
    assert 0 < shown.bars("calendar") < before
    assert shown.bars("columns") == 3
    shown.page.select_option("#entity", "later")
    assert (
        shown.page.locator("#loads .none").inner_text()
        == "The selected entities have no data for this chart."
    )
    # what is empty is low, and comes last
    empty = shown.page.locator("#loads").bounding_box()
    assert empty is not None and empty["height"] < 120
    last = shown.page.locator("figure:not(.empty)").last.bounding_box()
    assert last is not None and last["y"] < empty["y"]


def test_what_comes_with_the_data_is_text(shown: Shown) -> None:
    assert shown.page.locator("img").count() == 0
    assert HOSTILE in shown.names()
    assert HOSTILE in shown.page.locator("#keys table").inner_text()
    # a bar for each value that a column had
    assert shown.bars("key-0") == 3


MANY = [entity(f"entity_{number:03}", rows=number) for number in range(500)]


@pytest.mark.parametrize("shown", [(MANY, "light")], indirect=True)
def test_500_entities(shown: Shown) -> None:
    assert len(shown.names()) == 500
    assert "40 of 500 entities" in shown.page.locator("#calendar").inner_text()
    shown.page.fill("#filter", "entity_49")
    assert len(shown.names()) == 10
