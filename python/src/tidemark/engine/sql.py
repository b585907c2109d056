"""The queries of a load, in DuckDB's SQL: the same arguments give the same text.

    files » arrived_sql » staged ─► classified_sql » classified ─► log_sql     » files of the log
                        existing ─┘                             └─► current_sql » files of current

Columns go by numbers (c0, c1, … in the order of the roles, f0, f1, … in that of the file), so that
no name meets another one, or SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tidemark.engine.load import VALUE, Column, Load, Target
from tidemark.engine.members import line_doubt_sql, lines_sql, member_doubt_sql
from tidemark.engine.quoted import identifier, list_sql, literal
from tidemark.engine.types import (
    cast_sql,
    is_floating,
    kind_of,
    negative_zero_sql,
    no_value_sql,
    text_sql,
    unproven_sql,
    unproven_value_sql,
)


def arrived_sql(load: Load, has_quotes: bool) -> str:
    """Return a query of all rows of the files, typed and hashed.

    Its columns: c0, c1, …, `kh` and `rh` (the hashes of key and row), `unproven`, the number of
    the first column whose value the engine cannot answer for, from 0, -1 for a whole line, and
    `within`, how many separators the row has inside its fields, as it can where the files have
    quotes. Where the load takes rejects, a row that is one has a `reason` and its texts (`raw`), no
    `rh`, and no `kh` if the key is the reason.
    """
    values = []
    doubts = [f"when {line_doubt_sql()} then -1"] if load.format == "json" else []
    for number, column in enumerate(load.columns):
        values.append(f"{_value(column)} as c{number}")
        doubts += _doubts(load, number, column)
    keys, row, reject = hash_sql(load, load.keys), hash_sql(load, load.compared), ""
    if load.takes_rejects:
        of_key, reasons = reasons_sql(load)
        raw = f"case when reason is not null then {_raw(load)} end"
        reject = f"    {reasons} as reason,\n    {raw} as raw,\n"
        keys, row = f"if({of_key}, null, {keys})", f"if(reason is null, {row}, null)"
        # characters that JSON has by their numbers
        doubts.append(r"when regexp_matches(raw, '\\[ubf]') then -1")
    doubt = f"case {' '.join(doubts)} end" if doubts else "null"
    # a value is used by its number in the same select: DuckDB works it out once
    return (
        f"select {', '.join(values)},\n"
        f"{reject}"
        f"    {keys} as kh,\n"
        f"    {row} as rh,\n"
        f"    {doubt} as unproven,\n"
        f"    {_separators_within(load) if has_quotes else '0'} as within\n"
        f"from {files_sql(load)}"
    )


def reasons_sql(load: Load) -> tuple[str, str]:
    """Return a condition, that a row's key is the reason to reject it, and the first reason."""
    reasons, of_keys = [], []
    order = sorted(
        range(len(load.columns)), key=lambda one: load.columns[one].name not in load.keys
    )
    for number in order:
        column, found = load.columns[number], []
        if none := _no_value(load, number):
            found.append((none, f"cast_failed: {column.name}"))
        if column.is_required:
            what = "null_key" if column.name in load.keys else "null_value"
            found.append((f"c{number} is null", f"{what}: {column.name}"))
        reasons += [f"when {one} then {literal(text)}" for one, text in found]
        of_keys += [one for one, _ in found if column.name in load.keys]
    reason = f"case {' '.join(reasons)} end" if reasons else "null::varchar"
    return " or ".join(of_keys) or "false", reason


def _no_value(load: Load, number: int) -> str | None:
    """Return a condition: what arrived for a column is surely no value of it."""
    column = load.columns[number]
    none = no_value_sql(f"f{column.place}", column.type) if column.place is not None else None
    # which is looked at where there is none: of a NULL it is false
    return (
        f"case when c{number} is null then coalesce({none}, false) else false end" if none else None
    )


def _raw(load: Load) -> str:
    """Return a row as it arrived, as JSON."""
    terms = []
    for column in load.columns:
        if column.place is not None:
            text = f"f{column.place}"
            shown = f"if({text} is null, null, '***')" if column.is_sensitive else text
            terms.append(f"{identifier(column.name)} := {shown}")
    return f"cast(to_json(struct_pack({', '.join(terms)})) as varchar)"


def _value(column: Column) -> str:
    if column.place is None:
        return f"cast(null as {_duck(column)})"
    if column.arrives_as == column.type != "string":
        return f"cast(f{column.place} as {_duck(column)})"
    return cast_sql(f"f{column.place}", column.type)


