"""Compares sizes and ages of source records with the destination's limits: what its brokers would reject or
delete."""

from __future__ import annotations

from collections.abc import Iterator

from causeway.checking.checked_mirror import CheckedMirror
from causeway.core.check_report import Remark, note
from causeway.core.clock import now_ms
from causeway.core.plural import counted
from causeway.core.position import SourcePartition
from causeway.kafka.first_timestamps import first_timestamps
from causeway.planning.rules.batch_limits import DEFAULT_MAX_BYTES
from causeway.planning.rules.readiness import kept_for, retention, size_limit, topic_defaults
from causeway.planning.rules.topics import Create
from causeway.planning.survey import Survey

MOST_PARTITIONS = 200
"""Maximum number of partitions queried for their first timestamp: each costs the brokers a disk access."""


def check_sizes(checked: CheckedMirror, survey: Survey) -> Iterator[Remark]:
    for alias, name, config in checked.source_configs(survey):
        to = survey.routes[alias, name].to
        if to in survey.max_bytes:
            largest = int(config.get("max.message.bytes", DEFAULT_MAX_BYTES))
            remark = size_limit(to, largest, survey.max_bytes[to])
            if remark is not None:
                yield remark


def check_retention(checked: CheckedMirror, survey: Survey) -> Iterator[Remark]:
    """Compare the destination's retention with the age of the records that are still to be replicated."""
    not_started = _not_started(checked, survey)
    # The first partitions of each topic.
    queried = sorted(not_started, key=lambda partition: (partition[2], partition))[:MOST_PARTITIONS]
    oldest: dict[tuple[str, str], int] = {}
    for alias, view in checked.sources.items():
        on_cluster = [partition for partition in queried if partition[0] == alias]
        for since in {not_started[partition] for partition in on_cluster}:
            spots = [partition[1:] for partition in on_cluster if not_started[partition] == since]
            for (name, _), timestamp in first_timestamps(view.cluster, spots, since).items():
                oldest[alias, name] = min(timestamp, oldest.get((alias, name), timestamp))
    existing = checked.destination.configs(survey.destinations)
    now = now_ms()
    for alias, name, config in checked.source_configs(survey):
        if (alias, name) not in oldest:
            continue
        to = survey.routes[alias, name].to
        action = survey.actions.get(to)
        if isinstance(action, Create):
            destination_config = {**topic_defaults(checked.broker or {}), **action.config}
        else:
            destination_config = existing.get(to, {})
        kept = kept_for(destination_config)
        new = isinstance(action, Create)
        remark = retention(to, oldest[alias, name], now, kept, kept_for(config), new)
        if remark is not None:
            yield remark
    if len(not_started) > len(queried):
        partitions = counted(len(not_started), "partition")
        yield note(f"the age of records was checked in {len(queried):,} of {partitions}")


def _not_started(checked: CheckedMirror, survey: Survey) -> dict[tuple[str, str, int], int]:
    """Partitions without a position, and the time of the first record they would start with."""
    positions = checked.ledger.positions
    known = {(source.cluster, source.topic) for source in positions}
    not_started = {}
    for (alias, name), route in survey.routes.items():
        facts, start = route.source, checked.mirror.for_source(alias).start_at
        cluster_id = checked.sources[alias].cluster_id()
        started = (cluster_id, name) in known  # new partitions are replicated from their start
        if start == "latest" and not started:
            continue
        since = start if isinstance(start, int) and not started else 0
        for number in range(facts.partitions):
            if SourcePartition(cluster_id, name, number) not in positions:
                not_started[alias, name, number] = since
    return not_started
