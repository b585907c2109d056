"""Questions as people type them, asked of the search of the documentation's site in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from docsite.__main__ import build
from tests.servers import chromium

ANSWERS = {
    "how do I add a column": "how-to/change-columns",
    "how do I change the key": "how-to/change-columns",
    "how do I undo a load": "how-to/recipes",
    "do I need a cluster": "how-to/cluster",
    "can I use it with iceberg": "how-to/formats",
    "is there a change feed": "reference/columns",
    "what if a file comes twice": "how-to/extracts",
    "how do I see old values of a row": "how-to/console",
    "what happens when a run is killed?": "explanation/crash-safety",
    "how do I set the time zone": "explanation/time",
    "what does it cost": "explanation/cost",
}
"""Questions → a page of the first three that are found."""


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    site = build(tmp_path_factory.mktemp("docs")).parent
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"file://{site}/index.html")
        yield page
        browser.close()


@pytest.mark.turn(0, 1, 2, 3)
@pytest.mark.parametrize(("question", "answer"), ANSWERS.items())
def test_question(search: Any, question: str, answer: str) -> None:
    """Small words are no part of what is looked for."""
    typed = search.locator("input.md-search__input")
    typed.fill("")
    typed.click()
    search.keyboard.type(question)
    search.wait_for_function("document.querySelectorAll('.md-search-result__item').length > 0")
    # the last letter has been asked, too
    search.wait_for_timeout(500)
    links = search.locator(".md-search-result__item > a").all()[:3]
    found = [Path(str(link.get_attribute("href")).partition("?")[0]).as_posix() for link in links]
    assert any(one.endswith(f"{answer}.html") for one in found), found
