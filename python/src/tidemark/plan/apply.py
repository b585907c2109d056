"""Applying a plan: it is loaded as it was planned, or refused as something moved since."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidemark.errors import ConfigError
from tidemark.plan.inputs import moved_inputs
from tidemark.plan.model import GUARDS, EntityPlan, Plan, Tables, stopping_guards
from tidemark.plan.project import model_checksum, relation_of, selector
from tidemark.plan.store import close_plan, held, write_plan
from tidemark.run.invoke import Invoker, Outcome
from tidemark.run.options import RunOptions

# the var by which a load stops before it writes what was not planned
_PLANNED = "tidemark__planned"
# how the run-operation planned_state marks its lines
_STATE = "tidemark planned "
_COMPARED = (
    "rows_read",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "rows_unchanged",
    "rows_rejected",
)


class PlanMovedError(ConfigError):
    """Something is not as it was when the plan was made."""


@dataclass(frozen=True)
class Applied:
    """What applying a plan did.

    Attributes:
        plan: As it is by now: applied, or still open where a load failed.
        outcome: Of the run.
        differences: What the loads did otherwise than planned, a sentence each.
    """

    plan: Plan
    outcome: Outcome
    differences: list[str]


def apply_plan(
    id: str,
    invoker_of: Callable[[RunOptions], Invoker],
    *,
    allowed: Collection[str],
    progress: Callable[[str], None],
) -> Applied:
    """Load what was planned.

    Args:
        id: Of the plan.
        invoker_of: Makes an Invoker with the project parsed.
        allowed: The options by which a guard lets pass what it would stop: see `GUARDS`.
        progress: Told of each model.

    Raises:
        ConfigError: The plan is not open, its loads would stop, or something moved since it was
            made. Nothing was loaded.
    """
    with held(id) as plan:
        check_plan(plan, allowed)
        invoker = invoker_of(run_options(plan, allowed))
        nodes = {
            relation_of(node): node
            for node in invoker.manifest.nodes.values()
            if node.resource_type == "model"
        }
        try:
            check_unmoved(plan, nodes, invoker)
        except PlanMovedError:
            write_plan(plan.model_copy(update={"refused_at": dt.datetime.now(dt.UTC)}))
            raise
        chosen = [selector(nodes[one.relation]) for one in plan.entities]
        options = run_options(plan, allowed, chosen)
        options = replace(options, vars={**options.vars, _PLANNED: planned_counts(plan)})
        invoker.options = options
        outcome = invoker.run_date(
            options.dates[0] if options.dates else None,
            full_refresh=options.full_refresh,
            progress=progress,
        )
        if not outcome.success:
            return Applied(plan, outcome, [])
        counts = {result.relation: result.counts for result in outcome.results}
        differences = [
            line
            for one in plan.entities
            for line in other_counts(one, counts.get(one.relation, {}))
        ]
        return Applied(close_plan(plan, "applied"), outcome, differences)


def check_plan(plan: Plan, allowed: Collection[str]) -> None:
    """Refuse a plan that cannot be applied, whatever the tables are like.

    Raises:
        ConfigError: Why.
    """
    problems = [f"{one.model}: {one.why}" for one in plan.not_planned if one.failed]
    if problems:
        raise ConfigError(
            (f"plan {plan.id} is incomplete, as a model failed while the plan was made. Plan again")
            + _listed(problems)
        )
    if not plan.entities:
        raise ConfigError(f"plan {plan.id} has nothing to apply. Make another plan")
    for one in plan.entities:
        if one.batch is not None and one.batch.not_planned:
            problems.append(
                f"{one.entity}: a DDL event in the batch changes the columns, and later events "
                "are not planned. Load the entity with `tidemark run`"
            )
        elif one.outcome == "stops":
            guards = stopping_guards(one)
            if guards and set(guards) <= set(allowed):
                continue
            advice = f": apply {plan.id} {' '.join(guards)} lets it through" if guards else ""
            problems.append(f"{one.entity}: the load would stop: {one.stops}{advice}")
    if problems:
        raise ConfigError(f"plan {plan.id} cannot be applied{_listed(problems)}")


def check_unmoved(plan: Plan, nodes: dict[str, Any], invoker: Invoker) -> None:
    """Refuse a plan whose models, tables or inputs are not as they were.

    Raises:
        PlanMovedError: What moved.
    """
    moved = moved_models(plan.entities, nodes)
    if not moved:
        asked = {
            "entities": [one.relation for one in plan.entities],
            "full_refresh": plan.options.full_refresh,
        }
        now = {
            str(state.pop("entity")): Tables.model_validate(state)
            for state in invoker.ask("planned_state", asked, _STATE)
        }
        moved = [line for one in plan.entities for line in moved_tables(one, now[one.relation])]
    if not moved:
        from tidemark.spark.session import current_session

        session = current_session()
        if session is None:
            raise ConfigError(
                "apply needs Spark in its own process. Write `method: session` in the profile"
            )
        for one in plan.entities:
            moved += [f"{one.entity}: {line}" for line in moved_inputs(one.inputs, session)]
    if moved:
        raise PlanMovedError(
            f"plan {plan.id} is out of date, and nothing was loaded. Plan again" + _listed(moved)
        )


def moved_models(entities: Iterable[EntityPlan], nodes: dict[str, Any]) -> list[str]:
    """Return which models are other ones than those that were planned, a sentence each."""
    moved = []
    for one in entities:
        if one.relation not in nodes:
            moved.append(f"{one.entity}: the project has no such model any more")
        elif model_checksum(nodes[one.relation]) != one.model_checksum:
            moved.append(f"{one.entity}: its SQL or its configuration is another one")
    return moved


def moved_tables(one: EntityPlan, now: Tables) -> list[str]:
    """Return which tables of an entity are not as they were, a sentence each."""
    then = one.tables
    if now.last_commit_id != then.last_commit_id:
        return [
            f"{one.entity}: its last commit is {now.last_commit_id or 'none'}, and was "
            f"{then.last_commit_id or 'none'}"
        ]
    versions = (
        ("log", now.log_version, then.log_version),
        ("current", now.current_version, then.current_version),
    )
    return [
        f"{one.entity}: {table} has version {version}, and had {before}"
        for table, version, before in versions
        if version != before
    ]


def planned_counts(plan: Plan) -> dict[str, dict[str, int]]:
    """Return the counts that each load has to come to, by the entity's relation."""
    return {
        one.relation: {name: getattr(one.counts, name) for name in _COMPARED}
        for one in plan.entities
    }


