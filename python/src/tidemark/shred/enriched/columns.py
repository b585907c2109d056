"""The 131 columns of an enriched event and what is fixed about them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType

Event = dict[str, str | None]
MONEY = "decimal(18,2)"
TYPES: Mapping[str, str] = MappingProxyType(
    {
        "app_id": "string",
        "platform": "string",
        "etl_tstamp": "timestamp",
        "collector_tstamp": "timestamp",
        "dvce_created_tstamp": "timestamp",
        "event": "string",
        "event_id": "string",
        "txn_id": "int",
        "name_tracker": "string",
        "v_tracker": "string",
        "v_collector": "string",
        "v_etl": "string",
        "user_id": "string",
        "user_ipaddress": "string",
        "user_fingerprint": "string",
        "domain_userid": "string",
        "domain_sessionidx": "int",
        "network_userid": "string",
        "geo_country": "string",
        "geo_region": "string",
        "geo_city": "string",
        "geo_zipcode": "string",
        "geo_latitude": "double",
        "geo_longitude": "double",
        "geo_region_name": "string",
        "ip_isp": "string",
        "ip_organization": "string",
        "ip_domain": "string",
        "ip_netspeed": "string",
        "page_url": "string",
        "page_title": "string",
        "page_referrer": "string",
        "page_urlscheme": "string",
        "page_urlhost": "string",
        "page_urlport": "int",
        "page_urlpath": "string",
        "page_urlquery": "string",
        "page_urlfragment": "string",
        "refr_urlscheme": "string",
        "refr_urlhost": "string",
        "refr_urlport": "int",
        "refr_urlpath": "string",
        "refr_urlquery": "string",
        "refr_urlfragment": "string",
        "refr_medium": "string",
        "refr_source": "string",
        "refr_term": "string",
        "mkt_medium": "string",
        "mkt_source": "string",
        "mkt_term": "string",
        "mkt_content": "string",
        "mkt_campaign": "string",
        "contexts": "string",
        "se_category": "string",
        "se_action": "string",
        "se_label": "string",
        "se_property": "string",
        "se_value": "double",
        "unstruct_event": "string",
        "tr_orderid": "string",
        "tr_affiliation": "string",
        "tr_total": MONEY,
        "tr_tax": MONEY,
        "tr_shipping": MONEY,
        "tr_city": "string",
        "tr_state": "string",
        "tr_country": "string",
        "ti_orderid": "string",
        "ti_sku": "string",
        "ti_name": "string",
        "ti_category": "string",
        "ti_price": MONEY,
        "ti_quantity": "int",
        "pp_xoffset_min": "int",
        "pp_xoffset_max": "int",
        "pp_yoffset_min": "int",
        "pp_yoffset_max": "int",
        "useragent": "string",
        "br_name": "string",
        "br_family": "string",
        "br_version": "string",
        "br_type": "string",
        "br_renderengine": "string",
        "br_lang": "string",
        "br_features_pdf": "boolean",
        "br_features_flash": "boolean",
        "br_features_java": "boolean",
        "br_features_director": "boolean",
        "br_features_quicktime": "boolean",
        "br_features_realplayer": "boolean",
        "br_features_windowsmedia": "boolean",
        "br_features_gears": "boolean",
        "br_features_silverlight": "boolean",
        "br_cookies": "boolean",
        "br_colordepth": "string",
        "br_viewwidth": "int",
        "br_viewheight": "int",
        "os_name": "string",
        "os_family": "string",
        "os_manufacturer": "string",
        "os_timezone": "string",
        "dvce_type": "string",
        "dvce_ismobile": "boolean",
        "dvce_screenwidth": "int",
        "dvce_screenheight": "int",
        "doc_charset": "string",
        "doc_width": "int",
        "doc_height": "int",
        "tr_currency": "string",
        "tr_total_base": MONEY,
        "tr_tax_base": MONEY,
        "tr_shipping_base": MONEY,
        "ti_currency": "string",
        "ti_price_base": MONEY,
        "base_currency": "string",
        "geo_timezone": "string",
        "mkt_clickid": "string",
        "mkt_network": "string",
        "etl_tags": "string",
        "dvce_sent_tstamp": "timestamp",
        "refr_domain_userid": "string",
        "refr_dvce_tstamp": "timestamp",
        "derived_contexts": "string",
        "domain_sessionid": "string",
        "derived_tstamp": "timestamp",
        "event_vendor": "string",
        "event_name": "string",
        "event_format": "string",
        "event_version": "string",
        "event_fingerprint": "string",
        "true_tstamp": "timestamp",
    }
)
"""Spark type by column, in the order of the TSV."""
COLUMNS: tuple[str, ...] = tuple(TYPES)
"""The columns in the order of the TSV."""
REQUIRED: tuple[str, ...] = ("event_id", "collector_tstamp", "v_collector", "v_etl")
"""Columns that no event goes without."""
ENTITIES: Mapping[str, str] = MappingProxyType(
    {
        "contexts": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-*",
        "unstruct_event": "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-*",
        "derived_contexts": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-*",
    }
)
"""The columns that hold self-describing JSON, and the schema of their envelope."""
ALIASES: Mapping[str, str] = MappingProxyType({"refr_device_tstamp": "refr_dvce_tstamp"})
"""Names that older analytics SDKs give a column in JSON."""
ATOMIC_SCHEMA = "iglu:com.snowplowanalytics.snowplow/atomic/jsonschema/1-0-0"
DUPLICATE_SCHEMA = "iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0"
CONTEXTS_SCHEMA = "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1"
"""The envelope of derived contexts, where an event gets its first one from us."""
SYNTHETIC_NAMESPACE = uuid.UUID("b3d1f6a0-5c0e-5d5a-9a57-6f8f1c2e7d10")
"""The namespace of the ids of synthetic duplicates. It must never change: ids are stored."""
LEFT_OUT: tuple[str, ...] = (
    # the event's own id, and a fingerprint that it does not have
    "event_id",
    "event_fingerprint",
    # when and by what it was enriched
    "etl_tstamp",
    "etl_tags",
    "v_etl",
    # the request that brought it: a retry is another one, maybe from another network
    "collector_tstamp",
    "v_collector",
    "dvce_sent_tstamp",
    "derived_tstamp",
    "network_userid",
    "user_ipaddress",
    # looked up by that address
    "geo_country",
    "geo_region",
    "geo_city",
    "geo_zipcode",
    "geo_latitude",
    "geo_longitude",
    "geo_region_name",
    "geo_timezone",
    "ip_isp",
    "ip_organization",
    "ip_domain",
    "ip_netspeed",
    # added by enrichments, which may look at request, time or services
    "derived_contexts",
    # converted at the exchange rate of the time of collection
    "tr_total_base",
    "tr_tax_base",
    "tr_shipping_base",
    "ti_price_base",
)
"""Columns that a computed fingerprint leaves out by default.

The enrichment that makes fingerprints hashes what the tracker sent less event id, network user id,
time of sending and collector (`eid`, `nuid`, `stm`, `cv`). A line that has no fingerprint no longer
tells what the tracker sent, so the list names the columns that two deliveries of one event may
differ in, and nothing else. In doubt a column stays in: told apart wrongly, both events are kept
and linked by a `duplicate` context; taken for copies wrongly, one would be lost. So what follows
from the user agent, the page's address or the referrer stays in.
"""
