"""An extract, full or delta: staged, compared with what stood before its date, derived."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.checking import check_drift, with_keys_here
from tidemark.pipeline.committing import files_of_slice, revised_files, versions_before
from tidemark.pipeline.delta_files import (
    as_it_is,
    can_stage_changes,
    check_staged,
    version_to_append,
)
from tidemark.pipeline.expressions import meaning_problem
from tidemark.pipeline.extracts_source import source_of_spark
from tidemark.pipeline.extracts_workers import count_changes, of_this_load, stage_by_workers
from tidemark.pipeline.given import declared_types, pepper_of
from tidemark.pipeline.row_rules import hold_to_rules, typed_view
from tidemark.pipeline.slices import (
    counted_rows,
    is_in_files,
    kept_rows,
    make_slice,
    make_view,
    opened_to_come,
)
from tidemark.pipeline.tables import alters_tables, write_relations
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.pipeline.workers import files_of_workers
from tidemark.rules.column_roles import PARTIAL
from tidemark.rules.drift import are_gone, config_drift, left_out_columns, sentences, takes_new_log
from tidemark.shapes.load import Derived, Figures, Load, Logged, Source, Staged
from tidemark.shapes.opened import Commit, Opened, RelationName, Relations
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_MATCH = ("_key_hash", "_business_date")
"""What a row of the log and the mark that supersedes it have in common, beside the commit."""
_NEW_LOG = "with --full-refresh (the old one is kept)"
_OTHER_HASHES = (
    f"{_NEW_LOG}, or, where only hash or what is compared (ignore, "
    "compare, compare_as) changed, give the log its new hashes: dbt run-operation rehash --args "
)


def stage_extract(warehouse: Warehouse, opened: Opened, source: Source, part: Any) -> Staged:
    """Type, hash and compare the extract of a date with what stood before it.

    Nothing of a first load is written yet.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        source: What source_extract() returned.
        part: The one part of the source.
    """
    if source.get("files") and not opened["state"].get("is_evolved"):
        roles = _roles_of_extract(warehouse, opened, source)
        staged = stage_by_workers(warehouse, opened, source, roles)
        if not isinstance(staged, bool):
            return staged
        if staged:
            return _stage_compared(warehouse, opened, source, roles)
    if source.get("files"):
        source = source_of_spark(warehouse, opened, source["body"])
    roles = _roles_of_extract(warehouse, opened, source)
    view = typed_view(warehouse, opened["cfg"])
    rows = warehouse.macro("staged_rows_sql", opened["cfg"], roles, source["body"])
    make_view(warehouse, view, rows, body=source["body"])
    return _stage_compared(warehouse, opened, source, roles)


def _stage_compared(warehouse: Warehouse, opened: Opened, source: Source, roles: Roles) -> Staged:
    """Compare what the view `staged` has with what stood before the date.

    Of tables that the load is going to alter it sees what they will be; what it keeps of them as a
    cached view, and not in files, is staged again when they are altered.
    """
    cfg, run, macro = opened["cfg"], opened["run"], warehouse.macro
    if run["empty"]:
        return {"roles": roles, "figures": {}}
    planned: Load = macro("load_of_date", cfg, run, opened["state"])
    alters = alters_tables(warehouse, opened, roles)
    if alters:
        opened = opened_to_come(warehouse, opened, roles)
    is_first = opened["state"]["first"]
    load: Load = {
        **planned,
        "log_version": opened["state"]["log_version"],
        "mends_rejects": planned["this_commit_id"] is not None,
        "existing": None if is_first else _existing_view(warehouse, opened, roles, planned),
    }
    broken = hold_to_rules(warehouse, cfg, roles)
    staged = _stage_changes(warehouse, opened, roles, load)
    staged = staged or _classify(warehouse, opened, roles, load)
    if staged["figures"]["rows_rejected"] and cfg["on_reject"] == "fail":
        staged["rejects"]["failed"] = macro("failed_values_sql", cfg, roles, source["body"])
    is_lasting = not roles["sensitive"] or is_in_files(warehouse, staged["load"].get("classified"))
    again = alters and not is_lasting
    return {**staged, "alters": alters, "again": again, "broken": broken}


def _roles_of_extract(warehouse: Warehouse, opened: Opened, source: Source) -> Roles:
    """Return what becomes of each column.

    Raises:
        ConfigError: A column is not there, or the configuration is not the log's.
        DataError: There are bytes that cannot be read.
    """
    cfg, run, state, macro = opened["cfg"], opened["run"], opened["state"], warehouse.macro
    origin, recorded = source["origin"], None if run["full_refresh"] else state["recorded"]
    if recorded:
        recorded = {
            **recorded,
            "not_yet": columns_not_yet(warehouse, opened, source),
            "is_past": (run["business_date"] or "") <= (state["last_date"] or ""),
        }
    types = declared_types(warehouse, cfg)
    roles: Roles = macro("column_roles", cfg, source["columns"], types, recorded, origin)
    type_compared_values(warehouse, cfg, roles)
    _check_malformed(warehouse, cfg, roles, source)
    file_names = [name for name in source["file_names"] if name != "_malformed"]
    left_out = left_out_columns(file_names, source["columns"], recorded, source["body"])
    pepper = pepper_of(warehouse, cfg, roles)
    roles = {**roles, "recorded": {**roles["recorded"], "left_out": left_out, **pepper}}
    if recorded:
        drift = config_drift(cfg, roles, recorded, origin)
        if are_gone(drift):
            lines = "\n  - ".join(sentences(drift))
            raise DataError(
                f"{cfg['entity']}: the extract lacks columns that the log has; nothing was written"
                f"\n  - {lines}\nDeliver the columns again, or do what is said beside each"
            )
        rehash = f"{_OTHER_HASHES}'{{entity: {cfg['entity']}}}'"
        check_drift(cfg, sentences(drift), _NEW_LOG if takes_new_log(drift) else rehash)
    return roles


def columns_not_yet(warehouse: Warehouse, opened: Opened, source: Source) -> list[str]:
    """Return which columns, in lower case, the extract lacks because they came later.

    No load in force of its date, or of one before it, had them. So a date from before loads again
    as it was, with NULL in their place; so it does where JSON, or a SELECT, yields a column of
    later that the file does not have.
    """
    state, date = opened["state"], opened["run"]["business_date"]
    arrived = {column["name"].lower() for column in source["columns"]}
    in_files = {name.lower() for name in source["file_names"]}
    declared = {column["name"].lower() for column in opened["cfg"]["columns"]}
    is_past = (date or "") <= (state["last_date"] or "")
    absent, yielded = [], []
    for column in state["recorded"]["columns"]:
        name, role = column["name"].lower(), column["role"]
        if name in arrived and name not in in_files and role != "key" and is_past:
            yielded.append(name)
        elif name not in arrived:
            if name in declared or not (role == "ignored" or column.get("dropped")):
                absent.append(name)
    if not absent and not yielded:
        return []
    # Before all dates: what the first of them has did not come later.
    is_first = state["previous_date"] is None and state["this_commit_id"] is None
    until = date
    if is_first and state["later_loads"]:
        until = min(load["business_date"] for load in state["later_loads"])
    states, relation = opened["commits"]["states"], opened["cfg"]["relation"]
    sql = warehouse.macro("configs_until_sql", states, relation, until)
    seen = {
        column["name"].lower()
        for had in warehouse.macro("json_rows", sql)
        for column in had["columns"]
        if column["name"] not in had.get("lacks", [])
    }
    unseen = [name for name in absent if is_first or name not in seen]
    return unseen + [name for name in yielded if name not in seen]


def type_compared_values(warehouse: Warehouse, cfg: Settings, roles: Roles) -> None:
    """Find out the types of what is compared in place of a column's value (`compare_as`).

    Raises:
        ConfigError: One is no expression of its column.
    """
    macro, terms, errors = warehouse.macro, [], []
    compared = [column for column in roles["compared"] if column.get("compare_as")]
    for column in compared:
        name = column["name"]
        null = f"cast(null as {macro('quoted_type', column['type'])})"
        term = macro("compared_value_expr", column, null)
        if macro("can", "parse_expressions"):
            setting = f"column `{name}`: meta.tidemark.compare_as"
            lacks = "it does not see: it is an expression of the column alone"
            sql = f"select {term}"
            errors.append(
                meaning_problem(warehouse, setting, column["compare_as"], sql, lacks, [name])
            )
        terms.append(f"{term} as {macro('quote_identifier', name)}")
    macro("_raise_config_errors", cfg["entity"], [error for error in errors if error])
    if terms:
        found = macro("describe_query", f"select {', '.join(terms)}")
        types = {typed["name"]: typed["type"] for typed in found}
        for column in compared:
            column["compare_type"] = types[column["name"]]


def _check_malformed(warehouse: Warehouse, cfg: Settings, roles: Roles, source: Source) -> None:
    """Stop at a body without `_malformed`: what could not be read would be NULL to it."""
    if "_malformed" not in source["file_names"] or "_malformed" in roles["supplied"]:
        return
    view = warehouse.macro("run_view", cfg["target"], "extract")
    rows = warehouse.run(f"select _malformed from {view} where _malformed is not null limit 1")
    if len(rows):
        sample = "" if roles["sensitive"] else f"\n  - {rows[0][0][:300]}"
        raise DataError(
            f"{cfg['entity']}: the extract{source['origin']} has bytes that cannot be read; "
            f"nothing was written{sample}\nName its encoding (options: {{encoding: "
            "windows-1252} in meta.tidemark), or add `_unreadable` and `_malformed` to the "
            "SELECT of the model to make such rows rejects"
        )


def _existing_view(warehouse: Warehouse, opened: Opened, roles: Roles, load: Load) -> str:
    """Make the view of what stood before the date."""
    cfg, relations, macro = opened["cfg"], opened["relations"], warehouse.macro
    existing: str = macro("run_view", cfg["target"], "existing")
    if load["forward"]:
        current = as_it_is(warehouse, cfg, relations["current"], "current")
        sql = macro("existing_rows_sql", roles, {**relations, "current": current})
    else:
        sql = macro("rows_at_date_sql", roles, relations, load["previous_date"])
    make_view(warehouse, existing, sql)
    return existing


def _stage_changes(warehouse: Warehouse, opened: Opened, roles: Roles, load: Load) -> Staged | None:
    """Compare, and write what changed straight into the log, where no commit names it yet.

    None where what changed has to be read again before the log has it: to correct dates, to show
    rejects, for what goes beside the log.
    """
    cfg, macro, adapter = opened["cfg"], warehouse.macro, warehouse.adapter
    if cfg["extract"] != "full" or cfg["on_reject"] != "fail":
        return None
    if not can_stage_changes(roles, load):
        return None
    staged = macro("run_view", cfg["target"], "staged")
    uncommitted = adapter.stage_rows(
        opened["relations"]["log"],
        load["log_version"],
        macro("classified_rows_sql", cfg, roles, staged, load["existing"], None),
        macro("figures_of_changes"),
        macro("staged_changes_sql", roles, "{counted}", load),
    )
    if uncommitted is None:
        return None
    counted: Figures = uncommitted.figures
    if counted["rows_rejected"]:
        adapter.discard_rows(uncommitted)
        return None
    check_staged(warehouse, cfg, uncommitted, count_changes(counted))
    return {
        "roles": roles,
        "load": load,
        "uncommitted": uncommitted,
        "rejects": {},
        "figures": {
            **counted,
            "rows_logged": uncommitted.rows,
            "rows_superseded": 0,
            "rows_not_supplied": 0,
        },
    }


def _classify(warehouse: Warehouse, opened: Opened, roles: Roles, load: Load) -> Staged:
    """Compare what is staged with what stood before the date, and count.

    The extract is read once: what changed is kept as a table of the run, `load['classified']`.
    """
    cfg, existing, macro = opened["cfg"], load["existing"], warehouse.macro
    staged, relations = macro("run_view", cfg["target"], "staged"), opened["relations"]
    # Delta knows the number of rows of current as it is.
    keeps_deleted = cfg["soft_delete"] or (opened["state"]["recorded"] or {}).get("soft_delete")
    is_whole = existing and load["forward"] and not keeps_deleted
    if existing and cfg["extract"] in PARTIAL:
        staged = kept_rows(warehouse, cfg, roles, load, "staged_rows", f"select * from {staged}")
    sql = macro("classified_rows_sql", cfg, roles, staged, existing, load["business_date"])
    counted = relations["current"] if is_whole else existing
    classified, counts = counted_rows(
        warehouse,
        cfg,
        roles,
        load,
        "classified",
        sql,
        lambda rows: macro("count_changes_sql", cfg, rows, counted),
    )
    figures = _figures_of_classified(cfg, counts)
    load = {**load, "classified": classified}
    new = _count_new_rejects(warehouse, relations, load, figures)
    figures = with_keys_here(warehouse, opened, load, {**figures, "new_rejects": new})
    rejected = macro("rejected_rows_sql", classified)
    return {
        "roles": roles,
        "load": load,
        "uncommitted": None,
        "figures": figures,
        "rejects": {
            "units": ["row", "rows"],
            "of": f" of business date {load['business_date']}",
            "rows": f"({rejected})",
            "samples": f"{rejected}\norder by _reject_reason, _raw_payload",
            "advice": _mending(cfg, roles, [reason for reason, _ in figures["reasons"]]),
            "reasons": sorted(figures["reasons"], key=lambda one: (-one[1], one[0])),
        },
    }


def _figures_of_classified(cfg: Settings, rows: list[Values]) -> Figures:
    """Return the figures of a load from counts by operation; R are rejects."""
    keys, reasons = dict.fromkeys("IUDN", 0), []
    existing = matched = read = rejected = duplicate = in_scope = 0
    for row in rows:
        operation = row["operation"]
        count, copies, met = (
            int(row[name] or 0) for name in ("row_count", "copies", "existing_count")
        )
        if operation == "existing":
            existing = met
            continue
        matched += met
        in_scope += int(row.get("in_scope") or 0)
        if operation == "R":
            reasons.append((row["reason"], count))
            rejected += count
            read += count
            continue
        keys[operation] = count
        read += copies
        if operation != "D":
            duplicate += copies - count
    # Rows that stood before and were not met: of a full extract they came as they were, once each.
    left = existing - matched
    unchanged = left if cfg["extract"] == "full" else 0
    return {
        "rows_read": read + unchanged,
        "rows_inserted": keys["I"],
        "rows_updated": keys["U"],
        "rows_deleted": keys["D"],
        "rows_unchanged": keys["N"] + unchanged,
        "rows_not_supplied": left - unchanged,
        "rows_rejected": rejected,
        "rows_duplicate": duplicate,
        "existing": existing,
        **({"in_scope": in_scope} if cfg["extract"] == "scoped" else {}),
        "reasons": reasons,
    }


def _mending(cfg: Settings, roles: Roles, reasons: list[str]) -> str:
    """Return how to mend rejects: where some are in another encoding, that can be declared."""
    if "_malformed" not in roles["supplied"] or "unreadable" not in reasons:
        return "Mend the extract"
    if cfg["format"] == "json":
        return "Mend the extract, which must be UTF-8"
    encoding = "(options: {encoding: windows-1252} in meta.tidemark)"
    return f"Mend the extract. Name its encoding {encoding}"


def _count_new_rejects(
    warehouse: Warehouse, relations: Relations, load: Load, figures: Figures
) -> int | None:
    """Count the new rejects of a date that was loaded before; None of another date."""
    before = load["this_commit_id"]
    if not figures["rows_rejected"] or before is None:
        return None
    rejected = warehouse.macro("rejected_rows_sql", load["classified"])
    sql = warehouse.macro("new_rejects_sql", rejected, relations["rejects"], before)
    return int(warehouse.rows(sql)[0]["new_count"])


def derive_extract(warehouse: Warehouse, opened: Opened, staged: Staged, commit: Commit) -> Derived:
    """Return the rows of the log that a date brings, and what goes beside them.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        staged: What stage_extract() returned.
        commit: What new_commit() returned.

    Returns:
        The dict that commit_load() takes; `outcome` is repeat for a date that came again as it was.
    """
    cfg, roles, figures = opened["cfg"], staged["roles"], staged["figures"]
    load = staged["load"]
    if staged.get("is_repeat"):
        return {"outcome": "repeat", "load": load, "figures": figures}
    load = {**load, "log_version": version_to_append(warehouse, opened, load)}
    derived: Derived = {"outcome": "commit", "load": load, "figures": figures}
    written = files_of_workers(warehouse, opened, staged, load)
    if written is not None:
        numbers = versions_before(warehouse, opened, load)
        return {**derived, "numbers": numbers, "uncommitted": written, "beside": []}
    rows = _rows_to_log(warehouse, opened, roles, load, figures)
    figures = {**figures, **rows["counts"]}
    logs_nothing = not figures["rows_logged"] and not figures["rows_superseded"]
    before = load["this_commit_id"]
    if before is not None and logs_nothing and not load["rebuild"]:
        if _observed_the_same(warehouse, cfg, opened["relations"], load):
            again: Derived = {"outcome": "repeat", "load": load, "figures": figures}
            return {**again, "rejects_commit_id": before}
    uncommitted = rows["uncommitted"] or files_of_slice(
        warehouse, opened, roles, load, rows["slice"], figures, _MATCH
    )
    return {
        **derived,
        "figures": figures,
        "numbers": versions_before(warehouse, opened, load),
        "uncommitted": uncommitted,
        "slice": rows["slice"],
        "beside": _beside(warehouse, opened, roles, load, figures, rows["rows"]),
    }


def _rows_to_log(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, figures: Figures
) -> Logged:
    """Return what the commit puts into the log.

    A date after all others only appends, straight from the view. Anything else is worked out once
    and put into a table of its own (without sensitive columns), because it is read several times,
    between writes that would make Spark forget a cache. Files of the workers are not forgotten.
    """
    target, macro = opened["cfg"]["target"], warehouse.macro
    changed: str = macro("run_view", target, "changed")
    make_view(warehouse, changed, macro("changed_rows_sql", load["classified"]))
    if not load["forward"]:
        return _rows_that_correct(warehouse, opened, roles, load, changed)
    slice_: Any = changed
    if roles["sensitive"] and not is_in_files(warehouse, load["classified"]):
        names = macro("column_list_expr", macro("slice_columns", roles))
        sql = f"select\n    {names}\nfrom {changed}"
        slice_ = make_slice(warehouse, target, load["commit_id"], "log", sql)
    counts: Figures = {"rows_logged": count_changes(figures), "rows_superseded": 0}
    return {"rows": changed, "slice": slice_, "uncommitted": None, "counts": counts}


def _rows_that_correct(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, changed: str
) -> Logged:
    """Return what a date that is late, or that came again, puts into the log and marks there."""
    target, macro = opened["cfg"]["target"], warehouse.macro
    rows: str = macro("run_view", target, "revised")
    names = macro("column_list_expr", [*macro("slice_columns", roles), "_supersedes"])
    sql = f"select\n    {names}\nfrom {rows}"
    if not roles["sensitive"] and is_in_files(warehouse, load["classified"]):
        _view_revised(warehouse, opened, roles, load, changed, is_kept=False)
        written = revised_files(warehouse, opened, load, sql, _MATCH)
        if written is not None:
            counts: Figures = {
                "rows_logged": written.figures["rows_logged"],
                "rows_superseded": written.figures["rows_superseded"],
            }
            uncommitted = written if any(counts.values()) else None
            return {"rows": rows, "slice": None, "uncommitted": uncommitted, "counts": counts}
    _view_revised(warehouse, opened, roles, load, changed, is_kept=True)
    slice_ = make_slice(warehouse, target, load["commit_id"], "log", sql)
    marks = "_supersedes is not null"
    found = warehouse.run(f"select count_if(not {marks}), count_if({marks}) from {slice_}")[0]
    logged, superseded = (int(count or 0) for count in found)
    counts = {"rows_logged": logged, "rows_superseded": superseded}
    return {"rows": rows, "slice": slice_, "uncommitted": None, "counts": counts}


def _view_revised(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, changed: str, *, is_kept: bool
) -> None:
    """Make the view of what corrects the log; what it is made of `is_kept`, for Spark."""
    cfg, macro = opened["cfg"], warehouse.macro
    targets, date = write_relations(warehouse, opened), load["business_date"]
    rows, logged = (macro("run_view", cfg["target"], name) for name in ("revised", "logged"))
    logged_sql = macro("logged_rows_sql", roles, targets, changed, date)
    make_view(warehouse, logged, logged_sql, is_kept)
    of = {"changed": changed, "logged": logged}
    sql = macro("revised_rows_sql", cfg, roles, targets, of, load)
    make_view(warehouse, rows, sql, bool(roles["sensitive"]))


def _observed_the_same(
    warehouse: Warehouse, cfg: Settings, relations: Relations, load: Load
) -> bool:
    """Say whether a date came again with nothing new, also not in what it supplied or rejected."""
    macro, classified = warehouse.macro, load["classified"]
    condition = of_this_load(warehouse, load)
    observed = [
        (
            macro("rejected_rows_sql", classified),
            f"select _reject_reason, _key_hash, _raw_payload from {relations['rejects']}",
        )
    ]
    if cfg["extract"] in PARTIAL:
        before = f"select _key_hash from {relations['supplied']}"
        observed.append((macro("supplied_keys_sql", classified), before))
    return all(
        len(warehouse.run(macro("differs_sql", now, f"{before} where {condition}"))) == 0
        for now, before in observed
    )


def _beside(
    warehouse: Warehouse, opened: Opened, roles: Roles, load: Load, figures: Figures, rows: Any
) -> list[str]:
    """Return what writes rejects, supplied keys and sensitive values.

    They count once the log has the commit.
    """
    cfg, macro, commit_id = opened["cfg"], warehouse.macro, load["commit_id"]
    targets = write_relations(warehouse, opened)
    stamp = f"date'{load['business_date']}' as _business_date, {commit_id} as _commit_id"

    def insert(name: RelationName, columns: list[Values], sql: str) -> str:
        statement: str = macro("insert_sql", targets[name], columns, sql)
        return statement

    statements = []
    if figures["rows_rejected"]:
        rejected = macro("rejected_rows_sql", load["classified"])
        sql = f"select *, {stamp}, cast(null as bigint) as _resolved_by from ({rejected})"
        statements.append(insert("rejects", macro("rejects_columns"), sql))
    if cfg["extract"] in PARTIAL:
        supplied = macro("supplied_keys_sql", load["classified"])
        sql = f"select *, {stamp} from ({supplied})"
        statements.append(insert("supplied", macro("supplied_columns"), sql))
    if roles["sensitive"] and figures["rows_logged"]:
        where = "" if load["forward"] else " where _supersedes is null"
        sql = f"select *, {commit_id} as _commit_id from {rows}{where}"
        statements.append(insert("sensitive", macro("sensitive_columns", roles), sql))
    return statements
