"""`tidemark serve` without a browser: who gets in, what is answered, and what is never shown."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from tidemark import cli
from tidemark.failures import Failure, remember_failure
from tidemark.home import tidemark_home
from tidemark.progress import NodeProgress, ProgressWriter
from tidemark.read.tables import TableNotReadable, Tables
from tidemark.run.options import RunOptions
from tidemark.serve import plans
from tidemark.serve.actions import Applying
from tidemark.serve.app import application
from tidemark.serve.cells import cell
from tidemark.serve.cli import bound
from tidemark.serve.gate import ACTION_HEADER, MOST_BYTES, Keys
from tidemark.serve.live import Live
from tidemark.serve.log import error_line, log_tail, shown_lines
from tidemark.serve.tables import KeptTables, stamp_of

from ..stored import NOW, day, known_shop, logged, stand_in, state, write, write_loads

HOST = "127.0.0.1:8247"
ORIGIN = f"http://{HOST}"
HOSTILE = """x' or 1=1 --"); <script>alert(1)</script> ../../etc/passwd %00 \x00 💥"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    stand_in(tmp_path, monkeypatch)
    write_loads(tmp_path)
    return tmp_path


class Client:
    """A browser that has opened the printed address, of a page with actions or without."""

    def __init__(self, folder: Path, allow_actions: bool = False) -> None:
        self.keys = Keys.made("127.0.0.1", 8247, allow_actions)
        project = known_shop(folder)
        options = RunOptions(dates=[], project_dir=folder)
        self.live = Live(project, options, 36500, folder / "dbt.log")
        self.applying = Applying(folder, tidemark_home())
        self.app = application(self.live, self.applying, self.keys)
        self.stranger = self._client()
        self.browser = self._client()
        self.browser.cookies.set(self.keys.cookie, self.keys.session)

    def _client(self) -> TestClient:
        return TestClient(
            self.app, base_url=ORIGIN, follow_redirects=False, raise_server_exceptions=False
        )

    def get(self, path: str, code: int = 200, **parameters: Any) -> Any:
        answer = self.browser.get(f"/api/{path}", params=parameters)
        assert answer.status_code == code, answer.text
        return answer.json()

    def post(self, action: str, name: str = "x", **more: Any) -> Any:
        headers = {"Origin": ORIGIN, ACTION_HEADER: self.keys.action or ""} | more.pop(
            "headers", {}
        )
        left_out = {key: value for key, value in headers.items() if value is not None}
        return self.browser.post(
            f"/api/actions/{action}", headers=left_out, **({"json": {"name": name}} | more)
        )


@pytest.fixture
def client(shop: Path) -> Client:
    return Client(shop)


@pytest.fixture
def acting(shop: Path) -> Iterator[Client]:
    client = Client(shop, allow_actions=True)
    yield client
    client.applying.close()


# --- who gets in

PATHS = ["/", "/api/now", "/api/report", "/api/rows?entity=cities", "/api/versions?entity=cities&key=1",
         "/api/rejects?entity=cities", "/nothing"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_gate__nobody_without_the_token(client: Client, path: str) -> None:
    answer = client.stranger.get(path)
    assert (answer.status_code, "the token" in answer.text) == (401, True)
    client.stranger.cookies.set(client.keys.cookie, "guessed")
    assert client.stranger.get(path).status_code == 401
    # what opens the page once is no cookie, and the other way round
    client.stranger.cookies.set(client.keys.cookie, client.keys.entry)
    assert client.stranger.get(path).status_code == 401
    for token in ("", "guessed", client.keys.session, client.keys.entry[:-1], "ü"):
        assert client.stranger.get("/", params={"token": token}).status_code == 401


def test_gate__the_printed_address_gives_a_cookie(client: Client) -> None:
    answer = client.stranger.get(client.keys.address)
    assert (answer.status_code, client.keys.entry in answer.text) == (200, False)
    assert '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"tidemark-8247={client.keys.session};")
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        "path=/",
        "samesite=strict",
    }
    assert "shop" in client.stranger.get("/").text
    # wherever the address was found: a mail, a page, a terminal
    assert (
        client._client()
        .get(client.keys.address, headers={"Sec-Fetch-Site": "cross-site"})
        .status_code
        == 200
    )
    # only there
    assert client.stranger.get("/api/now", params={"token": "x"}).status_code == 200
    assert client._client().get("/api/now", params={"token": client.keys.entry}).status_code == 401
    assert client._client().post("/", params={"token": client.keys.entry}).status_code == 401


