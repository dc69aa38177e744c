"""Destination topics get the source's settings if that is safe, and existing topics are not changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.plural import counted
from causeway.core.topic import TopicFacts
from causeway.planning.rules.topics import NOT_COPIED, WIDE_OPEN, Create, Grow, Refuse, fit, held, new_topic

OURS = frozenset(
    {
        "message.timestamp.type",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
        "max.message.bytes",
        "min.insync.replicas",
    }
)
"""Settings that Causeway chooses itself."""

settings = st.sampled_from(
    ["cleanup.policy", "retention.ms", "segment.bytes", "compression.type", *sorted(NOT_COPIED | OURS)]
)
configs = st.dictionaries(settings, st.text(max_size=5))
knowledge = st.frozensets(settings)
few = st.integers(1, 9)


def topic(partitions: int, replication: int = 1) -> TopicFacts:
    return TopicFacts("orders", "id", partitions, replication)


@given(few, few, configs, st.integers(1, 2**31), knowledge, few, st.none() | few)
def test_a_new_topic(
    partitions: int,
    replication: int,
    config: dict[str, str],
    max_bytes: int,
    known: frozenset[str],
    brokers: int,
    wanted: int | None,
) -> None:
    made = new_topic(topic(partitions, replication), partitions, config, max_bytes, known, brokers, wanted)
    assert made.partitions == partitions
    assert made.replication == min(wanted or replication, brokers)
    assert made.config["message.timestamp.type"] == "CreateTime"
    assert made.config["max.message.bytes"] == str(max_bytes)
    # min.insync.replicas is 2 if there are enough replicas for one to be down.
    assert made.config.get("min.insync.replicas") == ("2" if made.replication >= 3 else None)
    for name in NOT_COPIED - OURS:
        assert name not in made.config
    for name in config.keys() - NOT_COPIED - OURS:
        # A destination that does not know a setting refuses the whole topic because of it.
        assert made.config.get(name) == (config[name] if not known or name in known else None)
    for bound in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"):
        assert made.config.get(bound) == (WIDE_OPEN if not known or bound in known else None)
    assert made.config.keys() <= config.keys() | OURS


@given(few, few, st.booleans(), st.booleans(), st.sampled_from(["CreateTime", "LogAppendTime", None]))
def test_an_existing_topic(
    source: int, destination: int, made_by_us: bool, broker_timestamps: bool, stamps: str | None
) -> None:
    config = {} if stamps is None else {"message.timestamp.type": stamps}
    action = fit(
        source,
        source,
        topic(destination),
        config,
        made_by_us=made_by_us,
        broker_timestamps=broker_timestamps,
    )
    if stamps == "LogAppendTime" and not broker_timestamps:
        assert isinstance(action, Refuse)
        assert "LogAppendTime" in action.why
        assert "message.timestamp.type=CreateTime" in action.todo
    elif destination >= source:
        assert action is None
    elif made_by_us:
        assert action == Grow(source)
    else:
        assert isinstance(action, Refuse)
        assert f"has {counted(destination, 'partition')}, {source} are needed" in action.why
        assert f"--partitions {source}" in action.todo


@given(few, configs, knowledge)
def test_a_topic_that_was_just_created_fits(
    partitions: int, config: dict[str, str], known: frozenset[str]
) -> None:
    source = topic(partitions)
    made = new_topic(source, partitions, config, 1_000, known, 3, None)
    assert (
        fit(
            partitions,
            partitions,
            topic(made.partitions),
            made.config,
            made_by_us=True,
            broker_timestamps=False,
        )
        is None
    )


@pytest.mark.parametrize(
    "setting",
    [
        # MirrorMaker's own exclusions: follower.replication.throttled.replicas and so on.
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
        "message.timestamp.type",
        "unclean.leader.election.enable",
        "min.insync.replicas",
    ],
)
def test_settings_that_mirrormaker_excludes_are_excluded(setting: str) -> None:
    made = new_topic(topic(1), 1, {setting: "x"}, 1_000, frozenset(), 1, None)
    assert made.config.get(setting) != "x"


def test_an_example() -> None:
    source = TopicFacts("orders", "id", 4, 3)
    own = {"retention.ms": "1000", "min.insync.replicas": "2", "cleanup.policy": "compact"}
    assert new_topic(source, 4, own, 2_000_000, frozenset(), 2, None) == Create(
        4,
        2,
        {
            "retention.ms": "1000",
            "cleanup.policy": "compact",
            "message.timestamp.type": "CreateTime",
            "message.timestamp.before.max.ms": WIDE_OPEN,
            "message.timestamp.after.max.ms": WIDE_OPEN,
            "max.message.bytes": "2000000",
        },
    )


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([42_000, 0, 1], "already holds up to 42,001 records in 2 of 3 partitions"),
        ([1], "already holds up to 1 record in 1 of 1 partition"),
        ([0, 0], "held records before, deleted by now,"),
    ],
)
def test_a_topics_content_is_reported_in_records_and_partitions(counts: list[int], text: str) -> None:
    assert held(counts) == text
