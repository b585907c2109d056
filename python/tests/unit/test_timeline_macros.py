"""What holds of the commits of an entity, and which loads are needed, as macros find out from its timeline."""

from __future__ import annotations

from typing import Any

import pytest

from tests.macros import load_macros, warehouse_of
from tidemark.errors import DataError, UsageError
from tidemark.operations import adopt, clean, rollback, savepoint
from tidemark.pipeline import commits as recording
from tidemark.pipeline import committing, enriched, enriched_tables, replacing, shreds, steps
from tidemark.rules.columns_back import (
    columns_back,
    columns_meant,
    columns_return,
    recorded_back,
    renames_back,
)
from tidemark.rules.order import numbered_files
from tidemark.rules.timeline import before_date, before_runs, last_loads, loaded_dates
from tidemark.run.dbt_messages import answers_in


class Named(str):
    """A relation of which only the name counts."""

    def include(self, **_: bool) -> str:
        return "shop"


def timeline(*steps: str | int) -> list[dict[str, Any]]:
    """Commits 1, 2, …: a date is a load of it, a number a rollback to that commit."""
    return [
        {
            "commit_id": number,
            "kind": "rollback" if isinstance(step, int) else "load",
            "business_date": None if isinstance(step, int) else step,
            "source_commit_id": step if isinstance(step, int) else None,
        }
        for number, step in enumerate(steps, 1)
    ]


@pytest.mark.parametrize(
    ("steps", "horizon", "needed"),
    [
        pytest.param(("d1", "d2", "d1"), 3, [2, 3], id="a date again"),
        pytest.param(("d1", "d2", "d1"), 2, [1, 2], id="again only later"),
        pytest.param(("d1", "d2", 1), 2, [1, 2], id="undone later, can hold again"),
        pytest.param(("d1", "d2", 1), 3, [1], id="undone by then"),
        pytest.param(("d1", "d1", 1), 2, [1, 2], id="the first holds again later"),
        pytest.param(("d1", "d1", 1), 3, [1], id="the first holds again"),
        pytest.param(("d1", "d2", 1, 2), 4, [1, 2], id="undone and made to hold again"),
        pytest.param(("d1", "d2", "d3", 1, 3), 2, [1, 2], id="back and forth later"),
        pytest.param(("d1", "d2", "d3", 2, "d2"), 3, [1, 2, 3], id="of later loads nothing"),
    ],
)
def test_last_loads(steps: tuple[str | int, ...], horizon: int, needed: list[int]) -> None:
    assert last_loads(timeline(*steps), horizon) == needed


@pytest.mark.parametrize(
    ("steps", "date", "first", "before"),
    [
        pytest.param(("d1", "d2", "d3"), "d2", 2, 1, id="from a date on"),
        pytest.param(("d1", "d2"), "d1", 1, None, id="nothing before"),
        pytest.param(("d1", "d2"), "d3", None, 2, id="nothing since"),
        pytest.param(("d1", "d2", 1), "d2", None, 3, id="undone"),
        pytest.param(("d1", "d2", 1, "d3"), "d2", 4, 3, id="after a rollback"),
    ],
)
def test_before(
    steps: tuple[str | int, ...], date: str, first: int | None, before: int | None
) -> None:
    """The same of the runs of dbt that loaded the dates from one on."""
    commits = timeline(*steps)
    assert before_date(commits, date) == {"first": first, "before": before}
    for commit in commits:
        commit["invocation_id"] = commit["business_date"]
    runs = [one for one in ("d1", "d2", "d3") if one >= date]
    assert before_runs(commits, runs) == {"first": first, "before": before}
    assert before_runs([], runs) == {"first": None, "before": None}


def test_loaded_dates() -> None:
    commits = timeline("d2", "d1", "d3", 2, "d1", "d4")
    assert loaded_dates(commits) == ["d1", "d2", "d4"]
    assert loaded_dates(commits, "d2") == ["d2", "d4"]


def columns(*told: str) -> list[dict[str, Any]]:
    """Columns as they are recorded: `name`, `name=its name in hashes`, in brackets if it is not in current."""
    found = []
    for text in told:
        name, _, hashed = text.strip("()").partition("=")
        found.append({"name": name, "hash_name": hashed or name, "gone": text.startswith("(")})
    return found


