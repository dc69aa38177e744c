"""What prevents a mirror from running, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.core.topic import NO_TOPIC_ID, TopicFacts
from causeway.planning.rules.readiness import (
    kept_for,
    nameless,
    retention,
    size_limit,
    span,
    topic_defaults,
    transactions,
)

ALL_KNOWN = {22: 5, 24: 5, 26: 5}
HOUR = 3_600_000
DAY = 24 * HOUR


def broker(copies: int = 3, in_sync: int = 2, longest: int = 900_000) -> dict[str, str]:
    return {
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(in_sync),
        "transaction.max.timeout.ms": str(longest),
    }


def state_log(replication: int) -> TopicFacts:
    return TopicFacts("__transaction_state", "id", 50, replication)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.none() | st.integers(1, 5))
def test_transactions_need_enough_replicas(
    brokers: int, copies: int, in_sync: int, there: int | None
) -> None:
    remarks = transactions(
        15, ALL_KNOWN, brokers, broker(copies, in_sync), state_log(there) if there else None
    )
    cannot_be_made = there is None and copies > brokers
    too_few = in_sync > min(there or copies, brokers)
    problems = [remark.what for remark in remarks if remark.level == "problem"]
    assert any("replication.factor" in what for what in problems) is cannot_be_made
    assert any("min.isr" in what for what in problems) is too_few
    assert len(problems) == cannot_be_made + too_few
    assert problems or [remark.level for remark in remarks] == ["ok"]


@given(st.integers(5_000, 900_000), st.integers(1_000, 900_000))
def test_transactions_need_enough_time(timeout_ms: int, longest_ms: int) -> None:
    (remark,) = transactions(timeout_ms / 1000, ALL_KNOWN, 3, broker(longest=longest_ms), None)
    assert (remark.level == "problem") is (timeout_ms > longest_ms)


@pytest.mark.parametrize("missing", ALL_KNOWN)
def test_transactions_need_brokers_that_support_them(missing: int) -> None:
    known = {key: version for key, version in ALL_KNOWN.items() if key != missing}
    (remark,) = transactions(15, known, 3, broker(), None)
    assert remark.level == "problem"
    assert remark.exit_code == 3
    assert "at-least-once" in remark.todo


def test_unknown_values_are_no_problem() -> None:
    assert [remark.level for remark in transactions(15, ALL_KNOWN, 3, None, None)] == ["note"]
    assert [remark.level for remark in transactions(15, {}, 3, broker(), None)] == ["ok"]
    assert [remark.level for remark in transactions(15, ALL_KNOWN, 3, {}, None)] == ["ok"]


def test_topics_without_ids_are_reported() -> None:
    known = TopicFacts("orders", "Mk3OEYBSD34fcwNTJENDM2", 1, 1)
    assert nameless("paris", []) is None
    assert nameless("paris", [known]) is None
    remark = nameless("paris", [known, TopicFacts("payments", NO_TOPIC_ID, 1, 1)])
    assert remark is not None
    assert remark.level == "warning"
    assert '"paris" has no topic ids' in remark.what


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_a_smaller_limit_is_a_warning(source: int, destination: int) -> None:
    remark = size_limit("orders", source, destination)
    assert (remark is None) is (destination >= source)
    assert remark is None or f"max.message.bytes={source}" in remark.todo


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, None),
        ({"log.retention.hours": "168"}, 7 * DAY),
        ({"log.retention.hours": "-1"}, None),
        ({"log.retention.hours": "168", "log.retention.minutes": "5"}, 300_000),
        ({"log.retention.hours": "168", "log.retention.minutes": "5", "log.retention.ms": "9"}, 9),
        ({"log.retention.hours": "168", "log.retention.ms": "-1"}, None),
        ({"log.retention.hours": "168", "log.cleanup.policy": "compact"}, None),
        ({"log.retention.hours": "168", "log.cleanup.policy": "compact,delete"}, 7 * DAY),
    ],
)
def test_how_long_a_broker_keeps_records_by_default(settings: dict[str, str], kept: int | None) -> None:
    assert kept_for(topic_defaults(settings)) == kept


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"retention.ms": "5"}, 5),
        ({"retention.ms": "0"}, 0),
        ({"retention.ms": "-1"}, None),
        ({"retention.ms": "5", "cleanup.policy": "compact"}, None),
        ({"retention.ms": "5", "message.timestamp.type": "LogAppendTime"}, None),
        ({"retention.ms": "5", "message.timestamp.type": "CreateTime", "cleanup.policy": "delete"}, 5),
    ],
)
def test_how_long_a_topic_keeps_records(config: dict[str, str], kept: int | None) -> None:
    assert kept_for(config) == kept


spans = st.none() | st.integers(0, 400 * DAY)


@given(st.integers(0, 400 * DAY), spans, spans, st.booleans())
def test_old_records_are_a_warning_with_a_retention_that_keeps_them(
    age: int, kept: int | None, source: int | None, new: bool
) -> None:
    now = 1_000 * DAY
    remark = retention("orders", now - age, now, kept, source, new)
    assert (remark is None) is (kept is None or age <= kept)
    if remark is not None:
        wanted = int(remark.todo.rpartition("=")[2])
        assert wanted == -1 or wanted >= age
        assert ("on the source" in remark.todo) is new


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (1_999, "1999 ms"),
        (2_000, "2 seconds"),
        (119_999, "119 seconds"),
        (120_000, "2 minutes"),
        (47 * HOUR, "47 hours"),
        (48 * HOUR, "2 days"),
        (30 * DAY + HOUR, "30 days"),
    ],
)
def test_spans_are_formatted_for_people(milliseconds: int, text: str) -> None:
    assert span(milliseconds) == text
