"""What is in a generated event, and in a line that is broken."""

from __future__ import annotations

import hashlib
import json
import random
from datetime import datetime, timedelta
from typing import Any

from tidemark.datagen.events_spec import EventsSpec
from tidemark.shred.enriched import COLUMNS, Event, to_json_line, to_line

_SNOWPLOW = "com.snowplowanalytics.snowplow"
_PAGES = (
    ("/", "Start"),
    ("/search", 'Results for "café & crème"'),
    ("/p/4711", "Zürich — Bahnhofstraße"),
    ("/p/東京", "東京 ✈️ 👩‍🚀"),
    ("/checkout", "Check\\out <2/3>"),
    ("/blog/naïve", "Nai\u0308ve; a 'quoted' title, 50 %"),
)
_PLACES = (
    ("DE", "BE", "Berlin", "10115", "52.52", "13.405", "Land Berlin", "Europe/Berlin"),
    ("CH", "ZH", "Zürich", "8001", "47.3667", "8.55", "Zurich", "Europe/Zurich"),
    ("JP", "13", "東京", None, "35.69", "139.69", "Tokyo", "Asia/Tokyo"),
    ("US", "CA", "San Francisco", "94110", "37.7484", "-122.4156", "California", None),
)
_BROWSERS = (
    ("Mozilla/5.0 (X11; Linux x86_64; rv:147.0) Gecko/20100101 Firefox/147.0", "Firefox", "Linux"),
    ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/144.0.0.0 Safari", "Chrome", "Windows"),
    ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_2 like Mac OS X) Safari/604.1", "Safari", "iOS"),
)
_NOTES = (
    "plain",
    "",
    "a tab\there, a line\nbreak, a \\ and a \"quote\"",
    "Δ 漢字 🎉 \u2028 end",
    "NULL",
)  # fmt: skip
_BROKEN = 7
"""How many ways there are to break a line."""