@pytest.mark.parametrize(
    ("now", "then", "back", "renames"),
    [
        pytest.param(["id", "a", "c"], ["id", "a"], ["id", "a", "c"], [], id="one has come"),
        pytest.param(["id", "b=a"], ["id", "a"], ["id", "a"], [("b", "a")], id="renamed"),
        pytest.param(
            ["id", "b=a", "(b__dropped=b)"], ["id", "a", "b"], ["id", "a", "b"], [("b", "a"), ("b__dropped", "b")],
            id="to the name of a dropped one",
        ),
        pytest.param(
            ["id", "a", "b"], ["id", "b=a", "(b__dropped=b)"], ["id", "b=a", "(b__dropped=b)"], [("b", "b__dropped"), ("a", "b")],
            id="and forth",
        ),
        pytest.param(
            ["id", "b=a", "a=a~3"], ["id", "a"], ["id", "a", "(a__dropped=a~3)"], [("a", "a__dropped"), ("b", "a")],
            id="another one has taken its name",
        ),
        pytest.param(["id", "(a)"], ["id", "a"], ["id", "a"], [], id="taken away"),
        pytest.param(["id", "d=a"], ["id", "a"], ["id", "d=a"], [], id="declared by now"),
        pytest.param(
            ["id", "d=a", "(d__dropped=d)"], ["id", "a", "d"], ["id", "d=a", "(d__dropped=d)"], [],
            id="declared, and the name of a dropped one",
        ),
    ],
)  # fmt: skip
def test_columns_back(
    now: list[str], then: list[str], back: list[str], renames: list[tuple[str, str]]
) -> None:
    """Columns are called as they were when what is read again was read first."""
    told = columns_back(columns(*now), columns(*then), ["id", "d"])
    assert told == columns(*back)
    assert renames_back("shop", columns(*now), told) == [[*pair] for pair in renames]
    gone = [[column["gone"] for column in columns(*names)] for names in (now, back)]
    assert columns_return(columns(*now), told) == (gone[0] != gone[1])


def test_columns_meant() -> None:
    """Of a commit that did not come to its end: none where it was to leave columns as they are."""
    recorded = columns("id", "a", "(c)")
    assert columns_meant(recorded, columns("id", "a", "(c)")) is None
    assert columns_meant(recorded, columns("id", "a", "(c)", "b")) is None
    assert columns_meant(recorded, columns("id", "b=a", "(c)")) == columns("id", "b=a", "(c)")
    assert columns_meant(recorded, columns("id", "(a)", "(c)")) == columns("id", "(a)", "(c)")
    assert columns_meant(recorded, columns("id", "a")) == recorded


def test_columns_back__exchanged() -> None:
    now = columns("a=b", "b=a")
    back = columns_back(now, columns("a", "b"), [])
    with pytest.raises(UsageError, match="shop: columns have exchanged their names since"):
        renames_back("shop", now, back)


def test_recorded_back() -> None:
    """What is known of the source is as it was; the names that the table has got stay known."""
    learnt = {
        "tables": ["shop.a", "shop.b"], "followed": ["shop.a", "shop.b"], "named": [], "columns": [{"name": "x"}],
        "refused": ["y"], "told": ["id", "x"], "open_snapshot": None, "has_moves": True, "identifying": ["id"],
        "by_server": True,
    }  # fmt: skip
    known = {
        "tables": ["shop.a"], "followed": [], "named": [], "columns": None,
        "refused": [], "told": ["id"], "open_snapshot": 2, "has_moves": False, "by_content": False,
    }  # fmt: skip
    now = {"extract": "events", "soft_delete": True, "on_tie": "later", "columns": columns("id", "x"), "source": learnt}  # fmt: skip
    then = {"extract": "events", "soft_delete": False, "columns": columns("id"), "source": known}
    back = recorded_back(now, then, [])
    assert back == {
        **now,
        "on_tie": "content",
        "source": {**known, "tables": ["shop.a", "shop.b"], "followed": ["shop.a"], "identifying": ["id"], "by_server": True},
    }  # fmt: skip
    # without the setting `table` all events are taken
    untold = recorded_back(now, {**then, "source": {**known, "tables": []}}, [])["source"]
    assert (untold["tables"], untold["followed"]) == ([], [])
    # an earlier release did not tell, and an extract has none
    assert recorded_back(now, {**then, "source": {}}, []) == now
    assert recorded_back({**now, "extract": "full"}, then, []) == {**now, "extract": "full"}


