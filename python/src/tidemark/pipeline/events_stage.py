"""A stretch of change events: typed, hashed, compared with the events that are known."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError
from tidemark.model.problems import raise_problems
from tidemark.pipeline.checking import check_drift, check_load
from tidemark.pipeline.delta_files import as_it_is
from tidemark.pipeline.events_batch import source_of
from tidemark.pipeline.events_moves import linked_keys
from tidemark.pipeline.events_roles import ANEW, is_trial, load_of_stretch, roles_of_stretch
from tidemark.pipeline.events_statement import opened_after_statement
from tidemark.pipeline.events_workers import read_stretch
from tidemark.pipeline.expressions import (
    event_expressions,
    meaning_problem,
    of_a_row_alone,
    rule_expressions,
)
from tidemark.pipeline.look_ups import check_look_ups
from tidemark.pipeline.row_rules import broken_by_events, rule_counts_of_events_sql
from tidemark.pipeline.slices import counted_rows, make_view, opened_to_come
from tidemark.pipeline.tables import (
    alters_tables,
    evolve_tables,
    make_history_view,
    opened_altered,
    opened_evolved,
    relation_exists,
    widen_columns,
)
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.rules.batches import NO_FIGURES, batch_at
from tidemark.rules.event_roles import sequence_change
from tidemark.rules.guard import most_rejects
from tidemark.rules.names import names_of
from tidemark.rules.row_rules import can_stop
from tidemark.shapes.events import Landing, Stretch
from tidemark.shapes.load import Figures, Load, Rejects, Source, Staged
from tidemark.shapes.opened import Opened, Recorded, RecordedSource, Relations, State
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_ADVICE = (
    "Mend the events or the declared types (say with meta.tidemark.encodings how a column is "
    "written: for ambiguous_unit millis or micros, for ambiguous_encoding hex or base64; for "
    "unsigned_too_large declare decimal(20,0))"
)


def stage_events(
    warehouse: Warehouse, opened: Opened, source: Source, stretch: Stretch
) -> Staged | None:
    """Stage a stretch, typed by what its columns are from its DDL event on.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        source: What source_events() returned.
        stretch: One of its parts.

    Returns:
        What was staged; None of a trial that would alter tables for the order of events.
    """
    if source.get("staged"):
        staged: Staged = source["staged"]
        return staged
    landing, batch = source["landing"], batch_at(source["batch"], stretch)
    given, opened = opened, opened_after_statement(warehouse, opened, batch, stretch)
    cfg, state = opened["cfg"], opened["state"]
    roles = roles_of_stretch(warehouse, opened, landing, batch, stretch)
    landing = read_stretch(warehouse, opened, landing, batch, roles, stretch)
    if landing.get("decoded"):
        roles = _of_decoded(roles, landing)
    begun: State = {**given["state"], "last_id": state["last_id"], "begun": state.get("begun")}
    given = {**given, "state": begun}
    tried = _tried_stretch(warehouse, given, roles, source, stretch)
    opened = _evolved(warehouse, opened, roles)
    now, known = _log_as_it_is(warehouse, opened, roles)
    _make_staged_view(warehouse, cfg, roles, landing, stretch, known)
    roles = _with_sequence_type(warehouse, opened, roles, landing, stretch, known)
    if roles.get("wider"):
        if is_trial(opened["run"]):
            return None
        opened = _opened_after_widening(warehouse, opened, roles)
        # A view of Spark's refuses an Iceberg table whose columns are not of the types that they
        # had when it was made.
        now, known = _log_as_it_is(warehouse, opened, roles)
        _make_staged_view(warehouse, cfg, roles, landing, stretch, known)
    if opened["run"]["empty"]:
        return {"roles": roles, "figures": {}}

    planned: Load = {
        **load_of_stretch(warehouse, opened, roles, batch, {**stretch, "tried": tried}),
        "log_version": opened["state"]["log_version"],
        "order_type": warehouse.macro("place_type", cfg, roles.get("sequence_type")),
    }
    looking: Load = {**planned, "now": now, "known": known}
    rows, seen = _staged_rows(warehouse, opened, roles, landing, stretch, looking)
    load = _with_what_arrived(warehouse, opened, planned, now, rows, seen)
    roles = _with_what_moved(roles, load)
    figures = _figures_of_staged(warehouse, cfg, roles, load, seen)
    ignored = batch["ignored"] if stretch["is_last"] else 0
    read = figures["rows_read"] + ignored
    return {
        "roles": roles,
        "broken": broken_by_events(warehouse, cfg, load["staged"]),
        "load": load,
        "figures": {**figures, "rows_ignored": ignored, "rows_read": read},
        "source": {**source, "batch": {**batch, "batch_id": load["batch_id"]}},
        "files": landing["files"],
        "rejects": _rejects(warehouse, cfg, roles, load, landing, stretch, figures),
    }


def _of_decoded(roles: Roles, landing: Landing) -> Roles:
    """Return the roles of events that the workers read: which names they tell is known by then."""
    source: RecordedSource = {**roles["recorded"]["source"], "told": landing["told"]}
    return {**roles, "decoded": True, "recorded": {**roles["recorded"], "source": source}}


def _rejects(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    load: Load,
    landing: Landing,
    stretch: Stretch,
    figures: Figures,
) -> Rejects:
    rows, failed, payload = load["staged"], None, "_raw_payload"
    if figures["rows_rejected"] and cfg["on_reject"] == "fail":
        events = landing["events"]
        failed = warehouse.macro("failed_event_values_sql", cfg, roles, events, stretch)
    if cfg["format"] == "debezium":
        # only the values of an envelope: what stands before them, such as a schema, would fill a
        # message
        payload = (
            "if(_raw_payload like '%\"before\":%', concat('… ', substring(_raw_payload, "
            "position('\"before\":' in _raw_payload))), _raw_payload)"
        )
    return {
        "units": ["event", "events"],
        "staged": rows,
        "of": "",
        "rows": rows,
        "failed": failed,
        "samples": (
            f"select _reject_reason, {payload} as _raw_payload from {rows} where _reject_reason is "
            "not null order by _reject_reason asc nulls last, _landing_num asc nulls last"
        ),
        "advice": _ADVICE,
    }


def _tried_stretch(
    warehouse: Warehouse, opened: Opened, roles: Roles, source: Source, stretch: Stretch
) -> int | None:
    """Stage a stretch whose rows may stop it on what the tables will be, where they are altered.

    Returns:
        The number that this attempt had; None if there was none.
    """
    cfg, run = opened["cfg"], opened["run"]
    may_stop = most_rejects(cfg, run) < 1 or can_stop(cfg)
    if not may_stop or run["empty"] or run.get("dry_run"):
        return None
    if not alters_tables(warehouse, opened, roles):
        return None
    trial = stage_events(warehouse, {**opened, "run": {**run, "dry_run": True}}, source, stretch)
    if not trial:
        return None
    check_load(warehouse, opened, trial)
    number: int = trial["load"]["commit_id"]
    return number


def _evolved(warehouse: Warehouse, opened: Opened, roles: Roles) -> Opened:
    """Return the entity once its tables are as the roles of a stretch have them."""
    if opened["run"].get("dry_run"):
        to_come: Opened = opened_to_come(warehouse, opened, roles)
        return to_come
    alters = alters_tables(warehouse, opened, roles)
    if alters:
        evolve_tables(warehouse, opened, roles)
    state = opened["state"]
    if not state["first"] and state["recorded"].get("views_are_old"):
        make_history_view(warehouse, opened["cfg"], roles, opened["relations"])
    return opened_evolved(warehouse, opened) if alters else opened


def _log_as_it_is(warehouse: Warehouse, opened: Opened, roles: Roles) -> tuple[Relations, Values]:
    """Return the tables, the log as it is now, and where the events are that are known already."""
    relations, state, macro = opened["relations"], opened["state"], warehouse.macro
    if state["first"]:
        return relations, {}
    log = as_it_is(warehouse, opened["cfg"], relations["log"], "log")
    staging = None if roles["keyed"] else macro("in_force_of", relations["staging"], state)
    return {**relations, "log": log}, {"log": log, "staging": staging}


def _with_sequence_type(
    warehouse: Warehouse,
    opened: Opened,
    roles: Roles,
    landing: Landing,
    stretch: Stretch,
    known: Values,
) -> Roles:
    """Return the roles with the type of what events are ordered by.

    `wider` is what the tables are to hold of it from now on.
    """
    cfg, state = opened["cfg"], opened["state"]
    if not cfg["sequence_by"]:
        return roles
    found = _sequence_type(warehouse, cfg)
    recorded = None if state["first"] else state["recorded"].get("sequence_type")
    guessed = roles["guessed_texts"] if state["first"] else ()
    sequence = sequence_change(cfg, found, recorded, guessed)
    raise_problems(cfg["entity"], sequence["errors"])
    check_drift(cfg, sequence["drift"], ANEW)
    if sequence["casts"]:
        roles = {**roles, "sequence_casts": sequence["casts"]}
        _make_staged_view(warehouse, cfg, roles, landing, stretch, known)
        found = _sequence_type(warehouse, cfg)
    told: Recorded = {**roles["recorded"], "sequence_type": found}
    return {**roles, "sequence_type": found, "recorded": told, "wider": sequence["wider"]}


def _sequence_type(warehouse: Warehouse, cfg: Settings) -> str:
    view = warehouse.macro("run_view", cfg["target"], "staged")
    columns = warehouse.macro("describe_query", f"select _sequence_by from {view}")
    kind: str = columns[0]["type"]
    return kind


def _opened_after_widening(warehouse: Warehouse, opened: Opened, roles: Roles) -> Opened:
    """Return the entity once log and current hold what events are ordered by from now on."""
    relations, macro = opened["relations"], warehouse.macro
    if opened["run"].get("dry_run"):
        raise DataError(
            f"{opened['cfg']['entity']}: the type of sequence_by is wider than before, so the "
            "load alters the tables. Such a load cannot be planned. Run the model without a "
            "plan"
        )
    for name in ("log_table", "current"):
        columns = macro("describe_query", f"select * from {relations[name]}")
        was = next(one["type"] for one in columns if one["name"].lower() == "_sequence_by")
        wider = {"name": "_sequence_by", "type": roles["sequence_type"], "from": was}
        widen_columns(warehouse, relations[name], [wider])
    cfg: Settings = {**opened["cfg"], "file_format": macro("lake_format")}
    make_history_view(warehouse, cfg, roles, relations)
    return opened_altered(warehouse, opened)


def _make_staged_view(
    warehouse: Warehouse,
    cfg: Settings,
    roles: Roles,
    landing: Landing,
    stretch: Stretch,
    known: Values,
) -> None:
    macro = warehouse.macro
    view = macro("run_view", cfg["target"], "staged")
    sql = macro("staged_events_sql", cfg, roles, landing["events"], known, stretch)
    compared, more = check_look_ups(warehouse, cfg, roles["columns"])
    if macro("can", "parse_expressions"):
        given = [*of_a_row_alone(cfg, event_expressions(cfg)), *compared]
        seen = [*macro("event_columns"), *roles["source_columns"]]
        kinds = {column["name"]: column["type"] for column in seen} | more
        if warehouse.adapter.try_view(view, sql, given, kinds):
            # rules that put nothing aside are not in that view: they are only counted
            counted = cfg["rules"] and rule_counts_of_events_sql(warehouse, cfg, view)
            if not counted or not warehouse.adapter.analysis_error(counted):
                return
        _check_event_expressions(warehouse, cfg, roles, landing, stretch)
    make_view(warehouse, view, sql)


def _check_event_expressions(
    warehouse: Warehouse, cfg: Settings, roles: Roles, landing: Landing, stretch: Stretch
) -> None:
    """Say of a statement that Spark refuses which setting is to blame, if one is."""
    macro, errors = warehouse.macro, []
    names = [*names_of(roles["source_columns"]), *names_of(macro("event_columns"))]
    for name in names_of(landing["columns"] or []):
        if name not in names and name != "_landing_num":
            names.append(name)
    lacks = "no event brings and the YAML does not declare"
    rules = dict(rule_expressions(cfg))
    for setting, expression in event_expressions(cfg):
        # counted, so that it can be no aggregate and no window either
        of_a_row = f"count(not ({expression}))" if setting in rules else f"count({expression})"
        sql = macro("event_expression_sql", roles, landing["events"], stretch, of_a_row)
        errors.append(meaning_problem(warehouse, setting, expression, sql, lacks, names))
    raise_problems(cfg["entity"], [error for error in errors if error])


def _staged_rows(
    warehouse: Warehouse,
    opened: Opened,
    roles: Roles,
    landing: Landing,
    stretch: Stretch,
    load: Load,
) -> tuple[Any, Values]:
    """Return the events of a stretch as a table of the run, and what was seen in it."""
    cfg, first, macro = opened["cfg"], opened["state"]["first"], warehouse.macro
    log, sql = None, f"select * from {macro('run_view', cfg['target'], 'staged')}"
    if not first and (cfg["sequence_by"] or cfg["format"] == "canonical"):
        log = load["now"]["log"]

    def kept(name: str, sql: str) -> tuple[Any, Values]:
        def figures(rows: Any) -> str:
            text: str = macro("staged_figures_sql", cfg, roles, rows, log)
            return text

        rows, found = counted_rows(warehouse, cfg, roles, load, name, sql, figures)
        return rows, found[0]

    rows, seen = kept("staged_rows", sql)
    if _int(seen["lone_arrival_count"]) > 0 and not first:
        # Changes of the key of which an earlier run has had the delete.
        known = {**load["known"], "departures": load["now"]["log"]}
        _make_staged_view(warehouse, cfg, roles, landing, stretch, known)
        rows, seen = kept("staged_rows_again", sql)
    if _int(seen["reject_count"]) > 0 and _knows_rejects(warehouse, opened, roles, landing):
        known = macro("in_force_of", opened["relations"]["rejects"], opened["state"])
        of_ties, of_all = "like 'tie: %'", "is not null"
        condition = f"staged._reject_reason {of_ties if landing['in_files'] else of_all}"
        repeated = macro("repeated_rejects_sql", rows, known, condition)
        rows, seen = kept("staged_rows_known", repeated)
    return rows, seen


def _knows_rejects(warehouse: Warehouse, opened: Opened, roles: Roles, landing: Landing) -> bool:
    """Say whether a reject that comes again can be told from a new one.

    By its text it is, which is not kept of sensitive values, where that is no accident: a table or
    SELECT brings all its rows each time, and of lines those that tie are known by their content.
    """
    if opened["state"]["first"] or roles["sensitive"]:
        return False
    if not relation_exists(warehouse, opened["relations"]["rejects"]):
        return False
    return not landing["in_files"] or opened["cfg"]["on_tie"] == "reject"


def _with_what_arrived(
    warehouse: Warehouse, opened: Opened, planned: Load, now: Relations, staged: Any, seen: Values
) -> Load:
    """Return what deriving the log needs to know, and where it looks for what stood before."""
    cfg, state, macro = opened["cfg"], opened["state"], warehouse.macro
    first, log, source = state["first"], now["log"], source_of(opened)
    was_open = source.get("open_snapshot")
    closes = _may_close_snapshot(warehouse, opened, seen, was_open)
    spans_runs = False
    if closes and not first:
        # What a snapshot has read in earlier runs, current does not tell: a row that stayed as it
        # was has its old place there.
        read = warehouse.rows(macro("read_before_sql", cfg, log, staged, was_open))[0]
        spans_runs = bool(read["spans_runs"])
        closes = not spans_runs or bool(read["has_more"])
    is_overtaken = not first and _comes_late(warehouse, log, staged, state, seen)
    late = bool(
        planned["reorders"]
        or is_overtaken
        or (not first and closes and spans_runs)
        or (not first and _reads_or_owes(warehouse, cfg, log, staged, seen))
    )
    effects = [statement["effect"] for statement in planned["statements"]]
    moves, truncates = _int(seen["move_count"]) > 0, _int(seen["truncate_count"]) > 0
    partial = source.get("has_partial_moves", False)
    if not first:
        current = as_it_is(warehouse, cfg, opened["relations"]["current"], "current")
    return {
        **planned,
        "staged": staged,
        "late": late,
        "forward": not late,
        "open_snapshot": was_open,
        "leaves_open": _opened_snapshot(opened, planned, seen, was_open, is_overtaken),
        "log": None if first else log,
        "now": now if first else {**now, "current": current},
        "moves": late or moves,
        "fills": late or "fill" in effects,
        "closes_snapshot": closes,
        "carried": _left_out(warehouse, staged) if _int(seen["partial_count"]) else [],
        "table_events": len(effects) > 0
        or truncates
        or closes
        or (late and seen["table_event_count"] != 0),
        "everything": bool(planned["reorders"] or truncates or closes)
        or any(effect in ("fill", "close") for effect in effects),
        "has_moves": moves,
        "has_partial_moves": _int(seen["partial_move_count"]) > 0 or bool(late and partial),
        "linked": linked_keys(warehouse, cfg, log, staged, planned["commit_id"])
        if late and partial
        else None,
    }


def _with_what_moved(roles: Roles, load: Load) -> Roles:
    """Return the roles with what is recorded of moves and snapshots after a stretch."""
    source: RecordedSource = {**roles["recorded"]["source"]}
    for name in ("has_moves", "has_partial_moves"):
        source[name] = source[name] or load[name]
    source["open_snapshot"] = load["leaves_open"]
    roles = {**roles, "recorded": {**roles["recorded"], "source": source}}
    return {**roles, "kept_gone": roles["gone"]} if load["late"] and roles["gone"] else roles


def _may_close_snapshot(
    warehouse: Warehouse, opened: Opened, seen: Values, was_open: int | None
) -> bool:
    """Say whether a snapshot ends that is not the log's first: what it has not read is closed."""
    cfg = opened["cfg"]
    if opened["state"]["first"]:
        # A snapshot that was cut and began again may have read what was gone the second time.
        again = seen["reads_later"] or _int(seen["read_count"]) > 1
        ends = cfg["format"] != "debezium" and seen["may_end_snapshot"] and again
        return bool(_int(seen["snapshot_count"]) > 1 or ends)
    unplaced = seen["unplaced_count"]
    if _int(unplaced) > 0:
        warehouse.warn(
            cfg["entity"],
            "rows of a snapshot have no `_offset`, so the run cannot tell which rows the "
            f"snapshot lacks. Such rows stay ({unplaced} rows)",
        )
    ends = seen["has_snapshot"] and seen["may_end_snapshot"]
    return bool(ends or (was_open is not None and seen["has_stream"]))


