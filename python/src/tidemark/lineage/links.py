"""How one column follows from another, in the words of OpenLineage's column lineage facet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

# what stands for all columns of a relation whose columns are not known
ALL = "*"

_STRENGTH = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


@dataclass(frozen=True, order=True)
class How:
    """How a column follows from another.

    Attributes:
        direct: The value is made of the other's; else the other decides on it, or on the rows.
        subtype: IDENTITY, TRANSFORMATION or AGGREGATION if direct; else CONDITIONAL, WINDOW,
            FILTER, JOIN, GROUP_BY or SORT.
        masking: The other's value cannot be told from it any more (a count, a hash).
    """

    direct: bool
    subtype: str
    masking: bool = False

    def after(self, inner: How) -> How:
        """Return what two steps amount to, `inner` being the first.

        Example:
            >>> AGGREGATION.after(TRANSFORMATION).kind
            'aggregation'
            >>> IDENTITY.after(FILTER).kind
            'filter'
        """
        masking = self.masking or inner.masking
        if not self.direct:
            return replace(self, masking=masking)
        if not inner.direct:
            return replace(inner, masking=masking)
        stronger = max(self, inner, key=lambda how: _STRENGTH.index(how.subtype))
        return replace(stronger, masking=masking)

    @property
    def type(self) -> str:
        """DIRECT or INDIRECT."""
        return "DIRECT" if self.direct else "INDIRECT"

    @property
    def kind(self) -> str:
        """What a reader sees."""
        text = self.subtype.lower().replace("_", " ")
        return f"{text}, masked" if self.masking and self.direct else text


IDENTITY = How(True, "IDENTITY")
TRANSFORMATION = How(True, "TRANSFORMATION")
AGGREGATION = How(True, "AGGREGATION")
CONDITIONAL = How(False, "CONDITIONAL")
WINDOW = How(False, "WINDOW")
FILTER = How(False, "FILTER")
JOIN = How(False, "JOIN")
GROUP_BY = How(False, "GROUP_BY")
SORT = How(False, "SORT")


@dataclass(frozen=True, order=True)
class Link:
    """A column that another one, or the rows of a relation, follow from.

    Attributes:
        table: Which relation it is of: a key, whose meaning is that of whoever asks.
        column: Its name, or ALL.
        how: How.
    """

    table: str
    column: str
    how: How

    def via(self, how: How) -> Link:
        """Return the link with one more step behind it."""
        return replace(self, how=how.after(self.how))


def merged(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return links with one direct way for each column, the strongest; indirect ways are kept.

    Example:
        >>> links = merged([Link("t", "a", IDENTITY), Link("t", "a", AGGREGATION)])
        >>> [link.how.kind for link in links]
        ['aggregation']
    """
    direct: dict[tuple[str, str], Link] = {}
    indirect: dict[tuple[str, str, str], Link] = {}
    for link in links:
        if not link.how.direct:
            indirect.setdefault((link.table, link.column, link.how.subtype), link)
            continue
        place = (link.table, link.column)
        known = direct.get(place)
        # masked only if every way to the value is
        if known is None:
            direct[place] = link
        else:
            how = max(known.how, link.how, key=lambda how: _STRENGTH.index(how.subtype))
            masking = known.how.masking and link.how.masking
            direct[place] = replace(link, how=replace(how, masking=masking))
    return (*direct.values(), *indirect.values())


@dataclass(frozen=True)
class Column:
    """A column of a model and what it follows from, one step back.

    Attributes:
        name: Its name; ALL for columns that are not known.
        type: Its type, or None.
        links: What it follows from.
        is_added: Whether Tidemark (or dbt, for snapshots) adds it.
    """

    name: str
    type: str | None
    links: tuple[Link, ...] = ()
    is_added: bool = False
