"""Messages of the program: plain sentences, and a cure in each error."""

from __future__ import annotations

import re

import pytest

from docsite.messages import Message, cure, messages, messages_text
from tests.unit.test_plain_words import LONGEST, MEAN, is_inverted, words

#: Messages without a cure of their own: a hint or an advice that only a run knows ends them, Tidemark itself causes them,
#: or they are a reason that another message quotes
WITHOUT_CURE = (
    "…: … was loaded after it was cloned, as a replay does. …",
    "… has moved since … was cloned. …",
    "correct config.meta.tidemark.replicator of source …:\n…",
    "lineage runs without Spark",
    "it is not one SELECT",
    "it is not a SELECT",
    "its certificate is not trusted",
    "the proxy cannot be reached",
    "there is no … model named '…'…",
    "there is no cdc, scd2, feed, atomic or shred model named '…'…",
    "… names column …, which the rows do not have…",
    "columns: … is …, neither string nor …",
    "…: … rows were counted but … were written to …. The source changed while the run read it. …",
    "plan … cannot be applied…",
    "there is no plan ….…",
    "… is NULL in …. …",
    "… is not unique: … rows have …. …",
    "…: the source did `…`, …; …. …",
    "… is not a view of a load",
    "entities without their schema in …",
    "… is no column of an enriched event…",
    "not a JSON object",
    "… matches none of the … schemas in …; …",
    "… is no schema URI…",
    "… is no schema pattern…",
    "… has no column … of a plain type",
    "Spark did not start: …",
    "… cannot be found: …",
    "tidemark.read_optimized: … was never compacted…",
    "tidemark.read_optimized: … was built again since it was compacted…",
)
#: Calls whose text is a choice among several, which the scanner reads as one
CHOICES = ("tidemark.scd2: open_end must be ",)
_END = re.compile(r"(?<=[.?!]) +|\n")
_LINES, _WIDTH = 3, 100

FOUND = [one for one in messages() if not one.text.startswith(CHOICES)]
ERRORS = [one for one in FOUND if one.kind == "error"]


def sentences(message: Message) -> list[str]:
    return [one for one in _END.split(message.text) if words(one)]


def shown(found: list[Message]) -> str:
    return "\n".join(f"{one.path}:{one.line}: {one.text}" for one in found)


def test_sentences__are_short() -> None:
    counts = [len(words(one)) for message in FOUND for one in sentences(message)]
    assert len(counts) > 500
    assert sum(counts) / len(counts) < MEAN
    long = [one for one in FOUND if any(len(words(part)) > LONGEST for part in sentences(one))]
    assert not long, shown(long)


def test_messages__fit_three_lines() -> None:
    long = [one for one in FOUND if len(one.text.partition("\n  -")[0]) > _LINES * _WIDTH]
    assert not long, shown(long)


def test_messages__begin_with_their_subject() -> None:
    inverted = [
        one for one in FOUND for part in sentences(one) if is_inverted(part.removeprefix("…: "))
    ]
    assert not inverted, shown(inverted)


def test_errors__have_a_cure() -> None:
    lacking = [one for one in ERRORS if not cure(one.text) and one.text not in WITHOUT_CURE]
    assert not lacking, shown(lacking)


def test_without_cure__is_still_needed() -> None:
    assert {one.text for one in ERRORS} >= set(WITHOUT_CURE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("there is no log. Run the model first", "Run the model first"),
        ("plan must be true or false, found: …", "must be true or false"),
        ("there is no log of the model", ""),
        ("the rows run out", ""),
    ],
)
def test_cure(text: str, expected: str) -> None:
    assert cure(text) == expected


def test_reference__has_each_error() -> None:
    text = messages_text()
    assert text.count("\n| <code>") > 300
    assert "Put the file there, or give another business_date" in text
