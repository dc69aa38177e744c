"""The metrics count exactly what was replicated, across kill -9 and restarts."""

from __future__ import annotations

import json
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from support.world import World


def scraped(url: str) -> dict[tuple[str, str], float]:
    """Values by name and topic; of series without a topic the sum."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as response:
        text = response.read().decode()
    values: dict[tuple[str, str], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, sample.labels.get("topic", "")
            values[key] = values.get(key, 0.0) + sample.value
    return values


def test_counts_are_exact_across_kills_and_restarts(world: World) -> None:
    orders, events = world.topic("orders", 2), world.topic("events", 1)
    world.produce(orders, world.numbers(20_000, 2))
    world.produce(events, world.numbers(500, 1, size=50))
    config = world.config(slice="3s")
    arguments = ["-X", "web.port=0", "-X", 'metrics.compat=["ktm", "kaf-relay"]']
    run = world.run(config, *arguments)
    run.until(lambda: world.carried() > 0, "something is replicated")
    run.kill()
    assert not run.alive

    world.produce(orders, world.numbers(3_000, 2, 20_000))
    run = world.run(config, *arguments)
    url = run.page()
    run.until(lambda: world.carried() == 23_500, "all of it is replicated")

    def counted() -> bool:
        metrics = scraped(url)
        return metrics.get(("causeway_records_delivered_total", orders)) == 23_000

    run.until(counted, "the metrics count it")
    metrics = scraped(url)
    bytes_of = {
        topic: sum(len(rec.key or b"") + len(rec.value or b"") for recs in read.values() for rec in recs)
        for topic in (orders, events)
        for read in [world.read(topic)]
    }
    for topic, count in ((orders, 23_000), (events, 500)):
        assert metrics["causeway_records_consumed_total", topic] == count
        assert metrics["causeway_records_delivered_total", topic] == count
        assert metrics["causeway_bytes_delivered_total", topic] == bytes_of[topic]
        assert metrics["causeway_records_filtered_total", topic] == 0
        assert metrics["causeway_records_quarantined_total", topic] == 0
        assert metrics["causeway_lag_records", topic] == 0
    assert metrics["causeway_replication_latency_seconds_count", ""] == 23_500
    assert metrics["consumed_messages_count", ""] == metrics["produced_messages_count", ""] == 23_500
    ready = json.loads(urllib.request.urlopen(f"{url}/readyz", timeout=30).read())
    assert ready == {"ready": True, "reasons": []}
    # Counters of the process continue from slice to slice: all of its transactions count.
    begun = metrics["causeway_transactions_total", ""]

    def later() -> bool:
        return scraped(url)["causeway_slices_total", ""] >= 4

    run.until(later, "slices have passed")
    assert scraped(url)["causeway_transactions_total", ""] >= begun
    assert run.stop() == 0, run.output
