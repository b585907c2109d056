"""Batches of enriched events are taken back."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError, UsageError
from tidemark.operations.entity import open_atomic, operation_commit, report
from tidemark.pipeline.commits import record_commit
from tidemark.pipeline.enriched import take_back_batches
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.printable import counted


def roll_back_batches(warehouse: Warehouse, node: Values, to: Any, dry_run: bool) -> None:
    """Take back the batches after a commit: their events, entities, claims and rejects go.

    Their files count as not read: the next run takes them again, unless they are moved away first.
    So there is no way forth to a batch that was taken back.
    """
    macro, opened = warehouse.macro, open_atomic(warehouse, node, dry_run)
    cfg, commits, entity = opened["cfg"], opened["commits"], opened["cfg"]["entity"]
    if not opened["state"]["recorded"]:
        raise DataError(
            f"{entity}: there is nothing to roll back, as nothing was loaded yet. Run the model "
            "first"
        )
    if to is None:
        raise UsageError(
            f"{entity}: `to` is missing. Give a commit id, a business date or a timestamp. `dbt "
            "run-operation show_commits` lists the commits"
        )
    ends = {"from": to, "argument": "to"}
    target = int(macro("span_of", cfg, commits, ends, "rollback")["from"] or 0)
    gone = warehouse.rows(macro("batches_gone_sql", commits["states"], cfg["relation"], target))
    if gone:
        raise UsageError(
            f"{entity}: commit {gone[0]['undone_by']} took back commit {gone[0]['commit_id']}, "
            f"whose events commit {target} had. Those events are gone. Run the model again: the "
            "run reads their files, if the files are still there"
        )
    batches = warehouse.rows(macro("batches_after_sql", commits["states"], cfg["relation"], target))
    if not batches:
        report(warehouse, entity, f"is at commit {target} already, nothing to roll back")
        return
    for batch in batches:
        does, commit_id = "would take" if dry_run else "taking", batch["commit_id"]
        report(
            warehouse,
            entity,
            f"{does} back commit {commit_id}: {counted(int(batch['rows_inserted'] or 0), 'event')}",
        )
        if batch["kind"] == "full_refresh":
            raise DataError(
                f"{entity}: commit {commit_id} read all files again, so nothing before that "
                "commit can be restored. Read the old rows in the tables named ..._<commit>"
            )
    if dry_run:
        return
    record = operation_commit(warehouse, opened, "rollback", source_commit_id=target)
    record_commit(warehouse, commits, record, "inflight", {})
    take_back_batches(warehouse, opened, record)
    record_commit(warehouse, commits, record, "completed", {})
    report(warehouse, entity, f"is back at commit {target}, by commit {record['commit_id']}")
