"""The errors that Tidemark raises on purpose: one readable message each, no traceback."""

from __future__ import annotations


class TidemarkError(Exception):
    """Base of all errors that a user can act upon."""


class ConfigError(TidemarkError):
    """A setting, option or environment variable is missing, unknown or contradicts another."""


class JavaError(TidemarkError):
    """Java is missing or too old for Spark."""


class SparkStartError(TidemarkError):
    """The Spark session could not be started."""


class MetastoreBusyError(TidemarkError):
    """Another process holds the embedded metastore."""
