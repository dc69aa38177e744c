"""A stop and the gap behind it, as those see them who watch a mirror that runs: Prometheus and a shell."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from support.typed import causeway
from support.world import World


def standing(url: str) -> dict[str, tuple[dict[str, str], float]]:
    """The series of partitions that stand still."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    begin = "causeway_partition_stopped_"
    samples = [one for family in families for one in family.samples if one.name.startswith(begin)]
    return {one.name.removeprefix(begin): (one.labels, one.value) for one in samples}


def typed(*arguments: str | Path, code: int) -> str:
    done = causeway(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def details(world: World, config: Path, url: str, code: int) -> dict[str, Any]:
    told = json.loads(typed("status", config, "--url", url, "-o", "json", code=code))
    found: dict[str, Any] = told["details"][world.mirror]
    return found


def test_a_stop_is_told_with_its_offsets_and_its_gap_for_ever(world: World) -> None:
    topic, config = world.with_a_gap()

    run = world.run(config, "-X", "web.port=0")
    url = run.page()
    run.until(lambda: standing(url), "the partition stands still")
    labels = {"mirror": world.mirror, "cluster": "src", "topic": topic, "partition": "1", "verdict": "gap"}
    assert standing(url) == {
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
    run.until(lambda: world.carried() == 180, "all that is left is carried")

    def goes_on() -> bool:
        return details(world, config, url, code=0)["stopped_partitions"] == [] and not standing(url)

    run.until(goes_on, "nothing stands still")
    [gap] = details(world, config, url, code=0)["gaps"]
    assert (gap["cluster"], gap["topic"], gap["partition"]) == ("src", topic, 1)
    assert (gap["begin"], gap["end"], gap["skipped"], gap["why"]) == (50, 70, 20, "it was retention")
    said = typed("status", config, "--url", url, code=0)
    assert f"\n1 gap (20 offsets skipped): causeway offsets show {config}\n" in said
    assert run.stop() == 0, run.output
