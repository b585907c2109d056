"""`tidemark report` in a browser: every chart has its marks, filters work, nothing is said to the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from tests.pictures import OF_REPORT, VIEWS
from tests.reports import HOSTILE, entity, report
from tests.servers import chromium
from tidemark.report.data import EntityRow
from tidemark.report.page import page

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
FEW = [
    entity("orders", state="failed", fresh_minutes=1440, notes=["failed 5 min ago: no file"], open_rejects=4),
    entity("customers"),
    entity("airports", state="behind", rows=28_000),
    entity(HOSTILE, notes=[HOSTILE]),
    entity("later", state="empty", last_date=None, loaded_at=None, rows=None, inserted=None,
           updated=None, deleted=None, unchanged=None, size_bytes=None, files=None, small_files=None),
]  # fmt: skip


@pytest.mark.parametrize("name", OF_REPORT)
def test_pictures(browser: Any, tmp_path: Path, picture: Callable[..., None], name: str) -> None:
    of = OF_REPORT[name]
    path = tmp_path / "example.html"
    path.write_text(page(of.report), encoding="utf-8")
    with browser.new_context(offline=True, **VIEWS[of.view]) as context:
        shown = context.new_page()
        shown.goto(path.as_uri())
        picture(shown.locator(of.part) if of.part else shown, name)


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
