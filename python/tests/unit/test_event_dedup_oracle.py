"""The oracle of de-duplication, by cases worked out by hand and by what must hold of any stream. No JVM."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.shred.enriched import COLUMNS, Event, parse_line, synthetic_id, to_json_line, to_line

from ..functional.event_dedup_oracle import POPULATED, Batch, Claim, Kept, Loads, Outcome, Steps

DAY_1 = datetime(2026, 3, 1, 12)


def uuid_of(letter: str) -> str:
    return f"{ord(letter):08x}-0000-4000-8000-00000000abcd"


def an_event(
    letter: str,
    fingerprint: str | None = "f",
    etl: datetime | None = DAY_1,
    collector: datetime = datetime(2026, 3, 1, 11),
    **texts: str | None,
) -> Event:
    event: Event = dict.fromkeys(COLUMNS)
    event.update(
        event_id=uuid_of(letter),
        event_fingerprint=fingerprint,
        etl_tstamp=etl.isoformat(sep=" ") if etl else None,
        collector_tstamp=collector.isoformat(sep=" "),
        v_collector="c",
        v_etl="e",
    )
    event.update(texts)
    return event


def line(
    letter: str,
    fingerprint: str | None = "f",
    etl: datetime | None = DAY_1,
    collector: datetime = datetime(2026, 3, 1, 11),
    **texts: str | None,
) -> str:
    return to_line(an_event(letter, fingerprint, etl, collector, **texts))


def batch(name: str, *lines: str, days: float | None = None) -> Batch:
    """A batch; its etl timestamp is so many days after DAY_1, without days that of its events."""
    return Batch(name, lines, None if days is None else DAY_1 + timedelta(days=days))


def load(loads: Loads, each: Batch, die_after: int | None = None) -> Outcome:
    outcome = loads.load(each, die_after)
    assert outcome is not None
    numbers = [kept.line for kept in outcome.atomic]
    everywhere = [*numbers, *outcome.duplicates, *outcome.rejects]
    assert sorted(everywhere) == list(range(len(each.lines))), "a line is lost or counted twice"
    return outcome


def shown(outcome: Outcome) -> list[str]:
    """`A:f` for an event with its own id, `A:f*` for one that was renamed in its batch, `A:f+` across batches."""
    return sorted(map(show, outcome.atomic))


def show(kept: Kept) -> str:
    letter = chr(int(kept.original_id[:8], 16))
    mark = {None: "", "synthetic_in_batch": "*", "synthetic_cross_batch": "+"}[kept.renamed]
    assert (kept.event_id == synthetic_id(*kept.key)) == bool(mark)
    assert (kept.event_id == kept.original_id) == (not mark)
    return f"{letter}:{kept.key[1]}{mark}"


# -- One batch -----------------------------------------------------------------------------------


def test_worked_example() -> None:
    loads = Loads()
    # day 1: A twice, B with two contents, C alone, a line that is no event
    first = batch(
        "1", line("A"), line("B", "f"), line("A"), "garbage", line("B", "g"), line("C"), days=0
    )
    outcome = load(loads, first)
    assert shown(outcome) == ["A:f", "B:f*", "B:g*", "C:f"]
    assert outcome.duplicates == {2: "natural_in_batch"}
    assert outcome.rejects == {3: "unreadable"}
    assert outcome.counts == {
        "read": 6,
        "atomic": 4,
        "rejected": 1,
        "natural_in_batch": 1,
        "synthetic_in_batch": 2,
    }
    # day 2: A and B:g come again, C with another content, D is new
    second = batch("2", line("A"), line("B", "g"), line("C", "g"), line("D"), days=1)
    outcome = load(loads, second)
    assert shown(outcome) == ["C:g+", "D:f"]
    assert outcome.duplicates == {0: "natural_cross_batch", 1: "natural_cross_batch"}
    # day 3: each of C's contents once more, and a third
    third = batch("3", line("C", "f"), line("C", "g"), line("C", "h"), days=2)
    assert shown(load(loads, third)) == ["C:h+"]
    assert [show(kept) for kept in loads.atomic if show(kept).startswith("C")] == [
        "C:f",
        "C:g+",
        "C:h+",
    ]


def test_renamed_event() -> None:
    contexts = '{"schema":"iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0","data":[{"schema":"iglu:a/b/jsonschema/1-0-0","data":{}}]}'
    lines = line("A", "f", derived_contexts=contexts), line("A", "g")
    with_others, alone = load(Loads(), batch("1", *lines)).atomic
    duplicate = {
        "schema": "iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0",
        "data": {"originalEventId": uuid_of("A")},
    }
    other = {"schema": "iglu:a/b/jsonschema/1-0-0", "data": {}}
    assert json.loads(with_others.event["derived_contexts"] or "") == {
        "schema": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-0",
        "data": [duplicate, other],
    }
    assert json.loads(alone.event["derived_contexts"] or "") == {
        "schema": "iglu:com.snowplowanalytics.snowplow/contexts/jsonschema/1-0-1",
        "data": [duplicate],
    }
    changed = {c for c in COLUMNS if with_others.event[c] != parse_line(lines[0])[c]}
    assert changed == {"event_id", "derived_contexts"}


def test_natural_copies__which_stays() -> None:
    later = DAY_1 + timedelta(hours=1)
    lines = {
        "no etl": line("A", etl=None),
        "later etl": line("A", etl=later, collector=datetime(2026, 1, 1)),
        "later collector": line("A", collector=datetime(2026, 3, 2)),
        "page b": line("A", page_title="b"),
        "page a": line("A", page_title="a"),
    }
    preferred = ["page b", "page a", "later collector", "later etl", "no etl"]
    for names in itertools.permutations(lines, 3):
        (kept,) = load(Loads(), batch("1", *(lines[name] for name in names))).atomic
        assert names[kept.line] == min(names, key=preferred.index)


def test_natural_copies__timestamps_are_compared_as_such() -> None:
    short, long = line("A", page_title="z"), line("A", collector_tstamp="2026-03-01 11:00:00.000")
    (kept,) = load(Loads(), batch("1", short, long)).atomic
    # Equal moments: the text of the line decides, "…00\t" before "…00.000".
    assert kept.line == 0


def test_ids_in_upper_case_are_the_same() -> None:
    loads = Loads()
    upper = uuid_of("A").upper()
    outcome = load(loads, batch("1", line("A", event_id=upper), line("A", "g"), days=0))
    assert shown(outcome) == ["A:f*", "A:g*"]
    outcome = load(
        loads, batch("2", line("B", event_id=upper), line("A", "h", event_id=upper), days=1)
    )
    assert shown(outcome) == ["A:h+"]
    assert outcome.duplicates == {0: "natural_cross_batch"}
    assert {kept.original_id for kept in loads.atomic} == {uuid_of("A")}
    (kept,) = load(loads, batch("3", line("C", event_id=uuid_of("C").upper()), days=2)).atomic
    assert kept.event_id == uuid_of("C")


def test_missing_fingerprint_is_computed() -> None:
    loads = Loads()
    lines = (
        line("A", None),
        line("A", None, etl=DAY_1 + timedelta(hours=1), user_ipaddress="192.0.2.1"),
        line("A", None, page_title="other"),
    )
    outcome = load(loads, batch("1", *lines))
    assert outcome.duplicates == {1: "natural_in_batch"}
    assert outcome.counts["synthetic_in_batch"] == 2
    assert all(len(kept.event["event_fingerprint"] or "") == 32 for kept in outcome.atomic)
    again = load(loads, batch("2", line("A", None, collector=DAY_1), days=9))
    assert again.duplicates == {0: "natural_cross_batch"}


def test_rejects() -> None:
    lines = (
        line("A", txn_id="x"),
        line("A", event_id="x"),
        "",
        line("A"),
        line("A", v_etl=None),
        "{",
    )
    outcome = load(Loads(), batch("1", *lines))
    assert outcome.rejects == {
        0: "cast_failed: txn_id",
        1: "cast_failed: event_id",
        2: "unreadable",
        4: "null_value: v_etl",
        5: "unreadable",
    }
    assert shown(outcome) == ["A:f"]


def test_json_lines_are_the_same_events() -> None:
    loads = Loads()
    event = an_event("A", None, page_title="ü", txn_id="7", br_cookies="1")
    assert load(loads, batch("1", to_line(event), to_json_line(event))).counts == {
        "read": 2,
        "atomic": 1,
        "natural_in_batch": 1,
    }


def test_batch_without_events() -> None:
    loads = Loads()
    assert load(loads, batch("1")).counts == {}
    assert load(loads, batch("2", "garbage")).counts == {"read": 1, "rejected": 1}
    assert loads.claims == []


def test_hot_id() -> None:
    lines = [line("A", f"f{number // 2}") for number in range(1000)]
    assert load(Loads(), batch("1", *lines)).counts == {
        "read": 1000,
        "atomic": 500,
        "natural_in_batch": 500,
        "synthetic_in_batch": 500,
    }


# -- Several batches -----------------------------------------------------------------------------


def test_synthetic_group_with_a_natural_cross_batch_duplicate() -> None:
    loads = Loads()
    load(loads, batch("1", line("A", "f"), days=0))
    outcome = load(loads, batch("2", line("A", "f"), line("A", "g"), days=1))
    assert shown(outcome) == ["A:g+"]
    outcome = load(loads, batch("3", line("A", "f"), line("A", "h"), line("A", "i"), days=2))
    assert shown(outcome) == ["A:h*", "A:i*"]
    assert outcome.duplicates == {0: "natural_cross_batch"}


def test_copies_of_renamed_events_are_recognised() -> None:
    loads = Loads()
    load(loads, batch("1", line("A", "f"), line("A", "g"), days=0))
    load(loads, batch("2", line("A", "h"), days=1))
    outcome = load(loads, batch("3", line("A", "h"), line("A", "g"), line("A", "f"), days=2))
    assert outcome.counts == {"read": 3, "natural_cross_batch": 3}
    assert {claim.event_id for claim in loads.claims} == {uuid_of("A")}
    assert {claim.stored_id for claim in loads.claims} == {kept.event_id for kept in loads.atomic}


def test_first_event_keeps_its_id_when_a_sibling_comes() -> None:
    loads = Loads()
    first = batch("1", line("A", "f"), days=0)
    before = load(loads, first)
    load(loads, batch("2", line("A", "g"), days=1))
    assert load(loads, first) == before
    assert shown(before) == ["A:f"]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (timedelta(days=180), ["natural_cross_batch"]),
        (timedelta(days=180, microseconds=1), []),
        (timedelta(days=-400), ["natural_cross_batch"]),
    ],
)
def test_expiry(after: timedelta, expected: list[str]) -> None:
    loads = Loads()
    load(loads, batch("1", line("A")))
    outcome = load(loads, batch("2", line("A", etl=DAY_1 + after)))
    assert list(outcome.duplicates.values()) == expected
    sibling = load(loads, batch("3", line("A", "g", etl=DAY_1 + after)))
    assert shown(sibling) == ["A:g+"]


def test_expiry__whatever_comes_with_an_event() -> None:
    """Neither a clock that was ahead nor a late file beside one of today has the claims of others end."""
    loads = Loads()
    load(loads, batch("1", line("A"), line("B", "f"), line("C")))
    later = DAY_1 + timedelta(days=200)
    beside = line("D", etl=later), line("C", etl=later)
    outcome = load(loads, batch("2", line("A"), line("B", "g"), *beside))
    assert outcome.duplicates == {0: "natural_cross_batch"}
    assert shown(outcome) == ["B:g+", "C:f", "D:f"]


def test_expiry__of_a_sibling_and_not_renewed_by_copies() -> None:
    loads = Loads()
    load(loads, batch("1", line("A", "f", etl=None), days=0))
    assert load(loads, batch("2", line("A", "f", etl=None), days=170)).duplicates
    # Not renewed at day 170: at day 190 the id is as good as new.
    assert shown(load(loads, batch("3", line("A", "g", etl=None), days=190))) == ["A:g"]
    assert shown(load(loads, batch("4", line("A", "f", etl=None), days=190))) == ["A:f+"]


def test_expiry__rerun_of_the_batch_whose_claims_expired_changes_nothing() -> None:
    loads = Loads()
    first = batch("1", line("A", etl=None), line("B", etl=None), days=0)
    before = load(loads, first)
    assert shown(load(loads, batch("2", line("A", etl=None), days=200))) == ["A:f"]
    claims = list(loads.claims)
    assert load(loads, first) == before
    assert loads.claims == claims


def test_two_batches_with_the_same_etl_timestamp() -> None:
    loads = Loads()
    load(loads, batch("1", line("A"), line("B"), days=0))
    outcome = load(loads, batch("2", line("A"), line("B", "g"), line("C"), days=0))
    assert outcome.duplicates == {0: "natural_cross_batch"}
    assert shown(outcome) == ["B:g+", "C:f"]


def test_etl_timestamp_of_a_batch() -> None:
    hour = timedelta(hours=1)
    loads = Loads()
    load(loads, batch("1", line("A"), line("B")))
    # A comes again byte for byte with newer events: the batch does not become as old as the first.
    outcome = load(loads, batch("2", line("A"), line("C", etl=DAY_1 + hour)))
    assert outcome.duplicates == {0: "natural_cross_batch"}
    load(loads, batch("3", line("D", etl=None, collector=DAY_1 - hour)))
    tstamps = {claim.batch: claim.etl_tstamp for claim in loads.claims}
    assert tstamps == {"1": DAY_1, "2": DAY_1 + hour, "3": DAY_1 - hour}


def test_claims_of_another_tool() -> None:
    """A manifest without batches, as upstream's: the same etl timestamp means an interrupted attempt."""
    loads = Loads()
    before = DAY_1 - timedelta(hours=2)
    loads.claim(Claim(uuid_of("A"), "f", before))
    loads.claim(Claim(uuid_of("A"), "other", before))
    loads.claim(Claim(uuid_of("Z"), "f", before))
    loads.claim(Claim(uuid_of("B"), "f", DAY_1))
    outcome = load(loads, batch("1", line("A"), line("C"), line("C"), line("B"), days=0))
    assert shown(outcome) == ["B:f", "C:f"]
    assert outcome.duplicates == {0: "natural_cross_batch", 2: "natural_in_batch"}
    assert len(loads.claims) == 5
    # in seconds of the earliest, as upstream writes them
    first, last = (DAY_1 + timedelta(days=1, seconds=seconds) for seconds in (0.25, 90.5))
    loads.claim(Claim(uuid_of("D"), "f", first.replace(microsecond=0)))
    loads.claim(Claim(uuid_of("E"), "f", first.replace(microsecond=0)))
    outcome = load(loads, batch("2", line("D", etl=first), line("E", etl=last)))
    assert shown(outcome) == ["D:f", "E:f"]


