"""A process that keeps a project parsed and Spark up, and does commands of `tidemark` whenever it is told to.

Each line of stdin is an order, {"wait": seconds, "commands": [[word, …], …]}; each line of stdout an answer, {"codes": their
exit codes, "seconds": how long they took}. The first answer says that it is ready. All that commands print goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from tidemark.cli import call, cli
from tidemark.run.invoke import Invoker
from tidemark.run.kept import projects_kept
from tidemark.run.options import RunOptions, find_profiles, prepare_environment
from tidemark.spark.session import session_expected


def serve() -> None:
    """Do what stdin says, until it ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    root = Path.cwd()
    options = RunOptions(dates=[], project_dir=root, profiles_dir=find_profiles(root))
    prepare_environment(root)
    with session_expected(), projects_kept():
        Invoker.quiet(
            options,
            "the project cannot be parsed. Correct the project: dbt parse shows the problems",
        ).session()
        print(json.dumps({"codes": []}), file=answers)
        for line in sys.stdin:
            order = json.loads(line)
            time.sleep(order["wait"])
            began = time.monotonic()
            codes = [call(cli, words) for words in order["commands"]]
            answer = {"codes": codes, "seconds": time.monotonic() - began}
            print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    serve()
