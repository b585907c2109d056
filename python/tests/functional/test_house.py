"""House-keeping: savepoint, clean, compact and erase_key, told on small entities loaded day by day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tidemark.errors import TidemarkError
from tidemark.operate.kept import keep
from tidemark.spark.delta import stage_rows, table_version
from tidemark.spark.delta.staged import StagedRows

from .entities import Entity
from .event_entities import EventEntity, delete, insert, update

pytestmark = pytest.mark.iceberg

CITIES = {"id": "int", "name": "string", "phone": "string"}
ALL = {"superseded": "0 days", "history": "0 days", "feed": "0 days", "rejects": "0 days"}
DAYS = [f"2026-01-0{day}" for day in range(1, 8)]
Rows = list[tuple[Any, ...]]


def cities(project: Any, name: str, **settings: Any) -> Entity:
    return Entity(
        project,
        name,
        CITIES,
        sensitive=["phone"],
        on_reject="quarantine",
        max_delete_fraction=1,
        **settings,
    )


def stage_log_row(entity: Entity) -> StagedRows | None:
    """What a load elsewhere would commit next; None: of Iceberg nothing is staged, and not from here where Spark is elsewhere."""
    project, log = entity.project, f"{entity.name}__log"
    if project.file_format != "delta" or project.target == "thrift":
        return None
    row = f"select * from `{project.schema}`.`{log}` limit 1"
    version = table_version(project.session, project.schema, log) or 0
    table = (project.session, project.schema, log, version)
    return stage_rows(*table, row, {"read": "count(*)"}, "select * from {counted}")


def extract(rows: dict[int, str], more: str = "") -> str:
    """A CSV of cities: id → name."""
    lines = [f"{key},{name},+{key}-{name}" for key, name in rows.items()]
    return "\n".join(["id,name,phone", *lines]) + f"\n{more}"


def do(entity: Entity, operation: str, *, expect_pass: bool = True, **arguments: Any) -> str:
    """`dbt run-operation` on an entity; what the user sees."""
    text = json.dumps({"entity": entity.name, **arguments})
    result = entity.project.dbt("run-operation", operation, "--args", text, expect_pass=expect_pass)
    return str(result.output)


def refused(entity: Entity, operation: str, **arguments: Any) -> str:
    return do(entity, operation, expect_pass=False, **arguments)


def last_commit(entity: Entity) -> int:
    return int(entity.commits("commit_id")[-1][0])


def known(entity: Entity, commit: int) -> dict[str, Rows]:
    """What as_of() says of every date, as known at a commit: (id, name)."""
    found: dict[str, Rows] = {}
    for day in DAYS:
        rows = entity.project.sql(
            "select id, name from (select *, row_number() over (partition by _key_hash order by _business_date desc) "
            f"as place from {entity.name}__log where _commit_id <= {commit} and _business_date <= '{day}' and "
            f"(_superseded_by is null or _superseded_by > {commit})) where place = 1 and _operation <> 'D'"
        )
        found[day] = sorted(tuple(row) for row in rows)
    return found


def check(entity: Entity) -> None:
    """The generic tests hold, and there is one row of sensitive values for each log row."""
    entity.check()
    if entity.exists("__sensitive"):
        names = "_key_hash, _business_date, _commit_id"
        assert entity.rows(names, "__sensitive") == entity.rows(names, "__log")


def forget_completion(entity: Entity, commit: int) -> None:
    """As if the call that made this commit had died before it was complete."""
    entity.project.sql(
        f"delete from tidemark_commits__log where commit_id = {commit} and entity = '{entity.name}' "
        "and state = 'completed'"
    )


@pytest.mark.slow
def test_clean__of_what_can_be_gone_back_to(module_project: Any) -> None:
    """What a delta that is undone supplied stays as long as a rollback can make it hold again: late dates ask for it."""
    back = cities(module_project, "back", extract="delta")
    back.load("2026-01-01", extract({1: "ann", 2: "bob"}))
    back.load("2026-01-03", extract({1: "ann", 3: "cy"}))
    first, second = (row[0] for row in back.commits("commit_id"))
    do(back, "savepoint", name="whole")
    do(back, "rollback", to=first)
    assert "rows of replaced loads" not in do(back, "clean", retention=ALL)
    do(back, "rollback", to=second)
    # as day 3 said that ann is ann
    back.load("2026-01-02", extract({1: "amy", 3: "cyd"}))
    assert back.rows("id, name") == [(1, "ann"), (2, "bob"), (3, "cy")]
    check(back)


@pytest.mark.slow
def test_clean__staging_of_batches_that_hold(module_project: Any) -> None:
    """Without key the last batches stay, by which copies are counted: those that are undone are none of them."""
    lines = EventEntity(module_project, "lines", {"name": "string"}, None)
    for name in "abc":
        lines.load([insert({"name": name})])
    first = lines.commits("commit_id")[0]
    do(lines, "rollback", to=first[0])
    do(lines, "clean", retention={"staging": "0 days"})
    assert first in lines.rows("_commit_id", "__staging")


@pytest.mark.slow
def test_clean__keeps_savepoints_and_positions(module_project: Any) -> None:
    held = cities(module_project, "held")
    held.load("2026-01-01", extract({1: "ann", 2: "bob", 3: "cy"}))
    held.load("2026-01-03", extract({1: "ann", 2: "bert"}))
    # day 2 comes late, then corrected: rows of the log are superseded
    held.load("2026-01-02", extract({1: "amy", 2: "bo", 4: "di"}))
    kept = last_commit(held)
    module_project.write(
        "models/held_scd2.sql",
        "{{ config(materialized='scd2') }} {{ tidemark.scd2(ref('held')) }}",
    )
    module_project.dbt("run", "--select", "held_scd2")
    held.load("2026-01-02", extract({1: "amy", 2: "bobby", 4: "di"}))
    first, now = known(held, kept), known(held, last_commit(held))
    log = held.rows("*", "__log")

    assert f"Name one of the last commits {last_commit(held)} (2026-01-02)" in refused(
        held, "savepoint", commit=7
    )
    assert "did you mean `superseded`" in refused(held, "clean", retention={"supersede": "1 day"})
    assert "such as '30 days'" in refused(held, "clean", retention={"history": "for ever"})
    do(held, "savepoint", commit=kept, name="before the correction")
    # nothing goes in a dry run, and with a savepoint nothing that it needs
    output = do(held, "clean", retention=ALL, dry_run=True)
    assert "would remove" in output and "by the savepoint before the correction" in output
    assert held.rows("*", "__log") == log
    do(held, "clean", retention=ALL)
    assert len(held.rows("*", "__log")) < len(log)
    assert known(held, kept) == first and known(held, kept + 1) == first
    assert known(held, last_commit(held)) == now
    assert held.commits("kind, state, source_commit_id")[-1] == ("clean", "completed", kept)
    # the same for the derived table, which has read that far; it goes on as if nothing had happened
    # a name that two have says nothing
    do(held, "savepoint", name="before the correction")
    last = held.commits("source_commit_id")[-1][0]
    assert f"{kept} or {last}" in refused(
        held, "savepoint", name="before the correction", remove=True
    )
    do(held, "savepoint", commit=last, remove=True)
    do(held, "savepoint", name="before the correction", remove=True)
    assert "no savepoint" in refused(held, "savepoint", name="before the correction", remove=True)
    assert "held_scd2, which has read so far" in do(held, "clean", retention=ALL)
    assert known(held, kept) == first
    output = module_project.dbt("run", "--select", "held_scd2").output
    assert "built again" not in output
    check(held)


@pytest.mark.slow
def test_clean__everything(module_project: Any) -> None:
    keep = dict.fromkeys(("superseded", "history", "rejects"), "0 days")
    lean = cities(module_project, "lean", **{f"{name}_retention": keep[name] for name in keep})
    lean.load("2026-01-01", extract({1: "ann", 2: "bob", 3: "cy"}))
    lean.load("2026-01-04", extract({1: "ann", 2: "bert"}, "x,y,z\n"))
    lean.load("2026-01-02", extract({1: "amy", 2: "bo", 4: "di"}))
    current, before = lean.rows("*"), last_commit(lean)
    left = [(1, "ann", "U", None), (2, "bert", "U", None)]

    do(lean, "clean")
    assert lean.rows("*") == current
    assert lean.rows("id, name, _operation, _superseded_by", "__log") == left
    assert lean.commits("kind, state, source_commit_id")[-1] == ("clean", "completed", before)
    # those of live loads are needed for late dates
    assert len(lean.rows("*", "__rejects")) == 1

    # it had died before it came to the sensitive values
    module_project.undo("lean__sensitive")
    forget_completion(lean, last_commit(lean))
    # `tidemark clean` goes on where the dry run says what it would
    died = last_commit(lean)
    said = do(lean, "clean", dry_run=True)
    assert f"would finish the clean that a call left in flight, commit {died}" in said
    assert "rows of lean__sensitive, whose log rows are gone" in said
    do(lean, "clean")
    assert "would" not in do(lean, "clean", dry_run=True)
    assert lean.rows("id, name, _operation, _superseded_by", "__log") == left
    assert lean.commits()[-2:] == [("clean", "rolled_back"), ("clean", "completed")]
    assert lean.commits("source_commit_id")[-1] == (before,)
    check(lean)
    assert "cannot be kept any more" in refused(
        lean, "savepoint", commit=lean.commits("commit_id")[0][0]
    )

    # a date after all, one between, and one before what was cleaned
    lean.load("2026-01-06", extract({1: "ann", 2: "bea", 6: "flo"}))
    lean.load("2026-01-05", extract({1: "anna", 2: "bert", 6: "flo"}))
    lean.load("2026-01-03", extract({1: "amy", 2: "bert", 7: "gil"}))
    assert lean.rows("id, name") == [(1, "ann"), (2, "bea"), (6, "flo")]
    now = known(lean, last_commit(lean))
    assert now["2026-01-03"] == [(1, "amy"), (2, "bert"), (7, "gil")]
    assert now["2026-01-04"] == [(1, "ann"), (2, "bert")]
    assert now["2026-01-05"] == [(1, "anna"), (2, "bert"), (6, "flo")]
    check(lean)


@pytest.mark.slow
def test_clean__replaced_logs(module_project: Any) -> None:
    renewed = Entity(module_project, "renewed", {"id": "int", "name": "string"})
    renewed.load("2026-01-01", "id,name\n1,ann\n2,bob\n")
    renewed.load("2026-01-02", "id,name\n1,ann\n", "--full-refresh")
    old = f"__log_{last_commit(renewed)}"
    do(renewed, "clean", retention={"superseded": "1 day"})
    assert renewed.exists(old)
    do(renewed, "clean", retention={"superseded": "0 days"})
    assert not renewed.exists(old) and renewed.rows("id") == [(1,)]
    renewed.run("2026-01-02", "--full-refresh")
    assert renewed.exists(f"__log_{last_commit(renewed)}")
    would = do(renewed, "drop_entity", dry_run=True)
    assert "would drop" in would and f"renewed__log_{last_commit(renewed)}" in would
    assert renewed.rows("id") == [(1,)]
    do(renewed, "drop_entity")
    assert not renewed.exists("*") and renewed.commits() == []


@pytest.mark.slow
@pytest.mark.iceberg(never=True)
def test_compact__between_loads(module_project: Any) -> None:
    busy = cities(module_project, "busy")
    module_project.write(
        "models/busy_optimized.sql",
        "{{ config(materialized='view') }}\n"
        "select id, name from ({{ tidemark.read_optimized(ref('busy')) }})",
    )
    busy.load("2026-01-01", extract({1: "ann", 2: "bob"}))
    # an insert alone: a second file
    busy.load("2026-01-02", extract({1: "ann", 2: "bob", 3: "cy"}))
    result = module_project.dbt("run", "--select", "busy_optimized", expect_pass=False)
    assert "was never compacted" in result.error
    assert "such as '128 MB'" in refused(busy, "compact", target_file_size="big")
    assert "did you mean `current`" in refused(busy, "compact", tables=["currant"])
    log, current = busy.rows("*", "__log"), busy.rows("*")

    # a load is at work: what it writes is left alone, also its commit
    row = busy.commits("commit_id")[-1][0]
    module_project.sql(
        "insert into tidemark_commits__log (commit_id, relation, entity, kind, state, business_date, config, state_at) "
        f"select {row + 1}, relation, entity, kind, 'inflight', business_date, config, current_timestamp() "
        f"from tidemark_commits__log where commit_id = {row} and entity = 'busy' limit 1"
    )
    assert "is being loaded: busy stays" in do(busy, "compact")
    assert ("load", "inflight") in busy.commits()
    module_project.sql(f"delete from tidemark_commits__log where commit_id = {row + 1}")

    assert "would compact busy" in do(busy, "compact", dry_run=True)
    do(busy, "compact")
    files = "select distinct _metadata.file_path from busy"
    assert len(module_project.sql(files)) == 1
    assert busy.rows("*", "__log") == log and busy.rows("*") == current
    module_project.dbt("run", "--select", "busy_optimized")
    # another way to write, from here on: rows are marked in their files until they are compacted
    busy.write(write_mode="merge_on_read")
    busy.load("2026-01-03", extract({1: "anna", 2: "bo"}))
    (detail,) = module_project.sql("describe detail busy")
    assert detail.properties["delta.enableDeletionVectors"] == "true"
    assert busy.rows("id, name") == [(1, "anna"), (2, "bo")]
    assert busy.rows("id, name", "_optimized") == [(1, "ann"), (2, "bob"), (3, "cy")]
    do(busy, "compact")
    busy.load("2026-01-02", extract({1: "ann", 2: "bobby"}))
    assert known(busy, last_commit(busy))["2026-01-02"] == [(1, "ann"), (2, "bobby")]
    assert busy.rows("id, name") == [(1, "anna"), (2, "bo")]
    check(busy)


AIRPORTS = {"icao": "string", "name": "string", "phone": "string"}


def tables(project: Any, prefix: str) -> Iterator[str]:
    for row in project.sql(f"show tables like '{prefix}*'"):
        yield row.tableName


def holders(project: Any, prefix: str, word: str) -> list[str]:
    """Tables of that prefix in which the word stands anywhere."""
    query = "select 1 from {} as t where to_json(struct(t.*)) like '%{}%' limit 1"
    return [table for table in tables(project, prefix) if project.sql(query.format(table, word))]


def files_with(project: Any, table: str, word: bytes) -> list[Path]:
    folder = project.folder_of(table)
    return [path for path in folder.rglob("*.parquet") if word in path.read_bytes()]


def airports(*rows: str) -> str:
    return "\n".join(["icao,name,phone", *rows]) + "\n"


@pytest.mark.turn(3)
def test_erase_key__nothing_left(module_project: Any) -> None:
    ports = Entity(
        module_project,
        "ports",
        AIRPORTS,
        "icao",
        extract="delta",
        sensitive=["phone"],
        on_reject="quarantine",
        not_null=("name",),
    )
    ports.load("2026-01-01", airports("WIPO,Hasanuddin,+62", "LSZH,Zurich,+41"))
    ports.load("2026-01-02", airports("WIPO,Makassar,+62", "LSZH,Zurich,+41", "EGLL,Heathrow,+44"))
    ports.load("2026-01-03", airports("WIPO,,+62", "EGLL,London,+44"), "--full-refresh")
    ports.load("2026-01-04", airports("WIPO,Makassar,+62", "EGLL,London,+45"))
    module_project.write(
        "models/ports_scd2.sql",
        "{{ config(materialized='scd2') }} {{ tidemark.scd2(ref('ports')) }}",
    )
    # an entity whose table has the same name, so that a feed of both tells them by their schemas
    config = {"schema": "abroad", "alias": "ports"}
    abroad = Entity(module_project, "abroad", AIRPORTS, "icao", config=config)
    abroad.extract("2026-01-04", airports("KJFK,Kennedy,+1"))
    module_project.write(
        "models/ports_moves.sql",
        "{{ config(materialized='feed') }} {{ tidemark.changes_between([ref('ports'), ref('abroad')]) }}",
    )
    module_project.dbt(
        "run",
        "--select",
        "abroad",
        "ports_scd2",
        "ports_moves",
        vars={"business_date": "2026-01-04"},
    )
    assert len(holders(module_project, "ports", "WIPO")) >= 5
    (key_hash,) = ports.rows("_key_hash", "", "icao = 'WIPO'")[0]
    others = ports.rows("*", "__log", "icao <> 'WIPO'")

    assert "did you mean `icao`" in refused(ports, "erase_key", key={"icoa": "WIPO"})
    assert "no table of the entity has this key" in refused(
        ports, "erase_key", key={"icao": "XXXX"}
    )
    assert "confirm: true" in refused(ports, "erase_key", key={"icao": "WIPO"}, vacuum=True)
    assert "would remove 1 row of" in do(ports, "erase_key", key={"icao": "WIPO"}, dry_run=True)
    do(ports, "erase_key", key={"icao": "WIPO"})
    assert holders(module_project, "ports", "WIPO") == []
    assert holders(module_project, "ports", key_hash) == []
    assert ports.rows("*", "__log") == others
    ((details,),) = ports.project.sql(
        "select details from tidemark_commits where entity = 'ports' and kind = 'erase_key'"
    )
    # the hash of a key that can be guessed would give it away
    assert "WIPO" not in details and key_hash not in details
    assert len(json.loads(details)["key_hashes"]) == 3

    # the files of former versions, too, also by a call that finds no row any more
    assert files_with(module_project, "ports", b"WIPO")
    asked = {"key": {"icao": "WIPO"}, "vacuum": True, "dry_run": True}
    said = do(ports, "erase_key", **asked)
    assert ": would vacuum" in said and "would finish" not in said
    assert ": would vacuum 5 tables" in do(ports, "clean", vacuum=True, dry_run=True)
    # and a call that had died is finished
    forget_completion(ports, last_commit(ports))
    assert "would finish an earlier call that erases this key" in do(ports, "erase_key", **asked)
    staged = stage_log_row(ports)
    do(ports, "erase_key", key={"icao": "WIPO"}, vacuum=True, confirm=True)
    if staged is not None:
        # its file went, too
        with pytest.raises(TidemarkError, match="another run has written"):
            staged.commit()
    for table in ("ports", "ports__log", "ports__sensitive", "ports_scd2", "ports_moves"):
        assert files_with(module_project, table, b"WIPO") == []
    assert ports.commits()[-1] == ("erase_key", "completed")
    module_project.dbt("run", "--select", "ports_scd2")
    assert holders(module_project, "ports", "WIPO") == []
    check(ports)


def files_of_home(project: Any, word: str) -> list[str]:
    """Files below the home in which the word stands; Parquet is read, as its pages are compressed.

    Spark's scratch files go with its process.
    """
    found = []
    for path in sorted(project.home.rglob("*")):
        if path.is_file() and not path.is_relative_to(project.home / "tmp"):
            data = path.read_bytes()
            if data[:4] == b"PAR1":
                data += str(pyarrow.parquet.ParquetFile(path).read().to_pylist()).encode()
            if word.encode() in data:
                found.append(str(path.relative_to(project.home)))
    return found


@pytest.mark.iceberg(never=True)
@pytest.mark.turn(1)
@pytest.mark.one_way
def test_erase_key__in_no_file(module_project: Any) -> None:
    """Neither Delta's log, with the conditions of its commits and the bounds of values, nor a log has the key; one that comes again is told."""
    mail, other = "wipo@example.org", "zzzz@example.org"
    people = Entity(
        module_project,
        "people",
        {"mail": "string", "name": "string"},
        "mail",
        extract="delta",
        on_reject="quarantine",
        not_null=("name",),
    )
    rows = f"{mail},Wilma\n{other},Zoe\n"
    people.load("2026-01-01", f"mail,name\n{rows}")
    people.load("2026-01-02", f"mail,name\n{mail},\n{other},Zoey\n")
    module_project.write(
        "models/people_scd2.sql",
        "{{ config(materialized='scd2') }} {{ tidemark.scd2(ref('people')) }}",
    )
    module_project.dbt("run", "--select", "people_scd2")
    history = module_project.home / "shell_history"
    history.write_text(
        f"\n# 2026-01-03 10:00:00\n+history people {mail}\n\n# 2026-01-03 10:00:01\n+status\n"
    )
    assert len(files_of_home(module_project, mail)) > 5
    said = do(people, "erase_key", key=keep({"mail": mail}), vacuum=True, confirm=True)
    assert "no file of its tables has it any more" in said and "the key is in files" not in said
    assert files_of_home(module_project, mail) == []
    assert "+status" in history.read_text()
    history.unlink()
    # what began with a checkpoint goes on, and time travel has ended
    assert people.rows("mail, name") == [(other, "Zoey")]
    people.load("2026-01-03", f"mail,name\n{other},Zora\n")
    assert "erased key" not in people.load("2026-01-04", f"mail,name\n{other},Zora\n").output
    module_project.dbt("run", "--select", "people_scd2")
    check(people)

    said = people.load("2026-01-05", f"mail,name\n{rows}").output
    assert (
        "people: 1 erased key is back by commit" in said
        and "1 erased key is back" in said.split("people:")[-1]
    )
    # the same where it comes by a full refresh, whose log was another one while it was written
    said = people.load("2026-01-06", f"mail,name\n{rows}", "--full-refresh").output
    assert "1 erased key is back" in said.split("people:")[-1]
    # by dbt's own command its log has the key: that is said
    said = do(people, "erase_key", key={"mail": mail})
    assert "the key is in files" in said and "dbt's log (with this command)" in said


