"""Sending a summary: where to and how is in environment variables, and no failure is the run's."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidemark import distribution_version
from tidemark.errors import ConfigError
from tidemark.webhook.summary import FORMATS, RunSummary, body_of

if TYPE_CHECKING:
    from requests import PreparedRequest

URL_VARIABLE = "TIDEMARK_WEBHOOK_URL"
_WHEN = ("always", "failure", "rules")
# seconds for connecting and for each answer; four tries with pauses of 0, 1 and 2 seconds
_TIMEOUT = (5.0, 10.0)
_RETRIES = 3
_PAUSE = 0.5
_AGAIN = (429, 500, 502, 503, 504)


class NotSentError(Exception):
    """Why a summary did not arrive: a line without URL and without secret."""


@dataclass(frozen=True)
class Webhook:
    """Where a summary goes to.

    Attributes:
        url: The whole URL; of many chats it is a secret by itself.
        form: `json`, `slack` or `teams`.
        when: `always`, on `failure` only, or also where rows failed `rules`.
        secret: Signs what is sent.
        authorization: A header's value.
        timeout: Seconds for connecting, and for an answer.
        pause: Seconds that the pauses between tries begin with.
    """

    url: str = field(repr=False)
    form: str = "json"
    when: str = "always"
    secret: str | None = field(default=None, repr=False)
    authorization: str | None = field(default=None, repr=False)
    timeout: tuple[float, float] = _TIMEOUT
    pause: float = _PAUSE


def webhook_of(environment: Mapping[str, str] = os.environ) -> Webhook | None:
    """Return where summaries go to; None where `TIDEMARK_WEBHOOK_URL` is not set.

    Raises:
        ConfigError: A variable has a value that it cannot have; the message does not show it.
    """
    url = environment.get(URL_VARIABLE, "").strip()
    if not url:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"the environment variable {URL_VARIABLE} must be a URL that begins with https:// "
            "or http://"
        )
    form = _choice(environment, "TIDEMARK_WEBHOOK_FORMAT", FORMATS)
    when = _choice(environment, "TIDEMARK_WEBHOOK_ON", _WHEN)
    return Webhook(
        url,
        form,
        when,
        secret=environment.get("TIDEMARK_WEBHOOK_SECRET") or None,
        authorization=environment.get("TIDEMARK_WEBHOOK_AUTHORIZATION") or None,
    )


def _choice(environment: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = environment.get(name) or allowed[0]
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}; found: {value!r}")
    return value


def send(webhook: Webhook, summary: RunSummary) -> bool:
    """Send a summary; try again where that may help.

    Returns:
        Whether there was something to send.

    Raises:
        NotSentError: It did not arrive.
    """
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    if not _is_wanted(webhook, summary):
        return False
    body = body_of(summary, webhook.form)
    retries = Retry(
        total=_RETRIES,
        backoff_factor=webhook.pause,
        backoff_max=10,
        allowed_methods=None,
        respect_retry_after_header=False,
    )
    try:
        with _quiet(), requests.Session() as session:
            for scheme in ("https://", "http://"):
                session.mount(scheme, HTTPAdapter(max_retries=retries))
            for number in range(_RETRIES + 1):
                time.sleep(webhook.pause * 2 ** (number - 1) if number > 1 else 0)
                answer = session.post(
                    webhook.url,
                    data=body,
                    headers=_headers(webhook, summary, body),
                    timeout=webhook.timeout,
                    # what is signed is for this place
                    allow_redirects=False,
                    auth=_as_it_is,
                    # beside its code nothing of it is read, however long it is
                    stream=True,
                )
                answer.close()
                if answer.status_code not in _AGAIN:
                    break
    except requests.exceptions.SSLError:
        raise NotSentError("its certificate is not trusted") from None
    except requests.exceptions.ProxyError:
        raise NotSentError("the proxy cannot be reached") from None
    except requests.exceptions.RequestException as error:
        # the message of the error has the URL in it
        raise NotSentError(_reason(error)) from None
    if not 200 <= answer.status_code < 300:
        raise NotSentError(f"it answered {answer.status_code}")
    return True


def _is_wanted(webhook: Webhook, summary: RunSummary) -> bool:
    if webhook.when == "always" or not summary.success:
        return True
    return webhook.when == "rules" and any(one.rules for one in summary.entities)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library from logging paths: of many chats they are the secret."""
    loggers = [logging.getLogger(f"urllib3.{name}") for name in ("connectionpool", "util.retry")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    """Keep `requests` from putting what a .netrc says in the place of our header."""
    return request


def _headers(webhook: Webhook, summary: RunSummary, body: bytes) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"tidemark/{distribution_version()}",
        "X-Tidemark-Invocation": summary.invocation_id,
    }
    if webhook.secret is not None:
        headers["X-Tidemark-Signature"] = f"sha256={signature(webhook.secret, body)}"
    if webhook.authorization is not None:
        headers["Authorization"] = webhook.authorization
    return headers


def signature(secret: str, body: bytes) -> str:
    """Return the HMAC-SHA256 of a body, in hexadecimal digits.

    Example:
        >>> signature("key", b"{}")[:8]
        'c84c8ca5'
    """
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _reason(error: Exception) -> str:
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError

    cause: object = error.args[0] if error.args else None
    cause = getattr(cause, "reason", cause)
    is_late = isinstance(cause, ConnectTimeoutError | ReadTimeoutError)
    if is_late and not isinstance(cause, NewConnectionError):
        return "it did not answer in time"
    return "it cannot be reached"