def _opened_snapshot(
    opened: Opened, planned: Load, seen: Values, was_open: int | None, is_overtaken: bool
) -> int | None:
    """Return the commit since which the log has rows of a snapshot that later events end.

    None: there is no such snapshot. Rows of Debezium tell the end themselves.
    """
    if opened["cfg"]["format"] == "debezium":
        return None
    if was_open is not None and (is_overtaken or not seen["has_stream"] or seen["leaves_open"]):
        return was_open
    is_later = not opened["state"]["first"] or seen["reads_later"] or _int(seen["read_count"]) > 1
    return planned["commit_id"] if seen["leaves_open"] and is_later else None


def _comes_late(warehouse: Warehouse, log: Any, staged: Any, state: State, seen: Values) -> bool:
    """Say whether some event belongs before one that was applied.

    Or it goes on with a transaction whose moves were, or brings a row that an earlier run has seen
    depart from its old key, where the values are that it does not bring. Events without transaction
    are of one: of these a departure goes on with it from a key to which a row has moved whose row
    was still there.
    """
    if _int(seen["late_count"]) > 0:
        return True
    if _int(seen["partial_move_count"]) > 0 and _has_any(
        warehouse,
        f"select 1 from {staged} as arrivals left anti join (select _key_hash, _offset from "
        f"{staged} where _is_usable and _tidemark_effect = 'delete') as departures on "
        "arrivals._before_key_hash = departures._key_hash and arrivals._offset <=> "
        "departures._offset where arrivals._is_usable and arrivals._tidemark_is_pair and "
        "arrivals._unsupplied is not null limit 1",
    ):
        return True
    if state["recorded"]["source"].get("has_moves") and _int(seen["departure_count"]) > 0:
        return _has_any(
            warehouse,
            f"select 1 from {log} where _source_operation = 'MOVE_IN' and (_transaction_id in "
            f"(select _transaction_id from {staged} where _is_usable) or (_transaction_id is null "
            "and _operation <> 'I' and _key_hash in (select if(_tidemark_effect = 'delete', "
            f"_key_hash, _before_key_hash) from {staged} where _is_usable and _transaction_id is "
            "null and (_tidemark_effect = 'delete' or _before_key_hash <> _key_hash)))) limit 1",
        )
    return False


