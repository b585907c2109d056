"""How fast Tidemark is, as ratios to peers and floors of the same run.

    python python/benchmarks/bench.py a b --rounds 3

measures workloads, prints a table for each and writes it to python/benchmarks/results; RESULTS.md puts them together.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

# the renderer of macros that the tests have
sys.path.append(str(Path(__file__).resolve().parents[1]))

import airports
import change_events
import dates
import enriched
import extracts
import large
import overhead
import replicated
import small_loads
import trickle
from harness import MEMORY_VARIABLE, Result, render

WORKLOADS: dict[str, Callable[[int, float], Result]] = {
    "a": extracts.workload_a,
    "b": extracts.workload_b,
    "c": large.workload_c,
    "d": dates.workload_d,
    "e": change_events.workload_e,
    "f": enriched.workload_f,
    "g": airports.workload_g,
    "o": overhead.workload_o,
    "r": replicated.workload_r,
    "s": small_loads.workload_s,
    "t": trickle.workload_t,
}


@click.command()
@click.argument("workloads", nargs=-1, type=click.Choice(list(WORKLOADS)))
@click.option("--rounds", default=3, show_default=True, help="How often each is measured.")
@click.option("--scale", default=1.0, show_default=True, help="Of the number of rows or events.")
@click.option("--memory", help="Heap of the JVM, such as 4g, in place of each workload's own.")
def main(workloads: tuple[str, ...], rounds: int, scale: float, memory: str | None) -> None:
    """Measure WORKLOADS, all if none is named."""
    if memory:
        os.environ[MEMORY_VARIABLE] = memory
    for name in workloads or WORKLOADS:
        WORKLOADS[name](rounds, scale).save()
        render()


if __name__ == "__main__":
    main()
