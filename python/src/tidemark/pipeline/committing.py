"""The commit of a load: what lies beside the log first, then the log, then its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tidemark.errors import DataError
from tidemark.pipeline.commits import entity_state, known_states, record_commit
from tidemark.pipeline.delta_files import check_staged, has_files, staged_log_rows
from tidemark.pipeline.landing import write_landed
from tidemark.pipeline.tables import has_commit, is_only_process, write_relations
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.load import Committed, Derived, Load, Outcome
from tidemark.shapes.opened import Commit, Opened, RelationName, Relations
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings

_RUN_AGAIN = "Run the date again, which corrects the log"


def commit_load(
    warehouse: Warehouse, opened: Opened, roles: Roles, derived: Derived, commit: Commit
) -> Committed:
    """Write what was derived.

    What goes beside the log comes first: it counts once the log has the commit. The log follows, in
    one atomic commit.

    Args:
        warehouse: Where the tables are.
        opened: What open_load() returned.
        roles: What becomes of each column.
        derived: What was derived.
        commit: What new_commit() returned.

    Returns:
        The same load with `touched`, where that need not be asked, and the version of the log.
    """
    cfg, load, adapter = opened["cfg"], derived["load"], warehouse.adapter
    logs, commits = is_logged(derived), derived["outcome"] == "commit"
    staged = derived.get("uncommitted")
    if commits:
        record_commit(warehouse, opened["commits"], commit, "inflight", numbers_of(derived))
        warehouse.run_all(derived["beside"])
        if staged:
            adapter.commit_side_files(staged)
    if staged and not (logs and commits):
        adapter.discard_rows(staged)
    _check_known_is_done(warehouse, opened, derived)
    if derived["outcome"] != "nothing":
        targets, files = write_relations(warehouse, opened), derived.get("files", [])
        write_landed(warehouse, targets, files, load)
    if not (logs and commits):
        return {"load": load, "log_version": load.get("log_version")}
    if staged:
        touched = warehouse.macro("run_view", cfg["target"], "touched")
        version = adapter.commit_rows(staged)
        adapter.view_rows(staged, touched)
        return {"load": {**load, "touched": touched, "written": staged}, "log_version": version}
    warehouse.of_family(cfg, "append", opened, roles, derived)
    if load["forward"] and derived.get("slice"):
        load = {**load, "touched": derived["slice"]}
    return {"load": load, "log_version": None}


def is_logged(derived: Outcome) -> bool:
    """Say whether a commit writes to the log.

    By that another run can be shut out which has taken it for dead.
    """
    figures = derived["figures"]
    return bool(
        figures.get("rows_logged") or figures.get("rows_superseded") or derived.get("log_sql")
    )


def is_still_ours(warehouse: Warehouse, opened: Opened, derived: Outcome, commit: Commit) -> bool:
    """Say whether current is this run's to bring after the log.

    It is not where another run has taken this one for dead meanwhile and finished the commit: what
    that run loaded since may be newer. Nothing is left of a commit that was rolled back, and the
    log shuts out none that wrote nothing there. Nothing is asked where no other process can write.

    Raises:
        DataError: Another run has rolled it back, and the log did not shut this one out.
    """
    cfg, commits, commit_id = opened["cfg"], opened["commits"], commit["commit_id"]
    if derived["outcome"] != "commit" or is_only_process(warehouse):
        return True
    known = known_states(warehouse, commits, cfg["relation"]) if commits["are_known"] else None
    if known is None:
        relation = warehouse.macro("string_literal", cfg["relation"])
        known = warehouse.rows(
            f"select commit_id, state from {commits['states']} "
            f"where relation = {relation} and commit_id = {commit_id}"
        )
    states = [row["state"] for row in known if row["commit_id"] == commit_id]
    if "completed" in states:
        return False
    # For enriched events a run says more than once that its commit is in flight.
    is_taken = "rolled_back" in states or (len(states) > 1 and cfg["family"] != "enriched")
    if is_taken and not is_logged(derived):
        raise DataError(
            f"{cfg['entity']}: another run took this run for dead. The rows that this run wrote "
            "do not count. Run the model again"
        )
    return True


def check_still_ours(
    warehouse: Warehouse, opened: Opened, derived: Outcome, commit: Commit
) -> None:
    """Do as is_still_ours(), for an operation, which ends there.

    Raises:
        DataError: Another run has finished its commit.
    """
    if not is_still_ours(warehouse, opened, derived, commit):
        raise_finished(opened["cfg"], commit)


def _check_known_is_done(warehouse: Warehouse, opened: Opened, derived: Derived) -> None:
    """Stop a run that has nothing for the log, as it took what it read for known.

    Another run may have brought that since this one began, and not have brought current yet, or
    never will: the next run does.
    """
    cfg = opened["cfg"]
    if cfg["family"] == "enriched" or is_logged(derived) or is_only_process(warehouse):
        return
    state = entity_state(warehouse, opened["commits"], cfg["relation"], opened["run"])
    for left in state["inflight"]:
        if has_commit(warehouse, opened["relations"]["log_table"], left["commit_id"]):
            raise_moved(cfg, opened["relations"]["log"])


def append_slice(warehouse: Warehouse, opened: Opened, roles: Roles, derived: Derived) -> None:
    """Bring the rows of a slice into the log by a statement, and count them afterwards.

    Raises:
        DataError: Others were written than were counted.
    """
    cfg, figures = opened["cfg"], derived["figures"]
    targets, file_format = write_relations(warehouse, opened), cfg["file_format"]
    states = opened["commits"]["states"]
    load = {**derived["load"], "states": states, "relation": cfg["relation"]}
    columns = warehouse.macro("slice_columns", roles)
    result = warehouse.run_all(
        warehouse.of_format(file_format, "append_to_log", targets, columns, derived["slice"], load)
    )
    if load["forward"] or file_format == "iceberg":
        marks = "" if load["forward"] else f" or _superseded_by = {load['commit_id']}"
        result = warehouse.run(
            f"select count(*) from {targets['log']} where _commit_id = {load['commit_id']}{marks}"
        )
    counted = figures["rows_logged"] + figures["rows_superseded"]
    check_written(cfg, targets["log"], counted, int(result[0][0] or 0), _RUN_AGAIN)


def files_of_slice(
    warehouse: Warehouse,
    opened: Opened,
    roles: Roles,
    load: Load,
    slice_: Any,
    figures: Mapping[str, Any],
    match: Sequence[str],
) -> Any:
    """Write what a slice does to the log as files of it that no commit names yet.

    Args:
        warehouse: Where the log is.
        opened: What open_load() returned.
        roles: What becomes of each column.
        load: The load.
        slice_: The rows, and marks of those that they supersede; those are the workers' to write.
        figures: How many there are, rows_logged and rows_superseded.
        match: What a mark and its row have in common, beside the commit.

    Returns:
        The files; None: there is nothing to write, or a statement has to.

    Raises:
        DataError: Others were written than were counted.
    """
    logged, superseded = figures["rows_logged"], figures["rows_superseded"]
    if load["log_version"] is None or not (logged or superseded):
        return None
    if load["forward"]:
        counted = {"rows_logged": "count(*)"}
        written = staged_log_rows(warehouse, opened, roles, load, slice_, counted)
        if written is None:
            return None
        check_staged(warehouse, opened["cfg"], written, logged)
        return written
    if not isinstance(slice_, str):
        return None
    log, adapter = write_relations(warehouse, opened)["log"], warehouse.adapter
    written = revised_files(warehouse, opened, load, f"select * from {slice_}", match)
    if written is not None:
        found = sum(written.figures[name] for name in ("rows_logged", "rows_superseded"))
        if found != logged + superseded:
            adapter.discard_rows(written)
            check_written(opened["cfg"], log, logged + superseded, found, _RUN_AGAIN)
    return written


def revised_files(
    warehouse: Warehouse, opened: Opened, load: Load, rows_sql: str, match: Sequence[str]
) -> Any:
    """Work out what corrects the log, and write it as files of it, in one task of the workers.

    Args:
        warehouse: Where the log is.
        opened: What open_load() returned.
        load: The load.
        rows_sql: A query of the rows, and of marks, which have `_supersedes`.
        match: What a mark and its row have in common, beside the commit.

    Returns:
        The files, with the counts of the commit as figures; None: the rows are to be kept first.
    """
    if load["log_version"] is None or not has_files(warehouse, opened["cfg"]):
        return None
    log = write_relations(warehouse, opened)["log"]
    return warehouse.adapter.revise_log(
        log, load["log_version"], rows_sql, match, load["commit_id"]
    )


def check_written(cfg: Settings, relation: Any, counted: int, written: int, mending: str) -> None:
    """Compare how many rows were written with how many were counted.

    Args:
        cfg: The settings, of which `entity` is read.
        relation: Where they were written.
        counted: How many there are.
        written: How many came; none, if another run came between or has taken this one for dead.
        mending: What the user can do.

    Raises:
        DataError: The numbers differ.
    """
    if written == 0 and counted:
        raise_moved(cfg, relation)
    if written != counted:
        raise DataError(
            f"{cfg['entity']}: {counted} rows were counted but {written} were written to "
            f"{relation}. The source changed while the run read it. {mending}"
        )


def raise_moved(cfg: Settings, relation: Any) -> NoReturn:
    """Stop a run beside which another one has written."""
    raise DataError(
        f"{cfg['entity']}: another run has written to {relation} since this run began, or took "
        "this run for dead. This run wrote nothing. Run the model again"
    )


def raise_finished(cfg: Settings, commit: Commit) -> NoReturn:
    """Stop a run whose commit another one has finished; that one may have written more since."""
    raise DataError(
        f"{cfg['entity']}: another run took this run for dead and finished commit "
        f"{commit['commit_id']}. Nothing is left to do. Look at the commit in `tidemark runs`"
    )


def numbers_of(derived: Derived) -> Values:
    """Return the numbers that tidemark_commits has of a commit."""
    rows = {name: n for name, n in derived["figures"].items() if name.startswith("rows_")}
    return {**derived.get("numbers", {}), **rows}


def record_load(warehouse: Warehouse, opened: Opened, derived: Derived, commit: Commit) -> None:
    """Record that a load's commit is complete, or that what is known was read once more."""
    numbers, outcome = numbers_of(derived), derived["outcome"]
    if outcome == "commit":
        if is_logged(derived) or is_still_ours(warehouse, opened, derived, commit):
            after = table_versions(warehouse, opened["cfg"], opened["relations"], "after")
            record_commit(warehouse, opened["commits"], commit, "completed", {**numbers, **after})
    elif outcome == "repeat":
        repeat: Commit = {**commit, "kind": "repeat"}
        record_commit(warehouse, opened["commits"], repeat, "completed", numbers)


def table_versions(
    warehouse: Warehouse, cfg: Settings, relations: Relations, moment: str
) -> Values:
    """Return the versions of log and current `before` or `after` a commit, by column."""
    names: tuple[RelationName, ...] = ("log", "current")
    return {
        f"{name}_version_{moment}": warehouse.macro(
            "table_version", cfg["file_format"], relations[name]
        )
        for name in names
        if name in relations
    }


def versions_before(warehouse: Warehouse, opened: Opened, load: Load) -> Values:
    """Return the versions that a load starts from; of a plan none.

    For the log it is the one that rows are staged for, for a new current none.
    """
    if opened["run"].get("dry_run"):
        return {}
    targets, file_format = write_relations(warehouse, opened), opened["cfg"]["file_format"]
    log_version, is_load = load["log_version"], load["kind"] == "load"
    if log_version is None:
        log_version = warehouse.macro("table_version", file_format, targets["log"])
    current = warehouse.macro("table_version", file_format, targets["current"]) if is_load else None
    return {"log_version_before": log_version, "current_version_before": current}
