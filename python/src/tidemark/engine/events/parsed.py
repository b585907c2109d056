"""Lines of change events taken apart, in DuckDB's SQL: what each says, and whether that is certain.

lines » parsed_sql » parsed
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidemark.engine.events.lines import IS_NOT_BLANK, LONGEST
from tidemark.engine.events.load import Batch
from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.shapes.events import HAS_DDL

_TEXTS = ("name", "db", "schema", "table", "gtid")
# and how many digits they have at most
_TIMES = {"ts_ms": 14, "ts_us": 17}
# what positions are made of: what stands between the parts, and these
POSITIONS = {
    "postgresql": (":", ("txId", "lsn")),
    "mysql": (":", ("file", "pos", "row")),
    "mariadb": (":", ("file", "pos", "row")),
    "sqlserver": (" ", ("commit_lsn", "change_lsn")),
    "oracle": (":", ("scn", "txId", "rs_id", "ssn")),
}
_PLACES = sorted({part for _, parts in POSITIONS.values() for part in parts})
_FIELDS = ("connector", "snapshot", "event_serial_no", "server_id", *_TEXTS, *_TIMES, *_PLACES)
_DELIVERED = ("delivered_us", "total_order")
# with one of these a line is no plain envelope of a row
_OTHER = ("payload", "value", "schema", "key", "_id", "status")
_OF_DDL = ("ddl", "tableChanges")
# whose members' names are asked for
_NAMED = ("$", "$.source", "$.transaction", "$.before", "$.after")
_FIRST_LINES, _MOST_USUAL = 1000, 8
_SNAPSHOTS = (
    *("false", "true", "first", "last", "first_in_data_collection", "last_in_data_collection"),
    *("last_in_collection", "incremental"),
)
SPARK_ALONE = "a line has numbers or texts of a form that is read by Spark alone"
LETTERS = {"INSERT": "c", "READ": "r", "UPDATE": "u", "UPSERT": "p", "DELETE": "d"}
"""Operation → the letter that stands for it, Debezium's where it has one."""
_NO_ROW = "a line is no plain envelope of a change of a row"
OTHER_COLUMNS = "an image has other columns than are declared"
_NO_PLACE = "an event has no position that is known"
NOT_LOGGED = "a value was not logged by the source"


def names_sql() -> str:
    """Return a query of the names of members that the first lines have: lists, each once."""
    return (
        f"select distinct unnest(json_keys(line, {list_sql(_NAMED)})[:3]) as names "
        f"from (from lines where {IS_NOT_BLANK} limit {_FIRST_LINES})"
    )


