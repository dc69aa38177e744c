"""Mirrors in a program of the user's: what comes back, and what stays behind."""

from __future__ import annotations

import signal
import textwrap
from pathlib import Path

import pytest

import causeway
from api.conftest import Program, ended
from support.world import World


def code(text: str, config: Path) -> str:
    return f"CONFIG = {str(config)!r}\n" + textwrap.dedent(text)


def test_results_and_pauses_and_nothing_is_left(world: World, program: Program) -> None:
    """Counts are this run's; threads, also those of Kafka's client, end with the block."""
    topic = world.topic("t", 2)
    world.produce(topic, world.numbers(100, 2))
    config = world.config(shards=1)
    world.carry_all(config)
    world.produce(topic, world.numbers(50, 2, 100))

    output = ended(
        program(
            code(
                """
                import gc, os, threading, time
                import causeway

                def until(condition, what):
                    deadline = time.monotonic() + 60
                    while not condition():
                        assert time.monotonic() < deadline, what
                        time.sleep(0.05)

                def native_threads():
                    gc.collect()
                    return len(os.listdir("/proc/self/task"))

                import causeway.api.runner, confluent_kafka, pyarrow
                from causeway.kafka import abandoned_clients
                abandoned_clients.watch()  # one thread that stays, for all clients of the process
                threads = threading.enumerate()
                before = native_threads()
                with causeway.Runner(CONFIG) as runner:
                    until(lambda: runner.status().mirrors[0].lag_records == 0, "caught up")
                    runner.pause()
                    assert runner.status().mirrors[0].state == "paused"
                    runner.resume()
                    until(lambda: runner.status().mirrors[0].state == "running", "running again")
                    assert [one.mirror for one in runner.progress()] == [runner.status().mirrors[0].name]
                result = runner.wait()
                assert runner.status().mirrors[0].delivered == 150
                assert threading.enumerate() == threads, threading.enumerate()
                assert len(threads) == 2, threads
                until(lambda: native_threads() <= before, f"{before} threads, not {native_threads()}")
                print("result", result.records, result.mirrors[0].state, result.stopped)
                """,
                config,
            )
        )
    )
    assert output == "result 50 stopped ()\n"
    world.assert_mirrored(topic)


def test_a_mirror_with_stopped_partitions_raises_after_the_others_are_replicated(
    world: World, program: Program
) -> None:
    topic, config = world.with_a_gap()
    output = ended(
        program(
            code(
                """
                import causeway

                runner = causeway.Runner(CONFIG, stop_at_end=True)
                try:
                    with runner:
                        runner.wait()
                except causeway.IntegrityError as error:
                    (partition,) = runner.status().mirrors[0].stopped_partitions
                    print(error.exit_code, partition.partition, partition.verdict, partition.expected)
                """,
                config,
            )
        )
    )
    assert output == "6 1 gap 50\n"
    assert len(world.read(topic)[0]) == 100


def test_ctrl_c_in_the_blocking_form_stops_without_loss(world: World, program: Program) -> None:
    topic = world.topic()
    world.produce(topic, world.numbers(100))
    config = world.config(shards=1)
    process = program(
        code(
            """
            import causeway

            def tell(snapshot):
                if snapshot.mirrors[0].delivered == 100:
                    print("all there", flush=True)

            try:
                causeway.run(CONFIG, on_status=tell)
            except KeyboardInterrupt:
                print("interrupted")
            """,
            config,
        )
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "all there\n"
    process.send_signal(signal.SIGINT)
    assert ended(process).endswith("interrupted\n")
    world.assert_mirrored(topic)  # the last transaction has ended: nothing is hidden


def test_a_program_that_forgets_to_stop_ends_all_the_same(world: World, program: Program) -> None:
    topic = world.topic()
    world.produce(topic, world.numbers(100))
    config = world.config(shards=1)
    ended(
        program(
            code(
                """
                import causeway

                runner = causeway.Runner(CONFIG)
                runner.start()
                """,
                config,
            )
        )
    )
    world.carry_all(config)
    world.assert_mirrored(topic)


def test_a_mirror_that_cannot_be_prepared_leaves_nothing(world: World) -> None:
    """The first mirror has its lease when the second one is refused; its clients are closed."""
    world.topic()
    config = world.mirrors(
        {"topics": [f"{world.mirror}\\..*"]},
        {"topics": [f"{world.mirror}\\..*"], "name": f"{world.mirror}-2"},
    )
    with pytest.raises(causeway.PlanRefused):
        causeway.run(config)
    runner = causeway.Runner(config, mirrors=world.mirror)
    assert runner.status().mirrors[0].state == "starting"