# -- Failed attempts -----------------------------------------------------------------------------


@pytest.mark.parametrize("die_after", range(5))
def test_failed_attempt(die_after: int) -> None:
    each = batch("1", line("A", "f"), line("A", "g"), line("B"), line("C"), days=0)
    clean, loads = Loads(), Loads()
    load(clean, each)
    assert loads.load(each, die_after) is None
    assert len(loads.claims) == die_after
    assert list(loads.atomic) == []
    assert load(loads, each) == clean.outcomes["1"]
    assert loads.claims == clean.claims


def test_failed_attempt__another_batch_between() -> None:
    loads = Loads()
    first = batch("1", line("A", "f"), line("A", "g"), days=0)
    loads.load(first, die_after=1)
    assert shown(load(loads, batch("2", line("A", "g"), line("A", "f"), days=1))) == ["A:g+"]
    outcome = load(loads, first)
    # The id that the first attempt gave stays, though the other content is now in batch 2.
    assert shown(outcome) == ["A:f+"]
    assert outcome.duplicates == {1: "natural_cross_batch"}


def test_failed_attempt__given_up() -> None:
    loads = Loads()
    loads.load(batch("1", line("A"), days=0), die_after=1)
    loads.give_up("1")
    assert shown(load(loads, batch("2", line("A"), days=1))) == ["A:f"]
    with pytest.raises(ValueError, match="complete"):
        loads.give_up("2")