def usual_names(found: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the lists of names in which none is there twice; no more than a few."""
    once = [tuple(names) for names in found if names and len(names) == len(set(names))]
    return tuple(sorted(once)[:_MOST_USUAL])


def parsed_sql(batch: Batch, usual: Sequence[Sequence[str]]) -> str:
    """Return a query of the lines: what they say of an event, all values as texts.

    Its columns: `num`, `is_ours`, `landed_id`, `doubt` (why the engine does not answer for the
    line), `op`, `is_whole` (whether an image has more than the key), `has_before`, `raw` (the
    line), `content`, what Debezium tells of the source and the delivery, f0, f1, … (the image that
    counts) and, of keys, b0, … (the image before).

    Args:
        batch: The batch.
        usual: What usual_names() returned: names that are not looked through line by line.
    """
    columns = batch.load.columns
    every = list_sql(sorted(column.name for column in columns))
    keys = list_sql(sorted(batch.befores))
    values = [
        f"case when op = 'd' then {text_sql(f'before{number}')} "
        f"else {text_sql(f'after{number}')} end as f{number}"
        for number in range(len(columns))
    ]
    numbers = [batch.load.number(name) for name in batch.befores]
    values += [f"{text_sql(f'before{number}')} as b{number}" for number in numbers]
    fields = (*_FIELDS, *_DELIVERED, "transaction_id")
    return f"""select
    num,
    is_ours,
    landed_id,
    {_doubt(batch, every, keys, usual)} as doubt,
    op,
    op <> 'd' or before_names = {every} as is_whole,
    has_before,
    line as raw,
    md5(concat({_image(batch, "before", every, keys)}, '|', {_image(batch, "after", every, keys)}))
        as content,
    {", ".join(f"{text_sql(name)} as {identifier(name)}" for name in fields)},
    {", ".join(values)}
from (
    select *, {is_ours_sql(batch.tables)} as is_ours
    from ({_fields_sql(batch)})
)"""


def _fields_sql(batch: Batch) -> str:
    """Return a query of the lines taken apart: JSON by JSON, NULL for nothing and for null."""
    names = [column.name for column in batch.load.columns]
    image = dict.fromkeys(names, "JSON")
    envelope = {
        "op": "VARCHAR",
        "ts_us": "JSON",
        "transaction": {"id": "JSON", "total_order": "JSON"},
        "source": dict.fromkeys(_FIELDS, "JSON"),
        "before": image,
        "after": image,
    }
    fields = [f"cast(event.source.{identifier(name)} as varchar) as {identifier(name)}" for name in _FIELDS]  # fmt: skip  # noqa: E501
    for side in ("before", "after"):
        fields += [
            f"cast(event.{side}.{identifier(name)} as varchar) as {side}{number}"
            for number, name in enumerate(names)
        ]
    named = [
        "event.op as op",
        "cast(event.transaction.id as varchar) as transaction_id",
        "cast(event.transaction.total_order as varchar) as total_order",
        "cast(event.ts_us as varchar) as delivered_us",
        "names[1] as top_names",
        "names[2] as source_names",
        "names[3] as transaction_names",
        "list_sort(names[4]) as before_names",
        "list_sort(names[5]) as after_names",
        *(f"event.{name} is not null as has_{name}" for name in ("transaction", "before", "after")),
    ]
    return apart_sql(envelope, f"json_keys(line, {list_sql(_NAMED)})", [*named, *fields])


def apart_sql(members: Mapping[str, Any], names: str, fields: Sequence[str]) -> str:
    """Return a query of the lines taken apart.

    `bare` is a line as DuckDB writes it, without spaces between what it has; `is_plain`: it
    changes nothing else.

    Args:
        members: What is taken of a line: name to type, or to members of its own.
        names: What tells the names of its members.
        fields: What the query has beside, of `event` (the members) and `names`.
    """
    listed = ",\n        ".join(fields)
    return f"""select
        num,
        line,
        bare,
        landed_id,
        known_doubt,
        case
            when bare = line then true
            when contains(bare, ' ') then {_spaceless("bare")} = {_spaceless("line")}
            else bare = {_spaceless("line")}
        end as is_plain,
        {listed}
    from (
        select
            num,
            line,
            landed_id,
            known_doubt,
            json_transform(line, {literal(json.dumps(members))}) as event,
            {names} as names,
            cast(json(line) as varchar) as bare
        from lines
        where {IS_NOT_BLANK}
    )"""


def _spaceless(text: str) -> str:
    """A text without its spaces: replace() goes by characters and is slower."""
    return f"array_to_string(string_split({text}, ' '), '')"


def is_text_sql(value: str) -> str:
    """Return a condition on JSON: it is a text; NULL of nothing."""
    return f"starts_with({value}, '\"')"


def text_sql(name: str) -> str:
    """Return the text of a JSON value, as a variant is cast to it: 12.0 is 12."""
    value = identifier(name)
    return (
        f"case when {is_text_sql(value)} then case when contains({value}, '\\') "
        f"then json_extract_string({value}, '$') else replace({value}, '\"', '') end "
        f"when ends_with({value}, '.0') then left({value}, -2) else {value} end"
    )


def _image(batch: Batch, side: str, every: str, keys: str) -> str:
    """The text of an image as Spark writes its map: by names of columns, values as texts."""

    def text(names: Iterable[str]) -> str:
        terms = []
        for place, name in enumerate(sorted(names)):
            value = f"{side}{batch.load.number(name)}"
            label = literal(f'{"," if place else "{"}"{name}":')
            terms.append(
                f"{label}, case when {value} is null then 'null' "
                f"when {is_text_sql(value)} then {value} "
                f"when ends_with({value}, '.0') then '\"' || left({value}, -2) || '\"' "
                f"else '\"' || {value} || '\"' end"
            )
        return f"concat({', '.join(terms)}, '}}')"

    whole = f"when {side}_names = {every} then {text(one.name for one in batch.load.columns)}"
    short = "" if keys == every else f" when {side}_names = {keys} then {text(batch.befores)}"
    return f"case {whole}{short} else '' end"


def is_ours_sql(tables: Sequence[str]) -> str:
    """Return a condition: an event is of one of the tables.

    Each is named with or without its database and schema; those of the event are `db`, `schema`,
    `table`, as JSON.
    """
    if not tables:
        return "true"
    parts = {name: text_sql(name) for name in ("db", "schema", "table")}
    named = (("table",), ("schema", "table"), ("db", "table"), ("db", "schema", "table"))
    wanted = ", ".join(literal(name) for name in tables)
    terms = [
        f"lower(concat_ws('.', {', '.join(parts[part] for part in chosen)})) in ({wanted})"
        for chosen in named
    ]
    return f"({' or '.join(terms)})"


def _doubt(batch: Batch, every: str, keys: str, usual: Sequence[Sequence[str]]) -> str:
    """Why a line may be read otherwise, or is no event that the engine knows; the first holds."""
    numbers = range(len(batch.load.columns))
    whole = f"{every}, {keys}"
    has_other = f"list_has_any(top_names, {list_sql(_OTHER)})"
    plain, no_ddl = (
        [names for names in usual if set(names).isdisjoint(odd)] for odd in (_OTHER, _OF_DDL)
    )
    snapshots = ", ".join(literal(json.dumps(mark)) for mark in _SNAPSHOTS)
    doubts = [
        ("bare = 'null' and is_plain", None),
        (is_unsafe_sql("line"), SPARK_ALONE),
        ("not is_plain", SPARK_ALONE),
        (" or ".join(
            _unless_usual(names, has_one_twice_sql(names), usual)
            for names in ("top_names", "source_names", "transaction_names")
        ), SPARK_ALONE),
        (_unless_usual("top_names", f"list_has_any(top_names, {list_sql(_OF_DDL)})", no_ddl),
         HAS_DDL),
        (_unless_usual("top_names", has_other, plain), _NO_ROW),
        ("op is null or op not in ('c', 'u', 'r', 'd')", _NO_ROW),
        ('"table" is null or connector is null', _NO_ROW),
        ("has_transaction and transaction_names = []", _NO_ROW),
        (" or ".join(_is_no_text(name) for name in (*_TEXTS, "transaction_id")), _NO_ROW),
        ("not is_ours", None),
        (f"snapshot not in ('true', 'false', {snapshots})", _NO_ROW),
        (" or ".join(_is_no_number(*one) for one in _TIMES.items()), _NO_ROW),
        (_has_no_place(), _NO_PLACE),
        (f"op <> 'd' and after_names is distinct from {every}", OTHER_COLUMNS),
        (f"op <> 'd' and before_names <> [] and before_names not in ({whole})", OTHER_COLUMNS),
        (f"op = 'd' and (before_names is null or before_names not in ({whole}))", OTHER_COLUMNS),
        ("op = 'd' and after_names <> []", OTHER_COLUMNS),
        *[(f"has_{side} and {side}_names = []", OTHER_COLUMNS) for side in ("before", "after")],
        (" or ".join(is_odd_sql(f"before{one}") for one in numbers), SPARK_ALONE),
        (" or ".join(is_odd_sql(f"after{one}") for one in numbers), SPARK_ALONE),
        (" or ".join(f"contains(line, {literal(text)})" for text in batch.placeholders),
         NOT_LOGGED),
    ]  # fmt: skip
    branches = "\n        ".join(
        f"when {condition} then {'null' if why is None else literal(why)}"
        for condition, why in doubts
    )
    return f"coalesce(known_doubt, case\n        {branches}\n    end)"


def operation_sql(letter: str) -> str:
    """Return the operation that a letter stands for."""
    branches = " ".join(f"when '{one}' then '{operation}'" for operation, one in LETTERS.items())
    return f"case {letter} {branches} end"


def is_unsafe_sql(line: str) -> str:
    """Return a condition on JSON: it is none, or too much of it, to one of the readers."""
    zeros = f"translate({line}, '123456789', '000000000')"
    # what is cheap to find out goes first
    digits = f"regexp_matches({line}, '[0-9]{{40}}') and contains({zeros}, repeat('0', 800))"
    brackets = " or ".join(
        f"strlen({line}) - strlen(replace({line}, '{bracket}', '')) > 400" for bracket in "{["
    )
    maybe = (f"regexp_matches({line}, '{part}')" for part in ("[nN][aA][nN]", "[iI][nN][fF]"))
    texts = literal(r'"(?:[^"\\]|\\.)*"')
    return (
        f"strlen({line}) > {LONGEST} or contains({line}, '\\u0000')\n"
        f"    or (strlen({line}) > 800 and ({brackets} or ({digits})))\n"
        # one search for both of them, or one that minds no case, takes twice as long
        f"    or (({' or '.join(maybe)})\n"
        f"        and regexp_matches({line}, '[:,\\[]\\s*-?(nan|inf)', 'i')\n"
        f"        and regexp_matches(regexp_replace({line}, {texts}, '', 'g'), 'nan|inf', 'i'))"
    )


def _unless_usual(names: str, condition: str, usual: Sequence[Sequence[str]]) -> str:
    """A condition on a list of names, which none of the usual ones meets."""
    if not usual:
        return condition
    lists = ", ".join(map(list_sql, usual))
    return f"case when {names} in ({lists}) or {names} = [] then false else {condition} end"


def has_one_twice_sql(names: str) -> str:
    """Return a condition on a list of names: one is there twice."""
    return f"list_unique({names}) <> len({names})"


def _is_no_text(name: str) -> str:
    return f"not {is_text_sql(identifier(name))}"


def _is_no_number(name: str, digits: int) -> str:
    return f"not regexp_full_match({name}, '0|-?[1-9][0-9]{{0,{digits - 1}}}')"


def is_odd_sql(value: str) -> str:
    """Return a condition on JSON: it is no text, no truth value, no number kept digit for digit."""
    return (
        f"case when {value} is null or {is_text_sql(value)} or {value} in ('true', 'false') "
        f"then false else {value} in ('-0', '-0.0') or not regexp_full_match({value}, "
        "'-?[0-9]{1,38}|-?[0-9]{1,17}\\.[0-9]{1,17}') end"
    )


def _has_no_place() -> str:
    def is_odd(name: str) -> str:
        value = identifier(name)
        return f"not ({is_text_sql(value)} or regexp_full_match({value}, '0|[1-9][0-9]{{0,18}}'))"

    branches = [
        f"when {literal(json.dumps(connector))} "
        f"then coalesce({' or '.join(map(is_odd, parts))}, false)"
        for connector, (_, parts) in POSITIONS.items()
    ]
    odd = f"{is_odd('event_serial_no')} or {is_odd('server_id')}"
    return f"{odd} or case connector {' '.join(branches)} else true end"
