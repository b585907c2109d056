"""How fast Tidemark is, as ratios to peers and floors of the same run.

    python python/benchmarks/bench.py a b --rounds 3

measures workloads and prints a table for each. What is measured of a commit, and not of sources that differ from it, is kept in
python/benchmarks/results, and RESULTS.md is written when all are of one commit: without names all are measured that are not yet of
this one, so that the same call goes on where one ended.
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
import cliff
import dates
import enriched
import extracts
import large
import overhead
import replicated
import small_loads
import trickle
from harness import (
    DIRTY,
    MEMORY_VARIABLE,
    Result,
    check_programs,
    commit,
    measured,
    progress,
    render,
)

ROUNDS = 3
WORKLOADS: dict[str, Callable[[int, float], Result]] = {
    "a": extracts.workload_a,
    "b": extracts.workload_b,
    "c": large.workload_c,
    "d": dates.workload_d,
    "e": change_events.workload_e,
    "f": enriched.workload_f,
    "g": airports.workload_g,
    "i": cliff.workload_i,
    "k": cliff.workload_k,
    "l": cliff.workload_l,
    "o": overhead.workload_o,
    "r": replicated.workload_r,
    "s": small_loads.workload_s,
    "t": trickle.workload_t,
}


@click.command()
@click.argument("workloads", nargs=-1, type=click.Choice(list(WORKLOADS)))
@click.option("--rounds", default=ROUNDS, show_default=True, help="How often each is measured.")
@click.option("--scale", default=1.0, show_default=True, help="Of the number of rows or events.")
@click.option("--memory", help="Heap of the JVM, such as 4g, in place of each workload's own.")
def main(workloads: tuple[str, ...], rounds: int, scale: float, memory: str | None) -> None:
    """Measure WORKLOADS; if none is named, all that are not yet measured of this commit."""
    check_programs()
    began = commit()
    if not workloads and began.endswith(DIRTY):
        sys.exit("All workloads are measured of one commit: commit first what git status shows.")
    if memory:
        os.environ[MEMORY_VARIABLE] = memory
    of_commit = {name: one["tidemark"] for name, one in measured().items()}
    for name in workloads or [name for name in WORKLOADS if of_commit.get(name) != began]:
        result = WORKLOADS[name](rounds, scale)
        print(result.table(), flush=True)
        if began.endswith(DIRTY) or commit() != began or scale != 1 or rounds < ROUNDS:
            progress(f"({name}) is not kept: it is not of a commit, or of fewer rows or rounds")
        else:
            result.save()
    if not began.endswith(DIRTY):
        render(list(WORKLOADS))


if __name__ == "__main__":
    main()
