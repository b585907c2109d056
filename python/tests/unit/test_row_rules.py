"""Rules for rows: what the YAML may say, what stops a load, and what is said. No JVM."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.setting_vectors import node_of
from tidemark.engine.enriched.covers import why_not_enriched
from tidemark.errors import ConfigError
from tidemark.model.enriched import atomic_settings
from tidemark.model.look_ups import look_up_sql
from tidemark.model.row_rules import row_rules
from tidemark.read.commits import Commit
from tidemark.read.project import Entity
from tidemark.read.show import notes
from tidemark.read.status import Seen, status_of
from tidemark.rules.row_rules import broken_rules


def read(
    given: Any = None, columns: dict[str, Any] | None = None, **more: Any
) -> tuple[list[Any], list[str]]:
    errors: list[str] = []
    node = {
        "columns": {name: {"name": name, **one} for name, one in (columns or {}).items()},
        **more.pop("node", {}),
    }
    settings = {name: one.get("settings", {}) for name, one in (columns or {}).items()}
    cfg = {
        "on_reject": "fail",
        "columns": [{"name": name, "settings": one} for name, one in settings.items()],
        **more,
    }
    return row_rules(node, cfg, given, errors), errors


def test_a_rule() -> None:
    (one, two), errors = read(
        [
            {"name": "a", "check": "n > 0"},
            {"name": "b", "check": "n > 1", "on_fail": "warn", "at_most": "2.5 %"},
        ]
    )
    assert errors == [] and (one["on_fail"], one["at_most"]) == ("fail", 0.0)
    assert (two["on_fail"], two["at_most"], two["setting"]) == ("warn", 0.025, "rules.b")


def test_values_of_a_column() -> None:
    columns = {
        "a`b": {"settings": {"rules": [{"name": "known", "accepted_values": ["it's", 1, "x\\"]}]}}
    }
    (rule,), errors = read(columns=columns)
    assert errors == [] and rule["check"] == r"`a``b` in ('it\'s', 1, 'x\\')"


def values_of_a(values: list[Any]) -> tuple[list[Any], list[str]]:
    return read(
        columns={"a": {"settings": {"rules": [{"name": "known", "accepted_values": values}]}}}
    )


@pytest.mark.parametrize(
    ("values", "check"),
    [
        (["x", None], "`a` in ('x')"),
        ([dt.date(2026, 1, 2)], "`a` in (date'2026-01-02')"),
        ([dt.datetime(2026, 1, 2, 10, 30)], "`a` in (timestamp'2026-01-02 10:30:00')"),
    ],
)
def test_values_of_a_column__as_yaml_reads_them(values: list[Any], check: str) -> None:
    (rule,), errors = values_of_a(values)
    assert errors == [] and rule["check"] == check


def test_values_of_a_column__that_yaml_takes_for_a_flag() -> None:
    rules, errors = values_of_a([False, "SE"])
    assert rules == []
    (error,) = errors
    assert "accepted_values has false beside texts" in error and "in quotes" in error


def test_constraints_of_dbt() -> None:
    columns = {
        "n": {"constraints": [{"type": "check", "expression": "n > 0"}, {"type": "not_null"}]}
    }
    whole = {"constraints": [{"type": "check", "expression": "n < m", "name": "in order"}]}
    rules, errors = read(columns=columns, node=whole)
    assert errors == [] and [(one["name"], one["check"], one["on_fail"]) for one in rules] == [
        ("in_order", "n < m", "fail"), ("check_2", "n > 0", "fail"),
    ]  # fmt: skip
    (rule,), _ = read(columns=columns, on_reject="quarantine")
    assert (rule["on_fail"], rule["at_most"]) == ("quarantine", None)


def test_a_look_up() -> None:
    """As dbt's test relationships spells it; dbt must know of the table by what the model's SQL names."""
    reads = {"depends_on": {"nodes": ["seed.shop.countries", "source.shop.raw.places"]}}
    columns = {
        "a`b": {
            "settings": {"rules": [{"name": "known", "relationships": {"to": "ref('countries')", "field": "code"}}]}
        }
    }  # fmt: skip
    whole = [{"name": "pair", "relationships": {"columns": ["a", "b"], "to": "source('raw', 'places')", "fields": ["c", "d"]}}]  # fmt: skip
    (pair, known), errors = read(whole, columns, node=reads)
    assert errors == [] and known["check"] == "a`b in ref('countries'): code"
    assert (known["looks_up"]["kind"], known["looks_up"]["names"]) == ("ref", ("countries",))
    assert look_up_sql(known["looks_up"], "_x", "shop.countries") == (
        "`a``b` is null or exists (select 1 from (select `code` as _x_1 from shop.countries) as _x where _x_1 = `a``b`)"
    )
    sql = look_up_sql(pair["looks_up"], "_x", "raw.places")
    assert sql.startswith("`a` is null or `b` is null or exists (")
    assert sql.endswith("where _x_1 = `a` and _x_2 = `b`)")
    assert "pair (a, b in source('raw', 'places'): c, d): 1 of 2 rows fails" in "".join(
        broken_rules({"rules": [{**pair, "shown": pair["check"], "check": sql}]}, {"pair": 1}, {"rows_read": 2})
    )  # fmt: skip
    _, (missing, _) = read(whole, columns)
    assert missing.endswith("has this line: -- depends_on: {{ source('raw', 'places') }}")


LOOKS_UP = {"to": "ref('x')", "field": "c"}


def test_rules_of_enriched_events() -> None:
    """As elsewhere; a column that has rules must be one of an event. Such a batch is Spark's."""
    rules = [{"name": "paid", "check": "tr_total > 0", "on_fail": "quarantine"}]
    node = node_of({"flow": "atomic", "settings": {"location": "landing", "rules": rules}})
    cfg = atomic_settings(node, "delta")
    assert [one["name"] for one in cfg["rules"]] == ["paid"]
    assert why_not_enriched(cfg) == "it has rules"
    meta = {"tidemark": {"rules": [{"name": "known", "accepted_values": ["shop"]}]}}
    node["columns"] = {"app": {"name": "app", "config": {"meta": meta}}}
    with pytest.raises(ConfigError, match="rules: it is no column of"):
        atomic_settings(node, "delta")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a"}, "rules must be a list of rules"),
        ([{"name": "a"}], "rules.a needs check"),
        ([{"name": "a", "accepted_values": [1]}], "rules.a: accepted_values is for a rule of a column. Move the rule to config.meta.tidemark.rules of the column"),
        ([{"check": "n > 0"}], "rules.1: name is missing"),
        ([{"name": "a", "chek": "n > 0"}], "rules.a: chek is not read; did you mean `check`"),
        ([{"name": "a", "relationships": LOOKS_UP}], "rules.a needs check, or relationships: {columns, to, fields}"),
        ([{"name": "a", "relationships": {"to": "x"}}], "rules.a: relationships.to: x is not an input. Write ref('model')"),
        ([{"name": "a", "relationships": {**LOOKS_UP, "feld": "c"}}], "rules.a: relationships.feld is not read; did you mean `field`"),
        ([{"name": "a", "check": "n >("}], "has a `(` that nothing closes"),
        ([{"name": "a", "check": "n > 0", "on_fail": "ignore"}], "rules.a: on_fail"),
        ([{"name": "a", "check": "n > 0", "at_most": "3 rows"}], "at_most must be a fraction of the rows"),
        ([{"name": "a", "check": "n > 0", "at_most": 2}], "at_most must be a fraction of the rows"),
        ([{"name": "a", "check": "n > 0", "on_fail": "quarantine"}], "needs on_reject: quarantine"),
        ([{"name": "a", "check": "n > 0"}, {"name": "a", "check": "n > 1"}], "two rules have the name a"),
    ],
)  # fmt: skip
def test_a_mistake(given: Any, said: str) -> None:
    assert said in "\n".join(read(given)[1])


