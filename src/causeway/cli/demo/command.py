"""`causeway demo`: its options, and cleanup however it ends."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from causeway.cli.demo.environment import NODES, DemoEnvironment, program
from causeway.cli.demo.failover_scenario import FailoverScenario
from causeway.cli.demo.failover_summary import FailoverSummary
from causeway.cli.demo.latency import WARM_UP_SECONDS
from causeway.cli.demo.scenario import DemoScenario
from causeway.cli.demo.steps import Steps
from causeway.cli.demo.summary import Summary
from causeway.cli.signals import handling
from causeway.errors import CausewayError, UsageError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_SECONDS = 0.05


class DemoOutput(StrEnum):
    text = "text"
    json = "json"


def demo(
    failover: Annotated[
        bool,
        typer.Option("--failover", help="Read from a pool of three nodes, and kill the one in use."),
    ] = False,
    records: Annotated[int, typer.Option(min=1_000, help="How many records to write.")] = 300_000,
    warm_up: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Warm up for this many seconds at most before latency is measured; not with --failover."
            f"  [default: {WARM_UP_SECONDS:.0f}]",
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave clusters and mirror running.")] = False,
    output: Annotated[
        DemoOutput, typer.Option("--output", "-o", help="How to show the numbers.")
    ] = DemoOutput.text,
) -> None:
    """Mirror between two new clusters, kill the mirror in between, and count lost or duplicated records.

    With --failover: mirror from a pool of three new clusters, kill the node that is read, suspend the next
    one, measure how long no records arrive, and count lost or duplicated records.
    """
    if failover and warm_up is not None:
        raise UsageError("--warm-up has no effect with --failover", todo="omit one of them")
    steps = Steps()
    with _interruptions() as interruption:
        environment = DemoEnvironment(keep, NODES if failover else ())
        kept = False
        try:
            scenario: DemoScenario | FailoverScenario
            if failover:
                scenario = FailoverScenario(environment, steps, records)
            else:
                seconds = WARM_UP_SECONDS if warm_up is None else warm_up
                scenario = DemoScenario(environment, steps, records, seconds)
            summary = scenario.run()
            interruption.raise_again()
            if keep:
                environment.leave(scenario.mirror)
                kept = True
            steps.done()
            _show(summary, output)
            guide = environment.guide() if kept else summary.next_commands(program())
            typer.echo(guide, err=output is DemoOutput.json)
            if mismatch := summary.mismatch():
                raise mismatch
        except Exception as error:
            interruption.raise_again()
            logs = environment.logs if kept else environment.save_logs()
            steps.done()
            if isinstance(error, CausewayError):
                error.where = f"logs: {logs}"
            else:
                steps.say(f"failed; the logs are in {logs}")
            raise
        finally:
            interruption.ignore_more()
            steps.done()
            if not kept:
                environment.clear()


def _show(summary: Summary | FailoverSummary, output: DemoOutput) -> None:
    typer.echo(json.dumps(summary.to_json()) if output is DemoOutput.json else f"\n{summary}\n")


@dataclass
class _Interruption:
    """Ctrl-C, SIGTERM or a closed terminal: the demo ends at once and cleans up."""

    exit_code: int = 0

    def happen(self, number: int, _frame: Any) -> None:
        self.exit_code = 128 + number
        self.raise_again()

    def raise_again(self, *_: Any) -> None:
        """Raise SystemExit again if the first one was lost.

        The Kafka client turns an exception raised in its callbacks into a SystemError without a cause.
        """
        if self.exit_code:
            raise SystemExit(self.exit_code)

    def dropped(self, what: Any) -> None:
        """Python drops an exception raised while it finalises an object: the demo would run to its end.

        Nothing can be raised from here either. An alarm raises it a moment later, and again if that
        alarm fires during another finalisation.
        """
        if self.exit_code and isinstance(what.exc_value, SystemExit):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        else:
            sys.__unraisablehook__(what)

    def ignore_more(self) -> None:
        """A second Ctrl-C during cleanup would leave brokers running."""
        for number in (*_SIGNALS, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _interruptions() -> Iterator[_Interruption]:
    interruption = _Interruption()
    handlers = dict.fromkeys(_SIGNALS, interruption.happen) | {signal.SIGALRM: interruption.raise_again}
    with handling(handlers):
        sys.unraisablehook = interruption.dropped
        try:
            yield interruption
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = sys.__unraisablehook__
