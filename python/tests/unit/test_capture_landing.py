"""What landing makes of envelopes that real databases sent."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.captures import read
from tidemark.capture.config import CaptureConfig, Flush
from tidemark.capture.events import read_event, read_line
from tidemark.capture.files import LandingError, event_file, read_lines
from tidemark.capture.lander import Lander
from tidemark.capture.snapshots import source_of
from tidemark.capture.state import CaptureState, settled_at, settled_before

NAMES = ["postgres_inline_schema", "mariadb_inline_schema", "mariadb_schemaless"]


def records(name: str) -> list[tuple[str, str | None, str | None]]:
    """Topic, key and value of a capture, each as Debezium's converter writes it."""
    found = []
    for line in read(f"{name}.jsonl").splitlines():
        content = json.loads(line)
        key, value = (
            None
            if content[part] is None
            else json.dumps(content[part], separators=(",", ":"), ensure_ascii=False)
            for part in ("key", "value")
        )
        found.append((content["topic"], key, value))
    return found


def land_all(name: str, folder: Path, **options: Any) -> list[dict[str, Any]]:
    lander = Lander(folder, Flush(rows=7), **options)
    for number, (topic, key, value) in enumerate(records(name)):
        lander.add(topic, key, value, number)
        if lander.is_due():
            lander.land()
    lander.land()
    return landed(folder)


