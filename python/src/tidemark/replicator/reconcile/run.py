"""Comparing the tables of a source with their copies, and repairing these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark.capture.checks.findings import Queries
from tidemark.capture.config import CaptureConfig
from tidemark.capture.database import DatabaseError
from tidemark.capture.state import CaptureState
from tidemark.errors import ConfigError
from tidemark.replicator.models import MirrorModel
from tidemark.replicator.reconcile.catalogue import source_columns
from tidemark.replicator.reconcile.compare import (
    Comparison,
    Difference,
    KeyDifference,
    Row,
    Seen,
    compare_buckets,
    differences,
)
from tidemark.replicator.reconcile.dialects import DIALECTS
from tidemark.replicator.reconcile.forms import (
    Incomparable,
    Pairing,
    SourceColumn,
    pair_columns,
)
from tidemark.replicator.reconcile.repair import Events, land
from tidemark.replicator.reconcile.sides import Ask, CopySide, SourceSide, describe_copy

_SHOWN = 80


@dataclass(frozen=True)
class Example:
    """A key that differs.

    Attributes:
        kind: `missing` in the copy, `surplus` there, or `different`.
        key: The texts of its key by column; of a table without key the whole row.
        columns: Of a row that differs: the texts at the source and in the copy, by column.
    """

    kind: Difference
    key: Mapping[str, str | None]
    columns: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)


@dataclass
class TableResult:
    """How a table compares with its copy.

    Attributes:
        table: `schema.table`.
        model: The model that mirrors it.
        source_rows: Rows at the source.
        rows_here: Rows in the copy.
        buckets: How many buckets were compared.
        buckets_differing: How many of them differ.
        missing: Rows that the copy does not have.
        surplus: Rows that it has too many.
        different: Keys whose rows differ.
        examples: Some of these keys.
        left_out: Why a column was not compared, by name.
        repaired: How many corrective events were applied, None if none were asked for.
        skipped: Rows that were not repaired, because the copy cannot hold their values.
        error: Why it could not be compared.
    """

    table: str
    model: str
    source_rows: int = 0
    rows_here: int = 0
    buckets: int = 0
    buckets_differing: int = 0
    missing: int = 0
    surplus: int = 0
    different: int = 0
    examples: list[Example] = field(default_factory=list)
    left_out: Mapping[str, str] = field(default_factory=dict)
    repaired: int | None = None
    skipped: int = 0
    error: str | None = None

    @property
    def is_equal(self) -> bool:
        """Whether it was compared and nothing differs."""
        return self.error is None and not (self.missing or self.surplus or self.different)

    @property
    def differs(self) -> bool:
        """Whether it was compared and something differs."""
        return self.error is None and not self.is_equal


@dataclass(frozen=True)
class Options:
    """What was asked for.

    Attributes:
        tables: The tables; all that are mirrored if there are none.
        buckets: How many buckets each is cut into.
        examples: How many keys are shown of each.
    """

    tables: Sequence[str] = ()
    buckets: int = 64
    examples: int = 5


class _Table:
    """A table at work: both sides, and what is compared."""

    def __init__(
        self, model: MirrorModel, pairing: Pairing, source: SourceSide, here: CopySide
    ) -> None:
        self.model = model
        self.pairing = pairing
        self.source = source
        self.here = here
        self.seen: Seen | None = None
        self.comparison = Comparison(0, 0, 0)
        self.ordered = False

    def batches(self) -> Iterator[list[KeyDifference]]:
        """Yield what differs in the buckets that differ, some buckets at a time."""
        found = differences(
            self.source,
            self.here,
            self.comparison.buckets,
            self.comparison.differing,
            self.pairing.keys > 0,
        )
        for batch in found:
            kept = self.seen.of(batch) if self.seen is not None else batch
            if kept:
                yield kept


class Reconciler:
    """Compares and repairs.

    Args:
        config: The source.
        database: An open connection to it.
        database_name: What it is called in events.
        models: The models by table.
        ask: Calls a run-operation.
        options: What was asked for.
        say: Is told what goes on.
    """

    def __init__(
        self,
        config: CaptureConfig,
        database: Queries,
        database_name: str | None,
        models: Mapping[str, MirrorModel],
        ask: Ask,
        options: Options,
        say: Callable[[str], None],
    ) -> None:
        self._config = config
        self._database = database
        self._database_name = database_name
        self._models = models
        self._ask = ask
        self._options = options
        self._say = say
        self._dialect = DIALECTS[config.connector]
        self._tables: dict[str, _Table] = {}

    def compare(self) -> list[TableResult]:
        """Compare all tables, row by row where buckets differ."""
        for statement in self._dialect.session:
            self._database.query(statement)
        columns = source_columns(self._config, self._database)
        results = []
        for table in self._chosen(columns):
            self._say(f"comparing {table} …")
            try:
                results.append(self._first_look(table, columns))
            except (Incomparable, DatabaseError, ConfigError) as error:
                model = self._models.get(table)
                name = model.name if model is not None else ""
                results.append(TableResult(table, name, error=str(error)))
        return results

    def _chosen(self, columns: Mapping[str, Sequence[SourceColumn]]) -> list[str]:
        known = sorted({*columns, *self._models})
        unknown = [table for table in self._options.tables if table not in known]
        if unknown:
            raise ConfigError(
                f"source {self._config.source!r} does not mirror {', '.join(unknown)}. "
                f"Choose from {', '.join(known) or 'no tables'}"
            )
        return [
            table for table in known if not self._options.tables or table in self._options.tables
        ]

    def _first_look(self, table: str, columns: Mapping[str, Sequence[SourceColumn]]) -> TableResult:
        model = self._models.get(table)
        if model is None:
            return self._without_model(table)
        if table not in columns:
            raise Incomparable("the source does not have the table, or does not capture it")
        copy = describe_copy(self._ask, model.name)
        if not copy.types:
            raise Incomparable(f"{copy.relation} is not there, because nothing was applied yet")
        pairing = pair_columns(columns[table], copy)
        work = _Table(
            model,
            pairing,
            SourceSide(self._database, self._dialect, table, pairing),
            CopySide(self._ask, model.name, pairing),
        )
        work.ordered = copy.ordered
        self._tables[table] = work
        return self._look(work, table)

    def _without_model(self, table: str) -> TableResult:
        rows = int(self._database.value(f"select count(*) from {self._dialect.table(table)}"))
        if rows:
            raise Incomparable("the table has no model yet: tidemark replicator run-once makes one")
        return TableResult(table, "")

    def _look(self, work: _Table, table: str) -> TableResult:
        comparison = compare_buckets(work.source, work.here, self._options.buckets)
        work.comparison = comparison
        result = TableResult(
            table,
            work.model.name,
            comparison.source_rows,
            comparison.rows_here,
            comparison.buckets,
            len(comparison.differing),
            left_out=work.pairing.left_out,
        )
        seen = Seen()
        for batch in work.batches():
            seen.add(batch)
            for one in batch:
                setattr(result, one.kind, getattr(result, one.kind) + one.count)
            room = self._options.examples - len(result.examples)
            result.examples += self._examples(work, batch[: max(room, 0)])
        work.seen = seen
        return result

    def is_keyless(self, result: TableResult) -> bool:
        """Whether a table differs that has no key."""
        return result.differs and not self._tables[result.table].pairing.keys

    def look_again(self, results: Sequence[TableResult]) -> list[TableResult]:
        """Compare the tables that differ once more: only keys that differed before count."""
        return [
            self._look(self._tables[result.table], result.table) if result.differs else result
            for result in results
        ]

    def _examples(self, work: _Table, found: Sequence[KeyDifference]) -> list[Example]:
        if not found:
            return []
        keys = [one.key for one in found]
        left, right = (
            {row.key: row for row in side.rows(keys)} for side in (work.source, work.here)
        )
        return [_example(work.pairing, one, left.get(one.key), right.get(one.key)) for one in found]

    # --- repair

    def repair(
        self,
        state: CaptureState,
        results: Sequence[TableResult],
        apply: Callable[[], object],
    ) -> list[TableResult]:
        """Land corrective events, apply them, and compare again.

        Args:
            state: The landing folder.
            results: What was found.
            apply: Applies what has landed.
        """
        results = [replace(result, repaired=0) if result.differs else result for result in results]
        for anew in (False, True):
            landed = sum(result.repaired or 0 for result in results)
            results = [self._land(state, result, anew) for result in results]
            if sum(result.repaired or 0 for result in results) == landed:
                break
            apply()
            after = {result.table: result for result in self.look_again(results)}
            results = [
                replace(after[result.table], repaired=result.repaired, skipped=result.skipped)
                if result.differs
                else result
                for result in results
            ]
            if not any(result.differs for result in results):
                break
        return results

    def _land(self, state: CaptureState, result: TableResult, anew: bool) -> TableResult:
        if not result.differs:
            return result
        work = self._tables[result.table]
        problem = _unrepairable(work)
        if problem is not None:
            self._say(f"{result.table} is not repaired: {problem}")
            return result
        if anew and work.pairing.only_here:
            # deleting and inserting would lose the columns that are not compared
            return result
        events = Events(
            self._config,
            self._database_name,
            result.table,
            work.pairing,
            work.source,
            work.here,
            anew=anew,
        )
        count = land(state, self._config, events, work.batches())
        if count:
            self._say(f"{result.table}: landed {count:,} corrective events")
        return replace(
            result,
            repaired=(result.repaired or 0) + count,
            skipped=max(result.skipped, events.skipped),
        )


def _unrepairable(work: _Table) -> str | None:
    if work.ordered:
        return "sequence_by orders the events, and a corrective event has no place in that order"
    if not work.pairing.keys and work.pairing.only_here:
        names = ", ".join(work.pairing.left_out)
        return f"the table has no key, and these of its columns cannot be compared: {names}"
    return None


def _example(pairing: Pairing, one: KeyDifference, left: Row | None, right: Row | None) -> Example:
    row = left or right
    texts = row.texts if row is not None else []
    names = [column.name for column in pairing.columns]
    key = {
        column.name: _short(text) for column, text in zip(pairing.key_columns, texts, strict=False)
    }
    columns = {}
    if one.kind == "different" and left is not None and right is not None:
        columns = {
            name: (_short(theirs), _short(ours))
            for name, theirs, ours in zip(names, left.texts, right.texts, strict=True)
            if theirs != ours
        }
    return Example(one.kind, key, columns)


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}… ({len(text):,} characters)"
