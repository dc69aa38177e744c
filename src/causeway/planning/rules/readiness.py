"""Whether a destination is ready for what a mirror would do, as a list of remarks.

Owns the comparisons of `causeway check`: transactions, size limits, retention against the age of records.
It reads nothing from brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from causeway.config.units import format_duration
from causeway.core.check_report import Remark, note, ok, problem, warning
from causeway.core.topic import NO_TOPIC_ID, TopicFacts
from causeway.errors import PlanRefused
from causeway.planning.rules.releases import TRANSACTIONS

_HOUR_MS = 3_600_000
_RETENTION = (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", _HOUR_MS))


def transactions(
    timeout: float,
    highest: Mapping[int, int],
    brokers: int,
    config: Mapping[str, str] | None,
    state_log: TopicFacts | None,
) -> list[Remark]:
    """Whether exactly-once is possible.

    `config` is a broker's, None if this user may not read it; `state_log` is the brokers' own topic of
    transactions, None before the first transaction.
    """
    where = "exactly-once is not possible"
    missing = [name for key, name in TRANSACTIONS.items() if key not in highest]
    if highest and missing:
        return [
            problem(
                PlanRefused(
                    f"{where}: the brokers do not support {', '.join(missing)}",
                    todo='set delivery = "at-least-once", or upgrade them',
                )
            )
        ]
    if config is None:
        return [
            note(
                "cannot tell whether transactions are possible: no permission to read the brokers' "
                "configuration"
            )
        ]
    errors = []
    copies = (
        state_log.replication if state_log else _number(config, "transaction.state.log.replication.factor")
    )
    if not state_log and copies > brokers:
        errors.append(
            PlanRefused(
                f"{where}: transaction.state.log.replication.factor is {copies},"
                f" more than the brokers ({brokers})",
                todo=f"set it to {brokers} in the brokers' server.properties, or start more brokers",
            )
        )
    in_sync, there = _number(config, "transaction.state.log.min.isr"), min(copies or brokers, brokers)
    if in_sync > there:
        errors.append(
            PlanRefused(
                f"{where}: transaction.state.log.min.isr is {in_sync}, at most {there} replicas are possible",
                todo=f"set it to {there} in the brokers' server.properties, or start more brokers",
            )
        )
    errors += [error for error in [timeout_too_long(timeout, config)] if error is not None]
    return [problem(error) for error in errors] or [
        ok("exactly-once is possible: the brokers support transactions")
    ]


def timeout_too_long(timeout: float, config: Mapping[str, str]) -> PlanRefused | None:
    """A broker rejects every producer whose transaction timeout is longer than it allows."""
    longest = _number(config, "transaction.max.timeout.ms")
    if not longest or longest >= round(timeout * 1000):
        return None
    return PlanRefused(
        f"exactly-once is not possible: transaction_timeout is {format_duration(timeout)},"
        f" the brokers allow {format_duration(longest / 1000)}",
        todo=f'set transaction_timeout = "{format_duration(longest / 1000)}" or less,'
        " or raise transaction.max.timeout.ms of the brokers",
    )


def _number(config: Mapping[str, str], name: str) -> int:
    """The value of a numeric setting; 0 if the brokers do not have it, as some other implementations."""
    return int(config.get(name, 0))


def nameless(alias: str, topics: Iterable[TopicFacts]) -> Remark | None:
    """Brokers before 2.8, and some other implementations, have no topic ids."""
    if all(facts.topic_id != NO_TOPIC_ID for facts in topics):
        return None
    return warning(
        f'"{alias}" has no topic ids: a topic that is deleted and created again is detected by its offsets'
        " only",
        "upgrade its brokers to Kafka 2.8 or later",
    )


def size_limit(topic: str, source: int, destination: int) -> Remark | None:
    """If the destination accepts less than the source, a partition stops at the first larger record."""
    if destination >= source:
        return None
    return warning(
        f"{topic}: the destination accepts at most {destination:,} bytes, the source {source:,}:"
        " a larger record would stop its partition",
        f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}"
        f" --add-config max.message.bytes={source}",
    )


def topic_defaults(broker: Mapping[str, str]) -> dict[str, str]:
    """The topic settings that follow from a broker's settings, as far as `kept_for` uses them."""
    defaults = {}
    for name, factor in _RETENTION:
        if name in broker:
            span = int(broker[name])
            defaults["retention.ms"] = str(span * factor if span >= 0 else -1)
            break
    if "log.cleanup.policy" in broker:
        defaults["cleanup.policy"] = broker["log.cleanup.policy"]
    return defaults


def kept_for(config: Mapping[str, str]) -> int | None:
    """How many milliseconds a topic keeps a record, by the record's timestamp; None: for ever, or unknown."""
    if config.get("message.timestamp.type") == "LogAppendTime":
        return None  # the age of a record counts from its arrival
    if "delete" not in config.get("cleanup.policy", "delete"):
        return None
    span = int(config.get("retention.ms", -1))
    return span if span >= 0 else None


def retention(
    topic: str, oldest: int, now: int, kept: int | None, source: int | None, new: bool
) -> Remark | None:
    """Records older than the destination's retention are deleted as soon as they arrive.

    `oldest` and `now` are times, `kept` and `source` spans, all in milliseconds; `source` is how long
    the source keeps records. A new topic gets its settings from the source topic.
    """
    if kept is None or now - oldest <= kept:
        return None
    wanted = -1 if source is None or source < now - oldest else source
    setting = (
        f"kafka-configs.sh --alter --entity-type topics --entity-name {topic}"
        f" --add-config retention.ms={wanted}"
    )
    return warning(
        f"{topic}: its oldest record is {span(now - oldest)} old, the destination keeps records for"
        f" {span(kept)}: older ones are deleted soon after they arrive",
        f"on the source, whose settings the new topic gets: {setting}" if new else setting,
    )


def span(milliseconds: int) -> str:
    """A duration as text, in the largest unit of which it has two or more."""
    for unit, size in (("days", 24 * _HOUR_MS), ("hours", _HOUR_MS), ("minutes", 60_000), ("seconds", 1_000)):
        if milliseconds >= 2 * size:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds} ms"
