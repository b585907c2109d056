"""The 131 columns of an enriched event, its lines, its fingerprint and the ids of its duplicates.

An enriched event is a dict of texts by column, None for an empty field. What a text means is in
`TYPES`; timestamps are UTC. Pure Python without Spark: what the SQL step and the RDD step must
both give.
"""

from __future__ import annotations

import decimal
import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import xxhash

from tidemark import hashing
from tidemark.errors import ConfigError
from tidemark.shred.schema_uri import is_schema_uri

Event = dict[str, str | None]

_MONEY = "decimal(18,2)"

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
        "tr_total": _MONEY,
        "tr_tax": _MONEY,
        "tr_shipping": _MONEY,
        "tr_city": "string",
        "tr_state": "string",
        "tr_country": "string",
        "ti_orderid": "string",
        "ti_sku": "string",
        "ti_name": "string",
        "ti_category": "string",
        "ti_price": _MONEY,
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
        "tr_total_base": _MONEY,
        "tr_tax_base": _MONEY,
        "tr_shipping_base": _MONEY,
        "ti_currency": "string",
        "ti_price_base": _MONEY,
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

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TIMESTAMP = re.compile(
    # no hour 24, which later versions of Python read
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z?"
)
_ISO_TIMESTAMP = re.compile(r"([0-9-]{10})T([0-9:.]+)Z?")
_CENT = decimal.Decimal("0.01")
_WIDE = decimal.Context(prec=100)


# -- Lines ---------------------------------------------------------------------------------------


def parse_line(line: str) -> Event:
    r"""The texts of a line of the canonical TSV; an empty field is None.

    Example:
        >>> event = parse_line("shop\tweb" + "\t" * 129)
        >>> event["platform"], event["true_tstamp"]
        ('web', None)

    Raises:
        ValueError: It does not have 131 fields.
    """
    texts = line.split("\t")
    if len(texts) != len(COLUMNS):
        raise ValueError(f"{len(texts)} fields, expected {len(COLUMNS)}")
    return {column: text or None for column, text in zip(COLUMNS, texts, strict=True)}


def to_line(event: Mapping[str, str | None]) -> str:
    r"""An event as a line of the canonical TSV, without line feed; what it does not name is empty.

    Example:
        >>> to_line({"app_id": "shop", "platform": "web"}) == "shop\tweb" + "\t" * 129
        True

    Raises:
        ConfigError: A column is not canonical.
        ValueError: A value holds a tab or a line break.
    """
    if not event.keys() <= TYPES.keys():
        _check_columns(event)
    texts = [event.get(column) or "" for column in COLUMNS]
    line = "\t".join(texts)
    if line.count("\t") >= len(COLUMNS) or "\n" in line or "\r" in line:
        found = [c for c, t in zip(COLUMNS, texts, strict=True) if not {*"\t\n\r"}.isdisjoint(t)]
        raise ValueError(f"tab or line break in {', '.join(found)}")
    return line


