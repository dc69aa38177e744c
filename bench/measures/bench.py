"""What all measures share: the stage, the scale, the systems, and where samples go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from bench.child import Child, Failed
from bench.contenders.causeway import Causeway
from bench.contenders.job import Job, Mirror
from bench.contenders.kafka_tools import Limit
from bench.contenders.mirrormaker import MirrorMaker2
from bench.samples import Run, Sample
from bench.scale import Scale
from bench.shapes import Compression
from bench.stage import Stage
from causeway.errors import CausewayError

SETTLE_SECONDS = 3.0
"""Seconds after the last record until a mirror counts as idle."""
TROUBLE = (Failed, ValueError, AssertionError, KafkaException, CausewayError, OSError)
"""Errors that make a run void, without ending the benchmark."""


@dataclass(frozen=True)
class Bench:
    stage: Stage
    scale: Scale
    run: Run
    causeway: Causeway
    mirrors: Sequence[Mirror]  # including Causeway, if it takes part
    limits: Sequence[Limit]
    kept: Callable[[], None]  # called after every sample: writes them to disk

    def note(self, sample: Sample) -> None:
        self.run.samples.append(sample)
        self.kept()
        self.stage.say(f"  {line(sample)}")

    def job(self, place: Path, topics: Sequence[str], partitions: int, compression: Compression) -> Job:
        sides = self.stage.source.servers, self.stage.destination.servers
        return Job(self.stage.name("b"), *sides, tuple(topics), partitions, compression, place)

    def introduce(self, entry: Mirror | Limit, job: Job) -> None:
        """Record a system's title and settings, at its first run."""
        self.run.settings.setdefault(entry.name, entry.settings(job))
        self.run.titles.setdefault(entry.name, entry.title)

    def place(self, sample: Sample) -> Path:
        """The directory of a run's settings and logs."""
        return self.stage.place(sample.measure, sample.case.replace(",", ""), sample.round, sample.system)

    def several(self) -> list[Mirror]:
        """Mirrors that can replicate more than one topic."""
        return [mirror for mirror in self.mirrors if isinstance(mirror, Causeway | MirrorMaker2)]


def line(sample: Sample) -> str:
    """A sample as a line of the progress output."""
    figures = ", ".join(f"{name.replace('_', ' ')} {value:,.4g}" for name, value in _first(sample.figures))
    return f"{sample.system}: " + (f"VOID, {sample.void}" if sample.void else figures)


def reason(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def voiding(note: Callable[[str], None]) -> Iterator[None]:
    """Pass an error inside to `note`; it ends this run only."""
    try:
        yield
    except TROUBLE as error:
        note(reason(error))


def idle_share(child: Child, seconds: float) -> float:
    """CPU cores that an idle mirror uses."""
    time.sleep(SETTLE_SECONDS)
    before, at = child.usage().cpu, time.monotonic()
    time.sleep(seconds)
    child.must_live()
    return (child.usage().cpu - before) / (time.monotonic() - at)


def _first(figures: dict[str, float]) -> list[tuple[str, float]]:
    return list(figures.items())[:8]
