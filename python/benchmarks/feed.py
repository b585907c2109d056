"""How long it takes to read a part of a change feed, as a ratio to reading all of it.

    python python/benchmarks/feed.py 1000000

loads a table of so many rows, makes 100 commits that update 1 % of it each, and reads the changes of 1, 10 and all of them:
derived from the log, and from feeds that are kept in 1 and in 4 buckets. The first commit is a load; the 100 others are
written to the log as a forward load writes it, a day apart. Prints the seconds of each, the ratio to all, and the files and
bytes that the query read. Everything is in a temporary folder.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Iterator
from typing import Any

from harness import Bench, opened

COMMITS = 100
MODELS = """
version: 2
models:
  - name: items
    config:
      materialized: cdc
      unique_key: id
      meta: {tidemark: {extract: full}}
  - name: feed_1
    config: {materialized: feed}
  - name: feed_4
    config: {materialized: feed, meta: {tidemark: {feed_buckets: 4}}}
"""
BODY = (
    "select id, cast(id % 1000 as string) as owner, cast(id as decimal(12,2)) as price, "
    "sha2(cast(id as string), 256) as label from range(ROWS)"
)
FEED = "select * from ({{ tidemark.change_feed(ref('items')) }})"
BETWEEN = "\n-- ~~~\n"


def models(rows: int) -> dict[str, str]:
    """Files of the project."""
    return {
        "models/items.yml": MODELS,
        "models/items.sql": BODY.replace("ROWS", str(rows)),
        "models/feed_1.sql": FEED,
        "models/feed_4.sql": FEED,
    }


def add_commits(session: Any, rows: int) -> list[int]:
    """Append the commits to log and commit table, and return the ids of all."""
    states = "tidemark.tidemark_commits__log"
    first = session.sql(f"select max(commit_id) from {states} where entity = 'items'").collect()
    ids = [int(first[0][0])]
    start = dt.datetime.strptime(str(ids[0])[:12], "%y%m%d%H%M%S")
    for number in range(1, COMMITS + 1):
        moment = start + dt.timedelta(days=number)
        ids.append(int(moment.strftime("%y%m%d%H%M%S") + "000"))
        session.sql(
            f"insert into tidemark.items__log by name select * except (_commit_id, _row_hash, price, _operation, "
            f"_business_date, _eff_start_date, _changed_columns), {ids[-1]} as _commit_id, "
            f"md5(concat(_row_hash, '{number}')) as _row_hash, cast(price + {number} as decimal(12,2)) as price, "
            f"'U' as _operation, date'{moment.date()}' as _business_date, date'{moment.date()}' as _eff_start_date, "
            f"array('price') as _changed_columns from tidemark.items__log "
            f"where _commit_id = {ids[0]} and id % {COMMITS} = {number * 37 % COMMITS} and id < {rows}"
        )
    shown = ", ".join(
        f"({id_}, timestamp'{start + dt.timedelta(days=number)}')"
        for number, id_ in enumerate(ids)
        if number
    )
    session.sql(
        f"insert into {states} by name select s.* except (commit_id, business_date, completed_at, state_at, kind), "
        f"c.id as commit_id, cast(c.at as date) as business_date, c.at as completed_at, s.state_at, s.kind "
        f"from {states} as s cross join (values {shown}) as c(id, at) "
        f"where s.commit_id = {ids[0]} and s.state = 'completed'"
    )
    return ids


def scans(plan: Any) -> Iterator[Any]:
    """The file scans of a query that ran."""
    name = plan.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from scans(plan.executedPlan())
    elif name.endswith("QueryStageExec"):
        yield from scans(plan.plan())
    elif name == "FileSourceScanExec":
        yield plan
    elif name != "ReusedExchangeExec":
        children = plan.children()
        for number in range(children.size()):
            yield from scans(children.apply(number))


def read(session: Any, query: str) -> tuple[float, int, int, int]:
    """Seconds, changes, files and bytes of reading all that a query gives."""
    frame = session.sql(f"select count(*), max(length(_change)) from (\n{query}\n)")
    started = time.monotonic()
    changes = frame.collect()[0][0]
    seconds = time.monotonic() - started
    files = size = 0
    for scan in scans(frame._jdf.queryExecution().executedPlan()):
        metrics = scan.metrics()
        files += metrics.apply("numFiles").value()
        size += metrics.apply("filesSize").value()
    return seconds, changes, files, size


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with opened(Bench(models(rows))) as bench:
        bench.run("2026-01-01", "--select", "items")
        ids = add_commits(bench.session, rows)
        bench.dbt("run", "--select", "feed_1", "feed_4")
        ranges = {"1 commit": (50, 51), "10 commits": (50, 60), "100 commits": (0, COMMITS)}
        sources = {"log": "items", "feed, 1 bucket": "feed_1", "feed, 4 buckets": "feed_4"}
        calls = [
            f"{{{{ tidemark.change_feed(ref('{model}'), from={ids[a]}, to={ids[b]}, ordered=false) }}}}"
            for model in sources.values()
            for a, b in ranges.values()
        ]
        queries = bench.compiled(BETWEEN.join(calls)).split(BETWEEN.strip("\n"))
        session = bench.session
        for query in queries[len(ranges) - 1 :: len(ranges)]:  # warm
            read(session, query)
        print(f"{rows:,} rows, {COMMITS} commits of {rows // COMMITS:,} changes each")
        print(f"{'':<28}{'changes':>10}{'s':>8}{'of all':>8}{'files':>7}{'MB':>9}")
        found = [read(session, query) for query in queries]
        labels = [(source, span) for source in sources for span in ranges]
        for number, (source, span) in enumerate(labels):
            seconds, changes, files, size = found[number]
            whole = found[number // len(ranges) * len(ranges) + len(ranges) - 1][0]
            print(
                f"{source:<17}{span:<11}{changes:>10,}{seconds:>8.2f}{seconds / whole:>8.2f}"
                f"{files:>7}{size / 1e6:>9.2f}"
            )


if __name__ == "__main__":
    main()
