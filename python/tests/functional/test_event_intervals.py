"""The versions of change events, told row by row of a log: what counts is the values of the rows that an interval keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ..rendering import load_sql_macros

COMPARED = [
    {"name": "name", "type": "string", "sensitive": False},
    {"name": "n", "type": "double", "sensitive": False},
    {"name": "tags", "type": "map<string,string>", "sensitive": False},
    {"name": "mail", "type": "string", "sensitive": True},
]
FLOW = {"sequence_by": [], "hash": "md5", "sensitive": "logged_mail"}
BOTH_WAYS = ("map('x', '1', 'y', '2')", "map('y', '2', 'x', '1')")


def row(
    sequence: int,
    day: int,
    name: str,
    n: str = "1",
    *,
    operation: str = "U",
    time: int | None = None,
    tags: str = "null",
    mail: str = "m",
) -> dict[str, Any]:
    """A row of the log. `day` is of its arrival, `time` the minute in the source, `n` and `tags` are SQL.

    Operation `N-` is a delete that changed nothing, `U>` the arrival of a row that was moved.
    """
    return {
        "sequence": sequence,
        "day": day,
        "name": name,
        "n": n,
        "operation": operation,
        "time": time,
        "tags": tags,
        "mail": mail,
    }


@dataclass(frozen=True)
class Case:
    """Rows of one key, and its versions: (name, n, from, to).

    Attributes:
        tracked: Names of the tracked columns; None for all that are compared.
        options: With `deletes` the name of a version of a deleted row has a `-` before it.
    """

    rows: list[dict[str, Any]]
    versions: list[tuple[Any, ...]]
    tracked: list[str] | None
    by: str = "sequence"
    options: dict[str, Any] | None = None


ALICE, BOB = row(1, 1, "alice", operation="I"), row(2, 2, "bob")
CASES = {
    "two changes on a day, the tracked one first": Case(
        [ALICE, BOB, row(3, 2, "bob", "2")],
        [("alice", 1.0, 1, 2), ("bob", 2.0, 2, None)],
        ["name"],
        "business_date",
    ),
    "two changes at a time": Case(
        [row(1, 1, "alice", time=1), row(2, 1, "bob", time=5), row(3, 1, "bob", "2", time=5)],
        [("alice", 1.0, 1, 5), ("bob", 2.0, 5, None)],
        ["name"],
        "event_time",
    ),
    "two changes at a sequence": Case(
        [ALICE, BOB, row(2, 2, "bob", "2")],
        [("alice", 1.0, 1, 2), ("bob", 2.0, 2, None)],
        ["name"],
    ),
    "there and back on a day": Case(
        [ALICE, BOB, row(3, 2, "alice", "2")],
        [("alice", 2.0, 1, None)],
        ["name"],
        "business_date",
    ),
    "an untracked change": Case(
        [ALICE, row(2, 2, "alice", "2"), row(3, 3, "bob", "2")],
        [("alice", 2.0, 1, 3), ("bob", 2.0, 3, None)],
        ["name"],
    ),
    "all are tracked": Case(
        [ALICE, row(2, 2, "alice", "2"), row(3, 3, "alice", "2")],
        [("alice", 1.0, 1, 2), ("alice", 2.0, 2, None)],
        None,
    ),
    "none is tracked": Case(
        [ALICE, BOB, row(3, 3, "bob", operation="D"), row(4, 4, "bob", operation="I")],
        [("bob", 1.0, 1, 3), ("bob", 1.0, 4, None)],
        [],
    ),
    "deleted and there again on a day": Case(
        [ALICE, row(2, 2, "alice", operation="D"), row(3, 2, "alice", "2", operation="I")],
        [("alice", 2.0, 1, None)],
        ["name"],
        "business_date",
    ),
    "what was overtaken does not count": Case(
        [row(1, 1, "alice", time=1), row(2, 1, "bob", time=9), row(3, 1, "alice", "2", time=5)],
        [("alice", 2.0, 1, None)],
        ["name"],
        "event_time",
    ),
    "events without a time": Case(
        [row(1, 1, "alice"), row(2, 1, "bob"), row(3, 1, "cy", time=5)],
        [("bob", 1.0, None, 5), ("cy", 1.0, 5, None)],
        None,
        "event_time",
    ),
    "the same number": Case(
        [
            row(1, 1, "alice", "0d"),
            row(2, 2, "bob", "-0d"),
            row(3, 3, "cy", "double('NaN')"),
            row(4, 4, "di", "double('NaN')"),
        ],
        [("bob", 0.0, 1, 3), ("di", "NaN", 3, None)],
        ["n"],
    ),
    "deletes are versions": Case(
        [
            ALICE,
            row(2, 2, "alice", operation="D"),
            row(3, 3, "alice", "2", operation="D"),
            row(4, 4, "alice", operation="I"),
            row(5, 5, "alice", operation="D"),
        ],
        [
            ("alice", 1.0, 1, 2),
            ("-alice", 2.0, 2, 4),
            ("alice", 1.0, 4, 5),
            ("-alice", 1.0, 5, 999),
        ],
        ["name"],
        options={"deletes": True, "open_end": 999, "columns": {"valid_from": "since"}},
    ),
    # in the order of the sequence it changed nothing, as what was before it came later
    "a delete that came before another one": Case(
        [ALICE, row(2, 3, "alice", operation="D"), row(3, 2, "", operation="N-")],
        [("alice", 1.0, 1, 2)],
        None,
        "business_date",
    ),
    "an update that came before the same": Case(
        [ALICE, row(2, 3, "bob", time=3), row(3, 2, "bob", operation="N", time=2)],
        [("alice", 1.0, 1, 2), ("bob", 1.0, 2, None)],
        None,
        "business_date",
    ),
    "an update that changed nothing": Case(
        [row(1, 1, "alice", time=1), row(2, 1, "alice", operation="N", time=2)],
        [("alice", 1.0, 1, None)],
        None,
        "event_time",
    ),
    "a delete of nothing": Case(
        [row(1, 1, "", operation="N-"), row(2, 2, "alice", operation="I")],
        [("alice", 1.0, 2, None)],
        None,
        "business_date",
        {"deletes": True},
    ),
    "a row that was pushed aside": Case(
        [ALICE, row(2, 2, "bob", operation="U>"), row(3, 2, "", operation="N-")],
        [("alice", 1.0, 1, 2), ("bob", 1.0, 2, None)],
        None,
        "business_date",
    ),
    "NULL is a value": Case(
        [row(1, 1, "alice", "null"), row(2, 2, "bob", "null"), row(3, 3, "bob", "0")],
        [("bob", None, 1, 3), ("bob", 0.0, 3, None)],
        ["n"],
    ),
    "the same map": Case(
        [ALICE, *(row(i, i, "bob", tags=tags) for i, tags in enumerate(BOTH_WAYS, 2))],
        [("alice", 1.0, 1, 2), ("bob", 1.0, 2, None)],
        ["tags"],
    ),
    "a column that is kept apart": Case(
        [ALICE, row(2, 2, "bob"), row(3, 3, "bob", mail="other"), row(4, 4, "cy", mail="other")],
        [("bob", 1.0, 1, 3), ("cy", 1.0, 3, None)],
        ["mail"],
    ),
}


@pytest.fixture(scope="module")
def session(module_project: Any) -> Any:
    """With the views `logged`, the rows of all cases by `_key_hash`, and `logged_mail`."""
    session = module_project.session
    rows = []
    for key, case in CASES.items():
        for number, values in enumerate(case.rows):
            time = "null" if values["time"] is None else f"timestamp_seconds({values['time']} * 60)"
            rows.append(
                f"('{key}', {values['sequence']}, date_add(date'2025-12-31', {values['day']}), '{values['name']}', "
                f"double({values['n']}), cast({values['tags']} as map<string, string>), '{values['mail']}', "
                f"'{values['operation']}', {time}, '{number:02}')"
            )
    names = "_key_hash, _sequence_num, _business_date, name, n, tags, mail, _operation, _event_time, _event_id"
    compared = load_sql_macros()["row_hash_expr"](COMPARED, "md5")
    session.sql(
        f"create or replace temporary view arrived as select *, 1L as _commit_id, "
        f"if(_operation = 'N-', null, {compared}) as _row_hash from values {', '.join(rows)} as t({names})"
    )
    # the names of changed columns are no part of what decides
    session.sql(
        "create or replace temporary view logged as select * except (mail, _operation), "
        "substr(_operation, 1, 1) as _operation, _business_date as _eff_start_date, array('name') as _changed_columns, cast(null as bigint) as _superseded_by, 1L as _batch_id, "
        "if(_operation = 'U>', 'MOVE_IN', 'UPDATE') as _source_operation, '' as _transaction_id, '' as _offset, array() as _unsupplied, "
        "'' as _moved_from from arrived"
    )
    session.sql(
        "create or replace temporary view logged_mail as "
        "select mail, _key_hash, _row_hash, _business_date, _commit_id, _event_id from arrived"
    )
    return session


@pytest.mark.parametrize("name", CASES)
def test_versions(session: Any, name: str) -> None:
    case = CASES[name]
    tracked = [column for column in COMPARED if column["name"] in (case.tracked or [])]
    flow = {**FLOW, "tracked": None if case.tracked is None else tracked}
    log = f"(select * from logged where _key_hash = '{name}')"
    macros, options = load_sql_macros(), case.options or {}
    query = macros["event_intervals_sql"](
        flow,
        log,
        "_superseded_by is null",
        case.by,
        macros["interval_options"](**options, unit=case.by),
    )
    bounds = {
        "sequence": "{}",
        "event_time": "unix_seconds({}) div 60",
        "business_date": "datediff({}, date'2025-12-31')",
    }
    since, until = (
        bounds[case.by].format(bound)
        for bound in (options.get("columns", {}).get("valid_from", "_valid_from"), "_valid_to")
    )
    shown = "if(_is_deleted, '-', '') || name" if options else "name"
    found = session.sql(
        f"select {shown}, string(n + 0), {since}, {until}, _is_current from ({query}) order by 3 nulls first"
    ).collect()
    assert [tuple(version) for version in found] == [
        (name, n if n is None else str(n), since, until, until in (None, 999))
        for name, n, since, until in case.versions
    ]


BY_ARRIVAL = [
    name for name, case in CASES.items() if case.by == "business_date" and not case.options
]


@pytest.mark.parametrize("name", BY_ARRIVAL)
def test_as_of__is_the_version_of_the_day(session: Any, name: str) -> None:
    """A row as of a day is the version that holds on it, also where an event changed nothing in the sequence."""
    case = CASES[name]
    log = f"(select * from logged where _key_hash = '{name}')"
    for day in range(5):
        query = load_sql_macros()["as_of_events_sql"](
            {"sequence_by": [], "on_tie": "later"},
            log,
            f"datediff(_business_date, date'2025-12-31') <= {day}",
            "_commit_id",
        )
        found = [row["name"] for row in session.sql(query).collect()]
        assert found == [
            name for name, _, since, until in case.versions if since <= day < (until or 9)
        ]