class EventMaker:
    """Makes an event of its number: the same for a seed, whichever batch asks."""

    def __init__(self, spec: EventsSpec) -> None:
        self._spec = spec
        self._late = frozenset(spec.chosen("late"))
        self._no_fingerprint = frozenset(spec.chosen("no_fingerprint"))

    def content(self, index: int, variant: int) -> Event:
        """What the tracker sends, and what follows from it."""
        dice = random.Random(f"{self._spec.seed} {index}")
        event: Event = dict.fromkeys(COLUMNS)
        event_id, session = _uuid(dice), _uuid(dice)
        path, title = dice.choice(_PAGES)
        useragent, browser, system = dice.choice(_BROWSERS)
        event.update(
            app_id=dice.choice(("shop", "blog")),
            platform="web",
            event_id=event_id,
            txn_id=str(dice.randrange(100_000, 1_000_000)),
            name_tracker="sp",
            v_tracker="js-4.6.2",
            user_id=dice.choice((None, f"user{dice.randrange(1000)}")),
            user_fingerprint=str(dice.randrange(2**32)),
            domain_userid=_uuid(random.Random(f"{index % 97}")),
            domain_sessionidx=str(dice.randrange(1, 40)),
            domain_sessionid=session,
            page_url=f"https://www.example.com:443{path}?q={index}#top",
            page_title=title,
            page_urlscheme="https",
            page_urlhost="www.example.com",
            page_urlport="443",
            page_urlpath=path,
            page_urlquery=f"q={index}",
            page_urlfragment="top",
            useragent=useragent,
            br_name=browser,
            br_family=browser,
            br_type="Browser",
            br_lang=dice.choice(("de-DE", "ja", "en-US")),
            br_features_pdf="1",
            br_features_flash="0",
            br_cookies=dice.choice(("1", "0")),
            br_colordepth="24",
            br_viewwidth=str(dice.choice((390, 1280, 1920))),
            br_viewheight="900",
            os_name=system,
            os_family=system,
            os_timezone="Europe/Berlin",
            dvce_type="Mobile" if system == "iOS" else "Computer",
            dvce_ismobile="1" if system == "iOS" else "0",
            dvce_screenwidth="1920",
            dvce_screenheight="1080",
            doc_charset="UTF-8",
            doc_width="1263",
            doc_height=str(dice.randrange(900, 9000)),
        )
        if dice.random() < 0.3:
            event.update(
                page_referrer="https://search.example.org/?q=tide",
                refr_urlscheme="https",
                refr_urlhost="search.example.org",
                refr_urlport="443",
                refr_urlpath="/",
                refr_urlquery="q=tide",
                refr_medium="search",
                refr_source="Example",
                refr_term="tide",
            )
        _add_kind(event, dice, index)
        _add_contexts(event, dice)
        if variant:
            # A scraper that replays the page with its id: other visitor, other browser.
            event["domain_userid"] = _uuid(random.Random(f"{index} {variant}"))
            event["domain_sessionidx"] = "1"
            event["useragent"] = f"ScraperBot/{variant}"
        if index not in self._no_fingerprint:
            own = f"{self._spec.seed} {index} {variant}".encode()
            event["event_fingerprint"] = hashlib.md5(own, usedforsecurity=False).hexdigest()
        return event

    def deliver(self, event: Event, index: int, batch: int, dice: random.Random) -> None:
        """What the first request, the collector and enrichment add."""
        enriched = self._spec.etl_tstamp(batch)
        collected = enriched - timedelta(seconds=dice.uniform(60, 3500))
        wait = dice.uniform(3600, 4 * 86_400) if index in self._late else dice.uniform(0.05, 2)
        sent = collected + timedelta(seconds=dice.uniform(-30, 30))
        created = sent - timedelta(seconds=wait)
        country, region, city, zipcode, latitude, longitude, name, zone = dice.choice(_PLACES)
        event.update(
            etl_tstamp=_tstamp(enriched),
            collector_tstamp=_tstamp(collected),
            dvce_created_tstamp=_tstamp(created),
            dvce_sent_tstamp=_tstamp(sent),
            derived_tstamp=_tstamp(collected - (sent - created)),
            v_collector="ssc-3.5.0-kinesis",
            v_etl="snowplow-enrich-kinesis-5.4.0",
            user_ipaddress=f"192.0.2.{dice.randrange(1, 255)}",
            network_userid=_uuid(dice),
            geo_country=country,
            geo_region=region,
            geo_city=city,
            geo_zipcode=zipcode,
            geo_latitude=latitude,
            geo_longitude=longitude,
            geo_region_name=name,
            geo_timezone=zone,
        )
        _add_derived_contexts(event, dice)

    def deliver_again(self, event: Event, batch: int, dice: random.Random) -> None:
        """The same event by another request: a retry that the collector took, too."""
        enriched = self._spec.etl_tstamp(batch)
        event.update(
            etl_tstamp=_tstamp(enriched),
            collector_tstamp=_tstamp(enriched - timedelta(seconds=dice.uniform(1, 59))),
            dvce_sent_tstamp=_tstamp(enriched - timedelta(seconds=dice.uniform(1, 59))),
            user_ipaddress=f"198.51.100.{dice.randrange(1, 255)}",
            network_userid=_uuid(dice),
        )


def _add_kind(event: Event, dice: random.Random, index: int) -> None:
    kind = index % 5
    if kind == 0:
        _name(event, "page_view", _SNOWPLOW, "page_view")
    elif kind == 1:
        _name(event, "page_ping", _SNOWPLOW, "page_ping")
        for axis in "xy":
            low = dice.randrange(500)
            event[f"pp_{axis}offset_min"] = str(low)
            event[f"pp_{axis}offset_max"] = str(low + dice.randrange(500))
    elif kind == 2:
        _name(event, "struct", "com.google.analytics", "event")
        event.update(
            se_category="shop",
            se_action=dice.choice(("add", "remove")),
            se_label=dice.choice(("größer", "smaller", None)),
            se_value=dice.choice(("9.5", "-1.25E-3", "100", None)),
        )
    elif kind == 3:
        _name(event, "unstruct", _SNOWPLOW, "link_click", "1-0-1")
        link = {
            "targetUrl": f"https://www.example.com/p/{index}?a=1&b=%20",
            "elementId": "",
            "elementClasses": ["cta", "größer"],
            "elementTarget": None,
        }
        _set_unstruct_event(event, f"iglu:{_SNOWPLOW}/link_click/jsonschema/1-0-1", link)
    else:
        version = dice.choice(("1-0-0", "1-0-1"))
        _name(event, "unstruct", "com.acme", "checkoutStep", version)
        step: dict[str, Any] = {"step": dice.randrange(1, 6), "total": dice.randrange(99_999) / 100}
        step["items"] = [
            {
                "sku": f"A{dice.randrange(99)}",
                "tags": ["sale", "ü"][: dice.randrange(3)],
                "qty": qty,
            }
            for qty in range(1, 1 + dice.randrange(3))
        ]
        if version == "1-0-1":
            step["note"] = dice.choice(_NOTES)
        _set_unstruct_event(event, f"iglu:com.acme/checkoutStep/jsonschema/{version}", step)


