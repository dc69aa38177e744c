"""The mirrors that the same schedule runs on, and what each reports about a partition.

A report becomes a Verdict in the history, in the same words for all mirrors. Causeway reports in its ledger.
MirrorMaker 2 has the state of its tasks, with the exception that ended one: if that is a rejected record, its
log names the topic. Other failures name no partition, and are kept as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from causeway.local_kafka import EmbeddedCluster
from faults.events import Verdict
from faults.mirrors import CausewayMirror, Mirror
from faults.scenario import Scenario
from support.mirrormaker2 import TRANSACTION_TIMEOUT_MS, MirrorMaker2, Setting

REFUSALS = ("RecordTooLargeException", "InvalidTimestampException", "PolicyViolationException")
"""Exceptions by which a Java producer learns that the destination rejected a record."""


class Contender(Mirror, Protocol):
    def say(self, scenario: Scenario) -> None:
        """Add its new reports about the scenario's partitions to the journal."""

    def failures(self) -> list[str]:
        """Failures of the mirror as a whole."""


class ComparedCauseway(CausewayMirror):
    def say(self, scenario: Scenario) -> None:
        _note(
            scenario,
            (
                Verdict(
                    0, one.verdict, one.topic, one.partition, one.expected, one.found, "stop", one.topic_id
                )
                for one in self.ledger().stopped.values()
            ),
        )

    def failures(self) -> list[str]:
        return []


class MirrorMaker(MirrorMaker2):
    def say(self, scenario: Scenario) -> None:
        if any(name in why for why in self.failures() for name in REFUSALS):
            _note(
                scenario,
                (
                    Verdict(0, "poison", topic, partition, topic_id=scenario.ids[topic])
                    for topic in self.refused() & scenario.topics.keys()
                    for partition in range(scenario.topics[topic])
                ),
            )


Make = Callable[[Path, EmbeddedCluster, EmbeddedCluster, bool], Contender]
"""Directory, source, destination, and whether the destination is reached through a proxy."""


@dataclass(frozen=True)
class Entry:
    name: str  # on the command line
    title: str
    make: Make


def _causeway(
    directory: Path, source: EmbeddedCluster, destination: EmbeddedCluster, proxied: bool
) -> Contender:
    return ComparedCauseway(
        directory, source, destination, proxied=["destination"] if proxied else [],
        transaction_timeout=f"{TRANSACTION_TIMEOUT_MS}ms",
    )  # fmt: skip


def _mirrormaker(setting: Setting) -> Make:
    def make(
        directory: Path, source: EmbeddedCluster, destination: EmbeddedCluster, proxied: bool
    ) -> Contender:
        own_eyes = destination.bootstrap_servers
        servers = destination.proxied_servers if proxied else own_eyes
        return MirrorMaker(directory, source.bootstrap_servers, servers, setting, own_eyes=own_eyes)

    return make


CONTENDERS = (
    Entry("causeway", "Causeway", _causeway),
    Entry("mm2", "MirrorMaker 2, as shipped", _mirrormaker("default")),
    Entry("mm2-exactly-once", "MirrorMaker 2, exactly once", _mirrormaker("exactly-once")),
)


def _note(scenario: Scenario, said: Iterable[Verdict]) -> None:
    last = {(one.topic, one.partition): one.verdict for one in scenario.journal.history().of(Verdict)}
    for one in said:
        if last.get((one.topic, one.partition)) != one.verdict:
            scenario.journal.add(replace(one, at=scenario.journal.now()))
