"""The unit tests that are run: each with its model, its name in the run and its folder."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.model.settings.unit_tests import UnitTest
from tidemark.model.unit_tests import unit_tests_of


@dataclass(frozen=True)
class Case:
    """A unit test of a model.

    Attributes:
        node: The model, of dbt's manifest.
        test: The test.
        number: Its number in the run.
        folder: Where its files lie.
    """

    node: Any
    test: UnitTest
    number: int
    folder: Path

    @property
    def alone(self) -> str:
        """What the model and its schema are called while the test runs."""
        return f"unit_{self.number:04}"

    @property
    def name(self) -> str:
        """Model and test, as people read it."""
        return f"{self.node.name}.{self.test.name}"

    @property
    def settings(self) -> dict[str, Any]:
        """The model's settings, with those of the test."""
        own = (self.node.config.meta or {}).get("tidemark") or {}
        return {**own, **self.test.settings}

    @property
    def has_events(self) -> bool:
        """Whether files are loaded as they land, not by their dates."""
        is_atomic = self.node.config.materialized == "atomic"
        return is_atomic or self.settings.get("extract") == "events"


def cases_of(nodes: Iterable[Any], folder: Path, chosen: str | None) -> list[Case]:
    """Return the unit tests of models.

    Args:
        nodes: The models, of dbt's manifest.
        folder: Below which each test has a folder.
        chosen: Only the tests of that name.

    Raises:
        ConfigError: Tests are not as they are to be; all that is wrong is told at once.
    """
    cases: list[Case] = []
    problems = []
    for node in sorted(nodes, key=lambda one: str(one.name)):
        try:
            tests = unit_tests_of(node.to_dict(omit_none=False))
        except ConfigError as error:
            problems.append(str(error))
            continue
        bare = without_tests(node)
        for test in tests:
            if chosen is None or test.name == chosen:
                cases.append(Case(bare, test, len(cases) + 1, folder / f"{len(cases) + 1:04}"))
    if problems:
        raise ConfigError("\n".join(problems))
    return cases


def without_tests(node: Any) -> Any:
    """Return a copy of a model without its tests, which dbt would copy into each event of its log.

    Args:
        node: The model, of dbt's manifest.
    """
    bare = copy.copy(node)
    bare.config = copy.copy(node.config)
    bare.config.meta, bare.meta = _bare(node.config.meta), _bare(node.meta)
    bare.unrendered_config = {**node.unrendered_config}
    if "meta" in bare.unrendered_config:
        bare.unrendered_config["meta"] = _bare(bare.unrendered_config["meta"])
    return bare


def _bare(meta: Any) -> Any:
    own = meta.get("tidemark") if isinstance(meta, dict) else None
    if not isinstance(own, dict):
        return meta
    return {**meta, "tidemark": {name: own[name] for name in own if name != "unit_tests"}}