@pytest.mark.slow
def test_erase_key__events(module_project: Any) -> None:
    shops = EventEntity(
        module_project,
        "shops",
        {"code": "string", "town": "string"},
        "code",
        on_reject="quarantine",
        superseded_retention="0 days",
        history_retention="0 days",
        staging_retention="0 days",
        rejects_retention="0 days",
    )
    shops.load(
        [
            insert({"code": "alpha", "town": "Bern"}),
            insert({"code": "beta", "town": "Chur"}),
            # alpha becomes gamma and brings only its new key
            update({"code": "gamma"}, before={"code": "alpha"}),
            update({"code": "beta", "town": "Cham"}),
            '{"_database": "shop", "_table": "shops", "code": "alpha", ',
        ]
    )
    shops.load([delete({"code": "beta"}), insert({"code": "delta", "town": "Genf"})])
    rows = shops.rows("code, town")
    assert rows == [("delta", "Genf"), ("gamma", "Bern")]
    assert len(holders(module_project, "shops", "alpha")) >= 3
    do(shops, "erase_key", key={"code": "alpha"})
    assert holders(module_project, "shops", "alpha") == []
    assert shops.rows("code, town") == rows
    # what is kept of the events is enough for those that come
    do(shops, "clean")
    assert shops.rows("code, town, _operation", "__log", "_operation in ('I', 'U', 'D')") == [
        ("delta", "Genf", "I"),
        ("gamma", "Bern", "I"),
    ]
    assert shops.rows("*", "__staging") == [] and shops.rows("*", "__rejects") == []
    shops.load(
        [update({"code": "gamma", "town": "Basel"}), insert({"code": "beta", "town": "Zug"})]
    )
    assert shops.rows("code, town") == [("beta", "Zug"), ("delta", "Genf"), ("gamma", "Basel")]
    # a call that died is finished, though another key was erased since, which rolls it back
    do(shops, "erase_key", key={"code": "gamma"})
    forget_completion(shops, last_commit(shops))
    do(shops, "erase_key", key={"code": "beta"})
    do(shops, "erase_key", key={"code": "gamma"}, vacuum=True, confirm=True)
    assert shops.rows("code, town") == [("delta", "Genf")]
    assert holders(module_project, "shops", "gamma") == []
    check(shops)