def read_line(line: str) -> Event:
    """The texts of a line of TSV or JSON; which of the two, the line says.

    Example:
        >>> read_line('{"platform": "web"}')["platform"]
        'web'

    Raises:
        ValueError: It is neither; the message says why.
    """
    if not (line.startswith("{") and "\t" not in line):
        return parse_line(line)
    try:
        return parse_json_line(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON object") from None


def parse_json_line(line: str) -> Event:
    """The texts of an event in JSON, as they would be in the canonical TSV.

    The line is self-describing (`{"schema": "iglu:…/atomic/jsonschema/1-0-0", "data": {…}}`) or
    just the columns, as analytics SDKs give them. Contexts and self-describing event are nested
    or texts; timestamps may be ISO 8601; names that are not canonical (`geo_location`,
    `contexts_com_acme_…`) are passed over.

    Texts are those that Spark's VARIANT gives: of arrays and objects JSON without blanks, members
    ordered by name in UTF-16; numbers without exponent are decimals without zeros that end the
    fraction, up to 38 digits, all others doubles as Java 19 and later print them. Spark on an
    older Java may print more digits, of 2e23 1.9999999999999998E23.

    Example:
        >>> parse_json_line('{"event_id": "1", "br_cookies": true, "txn_id": 7}')["br_cookies"]
        '1'

    Raises:
        ValueError: It is not a JSON object, or an object in it has two members of one name.
        RecursionError: It is nested deeper than Python can follow, some hundred levels.
    """
    found = _loads(line, _distinct)
    if isinstance(found, dict) and isinstance(found.get("data"), dict) and "schema" in found:
        found = found["data"]
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    event: Event = dict.fromkeys(COLUMNS)
    for name, value in found.items():
        column = ALIASES.get(name, name)
        # a column under its own name goes before an alias
        if column in TYPES and value is not None and (name == column or found.get(column) is None):
            event[column] = _text_of_json(column, value)
    return event


def to_json_line(event: Mapping[str, str | None]) -> str:
    """An event as self-describing JSON, without line feed: columns that are not NULL, typed.

    Example:
        >>> to_json_line({"platform": "web", "txn_id": "7"}).partition('"data":')[2]
        '{"platform":"web","txn_id":7}}'

    Raises:
        ConfigError: A column is not canonical.
        ValueError: A value is not of the column's type.
    """
    _check_columns(event)
    members = []
    for column in COLUMNS:
        text = event.get(column)
        if text:
            members.append(f"{json.dumps(column)}:{_json_of_text(column, text)}")
    return f'{{"schema":"{ATOMIC_SCHEMA}","data":{{{",".join(members)}}}}}'


class _RawNumber(str):
    """A JSON number as it was written."""


class _Members(list[tuple[str, Any]]):
    """The members of a JSON object in their order, each as often as it is there."""


def _loads(text: str, members: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    return json.loads(
        text,
        parse_float=_raw_number,
        parse_int=_raw_number,
        parse_constant=_no_constant,
        object_pairs_hook=members,
    )


def _raw_number(text: str) -> _RawNumber:
    # Spark's parser refuses longer ones
    if len(text) > 1000 and sum(map(str.isdigit, text)) > 1000:
        raise ValueError("number of more than 1000 digits")
    return _RawNumber(text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = {_encodable(name): value for name, value in pairs}
    if len(members) < len(pairs):
        raise ValueError("two members of one name")
    return members


def _text_of_json(column: str, value: Any) -> str | None:
    if isinstance(value, _RawNumber):
        text = _number_text(value)
    elif isinstance(value, str):
        text = _encodable(value)
    else:
        text = _variant_text(value)
    if TYPES[column] == "boolean":
        text = {"true": "1", "false": "0"}.get(text, text)
    elif TYPES[column] == "timestamp":
        iso = _ISO_TIMESTAMP.fullmatch(text)
        text = f"{iso[1]} {iso[2]}" if iso else text
    elif column in ENTITIES and text in ("{}", "[]"):
        # As upstream: a column without entities may be an empty object.
        return None
    return text or None


def _variant_text(value: Any) -> str:
    """A JSON value as Spark prints a VARIANT."""
    # lists, not generators: those would double the depth of the stack
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=_utf16)
        members = [f"{_variant_quoted(n)}:{_variant_text(v)}" for n, v in ordered]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_variant_text(item) for item in value]) + "]"
    if isinstance(value, _RawNumber):
        text = _number_text(value)
        return f'"{text}"' if text.endswith("Infinity") else text
    return _variant_quoted(_encodable(value)) if isinstance(value, str) else json.dumps(value)


def _utf16(member: tuple[str, Any]) -> bytes:
    return member[0].encode("utf-16-be")


