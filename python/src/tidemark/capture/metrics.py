"""What Debezium measures of itself, read from its management beans in this JVM."""

from __future__ import annotations

from typing import Any


def streaming_metric(server: str, name: str) -> Any:
    """Return a metric of the streaming phase, None where there is none."""
    return _metric("streaming", server, name)


def _metric(context: str, server: str, name: str) -> Any:
    import jpype

    management = jpype.JClass("java.lang.management.ManagementFactory")
    beans = management.getPlatformMBeanServer()
    pattern = jpype.JClass("javax.management.ObjectName")(
        f"debezium.*:type=connector-metrics,context={context},server={server},*"
    )
    for bean in beans.queryNames(pattern, None):
        try:
            value = beans.getAttribute(bean, name)
        except jpype.JException:
            return None
        if value is None or isinstance(value, str):
            return value
        return int(value)
    return None
