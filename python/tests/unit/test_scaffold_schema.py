"""The JSON Schema of the settings: what it allows and refuses; the committed file is up to date."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from tests.macros import ROOT
from tidemark.scaffold import cli
from tidemark.scaffold.schema import models_schema

DESIGN_SAMPLE = """
models:
  - name: airports
    config:
      materialized: cdc
      unique_key: [icao]              # composite keys are a longer list
      meta:
        tidemark:
          extract: full
          location: "data/airports_{business_date}.csv.gz"
          format: csv
          options: {header: true}
          ignore: [loaded_at]
          sensitive: [owner_phone]
          hash: md5
          tag_unchanged: true
          soft_delete: false
          on_reject: fail
          max_delete_fraction: 0.5
    columns:
      - name: icao
        data_type: string
        constraints: [{type: not_null}]
      - name: elevation
        data_type: double
"""


def errors(content: Any) -> list[str]:
    return [
        error.message for error in jsonschema.Draft7Validator(models_schema()).iter_errors(content)
    ]


def sample(**settings: Any) -> dict[str, Any]:
    """The sample with other settings; None takes a setting away."""
    content: dict[str, Any] = yaml.safe_load(DESIGN_SAMPLE)
    tidemark = content["models"][0]["config"]["meta"]["tidemark"]
    for name, value in settings.items():
        if value is None:
            del tidemark[name]
        else:
            tidemark[name] = value
    return content


EVENTS_SAMPLE = """
models:
  - name: customers
    config:
      materialized: cdc
      unique_key: [id]
      meta:
        tidemark:
          extract: events
          format: debezium
          location: landing/shop
          table: inventory.customers
          sequence_by: [_event_time]
          apply_as_deletes: "_operation = 'DELETE'"
          ignore_null_updates: [note]
          columns: {exclude: [secret]}
          track_history: {include: name}
          ddl: {drop_column: apply, change_type: ignore}
          encodings: {updated: micros, price: "decimal_bytes:2", stops: "array:iso"}
          previous_names: {email: [mail, e_mail]}
"""


def events(**settings: Any) -> dict[str, Any]:
    """The sample of change events with other settings; None takes one away, `_<key>` is a key of dbt's."""
    content: dict[str, Any] = yaml.safe_load(EVENTS_SAMPLE)
    config = content["models"][0]["config"]
    for name, value in settings.items():
        place = config if name.startswith("_") else config["meta"]["tidemark"]
        if value is None:
            del place[name.removeprefix("_")]
        else:
            place[name.removeprefix("_")] = value
    return content


def configured(**keys: Any) -> dict[str, Any]:
    """The sample with other keys of dbt's; None takes a key away."""
    content = sample()
    config = content["models"][0]["config"]
    for name, value in keys.items():
        if value is None:
            del config[name]
        else:
            config[name] = value
    return content


def test_schema__is_one() -> None:
    printed = CliRunner().invoke(cli.schema, [], catch_exceptions=False)
    jsonschema.Draft7Validator.check_schema(json.loads(printed.stdout))


def test_schema__editor_settings_point_at_what_setup_builds() -> None:
    settings = json.loads((ROOT / ".vscode" / "settings.json").read_text(encoding="utf-8"))
    (path,) = settings["yaml.schemas"]
    built = path.removeprefix("./").replace(".venv", "$(VENV)")
    assert f"$(BIN)/tidemark schema > {built}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["ExtractSettings", "EventSettings", "DdlPolicies"])
def test_schema__every_setting_has_help(name: str) -> None:
    settings = models_schema()["definitions"][name]["properties"]
    assert [name for name, setting in settings.items() if not setting.get("description")] == []


def test_schema__design_sample_is_valid() -> None:
    assert errors(yaml.safe_load(DESIGN_SAMPLE)) == []


