"""What may stand in the property YAML of Tidemark's materializations.

The JSON Schema is made from these models, and an editor shows their descriptions, so these are
written for someone who has the YAML open. Rules across several settings stand beside the models as
JSON Schema, for editors; a run judges them by the functions of `tidemark.model`, which take names,
defaults and choices from here.

Example:
    >>> ExtractSettings(extract="full", location="data/airports_{business_date}.csv.gz").on_reject
    'fail'
"""

from tidemark.model.settings.derived import FeedSettings, Scd2Settings
from tidemark.model.settings.enriched import AtomicSettings, ShredSettings
from tidemark.model.settings.events import ENCODINGS, DdlPolicies, EventSettings
from tidemark.model.settings.extracts import (
    ColumnsIncluded,
    ExtractSettings,
    LogSettings,
    Policy,
)
from tidemark.model.settings.models import (
    AtomicConfig,
    CdcConfig,
    FeedConfig,
    Scd2Config,
    ShredConfig,
    TidemarkModelConfig,
)

__all__ = [
    "ENCODINGS",
    "AtomicConfig",
    "AtomicSettings",
    "CdcConfig",
    "ColumnsIncluded",
    "DdlPolicies",
    "EventSettings",
    "ExtractSettings",
    "FeedConfig",
    "FeedSettings",
    "LogSettings",
    "Policy",
    "Scd2Config",
    "Scd2Settings",
    "ShredConfig",
    "ShredSettings",
    "TidemarkModelConfig",
]
