"""How far a replicator was behind, over time: a small file that is thinned out with age."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tidemark.capture.files import write_synced

# until so many seconds ago one point is kept of so many: some 1,500 in all
_KEPT = ((6 * 3600, 60), (7 * 86400, 900), (90 * 86400, 6 * 3600))
_MOST = 3000


@dataclass(frozen=True)
class Lag:
    """How far a replicator was behind at a time.

    Attributes:
        at: When, in seconds since 1970.
        seconds: By how much the copy that was most behind was so; None if that was not known.
        table: Which one that was.
        waiting: Events that had landed and were not applied.
        applied: Events that had been applied since it began.
    """

    at: float
    seconds: float | None
    table: str | None
    waiting: int
    applied: int


def thinned(points: Sequence[Lag], now: float) -> list[Lag]:
    """Return fewer points: a minute's of 6 hours, a quarter of an hour's of 7 days, 4 a day of 90.

    Of those that one stands for it is the one that was most behind.

    Example:
        >>> points = [Lag(at, at, None, 0, 0) for at in (0.0, 30.0, 59.0, 60.0)]
        >>> [point.at for point in thinned(points, 100.0)]
        [59.0, 60.0]
    """
    kept: dict[tuple[int, int], Lag] = {}
    for point in points:
        step = next((step for age, step in _KEPT if now - point.at < age), None)
        if step is not None:
            place = (step, int(point.at // step))
            kept[place] = _worse(kept[place], point) if place in kept else point
    return sorted(kept.values(), key=lambda point: point.at)


def _worse(one: Lag, other: Lag) -> Lag:
    return one if (one.seconds or 0.0) > (other.seconds or 0.0) else other


class LagHistory:
    """The file of a replicator's lag.

    Args:
        path: Where it lies: a JSON text per line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worst: Lag | None = None
        self._count: int | None = None

    def note(
        self, now: float, lags: Mapping[str, float | None], waiting: int, applied: int
    ) -> None:
        """Note how far it is behind; a line is written for each minute, of the worst in it.

        Args:
            now: When, in seconds since 1970.
            lags: By how much each copy is behind.
            waiting: Events that wait.
            applied: Events that were applied.
        """
        known = {table: lag for table, lag in lags.items() if lag is not None}
        table = max(known, key=lambda name: known[name], default=None)
        seconds = None if table is None else round(known[table], 1)
        point = Lag(round(now, 1), seconds, table, waiting, applied)
        before = self._worst
        if before is not None and now // 60 == before.at // 60:
            self._worst = _worse(before, point)
            return
        if before is not None:
            self._append(before, now)
        self._worst = point

    def close(self) -> None:
        """Write what was noted last."""
        if self._worst is not None:
            self._append(self._worst, self._worst.at)
            self._worst = None

    def _append(self, point: Lag, now: float) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(point)) + "\n")
            if self._count is None:
                self._count = len(self._path.read_bytes().splitlines())
            else:
                self._count += 1
            if self._count > _MOST:
                points = thinned(read_lags(self._path), now)
                write_synced(self._path, "".join(_lines(points)).encode())
                self._count = len(points)
        except OSError:
            pass  # figures only: what was applied is applied


def _lines(points: Iterable[Lag]) -> Iterable[str]:
    return (json.dumps(asdict(point)) + "\n" for point in points)


def read_lags(path: Path) -> list[Lag]:
    """Return what was noted, the oldest first; lines that cannot be read are left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for line in lines:
        try:
            found.append(Lag(**json.loads(line)))
        except (ValueError, TypeError):
            continue  # a line that was cut when the disk was full
    return sorted(found, key=lambda point: point.at)
