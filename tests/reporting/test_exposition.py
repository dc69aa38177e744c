"""The text format: the same as the client's own writer's, only faster."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from causeway.core.position import NO_LATENCY
from causeway.reporting.exposition import exposition
from causeway.reporting.metrics import Metrics
from support.viewing import mirror, partition, shard, snapshot

AWKWARD = 'a "quoted" \\ topic\nof <b>two</b> lines, {é=1}'
SHOWN = snapshot(
    mirror(
        partition(0, topic=AWKWARD, delivered=2**60, lag_seconds=float("inf")),
        partition(1, topic=AWKWARD, lag_seconds=1e-9),
        shards=(shard(),),
        latency=tuple(range(len(NO_LATENCY))),
        latency_seconds=123456789.125,
    )
)


def test_it_says_what_the_clients_own_writer_says() -> None:
    collector = Metrics(lambda: SHOWN, compat=["ktm", "kaf-relay"], clock=lambda: 0.0)

    ours, theirs = collector.exposition().decode(), generate_latest(collector.registry).decode()

    assert list(text_string_to_metric_families(ours)) == list(text_string_to_metric_families(theirs))
    comments = [line for line in ours.splitlines() if line.startswith("#")]
    assert comments == [line for line in theirs.splitlines() if line.startswith("#")]


def test_names_with_quotes_backslashes_and_newlines_stay_in_their_line() -> None:
    text = Metrics(lambda: SHOWN).exposition().decode()

    assert r'topic="a \"quoted\" \\ topic\nof <b>two</b> lines, {é=1}"' in text
    assert all(line.startswith(("#", "causeway_")) for line in text.splitlines())
    assert 'causeway_lag_seconds{mirror="m",cluster="paris",topic="a' in text
    labels = [one.labels for family in text_string_to_metric_families(text) for one in family.samples]
    assert {one["topic"] for one in labels if "topic" in one} == {AWKWARD}


def test_labels_of_a_family_that_is_gone_are_not_taken_for_anothers() -> None:
    def passing() -> Iterator[Metric]:
        for number in range(50):
            metric = Metric("some", "Some.", "gauge")
            metric.samples.append(Sample("some", {"number": str(number)}, number))
            yield metric

    lines = exposition(passing()).decode().splitlines()
    assert [line for line in lines if line[0] != "#"] == [f'some{{number="{n}"}} {n}' for n in range(50)]