def _doubts(load: Load, number: int, column: Column) -> list[str]:
    is_judged = column.is_required and not load.takes_rejects
    if column.place is None:
        return [f"when true then {number}"] if is_judged else []
    conditions = [f"c{number} is null"] if is_judged else []
    if load.format == "json":
        conditions.append(member_doubt_sql(load.fields[column.place], column.place, column.type))
    if column.arrives_as != column.type or load.format == "csv":
        odd = unproven_sql(f"f{column.place}", f"c{number}", column.type)
        none = _no_value(load, number) if load.takes_rejects else None
        conditions.append(f"case when {odd} then not {none} else false end" if none else odd)
    elif doubt := unproven_value_sql(f"c{number}", column.type):
        conditions.append(doubt)
    return [f"when {condition} then {number}" for condition in conditions]


def _separators_within(load: Load) -> str:
    separator = literal(load.separator)
    terms = [
        f"coalesce(strlen(f{place}) - strlen(replace(f{place}, {separator}, '')), 0)"
        for place in range(load.width)
    ]
    # a sum of a thousand is nested too deep for DuckDB
    sums = [" + ".join(terms[first : first + 100]) for first in range(0, len(terms), 100)]
    return sums[0] if len(sums) == 1 else f"({') + ('.join(sums)})"


def files_sql(load: Load) -> str:
    """Return the files as a relation, f0, f1, …: of CSV files texts, as RFC 4180 has them.

    An empty field is NULL, an empty one in quotes is not; whatever is no such line is an error. Of
    JSON lines see lines_sql().
    """
    if load.format == "parquet":
        named = [f"{identifier(name)} as f{place}" for place, name in enumerate(load.fields)]
        return f"(select {', '.join(named)} from {parquet_sql(load.files)})"
    if load.format == "json":
        return f"({lines_sql(list_sql(load.files), load.fields)})"
    fields = ", ".join(f"'f{place}': 'VARCHAR'" for place in range(load.width))
    return (
        f"read_csv({list_sql(load.files)}, columns = {{{fields}}}, header = true, "
        "auto_detect = false, "
        f"delim = {literal(load.separator)}, quote = '\"', escape = '\"', nullstr = '', "
        "allow_quoted_nulls = false, strict_mode = true, null_padding = false, "
        "hive_partitioning = false)"
    )


def parquet_sql(files: Iterable[str]) -> str:
    """Return Parquet files as a relation of the columns that are in them.

    A folder of their path such as `region=eu` is none, whatever DuckDB takes it for.
    """
    return f"read_parquet({list_sql(files)}, union_by_name = true, hive_partitioning = false)"


def hash_sql(load: Load, names: Sequence[str], of: str = "c") -> str:
    """Return the hash of some columns of a row (docs block `hash_recipe`).

    Args:
        load: The load.
        names: The columns, in the order of the hash.
        of: What the names of the values begin with, before their numbers.
    """
    texts = {}
    for name in names:
        number = load.number(name)
        text = text_sql(*compared_sql(load, number, f"{of}{number}"))
        if load.columns[number].is_sensitive:
            pepper = load.pepper
            text = f"sha256({literal(f'{len(pepper.encode())}:{pepper}')} || {text})"
        texts[name] = text
    return f"{'sha256' if load.hash == 'sha256' else 'md5'}({hashed_sql(texts)})"


def compared_sql(load: Load, number: int, value: str) -> tuple[str, str]:
    """Return what is compared of a column's value, and its Spark type."""
    column = load.columns[number]
    if column.compared is None:
        return value, column.type
    return column.compared[0].replace(identifier(VALUE), value), column.compared[1]


def hashed_sql(texts: Mapping[str, str]) -> str:
    """Return the text that is hashed of columns, name to canonical text."""
    parts = []
    for name, text in texts.items():
        label = literal(f"{len(name.encode())}:{name}")
        # concat leaves out what is NULL: so nothing is left of a column without a value. One call
        # for all parts costs half of a || for each
        parts += [f"if({text} is null, '', {label})", f"strlen({text})"]
        parts += [f"if({text} is null, '', ':')", text]
    return f"concat({', '.join(parts)})" if parts else "''"


