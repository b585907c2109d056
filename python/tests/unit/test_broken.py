"""What is said of a table's file that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidemark.spark.broken import with_cure

NOT_PARQUET = "cannot be read: it is cut, or no Parquet file"


def table(folder: Path, *commits: object) -> Path:
    for number, actions in enumerate(commits):
        file = folder / "_delta_log" / f"{number:020}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "\n".join(map(json.dumps, actions if isinstance(actions, list) else [actions]))
        )
    return folder


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse's schema, with an entity of extracts and one of events."""
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / "the home"))
    folder = tmp_path / "the home" / "warehouse" / "shop.db"
    fields = [
        {"name": "_business_date", "metadata": {"delta.columnMapping.physicalName": "col-1"}},
        {"name": "_commit_id", "metadata": {}},
    ]
    added = {
        "path": "a%20b/part-1.parquet",
        "partitionValues": {"col-1": "2026-01-02"},
        "stats": json.dumps({"minValues": {"_commit_id": 7}, "maxValues": {"_commit_id": 9}}),
    }
    table(
        folder / "orders__log",
        {"metaData": {"schemaString": json.dumps({"fields": fields})}},
        [{"commitInfo": {}}, {"add": added}],
    )
    for name in ("orders", "places", "places__log", "places__landed", "dates"):
        table(folder / name, {"commitInfo": {}})
    return folder


def test_current(schema: Path) -> None:
    file = schema / "orders" / "part-1.parquet"
    for path in (file, f"file:{file}", f"file://{str(file).replace(' ', '%20')}"):
        assert with_cure(f"{path} {NOT_PARQUET}") == (
            f"{path} {NOT_PARQUET}. `tidemark rebuild orders` makes the table again from its log"
        )


def test_log(schema: Path) -> None:
    said = with_cure(f"{schema}/orders__log/a b/part-1.parquet {NOT_PARQUET}")
    assert "The file has the rows of 2026-01-02 (commits 7 to 9)" in said
    assert "`sql delete from shop.orders__log where _business_date = date'2026-01-02'`" in said
    assert "`tidemark run --select orders --business-date 2026-01-02`" in said
    # of a file that no commit names, and of events
    said = with_cure(f"{schema}/orders__log/part-2.parquet {NOT_PARQUET}")
    assert "load its dates again in order" in said and "--full-refresh" in said
    said = with_cure(f"{schema}/places__log/part-1.parquet {NOT_PARQUET}")
    assert "load the remaining events again" in said and "--select places" in said


def test_commit(schema: Path) -> None:
    message = "[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are detected."
    assert with_cure(message, "select * from `shop`.`orders`") == message
    broken = schema / "orders" / "_delta_log" / f"{0:020}.json"
    broken.write_text("{no")
    assert with_cure(message, "select * from shop.places, `shop`.`orders`") == (
        f"{broken} cannot be read: it is no JSON. `tidemark rebuild orders` makes the table "
        "again from its log"
    )


@pytest.mark.parametrize("path", ["dates/part-1.parquet", "../../../drop/part-1.parquet"])
def test_others(schema: Path, path: str) -> None:
    """Of a file of a table that is no entity's, or of no table, nothing more is known."""
    message = f"{schema}/{path} {NOT_PARQUET}"
    assert with_cure(message) == message


@pytest.mark.parametrize("why", ["not a gzip file", "Unexpected end of input stream."])
def test_cure__of_a_compressed_file_that_landed(why: str) -> None:
    assert with_cure(f"file:/landing/fees/2026-01-01.csv.gz cannot be read: {why}") == (
        f"file:/landing/fees/2026-01-01.csv.gz cannot be read: {why.rstrip('.')}. The file is cut or "
        "not compressed: replace it with a whole one, and run again"
    )
