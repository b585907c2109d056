"""A feed that is kept as a table: a run appends what was committed since the last one."""

from __future__ import annotations

import json
import re
from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.pipeline.commits import ensure_commits, record_commit
from tidemark.pipeline.growing import add_missing_columns, drop_other_format
from tidemark.pipeline.tables import drop_table, has_rows, relation_exists
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.names import names_of, unique
from tidemark.shapes.derived import FeedRead, FeedState, OpenedFeed, Pull, Unrecorded
from tidemark.shapes.opened import Commit, Commits, Run
from tidemark.shapes.settings import Feed

_PULL = re.compile(r"/\* tidemark pull ([^ ]+) \(([0-9]+), ([0-9]+)\](?: (\{.*?\}))? \*/")
"""The mark that the feed macros leave in a body: source, from, to, and what else is known."""


def open_feed(warehouse: Warehouse, cfg: Feed, run: Run, relation: Any, body: str) -> OpenedFeed:
    """Return what is to be done of a feed, once its table is as the body needs it.

    Rows after the watermark that a dead run left are taken away, so that nothing is there twice. A
    table that a dead run made is made again: it says which commit that run was to end with.

    Args:
        warehouse: Where it is.
        cfg: The settings.
        run: The dict of `run_config()`.
        relation: The table.
        body: The compiled SQL of the model.

    Raises:
        ConfigError: The body is not that of a feed.
        DataError: Another run has come in between.
    """
    commits = ensure_commits(warehouse, run)
    state = _state(warehouse, cfg, run, relation, commits, body)
    macro, columns = warehouse.macro, state["columns"]
    if state["build"]:
        drop_other_format(warehouse, relation, cfg["file_format"])
        if state["exists"] and not cfg["location_root"]:
            drop_table(warehouse, relation)
        warehouse.run(f"create schema if not exists {relation.include(identifier=False)}")
        wanted, options = macro("feed_columns", cfg, columns), _options(cfg, state)
        warehouse.run_all(
            warehouse.of_format(cfg["file_format"], "create_table", relation, wanted, options)
        )
    elif not run["empty"]:
        wanted = macro("feed_columns", cfg, columns)
        add_missing_columns(warehouse, cfg["model"], relation, wanted, open_structs=True)
        if state["unrecorded"]:
            warehouse.run(f"delete from {relation} where {state['others']}")
    sql = macro("append_to_feed", cfg, relation, state, body) if state["is_news"] else None
    return {**state, "commits": commits, "sql": sql}


def _state(
    warehouse: Warehouse, cfg: Feed, run: Run, relation: Any, commits: Commits, body: str
) -> FeedState:
    macro, pulls = warehouse.macro, _pulls_of(body)
    if not pulls:
        raise ConfigError(
            f"{cfg['model']}: the body does not read a change feed. Write a SELECT over "
            "tidemark.change_feed(ref('…')), net_changes or changes_between, without from and "
            "to"
        )
    columns = macro("describe_query", body)
    _check_names(cfg, names_of(columns), len(pulls) > 1)
    _check_pulls(cfg, pulls)
    exists = relation_exists(warehouse, relation)
    news = [pull for pull in pulls if pull["to"] > pull["from"] or pull["late"]]
    # A table made before anything was loaded has columns as far as they were known: it gives way to
    # one with those that came.
    is_unread = exists and news and max(pull["from"] for pull in pulls) == 0
    is_unread = is_unread and not has_rows(warehouse, relation)
    is_anew = not run["empty"] and (pulls[0]["own"]["anew"] or is_unread)
    state: FeedRead = {
        "pulls": pulls,
        "columns": columns,
        "exists": exists,
        "build": bool(not exists or is_anew),
        "is_news": len(news) > 0 and not run["empty"],
    }
    rows = unrecorded_rows(warehouse, cfg, relation, commits, state)
    if rows["unrecorded"]:
        _check_sources(warehouse, cfg, commits, pulls)
    last = warehouse.rows(macro("last_commit_id_sql", commits["states"], cfg["relation"]))[0]
    if state["is_news"] or state["build"]:
        _check_own_run(warehouse, cfg, relation, state, last["read_id"])
    return {**state, **rows, "commit_id": macro("next_commit_id", last["last_id"])}


def _check_names(cfg: Feed, names: list[str], has_several: bool) -> None:
    needed = (
        "_commit_id",
        *(("_key_hash",) if cfg["buckets"] > 1 else ()),
        *(("_entity",) if has_several else ()),
    )
    for name in needed:
        if name not in names:
            raise ConfigError(f"{cfg['model']}: the body lacks `{name}`. Select the column")
    for name in names:
        if name in ("_commit_date", "_bucket"):
            raise ConfigError(
                f"{cfg['model']}: `{name}` is a column that the feed adds itself. Remove the "
                "column from the body"
            )


def _check_own_run(
    warehouse: Warehouse, cfg: Feed, relation: Any, state: FeedRead, last_commit_id: Any
) -> None:
    """Stop if another run of this feed may have come in between since the body was compiled.

    What that has read would be read again. Asked after rows were found that nobody has recorded, so
    that they are not those of a run that just did.
    """
    own = state["pulls"][0]["own"]
    is_other = own["last"] != last_commit_id or own["exists"] != state["exists"]
    if not is_other and not state["build"]:
        is_other = warehouse.macro("is_unfinished", relation, last_commit_id)
    if is_other:
        raise DataError(warehouse.macro("other_run_message", cfg["model"]))


def _pulls_of(body: str) -> list[Pull]:
    """Return what a compiled body reads."""
    pulls: list[Pull] = []
    for source, begin, end, text in _PULL.findall(body):
        more = json.loads(text or "{}")
        pulls.append(
            {
                "source": source,
                "from": int(begin),
                "to": int(end),
                "late": more.get("late", []),
                "read": more.get("read"),
                "kept_from": more.get("kept_from"),
                "own": more.get("own"),
            }
        )
    return pulls


