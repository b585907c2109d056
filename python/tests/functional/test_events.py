"""Change events as canonical events: the worked example, tables without key, DDL, replays and crashes."""

from __future__ import annotations

from typing import Any

import pytest

from .event_entities import EventEntity, ddl, delete, insert, update

EXAMPLE = [
    ddl("CREATE_TABLE", [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]),
    insert({"id": 0, "name": "alice"}),
    update({"id": 1, "name": "alice"}, {"id": 0, "name": "alice"}),
    update({"id": 2, "name": "alice"}, {"id": 1, "name": "alice"}),
    delete({"id": 2, "name": "alice"}),
    insert({"id": 0, "name": "Alice"}),
    insert({"id": 1, "name": "blob"}),
    update({"id": 1, "name": "Bob"}, {"id": 1, "name": "blob"}),
]


def test_worked_example(project: Any) -> None:
    """One batch: the last event of each key is 5 DELETE 2, 6 INSERT 0 Alice, 8 UPDATE 1 Bob."""
    one = EventEntity(project, "one_batch", {"id": "int", "name": "string"})
    one.load(EXAMPLE)
    assert one.rows("id, name, _sequence_num") == [(0, "Alice", 6), (1, "Bob", 8)]
    assert one.rows("_sequence_num, _source_operation, _operation, id, name", "__log") == [
        (1, "CREATE_TABLE", "T", None, None),
        (2, "INSERT", "I", 0, "alice"),
        (3, "MOVE_IN", "I", 1, "alice"),
        (3, "MOVE_OUT", "D", 0, "alice"),
        (4, "MOVE_IN", "I", 2, "alice"),
        (4, "MOVE_OUT", "D", 1, "alice"),
        (5, "DELETE", "D", 2, "alice"),
        (6, "INSERT", "I", 0, "Alice"),
        (7, "INSERT", "I", 1, "blob"),
        (8, "UPDATE", "U", 1, "Bob"),
    ]
