"""How much work a run gives Spark, counted in its plans: scans of the extract, shuffles, what MERGE is spared. No times."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..rendering import load_sql_macros
from .entities import Entity
from .event_entities import EventEntity


class Plans:
    """The plans that the session has run since it was asked last."""

    def __init__(self, project: Any) -> None:
        profile = project.root / "profiles.yml"
        text = profile.read_text(encoding="utf-8")
        parameters = "server_side_parameters:"
        explained = f"{parameters}\n        spark.sql.ui.explainMode: formatted"
        profile.write_text(text.replace(parameters, explained), encoding="utf-8")
        project.sql("select 1")
        self.store = project.session._jsparkSession.sharedState().statusStore()
        self.seen = -1
        self.new()

    def new(self, *, details: bool = False) -> list[str]:
        """The final plan of each execution: a tree of operators, or all that is said of them."""
        found = self.store.executionsList()
        executions = [found.apply(number) for number in range(found.size())]
        texts = {
            int(one.executionId()): str(one.physicalPlanDescription())
            for one in executions
            if int(one.executionId()) > self.seen
        }
        self.seen = max(texts, default=self.seen)
        return [text if details else _final(text) for _, text in sorted(texts.items())]


def _final(text: str) -> str:
    tree = text.split("\n\n\n")[0]
    return tree.split("== Initial Plan ==")[0]


def count(plans: list[str], operator: str) -> int:
    """How often an operator stands in the plans; a reused exchange is none."""
    return sum(len(re.findall(rf"(?<![A-Za-z]){operator}[^(\n]*\(\d+\)", plan)) for plan in plans)


def lines(keys: range, price: int = 1) -> str:
    return "id,name,price\n" + "".join(f"{key},n{key},{price}\n" for key in keys)


@pytest.fixture
def items(module_project: Any) -> Entity:
    columns = {"id": "int", "name": "string", "price": "int"}
    return Entity(module_project, "items", columns, max_delete_fraction=1, engine="spark")


def test_full_extract(items: Entity, module_project: Any) -> None:
    plans = Plans(module_project)
    items.load("2026-01-01", lines(range(100)))
    first = plans.new()
    assert count(first, "Scan csv") == 1
    assert count(first, "SortMergeJoin") == 0, "a first load has nothing to be joined with"

    items.load("2026-01-02", lines(range(10, 90), price=2) + lines(range(90, 110))[14:])
    second = plans.new()
    assert items.commits("rows_inserted, rows_updated, rows_deleted, rows_unchanged")[-1] == (10, 80, 10, 10)  # fmt: skip
    assert count(second, "Scan csv") == 1, "the extract is read once"
    [classified] = [plan for plan in second if count([plan], "Scan csv")]
    assert count([classified], "Exchange") == 2, "one shuffle of the extract, one of current"
    assert count([classified], "Window") == 1
    assert not [plan for plan in second if "items__slice" in plan], "what changed is written once"
    # most rows changed: current is written as a whole, and nothing of it is shuffled
    assert not [plan for plan in second if "MergeIntoCommand" in plan]
    [current] = [plan for plan in second if "LeftAnti" in plan]
    assert count([current], "Scan parquet") == 3, "current once, what changed twice"
    assert count([current], "Exchange") == 0
    assert count([current], "BroadcastExchange") == 1


def test_events(module_project: Any) -> None:
    """The JSON of an event is parsed once per reading, its values are read in generated code, and MERGE does not ask the log.

    What events in order add to the log is written once.
    """
    columns = {"id": "int", "moved_at": "timestamp"}
    moves = EventEntity(
        module_project, "moves", columns, format="debezium", table="public.moves", engine="spark"
    )
    source = {"connector": "postgresql", "name": "shop", "schema": "public", "table": "moves"}
    plans, found = Plans(module_project), []
    for number in (1, 2):
        after = {"id": number, "moved_at": "2026-03-04T08:00:00Z"}
        event = {"after": after, "op": "c", "source": {**source, "lsn": number}}
        moves.load([json.dumps({**event, "ts_ms": 1772600000000})])
        # Spark keeps the last fifty
        found += plans.new(details=True)
    assert moves.rows("id") == [(1,), (2,)]
    staged = [
        plan
        for plan in found
        if "staged_rows" in plan and "from_json" in plan and "WriteFiles" in _final(plan)
    ]
    assert len(staged) == 2
    for plan in staged:
        # each operator is a paragraph that begins with its number and name
        final = plan.split("== Initial Plan ==")[0]
        operators = {number for number in re.findall(r"\((\d+)\)", final)}
        parts = [part.strip() for part in plan.split("\n\n")]
        heads = [(re.match(r"\((\d+)\) (\w+)", part), part) for part in parts]
        ours = [(head[2], part) for head, part in heads if head and head[1] in operators]
        parsing = [name for name, part in ours if "from_json(" in part]
        assert parsing == ["Project"], parsing
        assert not [part for _, part in ours if "lambdafunction" in part]
    latest = [
        _final(plan)
        for plan in found
        if "_tidemark_rank" in plan and "WriteFiles" not in _final(plan)
    ]
    assert latest
    assert not [plan for plan in latest if "moves__log" in plan], (
        "what the log got is asked of the run"
    )
    slices = {name for plan in found for name in re.findall(r"moves__slice_\d+_log", plan)}
    assert not slices, "both batches are staged where the log keeps its files"


def test_read_by_line(module_project: Any, tmp_path: Path) -> None:
    """A CSV file is shared out by lines only if that reads the same rows."""
    sql = load_sql_macros()["row_over_lines_sql"]

    def over_lines(data: bytes, **options: str) -> bool:
        file = tmp_path / "extract.csv"
        file.write_bytes(data)
        return bool(module_project.sql(sql({"options": options}, str(file))))

    assert not over_lines(b"id,name\n1,ann\n2,bob\n")
    assert not over_lines(b"id,name\r\n1,ann\r\n2,bob\r\n")
    assert not over_lines(b"id,name\n1,ann\n\n2,bob\n")
    assert over_lines(b'id,name\n1,"a\nnn"\n')
    assert over_lines(b"id,name\n1,'a\nnn'\n", quote="'")
    assert over_lines(b"id,name\n1,a\rnn\n")
    assert over_lines(b"id,name\n1,ann\n  \n2,bob\n")


def test_large_csv(module_project: Any) -> None:
    """The rows are the same whether lines are shared out or not."""
    notes = Entity(module_project, "notes", {"id": "int", "note": "string"}, max_delete_fraction=1)
    text = "x" * 40_000
    rows = "".join(f"{key},{text}\n" for key in range(450))
    assert len(rows) > 16 * 1024 * 1024
    notes.load("2026-01-01", "id,note\n" + rows)
    assert notes.commits("rows_read, rows_rejected")[-1] == (450, 0)
    notes.load("2026-01-02", "id,note\n" + rows + '450,"two\nlines"\n451,end\n')
    assert notes.commits("rows_read, rows_inserted, rows_unchanged")[-1] == (452, 2, 450)
    assert notes.rows("note", where="id >= 450") == [("end",), ("two\nlines",)]
