"""Plans as a terminal shows them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark.plan.model import EntityPlan, Plan, Sample, stopping_guards
from tidemark.printable import counted, shortened
from tidemark.read.show import ago
from tidemark.read.values import shown_change, shown_value
from tidemark.run.report import COUNTS

# a longer value is cut
_WIDEST = 120
# the columns that are shown of rows that come or go
_MOST_COLUMNS = 8
_VERDICTS = {
    "passes": "lets it pass",
    "stops": "stops it",
    "let through": "would stop it, and is told to let it through",
}
_SIGNS = {"I": ("+", "green"), "U": ("~", "yellow"), "D": ("-", "red")}
_CURRENT = {
    "nothing": "current stays as it is",
    "merge": "current by MERGE",
    "whole": "current is written as a whole",
}


def show_plan(plan: Plan, out: Console) -> None:
    """Print a plan: each entity, and what to do next."""
    for one in plan.entities:
        show_entity(one, out)
    for other in plan.not_planned:
        _line(out, f"{other.model}: not planned: {other.why}", "red" if other.failed else "dim")
    _line(out, last_line(plan), "bold")


def show_entity(one: EntityPlan, out: Console) -> None:
    """Print what a load would do to one entity."""
    date = f"  {one.business_date}" if one.business_date else ""
    out.print(Text.assemble((one.entity, "bold"), date, f"  {one.kind}"), soft_wrap=True)
    if one.stops is not None:
        _line(out, f"  the load would stop: {one.stops}", "bold red")
    for line in facts(one):
        _line(out, f"  {line}")
    if one.columns:
        _line(out, "  columns that updates change:")
        rows = [(column.name, f"{column.rows:,}") for column in one.columns]
        out.print(_table(rows, right=1))
    for reject in one.rejects:
        _line(out, f"  rejected, {reject.reason}: {counted(reject.rows, 'row')}", "red")
        for payload in reject.samples:
            _line(out, f"      {shortened(payload, _WIDEST)}", "dim")
    if one.samples:
        out.print(_samples(one.samples))
    for note in one.notes:
        _line(out, f"  {note}")
    out.print()


def facts(one: EntityPlan) -> list[str]:
    """Return what a plan says of an entity beside its rows, a line each.

    Example:
        >>> facts(plan.entities[0])[0]
        'read 4, inserted 1, updated 1, deleted 0, unchanged 2 (66.7 % of the 3 rows in current)'
    """
    counts = one.counts.model_dump()
    shown = [
        f"{heading} {counts[name]:,}"
        for number, (name, heading) in enumerate(COUNTS.items())
        if name in counts and (number < 5 or counts[name])
    ]
    share = ""
    if one.share_of_current is not None:
        share = f" ({one.share_of_current:.1%} of the {counted(one.existing, 'row')} before)"
    lines = [", ".join(shown) + share]
    if one.guard is not None and one.guard.existing:
        lines.append(
            f"guard of deletes: {_VERDICTS[one.guard.verdict]} ({one.guard.rows_deleted:,} of "
            f"{one.guard.existing:,}, at most {one.guard.max_delete_fraction:.0%})"
        )
    if one.reject_guard is not None:
        lines.append(
            f"guard of rejects: {_VERDICTS[one.reject_guard.verdict]} "
            f"({one.reject_guard.rows_rejected:,} of {one.reject_guard.rows_read:,}, "
            f"at most {one.reject_guard.max_reject_fraction:.0%})"
        )
    written = _CURRENT[one.files.current]
    if one.files.current != "nothing" and one.files.current_files:
        written += (
            f" ({one.files.current_files_changed or 0:,} of "
            f"{counted(one.files.current_files, 'file')} with rows that change)"
        )
    log = f"log: {counted(one.counts.rows_logged, 'row')}"
    if one.counts.rows_superseded:
        log += f", {one.counts.rows_superseded:,} superseded"
    lines.append(f"{log}; {written}")
    if one.batch is not None:
        lines.append(_batch(one))
    lines += [
        f"{other.business_date} gets other rows: {other.rows_logged:,} logged, "
        f"{other.rows_superseded:,} superseded"
        for other in one.other_dates
    ]
    if not one.columns_known and one.counts.rows_updated:
        lines.append("changed_columns is off: what updates change is not counted by column")
    return lines


def last_line(plan: Plan) -> str:
    """Return what a plan comes to, and what to do with it."""
    if plan.state != "open":
        when = f" on {plan.closed_at:%Y-%m-%d %H:%M} UTC" if plan.closed_at else ""
        return f"plan {plan.id} was {plan.state}{when}"
    verdict = {
        "changes": "it is done by",
        "nothing": "no row would change; the load is recorded by",
        "stops": "a load would stop; what a guard stops is let through by",
    }[plan.outcome]
    guards = sorted({option for one in plan.entities for option in stopping_guards(one)})
    if plan.outcome == "stops" and not guards:
        return f"plan {plan.id}: a load would stop. Remove the cause, and plan again"
    return " ".join((f"plan {plan.id}: {verdict} tidemark apply {plan.id}", *guards))


def show_plans(plans: Sequence[Plan], now: dt.datetime, out: Console) -> None:
    """Print a line per plan."""
    table = Table(
        "plan",
        "state",
        "made",
        "date",
        "entities",
        "outcome",
        "command",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for plan in plans:
        date = plan.options.business_date
        table.add_row(
            plan.id,
            plan.state,
            ago(now - plan.made_at),
            "" if date is None else str(date),
            Text(", ".join(one.entity for one in plan.entities)),
            plan.outcome,
            Text(plan.command),
        )
    out.print(table)


def _batch(one: EntityPlan) -> str:
    batch = one.batch
    if batch is None or not batch.files:
        text = "events: none of a file"
    elif batch.files == 1:
        text = f"events of {batch.first_file}"
    else:
        text = f"events of {batch.files:,} files: {batch.first_file} … {batch.last_file}"
    if batch is not None and batch.first_sequence_num is not None:
        text += f" (sequence {batch.first_sequence_num} … {batch.last_sequence_num})"
    return text


def _samples(samples: Iterable[Sample]) -> Table:
    table = Table("", "key", "column", "old", "new", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    for sample in samples:
        sign, style = _SIGNS[sample.operation]
        head = Text(sign, style=style)
        key = Text(", ".join(map(shown_value, sample.key.values())))
        names = _names(sample)
        for place, name in enumerate(names[:_MOST_COLUMNS] or [""]):
            table.add_row(
                head if place == 0 else "",
                key if place == 0 else "",
                Text(name),
                *_values(sample, name),
            )
        if len(names) > _MOST_COLUMNS:
            table.add_row("", "", Text(f"… {len(names) - _MOST_COLUMNS} more", style="dim"), "", "")
    return table


def _names(sample: Sample) -> list[str]:
    """Return the columns to show: of rows that come or go without the key."""
    names = list({**(sample.old or {}), **(sample.new or {})})
    return names if sample.operation == "U" else [name for name in names if name not in sample.key]


def _values(sample: Sample, name: str) -> tuple[Text, Text]:
    """Return what stands below old and new; nothing where a row was not, or will not be."""
    sides = ((sample.old or {}).get(name), (sample.new or {}).get(name))
    old, new = (
        Text(shown, style="dim" if value is None else "")
        for shown, value in zip(shown_change(*sides), sides, strict=True)
    )
    return (
        old if name in (sample.old or {}) else Text(""),
        new if name in (sample.new or {}) else Text(""),
    )


def _table(rows: Iterable[tuple[str, str]], right: int) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 5))
    table.add_column(overflow="fold")
    table.add_column()
    table.columns[right].justify = "right"
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(text, style=style), soft_wrap=True)
