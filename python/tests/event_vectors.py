"""The shared vectors of enriched events: lines, and what they give in SQL and in Python.

`python python/tests/event_vectors.py` writes vectors/event_vectors.json again with the Python
implementation. The texts of a case that was there before make fingerprints, which are stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidemark.shred import enriched
from tidemark.shred.enriched import Event

VECTORS = Path(__file__).parent / "vectors" / "event_vectors.json"
ABOUT = (
    "line is a line, or hex its bytes where it is no UTF-8; texts are the columns that are not NULL, less those of "
    "base, which all lines have; a line has them, or reject. fingerprint, renamed (the id of a synthetic duplicate) "
    "and derived_contexts (with the duplicate context) are of usable lines."
)
BASE = {
    "event_id": "1799a90f-f570-4414-b91a-b0db8f39cc2e",
    "collector_tstamp": "2026-03-04 09:30:00.000",
    "v_collector": "c",
    "v_etl": "e",
}
CONTEXTS = "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0"
UNSTRUCT = "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0"
ENTITY = '{"schema":"iglu:a/b/jsonschema/1-0-0","data":{}}'
DEEP = "[" * 400 + "]" * 400


def load() -> list[dict[str, Any]]:
    return json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]


def texts_of(case: dict[str, Any]) -> Event:
    """The texts of a usable line by column."""
    texts = dict.fromkeys(enriched.COLUMNS) | BASE | case["texts"]
    return {column: texts[column] for column in enriched.COLUMNS}


def envelope(data: str, schema: str = CONTEXTS) -> str:
    return f'{{"schema":"{schema}","data":{data}}}'


def tsv(**texts: str) -> str:
    return enriched.to_line({**BASE, **texts})


def document(members: str, base: dict[str, str] = BASE) -> str:
    """A line of JSON: members as they are written, and what every line has."""
    return "{" + members + "," + json.dumps(base)[1:]


def entity_with(data: str) -> str:
    return envelope(f'[{{"schema":"iglu:a/b/jsonschema/1-0-0","data":{data}}}]')


# name, line
CASES: list[tuple[str, str | bytes]] = [
    ("tsv", tsv(app_id="shop", page_title="Zürich 東京 😀", txn_id="+7", br_cookies="1", tr_total="1.005")),
    ("tsv: id in upper case", tsv(event_id=BASE["event_id"].upper())),
    ("tsv: quotes, backslashes and blanks", tsv(page_title=" \" ' \\t \\ {}", se_label="\x01\x7f\u2028 ")),
    ("tsv: its own fingerprint", tsv(event_fingerprint="8F2a", page_title="x")),
    ("tsv: numbers", tsv(txn_id="-2147483648", geo_latitude="1.", geo_longitude=".5", se_value="-1E+3", tr_total=".5e1", tr_tax="-0.004", ti_price="0e99")),
    ("tsv: the greatest amount", tsv(tr_total="9999999999999999.994", tr_tax="1e-2147483647", se_value="1e999")),
    ("tsv: timestamps", tsv(etl_tstamp="0001-01-01T00:00:00.123456789Z", true_tstamp="9999-12-31 23:59:59.9", dvce_sent_tstamp="2026-03-29 02:30:00Z")),
    ("tsv: empty", ""),
    ("tsv: 130 fields", "\t" * 129),
    ("tsv: 132 fields", "\t" * 131),
    ("tsv: 131 empty fields", "\t" * 130),
    ("tsv: a tab in JSON", document('"app_id":"a"').replace(",", ",\t", 1)),
    ("tsv: a blank before JSON", " " + document('"app_id":"a"')),
    ("no UTF-8", tsv(app_id="a").encode() + b"\xc3\x28"),
    ("no UTF-8: a surrogate", b"{\"app_id\":\"\xed\xa0\x80\"}"),
    ("tsv: several problems", tsv(collector_tstamp="x", txn_id="1.0", br_cookies="true", v_etl="", event_id="1-2")),
    *((f"tsv: txn_id {text!r}", tsv(txn_id=text)) for text in ("2147483648", " 1", "1_0", "\u0661")),
    *((f"tsv: event_id {text!r}", tsv(event_id=text)) for text in (BASE["event_id"] + " ", "{" + BASE["event_id"] + "}")),
    *((f"tsv: se_value {text!r}", tsv(se_value=text)) for text in ("NaN", "1d", "0x1p3", "1,5", "\u0663", "1e", ".")),
    *((f"tsv: tr_total {text!r}", tsv(tr_total=text)) for text in ("9999999999999999.995", "1e16", "1e99999999999", "1e-99999999999", "1 ")),
    *((f"tsv: etl_tstamp {text!r}", tsv(etl_tstamp=text)) for text in ("0000-01-01 00:00:00", "2026-02-29 00:00:00", "2026-01-01 24:00:00", "2026-01-01 00:00:60", "2026-1-01 00:00:00", "2026-01-01 00:00:00+01:00", "2026-01-01 00:00:00.1234567890", "2026-01-01  00:00:00", "\u0662\u0660\u0662\u0666-01-01 00:00:00", "2026-01-01 00:00:00ZZ")),
    # envelopes
    ("envelope", tsv(contexts=envelope(f"[{ENTITY}]"), unstruct_event=envelope(ENTITY, UNSTRUCT), derived_contexts=envelope("[ ]"))),
    ("envelope: blanks, other members, escapes, data null", tsv(contexts=f' {{"x":[1,{{"a":1,"a":2}}],"\\u0073chema" : "{CONTEXTS[:-1]}42","data":[{{"data":null,"schema":"iglu:a.b/c_d/e/2-0-10","y":1}}]}} ')),
    ("envelope: derived contexts", tsv(derived_contexts=envelope(f"[{ENTITY}]"))),
    ("envelope: an empty array in a derived context", tsv(derived_contexts=entity_with('{"data":[]}'))),
    ("envelope: nested", tsv(contexts=entity_with(DEEP))),
    ("envelope: the last of two schemas", tsv(contexts=f'{{"schema":"x",{envelope("[]")[1:]}')),
    ("envelope: the last of two schemas is none", tsv(contexts=envelope("[]")[:-1] + ',"schema":"x"}')),
    ("envelope: a second schema that is null", tsv(contexts=envelope("[]")[:-1] + ',"schema":null}')),
    ("envelope: a second data that is no array", tsv(contexts=envelope("[]")[:-1] + ',"data":"x"}')),
    ("envelope: a second data that is null", tsv(contexts=envelope("[]")[:-1] + ',"data":null}')),
    ("envelope: data of an entity twice", tsv(contexts=entity_with('1,"data":null'))),
    ("envelope: a name twice in what is no data", tsv(contexts=entity_with('1,"more":{"a":1,"a":2}'))),
    ("envelope: a name twice in data", tsv(contexts=entity_with('{"a":1,"a":2}'))),
    ("envelope: a name twice deep in data", tsv(contexts=entity_with('{"a":[{"b":1,"b":2}]}'))),
    ("envelope: a great number", tsv(contexts=entity_with("1e400"))),
    *(
        (f"envelope {number}: {text[-60:]!r}", tsv(contexts=text))
        for number, text in enumerate((
            "{", "[]", "{}", "null", "7", "x", " ", '"{}"',
            envelope("{}"), envelope('""'), envelope("null"), envelope("[null]"), envelope("[3]"), envelope("[[]]"),
            envelope('[{"schema":"iglu:a/b/jsonschema/1-0-0"}]'), envelope('[{"schema":"a","data":1}]'),
            envelope('[{"schema":7,"data":1}]'), envelope("[],"), envelope("[]").replace("schema", "Schema"),
            envelope("[]") + "x", envelope("[]") + "]x", envelope("[]") + "," + envelope("[]"), envelope("[]") + ",7] x",
            "[" + envelope("[]") + "]", envelope("[]") + "//", envelope("[]").replace('"', "'"),
            entity_with("NaN"), entity_with("-Infinity"), entity_with("01"), entity_with("+1"), entity_with("1."),
            entity_with("tru"), entity_with('"\x01"'), entity_with("1" * 1001), "\ufeff" + envelope("[]"),
            envelope("[]")[:-1] + ',"x":NaN}', envelope("[]", UNSTRUCT), envelope("[]", CONTEXTS[:-1] + "01"),
        ))
    ),
    *(
        (f"envelope: unstruct_event {text[-60:]!r}", tsv(unstruct_event=text))
        for text in (envelope(f"[{ENTITY}]", UNSTRUCT), envelope(ENTITY), envelope("null", UNSTRUCT))
    ),
    # JSON
    ("json", document('"app_id":"shop","page_title":"Z\\u00fcrich 東京 \\ud83d\\ude00","txn_id":7,"br_cookies":true')),
    ("json: self-describing", '{"schema":"iglu:x/atomic/jsonschema/1-0-0","data":' + document('"app_id":"a"') + "}"),
    ("json: self-describing, schema null", '{"data":' + document('"app_id":"a"') + ',"schema":null}'),
    ("json: data that is no object", document('"app_id":"a","schema":"x","data":[1]')),
    ("json: data without schema", document('"app_id":"a","data":{"app_id":"b"}')),
    ("json: numbers in texts", document('"app_id":1.50,"platform":1.0,"user_id":100.00,"name_tracker":-0,"v_tracker":-0.0,"se_category":0.0000001,"se_action":-12345678901234567890123456789012345678,"se_label":123456789012345678901234567890123456789,"se_property":1e3,"tr_city":-1E10,"tr_state":1.5e-7,"tr_country":1e400,"ti_name":-0e1,"ti_sku":0.001e0,"ti_category":9999999e0,"ti_orderid":12345678e0,"os_name":5e-324,"br_name":2e22,"br_type":0.' + "1" * 38 + ',"br_lang":0.' + "1" * 39)),
    ("json: numbers nested", document('"page_title":[1.50,1.0,100.00,-0,-0.0,0.0000001,1e3,-1E10,1.5e-7,1e400,-1e400,-0e1,12345678901234567890123456789012345678,123456789012345678901234567890123456789,0.10e0]')),
    ("json: numbers in typed columns", document('"txn_id":7.0,"geo_latitude":1e1,"tr_total":1.005,"br_cookies":1.0,"br_features_pdf":0')),
    ("json: escapes", document('"page_title":{"k":"\\u0001\\u001f\\u007f\\u2028\\"\\/\\\\\\b\\f\\n\\r\\t\\u00e9\\ud800x\\\\u001f","\\udc00":1}, "se_label":"\\ud800x\\u0000\\n\\u0009"')),
    ("json: order of names", document('"page_title":{"é":1,"\\uffff":2,"\\ud83d\\ude00":3,"z":4,"":5,"a":6,"Z":{"b":1,"a":[true,false,null,{},[]]}}')),
    ("json: names that are the same but for lone surrogates", document('"x":{"\\ud800":1,"\\ud801":2}')),
    ("json: booleans", document('"br_cookies":false,"br_features_pdf":"true","br_features_java":"0","app_id":true,"page_title":"false","se_label":[true]')),
    ("json: a boolean that is none", document('"br_cookies":"True"')),
    ("json: null, empty text and other names", document('"app_id":null,"page_title":"","geo_location":"1,2","contexts_a_b_1":[],"contexts_":[1],"Platform":"x"')),
    ("json: entities without schemas", document('"unstruct_event_a_c_1":{"x":1},"contexts_a_é_1":[{}],"contexts_a_b_1":"x","contexts_n_1":null,"unstruct_event":{}')),
    ("json: entities without schemas and with them", document(f'"contexts_a_b_1":[{{}}],"derived_contexts":{envelope(f"[{ENTITY}]")}')),
    ("json: an event without schema, contexts with them", document(f'"contexts_a_b_1":[{{}}],"contexts":{envelope(f"[{ENTITY}]")},"unstruct_event_a_c_1":{{"x":1}}')),
    ("json: self-describing, entities without schemas", '{"schema":"iglu:x/atomic/jsonschema/1-0-0","data":' + document('"contexts_a_b_1":[{}]') + "}"),
    ("json: contexts", document(f'"contexts":{envelope(f"[{ENTITY}]")},"unstruct_event":{{}},"derived_contexts":[]')),
    ("json: contexts as text", document(f'"contexts":{json.dumps(envelope("[ ]"))},"unstruct_event":"{{}}","derived_contexts":"[]"')),
    ("json: derived contexts", document(f'"derived_contexts":{envelope(f"[{ENTITY}]")}')),
    ("json: contexts that are none", document('"contexts":true')),
    ("json: contexts with a great number", document(f'"contexts":{entity_with("1e400")}')),
    ("json: empty objects elsewhere", document('"app_id":{},"page_title":[]')),
    ("json: timestamps", document('"etl_tstamp":"2026-03-04T05:06:07.123Z","true_tstamp":"2026-03-04T05:06:07","dvce_sent_tstamp":"2026-03-04 05:06:07Z"')),
    ("json: a timestamp with line feed", document('"etl_tstamp":"2026-03-04T05:06:07Z\\n"')),
    ("json: a timestamp that is a number", document('"etl_tstamp":1772600000')),
    ("json: the older name", document('"refr_device_tstamp":"2016-11-27T07:16:07Z"')),
    ("json: both names", document('"refr_dvce_tstamp":"2016-11-27 07:16:07","refr_device_tstamp":"2017-11-27T07:16:07Z"')),
    ("json: both names, the newer one null", document('"refr_device_tstamp":"2017-11-27T07:16:07Z","refr_dvce_tstamp":null')),
    ("json: both names, the newer one empty", document('"refr_dvce_tstamp":"","refr_device_tstamp":"2017-11-27T07:16:07Z"')),
    ("json: nothing required", '{"app_id":"a"}'),
    ("json: blanks", document(' "app_id" : "a" ') + " \r"),
    ("json: nested", document(f'"page_title":{DEEP}')),
    *(
        (f"json {number}: {text[:40]!r}", text)
        for number, text in enumerate((
            "{", "{}", '{"app_id":"a"} x', '{"app_id":"a"}]x', '{"app_id":"a"},{}', '{"app_id":"a"},7] x', '{"app_id":"a",}',
            document('"app_id":1,"app_id":2'), document('"x":{"y":[{"a":1,"a":2}]}'), document('"x":NaN'), document('"x":-Infinity'),
            document('"x":01'), document('"x":+1'), document('"x":.5'), document('"x":1.'), document('"x":tru'),
            document("'x':1"), document("x:1"), document('"x":"\x01"'), document('"x":"\\x"'), document('"x":' + "1" * 1001),
            document('"x":1') + "\u00a0", document('"x":1') + "//",
        ))
    ),
]  # fmt: skip


def described(name: str, line: str | bytes) -> dict[str, Any]:
    if isinstance(line, bytes):
        return {"name": name, "hex": line.hex(), "reject": "unreadable: no UTF-8"}
    try:
        event = enriched.read_line(line)
    except ValueError as error:
        return {"name": name, "line": line, "reject": f"unreadable: {error}"}
    problems = enriched.problems(event)
    if problems:
        return {"name": name, "line": line, "reject": ", ".join(problems)}
    found = enriched.fingerprint(event)
    event_id = str(event["event_id"]).lower()
    return {
        "name": name,
        "line": line,
        "texts": {c: t for c, t in event.items() if t != BASE.get(c)},
        "fingerprint": found,
        "renamed": enriched.synthetic_id(event_id, found),
        "derived_contexts": enriched.with_duplicate(event["derived_contexts"], event_id),
    }


if __name__ == "__main__":
    cases = ",\n".join(json.dumps(described(*case), ensure_ascii=False) for case in CASES)
    written = (
        f'{{"about": {json.dumps(ABOUT)}, "base": {json.dumps(BASE)}, "cases": [\n{cases}\n]}}\n'
    )
    VECTORS.write_text(written, encoding="utf-8")