def test_gate__what_a_browser_is_started_with_opens_once(client: Client) -> None:
    answers = [client._client().get(client.keys.opened) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 401, 401]
    assert "set-cookie" in answers[0].headers and "set-cookie" not in answers[1].headers


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8247", "127.0.0.1", "127.0.0.1:8248", "127.0.0.1.evil.example:8247", "[::1]:8247", ""],
)  # fmt: skip
def test_gate__no_other_name_of_this_machine(client: Client, host: str) -> None:
    """A site that points its name to the loopback is told nothing, cookie and token or not."""
    for path in ("/", "/api/report", f"/?token={client.keys.entry}"):
        answer = client.browser.get(path, headers={"Host": host})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert client.browser.get("/api/now", headers={"Host": "localhost:8247"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://localhost:8247"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_gate__no_other_page(acting: Client, headers: dict[str, str]) -> None:
    answer = acting.browser.get("/api/report", headers=headers)
    assert answer.status_code == 403
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert acting.post("pause", headers=headers).status_code == 403
    preflight = acting.browser.options(
        "/api/actions/pause", headers={**headers, "Access-Control-Request-Method": "POST"}
    )
    assert preflight.status_code == 403


@pytest.mark.parametrize("path", [*PATHS, "/?token=x"])
def test_gate__every_answer_is_kept_here(client: Client, path: str) -> None:
    for answer in (
        client.browser.get(path),
        client.stranger.get(path),
        client.browser.get(path, headers={"Host": "x"}),
    ):
        headers = answer.headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        rules = headers["content-security-policy"]
        assert rules.startswith("default-src 'none'") and "frame-ancestors 'none'" in rules
        script = rules.partition("script-src ")[2].partition(";")[0]
        assert all(part.startswith("'sha256-") for part in script.split())


def test_gate__large_bodies(acting: Client) -> None:
    large = b" " * (MOST_BYTES + 1)
    assert acting.post("pause", content=large, json=None).status_code == 413
    pieces = (b"x" * 1000 for _ in range(10))
    assert acting.post("pause", content=pieces, json=None).status_code == 413
    told = acting.post(
        "pause",
        headers={"Content-Length": "-1", "Content-Type": "application/json"},
        content=b"{}",
        json=None,
    )
    assert told.status_code == 413
    assert acting.browser.request("GET", "/api/now", content=large).status_code == 413


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/..%2f..%2fetc/passwd", "/api/../../etc/passwd", "/assets/report.js", "/api/actions/..%2fpause", "//etc/passwd", "/%00"],
)  # fmt: skip
def test_paths__lead_nowhere(acting: Client, path: str) -> None:
    assert acting.browser.get(path).status_code in (404, 405)


# --- actions


@pytest.mark.parametrize("action", ["apply", "discard", "pause", "resume"])
def test_actions__need_more_than_the_cookie(acting: Client, action: str) -> None:
    assert acting.browser.get(f"/api/actions/{action}").status_code == 405
    assert acting.browser.get(f"/api/actions/{action}", params={"name": "x"}).status_code == 405
    for method in ("PUT", "DELETE", "PATCH"):
        headers = {"Origin": ORIGIN, ACTION_HEADER: acting.keys.action or ""}
        assert (
            acting.browser.request(method, f"/api/actions/{action}", headers=headers).status_code
            == 405
        )
    for token in (None, "", "guessed", acting.keys.entry, acting.keys.session):
        assert acting.post(action, headers={ACTION_HEADER: token}).status_code == 403
    assert acting.post(action, headers={"Origin": None}).status_code == 403
    acting.browser.cookies.clear()
    assert acting.post(action).status_code == 401


def test_actions__none_unless_they_are_allowed(client: Client) -> None:
    for token in ("", "None", client.keys.session):
        answer = client.post("pause", headers={ACTION_HEADER: token})
        assert (answer.status_code, "--allow-actions" in answer.text) == (403, True)
    assert json.loads(within(client.browser.get("/").text, "live"))["action"] is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"name": 3}', b"name=x", b"[" * 4000, b"\xff"]
)
def test_actions__that_are_not_understood(acting: Client, content: bytes) -> None:
    answer = acting.post(
        "pause", content=content, json=None, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, "must be JSON" in answer.text or "a name" in answer.text) == (
        400,
        True,
    )
    assert acting.post("pause", content=b'{"name": "x"}', json=None).status_code == 400
    assert acting.post("drop").status_code == 404