def other_counts(one: EntityPlan, counts: dict[str, int | None]) -> list[str]:
    """Return what a load counted otherwise than planned, a sentence each.

    Args:
        one: What was planned.
        counts: What tidemark_commits has of the load; empty where there was nothing to load.
    """
    planned = one.counts.model_dump()
    return [
        f"{one.entity}: {name} is {counts.get(name) or 0:,}, planned were {planned[name]:,}"
        for name in _COMPARED
        if (counts.get(name) or 0) != planned[name]
    ]


def run_options(
    plan: Plan, allowed: Collection[str] = (), select: Iterable[str] = ()
) -> RunOptions:
    """Return the options that a plan is loaded with.

    Where none was given, the business date is that of the day on which the plan was made, which is
    that of change events.
    """
    asked = plan.options
    dates = {one.business_date for one in plan.entities if one.business_date is not None}
    date = asked.business_date or (min(dates) if len(dates) == 1 else None)
    return RunOptions(
        dates=[] if date is None else [date],
        select=list(select),
        vars={**asked.vars, **{GUARDS[option]: True for option in allowed}},
        project_dir=Path(asked.project_dir),
        profiles_dir=Path(asked.profiles_dir) if asked.profiles_dir else None,
        target=asked.target,
        threads=asked.threads,
        full_refresh=asked.full_refresh,
    )


def _listed(lines: Iterable[str]) -> str:
    return "".join(f"\n  - {line}" for line in lines)