def _check_pulls(cfg: Feed, pulls: list[Pull]) -> None:
    """Stop at a source that the body names twice, and that got a commit between the two."""
    ends: dict[str, int] = {}
    for pull in pulls:
        source, end = pull["source"], pull["to"]
        if ends.setdefault(source, end) != end:
            raise DataError(
                f"{cfg['model']}: the body reads {source} up to commit {ends[source]} and up to "
                f"commit {end}. A load of this entity, or of one that changes_between waits "
                "for, is at work. Nothing was written. Run the model again"
            )


def unrecorded_rows(
    warehouse: Warehouse, cfg: Feed, relation: Any, commits: Commits, state: FeedRead
) -> Unrecorded:
    """Return which rows of a feed are of commits that this run reads."""
    macro, conditions, ends = warehouse.macro, [], []
    has_entity = "_entity" in names_of(state["columns"])
    sources = [pull["source"] for pull in state["pulls"]]
    has_several = len(unique(sources)) > 1
    appends = state["is_news"] and not state["build"]
    # One entity may have been one of several before, whose changes stay.
    is_one_of_old = (
        has_entity
        and not has_several
        and not state["pulls"][0]["read"]
        and appends
        and any(one != sources[0] for one in _sources_of_feed(warehouse, cfg, commits))
    )
    for pull in state["pulls"]:
        names = [macro("name_in_unit", pull["source"], sources)]
        if is_one_of_old:
            names.append(pull["source"])
        for entity in pull["read"] or {}:
            if entity not in sources:
                names.append(macro("name_in_unit", entity, [*sources, entity]))
        # A commit of the same id as another entity's is known by `_entity` alone.
        late = [one for one in pull["late"] if has_entity or not one.get("entity")]
        of_names = ""
        if is_one_of_old or has_several:
            of_names = f" and _entity in ({macro('string_literals', names)})"
        conditions.append(f"{macro('after_expr', pull['from'], late)}{of_names}")
        ends += [pull["from"], *(commit["commit_id"] - 1 for commit in late)]
    after, others = min(ends), f"({' or '.join(unique(conditions))})"
    if after > 0:
        others += f" and _commit_date >= {macro('commit_date_expr', after)}"
    unrecorded = appends and has_rows(warehouse, relation, others)
    return {"after": after, "others": others, "unrecorded": unrecorded}


def _check_sources(warehouse: Warehouse, cfg: Feed, commits: Commits, pulls: list[Pull]) -> None:
    """Stop at a feed that reads another source than before: it would lose what it keeps of that.

    Rows of a source that no run of the feed has read are none that a dead run left, unless that was
    its first.
    """
    if min(pull["from"] for pull in pulls) > 0:
        return
    known = _sources_of_feed(warehouse, cfg, commits)
    sources = unique(pull["source"] for pull in pulls)
    if known and len(sources) == 1 and sources[0] not in known:
        raise ConfigError(
            f"{cfg['model']}: the model reads {sources[0]}, but its table has changes of "
            f"{', '.join(known)}; nothing was written. Give the feed of {sources[0]} another "
            "name, or build this feed again with --full-refresh"
        )


def _sources_of_feed(warehouse: Warehouse, cfg: Feed, commits: Commits) -> list[str]:
    """Return the relations that runs of a feed have read."""
    literal = warehouse.macro("string_literal", cfg["relation"])
    sql = (
        f"select distinct source_relation from {commits['states']} where kind = 'feed' and state = "
        f"'completed' and relation = {literal} order by 1"
    )
    return [row[0] for row in warehouse.run(sql)]


def _options(cfg: Feed, state: FeedState) -> Values:
    """Return what a feed's table is made with.

    The folder of a table of a location of its own has rows of before, unless it is replaced.
    """
    last = state["commit_id"] + len(state["pulls"]) - 1
    return {
        **cfg,
        "partition_by": ["_commit_date", *(["_bucket"] if cfg["buckets"] > 1 else [])],
        "properties": {**cfg["table_properties"], "tidemark.feed_commit": last},
        "replaces": cfg["location_root"] is not None,
    }


def record_feed(
    warehouse: Warehouse, cfg: Feed, run: Run, relation: Any, state: OpenedFeed, table: Any
) -> None:
    """Record how far the feed has read each of its sources, all as of one moment.

    The watermark moves last: a run that died before it is done again.

    Args:
        warehouse: Where it is.
        cfg: The settings.
        run: The dict of `run_config()`.
        relation: The table.
        state: What open_feed() returned.
        table: What the statement that appends gave back, if it gave anything.
    """
    if run["empty"] or not (state["is_news"] or state["build"]):
        return
    rows = table.rows if state["is_news"] and table else []
    started_at = warehouse.macro("utc_now")
    for number, pull in enumerate(state["pulls"]):
        details: Values = {}
        for name in ("read", "kept_from"):
            if pull[name]:
                details[name] = pull[name]
        commit: Commit = {
            "commit_id": state["commit_id"] + number,
            "relation": cfg["relation"],
            "entity": cfg["model"],
            "kind": "feed",
            "started_at": started_at,
            "invocation_id": run["invocation_id"],
            "source_relation": pull["source"],
            "source_commit_id": pull["to"],
            "details": json.dumps(details) if details else None,
        }
        inserted = version = None
        if number == 0:
            inserted = int(rows[0][0] or 0) if len(rows) else None
            version = warehouse.macro("table_version", cfg["file_format"], relation)
        figures = {"rows_inserted": inserted, "current_version_after": version}
        record_commit(warehouse, state["commits"], commit, "completed", figures)
