"""What may stand in the property YAML of Tidemark's materializations.

The JSON Schema is made from these models, and an editor shows their descriptions, so these are
written for someone who has the YAML open. Rules across several settings stand beside the models as
JSON Schema, the one form in which they are checked here; a run is checked by the package's macros.

Example:
    >>> ExtractSettings(extract="full", location="data/airports_{business_date}.csv.gz").on_reject
    'fail'
"""

from tidemark.scaffold.settings.derived import FeedSettings, Scd2Settings
from tidemark.scaffold.settings.enriched import AtomicSettings, ShredSettings
from tidemark.scaffold.settings.events import (
    ENCODINGS,
    Chosen,
    DdlPolicies,
    Encoding,
    EventSettings,
)
from tidemark.scaffold.settings.extracts import (
    ColumnsExcluded,
    ColumnsIncluded,
    ExtractSettings,
    LogSettings,
    Policy,
)
from tidemark.scaffold.settings.models import (
    AtomicConfig,
    AtomicMeta,
    CdcConfig,
    CdcMeta,
    FeedConfig,
    FeedMeta,
    Scd2Config,
    Scd2Meta,
    ShredConfig,
    ShredMeta,
    TidemarkModelConfig,
)
from tidemark.scaffold.settings.rules import (
    FINGERPRINT_IGNORE,
    DeduplicationStep,
    Name,
    Names,
    OptionValue,
    Retention,
)

__all__ = [
    "ENCODINGS",
    "FINGERPRINT_IGNORE",
    "AtomicConfig",
    "AtomicMeta",
    "AtomicSettings",
    "CdcConfig",
    "CdcMeta",
    "Chosen",
    "ColumnsExcluded",
    "ColumnsIncluded",
    "DdlPolicies",
    "DeduplicationStep",
    "Encoding",
    "EventSettings",
    "ExtractSettings",
    "FeedConfig",
    "FeedMeta",
    "FeedSettings",
    "LogSettings",
    "Name",
    "Names",
    "OptionValue",
    "Policy",
    "Retention",
    "Scd2Config",
    "Scd2Meta",
    "Scd2Settings",
    "ShredConfig",
    "ShredMeta",
    "ShredSettings",
    "TidemarkModelConfig",
]
