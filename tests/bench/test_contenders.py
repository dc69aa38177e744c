"""What contenders are started with, and how their words are read."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bench.child import Failed
from bench.contenders.causeway import Causeway
from bench.contenders.job import Job
from bench.contenders.kafka_tools import consumed, sent
from bench.contenders.mirrormaker import MirrorMaker2, tasks
from bench.contenders.others import Other, filled, placeholders, read
from bench.stage import Encrypted
from bench.usage import used
from causeway.config import load


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job("b-1", "here:1", "there:2", ("orders",), 4, "lz4", tmp_path)


def test_causeways_file_is_one_that_it_reads(job: Job) -> None:
    mirror = Causeway(mirror={"shards": 4, "slice": "10s"}, spark={"properties": {"spark.x": "1"}})
    [found] = load(mirror.write(job), []).mirrors
    assert (found.name, found.shards, found.compression) == ("b-1", 4, "lz4")
    assert mirror.settings(job)["shards"] == "4"


def test_with_tls_it_has_the_other_listeners_and_their_authority(job: Job) -> None:
    encrypted = Encrypted("here:11", "there:12", Path("/keys/ca.pem"))
    clusters = load(Causeway(encrypted=encrypted).write(job)).clusters
    assert [cluster.bootstrap_servers for cluster in clusters.values()] == ["here:11", "there:12"]
    assert [cluster.tls.ca for cluster in clusters.values() if cluster.tls] == ["/keys/ca.pem"] * 2


def test_mirrormaker_has_the_same_work_in_both_deliveries(job: Job) -> None:
    plain, exact = (MirrorMaker2(name).properties(job, 1234) for name in ("at-least-once", "exactly-once"))
    assert plain["b-1->dst.topics"] == "orders"
    assert plain["dst.producer.compression.type"] == "lz4"
    assert plain["b-1->dst.tasks.max"] == str(tasks(4, os.cpu_count() or 1))
    assert exact["dst.exactly.once.source.support"] == "enabled"
    assert exact["b-1.consumer.isolation.level"] == "read_committed"
    assert {key: value for key, value in exact.items() if key in plain} == plain


def test_mirrormakers_report_tells_settings_and_no_addresses(job: Job) -> None:
    told = MirrorMaker2("exactly-once", {"tasks.max": "9"}).settings(job)
    assert told["tasks.max"] == "9"
    assert "src->dst.tasks.max" in told
    assert not [value for value in told.values() if "here:1" in value or "there:2" in value]


def test_tasks_are_two_a_core_as_far_as_there_are_partitions() -> None:
    assert [tasks(partitions, 2) for partitions in (1, 4, 64)] == [1, 4, 4]


def test_kafkas_tools_are_understood() -> None:
    row = (
        "2030-01-01 00:00:00:000, 2030-01-01 00:00:02:000, 3.8, 1.9, 20000, 10000.0, 300, 1700, 2.2, 11764.7"
    )
    assert consumed(f"a warning, with a comma\n{row}\n") == 11764.7
    lines = (
        "100 records sent, 1000.0 records/sec (0.19 MB/sec), 5.0 ms avg latency.\n"
        "90 records sent, 2500.5 records/sec (0.38 MB/sec), 3.0 ms avg latency.\n"
    )
    assert sent(lines) == 2500.5
    for understand in (consumed, sent):
        with pytest.raises(Failed, match="nothing of use"):
            understand("java.lang.OutOfMemoryError")


def test_another_program_is_started_as_its_file_says(tmp_path: Path, job: Job) -> None:
    file = tmp_path / "others.toml"
    file.write_text(
        """
        [[contenders]]
        name = "relay"
        command = ["relay", "--from={source}", "--config", "{directory}/c.json"]
        topic = "copy.{topic}"
        [contenders.files]
        "c.json" = '{"to": "{destination}", "topic": "{topic}"}'
        """
    )
    [other] = read(file)
    assert other.arrives_in("orders") == "copy.orders"
    assert filled(other.command[1], placeholders(job)) == "--from=here:1"
    assert filled(other.files["c.json"], placeholders(job)) == '{"to": "there:2", "topic": "orders"}'
    assert other.title == "relay"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[[contenders]]\nname = 'x'", "missing: command"),
        ("[[contenders]]\nname = 'x'\ncommand = []\nshell = 1", "unknown: shell"),
        ("[[contenders", "others.toml"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "others.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=wrong):
        read(file)


def test_one_topic_is_all_that_another_program_is_asked_for(job: Job) -> None:
    several = Job(job.name, job.source, job.destination, ("a", "b"), 8, "lz4", job.directory)
    with pytest.raises(Failed, match="one topic"):
        Other("relay", ("relay",)).start(several)


def test_cpu_time_is_a_process_own_and_its_ended_childrens() -> None:
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    expected = sum(times.ru_utime + times.ru_stime for times in both)
    # Each of the four times that are added is rounded down to a clock tick.
    assert used([os.getpid()]).cpu >= expected - 4 / os.sysconf("SC_CLK_TCK")


def test_what_has_ended_uses_nothing() -> None:
    assert used([os.getpid()]).memory > 0
    assert used([2**22 + 1]).memory == 0


def test_the_file_for_kaf_relay_is_whole(job: Job) -> None:
    [relay] = read(Path(__file__).parents[2] / "bench" / "contenders" / "kaf-relay.toml")
    text = filled(relay.files["config.toml"], placeholders(job))
    assert tomllib.loads(text)["topics"] == [{"orders": "orders"}]
    assert "{" not in text
