"""The log of a clone replaces the log of its original, with the commits made in the clone."""

from __future__ import annotations

from typing import Any

from tidemark.errors import DataError
from tidemark.pipeline.commits import entity_state
from tidemark.pipeline.slices import drop_slices, make_slice
from tidemark.pipeline.tables import relation_exists
from tidemark.pipeline.warehouse import Warehouse
from tidemark.rules.timeline import with_last
from tidemark.shapes.load import Load
from tidemark.shapes.opened import Commit, Opened, Promoted


def copy_commits(
    warehouse: Warehouse,
    states: tuple[Any, Any],
    relations: tuple[str, str],
    schemas: tuple[str, str],
    into: tuple[Any, int],
    since: int | None = None,
) -> None:
    """Append the states of an entity's commits to those of another.

    Where one table has both they are read before they are written: a statement that reads what it
    appends to is refused while another one does the same.

    Args:
        warehouse: Where they are.
        states: The table that has them, and that which gets them.
        relations: What they are of, and will be of.
        schemas: What the schema of a table's name begins with, and with what afterwards.
        into: The table of the entity, and the commit that this is done for.
        since: The commit whose last state is before all of them; None: all.
    """
    macro = warehouse.macro
    sql = macro("cloned_states_sql", states[0], relations, schemas, since)
    if str(states[0]) == str(states[1]):
        sql = f"select * from {make_slice(warehouse, *into, 'states', sql)}"
    warehouse.run(macro("insert_sql", states[1], macro("commit_columns"), sql))
    drop_slices(warehouse, into[0])


def take_over_commits(warehouse: Warehouse, opened: Opened, commit: Commit, load: Load) -> Load:
    """Record a clone's commits as the entity's, once its log is; return the load as it is by then.

    Doing it twice adds states that are there already: the last one of a commit counts.

    Raises:
        DataError: The clone is gone.
    """
    cfg, commits, run = opened["cfg"], opened["commits"], opened["run"]
    promoted: Promoted = commit["config"]["promoted"]
    other = warehouse.macro("commits_relations", {**run, "commits_schema": promoted["schema"]})
    if not relation_exists(warehouse, other["states"]):
        raise DataError(
            f"{cfg['entity']}: the entity has the log of its clone {promoted['relation']}, but the "
            f"commits of the clone are gone with {other['states']}. Restore {other['states']} and "
            "run the model again"
        )
    copy_commits(
        warehouse,
        (other["states"], commits["states"]),
        (promoted["relation"], cfg["relation"]),
        (promoted["was"], promoted["now"]),
        (cfg["target"], commit["commit_id"]),
        promoted["mark"],
    )
    state = entity_state(warehouse, commits, cfg["relation"], run)
    return with_last({**load, "business_date": state["last_date"]}, state)
