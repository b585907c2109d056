"""Making a plan: dbt runs the entities as a load would, and nothing of them is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tidemark import distribution_version
from tidemark.errors import ConfigError
from tidemark.plan.collect import taken
from tidemark.plan.model import EntityPlan, NotPlanned, Options, Plan, outcome_of
from tidemark.plan.project import entities_among, model_checksum, read_before, relation_of, selector
from tidemark.plan.store import new_id
from tidemark.run.invoke import Invoker
from tidemark.run.nodes import some_models
from tidemark.run.options import RunOptions

# the value of the var `plan` with which a run hands its plan to this process
_KEPT = "kept"


def make_plan(
    invoker: Invoker,
    command: str,
    samples: int,
    progress: Callable[[str], None],
) -> tuple[Plan, list[str]]:
    """Return the plan of what an Invoker's options select, and messages of what failed.

    Args:
        invoker: With the project parsed, and at most one date.
        command: What the plan says it was made with.
        samples: How many rows of each operation to show.
        progress: Told of each model.

    Raises:
        ConfigError: Nothing that can be planned is selected, none of it could be planned, or dbt
            could not run.
        KeyboardInterrupt: Ctrl-C.
    """
    options = invoker.options
    selected = [node.unique_id for node in some_models(invoker.selected())]
    entities, left_out = entities_among(invoker.manifest, selected)
    if not entities:
        raise ConfigError(
            "no selected model can be planned. Select a model with materialized: cdc"
            + "".join(f"\n  - {one.model}: {one.why}" for one in left_out)
        )
    date = options.dates[0] if options.dates else None
    taken()  # what an interrupted plan left in this process
    invoker.options = replace(
        options,
        select=[selector(node) for node in entities],
        exclude=[],
        vars={**options.vars, "plan": _KEPT, "tidemark__sample_rows": samples},
    )
    try:
        outcome = invoker.run_date(date, full_refresh=options.full_refresh, progress=progress)
    finally:
        invoker.options = options
    if outcome.interrupted:
        raise KeyboardInterrupt
    if not outcome.started:
        raise ConfigError("\n".join(outcome.errors) or "dbt could not run (see its log)")
    planned, failed = _by_model(invoker.manifest, entities, taken(), outcome.failures)
    if not planned and any(one.failed for one in failed):
        raise ConfigError(
            "nothing could be planned. Correct these errors:\n" + "\n".join(outcome.errors)
        )
    plan = Plan(
        id=new_id(),
        made_at=dt.datetime.now(dt.UTC),
        command=command,
        tidemark=distribution_version(),
        outcome=outcome_of([one.outcome for one in planned]),
        options=_kept_options(options, date),
        entities=planned,
        not_planned=[*left_out, *failed],
    )
    return plan, outcome.errors


def _by_model(
    manifest: Any, nodes: list[Any], found: list[EntityPlan], failures: dict[str, str]
) -> tuple[list[EntityPlan], list[NotPlanned]]:
    """Return the plans that hold, in the order of their names, and what has none."""
    known = {one.relation: one for one in found}
    changing = {
        node.unique_id: str(node.name)
        for node in nodes
        if (one := known.get(relation_of(node))) is not None and one.outcome != "nothing"
    }
    planned, without = [], []
    for node in sorted(nodes, key=lambda node: str(node.name)):
        parent, found_plan = read_before(manifest, node, changing), known.get(relation_of(node))
        if found_plan is None:
            why = failures.get(node.name, "it was not run")
            without.append(NotPlanned(model=node.name, why=why, failed=True))
        elif parent is not None:
            why = f"it reads {parent}, which this plan changes: plan it once that is applied"
            without.append(NotPlanned(model=node.name, why=why))
        else:
            # a model's table may have another name
            known_of_model = {"entity": node.name, "model_checksum": model_checksum(node)}
            planned.append(found_plan.model_copy(update=known_of_model))
    return planned, without


def _kept_options(options: RunOptions, date: dt.date | None) -> Options:
    return Options(
        business_date=date,
        vars=options.vars,
        select=options.select,
        exclude=options.exclude,
        project_dir=str(options.project_dir),
        profiles_dir=str(options.profiles_dir.absolute()) if options.profiles_dir else None,
        target=options.target,
        threads=options.threads,
        full_refresh=options.full_refresh,
    )