@pytest.mark.parametrize(
    "content",
    [
        sample(location=None, format=None, options=None),
        sample(extract="delta", ignore="loaded_at", null_keys="allow", hash="sha256"),
        sample(options={"sep": ";", "header": False, "maxColumns": 30000}),
        sample(stored_hashes=True, sensitive=None),
        sample(stored_hashes=True, sensitive=[]),
        events(),
        events(_unique_key=None, sequence_by=None),
        events(_unique_key=None, sequence_by="_sequence_num"),
        events(format="rows", apply_as_deletes="operation = 'DELETE'", location="shop.changes"),
        events(columns=["id", "name"], track_history=False, ignore_null_updates=True),
        configured(unique_key="icao", tags=["daily"], grants={"select": ["reader"]}, alias="x"),
        configured(materialized="scd2", meta={"owner": "me", "tidemark": {"entity": "airports"}}),
        configured(materialized="scd2", meta=None, unique_key=None),
        configured(
            materialized="feed", meta={"tidemark": {"feed_buckets": 8, "feed_retention": "30 days"}}
        ),
        configured(materialized="view", meta={"anything": {"goes": 1}}),
        configured(materialized=None),
        {"version": 2, "models": None, "sources": [{"name": "shop", "tables": []}]},
        {"models": [{"name": "plain"}, {"name": "empty", "config": None, "columns": []}]},
    ],
)
def test_schema__valid(content: dict[str, Any]) -> None:
    assert errors(content) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (sample(extarct="full"), "'extarct' was unexpected"),
        (sample(extract=None), "'extract' is a required property"),
        (sample(extract="ful"), "'ful' is not one of ['full', 'delta', 'events']"),
        (events(max_delete_fraction=1), "'max_delete_fraction' was unexpected"),
        (sample(sequence_by="loaded_at"), "'sequence_by' was unexpected"),
        (events(format="csv"), "'csv' is not one of ['debezium', 'canonical', 'rows']"),
        (events(format="rows", sequence_by=None), "'sequence_by' is a required property"),
        (events(_unique_key=None, format="rows"), "'unique_key' is a required property"),
        (events(_unique_key=None), "'unique_key' is a required property"),
        (configured(file_format="parquet"), "is not one of ['delta', 'iceberg']"),
        (events(ddl={"add_colum": "apply"}), "'add_colum' was unexpected"),
        (events(ddl={"add_column": "yes"}), "'yes' is not one of ['apply', 'ignore', 'fail']"),
        (events(encodings={"updated": "milis"}), "'milis' does not match"),
        (events(encodings={"price": "decimal_bytes"}), "'decimal_bytes' does not match"),
        (
            events(columns={"include": ["id"], "exclude": ["note"]}),
            "is not valid under any of the given schemas",
        ),
        (sample(format="xlsx"), "'xlsx' is not one of"),
        (sample(hash="sha1"), "'sha1' is not one of"),
        (sample(on_reject="ignore"), "'ignore' is not one of"),
        (sample(soft_delete="sometimes"), "'sometimes' is not of type 'boolean'"),
        (sample(max_delete_fraction=50), "50 is greater than the maximum of 1"),
        (events(max_reject_fraction=50), "50 is greater than the maximum of 1"),
        (sample(options="header"), "'header' is not of type 'object'"),
        (sample(location=None), "'location' is a required property"),
        (sample(location=None, options=None), "'location' is a required property"),
        (sample(stored_hashes=True), "should not be valid under"),
        (configured(unique_key=None), "'unique_key' is a required property"),
        (configured(unique_key=[]), "is not valid under any of the given schemas"),
        (configured(meta=None), "'meta' is a required property"),
        (configured(file_format="orc"), "'orc' is not one of"),
        (
            configured(partition_by="country", liquid_clustered_by="city"),
            "should not be valid under",
        ),
        (
            configured(materialized="scd2", meta={"tidemark": {"entty": "a"}}),
            "'entty' was unexpected",
        ),
        (
            configured(materialized=None, meta={"tidemark": {"entty": "a"}}),
            "is not valid under any",
        ),
    ],
)
def test_schema__refused(content: dict[str, Any], message: str) -> None:
    assert any(message in error for error in errors(content)), errors(content)


def test_schema__versions_are_checked_too() -> None:
    content = sample()
    config = copy.deepcopy(content["models"][0]["config"])
    config["meta"]["tidemark"]["extarct"] = "full"
    content["models"][0]["versions"] = [{"v": 1, "config": config}]
    assert errors(content) != []