@pytest.mark.slow
@pytest.mark.iceberg(never=True)
def test_merge_keys__same_rows(module_project: Any) -> None:
    told, untold = (
        Entity(module_project, name, {"id": "int", "name": "string"}, null_keys="allow")
        for name in ("told", "untold")
    )
    for day, text in (
        ("2026-01-01", "id,name\n1,ann\n2,bob\n3,cy\n,nobody\n"),
        ("2026-01-03", "id,name\n1,anna\n3,cy\n4,di\n,none\n"),
        ("2026-01-02", "id,name\n1,amy\n2,bo\n4,dora\n"),
    ):
        told.load(day, text)
        untold.extract(day, text)
        untold.run(day, tidemark__merge_keys=0)
        columns = "id, name, _key_hash, _row_hash, _operation, _eff_start_date"
        assert told.rows(columns) == untold.rows(columns)
    assert told.rows("id, name") == [(None, "none"), (1, "anna"), (3, "cy"), (4, "di")]


@pytest.mark.iceberg(never=True)
def test_settings__are_checked(module_project: Any) -> None:
    wrong = Entity(
        module_project,
        "wrong",
        {"id": "int"},
        config={"file_format": "parquet"},
        feed_retention="a month",
        history_retention="1 day",
        write_mode="merge_on_read",
    )
    error = wrong.run("2026-01-01", expect_pass=False).error
    module_project.remove("models/wrong.sql")
    module_project.remove("models/wrong.yml")
    assert "feed_retention must be a length of time such as '30 days'" in error
    assert "file_format: parquet is not supported any more. Set file_format to delta" in error
    assert "write_mode: merge_on_read needs file_format: delta" in error
