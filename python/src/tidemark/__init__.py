"""Tidemark: extracts and change events become current tables, history and a change feed."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "dbt-tidemark"
"""What pip knows it by; `tidemark` is the module and the command."""


def distribution_version() -> str:
    """Return the version that is installed, or "unknown"."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
