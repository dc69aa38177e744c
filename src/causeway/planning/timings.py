"""The timings topics of a mirror: which exist, and which must be created."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from causeway.config import MirrorSettings
from causeway.core.route import Route
from causeway.kafka.admin import ClusterView
from causeway.kafka.ledger_topics import durability
from causeway.planning.rules.batch_limits import limit_of
from causeway.planning.rules.timings import timings_of
from causeway.planning.rules.topics import Create, Refuse
from causeway.planning.rules.write_access import no_access

_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": str(7 * 24 * 60 * 60 * 1000),
    "message.timestamp.type": "CreateTime",
}
PARTITIONS = 1
"""One record for each transaction and source partition: that is little, and one partition keeps the order."""


@dataclass(slots=True)
class TimingsSurvey:
    """The timings topics of a mirror's routes, as far as the destination shows them."""

    existing: set[str] = field(default_factory=set)
    create: dict[str, Create] = field(default_factory=dict)
    lacking: dict[str, Refuse] = field(default_factory=dict)  # they can be neither used nor created
    denied: set[str] = field(default_factory=set)  # those among them that this user may not describe
    batch_limits: dict[str, int] = field(default_factory=dict)

    @property
    def topics(self) -> set[str]:
        return self.existing | self.create.keys()


def survey_timings(
    mirror: MirrorSettings, routes: Iterable[Route], destination: ClusterView
) -> TimingsSurvey:
    """Only reads. Nothing is surveyed where the mirror writes no timings."""
    result = TimingsSurvey()
    names = timings_of(routes) if mirror.timings == "topic" else {}
    if not names:
        return result
    result.existing = set(destination.describe(names, denied=result.denied))
    configs = destination.configs(result.existing, denied=set())
    result.batch_limits = {name: limit_of(config) for name, config in configs.items()}
    copies, in_sync = durability(destination, mirror.replication_factor)
    for name in names.keys() - result.existing:
        if name in result.denied:
            access = no_access(name, destination.cluster.alias, "DESCRIBE", -1)
            result.lacking[name] = Refuse(access.what, access.todo)
        elif mirror.create_topics:
            result.create[name] = Create(PARTITIONS, copies, {**_CONFIG, **in_sync})
        else:
            result.lacking[name] = Refuse(
                f"topic {name}, for its timings, does not exist, and create_topics is false",
                f"kafka-topics.sh --create --topic {name} --partitions {PARTITIONS}",
            )
    return result
