"""A stopped partition and its later gap, as metrics and commands show them while the mirror runs."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from support.typed import causeway
from support.world import World


def stopped_series(url: str) -> dict[str, tuple[dict[str, str], float]]:
    """The series of stopped partitions."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as response:
        families = text_string_to_metric_families(response.read().decode())
    begin = "causeway_partition_stopped_"
    samples = [sample for family in families for sample in family.samples if sample.name.startswith(begin)]
    return {sample.name.removeprefix(begin): (sample.labels, sample.value) for sample in samples}


def typed(*arguments: str | Path, code: int) -> str:
    done = causeway(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def details(world: World, config: Path, url: str, code: int) -> dict[str, Any]:
    status = json.loads(typed("status", config, "--url", url, "-o", "json", code=code))
    mirror: dict[str, Any] = status["details"][world.mirror]
    return mirror


def test_a_stop_is_reported_with_its_offsets_and_its_gap_is_kept(world: World) -> None:
    topic, config = world.with_a_gap()

    run = world.run(config, "-X", "web.port=0")
    url = run.page()
    run.until(lambda: stopped_series(url), "the partition is stopped")
    labels = {"mirror": world.mirror, "cluster": "src", "topic": topic, "partition": "1", "verdict": "gap"}
    assert stopped_series(url) == {
        "expected_offset": (labels, 50), "found_offset": (labels, 70), "gone_offsets": (labels, 20),
    }  # fmt: skip
    [stopped] = details(world, config, url, code=6)["stopped_partitions"]
    assert (stopped["name"], stopped["expected"], stopped["found"], stopped["gone"]) == (
        f"{topic}[1]", 50, 70, 20,
    )  # fmt: skip
    assert run.stop() == 0, run.output

    move = ("--topic", topic, "--partition", "1", "--to", "earliest", "--why", "it was retention", "--yes")
    typed("offsets", "skip", config, *move, code=0)
    run = world.run(config, "-X", "web.port=0")
    url = run.page()
    run.until(lambda: world.carried() == 180, "all that is left is replicated")

    def resumed() -> bool:
        return details(world, config, url, code=0)["stopped_partitions"] == [] and not stopped_series(url)

    run.until(resumed, "no partition is stopped")
    [gap] = details(world, config, url, code=0)["gaps"]
    assert (gap["cluster"], gap["topic"], gap["partition"]) == ("src", topic, 1)
    assert (gap["begin"], gap["end"], gap["skipped"], gap["why"]) == (50, 70, 20, "it was retention")
    status = typed("status", config, "--url", url, code=0)
    assert f"\n1 gap (20 offsets skipped): causeway offsets show {config}\n" in status
    assert run.stop() == 0, run.output