def _encodable(text: str) -> str:
    """A text whose lone surrogates are question marks, as in Java."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _variant_quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


_ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04X}" for code in range(32)}
    | {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
)


def _number_text(number: str) -> str:
    """A JSON number as Spark's VARIANT gives it."""
    whole, _, fraction = number.removeprefix("-").partition(".")
    if number.lower().find("e") < 0:
        digits = len((whole + fraction).lstrip("0"))
        if digits <= 38 and len(fraction) <= 38:
            fraction = fraction.rstrip("0")
            text = f"{whole}.{fraction}" if fraction else whole
            return f"-{text}" if number.startswith("-") and text != "0" else text
    return _java_double(float(number))


def _java_double(number: float) -> str:
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if math.isinf(number):
        return f"{sign}Infinity"
    digits, exponent = _digits(repr(abs(number)))
    if len(digits) == 1:
        # Java takes the nearest of two digits then, which shows in the smallest numbers
        digits, exponent = _digits(f"{abs(number):.1e}")
    if -3 <= exponent < 7:
        padded = digits.rjust(len(digits) - min(exponent, 0), "0").ljust(exponent + 2, "0")
        point = max(exponent, 0) + 1
        return f"{sign}{padded[:point]}.{padded[point:]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(text: str) -> tuple[str, int]:
    """The significant digits of a number, and the exponent of the first one."""
    found = decimal.Decimal(text)
    digits = "".join(map(str, found.as_tuple().digits)).rstrip("0")
    return (digits, found.adjusted()) if digits else ("0", 0)


