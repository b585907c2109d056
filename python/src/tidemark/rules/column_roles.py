"""The role of each column of an extract.

The recorded names and their order win over the YAML's, so that reordering the YAML or changing the
case of a name changes no hash; new columns come last, where a NULL leaves every hash as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tidemark.model.columns import misplaced_layout, refused_name
from tidemark.model.problems import raise_problems
from tidemark.model.suggestions import did_you_mean
from tidemark.rules.drift import column_role, keys_in_order, named, recorded_layout
from tidemark.rules.names import is_chosen, lowered, names_of, unique
from tidemark.rules.types import wider_type
from tidemark.shapes.opened import Recorded, RecordedColumn, SourceColumn
from tidemark.shapes.roles import Column, Roles
from tidemark.shapes.settings import Settings

#: Extracts that leave keys of which they say nothing
PARTIAL = ("delta", "scoped")


def column_roles(
    cfg: Settings,
    source_columns: Sequence[SourceColumn],
    types: Mapping[str, str],
    recorded: Recorded | None,
    origin: str,
    reserved: Collection[str],
    recipe: int,
) -> Roles:
    """Return the name and type of every column, and whether it is a key, compared or kept apart.

    Example:
        >>> roles = column_roles(cfg, [{"name": "id", "type": "string"}], {"id": "bigint"}, None, …)
        >>> [(column["name"], column["type"], column["key"]) for column in roles["columns"]]
        [('id', 'bigint', True)]

    Args:
        cfg: The settings of the entity.
        source_columns: What the model's SQL yields.
        types: The declared types in Spark's spelling, by lower-case name.
        recorded: What the last commit was made with, None on a first run. What the extract of an
            earlier date need not have, or may have as NULL, as it came later, stands in `not_yet`,
            in lower case; what it still has of columns that were dropped since (`is_past`) is
            carried.
        origin: Which extract it is, for messages.
        reserved: Names of columns that Tidemark adds.
        recipe: The version of the hash recipe.

    Raises:
        ConfigError: The YAML and the extract do not go together.
    """
    past = recorded or {}
    arrived, supplied, errors = _arrived(source_columns, reserved)
    errors += _supplied_problems(cfg, supplied)
    errors += _named_problems(cfg, list(arrived.values()), past, origin)
    keys = lowered(keys_in_order(cfg, recorded))
    columns = [
        _column(cfg, name, arrived.get(name.lower()), types, recorded, keys)
        for name in _names(cfg, arrived, past)
    ]
    for column in columns:
        is_date = column["type"] in ("date", "timestamp", "timestamp_ntz")
        if column["name"].lower() == (cfg["effective_from"] or "").lower() and not is_date:
            errors.append(
                f"effective_from names column `{column['name']}`, which is {column['type']}: "
                "declare its data_type as timestamp or date in the YAML"
            )
    errors += _scope_problems(cfg, columns)
    raise_problems(cfg["entity"], errors, "configuration and extract have")
    key_columns = named(columns, keys)
    return {
        "columns": columns,
        "keys": key_columns,
        **columns_by_use(columns, recorded),
        "supplied": list(supplied),
        "recorded": {
            "recipe": recipe,
            "extract": cfg["extract"],
            "hash": cfg["hash"],
            "stored_hashes": cfg["stored_hashes"],
            "keys": names_of(key_columns),
            "tag_unchanged": cfg["tag_unchanged"],
            "soft_delete": cfg["soft_delete"],
            "file_format": cfg["file_format"],
            "write_mode": cfg["write_mode"],
            "marks_rejects": True,
            "marks_not_null": True,
            "layout": recorded_layout(cfg),
            "columns": [_recorded_column(column) for column in columns],
            **_lacking(columns, past),
            **({"has_deltas": True} if cfg["extract"] == "full" and had_deltas(past) else {}),
            **_recorded_scope(cfg, past),
        },
    }


def columns_by_use(columns: Sequence[Column], recorded: Recorded | None) -> Roles:
    """Return which columns a load compares, ignores, stores, keeps apart and adds.

    Example:
        >>> flags = {"compared": True, "ignored": False, "sensitive": False, "recorded_type": None}
        >>> [use for use, some in columns_by_use([{"name": "a", **flags}], {}).items() if some]
        ['compared', 'stored']

    Args:
        columns: All of them.
        recorded: What the log was made with; nothing is added to one that is new.
    """
    return {
        "compared": [column for column in columns if column["compared"]],
        "ignored": [column for column in columns if column["ignored"]],
        "stored": [column for column in columns if not column["sensitive"]],
        "sensitive": [column for column in columns if column["sensitive"]],
        "added": [one for one in columns if one["recorded_type"] is None] if recorded else [],
    }


def _arrived(
    source_columns: Sequence[SourceColumn], reserved: Collection[str]
) -> tuple[dict[str, SourceColumn], dict[str, str], list[str]]:
    """Business columns and the types of reserved ones, by lower-case name, and what is wrong."""
    arrived: dict[str, SourceColumn] = {}
    supplied: dict[str, str] = {}
    errors = []
    for column in source_columns:
        lower = column["name"].lower()
        refused = refused_name(column["name"], (), " of the extract")
        if lower in reserved:
            supplied[lower] = column["type"]
        elif refused:
            errors.append(f"{refused}: rename it in the source, or in the model")
        elif lower in arrived:
            errors.append(
                f"the model yields column `{column['name']}` twice (names differ at most in case)"
            )
        else:
            arrived[lower] = column
    return arrived, supplied, errors


def _supplied_problems(cfg: Settings, supplied: Collection[str]) -> Iterator[str]:
    """A reserved column may only come from a model that is set to supply it."""
    hashes = ("_key_hash", "_row_hash")
    allowed: tuple[str, ...] = ("_unreadable", "_malformed")
    if cfg["stored_hashes"]:
        allowed += (*hashes, "_reject_reason", "_raw_payload")
        for name in hashes:
            if name not in supplied:
                yield f"stored_hashes is true, but the model does not yield `{name}`"
    for name in supplied:
        if name not in allowed:
            hint = "; set stored_hashes: true if the model computes it" if name in hashes else ""
            yield f"column `{name}` of the extract is reserved: rename it in the model{hint}"


def _named_problems(
    cfg: Settings, arrived: Sequence[SourceColumn], past: Recorded, origin: str
) -> Iterator[str]:
    """What the YAML names must be there, save for what an earlier extract had or did not yet."""
    as_they_are, declared = names_of(arrived), names_of(cfg["columns"])
    known, not_yet = names_of(past.get("columns", [])), past.get("not_yet", [])
    there = {*lowered(as_they_are), *not_yet}
    missing = [name for name in declared if name.lower() not in there]
    hints = {name: did_you_mean(name, as_they_are) for name in missing}
    # what there is instead is the same for all that resemble nothing
    alone = [name for name in missing if len(missing) == 1 or "; did you mean" in hints[name]]
    for name in alone:
        yield f"column `{name}` of the YAML is not in the extract{origin}{hints[name]}"
    if together := [name for name in missing if name not in alone]:
        which = (
            f"none of the {len(declared)} columns of the YAML is"
            if len(together) == len(declared)
            else f"columns {', '.join(f'`{name}`' for name in together)} of the YAML are not"
        )
        yield f"{which} in the extract{origin}{hints[together[0]]}"
    there.update(lowered(declared))
    effective_from = [cfg["effective_from"]] if cfg["effective_from"] else []
    for setting, names in (
        ("unique_key", cfg["keys"]),
        ("ignore", cfg["ignore"]),
        ("sensitive", cfg["sensitive"]),
        ("effective_from", effective_from),
        ("scope", cfg.get("scope", [])),
    ):
        for name in names:
            was_there = setting == "ignore" and name.lower() in lowered(known)
            if name.lower() not in there and not was_there:
                hint = did_you_mean(name, as_they_are)
                yield f"{setting} names column `{name}`, which is not in the extract{origin}{hint}"
    names = unique([*as_they_are, *declared, *known])
    yield from misplaced_layout(cfg, names, f"is not in the extract{origin}")


def _names(cfg: Settings, arrived: Mapping[str, SourceColumn], past: Recorded) -> list[str]:
    """Recorded columns in their order, then new ones: of the YAML, then as the extract has them."""
    known = names_of(past.get("columns", []))
    come = unique([*names_of(cfg["columns"]), *names_of(arrived.values())])
    seen = set(lowered(known))
    return known + [name for name in come if name.lower() in arrived and name.lower() not in seen]


def _column(
    cfg: Settings,
    name: str,
    source: SourceColumn | None,
    types: Mapping[str, str],
    recorded: Recorded | None,
    keys: Collection[str],
) -> Column:
    lower, past = name.lower(), recorded or {}
    known = next((one for one in past.get("columns", []) if one["name"] == name), None)
    is_past = past.get("is_past", False)
    dropped = known is not None and known.get("dropped", False) and (source is None or is_past)
    declared = {one["name"].lower(): one for one in cfg["columns"]}
    declaration: Mapping[str, Any] = declared.get(lower, {})
    source_type = source["type"] if source else None
    kind = types.get(lower) or source_type
    if known is not None:
        is_declared, was = bool(declaration.get("data_type")), known["type"]
        if not types.get(lower) and not is_declared and (dropped or source is None):
            kind = was
        # an extract of before the source widened a column
        may_be_narrower = source_type is not None and not is_declared and is_past
        if may_be_narrower and wider_type(source_type or "", was, cfg["file_format"]):
            kind = was
        kind = (wider_type(was, kind, cfg["file_format"]) or kind) if kind else was
    is_key = lower in keys
    is_compared = lower not in lowered(cfg["keys"] + cfg["ignore"]) and is_chosen(
        cfg["compare"], name
    )
    must_be_there = declaration.get("not_null", False) and lower not in past.get("not_yet", [])
    return {
        "name": name,
        "source_name": source["name"] if source else None,
        "source_type": source_type,
        "type": kind,
        "recorded_type": known["type"] if known else None,
        "key": is_key,
        "compared": is_compared and not dropped,
        "ignored": dropped or (not is_key and not is_compared),
        "compare_as": declaration.get("settings", {}).get("compare_as"),
        "dropped": dropped,
        "sensitive": lower in lowered(cfg["sensitive"])
        or (dropped and known is not None and known["sensitive"]),
        "not_null": must_be_there or (is_key and cfg["null_keys"] == "reject"),
        "held": is_held(recorded, known),
        "description": declaration.get("description", ""),
    }


def is_held(recorded: Recorded | None, column: RecordedColumn | None) -> bool:
    """Return whether a column may be NOT NULL in current, by what the last commit recorded.

    So may one that has been so in every commit of the log, and no other, or current could not be
    made of the log again. Earlier versions did not record it.

    Args:
        recorded: What the last commit recorded, None before the first.
        column: What it recorded of the column, if anything.
    """
    if not recorded:
        return True
    if column is None or column.get("gone", False):
        return False
    return not recorded.get("marks_not_null") or bool(column.get("not_null", False))


def held_not_null(column: Column) -> RecordedColumn:
    """Return what is recorded of that, of a column."""
    is_so = column["not_null"] and column["held"] and not column["sensitive"]
    return {"not_null": True} if is_so else {}


def _recorded_column(column: Column) -> RecordedColumn:
    """The part of a column that later runs are held to."""
    return {
        "name": column["name"],
        "type": column["type"],
        "role": column_role(column),
        "sensitive": column["sensitive"],
        "dropped": column["dropped"],
        **({"compare_as": column["compare_as"]} if column["compare_as"] else {}),
        **held_not_null(column),
    }


def _lacking(columns: Sequence[Column], past: Recorded) -> Recorded:
    """Which columns did not come with the extract."""
    not_yet = past.get("not_yet", [])
    lacks = [
        one["name"]
        for one in columns
        if one["source_name"] is None or one["name"].lower() in not_yet
    ]
    return {"lacks": lacks} if lacks else {}


def _recorded_scope(cfg: Settings, past: Recorded) -> Recorded:
    """The columns by which dates of the log are scoped, if there are such dates."""
    is_scoped = cfg["extract"] == "scoped" or past.get("scope")
    return {"scope": cfg["scope"]} if is_scoped else {}


def _scope_problems(cfg: Settings, columns: Sequence[Column]) -> Iterator[str]:
    """What came of a scope is read from the log, which has it of keys and compared columns."""
    for column in named(columns, lowered(cfg.get("scope", []))):
        if column["ignored"]:
            yield (
                f"scope names column `{column['name']}`, which is not compared: a scope is known by"
                " the values that the log has"
            )
        elif "<" in str(column["type"]) or column["type"] == "variant":
            yield (
                f"scope names column `{column['name']}`, which is {column['type']}: a scope is told"
                " by single values"
            )


def had_deltas(past: Recorded) -> bool:
    """Return whether some date of the log was a delta, or scoped.

    Example:
        >>> had_deltas({"extract": "full", "has_deltas": True}), had_deltas({"extract": "full"})
        (True, False)

    Args:
        past: What the last commit recorded; empty of a log that is new.
    """
    return bool(past) and (past.get("has_deltas", False) or past["extract"] in PARTIAL)