def _reads_or_owes(
    warehouse: Warehouse, cfg: Settings, log: Any, staged: Any, seen: Values
) -> bool:
    """Say whether rows without key are to be counted together with those of earlier runs."""
    if warehouse.macro("counts_below_zero", cfg) and _owes_copies(warehouse, log, staged):
        return True
    return bool(seen["has_reads"] and _reads_on(warehouse, cfg, log, staged))


def _owes_copies(warehouse: Warehouse, log: Any, staged: Any) -> bool:
    """Say whether the log has deletes of copies, whose inserts are still to come.

    They are of rows that the batch touches: current does not know of them.
    """
    in_force = warehouse.macro("in_force_expr", alias="log")
    return _has_any(
        warehouse,
        f"select 1 from {log} as log left semi join (select _row_hash from {staged} where "
        f"_is_usable union all select _before_row_hash from {staged} where _is_usable) as touched "
        f"on log._row_hash = touched._row_hash where log._operation = 'N' and {in_force} "
        "group by log._row_hash having count_if(log._source_operation in ('DELETE', 'MOVE_OUT')) > "
        "count_if(log._source_operation in ('INSERT', 'UPSERT', 'MOVE_IN')) limit 1",
    )


def _reads_on(warehouse: Warehouse, cfg: Settings, log: Any, staged: Any) -> bool:
    """Say whether the batch has rows equal to some that the same snapshot has read before.

    Only together they tell how many there are. Those of Debezium are numbered as they come.
    """
    if cfg["keys"] or cfg["format"] == "debezium":
        return False
    in_force = warehouse.macro("in_force_expr", alias="log")
    return _has_any(
        warehouse,
        f"select 1 from {log} as log left semi join (select _row_hash, _offset from {staged} where "
        "_is_usable and _source_operation = 'READ') as read on log._row_hash = read._row_hash and "
        f"log._offset <=> read._offset where log._source_operation = 'READ' and {in_force} limit 1",
    )


def _figures_of_staged(
    warehouse: Warehouse, cfg: Settings, roles: Roles, load: Load, seen: Values
) -> Figures:
    macro, tied = warehouse.macro, 0
    if roles["keyed"] and macro("can_tie", cfg):
        sql = macro("tied_rows_sql", cfg, roles, load["now"], load["staged"], load)
        tied = _int(warehouse.rows(sql)[0]["row_count"])
    return {
        **NO_FIGURES,
        "rows_read": _int(seen["row_count"]),
        "rows_rejected": _int(seen["reject_count"]),
        "rows_duplicate": _int(seen["duplicate_count"]),
        "rows_tied": tied,
        "first_sequence_num": seen["first_num"],
        "last_sequence_num": seen["last_num"],
    }


def _left_out(warehouse: Warehouse, staged: Any) -> list[str]:
    """Return the columns, and fields of them, that some event of a batch does not bring."""
    sql = f"select explode(_unsupplied) as name from {staged} where _unsupplied is not null"
    return [row[0] for row in warehouse.run(f"select distinct name from (\n{sql}\n)")]


def _has_any(warehouse: Warehouse, sql: str) -> bool:
    return len(warehouse.run(sql)) > 0


def _int(number: Any) -> int:
    return int(number or 0)
