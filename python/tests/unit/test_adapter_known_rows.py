"""What the adapter knows of a table without asking Spark again."""

from __future__ import annotations

from tidemark.spark.known_rows import KnownRows


def test_known__until_another_writes() -> None:
    known = KnownRows()
    assert known.rows("commits", ("a", 3), "orders") is None
    known.learn("commits", ("a", 3), {"orders": [{"id": 1}]})
    known.learn("commits", ("a", 3), {"people": []})
    assert known.rows("commits", ("a", 3), "orders") == [{"id": 1}]
    assert known.rows("commits", ("a", 3), "pets") is None
    # our own row is the next version, of every part
    known.append("commits", ("a", 3), ("a", 4), "orders", {"id": 2})
    assert known.rows("commits", ("a", 4), "orders") == [{"id": 2}, {"id": 1}]
    assert known.rows("commits", ("a", 4), "people") == []
    assert known.rows("commits", ("a", 5), "orders") is None
    assert known.rows("commits", None, "orders") is None
    # another has written between
    known.append("commits", ("a", 5), ("a", 6), "orders", {"id": 3})
    assert known.rows("commits", ("a", 6), "orders") is None


def test_known__another_table_of_that_name() -> None:
    known = KnownRows()
    known.learn("commits", ("a", 3), {"orders": [{"id": 1}]})
    assert known.rows("commits", ("b", 3), "orders") is None
    known.append("commits", ("b", 3), ("b", 4), "orders", {"id": 2})
    assert known.rows("commits", ("b", 4), "orders") is None


def test_known__learned_anew_forgets_what_was() -> None:
    known = KnownRows()
    known.learn("commits", ("a", 3), {"orders": [{"id": 1}]})
    known.learn("commits", ("a", 5), {"people": [{"id": 2}]})
    assert known.rows("commits", ("a", 5), "orders") is None
    assert known.rows("commits", ("a", 5), "people") == [{"id": 2}]


def test_known__rows_are_copies() -> None:
    known = KnownRows()
    rows = [{"id": 1}]
    known.learn("commits", ("a", 3), {"orders": rows})
    rows[0]["id"] = 2
    found = known.rows("commits", ("a", 3), "orders")
    assert found == [{"id": 1}]
    found.append({"id": 3})
    assert known.rows("commits", ("a", 3), "orders") == [{"id": 1}]


def test_known__all_there_are() -> None:
    """What a table without rows of a key has is known too, and a key that comes later."""
    known = KnownRows()
    known.learn("commits", ("a", 0), {}, is_all=True)
    assert known.rows("commits", ("a", 0), "orders") == []
    known.append("commits", ("a", 0), ("a", 1), "orders", {"id": 1})
    assert known.rows("commits", ("a", 1), "orders") == [{"id": 1}]
    assert known.rows("commits", ("a", 1), "people") == []
    # another has written: a part that is asked for anew tells nothing of the others
    known.learn("commits", ("a", 3), {"orders": [{"id": 2}]})
    assert known.rows("commits", ("a", 3), "people") is None


def test_known__no_more_than_are_asked_for() -> None:
    """A process that appends for months holds the last rows, and equal values of them once."""
    known = KnownRows(most=3)
    known.learn("commits", ("a", 0), {"orders": []}, is_all=True)
    for number in range(1, 6):
        row = {"id": number, "config": "".join(["{", "}"]), "date": None}
        known.append("commits", ("a", number - 1), ("a", number), "orders", row)
    found = known.rows("commits", ("a", 5), "orders")
    assert found is not None
    assert [row["id"] for row in found] == [5, 4, 3]
    assert found[0]["date"] is None
    assert found[0]["config"] is found[2]["config"]
    known.learn("commits", ("a", 9), {"orders": [{"id": number} for number in range(9, 0, -1)]})
    assert [row["id"] for row in known.rows("commits", ("a", 9), "orders") or []] == [9, 8, 7]


def test_known__follows_a_commit_that_changes_no_row() -> None:
    known = KnownRows()
    known.learn("t", ("one", 3), {"k": [{"id": 1}]})
    known.follow("t", ("one", 2), ("one", 4))
    assert known.rows("t", ("one", 4), "k") is None
    known.follow("t", ("one", 3), ("one", 4))
    assert known.rows("t", ("one", 4), "k") == [{"id": 1}]
    assert known.rows("t", ("one", 3), "k") is None
