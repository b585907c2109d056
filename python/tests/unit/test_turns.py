"""Which stories a turn has."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import turns
from tests.tenths import BOTH_WAYS, IS_INTERPRETED, TENTHS


def story(*numbers: Any, name: str = "test_x") -> Any:
    mark = pytest.mark.turn(*numbers).mark if numbers else None
    return SimpleNamespace(nodeid=name, get_closest_marker=lambda name: mark)


def config(*, is_given: bool) -> Any:
    return SimpleNamespace(getoption=lambda name: is_given)


def test_turns__tell_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    always, twice, once = story(), story(0, 2), story(3, name="test_edge")
    told = []
    for turn in range(turns.TURNS):
        monkeypatch.setenv(turns.VARIABLE, str(turn))
        gone = turns.left_out(config(is_given=True), [always, twice, once])
        told.append([one for one in (always, twice, once) if one not in gone])
    assert all(always in one for one in told)
    assert [number for number, one in enumerate(told) if twice in one] == [8, 10]
    assert [number for number, one in enumerate(told) if once in one] == [7]
    assert turns.left_out(config(is_given=False), [twice, once]) == []
    monkeypatch.setenv(turns.VARIABLE, "all")
    assert turns.left_out(config(is_given=True), [twice, once]) == []


@pytest.mark.parametrize("number", [4, "1"])
def test_turns__that_there_are_not(number: Any) -> None:
    with pytest.raises(pytest.UsageError, match="numbers below 4"):
        turns.has_turn(story(number), 0)


def test_turns__of_all_stories_are_there() -> None:
    """A mark that is wrong would end a run before its first story."""
    marks = [
        (path.name, one)
        for path in sorted((Path(__file__).parents[1] / "functional").glob("*.py"))
        for one in re.findall(r"mark\.turn\(([\d, ]*)\)", path.read_text(encoding="utf-8"))
    ]
    assert marks
    assert [one for one in marks if not re.fullmatch(r"[0-3](, [0-3])*", one[1])] == []


def test_turn__is_one_for_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(turns.VARIABLE, "2")
    turns.configure(config(is_given=True))
    assert "turn 2 of 16" in turns.recorded_turn(config(is_given=True))
    monkeypatch.delenv(turns.VARIABLE)
    turns.configure(config(is_given=True))
    assert int(turns.recorded_turn(config(is_given=True)).split()[3]) in range(turns.TURNS)


def test_tenths__have_each_module_once() -> None:
    tenths = [str(tenth) for tenth in range(TENTHS)]
    for way in (IS_INTERPRETED, BOTH_WAYS):
        assert [way.has("test_cdc", tenth) for tenth in tenths].count(True) == 1


def test_tenths__are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """No module is interpreted and by Spark SQL alone on one day."""
    for way in (IS_INTERPRETED, BOTH_WAYS):
        monkeypatch.delenv(way.variable, raising=False)
    assert IS_INTERPRETED.wanted() != BOTH_WAYS.wanted()
