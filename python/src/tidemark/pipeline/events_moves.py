"""Changes of keys that do not bring every column, followed from key to key until all is settled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.events_roles import ANEW
from tidemark.pipeline.slices import make_slice
from tidemark.pipeline.warehouse import Values, Warehouse
from tidemark.shapes.load import Load
from tidemark.shapes.roles import Roles
from tidemark.shapes.settings import Settings


def moved_values(
    warehouse: Warehouse, cfg: Settings, roles: Roles, sources: Values, load: Load
) -> Any:
    """Return the values that rows had under their old key, for moves that left columns out.

    A chain of moves is settled step by step, each in a table of its own, until nothing changes:
    with each step one move more has them, so that there are no more steps than moves.

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        roles: What becomes of each column.
        sources: The views that a stretch is replayed from.
        load: The load.

    Returns:
        A table of the run.

    Raises:
        DataError: There is no end of it.
    """
    macro = warehouse.macro

    def step(number: int, before: Any) -> Any:
        of = {**sources, "moved": before}
        sql = macro("replayed_keys_sql", cfg, roles, of, load, departures=True)
        return make_slice(warehouse, cfg["target"], load["commit_id"], f"moved_{number}", sql)

    same = "now._image <=> before._image"
    if any("map<" in column["type"] for column in roles["columns"]):
        same = "to_json(now._image) <=> to_json(before._image)"  # maps are not compared
    before = step(0, sources.get("moved"))
    for number in _steps(macro("row_count", before)):
        now = step(number, before)
        others = warehouse.run(
            f"select 1 from {now} as now left join {before} as before on now._event_id = "
            "before._event_id and now._moved_from = before._moved_from where not "
            f"({same}) limit 1"
        )
        if len(others) == 0:
            return now
        before = now
    raise _unsettled(cfg)


def linked_keys(warehouse: Warehouse, cfg: Settings, log: Any, staged: Any, commit_id: int) -> Any:
    """Return the keys that late events can change through moves that did not bring every column.

    They are those that a row went to from a touched key, or came from, step by step. Each step
    takes at least one link along, so that there are no more of them.

    Args:
        warehouse: Where the tables are.
        cfg: The settings.
        log: The log, or a view of it.
        staged: The events of the stretch.
        commit_id: The commit.

    Returns:
        A table of the run.

    Raises:
        DataError: There is no end of it.
    """
    macro = warehouse.macro

    def step(number: int, sql: str) -> Any:
        return make_slice(warehouse, cfg["target"], commit_id, f"linked_{number}", sql)

    links = (
        f"(select _key_hash, _moved_from from {log} where _source_operation = 'MOVE_IN' and "
        "size(coalesce(_unsupplied, cast(array() as array<string>))) > 0 and "
        f" {macro('in_force_expr')})"
    )
    keys = step(
        0,
        f"select _key_hash from {staged} where _is_usable and _key_hash is not null union select "
        f"_before_key_hash from {staged} where _is_usable and _before_key_hash is not null",
    )
    count = macro("row_count", keys)
    for number in _steps(macro("row_count", links)):
        more = step(
            number,
            f"select _key_hash from {keys} union select links._key_hash from {links} as links left "
            f"semi join {keys} as keys on links._moved_from = keys._key_hash union select "
            f"links._moved_from from {links} as links left semi join {keys} as keys on "
            "links._key_hash = keys._key_hash",
        )
        found = macro("row_count", more)
        if found == count:
            return more
        keys, count = more, found
    raise _unsettled(cfg)


def _steps(moves: int) -> Iterator[int]:
    """Number the steps of which each settles one move, and the one that finds all settled."""
    return iter(range(1, moves + 2))


def _unsettled(cfg: Settings) -> DataError:
    """It is an error of ours, or the log changes meanwhile."""
    return DataError(
        f"{cfg['entity']}: the run cannot tell which values rows had under their old keys; "
        "nothing was written. Run the model again. If the run stops here again, begin anew "
        f"{ANEW}"
    )
