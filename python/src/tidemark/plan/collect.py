"""Where a run of dbt leaves what it planned, for who started it in the same process."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.plan.inputs import inputs_of
from tidemark.plan.model import (
    Batch,
    ColumnChange,
    Counts,
    EntityPlan,
    Files,
    Guard,
    OtherDate,
    Reject,
    RejectGuard,
    Sample,
    Tables,
    Values,
)

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

_MASK = "***"
# a longer payload is cut
_LONGEST = 300
_lock = threading.Lock()
_taken: dict[str, EntityPlan] = {}


def take(facts: Mapping[str, Any], rows: Rows, inputs: Mapping[str, Any]) -> None:
    """Keep what a load would do; macros call it.

    Args:
        facts: What a plan tells of a load, see tidemark.pipeline.planning.
        rows: The rows that a plan shows, by what they are.
        inputs: What it was planned from.

    Raises:
        ConfigError: What was read changed meanwhile.
    """
    planned = entity_plan(facts, rows).model_copy(update={"inputs": inputs_of(inputs)})
    with _lock:
        _taken[planned.relation] = planned


def taken() -> list[EntityPlan]:
    """Return what was kept since the last call."""
    with _lock:
        found = list(_taken.values())
        _taken.clear()
    return found


def entity_plan(facts: Mapping[str, Any], rows: Rows) -> EntityPlan:
    """Return what macros tell of a load as a plan has it; sensitive values are masked."""
    counts = Counts.model_validate(
        {name: value for name, value in facts["counts"].items() if name in Counts.model_fields}
    )
    changed = counts.rows_inserted + counts.rows_updated + counts.rows_deleted
    existing = int(facts["existing"])
    guard, reject_guard, batch = facts["guard"], facts["reject_guard"], facts["batch"]
    return EntityPlan(
        entity=facts["entity"],
        relation=facts["relation"],
        extract=facts["extract"],
        business_date=facts["business_date"],
        kind=facts["kind"],
        outcome=facts["outcome"],
        stops=facts["stops"],
        broken_rules=facts["broken_rules"],
        counts=counts,
        existing=existing,
        share_of_current=round(changed / existing, 6) if existing else None,
        columns=[
            ColumnChange(name=row["column_name"], rows=int(row["row_count"]))
            for row in rows.get("columns", ())
        ],
        columns_known=facts["columns_known"],
        samples=[
            _sample(row, facts["sensitive"], facts["sensitive_keys"])
            for row in rows.get("samples", ())
        ],
        rejects=_rejects(rows),
        on_reject=facts["on_reject"],
        guard=Guard.model_validate(dict(guard)) if guard else None,
        reject_guard=RejectGuard.model_validate(dict(reject_guard)) if reject_guard else None,
        files=Files.model_validate(dict(facts["files"])),
        other_dates=[
            OtherDate(
                business_date=row["_business_date"],
                rows_logged=int(row["rows_logged"]),
                rows_superseded=int(row["rows_superseded"]),
            )
            for row in rows.get("dates", ())
        ],
        batch=Batch.model_validate(dict(batch)) if batch else None,
        notes=list(facts["notes"]),
        tables=Tables.model_validate(dict(facts["tables"])),
    )


def values_of(text: str) -> Values:
    """Return a row that is JSON text as texts; numbers as they are written.

    Example:
        >>> values_of('{"id": 7, "price": 1.50, "tags": ["a"], "note": null}')
        {'id': '7', 'price': '1.50', 'tags': '["a"]', 'note': None}
    """
    row: dict[str, Any] = json.loads(text, parse_float=str, parse_int=str)
    nested = json.loads(text)
    return {name: _text(value, nested[name]) for name, value in row.items()}


def _text(value: Any, nested: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(nested, ensure_ascii=False)


def _sample(
    row: Mapping[str, Any], sensitive: Sequence[str], sensitive_keys: Sequence[str]
) -> Sample:
    operation = row["_operation"]
    old = values_of(row["_old"]) if row["_old"] else None
    new = values_of(row["_new"]) if row["_new"] else None
    masked: Values = {name: _MASK for name in sensitive}
    if operation == "U":
        names = json.loads(row["_changed_columns"]) if row["_changed_columns"] else None
        if names is None and old is not None and new is not None:
            names = [name for name in new if new[name] != old.get(name)]
        if names is not None:
            old = {name: {**old, **masked}.get(name) for name in names} if old is not None else None
            new = {name: {**(new or {}), **masked}.get(name) for name in names}
    else:
        old = {**old, **masked} if old is not None else None
        new = {**new, **masked} if new is not None else None
    key = {**values_of(row["_key"] or "{}"), **{name: _MASK for name in sensitive_keys}}
    return Sample(
        operation=operation, business_date=row["_business_date"], key=key, old=old, new=new
    )


def _rejects(rows: Rows) -> list[Reject]:
    samples: dict[str, list[str]] = {}
    for row in rows.get("rejected", ()):
        payload = str(row["_raw_payload"])[:_LONGEST]
        samples.setdefault(str(row["_reject_reason"]), []).append(payload)
    return [
        Reject(
            reason=row["_reject_reason"],
            rows=int(row["row_count"]),
            samples=samples.get(row["_reject_reason"], []),
        )
        for row in rows.get("rejects", ())
    ]
