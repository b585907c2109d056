"""Look-ups of rules: values of a row that another table must have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidemark.model.given import Config
from tidemark.model.settings.row_rules import LookUp
from tidemark.model.unit_tests import input_of
from tidemark.rules.quoted import back_ticked


def look_up_of(given: LookUp, column: str | None) -> dict[str, Any] | None:
    """Return what a rule looks up where; None if that does not fit where the rule stands.

    Args:
        given: What the YAML says.
        column: The column that the rule is of; None: it is of the model.

    Raises:
        ConfigError: It names no table.
    """
    kind, names = input_of(given.to)
    of_model = bool(given.columns) and len(given.columns) == len(given.fields)
    if column is None and (given.field is not None or not of_model):
        return None
    if column is not None and (given.field is None or given.columns or given.fields):
        return None
    columns = given.columns if column is None else [column]
    fields = given.fields if given.field is None else [given.field]
    return {"to": given.to, "kind": kind, "names": names, "columns": columns, "fields": fields}


def shown_look_up(look_up: Config) -> str:
    """Return a look-up as messages tell it.

    Example:
        >>> shown_look_up({"to": "ref('x')", "columns": ["a", "b"], "fields": ["c", "d"]})
        "a, b in ref('x'): c, d"
    """
    columns, fields = ", ".join(look_up["columns"]), ", ".join(look_up["fields"])
    return f"{columns} in {look_up['to']}: {fields}"


def look_up_problems(node: Config, rules: Iterable[Config]) -> Iterator[str]:
    """Yield which look-ups dbt does not know of, which orders models by what their SQL names."""
    for rule in rules:
        look_up = rule.get("looks_up")
        if look_up and not _reads(node, look_up):
            yield (
                f"{rule['setting']} looks up {look_up['to']}, which the model does not read. dbt "
                "builds it first if the file of the model has this line: "
                f"-- depends_on: {{{{ {look_up['to']} }}}}"
            )


def _reads(node: Config, look_up: Config) -> bool:
    names, kind = list(look_up["names"]), look_up["kind"]
    for key in (node.get("depends_on") or {}).get("nodes") or ():
        # model.<package>.<name>, perhaps with a version; source.<package>.<source>.<table>
        what, package, *rest = key.split(".")
        if (what == "source") != (kind == "source"):
            continue
        if kind == "source" and rest == names:
            return True
        if kind == "ref" and rest[0] == names[-1] and names[:-1] in ([], [package]):
            return True
    return False


def look_up_sql(look_up: Mapping[str, Any], prefix: str, relation: str) -> str:
    """Return the condition of a look-up, which is never NULL.

    `exists`, as with `in` one NULL of the other table would let every row pass. What it yields has
    names of its own, so that a column of the row is none of the other table.

    Example:
        >>> look_up_sql({"columns": ["a"], "fields": ["b"]}, "_x", "t")
        '`a` is null or exists (select 1 from (select `b` as _x_1 from t) as _x where _x_1 = `a`)'

    Args:
        look_up: What look_up_of() returned.
        prefix: What names of its own begin with.
        relation: The other table, as SQL names it.
    """
    columns = [back_ticked(name) for name in look_up["columns"]]
    aliases = names_of_fields(look_up, prefix)
    pairs = zip(look_up["fields"], aliases, strict=True)
    fields = ", ".join(f"{back_ticked(field)} as {alias}" for field, alias in pairs)
    missing = " or ".join(f"{column} is null" for column in columns)
    same = " and ".join(compared_look_up(look_up, prefix))
    return (
        f"{missing} or exists (select 1 from (select {fields} from {relation}) as {prefix} "
        f"where {same})"
    )


def compared_look_up(look_up: Mapping[str, Any], prefix: str) -> list[str]:
    """Return what a look-up compares, each column with its field."""
    columns = [back_ticked(name) for name in look_up["columns"]]
    pairs = zip(names_of_fields(look_up, prefix), columns, strict=True)
    return [f"{alias} = {column}" for alias, column in pairs]


def names_of_fields(look_up: Mapping[str, Any], prefix: str) -> Sequence[str]:
    """Return what the fields of the other table are called within a look-up."""
    return [f"{prefix}_{number}" for number, _ in enumerate(look_up["fields"], start=1)]
