"""The settings of models that are made from an entity: kept intervals and kept feeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidemark.model import places
from tidemark.model.given import Config, Given, is_text
from tidemark.model.settings import FeedSettings, Scd2Settings
from tidemark.model.suggestions import did_you_mean

AXES = (["business"], ["business", "system"])
"""What kept intervals may have bounds of; the macro axes_of() has the same, for SQL."""


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
    given = Given(node, Scd2Settings, lake_format)
    cfg = {
        "model": node["alias"],
        **places.table_place(given),
        "valid_from": given.settings.get("valid_from") or "_valid_from",
        "axes": given.read("axes")["axes"] or ["business"],
        "partition_by": given.names("partition_by"),
        "cluster_by": given.names("liquid_clustered_by"),
        "description": places.kept_description(given),
    }
    sources = [nodes[source] for source in node["depends_on"]["nodes"] if source in nodes]
    referred = {one["name"]: one for one in sources if one["config"]["materialized"] == "cdc"}
    wanted = given.settings.get("entity")
    given.errors += _entity_problems(wanted, referred)
    cfg["entity"] = referred.get(str(wanted)) if wanted else next(iter(referred.values()), None)
    given.errors += places.format_problems(cfg, lake_format)
    given.errors += places.place_problems(given.config)
    if "valid_from" in given.settings and not is_text(cfg["valid_from"]):
        must = "valid_from must be the name of the column that intervals begin with"
        given.errors.append(f"{must}, found: {cfg['valid_from']}")
    given.allow(cfg, "axes")
    if not given.errors and cfg["axes"] not in AXES:
        must = " or ".join(f"[{', '.join(axes)}]" for axes in AXES)
        given.errors.append(f"axes must be {must}, found: [{', '.join(cfg['axes'])}]")
    given.errors += places.cluster_problems(cfg)
    given.errors += places.layout_problems(cfg)
    return given.complete(cfg)


def _entity_problems(wanted: Any, referred: Config) -> Iterator[str]:
    """What keeps the one cdc model from being found that this model refers to, or that it names."""
    if wanted is not None and not isinstance(wanted, str):
        yield f"meta.tidemark.entity must be the name of a model, found: {wanted}"
    elif wanted is not None and wanted not in referred:
        hint = did_you_mean(wanted, referred) if referred else ""
        yield (
            f"meta.tidemark.entity names `{wanted}`, which is not a cdc model that this model"
            f" refers to{hint}"
        )
    elif wanted is None and not referred:
        body = "its body is a SELECT from tidemark.scd2(ref('…')) of one"
        yield f"the model refers to no cdc model: {body}"
    elif wanted is None and len(referred) > 1:
        names = ", ".join(sorted(referred, key=str.lower))
        yield (
            f"the model refers to several cdc models ({names}): say with meta.tidemark.entity whose"
            " intervals it keeps"
        )


def feed_settings(node: Config, lake_format: str) -> dict[str, Any]:
    """Return what a kept feed is configured with. What it reads stands in its body.

    Args:
        node: The model, as dbt's graph has it.
        lake_format: The format of the project's tables whose rows can change: delta or iceberg.

    Raises:
        ConfigError: With every problem that was found.
    """
    given = Given(node, FeedSettings, lake_format)
    cfg = {
        "model": node["alias"],
        **places.table_place(given),
        "buckets": given.read("feed_buckets")["feed_buckets"],
        "retention": given.retention("feed_retention"),
        "description": places.kept_description(given),
    }
    given.errors += places.format_problems(cfg, lake_format)
    given.errors += places.place_problems(given.config)
    given.errors += _feed_problems(cfg, given.config)
    return given.complete(cfg)


def _feed_problems(cfg: Config, config: Config) -> Iterator[str]:
    buckets = cfg["buckets"]
    if not isinstance(buckets, int) or isinstance(buckets, bool) or not 1 <= buckets <= 1024:
        found = places.shown(buckets)
        yield f"feed_buckets must be a whole number from 1 to 1024, found: {found}"
    for name in ("partition_by", "liquid_clustered_by"):
        if config.get(name):
            layout = "a feed is laid out by the date of the commit and by feed_buckets"
            yield f"{name} cannot be set: {layout}"