def test_numbered_files() -> None:
    """What is owed since a rollback comes first, as it was read first; then, by name, what has changed or is new."""
    files = [
        {"_file": name, "_file_number": number, "_owed_number": owed, "_last_number": 7}
        for name, number, owed in [
            ("a new", None, None), ("b read last", 5, 5), ("c has changed", 0, None), ("d went on", 1, 6), ("z read first", 2, 2),
        ]
    ]  # fmt: skip
    numbered = numbered_files(files)
    assert [(one["_file"], one["_file_number"], one["_arrival_number"]) for one in numbered] == [
        ("a new", 11, 11), ("b read last", 5, 9), ("c has changed", 0, 12), ("d went on", 1, 10), ("z read first", 2, 8),
    ]  # fmt: skip
    none = numbered_files
    first = none([{"_file": "a", "_file_number": None, "_owed_number": None, "_last_number": -1}])
    assert (first[0]["_file_number"], first[0]["_arrival_number"]) == (0, 0)
    assert none([]) == []


def node(name: str) -> dict[str, Any]:
    """A model whose table has another name."""
    return {
        "name": name,
        "alias": f"t_{name}",
        "schema": "shop",
        "resource_type": "model",
        "config": {"materialized": "cdc"},
    }


def test_rollback_together__all_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one of the entities cannot go back, none does. The one that is named by its table is none of the others."""
    macros = load_macros("operations", "read")
    done: list[str] = []
    cannot = ["three"]

    def open_entity(entity: str, *_: Any) -> dict[str, Any]:
        name = entity.removeprefix("shop.").removeprefix("t_")
        state = {"recorded": {"columns": [name]}}
        return {
            "cfg": {"entity": name, "relation": f"shop.t_{name}"},
            "commits": {},
            "state": state,
        }

    def renames_back(entity: str, now: list[str], back: list[str]) -> list[Any]:
        if entity in exchanged:
            raise DataError("columns have exchanged their names since")
        return []

    def rollback_steps(opened: dict[str, Any], to: Any) -> dict[str, Any]:
        if opened["cfg"]["entity"] in cannot:
            raise UsageError("changes are kept from a later commit on")
        return {"undone": [{"invocation_id": "second"}], "target": 1}

    exchanged = ["three"]
    runs = [
        {"commit_id": 1, "kind": "load", "invocation_id": "first"},
        {"commit_id": 2, "kind": "load", "invocation_id": "second"},
    ]
    for name, stub in {
        "open_entity": lambda _, entity, *__: open_entity(entity),
        "rollback_steps": lambda _, opened, to: rollback_steps(opened, to),
        "_settle_entities_of_runs": lambda *_: None,
        "_recorded_at": lambda *_: {"columns": []},
        "renames_back": renames_back,
        "roll_back": lambda _, opened, *__: done.append(opened["cfg"]["entity"]),
        "timeline_of": lambda *_: runs,
    }.items():
        monkeypatch.setattr(rollback, name, stub)
    nodes = [node(name) for name in ("two", "one", "three")]
    for name, stub in {
        "entity_node": lambda *_: node("one"),
        "models_of": lambda _: nodes,
    }.items():
        monkeypatch.setitem(macros, name, stub)

    def roll_back_together() -> None:
        rollback.rollback(warehouse_of(macros), "t_one", 1, True, False)

    with pytest.raises(UsageError, match="changes are kept"):
        roll_back_together()
    cannot.clear()
    with pytest.raises(DataError, match="exchanged their names"):
        roll_back_together()
    assert done == []
    exchanged.clear()
    roll_back_together()
    assert done == ["two", "three", "one"]


@pytest.mark.parametrize("are_known", [None, False, True], ids=["asked", "too_many", "known"])
@pytest.mark.parametrize(
    ("states", "rows", "ours"),
    [
        (["inflight"], 1, True),
        (["inflight", "completed"], 1, False),
        (["inflight", "inflight"], 1, True),
        (["inflight", "completed"], 0, False),
        (["inflight", "inflight"], 0, None),
        (["inflight", "rolled_back"], 0, None),
    ],
)
def test_is_still_ours(
    monkeypatch: pytest.MonkeyPatch,
    are_known: bool | None,
    states: list[str],
    rows: int,
    ours: bool | None,
) -> None:
    """A run that was taken for dead finds out, however the table of commits is asked. None: it stops."""
    macros = load_macros("load")
    known = [{"commit_id": 7, "state": state} for state in states]
    stubs = {
        "can": lambda capability: are_known is not None,
        "query_rows": lambda sql: known,
        "string_literal": repr,
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(macros, name, stub)
    monkeypatch.setattr(committing, "known_states", lambda *_: known if are_known else None)
    warehouse = warehouse_of(macros, shares_metastore=lambda: True)
    opened = {
        "cfg": {"entity": "one", "relation": "shop.one", "family": "log"},
        "commits": {"are_known": are_known is not None, "states": "states"},
    }
    derived = {"outcome": "commit", "figures": {"rows_logged": rows}}
    if ours is None:
        with pytest.raises(DataError, match="took this run for dead"):
            committing.is_still_ours(warehouse, opened, derived, {"commit_id": 7})
    else:
        assert committing.is_still_ours(warehouse, opened, derived, {"commit_id": 7}) is ours


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("landed", [True, False])
@pytest.mark.parametrize("rows", [1, 0])
def test_known_is_done(
    monkeypatch: pytest.MonkeyPatch, rows: int, landed: bool, shared: bool
) -> None:
    """What a run takes for known may be of a commit whose current is still to come."""
    stubs = {
        "entity_state": lambda *_: {"inflight": [{"commit_id": 7}]},
        "has_commit": lambda _, log, commit: landed and (log, commit) == ("shop.one__log", 7),
    }
    for name, stub in stubs.items():
        monkeypatch.setattr(committing, name, stub)
    warehouse = warehouse_of({"can": lambda capability: True}, shares_metastore=lambda: shared)
    opened = {
        "cfg": {"entity": "one", "relation": "shop.one", "family": "log"},
        "commits": {}, "run": {}, "relations": {"log": "shop.one__log", "log_table": "shop.one__log"},
    }  # fmt: skip
    derived = {"outcome": "repeat", "figures": {"rows_logged": rows}}
    if rows or not landed or not shared:
        committing._check_known_is_done(warehouse, opened, derived)
    else:
        with pytest.raises(
            DataError, match=r"one__log since this run began, .* Run the model again"
        ):
            committing._check_known_is_done(warehouse, opened, derived)


@pytest.mark.parametrize("rejected", [0, 3])
def test_adopted_again(rejected: int) -> None:
    """Rows that a call before this one rejected are none that the log lacks."""
    stubs = {
        "adopted_differences_sql": lambda *_: "differences",
        "query_rows": lambda sql: [{"date_count": 1, "first_date": "2026-03-01"}],
        "relation_exists": lambda relation: True,
        "row_count": lambda relation: rejected,
    }
    warehouse = warehouse_of(stubs)
    relations = {name: f"shop.one__{name}" for name in ("log", "rejects", "current")}
    opened = {"cfg": {"entity": "one"}, "relations": relations}
    if not rejected:
        with pytest.raises(DataError, match="the replayed log has other rows than"):
            adopt.check_adopted(warehouse, opened, {}, [], "shop.old")
        return
    adopt.check_adopted(warehouse, opened, {}, [], "shop.old")
    assert warehouse.said == ["one: adopted shop.old, without the 3 rows in shop.one__rejects"]


def test_clean_and_savepoint_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever comes second finds the other one: nothing goes that a savepoint is said to keep."""
    recorded: list[tuple[str, str]] = []
    savepoints: list[dict[str, int]] = []
    floors = [3]
    opened = {
        "cfg": {"entity": "one", "relation": "shop.one"},
        "commits": {"states": "states"},
        "state": {"last_id": 7},
        "run": {"invocation_id": "x"},
        "relations": {},
    }
    stubs = {
        "entity_node": lambda *_: node("one"),
        "savepoints_sql": lambda *_: "savepoints",
        "query_rows": lambda sql: savepoints,
        "feed_floor_sql": lambda *_: "floor",
        "run_query": lambda sql: [[floors[0]]],
        "next_commit_id": lambda last: last + 1,
        "utc_now": lambda: "now",
    }
    horizons = {"floor": 5, "old_tables": [], "savepoints": [], "is_held": False, "holders": []}
    of_clean = {
        "retention_lengths": lambda *_: {},
        "clean_horizons": lambda *_: horizons,
        "clean_steps": lambda *_: [],
        "rows_kept_for_events": lambda *_: 0,
    }
    for module, more in ((clean, of_clean), (savepoint, {"commit_to_keep": lambda *_: 4})):
        monkeypatch.setattr(module, "open_entity", lambda *_: opened)
        monkeypatch.setattr(
            module,
            "record_commit",
            lambda _, __, one, state, ___: recorded.append((one["kind"], state)),
        )
        for name, stub in more.items():
            monkeypatch.setattr(module, name, stub)
    warehouse = warehouse_of(stubs)
    # made before the clean is in flight, after it was worked out what goes
    savepoints.append({"commit_id": 4})
    with pytest.raises(
        DataError, match="another process made a savepoint on commit 4 since clean began"
    ):
        clean.clean(warehouse, "one", False, False, {})
    assert recorded == [("clean", "inflight"), ("clean", "rolled_back")]
    # and after that
    recorded.clear()
    savepoints.clear()
    savepoint.savepoint(warehouse, "one", None, None, False, False)
    assert recorded == [("savepoint", "completed")]
    floors[0] = 5
    recorded.clear()
    with pytest.raises(DataError, match="commit 4 is not kept"):
        savepoint.savepoint(warehouse, "one", None, None, False, False)
    assert recorded == [("savepoint", "completed"), ("savepoint", "rolled_back")]


