"""Is a model's configuration still the one that its log was made with?

`recorded` is what the last commit recorded, `roles` what this run decides of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tidemark.rules.types import wider_type
from tidemark.shapes.opened import Recorded, RecordedColumn, SourceColumn
from tidemark.shapes.roles import Column, Roles
from tidemark.shapes.settings import Loaded, Settings

#: What cannot change on an entity that has a log, and what a person calls it
FIXED = {
    "keys": "unique_key",
    "extract": "extract",
    "hash": "hash",
    "recipe": "the hash recipe",
    "stored_hashes": "stored_hashes",
    "file_format": "file_format",
}
_BY_REHASH = ("hash", "recipe")

Kind = Literal["gone", "new log", "other hashes"]
"""What makes up for a drift: the column that the extract lacks, a new log, or other hashes."""


@dataclass(frozen=True)
class Drift:
    """Something that changed and cannot.

    Attributes:
        kind: What makes up for it.
        sentence: What changed, and what to do.
    """

    kind: Kind
    sentence: str


def are_gone(drift: Sequence[Drift]) -> bool:
    """Say whether all that differs is columns that the extract lacks: no setting was changed."""
    return bool(drift) and all(one.kind == "gone" for one in drift)


def takes_new_log(drift: Sequence[Drift]) -> bool:
    """Say whether something changed that no new hashes make up for, such as the key.

    Example:
        >>> takes_new_log([Drift("new log", "extract was …")]), takes_new_log([])
        (True, False)
    """
    return any(one.kind == "new log" for one in drift)


def sentences(drift: Iterable[Drift]) -> list[str]:
    """Return what a message says of it."""
    return [one.sentence for one in drift]


def config_drift(cfg: Settings, roles: Roles, recorded: Recorded, origin: str = "") -> list[Drift]:
    """Return what changed and cannot.

    Nothing is written where there are some.

    Example:
        >>> sentences(config_drift(cfg, roles, recorded))
        ['unique_key was id and is now id, name']

    Args:
        cfg: The settings of the entity.
        roles: What becomes of its columns.
        recorded: What the last commit was made with.
        origin: Which extract it is, such as ` of 2026-03-04 (orders.csv)`.
    """
    now = roles["recorded"]
    drift: list[Drift] = []
    for name, label in FIXED.items():
        before, after = recorded.get(name, ""), now.get(name, "")
        # full, scoped and delta may follow each other
        may_change = name == "extract" and "events" not in (before, after)
        if str(before).lower() != str(after).lower() and not may_change:
            kind: Kind = "other hashes" if name in _BY_REHASH else "new log"
            drift.append(Drift(kind, f"{label} was {shown(before)} and is now {shown(after)}"))
    before, after = recorded.get("sequence_by", []), now.get("sequence_by", [])
    if _spelt_alike(before) != _spelt_alike(after):
        arrival = "the order of arrival"
        was, is_now = shown(before) or arrival, shown(after) or arrival
        drift.append(Drift("other hashes", f"sequence_by was {was} and is now {is_now}"))
    before, after = recorded.get("scope", []), now.get("scope", [])
    if before and sorted(map(str.lower, before)) != sorted(map(str.lower, after)):
        drift.append(
            Drift(
                "new log",
                f"scope was by {shown(before)} and is now by {shown(after)}, but dates were loaded "
                "by the old scope",
            )
        )
    peppers = now.get("pepper"), recorded.get("pepper")
    if all(peppers) and peppers[0] != peppers[1]:
        drift.append(
            Drift(
                "other hashes",
                "the pepper (TIDEMARK_PEPPER) differs from the one that the stored hashes were "
                "made with",
            )
        )
    columns = {column["name"]: column for column in reversed(recorded["columns"])}
    for column in roles["columns"]:
        if column["name"] in columns:
            drift += _column_drift(cfg, column, columns[column["name"]], recorded, origin)
    return drift


def _column_drift(
    cfg: Settings, column: Column, known: RecordedColumn, recorded: Recorded, origin: str
) -> list[Drift]:
    name, role = column["name"], column_role(column)
    gone: list[Drift] = []
    drift: list[str] = []
    is_gone = column["source_type"] is None and role == "compared" and cfg["extract"] != "events"
    if is_gone and name.lower() not in recorded.get("not_yet", []):
        gone.append(
            Drift(
                "gone",
                f"compared column `{name}` is no longer in the extract{origin}. If NULL is its "
                f"value now, select `cast(null as {known['type']}) as {name}` in the model's SQL. "
                "If the column is gone for good: dbt run-operation rehash --args "
                f"'{{entity: {cfg['entity']}, drop: [{name}]}}'",
            )
        )
    if role != known["role"] and "key" not in (role, known["role"]):
        drift.append(f"column `{name}` was {known['role']} and is now {role}")
    ways = [one.get("compare_as") or "" for one in (known, column)]
    if ways[0] != ways[1]:
        before, after = (f"as {way}" if way else "as it is" for way in ways)
        drift.append(f"column `{name}` was compared {before} and is now compared {after}")
    if column["sensitive"] != known["sensitive"]:
        before, after = ("" if one["sensitive"] else "not " for one in (known, column))
        drift.append(f"column `{name}` was {before}sensitive and is now {after}sensitive")
    if column["type"] != known["type"] and not wider_type(
        known["type"], column["type"], cfg["file_format"]
    ):
        declared = [one["name"].lower() for one in cfg["columns"] if one.get("data_type")]
        cure = (
            f" in the source (declare `data_type: {known['type']}` for it in the YAML: "
            "values are cast to it, and one that cannot be is a reject)"
        )
        drift.append(
            f"column `{name}` was {known['type']} and is now {column['type']}"
            + ("" if name.lower() in declared else cure)
        )
    return gone + [Drift("other hashes", sentence) for sentence in drift]


def choice_drift(roles: Roles, recorded: Recorded) -> list[str]:
    """Return which columns the choice of columns cannot take or leave on a table without key.

    Its rows are found by all values that are stored.

    Example:
        >>> choice_drift(roles, recorded)
        ['columns leaves out `city`, which it took so far, and without unique_key a row is found …']
    """
    drift = []
    left_out = recorded.get("excluded") or []
    for column in roles["columns"] if not roles["keyed"] else []:
        is_new = column["recorded_type"] is None and column["name"].lower() in left_out
        if column.get("stays") or is_new:
            now, before = ("takes", "left out") if is_new else ("leaves out", "took")
            drift.append(
                f"columns {now} `{column['name']}`, which it {before} so far. Without "
                "unique_key an event finds a row by all its values"
            )
    return drift


def keys_in_order(cfg: Settings, recorded: Recorded | None) -> list[str]:
    """Return the keys in the order of the hashes that are stored.

    Where the YAML has the same ones in another order, that says nothing; but not of hashes that the
    model makes itself: their order is not known.

    Example:
        >>> keys_in_order(cfg, recorded)
        ['id', 'name']
    """
    known: list[str] = (recorded or {}).get("keys") or []
    keys: list[str] = cfg["keys"]
    is_same = sorted(map(str.lower, known)) == sorted(map(str.lower, keys))
    return known if is_same and not cfg["stored_hashes"] else keys


def _spelt_alike(expressions: Iterable[str]) -> list[str]:
    """Expressions without regard to case where Spark has none: no literals, fields and paths."""
    spelt = []
    for expression in expressions:
        text = expression.strip()
        is_plain = re.fullmatch(r"`[^`]*`|[\w\s(),+*/-]*", text)
        spelt.append(text.lower().replace("`", "") if is_plain else text)
    return spelt


def shown(value: Any) -> str:
    """Return a setting as a message has it.

    Example:
        >>> shown(["id", "name"])
        'id, name'
    """
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def column_role(column: Mapping[str, Any]) -> Literal["key", "compared", "ignored"]:
    """Return what a column is to the comparison of rows: `key`, `ignored` or `compared`."""
    if column["key"]:
        return "key"
    return "ignored" if column["ignored"] else "compared"


def is_retagged(cfg: Settings | Recorded, recorded: Recorded) -> bool:
    """Return whether current is to show other rows, or other tags, than by what was recorded.

    It is then written anew from the log.
    """
    is_other = cfg["soft_delete"] != recorded["soft_delete"]
    return is_other or cfg["tag_unchanged"] != recorded["tag_unchanged"]


def recorded_layout(cfg: Loaded) -> dict[str, Any]:
    """Return how a table is laid out by the YAML, to be recorded.

    It is made so once: another layout is no drift, but nothing follows it.
    """
    properties = {name: str(value) for name, value in cfg["table_properties"].items()}
    return {
        "partition_by": cfg["partition_by"] or [],
        "liquid_clustered_by": cfg["cluster_by"] or [],
        "tblproperties": properties,
    }


def changed_layout(cfg: Loaded, recorded: Mapping[str, Any]) -> list[str]:
    """Return which settings of that are not as the last commit recorded them, if it did."""
    before = recorded.get("layout")
    now = recorded_layout(cfg)
    return [name for name, value in now.items() if before[name] != value] if before else []


def left_out_columns(
    file_names: Iterable[str],
    source_columns: Iterable[SourceColumn],
    recorded: Recorded | None,
    body: str = "",
) -> list[str]:
    """Return the columns of the files, lower case, that the model does not yield.

    Those of earlier loads stay among them. A column that the body names was chosen by its author,
    who renames it, or leaves it out.

    Example:
        >>> left_out_columns(["ID", "Fax"], [{"name": "id"}], {"left_out": ["phone"]})
        ['phone', 'fax']
        >>> left_out_columns(["mail"], [{"name": "email"}], None, "select mail as email from t")
        []
    """
    yielded = {column["name"].lower() for column in source_columns}
    names = [*((recorded or {}).get("left_out") or []), *map(str.lower, file_names)]
    named = set(re.findall(r"\w+", body.lower()))
    return [name for name in dict.fromkeys(names) if name not in yielded | named]


def new_columns(cfg: Settings, roles: Roles, recorded: Recorded | None) -> dict[str, list[str]]:
    """Return what a run tells of columns that it met for the first time.

    On a first run only what JSON has beside the YAML is told, as nothing else chose to leave it
    out.

    Example:
        >>> new_columns(cfg, roles, recorded)["short"]
        ['new column fax']

    Returns:
        `short` for the line of the run, `long` where there is more to say.
    """
    short: list[str] = []
    long: list[str] = []
    if recorded:
        known = {hashed_as(column) for column in recorded.get("columns") or []}
        new = [column for column in roles["columns"] if hashed_as(column) not in known]
        declared = {column["name"].lower() for column in cfg["columns"]}
        undeclared = [
            f"`{one['name']}` ({one['type']})" for one in new if one["name"].lower() not in declared
        ]
        short += [f"new column {column['name']}" for column in new]
        if undeclared:
            or_ignore = ", or name it under ignore" if cfg["extract"] != "events" else ""
            long.append(
                f"new in the source and loaded from now on: {', '.join(undeclared)}. Declare it in "
                f"the YAML (another data_type needs a new log: --full-refresh){or_ignore}"
            )
    before = (recorded or {}).get("left_out")
    is_json = cfg.get("format") == "json"
    if before is None and (recorded or not is_json):
        return {"short": short, "long": long}
    left_out = [
        name for name in roles["recorded"].get("left_out", []) if name not in (before or [])
    ]
    if left_out:
        short.append(f"not loaded: {', '.join(left_out)}")
        where = "new in the source" if recorded else "in the source"
        cure = "Declare it in the YAML" if is_json else "Add it to the SELECT of the model"
        names = "`, `".join(left_out)
        long.append(f"{where} but not loaded: `{names}`. {cure} to load it")
    return {"short": short, "long": long}


def hashed_as(column: Column | RecordedColumn) -> str:
    """Return what hashes know a column as, whatever it is called by now, in lower case."""
    name: str = column.get("hash_name") or column["name"]
    return name.lower()


def named(columns: Iterable[Column], names: Sequence[str]) -> list[Column]:
    """Return the columns of these lower-case names, in their order."""
    columns = list(columns)
    return [one for name in names for one in columns if one["name"].lower() == name]
