"""The order of a key's versions, that of the log: see event_order_expr() of the macros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark.engine.quoted import literal
from tidemark.read.commits import recorded_config
from tidemark.read.project import Entity
from tidemark.read.tables import Tables

# what breaks the tie of events at one place
_FIRST = {"TRUNCATE": 0, "ADD_COLUMN": 0, "DELETE": 2, "MOVE_OUT": 2, "SNAPSHOT": 3}


@dataclass(frozen=True)
class LogOrder:
    """The order of the rows of a key in a log.

    Attributes:
        is_of_events: Whether the log is one of change events.
        fields: What of `_sequence_by` orders them; none where `_sequence_num` does.
        by_arrival: Whether at a tie counts what arrived first; not with `on_tie: content`.
    """

    is_of_events: bool
    fields: tuple[str, ...] = ()
    by_arrival: bool = True

    def newest_first(self) -> str:
        """Return it as SQL, the newest row first."""
        if not self.is_of_events:
            return "_business_date desc, _commit_id desc"
        sequence = [f"_sequence_by[{literal(field)}]" for field in self.fields]
        kinds = " ".join(f"when {literal(name)} then {number}" for name, number in _FIRST.items())
        parts = [
            *(sequence or ["_sequence_num"]),
            *(("_batch_id", "_sequence_num") if self.by_arrival else ()),
            f"case _source_operation {kinds} else 1 end",
            "_event_id",
        ]
        return ", ".join(f"{part} desc nulls last" for part in parts)

    def place(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the place of a row, the same order for Python."""
        if not self.is_of_events:
            return (row["_business_date"], row["_commit_id"])
        sequence = row.get("_sequence_by")
        parts = [
            *(sequence.values() if isinstance(sequence, Mapping) else [row["_sequence_num"]]),
            *((row["_batch_id"], row["_sequence_num"]) if self.by_arrival else ()),
            _FIRST.get(row["_source_operation"] or "", 1),
            row["_event_id"],
        ]
        # NULL is before everything
        return tuple((part is not None, part) for part in parts)


def order_of(tables: Tables, entity: Entity, log: str, names: Sequence[str]) -> LogOrder:
    """Return the order of an entity's log.

    Ties are broken as the last commit broke them, which put the log in this order: what the
    settings say now counts from the next run on.

    Args:
        tables: Where they are read.
        entity: A cdc model.
        log: Where its log lies.
        names: The columns of the log.
    """
    if "_event_id" not in names:
        return LogOrder(False)
    fields = tables.fields(log, "_sequence_by") if "_sequence_by" in names else ()
    recorded = recorded_config(tables, entity.relation)
    # every log that does not tell was made by content
    on_tie = recorded.get("on_tie", "content") if recorded else "later"
    return LogOrder(True, tuple(fields), by_arrival=on_tie != "content")