def _compact(value: Any) -> str:
    """JSON without blanks, members in their order, numbers as they were written."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(k)}:{_compact(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    if isinstance(value, _RawNumber):
        return str(value)
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_of_text(column: str, text: str) -> str:
    kind = TYPES[column]
    if column in ENTITIES:
        return _compact(json.loads(text, parse_float=_RawNumber, parse_int=_RawNumber))
    if kind == "timestamp":
        return _quoted(text.replace(" ", "T") + "Z")
    if kind == "boolean":
        return {"1": "true", "0": "false"}[text]
    if kind == "string":
        return _quoted(text)
    json.loads(text)  # a number that JSON cannot write as it is must not go through
    return text


def _check_columns(columns: Iterable[str]) -> None:
    for column in columns:
        if column not in TYPES:
            near = get_close_matches(column, COLUMNS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{column} is no column of an enriched event{hint}")


# -- Values --------------------------------------------------------------------------------------


def problems(event: Mapping[str, str | None]) -> list[str]:
    """Why an event cannot be used, in the order of the columns; empty if it can.

    What upstream's parsers refuse is refused: an id that is no UUID, a number, timestamp or
    boolean (0 or 1) that is none, self-describing JSON that is none or in another envelope.

    Example:
        >>> problems({"event_id": "x", "collector_tstamp": "2026-03-04 09:30:00.000", "v_etl": "e"})
        ['cast_failed: event_id', 'null_value: v_collector']
    """
    return read_values(event)[1]


def read_values(event: Mapping[str, str | None]) -> tuple[list[Any], list[str]]:
    """An event's values in the order of the columns, None where there is none, and its problems.

    Example:
        >>> read_values({"app_id": "shop", "etl_tstamp": "x"})[1][0]
        'cast_failed: etl_tstamp'

    Returns:
        The values: str, int, float, bool, Decimal of two decimal places, or datetime without zone
        in UTC; event_id is in lower case. The problems, see `problems`.
    """
    values: list[Any] = []
    found = []
    for column, read in _READERS.items():
        text = event.get(column)
        value = None
        if not text:
            if column in REQUIRED:
                found.append(f"null_value: {column}")
        elif read is None:
            value = text
        else:
            value = read(text)
            if value is None:
                found.append(f"cast_failed: {column}")
        values.append(value)
    return values, found


def _event_id(text: str) -> str | None:
    return text.lower() if _UUID.fullmatch(text) else None


def _int(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else 2**31
    return number if -(2**31) <= number < 2**31 else None


def _double(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _boolean(text: str) -> bool | None:
    return {"0": False, "1": True}.get(text)


def _money(text: str) -> decimal.Decimal | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    # Java's decimals end there
    if not isinstance(exponent, int) or abs(exponent) >= 2**31:
        return None
    if not number or number.adjusted() < -3:
        return decimal.Decimal("0.00")
    if number.adjusted() >= 16:
        return None
    rounded = number.quantize(_CENT, decimal.ROUND_HALF_UP, _WIDE)
    return rounded if rounded.adjusted() < 16 else None


def _envelope(column: str) -> Callable[[str], str | None]:
    return lambda text: text if _is_envelope(column, text) else None


def _reader(column: str, kind: str) -> Callable[[str], Any] | None:
    if column == "event_id":
        return _event_id
    if column in ENTITIES:
        return _envelope(column)
    by_kind: dict[str, Callable[[str], Any]] = {
        "int": _int,
        "double": _double,
        "boolean": _boolean,
        "timestamp": parse_timestamp,
        _MONEY: _money,
    }
    return by_kind.get(kind)


def _is_envelope(column: str, text: str) -> bool:
    """Whether a text is the envelope, read as Spark's `from_json` does.

    Of members that have the same name the last one counts whose value is of the type; data is
    parsed to the end, so that it holds no two members of one name.
    """
    try:
        found = _loads(text, _Members)
        if not isinstance(found, _Members):
            return False
        schema: Any = None
        entities: list[Any] | None = None
        for name, value in found:
            if name == "schema":
                schema = value
            elif name == "data" and value is None:
                entities = None
            elif name == "data" and column == "unstruct_event":
                entities = [value] if isinstance(value, _Members) else entities
            elif name == "data" and _is_array_of_objects(value):
                entities = value
        return (
            isinstance(schema, str)
            and _ENVELOPES[column].fullmatch(schema) is not None
            and entities is not None
            and all([_is_entity(entity) for entity in entities])
        )
    except (ValueError, RecursionError):
        return False


def _is_array_of_objects(value: Any) -> bool:
    if not isinstance(value, list) or isinstance(value, _Members):
        return False
    return all(item is None or isinstance(item, _Members) for item in value)


def _is_entity(entity: _Members | None) -> bool:
    members = dict(entity or ())
    uri = members.get("schema")
    return (
        isinstance(uri, str)
        and is_schema_uri(uri)
        and "data" in members
        and not any([_repeats_name(value) for name, value in entity or () if name == "data"])
    )


def _repeats_name(value: Any) -> bool:
    if isinstance(value, _Members):
        names = {name for name, _ in value}
        return len(names) < len(value) or any([_repeats_name(inner) for _, inner in value])
    return isinstance(value, list) and any([_repeats_name(item) for item in value])


def parse_timestamp(text: str | None) -> datetime | None:
    """A timestamp of the TSV (UTC, without zone), or None if it is none.

    Example:
        >>> parse_timestamp("2026-03-04 09:30:00.5")
        datetime.datetime(2026, 3, 4, 9, 30, 0, 500000)
    """
    if text is None or _TIMESTAMP.fullmatch(text) is None:
        return None
    fraction = text[20:].removesuffix("Z")[:6].ljust(6, "0")
    try:
        # the form is known by now, and strptime takes half the time that reading a line does
        return datetime.fromisoformat(f"{text[:19]}.{fraction}")
    except ValueError:
        return None


_ENVELOPES = {
    column: re.compile(re.escape(uri.removesuffix("*")) + "(0|[1-9][0-9]*)")
    for column, uri in ENTITIES.items()
}
_READERS: Mapping[str, Callable[[str], Any] | None] = MappingProxyType(
    {column: _reader(column, kind) for column, kind in TYPES.items()}
)
"""What makes a column's value of its text, None of a text that is none; None for any text."""


# -- Duplicates ----------------------------------------------------------------------------------


