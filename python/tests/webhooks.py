"""A server on the loopback that takes what a webhook sends."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """What came.

    Attributes:
        url: Where to.
        bodies: As they came.
        headers: Of each.
    """

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def json(self) -> list[Any]:
        """What came, read."""
        return [json.loads(body) for body in self.bodies]


@contextmanager
def receiver(
    answers: Sequence[int] = (), wait: float = 0.0, endless: bool = False
) -> Iterator[Received]:
    """Take requests; answer with these codes in turn, then with 200, each after a wait in seconds.

    Args:
        endless: The bodies of the answers never end.
    """
    received = Received()
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.headers.append(dict(self.headers.items()))
            received.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(wait)
            code = left.pop(0) if left else 200
            try:
                self.send_response(code)
                if code in (301, 302):
                    self.send_header("Location", received.url + "/elsewhere")
                self.send_header("Content-Length", str(1 << 60 if endless else 0))
                self.end_headers()
                while endless:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                pass  # who asked has gone

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received.url = f"http://127.0.0.1:{server.server_address[1]}/services/T0KEN"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield received
        server.shutdown()
