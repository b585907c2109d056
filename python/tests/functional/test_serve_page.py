"""`tidemark serve` in a browser: one story of a page that is watched, asked and has things done."""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

from tests.servers import chromium
from tests.stored import NOW, day, logged, stand_in, state, write, write_loads
from tidemark.home import tidemark_home
from tidemark.progress import NodeProgress, ProgressWriter
from tidemark.read.project import Entity
from tidemark.run.options import RunOptions
from tidemark.serve import plans
from tidemark.serve.actions import Applying
from tidemark.serve.app import application
from tidemark.serve.cli import bound, server_of
from tidemark.serve.gate import Keys
from tidemark.serve.live import Live

pytestmark = pytest.mark.turn(1)

HOSTILE = "</script><img src=x onerror=alert(1)>"
SOURCE = """
sources:
  - name: bank
    config: {meta: {tidemark: {replicator: {connector: postgresql, connection: {host: h, database: d, user: u, password: {env: P}}}}}}
"""
VIEWS: dict[str, Any] = {
    "light": {"size": {"width": 1300, "height": 900}, "scheme": "light"},
    "dark": {"size": {"width": 1300, "height": 900}, "scheme": "dark"},
    "phone": {"size": {"width": 390, "height": 800}, "scheme": "light"},
}
DBT_LOG = """
10:00:01.0 [info ] [Thread-1 (]: 1 of 2 START sql cdc model shop.cities ........... [RUN]
10:00:01.0 [debug] [Thread-1 (]: select 'secret'
10:00:02.4 [info ] [Thread-1 (]: 1 of 2 OK created sql cdc model shop.cities ...... [OK in 1.42s]
10:00:03.0 [error] [Thread-1 (]: 2 of 2 ERROR creating sql cdc model shop.orders .. [ERROR in 0.42s]
"""