SOURCE = """
sources:
  - name: bank
    config: {meta: {tidemark: {replicator: {connector: postgresql, connection: {host: h, database: d, user: u, password: {env: P}}}}}}
  - name: other
"""


def test_actions__replicators_pause_and_go_on(shop: Path) -> None:
    (shop / "models").mkdir()
    (shop / "models/bank.yml").write_text(SOURCE)
    client = Client(shop, allow_actions=True)
    (bank,) = client.get("now")["replicators"]
    assert (bank["source"], bank["running"], bank["paused"], bank["capture"]) == (
        "bank",
        False,
        False,
        "never ran",
    )
    assert client.post("pause", "bank").json() == {"done": True}
    (bank,) = client.get("now")["replicators"]
    assert bank["paused"] is True
    assert client.post("resume", "bank").json() == {"done": True}
    (bank,) = client.get("now")["replicators"]
    assert bank["paused"] is False
    for name in ("other", "../bank", HOSTILE):
        answer = client.post("pause", name)
        assert (answer.status_code, "there is no replicator" in answer.json()["error"]) == (
            400,
            True,
        )


class Store:
    """What `tidemark plan` keeps."""

    def __init__(self) -> None:
        counts = SimpleNamespace(rows_inserted=3, rows_updated=0, rows_deleted=1)
        entity = SimpleNamespace(entity="cities", business_date=day(5), kind="load", outcome="changes",
                                 counts=counts, samples=["secret"])  # fmt: skip
        plan = {
            "made_at": NOW,
            "command": "tidemark plan",
            "entities": [entity],
            "refused_at": None,
        }
        self.plans = [
            SimpleNamespace(id="p23456", state="open", **plan),
            SimpleNamespace(id="p99999", state="applied", **plan),
        ]

    def list_plans(self) -> list[Any]:
        return self.plans

    def discard_plan(self, id: str) -> None:
        next(plan for plan in self.plans if plan.id == id).state = "discarded"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store()
    monkeypatch.setattr(plans, "_store", lambda: store)
    return store


def test_plans__wait_and_are_discarded(acting: Client, store: Store) -> None:
    (plan,) = acting.get("now")["plans"]
    assert plan["id"] == "p23456"
    assert plan["entities"] == [
        {"entity": "cities", "says": "2026-03-05; load; 3 inserted, 1 deleted"}
    ]
    assert acting.post("discard", "p23456").json() == {"done": True}
    assert acting.get("now")["plans"] == []
    for name in ("p23456", "p99999", "--yes", HOSTILE):
        for action in ("discard", "apply"):
            answer = acting.post(action, name)
            assert (answer.status_code, "there is no open plan" in answer.json()["error"]) == (
                400,
                True,
            )


