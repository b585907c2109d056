"""The entities of one schema as a table, brought up to the last complete commit of its events."""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.pipeline.checking import warn_rejects, why_rejects_stop
from tidemark.pipeline.commits import derived_marks, ensure_commits, record_commit
from tidemark.pipeline.growing import add_missing_columns, drop_other_format
from tidemark.pipeline.tables import (
    drop_table,
    free_columns,
    has_rows,
    make_anew,
    names_required,
    no_longer_required,
    relation_exists,
    warn_layout,
)
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.drift import recorded_layout
from tidemark.shapes.derived import Made, ShredMarks, ShredState
from tidemark.shapes.load import Figures, Rejects
from tidemark.shapes.opened import Commit, Commits, Run
from tidemark.shapes.settings import Shredded

_REJECTS: list[Values] = [
    {
        "name": "_reject_reason",
        "type": "string",
        "description": "Why the data does not match",
    },
    {
        "name": "_raw_payload",
        "type": "string",
        "description": "Schema and data as self-describing JSON",
    },
    {
        "name": "hierarchy",
        "type": "struct<root_id: string, root_tstamp: timestamp, ref_root: string, "
        "ref_tree: array<string>, ref_parent: string>",
    },
    {"name": "_commit_id", "type": "bigint"},
]
"""Columns of the entities whose data does not match."""


def load_shred(warehouse: Warehouse, cfg: Shredded, run: Run, body: str) -> Values:
    """Bring a table of entities up to the last complete commit of its events.

    The watermark moves last: what a run that died had written, which is what lies after it, is
    taken away first.

    Args:
        warehouse: Where it is.
        cfg: The settings.
        run: The dict of `run_config()`.
        body: The compiled SQL of the model.

    Returns:
        {build, figures}: whether the table was made anew, and None if there was nothing new.

    Raises:
        ConfigError: The body is not that of a shred model, or reads other entities than before.
        DataError: There are too many rejects, or another run has written to the table.
    """
    commits = ensure_commits(warehouse, run)
    state = shred_state(warehouse, cfg, run, commits, body)
    figures = _load(warehouse, cfg, run, state, commits, body)
    return {"build": state["build"], "figures": figures}


def shred_state(
    warehouse: Warehouse, cfg: Shredded, run: Run, commits: Commits, body: str
) -> ShredState:
    """Return what is to be done: schema, columns, how far the table has read and how far it can."""
    macro, entity, target = warehouse.macro, cfg["entity"], cfg["target"]
    source = macro("shred_of", body)
    if source is None:
        raise ConfigError(
            f"{entity}: the body does not call tidemark.shred(). Write {{{{ "
            "tidemark.shred('iglu:com.acme/product/jsonschema/1-*-*') }}, or a SELECT over it"
        )
    exists = relation_exists(warehouse, target)
    marks = shred_marks(warehouse, commits, cfg["relation"], source["source"])
    read_to, recorded = marks["read_to"], json.loads(marks["config"] or "{}")
    made_by = macro("table_property", target, "tidemark.shred_commit") if exists else None
    if exists and not read_to and made_by is None and not run["full_refresh"]:
        raise DataError(
            f"{entity}: {target} is a relation that Tidemark did not make, or its commits are "
            f"gone from {commits['view']}. Drop or rename the relation, or replace a table with "
            "--full-refresh"
        )
    is_unknown = exists and not macro("is_known_shred", read_to, recorded, made_by)
    # an --empty run writes nothing where there is a table
    build = not exists or (not run["empty"] and (run["full_refresh"] or is_unknown))
    if build and is_unknown:
        warehouse.report(
            f"{entity}: builds the whole table again, as no completed run of the table is known"
        )
    commit_id = macro("next_commit_id", marks["last_id"])
    if not build and not run["empty"] and 0 < read_to < marks["source_start"]:
        raise DataError(
            f"{entity}: {source['source']} was built again by commit {marks['source_start']}. "
            "Build this table again too, with --full-refresh"
        )
    if not build:
        _check_drift(cfg, source, recorded)
    return {
        "source": source["source"],
        "uri": source["uri"],
        "columns": cfg["columns"] or _columns_of_registry(cfg, source["uri"]),
        "exists": exists,
        "build": build,
        "last_id": marks["last_id"],
        "recorded": recorded,
        "commit_id": commit_id,
        "made_by": commit_id if build else made_by,
        "started_at": macro("utc_now"),
        "from": max(0 if build else read_to, marks["source_start"] - 1),
        "to": marks["source_end"],
        "undone": marks["undone"],
    }


