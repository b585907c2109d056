"""The pictures in the docs show the pages as they are today; no browser is needed to tell."""

from __future__ import annotations

import re

import pytest

from tests.macros import ROOT
from tests.pages import ALL
from tests.pictures import COMMAND, NAMES, OF_SERVE, digest, made_of, recorded


@pytest.mark.parametrize("name", NAMES)
def test_picture__is_of_the_page_as_it_is(name: str) -> None:
    known = recorded()[name]
    assert known["made_of"] == made_of(name), (
        f"{name} shows a page that has changed since. Run `{COMMAND}`, and look at the picture"
    )
    assert known["picture"] == digest(name), (
        f"{name} is not the picture that python/tests/pictures.json knows. Run `{COMMAND}`"
    )


def test_record__has_each_picture_of_the_docs() -> None:
    assert set(recorded()) == set(NAMES)
    shown = {
        str((ROOT / page).parent.joinpath(link).resolve().relative_to(ROOT))
        for page, text in ALL.items()
        for link in re.findall(r"!\[[^\]]*\]\(([^)#]+\.png)\)", text)
    }
    assert shown == set(NAMES)


def test_made_of__follows_scripts_and_data(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made_of(OF_SERVE)
    made_of.cache_clear()
    monkeypatch.setattr("tests.stored.REJECTS", [])
    assert made_of(OF_SERVE) != before
    monkeypatch.undo()
    made_of.cache_clear()
    assert made_of(OF_SERVE) == before
