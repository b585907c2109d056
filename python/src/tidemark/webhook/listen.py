"""A run of dbt, followed by its events: the summary is sent when it has ended."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal

from tidemark.failures import one_line
from tidemark.webhook.send import NotSentError, Webhook, send
from tidemark.webhook.summary import BrokenRule, EntityRun, OtherProblem, RunSummary

COMMANDS = ("run", "build", "retry")
_COMMIT = "tidemark commit "
_RULES = "tidemark rules "
_COUNTS = ("read", "inserted", "updated", "deleted", "unchanged", "rejected")
_STATES: dict[str, Literal["loaded", "failed", "skipped"]] = {
    "success": "loaded",
    "error": "failed",
    "skipped": "skipped",
}
_PROBLEMS: dict[str, Literal["failed", "warned", "skipped"]] = {
    "error": "failed",
    "fail": "failed",
    "runtime error": "failed",
    "warn": "warned",
    "skipped": "skipped",
}


class Listener:
    """Takes dbt's events, one at a time or from several threads.

    Args:
        webhook: Where the summary goes to.
        command: dbt's command.
        project: Its name.
        target: Its target.
        business_date: As it was given to the run.
        kinds: The materializations of entities.
        warn: Is told in a line why the summary did not arrive.
    """

    def __init__(
        self,
        webhook: Webhook,
        command: str,
        project: str,
        target: str,
        business_date: object,
        kinds: set[str],
        warn: Callable[[str], None],
    ) -> None:
        self._webhook = webhook
        self._command = command
        self._project = project
        self._target = target
        self._date = _date(business_date)
        self._kinds = kinds
        self._warn = warn
        self._started = dt.datetime.now(dt.UTC)
        self._lock = threading.Lock()
        self._counts: dict[str, dict[str, int]] = {}
        self._rules: dict[str, dict[str, BrokenRule]] = {}
        self._finished: list[Any] = []
        self._ended = False

    def __call__(self, event: Any) -> None:
        """Take an event."""
        name, message = event.info.name, event.info.msg
        if message and message.startswith(_COMMIT):
            with self._lock:
                self._count(json.loads(message[len(_COMMIT) :]))
        elif message and message.startswith(_RULES):
            with self._lock:
                self._take_rules(json.loads(message[len(_RULES) :]))
        elif name == "NodeFinished":
            with self._lock:
                self._finished.append(event)
        elif name == "CommandCompleted" and not self._ended:
            # dbt goes on telling, of this warning too
            self._ended = True
            self._send(event)

    def _count(self, commit: Mapping[str, Any]) -> None:
        known = self._counts.setdefault(_plain(commit["relation"]), {})
        for name in _COUNTS:
            number = commit["counts"].get(f"rows_{name}")
            if number is not None:
                known[name] = known.get(name, 0) + int(number)

    def _take_rules(self, event: Mapping[str, Any]) -> None:
        known = self._rules.setdefault(_plain(event["relation"]), {})
        for one in map(BrokenRule.model_validate, event["rules"]):
            before = known[one.name].rows if one.name in known else 0
            known[one.name] = one.model_copy(update={"rows": before + one.rows})

    def _send(self, event: Any) -> None:
        try:
            send(self._webhook, self.summary(event))
        except NotSentError as error:
            self._warn(f"the summary of this run did not reach TIDEMARK_WEBHOOK_URL: {error}")

    def summary(self, ended: Any) -> RunSummary:
        """Return what the run did.

        Args:
            ended: The event that says so.
        """
        entities, problems = [], []
        for event in self._finished:
            node, result = event.data.node_info, event.data.run_result
            if node.resource_type == "model" and node.materialized in self._kinds:
                entities.append(self._entity(node, result))
            elif result.status in _PROBLEMS:
                problems.append(
                    OtherProblem(
                        name=node.node_name,
                        resource_type=node.resource_type,
                        state=_PROBLEMS[result.status],
                        message=_message_of(node, result),
                    )
                )
        return RunSummary(
            invocation_id=ended.info.invocation_id,
            success=bool(ended.data.success),
            started_at=self._started,
            ended_at=dt.datetime.now(dt.UTC),
            business_date=self._date,
            entities=sorted(entities, key=lambda one: one.entity),
            problems=sorted(problems, key=lambda one: one.name),
            command=self._command,
            project=self._project,
            target=self._target,
        )

    def _entity(self, node: Any, result: Any) -> EntityRun:
        relation = f"{node.node_relation.schema}.{node.node_relation.alias}"
        counts = self._counts.get(relation, {})
        return EntityRun(
            entity=node.node_name,
            kind=node.materialized,
            relation=relation,
            state=_STATES.get(result.status, "failed"),
            business_date=self._date,
            seconds=round(float(result.execution_time or 0.0), 3),
            message=_message_of(node, result),
            rules=list(self._rules.get(relation, {}).values()),
            **{name: counts.get(name) for name in _COUNTS},
        )


def _plain(relation: object) -> str:
    return str(relation).replace("`", "")


def _message_of(node: Any, result: Any) -> str | None:
    if result.status in ("success", "skipped"):
        return None
    if result.status in ("fail", "warn") and node.resource_type == "test":
        # such as: Got 2 results, configured to fail if != 0
        return str(result.message).strip().partition("\n")[0][:200] or None
    return one_line(str(result.message or ""))


def _date(value: object) -> dt.date | None:
    try:
        return dt.date.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
