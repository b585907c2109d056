"""The errors that Tidemark raises on purpose: one readable message each, no traceback."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """Return the first line of what an error of a library says, or its name if it says nothing.

    Example:
        >>> first_line(ValueError("no\\nbecause")), first_line(KeyError())
        ('no', 'KeyError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


class TidemarkError(Exception):
    """Base of all errors that a user can act upon.

    Attributes:
        kind: What heads the message where dbt prints it, before ` Error`.
    """

    kind = "runtime"


ODD_SQL = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What sqlglot raises of SQL that is none, beside errors of its own: `map('a')`, `coalesce()`."""
INTERRUPTED = "the load was interrupted before its commit"


class InterruptedLoadError(TidemarkError):
    """Ctrl-C ended a load before its commit."""

    def __init__(self) -> None:
        super().__init__(f"{INTERRUPTED}. Run the model again")


class ConfigError(TidemarkError):
    """A setting, option or environment variable is missing, unknown or contradicts another."""

    kind = "configuration"


class DataError(TidemarkError):
    """What was delivered, or what lies in the tables, is not what it has to be."""

    kind = "data"


class UsageError(TidemarkError):
    """A command was given what it cannot work with."""

    kind = "usage"


class JavaError(TidemarkError):
    """Java is missing or too old for Spark."""


class SparkStartError(TidemarkError):
    """The Spark session could not be started."""


class MetastoreBusyError(TidemarkError):
    """Another process holds the embedded metastore."""