def test_plans__are_applied_one_at_a_time(
    acting: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import os, sys, time\nprint('\\x1b[31mplan', sys.argv[1:], os.getcwd(), flush=True)\ntime.sleep(60)"
    told: list[str] = []

    def command(self: Applying, plan: str) -> list[str]:
        told.extend(real(self, plan)[1:])
        return [sys.executable, "-c", script, plan]

    real = Applying._command
    monkeypatch.setattr(Applying, "_command", command)
    assert acting.get("now")["applying"] is None
    assert acting.post("apply", "p23456").json() == {"done": True}
    assert told == ["-m", "tidemark.cli", "apply", "p23456"]
    until = time.monotonic() + 20
    while not (seen := acting.get("now")["applying"])["output"] and time.monotonic() < until:
        time.sleep(0.05)
    assert seen["running"] and seen["output"].startswith("plan ['p23456']")
    assert acting.applying.output.stat().st_mode & 0o077 == 0
    assert [plan["at_work"] for plan in acting.get("now")["plans"]] == [True]
    assert "wait until the load ends" in acting.post("apply", "p23456").json()["error"]
    acting.applying.close()
    seen = acting.get("now")["applying"]
    assert (seen["running"], seen["exit_code"] != 0) == (False, True)


def test_plans__one_that_was_refused_waits_no_more(client: Client, store: Store) -> None:
    store.plans[0].refused_at = NOW
    assert client.get("now")["plans"] == []


def test_plans__none_where_nothing_keeps_any(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "_STORE", "tidemark.no_such.store")
    assert client.get("now")["plans"] == []


# --- what is answered


def within(page: str, id: str) -> str:
    return page.partition(f'<script id="{id}" type="application/json">')[2].partition("</script>")[
        0
    ]


def test_page__is_the_report_and_what_is_live(client: Client) -> None:
    answer = client.browser.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    report, live = (json.loads(within(answer.text, id)) for id in ("data", "live"))
    assert [row["entity"] for row in report["entities"]] == ["cities", "cities_scd2"]
    assert live["keys"] == {"cities": ["id"]}
    found = client.get("report")
    assert found["mark"] == live["mark"]
    assert {**found["report"], "made_at": 0} == {**report, "made_at": 0}
    # what a header allows and what the page itself allows are the same scripts
    inner = answer.text.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert answer.headers["content-security-policy"].startswith(inner.partition("; connect-src")[0])
    assert client.keys.entry not in answer.text and client.keys.session not in answer.text


def test_report__is_new_when_a_table_gets_a_commit(client: Client, shop: Path) -> None:
    first = client.get("report")
    assert client.get("now")["mark"] == first["mark"]
    write(
        shop,
        "tidemark_commits__log",
        [state(3, "completed", 3, rows_read=1, rows_inserted=1)],
        "append",
    )
    write(shop, "cities", [{"id": 4}], "append")
    now = client.get("now")
    assert now["mark"] != first["mark"]
    second = client.get("report")["report"]
    assert (second["entities"][0]["rows"], second["entities"][0]["last_date"]) == (3, "2026-03-03")
    # and when a run fails
    failure = Failure("shop.cities", "cities", NOW + dt.timedelta(hours=1), "cities: no file")
    remember_failure(tidemark_home(), failure)
    assert client.get("now")["mark"] != now["mark"]
    assert client.get("report")["report"]["entities"][0]["state"] == "failed"


def test_report__stays_when_the_project_has_a_mistake(
    client: Client, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidemark.errors import ConfigError

    def broken(*_: Any) -> Any:
        raise ConfigError(
            "the project cannot be parsed. Correct the project: dbt parse shows the problems"
        )

    monkeypatch.setattr("tidemark.serve.live.known_project", broken)
    monkeypatch.setattr("tidemark.serve.live._LOOK_EVERY", 0.0)
    client.get("report")
    assert client.get("now")["problem"] is None
    (shop / "models").mkdir()
    (shop / "models/x.yml").write_text("models: [")
    assert len(client.get("report")["report"]["entities"]) == 2
    assert "This page shows the project as it was" in client.get("now")["problem"]
    grown = known_shop(shop)
    grown.entities.pop("cities_scd2")
    monkeypatch.setattr("tidemark.serve.live.known_project", lambda *_: grown)
    (shop / "models/x.yml").write_text("models: []")
    assert len(client.get("report")["report"]["entities"]) == 1
    assert client.get("now")["problem"] is None


def test_now__has_the_runs_at_work(client: Client) -> None:
    writer = ProgressWriter(tidemark_home(), "run", "2026-03-05")
    writer.open("5a4b", 12)
    writer.begin("model.a", NodeProgress("cities", "cdc", "shop.cities", "running", NOW))
    (run,) = client.get("now")["runs"]
    assert (run["command"], run["business_date"], run["total"]) == ("run", "2026-03-05", 12)
    assert [(node["name"], node["state"]) for node in run["nodes"]] == [("cities", "running")]
    writer.close()
    assert client.get("now")["runs"] == []


def test_versions(client: Client) -> None:
    found = client.get("versions", entity="cities", key="1")
    assert found["total"] == 2
    assert [one["changes"] for one in found["history"]["versions"]] == [[], ["name: 'Aa' → 'A2'"]]
    assert found["columns"] == ["id", "name", "Area km²"]
    assert found["rows"] == [["1", "Aa", "1.5"], ["1", "A2", "1.5"]]
    assert client.get("versions", entity="cities", key=HOSTILE)["total"] == 0
    assert client.get("versions", entity="cities", key="1' or '1'='1")["total"] == 0
    assert (
        "give 1 value, found 2"
        in client.get("versions", 400, entity="cities", key=["1", "2"])["error"]
    )
    assert "so it has no log" in client.get("versions", 400, entity="cities_scd2", key="1")["error"]


@pytest.mark.parametrize("path", ["versions", "rows", "rejects"])
def test_questions__of_what_is_not_there(client: Client, path: str) -> None:
    for name in (HOSTILE, "", "../cities", "shop.cities", "cities__sensitive"):
        error = client.get(path, 400, entity=name)["error"]
        assert "there is no entity named" in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("at", "rows"),
    [
        ("", [["1", "A2", "1.5", "2026-03-02", "3"], ["3", "Cc", "4.5", "2026-03-02", "2"]]),
        ("2026-03-01", [["1", "Aa", "1.5", "2026-03-01", "1"], ["2", "it's", "3.0", "2026-03-01", "1"]]),
        ("2026-02-28", []),
        # before the third commit corrected it
        ("commit 2", [["1", "A wrong one", "1.5", "2026-03-02", "2"], ["3", "Cc", "4.5", "2026-03-02", "2"]]),
        ("commit 1", [["1", "Aa", "1.5", "2026-03-01", "1"], ["2", "it's", "3.0", "2026-03-01", "1"]]),
    ],
)  # fmt: skip
def test_rows__as_of(client: Client, at: str, rows: list[list[str]]) -> None:
    found = client.get("rows", entity="cities", at=at)
    assert found["columns"] == ["id", "name", "Area km²", "_business_date", "_commit_id"]
    assert (found["rows"], found["total"]) == (rows, len(rows))


def test_rows__a_page_at_a_time_and_by_key(client: Client, shop: Path) -> None:
    many = [logged(number, "n", "I", 1) for number in range(1, 131)]
    write(shop, "cities__log", many, "overwrite")
    pages = [client.get("rows", entity="cities", offset=offset) for offset in (0, 50, 100, 150)]
    assert [len(page["rows"]) for page in pages] == [50, 50, 30, 0]
    assert {page["total"] for page in pages} == {130}
    assert [row[0] for page in pages for row in page["rows"]] == [str(n) for n in range(1, 131)]
    begins = client.get("rows", entity="cities", begins="12")
    assert [row[0] for row in begins["rows"]] == ["12", *(str(n) for n in range(120, 130))]
    assert client.get("rows", entity="cities", begins="%")["total"] == 0
    assert client.get("rows", entity="cities", begins=HOSTILE)["total"] == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"at": "yesterday"}, "a moment must be a date"),
        ({"at": "2026-03-04' or true --"}, "a moment must be a date"),
        ({"at": "commit 1 or 1=1"}, "a moment must be a date"),
        ({"at": "commit 0"}, "from commit 1 on"),
        ({"offset": "-1"}, "offset must be a number"),
        ({"offset": "9" * 30}, "offset must be a number"),
        ({"offset": "1; drop"}, "offset must be a number"),
        ({"offset": "²"}, "offset must be a number"),
    ],
)
def test_rows__of_a_question_that_is_none(
    client: Client, parameters: dict[str, str], message: str
) -> None:
    assert message in client.get("rows", 400, entity="cities", **parameters)["error"]


