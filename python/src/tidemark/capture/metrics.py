"""Figures of Debezium itself, read from its management beans in this JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def streaming_metric(server: str, name: str) -> Any:
    """Return a metric of the streaming phase, None where there is none."""
    return _metric("streaming", server, name)


def rows_scanned(server: str) -> dict[str, int]:
    """Return how many rows a snapshot has read, by table as Debezium calls it."""
    tables: dict[str, int] = {}
    for found in _values("snapshot", server, "RowsScanned"):
        for row in found.values():
            tables[str(row.get("key"))] = int(row.get("value"))
    return tables


def _metric(context: str, server: str, name: str) -> Any:
    for value in _values(context, server, name):
        return value if value is None or isinstance(value, str) else int(value)
    return None


def _values(context: str, server: str, name: str) -> Iterator[Any]:
    """Yield what each bean says that has it."""
    import jpype

    management = jpype.JClass("java.lang.management.ManagementFactory")
    beans = management.getPlatformMBeanServer()
    pattern = jpype.JClass("javax.management.ObjectName")(
        f"debezium.*:type=connector-metrics,context={context},server={server},*"
    )
    for bean in beans.queryNames(pattern, None):
        try:
            yield beans.getAttribute(bean, name)
        except jpype.JException:
            continue