# -- Steps ---------------------------------------------------------------------------------------

FIRST = batch("1", line("A", "f"), line("A", "f"), line("B", "f"), line("B", "g"), days=0)
SECOND = batch("2", line("A", "f"), line("A", "g"), line("B", "g"), line("C"), line("C"), days=1)


@pytest.mark.parametrize(
    ("off", "first", "second"),
    [
        ("", "A:f B:f* B:g*", "A:g+ C:f"),
        ("in_batch_natural", "A:f A:f B:f* B:g*", "A:g+ C:f C:f"),
        ("in_batch_synthetic", "A:f B:f B:g", "A:g+ C:f"),
        ("cross_batch_natural", "A:f B:f* B:g*", "A:f* A:g* B:g+ C:f"),
        ("cross_batch_synthetic", "A:f B:f* B:g*", "A:g C:f"),
        ("cross_batch_natural cross_batch_synthetic", "A:f B:f* B:g*", "A:f* A:g* B:g C:f"),
        ("in_batch_natural in_batch_synthetic", "A:f A:f B:f B:g", "A:g+ C:f C:f"),
    ],
)
def test_steps(off: str, first: str, second: str) -> None:
    loads = Loads(Steps(**dict.fromkeys(off.split(), False)))
    assert shown(load(loads, FIRST)) == first.split()
    assert shown(load(loads, SECOND)) == second.split()
    assert bool(loads.claims) == (off != "cross_batch_natural cross_batch_synthetic")


