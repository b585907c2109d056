"""Enriched events: a batch of what has landed, de-duplicated by claims in a manifest, appended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidemark.errors import ConfigError, DataError
from tidemark.pipeline.checking import no_date
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.committing import check_written
from tidemark.pipeline.delta_files import check_staged
from tidemark.pipeline.enriched_tables import prepare_enriched
from tidemark.pipeline.landing import files_to_read, lines_view, warn_of_no_file
from tidemark.pipeline.row_rules import broken_by_keys, ruled_keys_sql
from tidemark.pipeline.slices import make_slice, make_view
from tidemark.pipeline.tables import has_rows, relation_exists
from tidemark.pipeline.timeline import record_undone
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.pipeline.workers import leave_to_spark, tries_workers
from tidemark.rules.drift import recorded_layout
from tidemark.rules.guard import most_rejects
from tidemark.rules.names import names_of
from tidemark.shapes.load import Derived, Figures, Load, Rejects, Source, Staged
from tidemark.shapes.opened import Commit, Opened, Recorded, RelationName, Relations, State
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_NO_LINES = (
    "select cast(null as string) as value, cast(null as string) as _file, "
    "cast(null as bigint) as _row where false"
)
_WRITTEN: tuple[RelationName, ...] = ("manifest", "entities", "rejects", "landed")
"""What a batch writes beside the events."""


def source_enriched(warehouse: Warehouse, opened: Opened, body: str) -> Source:
    """Return enriched events that have landed, as one batch.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        body: The compiled SQL of the model.

    Returns:
        The batch, with the views that Spark reads unless the workers are to try it first; no parts
        if nothing has landed.
    """
    cfg, run, state = opened["cfg"], opened["run"], opened["state"]
    landed: Source = {**_landed(warehouse, opened), "body": body}
    is_idle = cfg["location"] is not None and not landed["files"]
    if is_idle and not run["empty"]:
        if state["replaces"]:
            warehouse.warn(
                cfg["entity"],
                f"there is no file at {cfg['location']} to read again, so the tables stay as "
                "they are. Put the files back, or correct location",
            )
        elif state["first"]:
            warn_of_no_file(warehouse, cfg)
    if run["empty"] or is_idle:
        source = _views(warehouse, opened, landed)
        if not state["replaces"]:
            prepare_enriched(warehouse, opened)
        return {**source, "parts": []}
    if _workers_take(warehouse, opened, body):
        return {**landed, "parts": ["all"], "by_workers": True}
    return {**_views(warehouse, opened, landed), "parts": ["all"]}


def _landed(warehouse: Warehouse, opened: Opened) -> Source:
    """Return the files that were not read yet, and where they lie."""
    cfg, run = opened["cfg"], opened["run"]
    if not cfg["location"]:
        return {"files": [], "location": None}
    is_dated = "{" in cfg["location"]
    if is_dated and not run["business_date"] and not run["empty"]:
        raise no_date(cfg)
    location = warehouse.macro("extract_path", cfg["location"], run["business_date"])
    files = [] if run["empty"] else enriched_files(warehouse, opened, location, is_dated)
    return {"files": files, "location": location}


def enriched_files(
    warehouse: Warehouse, opened: Opened, location: str, is_dated: bool
) -> list[Values]:
    """Return the files to read.

    Raises:
        DataError: Of a business date there is none, or one has changed whose events would be stored
            once more.
    """
    cfg = opened["cfg"]
    files = files_to_read(warehouse, opened, location)
    # a new file arrives under its own number, and of what was rolled back nothing is stored
    changed = [
        file["_file"]
        for file in files
        if file["_arrival_number"] != file["_file_number"] and file["_owed_number"] is None
    ]
    if changed and "natural_cross_batch" not in cfg["deduplicate"]:
        raise DataError(
            f"{cfg['entity']}: {changed[0]} has changed since it was read. Without "
            "natural_cross_batch in deduplicate its events would be stored once more. Nothing "
            "was written. Move the file away, and land the new lines in another file"
        )
    if not files and is_dated and not warehouse.macro("files_at", location):
        raise DataError(
            f"{cfg['entity']}: there is no file at {location}. Put a file there, or correct "
            "location"
        )
    return files


def _views(warehouse: Warehouse, opened: Opened, landed: Source) -> Source:
    """Make the views where Spark reads: lines of the files, or rows with the canonical columns.

    Either is cached, because `_row` numbers them within one read.
    """
    cfg, body, macro = opened["cfg"], landed["body"], warehouse.macro
    arrived, extract = (macro("run_view", cfg["target"], name) for name in ("arrived", "extract"))
    if landed["files"]:
        lines = lines_view(warehouse, opened, landed["location"], landed["files"])
        make_view(warehouse, extract, f"select value, _file, _row from {lines}")
    elif cfg["location"]:
        make_view(warehouse, extract, _NO_LINES)
    columns = macro("describe_query", body)
    names = names_of(columns)
    is_rows = "value" not in names or "event_id" in names
    for name in ("event_id", "event_fingerprint", "collector_tstamp") if is_rows else ():
        if name not in names:
            raise ConfigError(
                f"{cfg['entity']}: the column `{name}` is missing. Select lines of enriched "
                "events as a column `value`, or rows with the canonical columns"
            )
    if not cfg["location"] and "natural_cross_batch" not in cfg["deduplicate"]:
        raise ConfigError(
            f"{cfg['entity']}: the model has no location, so each run reads all rows of the "
            "body. Without natural_cross_batch the stored rows would be stored again. Add "
            "natural_cross_batch to deduplicate"
        )
    is_numbered = "_row" in names
    number = "" if is_numbered else ", monotonically_increasing_id() as _row"
    is_kept = not is_numbered and not opened["run"]["empty"]
    make_view(warehouse, arrived, f"select *{number} from (\n{body}\n)", is_kept)
    return {**landed, "arrived": arrived, "columns": columns, "is_rows": is_rows}


def _workers_take(warehouse: Warehouse, opened: Opened, body: str) -> bool:
    """Say whether the engine in the workers tries a batch; else why not is told."""
    if not tries_workers(warehouse, opened, body, "enriched.covers.why_not_enriched"):
        return False
    if opened["state"]["first"] and opened["cfg"]["on_reject"] == "fail":
        leave_to_spark(warehouse, opened, "on_reject is fail, and there are no tables yet")
        return False
    return True


def stage_enriched(warehouse: Warehouse, opened: Opened, source: Source, part: Any) -> Staged:
    """Return what a batch's events are told apart by, and which lines cannot be used.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        source: What source_enriched() returned.
        part: The one part of the source.
    """
    if source.get("by_workers"):
        staged = _stage_in_workers(warehouse, opened, source)
        if staged:
            return staged
        source = _views(warehouse, opened, source)
    macro = warehouse.macro
    cfg: Settings = {**opened["cfg"], "is_rows": source["is_rows"]}
    commit_id = macro("next_commit_id", opened["state"]["last_id"])
    events = macro("run_view", cfg["target"], "events")
    arrived = source["arrived"]
    if source["is_rows"]:
        ignored = cfg["fingerprint_ignore"]
        sql = macro("enriched_rows_sql", arrived, source["columns"], ignored)
    else:
        sql = macro("enriched_events_sql", arrived)
    make_view(warehouse, events, sql)
    # each a few columns wide, told apart from lines that cannot be used
    sql = ruled_keys_sql(warehouse, cfg, events)
    keys = make_slice(warehouse, cfg["target"], commit_id, "keys", sql)
    counted = warehouse.rows(macro("batch_figures_sql", keys))[0]
    figures: Figures = {
        "rows_read": counted["rows_read"],
        "rows_rejected": counted["rows_rejected"],
        "etl_micros": counted["etl_micros"],
        "first_etl_micros": counted["first_etl_micros"],
    }
    staged = _batch_to_load(opened, commit_id, figures)
    staged["rejects"]["rows"] = keys
    broken = broken_by_keys(warehouse, cfg, keys)
    staged = {**staged, "source": source, "cfg": cfg, "events": events, "keys": keys}
    return {**staged, "broken": broken}


def _stage_in_workers(warehouse: Warehouse, opened: Opened, source: Source) -> Staged | None:
    """Have a batch read, judged, compared with the manifest and written in the workers.

    No commit names it yet. The tables that it is written to are made first. None where the workers
    do not take it: nothing is left of it then.
    """
    cfg, state, relations = opened["cfg"], opened["state"], opened["relations"]
    prepare_enriched(warehouse, opened)
    commit_id = warehouse.macro("next_commit_id", state["last_id"])
    most = most_rejects(cfg, opened["run"])
    settings = {**cfg, "undone": state["undone"], "most_rejects": most}
    written = warehouse.adapter.stage_batch(settings, source["files"], commit_id, relations)
    if isinstance(written, str):
        leave_to_spark(warehouse, opened, written)
        return None
    staged = _batch_to_load(opened, commit_id, written.figures)
    staged["rejects"]["reasons"] = written.reasons
    return {
        **staged,
        "source": source,
        "cfg": cfg,
        "uncommitted": written,
        "is_prepared": True,
    }


def _batch_to_load(opened: Opened, commit_id: int, figures: Figures) -> Staged:
    """Return what is recorded of a batch and what it is loaded with, from its figures."""
    cfg, state = opened["cfg"], opened["state"]
    recorded: Recorded = {
        "flow": "atomic",
        "fingerprint_ignore": cfg["fingerprint_ignore"],
        "deduplicate": cfg["deduplicate"],
        "file_format": cfg["file_format"],
        "layout": recorded_layout(cfg),
        "manifest": str(opened["relations"]["manifest"]) if cfg["looks_across"] else None,
    }
    load: Load = {
        "commit_id": commit_id,
        "kind": "full_refresh" if state["replaces"] else "load",
        "business_date": opened["run"]["business_date"],
        "forward": True,
        "is_last": True,
        "log_version": None,
        "states": opened["commits"]["states"],
        "relation": cfg["relation"],
        "last_commit_id": state["last_commit_id"],
        "undone": state["undone"],
        "etl_micros": figures["etl_micros"],
        "first_etl_micros": figures["first_etl_micros"],
    }
    rejects: Rejects = {
        "units": ["line", "lines"],
        "of": "",
        "samples": None,
        "advice": "Mend the files",
    }
    return {"roles": {"recorded": recorded}, "load": load, "figures": figures, "rejects": rejects}


def derive_enriched(
    warehouse: Warehouse, opened: Opened, staged: Staged, commit: Commit
) -> Derived:
    """Return which events of a batch are stored.

    Claims are made in the manifest first, checked and set in one statement, so the commit is in
    flight from here on.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        staged: What stage_enriched() returned.
        commit: What new_commit() returned.

    Returns:
        The dict that commit_load() takes.
    """
    cfg, relations, macro = staged["cfg"], opened["relations"], warehouse.macro
    load, seen, current = staged["load"], staged["figures"], relations["current"]
    version = macro("table_version", opened["cfg"]["file_format"], current)
    has_events, stamp = load["etl_micros"] is not None, None
    if has_events:
        stamp = macro("utc_text_of_micros", load["etl_micros"])
    derived: Derived = {
        "outcome": "commit",
        "load": load,
        "figures": seen,
        "files": staged["source"]["files"],
        # Should this run die after its events are stored, the next one completes the commit with
        # the numbers that are recorded now.
        "numbers": {"current_version_before": version, "etl_tstamp": stamp},
    }
    written = staged.get("uncommitted")
    if written:
        # claims are made with what lies beside the events
        figures: Figures = {**seen, **_counts(seen, written.kinds.items())}
        check_staged(warehouse, opened["cfg"], written, figures["rows_inserted"])
        logs = figures["rows_inserted"] > 0
        return {
            **derived,
            "figures": figures,
            "beside": [],
            "uncommitted": written,
            "log_sql": logs,
        }
    keys, events = staged["keys"], staged["events"]
    begun = {
        "current_version_before": version,
        "rows_read": seen["rows_read"],
        "rows_rejected": seen["rows_rejected"],
    }
    record_commit(warehouse, opened["commits"], commit, "inflight", begun)
    manifest = relations["manifest"] if cfg["looks_across"] and has_events else None
    if manifest:
        warehouse.run(macro("claim_events_sql", cfg, manifest, keys, load))
    sql = macro("decided_events_sql", cfg, keys, manifest, load)
    decided = make_slice(warehouse, cfg["target"], load["commit_id"], "decided", sql)
    kinds = warehouse.run(f"select _kind, count(*) from {decided} group by _kind")
    figures = {**seen, **_counts(seen, kinds)}
    beside = _beside(warehouse, relations, staged, figures, decided)
    log_sql = None
    if figures["rows_inserted"]:
        append = macro("for_format", cfg["file_format"], "append_events")
        rows_sql = macro("atomic_rows_sql", cfg, events, decided, load)
        columns, last = macro("atomic_columns"), load["last_commit_id"]
        log_sql = append(current, columns, rows_sql, last=last)
    return {**derived, "figures": figures, "beside": beside, "log_sql": log_sql}


def _counts(figures: Figures, rows: Iterable[Sequence[Any]]) -> Figures:
    """Count a batch by what became of its lines: read = inserted + duplicate + rejected."""
    kinds = {row[0]: int(row[1] or 0) for row in rows}
    dropped = kinds.get("natural_in_batch", 0) + kinds.get("natural_cross_batch", 0)
    return {
        "rows_natural_in_batch": kinds.get("natural_in_batch", 0),
        "rows_natural_cross_batch": kinds.get("natural_cross_batch", 0),
        "rows_synthetic_in_batch": kinds.get("synthetic_in_batch", 0),
        "rows_synthetic_cross_batch": kinds.get("synthetic_cross_batch", 0),
        "rows_duplicate": dropped,
        "rows_inserted": figures["rows_read"] - figures["rows_rejected"] - dropped,
    }


def _beside(
    warehouse: Warehouse, relations: Relations, staged: Staged, figures: Figures, decided: Any
) -> list[str]:
    """Return what writes lines that cannot be used, and entities.

    They count once the events are stored.
    """
    cfg, load, source, macro = staged["cfg"], staged["load"], staged["source"], warehouse.macro
    append = macro("for_format", cfg["file_format"], "append_events")
    statements: list[str] = []
    if figures["rows_rejected"]:
        payload = macro("raw_payload_expr", source["columns"])
        lines = macro("rejected_lines_sql", source["arrived"], staged["keys"], payload)
        sql = (
            f"select *, {load['commit_id']} as _commit_id from ({lines})\nwhere "
            f"{macro('still_inflight_expr', load)}"
        )
        columns = macro("rejected_line_columns")
        statements += append(relations["rejects"], columns, sql, "_raw_payload")
    if figures["rows_inserted"]:
        sql = macro("entity_rows_sql", cfg, staged["events"], decided, load)
        columns = macro("entity_columns")
        statements += append(relations["entities"], columns, sql, "hierarchy.root_id")
    return statements


def append_enriched(warehouse: Warehouse, opened: Opened, roles: Roles, derived: Derived) -> None:
    """Store atomic events, which are the log of this family.

    Raises:
        DataError: Others were written than were counted.
    """
    current, commit_id = opened["relations"]["current"], derived["load"]["commit_id"]
    warehouse.run_all(derived["log_sql"])
    sql = f"select count(*) from {current} where _commit_id = {commit_id}"
    written = int(warehouse.run(sql)[0][0] or 0)
    counted = derived["figures"]["rows_inserted"]
    mending = "Go back with dbt run-operation rollback, and run again"
    check_written(opened["cfg"], current, counted, written, mending)


def fences_of_enriched(
    warehouse: Warehouse, file_format: str, relations: Relations, commit_id: int
) -> list[str]:
    """Return what shuts a run out.

    Claims count at once, entities for whoever reads their table. Events come first: see
    commit_side_files() of the engine in the workers.
    """
    statements: list[str] = []
    for name in ("current", "manifest", "entities", "rejects"):
        if relation_exists(warehouse, relations[name]):
            is_keyed = name == "manifest"
            statements += warehouse.of_format(
                file_format, "fence_events", relations[name], commit_id, is_keyed
            )
    return statements


def has_landed(warehouse: Warehouse, opened: Opened, commit: Commit, numbers: Values) -> bool:
    """Say whether the events of a batch are stored; a rollback is done once it is recorded."""
    current = opened["relations"]["current"]
    return commit["kind"] == "rollback" or _has_batch(warehouse, current, commit["commit_id"])


def finish_enriched(warehouse: Warehouse, opened: Opened, state: State, commit: Commit) -> None:
    """Do what is left to do of a batch whose events are stored, or of a rollback."""
    if commit["kind"] == "rollback":
        take_back_batches(warehouse, opened, commit)


def discard_enriched(warehouse: Warehouse, opened: Opened, commit: Commit) -> None:
    """Take away what a batch wrote beside the events before it failed."""
    commit_id = commit["commit_id"]
    for name in _WRITTEN:
        relation = opened["relations"][name]
        if _has_batch(warehouse, relation, commit_id):
            warehouse.run(f"delete from {relation} where _commit_id = {commit_id}")


def _has_batch(warehouse: Warehouse, relation: Any, commit_id: int) -> bool:
    return relation_exists(warehouse, relation) and has_rows(
        warehouse, relation, f"_commit_id = {commit_id}"
    )


def take_back_batches(warehouse: Warehouse, opened: Opened, record: Commit) -> None:
    """Do a rollback that is recorded.

    Doing it twice changes nothing, so one that died is finished this way.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        record: The commit of the rollback.
    """
    cfg, relations, commits = opened["cfg"], opened["relations"], opened["commits"]
    states, target = commits["states"], record["source_commit_id"]
    sql = warehouse.macro("batches_after_sql", states, cfg["relation"], target)
    ids = [row["commit_id"] for row in warehouse.rows(sql)]
    if not ids:
        return
    _take_back_populated(warehouse, opened, ids)
    for name in ("current", "entities", "rejects", "landed", "manifest"):
        if relation_exists(warehouse, relations[name]):
            listed = ", ".join(map(str, ids))
            warehouse.run(f"delete from {relations[name]} where _commit_id in ({listed})")
    record_undone(warehouse, cfg, commits, record, ids, [])


def _take_back_populated(warehouse: Warehouse, opened: Opened, ids: list[int]) -> None:
    """Take back claims that populate_manifest made for events of batches which are taken back.

    Unless a batch that stays has them too: they are of no batch, and what their files bring again
    would be copies of events that are nowhere. Before the events go, by which they are found.
    """
    macro, relations = warehouse.macro, opened["relations"]
    manifest, current = relations["manifest"], relations["current"]
    if not relation_exists(warehouse, manifest):
        return
    states = opened["commits"]["states"]
    sql = macro("populations_sql", states, opened["cfg"]["relation"], current)
    populated = [row["commit_id"] for row in warehouse.rows(sql)]
    if populated:
        claims = macro("populated_claims_sql", current, ids, populated)
        columns = ["event_id", "fingerprint", "_commit_id"]
        warehouse.run(macro("delete_rows_sql", manifest, claims, columns))
