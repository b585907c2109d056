"""Types of the roles of columns, of an extract or of change events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from tidemark.shapes.opened import Recorded, RecordedColumn
from tidemark.shapes.settings import MaybeNone

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


class _Arrived(TypedDict, total=False):
    """What a load knows of a column, and what was recorded does not say."""

    source_name: ReadOnly[str | None]  # as it arrives; None: it does not
    source_type: ReadOnly[str | None]
    recorded_type: ReadOnly[str | None]  # None: it is new
    dropped: ReadOnly[bool]  # by a rehash: it is carried
    held: ReadOnly[bool]  # current may have it as NOT NULL


class _OfExtracts(TypedDict, total=False):
    compare_as: ReadOnly[str | MaybeNone]  # an expression that is compared in its place
    compare_type: str  # of that


class _OfEvents(TypedDict, total=False):
    hash_name: ReadOnly[str]  # what hashes know it as
    sources: ReadOnly[list[str]]  # names under which images may bring it
    encodings: ReadOnly[Mapping[Any, str]]  # by schema id; None: without inline schema
    arrived: ReadOnly[bool]
    before_arrived: ReadOnly[bool]  # of a typed source, in the image of before
    before_type: ReadOnly[str | None]
    chosen: ReadOnly[bool]  # by the setting `columns`
    known: ReadOnly[RecordedColumn | MaybeNone]
    gone: ReadOnly[bool]  # from current, by a statement of the source
    stays: ReadOnly[bool]  # as it is: stored, and not chosen any more
    default: ReadOnly[Mapping[str, Any] | None]  # text, encoding
    orders: ReadOnly[bool]  # sequence_by names it


class Column(_Arrived, _OfExtracts, _OfEvents):
    """A column and its roles."""

    name: ReadOnly[str]
    type: ReadOnly[str | MaybeNone]
    key: ReadOnly[bool]
    compared: NotRequired[bool]
    ignored: ReadOnly[bool]
    sensitive: ReadOnly[bool]
    not_null: ReadOnly[bool]
    description: ReadOnly[str]


class Roles(TypedDict, total=False):
    """What becomes of columns, and what is recorded of that; of enriched events that alone."""

    recorded: ReadOnly[Recorded]
    columns: ReadOnly[list[Column]]
    keys: ReadOnly[list[Column]]
    compared: ReadOnly[list[Column]]
    ignored: ReadOnly[list[Column]]
    stored: ReadOnly[list[Column]]  # in current and log
    sensitive: ReadOnly[list[Column]]  # kept apart
    added: ReadOnly[list[Column]]  # new to a log that is there
    keyed: ReadOnly[bool]
    supplied: ReadOnly[list[str]]  # of an extract: reserved columns that it has
    flow: ReadOnly[Literal["events"] | None]
    typed: ReadOnly[bool]  # events come in columns, not as JSON
    decoded: ReadOnly[bool]  # the workers have read them
    source_columns: ReadOnly[list[Column]]  # with those that are not stored
    gone: ReadOnly[list[Column]]  # from current
    gone_sensitive: ReadOnly[list[Column]]
    kept_gone: ReadOnly[list[Column]]  # that late events are replayed with
    unavailable_value: ReadOnly[str]
    guessed_texts: ReadOnly[list[str]]  # columns whose values look like text
    on_tie: ReadOnly[str]
    sequence_by: ReadOnly[int]  # how many expressions order the events
    sequence_type: ReadOnly[str | None]  # of them together
    sequence_casts: ReadOnly[Mapping[int, str]]  # read as the wider type that the log has
    wider: ReadOnly[Mapping[str, str]]  # that the log has to widen