def test_steps__a_copy_is_no_sibling() -> None:
    loads = Loads(Steps(cross_batch_natural=False))
    for name in "12":
        assert shown(load(loads, batch(name, line("A"), days=int(name)))) == ["A:f"]


# -- Populating ----------------------------------------------------------------------------------


def test_populate() -> None:
    before = Loads(Steps(cross_batch_natural=False, cross_batch_synthetic=False))
    load(
        before, batch("1", line("A", "f"), line("B", "f"), line("B", "g"), line("C", None), days=0)
    )
    loads = Loads()
    loads.populate(kept.event for kept in before.atomic)
    claims = list(loads.claims)
    assert {(claim.event_id, claim.batch) for claim in claims} == {
        (uuid_of(letter), POPULATED) for letter in "ABC"
    }
    loads.populate(kept.event for kept in before.atomic)
    assert loads.claims == claims
    # Renamed events are claimed under the id they came with. The same etl timestamp is no re-run.
    lines = line("A", "f"), line("B", "g"), line("B", "h"), line("C", None), line("D")
    outcome = load(loads, batch("2", *lines, days=0))
    assert shown(outcome) == ["B:h+", "D:f"]


def test_populate__since() -> None:
    loads = Loads()
    old, new = an_event("A", etl=DAY_1 - timedelta(days=2)), an_event("B")
    loads.populate([old, new], since=DAY_1)
    assert {claim.event_id for claim in loads.claims} == {uuid_of("B")}


