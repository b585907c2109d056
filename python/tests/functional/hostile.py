"""Inputs that somebody would think up to break a load, and what each must end as."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .entities import Entity
from .event_entities import EventEntity

DAY = "2026-01-01"
# what a person should not read: exceptions, Spark's conditions, names that only our SQL has
INTERNAL = re.compile(
    r"\b(org\.apache|io\.delta|java\.|scala\.)|Exception\b|Traceback|Py4J|SQLSTATE|\b[A-Z]+(_[A-Z]+)+\]"
    r"|_tidemark_arrived|numbered_rows|typed_rows|judged_rows|labelled_rows|__run_"
)


@dataclass(frozen=True)
class Case:
    """An entity, the files of its first load, and what becomes of it.

    Attributes:
        name: The entity's name.
        files: Path below the entity's folder to bytes.
        rows: The rows of current, None where the load is refused.
        says: What the one line says by which it is refused.
        rejects: The reasons of rows that went to quarantine.
        columns: Name to declared type.
        shown: What is read of current; the columns if empty.
        settings: Settings, those under meta.tidemark.
    """

    name: str
    files: Mapping[str, bytes]
    rows: Sequence[tuple[Any, ...]] | None = None
    says: str | None = None
    rejects: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    key: str | list[str] | None = "k"
    shown: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


def add(project: Any, case: Case, engine: str | None = None) -> Entity:
    """Write the model and the files of a case, for one engine if it says which; what loads it."""
    name = f"{case.name}_{engine}" if engine else case.name
    folder = Path(project.root) / "extracts" / name
    settings = {"on_reject": "quarantine", **case.settings}
    if "location" in settings:
        settings["location"] = f"{folder}/{settings['location']}"
    kind: Any = EventEntity if settings.get("extract") == "events" else Entity
    if engine:
        settings["engine"] = engine
    entity: Entity = kind(project, name, dict(case.columns), case.key, **settings)
    for path, data in case.files.items():
        (entity.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (entity.folder / path).write_bytes(data)
    return entity


def check(case: Case, entity: Entity, result: Any) -> None:
    """Compare what a run has made of an entity with what the case says."""
    message = result.messages[entity.name]
    if case.rows is None:
        assert case.says is not None
        assert result.statuses[entity.name] == "error", entity.rows("*")
        assert case.says in message
        told = [line for line in message.splitlines()[1:] if line.strip()]
        assert len(told) <= 3, message
        assert not INTERNAL.search(message), message
        assert not entity.exists() and not entity.exists("__log")
        return
    assert result.statuses[entity.name] == "success", message
    shown = case.shown or columns_of(list(case.columns))
    found = entity.rows(shown)
    wanted = sorted(
        map(tuple, case.rows), key=lambda row: tuple((v is not None, str(v)) for v in row)
    )
    assert found == wanted, f"{found} is not {wanted}"[:1000]
    reasons = [row[0] for row in entity.rows("_reject_reason", "__rejects")]
    assert reasons == sorted(case.rejects), reasons


def columns_of(names: Sequence[str]) -> str:
    """Names as a list of columns in SQL."""
    return ", ".join(f"`{name.replace('`', '``')}`" for name in names)
