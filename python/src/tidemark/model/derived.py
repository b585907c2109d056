"""The settings of models that are made from an entity: kept intervals and kept feeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.model.given import (
    Config,
    given_settings,
    is_text,
    note_broken,
    raise_problems,
    retention,
    shown,
)
from tidemark.model.places import (
    NO_CLUSTERS,
    ONE_LAYOUT,
    check_format,
    check_place,
    kept_description,
    table_layout,
    table_place,
)
from tidemark.model.settings import FeedSettings, Scd2Settings
from tidemark.model.suggestions import did_you_mean


def scd2_settings(node: Config, lake_format: str, nodes: Mapping[str, Config]) -> dict[str, Any]:
    """Return what kept intervals are configured with; `entity` is the node they are of.

    Example:
        >>> scd2_settings(node, "delta", graph["nodes"])["valid_from"]
        '_valid_from'

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.
        nodes: The graph's, by id.

    Raises:
        ConfigError: With every problem that was found.
    """
    errors: list[str] = []
    settings = given_settings(node["config"], Scd2Settings, errors)
    cfg = {
        "model": node["alias"],
        **table_place(node, lake_format),
        "valid_from": settings.get("valid_from") or "_valid_from",
        **table_layout(node["config"], errors),
        "description": kept_description(node),
    }
    cfg["entity"] = _entity_of(node, settings.get("entity"), nodes, errors)
    found = cfg["file_format"]
    check_format(found, lake_format, errors)
    check_place(node["config"], errors)
    note_broken(
        [
            (
                "valid_from" in settings and not is_text(cfg["valid_from"]),
                "valid_from must be the name of the column that intervals begin with, found:"
                f" {cfg['valid_from']}",
            ),
            (
                found == "parquet",
                "materialized: scd2 keeps intervals by MERGE, which needs file_format: delta or"
                " iceberg (found: parquet); materialized: table or view serve every format",
            ),
            (found == "iceberg" and cfg["cluster_by"], NO_CLUSTERS),
            (cfg["partition_by"] and cfg["cluster_by"], ONE_LAYOUT),
        ],
        errors,
    )
    raise_problems(cfg["model"], errors)
    return cfg


def _entity_of(
    node: Config, wanted: Any, nodes: Mapping[str, Config], errors: list[str]
) -> Config | None:
    """Return the one cdc model that this model refers to, or the one that is named."""
    sources = [nodes[source] for source in node["depends_on"]["nodes"] if source in nodes]
    referred = {
        source["name"]: source for source in sources if source["config"]["materialized"] == "cdc"
    }
    if wanted is not None and not isinstance(wanted, str):
        errors.append(f"meta.tidemark.entity must be the name of a model, found: {wanted}")
    elif wanted is None and len(referred) == 1:
        return next(iter(referred.values()))
    elif wanted in referred:
        return referred[wanted]
    elif wanted is not None:
        hint = did_you_mean(wanted, referred) if referred else ""
        errors.append(
            f"meta.tidemark.entity names `{wanted}`, which is not a cdc model that this model"
            f" refers to{hint}"
        )
    elif referred:
        names = ", ".join(sorted(referred, key=str.lower))
        errors.append(
            f"the model refers to several cdc models ({names}): say with meta.tidemark.entity whose"
            " intervals it keeps"
        )
    else:
        errors.append(
            "the model refers to no cdc model: its body is a SELECT from tidemark.scd2(ref('…')) of"
            " one"
        )
    return None


def feed_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what a kept feed is configured with. What it reads stands in its body.

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    errors: list[str] = []
    config = node["config"]
    settings = given_settings(config, FeedSettings, errors)
    buckets = settings.get("feed_buckets", FeedSettings.model_fields["feed_buckets"].default)
    is_number = isinstance(buckets, int) and not isinstance(buckets, bool)
    cfg = {
        "model": node["alias"],
        **table_place(node, lake_format),
        "buckets": buckets,
        "retention": retention(settings.get("feed_retention"), "feed_retention", errors),
        "description": kept_description(node),
    }
    check_format(cfg["file_format"], lake_format, errors)
    check_place(config, errors)
    note_broken(
        [
            (
                cfg["file_format"] == "parquet",
                "materialized: feed needs file_format: delta or iceberg, found: parquet",
            ),
            (
                not is_number or not 1 <= buckets <= 1024,
                f"feed_buckets must be a whole number from 1 to 1024, found: {shown(buckets)}",
            ),
            *(
                (
                    config.get(name),
                    f"{name} cannot be set: a feed is laid out by the date of the commit and by"
                    " feed_buckets",
                )
                for name in ("partition_by", "liquid_clustered_by")
            ),
        ],
        errors,
    )
    raise_problems(cfg["model"], errors)
    return cfg