def _name(event: Event, kind: str, vendor: str, name: str, version: str = "1-0-0") -> None:
    event.update(
        event=kind,
        event_vendor=vendor,
        event_name=name,
        event_format="jsonschema",
        event_version=version,
    )


def _set_unstruct_event(event: Event, schema: str, data: dict[str, Any]) -> None:
    envelope = f"iglu:{_SNOWPLOW}/unstruct_event/jsonschema/1-0-0"
    event["unstruct_event"] = _json({"schema": envelope, "data": {"schema": schema, "data": data}})


def _add_contexts(event: Event, dice: random.Random) -> None:
    """0 to 4 contexts, maybe several of one schema, in two versions."""
    entities = []
    for _ in range(dice.randrange(5)):
        kind = dice.randrange(4)
        if kind == 0:
            entity = _entity(f"{_SNOWPLOW}/web_page", "1-0-0", {"id": _uuid(dice)})
        elif kind == 1:
            product: dict[str, Any] = {"sku": f"A{dice.randrange(99)}", "price": 9.99}
            version = dice.choice(("1-0-0", "1-0-1"))
            if version == "1-0-1":
                product["stock"] = dice.choice((None, 0, 12_345_678_901))
            entity = _entity("com.acme/product", version, product)
        elif kind == 2:
            profile = {
                "userName": dice.choice(("Zoë", "李", "O'Brien")),
                "address": {"city": "Zürich", "geo": {"lat": 47.37, "lon": 8.54}},
                "isMember": dice.random() < 0.5,
                "note": dice.choice(_NOTES),
            }
            entity = _entity("com.acme/userProfile", "1-0-0", profile)
        else:
            cart = {"lines": [[1, 2], [], [dice.randrange(9)]], "coupons": [], "meta": {}}
            entity = _entity("org.example-shop/cart-item", "2-0-0", cart)
        entities.append(entity)
    if entities:
        envelope = f"iglu:{_SNOWPLOW}/contexts/jsonschema/1-0-0"
        event["contexts"] = _json({"schema": envelope, "data": entities})


def _add_derived_contexts(event: Event, dice: random.Random) -> None:
    if dice.random() < 0.2:
        return
    agent = {"useragentFamily": event["br_name"], "deviceFamily": "Other", "osMinor": None}
    entities = [_entity(f"{_SNOWPLOW}/ua_parser_context", "1-0-0", agent)]
    if dice.random() < 0.5:
        robot = {"spiderOrRobot": False, "category": "BROWSER", "reason": "PASSED_ALL"}
        entities.append(_entity("com.iab.snowplow/spiders_and_robots", "1-0-0", robot))
    envelope = f"iglu:{_SNOWPLOW}/contexts/jsonschema/1-0-1"
    event["derived_contexts"] = _json({"schema": envelope, "data": entities})


def _entity(schema: str, version: str, data: dict[str, Any]) -> dict[str, Any]:
    vendor, name = schema.split("/")
    return {"schema": f"iglu:{vendor}/{name}/jsonschema/{version}", "data": data}


def _json(value: dict[str, Any]) -> str:
    """Compact JSON; tabs and line breaks are escaped, so no raw one is in a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _uuid(dice: random.Random) -> str:
    digits = f"{dice.getrandbits(128):032x}"
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) % 4]}"
        f"{digits[17:20]}-{digits[20:]}"
    )


def _tstamp(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="milliseconds")


def broken_line(event: Event, number: int, as_json: bool) -> str:
    """A line that cannot be read, broken in one of several ways."""
    way = number % _BROKEN
    if way == 0:
        return f"garbage {number}, no event at all"
    if way in (1, 2):
        line = to_json_line(event) if as_json else to_line(event)
        if as_json:
            return line[:-1] if way == 1 else f"[{line}]"
        return line.rpartition("\t")[0] if way == 1 else line + "\tmore"
    if way == 3:
        event["event_id"] = "not-a-uuid"
    elif way == 4:
        event["collector_tstamp"] = "29th May 2013 18:04:12"
    elif way == 5:
        event["txn_id" if not as_json else "etl_tstamp"] = "12x" if not as_json else "yesterday"
    else:
        event["v_etl"] = None
    return to_json_line(event) if as_json else to_line(event)
