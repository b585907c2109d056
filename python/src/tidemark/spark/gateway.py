"""Calls to the JVM, without what Py4J searches and waits for."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

from tidemark.spark.files import java_class


def spare_searches(jvm: Any) -> None:
    """Tell Py4J where the classes are that PySpark asks for by a short name with each statement."""
    jvm.PythonUtils = java_class(jvm, "org.apache.spark.api.python.PythonUtils")
    reflection = SimpleNamespace(TypeUtil=java_class(jvm, "py4j.reflection.TypeUtil"))
    jvm.py4j = SimpleNamespace(reflection=reflection)


def spare_waits(jvm: Any) -> None:
    """Have this process acknowledge the first part of an answer at once.

    The JVM writes an answer of more than 8 kB, such as the schema of a wide table, in parts, and
    holds back the second until the first is acknowledged: which Linux does after 40 milliseconds,
    in case there is something to send with it.
    """
    client = jvm._gateway_client
    make = getattr(client, "_create_new_connection", None)
    if make is None or not hasattr(socket, "TCP_QUICKACK"):
        return

    def make_prompt() -> Any:
        connection = make()
        connection.socket = _Prompt(connection.socket)
        return connection

    client._create_new_connection = make_prompt
    of_this_thread = client.get_thread_connection()
    if of_this_thread is not None:
        of_this_thread.socket = _Prompt(of_this_thread.socket)


class _Prompt:
    """A socket that acknowledges at once what comes after it has sent something."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner

    def sendall(self, data: bytes) -> None:
        self._inner.sendall(data)
        # Linux forgets it as soon as both sides talk again
        self._inner.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
