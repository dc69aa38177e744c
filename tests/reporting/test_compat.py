"""Other tools' metric names, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from causeway.core.choices import Compat
from causeway.core.pool_snapshot import SourcePoolView
from causeway.core.route import BY_KEY
from causeway.core.snapshot import Snapshot
from causeway.reporting.metrics import Metrics
from support.viewing import mirror, node, partition, shard, snapshot

REPLICATED = snapshot(
    mirror(
        partition(0, to_topic="copy", delivered=44, filtered=5, quarantined=1, log_end=60),
        partition(1, to_topic="copy", delivered=100, log_end=100),
        shards=(
            shard(1, transactions=3, transaction_records=100, transaction_seconds=0.5),
            shard(2, transactions=1, transaction_records=44, transaction_seconds=0.25),
        ),
    )
)


def lines(shown: Snapshot, compat: Sequence[Compat], partitions: int = 1000) -> list[str]:
    """What is there besides our own names."""
    text = Metrics(lambda: shown, partitions=partitions, compat=compat).exposition().decode()
    assert list(text_string_to_metric_families(text))
    return [line for line in text.splitlines() if "causeway_" not in line]


def samples(shown: Snapshot, compat: Sequence[Compat], partitions: int = 1000) -> list[str]:
    return [line for line in lines(shown, compat, partitions) if not line.startswith("#")]


def test_other_names_are_off_by_default() -> None:
    assert lines(REPLICATED, ()) == []


def test_ktm() -> None:
    assert lines(REPLICATED, ["ktm"]) == [
        "# HELP consumed_messages_count Records read, by input topic.",
        "# TYPE consumed_messages_count untyped",
        'consumed_messages_count{app="kafka_topic_mirror",topic_name="orders"} 150',
        "# HELP produced_messages_count Records delivered, by output topic.",
        "# TYPE produced_messages_count untyped",
        'produced_messages_count{app="kafka_topic_mirror",topic_name="copy"} 144',
    ]


def test_ktm_keeps_its_names_in_the_clients_own_writer_too() -> None:
    text = generate_latest(Metrics(lambda: REPLICATED, compat=["ktm"]).registry).decode()

    assert 'consumed_messages_count{app="kafka_topic_mirror",topic_name="orders"} 150.0' in text.splitlines()
    assert "messages_count_total" not in text


def test_kaf_relay() -> None:
    msgs, relayed = "kafka_relay_msgs_total", "kafka_relay_messages_relayed_total"
    assert samples(REPLICATED, ["kaf-relay"]) == [
        'kafka_relay_msg_count{source="orders",destination="copy",partition="0"} 44',
        'kafka_relay_msg_count{source="orders",destination="copy",partition="1"} 100',
        msgs + '{source="orders",src_partition="0",destination="copy",dest_partition="0"} 44',
        msgs + '{source="orders",src_partition="1",destination="copy",dest_partition="1"} 100',
        relayed + '{source_topic="orders",source_partition="0",target_topic="copy",target_partition="0"} 44',
        relayed + '{source_topic="orders",source_partition="1",target_topic="copy",target_partition="1"} 100',
        "kafka_relay_messages_filtered_total 5",
        'kafka_relay_source_highwatermark{node_id="paris"} 160',
        "kafka_relay_source_candidate_switches_total 0",
        "kafka_relay_source_unhealthy_total 0",
        "kafka_relay_target_flush_batch_size_count 4",
        "kafka_relay_target_flush_batch_size_sum 144",
        "kafka_relay_target_flush_duration_seconds_count 4",
        "kafka_relay_target_flush_duration_seconds_sum 0.75",
    ]


def test_mirrors_are_added_up_and_a_log_that_two_of_them_read_has_one_end() -> None:
    one = partition(0, delivered=1, log_end=10)
    other = partition(1, delivered=2, log_end=-1)
    shown = snapshot(mirror(one, other), mirror(one, name="n"), mirror(one, name="unread", lease=0))

    got = samples(shown, ["ktm", "kaf-relay"])
    assert 'produced_messages_count{app="kafka_topic_mirror",topic_name="orders"} 4' in got
    assert 'kafka_relay_msg_count{source="orders",destination="orders",partition="0"} 2' in got
    assert 'kafka_relay_source_highwatermark{node_id="paris"} 10' in got


def test_kaf_relays_names_of_a_pool_are_by_node() -> None:
    counts = {("dead", "a"): 2, ("lagging", "b"): 1, ("resumed", ""): 1}
    nodes = (node("a", responds=False, log_ends=90), node("b", log_ends=100))
    shown = snapshot(
        mirror(partition(0, cluster="p", log_end=90), pools=(SourcePoolView("p", nodes, counts=counts),))
    )
    got = [line for line in samples(shown, ["kaf-relay"]) if "_source_" in line]
    assert got == [
        'kafka_relay_source_highwatermark{node_id="a"} -1',
        'kafka_relay_source_highwatermark{node_id="b"} 100',
        "kafka_relay_source_candidate_switches_total 4",
        "kafka_relay_source_unhealthy_total 2",
        'kafka_relay_source_lag_threshold_exceeded_total{node_id="a"} 0',
        'kafka_relay_source_lag_threshold_exceeded_total{node_id="b"} 1',
    ]


def test_a_source_without_a_known_log_end_has_no_high_watermark() -> None:
    shown = snapshot(mirror(partition(0, log_end=-1)))

    assert not any("highwatermark{" in line for line in samples(shown, ["kaf-relay"]))


def test_a_place_that_the_key_chooses_is_minus_one_as_it_is_there() -> None:
    shown = snapshot(mirror(replace(partition(0, delivered=7), to_partition=BY_KEY)))

    assert any('target_partition="-1"} 7' in line for line in samples(shown, ["kaf-relay"]))


def test_above_the_limit_partitions_have_no_label() -> None:
    assert samples(REPLICATED, ["kaf-relay"], partitions=1)[:3] == [
        'kafka_relay_msg_count{source="orders",destination="copy",partition=""} 144',
        'kafka_relay_msgs_total{source="orders",src_partition="",destination="copy",dest_partition=""} 144',
        "kafka_relay_messages_relayed_total"
        '{source_topic="orders",source_partition="",target_topic="copy",target_partition=""} 144',
    ]
