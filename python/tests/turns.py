"""Which stories `make test` tells now: of sixteen turns it takes one, and all that has no turn.

    @pytest.mark.turn(0, 2)
    def test_erase_key__nothing_left(…): …

The numbers of a mark are below four. A story of turn 3 is told in turn 3, 7, 11 or 15, as its name has it.

A story has turns where another one that is always told holds its core, or where it is an edge of it; stories that hold
the same from two sides have turns that are not the same. Each commit has the turn after that of the one before, so that
sixteen of them have told all. `TIDEMARK_TEST_TURN` names it (0 to 15, or `all`). Without `--turns` all is told.
"""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import zlib
from pathlib import Path

import pytest

OPTION = "--turns"
VARIABLE = "TIDEMARK_TEST_TURN"
MARKS = 4
PARTS = 4
TURNS = PARTS * MARKS


def options(parser: pytest.Parser) -> None:
    """Add `--turns`."""
    parser.addoption(OPTION, action="store_true", help="leave out stories that have another turn")


def configure(config: pytest.Config) -> None:
    """Have all workers of a run take the same turn, also where the next commit or day comes meanwhile."""
    if config.getoption(OPTION):
        os.environ.setdefault(VARIABLE, _turn_of_commit())


def recorded_turn(config: pytest.Config) -> str:
    """Return what the head of a run says."""
    if not config.getoption(OPTION):
        return "stories of all turns are told"
    return f"stories of turn {os.environ[VARIABLE]} of {TURNS} are told ({VARIABLE})"


def left_out(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that have another turn."""
    turn = os.environ.get(VARIABLE, "all")
    if not config.getoption(OPTION) or turn == "all":
        return []
    return [item for item in items if not has_turn(item, int(turn))]


def has_turn(item: pytest.Item, turn: int) -> bool:
    """Say whether a test is told in a turn: the mark that stands closest to it counts."""
    mark = item.get_closest_marker("turn")
    if mark is None:
        return True
    if not mark.args or not set(mark.args) <= {*range(MARKS)}:
        raise pytest.UsageError(f"{item.nodeid}: turn() takes numbers below {MARKS}")
    part, number = divmod(turn, MARKS)
    return number in mark.args and zlib.crc32(item.nodeid.encode()) % PARTS == part


def _turn_of_commit() -> str:
    """The number of commits so far, a merge being one, or the day, where there is no repository."""
    command = ["git", "rev-list", "--count", "--first-parent", "HEAD"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return str(dt.date.today().toordinal() % TURNS)
    return str(int(done.stdout) % TURNS)
