"""`make test`: verbs of the Makefile one after the other, with the time that each takes and took the last time.

Example: `python python/tests/stages.py style test-fast` runs `make style`, then `make test-fast`.

What they took is kept in .tidemark/test-times.json, which `make clean` removes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
RECORD = REPO / ".tidemark" / "test-times.json"
MINUTES = 30
"""What all of it takes on two cores, where nothing is known of this machine."""


def minutes(seconds: float) -> str:
    """Say a time for someone who waits.

    Example:
        >>> minutes(83), minutes(9)
        ('1 min 23 s', '9 s')
    """
    whole, rest = divmod(round(seconds), 60)
    return f"{whole} min {rest} s" if whole else f"{rest} s"


def known() -> dict[str, float]:
    """Return the seconds of each stage when it last passed."""
    try:
        found = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): float(seconds) for name, seconds in found.items()}


def expected(stages: list[str], before: dict[str, float]) -> str:
    """Say how long stages will take."""
    if all(stage in before for stage in stages):
        return f"about {minutes(sum(before[stage] for stage in stages))}, as the last time"
    return f"some {MINUTES} min on 2 cores in all; it was never measured here"


def say(text: str) -> None:
    """Print a line above what the stages print."""
    print(f"── {text}", flush=True)


def main(stages: list[str]) -> int:
    """Run the stages; return the code of the first that failed."""
    before, taken = known(), {}
    say(f"{len(stages)} stages: {', '.join(stages)}; this takes {expected(stages, before)}")
    for number, stage in enumerate(stages):
        last = f", {minutes(before[stage])} the last time" if stage in before else ""
        say(f"{number + 1} of {len(stages)}: {stage}{last}")
        begun = time.monotonic()
        code = subprocess.run(["make", stage], cwd=REPO).returncode
        taken[stage] = time.monotonic() - begun
        if code != 0:
            say(f"{stage} failed after {minutes(taken[stage])}")
            return code
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps({**before, **taken}, indent=1) + "\n", encoding="utf-8")
    say(", ".join(f"{stage} {minutes(seconds)}" for stage, seconds in taken.items()))
    say(f"all in {minutes(sum(taken.values()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
