"""What the tables get of a batch of change events, in DuckDB's SQL.

usable   » staging_sql » files of staging
replayed » log_sql     » files of the log
         » current_sql » files of current
"""

from __future__ import annotations

from tidemark.engine.events.load import Batch
from tidemark.engine.events.parsed import operation_sql
from tidemark.engine.load import Target
from tidemark.engine.sql import named_sql


def log_sql(batch: Batch, log: Target, is_partial: bool = False) -> str:
    """Return a query of the rows that the batch adds to the log, as its files have them.

    Args:
        batch: The batch.
        log: The log.
        is_partial: Whether an event leaves out a column.
    """
    load = batch.load
    values = {
        "_key_hash": "kh",
        "_row_hash": "rh",
        "_operation": "op",
        "_eff_start_date": f"date '{load.business_date}'",
        "_changed_columns": "changed",
        "_sequence_num": "num",
        "_event_time": "event_time",
        "_batch_id": f"cast({batch.batch_id} as bigint)",
        "_source_operation": "source_op",
        "_event_id": "event_id",
        "_transaction_id": "transaction_id",
        "_offset": "place",
        "_moved_from": "moved_from",
        "_commit_id": f"cast({load.commit_id} as bigint)",
        **({"_unsupplied": "unsupplied"} if is_partial else {}),
    }
    return f"select {named_sql(load, log, values)}\nfrom replayed"


LOGGED = (
    *("_key_hash", "_row_hash", "_operation", "_eff_start_date", "_changed_columns"),
    *("_sequence_num", "_event_time", "_batch_id", "_source_operation", "_event_id"),
    *("_transaction_id", "_offset", "_moved_from", "_commit_id"),
)
"""What a file of the log has beside the columns of the rows, in its order."""
PARTIAL = ("_unsupplied",)
"""What it has beside these where an event leaves out a column; of staging too."""


def latest_sql() -> str:
    """Return a query of the keys that the batch changed, each as it is then."""
    return (
        "select * from replayed where op in ('I', 'U', 'D') "
        "qualify row_number() over (partition by kh order by num desc) = 1"
    )


def current_sql(batch: Batch, current: Target) -> str:
    """Return a query of all rows of current after the batch, as its files have them."""
    load = batch.load
    numbers = ", ".join(f"c{number}" for number in range(len(load.columns)))
    values = {
        "_key_hash": "kh",
        "_row_hash": "rh",
        "_operation": "operation",
        "_eff_start_date": "since",
        "_sequence_num": "num",
    }
    kept = "" if load.soft_delete else " where op <> 'D'"
    return f"""select {named_sql(load, current, values)}
from (
    select {numbers}, kh, rh, operation, since, num from existing anti join latest using (kh)
    union all
    select {numbers}, kh, rh, op, date '{load.business_date}', num from latest{kept}
)"""


SHOWN = ("_key_hash", "_row_hash", "_operation", "_eff_start_date", "_sequence_num")


def staging_sql(batch: Batch, staging: Target, is_partial: bool = False) -> str:
    """Return a query of the events as they came, as the files of staging have them.

    Their batch is their partition, which is not in them.

    Args:
        batch: The batch.
        staging: Staging.
        is_partial: Whether an event leaves out a column.
    """
    values = {
        **{f"_before_{name}": f"k{batch.load.number(name)}" for name in batch.load.keys},
        "_key_hash": "kh",
        "_before_key_hash": "before_kh",
        "_landing_num": "landing_num",
        "_sequence_num": "num",
        "_event_id": "event_id",
        "_operation": operation_sql("op"),
        "_event_time": "event_time",
        "_transaction_id": "transaction_id",
        "_is_snapshot": "is_snapshot",
        "_database": "database",
        "_table": "table_name",
        "_offset": "place",
        "_commit_id": f"cast({batch.load.commit_id} as bigint)",
        **({"_unsupplied": "unsupplied"} if is_partial else {}),
    }
    return f"select {named_sql(batch.load, staging, values)}\nfrom usable"


def staged_names(batch: Batch) -> list[str]:
    """Return what a file of staging has beside the columns of the rows, in its order."""
    return [
        *[f"_before_{name}" for name in batch.load.keys],
        *("_key_hash", "_before_key_hash", "_landing_num", "_sequence_num", "_event_id"),
        *("_operation", "_event_time", "_transaction_id", "_is_snapshot", "_database", "_table"),
        *("_offset", "_commit_id"),
    ]
