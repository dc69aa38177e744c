"""One source that does not respond, and another that does."""

from __future__ import annotations

from pathlib import Path

from causeway.local_kafka import EmbeddedCluster
from support.world import World


def test_a_shard_without_its_source_does_not_disturb_the_others(
    world: World, destination: EmbeddedCluster, tmp_path: Path
) -> None:
    with EmbeddedCluster.start("lyon", directory=tmp_path / "lyon") as lyon:
        far = World(lyon, destination, tmp_path)
        far.mirror = world.mirror
        here = world.topic("here", 4)
        there = far.topic("there", 4)
        text = world.config(source=["src", "lyon"], shards=2).read_text()
        config = tmp_path / "two-sources.toml"
        config.write_text(f'[clusters.lyon]\nbootstrap_servers = "{lyon.bootstrap_servers}"\n{text}')
        world.produce(here, world.numbers(100, 4))
        far.produce(there, far.numbers(100, 4))
        run = world.run(config)
        run.until(lambda: world.carried() == 200, "both sources are replicated")

        lyon.brokers[0].kill()
        world.produce(here, world.numbers(1_000, 4, 100))
        run.until(lambda: world.carried() == 1_200, "the other source continues")
        transactional = [line for line in run.output.splitlines() if "starting again" in line]
        assert not transactional, "a shard restarted although its destination was fine"

        lyon.brokers[0].start()
        far.produce(there, far.numbers(500, 4, 100))
        run.until(lambda: world.carried() == 1_700, "the source that was down is replicated again")
        assert run.stop() == 0, run.output
        world.assert_mirrored(here)
        far.assert_mirrored(there)
