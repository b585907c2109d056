"""Settings are dicts where macros see them: their keys are those that shapes say, for each kind of model."""

from __future__ import annotations

import json

import pytest

from tests.setting_vectors import FILE
from tidemark.shapes.opened import Run
from tidemark.shapes.settings import Feed, Intervals, Settings, Shredded

VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
ADDED = {"target", "asked_extract", "has_deltas", "asked_engine", "is_rows"}
"""What macros and steps add to settings."""
OF_MACROS = {
    "business_date",
    "full_refresh",
    "empty",
    "invocation_id",
    "commits_schema",
    "commits_format",
}


def given(*flows: str) -> set[str]:
    """All keys of what models of these kinds are configured with."""
    models = [cfg for asked, cfg in VECTORS["models"] if asked["flow"] in flows]
    return {key for cfg in models if isinstance(cfg, dict) for key in cfg}


@pytest.mark.parametrize(
    ("shape", "flows"),
    [
        (Settings, ("extract", "events", "atomic")),
        (Shredded, ("shred",)),
        (Intervals, ("scd2",)),
        (Feed, ("feed",)),
    ],
)
def test_settings__have_the_keys_of_their_shape(shape: type, flows: tuple[str, ...]) -> None:
    assert given(*flows) == set(shape.__annotations__) - ADDED


def test_run__has_the_keys_of_its_shape() -> None:
    known = {key for _, run in VECTORS["runs"] if isinstance(run, dict) for key in run}
    assert known | OF_MACROS == set(Run.__annotations__) - {"dry_run", "left_to_spark"}
