"""The canonical columns, lines, values and fingerprint of enriched events. No JVM."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from tests import event_vectors
from tidemark.errors import ConfigError
from tidemark.shred import enriched
from tidemark.shred.enriched import COLUMNS, LEFT_OUT, TYPES, Event

PAGE = "iglu:com.snowplowanalytics.snowplow/web_page/jsonschema/1-0-0"
CONTEXTS = "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0"


def an_event(**texts: str | None) -> Event:
    event: Event = dict.fromkeys(COLUMNS)
    event.update(
        event_id="1799a90f-f570-4414-b91a-b0db8f39cc2e",
        collector_tstamp="2016-11-27 07:16:07.000",
        v_collector="clj-1.1.0-tom-0.2.0",
        v_etl="hadoop-1.8.0-common-0.24.0",
    )
    event.update(texts)
    return event


def test_columns() -> None:
    assert len(COLUMNS) == 131
    # The places that the documentation of the TSV names.
    places = {0: "app_id", 6: "event_id", 22: "geo_latitude", 52: "contexts", 58: "unstruct_event"}
    places |= {61: "tr_total", 77: "useragent", 103: "dvce_screenwidth", 116: "mkt_clickid"}
    places |= {121: "refr_dvce_tstamp", 122: "derived_contexts", 129: "event_fingerprint"}
    assert {place: COLUMNS[place] for place in places} == places
    by_type: dict[str, int] = {}
    for kind in TYPES.values():
        by_type[kind] = by_type.get(kind, 0) + 1
    assert by_type == {
        "string": 87,
        "timestamp": 7,
        "int": 15,
        "double": 3,
        "decimal(18,2)": 8,
        "boolean": 11,
    }
    assert {*LEFT_OUT} < {*COLUMNS}
    with pytest.raises(TypeError):
        TYPES["app_id"] = "int"  # type: ignore[index]


# -- Lines ---------------------------------------------------------------------------------------


def test_line__there_and_back() -> None:
    event = an_event(app_id="shop", page_title="東京 \u2028 \\t ' \"", true_tstamp=None)
    line = enriched.to_line(event)
    assert line.count("\t") == 130
    assert enriched.parse_line(line) == event


def test_line__empty_fields_are_none() -> None:
    event = enriched.parse_line("\t" * 130)
    assert list(event) == list(COLUMNS)
    assert set(event.values()) == {None}


@pytest.mark.parametrize("line", ["", "\t" * 129, "\t" * 131, "x"])
def test_line__wrong_number_of_fields(line: str) -> None:
    with pytest.raises(ValueError, match="fields, expected 131"):
        enriched.parse_line(line)


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\rb"])
def test_to_line__refuses_what_would_break_the_line(text: str) -> None:
    with pytest.raises(ValueError, match="tab or line break in page_title"):
        enriched.to_line({"page_title": text})


def test_to_line__unknown_column() -> None:
    with pytest.raises(ConfigError, match="did you mean page_title"):
        enriched.to_line({"page_titel": "x"})


def test_json_line__there_and_back() -> None:
    page = {"schema": PAGE, "data": {"id": "1", "n": 1}}
    event = an_event(
        txn_id="7",
        tr_total="12.50",
        br_cookies="1",
        br_features_pdf="0",
        geo_latitude="1.0",
        contexts=json.dumps({"schema": CONTEXTS, "data": [page]}, separators=(",", ":")),
    )
    line = enriched.to_json_line(event)
    data = json.loads(line)["data"]
    assert (data["txn_id"], data["br_cookies"], data["br_features_pdf"]) == (7, True, False)
    assert data["collector_tstamp"] == "2016-11-27T07:16:07.000Z"
    assert data["contexts"]["data"][0]["data"] == {"id": "1", "n": 1}
    # as VARIANT prints them
    event["tr_total"], event["geo_latitude"] = "12.5", "1"
    event["contexts"] = json.dumps(
        {"data": [dict(sorted(page.items()))], "schema": CONTEXTS}, separators=(",", ":")
    )
    assert enriched.parse_json_line(line) == event


def test_json_line__as_analytics_sdks_write_it() -> None:
    line = json.dumps(
        {
            "event_id": "x",
            "tr_total": 1.10,
            "refr_device_tstamp": "2016-11-27T07:16:07Z",
            "contexts": {},
            "derived_contexts": '{"schema":"s","data":[]}',
            "unstruct_event": None,
            "geo_location": "1,2",
            "contexts_com_acme_product_1": [{}],
            "unstruct_event_com_acme_click_1": None,
        }
    )
    texts = {k: v for k, v in enriched.parse_json_line(line).items() if v is not None}
    assert texts == {
        "event_id": "x",
        "tr_total": "1.1",
        "refr_dvce_tstamp": "2016-11-27 07:16:07",
        "derived_contexts": '{"schema":"s","data":[]}',
    }


def test_json_line__computed_fingerprint() -> None:
    """The form of a line plays no part where its texts do not; with a fingerprint of its own never."""
    page = json.dumps({"schema": PAGE, "data": {"id": "1"}})
    contexts = f'{{"schema":"{CONTEXTS}","data":[{page}]}}'
    for texts, is_same in (
        ({"app_id": "shop", "txn_id": "7", "br_cookies": "1"}, True),
        ({"tr_total": "12.50"}, False),
        ({"contexts": contexts}, False),
        ({"contexts": contexts, "event_fingerprint": "f"}, True),
    ):
        event = an_event(**texts)
        as_json = enriched.parse_json_line(enriched.to_json_line(event))
        same = enriched.fingerprint(as_json, LEFT_OUT) == enriched.fingerprint(event, LEFT_OUT)
        assert same is is_same, texts


@pytest.mark.parametrize("line", ["", "{", "[]", '"x"', "7", '{"a": 1, "a": 2}'])
def test_json_line__unreadable(line: str) -> None:
    with pytest.raises(ValueError):
        enriched.parse_json_line(line)


# -- Vectors -------------------------------------------------------------------------------------

VECTORS = event_vectors.load()


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_vectors(case: dict[str, Any]) -> None:
    if "hex" in case:
        with pytest.raises(UnicodeDecodeError):
            bytes.fromhex(case["hex"]).decode()
        return
    try:
        event = enriched.read_line(case["line"])
    except ValueError as error:
        assert f"unreadable: {error}" == case["reject"]
        return
    problems = enriched.problems(event)
    assert (", ".join(problems) or None) == case.get("reject")
    if not problems:
        assert event == event_vectors.texts_of(case)
        found = enriched.fingerprint(event)
        event_id = str(event["event_id"]).lower()
        assert found == case["fingerprint"]
        assert enriched.synthetic_id(event_id, found) == case["renamed"]
        derived = enriched.with_duplicate(event["derived_contexts"], event_id)
        assert derived == case["derived_contexts"]
        assert json.loads(derived)["data"][0]["data"] == {"originalEventId": event_id}


def test_vectors__are_what_the_cases_give() -> None:
    assert [event_vectors.described(*case) for case in event_vectors.CASES] == VECTORS
    assert len({case["name"] for case in VECTORS}) == len(VECTORS)


def test_read_values() -> None:
    values, problems = enriched.read_values(
        an_event(tr_total="-0.005", txn_id="+7", br_cookies="0", se_value="1e999", app_id="a")
    )
    found = dict(zip(COLUMNS, values, strict=True))
    assert problems == []
    assert (found["app_id"], found["txn_id"], found["br_cookies"]) == ("a", 7, False)
    assert (found["tr_total"], found["se_value"]) == (Decimal("-0.01"), float("inf"))
    assert found["collector_tstamp"] == datetime(2016, 11, 27, 7, 16, 7)
    assert found["page_title"] is None


def test_json_line__nested_deeper_than_python_can_follow() -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        enriched.read_line('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


# -- Values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("event_id", ["1799A90F-f570-4414-b91a-b0db8f39cc2e"], ["not-a-uuid", "1-2-3-4-5"]),
        ("txn_id", ["7", "-2147483648", "+1"], ["2147483648", "1.0", " 1", "x", "1_0"]),
        (
            "collector_tstamp",
            ["2016-11-27 07:16:07", "2016-11-27 07:16:07.123456", "2024-02-29T00:00:00.0Z"],
            ["29th May 2013 18:04:12", "2016-11-27", "2016-02-30 07:16:07", "2016-11-27 24:00:00"],
        ),
        ("geo_latitude", ["1", "-1.5", ".5", "1.", "1e-7"], ["1,5", "NaN", "x", "0x1p3", "1d"]),
        ("tr_total", ["1.5", "1.234", "-9999999999999999.99"], ["1e16", "1.5 EUR"]),
        ("br_cookies", ["0", "1"], ["true", "yes", "2"]),
        (
            "contexts",
            [
                f'{{"schema":"{CONTEXTS}","data":[]}}',
                f'{{"schema":"{CONTEXTS[:-1]}1","data":[{{"schema":"{PAGE}","data":null}}]}}',
            ],
            [
                "{",
                "[]",
                "{}",
                f'{{"schema":"{CONTEXTS}","data":{{}}}}',
                f'{{"schema":"{CONTEXTS}","data":[{{"schema":"{PAGE}"}}]}}',
                f'{{"schema":"{CONTEXTS}","data":[{{"schema":"page","data":1}}]}}',
                f'{{"schema":"{PAGE}","data":[]}}',
            ],
        ),
    ],
)
def test_problems__by_column(column: str, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert enriched.problems(an_event(**{column: text})) == [], text
    for text in bad:
        assert enriched.problems(an_event(**{column: text})) == [f"cast_failed: {column}"], text


def test_problems__unstruct_event() -> None:
    envelope = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0"
    good = {"schema": envelope, "data": {"schema": PAGE, "data": {}}}
    assert enriched.problems(an_event(unstruct_event=json.dumps(good))) == []
    bad = {"schema": envelope, "data": [good["data"]]}
    assert enriched.problems(an_event(unstruct_event=json.dumps(bad))) != []


def test_problems__all_of_them() -> None:
    event = an_event(event_id=None, v_etl=None, collector_tstamp="x", txn_id="y")
    assert enriched.problems(event) == [
        "cast_failed: collector_tstamp",
        "null_value: event_id",
        "cast_failed: txn_id",
        "null_value: v_etl",
    ]


# -- Duplicates ----------------------------------------------------------------------------------


def test_fingerprint__found() -> None:
    assert enriched.fingerprint(an_event(event_fingerprint="bed9")) == "bed9"


def test_fingerprint__computed_is_of_all_columns_but_those_left_out() -> None:
    before = enriched.fingerprint(an_event())
    assert len(before) == 32
    for column in COLUMNS:
        if column != "event_fingerprint":
            after = enriched.fingerprint(an_event(**{column: "other"}))
            assert (after == before) == (column in LEFT_OUT), column


def test_fingerprint__stable() -> None:
    event = an_event(app_id="shop", page_title="東京", se_label="a|b")
    assert enriched.fingerprint(event) == "807049ae23fb6d1adf64151435165b22"
    shuffled = {column: event[column] for column in reversed(COLUMNS)}
    assert enriched.fingerprint(shuffled) == enriched.fingerprint(event)
    neighbours = an_event(se_label="ab"), an_event(se_label="a", se_property="b")
    assert enriched.fingerprint(neighbours[0]) != enriched.fingerprint(neighbours[1])


def test_fingerprint__own_list() -> None:
    events = an_event(page_title="a"), an_event(page_title="b")
    own = (*LEFT_OUT, "page_title")
    assert enriched.fingerprint(events[0], own) == enriched.fingerprint(events[1], own)
    with pytest.raises(ConfigError, match="did you mean page_title"):
        enriched.fingerprint(an_event(), ["page_titel"])


def test_synthetic_id() -> None:
    lower = enriched.synthetic_id("1799a90f-f570-4414-b91a-b0db8f39cc2e", "8f2a")
    assert lower == enriched.synthetic_id("1799A90F-F570-4414-B91A-B0DB8F39CC2E", "8f2a")
    assert lower == "31d5ea89-2590-5fa8-9bfd-d7cb71c854ae"
    assert uuid.UUID(lower).version == 5


ODD_ID = r"x$1\"y"


def test_with_duplicate__before_the_others() -> None:
    other = {"schema": PAGE, "data": {"data": []}}
    for others in ([], [other], [other, other]):
        derived = json.dumps({"schema": CONTEXTS, "data": others})
        found = json.loads(enriched.with_duplicate(derived, ODD_ID))["data"]
        assert found[0]["schema"] == enriched.DUPLICATE_SCHEMA
        assert found[0]["data"] == {"originalEventId": ODD_ID}
        assert found[1:] == others


def test_line_hash() -> None:
    # select xxhash64('東京'), xxhash64('')
    assert enriched.line_hash("") == -7444071767201028348
