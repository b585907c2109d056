"""Status, commits, versions and changes as a terminal shows them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark.failures import Failure
from tidemark.printable import counted
from tidemark.read.commits import Commit
from tidemark.read.rejects import Reject
from tidemark.read.status import Counts, Status
from tidemark.read.values import shown_change, shown_value
from tidemark.read.versions import DayChanges, Difference, Version
from tidemark.run.dates import date_ranges

_BAR = 12
# lengths of a value that a row was rejected for, and of that row
_WIDE = 2000
_NOT_OPEN = {
    "rejected again": "a later load of the date has rejected it again",
    "undone": "its load does not count: a rollback undid it, or it did not complete",
}
APART = "changed; its values are stored apart"
"""What is said of a change of a column that a log has no values of."""

_STATES = {
    "loaded": "green",
    "failed": "bold red",
    "behind": "yellow",
    "stale": "yellow",
    "in flight": "yellow",
    "empty": "dim",
}
_OPERATIONS = {"I": ("insert", "green"), "U": ("update", "yellow"), "D": ("delete", "red")}


def show_statuses(statuses: Sequence[Status], now: dt.datetime, out: Console) -> None:
    """Print a line per entity, and below what there is to look at."""
    table = simple_table(
        "entity", "kind", "state", "last date", "loaded", "rows", "last changes", ""
    )
    table.columns[5].justify = "right"
    for one in statuses:
        table.add_row(
            one.entity,
            one.kind,
            Text(one.state, style=_STATES[one.state]),
            "" if one.last_date is None else str(one.last_date),
            "" if one.loaded_at is None else ago(now - one.loaded_at),
            "" if one.rows is None else f"{one.rows:,}",
            bar(one.last_load) if one.last_load else "",
            _count_text(one.last_load) if one.last_load else "",
        )
    out.print(table)
    for one in statuses:
        for note in notes(one, now):
            out.print(Text(f"{one.entity}: {note}"), soft_wrap=True)


def notes(status: Status, now: dt.datetime) -> list[str]:
    """Return what there is to do or to know about an entity, a sentence each."""
    found = []
    if status.failure:
        when = ago(now - status.failure.failed_at)
        found.append(f"failed {when}: {status.failure.message.removeprefix(f'{status.entity}: ')}")
        found.append(f"after mending it: {next_command(status)}")
    if status.in_flight:
        ids = ", ".join(map(str, status.in_flight))
        found.append(
            f"commit {ids} is in flight: a run is at work, or a run died and the next one mends it"
        )
    if status.landed_dates:
        found.append(f"landed and not loaded: {date_ranges(status.landed_dates)}")
    if status.unmatched:
        found.append(status.unmatched)
    if status.missing_dates:
        found.append(f"no load of {date_ranges(status.missing_dates)}")
    if status.open_rejects:
        found.append(open_rejects_note(status.entity, status.open_rejects))
    for rule, number in status.broken_rules.items():
        found.append(f"rule {rule}: {counted(number, 'row')} of the last load failed it")
    if status.fresh_until is not None and status.fresh_until < now:
        found.append(f"stale: a run was due by {status.fresh_until:%Y-%m-%d %H:%M} UTC")
    if status.mirror is not None and status.mirror.is_late:
        behind, limit = round(status.mirror.lag_seconds or 0), status.mirror.limit_seconds
        found.append(
            f"stale: {behind:,} s behind its source, and {limit:g} s are allowed: tidemark "
            f"replicator status {status.mirror.source}"
        )
    if status.state == "behind":
        found.append("its inputs have loaded more since: run it")
    if status.problem:
        found.append(status.problem)
    return found


def open_rejects_note(entity: str, number: int) -> str:
    """Return how many rows were rejected and not mended since, and where to look."""
    return f"{counted(number, 'open reject')}: tidemark rejects {entity}"


def next_command(status: Status) -> str | None:
    """Return what runs an entity again whose last run failed."""
    if status.failure is None:
        return None
    date = status.failure.business_date
    return f"tidemark run --select {status.entity}" + (f" --business-date {date}" if date else "")


def bar(counts: Counts) -> Text:
    """Return the changes of a load as a bar: inserted, updated, deleted, and the unchanged rest."""
    parts = [
        (counts.inserted, "green", "+"),
        (counts.updated, "yellow", "~"),
        (counts.deleted, "red", "-"),
        (counts.unchanged or 0, "dim", "·"),
    ]
    whole = sum(number for number, _, _ in parts)
    text = Text()
    if not whole:
        return text
    # what there is at all has a mark, however little it is
    lengths = [max(1, round(_BAR * number / whole)) if number else 0 for number, _, _ in parts]
    while sum(lengths) > _BAR:
        lengths[lengths.index(max(lengths))] -= 1
    for length, (_, style, mark) in zip(lengths, parts, strict=True):
        text.append(mark * length, style=style)
    return text


def ago(elapsed: dt.timedelta) -> str:
    """Return how long ago something was.

    Example:
        >>> ago(dt.timedelta(minutes=90)), ago(dt.timedelta(days=3, hours=5))
        ('1 h 30 min ago', '3 d ago')
    """
    minutes = int(elapsed.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 60 * 24:
        return f"{minutes // 60} h {minutes % 60} min ago"
    return f"{minutes // (60 * 24)} d ago"


def show_runs(runs: Sequence[Commit | Failure], out: Console) -> None:
    """Print a line per commit, and per run that failed."""
    table = simple_table(
        "commit",
        "entity",
        "kind",
        "date",
        "state",
        "begun (UTC)",
        "commit took",
        "I",
        "U",
        "D",
        "rejected",
    )
    for column in table.columns[6:]:
        column.justify = "right"
    failures = []
    for one in runs:
        if isinstance(one, Failure):
            failures.append(one)
            date, when = one.business_date or "", f"{one.failed_at:%Y-%m-%d %H:%M:%S}"
            table.add_row("", one.entity, "", date, Text("failed", style="bold red"), when)
            continue
        table.add_row(
            str(one.commit_id),
            one.entity,
            one.kind,
            "" if one.business_date is None else str(one.business_date),
            one.state if one.undone_by is None else f"{one.state} by {one.undone_by}",
            f"{one.started_at:%Y-%m-%d %H:%M:%S}",
            "" if one.seconds is None else f"{one.seconds:.1f} s",
            _number(one.rows_inserted),
            _number(one.rows_updated),
            _number(one.rows_deleted),
            _number(one.rows_rejected or None),
        )
    out.print(table)
    for one in failures:
        when = f"{one.failed_at:%Y-%m-%d %H:%M:%S}"
        out.print(Text(f"{when}  {one.message}"), soft_wrap=True)


def show_versions(versions: Sequence[Version], out: Console) -> None:
    """Print every version of a row: the first whole, of later ones what changed."""
    for number, one in enumerate(versions):
        name, style = _OPERATIONS[one.operation]
        head = Text(f"{one.business_date}  ")
        head.append(name, style=style)
        said = [f"commit {one.commit_id}", *(f"{k} {shown_value(v)}" for k, v in one.event.items())]
        head.append(f"  {', '.join(said)}", style="dim")
        out.print(head, soft_wrap=True)
        if one.operation == "U" and number:
            _print_changes(one, out)
        elif one.operation == "I" or number == 0:
            for column, value in one.values.items():
                if value is not None:
                    out.print(Text(f"    {column}: {shown_value(value)}"), soft_wrap=True)


def show_changes(days: Sequence[DayChanges], out: Console) -> None:
    """Print what a business date changed in each entity."""
    for one in days:
        counts = Counts(one.inserted, one.updated, one.deleted, rejected=one.rejected)
        head = Text(f"{one.entity}  ", style="bold")
        head.append_text(bar(counts))
        none = "nothing changed" if one.is_loaded else "no load of this date"
        head.append(f"  {_count_text(counts) or none}", style="not bold")
        out.print(head, soft_wrap=True)
        if one.rejected:
            out.print(Text(f"  {open_rejects_note(one.entity, one.rejected)}"), soft_wrap=True)
        if one.columns:
            columns = ", ".join(f"{name} ({number:,})" for name, number in one.columns[:8])
            more = len(one.columns) - 8
            rest = f" and {more} more" if more > 0 else ""
            out.print(Text(f"  most changed: {columns}{rest}"), soft_wrap=True)
        _print_samples(one.samples, out)


def show_difference(found: Difference, out: Console) -> None:
    """Print what differs between two dates."""
    counts = Counts(found.inserted, found.updated, found.deleted)
    out.print(Text(f"{found.entity}, {found.first} → {found.last}", style="bold"), soft_wrap=True)
    out.print(Text(f"  {_count_text(counts) or 'no difference'}"), soft_wrap=True)
    _print_samples(found.samples, out)
    if any(one.operation == "U" and not one.changes for one in found.samples):
        out.print(
            Text(
                "  an update without a column differs in a sensitive one, whose values are "
                "stored apart"
            ),
            soft_wrap=True,
        )


def _print_samples(versions: Sequence[Version], out: Console) -> None:
    for version in versions:
        name, style = _OPERATIONS[version.operation]
        line = Text(f"  {_key(version)}  ")
        line.append(name, style=style)
        out.print(line, soft_wrap=True)
        _print_changes(version, out)


def show_rejects(rejects: Sequence[Reject], out: Console) -> None:
    """Print rejected rows, a block each that is whole on a narrow terminal too."""
    for one in rejects:
        head = Text(one.reason, style="red")
        if one.column is not None:
            is_known = one.value is not None or one.reason.startswith("null")
            value = f": {shown_value(one.value, _WIDE)}" if is_known else ""
            head.append(f"  {one.column}{value}", style="bold not red")
        out.print(head, soft_wrap=True)
        date = "" if one.business_date is None else f"{one.business_date}, "
        lines = [f"{date}commit {one.commit_id}"]
        if one.file is not None:
            lines.append(one.file if one.line is None else f"{one.file}, line {one.line:,}")
        if one.mended_by is not None:
            when = one.mended_by["completed_at"]
            lines.append(
                f"mended by commit {one.mended_by['commit_id']}"
                + (f" at {when:%Y-%m-%d %H:%M} UTC" if when else "")
            )
        elif one.state != "open":
            lines.append(_NOT_OPEN[one.state])
        lines.append(shown_value(one.row, _WIDE))
        for line in lines:
            out.print(Text(f"    {line}"), soft_wrap=True)


def _print_changes(version: Version, out: Console) -> None:
    for change in version.changes:
        line = Text(f"    {change.column}: ")
        if change.is_apart:
            line.append(APART, style="dim")
        else:
            old, new = shown_change(change.old, change.new)
            line.append(old, style="red")
            line.append(" → ")
            line.append(new, style="green")
        out.print(line, soft_wrap=True)


def simple_table(*headings: str) -> Table:
    """Return an empty table as commands print them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    return table


def _count_text(counts: Counts) -> str:
    parts = (
        (counts.inserted, "inserted"),
        (counts.updated, "updated"),
        (counts.deleted, "deleted"),
        (counts.rejected, "rejected"),
    )
    return ", ".join(f"{number:,} {what}" for number, what in parts if number)


def _key(version: Version) -> str:
    key = ", ".join(f"{name}={shown_value(value)}" for name, value in version.key.items())
    return key or "(a sensitive key)"


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
