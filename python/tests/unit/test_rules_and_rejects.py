"""A load that too many rejects stop, and rules too, says both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidemark.errors import DataError
from tidemark.pipeline import checking


def test_check_load__says_what_rules_stop_beside_the_rejects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stops = "orders: 3 of 4 rows are rejects, and at most 50% may be"
    monkeypatch.setattr(checking, "why_rejects_stop", lambda *_: stops)
    monkeypatch.setattr(checking, "note_broken", lambda *_: None)
    rule = {"name": "positive", "check": "n > 0", "on_fail": "quarantine", "at_most": 0.1}
    opened: Any = {"cfg": {"entity": "orders", "rules": [rule]}, "run": {}}
    staged: Any = {"figures": {"rows_read": 4, "rows_rejected": 3}, "broken": {"positive": 2}}
    with pytest.raises(DataError) as raised:
        checking.check_load(SimpleNamespace(), opened, staged)  # type: ignore[arg-type]
    said = str(raised.value)
    assert said.startswith(f"{stops}\nBesides, rows fail rules of the YAML") and "positive" in said
    staged["broken"] = {}
    with pytest.raises(DataError) as raised:
        checking.check_load(SimpleNamespace(), opened, staged)  # type: ignore[arg-type]
    assert str(raised.value) == stops