# -- Any stream ----------------------------------------------------------------------------------


def a_stream(dice: random.Random) -> list[Batch]:
    """Batches of few ids and fingerprints, so that everything happens; etl timestamps in any order, some equal."""
    batches = []
    for number in range(dice.randrange(1, 6)):
        etl = DAY_1 + timedelta(hours=dice.randrange(4))
        lines = []
        for _ in range(dice.randrange(9)):
            if dice.random() < 0.05:
                lines.append("garbage")
                continue
            letter, fingerprint = dice.choice("ABCD"), dice.choice(("f", "g", "h", None))
            kept_etl = etl if dice.random() < 0.7 else DAY_1
            lines.append(line(letter, fingerprint, kept_etl, page_title=dice.choice(("x", "y"))))
        batches.append(Batch(str(number), tuple(lines), etl))
    return batches


def loaded(batches: list[Batch], steps: Steps | None = None) -> Loads:
    loads = Loads(steps)
    for each in batches:
        load(loads, each)
    return loads


def streams(count: int = 25) -> Iterator[tuple[random.Random, list[Batch]]]:
    for seed in range(count):
        print(f"seed {seed}")
        dice = random.Random(seed)
        yield dice, a_stream(dice)


def test_any_stream__each_event_once_and_ids_unique() -> None:
    for _, batches in streams():
        loads = loaded(batches)
        kept = list(loads.atomic)
        assert len({each.event_id for each in kept}) == len(kept)
        keys = [each.key for each in kept]
        assert len(set(keys)) == len(keys)
        # In one batch there would be the same events; only who keeps its id depends on the cut.
        together = loaded([Batch("all", tuple(text for each in batches for text in each.lines))])
        assert set(keys) == {each.key for each in together.atomic}
        # An id that several events came with is kept by the first batch's, if it had but one.
        for original_id, count in Counter(key[0] for key in keys).items():
            own = [each for each in kept if each.event_id == original_id]
            assert len(own) <= 1
            assert own or count > 1


