"""Lineage for readers: a table, JSON lines, and lines for the docs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from tidemark.lineage.datasets import FileDataset
from tidemark.lineage.graph import Lineage, ModelLineage
from tidemark.lineage.links import ALL, Column, Link

# what stands for the rows of a model where a column would stand
ROWS = "(rows)"
REST = "(all columns)"


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        model: The model.
        column: Its column, or ROWS for what decides on its rows.
        sources: What it comes from, for readers.
        kind: How.
    """

    model: str
    column: str
    sources: tuple[str, ...]
    kind: str


def lines_of(lineage: Lineage, made: ModelLineage, *, indirect: bool = True) -> Iterator[Line]:
    """Return the lines of one model."""
    for column in all_columns(made):
        name = REST if column.name == ALL else column.name
        links = lineage.beginnings(column.links)
        if not indirect:
            links = tuple(link for link in links if link.how.direct)
        if links and made.node.language == "python":
            yield Line(made.node.name, name, tuple(_places(lineage, links)), "Python, by table")
            continue
        if not links:
            yield Line(made.node.name, name, (), _without_source(made, column))
        for kind, group in _by_kind(links):
            yield Line(made.node.name, name, tuple(_places(lineage, group)), kind)
    if indirect:
        for kind, group in _by_kind(lineage.beginnings(made.rows)):
            yield Line(made.node.name, ROWS, tuple(_places(lineage, group)), kind)


def all_columns(made: ModelLineage) -> list[Column]:
    """Return a model's columns and, behind them, those that are kept beside it."""
    there = {column.name for column in made.columns}
    secret = [
        column
        for relation, columns in made.sides
        if relation.key.endswith("__sensitive")
        for column in columns
        if column.name not in there and not column.is_added
    ]
    return [*made.columns, *secret]


def _without_source(made: ModelLineage, column: Column) -> str:
    if column.is_added:
        return "added by dbt" if made.node.kind == "snapshot" else "added by tidemark"
    if made.node.language == "python":
        return "made in Python"
    return "no column"


def _by_kind(links: Iterable[Link]) -> Iterator[tuple[str, list[Link]]]:
    groups: dict[str, list[Link]] = {}
    for link in links:
        groups.setdefault(link.how.kind, []).append(link)
    yield from groups.items()


def _places(lineage: Lineage, links: Iterable[Link]) -> Iterator[str]:
    """Name columns, those of one relation together."""
    groups: dict[str, list[str]] = {}
    for link in links:
        groups.setdefault(link.table, []).append(link.column)
    for key, columns in groups.items():
        if len(columns) == 1:
            yield place(lineage, key, columns[0])
        else:
            yield f"{label(lineage, key)}: {', '.join(dict.fromkeys(columns))}"


def label(lineage: Lineage, key: str) -> str:
    """Return what a relation is called: a model by its name, else its dataset's."""
    relation = lineage.relations[key]
    node = lineage.project.nodes.get(relation.owner or "")
    if node is not None and node.kind != "source":
        side = key.removeprefix(node.unique_id)
        return f"{node.name}{side}"
    return relation.dataset.label


def place(lineage: Lineage, key: str, column: str) -> str:
    """Name a column of a relation."""
    dataset = lineage.relations[key].dataset
    name = label(lineage, key)
    if column == ALL:
        return name
    # a path has dots of its own
    return f"{name}: {column}" if isinstance(dataset, FileDataset) else f"{name}.{column}"


def render_table(lines: Iterable[Line]) -> Table:
    """Return the table: a model's and a column's name stand where they begin."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("column", overflow="fold")
    table.add_column("from", overflow="fold", ratio=1)
    table.add_column("kind", no_wrap=True)
    before = ("", "")
    for line in _without_repeats(lines):
        model, column = line.model, line.column
        table.add_row(
            Text(model if model != before[0] else ""),
            Text(column if (model, column) != before else ""),
            Text("\n".join(line.sources)),
            Text(line.kind),
        )
        before = (model, column)
    return table


def _without_repeats(lines: Iterable[Line]) -> Iterator[Line]:
    """Put columns that come from nowhere, one below the other, on one line."""
    held: Line | None = None
    for line in lines:
        joins = held is not None and not line.sources and not held.sources
        if held is not None and joins and (held.model, held.kind) == (line.model, line.kind):
            held = replace(held, column=f"{held.column}\n{line.column}")
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def json_lines(lineage: Lineage, made: ModelLineage) -> Iterator[str]:
    """Return a line of JSON for each column of a model, and one for its rows."""
    for column in all_columns(made):
        record = {
            "model": made.node.name,
            "column": column.name,
            "type": column.type,
            "added": column.is_added,
            "from": _records(lineage, lineage.beginnings(column.links)),
            "inputs": _records(lineage, column.links),
        }
        yield json.dumps(_with_remarks(record, made), ensure_ascii=False)
    if made.rows:
        record = {
            "model": made.node.name,
            "column": None,
            "from": _records(lineage, lineage.beginnings(made.rows)),
            "inputs": _records(lineage, made.rows),
        }
        yield json.dumps(_with_remarks(record, made), ensure_ascii=False)


def _with_remarks(record: dict[str, Any], made: ModelLineage) -> dict[str, Any]:
    return record | ({"remarks": list(made.remarks)} if made.remarks else {})


def _records(lineage: Lineage, links: Iterable[Link]) -> list[dict[str, Any]]:
    return [
        {
            "relation": label(lineage, link.table),
            "column": link.column,
            "namespace": lineage.relations[link.table].dataset.namespace,
            "dataset": lineage.relations[link.table].dataset.name,
            "type": link.how.type,
            "subtype": link.how.subtype,
            "masking": link.how.masking,
        }
        for link in links
    ]


def describe(lineage: Lineage, made: ModelLineage, column: Column) -> str:
    """Return a line on where a column comes from, for its description.

    Only what its value is made of, if there is such: the docs have little room.
    """
    found = lineage.beginnings(column.links)
    links = [link for link in found if link.how.direct] or found
    if not links:
        return f"from: {_without_source(made, column)}"
    parts = []
    for kind, group in _by_kind(links):
        suffix = "" if kind == "identity" else f" ({kind})"
        parts.append("; ".join(_places(lineage, group)) + suffix)
    return f"from: {'; '.join(parts)}"