def _check_drift(cfg: Shredded, source: Values, recorded: Values) -> None:
    """Stop at other entities than were read so far: those of before would be passed over."""
    for name, called in (("uri", "entities"), ("source", "events")):
        was, now = recorded.get(name, source[name]), source[name]
        if was != now:
            raise ConfigError(
                f"{cfg['entity']}: its {called} were {was} and are now {now}. The table would "
                "lack the earlier rows. Undo the change, or build the table again with "
                "--full-refresh"
            )


def shred_marks(warehouse: Warehouse, commits: Commits, relation: str, source: str) -> ShredMarks:
    """Return how far a table of entities has read, and where the commits of its events lie.

    See shred_marks_sql().
    """
    marks = derived_marks(warehouse, commits, relation, "shred", source)
    if marks is None:
        sql = warehouse.macro("shred_marks_sql", commits["states"], relation, source)
        row = warehouse.rows(sql)[0]
        return {
            "last_id": row["last_id"],
            "read_to": row["read_to"],
            "config": row["config"],
            "source_start": row["source_start"],
            "source_end": row["source_end"],
            "undone": json.loads(row["undone"]),
        }
    done = marks["done"] or {}
    refreshes = (one["commit_id"] for one in marks["replaced"] if one["kind"] == "full_refresh")
    return {
        "last_id": marks["last_id"],
        "read_to": done.get("source_commit_id") or 0,
        "config": done.get("config"),
        "source_start": next(refreshes, 0),
        "source_end": marks["ended"],
        "undone": marks["undone"],
    }


def _columns_of_registry(cfg: Shredded, uri: str) -> list[Values]:
    """Return the data's columns as the schemas in the registry have them."""
    columns = _registry().registry_columns(cfg["registry"], uri)
    return [
        {
            "name": column["name"],
            "type": column["data_type"],
            "description": column["description"],
            "property": column["property"],
            "is_exact": True,
        }
        for column in columns
    ]


def _registry() -> Any:
    return import_module("tidemark.shred.registry")