def test_rejects(client: Client) -> None:
    found = client.get("rejects", entity="cities")
    assert (found["total"], len(found["rows"])) == (1, 1)
    row = dict(zip(found["columns"], found["rows"][0], strict=True))
    assert (row["_raw_payload"], row["_reject_reason"]) == ("x,y", "cast_failed: id")
    assert "_key_hash" not in row
    assert client.get("rejects", entity="cities", all="1")["total"] == 2
    assert client.get("rejects", entity="cities", all="1", offset="1")["total"] == 2
    assert client.get("rejects", entity="cities_scd2") == {
        "columns": [],
        "rows": [],
        "total": 0,
        "offset": 0,
        "limit": 50,
    }


def test_tables__with_sensitive_columns_are_never_opened(
    client: Client, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shop, "cities__sensitive", [{"_key_hash": "k1", "_commit_id": 1, "phone": "0123-SECRET"}])
    opened: set[str] = set()
    real = Tables.open

    def spied(self: Tables, path: str) -> Any:
        opened.add(Path(path).name)
        return real(self, path)

    monkeypatch.setattr(Tables, "open", spied)
    answers = [
        client.browser.get(path)
        for path in (
            *PATHS,
            "/api/versions?entity=cities&key=1",
            "/api/rejects?entity=cities&all=1",
        )
    ]
    assert opened == {"tidemark_commits__log", "cities", "cities__log", "cities__rejects"}
    assert not any("SECRET" in answer.text for answer in answers)