class Store:
    """What `tidemark plan` keeps."""

    def __init__(self) -> None:
        counts = SimpleNamespace(rows_inserted=3, rows_deleted=1)
        entity = SimpleNamespace(
            entity="cities", business_date=day(5), kind="load", outcome="changes", counts=counts
        )
        self.plans = [
            SimpleNamespace(
                id="p23456",
                state="open",
                made_at=NOW,
                command="tidemark plan",
                entities=[entity],
                refused_at=None,
            )
        ]

    def list_plans(self) -> list[Any]:
        return self.plans

    def discard_plan(self, id: str) -> None:
        self.plans.clear()


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A page that is served from this process."""
    project = stand_in(tmp_path, monkeypatch)
    project.entities[HOSTILE] = Entity(HOSTILE, "cdc", "shop", "other", key=(HOSTILE,))
    write_loads(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models/bank.yml").write_text(SOURCE)
    (tmp_path / "dbt.log").write_text(DBT_LOG)
    store = Store()
    monkeypatch.setattr(plans, "_store", lambda: store)
    listening = bound("127.0.0.1", 0)
    keys = Keys.made("127.0.0.1", listening.getsockname()[1], allow_actions=True)
    live = Live(project, RunOptions(dates=[], project_dir=tmp_path), 36500, tmp_path / "dbt.log")
    server = server_of(application(live, Applying(tmp_path, tidemark_home()), keys))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    yield keys.address
    server.should_exit = True
    thread.join(20)
    assert not thread.is_alive()
    listening.close()


@pytest.fixture
def page() -> Iterator[Page]:
    program = chromium()
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on(
            "dialog",
            lambda dialog: dialog.accept() if "plan" in dialog.message else said.append("a dialog"),
        )
        yield page
        assert said == []
        browser.close()


def cells(page: Page, id: str) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in page.locator(f"{id} tbody tr").all()]


def test_story(address: str, page: Page, tmp_path: Path, picture: Callable[..., None]) -> None:
    page.goto(address)
    expect(page).to_have_url(address.partition("?")[0])
    expect(page.locator("#title")).to_have_text("shop: state of its entities")
    assert page.locator("img").count() == 0
    expect(page.locator("#log-lines li")).to_have_count(3)
    assert "secret" not in page.locator("body").inner_text()

    # what is to do and what one asks stand above the charts
    parts = page.locator("main > section:visible").evaluate_all(
        "found => found.map((one) => one.getAttribute('aria-labelledby'))"
    )
    order = [
        "work-title",
        "entities-title",
        "lookup-title",
        "past-title",
        "quarantine-title",
        "changes-title",
        "log-title",
    ]
    assert [part for part in parts if part in order] == order

    # a run is at work; its load is committed
    writer = ProgressWriter(tidemark_home(), "run", "2026-03-03")
    begun = dt.datetime.now(dt.UTC)
    writer.open("5a4b", 2)
    writer.begin("a", NodeProgress("cities", "cdc", "shop.cities", "running", begun))
    expect(page.locator("#runs")).to_contain_text("run of 2026-03-03: 0 of 2 done")
    expect(page.locator("#news")).to_have_text("A run has started.")
    row = page.locator("#entities tr", has=page.locator("th", has_text=re.compile("^cities$")))
    expect(row).to_contain_text("running")
    # what is empty is folded, but not while its first load is at work
    expect(page.locator("#fold")).to_have_text("Show 2 empty entities")
    writer.begin("b", NodeProgress("cities_scd2", "scd2", "shop.cities_scd2", "running", begun))
    expect(page.locator("#fold")).to_have_text("Show 1 empty entity")
    expect(page.locator("#entities")).to_contain_text("cities_scd2")
    page.focus("#by-rows")
    write(tmp_path, "cities", [{"id": 4}], "append")
    write(tmp_path, "cities__log", [logged(4, HOSTILE, "I", 3, _commit_id=4)], "append")
    writer.end("a", "success")
    write(
        tmp_path,
        "tidemark_commits__log",
        [state(4, "completed", 4, business_date=day(3), rows_inserted=1)],
        "append",
    )
    expect(page.locator("#news")).to_have_text("cities: loaded.")
    expect(row).to_contain_text("2026-03-03")
    assert page.evaluate("document.activeElement.id") == "by-rows"

    # the versions of a row, by keyboard
    page.select_option("#lookup-entity", HOSTILE)
    expect(page.locator("#lookup-keys")).to_have_text(HOSTILE)
    page.select_option("#lookup-entity", "cities")
    page.focus("#lookup-key-0")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect(page.locator("#lookup-said")).to_have_text("2 versions")
    assert [line[-1] for line in cells(page, "#keys")] == ["", "name: 'Aa' → 'A2'"]
    assert cells(page, "#key-rows")[1] == ["2026-03-02", "update", "1", "A2", "1.5"]
    page.fill("#lookup-key-0", "9")
    page.keyboard.press("Enter")
    expect(page.locator("#lookup-said")).to_have_text("cities never had a row with this key")
    page.fill("#lookup-key-0", "4")
    page.keyboard.press("Enter")
    expect(page.locator("#key-rows")).to_contain_text(HOSTILE)

    # as it stood
    page.select_option("#past-entity", "cities")
    page.click("#past-form button[type=submit]")
    expect(page.locator("#past-said")).to_have_text("1 to 3 of 3 rows")
    page.select_option("#past-by", "commit")
    expect(page.locator("#past-commits option")).to_have_count(3)
    page.fill("#past-commit", "2")
    page.keyboard.press("Enter")
    expect(page.locator("#past-rows")).to_contain_text("A wrong one")
    page.select_option("#past-by", "date")
    page.fill("#past-date", "2026-03-01")
    page.keyboard.press("Enter")
    expect(page.locator("#past-rows caption")).to_have_text("cities as of 2026-03-01")
    assert [line[1] for line in cells(page, "#past-rows")] == ["Aa", "it's"]
    page.select_option("#quarantine-entity", "cities")
    page.click("#quarantine-form button[type=submit]")
    expect(page.locator("#quarantine-rows")).to_contain_text("x,y")

    # what is done
    page.click("#pause-bank")
    expect(page.locator("#replicator-list")).to_contain_text("bank: not running, paused")
    expect(page.locator("#plan-list")).to_contain_text(
        "cities: 2026-03-05; load; 3 inserted, 1 deleted"
    )
    page.fill("#filter", "cities")  # a picture of the page without what is hostile
    page.evaluate("window.scrollTo(0, 0)")
    picture(page, "python/docs/assets/serve.png")
    page.fill("#filter", "")
    page.click("#discard-p23456")
    expect(page.locator("#plans")).to_be_hidden()

    for name, view in VIEWS.items():
        page.set_viewport_size(view["size"])
        page.emulate_media(color_scheme=view["scheme"])
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        # nothing is wider than the screen but what scrolls by itself
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
    writer.close()
    expect(page.locator("#runs")).to_have_text("No run is in progress.")
