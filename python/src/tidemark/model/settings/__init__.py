"""What may stand in the property YAML of Tidemark's materializations.

The JSON Schema is made from these models, and an editor shows their descriptions, so these are
written for someone who has the YAML open. Rules across several settings stand beside the models as
JSON Schema, the one form in which they are checked here; a run is checked by the package's macros.

Example:
    >>> ExtractSettings(extract="full", location="data/airports_{business_date}.csv.gz").on_reject
    'fail'
"""

from tidemark.model.settings.derived import FeedSettings, Scd2Settings
from tidemark.model.settings.enriched import AtomicSettings, ShredSettings
from tidemark.model.settings.events import ENCODINGS, DdlPolicies, EventSettings
from tidemark.model.settings.extracts import ExtractSettings, LogSettings
from tidemark.model.settings.models import (
    AtomicConfig,
    CdcConfig,
    FeedConfig,
    Scd2Config,
    ShredConfig,
)

__all__ = [
    "ENCODINGS",
    "AtomicConfig",
    "AtomicSettings",
    "CdcConfig",
    "DdlPolicies",
    "EventSettings",
    "ExtractSettings",
    "FeedConfig",
    "FeedSettings",
    "LogSettings",
    "Scd2Config",
    "Scd2Settings",
    "ShredConfig",
    "ShredSettings",
]
