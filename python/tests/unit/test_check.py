"""`tidemark check`: mistakes of all models at once, by the rules of a run, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from dbt.deprecations import reset_deprecations

from tidemark import cli
from tidemark.errors import ConfigError
from tidemark.model.options import meant_pattern, option_problems
from tidemark.run.refused import places_of

from ..foreign_project import MODELS, ForeignProject

WRONG = """
models:
  - name: prices
    config:
      materialized: cdc
      unique_key: id
      meta: {tidemark: {extract: fall, location: prices.csv, hash: md6, ignroe: [a]}}
    columns: [{name: id, data_type: intt}]
  - name: prices_scd2
    config: {materialized: scd2, file_format: parquet}
  - name: things
    config: {materialized: shred, meta: {tidemark: {registri: schemas, registry: schemas}}}
  - name: changes
    config: {materialized: feed, meta: {tidemark: {buckets: none}}}
  - name: updates
    config: {materialized: cdcc, unique_key: id}
"""


class Shop(ForeignProject):
    """The same, checked."""

    def check(self, *options: str) -> Result:
        return self.call("check", *options)

    def call(self, command: str, *options: str) -> Result:
        arguments = [command, "--project-dir", str(self.root), *options]
        return CliRunner().invoke(cli.cli, arguments, catch_exceptions=False)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / "home"))
    for name in ("DBT_LOG_PATH", "DBT_TARGET_PATH"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    (tmp_path / "orders").mkdir()
    yield Shop(tmp_path)
    # dbt counts them for as long as the process lives, and tells the next project
    reset_deprecations()


def test_check__all_models_at_once(shop: Shop) -> None:
    result = shop.check()
    assert (result.exit_code, result.stdout) == (0, "checked 1 model: no problems\n")

    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    shop.write("models/prices_scd2.sql", "select * from ({{ tidemark.scd2(ref('prices')) }})")
    shop.write("models/changes.sql", "select * from ({{ tidemark.change_feed(ref('orders')) }})")
    shop.write("models/things.sql", "select 1 as id")
    shop.write("models/updates.sql", "select 1 as id")
    shop.write("models/plain.sql", "{{ config(materialized='ephemeral') }} select 1 as id")
    shop.write("models/wrong.yml", WRONG)
    result = shop.check()
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[-1] == "checked 6 models: 5 with problems"
    assert [line for line in lines[:-1] if not line.startswith("  - ")] == [
        "changes  models/wrong.yml",
        "prices  models/wrong.yml",
        "prices_scd2  models/wrong.yml",
        "things  models/wrong.yml",
        "updates  models/wrong.yml",
    ]
    for part in (
        "did you mean `ignore`",
        "extract must be",
        "did you mean `md5`",
        "did you mean `int`",
        "file_format: parquet is not supported any more",
        "buckets",
        "did you mean `registry`",
        "materialized: cdcc is none that the project has; did you mean `cdc`?",
    ):
        assert part in result.stdout, part

    chosen = shop.check("--select", "orders", "things", "--exclude", "things")
    assert (chosen.exit_code, chosen.stdout) == (0, "checked 1 model: no problems\n")
    assert shop.check("-s", "prices+").stdout.endswith("checked 2 models: 2 with problems\n")

    models = {model["name"]: model for model in json.loads(shop.check("--json").stdout)}
    assert models["orders"]["problems"] == []
    assert models["prices"]["materialized"] == "cdc"
    assert len(models["prices"]["problems"]) >= 4


TWICE = """
version: 2
models:
  - name: prices
    config:
      materialized: cdc
      unique_key: id
      meta: {tidemark: {extract: full, location: "orders/{business_date}.csv"}}
      unique_key: [code]
    columns:
      - {name: id, data_type: int}
      - name: code
        data_type: string
        data_type: int
  - name: plain
    config: {}
    description: one
    config: {materialized: table}
