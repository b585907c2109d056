"""Reading feed, net changes and earlier states of many ranges, with one call of dbt: it takes seconds, a query does not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

_BETWEEN = "\n-- ~~~ next query ~~~\n"


@dataclass(frozen=True)
class FeedRow:
    """A row of `change_feed` or `net_changes`.

    Attributes:
        key: Values of the key columns.
        operation: I, U or D.
        commit_id: As in tidemark_commits.
        position: `_position`; None of net changes.
        changed_columns: `_changed_fields`.
        change: `_change`, read as JSON.
        other: All other columns by name.
    """

    key: tuple[Any, ...]
    operation: str
    commit_id: int
    position: int | None
    changed_columns: tuple[str, ...] | None
    change: dict[str, Any]
    other: dict[str, Any]


def call(macro: str, entity: str, *arguments: Any, **named: Any) -> str:
    """The SQL template that calls a macro of the package for an entity.

    Example:
        >>> call("as_of", "cities", "2026-01-01", known_at=7)
        "{{ tidemark.as_of(ref('cities'), '2026-01-01', known_at=7) }}"
    """
    values = [f"ref('{entity}')", *map(_literal, arguments)]
    values += [f"{name}={_literal(value)}" for name, value in named.items()]
    return f"{{{{ tidemark.{macro}({', '.join(values)}) }}}}"


def _literal(value: Any) -> str:
    return "none" if value is None else repr(value)


def render(project: Any, templates: Sequence[str]) -> list[str]:
    """The SQL of these templates, by one call of dbt."""
    result = project.dbt("--quiet", "compile", "--inline", _BETWEEN.join(templates))
    compiled = result.raw.result.results[0].node.compiled_code
    queries = compiled.split(_BETWEEN.strip("\n"))
    assert len(queries) == len(templates)
    return queries


def query_all(project: Any, templates: Sequence[str]) -> list[list[Any]]:
    """The rows of every template's query."""
    queries = render(project, templates)
    with ThreadPoolExecutor(max_workers=3) as pool:
        return list(pool.map(project.query, queries))


def feed_rows(rows: Iterable[Any], key: Sequence[str]) -> list[FeedRow]:
    """Rows of a query of `change_feed` or `net_changes`, in their order."""
    read = []
    for row in rows:
        columns = row.asDict()
        changed = columns.pop("_changed_fields")
        read.append(
            FeedRow(
                tuple(columns.pop(name) for name in key),
                columns.pop("_operation"),
                columns.pop("_commit_id"),
                columns.pop("_position", None),
                None if changed is None else tuple(changed),
                json.loads(columns.pop("_change")),
                columns,
            )
        )
    return read


def change_json(
    key: Mapping[str, Any], pre: Mapping[str, Any] | None, post: Mapping[str, Any] | None
) -> dict[str, Any]:
    """`_change` of a row that was `pre` and is `post`, both without key columns."""
    if post is None:
        event_type, change = "delete", {}
    elif pre is None:
        event_type, change = "insert", dict(post)
    else:
        event_type = "update"
        change = {name: value for name, value in post.items() if value != pre[name]}
    return {
        "event_type": event_type,
        "change": change,
        "pre_image": None if pre is None else {**key, **pre},
        "post_image": None if post is None else {**key, **post},
    }