def test_record_commit__counts_of_this_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that a dead run had left is finished by the next one, whose summary has its own counts."""
    macros = load_macros("load", "log")
    for name, stub in {
        "utc_now_after": lambda _: "now",
        "append_rows_sql": lambda *_: "",
        "run_query": lambda _: None,
    }.items():
        monkeypatch.setitem(macros, name, stub)
    warehouse = warehouse_of(macros)
    this = warehouse.invocation_id
    commits = {"are_known": False, "states": "states"}
    for invocation, rows in (("dead", 3040), (this, 3041)):
        commit = {"commit_id": 1, "relation": "shop.one", "invocation_id": invocation}
        recording.record_commit(warehouse, commits, commit, "completed", {"rows_read": rows})
    commit = {"commit_id": 2, "relation": "shop.one", "invocation_id": this}
    recording.record_commit(warehouse, commits, commit, "inflight", {"rows_read": 9})
    assert answers_in(warehouse.said, "tidemark commit ") == [
        {"relation": "shop.one", "counts": {"rows_read": 3041}}
    ]


@pytest.mark.parametrize(
    ("inflight", "last", "is_alone"), [([7], 5, True), ([6, 7], 5, False), ([7], 8, False)]
)
def test_rejects_of_two_runs_at_once(
    monkeypatch: pytest.MonkeyPatch, inflight: list[int], last: int, is_alone: bool
) -> None:
    """Of a load that has nothing for the log its rejects are taken back where another one is at work, or has come since."""
    macros = load_macros("load")
    done: list[str] = []
    state = {"inflight": [{"commit_id": one} for one in inflight], "last_commit_id": last}
    figures = {"rows_rejected": 1, "rows_logged": 0, "rows_superseded": 0}
    derived = {"outcome": "commit", "figures": figures}
    steps_of_family = {
        "source": lambda *_: {"parts": ["all"]},
        "stage": lambda *_: {"load": {}, "roles": {"recorded": {}}, "rejects": {}},
        "prepare": lambda *_: None,
        "derive": lambda *_: derived,
        "discard": lambda *_: done.append("discard"),
    }
    stubs = {
        "last_state_sql": lambda *_: "",
        "query_rows": lambda *_: [{"state": "inflight", "details": None, "rows_logged": 0}],
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(macros, name, stub)
    steps_stubs = {
        "new_commit": lambda *_: {"commit_id": 7, "kind": "load"},
        "commit_load": lambda *_: {"load": {}},
        "is_still_ours": lambda *_: True,
        "record_load": lambda *_: done.append("completed"),
        **dict.fromkeys(("check_load", "apply_load", "warn_rejects", "_opened_after"), lambda *_: None),
        **dict.fromkeys(("forget_run_views", "clear_slices", "open_views", "close_views"), lambda *_: None),
    }  # fmt: skip
    for name, stub in steps_stubs.items():
        monkeypatch.setattr(steps, name, stub)
    monkeypatch.setattr(replacing, "entity_state", lambda *_: state)
    monkeypatch.setattr(replacing, "record_commit", lambda *given: done.append(given[3]))
    warehouse = warehouse_of(macros)
    warehouse.steps = steps_of_family
    opened = {
        "cfg": {"entity": "one", "family": "extract", "relation": "shop.one", "target": "one"},
        "run": {"empty": False},
        "commits": {"states": "states"},
        "relations": {"log": "one__log", "log_table": "one__log", "rejects": "one__rejects"},
        "state": {"last_commit_id": 5, "first": False},
    }
    if is_alone:
        steps.load_entity(warehouse, opened, "")
        assert done == ["completed"]
    else:
        with pytest.raises(DataError, match="another run has written to one__log"):
            steps.load_entity(warehouse, opened, "")
        assert done == ["discard", "rolled_back"]


@pytest.mark.parametrize("build", [False, True])
def test_rows_of_another_run_of_entities(monkeypatch: pytest.MonkeyPatch, build: bool) -> None:
    """What was recorded since a run began is no debris: nothing of it is taken away."""
    macros = load_macros("load")
    done: list[str] = []
    last = {"last_id": 7}
    stubs = {
        "side_relation": lambda relation, name: f"{relation}__{name}",
        "relation_exists": lambda *_: True,
        "has_rows": lambda *_: True,
        "run_query": done.append,
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(macros, name, stub)
    for name, step in {
        "shred_table_columns": lambda *_: [],
        "add_missing_columns": lambda *_: None,
        "shred_marks": lambda *_: last,
    }.items():
        monkeypatch.setattr(shreds, name, step)
    warehouse = warehouse_of(macros)
    cfg = {"entity": "one", "relation": "shop.one", "target": "one", "file_format": "delta"}
    state = {"build": build, "last_id": 7, "from": 4, "undone": [], "source": "events"}
    if not build:
        shreds.prepare_shred(warehouse, cfg, state, {})
        assert done == [
            f"delete from {name} where _commit_id > 4" for name in ("one", "one__rejects")
        ]
        done.clear()
    last["last_id"] = 9
    with pytest.raises(DataError, match="another run has written to one since this run began"):
        shreds.prepare_shred(warehouse, cfg, state, {})
    assert done == []


@pytest.mark.parametrize(
    ("exists", "location_root", "expected"),
    [
        (True, None, ["create one__new", "drop one__rejects__new", "create one__rejects__new", "swap",
                      "drop one", "rename one__new to one", "drop one__rejects", "rename one__rejects__new to one__rejects"]),
        (True, "apart", ["create one", "drop one__rejects", "create one__rejects", "swap"]),
        (False, None, ["create one", "drop one__rejects", "create one__rejects", "swap"]),
    ],
)  # fmt: skip
def test_table_of_entities_that_is_built_again(
    monkeypatch: pytest.MonkeyPatch, exists: bool, location_root: str | None, expected: list[str]
) -> None:
    """What is there stays until the new table is whole; the rejects come last, as by the table is told who made it."""
    macros = load_macros("load")
    done: list[str] = []
    stubs = {
        "side_relation": lambda relation, name: f"{relation}__{name}",
        "new_relation": lambda relation: f"{relation}__new",
        "clear_leftovers": lambda *_: None,
        "for_format": lambda *_: lambda relation, *_: [f"create {relation}"],
        "drop_table_sql": lambda relation: f"drop {relation}",
        "rename_table_sql": lambda new, old: [f"rename {new} to {old}"],
        "run_statements": done.extend,
        "run_query": lambda _: None,
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(macros, name, stub)
    nothing = ("_check_own", "drop_other_format", "drop_table")
    for name in nothing:
        monkeypatch.setattr(shreds, name, lambda *_: None)
    monkeypatch.setattr(shreds, "shred_table_columns", lambda *_: [])
    warehouse = warehouse_of(macros)
    unset = dict.fromkeys(("partition_by", "cluster_by", "description"))
    cfg = {
        **unset,
        "target": Named("one"),
        "file_format": "delta",
        "location_root": location_root,
        "table_properties": {},
    }
    state = {"build": True, "exists": exists, "made_by": 7}
    made = shreds.prepare_shred(warehouse, cfg, state, {})
    done.append("swap")
    shreds.swap_shred(warehouse, cfg, state, made, {})
    assert done == expected


@pytest.mark.parametrize(
    ("read_to", "made_by", "full_refresh", "taken"),
    [(0, None, False, False), (0, None, True, True), (0, "0", False, True), (5, None, False, True)],
)
def test_table_where_entities_belong(
    monkeypatch: pytest.MonkeyPatch,
    read_to: int,
    made_by: str | None,
    full_refresh: bool,
    taken: bool,
) -> None:
    """A table that nothing tells to be ours is not written to."""
    macros = load_macros("load")
    marks = {
        "last_id": 5,
        "read_to": read_to,
        "config": "{}",
        "source_start": 0,
        "source_end": 6,
        "undone": [],
    }
    stubs = {
        "shred_of": lambda _: {"source": "shop.events", "uri": "iglu:a/b/c/1-*-*"},
        "relation_exists": lambda *_: True,
        "table_property": lambda *_: made_by,
        "is_known_shred": lambda *_: True,
        "next_commit_id": lambda last: last + 1,
        "utc_now": lambda: "now",
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(macros, name, stub)
    cfg = {"entity": "one", "relation": "shop.one", "target": "shop.one", "columns": [{}]}
    run = {"empty": False, "full_refresh": full_refresh}
    monkeypatch.setattr(shreds, "shred_marks", lambda *_: marks)
    warehouse, commits = warehouse_of(macros), {"view": "commits"}
    state = lambda: shreds.shred_state(warehouse, cfg, run, commits, "")  # noqa: E731
    if taken:
        assert state()["build"] is full_refresh
        # no two tables are of one run, also of those that --empty makes
        monkeypatch.setitem(macros, "relation_exists", lambda *_: False)
        run["empty"] = True
        assert state()["made_by"] == 6
    else:
        with pytest.raises(DataError, match=r"shop\.one is a relation that Tidemark did not make"):
            state()


@pytest.mark.parametrize("populated", [[], [7, 9]])
def test_claims_of_other_tables_at_a_full_refresh(
    monkeypatch: pytest.MonkeyPatch, populated: list[int]
) -> None:
    """What populate_manifest claimed of them is copied into the new manifest, and left in one that models share."""
    macros = load_macros("load", "log", "enriched", "expr")
    done: list[str] = []
    relation = macros["old_relation"].context["api"].Relation.create
    stubs = {
        "query_rows": lambda sql: [{"commit_id": n} for n in populated] if "<> 'shop.events'" in sql else None,
        "relation_exists": lambda *_: True,
    }  # fmt: skip
    for name, stub in stubs.items():
        monkeypatch.setitem(macros, name, stub)
    monkeypatch.setitem(macros, "run_query", done.append)
    warehouse = warehouse_of(macros)
    opened = {
        "cfg": {"relation": "shop.events"},
        "commits": {"states": "states"},
        "state": {"last_commit_id": 5},
        "relations": {
            "current": relation(schema="shop", identifier="events"),
            "manifest": relation(schema="shop", identifier="claims"),
        },
    }
    enriched_tables.take_back_claims(warehouse, opened)
    assert ("and commit_id not in (7, 9)" in done.pop()) == bool(populated)
    enriched_tables.keep_claims_of_others(warehouse, opened)
    assert len(done) == bool(populated)
    if populated:
        assert "select * from shop.claims_5 where _commit_id in (7, 9)" in done[0]


@pytest.mark.parametrize(
    ("number", "owed", "steps", "refused"),
    [
        (0, None, ["natural_in_batch"], True),
        (0, None, ["natural_cross_batch"], False),
        (0, 0, ["natural_in_batch"], False),  # it was rolled back
        (None, None, ["natural_in_batch"], False),  # it is new
    ],
)
def test_changed_file_that_nothing_tells_apart(
    monkeypatch: pytest.MonkeyPatch,
    number: int | None,
    owed: int | None,
    steps: list[str],
    refused: bool,
) -> None:
    warehouse = warehouse_of({})
    files = [
        {"_file": "a.tsv", "_file_number": number, "_owed_number": owed, "_last_number": 3},
        {"_file": "b.tsv", "_file_number": None, "_owed_number": None, "_last_number": 3},
    ]
    monkeypatch.setattr(enriched, "files_to_read", lambda *_: numbered_files(files))
    opened = {"cfg": {"entity": "events", "deduplicate": steps}}
    if refused:
        with pytest.raises(DataError, match=r"a\.tsv has changed since it was read"):
            enriched.enriched_files(warehouse, opened, "landing", False)
    else:
        assert len(enriched.enriched_files(warehouse, opened, "landing", False)) == 2