def _load(
    warehouse: Warehouse, cfg: Shredded, run: Run, state: ShredState, commits: Commits, body: str
) -> Figures | None:
    macro, entity, relation = warehouse.macro, cfg["entity"], cfg["target"]
    begin, end, build = state["from"], state["to"], state["build"]
    rejects, validate = macro("side_relation", relation, "rejects"), None
    if cfg["registry"]:
        known = [cfg["registry"], _registry().registry_state(cfg["registry"])]
        digest = hashlib.md5(" ".join(map(str, known)).encode()).hexdigest()
        validate = f"tidemark_schema_problem_{digest[:8]}"
        function = "tidemark.shred.registry.schema_problem"
        warehouse.adapter.register_function(validate, function, known)

    def typed(begin: int, end: int) -> str:
        of = _entities_in_force(body, state["undone"], begin, end)
        return f"(\n{macro('typed_entities_sql', state['columns'], of, begin, end, validate)}\n)"

    rows = typed(begin, end)
    is_news = not run["empty"] and end > begin
    figures: Figures = {}
    rejected: Rejects = {
        "units": ["entity", "entities"],
        "of": "",
        "rows": rows,
        "samples": None,
        "advice": "Mend columns or schema",
    }
    if is_news:
        seen = warehouse.rows(
            "select count(*) as rows_read, count_if(_reject_reason is not null) as rows_rejected "
            f"from {rows}"
        )[0]
        figures = {"rows_read": seen["rows_read"], "rows_rejected": seen["rows_rejected"]}
        why = why_rejects_stop(warehouse, cfg, run, figures, rejected)
        if why:
            raise DataError(why)
    if run["empty"] and state["exists"]:
        return None
    made = prepare_shred(warehouse, cfg, state, commits)
    if not build and not run["empty"] and not relation_exists(warehouse, rejects):
        sql = f"select * from {typed(0, begin)} where _reject_reason is not null"
        make_anew(warehouse, cfg["file_format"], rejects, _REJECTS, {}, sql)
        warehouse.report(
            f"{entity}: {rejects} was gone. The run makes the table again from {state['source']}"
        )
    if not is_news:
        swap_shred(warehouse, cfg, state, made, commits)
        return None
    if not build:
        warn_layout(warehouse, cfg, state["recorded"])
        held = state["recorded"].get("not_null")
        freed = no_longer_required(warehouse, relation, state["columns"], held)
        free_columns(warehouse, relation, freed)

    inserted = figures["rows_read"] - figures["rows_rejected"]
    if inserted > 0:
        table, columns = made["table"], shred_table_columns(warehouse, state)
        sql = f"select * from {rows} where _reject_reason is null"
        _append(warehouse, cfg, table, columns, sql, begin)
        written = warehouse.run(f"select count(*) from {table} where _commit_id > {begin}")[0][0]
        if int(written or 0) != inserted:
            raise _written_by_another(cfg)
    if figures["rows_rejected"]:
        sql = f"select * from {rows} where _reject_reason is not null"
        _append(warehouse, cfg, made["rejects"], _REJECTS, sql, begin)
    swap_shred(warehouse, cfg, state, made, commits)
    figures = {**figures, "rows_inserted": inserted}
    commit: Commit = {
        # After two runs the table is as the last one left it, whichever began first: the greatest
        # number is to be that one's.
        "commit_id": macro("next_commit_id", state["commit_id"]),
        "relation": cfg["relation"],
        "entity": entity,
        "kind": "shred",
        "started_at": state["started_at"],
        "invocation_id": run["invocation_id"],
        "source_relation": state["source"],
        "source_commit_id": end,
        "config": {
            "flow": "shred",
            "uri": state["uri"],
            "source": state["source"],
            "made_by": state["made_by"],
            "not_null": names_required(state["columns"]),
            "layout": recorded_layout(cfg),
        },
    }
    record_commit(warehouse, commits, commit, "completed", figures)
    condition = f"_commit_id > {begin} and _commit_id <= {end}"
    warn_rejects(warehouse, cfg, figures, rejected, rejects, condition)
    return figures


def _entities_in_force(body: str, undone: list[int], begin: int, end: int) -> str:
    """Return a model's body without the entities of commits that were rolled back.

    A run that was taken for dead may have written them after that.
    """
    ids = ", ".join(str(one) for one in undone if begin < one <= end)
    return f"select * from (\n{body}\n) where _commit_id not in ({ids})" if ids else body


def _append(
    warehouse: Warehouse, cfg: Shredded, relation: Any, columns: list[Values], rows: str, begin: int
) -> None:
    """Append rows to a table that has none after `begin`.

    The statement writes nothing where another run has brought some since, and of two at once lets
    one through.
    """
    alone = f"(select count(*) from {relation} where _commit_id > {begin}) = 0"
    sql = f"{rows}\n    and {alone}"
    warehouse.run_all(
        warehouse.of_format(
            cfg["file_format"], "append_events", relation, columns, sql, "hierarchy.root_id", begin
        )
    )


