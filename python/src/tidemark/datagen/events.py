"""Enriched events in batches, with duplicates of every kind, late events and broken lines."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tidemark.datagen.csv_text import open_csv
from tidemark.errors import ConfigError
from tidemark.shred.canonical import COLUMNS, Event, to_json_line, to_line

ORIGINAL = "original"
NATURAL_IN_BATCH = "natural_in_batch"
NATURAL_CROSS_BATCH = "natural_cross_batch"
SYNTHETIC_IN_BATCH = "synthetic_in_batch"
SYNTHETIC_CROSS_BATCH = "synthetic_cross_batch"
BAD = "bad"

KINDS = (
    ORIGINAL,
    NATURAL_IN_BATCH,
    NATURAL_CROSS_BATCH,
    SYNTHETIC_IN_BATCH,
    SYNTHETIC_CROSS_BATCH,
    BAD,
)
"""What a line can be."""

_START = datetime(2026, 3, 1)
_TSV = (".tsv", ".txt")
_JSON = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class EventsSpec:
    """What to generate. Rates are per cent of `events`, and exact.

    Attributes:
        events: Events that are no copies of others; they are spread evenly over the batches.
        batches: Files, each enriched `hours` after the one before.
        natural_in_batch: Delivered again in the same batch: same id, same content.
        natural_cross_batch: Delivered again in a later batch; every second one byte for byte.
        synthetic_in_batch: Whose id another event of the batch has, with other content.
        synthetic_cross_batch: Whose id an event of a later batch has, with other content.
        late: Sent hours or days after they happened.
        bad: Additional lines that cannot be read.
        no_fingerprint: Without fingerprint, and so all that have their id.
        hot_ids: Ids that have `hot_copies` lines each, half of them with other content.
        hot_copies: Lines of a hot id, all in one batch.
        hours: Hours from batch to batch.
        seed: Same seed, same bytes.
    """

    events: int
    batches: int = 1
    natural_in_batch: float = 0.0
    natural_cross_batch: float = 0.0
    synthetic_in_batch: float = 0.0
    synthetic_cross_batch: float = 0.0
    late: float = 0.0
    bad: float = 0.0
    no_fingerprint: float = 0.0
    hot_ids: int = 0
    hot_copies: int = 0
    hours: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        errors = []
        if self.events < 0 or self.batches < 1 or self.hours < 1:
            errors.append("events must not be negative, batches and hours must be at least 1")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type == "float" and not 0 <= value <= 100:
                errors.append(f"{each.name} is per cent, 0 to 100 (found {value:g})")
        if self.hot_ids and self.hot_copies < 1:
            errors.append("hot_ids needs hot_copies, the lines of each")
        if not 0 <= self.hot_ids <= max(self.events, 0):
            errors.append(f"hot_ids must lie between 0 and events (found {self.hot_ids})")
        if errors:
            raise ConfigError("\n".join(errors))
        for name in (NATURAL_CROSS_BATCH, SYNTHETIC_CROSS_BATCH):
            wanted, there = self._count(getattr(self, name)), len(self._eligible(name))
            if wanted > there:
                raise ConfigError(
                    f"{name}: {wanted} events are to come again in a later batch, but only "
                    f"{there} have one: take more batches or a lower rate"
                )
        for name in (NATURAL_IN_BATCH, SYNTHETIC_IN_BATCH):
            if self._count(getattr(self, name)) > len(self._eligible(name)):
                raise ConfigError(f"{name}: hot ids leave too few other events")

    def batch_of(self, index: int) -> int:
        """The batch that an event comes in first."""
        return index * self.batches // self.events

    def etl_tstamp(self, batch: int) -> datetime:
        """When a batch was enriched."""
        return _START + timedelta(hours=self.hours * (batch + 1))

    def _count(self, rate: float) -> int:
        return round(self.events * rate / 100)

    def _eligible(self, kind: str) -> range:
        """Events that may have copies of a kind: not hot ones, nor those without a later batch."""
        end = self.events
        if kind in (NATURAL_CROSS_BATCH, SYNTHETIC_CROSS_BATCH):
            end = -(-self.events * (self.batches - 1) // self.batches)
        return range(self.hot_ids, max(end, self.hot_ids))

    def chosen(self, kind: str) -> list[int]:
        """The events that have a copy of a kind, or a property such as `late`."""
        rate = float(getattr(self, kind))
        among = range(self.events) if kind in ("late", "no_fingerprint") else self._eligible(kind)
        return random.Random(f"{self.seed} {kind}").sample(among, self._count(rate))


@dataclass(frozen=True)
class Written:
    """The files that were written and how many lines of each kind they have."""

    files: tuple[Path, ...]
    counts: dict[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{kind} {count}" for kind, count in self.counts.items())


@dataclass(frozen=True)
class _Line:
    """A line to write: which event, what kind of copy, and which copy of those that differ."""

    index: int
    kind: str
    variant: int = 0
    copy: int = 0


def write_events(spec: EventsSpec, out: str, truth: Path | None = None) -> Written:
    """Write one file per batch.

    Example:
        >>> spec = EventsSpec(1000, 4, natural_in_batch=5, synthetic_cross_batch=1)
        >>> print(write_events(spec, "landing/{batch}.tsv.gz"))  # doctest: +SKIP
        original 1000, natural_in_batch 50, natural_cross_batch 0, …

    Args:
        spec: What to generate.
        out: Where to, `{batch}` standing for the batch's number (four digits, from 0001) and
            `{date}` for the date of its etl_tstamp. The name
            says the format: canonical TSV (.tsv, .txt) or self-describing JSON lines (.json,
            .jsonl, .ndjson), gzip if it ends in .gz.
        truth: File for JSON lines that say what each line is: `file`, `line` (from 1), `batch`,
            `kind` (one of `KINDS`), `event` (a number that all lines of one id share), `variant`
            (0 for the first content of that id), `event_id` and `fingerprint` as in the line.

    Raises:
        ConfigError: The name does not say the format, or several batches would share one file.
    """
    as_json = _is_json(out)
    paths = [_path(out, spec, batch) for batch in range(spec.batches)]
    if len(set(paths)) < spec.batches:
        raise ConfigError(
            f"{out}: {spec.batches} batches need a name with {{batch}} in it, or with {{date}} if "
            "there are at least 24 hours from one to the next"
        )
    plan, make = _plan(spec), _Maker(spec)
    counts = Counter(dict.fromkeys(KINDS, 0))
    files = []
    with ExitStack() as stack:
        told = stack.enter_context(open_csv(truth)) if truth is not None else None
        for batch, path in enumerate(paths):
            files.append(path)
            with open_csv(path) as file:
                for number, line in enumerate(_shuffled(plan, spec, batch), start=1):
                    event = make.event(line, batch)
                    if line.kind == BAD:
                        text = _broken(event, line.copy, as_json)
                    else:
                        text = to_json_line(event) if as_json else to_line(event)
                    file.write(f"{text}\n".encode())
                    counts[line.kind] += 1
                    if told is not None:
                        told.write(_truth(path, number, batch, line, event))
    return Written(tuple(files), dict(counts))


def _path(out: str, spec: EventsSpec, batch: int) -> Path:
    date = spec.etl_tstamp(batch).date().isoformat()
    return Path(out.replace("{batch}", f"{batch + 1:04d}").replace("{date}", date))


def _is_json(out: str) -> bool:
    name = out.removesuffix(".gz")
    if name.endswith(_JSON):
        return True
    if name.endswith(_TSV):
        return False
    raise ConfigError(
        f"{out}: the name must end in {', '.join(_TSV)} (canonical TSV) or {', '.join(_JSON)} "
        "(JSON lines), each with or without .gz"
    )


def _truth(path: Path, number: int, batch: int, line: _Line, event: Event) -> bytes:
    record: dict[str, Any] = {
        "file": path.name,
        "line": number,
        "batch": batch + 1,
        "kind": line.kind,
    }
    if line.kind != BAD:
        record |= {
            "event": line.index,
            "variant": line.variant,
            "event_id": event["event_id"],
            "fingerprint": event["event_fingerprint"],
        }
    return (json.dumps(record) + "\n").encode()


# -- Which lines ---------------------------------------------------------------------------------


def _plan(spec: EventsSpec) -> dict[int, list[_Line]]:
    """The copies and bad lines of each batch; first deliveries are not listed."""
    plan: dict[int, list[_Line]] = defaultdict(list)
    dice = random.Random(f"{spec.seed} plan")

    def later(index: int) -> int:
        return dice.randrange(spec.batch_of(index) + 1, spec.batches)

    for copy, index in enumerate(spec.chosen(NATURAL_IN_BATCH)):
        plan[spec.batch_of(index)].append(_Line(index, NATURAL_IN_BATCH, 0, copy + 1))
    for copy, index in enumerate(spec.chosen(NATURAL_CROSS_BATCH)):
        plan[later(index)].append(_Line(index, NATURAL_CROSS_BATCH, 0, copy + 1))
    for index in spec.chosen(SYNTHETIC_IN_BATCH):
        plan[spec.batch_of(index)].append(_Line(index, SYNTHETIC_IN_BATCH, 1))
    for index in spec.chosen(SYNTHETIC_CROSS_BATCH):
        plan[later(index)].append(_Line(index, SYNTHETIC_CROSS_BATCH, 2))
    for index in range(spec.hot_ids):
        lines = plan[spec.batch_of(index)]
        for copy in range(1, spec.hot_copies):
            # odd copies have other content, each even one is the one before it once more
            kind = SYNTHETIC_IN_BATCH if copy % 2 else NATURAL_IN_BATCH
            lines.append(_Line(index, kind, 3 + (copy - 1) // 2, 0 if copy % 2 else copy))
    for number in range(round(spec.events * spec.bad / 100)):
        index = dice.randrange(spec.events)
        plan[spec.batch_of(index)].append(_Line(index, BAD, 0, number))
    return plan


def _shuffled(plan: dict[int, list[_Line]], spec: EventsSpec, batch: int) -> Iterator[_Line]:
    """First deliveries in their order, with the batch's other lines at random places among them."""
    first = -(-batch * spec.events // spec.batches)
    end = -(-(batch + 1) * spec.events // spec.batches)
    others = plan.pop(batch, [])
    dice = random.Random(f"{spec.seed} shuffle {batch}")
    dice.shuffle(others)
    index = first
    while index < end or others:
        if dice.random() * (end - index + len(others)) < len(others):
            yield others.pop()
        else:
            yield _Line(index, ORIGINAL)
            index += 1


# -- Events --------------------------------------------------------------------------------------

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


class _Maker:
    """Makes an event of its number: the same for a seed, whichever batch asks."""

    def __init__(self, spec: EventsSpec) -> None:
        self._spec = spec
        self._late = frozenset(spec.chosen("late"))
        self._no_fingerprint = frozenset(spec.chosen("no_fingerprint"))

    def event(self, line: _Line, batch: int) -> Event:
        """The event as it is in a line of a batch."""
        spec = self._spec
        home = spec.batch_of(line.index)
        arrives = home if line.kind in (ORIGINAL, NATURAL_CROSS_BATCH, BAD) else batch
        event = self._content(line.index, line.variant)
        self._deliver(event, line.index, arrives, random.Random(f"{spec.seed} d {line.index}"))
        if line.copy and line.copy % 2 == 0 and line.kind != BAD:
            self._deliver_again(event, batch, random.Random(f"{spec.seed} r {line}"))
        return event

    def _content(self, index: int, variant: int) -> Event:
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

    def _deliver(self, event: Event, index: int, batch: int, dice: random.Random) -> None:
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

    def _deliver_again(self, event: Event, batch: int, dice: random.Random) -> None:
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


# -- Broken lines --------------------------------------------------------------------------------


def _broken(event: Event, number: int, as_json: bool) -> str:
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
