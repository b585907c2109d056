"""Schema URIs, patterns of them and the tables that they name. No JVM."""

from __future__ import annotations

import pytest

from tidemark.errors import ConfigError
from tidemark.shred.schema_uri import SchemaPattern, SchemaUri, is_schema_uri, snake_case

LINK = "iglu:com.acme/linkClick/jsonschema/1-0-2"


def test_parse_and_format() -> None:
    uri = SchemaUri.parse(LINK)
    assert uri == SchemaUri("com.acme", "linkClick", "jsonschema", 1, 0, 2)
    assert str(uri) == LINK
    assert uri.version == "1-0-2"


def test_order_is_by_number() -> None:
    texts = [f"iglu:a/b/jsonschema/{version}" for version in ("1-0-2", "1-0-10", "1-2-0", "10-0-0")]
    assert [str(uri) for uri in sorted(map(SchemaUri.parse, reversed(texts)))] == texts


@pytest.mark.parametrize(
    ("schema", "table"),
    [
        ("iglu:com.acme/link_click/jsonschema/1-0-0", "com_acme_link_click_1"),
        ("iglu:com.acme/linkClick/jsonschema/1-3-7", "com_acme_link_click_1"),
        ("iglu:com.acme/PascalCase/jsonschema/13-0-0", "com_acme_pascal_case_13"),
        ("iglu:org.example-shop/cart-item/jsonschema/2-0-0", "org_example_shop_cart_item_2"),
        ("iglu:com.Acme/URLParser/jsonschema/1-0-0", "com_acme_url_parser_1"),
        (
            "iglu:com.snowplowanalytics.snowplow/geolocationContext/jsonschema/1-0-0",
            "com_snowplowanalytics_snowplow_geolocation_context_1",
        ),
    ],
)
def test_table_name(schema: str, table: str) -> None:
    assert SchemaUri.parse(schema).table_name == table


def test_snake_case() -> None:
    assert [snake_case(name) for name in ("a", "aB", "ABc", "a1B", "aB-C", "a_B")] == [
        "a",
        "a_b",
        "a_bc",
        "a1_b",
        "a_b_c",
        "a_b",
    ]


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("iglu:com.acme/x/jsonschema/1.0.0", "iglu:com.acme/x/jsonschema/1-0-0"),
        ("com.acme/x/jsonschema/1-0-0", "iglu:com.acme/x/jsonschema/1-0-0"),
        ("iglu://com.acme/x/jsonschema/1-0-0", "iglu:com.acme/x/jsonschema/1-0-0"),
        ("IGLU:com.acme/x/jsonschema/1-0-0", "iglu:com.acme/x/jsonschema/1-0-0"),
        ("iglu:com.acme/x/1-0-0", "iglu:com.acme/x/jsonschema/1-0-0"),
        ("iglu:com.acme/x/jsonschema", "iglu:com.acme/x/jsonschema/1-0-0"),
        ("iglu:com.acme/x/jsonschema/2", "iglu:com.acme/x/jsonschema/2-0-0"),
        ("iglu:com.acme/x/jsonschema/0-1-0", "iglu:com.acme/x/jsonschema/1-1-0"),
        ("iglu:com.acme/x/jsonschema/1-0-00", "iglu:com.acme/x/jsonschema/1-0-0"),
        (f" {LINK}\n", LINK),
    ],
)
def test_parse__nearest_valid_form(text: str, nearest: str) -> None:
    assert not is_schema_uri(text)
    with pytest.raises(ConfigError) as error:
        SchemaUri.parse(text)
    assert str(error.value).endswith(f"did you mean {nearest}?")


@pytest.mark.parametrize(
    "text", ["", "x", "iglu:", "iglu:com acme/x/jsonschema/1-0-0", f"{LINK}/1"]
)
def test_parse__no_near_form(text: str) -> None:
    with pytest.raises(ConfigError, match="expected iglu:vendor/name/format/model-revision-add"):
        SchemaUri.parse(text)


def test_parse__a_pattern_is_no_uri() -> None:
    with pytest.raises(ConfigError, match="expected iglu:vendor"):
        SchemaUri.parse("iglu:com.acme/x/jsonschema/1-*-*")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (LINK, True),
        ("iglu:com.acme/*/jsonschema/1-*-*", True),
        ("iglu:*/*/*/*-*-*", True),
        ("iglu:com.acme/linkClick/jsonschema/1-0-*", True),
        ("iglu:com.acme/linkClick/jsonschema/*-0-2", True),
        ("iglu:com.acme/linkClick/jsonschema/2-*-*", False),
        ("iglu:com.acme/linkClick/jsonschema/1-0-1", False),
        ("iglu:com.acme/linkclick/jsonschema/1-*-*", False),
        ("iglu:com.acme.shop/*/jsonschema/1-*-*", False),
        ("iglu:com_acme/*/jsonschema/1-*-*", False),
    ],
)
def test_pattern(pattern: str, matched: bool) -> None:
    parsed = SchemaPattern.parse(pattern)
    assert str(parsed) == pattern
    assert parsed.matches(SchemaUri.parse(LINK)) is matched


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("iglu:com.acme/*/jsonschema/1", "iglu:com.acme/*/jsonschema/1-*-*"),
        ("iglu:com.acme/*/jsonschema/*", "iglu:com.acme/*/jsonschema/*-*-*"),
        ("com.acme/*/1-*-*", "iglu:com.acme/*/jsonschema/1-*-*"),
    ],
)
def test_pattern__nearest_valid_form(text: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as error:
        SchemaPattern.parse(text)
    assert str(error.value).endswith(f"did you mean {nearest}?")


def test_pattern__a_star_is_a_whole_part() -> None:
    with pytest.raises(ConfigError, match=r"such as iglu:com.acme/\*/jsonschema/1-\*-\*"):
        SchemaPattern.parse("iglu:com.*/x/jsonschema/1-*-*")
