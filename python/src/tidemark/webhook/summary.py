"""What a webhook gets, as models: their JSON Schema is what `tidemark schema --webhook` prints.

No value of a row is in it: counts, names, dates, and the line of an error's message without values.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tidemark.printable import counted


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BrokenRule(_Model):
    """A rule that rows of a load fail."""

    name: str
    rows: int
    on_fail: Literal["warn", "quarantine", "fail"] = Field(
        description="What Tidemark does with such a row; with more than at_most the load stops"
    )


class EntityRun(_Model):
    """What a run did with an entity."""

    entity: str
    kind: str = Field(description="Its materialization: cdc, scd2, feed, atomic or shred")
    relation: str = Field(description="schema.table")
    state: Literal["loaded", "failed", "skipped"] = Field(
        description="skipped: something that it reads has failed"
    )
    business_date: dt.date | None = Field(description="As it was given to the run")
    read: int | None = Field(description="Rows, as those that follow; null where not counted")
    inserted: int | None
    updated: int | None
    deleted: int | None
    unchanged: int | None
    rejected: int | None
    rules: list[BrokenRule] = Field(
        default=[], description="Rules that rows fail, also in a load that stopped"
    )
    seconds: float
    message: str | None = Field(
        description="The message of a failed model: a line without a value of any row"
    )


class OtherProblem(_Model):
    """Something else that failed or warned: a test, a model that is no entity, a seed."""

    name: str
    resource_type: str = Field(description="The type of the resource in dbt: test, model, seed, …")
    state: Literal["failed", "warned", "skipped"]
    message: str | None = Field(description="A line without a value of any row")


class RunSummary(_Model):
    """A run of dbt that has ended."""

    version: Literal[1] = Field(default=1, description="The version of this form")
    invocation_id: str = Field(
        description="The identity of dbt's invocation, as in tidemark_commits"
    )
    project: str
    target: str
    command: str = Field(description="run, build or retry")
    success: bool
    started_at: dt.datetime = Field(description="UTC")
    ended_at: dt.datetime = Field(description="UTC")
    business_date: dt.date | None = Field(description="The dates as they were given to the run")
    entities: list[EntityRun]
    problems: list[OtherProblem]


def summary_schema_text() -> str:
    """Return the JSON Schema of a summary."""
    return json.dumps(RunSummary.model_json_schema(), indent=2) + "\n"


def lines_of(summary: RunSummary) -> list[str]:
    """Return a summary as lines for people: a head, and one for each entity and each problem.

    Example:
        >>> lines_of(summary)                                             # doctest: +SKIP
        ['shop (prod): run of 2026-03-04 failed after 12 s', 'orders: failed, …']
    """
    seconds = (summary.ended_at - summary.started_at).total_seconds()
    of_date = f" of {summary.business_date}" if summary.business_date else ""
    verdict = "went through" if summary.success else "FAILED"
    head = f"{summary.project} ({summary.target}): {summary.command}{of_date} {verdict}"
    return [
        f"{head} in {seconds:.0f} s",
        *(_entity_line(one) for one in summary.entities),
        *(_line(one.name, one.state, one.message) for one in summary.problems),
    ]


def _entity_line(one: EntityRun) -> str:
    rules = "".join(f"; {_rule(rule)}" for rule in one.rules)
    if one.state != "loaded":
        return _line(one.entity, one.state, one.message) + rules
    names = ("inserted", "updated", "deleted", "rejected")
    counts = [f"{number:,} {name}" for name in names if (number := getattr(one, name))]
    return f"{one.entity}: {', '.join(counts) or 'no changes'}{rules}"


def _rule(one: BrokenRule) -> str:
    verb = "fails" if one.rows == 1 else "fail"
    return f"{counted(one.rows, 'row')} {verb} rule {one.name} ({one.on_fail})"


def _line(name: str, state: str, message: str | None) -> str:
    text = (message or "").removeprefix(f"{name}: ")
    return f"{name}: {state}{f', {text}' if text else ''}"


FORMATS = ("json", "slack", "teams")


def body_of(summary: RunSummary, form: str) -> bytes:
    """Return what is sent.

    Args:
        summary: Of a run.
        form: `json` is the summary itself; `slack` and `teams` are what these take.
    """
    if form == "json":
        return summary.model_dump_json().encode()
    lines = _cut(lines_of(summary))
    return json.dumps(_slack(lines) if form == "slack" else _teams(lines)).encode()


# a message to a chat is no place for hundreds of entities
_MOST_LINES = 40


def _cut(lines: Sequence[str]) -> list[str]:
    more = len(lines) - _MOST_LINES
    return list(lines) if more <= 0 else [*lines[:_MOST_LINES], f"… and {counted(more, 'line')}"]


def _slack(lines: Sequence[str]) -> dict[str, Any]:
    text = "\n".join(lines)
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, written)
    return {"text": text}


def _teams(lines: Sequence[str]) -> dict[str, Any]:
    blocks = [
        {"type": "TextBlock", "text": line, "wrap": True, "weight": "Bolder" if not place else None}
        for place, line in enumerate(lines)
    ]
    body = [{name: value for name, value in block.items() if value} for block in blocks]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