def test_what_stops_a_load() -> None:
    rules, _ = read(
        [
            {"name": "a", "check": "n > 0"},
            {"name": "b", "check": "m > 0", "on_fail": "warn", "at_most": "29 %"},
            {"name": "c", "check": "o > 0", "on_fail": "warn"},
        ]
    )
    assert (
        broken_rules(
            {"rules": rules}, {"a": 0, "b": 29, "c": 100}, {"rows_read": 107, "rows_ignored": 7}
        )
        == []
    )
    assert broken_rules({"rules": rules}, {"a": 1, "b": 30, "c": 100}, {"rows_read": 100}) == [
        "a (n > 0): 1 of 100 rows fails, and none may", "b (m > 0): 30 of 100 rows fail, and at most 29 % may",
    ]  # fmt: skip
    assert broken_rules({}, {}, {}) == []


def test_status_tells_the_rules_that_the_last_load_failed() -> None:
    at = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    entity = Entity("orders", "cdc", "shop", "orders", key=("id",))

    def commit(number: int, rules: str | None) -> Commit:
        return Commit(
            number,
            "shop.orders",
            "orders",
            "load",
            at.date(),
            "completed",
            at,
            at,
            rows_inserted=1,
            rules=rules,
        )

    older = commit(1, '{"known": 5}')
    status = status_of(entity, [commit(2, '{"positive": 2, "known": 0}'), older], Seen(), at)
    assert status.broken_rules == {"positive": 2}
    assert "rule positive: 2 rows of the last load failed it" in notes(status, at)
    assert status_of(entity, [commit(2, None), older], Seen(), at).broken_rules == {}