def one_of_each_sql(load: Load) -> str:
    """Return a query of what arrived, one of exact copies: that of the greatest ignored values.

    Values are ignored, too, where something else is compared in their place.
    """
    others = [one.name for one in load.columns if one.compared and one.name in load.compared]
    numbers = [load.number(name) for name in (*load.ignored, *others)]
    order = [
        f"{text_sql(f'c{number}', load.columns[number].type)} desc nulls last" for number in numbers
    ]
    chosen = f"partition by kh order by {', '.join(order) or 'kh'}"
    return f"select * from arrived qualify row_number() over ({chosen}) = 1"


def existing_sql(
    load: Load, current: Target, written: Iterable[str], more: Sequence[tuple[str, str, str]] = ()
) -> str:
    """Return a query of current as it is: c0, c1, …, `kh`, `rh`, `operation`, `since`.

    Args:
        load: The load.
        current: The table, with its files.
        written: The names of the columns that some of its files have.
        more: Columns beside these: what they are called here, in the table, and their type.
    """
    known = set(written)

    def stored(name: str, duck: str) -> str:
        field = current.fields[name][0]
        return f"cast({identifier(field) if field in known else 'null'} as {duck})"

    columns = [
        f"{stored(column.name, _duck(column))} as c{number}"
        for number, column in enumerate(load.columns)
    ]
    others = "".join(f", {stored(name, duck)} as {alias}" for alias, name, duck in more)
    return (
        f"select {', '.join(columns)}, {stored('_key_hash', 'VARCHAR')} as kh, "
        f"{stored('_row_hash', 'VARCHAR')} as rh, {stored('_operation', 'VARCHAR')} as operation, "
        f"{stored('_eff_start_date', 'DATE')} as since{others}\n"
        f"from {parquet_sql(current.files)}"
    )


def there_sql(current: Target) -> str:
    """Return a query of how many rows current has that are not deleted."""
    operation = identifier(current.fields["_operation"][0])
    return f"select count(*) from {parquet_sql(current.files)} where {operation} <> 'D'"


def classified_sql(load: Load) -> str:
    """Return a query of the keys in `staged` and `existing`, with what becomes of each.

    Its columns: `kh`, `op` (I, U, D, N; X of a key that a delta does not supply, K of one that was
    deleted before and is kept), and of a row that is there `was` and `began`. Where a delta leaves
    as they are what it does not supply, there is no X and no K. This is the only join of all rows,
    and a narrow one: values are joined to it where they are written.
    """
    absent = "X" if load.extract == "delta" else "D"
    gone = f"when after.kh is null then if(before.operation = 'D', 'K', '{absent}')\n        "
    return f"""select
    {"coalesce(after.kh, before.kh) as kh" if load.judges_all else "after.kh"},
    case
        {gone if load.judges_all else ""}when before.kh is null or before.operation = 'D' then 'I'
        when after.rh = before.rh then 'N'
        else 'U'
    end as op,
    before.operation as was,
    before.since as began
from staged as after
{"full outer" if load.judges_all else "left"} join existing as before on after.kh = before.kh"""


def all_new_sql() -> str:
    """Return a query of what classified_sql() tells, of rows that come to an entity without any."""
    return "select kh, 'I' as op, null::varchar as was, null::date as began from staged"


def unwritable_sql(load: Load, rows: str) -> str | None:
    """Return a query that has a row if files would get a value other than it is; None: none can."""
    terms = [
        negative_zero_sql(f"c{number}")
        for number, column in enumerate(load.columns)
        if is_floating(column.type)
    ]
    return f"select 1 from {rows} where {' or '.join(terms)} limit 1" if terms else None


STANDING = "existing anti join (from classified where op in ('I', 'U')) using (kh)"
"""The rows that are there and may be written as they are."""


def changed_sql(load: Load) -> str:
    """Return the names of the compared columns that an update changed: before_c0 to after_c0, …"""
    if not load.changed_columns:
        return "cast(null as varchar[])"
    names = []
    for name in load.compared:
        number = load.number(name)
        before, after = (
            compared_sql(load, number, f"{side}_c{number}")[0] for side in ("before", "after")
        )
        differs = f"{before} is distinct from {after}"
        names.append(f"if({differs}, {literal(name)}, null)")
    changed = f"list_filter([{', '.join(names)}], lambda name: name is not null)" if names else "[]"
    return f"case when op = 'U' then cast({changed} as varchar[]) end"


