"""Changes that a kept feed does not keep any more are taken away."""

from __future__ import annotations

import json
from typing import Any

from tidemark.model.given import retention as checked_length
from tidemark.model.problems import raise_problems
from tidemark.operations.entity import operation_commit, report
from tidemark.operations.tables import vacuum_or_report, vacuum_tables
from tidemark.pipeline.commits import ensure_commits, record_commit
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted
from tidemark.shapes.opened import Commits, Committing


def clean_feed(
    warehouse: Warehouse, node: Values, dry_run: bool, vacuum: bool, retention: Any
) -> None:
    """Take away changes, but none that a feed which reads this one has not read yet."""
    macro, entity = warehouse.macro, node["alias"]
    length = _length(node, retention)
    relation, run = macro("_table_of", node), macro("run_config")
    commits = ensure_commits(warehouse, run)
    is_built = relation_exists(warehouse, relation)
    if length is None or not is_built:
        unset = "keeps all changes (feed_retention is not set), nothing to clean"
        report(
            warehouse, entity, unset if length is None else "was not built yet, nothing to clean"
        )
        if vacuum and is_built:
            vacuum_or_report(warehouse, entity, [relation], dry_run)
        return
    name = f"{node['schema']}.{node['alias']}"
    marks = _feed_horizons(warehouse, commits, name, length)
    horizon = macro("last_mark", marks)
    condition = _condition(warehouse, commits, relation, marks, horizon)
    count = 0
    if horizon:
        count = warehouse.run(f"select count(*) from {relation} where {condition}")[0][0]
    does = "would remove" if dry_run else "removing"
    asked = f"they can be read from commit {horizon} on"
    report(warehouse, entity, f"{does} {counted(count, 'change')}; {asked}")
    if not count or dry_run:
        if vacuum:
            vacuum_or_report(warehouse, entity, [relation], dry_run)
        return
    removed = {"retention": {"feed": length}, "removed": {entity: count}, "vacuum": vacuum}
    last = warehouse.run(macro("last_commit_id_sql", commits["states"], name))[0][0]
    feed: Committing = {
        "cfg": {"relation": name, "entity": entity},
        "run": run,
        "state": {"last_id": last},
    }
    details = json.dumps(removed)
    commit = operation_commit(warehouse, feed, "clean", source_commit_id=horizon, details=details)
    record_commit(warehouse, commits, commit, "inflight", {})
    warehouse.run(f"delete from {relation} where {condition}")
    if vacuum:
        vacuum_tables(warehouse, [relation])
    record_commit(warehouse, commits, commit, "completed", {})


def _length(node: Values, retention: Any) -> str | None:
    settings = (node["config"].get("meta") or {}).get("tidemark", {})
    errors: list[str] = []
    given = retention.get("feed", settings.get("feed_retention"))
    length = checked_length(given, "feed_retention", errors)
    raise_problems(node["alias"], errors)
    return length


def _condition(
    warehouse: Warehouse, commits: Commits, relation: Any, marks: Values, horizon: int
) -> str:
    """Return which changes go: up to the horizon, without those that came after their commit."""
    macro = warehouse.macro
    end = {"at": horizon, "marks": marks, "before": marks}
    has_entity = "_entity" in macro("names_in", relation)
    later = []
    if len(marks) > 1:
        span = {"from": horizon, "to": horizon}
        ends = {"from": end}
        later = macro("feed_stragglers", commits, list(marks), ends, span, has_entity)["late"]
    date = macro("commit_date_expr", horizon)
    condition = f"_commit_id <= {horizon} and _commit_date <= {date}"
    return condition + (f" and not ({macro('of_commits_expr', later)})" if later else "")


def _feed_horizons(warehouse: Warehouse, commits: Commits, name: str, length: str) -> Values:
    """Return the commit of each entity of a feed up to which it may be cleaned.

    That is the last that it had read so long ago, and no further than every feed that reads it has
    come.
    """
    macro, last = warehouse.macro, warehouse.macro("last_pulls", commits)
    long_ago = f"completed_at <= current_timestamp() - interval {length}"
    pulls = warehouse.rows(macro("last_pulls_sql", commits["states"], long_ago))
    marks: Values = macro("feed_marks", commits, pulls, name)
    for pull in last:
        if pull["source_relation"] == name:
            read = macro("marks_of_pull", commits, last, pull)
            marks = {entity: min(mark, read.get(entity, 0)) for entity, mark in marks.items()}
    return marks
