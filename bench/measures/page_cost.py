"""The cost of page and metrics: a mirror of many partitions, its page open and its metrics scraped.

The driver's process serves both, so its CPU is measured, with and without them.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

from bench.child import Child, Failed
from bench.load import fill
from bench.measures.bench import SETTLE_SECONDS, Bench, voiding
from bench.measures.growth import BUSY, START_SECONDS, idle_topics
from bench.measures.latency import OPENING
from bench.samples import Sample
from bench.shapes import CENTRE
from bench.usage import used
from bench.watch import until_arrived

PARTITIONS = 1_000
SCRAPE_SECONDS = 5.0
SECONDS = 30.0
_PAGE = re.compile(r"the page is at http://([\w.]+):(\d+)")


def page_cost(bench: Bench) -> None:
    """Measure in every round: over half a minute, CPU varies by a hundredth of a core."""
    bench.stage.say(f"page and metrics: {PARTITIONS:,} partitions, scraped every {SCRAPE_SECONDS:.0f} s")
    for number in range(bench.scale.rounds):
        _once(bench, Sample("page", f"{PARTITIONS:,} partitions", bench.causeway.name, number))


def _once(bench: Bench, sample: Sample) -> None:
    stage, shape = bench.stage, replace(CENTRE, partitions=BUSY)
    with voiding(lambda why: bench.note(replace(sample, void=why))):
        busy, idle = stage.name("busy"), idle_topics(PARTITIONS, stage.name("idle"))
        stage.source.create(idle)
        fill(stage.source, busy, shape, OPENING)
        job = bench.job(bench.place(sample), [busy, *idle], PARTITIONS, shape.compression)
        measured: dict[str, float] = {}
        for place, served in ((1, False), (2, True)):
            chosen = ("log.format=text", f"web.enabled={str(served).lower()}", "web.port=0")
            mirror = replace(bench.causeway, overrides=(*bench.causeway.overrides, *chosen))
            there = replace(job, directory=job.directory / str(place))
            with mirror.start(there) as child:
                until_arrived(child, stage.destination, busy, shape.counts(OPENING), patience=START_SECONDS)
                if not served:
                    measured["off_cores"] = _cores(child)
                    continue
                measured["alone_cores"] = _cores(child)
                with _observed(child) as scrapes:
                    measured["watched_cores"] = _cores(child)
                measured["scrape_ms"] = 1_000 * sum(scrapes) / max(1, len(scrapes))
        measured["cost_cores"] = measured["watched_cores"] - measured["off_cores"]
        bench.note(replace(sample, figures=measured))
    stage.clean()


def _cores(child: Child) -> float:
    """CPU cores of the driver only."""
    time.sleep(SETTLE_SECONDS)
    before, at = used([child.pid]).cpu, time.monotonic()
    time.sleep(SECONDS)
    child.must_live()
    return (used([child.pid]).cpu - before) / (time.monotonic() - at)


@contextlib.contextmanager
def _observed(child: Child) -> Iterator[list[float]]:
    """Keep a page open and scrape the metrics; yields the duration of each scrape."""
    address = _PAGE.search(child.output)
    if address is None:
        raise Failed("its output has no address of the page")
    host, port = address[1], int(address[2])
    ending = threading.Event()
    scrapes: list[float] = []

    def read() -> None:
        stream = http.client.HTTPConnection(host, port, timeout=10)
        stream.request("GET", "/api/v1/stream")
        response = stream.getresponse()
        while not ending.is_set() and response.readline():
            pass
        stream.close()

    def scrape() -> None:
        while not ending.wait(SCRAPE_SECONDS):
            began = time.monotonic()
            urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=10).read()
            scrapes.append(time.monotonic() - began)

    threads = [threading.Thread(target=target, daemon=True) for target in (read, scrape)]
    for thread in threads:
        thread.start()
    try:
        yield scrapes
    finally:
        ending.set()
        for thread in threads:
            thread.join(10)
