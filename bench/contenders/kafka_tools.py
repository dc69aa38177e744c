"""Limits without replication: Kafka's own ConsumerPerformance and ProducerPerformance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bench.child import Child, Failed
from bench.contenders.job import Job
from bench.load import Filled, value
from causeway.local_kafka import DEFAULT_VERSION, find_java, resolve

SECONDS = 300.0
_TOOLS = "org.apache.kafka.tools"
_JVM = ("-Xmx1G", "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_PAYLOADS = 10_000
_SENT = re.compile(r"([\d.]+) records/sec")
PRODUCER = ("acks=all", "linger.ms=5", f"batch.size={512 << 10}", f"buffer.memory={128 << 20}",
            f"max.request.size={10 << 20}")  # fmt: skip


@dataclass(frozen=True)
class ConsumerLimit:
    name: str = "consumer"
    title: str = "Kafka's bare consumer"

    def settings(self, job: Job) -> dict[str, str]:
        return {"command": "ConsumerPerformance --fetch-size 8388608"}

    def fits(self, filled: Filled) -> bool:
        return True

    def run(self, job: Job, filled: Filled) -> float:
        """Records per second. Raises Failed."""
        output = _run(
            "ConsumerPerformance", job.directory,
            "--bootstrap-server", job.source, "--topic", filled.topic, "--group", job.name,
            "--num-records", str(filled.records), "--fetch-size", str(8 << 20),
            "--timeout", "60000", "--hide-header",
        )  # fmt: skip
        return consumed(output)


@dataclass(frozen=True)
class ProducerLimit:
    name: str = "producer"
    title: str = "Kafka's bare producer"

    def settings(self, job: Job) -> dict[str, str]:
        return {
            "command": f"ProducerPerformance {' '.join(PRODUCER)}, the same values, a tenth for warming up"
        }

    def fits(self, filled: Filled) -> bool:
        return not filled.shape.headers  # it cannot write any

    def run(self, job: Job, filled: Filled) -> float:
        """Records per second, to an existing topic of the destination. Raises Failed."""
        job.directory.mkdir(parents=True, exist_ok=True)
        payloads = job.directory / "payloads"
        payloads.write_bytes(b"\n".join(value(number, filled.shape.size) for number in range(_PAYLOADS)))
        output = _run(
            "ProducerPerformance", job.directory,
            "--bootstrap-server", job.destination, "--topic", filled.topic,
            "--num-records", str(filled.records), "--warmup-records", str(filled.records // 10),
            "--payload-file", str(payloads), "--throughput", "-1",
            "--command-property", *PRODUCER, f"compression.type={job.compression}",
        )  # fmt: skip
        return sent(output)


Limit = ConsumerLimit | ProducerLimit


def consumed(output: str) -> float:
    """The last column of ConsumerPerformance's line: records per second without the time it took to join."""
    rows = [line.split(", ") for line in output.splitlines() if line.count(", ") == 9]
    try:
        return float(rows[-1][-1])
    except (IndexError, ValueError):
        raise Failed(f"ConsumerPerformance printed nothing of use: {output.strip()[-200:]}") from None


def sent(output: str) -> float:
    """The last rate that ProducerPerformance prints: after its warm-up."""
    rates = _SENT.findall(output)
    if not rates:
        raise Failed(f"ProducerPerformance printed nothing of use: {output.strip()[-200:]}")
    return float(rates[-1])


def _run(tool: str, directory: Path, *arguments: str) -> str:
    jars = resolve("org.apache.kafka", "kafka-tools", DEFAULT_VERSION)
    command = [str(find_java()), *_JVM, "-cp", f"{jars}/*", f"{_TOOLS}.{tool}", *arguments]
    with Child(command, directory) as child:
        child.wait(SECONDS)
        return child.output
