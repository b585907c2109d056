"""Workload (c): what grows with the rows. The second extract of a tenth of them and of all, in one process."""

from __future__ import annotations

from extracts import DAYS, model, write_extracts
from harness import Bench, Result, Timing, opened, progress

CHANGED, DELETED = 0.4, 0.2


def second_day(bench: Bench, name: str) -> Timing:
    """Load both days of an entity into nothing; the time is that of the second."""
    bench.drop()
    bench.run(DAYS[0], "--select", name)
    return bench.run(DAYS[1], "--select", name)


def compare(result: Result, rows: dict[str, int], rounds: int, memory: str) -> Result:
    """Measure the second day of each number of rows.

    Args:
        result: Where the series go.
        rows: Of each series, the one with fewest first.
        rounds: How often.
        memory: Heap of the JVM.
    """
    series = {
        name: result.add(name, f"Tidemark, {count:,} rows", count) for name, count in rows.items()
    }
    with opened(Bench({}, memory)) as bench:
        for name, count in rows.items():
            landing = bench.landing / name
            landing.mkdir()
            for path, text in model(name, landing).items():
                bench.write(path, text)
            progress(f"{result.name}: writing extracts of {count:,} rows")
            write_extracts(bench.session, landing, count, CHANGED, DELETED)
        # what is held from here on is held by the loads
        bench.stop()
        few, many = rows
        progress(f"{result.name}: {few}, not measured")
        second_day(bench, few)
        held = {}
        for number in range(rounds):
            for name in rows:
                series[name].rounds.append(second_day(bench, name))
                held.setdefault(name, bench.peak_memory())
                progress(f"round {number + 1}, {name}: {series[name].rounds[-1].seconds:.1f} s")
        ratio = series[many].median() / series[few].median()
        spilled = {name: series[name].rounds[-1].spilled / 2**20 for name in rows}
        result.notes.append(
            f"{rows[many] / rows[few]:.0f} times the rows take {ratio:.1f} times as long (target: at most 11). "
            f"Spilled to disk: {spilled[few]:,.0f} MiB and {spilled[many]:,.0f} MiB; heap {bench.memory}; "
            f"the JVM held at most {held[few]:.1f} GiB, then {held[many]:.1f} GiB."
        )
    return result


def workload_c(rounds: int, scale: float) -> Result:
    """Ten million rows, and a tenth of them."""
    rows = int(10_000_000 * scale)
    what = f"The shape of (a) with {rows // 10:,} and with {rows:,} rows, in one process; the second day of each."
    result = Result("(c) ten times the rows", what, "all")
    return compare(result, {"tenth": rows // 10, "all": rows}, rounds, "8g")