def fingerprint(event: Mapping[str, str | None], left_out: Iterable[str] = LEFT_OUT) -> str:
    """The event's fingerprint; computed if it has none.

    What is computed is the MD5 of the hash recipe over the texts of the columns that are not left
    out, all as strings, in the order of the TSV.

    Example:
        >>> fingerprint({"event_fingerprint": "8f2a", "platform": "web"})
        '8f2a'
        >>> fingerprint({"platform": "web"})
        '5fba404a69a2ba980df082ddf8c5ad05'

    Raises:
        ConfigError: A column that is left out is not canonical.
    """
    return event.get("event_fingerprint") or hashing.row_hash(event, _hashed(tuple(left_out)))


_HASHED: dict[tuple[str, ...], list[hashing.Column]] = {}


def _hashed(left_out: tuple[str, ...]) -> list[hashing.Column]:
    if left_out not in _HASHED:
        _check_columns(left_out)
        _HASHED[left_out] = [hashing.Column(c, "string") for c in COLUMNS if c not in left_out]
    return _HASHED[left_out]


def synthetic_id(event_id: str, event_fingerprint: str) -> str:
    """The id that a synthetic duplicate gets: the same at every attempt, for every copy.

    Example:
        >>> synthetic_id("1799A90F-f570-4414-b91a-b0db8f39cc2e", "8f2a")
        '31d5ea89-2590-5fa8-9bfd-d7cb71c854ae'

    Args:
        event_id: The id that it came with, in any case.
        event_fingerprint: Its fingerprint, found or computed.

    Returns:
        The UUID, version 5, of `<id in lower case>:<fingerprint>` in `SYNTHETIC_NAMESPACE`.
    """
    return str(uuid.uuid5(SYNTHETIC_NAMESPACE, f"{event_id.lower()}:{event_fingerprint}"))


def with_duplicate(derived_contexts: str | None, original_id: str) -> str:
    """Derived contexts with a `duplicate` context that names a former id, before the others.

    Example:
        >>> with_duplicate(None, "1799a90f-f570-4414-b91a-b0db8f39cc2e").partition("data")[2][:30]
        '":[{"schema":"iglu:com.snowplo'
    """
    own = f'{{"schema":"{DUPLICATE_SCHEMA}","data":{{"originalEventId":"{original_id}"}}}}'
    if derived_contexts is None:
        return f'{{"schema":"{CONTEXTS_SCHEMA}","data":[{own}]}}'
    # as text, so that what is there stays as it is
    joint = "" if _EMPTY.match(derived_contexts) else ","
    return _OPENING.sub(lambda found: f"{found[1]}{own}{joint}", derived_contexts, count=1)


_OPENING = re.compile(r'^(.*?"data"[ \t\r\n]*:[ \t\r\n]*\[)[ \t\r\n]*', re.DOTALL)
# atomic: the first array of that name, not any that is empty
_EMPTY = re.compile(rf"(?>{_OPENING.pattern})\]", re.DOTALL)


def preference(
    event: Mapping[str, str | None], line: str
) -> tuple[bool, datetime, bool, datetime, int]:
    """The order of copies of an event: the first one stays.

    Example:
        >>> preference({"etl_tstamp": "2026-03-04 09:30:00.000", "collector_tstamp": None}, "")[:2]
        (False, datetime.datetime(2026, 3, 4, 9, 30))

    Args:
        event: The event.
        line: Its line; Spark's `xxhash64` of it breaks ties.

    Returns:
        etl_tstamp and collector_tstamp, each last if it is missing, and the hash.
    """
    etl, collector = (parse_timestamp(event[f"{name}_tstamp"]) for name in ("etl", "collector"))
    return (
        etl is None,
        etl or datetime.max,
        collector is None,
        collector or datetime.max,
        line_hash(line),
    )


def line_hash(line: str) -> int:
    """Spark's `xxhash64` of a line, which breaks ties between copies.

    Example:
        >>> line_hash("")
        -7444071767201028348
    """
    digest = xxhash.xxh64_intdigest(line.encode(), seed=42)
    return digest - 2**64 if digest >= 2**63 else digest
