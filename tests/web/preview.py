"""The page with a simulated mirror, to look at it.

    PYTHONPATH=src:tests python -m web.preview [SITUATION] [--port 7081]

The token is `preview`. Situations: healthy, lagging, stopped, paused, waiting, starting, thousand, markup,
several.
"""

from __future__ import annotations

import argparse
import math
import threading
from dataclasses import replace

from causeway.core.job import Job, JobState
from causeway.core.snapshot import EventView, MirrorView, PartitionView, Snapshot
from causeway.web.access import Access
from causeway.web.app import application
from causeway.web.serve import PORT, Server
from causeway.web.stream import clock
from web import made
from web.made import Shown

BEGAN = clock() - 6 * 3_600_000


class Moving(Shown):
    """What it shows is a function of the time, so the past can be shown as well."""

    def __init__(self, view: Snapshot) -> None:
        super().__init__(view)
        self.paused = ""
        self.compared_at = 0

    def snapshot(self) -> Snapshot:
        return self.at(clock())

    def at(self, now: int) -> Snapshot:
        mirrors = tuple(self._moved(one, now, index) for index, one in enumerate(self.view.mirrors))
        return replace(self.view, at=now, started_at=BEGAN, mirrors=mirrors)

    def pause(self, mirror: str, by: str) -> None:
        self.paused = by

    def resume(self, mirror: str, by: str) -> None:
        self.paused = ""

    def verify(self, mirror: str) -> str:
        self.compared_at = clock()
        return "1"

    def job(self, id: str) -> Job | None:
        over = clock() - self.compared_at > 8_000
        lines = ("orders: 12 partitions, 1,234,567 records on both sides",) if over else ()
        state: JobState = "equal" if over else "running"
        return Job(id, "preview", state, self.compared_at, lines=lines)

    def _moved(self, view: MirrorView, now: int, index: int) -> MirrorView:
        seconds = (now - BEGAN) / 1000
        running = view.state == "running" and not self.paused
        pace = 40_000 + 9_000 * math.sin(seconds / 47 + index) + 3_000 * math.sin(seconds / 5)
        replicated = int(40_000 * seconds)
        moved = replace(
            view,
            partitions=tuple(
                self._partition(one, number, seconds, replicated // len(view.partitions))
                for number, one in enumerate(view.partitions)
            ),
            shards=tuple(
                replace(
                    one, heartbeat_at=now - (now + 700 * one.number) % 2_000, transactions=int(seconds * 3)
                )
                for one in view.shards
            ),
            events=tuple(replace(one, at=now - 90_000 * (back + 1)) for back, one in enumerate(view.events)),
            state_since=BEGAN,
            records_per_second=pace if running else 0.0,
            bytes_per_second=pace * 620 if running else 0.0,
            latency=_latency(seconds) if running else made.latency(1),
        )
        return replace(moved, state="paused", paused_by=self.paused) if self.paused else moved

    @staticmethod
    def _partition(one: PartitionView, number: int, seconds: float, replicated: int) -> PartitionView:
        if one.verdict:
            return one
        wave = 1 + 0.6 * math.sin(seconds / 31 + number)
        lag = int(one.lag_records * wave)
        return replace(
            one,
            position=one.start + replicated,
            log_end=one.start + replicated + lag,
            to_end=replicated + replicated // 500,
            delivered=replicated - replicated // 500,
            holes=replicated // 500,
            bytes=replicated * 620,
            lag_records=lag,
            lag_seconds=one.lag_seconds * wave,
        )


def _latency(seconds: float) -> tuple[int, ...]:
    """Most within 30 ms; the share of the slow ones comes and goes."""
    counts = [0] * len(made.latency(0))
    for bucket, share in ((6, 0.3), (7, 0.5), (8, 0.1)):
        counts[bucket] = int(40_000 * share * seconds)
    for bucket in (10, 12, 14):
        counts[bucket] = int(400 * (seconds - 60 * math.cos(seconds / 60 - bucket / 8)))
    return tuple(counts)


def several() -> Snapshot:
    lagging = replace(made.lagging().mirrors[0], name="orders-to-osaka", destination="osaka")
    paused = replace(made.paused().mirrors[0], name="audit", sources=("rome", "paris"))
    back = made.mirror(name="back", sources=("tokyo",), destination="paris")
    return made.snapshot(made.stopped().mirrors[0], lagging, paused, back)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("situation", nargs="?", default="thousand")
    parser.add_argument("--port", type=int, default=PORT)
    arguments = parser.parse_args()
    situations = {"several": several}
    view = situations.get(arguments.situation, getattr(made, arguments.situation, made.thousand))()
    news = (
        EventView(0, "warning", "a connection to tokyo was lost: the attempt is retried", "", 2),
        EventView(0, "info", "topic payments was created at tokyo with 12 partitions"),
    )
    mirrors = tuple(replace(one, events=one.events + news) for one in view.mirrors)
    source = Moving(replace(view, mirrors=mirrors))
    app = application(source, Access("preview"))
    now = clock()
    for at in [*range(BEGAN, now - 600_000, 60_000), *range(now - 600_000, now, 2_000)]:
        app.state.feed.history.add(source.at(at))
    server = Server(app, port=arguments.port)
    server.start()
    print(server.address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