version: 2
"""


def test_check__keys_that_stand_twice(shop: Shop) -> None:
    """YAML keeps the last without a word, and what the first said is lost."""
    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    shop.write("models/plain.sql", "select 1 as id")
    shop.write("models/prices.yml", TWICE)
    result = shop.check()
    assert result.exit_code == 1

    def line(key: str, first: int, second: int) -> str:
        return (
            f"  - line {second}: the key `{key}` stands on line {first} too, and only the last "
            "counts. Make them one"
        )

    assert result.stdout.splitlines() == [
        "models/prices.yml",
        line("version", 2, 19),
        "plain  models/prices.yml",
        line("config", 16, 18),
        "prices  models/prices.yml",
        line("unique_key", 7, 9),
        line("data_type", 13, 14),
        "checked 3 models: 2 with problems, and in 1 other place",
    ]
    assert shop.check("--select", "orders").exit_code == 0

    merged = TWICE.split("version: 2\n")[1].replace("      unique_key: id\n", "")
    merged = merged.replace("        data_type: string\n", "").replace("    config: {}\n", "")
    shop.write("models/prices.yml", merged)
    assert shop.check().stdout == "checked 2 models: no problems\n"
    shop.write("models/prices.yml", merged + "    meta: {x: 1, x: 2}\n")
    said = "  - line 14: the key `x` stands twice, and only the last counts. Make them one"
    assert said in shop.check().stdout.splitlines()
    # a mapping may take in several others
    merged += "    meta: {<<: &a {x: 1}, <<: {y: 2}}\n"
    shop.write("models/prices.yml", merged)
    assert shop.check().stdout == "checked 2 models: no problems\n"


@pytest.mark.parametrize("command", ["check", "status", "runs", "changes"])
def test_select__a_name_that_fits_no_model(shop: Shop, command: str) -> None:
    with pytest.raises(ConfigError) as raised:
        shop.call(command, "--select", "orderz")
    assert str(raised.value) == (
        "the selection matches nothing. Correct --select: 'orderz' fits no model. "
        "Did you mean 'orders'?"
    )


def test_select__of_the_commands_that_read(shop: Shop) -> None:
    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    shop.write("models/plain.sql", "{{ config(materialized='ephemeral') }} select 1 as id")
    shop.write("models/prices.yml", MODELS.replace("orders", "prices"))

    def names(*options: str) -> list[str]:
        return [one["entity"] for one in json.loads(shop.call("status", "--json", *options).stdout)]

    assert names() == ["orders", "prices"]
    assert names("--select", "prices") == names("--exclude", "orders") == ["prices"]
    assert names("orders", "--select", "prices") == ["orders", "prices"]
    assert names("--select", "path:models") == ["orders", "prices"]
    assert shop.call("runs", "--select", "prices").stdout == "there are no commits yet\n"
    assert shop.call("changes", "--select", "prices").stdout == "nothing was loaded yet\n"
    with pytest.raises(ConfigError, match=r"the selection has no entity\. Correct --select"):
        shop.call("status", "--select", "plain")


def test_check__settings_without_effect(shop: Shop) -> None:
    """Remarks, which are no mistakes."""
    for name, settings in {"taken": "", "left": ", stored_hashes: true"}.items():
        shop.write(f"models/{name}.sql", "{{ tidemark.extract() }}")
        shop.write(
            f"models/{name}.yml",
            f"models: [{{name: {name}, config: {{materialized: cdc, unique_key: id, meta: {{tidemark: "
            f"{{extract: full, location: '{{business_date}}.csv', engine: workers{settings}}}}}}}}}]\n",
        )
    shop.write("models/batches.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/batches.yml",
        "models: [{name: batches, config: {materialized: atomic, unique_key: event_id, meta: {tidemark: "
        "{location: landing, engine: workers, manifest_ttl: 6 months}}}}]\n",
    )
    shop.write("models/daily.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/daily.yml",
        "models: [{name: daily, config: {materialized: cdc, unique_key: id, meta: {tidemark: "
        "{extract: delta, location: '{business_date}.csv', max_delete_fraction: 0.1, max_reject_fraction: 0.1}}}}]\n",
    )
    result = shop.check()
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "batches  models/batches.yml",
        "  - unique_key has no effect: it is for materialized: cdc, and this is atomic",
        "  - engine: workers has no effect: manifest_ttl is 6 months, which are not of one length, "
        "so Spark SQL loads it",
        "daily  models/daily.yml",
        "  - max_delete_fraction has no effect: a delta deletes no rows",
        "  - max_reject_fraction has no effect: on_reject is fail, so any reject stops it",
        "left  models/left.yml",
        "  - engine: workers has no effect: stored_hashes is true, so Spark SQL loads it",
        "checked 5 models: no problems",
    ]
    models = {model["name"]: model for model in json.loads(shop.check("--json").stdout)}
    assert [len(models[name]["remarks"]) for name in ("left", "taken", "orders")] == [1, 0, 0]


def test_check__extract_in_a_model_of_another_kind(shop: Shop) -> None:
    """It would be a view, which takes the place of the current table and reads nothing."""
    shop.write("models/misspelt.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/misspelt.yml",
        "models: [{name: misspelt, config: {materialised: cdc, unique_key: id}}]\n",
    )
    shop.write("models/bare.sql", "select * from ({{ tidemark.extract() }})")
    result = shop.check()
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "bare  models/bare.sql",
        "  - its SQL calls tidemark.extract(), but the model is materialized: view, which reads no "
        "extract. Write materialized: cdc in its config",
        "misspelt  models/misspelt.yml",
        "  - its SQL calls tidemark.extract(), but the model is materialized: view, which reads no "
        "extract. config.materialised is not read; did you mean `materialized`?",
        "checked 3 models: 2 with problems",
    ]


def test_check__a_model_that_was_away(shop: Shop) -> None:
    """dbt forgets the YAML of a model whose file was gone for one parse."""
    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/prices.yml",
        "models: [{name: prices, config: {materialized: cdc, unique_key: id, meta: {tidemark: "
        "{extract: full, location: '{business_date}.csv'}}}}]\n",
    )
    assert shop.check().exit_code == 0
    (shop.root / "models/prices.sql").unlink()
    assert shop.check().exit_code == 0
    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    result = shop.check()
    assert result.exit_code == 1
    assert (
        "dbt has lost what models/prices.yml says of it: dbt parse --no-partial-parse reads it again"
        in (result.stdout)
    )


def test_check__sql_of_the_yaml(shop: Shop) -> None:
    """Only Spark knows its SQL, so what another parser cannot read is a remark, as is a misspelt column."""
    shop.write("models/fees.sql", "{{ tidemark.extract() }}")
    rules = (
        "rules: [{name: broken, check: 'amount >> 0 and'}, {name: named, check: 'amout > 0 and other > 1'}, "
        "{name: right, check: amount > 0 and id in (select number from shop.orders)}]"
    )
    tidemark = f"{{extract: full, location: '{{business_date}}.csv', {rules}}}"
    compared = "config: {meta: {tidemark: {compare_as: 'round(amont, 1)'}}}"
    shop.write(
        "models/fees.yml",
        "models: [{name: fees, columns: [{name: id, data_type: int}, {name: amount, data_type: int, "
        f"{compared}}}], config: {{materialized: cdc, unique_key: id, meta: {{tidemark: {tidemark}}}}}}}]\n",
    )
    shop.write("models/changes.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/changes.yml",
        "models: [{name: changes, columns: [{name: id, data_type: int}, {name: version, data_type: int}], "
        "config: {materialized: cdc, unique_key: id, meta: {tidemark: {extract: events, location: 'orders', "
        "format: rows, sequence_by: versoin}}}}]\n",
    )
    result = shop.check()
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "changes  models/changes.yml",
            "  - sequence_by names `versoin`, which `columns` does not have; did you mean `version`?",
            "fees  models/fees.yml",
            "  - rules.broken: `amount >> 0 and` is likely no SQL. `tidemark plan` asks Spark",
            "  - rules.named names `amout`, which `columns` does not have; did you mean `amount`?",
            "  - column `amount`: meta.tidemark.compare_as names `amont`, which `columns` does not have; "
            "did you mean `amount`?",
            "checked 3 models: no problems",
        ],
    )


def test_check__keys_that_dbt_passes_over(shop: Shop) -> None:
    """One mistake is one problem."""
    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    config = "config: {materialized: cdc, unique_key: id, metta: {tidemark: {extract: full, location: '{business_date}.csv'}}}"
    columns = "[{name: id, data_typ: int}, {name: price, data_type: decimal(10,2)}]"
    shop.write("models/prices.yml", f"models: [{{name: prices, {config}, columns: {columns}}}]\n")
    result = shop.check()
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "prices  models/prices.yml",
        "  - config.metta is not read; did you mean `meta`?",
        "  - column `price`: data_type `decimal(10` is no type of Spark: within braces a comma ends a value, "
        "so write it in quotes",
        "  - column `id`: data_typ is not read; did you mean `data_type`?",
        "checked 2 models: 1 with problems",
    ]


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("dd.mm.yyyy", "dd.MM.yyyy"),
        ("DD/MM/YYYY", "dd/MM/yyyy"),
        ("mm/dd/yyyy HH:mm", "MM/dd/yyyy HH:mm"),
        ("yyyy-mm-dd'T'HH:MM:ss", "yyyy-MM-dd'T'HH:mm:ss"),
        ("yyyymmdd", "yyyyMMdd"),
        ("YYYY", "yyyy"),
    ],
)
def test_meant_pattern__letters_of_other_systems(pattern: str, meant: str) -> None:
    assert meant_pattern(pattern) == meant
    (problem,) = option_problems({"dateFormat": pattern}, "csv", [])
    assert f"`{pattern}` is no pattern of dates; did you mean `{meant}`?" in problem


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "dd.MM.yyyy",
            "d.M.yy",
            "yyyyDDD",
            "LLL d, yyyy",
            "HH:mm dd.MM.yyyy",
            "yyyyMMddHHmmss",
            "mm:ss",
        ),
        *(
            "yyyy-MM-dd HH:mm:ss.SSSSSSXXX",
            "h:mm a, dd MMM yyyy",
            "yyyy-MM-dd'T'HH:mm",
            "'Day' DDD yyyy",
            "",
            "'",
        ),
    ],
)
def test_meant_pattern__as_it_is(pattern: str) -> None:
    assert meant_pattern(pattern) == pattern


def test_check__a_column_that_none_is_called(shop: Shop) -> None:
    """The files may have it, so it is a remark, and only where a declared one is nearly the same."""
    shop.write("models/prices.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/prices.yml",
        "models: [{name: prices, config: {materialized: cdc, unique_key: [ITEM_ID, shop_idd], meta: {tidemark: "
        "{extract: full, location: '{business_date}.csv', ignore: [loaded_at, loadedat, weather, fax2], "
        "effective_from: loaded_att}}}, "
        "columns: [{name: item_id}, {name: shop_id}, {name: loaded_at}, {name: fax1}]}]\n",
    )
    result = shop.check()
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "prices  models/prices.yml",
        "  - unique_key names `shop_idd`, which `columns` does not have; did you mean `shop_id`?",
        "  - ignore names `loadedat`, which `columns` does not have; did you mean `loaded_at`?",
        "  - effective_from names `loaded_att`, which `columns` does not have; did you mean `loaded_at`?",
        "checked 2 models: no problems",
    ]


def test_check__letters_that_changed_places(shop: Shop) -> None:
    shop.write("models/models.yml", MODELS.replace("unique_key: [id]", "unique_key: [icoa]")
               .replace("name: id,", "name: icao,"))  # fmt: skip
    assert shop.check().stdout.splitlines()[1:2] == [
        "  - unique_key names `icoa`, which `columns` does not have; did you mean `icao`?",
    ]


def test_check__files_of_unit_tests_that_are_not_there(shop: Shop) -> None:
    shop.write("tests/there.csv", "id\n1\n")
    given = [
        "{file: nothere.csv}",
        "{files: [tests/there.csv, gone.csv.gz]}",
        "{file: tests/there.csv}",
    ]
    steps = ", ".join(
        f'{{business_date: "2026-03-0{day}", given: {one}}}' for day, one in enumerate(given, 1)
    )
    tests = f"unit_tests: [{{name: few, steps: [{steps}]}}], extract: full"
    shop.write("models/models.yml", MODELS.replace("extract: full", tests))
    result = shop.check()
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "orders  models/models.yml",
        "  - unit_tests.few: step 1 names the file nothere.csv, which is not there. Check the path, which "
        "counts from dbt_project.yml",
        "  - unit_tests.few: step 2 names the file gone.csv.gz, which is not there. Check the path, which "
        "counts from dbt_project.yml",
        "checked 1 model: 1 with problems",
    ]


def test_check__a_macro_that_is_not_there(shop: Shop) -> None:
    """dbt itself parses such a model, and names no macro where it compiles it."""
    shop.write("models/orders.sql", "{{ tidemark.extrct() }}")
    shop.write("models/seen.sql", "{# tidemark.nope() #} select 1 as id -- tidemark.nope()")
    shop.write(
        "models/early.sql", "select * from ({{ tidemark.as_off(ref('orders'), '2026-03-04') }})"
    )
    result = shop.check()
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "early  models/early.sql",
        "  - its SQL calls tidemark.as_off(), which is no macro of the package; did you mean `as_of`?",
        "orders  models/models.yml",
        "  - its SQL calls tidemark.extrct(), which is no macro of the package; did you mean `extract`?",
        "checked 2 models: 2 with problems",
    ]


def test_check__a_folder_that_is_not_there(shop: Shop) -> None:
    """A remark: files may land later."""
    locations = {
        "a": "land/{yyyy}/a_{business_date}.csv",
        "b": "orders/b_{business_date}.csv",
        "c": "s3://land/c_{business_date}.csv",
        "d": "{business_date}/d.csv",
        "e": "file:///nowhere/e_*.csv",
        "g": str(shop.root / "home" / "landing" / "g_*.csv"),
    }
    for name, location in locations.items():
        shop.write(f"models/{name}.sql", "{{ tidemark.extract() }}")
        shop.write(
            f"models/{name}.yml",
            f"models: [{{name: {name}, config: {{materialized: cdc, unique_key: id, meta: {{tidemark: "
            f"{{extract: full, location: '{location}'}}}}}}}}]\n",
        )
    shop.write("models/f.sql", "{{ tidemark.extract() }}")
    shop.write(
        "models/f.yml",
        "models: [{name: f, config: {materialized: cdc, unique_key: id, meta: {tidemark: "
        "{extract: events, format: debezium, location: land/shop, table: public.f}}}}]\n",
    )
    result = shop.check()
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "a  models/a.yml",
        "  - location: there is no folder land yet, so a load finds no file",
        "e  models/e.yml",
        "  - location: there is no folder /nowhere yet, so a load finds no file",
        "f  models/f.yml",
        "  - location: there is no folder land/shop yet, so a load finds no file",
        "checked 8 models: no problems",
    ]


def test_check__a_project_that_cannot_be_parsed(shop: Shop) -> None:
    shop.write("models/orders.sql", "{{ tidemark.extract( }}")
    result = shop.check()
    assert result.exit_code == 2
    assert "orders" in result.stderr
    assert result.stdout == ""

    shop.write("models/orders.sql", "select 1 as id")
    shop.write("models/stock.sql", "select 1 as id")
    shop.write(
        "models/stock.yml",
        "models: [{name: stock, columns: [{name: id, constraints: [{type: notnull}]}]}]\n",
    )
    result = shop.check()
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "  stock  models/stock.yml: dbt does not know constraint `notnull` of column `id`; "
        "did you mean `not_null`?"
    )

    shop.write("models/stock.yml", "models: [{name: stock, config: {unique_key: [[id]]}}]\n")
    result = shop.check()
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-2:] == [
        "  at path ['unique_key']: [['id']] is not valid under any of the given schemas",
        "  stock  models/stock.yml: unique_key must be a name or a list of names, found: [['id']]",
    ]


def test_places_of__what_dbt_says_of_no_model(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/shop.yml").write_text(
        "models: [{name: a, config: {unique_key: id, meta: [1]}}, "
        "{name: b, config: {unique_key: 7, persist_docs: 7}}]"
    )
    invalid = 'Field "%s" of type Union[str, List[str], None] in ModelConfig has invalid value %s'
    assert places_of(invalid % ("unique_key", 7), tmp_path) == [
        "b  models/shop.yml: unique_key must be a name or a list of names, found: 7"
    ]
    assert places_of(invalid % ("unique_key", 75), tmp_path) == []
    assert places_of("expected dict, got [1]", tmp_path) == [
        "a  models/shop.yml: meta must be a mapping, found: [1]"
    ]