def landed(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(folder.glob("ev-*"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_envelopes_are_untouched(name: str, tmp_path: Path) -> None:
    lines = land_all(name, tmp_path)
    values = [line["value"] for line in lines if not line["_id"].startswith("end:")]
    sent = []
    for topic, _, value in records(name):
        event = read_event(topic, value)
        if event.kind in ("row", "ddl", "message"):
            sent.append(json.loads(value or "null"))
    assert values == sent
    identities = [line["_id"] for line in lines]
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_again_is_left_out(name: str, tmp_path: Path) -> None:
    before = land_all(name, tmp_path)
    identities = {line["_id"] for line in before if not line["_id"].startswith("r:")}
    lander = Lander(tmp_path, Flush(), number=len(before), landed=identities, snapshot_done=True)
    stream = [
        record
        for record in records(name)
        if not (event := read_event(record[0], record[2])).snapshot and event.op != "r"
    ]
    for topic, key, value in stream:
        lander.add(topic, key, value, "token")
    assert lander.buffered == 0
    assert lander.dropped == len(identities)


@pytest.mark.parametrize("name", NAMES)
def test_only_whole_transactions_are_acknowledged(name: str, tmp_path: Path) -> None:
    lander = Lander(tmp_path, Flush(rows=1))
    kinds = [read_event(topic, value).kind for topic, _, value in records(name)]
    operations = [read_event(topic, value).op for topic, _, value in records(name)]
    for number, (topic, key, value) in enumerate(records(name)):
        lander.add(topic, key, value, number)
        mark = lander.land()
        if mark is None:
            continue
        # an END, what is in no transaction, or a schema change that the next BEGIN ends
        assert kinds[mark.token] in ("end", "heartbeat", "ddl") or operations[mark.token] in (
            "r",
            "t",
            "m",
            "",
        ), mark
    assert lander.snapshot_done


def envelope(op: str, **source: Any) -> str:
    value = {
        "before": None,
        "after": {"source": {"version": "x"}},
        "source": {
            "version": "3.5.0.Final",
            "connector": "postgresql",
            "schema": "s",
            "table": "t",
            **source,
        },
        "transaction": None,
        "op": op,
    }
    return json.dumps({"schema": {"type": "struct"}, "payload": value}, separators=(",", ":"))


def read_row(table: str, mark: str) -> str:
    place = {"db": "shop", "schema": "public", "table": table, "txId": 7, "lsn": 90}
    return envelope("r", **place, snapshot=mark, ts_ms=5)


@pytest.mark.parametrize("last", ["a row", "a heartbeat", "a transaction"])
def test_end_of_a_snapshot(last: str, tmp_path: Path) -> None:
    """Of each table that it has read, in the file of its last row, before what comes after it."""
    told = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public"}
    tables = ("busy", "empty", "lone")
    lander = Lander(
        tmp_path, Flush(), number=4, ends=lambda: [{**told, "table": name} for name in tables]
    )
    lander.add("shop.public.lone", None, read_row("lone", "first"), 1)
    if last == "a row":
        lander.add("shop.public.busy", None, read_row("busy", "first_in_data_collection"), 2)
        assert not lander.is_snapshot_over
        lander.add("shop.public.busy", None, read_row("busy", "last"), 3)
    elif last == "a heartbeat":
        lander.add("shop.public.lone", None, read_row("lone", "last_in_data_collection"), 2)
        lander.add("__debezium-heartbeat.shop", None, '{"ts_ms": 1}', 3)
    else:
        lander.add("shop.transaction", None, '{"status": "BEGIN", "id": "8:91"}', 3)
        lander.add(
            "shop.public.lone",
            None,
            envelope("c", schema="public", table="lone", txId=8, lsn=91),
            4,
        )
    assert lander.is_snapshot_over
    mark = lander.land()
    lines = landed(tmp_path)
    ends = [line for line in lines if line["value"]["payload"]["op"] == "snapshot"]
    assert [end["value"]["payload"]["source"]["table"] for end in ends] == list(tables)
    # it stands where the rows stand, and comes before what happened since
    for end in ends:
        source = end["value"]["payload"]["source"]
        assert (source["txId"], source["lsn"], source["snapshot"]) == (7, 90, "last")
        event = read_line(json.dumps(end).encode())[1]
        assert (event.kind, event.table) == ("snapshot", f"public.{source['table']}")
    rest = lines[lines.index(ends[-1]) + 1 :]
    assert [line["value"]["payload"]["op"] for line in rest] == (
        ["c"] if last == "a transaction" else []
    )
    if last != "a transaction":
        assert mark is not None and (mark.number, mark.line, mark.token) == (5, len(lines), 3)
    # they are no changes, and a capture that goes on knows that the snapshot is over
    assert sum(lander.figures.events.values()) == len(lines) - len(ends)
    found = CaptureState(tmp_path).read_landed(settled_before(0))
    assert found.has_snapshot
    assert found.identities == {line["_id"] for line in rest}


def test_end_of_a_snapshot__of_nothing(tmp_path: Path) -> None:
    """Where no table has a row, there is no place that they have in the log."""
    told = {"connector": "mariadb", "name": "shop", "db": "shop", "table": "empty"}
    lander = Lander(tmp_path, Flush(), number=4, ends=lambda: [told])
    lander.add("__debezium-heartbeat.shop", None, '{"ts_ms": 1}', 1)
    lander.add("__debezium-heartbeat.shop", None, '{"ts_ms": 2}', 2)
    lander.land()
    (line,) = landed(tmp_path)
    assert (line["topic"], line["_id"]) == ("shop.shop.empty", "r:5:1")
    assert line["value"]["payload"]["source"] == {**told, "snapshot": "last"}
    # where no rows are read, nothing ends
    lander = Lander(tmp_path / "first", Flush())
    lander.add("__debezium-heartbeat.shop", None, '{"ts_ms": 1}', 1)
    assert lander.is_snapshot_over
    lander.land()
    assert not (tmp_path / "first").exists()


@pytest.mark.parametrize("last", ["a row", "a heartbeat"])
def test_end_of_a_snapshot__of_the_first_one(last: str, tmp_path: Path) -> None:
    """Copies may have rows from another folder: what no row tells is told of the others."""
    told = {"connector": "postgresql", "name": "shop", "db": "shop", "schema": "public"}
    tables = ("busy", "empty", "lone")
    lander = Lander(
        tmp_path, Flush(), ends=lambda: [{**told, "table": name} for name in tables], is_first=True
    )
    if last == "a row":
        lander.add("shop.public.lone", None, read_row("lone", "first"), 1)
        lander.add("shop.public.busy", None, read_row("busy", "first_in_data_collection"), 2)
        lander.add("shop.public.busy", None, read_row("busy", "last"), 3)
    else:
        lander.add("shop.public.busy", None, read_row("busy", "first"), 2)
        lander.add("shop.public.busy", None, read_row("busy", "last_in_data_collection"), 3)
        lander.add("__debezium-heartbeat.shop", None, '{"ts_ms": 1}', 4)
    lander.land()
    payloads = [line["value"]["payload"] for line in landed(tmp_path)]
    ends = [one["source"]["table"] for one in payloads if one["op"] == "snapshot"]
    assert ends == (["empty", "lone"])
    assert set(lander.snapshot_tables.values()) == {"done"}


def test_tables_as_debezium_calls_them() -> None:
    def told(connector: str, name: str) -> list[str]:
        connection = {"host": "h", "database": "shop", "user": "u", "password": {"env": "P"}}
        config = CaptureConfig.from_dict("s", {"connector": connector, "connection": connection})
        source = source_of(config, config.login({"P": "x"}), name)
        return [source.get(part, "") for part in ("db", "schema", "table")]

    assert told("postgresql", "public.a.b") == ["shop", "public", "a.b"]
    assert told("mysql", "shop.t") == ["shop", "", "t"]
    assert told("sqlserver", "shop.dbo.t") == ["shop", "dbo", "t"]


def test_fields_are_not_taken_from_images() -> None:
    event = read_event("t", envelope("c", txId=7, lsn=9, snapshot="false"))
    assert (event.op, event.place, event.table) == ("c", "7:9:c", "s.t")
    text = '"source":{"version":"fake"},"op":"d"'
    value = json.loads(envelope("u", txId=7, lsn=9))
    value["payload"]["after"] = {"a": text}
    assert read_event("t", json.dumps(value, separators=(",", ":"))).op == "u"


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (
            {
                "connector": "mysql",
                "server_id": 3,
                "gtid": None,
                "file": "b.1",
                "pos": 5,
                "row": 2,
                "db": "d",
            },
            "3:b.1:5:2:c",
        ),
        (
            {
                "connector": "mariadb",
                "server_id": 3,
                "gtid": "0-3-9",
                "file": "b.1",
                "pos": 5,
                "row": 2,
            },
            "0-3-9:b.1:5:2:c",
        ),
        (
            {
                "connector": "sqlserver",
                "commit_lsn": "a:1",
                "change_lsn": "a:2",
                "event_serial_no": 1,
            },
            "a:1:a:2:1:c",
        ),
        ({"connector": "oracle", "scn": "77", "txId": "0a"}, "77:0a:c"),
    ],
)
def test_places(source: dict[str, Any], place: str) -> None:
    assert read_event("t", envelope("c", **source)).place == place


def test_files_are_closed_by_rows_bytes_and_time(tmp_path: Path) -> None:
    now = [0.0]

    def clock() -> float:
        return now[0]

    lander = Lander(tmp_path, Flush(rows=2, seconds=5, bytes=1000), clock=clock)
    lander.add("t", None, envelope("r", snapshot="first", lsn=1), 1)
    assert not lander.is_due()
    now[0] = 6.0
    assert lander.is_due()
    assert lander.land() is not None
    for number in (2, 3):
        lander.add("t", None, envelope("r", snapshot="true", lsn=1), number)
    assert lander.is_due()
    lander.land()
    lander.add("t", None, envelope("r", snapshot="last", lsn=1, ts_ms=1, padding="x" * 1000), 4)
    assert lander.is_due() and lander.is_snapshot_over
    lander.land()
    assert lander.snapshot_done and lander.snapshot_tables == {"s.t": "done"}
    assert lander.land() is None


def test_nothing_is_acknowledged_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lander = Lander(tmp_path, Flush())
    lander.add("t", None, envelope("r", snapshot="true"), 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tidemark.capture.lander.write_atomically", full)
    with pytest.raises(LandingError, match="No space left on device"):
        lander.land()
    # whoever comes next, in whichever thread, is told the same
    with pytest.raises(LandingError, match="No space left on device"):
        lander.add("t", None, envelope("r", snapshot="true"), 2)
    with pytest.raises(LandingError, match="No space left on device"):
        lander.land()
    monkeypatch.setattr("tidemark.capture.files.write_atomically", full)
    with pytest.raises(LandingError, match=r"status\.json cannot be written \(No space left"):
        CaptureState(tmp_path).write_status({})


def test_tail(tmp_path: Path) -> None:
    land_all("postgres_inline_schema", tmp_path)
    state = CaptureState(tmp_path)
    everything = state.read_landed(settled_before(0))
    ends = sorted(
        int(name.split(":")[2]) for name in everything.identities if name.startswith("end:")
    )
    # confirmed up to the last but one transaction: only the last files are read
    tail = state.read_landed(settled_before(ends[-2] + 1))
    assert tail.identities < everything.identities
    assert f"end:{max(everything.identities, key=_end).split(':', 1)[1]}" in tail.identities
    assert everything.has_snapshot and tail.number == everything.number
    numbers = [number for number, _ in enumerate(sorted(tmp_path.glob("ev-*")), start=1)]
    assert state.read_landed(settled_at(numbers[-1], 0)).identities < everything.identities


def _end(identity: str) -> int:
    return int(identity.split(":")[2]) if identity.startswith("end:") else 0


@pytest.mark.parametrize(
    ("offsets", "is_over"),
    [
        (None, False),
        ('{"snapshot":true,"file":"b.1"}', False),
        ('{"snapshot":"INITIAL","snapshot_completed":false}', False),
        ('{"snapshot":true,"snapshot_completed":true}', True),
        ('{"gtids":"0-1-7"}', True),
    ],
)
def test_killed_before_the_positions_after_a_snapshot_were_kept(
    offsets: str | None, is_over: bool, tmp_path: Path
) -> None:
    """It is taken anew, and what it does not read again is to be told at its end."""
    pytest.importorskip("jpype")
    from tidemark.capture.sources import WithOffsets

    lander = Lander(tmp_path, Flush())
    lander.add("shop.shop.t", None, read_row("t", "last"), 1)
    lander.land()
    state = CaptureState(tmp_path)
    state.open()
    state.mark_snapshot()
    if offsets is not None:
        state.positions.offsets.write_text(offsets)
        state.positions.copy(1, 1)
    connection = {"host": "h", "user": "u", "password": {"env": "P"}}
    config = CaptureConfig.from_dict("s", {"connector": "mariadb", "connection": connection})
    start = WithOffsets(config, config.login({"P": "x"})).prepare(state)
    assert (start.landed.number, state.snapshot_done) == (1, is_over)
    state.close()


def test_two_captures_of_one_folder(tmp_path: Path) -> None:
    first, second = CaptureState(tmp_path), CaptureState(tmp_path)
    first.open()
    with pytest.raises(LandingError, match="another capture"):
        second.open()
    first.close()
    second.open()
    second.close()


def test_unfinished_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "ev-0000000001.jsonl.gz.tmp").write_bytes(b"half")
    state = CaptureState(tmp_path)
    state.open()
    assert list(tmp_path.glob("*.tmp")) == []
    state.close()


def test_damaged_file(tmp_path: Path) -> None:
    land_all("postgres_inline_schema", tmp_path)
    path = event_file(tmp_path, 2)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LandingError, match="is damaged"):
        list(read_lines(path))


