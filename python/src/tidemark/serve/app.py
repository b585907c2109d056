"""The web application: the page, what it asks for, and what it may have done."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tidemark.errors import ConfigError, TidemarkError
from tidemark.serve.actions import Applying, actions_of
from tidemark.serve.gate import Gate, Keys
from tidemark.serve.live import Live
from tidemark.serve.page import live_page

_MOST_OFFSET = 10**9


def application(live: Live, applying: Applying, keys: Keys) -> ASGIApp:
    """Return the application behind its gate.

    Args:
        live: What is shown.
        applying: Plans that are applied.
        keys: What opens it.
    """
    actions = actions_of(live, applying)

    # not `async`: tables are read in threads
    def page(request: Request) -> Response:
        mark, report = live.report()
        html, policy = live_page(report, mark, live.keys(), keys.action)
        return HTMLResponse(html, headers={"Content-Security-Policy": policy})

    def report(request: Request) -> Response:
        mark, found = live.report()
        # for many entities it is megabytes, which pydantic writes faster
        known = json.dumps({"mark": mark, "keys": live.keys()}, ensure_ascii=False)
        text = f'{known[:-1]}, "report": {found.model_dump_json()}}}'
        return Response(text, media_type="application/json")

    def now(request: Request) -> Response:
        found = live.now()
        plans = applying.waiting(found["plans"])
        return _json({**found, "plans": plans, "applying": applying.seen()})

    def versions(request: Request) -> Response:
        return _json(live.versions(_text(request, "entity"), request.query_params.getlist("key")))

    def rows(request: Request) -> Response:
        entity, at, begins = (_text(request, name) for name in ("entity", "at", "begins"))
        return _json(live.rows(entity, at, begins, _offset(request)))

    def rejects(request: Request) -> Response:
        is_all = _text(request, "all") == "1"
        return _json(live.rejects(_text(request, "entity"), is_all, _offset(request)))

    async def body_of(request: Request) -> Mapping[str, Any]:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise ConfigError("the body of the request must be JSON")
        try:
            content = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise ConfigError("the body of the request must be JSON") from None
        if not isinstance(content, dict) or not isinstance(content.get("name"), str):
            raise ConfigError("the body of the request must have a name")
        return content

    async def act(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool

        action = actions.get(request.path_params["action"])
        if action is None:
            raise HTTPException(404)
        name = (await body_of(request))["name"]
        await run_in_threadpool(action, name)
        return _json({"done": True})

    routes = [
        Route("/", page),
        Route("/api/now", now),
        Route("/api/report", report),
        Route("/api/versions", versions),
        Route("/api/rows", rows),
        Route("/api/rejects", rejects),
        Route("/api/actions/{action:str}", act, methods=["POST"]),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Response]] = {
        TidemarkError: _mistake,
        HTTPException: _http_error,
        Exception: _defect,
    }
    return Gate(Starlette(routes=routes, exception_handlers=handlers), keys)


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _offset(request: Request) -> int:
    text = _text(request, "offset") or "0"
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) > _MOST_OFFSET:
        raise ConfigError(f"offset must be a number, found: {text[:40]!r}")
    return int(text)


def _mistake(request: Request, error: Exception) -> Response:
    return _json({"error": str(error)}, 400)


def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    return PlainTextResponse("There is nothing here.\n", status_code=status, headers=headers)


def _defect(request: Request, error: Exception) -> Response:
    # the server says on its terminal what went wrong
    return _json({"error": "that went wrong: see the terminal of `tidemark serve`"}, 500)


def _json(content: Any, status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, default=_plain)
    return Response(text, status_code=status, media_type="application/json")


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, dt.date | dt.datetime) else str(value)
