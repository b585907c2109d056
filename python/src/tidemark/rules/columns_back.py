"""The names of columns, and the source, that an entity has again after a rollback."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tidemark.errors import UsageError
from tidemark.rules.drift import hashed_as
from tidemark.shapes.opened import Recorded, RecordedColumn, RecordedSource


def recorded_back(now: Recorded, then: Recorded | None, named: Collection[str]) -> Recorded:
    """Return what an entity is held to at a commit that recorded `then`.

    For change events, what is known of the source is as it was then, as what was undone is read
    again, and statements of it are judged anew; so are the names of columns, and the rule of ties
    that its rows are in order by. Whatever came since stays in the log.

    Example:
        >>> recorded_back(now, then, ["id"])["columns"]
        [{'name': 'id', …}, {'name': 'town', 'hash_name': 'town', …}]

    Args:
        now: What its last commit recorded.
        then: What that commit did, if it is known.
        named: Columns that the YAML names, lower case: they keep their names.
    """
    if now["extract"] != "events" or not then or not then.get("source"):
        return now
    return {
        **now,
        "columns": columns_back(now["columns"], then["columns"], named),
        "source": source_back(now.get("source") or {}, then["source"]),
        "on_tie": then.get("on_tie", "content"),
    }


def source_back(now: RecordedSource, then: RecordedSource) -> RecordedSource:
    """Return what is known of a source.

    The table keeps the names that it has got, by which the YAML may know it by now; its events are
    those of the names that it had. What events are known by does not change.
    """
    tables = then.get("tables") or []
    spelt: dict[str, str] = {}
    for name in [*tables, *(now.get("tables") or [])] if tables else []:
        spelt.setdefault(name.lower(), name)
    known = list(spelt.values())
    return {
        **then,
        "tables": known,
        "followed": then.get("followed") or (tables if known != tables else []),
        "by_content": then.get("by_content", now.get("by_content", False)),
        "by_server": then.get("by_server", now.get("by_server", False)),
        "identifying": then.get("identifying", now.get("identifying")),
    }


def columns_back(
    now: Sequence[RecordedColumn], then: Iterable[RecordedColumn], named: Collection[str]
) -> list[RecordedColumn]:
    """Return the columns `now`, in their order, with the names that they had `then`.

    They are known by what hashes know them as. If one has come since and its name is taken
    by that, the values are kept as those of a dropped one.

    Example:
        >>> columns_back([{"name": "town", "hash_name": "city"}], [{"name": "city"}], [])
        [{'name': 'city', 'hash_name': 'city', 'gone': False}]

    Args:
        now: The columns as the last commit recorded them.
        then: As the commit to go to did.
        named: Columns that the YAML names, lower case.
    """
    before = {hashed_as(column): column for column in then}
    names, taken = {}, []
    for column in now:
        earlier = before.get(hashed_as(column))
        former = earlier["name"] if earlier else ""
        if column["name"].lower() in (former.lower(), *named):
            names[hashed_as(column)] = column["name"]
            taken.append(column["name"].lower())
    for column in now:
        hashed = hashed_as(column)
        if hashed in before and hashed not in names and before[hashed]["name"].lower() not in taken:
            names[hashed] = before[hashed]["name"]
            taken.append(names[hashed].lower())
    back: list[RecordedColumn] = []
    for column in now:
        hashed = hashed_as(column)
        if hashed in names and hashed in before:
            gone = before[hashed].get("gone", False)
            back.append({**column, "name": names[hashed], "gone": gone})
        elif hashed in names or column["name"].lower() not in taken:
            back.append(column)
        else:
            free = free_name(column["name"], [*taken, *(one["name"].lower() for one in now)])
            back.append({**column, "name": free, "gone": True})
    return back


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name under which values of a column are kept whose own another one takes.

    Example:
        >>> free_name("city", ["city", "city__dropped"])
        'city__dropped_2'

    Args:
        name: Its name.
        taken: Names in lower case.
    """
    numbers = range(2, len(taken) + 2)
    free = [f"{name}__dropped", *(f"{name}__dropped_{number}" for number in numbers)]
    return next(one for one in free if one.lower() not in taken)


def renames_back(
    entity: str, now: Sequence[RecordedColumn], back: Sequence[RecordedColumn]
) -> list[list[str]]:
    """Return `[old, new]` of the columns that are called otherwise, each once its name is free.

    Example:
        >>> renames_back("shop", [{"name": "town"}], [{"name": "city"}])
        [['town', 'city']]

    Args:
        entity: The name of the model.
        now: Its columns.
        back: The same in the same order, as they are to be called.

    Raises:
        UsageError: Columns have exchanged their names.
    """
    pairs = [[one["name"], other["name"]] for one, other in zip(now, back, strict=False)]
    left = [[old, new] for old, new in pairs if old.lower() != new.lower()]
    ordered: list[list[str]] = []
    for _ in range(len(left)):
        for pair in left:
            others = [old.lower() for old, new in left if [old, new] not in ordered]
            if pair not in ordered and pair[1].lower() not in others:
                ordered.append(pair)
    if len(ordered) < len(left):
        told = ", ".join(" → ".join(pair) for pair in left)
        raise UsageError(
            f"{entity}: columns have exchanged their names since then ({told}), and a rollback "
            "cannot go behind that. Give a later commit, or begin again from nothing with "
            "--full-refresh"
        )
    return ordered


def columns_return(now: Sequence[RecordedColumn], back: Sequence[RecordedColumn]) -> bool:
    """Return whether columns are in current by one of two records, and are not by the other."""
    pairs = zip(now, back, strict=False)
    return any(one.get("gone", False) != other.get("gone", False) for one, other in pairs)


def columns_meant(
    recorded: Sequence[RecordedColumn], meant: Iterable[RecordedColumn]
) -> list[RecordedColumn] | None:
    """Return the columns as a commit that did not come to its end was to have them.

    Example:
        >>> columns_meant([{"name": "city"}], [{"name": "town", "hash_name": "city"}])
        [{'name': 'town', 'hash_name': 'city'}]

    Args:
        recorded: What the last commit recorded.
        meant: What that one was to record.

    Returns:
        One for each that is recorded; None where they are called, and kept, as they are.
    """
    found = {hashed_as(column): column for column in meant}
    now = [found.get(hashed_as(column), column) for column in recorded]
    is_told = all(hashed_as(column) in found for column in recorded)
    is_same = all(one["name"] == other["name"] for one, other in zip(recorded, now, strict=True))
    return None if is_told and is_same and not columns_return(recorded, now) else now
