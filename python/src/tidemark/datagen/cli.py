"""`tidemark datagen`: seeded test data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tidemark.datagen.cdc import CdcSpec, write_cdc
from tidemark.datagen.events import write_events
from tidemark.datagen.events_spec import EventsSpec
from tidemark.datagen.scenarios import SCENARIOS, write_scenario
from tidemark.errors import ConfigError

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def datagen() -> None:
    """Generate test data. The same seed gives the same bytes."""


@datagen.command()
@click.argument("n_init", type=int)
@click.argument("n_incr", type=int)
@click.argument("n_keys", type=int)
@click.argument("n_nonkeys", type=int)
@click.argument("pct_del", type=float)
@click.argument("pct_upd", type=float)
@click.argument("pct_unchanged", type=float)
@click.argument("out1", type=_FILE)
@click.argument("out2", type=_FILE)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes."
)
@click.option("--delta", is_flag=True, help="Write only inserted and updated rows for day 2.")
@click.option(
    "--with-unchanged",
    type=float,
    default=0.0,
    metavar="P",
    help="With --delta, also write P per cent of the unchanged rows.",
)
def cdc(
    n_init: int,
    n_incr: int,
    n_keys: int,
    n_nonkeys: int,
    pct_del: float,
    pct_upd: float,
    pct_unchanged: float,
    out1: Path,
    out2: Path,
    seed: int,
    delta: bool,
    with_unchanged: float,
) -> None:
    """Write two extracts that are a day apart, as CSV files with a header.

    A name that ends in .gz gives a gzip file. Day 1 has N_INIT rows. Day 2 deletes PCT_DEL, updates
    PCT_UPD and leaves PCT_UNCHANGED per cent of them, and adds N_INCR rows.

    Example: tidemark datagen cdc 10000 2000 5 10 20 40 40 day1.csv day2.csv
    """
    try:
        spec = CdcSpec(
            n_init,
            n_incr,
            n_keys,
            n_nonkeys,
            pct_del,
            pct_upd,
            pct_unchanged,
            seed,
            delta,
            with_unchanged,
        )
        counts = write_cdc(spec, out1, out2)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{out2} after {out1}: {counts}", err=True)


@datagen.command()
@click.argument("n_events", type=int)
@click.argument("n_batches", type=int)
@click.argument("out", metavar="OUT")
@click.option(
    "--natural-in-batch",
    type=float,
    default=0.0,
    metavar="P",
    help="Events that are sent twice in one batch.",
)
@click.option(
    "--natural-cross-batch",
    type=float,
    default=0.0,
    metavar="P",
    help="Events that are sent again in a later batch.",
)
@click.option(
    "--synthetic-in-batch",
    type=float,
    default=0.0,
    metavar="P",
    help="Events with the id of another event in the batch, but other content.",
)
@click.option(
    "--synthetic-cross-batch",
    type=float,
    default=0.0,
    metavar="P",
    help="Events with the id of an event of an earlier batch, but other content.",
)
@click.option(
    "--late", type=float, default=0.0, metavar="P", help="Events that are sent hours or days late."
)
@click.option("--bad", type=float, default=0.0, metavar="P", help="Lines that no reader can parse.")
@click.option(
    "--no-fingerprint", type=float, default=0.0, metavar="P", help="Events without a fingerprint."
)
@click.option(
    "--hot-ids", type=int, default=0, metavar="N", help="Number of ids that many lines share."
)
@click.option(
    "--hot-copies", type=int, default=0, metavar="N", help="Number of lines of each hot id."
)
@click.option("--hours", type=int, default=1, show_default=True, help="Hours between two batches.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes."
)
@click.option("--truth", type=_FILE, help="Write to this file what each line is, as JSON lines.")
def events(n_events: int, n_batches: int, out: str, truth: Path | None, **options: Any) -> None:
    """Write enriched events with duplicates, late events and broken lines.

    The command writes N_EVENTS events into N_BATCHES files. OUT names the files: {batch} is the
    number of the batch, {date} is its date. The ending .tsv means canonical TSV, .jsonl means
    self-describing JSON lines. Add .gz for gzip. P is a per cent of N_EVENTS. Copies and broken
    lines come on top.

    Example: tidemark datagen events 1000 4 'landing/events_{batch}.tsv.gz' --natural-in-batch 5
    """
    try:
        written = write_events(EventsSpec(n_events, n_batches, **options), out, truth)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{len(written.files)} files, {out}: {written}", err=True)


@datagen.command()
@click.argument("name", type=click.Choice(list(SCENARIOS)), metavar="NAME")
@click.argument("out_dir", type=_FOLDER)
def scenario(name: str, out_dir: Path) -> None:
    """Write a nasty scenario: a CSV file per business date and expected.json."""
    path = write_scenario(name, out_dir)
    click.echo(f"{path}: {SCENARIOS[name].about}", err=True)


@datagen.command()
def scenarios() -> None:
    """List the scenarios."""
    for name, each in SCENARIOS.items():
        click.echo(f"{name}\t{each.about}")
