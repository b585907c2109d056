"""Unit tests of models: what may stand in the YAML, what lands, what differs, what is recorded. No JVM."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import duckdb
import pytest
import yaml

from tidemark.errors import ConfigError
from tidemark.model.settings.unit_tests import TableRows, UnitTest
from tidemark.model.unit_tests import unit_tests_of
from tidemark.run.invoke import Outcome
from tidemark.scaffold.schema import models_schema
from tidemark.unit_tests.cases import Case, without_tests
from tidemark.unit_tests.differences import difference_of
from tidemark.unit_tests.found import Found
from tidemark.unit_tests.landing import land, location_of
from tidemark.unit_tests.project import profile_text
from tidemark.unit_tests.record import recorded_rows, write_expectations
from tidemark.unit_tests.rows import rows_of
from tidemark.unit_tests.runner import Failure, Result, Runner
from tidemark.unit_tests.show import write_junit

UTC = ZoneInfo("UTC")
STEP = {"business_date": "2026-03-01", "given": [{"id": 1}]}


def node(tests: Any, materialized: str = "cdc", **settings: Any) -> dict[str, Any]:
    told = {"extract": "full", "location": "x/{business_date}.csv", **settings, "unit_tests": tests}
    config = {"materialized": materialized, "meta": {"tidemark": told}}
    return {"alias": "orders", "name": "orders", "config": config}


def problems(tests: Any, **settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        unit_tests_of(node(tests, **settings))
    return str(caught.value)


def case(
    folder: Path,
    steps: list[dict[str, Any]],
    *,
    columns: str = "",
    materialized: str = "cdc",
    **settings: Any,
) -> Case:
    """A test of a model; columns as `id int, name string`."""
    declared = dict(one.strip().split(" ", 1) for one in columns.split(",") if one)
    config = SimpleNamespace(
        materialized=materialized, unique_key="id", meta={"tidemark": {"location": "x", **settings}}
    )
    model = SimpleNamespace(
        name="orders", alias="orders", config=config, original_file_path="models/orders.sql",
        columns={name: SimpleNamespace(data_type=kind) for name, kind in declared.items()},
    )  # fmt: skip
    return Case(model, UnitTest.model_validate({"name": "t", "steps": steps}), 1, folder)


def landed(folder: Path, given: Any, columns: str = "", **settings: Any) -> bytes:
    one = case(
        folder, [{"business_date": "2026-03-01", "given": given}], columns=columns, **settings
    )
    land(one, 0, "2026-03-01", folder)
    (file,) = Path(location_of(one).replace("{business_date}", "2026-03-01")).iterdir()
    return file.read_bytes()


class TestSettings:
    def test_are_read(self) -> None:
        (one,) = unit_tests_of(
            node([{"name": "a", "steps": [{**STEP, "expect": {"current": [{"id": 1}]}}]}])
        )
        assert one.steps[0].expect is not None and one.steps[0].expect.current == TableRows(
            rows=[{"id": 1}]
        )
        assert unit_tests_of({"alias": "x", "config": {"meta": None}}) == []

    @pytest.mark.parametrize(
        ("test", "said"),
        [
            ({"name": "a", "steps": [{**STEP, "expect": {"curent": []}}]}, "unit_tests.a: steps.1.expect.curent is not read; did you mean `current`"),
            ({"name": "a", "steps": [{**STEP, "busines_date": 1}]}, "did you mean `business_date`"),
            ({"name": "a", "steps": [{"business_date": "2026-02-30"}]}, "steps.1.business_date"),
            ({"name": "a", "steps": [{"business_date": "01.03.2026"}]}, "unit_tests.a: steps.1.business_date must be a date such as 2026-03-04, found: '01.03.2026'"),
            ({"name": "a", "steps": [{"business_date": 20260301}]}, "steps.1.business_date must be a date such as 2026-03-04, found: 20260301"),
            ({"name": "a", "steps": []}, "steps must not be empty, found: []"),
            ({"name": "a", "steps": 5}, "steps must be a list, found: 5"),
            ({"name": "a b", "steps": [STEP]}, "name must have only letters, digits and underscores, found: 'a b'"),
            ("a", "unit_tests.1 must be a mapping of names and values, found: 'a'"),
            ({"name": "a", "steps": [{**STEP, "full_refresh": "x"}]}, "steps.1.full_refresh must be true or false, found: 'x'"),
            ({"name": "a", "steps": [{**STEP, "vars": "x"}]}, "steps.1.vars must be a mapping of names and values, found: 'x'"),
            ({"name": "a", "steps": [{**STEP, "given": {1: 2}}]}, "steps.1.given must have names in quotes, found: 1"),
            ({"name": "a", "steps": [{**STEP, "given": {"csv": 5}}]}, "steps.1.given.csv must be a text, found: 5"),
            ({"name": "a", "steps": [{**STEP, "given": {"files": 5}}]}, "steps.1.given.files must be a list or a text, found: 5"),
            ({"name": "a", "steps": [{**STEP, "expect": {"error": ""}}]}, "steps.1.expect.error must not be empty, found: ''"),
            ({"name": "a", "steps": [{**STEP, "expect": {"counts": {"rows_read": "x"}}}]}, "steps.1.expect.counts.rows_read must be a whole number, found: 'x'"),
            ({"name": "a", "steps": [{**STEP, "expect": {"counts": {"rows_insert": 1}}}]}, "steps.1.expect.counts must have names of rows_read, rows_inserted,"),
            ({"steps": [STEP]}, "name is missing"),
            ({"name": "a", "steps": [{"given": []}]}, "the first step needs a business_date"),
            ({"name": "a", "steps": [{**STEP, "given": {"rows": [], "csv": "x"}}]}, "found rows and csv"),
            ({"name": "a", "steps": [{**STEP, "given": {}}]}, "found nothing"),
            ({"name": "a", "steps": [{**STEP, "vars": {"business_date": 1}}]}, "stands beside vars"),
            ({"name": "a", "steps": [{**STEP, "expect": {"error": "x", "counts": {"rows_read": 1}}}]}, "counts nothing"),
            ({"name": "a", "steps": [{**STEP, "expect": {"counts": {"inserted": 1}}}]}, "rows_inserted"),
            ({"name": "a", "steps": [{**STEP, "given": {"inputs": [{"input": "orders", "rows": []}]}}]}, "Write ref('model')"),
            ({"name": "a", "settings": {"unit_tests": []}, "steps": [STEP]}, "a test has no tests"),
        ],
    )  # fmt: skip
    def test_a_mistake_is_told(self, test: Any, said: str) -> None:
        assert said in problems([test])

    def test_a_misspelt_name_is_one_mistake(self) -> None:
        assert "has 1 problem\n" in problems([{"name": "a", "stesp": [STEP]}])

    def test_all_mistakes_are_told_at_once(self) -> None:
        told = problems(
            [
                {"name": "a", "steps": [{}]},
                {"name": "b", "stepps": []},
                {"name": "b", "steps": [STEP]},
                {"name": "b", "steps": [STEP]},
            ]
        )
        assert (
            "did you mean `steps`" in told
            and "two tests have the name b" in told
            and "business_date" in told
        )

    def test_a_model_without_location_needs_inputs(self) -> None:
        assert "give the tables that it reads" in problems(
            [{"name": "a", "steps": [STEP]}], location=None
        )

    def test_what_rules_look_up_is_given_beside_rows(self) -> None:
        inputs = [{"input": "ref('cities')", "rows": []}]
        steps = [{**STEP, "given": {"rows": [], "inputs": inputs}}]
        assert len(unit_tests_of(node([{"name": "a", "steps": steps}]))) == 1
        assert "found rows and inputs" in problems([{"name": "a", "steps": steps}], location=None)

    def test_only_an_entity_has_a_log(self) -> None:
        with pytest.raises(ConfigError, match="only materialized: cdc has a log"):
            unit_tests_of(node([{"name": "a", "steps": [{"expect": {"history": []}}]}], "atomic"))

    @pytest.mark.parametrize(
        ("table", "row", "said"),
        [
            ("current", {"nam": 1}, "step 1: expect.current: there is no column nam; did you mean `name`?"),
            ("history", {"city": 1}, "expect.history: there is no column city; there are id, name, note"),
            ("intervals", {"phone": 1}, "expect.intervals: there is no column phone"),
            ("feed", {"name": 1}, "expect.feed: there is no column name; there are id"),
            ("rejects", {"id": 1}, "expect.rejects: there is no column id; it has no business columns"),
            ("current", {"ID": 1, "note": 1, "_operation": "I"}, None),
            ("feed", {"id": 1, "_operation": "I", "_change": "x"}, None),
            ("rejects", {"_reject_reason": "x"}, None),
        ],
    )  # fmt: skip
    def test_a_column_that_no_table_will_have(
        self, table: str, row: dict[str, Any], said: str | None
    ) -> None:
        def told(body: str = "{{ tidemark.extract() }}\n", **more: Any) -> str:
            given = {"rows": [{"id": 1, "note": 2}], **more}
            steps = [{**STEP, "given": given, "expect": {table: [row]}}]
            one = node([{"name": "a", "steps": steps}], sensitive=["phone"])
            one["config"]["unique_key"] = "id"
            one |= {"raw_code": body, "columns": {"id": {}, "name": {}, "phone": {}}}
            try:
                unit_tests_of(one)
            except ConfigError as error:
                return str(error)
            return ""

        assert (said in told()) if said else told() == ""
        csv = told(rows=None, csv="id, note\n1,2")
        assert (said in csv) if said else csv == ""
        # another body and another file may have more
        if table not in ("feed", "rejects"):
            assert told("select 1 as nam from ({{ tidemark.extract() }})") == ""
            assert told(rows=None, lines="id,nam") == ""

    def test_editors_know_them(self) -> None:
        settings = models_schema()["definitions"]
        assert {"ExtractSettings", "EventSettings", "AtomicSettings"} <= {
            name for name, one in settings.items() if "unit_tests" in one.get("properties", {})
        }


class TestRows:
    def test_csv_and_files(self, tmp_path: Path) -> None:
        assert rows_of(TableRows(csv="id, name\n1, a b\n2,\n"), tmp_path) == [
            {"id": "1", "name": "a b"},
            {"id": "2", "name": None},
        ]
        (tmp_path / "a.csv").write_text("id\n1\n")
        (tmp_path / "a.json").write_text('[{"id": 1}]')
        assert rows_of(TableRows(file="a.csv"), tmp_path) == [{"id": "1"}]
        assert rows_of(TableRows(file="a.json"), tmp_path) == [{"id": 1}]

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            (TableRows(csv="id,name\n1\n"), "a row must have 2 cells, as the header has, found 1"),
            (TableRows(csv="id;sum\n1;1,5\n"), "csv has ';' between its columns. Write commas"),
            (TableRows(file="none.csv"), "cannot be read"),
            (TableRows(file="no.json"), "is not valid JSON"),
            (TableRows(file="one.json"), "must hold a list of rows"),
        ],
    )
    def test_a_mistake_is_told(self, tmp_path: Path, table: TableRows, said: str) -> None:
        (tmp_path / "no.json").write_text("{")
        (tmp_path / "one.json").write_text("{}")
        with pytest.raises(ConfigError, match=said):
            rows_of(table, tmp_path)


class TestLanding:
    def test_csv__null_is_empty_and_an_empty_text_is_quoted(self, tmp_path: Path) -> None:
        rows = [
            {"id": 1, "a": 'x "y"'},
            {"id": 2, "a": ""},
            {"id": 3, "b": "p,q"},
            {"id": True, "a": dt.date(2026, 1, 2)},
        ]
        assert (
            landed(tmp_path, rows).decode()
            == 'id,a,b\n1,"x ""y""",\n2,"",\n3,,"p,q"\ntrue,2026-01-02,\n'
        )

    def test_csv__as_the_options_say(self, tmp_path: Path) -> None:
        options = {
            "Sep": ";",
            "header": False,
            "encoding": "windows-1252",
            "nullValue": "-",
            "quote": "'",
        }
        rows = [{"name": "Zoë;", "id": 1}, {"id": 2}, {"id": 3, "name": "-"}]
        text = landed(tmp_path, rows, "id int, name string", options=options)
        assert text.decode("windows-1252") == "1;'Zoë;'\n2;-\n3;'-'\n"
        with pytest.raises(ConfigError, match="lacks note"):
            landed(tmp_path, [{"note": 1}], "id int", options=options)
        with pytest.raises(ConfigError, match="cannot be written as windows-1252"):
            landed(tmp_path, [{"name": "☃"}], "id int, name string", options=options)

    def test_lines_are_as_they_are(self, tmp_path: Path) -> None:
        assert landed(tmp_path, {"lines": "id\n'1"}) == b"id\n'1\n"

    def test_json(self, tmp_path: Path) -> None:
        assert (
            landed(tmp_path, [{"id": 1, "tags": ["ä"]}], format="json").decode()
            == '{"id": 1, "tags": ["ä"]}\n'
        )

    def test_parquet__has_the_types_that_are_declared(self, tmp_path: Path) -> None:
        rows = [
            {"id": 1, "p": 1.5, "tags": ["a"], "at": {"x": 1}},
            {"id": 2, "p": None, "tags": [], "at": None},
        ]
        columns = "id int,p decimal(10;2),tags array<string>,at struct<x:int>".replace(
            ",", ", "
        ).replace(";", ",")
        declared = dict(one.split(" ", 1) for one in columns.split(", "))
        one = case(tmp_path, [{"business_date": "2026-03-01", "given": rows}], format="parquet")
        one.node.columns.update(
            {name: SimpleNamespace(data_type=kind) for name, kind in declared.items()}
        )
        land(one, 0, "2026-03-01", tmp_path)
        path = f"{tmp_path}/landing/2026-03-01/*.parquet"
        found = duckdb.sql(f"from '{path}'")
        assert [str(kind) for kind in found.types] == [
            "INTEGER",
            "DECIMAL(10,2)",
            "VARCHAR[]",
            "STRUCT(x INTEGER)",
        ]
        assert found.fetchall() == [(1, Decimal("1.50"), ["a"], {"x": 1}), (2, None, [], None)]

    def test_events_say_where_in_the_source_they_stand(self, tmp_path: Path) -> None:
        steps = [
            {"given": [{"op": "c", "after": {"id": 1}}, {"op": "d", "before": {"id": 1}}]},
            {"given": [{"op": "r", "after": {"id": 2}, "ts_ms": 5}]},
        ]
        one = case(tmp_path, steps, extract="events", table="inventory.orders")
        for step in (0, 1):
            land(one, step, "2026-01-01", tmp_path)
        events = [
            yaml.safe_load(line)
            for file in sorted((tmp_path / "landing").iterdir())
            for line in file.read_text().splitlines()
        ]
        places = [event["source"]["lsn"] for event in events]
        assert places == sorted(set(places)) and len(places) == 3
        assert {(event["source"]["schema"], event["source"]["table"]) for event in events} == {
            ("inventory", "orders")
        }
        assert events[1]["after"] is None and events[2]["ts_ms"] == 5

    def test_a_date_that_is_given_again_is_given_anew(self, tmp_path: Path) -> None:
        one = case(
            tmp_path,
            [{"business_date": "2026-03-01", "given": [{"id": 1}]}, {"given": {"lines": "id"}}],
        )
        for step in (0, 1):
            land(one, step, "2026-03-01", tmp_path)
        (file,) = (tmp_path / "landing" / "2026-03-01").iterdir()
        assert file.read_text() == "id\n"

    def test_files_are_copied(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv.gz").write_bytes(b"\x1f\x8b")
        assert landed(tmp_path, {"files": "a.csv.gz"}) == b"\x1f\x8b"
        with pytest.raises(ConfigError, match=r"there is no file none.csv"):
            landed(tmp_path, {"files": ["none.csv"]})


class TestDifferences:
    FOUND: ClassVar[list[dict[str, Any]]] = [
        {"id": 1, "Name": "NULL", "price": Decimal("1.50"), "at": dt.datetime(2026, 1, 1, 9, tzinfo=ZoneInfo("Europe/Zurich")), "_operation": "I"},
        {"id": 2, "Name": None, "price": None, "at": None, "_operation": "U"},
    ]  # fmt: skip

    def test_only_what_is_named_is_compared__order_aside(self) -> None:
        assert self._differs([{"id": "2", "name": None}, {"id": 1, "name": "NULL"}]) is None

    @pytest.mark.parametrize(
        ("column", "value", "is_meant"),
        [
            ("price", 1.5, True), ("price", "1.50", True), ("price", "1.51", False), ("price", "x", False), ("price", None, False),
            ("at", "2026-01-01 08:00:00", True), ("at", "2026-01-01T09:00:00+01:00", True), ("at", "2026-01-01 09:00:00", False),
            ("name", "", False), ("name", None, False), ("name", "NULL", True), ("id", True, False), ("id", "1.0", True),
        ],
    )  # fmt: skip
    def test_a_value_is_read_as_what_is_found(
        self, column: str, value: Any, is_meant: bool
    ) -> None:
        found = self.FOUND[:1]
        assert (
            difference_of("current", [{column: value}], found, list(found[0]), ["id"], UTC) is None
        ) == is_meant

    @pytest.mark.parametrize(
        ("found", "meant", "other"),
        [
            (True, "true", "false"), (b"\x01", "01", "02"), (float("nan"), ".nan", 1), (dt.date(2026, 1, 2), "2026-01-02", "2026-01-03"),
            ([1, None], [1, None], [1]), ({"a": Decimal("1.0")}, {"a": 1}, {"a": 1, "b": 2}), ([("k", 1)], {"k": 1}, {"k": 2}), ([1], "[1]", "[2]"),
        ],
    )  # fmt: skip
    def test_types(self, found: Any, meant: Any, other: Any) -> None:
        assert difference_of("log", [{"v": meant}], [{"v": found}], ["v"], [], UTC) is None
        assert difference_of("log", [{"v": other}], [{"v": found}], ["v"], [], UTC) is not None

    def test_rows_of_one_key_are_shown_together(self) -> None:
        told = self._differs(
            [{"id": 1, "name": "x", "price": 7}, {"id": 3, "name": "y", "price": 1}]
        )
        assert told is not None
        assert [(row.expected and row.expected["id"], row.found and row.found["id"], row.columns) for row in told.rows] == [
            (1, 1, ("name", "price")), (3, None, ()), (None, 2, ())
        ]  # fmt: skip

    def test_how_often_a_row_is_there_counts(self) -> None:
        twice = [{"v": 1}, {"v": 1}]
        assert difference_of("log", twice, twice, ["v"], [], UTC) is None
        assert difference_of("log", twice, twice[:1], ["v"], [], UTC) is not None

    def test_no_rows(self) -> None:
        told = self._differs([])
        assert (
            told is not None
            and told.columns == ("id", "Name", "price", "at")
            and len(told.rows) == 2
        )
        assert difference_of("rejects", [], [], [], [], UTC) is None
        missing = difference_of("rejects", [{"v": 1}], [], [], [], UTC)
        assert missing is not None and missing.rows[0].found is None

    def test_a_column_that_is_not_there_is_told(self) -> None:
        told = self._differs([{"nam": 1}])
        assert told is not None and told.problem == "there is no column nam; did you mean `Name`?"

    def _differs(self, expected: list[dict[str, Any]]) -> Any:
        return difference_of("current", expected, self.FOUND, list(self.FOUND[0]), ["ID"], UTC)


class TestRecord:
    YAML = """\
# of people
models:
  - name: orders
    config:
      meta:
        tidemark:
          unit_tests:
            - name: one   # a remark
              steps:
                - business_date: 2026-03-01
                  given: [{id: 1}]   # given

                - {business_date: 2026-03-02}
                - business_date: 2026-03-03
                  expect:
                    current: []
                  vars: {allow_deletes: true}
            - {name: two, steps: [{business_date: 2026-03-01, expect: {error: x}}]}
  - name: others
"""

    def test_nothing_else_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "models.yml"
        path.write_text(self.YAML)
        rows = [
            {"id": 1, "name": "NULL", "on": dt.date(2026, 3, 1)},
            {"id": 2, "name": None, "on": None},
        ]
        first = {"current": rows, "counts": {"rows_read": 2}}
        write_expectations(
            path,
            "orders",
            {"one": [first, {"error": "a: b"}, {"current": []}], "two": [{"current": [{"id": 1}]}]},
        )
        text = path.read_text()
        read = {
            one["name"]: one["steps"]
            for one in yaml.safe_load(text)["models"][0]["config"]["meta"]["tidemark"]["unit_tests"]
        }
        assert [step["expect"] for step in read["one"]] == [
            first,
            {"error": "a: b"},
            {"current": []},
        ]
        assert read["two"] == [
            {"business_date": dt.date(2026, 3, 1), "expect": {"current": [{"id": 1}]}}
        ]
        assert read["one"][2]["vars"] == {"allow_deletes": True}
        kept = [
            line
            for line in self.YAML.splitlines()
            if "expect" not in line and "current" not in line and "03-02" not in line
        ]
        assert all(line in text.splitlines() for line in kept)

    def test_a_test_that_stands_elsewhere_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "models.yml"
        path.write_text(self.YAML)
        with pytest.raises(ConfigError, match="has no test three of orders"):
            write_expectations(path, "orders", {"three": [{}]})
        assert path.read_text() == self.YAML

    def test_an_error_of_spark_is_no_expectation(self, tmp_path: Path) -> None:
        """Such as of a column that the given rows lack; a load that Tidemark refuses is one."""
        one = case(tmp_path, [{"given": [{"id": 1}]}])
        runner = Runner.__new__(Runner)
        runner._queries = lambda *_: {}  # type: ignore[method-assign]

        def recorded(failure: str) -> Result:
            result = Result(one)
            outcome = Outcome(False, started=True, failures={one.alone: failure})
            runner._record([one], 0, outcome, None, {one.number: result})
            return result

        result = recorded("Database Error in model t1 (m.sql)\n  [UNRESOLVED_COLUMN] `country`")
        assert result.recorded == [] and not result.passed
        assert "nothing is recorded" in (result.failures[0].problem or "")
        result = recorded("Data Error in model t1 (m.sql)\n  orders: 1 of 2 rows cannot be used")
        assert result.passed
        assert result.recorded == [{"error": "orders: 1 of 2 rows cannot be used"}]

    def test_rows__in_the_columns_that_were_expected(self, tmp_path: Path) -> None:
        found = Found(
            ("id", "Price", "_operation", "_key_hash"),
            ({"id": 2, "Price": Decimal("1.50"), "_operation": "I", "_key_hash": "x"},),
        )
        assert recorded_rows(found, None, tmp_path, UTC) == [
            {"id": 2, "Price": 1.5, "_operation": "I"}
        ]
        assert recorded_rows(found, TableRows(csv="price\n1"), tmp_path, UTC) == [{"Price": 1.5}]
        # of names that the table does not have
        none = TableRows(rows=[{"cost": 1, "_reason": "x"}])
        assert recorded_rows(found, none, tmp_path, UTC) == recorded_rows(
            found, None, tmp_path, UTC
        )

    def test_a_number_is_that_number(self, tmp_path: Path) -> None:
        numbers = ("1.50", "2", "12345678901234567.89")
        found = Found(("n",), tuple({"n": Decimal(one)} for one in numbers))
        assert recorded_rows(found, None, tmp_path, UTC) == [
            {"n": 1.5},
            {"n": "12345678901234567.89"},
            {"n": 2},
        ]


def test_junit(tmp_path: Path) -> None:
    one = case(tmp_path, [STEP])
    told = difference_of(
        "current", [{"id": 1, "n": "\x07a"}], [{"id": 1, "n": "b"}], ["id", "n"], ["id"], UTC
    )
    failed = Result(
        one, [Failure(1, None, told), Failure(1, "rows_read: expected 2, found 1")], 1.5
    )
    write_junit([failed, Result(one)], tmp_path / "a" / "junit.xml")
    suite = ElementTree.parse(tmp_path / "a" / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (failure,) = suite[0]
    assert failure.get("message") == "step 1: current: 1 row differs"
    assert "expected" in (failure.text or "") and "rows_read: expected 2, found 1" in (
        failure.text or ""
    )
    assert not list(suite[1])


def test_without_tests__leaves_the_rest_and_the_original() -> None:
    meta = {"owner": "shop", "tidemark": {"extract": "full", "unit_tests": [{"name": "t"}]}}
    original = SimpleNamespace(
        config=SimpleNamespace(meta=meta, materialized="cdc"),
        meta=meta,
        unrendered_config={"meta": meta, "materialized": "cdc"},
    )
    bare = without_tests(original)
    expected = {"owner": "shop", "tidemark": {"extract": "full"}}
    assert bare.config.meta == bare.meta == bare.unrendered_config["meta"] == expected
    assert bare.config.materialized == bare.unrendered_config["materialized"] == "cdc"
    assert original.config.meta is meta and "unit_tests" in meta["tidemark"]


@pytest.mark.parametrize(("file_format", "catalogue"), [("delta", "in-memory"), ("iceberg", None)])
def test_profile_text__where_tables_are_known(file_format: str, catalogue: str | None) -> None:
    own = {"spark.sql.ansi.enabled": "true", "spark.sql.warehouse.dir": "/of/the/user"}
    config = SimpleNamespace(
        credentials=SimpleNamespace(server_side_parameters=own),
        threads=4,
        profile_name="shop",
        target_name="dev",
    )
    output = yaml.safe_load(profile_text(config, file_format))["shop"]["outputs"]["dev"]
    settings = output["server_side_parameters"]
    assert settings.get("spark.sql.catalogImplementation") == catalogue
    assert settings["spark.sql.ansi.enabled"] == "true"
    assert "spark.sql.warehouse.dir" not in settings
