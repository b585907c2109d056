"""The events of a batch with what they do to the rows that stand, in DuckDB's SQL.

usable, existing » replayed_sql » replayed
"""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.engine.events.load import Batch
from tidemark.engine.events.parsed import operation_sql
from tidemark.engine.events.staged import MOVED, left_out_sql
from tidemark.engine.load import Load
from tidemark.engine.sql import changed_sql, hash_sql


def replayed_sql(batch: Batch, moves: bool, carried: Sequence[str] = ()) -> str:
    """Return a query of the events with what they did, over `usable` and the rows `base`.

    Its columns: `num`, `source_op`, `kh`, `op` (I, U, D, or N), c0, c1, … (of a row that is gone
    as it was), `rh`, `changed`, `moved_from` and what is known of the event.

    Args:
        batch: The batch.
        moves: Whether a row has changed its key.
        carried: The columns that an event leaves out, whose values stay.
    """
    load = batch.load
    numbers = range(len(load.columns))
    after = ", ".join(f"c{number} as after_c{number}" for number in numbers)
    before = ", ".join(f"was.c{number} as before_c{number}" for number in numbers)
    images = ", ".join(
        f"if(op = 'D', before_c{number}, after_c{number}) as c{number}" for number in numbers
    )
    happened = _with_moves_sql(batch) if moves else _in_turn_sql(batch)
    return f"""select
    num, source_op, kh, op, {images},
    case when op = 'D' then before_rh when not is_gone then after_rh end as rh,
    {changed_sql(load)} as changed,
    event_id, event_time, transaction_id, place, moved_from{", unsupplied" if carried else ""}
from (
    select *,
        case
            when is_other then 'N'
            when is_gone then if(is_there, 'D', 'N')
            when not is_there then 'I'
            when after_rh = before_rh then 'N'
            else 'U'
        end as op
    from (
        select *, {after}, rh as after_rh, {before}, was.rh as before_rh
        from ({_stored_sql(batch, happened, carried) if carried or load.ignored else happened})
    )
    where source_op <> 'base'
)"""


def _stored_sql(batch: Batch, happened: str, carried: Sequence[str]) -> str:
    """Events with the values that they leave out, and the row that they meet as it is stored.

    An event that changes nothing that is compared stores nothing: what it gives to a column that is
    not compared is of its own row alone. Later events meet what was there before.
    """
    load = batch.load
    compared = [name for name in carried if name not in load.ignored]
    filled = happened
    if compared:
        values = ", ".join(_filled_sql(load, name) for name in compared)
        filled = f"select * replace ({values}) from ({filled})"
    if carried:
        hashed = f"case when unsupplied is null then rh else {hash_sql(load, load.compared)} end"
        filled = f"select * replace ({hashed} as rh)\n            from ({filled})"
    is_stored = "not is_gone"
    if load.ignored:
        before = f"last_value(case when not is_gone then rh end ignore nulls) {_key('1 preceding')}"
        is_stored = "is_stored"
        filled = (
            "select *, not is_gone and not (is_there and rh is not distinct from rh_before) "
            f"as is_stored\n            from (select *, {before} as rh_before from ({filled}))"
        )
        values = ", ".join(_completed_sql(load, name) for name in carried if name in load.ignored)
        if values:
            filled = f"select * replace ({values}) from ({filled})"
    was = f"last_value(case when {is_stored} then {_row(batch)} end ignore nulls)"
    return f"""select * replace ({was} {_key("1 preceding")} as was)
        from (
            {filled}
        )"""


def _filled_sql(load: Load, name: str) -> str:
    """The last value of a column that was given since the row is there."""
    value = f"c{load.number(name)}"
    last = _last_given_sql(value, f"not is_gone and ({_given_sql(name)})", "current row")
    return f"case when is_gone then {value} else {last} end as {value}"


def _completed_sql(load: Load, name: str) -> str:
    """The value of a column that is not compared: what the event gives, else that of its row."""
    value, given = f"c{load.number(name)}", _given_sql(name)
    last = _last_given_sql(value, f"is_stored and ({given})", "1 preceding")
    return f"case when is_gone or {given} then {value} else {last} end as {value}"


def _last_given_sql(value: str, condition: str, end: str) -> str:
    """The last value, NULL or not, of the rows up to `end` for which a condition holds."""
    given = f"case when {condition} then struct_pack(value := {value}) end"
    return f"(last_value({given} ignore nulls) {_key(end)}).value"


def _given_sql(name: str) -> str:
    return f"not is_there or source_op = 'MOVE_IN' or not {left_out_sql(name)}"


def _key(end: str) -> str:
    return f"over (partition by kh order by num rows between unbounded preceding and {end})"


def _row(batch: Batch) -> str:
    fields = ", ".join(f"c{number} := c{number}" for number in range(len(batch.load.columns)))
    return f"struct_pack({fields}, rh := rh)"


def _effects_sql() -> str:
    operation = operation_sql("op")
    return f"""select * from base
        union all by name
        select * exclude (op), op = 'd' as is_gone,
            case when {MOVED} then 'MOVE_IN' else {operation} end as source_op,
            case when {MOVED} then before_kh end as moved_from
        from usable"""


def _in_turn_sql(batch: Batch) -> str:
    """Each event with the row that it meets, where no key changes: what came before it."""
    return f"""select *, false as is_other, coalesce(not lag(is_gone) over key, false) as is_there,
        lag({_row(batch)}) over key as was
    from (
        {_effects_sql()}
    )
    window key as (partition by kh order by num)"""


def _with_moves_sql(batch: Batch) -> str:
    """The same, where a row that moves departs from its old key.

    A row that moves to a key whose row is still there pushes it aside; the next departure from
    that key in the same transaction is that row's, and the newcomer stays.
    """
    load = batch.load
    departed = ", ".join(
        f"k{load.number(column.name)} as c{load.number(column.name)}"
        if column.name in load.keys
        else f"null as c{load.number(column.name)}"
        for column in load.columns
    )
    values = ", ".join(f"c{number}" for number in range(len(load.columns)))
    prior = "rows between unbounded preceding and 1 preceding"
    return f"""select *,
        coalesce(last_value(case when not is_other then not is_gone end ignore nulls)
            over (key {prior}), false) as is_there,
        last_value(case when not is_gone then {_row(batch)} end ignore nulls)
            over (key {prior}) as was
    from (
        select *,
            is_pair_out and coalesce(
                last_value(case when not is_pair_in and not is_pair_out then not is_gone end
                    ignore nulls) over (key {prior}), false) as is_other
        from (
            select *,
                source_op = 'MOVE_IN' and coalesce(lead(is_gone) over key, false)
                    and lead(transaction_id) over key is not distinct from transaction_id
                    as is_pair_in,
                is_gone and coalesce(lag(source_op) over key = 'MOVE_IN', false)
                    and lag(transaction_id) over key is not distinct from transaction_id
                    as is_pair_out
            from (
                {_effects_sql()}
                union all by name
                select * exclude (op, kh, rh, {values}),
                    before_kh as kh, true as is_gone, 'MOVE_OUT' as source_op, {departed}
                from usable where {MOVED} and not is_pair
            )
            window key as (partition by kh order by num)
        )
        window key as (partition by kh order by num)
    )
    window key as (partition by kh order by num)"""