def log_sql(load: Load, log: Target, found: Collection[str]) -> str:
    """Return a query of the rows that the load adds to the log, as its files have them.

    The business date is their partition, which is not in them.

    Args:
        load: The load.
        log: The table.
        found: The operations that `classified` has.
    """
    values = {
        "_key_hash": "kh",
        "_row_hash": "rh",
        "_operation": "op",
        "_eff_start_date": f"date '{load.business_date}'",
        "_changed_columns": "changed",
        "_commit_id": f"cast({load.commit_id} as bigint)",
    }
    parts = []
    if "I" in found or "U" in found:
        compared = load.changed_columns and "U" in found
        came = _compared_sql(load) if compared else "staged join classified using (kh)"
        parts.append((f"{came}\nwhere op in ('I', 'U')", compared))
    if "D" in found:
        parts.append(("existing join classified using (kh)\nwhere op = 'D'", False))
    unknown = {"_changed_columns": "cast(null as varchar[])"}
    return "\nunion all\n".join(
        f"select {named_sql(load, log, values if compared else values | unknown)}\nfrom {rows}"
        for rows, compared in parts
    )


def _compared_sql(load: Load) -> str:
    """Return a relation of the rows that are new or other than before, with what they change."""
    after, before = (
        ", ".join(f"{side}.c{number} as {side}_c{number}" for number in range(len(load.columns)))
        for side in ("after", "before")
    )
    return f"""(
    select *, {changed_sql(load)} as changed
    from (
        select after.*, {after}, {before}
        from (
            from staged join (select kh, op from classified where op in ('I', 'U')) using (kh)
        ) as after
        left join (
            from existing semi join (from classified where op = 'U') using (kh)
        ) as before on after.kh = before.kh
    )
)"""


def current_sql(load: Load, current: Target, found: Collection[str], is_whole: bool) -> str:
    """Return a query of the rows of current after the load, as its files have them.

    They are those that came, and the others of `standing`, the part of `existing` that is written
    anew.

    Args:
        load: The load.
        current: The table.
        found: The operations that `classified` has.
        is_whole: Whether that part is all of it.
    """
    unchanged = "if(op = 'K', was, op)" if load.tag_unchanged else "was"
    tags = {
        "_operation": f"if(op in ('N', 'X', 'K'), {unchanged}, op)",
        "_eff_start_date": f"if(op in ('N', 'X', 'K'), began, date '{load.business_date}')",
    }
    came, stood = {"I", "U"}, {"X", "K"}
    if load.soft_delete:
        stood.add("D")
    (came if is_whole and _is_decided_by_hash(load) else stood).add("N")
    sides = [(_of("staged", came), tags)]
    if not load.tag_unchanged and ("N" in stood or not load.judges_all):
        # most rows stay: to leave out the others costs less than to look for each
        others = _listed(came | {"D"})
        rest = f"standing anti join (from classified where op in ({others})) using (kh)"
        sides.append((rest, {"_operation": "operation", "_eff_start_date": "since"}))
        stood &= {"D"}
    # staged is asked for nothing too where current is left without a row
    if stood & set(found):
        sides.append((_of("standing", stood), tags))
    return "\nunion all\n".join(
        f"select {named_sql(load, current, {'_key_hash': 'kh', '_row_hash': 'rh', **values})}\n"
        f"from {rows}"
        for rows, values in sides
    )


def _of(rows: str, operations: Collection[str]) -> str:
    """Return the rows that operations make of others."""
    return f"{rows} join classified using (kh)\nwhere op in ({_listed(operations)})"


def _listed(operations: Collection[str]) -> str:
    return ", ".join(map(literal, sorted(operations)))


def _is_decided_by_hash(load: Load) -> bool:
    """Return whether rows of equal hashes are equal: those that came then stand for those there."""
    hashed = {*load.keys, *load.compared}
    return all(
        column.name in hashed and not column.compared and not is_floating(column.type)
        for column in load.columns
    )


def supplied_sql(load: Load, supplied: Target) -> str:
    """Return a query of the keys that a delta supplies, as the files of their table have them."""
    values = {
        "_key_hash": "kh",
        "_business_date": f"date '{load.business_date}'",
        "_commit_id": f"cast({load.commit_id} as bigint)",
    }
    named = ", ".join(
        f"{value} as {identifier(supplied.fields[name][0])}" for name, value in values.items()
    )
    return f"select {named}\nfrom staged"


def named_sql(load: Load, table: Target, values: Mapping[str, str]) -> str:
    """Return the columns of a table, by the names that its files have them by."""
    chosen = {column.name: f"c{number}" for number, column in enumerate(load.columns)}
    return ", ".join(
        f"{value} as {identifier(table.fields[name][0])}"
        for name, value in (chosen | dict(values)).items()
    )


def _duck(column: Column) -> str:
    return kind_of(column.type).duck