def test_defects__are_told_without_their_text(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr("tidemark.serve.live.rows_as_of", broken)
    found = client.get("rows", 500, entity="cities")
    assert "see the terminal" in found["error"] and "secret" not in found["error"]


# --- its parts


class Ticking:
    def __init__(self) -> None:
        self.now, self.cost = 0.0, 0.0

    def __call__(self) -> float:
        self.now += self.cost
        return self.now


def test_tables__are_read_again_when_they_have_changed(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Ticking()
    project = known_shop(shop)
    tables = KeptTables(project, clock)
    path = tables.of(project.entities["cities"])
    opened: list[str] = []
    real = Tables.open
    monkeypatch.setattr(Tables, "open", lambda self, path: opened.append(path) or real(self, path))
    assert [tables.count(path) for _ in range(3)] == [2, 2, 2]
    assert len(opened) == 1
    clock.cost = 1.0
    assert tables.rows(path, "select max(id) as id from t") == [{"id": 3}]
    clock.cost = 0.0
    before = stamp_of(path)
    write(shop, "cities", [{"id": 9}], "append")
    assert stamp_of(path) != before
    # what is read at once is read again, what took a second is not yet
    clock.now += 0.001
    assert tables.count(path) == 3
    assert not tables.is_due
    assert tables.rows(path, "select max(id) as id from t") == [{"id": 3}]
    assert not tables.is_due
    clock.now += 20
    assert tables.is_due
    assert tables.rows(path, "select max(id) as id from t") == [{"id": 9}]
    tables.forget_unused()
    tables.count(path)
    tables.forget_unused()
    opened.clear()
    tables.count(path)
    tables.rows(path, "select max(id) as id from t")
    assert len(opened) == 1
    assert stamp_of(str(shop / "nowhere")) == ()


def test_tables__in_object_storage_are_asked_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Ticking()
    tables = KeptTables(replace(known_shop(tmp_path), warehouse="s3://lake/warehouse"), clock)
    versions = iter([7, 8])
    opened: list[str] = []

    def open_table(self: Tables, path: str) -> Any:
        opened.append(path)
        version = next(versions, None)
        if version is None:
            raise TableNotReadable("it cannot be asked")
        return SimpleNamespace(version=lambda: version)

    monkeypatch.setattr(Tables, "open", open_table)
    stamps = []
    for clock.now in (0.0, 9.0, 10.0, 19.0, 20.0):
        stamps.append([tables.stamp(f"s3://lake/warehouse/shop.db/{name}") for name in ("a", "b")])
    assert stamps == [[(7,)] * 2, [(7,)] * 2, [(8,)] * 2, [(8,)] * 2, [(None,)] * 2]
    assert opened == ["s3://lake/warehouse/shop.db/tidemark_commits__log"] * 3


def test_cells() -> None:
    assert cell({"a": [1, dt.date(2026, 3, 4)]}) == '{"a": [1, "2026-03-04"]}'
    assert cell(dt.datetime(2026, 3, 4, 1, tzinfo=dt.UTC)) == "2026-03-04 01:00:00+00:00"
    assert cell(float("nan")) == "NaN" and cell(False) == "false"
    long = cell("x" * 5000)
    assert long is not None and (len(long), long[-1]) == (2000, "…")


LOG = """
============================== 10:00:00.000000 | 5a4b ==============================
\x1b[0m10:00:00.000001 [info ] [MainThread]: Running with dbt=1.11.16
10:00:00.1 [debug] [MainThread]: select 'secret-1' as phone
10:00:00.1 [info ] [MainThread]: Found 12 models, 3 data tests, 500 macros
10:00:00.2 [info ] [MainThread]: Concurrency: 2 threads (target='local')
10:00:01.0 [info ] [Thread-1 (]: 1 of 12 START sql cdc model shop.cities ........... [RUN]
10:00:01.1 [debug] [Thread-1 (]: Using tidemark connection
/* comment */
insert into x values ('secret-2')
10:00:02.0 [info ] [Thread-1 (]: tidemark commit {"relation": "`shop`.`cities`", "counts": {"rows_read": 1200, "rows_inserted": 3, "rows_deleted": 0, "secret-9": 1}}
10:00:02.0 [info ] [Thread-1 (]: tidemark commit {"relation": "shop.cities", "counts": {"rows_read": "secret-10"}}
10:00:02.1 [info ] [Thread-1 (]: tidemark changes {"rows": [{"key": "secret-3"}]}
10:00:02.2 [info ] [Thread-1 (]:   4711  name: secret-4 -> b
10:00:02.3 [warn ] [Thread-1 (]: [WARNING]: cities: for example secret-5
10:00:02.4 [info ] [Thread-1 (]: 1 of 12 OK created sql cdc model shop.cities ...... [\x1b[32mOK\x1b[0m in 1.42s]
10:00:03.0 [error] [Thread-1 (]: 2 of 12 ERROR creating sql cdc model shop.orders .. [ERROR in 0.42s]
10:00:03.1 [error] [MainThread]: \x20
10:00:03.2 [error] [MainThread]:   Data Error in model orders (models/orders.sql)
  orders: 1 of 4 rows cannot be used
  for example
    - secret-6
10:00:03.3 [error] [MainThread]:   Database Error in model items (models/items.sql)
  [CAST_INVALID_INPUT] The value 'secret-7' of the type
10:00:03.4 [error] [MainThread]: secret-8 went wrong
10:00:04.0 [info ] [MainThread]: Finished running 12 cdc models in 0 hours 0 minutes and 4.01 seconds (4.01s).
10:00:04.1 [info ] [MainThread]: Done. PASS=10 WARN=0 ERROR=2 SKIP=0 NO-OP=0 TOTAL=12
"""


def test_log__shows_what_is_certain_to_have_no_values() -> None:
    assert [line.text for line in shown_lines(LOG)] == [
        "Running with dbt=1.11.16",
        "Found 12 models, 3 data tests, 500 macros",
        "Concurrency: 2 threads (target='local')",
        "1 of 12 START sql cdc model shop.cities ........... [RUN]",
        "shop.cities: 1,200 read, 3 inserted",
        "1 of 12 OK created sql cdc model shop.cities ...... [OK in 1.42s]",
        "2 of 12 ERROR creating sql cdc model shop.orders .. [ERROR in 0.42s]",
        "orders: 1 of 4 rows cannot be used",
        "items: [CAST_INVALID_INPUT] (see the log)",
        "an error (see the log)",
        "Finished running 12 cdc models in 0 hours 0 minutes and 4.01 seconds (4.01s).",
        "Done. PASS=10 WARN=0 ERROR=2 SKIP=0 NO-OP=0 TOTAL=12",
    ]


def test_log__its_end(tmp_path: Path) -> None:
    path = tmp_path / "dbt.log"
    assert log_tail(path) == []
    path.write_text(LOG * 1000)
    found = log_tail(path, 2)
    assert [(line.at, line.level) for line in found] == [("10:00:04", "info")] * 2
    path.write_bytes(b"\xff\xfe" * 200_000)
    assert log_tail(path) == []


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", None),
        ("Could not find secret", "an error (see the log)"),
        (
            "Runtime Error in model a (models/a.sql)\n  ValueError: secret",
            "a: Runtime Error (see the log)",
        ),
        ("Compilation Error\n  secret", "Compilation Error (see the log)"),
    ],
)
def test_error_line(message: str, line: str | None) -> None:
    assert error_line(message) == line


