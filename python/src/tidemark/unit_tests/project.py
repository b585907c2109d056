"""The project that tests run in: the user's models, each with tables and files of its own."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from tidemark.errors import ConfigError
from tidemark.home import HOME_VARIABLE, Home
from tidemark.model.enriched import atomic_settings
from tidemark.model.entity import entity_settings
from tidemark.model.unit_tests import input_of
from tidemark.run.nodes import fresh_copy
from tidemark.spark.launch import CATALOGUE
from tidemark.unit_tests.cases import Case
from tidemark.unit_tests.landing import location_of

# parts of a profile: where tables lie, what knows them, and on which machines Spark runs
_NOT_OURS = re.compile(
    r"warehouse|metastore|javax\.jdo|spark\.master|spark\.submit|eventLog|"
    r"spark\.sql\.catalog\.(?!spark_catalog$)|spark\.hadoop\.fs\."
)
# many tiny queries: one compiler of the JVM is enough, and what it makes has room
_QUICK = {
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m "
    "-XX:+UseSerialGC -XX:MetaspaceSize=512m -XX:NewRatio=1",
}
_PEPPER = "a pepper of unit tests"


def profile_text(config: Any, file_format: str) -> str:
    """Return a profile of Spark in this process whose tables lie in TIDEMARK_HOME.

    What Spark computes is what it computes by the user's profile: its settings are kept, but for
    those that say where.

    Args:
        config: dbt's configuration of the user's project.
        file_format: Of the tables: those of Iceberg stand in the metastore, as users have them.
    """
    given = getattr(config.credentials, "server_side_parameters", None) or {}
    settings = {key: str(value) for key, value in given.items() if not _NOT_OURS.search(key)}
    # no other process looks, so a metastore that outlives this one is not made
    catalogue = {CATALOGUE: "in-memory"} if file_format == "delta" else {}
    output = {
        "type": "tidemark",
        "schema": "unit_tests",
        "threads": max(2, int(getattr(config, "threads", 1) or 1)),
        "server_side_parameters": {**_QUICK, **catalogue, **settings},
    }
    name, target = str(config.profile_name), str(config.target_name)
    return yaml.safe_dump({name: {"target": target, "outputs": {target: output}}})


@contextmanager
def home_of_tests(home: Home) -> Iterator[None]:
    """Have all that a run writes lie in a home, and nobody be told of it."""
    before = dict(os.environ)
    webhooks = [name for name in before if name.startswith("TIDEMARK_WEBHOOK")]
    os.environ[HOME_VARIABLE] = str(home.root)
    os.environ["DBT_LOG_PATH"] = str(home.logs)
    os.environ["DBT_TARGET_PATH"] = str(home.target)
    # nobody reads artifacts of tests
    os.environ["DBT_WRITE_JSON"] = "false"
    os.environ.setdefault("TIDEMARK_PEPPER", _PEPPER)
    for name in webhooks:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def manifest_of(manifest: Any, cases: Iterable[Case], engine: str | None) -> Any:
    """Return a manifest that has the models of tests, what these read, and nothing else.

    Args:
        manifest: dbt's, of the user's project.
        cases: The tests; those with inputs have a manifest each.
        engine: What loads are to go by, whatever the models say.
    """
    asked = list(cases)
    of_tests = fresh_copy(manifest, {one for case in asked for one in case.node.depends_on.nodes})
    known = of_tests.nodes
    of_tests.nodes = {}
    for case in asked:
        inputs = inputs_of(of_tests, known, case)
        node = _node_of(case, engine, [one.unique_id for one in inputs.values()])
        of_tests.nodes[node.unique_id] = node
        for name, one in inputs.items():
            one.schema, one.database = case.alone, None
            one.relation_name = None
            if hasattr(one, "source_name"):
                one.identifier = name
            else:
                one.alias, one.config.materialized = name, "table"
                of_tests.nodes[one.unique_id] = one
    used = {one for node in of_tests.nodes.values() for one in node.depends_on.nodes}
    of_tests.sources = {key: one for key, one in of_tests.sources.items() if key in used}
    for part in ("exposures", "metrics", "semantic_models", "saved_queries", "unit_tests"):
        setattr(of_tests, part, {})
    of_tests.rebuild_ref_lookup()
    return of_tests


def judge_cases(manifest: Any, cases: Iterable[Case], variables: Mapping[str, Any]) -> None:
    """Judge what can be judged of tests before anything is run.

    Args:
        manifest: dbt's, of the user's project.
        cases: The tests.
        variables: The vars that models see.

    Raises:
        ConfigError: A test gives what its model does not read, or has settings that are none.
    """
    is_iceberg = variables.get("tidemark__commits_format") == "iceberg"
    problems = []
    for case in cases:
        node = _node_of(case, None, list(case.node.depends_on.nodes)).to_dict(omit_none=False)
        read = atomic_settings if case.node.config.materialized == "atomic" else entity_settings
        try:
            inputs_of(manifest, manifest.nodes, case)
            read(node, "iceberg" if is_iceberg else "delta")
        except ConfigError as error:
            problems.append(str(error).replace(case.alone, case.name))
    if problems:
        raise ConfigError("\n".join(problems))


def inputs_of(manifest: Any, known: Mapping[str, Any], case: Case) -> dict[str, Any]:
    """Return the tables that a test gives, of dbt's manifest, by what they are called.

    Raises:
        ConfigError: The model does not read one, or reads one that is not given.
    """
    steps = [step.given.inputs or [] if step.given else [] for step in case.test.steps]
    given = dict.fromkeys(one.input for inputs in steps for one in inputs)
    found: dict[str, Any] = {}
    read = {one: known.get(one) or manifest.sources.get(one) for one in case.node.depends_on.nodes}
    for text in given:
        kind, names = input_of(text)
        named = [one for one in read.values() if one is not None and _is_named(one, kind, names)]
        one = next(iter(named), None)
        if one is None:
            raise ConfigError(
                f"{case.name}: {case.node.name} does not read {text}. Correct `input` of given"
            )
        found[table_of(text)] = one
    at_first = {found[table_of(one.input)].unique_id for one in steps[0]}
    for key, one in read.items():
        if key not in at_first:
            name = getattr(one, "name", key)
            raise ConfigError(
                f"{case.name}: {case.node.name} reads {name}. Give its rows at the first "
                f"step, as in given: {{inputs: [{{input: …{name}…, rows: […]}}]}}"
            )
    return found


def table_of(text: str) -> str:
    """Return what the table of an input is called while a test runs.

    Example:
        >>> table_of("source('shop', 'orders')")
        'given_source_shop_orders'
    """
    kind, names = input_of(text)
    return "_".join(["given", kind, *names]).lower()


def _is_named(one: Any, kind: str, names: tuple[str, ...]) -> bool:
    if hasattr(one, "source_name"):
        return kind == "source" and (one.source_name, one.name) == names
    return kind == "ref" and names[-1] == one.name and names[:-1] in ((), (one.package_name,))


def _node_of(case: Case, engine: str | None, reads: list[str]) -> Any:
    """Return the model as the test runs it."""
    node = copy.deepcopy(case.node)
    node.name = case.alone
    node.unique_id = f"model.{node.package_name}.{case.alone}"
    node.fqn = [node.package_name, case.alone]
    node.schema, node.database, node.relation_name = case.alone, None, None
    node.version = node.latest_version = None
    node.depends_on.nodes = reads
    config = node.config
    settings = {**case.settings, **({"engine": engine} if engine else {})}
    if settings.get("location") is not None:
        settings["location"] = location_of(case)
    settings.pop("location_root", None)
    config.meta = {**(config.meta or {}), "tidemark": settings}
    config.schema, config.database = case.alone, None
    config.pre_hook, config.post_hook, config.grants, config.full_refresh = [], [], {}, None
    extra = getattr(config, "_extra", {})
    for name in ("location_root", "pre-hook", "post-hook"):
        extra.pop(name, None)
    return node
