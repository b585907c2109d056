"""Lines of canonical events taken apart, in DuckDB's SQL: what each says, if that is certain.

lines » shapes_sql » which members the lines have
      » parsed_canonical_sql » parsed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidemark.engine.events.lines import IS_NOT_BLANK
from tidemark.engine.events.load import Batch
from tidemark.engine.events.parsed import (
    LETTERS,
    NOT_LOGGED,
    OTHER_COLUMNS,
    SPARK_ALONE,
    apart_sql,
    has_one_twice_sql,
    is_odd_sql,
    is_ours_sql,
    is_text_sql,
    is_unsafe_sql,
    text_sql,
)
from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.shapes.events import HAS_DDL

_BEFORE = "_before_"
# what tells of an event, beside its images
_MEMBERS = (
    *("_operation", "_database", "_table", "_sequence_num", "_offset", "_transaction_id"),
    *("_is_snapshot", "_event_time"),
)
# as is_ours_sql() knows them
_CALLED = {"_database": "db", "_table": "table"}
_ENVELOPE_FIELDS = {
    "_sequence_num": "sequence_num",
    "_offset": "offset",
    "_transaction_id": "transaction_id",
    "_is_snapshot": "is_snapshot",
    "_event_time": "time_text",
}
# of a table or a schema, never of a row
_OF_TABLES = ("_schema", "_primary_key", "_prev_table")
DDL_OPERATIONS = (
    *("CREATE_TABLE", "DROP_TABLE", "ALTER_TABLE", "RENAME_TABLE"),
    *("CREATE_DATABASE", "DROP_DATABASE"),
)
"""What a DDL event is called; macros have the same."""
_PLACE = "0|[1-9][0-9]{0,17}"
_MOST = 100
_NO_ROW = "a line is no event of a row"
_NO_KEY = "an event has no key, or a part of one"


@dataclass(frozen=True)
class Shape:
    """Lines that have the same members.

    Args:
        names: The members, in the order of bytes.
        left_out: The columns that are not there, in the order of the table.
        never_supplied: Those of them of which no image from before the event tells either.
        has_whole_key: Whether every column of the key is there.
        has_before: Whether there is an image from before the event.
        before_keys: How many columns of the key that image has.
        has_key: Whether the image that a delete counts by has the key: its own members, else those
            from before.
    """

    names: tuple[str, ...]
    left_out: tuple[str, ...]
    never_supplied: tuple[str, ...]
    has_whole_key: bool
    has_before: bool
    before_keys: int
    has_key: bool


def shapes_sql(first: int | None = None) -> str:
    """Return a query of the members that lines have: lists, each once.

    Args:
        first: Of so many lines; None: of all.
    """
    some = "" if first is None else f" limit {first}"
    return (
        "select distinct list_sort(json_keys(line)) as names "
        f"from (from lines where {IS_NOT_BLANK}{some}) limit {10 * _MOST}"
    )


def shapes_of(batch: Batch, found: Sequence[Sequence[str]]) -> tuple[Shape, ...] | None:
    """Return the shapes that an event of the table can have; None: they are too many."""
    columns = {column.name for column in batch.load.columns}
    keys = set(batch.load.keys)
    images = columns | {f"{_BEFORE}{name}" for name in columns}
    shapes = []
    for names in found:
        have = set(names)
        before = {name.removeprefix(_BEFORE) for name in have if name.startswith(_BEFORE)}
        is_judged = have and len(have) == len(names) and have.isdisjoint(_OF_TABLES)
        if is_judged and have <= images | set(_MEMBERS):
            left_out = tuple(one.name for one in batch.load.columns if one.name not in have)
            shapes.append(
                Shape(
                    names=tuple(names),
                    left_out=left_out,
                    never_supplied=tuple(name for name in left_out if name not in before),
                    has_whole_key=keys <= have,
                    has_before=bool(before),
                    before_keys=len(keys & before),
                    has_key=keys <= have | before,
                )
            )
    return tuple(shapes) if len(shapes) <= _MOST else None


def parsed_canonical_sql(batch: Batch, shapes: Sequence[Shape]) -> str:
    """Return a query of the lines: what they say of an event, all values as texts.

    Its columns: `num`, `is_ours`, `landed_id`, `doubt` (why the engine does not answer for the
    line), `op`, `content`, `unsupplied` (the columns that it leaves out, NULL for none), `lacks`
    (the same of a delete too, of both images), `has_before`, `raw` (the line), what the line tells
    of the event, f0, f1, … (the image that counts) and, of keys, b0, … (the image
    before).
    """
    columns = batch.load.columns
    is_known_before = f"op = 'd' and {_among(shapes, lambda shape: shape.has_before)}"
    values = [
        f"case when {is_known_before} then coalesce({text_sql(f'after{number}')}, "
        f"{text_sql(f'before{number}')}) else {text_sql(f'after{number}')} end as f{number}"
        for number in range(len(columns))
    ]
    values += [
        f"case when {is_known_before} then f{number} else {text_sql(f'before{number}')} end "
        f"as b{number}"
        for number in map(batch.load.number, batch.load.keys)
    ]
    envelope = [
        f"{text_sql(name)} as {identifier(envelope)}" for name, envelope in _ENVELOPE_FIELDS.items()
    ]
    letters = " ".join(f"when '{name}' then '{letter}'" for name, letter in LETTERS.items())
    return f"""select
    num,
    is_ours,
    landed_id,
    {_doubt(batch, shapes)} as doubt,
    op,
    md5({_content(batch, shapes)}) as content,
    {_unsupplied(shapes)} as unsupplied,
    {_lacks(shapes)} as lacks,
    {_among(shapes, lambda shape: shape.has_before)} as has_before,
    line as raw,
    {text_sql("db")} as db,
    {text_sql("table")} as "table",
    {", ".join(envelope)},
    {", ".join(values)}