# --- the command


def call(*arguments: str) -> Any:
    return CliRunner().invoke(cli.cli, ["serve", *arguments])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "localhost", "example.org", ""])
def test_cli__only_on_the_loopback(shop: Path, host: str) -> None:
    assert "--host must be 127.0.0.1 or ::1" in str(call("--host", host).exception)


def test_cli__says_what_to_install(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    message = str(call().exception)
    assert "needs the Python package uvicorn" in message and "dbt-tidemark[serve]" in message


def test_cli__a_port_that_is_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(Exception, match=f"port {number}: Address already in use"):
            bound("127.0.0.1", number)
        monkeypatch.setattr("tidemark.serve.cli._PORT", number)
        with bound("127.0.0.1", None) as other:
            assert other.getsockname()[1] not in (0, number)
        assert f"port {number} is taken" in capsys.readouterr().err
    # what was bound is taken, also before it serves
    with bound("127.0.0.1", None) as first, bound("127.0.0.1", None) as second:
        assert first.getsockname()[1] == number != second.getsockname()[1]


def test_cli__prints_the_address_and_opens_it(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    served: list[Any] = []
    asked = threading.Event()

    def open_browser(address: str) -> bool:
        opened.append(address)
        asked.set()
        return False

    def run_server(app: Any, listening: socket.socket) -> None:
        served.append((app, listening.getsockname()))
        assert asked.wait(20)
        time.sleep(0.1)

    monkeypatch.setattr("tidemark.serve.cli.webbrowser", SimpleNamespace(open=open_browser))
    monkeypatch.setattr("tidemark.serve.cli.run_server", run_server)
    result = call("--open", "--port", "0")
    assert result.exception is None, result.output
    ((app, (host, port)),) = served
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/\?token=[\w-]{{43}}\n", result.stdout)
    assert "no browser was found" in result.stderr
    # processes are listed with their arguments: that address is good for once
    assert (
        opened[0].startswith(f"http://127.0.0.1:{port}/?token=")
        and opened[0] != result.stdout.strip()
    )
    client = TestClient(app, base_url=f"http://{host}:{port}")
    assert [client.get(opened[0]).status_code for _ in range(2)] == [200, 401]


STARTED = """
import sys
from pathlib import Path
from tests.stored import known_shop
import tidemark.read.cli as cli_of_state
cli_of_state.known_project = lambda *_: known_shop(Path.cwd())
from tidemark.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("number", "options"), [(signal.SIGINT, []), (signal.SIGTERM, ["--host", "::1"])]
)
def test_cli__serves_until_it_is_ended(shop: Path, number: int, options: list[str]) -> None:
    if options and not _has_ipv6():
        pytest.skip("this machine has no ::1")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", STARTED, "serve", "--port", "0", *options]
    process = subprocess.Popen(command, cwd=shop, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": f"{root}:{root}/src"})  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=20) as answer:
            assert b"To the page" in answer.read()
        with opener.open(address.partition("?")[0], timeout=20) as answer:
            assert b"state of its entities" in answer.read()
            assert "server" not in {name.lower() for name in answer.headers}
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    # one line and no talk: neither of requests, which have the token, nor of the end
    assert (process.returncode, out, err) == (0, "", "")


def _has_ipv6() -> bool:
    try:
        bound("::1", 0).close()
    except Exception:
        return False
    return True
