"""`causeway.verify`: are both sides of mirrors equal, record by record?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from causeway.api.arguments import Config, check_callable, check_seconds, names_of, settings_of
from causeway.api.spark_slots import slots_for
from causeway.core.verify_report import DifferenceKind, VerifyReport
from causeway.errors import VerifyMismatch
from causeway.planning.clusters import chosen
from causeway.reporting.verify_report import summary
from causeway.verification.verify import verify as compare


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """A report for each mirror."""

    mirrors: tuple[VerifyReport, ...]

    @property
    def equal(self) -> bool:
        return all(report.equal for report in self.mirrors)

    def __iter__(self) -> Iterator[VerifyReport]:
        return iter(self.mirrors)

    def __getitem__(self, mirror: str) -> VerifyReport:
        """The report of the mirror of this name."""
        for report in self.mirrors:
            if report.mirror == mirror:
                return report
        raise KeyError(mirror)

    def raise_if_different(self) -> VerifyResult:
        """Raise VerifyMismatch unless both sides of every mirror are equal; returns this result."""
        different = [report for report in self.mirrors if not report.equal]
        if different:
            raise VerifyMismatch(
                "; ".join(f"{_verdict(report)}: {summary(report)}" for report in different),
                where=", ".join(f'mirror "{report.mirror}"' for report in different),
                todo=_advice(different),
            )
        return self


def verify(
    config: Config,
    *,
    mirrors: Iterable[str] | str | None = None,
    wait: bool = False,
    timeout: float | None = None,
    node: str = "",
    spark: object | None = None,
    on_step: Callable[[str], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> VerifyResult:
    """Compare both sides of mirrors, up to the log ends at the start.

    With `wait` a running mirror may first catch up with these ends, for `timeout` seconds at most.
    Of a source pool `node` is compared, or else the first node that has everything the ledger counts.
    Differences are part of the result, not errors. `on_step` gets a line for each step, `on_progress` the
    compared offsets and their total, 0 if it is unknown; if one of them raises, the comparison ends with that
    exception.
    """
    check_seconds("timeout", timeout)
    check_callable("on_step", on_step)
    check_callable("on_progress", on_progress)
    if not isinstance(node, str):
        raise TypeError(f"node must be a name, not {type(node).__name__}")
    names = names_of(mirrors)
    settings = settings_of(config)
    chosen(settings, names)
    slots = slots_for(settings.spark, spark, "causeway verify", lambda _log: None)
    stopping = threading.Event()
    slots.claim(1)
    try:
        # In a thread of its own: in the main thread Spark would handle Ctrl-C, in the middle of a call.
        with ThreadPoolExecutor(1, thread_name_prefix="causeway-verify") as pool:
            comparing = pool.submit(
                compare,
                settings,
                names,
                wait=wait,
                timeout=timeout,
                node=node,
                say=on_step or _ignore,
                progress=on_progress or _ignore,
                stopping=stopping,
                open_executor=lambda wanted: slots.open(wanted, 1, stopping),
            )
            try:
                return VerifyResult(tuple(comparing.result()))
            except BaseException:
                stopping.set()
                raise
    finally:
        slots.release()


def _ignore(*_: object) -> None:
    """Without a callback."""


def _advice(different: Sequence[VerifyReport]) -> str:
    if any(report.lost for report in different):
        return (
            "elect a complete replica as leader; if there is none, skip what is lost:"
            ' `causeway offsets skip`, or on_gap = "continue"'
        )
    if all(_kinds(report) == {"lagging"} for report in different):
        return "run the mirror and verify with --wait"
    if any("unreadable" in _kinds(report) for report in different):
        return "compare the headers of the unreadable records with another client"
    return ""


def _verdict(report: VerifyReport) -> str:
    unknown = _kinds(report) == {"unreadable"}
    return "some headers could not be compared" if unknown else "both sides differ"


def _kinds(report: VerifyReport) -> set[DifferenceKind]:
    return {kind for kind, count in report.counts().items() if count}
