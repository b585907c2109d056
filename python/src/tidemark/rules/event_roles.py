"""The role of each column of change events, and the order of events.

Unlike an extract's, a column that does not arrive is no drift: an event need not bring every
column. One that the setting `columns` leaves out by now `stays` as it is: for what is stored no
event brings it, though predicates may read what one has of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tidemark.errors import DataError
from tidemark.model.columns import misplaced_layout, refused_name
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean, nearest
from tidemark.rules.column_roles import columns_by_use, held_not_null, is_held
from tidemark.rules.drift import column_role, keys_in_order, named, recorded_layout
from tidemark.rules.names import is_chosen, lowered, names_of, unique
from tidemark.rules.types import is_widening, struct_fields, wider_type
from tidemark.shapes.events import Batch, BatchColumns, Stretch
from tidemark.shapes.opened import Recorded, RecordedColumn, SourceColumn
from tidemark.shapes.roles import Column, Roles
from tidemark.shapes.settings import Settings

Fields = Mapping[Any, SourceColumn]
# the replicator looks for these words in a failed load: an empty table has no columns yet
NO_COLUMNS = "the YAML declares no columns"


def event_roles(
    cfg: Settings,
    found: BatchColumns,
    types: Mapping[str, str],
    recorded: Recorded | None,
    reserved: Collection[str],
    recipe: int,
) -> Roles:
    """Return the name and type of every column, and how the values of events are read.

    Example:
        >>> roles = event_roles(cfg, found, {"id": "bigint"}, None, …)
        >>> [(column["name"], column["type"], column["encodings"]) for column in roles["columns"]]
        [('id', 'bigint', {None: 'auto'})]

    Args:
        cfg: The settings of the entity.
        found: What the batch holds.
        types: The declared types in Spark's spelling, by lower-case name.
        recorded: What the last commit was made with, None on a first run.
        reserved: Names of columns that loads of events add.
        recipe: The version of the hash recipe.

    Raises:
        ConfigError: The YAML and the events do not go together.
    """
    errors: list[str] = []
    known = (recorded or {}).get("columns", [])
    aliases = aliases_of(cfg, found, known)
    names = _names(cfg, found, recorded, aliases, reserved, errors)
    columns = [
        _column(cfg, found, types, recorded, _source_names(name, aliases, found), name, number)
        for number, name in enumerate(names, 1)
    ]
    present = lowered([*names, *found.get("to_come", [])])
    tracked = cfg["tracked"]["include"] + cfg["tracked"]["exclude"]
    for setting, chosen in (
        ("ignore", cfg["ignore"]),
        ("sensitive", cfg["sensitive"]),
        ("track_history", tracked),
    ):
        errors += [
            f"{setting} names column `{name}`, which no event has{did_you_mean(name, names)}"
            for name in chosen
            if name.lower() not in present
        ]
    if found["names"]:
        errors += misplaced_layout(cfg, names, "no event has")
    excluded = [
        name.lower()
        for name in unique([*((recorded or {}).get("excluded") or []), *found["names"]])
        if not is_chosen(cfg["chosen"], name)
    ]
    errors += _misspelt(cfg, found, recorded, [*present, *excluded])
    raise_problems(cfg["entity"], errors, "the configuration has")
    return _roles(cfg, found, recorded, columns, excluded, recipe)


def aliases_of(
    cfg: Settings, found: BatchColumns, known_columns: Sequence[RecordedColumn] = ()
) -> dict[str, str]:
    """Return former names, lower case, and the present name of each.

    They are those of `previous_names`, and of renames in the batch whose new name is declared, but
    where the column is known under the former name so far: its values go there until the statement
    takes them along.

    Example:
        >>> aliases_of({"previous_names": {"town": "City"}, "columns": [], "keys": []}, found)
        {'city': 'town'}
    """
    aliases = {
        former.lower(): name.lower()
        for name, old in cfg["previous_names"].items()
        for former in ([old] if isinstance(old, str) else old)
    }
    declared = lowered([*names_of(cfg["columns"]), *cfg["keys"]])
    known = lowered(one["name"] for one in known_columns if not one.get("gone"))
    for old, new in found["renames"].items():
        if new.lower() in declared and old.lower() not in declared + known:
            aliases[old.lower()] = new.lower()
    return aliases


def _names(
    cfg: Settings,
    found: BatchColumns,
    recorded: Recorded | None,
    aliases: Mapping[str, str],
    reserved: Collection[str],
    errors: list[str],
) -> list[str]:
    """The columns that are recorded, then those that are declared, in the key, or arrived."""
    declared = names_of(cfg["columns"])
    names = names_of((recorded or {}).get("columns", []))
    # a column that images bring under its former name stands where that name does
    presents = {name.lower(): name for name in reversed(cfg["previous_names"])}
    arrived = [presents.get(aliases.get(name.lower(), ""), name) for name in found["names"]]
    # Canonical rows need not bring every column of their table. An envelope does, save for those
    # that its capture leaves out, which Debezium's DDL names all the same.
    told = names_of(found["ddl"] or []) if cfg["format"] == "canonical" else []
    left_out = [
        name
        for name in (recorded or {}).get("excluded_types") or {}
        if found["arrived"] is None and not is_chosen(cfg["chosen"], name)
    ]
    seen, stays_out = set(lowered(names)), set(lowered(found["refused"]))
    ignores = bool(recorded) and cfg["ddl"]["add_column"] == "ignore"
    for name in [*declared, *cfg["keys"], *arrived, *told, *left_out]:
        lower = name.lower()
        is_new = lower not in aliases and lower not in stays_out and not ignores
        # an image of before is told by that prefix
        images = [lower] if lower.startswith("_before_") else []
        refused = refused_name(name, [*reserved, *images], " of the events")
        if refused and is_chosen(cfg["chosen"], name):
            errors.append(
                f"{refused}: rename it in the source or in a model between, or leave it out "
                f"(columns: {{exclude: [{json.dumps(name)}]}})"
            )
        if lower not in seen and not refused and (lower in lowered(declared) or is_new):
            names.append(name)
            seen.add(lower)
    return names


def _source_names(name: str, aliases: Mapping[str, str], found: BatchColumns) -> list[str]:
    """The names under which images may bring a column."""
    lower = name.lower()
    sources = [one for one in found["names"] if one.lower() == lower] or [name]
    former = [one for one in found["names"] if aliases.get(one.lower()) == lower]
    return sources + [one for one in former if one not in sources]


def _column(
    cfg: Settings,
    found: BatchColumns,
    types: Mapping[str, str],
    recorded: Recorded | None,
    sources: Sequence[str],
    name: str,
    number: int,
) -> Column:
    lower, past = name.lower(), recorded or {}
    known_columns = past.get("columns", [])
    known = next((one for one in known_columns if one["name"] == name), None)
    is_gone = known is not None and known.get("gone", False)
    declared = {one["name"].lower(): one for one in cfg["columns"]}
    declaration: Mapping[str, Any] = declared.get(lower, {})
    fields = _fields_of(sources, found)
    source_type = _field_type(cfg, sources, fields, found)
    kind = types.get(lower) or (known["type"] if known else source_type)
    kind = kind or (past.get("excluded_types") or {}).get(name) or "string"
    if known:
        widens = not types.get(lower) and source_type and cfg["ddl"]["widen_column"] == "apply"
        was, is_now = (kind, source_type) if widens else (known["type"], kind)
        kind = wider_type(was, is_now or "", cfg["file_format"]) or kind
    is_typed = found["arrived"] is not None
    arrived = (found["arrived"] or {}).get(lower)
    before = (found["arrived"] or {}).get(f"_before_{lower}")
    is_taken = lower in lowered(one["hash_name"] for one in known_columns)
    is_key = lower in lowered(keys_in_order(cfg, recorded))
    is_ordering = _reads_column("\n".join(cfg["sequence_by"]), name)
    return {
        "name": name,
        "hash_name": known["hash_name"] if known else f"{name}~{number}" if is_taken else name,
        "sources": list(sources),
        "encodings": _encodings_of(cfg, name, fields, found),
        "source_name": arrived["name"] if arrived else None,
        "source_type": arrived["type"] if arrived else None,
        "arrived": arrived is not None if is_typed else lower in lowered(found["names"]),
        "before_arrived": before is not None,
        "before_type": before["type"] if before else None,
        "type": kind,
        "recorded_type": known["type"] if known else None,
        "key": is_key,
        "ignored": lower in lowered(cfg["ignore"]),
        "chosen": is_gone or is_chosen(cfg["chosen"], name),
        "known": known,
        "gone": is_gone,
        "dropped": False,
        "sensitive": known["sensitive"]
        if known and is_gone
        else lower in lowered(cfg["sensitive"]),
        "not_null": declaration.get("not_null", False) or (is_key and cfg["null_keys"] == "reject"),
        # not more than the key, as an event may leave out what a row must have, of a key that is
        # not there
        "held": is_key and is_held(recorded, known),
        "description": declaration.get("description", ""),
        "default": _default_of(fields),
        "orders": cfg["format"] == "debezium" and not is_key and is_ordering,
    }


def _fields_of(sources: Sequence[str], found: BatchColumns) -> dict[Any, SourceColumn]:
    """What the schemas of the batch say of a column: schema id, or `ddl`, → field."""
    wanted = lowered(sources)
    told = {**found["schemas"], "ddl": found["ddl"] or []}
    return {
        schema: column
        for schema, columns in told.items()
        for column in columns
        if column["name"].lower() in wanted
    }


def _field_type(
    cfg: Settings, sources: Sequence[str], fields: Fields, found: BatchColumns
) -> str | None:
    """The type of a column at the source.

    That is by its last schema, unless rows of the batch before that need a wider one. The DDL, if
    there is some, says what it is in this stretch.
    """
    kind: str | None = None
    for schema, field in fields.items():
        is_last = schema == "ddl" or not kind
        if field["type"] and (
            is_last or not is_widening(field["type"], kind or "", cfg["file_format"])
        ):
            kind = field["type"]
    for source in sources:
        if not kind:
            arrived = (found["arrived"] or {}).get(source.lower())
            kind = arrived["type"] if arrived else found["inferred"].get(source)
    return kind


def _encodings_of(cfg: Settings, name: str, fields: Fields, found: BatchColumns) -> dict[Any, str]:
    """Encoding by schema id; the key None stands for events without inline schema."""
    for column, encoding in cfg["encodings"].items():
        if column.lower() == name.lower():
            return {None: encoding}
    encodings: dict[Any, str] = {
        schema: fields[schema]["encoding"] for schema in found["schemas"] if schema in fields
    }
    if found["has_schemaless"] or not encodings:
        encodings[None] = fields["ddl"]["encoding"] if "ddl" in fields else "auto"
    return encodings


def _default_of(fields: Fields) -> dict[str, Any] | None:
    """The default of a column as {text, encoding}, or None.

    That is of the first schema which has it, as a later one gives nothing to rows that are there.
    """
    field: Mapping[str, Any] = next(iter(fields.values()), {})
    if field.get("default") is None or field.get("default_is_stand_in"):
        return None
    encoding = field.get("default_encoding", field["encoding"])
    return {"text": field["default"], "encoding": encoding}


def _reads_column(expression: str, name: str) -> bool:
    return re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", expression) is not None


def _misspelt(
    cfg: Settings, found: BatchColumns, recorded: Recorded | None, present: Sequence[str]
) -> Iterator[str]:
    """Names in `columns` and `ignore_null_updates` that are no column's.

    Where lines need not have every column, only those that look like another one; none where
    nothing arrived, or an earlier version did not record what is left out.
    """
    if not found["names"] or (recorded and recorded.get("excluded") is None):
        return
    is_whole = found["arrived"] is not None or cfg["format"] == "debezium"
    typed = (found["arrived"] or {}).values()
    spelt = unique([*found["names"], *names_of(found["ddl"] or []), *names_of(typed), *present])
    known = lowered(spelt)
    for setting in ("columns", "ignore_null_updates"):
        chosen = cfg["chosen"] if setting == "columns" else cfg["ignore_null_updates"]
        wanted = chosen["include"] + chosen["exclude"]
        for name in wanted:
            others = [one for one in known if one not in wanted]
            if name not in known and (is_whole or nearest(name, others, 0.6)):
                hint = did_you_mean(name, spelt)
                yield f"{setting} names column `{name}`, which no event has{hint}"


def _roles(
    cfg: Settings,
    found: BatchColumns,
    recorded: Recorded | None,
    columns: Sequence[Column],
    excluded: Sequence[str],
    recipe: int,
) -> Roles:
    recordable = [
        column if column["chosen"] else _staying(column)
        for column in columns
        if column["chosen"] or column["known"] is not None
    ]
    kept = [column for column in recordable if not column["gone"]]
    for column in kept:
        column["compared"] = not column["key"] and not column["ignored"]
    keys = named(kept, lowered(keys_in_order(cfg, recorded)))
    past = recorded or {}
    return {
        "flow": "events",
        "typed": found["arrived"] is not None,
        "keyed": len(cfg["keys"]) > 0,
        "unavailable_value": cfg["unavailable_value"],
        "source_columns": [column for column in columns if not column["gone"]],
        "columns": kept,
        "keys": keys,
        **columns_by_use(kept, recorded),
        "gone": [one for one in columns if one["gone"] and not one["sensitive"]],
        "sequence_by": len(cfg["sequence_by"]),
        "on_tie": cfg["on_tie"],
        "sequence_type": None,
        "sequence_casts": {},
        "recorded": {
            "recipe": recipe,
            "extract": "events",
            "hash": cfg["hash"],
            "stored_hashes": False,
            "keys": names_of(keys),
            "tag_unchanged": False,
            "soft_delete": cfg["soft_delete"],
            "file_format": cfg["file_format"],
            "write_mode": cfg["write_mode"],
            "marks_rejects": True,
            "marks_not_null": True,
            "layout": recorded_layout(cfg),
            "sequence_by": cfg["sequence_by"],
            "on_tie": cfg["on_tie"],
            "columns": [_recorded_column(column) for column in recordable],
            "excluded": list(excluded),
            "excluded_types": _excluded_types(cfg, past, columns),
            "source": past.get("source") or {},
        },
    }


def _staying(column: Column) -> Column:
    """A column that is stored and that the setting `columns` leaves out.

    Whatever else the settings say of it waits until it is chosen again, but that it is sensitive.
    """
    known = column["known"]
    return {
        **column,
        "stays": True,
        "type": known["type"],
        "ignored": known["role"] == "ignored",
        "sensitive": column["sensitive"] or known["sensitive"],
        "not_null": False,
        "default": None,
    }


def _recorded_column(column: Column) -> RecordedColumn:
    return {
        "name": column["name"],
        "type": column["type"],
        "hash_name": column["hash_name"],
        "gone": column["gone"],
        "role": column_role(column),
        "sensitive": column["sensitive"],
        "dropped": False,
        **held_not_null(column),
    }


def _excluded_types(cfg: Settings, past: Recorded, columns: Sequence[Column]) -> dict[str, str]:
    """Types of the columns of lines that the setting `columns` leaves out, by name.

    A predicate may read one that no line of a batch brings.
    """
    before = (past.get("excluded_types") or {}).items()
    types = {name: kind for name, kind in before if not is_chosen(cfg["chosen"], name)}
    for column in columns:
        if not column["chosen"] and column["arrived"] and column["source_name"] is None:
            types[column["name"]] = column["type"]
    return types


def check_new_columns(cfg: Settings, roles: Roles, recorded: Recorded | None) -> None:
    """Refuse a column that the source has got, by the policy for added columns.

    Raises:
        DataError: There is one, and it is not declared.
    """
    if not recorded or cfg["ddl"]["add_column"] != "fail":
        return
    declared = lowered(names_of(cfg["columns"]))
    for column in roles["added"]:
        if column["name"].lower() not in declared:
            raise DataError(
                f"{cfg['entity']}: the source has a new column `{column['name']}`, and "
                "ddl.add_column is fail. Declare the column in the YAML, or set ddl.add_column to "
                "apply or ignore"
            )


def check_known_columns(
    cfg: Settings, roles: Roles, found: BatchColumns, recorded: Recorded | None
) -> None:
    """Refuse to make tables of columns that nothing tells.

    Only the names of the key are known, and a type that is guessed would stay.

    Raises:
        DataError: Nothing tells the columns.
    """
    told = (recorded, found["arrived"] is not None, cfg["columns"], found["names"], found["ddl"])
    if roles["columns"] and any(told):
        return
    unreadable = found.get("unreadable")
    raise DataError(
        (
            f"{cfg['entity']}: no events of {cfg['table'] or 'the table'} have landed at "
            f"{cfg['location'] or 'the source'} yet, and {NO_COLUMNS}. Declare the columns, or "
            "wait for the first event"
        )
        + (f". There are lines that cannot be read: {', '.join(unreadable)}" if unreadable else "")
    )


def new_in_schemas(roles: Roles, batch: Batch, recorded: Recorded | None) -> list[tuple[Any, int]]:
    """Return columns with a default that are new at the source, and the first event of each.

    Where no DDL events come (PostgreSQL), the inline schemas show that, and the rows that were
    there before hold the default. A column that came before, and is taken from now on alone, has
    values there which nobody has told us; so has one whose first events come again.

    Example:
        >>> [(column["name"], number) for column, number in new_in_schemas(roles, batch, recorded)]
        [('fax', 4294967298)]
    """
    past = recorded or {}
    told = (past.get("source") or {}).get("told")
    reads_again = batch.get("line_num", "_landing_num") != "_landing_num"
    found = []
    for column in roles["columns"]:
        if column["default"] is None:
            continue
        sources = lowered(column["sources"])
        numbers: dict[bool, list[int]] = {True: [], False: []}
        for schema, fields in batch["schemas"].items():
            has_it = any(name in sources for name in lowered(names_of(fields)))
            numbers[has_it].append(batch["first_nums"][schema])
        first = min(numbers[True], default=None)
        if first is None:
            continue
        is_known = column["recorded_type"] is not None
        if recorded and told is not None:
            is_new = not any(name in told for name in sources)
        else:
            # nothing tells here whether the column of lines that are read again was new then
            before = bool(numbers[False]) and min(numbers[False]) < first
            is_new = before and not (reads_again and is_known)
            if recorded and not is_new:
                # a log whose last commit does not say what has come
                excluded = past.get("excluded") or []
                is_new = not is_known and not any(name in excluded for name in sources)
        if is_new:
            found.append((column, first))
    return found


def names_in_batch(batch: Batch, recorded: Recorded | None) -> list[str]:
    """Return the names, lower case, of all columns that have come up to a batch.

    There may be columns of the target for them or not.
    """
    past = recorded or {}
    before = (past.get("source") or {}).get("told")
    if before is None:
        before = [*names_of(past.get("columns", [])), *(past.get("excluded") or [])]
    told = [name for fields in batch["schemas"].values() for name in names_of(fields)]
    return sorted(set(lowered([*before, *batch["names"], *told])))


def identifying_names(
    cfg: Settings,
    columns: Sequence[SourceColumn] | None,
    recorded: Recorded | None,
    meta: Sequence[str],
) -> list[str]:
    """Return the columns that an event is known by even where they are NULL.

    For all others only a value is, so that a source can gain columns without that old events look
    new. A log that was begun otherwise keeps those that it had then.

    Example:
        >>> identifying_names(cfg, [{"name": "id"}, {"name": "fax"}], recorded, ["_offset"])
        ['id']

    Args:
        cfg: The settings of the entity.
        columns: Those of a typed source, None where lines are read.
        recorded: What the last commit was made with; without one nothing is known yet.
        meta: The columns of an event that are not the row's.
    """
    if recorded is None:
        return []
    recorded_names: list[str] | None = (recorded.get("source") or {}).get("identifying")
    if recorded_names is not None:
        return recorded_names
    known = lowered(names_of(recorded["columns"]))
    if columns is None:
        return [*known, *meta]
    names = [name for name in names_of(columns) if name.lower() not in ("_landing_num", "_file")]
    ours = [name.lower() for name in names if name.lower() in meta]
    theirs = [
        name
        for name in names
        if name.lower() not in meta
        and (name.lower().removeprefix("_before_") in known or not is_chosen(cfg["chosen"], name))
    ]
    return theirs + ours


def names_to_come(batch: Batch, stretch: Stretch) -> list[str]:
    """Return the names that a DDL event of the batch brings, not those that a column has before.

    It is a later one, or one whose policy leaves them out.

    Args:
        batch: What was read, with its statements.
        stretch: The part of it that is loaded now.
    """
    names: list[str] = []
    before: list[str] = []
    now = names_of(batch["source_columns"] or [])
    for statement in batch["statements"]:
        is_later = stretch["to"] and statement["cuts"] and statement["landing_num"] >= stretch["to"]
        for change in statement["changes"]:
            if isinstance(change.get("old"), str):
                before.append(change["old"])
            if change["kind"] == "drop_column":
                before.append(change["name"])
        for change in statement["changes"]:
            is_added = change["kind"] == "add_column"
            if (is_added or change["kind"] == "rename_column") and change["name"] not in before:
                comes = is_later and change["name"] not in now
                if comes or (is_added and change.get("policy") == "ignore"):
                    names.append(change["name"])
    return names


def sequence_change(
    cfg: Settings, kind: str, recorded: str | None, guessed: Collection[str] = ()
) -> dict[str, Any]:
    """Return what becomes of a sequence whose type is not the recorded one.

    Example:
        >>> sequence_change(cfg, "struct<sequence_1:bigint>", "struct<sequence_1:int>")["wider"]
        {'sequence_1': 'bigint'}

    Args:
        cfg: The settings of the entity.
        kind: A struct of which `sequence_1`, … are what `sequence_by` names.
        recorded: The same as it is recorded, None where it is not.
        guessed: The columns of a first batch that nothing says to be text: they only look so.

    Returns:
        `wider`, the fields that the log has to widen; `casts`, those that are read as the wider
        type that it has, by their place in `sequence_by`; `drift` and `errors` for all else.
    """
    wider, casts, drift, errors = {}, {}, [], []
    fields = struct_fields(kind[7:-1])
    known = struct_fields(recorded[7:-1]) if recorded else fields
    for place, expression in enumerate(cfg["sequence_by"]):
        now, was = fields[place][1], known[place][1]
        if re.search(r"(^|[<:,])(map<|(variant|void|interval)\b(?!:))", now):
            errors.append(
                f"sequence_by: `{expression}` is of type {now}, which cannot order rows. Name a "
                "column or an expression of another type"
            )
        elif now == "string" and expression.strip().lower().replace("`", "") in guessed:
            errors.append(
                f"sequence_by: `{expression.replace('`', '')}` comes as text. As text, '10' is "
                "before '9'. Declare its data_type in the YAML, such as timestamp or bigint. "
                "Declare string if the order of the letters is meant"
            )
        elif now != was:
            if is_widening(was, now, cfg["file_format"]):
                wider[f"sequence_{place + 1}"] = now
            elif is_widening(now, was, cfg["file_format"]):
                casts[place] = was
            else:
                drift.append(
                    f"sequence_by: `{expression}` was {was} and is now {now} (declare `data_type: "
                    f"{was}` for the column in the YAML, or cast it in the SELECT of the model)"
                )
    return {"wider": wider, "casts": casts, "drift": drift, "errors": errors}