def prepare_shred(warehouse: Warehouse, cfg: Shredded, state: ShredState, commits: Commits) -> Made:
    """Make the tables, or add the columns that are lacking and take away what no commit counts.

    One with a location of its own is replaced where it is, and before its rejects are, as a table
    that no completed run knows is built again with them.

    Returns:
        Where the rows go: what takes the place of a table is filled beside it,
        see swap_shred().
    """
    macro, relation = warehouse.macro, cfg["target"]
    rejects = macro("side_relation", relation, "rejects")
    columns = shred_table_columns(warehouse, state)
    if state["build"]:
        return _made_anew(warehouse, cfg, state, commits, rejects, columns)
    add_missing_columns(warehouse, cfg["entity"], relation, columns)
    begin = state["from"]
    undone = ", ".join(str(one) for one in state["undone"] if one <= begin)
    condition = f"_commit_id > {begin}{f' or _commit_id in ({undone})' if undone else ''}"
    for table in (relation, rejects):
        if relation_exists(warehouse, table) and has_rows(warehouse, table, condition):
            _check_own(warehouse, cfg, state, commits)
            warehouse.run(f"delete from {table} where {condition}")
    return {"table": relation, "rejects": rejects}


def _made_anew(
    warehouse: Warehouse,
    cfg: Shredded,
    state: ShredState,
    commits: Commits,
    rejects: Any,
    columns: list[Values],
) -> Made:
    macro, relation, file_format = warehouse.macro, cfg["target"], cfg["file_format"]
    _check_own(warehouse, cfg, state, commits)
    made: Made = {"table": relation, "rejects": rejects}
    beside: Made = {
        "table": macro("new_relation", relation),
        "rejects": macro("new_relation", rejects),
    }
    if state["exists"] and not cfg["location_root"]:
        made = beside
    else:
        drop_other_format(warehouse, relation, file_format)
    warehouse.run(f"create schema if not exists {relation.include(identifier=False)}")
    for table in beside.values():
        drop_table(warehouse, table)
    macro("clear_leftovers", list(made.values()))
    options = {
        "partition_by": cfg["partition_by"],
        "cluster_by": cfg["cluster_by"],
        "location_root": cfg["location_root"],
        "replaces": cfg["location_root"] is not None,
        "properties": {"tidemark.shred_commit": state["made_by"], **cfg["table_properties"]},
        "description": cfg["description"],
    }
    create = macro("for_format", file_format, "create_table")
    warehouse.run_all(
        [
            *create(made["table"], columns, options),
            macro("drop_table_sql", made["rejects"]),
            *create(made["rejects"], _REJECTS, {}),
        ]
    )
    return made


def swap_shred(
    warehouse: Warehouse, cfg: Shredded, state: ShredState, made: Made, commits: Commits
) -> None:
    """Have tables that were filled beside the old ones take their names; the rejects are last."""
    macro, relation = warehouse.macro, cfg["target"]
    if made["table"] == relation:
        return
    _check_own(warehouse, cfg, state, commits)
    drop_other_format(warehouse, relation, cfg["file_format"])
    rejects = macro("side_relation", relation, "rejects")
    for new, old in ((made["table"], relation), (made["rejects"], rejects)):
        statements = [macro("drop_table_sql", old), *macro("rename_table_sql", new, old)]
        warehouse.run_all(statements)


def _check_own(warehouse: Warehouse, cfg: Shredded, state: ShredState, commits: Commits) -> None:
    """Stop before rows are taken away that no run had recorded when this one began.

    By now one may have, and have read further than this one is going to.
    """
    marks = shred_marks(warehouse, commits, cfg["relation"], state["source"])
    if marks["last_id"] != state["last_id"]:
        raise _written_by_another(cfg)


def _written_by_another(cfg: Shredded) -> DataError:
    return DataError(
        f"{cfg['entity']}: another run has written to {cfg['target']} since this run began. "
        "This run wrote nothing. Run the model again"
    )


def shred_table_columns(warehouse: Warehouse, state: ShredState) -> list[Values]:
    """Return the columns of the table: where each row came from, then its data."""
    entity = warehouse.macro("entity_columns")
    return [
        *(column for column in entity if column["name"] in ("schema", "hierarchy")),
        *(
            {
                "name": column["name"],
                "type": column["type"],
                "description": column.get("description", ""),
                "not_null": column.get("not_null", False),
            }
            for column in state["columns"]
        ),
        {"name": "_commit_id", "type": "bigint", "description": "Commit of the event"},
    ]