from (
    select *,
        {is_ours_sql(batch.tables)} as is_ours,
        case operation {letters} end as op,
        list_position({_lists(shapes)}, names) as shape
    from (
        select *, {_operation(batch)} as operation, cast(null as varchar) as schema
        from ({_fields_sql(batch)})
    )
)"""


def _operation(batch: Batch) -> str:
    operation = f"upper({text_sql('_operation')})"
    return (
        f"coalesce({operation}, if(bare = 'null', null, 'UPSERT'))" if batch.are_rows else operation
    )


def _fields_sql(batch: Batch) -> str:
    """Return a query of the lines taken apart: JSON by JSON, NULL for nothing and for null."""
    names = [column.name for column in batch.load.columns]
    members = [*_MEMBERS, *names, *(f"{_BEFORE}{name}" for name in names)]
    fields = [
        f"cast(event.{identifier(name)} as varchar) as {identifier(_CALLED.get(name, name))}"
        for name in _MEMBERS
    ]
    for side, prefix in (("after", ""), ("before", _BEFORE)):
        fields += [
            f"cast(event.{identifier(prefix + name)} as varchar) as {side}{number}"
            for number, name in enumerate(names)
        ]
    return apart_sql(
        dict.fromkeys(members, "JSON"), "list_sort(json_keys(line))", [*fields, "names"]
    )


def _lists(shapes: Sequence[Shape]) -> str:
    return f"cast([{', '.join(list_sql(shape.names) for shape in shapes)}] as varchar[][])"


def _among(shapes: Sequence[Shape], holds: Callable[[Shape], bool]) -> str:
    """A condition on a line: it has a shape of which something holds."""
    numbers = [str(number) for number, shape in enumerate(shapes, 1) if holds(shape)]
    return f"shape in ({', '.join(numbers)})" if numbers else "false"


def _content(batch: Batch, shapes: Sequence[Shape]) -> str:
    """The text of a line as Spark writes it, which sorts its members; of a row without NULLs."""
    places = {column.name: number for number, column in enumerate(batch.load.columns)}

    def value_of(name: str) -> str:
        if name in places:
            return f"after{places[name]}"
        if name in _MEMBERS:
            return identifier(_CALLED.get(name, name))
        return f"before{places[name.removeprefix(_BEFORE)]}"

    branches = []
    for number, shape in enumerate(shapes, 1):
        terms = []
        for name in shape.names:
            value = value_of(name)
            shown = f"case when ends_with({value}, '.0') then left({value}, -2) else {value} end"
            is_named = not batch.are_rows or name.lower() in batch.identifying
            none = literal(f'"{name}":null') if is_named else "null"
            terms.append(f"coalesce({literal(f'{chr(34)}{name}{chr(34)}:')} || {shown}, {none})")
        if terms:
            members = f"concat_ws(',', {', '.join(terms)})"
            branches.append(f"when {number} then concat('{{', {members}, '}}')")
    return f"case shape {' '.join(branches)} else '' end" if branches else "''"


def _unsupplied(shapes: Sequence[Shape]) -> str:
    """The columns that an event leaves out; a delete says nothing of them."""
    branches = " ".join(
        f"when {number} then {list_sql(shape.left_out)}"
        for number, shape in enumerate(shapes, 1)
        if shape.left_out
    )
    none = "cast(null as varchar[])"
    return f"case when op <> 'd' then case shape {branches} end end" if branches else none


def _lacks(shapes: Sequence[Shape]) -> str:
    """The columns of which an event tells nothing."""
    branches = " ".join(
        f"when {number} then if(op = 'd' and {str(shape.has_before).lower()}, "
        f"cast({list_sql(shape.never_supplied)} as varchar[]), cast({list_sql(shape.left_out)} "
        "as varchar[]))"
        for number, shape in enumerate(shapes, 1)
    )
    return f"case shape {branches} end" if branches else "cast(null as varchar[])"


def _has_key(batch: Batch, shapes: Sequence[Shape]) -> str:
    """A condition: the event has its key, and an image from before the former one or nothing of it.

    What such an image leaves out of a key of several columns, or of one that may be NULL, is that
    of the row: Spark tells it.
    """
    keys = [batch.load.number(name) for name in batch.load.keys]
    required = [number for number in keys if batch.load.columns[number].is_required]
    is_plain = len(keys) == len(required) == 1

    former = _among(shapes, lambda shape: shape.before_keys == len(keys))
    if not is_plain:
        nulls = (" or " if required else " and ").join(
            f"before{number} is null" for number in required or keys
        )
        former = f"{former} and not ({nulls})"
    nothing = _among(
        shapes, lambda shape: not shape.has_before or (is_plain and not shape.before_keys)
    )
    whole = _among(shapes, lambda shape: shape.has_whole_key)
    return (
        f"case when op = 'd' then {_among(shapes, lambda shape: shape.has_key)} "
        f"else {whole} and ({nothing} or ({former})) end"
    )


def _may_be_ours(batch: Batch) -> str:
    """A condition on a line: it tells no database, and has the rest of a name that tells one.

    Whether it is of the table then, the setting says, and Spark.
    """
    parts = [table.split(".") for table in batch.tables]
    short = {".".join(name[place:]) for name in parts for place in range(1, len(name))}
    if not short:
        return "false"
    names = ", ".join(literal(name) for name in sorted(short))
    return f"not is_ours and db is null and lower({text_sql('table')}) in ({names})"


def _doubt(batch: Batch, shapes: Sequence[Shape]) -> str:
    """Why a line may be read otherwise, or is no event that the engine knows; the first holds."""
    numbers = range(len(batch.load.columns))
    no_text = [f"not {is_text_sql(identifier(name))}" for name in ("_operation", *_CALLED.values())]
    no_name = [
        f"not ({is_text_sql(name)} or regexp_full_match({name}, '{_PLACE}'))"
        for name in ("_offset", "_transaction_id")
    ]
    not_logged = [f"contains(line, {literal(text)})" for text in batch.placeholders]
    doubts = [
        ("bare = 'null' and is_plain", None),
        (is_unsafe_sql("line"), SPARK_ALONE),
        ("not is_plain", SPARK_ALONE),
        (f"shape is null and {has_one_twice_sql('names')}", SPARK_ALONE),
        (f"operation in ({', '.join(map(literal, DDL_OPERATIONS))})", HAS_DDL),
        (f"shape is null and (names = [] or list_has_any(names, {list_sql(_OF_TABLES)}))", _NO_ROW),
        (" or ".join(no_text), _NO_ROW),
        ("operation is null", _NO_ROW),
        (f"not regexp_full_match({text_sql('_sequence_num')}, '{_PLACE}')", _NO_ROW),
        (_may_be_ours(batch), _NO_ROW),
        ("not is_ours or operation = 'COMMIT'", None),
        ("op is null", _NO_ROW),
        ("shape is null", OTHER_COLUMNS),
        (f"not ({_has_key(batch, shapes)})", _NO_KEY),
        (" or ".join(no_name), SPARK_ALONE),
        (f"{text_sql('_is_snapshot')} not in ('true', 'false')", SPARK_ALONE),
        (is_odd_sql("_event_time"), SPARK_ALONE),
        (" or ".join(is_odd_sql(f"before{one}") for one in numbers), SPARK_ALONE),
        (" or ".join(is_odd_sql(f"after{one}") for one in numbers), SPARK_ALONE),
        (" or ".join(not_logged), NOT_LOGGED),
    ]  # fmt: skip
    branches = "\n        ".join(
        f"when {condition} then {'null' if why is None else literal(why)}"
        for condition, why in doubts
    )
    return f"coalesce(known_doubt, case\n        {branches}\n    end)"