def test_last_file_is_gone(tmp_path: Path) -> None:
    state = CaptureState(tmp_path)
    state.open()
    state.write_status({"last_file": 3})
    with pytest.raises(LandingError, match="3 have landed"):
        state.last_number()
    state.forget()
    assert state.last_number() == 3
    state.close()


@pytest.mark.parametrize("cut", [0, 100])
def test_torn_positions(tmp_path: Path, cut: int) -> None:
    state = CaptureState(tmp_path)
    state.open()
    history = b'{"a":1}\n{"b":2}\n'
    for number in (1, 2, 3, 4, 5):
        state.positions.offsets.write_bytes(b"\xac\xed" + bytes([number]) * 200)
        state.positions.history.write_bytes(history[: 8 * min(number, 2)])
        state.positions.copy(number, 0)
    # the engine's own files are torn: the newest copy counts
    state.positions.offsets.write_bytes(state.positions.offsets.read_bytes()[:cut])
    state.positions.history.write_bytes(history + b'{"torn')
    (tmp_path / "ev-0000000005.jsonl.gz").write_bytes(gzip.compress(b""))
    position = state.positions.restore()
    assert position is not None and (position.file, position.line) == (5, 0)
    assert state.positions.offsets.read_bytes() == b"\xac\xed" + bytes([5]) * 200
    assert state.positions.history.read_bytes() == history
    # the structures are lost: their copy counts
    state.positions.history.write_bytes(history[:5])
    assert state.positions.restore() is not None
    assert state.positions.history.read_bytes() == history
    # the newest copy is torn as well: the one before counts
    copies = sorted(state.folder.glob("offsets.0*"))
    assert len(copies) == 3
    copies[-1].write_bytes(copies[-1].read_bytes()[:cut])
    position = state.positions.restore()
    assert position is not None and position.file == 4
    for path in copies:
        path.write_bytes(b"")
    with pytest.raises(LandingError, match="--resnapshot"):
        state.positions.restore()
    state.close()