def test_any_stream__running_again_changes_nothing() -> None:
    for dice, batches in streams():
        loads = loaded(batches)
        outcomes, claims = dict(loads.outcomes), list(loads.claims)
        for each in dice.choices(batches, k=6):
            load(loads, each)
        assert loads.outcomes == outcomes
        assert loads.claims == claims


def test_any_stream__failed_attempts_change_nothing() -> None:
    for dice, batches in streams():
        clean, loads = loaded(batches), Loads()
        for each in batches:
            for _ in range(dice.randrange(4)):
                assert loads.load(each, dice.randrange(9)) is None
            load(loads, each)
        assert loads.outcomes == clean.outcomes
        assert set(loads.claims) == set(clean.claims)


def test_any_stream__attempts_of_several_batches_mixed() -> None:
    """Attempts of all batches in any order: who keeps its id may differ, but no event is lost or there twice."""
    for dice, batches in streams():
        loads = Loads()
        for each in dice.choices(batches, k=12):
            loads.load(each, dice.choice((0, 1, 2, 9, None)))
        for each in batches:
            load(loads, each)
        kept = list(loads.atomic)
        assert Counter(each.key for each in kept) == Counter(
            each.key for each in loaded(batches).atomic
        )
        assert len({each.event_id for each in kept}) == len(kept)


def test_any_stream__order_of_lines_does_not_matter() -> None:
    for dice, batches in streams():
        shuffled = [
            Batch(b.name, tuple(dice.sample(b.lines, len(b.lines))), b.etl_tstamp) for b in batches
        ]
        one, other = loaded(batches), loaded(shuffled)
        for each in batches:
            assert one.outcomes[each.name].counts == other.outcomes[each.name].counts
            stored = [
                [kept.event for kept in loads.outcomes[each.name].atomic] for loads in (one, other)
            ]
            assert sorted(map(to_line, stored[0])) == sorted(map(to_line, stored[1]))


@pytest.mark.parametrize(
    "steps", [steps for steps in itertools.product([False, True], repeat=4) if sum(steps) != 2]
)
def test_any_stream__nothing_lost_with_any_steps(steps: tuple[bool, ...]) -> None:
    for _, batches in streams(10):
        loads = loaded(batches, Steps(*steps))
        outcomes = dict(loads.outcomes)
        for each in batches:
            load(loads, each)
        assert loads.outcomes == outcomes


# -- Generated events ----------------------------------------------------------------------------


def test_generated_events(tmp_path: Path) -> None:
    spec = EventsSpec(300, 3, 6, 5, 4, 3, 10, 2, 20, hot_ids=2, hot_copies=11, seed=5)
    truth = tmp_path / "truth.jsonl"
    files = write_events(spec, str(tmp_path / "{batch}.tsv"), truth).files
    told = [json.loads(text) for text in truth.read_text().splitlines()]
    kinds = Counter(record["kind"] for record in told)
    batches = [Batch(file.name, tuple(file.read_text().split("\n")[:-1])) for file in files]
    counts: Counter[str] = Counter()
    for outcome in loaded(batches).outcomes.values():
        counts.update(outcome.counts)
    assert counts["read"] == len(told)
    assert counts["rejected"] == kinds["bad"] == 6
    assert counts["natural_in_batch"] == kinds["natural_in_batch"]
    assert counts["natural_cross_batch"] == kinds["natural_cross_batch"]
    assert counts["synthetic_cross_batch"] == kinds["synthetic_cross_batch"]
    # The original of each id with other content in its batch is renamed, too.
    groups = {record["event"] for record in told if record["kind"] == "synthetic_in_batch"}
    assert counts["synthetic_in_batch"] == kinds["synthetic_in_batch"] + len(groups)
    assert len(groups) == 12 + 2
