"""Access to the page: only with the token, at the right address, from the page itself.

A page on the loopback can be reached by every program of the machine and, through a browser, by
every site that somebody visits. So a request must name this address (a name that a site has pointed
to the loopback is another one), must not come from another page, and must have the cookie which
only the printed address gives. What changes something needs a second token that only the page has.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ACTION_HEADER = "X-Tidemark-Token"
MOST_BYTES = 4096
"""Limit for the body of a request."""

POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""For answers that are no page: a browser that shows them runs and fetches nothing."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_ENTERED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tidemark</title>
<meta http-equiv="refresh" content="0; url=/"><a href="/">To the page</a></html>
"""
_WHERE = "Open the address that `tidemark serve` printed: it has the token."


def _token() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Keys:
    """What opens the page, new each time that it is served.

    Attributes:
        host: The address, as a URL has it.
        port: The port.
        entry: In the address that is printed.
        opening: In the address that a browser is started with, where all who list processes see it:
            it opens the page once.
        session: In the cookie that these are exchanged for.
        action: In a header of what changes something; None if nothing may.
    """

    host: str
    port: int
    entry: str = field(default_factory=_token)
    opening: str = field(default_factory=_token)
    session: str = field(default_factory=_token)
    action: str | None = None

    @classmethod
    def made(cls, host: str, port: int, allow_actions: bool) -> Keys:
        """Return new ones.

        Example:
            >>> Keys.made("::1", 8247, False).hosts
            ('[::1]:8247', 'localhost:8247')
        """
        shown = f"[{host}]" if ":" in host else host
        return cls(shown, port, action=_token() if allow_actions else None)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may call this server."""
        names = (self.host, "localhost")
        # browsers leave the usual port out
        usual = names if self.port == 80 else ()
        return (*(f"{name}:{self.port}" for name in names), *usual)

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies do not know ports."""
        return f"tidemark-{self.port}"

    @property
    def address(self) -> str:
        """What is printed."""
        return self._entered_by(self.entry)

    @property
    def opened(self) -> str:
        """What a browser is started with."""
        return self._entered_by(self.opening)

    def _entered_by(self, token: str) -> str:
        return f"http://{self.host}:{self.port}/?token={token}"


class Gate:
    """Lets in who may enter, and gives each answer the headers that keep it here.

    Args:
        app: What is behind it.
        keys: What opens it.
    """

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys
        self._was_opened = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return  # no websockets, and nothing that begins or ends
        request = Request(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", POLICY)
            await send(message)

        refusal = self._refusal(request) or await _too_large(request, receive)
        if isinstance(refusal, Response):
            await refusal(scope, receive, send_guarded)
            return
        body: bytes | None = refusal

        async def receive_body() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message: Message = {"type": "http.request", "body": body, "more_body": False}
            body = None
            return message

        await self._app(scope, receive_body, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to who may not enter, None for who may."""
        keys, headers = self._keys, request.headers
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in keys.hosts:
            return _no(403, "This is not the address of `tidemark serve`.")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{hosts[0].lower()}":
            return _no(403, "Other pages may not ask.")
        if request.url.path == "/" and "token" in request.query_params:
            return self._entered(request)
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _no(403, "Other pages may not ask.")
        if not _same(request.cookies.get(keys.cookie), keys.session):
            return _no(401, _WHERE)
        if request.method in ("GET", "HEAD"):
            return None
        return self._action_refusal(origin, headers)

    def _entered(self, request: Request) -> Response:
        """Exchange the token of the printed address for a cookie; the token leaves the address."""
        given = request.query_params.getlist("token")
        if request.method != "GET" or len(given) != 1:
            return _no(401, _WHERE)
        if not self._was_opened and _same(given[0], self._keys.opening):
            self._was_opened = True
        elif not _same(given[0], self._keys.entry):
            return _no(401, _WHERE)
        # not a redirect: whoever follows a link of another page would come back without the cookie
        answer = HTMLResponse(_ENTERED)
        answer.set_cookie(
            self._keys.cookie, self._keys.session, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _action_refusal(self, origin: str | None, headers: Headers) -> Response | None:
        if origin is None:
            return _no(403, "Only the page itself may ask for that.")
        if self._keys.action is None:
            return _no(
                403, "This page only shows: start `tidemark serve --allow-actions` to act from it."
            )
        if not _same(headers.get(ACTION_HEADER), self._keys.action):
            return _no(403, "Only the page itself may ask for that.")
        return None


async def _too_large(request: Request, receive: Receive) -> Response | bytes:
    """Return the body of a request, or the answer to one that is too large."""
    told = request.headers.get("content-length", "0")
    if not told.isascii() or not told.isdigit() or int(told[:20]) > MOST_BYTES:
        return _no(413, "The request is too large.")
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            return _no(413, "The request is too large.")
    return body


def _same(given: str | None, wanted: str) -> bool:
    # in a time that tells nothing
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


def _no(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status_code=status)
