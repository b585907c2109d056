"""The summary of a run that goes to a URL: what is in it, how it is sent, and that no failure of it is the run's."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from tests.webhooks import receiver
from tidemark import cli
from tidemark.errors import ConfigError
from tidemark.pipeline.row_rules import note_broken
from tidemark.webhook.listen import Listener
from tidemark.webhook.send import NotSentError, Webhook, send, webhook_of
from tidemark.webhook.summary import EntityRun, OtherProblem, RunSummary, body_of, lines_of

SECRET = "s3cr3t-key"
AT = dt.datetime(2026, 3, 5, 6, 0, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def entity(name: str, state: str = "loaded", **more: Any) -> EntityRun:
    counts = dict.fromkeys(("read", "inserted", "updated", "deleted", "unchanged", "rejected"))
    values = {"kind": "cdc", "relation": f"shop.{name}", "business_date": "2026-03-04", "seconds": 1.5, "message": None}  # fmt: skip
    return EntityRun(entity=name, state=state, **{**values, **counts, **more})  # type: ignore[arg-type]


SUMMARY = RunSummary(
    invocation_id="f00",
    project="shop",
    target="prod",
    command="build",
    success=False,
    started_at=AT,
    ended_at=AT + dt.timedelta(seconds=12),
    business_date=dt.date(2026, 3, 4),
    entities=[
        entity("orders", read=1200, inserted=1100, updated=0, deleted=3, rejected=2),
        entity("people", inserted=0, updated=0, deleted=0),
        entity("prices", "failed", message="prices: <b> & co"),
    ],
    problems=[
        OtherProblem(
            name="unique_id", resource_type="test", state="failed", message="Got 2 results"
        )
    ],
)


def hook(url: str, **more: Any) -> Webhook:
    return Webhook(url, timeout=(2.0, 0.3), pause=0.0, **more)


# --- what is sent


def test_schema__is_printed_and_fits() -> None:
    result = CliRunner().invoke(cli.cli, ["schema", "--webhook"])
    schema = json.loads(result.stdout)
    jsonschema.validate(json.loads(body_of(SUMMARY, "json")), schema)
    assert schema["additionalProperties"] is False
    assert "without a value of any row" in json.dumps(schema)
    both = CliRunner().invoke(cli.cli, ["schema", "--webhook", "--events"])
    assert "ask for one" in str(both.exception)


def test_forms__are_those_of_chats() -> None:
    lines = [
        "shop (prod): build of 2026-03-04 FAILED in 12 s",
        "orders: 1,100 inserted, 3 deleted, 2 rejected",
        "people: no changes",
        "prices: failed, <b> & co",
        "unique_id: failed, Got 2 results",
    ]
    assert lines_of(SUMMARY) == lines
    text = json.loads(body_of(SUMMARY, "slack"))["text"]
    assert text.splitlines()[3] == "prices: failed, &lt;b&gt; &amp; co"
    (card,) = json.loads(body_of(SUMMARY, "teams"))["attachments"]
    assert [block["text"] for block in card["content"]["body"]] == lines
    many = SUMMARY.model_copy(update={"entities": [entity(f"e{n}") for n in range(300)]})
    assert json.loads(body_of(many, "slack"))["text"].endswith("… and 262 lines")


def failing(**rows: int) -> list[str]:
    """What a load notes of its rules."""
    noted: list[str] = []
    on_fail = {"positive": "quarantine", "known": "warn", "small": "fail"}
    rules = [{"name": name, "on_fail": value} for name, value in on_fail.items()]
    note_broken(
        SimpleNamespace(note=noted.append), {"relation": "shop.orders", "rules": rules}, rows
    )  # type: ignore[arg-type, typeddict-item]
    return noted


def test_rules__that_rows_fail_are_told() -> None:
    """Of all parts of a load, also of one that stops; a rule that no row fails is not told."""
    assert failing(positive=0) == []
    there = [*failing(positive=2, known=0), finished("orders", "error", "orders: rows fail rules")]
    listen = listener(hook("http://127.0.0.1"), [])
    for one in [*failing(positive=1, known=1), *there]:
        listen(event("JinjaLogDebug", one) if isinstance(one, str) else one)
    summary = listen.summary(event("CommandCompleted", success=False))
    (orders,) = summary.entities
    assert [one.model_dump() for one in orders.rules] == [
        {"name": "positive", "rows": 3, "on_fail": "quarantine"},
        {"name": "known", "rows": 1, "on_fail": "warn"},
    ]
    told = "; 3 rows fail rule positive (quarantine); 1 row fails rule known (warn)"
    assert lines_of(summary)[1] == f"orders: failed, rows fail rules (see the log){told}"
    loaded = orders.model_copy(update={"state": "loaded"})
    through = summary.model_copy(update={"success": True, "entities": [loaded]})
    assert lines_of(through)[1] == f"orders: no changes{told}"
    with receiver() as there_:
        assert send(hook(there_.url, when="rules"), through)
        assert send(hook(there_.url, when="rules"), SUMMARY)
        quiet = SUMMARY.model_copy(update={"success": True})
        assert not send(hook(there_.url, when="rules"), quiet)
        assert not send(hook(there_.url, when="failure"), through)


# --- how it is sent


def test_send__signed() -> None:
    with receiver() as there:
        assert send(hook(there.url, secret=SECRET, authorization="Bearer abc"), SUMMARY)
    (headers,), (body,) = there.headers, there.bodies
    signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Tidemark-Signature"] == f"sha256={signed}"
    assert headers["Authorization"] == "Bearer abc"
    assert headers["Content-Type"] == "application/json"
    assert RunSummary.model_validate_json(body) == SUMMARY


def test_send__nothing_is_added_to_a_plain_one() -> None:
    with receiver() as there:
        send(hook(there.url), SUMMARY)
    assert not {"Authorization", "X-Tidemark-Signature"} & there.headers[0].keys()


@pytest.mark.parametrize("code", [429, 500, 503])
def test_send__tries_again(code: int) -> None:
    with receiver([code, code]) as there:
        send(hook(there.url), SUMMARY)
    assert len(there.bodies) == 3 and len(set(there.bodies)) == 1


@pytest.mark.parametrize(
    ("answers", "tries", "reason"),
    [
        ([500] * 9, 4, "it answered 500"),
        ([404], 1, "it answered 404"),
        ([401], 1, "it answered 401"),
        ([302], 1, "it answered 302"),
    ],
)
def test_send__refused(answers: list[int], tries: int, reason: str) -> None:
    with receiver(answers) as there, pytest.raises(NotSentError) as raised:
        send(hook(there.url, secret=SECRET), SUMMARY)
    assert (str(raised.value), len(there.bodies)) == (reason, tries)


@pytest.mark.parametrize("answers", [[], [500], [404]])
def test_send__an_answer_that_never_ends(answers: list[int]) -> None:
    with receiver(answers, endless=True) as there:
        if answers == [404]:
            with pytest.raises(NotSentError, match="it answered 404"):
                send(hook(there.url), SUMMARY)
        else:
            assert send(hook(there.url), SUMMARY)
    assert len(there.bodies) == 1 + (answers == [500])


def test_send__no_answer() -> None:
    with receiver(wait=1.0) as there, pytest.raises(NotSentError) as raised:
        send(replace(hook(there.url), timeout=(1.0, 0.1)), SUMMARY)
    assert str(raised.value) == "it did not answer in time"


def test_send__nobody_there() -> None:
    with receiver() as there:
        pass
    with pytest.raises(NotSentError) as raised:
        send(hook(there.url), SUMMARY)
    assert str(raised.value) == "it cannot be reached"


def test_send__on_failure_only() -> None:
    with receiver() as there:
        assert not send(
            hook(there.url, when="failure"), SUMMARY.model_copy(update={"success": True})
        )
        assert send(hook(there.url, when="failure"), SUMMARY)
    assert len(there.bodies) == 1


# --- the variables


def test_webhook_of() -> None:
    assert webhook_of({}) is None and webhook_of({"TIDEMARK_WEBHOOK_URL": " "}) is None
    names = {
        "TIDEMARK_WEBHOOK_URL": "https://hooks.example.com/services/T0KEN",
        "TIDEMARK_WEBHOOK_FORMAT": "slack",
        "TIDEMARK_WEBHOOK_ON": "failure",
        "TIDEMARK_WEBHOOK_SECRET": SECRET,
        "TIDEMARK_WEBHOOK_AUTHORIZATION": "Bearer abc",
    }
    found = webhook_of(names)
    assert found is not None and (found.form, found.when) == ("slack", "failure")
    assert (found.secret, found.authorization) == (SECRET, "Bearer abc")
    assert not any(word in repr(found) for word in ("T0KEN", SECRET, "abc"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "URL",
            "hooks.example.com/T0KEN",
            "TIDEMARK_WEBHOOK_URL must be a URL that begins with https",
        ),
        ("URL", "https://[T0KEN", "TIDEMARK_WEBHOOK_URL must be a URL"),
        (
            "FORMAT",
            "xml",
            "TIDEMARK_WEBHOOK_FORMAT must be one of json, slack, teams; found: 'xml'",
        ),
        ("ON", "error", "TIDEMARK_WEBHOOK_ON must be one of always, failure"),
    ],
)
def test_webhook_of__what_is_wrong(name: str, value: str, message: str) -> None:
    given = {"TIDEMARK_WEBHOOK_URL": "https://example.com", f"TIDEMARK_WEBHOOK_{name}": value}
    with pytest.raises(ConfigError) as raised:
        webhook_of(given)
    assert message in str(raised.value) and "T0KEN" not in str(raised.value)


# --- what dbt tells


def event(name: str, message: str = "", **data: Any) -> Any:
    info = SimpleNamespace(name=name, msg=message, invocation_id="f00")
    return SimpleNamespace(info=info, data=SimpleNamespace(**data))


def finished(name: str, status: str, message: str, kind: str = "cdc", type: str = "model") -> Any:
    place = SimpleNamespace(schema="shop", alias=name)
    node = SimpleNamespace(
        node_name=name, resource_type=type, materialized=kind, node_relation=place
    )
    result = SimpleNamespace(status=status, message=message, execution_time=1.23456)
    return event("NodeFinished", node_info=node, run_result=result)


def committed(name: str, **counts: int) -> Any:
    commit = {"relation": f"`shop`.`{name}`", "counts": counts}
    return event("JinjaLogDebug", f"tidemark commit {json.dumps(commit)}")


def listener(webhook: Webhook, warned: list[str]) -> Listener:
    kinds = {"cdc", "scd2"}
    return Listener(webhook, "build", "shop", "prod", "2026-03-04", kinds, warned.append)


EVENTS = [
    committed("orders", rows_read=9, rows_inserted=5, rows_rejected=1),
    committed("orders", rows_read=1, rows_inserted=1),
    finished("orders", "success", "OK"),
    finished("prices", "error", "Data Error in model prices (x.sql)\n  prices: 1 of 4 rows\n  - 4711"),
    finished("casts", "error", "Database Error in model casts\n  [CAST_INVALID_INPUT] The value 'x4711'"),
    finished("orders_scd2", "skipped", "", "scd2"),
    finished("a_view", "success", "OK", "view"),
    finished("b_view", "error", "Database Error in model b_view\n  4711", "view"),
    finished("unique_id", "fail", "Got 2 results, configured to fail if != 0", "test", "test"),
    finished("no_open_rejects", "warn", "Got 1 result, configured to warn if != 0", "test", "test"),
    finished("not_null_id", "pass", "", "test", "test"),
]  # fmt: skip


def test_listener__tells_of_a_run() -> None:
    warned: list[str] = []
    with receiver() as there:
        listen = listener(hook(there.url), warned)
        for one in [*EVENTS, *2 * [event("CommandCompleted", success=False)]]:
            listen(one)
    (told,) = there.json()
    assert warned == [] and "4711" not in json.dumps(told)
    assert (told["invocation_id"], told["success"], told["target"]) == ("f00", False, "prod")
    entities = {one["entity"]: one for one in told["entities"]}
    assert {name: one["state"] for name, one in entities.items()} == {
        "casts": "failed",
        "orders": "loaded",
        "orders_scd2": "skipped",
        "prices": "failed",
    }
    orders = entities["orders"]
    assert (orders["read"], orders["inserted"], orders["rejected"]) == (10, 6, 1)
    assert (orders["relation"], orders["seconds"], orders["updated"]) == (
        "shop.orders",
        1.235,
        None,
    )
    assert entities["prices"]["message"] == "prices: 1 of 4 rows"
    assert entities["casts"]["message"] == "[CAST_INVALID_INPUT] (see the log)"
    assert [(one["name"], one["state"], one["message"]) for one in told["problems"]] == [
        ("b_view", "failed", "Database Error (see the log)"),
        ("no_open_rejects", "warned", "Got 1 result, configured to warn if != 0"),
        ("unique_id", "failed", "Got 2 results, configured to fail if != 0"),
    ]


def test_listener__a_summary_that_does_not_arrive_is_a_line(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    warned: list[str] = []
    with caplog.at_level("DEBUG"), receiver([500] * 9) as there:
        listen = listener(hook(there.url, secret=SECRET, authorization="Bearer abc"), warned)
        listen(event("CommandCompleted", success=True))
    said = caplog.text + "".join(capsys.readouterr())
    assert not any(word in said for word in ("T0KEN", SECRET, "abc"))
    assert warned == ["the summary of this run did not reach TIDEMARK_WEBHOOK_URL: it answered 500"]
